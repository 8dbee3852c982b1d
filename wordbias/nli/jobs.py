"""Training jobs of one call: a model for each embedding and seed, on the same pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.nli.files import AS_GIVEN, Model
from wordbias.nli.lexicon import NULL, UNKNOWN, Encoded, Lexicon, Table
from wordbias.nli.pairs import LABELS, Pairs
from wordbias.nli.recipes import Recipe
from wordbias.nli.scoring import probabilities
from wordbias.results import Row
from wordbias.store import difference

SUFFIX = ".safetensors"
ARITHMETIC = 2
"""Version of what training computes and draws. With the same settings and seed, a model of another
version, or of the first ones, which name none, has other weights; a study does not mix them."""


@dataclass(frozen=True, eq=False)
class Data:
    """Pairs of the sets train, dev and perhaps test, by the set's name; also encoded."""

    pairs: Mapping[str, Pairs]
    encoded: Mapping[str, Encoded]
    lexicon: Lexicon

    @classmethod
    def of(cls, pairs: Mapping[str, Pairs]) -> Data:
        """Encode pairs by a lexicon of all their words."""
        labels = np.unique(pairs["train"].labels).tolist()
        if len(labels) < 2:
            raise WordbiasError(
                f"all {len(pairs['train']):,} pairs to train on are labelled {LABELS[labels[0]]}; "
                "give pairs of at least two labels with --train"
            )
        sides = (side for split in pairs.values() for side in (split.premises, split.hypotheses))
        lexicon = Lexicon.of(sentence for side in sides for sentence in side)
        encoded = {name: Encoded.of(split, lexicon) for name, split in pairs.items()}
        return cls(pairs, encoded, lexicon)


@dataclass(frozen=True, eq=False)
class Job:
    """One model to train."""

    vectors: NDArray[np.float32]  # vectors of the lexicon's tokens, shape `(v, d)`
    seed: int
    output: Path  # file for the model; its log and checkpoint lie beside it
    # data, vectors and settings, as stored with the model; jobs with equal ones are the same
    about: Mapping[str, Any]
    known: float  # share of the tokens of the training sentences that the embedding has
    # False if what is asked of the model is stored: it is trained only with the others of a
    # checkpoint that holds it too
    wanted: bool = True

    @property
    def log(self) -> Path:
        """The log, one line of JSON an epoch."""
        return self.output.with_name(f"{self.output.name}.log.jsonl")

    @property
    def checkpoint(self) -> Path:
        """The file that an interrupted training is resumed from."""
        return self.output.with_name(f"{self.output.name}.checkpoint")

    def epoch_file(self, epoch: int) -> Path:
        """Return the file of the model after an epoch, if it is kept."""
        return self.output.with_name(
            f"{self.output.name.removesuffix(SUFFIX)}.epoch{epoch}{SUFFIX}"
        )

    def is_done(self) -> bool:
        """Return whether the model is written, or not wanted."""
        if not self.wanted or not self.output.exists():
            return not self.wanted
        try:
            known = Model.load(self.output).about
        except WordbiasError as error:
            raise WordbiasError(f"{error} (remove this file, or name another output)") from None
        different = difference({key: known.get(key) for key in self.about}, dict(self.about))
        if different is None:
            return True
        raise WordbiasError(
            f"{self.output}: holds a model that was trained otherwise: its {different}; remove it, "
            "or name another output"
        )


def plan_jobs(
    embeddings: Iterable[Embedding],
    seeds: Sequence[int],
    data: Data,
    recipe: Recipe,
    folder: Path,
    *,
    half: bool = False,
    raw: bool = False,
) -> list[Job]:
    """Plan one model for each embedding and seed, to be written to ``NAME.seedS.safetensors``."""
    # Only one embedding at a time is in memory.
    jobs: list[Job] = []
    dims: dict[str, int] = {}
    trained_on = {name: data.pairs[name] for name in ("train", "dev")}
    # words that only a test set has come last, and must not make another training of it
    used = 1 + max(int(data.encoded[name].sentences.flat.max()) for name in trained_on)
    for embedding in embeddings:
        _check_name_and_dimension(embedding, dims)
        dims[embedding.name] = embedding.dim
        table = data.lexicon.table(embedding, raw=raw)
        known = _share_known(embedding, table, data.encoded["train"])
        trained = Table(table.vectors[:used], table.found[:used], table.lower)
        for seed in seeds:
            about = _describe(embedding, trained, trained_on, recipe, half, raw, seed)
            output = folder / f"{embedding.name}.seed{seed}{SUFFIX}"
            jobs.append(Job(table.vectors, seed, output, about, known))
    return jobs


def _check_name_and_dimension(embedding: Embedding, dims: Mapping[str, int]) -> None:
    """Refuse an embedding that has the name of one before it, or another dimension."""
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


def _share_known(embedding: Embedding, table: Table, train: Encoded) -> float:
    """Return the share of tokens that an embedding has, NULL left out."""
    counts = np.bincount(train.sentences.flat, minlength=len(table.found))
    counts[0] = 0
    if not counts[table.found].any():
        raise WordbiasError(
            f"{embedding.name} has none of the {len(table.found) - 1} words of the training data"
        )
    return float(counts[table.found].sum() / counts.sum())


def _describe(
    embedding: Embedding,
    table: Table,
    data: Mapping[str, Pairs],
    recipe: Recipe,
    half: bool,
    raw: bool,
    seed: int,
) -> dict[str, Any]:
    """Describe a training in JSON's types, so that equal trainings have equal descriptions."""
    return {
        "embedding": {
            "name": embedding.name,
            "sha256": embedding.info.sha256 if embedding.info else "",
            "words": len(embedding),
            "dim": embedding.dim,
            "vocabulary": vocabulary_hash(embedding.words),
        },
        "conventions": {
            "length": AS_GIVEN if raw else "unit",
            "lower": table.lower,
            "first token": NULL,
            "unknown vectors": UNKNOWN,
        },
        "vectors": hashlib.sha256(table.vectors.tobytes()).hexdigest(),
        "data": {
            name: {"sha256": pairs.sha256, "pairs": len(pairs), "dropped": pairs.dropped}
            for name, pairs in data.items()
        },
        "recipe": recipe.to_dict(),
        "precision": "bfloat16" if half else "float32",
        "arithmetic": ARITHMETIC,
        "seed": seed,
    }


def vocabulary_hash(words: Iterable[str]) -> str:
    """Hash words in their order."""
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def accuracy_rows(job: Job, data: Data) -> list[Row]:
    """Return the accuracy of a trained model on dev and, if there is one, on the test set."""
    # The accuracy on a test set is stored in the model's file when it is first computed.
    model = Model.load(job.output)
    accuracies = {"dev": float(model.about["dev_accuracy"])}
    if "test" in data.pairs:
        accuracies["test"] = _test_accuracy(job, model, data)
    about = {
        "embedding": job.about["embedding"]["name"],
        "seed": job.seed,
        "epoch": model.about["best_epoch"],
    }
    return [
        Row(
            job.output.name.removesuffix(SUFFIX),
            "snli-accuracy",
            value,
            {"set": name, **about, "n": len(data.pairs[name]), **ideal("snli-accuracy")},
        )
        for name, value in accuracies.items()
    ]


def _test_accuracy(job: Job, model: Model, data: Data) -> float:
    pairs = data.pairs["test"]
    known = model.about.get("test", {})
    if known.get("sha256") == pairs.sha256 and known.get("pairs") == len(pairs):
        return float(known["accuracy"])
    predicted = probabilities(model, job.vectors, data.encoded["test"]).argmax(1)
    accuracy = float((predicted == pairs.labels).mean())
    test = {"sha256": pairs.sha256, "pairs": len(pairs), "accuracy": accuracy}
    replace(model, about={**model.about, "test": test}).save(job.output)
    return accuracy
