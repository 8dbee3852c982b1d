"""The trainings of one call: every embedding with every seed, on the same pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.nli.files import Model
from wordbias.nli.lexicon import Encoded, Lexicon, Table
from wordbias.nli.pairs import LABELS, Pairs, load_pairs
from wordbias.nli.recipes import Recipe, specify
from wordbias.nli.scoring import probabilities
from wordbias.nli.train import Job
from wordbias.results import Row

SUFFIX = ".safetensors"


@dataclass(frozen=True, eq=False)
class Data:
    """Pairs by the name of their set (train, dev, and perhaps test), and encoded."""

    pairs: Mapping[str, Pairs]
    encoded: Mapping[str, Encoded]
    lexicon: Lexicon

    @classmethod
    def load(cls, files: Mapping[str, str | Path | None]) -> Data:
        """Read the files that are given; see `load_pairs`."""
        return cls.of({name: load_pairs(file) for name, file in files.items() if file is not None})

    @classmethod
    def of(cls, pairs: Mapping[str, Pairs]) -> Data:
        """Encode pairs by a lexicon of all their words.

        Raises
        ------
        WordbiasError
            If all pairs to train on have one label: there is nothing to tell apart.
        """
        _check_labels(pairs["train"])
        sides = (side for one in pairs.values() for side in (one.premises, one.hypotheses))
        lexicon = Lexicon.of(sentence for side in sides for sentence in side)
        encoded = {name: Encoded.of(one, lexicon) for name, one in pairs.items()}
        return cls(pairs, encoded, lexicon)


def _check_labels(train: Pairs) -> None:
    found = np.unique(train.labels).tolist()
    if len(found) < 2:
        raise WordbiasError(
            f"all {len(train):,} pairs to train on are labelled {LABELS[found[0]]}; give pairs of "
            "at least two labels with --train"
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """What to train, and the share of the words in the training sentences that are known.

    Attributes
    ----------
    jobs
        One for each embedding and seed.
    known
        By the names of the embeddings.
    """

    jobs: Sequence[Job]
    known: Mapping[str, float]


def plan(
    embeddings: Iterable[Embedding],
    seeds: Sequence[int],
    data: Data,
    recipe: Recipe,
    folder: Path,
    *,
    half: bool = False,
) -> Plan:
    """Plan one model for each embedding and seed, to be written to ``NAME.seedS.safetensors``.

    Parameters
    ----------
    embeddings
        Of one dimension and with names of their own; each is let go of before the next is taken.

    Raises
    ------
    WordbiasError
        If two embeddings have different dimensions or one name, or one has not a single word.
    """
    jobs: list[Job] = []
    known: dict[str, float] = {}
    dims: dict[str, int] = {}
    trained_on = {name: data.pairs[name] for name in ("train", "dev")}
    # words that only a test set has come last, and must not make another training of it
    used = 1 + max(int(data.encoded[name].sentences.flat.max()) for name in trained_on)
    for embedding in embeddings:
        _check_unlike(embedding, dims)
        dims[embedding.name] = embedding.dim
        table = data.lexicon.table(embedding)
        seen = Table(table.vectors[:used], table.found[:used], table.lower)
        known[embedding.name] = _known(embedding, table, data.encoded["train"])
        for seed in seeds:
            about = specify(embedding, seen, trained_on, recipe, seed, half)
            about["embedding"]["vocabulary"] = vocabulary_hash(embedding.words)
            output = folder / f"{embedding.name}.seed{seed}{SUFFIX}"
            jobs.append(Job(table.vectors, seed, output, about))
    return Plan(jobs, known)


def single(chosen: Plan, output: Path) -> Plan:
    """Have the only model of a plan written to another file."""
    (job,) = chosen.jobs
    return replace(chosen, jobs=[replace(job, output=output)])


def vocabulary_hash(words: Iterable[str]) -> str:
    """Hash words in their order."""
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def accuracy_rows(job: Job, data: Data) -> list[Row]:
    """Return the accuracy of a trained model on dev and, if there is one, on the test set.

    The first time that a model is asked about a test set, the answer is put into its file.
    """
    model = Model.load(job.output)
    found = {"dev": float(model.about["dev_accuracy"])}
    if "test" in data.pairs:
        found["test"] = _test_accuracy(job, model, data)
    subject = job.output.name.removesuffix(SUFFIX)
    about: dict[str, Any] = {
        "embedding": job.about["embedding"]["name"],
        "seed": job.seed,
        "epoch": model.about["best_epoch"],
    }
    return [
        Row(
            subject,
            "snli-accuracy",
            value,
            {"set": name, **about, "n": len(data.pairs[name]), "better": "higher"},
        )
        for name, value in found.items()
    ]


def _test_accuracy(job: Job, model: Model, data: Data) -> float:
    pairs = data.pairs["test"]
    known = model.about.get("test", {})
    if known.get("sha256") == pairs.sha256 and known.get("pairs") == len(pairs):
        return float(known["accuracy"])
    found = probabilities(model, job.vectors, data.encoded["test"]).argmax(1)
    accuracy = float((found == pairs.labels).mean())
    test = {"sha256": pairs.sha256, "pairs": len(pairs), "accuracy": accuracy}
    replace(model, about={**model.about, "test": test}).save(job.output)
    return accuracy


def _check_unlike(embedding: Embedding, dims: Mapping[str, int]) -> None:
    """Refuse what does not go with the embeddings before it."""
    if embedding.name in dims:
        raise WordbiasError(
            f"two embeddings are called {embedding.name}; models are named after them: rename one "
            "file"
        )
    for name, dim in dims.items():
        if dim != embedding.dim:
            raise WordbiasError(
                f"{name} has {dim} dimensions and {embedding.name} {embedding.dim}; train them in "
                "calls of their own"
            )


def _known(embedding: Embedding, table: Table, train: Encoded) -> float:
    """Return the share of tokens that an embedding has, NULL left out."""
    counts = np.bincount(train.sentences.flat, minlength=len(table.found))
    counts[0] = 0
    if not counts[table.found].any():
        raise WordbiasError(
            f"{embedding.name} has none of the {len(table.found) - 1} words of the training data"
        )
    return float(counts[table.found].sum() / counts.sum())
