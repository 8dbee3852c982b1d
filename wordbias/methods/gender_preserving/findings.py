"""What fitting gender-preserving debiasing finds out, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wordbias.methods.gender_preserving.autoencoder import load_torch
from wordbias.methods.gender_preserving.reach import Reach
from wordbias.methods.gender_preserving.words import Lists
from wordbias.results import Row
from wordbias.torch_threads import torch_threads

if TYPE_CHECKING:
    from wordbias.methods.gender_preserving.training import Trained

_MUCH = 0.01
_LOWER = {"neutral": 0.0, "better": "lower"}


def word_rows(subject: str, lists: Lists) -> Iterator[Row]:
    """Say how many words of each list were found, and which were not."""
    for kind in ("pairs", "stereotypes", "neutral"):
        found = getattr(lists, kind)
        missing = {"missing": list(found.missing)} if found.missing else {}
        yield Row(subject, "training-words", len(found.found), {"set": kind, **missing})


def reach_rows(subject: str, reach: Reach, scale: float) -> Iterator[Row]:
    """Say what lies beyond the decoder, and what of it no training can reconstruct."""
    said = {"scale": scale, **_LOWER}
    yield Row(subject, "outside-tanh", reach.outside, said)
    yield Row(subject, "unreachable-share", reach.lost if scale == 1 else 0.0, said)


def training_rows(subject: str, groups: tuple[str, str], trained: Trained) -> Iterator[Row]:
    """Return epochs of each phase; losses and accuracies before and after the main phase.

    The reconstruction loss is that of the vectors as they were given, whatever they were scaled
    by; the losses beside the epochs are those that were minimised.
    """
    autoencoding, classifying, debiasing = trained.phases
    names = autoencoding.name, classifying.name, debiasing.name
    for phase, state in zip(names, trained.states, strict=True):
        best, losses = state.epoch.tolist(), (-state.score).tolist()
        whose = [{"group": group} for group in groups] if len(losses) > 1 else [{}]
        for one, epoch, loss in zip(whose, best, losses, strict=True):
            about = {"phase": phase, **one, "best_epoch": epoch, "dev_loss": loss}
            yield Row(subject, "epochs", state.done, about)
    for stage, networks in (("before", trained.before), ("after", trained.after)):
        with load_torch().no_grad(), torch_threads(1):
            loss = autoencoding.reconstruction(networks).item() * autoencoding.corpus.scale**2
            accuracy = dict(zip(groups, classifying.accuracy(networks).tolist(), strict=True))
            along = debiasing.stereotypes_along(networks)
        said: dict[str, Any] = {"stage": stage, **_LOWER}
        yield Row(subject, "reconstruction-loss", loss, {**said, "n": len(autoencoding.dev)})
        for part, (values, cosines) in along.items():
            about = {**said, "set": part, "n": len(values), "cosine": cosines.mean().item()}
            yield Row(subject, "stereotype-projection", values.mean().item(), about)
        for group, value in accuracy.items():
            about = {"stage": stage, "group": group, "neutral": 0.5, "better": "higher"}
            yield Row(subject, "classifier-accuracy", value, about)


def remarks(reach: Reach, scale: float, rows: Sequence[Row]) -> Iterator[str]:
    """Say what a reader must know."""
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
