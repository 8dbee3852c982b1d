"""Where a training of gender-preserving debiasing is, and how that goes to disk and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from wordbias.methods.gender_preserving.autoencoder import (
    Networks,
    Tensor,
    by_name,
    copied,
    from_names,
    load_torch,
)
from wordbias.methods.gender_preserving.checkpoint import Snapshot
from wordbias.methods.gender_preserving.phase import Corpus, Phase

_ROLES = ("start", "now", "best")
_LOSSES = ("best_loss", "best_epoch")


@dataclass
class State:
    """Where a training is.

    Attributes
    ----------
    phase, epoch
        The phase, and its epochs done.
    start, now, best
        The networks when the phase began, as they are, and as they were at the best epoch.
    best_loss, best_epoch
        Of everything trained together, or of each classifier, shape ``(2,)``.
    optimizer
        Of what the phase trains.
    done
        What is known of the phases that came to their end.
    """

    phase: int
    epoch: int
    start: Networks
    now: Networks
    best: Networks
    best_loss: Tensor
    best_epoch: Tensor
    optimizer: Any
    done: list[dict[str, Any]] = field(default_factory=list)


def trained(phase: Phase, networks: Networks) -> list[Tensor]:
    """Return the tensors that a phase trains."""
    return [tensor for part in phase.trained for tensor in getattr(networks, part)]


def begun(phases: Sequence[Phase], number: int, networks: Networks, done: list[Any]) -> State:
    """Begin a phase with networks that nobody changes."""
    torch, now = load_torch(), copied(networks)
    best_loss = networks.encoder.bias.new_full((1,), torch.inf)
    return State(
        phase=number,
        epoch=0,
        start=networks,
        now=now,
        best=copied(networks),
        best_loss=best_loss,
        best_epoch=torch.zeros_like(best_loss, dtype=torch.int64),
        optimizer=_optimizer(phases[number], now),
        done=done,
    )


def _optimizer(phase: Phase, networks: Networks) -> Any:
    return phase.optimizer([tensor.requires_grad_() for tensor in trained(phase, networks)])


def snapshot(state: State) -> Snapshot:
    """Copy a state to the arrays of a checkpoint."""
    tensors = {name: getattr(state, name) for name in _LOSSES}
    for role in _ROLES:
        named = by_name(getattr(state, role))
        tensors |= {f"{role}.{name}": tensor for name, tensor in named.items()}
    for i, kept in state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{name}": tensor for name, tensor in kept.items()}
    arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
    return Snapshot(arrays, {"phase": state.phase, "epoch": state.epoch, "done": list(state.done)})


def restored(found: Snapshot, phases: Sequence[Phase], corpus: Corpus) -> State:
    """Undo `snapshot`, on the device of the corpus."""
    torch, device = load_torch(), corpus.device
    tensors = {name: torch.tensor(array).to(device) for name, array in found.arrays.items()}
    kept: dict[str, Any] = {role: from_names(_under(role, tensors)) for role in _ROLES}
    kept |= {**{name: tensors[name] for name in _LOSSES}, **found.notes}
    optimizer = _optimizer(phases[kept["phase"]], kept["now"])
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _under("optimizer", tensors).items():
        i, _, key = name.partition(".")
        moments.setdefault(int(i), {})[key] = tensor.cpu() if key == "step" else tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    return State(**kept, optimizer=optimizer)


def _under(role: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = f"{role}."
    return {key.removeprefix(start): t for key, t in tensors.items() if key.startswith(start)}
