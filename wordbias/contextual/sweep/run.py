"""A sweep over all pairs, in this process or in several.

What of a sweep is done, kept in a file so that an interrupted one goes on.

Pairs of texts as a model reads them: tokens, and batches of like length.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordbias.checkpoints import read_checkpoint, write_checkpoint
from wordbias.contextual.adapters import Fingerprint
from wordbias.contextual.fitting import Tokens, batches
from wordbias.contextual.next_sentence import NextSentence
from wordbias.contextual.sweep.forward import Forward
from wordbias.contextual.sweep.plan import Plan
from wordbias.devices import threads
from wordbias.errors import Interrupted, UsageError, WordbiasError
from wordbias.nli.hugging_face import Classifier
from wordbias.pretrained import LoadedModel, ModelLike, need_transformers, silent
from wordbias.probes.tokenising import batched
from wordbias.progress import progress
from wordbias.workers import Workers

Float32 = NDArray[np.float32]
SECONDS = 30
_PART = "sweep"


class Kept:
    """Outputs of all models for the pairs that were read, and which batches these are.

    Parameters
    ----------
    shape
        Of the outputs: pairs, models, labels.
    batches
        How many there are.
    file
        Where they are kept; None for nowhere.
    about
        What the file must agree in to be gone on from.

    Raises
    ------
    WordbiasError
        If the file is of another sweep, or none.
    """

    done: NDArray[np.bool_]
    file: Path | None
    about: dict[str, Any]
    saved: float

    def __init__(
        self,
        shape: tuple[int, int, int],
        batches: int,
        file: Path | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.logits: Float32 = np.zeros(shape, np.float32)
        self.done = np.zeros(batches, bool)
        self.file, self.about = file, dict(about or {})
        self.saved = time.monotonic()
        if file is not None and file.exists():
            with read_checkpoint(file, self.about, _PART) as (parts, _):
                self.logits[:] = parts[_PART]["logits"].numpy()
                self.done[:] = parts[_PART]["done"].numpy()

    @property
    def left(self) -> list[int]:
        """The batches that are to be read."""
        found: list[int] = np.flatnonzero(~self.done).tolist()
        return found

    def add(self, batch: int, places: NDArray[np.intp], logits: Float32) -> None:
        """Take the outputs of a batch, shape ``(B, models, labels)``; save now and then."""
        self.logits[places] = logits
        self.done[batch] = True
        if time.monotonic() - self.saved > SECONDS:
            self.save()

    def save(self) -> None:
        """Write what there is."""
        if self.file is not None:
            tensors = {"logits": self.logits, "done": self.done}
            parts = {_PART: {name: torch.from_numpy(x) for name, x in tensors.items()}}
            write_checkpoint(self.file, parts, {"about": self.about})
        self.saved = time.monotonic()


Places = NDArray[np.intp]
BUDGET = 2048


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct pairs, tokenised.

    Attributes
    ----------
    tokens
        Of each distinct pair.
    places
        For each pair that was given its place among them, shape ``(n,)``.
    batches
        Places of the distinct pairs that are read together, the longest first.
    padding
        The token that fills up.
    """

    tokens: Sequence[Tokens]
    places: Places
    batches: Sequence[Places]
    padding: int

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        pairs: Sequence[tuple[str, str]],
        *,
        truncate: bool,
        budget: int = BUDGET,
    ) -> Texts:
        """Tokenise pairs.

        Parameters
        ----------
        truncate
            Cut pairs that are longer than the model reads; else they are refused.
        budget
            Tokens in a batch, padding included.

        Raises
        ------
        WordbiasError
            If a pair is too long.
        """
        distinct = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
        limit = model.longest if truncate else None
        tokens = _tokenised(model.tokenizer, list(distinct), limit)
        lengths = np.array([len(one["input_ids"]) for one in tokens])
        model.check_lengths(lengths, "a pair", lambda i: list(distinct)[i][0])
        order = np.argsort(-lengths, kind="stable")
        return cls(
            tokens,
            np.array([distinct[pair] for pair in pairs]),
            list(batched(order, lengths, budget)),
            model.tokenizer.pad_token_id or 0,
        )

    def inputs(self, batch: int) -> tuple[Places, dict[str, Any]]:
        """Return which pairs a batch holds, and the model's inputs, shape ``(B, T)`` each."""
        chosen = self.batches[batch]
        ((order, inputs),) = batches([self.tokens[i] for i in chosen], len(chosen), self.padding)
        return chosen[order], inputs

    def sha256(self) -> str:
        """Return a hash of all tokens, in order, and how they are batched."""
        digest = hashlib.sha256(json.dumps([dict(one) for one in self.tokens]).encode())
        digest.update(json.dumps([len(batch) for batch in self.batches]).encode())
        return digest.hexdigest()


def _tokenised(tokenizer: Any, pairs: Sequence[tuple[str, str]], limit: int | None) -> list[Tokens]:
    first, second = (list(side) for side in zip(*pairs, strict=True))
    how = {} if limit is None else {"truncation": True, "max_length": limit}
    with silent(need_transformers()):
        read = tokenizer(first, second, **how)
    names = [name for name in read if name != "attention_mask"]
    return [{name: list(read[name][i]) for name in names} for i in range(len(first))]


BATCHES_TOGETHER = 4
"""Batches that a process is given at a time."""


@dataclass(frozen=True)
class Source:
    """How to load a model, here and in other processes.

    Attributes
    ----------
    head
        ``next sentence`` or ``inference``.
    model
        A folder, a name on the hub, or a loaded model with its tokenizer, for this process alone.
    labels
        What a user says of its outputs: the one that means "is next", or the order of three.
    device
        By default the first of cuda, mps and cpu that is there.
    """

    head: str
    model: ModelLike
    labels: tuple[str, ...] = ()
    device: str | None = None

    def load(self) -> NextSentence | Classifier:
        """Load it; errors are those of the two classes."""
        if self.head != "inference":
            label = self.labels[0] if self.labels else None
            return NextSentence.load(self.model, next_label=label, device=self.device)
        return Classifier.load(self.model, labels=self.labels or None, device=self.device)


def outputs(
    source: Source,
    judge: NextSentence | Classifier,
    plan: Plan,
    texts: Texts,
    *,
    file: Path | None = None,
    workers: Workers | None = None,
) -> Float32:
    """Return the logits of every model for every pair, shape ``(n, models, labels)``.

    Parameters
    ----------
    source, judge
        The model, and how other processes load it.
    texts
        The pairs, tokenised.
    file
        What is done is kept there, and gone on from if it is there; who has stored the result
        removes it.

    Raises
    ------
    WordbiasError
        If the file is of another sweep, the model puts out no numbers, or one that is loaded would
        be needed in other processes.
    """
    workers = workers or Workers()
    if not workers.here and not isinstance(source.model, (str, os.PathLike)):
        raise UsageError("--jobs and --backend go with names of models, which each process loads")
    shape = (len(texts.tokens), len(plan.names), judge.model.config.num_labels)
    about = {} if file is None else _about(judge.model, plan, texts)
    kept = Kept(shape, len(texts.batches), file, about)
    what = f"sweep, {source.head}"
    try:
        with progress(what, sum(len(texts.batches[i]) for i in kept.left), "pair") as bar:
            for batch, places, logits in _stream(source, judge, plan, texts, kept.left, workers):
                kept.add(batch, places, logits)
                bar.update(len(places))
    except KeyboardInterrupt:
        raise Interrupted(
            "start it again with an output file, and the next interruption loses nothing"
            if file is None
            else f"the same call resumes from {file.name}"
        ) from None
    finally:  # also where a worker died
        kept.save()
    if not np.isfinite(kept.logits).all():
        raise WordbiasError(f"{judge.name}: predicts what is no number; its weights are damaged")
    return kept.logits[texts.places]


def _about(model: Any, plan: Plan, texts: Texts) -> dict[str, Any]:
    digest = hashlib.sha256()
    for i, name in enumerate(plan.names):
        digest.update(name.encode())
        for step in plan.steps_of(i):
            digest.update(f"{step} {step.hard}".encode())
            digest.update(step.subspace.basis.tobytes() + step.subspace.weights.tobytes())
    model_facts = Fingerprint.of(model).to_dict()
    return {"model": model_facts, "interventions": digest.hexdigest(), "pairs": texts.sha256()}


_Done = tuple[int, NDArray[np.intp], Float32]


def _stream(
    source: Source,
    judge: NextSentence | Classifier,
    plan: Plan,
    texts: Texts,
    left: Sequence[int],
    workers: Workers,
) -> Iterator[_Done]:
    if workers.here or len(left) <= BATCHES_TOGETHER:  # loading the model again takes longer
        torch.set_num_threads(threads())
        forward = Forward(judge.model, plan)
        yield from (_batch(forward, judge.device, texts, batch) for batch in left)
        return
    groups = [left[i : i + BATCHES_TOGETHER] for i in range(0, len(left), BATCHES_TOGETHER)]
    parts = [_part(texts, group) for group in groups]
    lost = "the same call goes on with what is left, if it has an output"
    for _, done in workers.unordered(_worker, parts, shared=(source, plan), lost=lost):
        yield from done


def _batch(forward: Forward, device: str, texts: Texts, batch: int) -> _Done:
    places, inputs = texts.inputs(batch)
    with torch.inference_mode():
        logits = forward({name: x.to(device) for name, x in inputs.items()})
    return batch, places, logits.float().transpose(0, 1).cpu().numpy()


_loaded: dict[Source, Any] = {}


def _worker(source: Source, plan: Plan, part: dict[int, Any]) -> list[_Done]:
    """Read some batches in another process, which keeps its model for the next ones."""
    torch.set_num_threads(threads())
    if source not in _loaded:
        _loaded.clear()
        _loaded[source] = source.load()
    judge = _loaded[source]
    forward = Forward(judge.model, plan)
    return [
        (batch, places, _batch(forward, judge.device, texts, 0)[2])
        for batch, (places, texts) in part.items()
    ]


def _part(texts: Texts, group: Sequence[int]) -> dict[int, tuple[NDArray[np.intp], Texts]]:
    """Cut out batches, each as texts of its own with the places they are to be stored at."""
    found = {}
    for batch in group:
        chosen = texts.batches[batch]
        places, _ = texts.inputs(batch)
        tokens = [texts.tokens[i] for i in chosen]
        own = np.arange(len(chosen))
        found[batch] = (places, Texts(tokens, own, [own], texts.padding))
    return found
