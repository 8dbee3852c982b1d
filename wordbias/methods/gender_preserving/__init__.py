r"""Gender-preserving debiasing by an autoencoder (Kaneko and Bollegala 2019).

.. math:: L = L_r + \lambda \, [L_f + L_m + (v^\top E(w_s))^2 + (v^\top E(w_n))^2], \quad
          v = \overline{E(w_m) - E(w_f)}

The encoder E keeps what distinguishes the groups' own words (:math:`L_f, L_m`) and what words mean
(:math:`L_r`), and makes stereotypes :math:`w_s` and neutral words :math:`w_n` orthogonal to the
difference of the groups. The encoded word is the debiased vector; only fitting needs torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from wordbias.arguments import named_file
from wordbias.arrays import rounding
from wordbias.devices import find_device, torch_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.gender_preserving.networks import (
    TanhEncoder,
    TanhReach,
    load_torch,
    refuse_mostly_outside,
    tanh_reach,
)
from wordbias.methods.gender_preserving.words import Given, Lists, find_lists, hold_out
from wordbias.methods.words import as_attribute, check_embedding
from wordbias.results import Row
from wordbias.wordlists import Attribute

if TYPE_CHECKING:
    from wordbias.methods.gender_preserving.training import Trained


_MUCH = 0.01
_LOWER = {"neutral": 0.0, "better": "lower"}
_CHECKPOINTS: WeakKeyDictionary[Fitted, Path] = WeakKeyDictionary()


def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    stereotypes: Given = None,
    neutral: Given = None,
    pretrain_epochs: int = 315,
    classifier_epochs: int = 15,
    epochs: int = 5,
    weight: float = 1e-4,
    device: str | None = None,
    checkpoint: str | Path | None = None,
    as_published: bool = False,
    seed: int = 0,
) -> Fitted:
    """Fit gender-preserving debiasing (extra `torch`); every word is mapped."""
    # The checkpoint is not removed at the end: `remove_checkpoints` does when the result is stored.
    # As published, vectors are not scaled, although the decoder's tanh cannot reach values outside
    # (−1, 1); the autoencoder and the classifiers have one epoch less, and an epoch of the main
    # loss ends with the shortest list. The paper's loss gives removal so little weight that
    # stereotypes may keep their projection, or increase it: the rows `stereotype-projection` and a
    # warning say so.
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    load_torch()
    settings: dict[str, Any] = {
        "pretrain_epochs": pretrain_epochs,
        "classifier_epochs": classifier_epochs,
        "epochs": epochs,
        "weight": weight,
        "as_published": as_published,
        "seed": seed,
    }
    _check_settings(settings)
    reach = tanh_reach(embedding)
    if as_published:
        refuse_mostly_outside(embedding.name, reach)
    scale = reach.scale(as_published)
    lists = find_lists(embedding, attribute, stereotypes, neutral, seed)
    _check_difference(embedding, lists)
    # these import torch
    from wordbias.methods.gender_preserving.training import Corpus, train

    path = None if checkpoint is None else Path(named_file(checkpoint))
    corpus = Corpus(embedding.vectors, find_device(device), scale)
    trained = train(corpus, hold_out(embedding, lists, seed), **settings, checkpoint=path)
    name = embedding.name
    rows = [*word_rows(name, lists), *reach_rows(name, reach, scale)]
    rows += training_rows(name, attribute.groups, trained)
    kernel, bias = (tensor.cpu().double().numpy() for tensor in trained.after.encoder)
    fitted = Fitted(
        "gender-preserving",
        (TanhEncoder(kernel / scale, bias),),
        found=tuple(rows),
        settings={
            "stereotypes": _plain(stereotypes), "neutral": _plain(neutral),
            "pretrain_epochs": pretrain_epochs, "classifier_epochs": classifier_epochs,
            "epochs": epochs, "weight": weight, "device": device, "as_published": as_published,
            "seed": seed,
        },
        warnings=tuple(remarks(reach, scale, rows)),
    )  # fmt: skip
    if path is not None:
        _CHECKPOINTS[fitted] = path
    return fitted


def remove_checkpoints(fitted: Iterable[Fitted]) -> None:
    """Remove the checkpoints of fits whose result is stored."""
    # Only those of fits of this process are removed: a file that a loaded fit names is kept.
    for method in fitted:
        if (path := _CHECKPOINTS.pop(method, None)) is not None:
            path.unlink(missing_ok=True)


def _check_settings(settings: dict[str, Any]) -> None:
    before = 1 + settings["as_published"]
    for name, least in (("pretrain_epochs", before), ("classifier_epochs", before), ("epochs", 1)):
        if settings[name] < least:
            lost = "; as published one of them is not run" if least > 1 else ""
            raise WordbiasError(f"{name}: expected at least {least}, got {settings[name]}{lost}")
    weight, seed = settings["weight"], settings["seed"]
    if not (weight > 0 and np.isfinite(weight)):
        raise WordbiasError(f"weight: expected a positive number, got {weight}")
    if seed < 0:
        raise WordbiasError(f"seed: expected a number from 0 on, got {seed}")


def _check_difference(embedding: Embedding, lists: Lists) -> None:
    first, second = (embedding.take(words) for words in zip(*lists.pairs.found, strict=True))
    mean = (second.astype(float) - first).mean(0)
    if np.linalg.norm(mean) <= max(rounding(first), rounding(second)):
        raise WordbiasError(
            f"{embedding.name}: the mean difference of {len(first)} pairs is zero; there is "
            "nothing to preserve or to remove: are the vectors constant, or debiased already?"
        )


def _plain(given: Given) -> Any:
    """Return words or a path as JSON can hold it."""
    if isinstance(given, Path):
        return str(given)
    return given if given is None or isinstance(given, str) else list(given)


# rows and warnings


def word_rows(subject: str, lists: Lists) -> Iterator[Row]:
    """Yield the number of words found of each list, and the missing ones."""
    for kind in ("pairs", "stereotypes", "neutral"):
        resolved = getattr(lists, kind)
        missing = {"missing": list(resolved.missing)} if resolved.missing else {}
        yield Row(subject, "training-words", len(resolved.found), {"set": kind, **missing})


def reach_rows(subject: str, reach: TanhReach, scale: float) -> Iterator[Row]:
    """Yield the shares of values outside (−1, 1) and of length that cannot be reconstructed."""
    details = {"scale": scale, **_LOWER}
    yield Row(subject, "outside-tanh", reach.outside, details)
    yield Row(subject, "unreachable-share", reach.lost if scale == 1 else 0.0, details)


def training_rows(subject: str, groups: tuple[str, str], trained: Trained) -> Iterator[Row]:
    """Yield the epochs of each phase; losses and accuracies before and after the main phase."""
    # The reconstruction loss is that of the vectors before scaling; `epoch` is the one that is
    # kept.
    autoencoding, classifying, debiasing = trained.phases
    names = autoencoding.name, classifying.name, debiasing.name
    for phase, state in zip(names, trained.states, strict=True):
        best = state.epoch.tolist()
        which = [{"group": group} for group in groups] if len(best) > 1 else [{}]
        for label, epoch in zip(which, best, strict=True):
            yield Row(subject, "epochs", state.done, {"set": phase, **label, "epoch": epoch})
    for stage, networks in (("before", trained.before), ("after", trained.after)):
        with load_torch().no_grad(), torch_threads(1):
            loss = autoencoding.reconstruction(networks).item() * autoencoding.corpus.scale**2
            accuracy = dict(zip(groups, classifying.accuracy(networks).tolist(), strict=True))
            along = debiasing.stereotypes_along(networks)
        common: dict[str, Any] = {"stage": stage, **_LOWER}
        yield Row(subject, "reconstruction-loss", loss, {**common, "n": len(autoencoding.dev)})
        for part, (values, cosines) in along.items():
            about = {**common, "set": part, "n": len(values), "cosine": cosines.mean().item()}
            yield Row(subject, "stereotype-projection", values.mean().item(), about)
        for group, value in accuracy.items():
            about = {"stage": stage, "group": group, "neutral": 0.5, "better": "higher"}
            yield Row(subject, "classifier-accuracy", value, about)


def remarks(reach: TanhReach, scale: float, rows: Sequence[Row]) -> Iterator[str]:
    """Yield warnings on values out of reach and on stereotypes that did not move."""
    if scale == 1 and reach.lost > _MUCH:
        yield (
            f"{reach.outside:.1%} of the values lie outside (−1, 1), beyond the decoder's tanh: "
            f"{reach.lost:.1%} of all squared length cannot be reconstructed"
        )
    for part in ("train", "held-out"):
        before, after = (
            row.value or 0.0
            for row in rows
            if row.measure == "stereotype-projection" and row.details["set"] == part
        )
        if after >= before:
            yield f"stereotype-projection ({part}) did not fall: {before:.4g} → {after:.4g}"
