"""Models as arguments: a folder, a name on the hub, or a model loaded by the caller.

Also the few uses of torch and transformers that all models share, import, device, mode, log level,
and the register of the interventions in a model, below the encoders that must notice them.
"""

from __future__ import annotations

import copy
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeGuard
from weakref import WeakKeyDictionary

from wordbias.devices import find_device
from wordbias.errors import WordbiasError, first_line, need
from wordbias.models.peft import adapters_in_name, has_adapters, inside_peft, merged
from wordbias.resources.models import model_folder

PURPOSE = "a Hugging Face model"


def need_transformers() -> Any:
    """Import transformers; raise an error with the command that installs it if it is missing."""
    need("torch", extra="contextual", purpose=PURPOSE)
    with warnings.catch_warnings():
        # by tqdm, in a notebook without ipywidgets
        warnings.filterwarnings("ignore", "IProgress not found")
        return need("transformers", extra="contextual", purpose=PURPOSE)


def to_device(model: Any, device: str | None, precision: str | None = None) -> tuple[Any, str]:
    """Move a model to a device, in evaluation mode; return it and the device."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    dtype = None if precision is None else getattr(torch, precision)
    chosen = find_device(device or None)
    try:
        return model.eval().to(device=chosen, dtype=dtype), str(chosen)
    except (RuntimeError, TypeError) as error:
        raise WordbiasError(f"device {str(chosen)!r}: {first_line(error)}; use cpu") from None


def to_float64(x: Any) -> Any:
    """Return a tensor in float64, on the CPU if it is on mps, which lacks that type."""
    return (x.cpu() if x.device.type == "mps" else x).double()


def check_in_memory(model: Any, name: str) -> None:
    """Refuse a model with offloaded weights, which cannot be read."""
    away = [weight_name for weight_name, weight in model.named_parameters() if weight.is_meta]
    if away:
        raise WordbiasError(
            f"{name}: {len(away):,} of its weights are offloaded, not in memory (the first is "
            f"{away[0]}); load the model whole, in bfloat16 or on a device with more memory"
        )


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Set a model to evaluation mode, without dropout, and restore its mode afterwards."""
    from wordbias.products import products

    training = [module for module in model.modules() if module.training]
    if training:
        model.eval()
    try:
        parameter = next(model.parameters(), None)
        with products("cpu" if parameter is None else parameter.device):
            yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def silent(transformers: Any) -> Iterator[None]:
    """Silence the messages and progress bars of transformers."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


class HoldsModel(Protocol):
    """A pipeline of transformers, a ``CrossEncoder``, or an object with the same attributes."""

    model: Any
    tokenizer: Any


class HoldsTransformer(Protocol):
    """A ``SentenceTransformer``."""

    tokenizer: Any

    def __getitem__(self, place: int) -> Any:
        """Return a module."""


ModelLike = str | os.PathLike[str] | tuple[Any, Any] | HoldsModel | HoldsTransformer
"""A folder, a name on the hub, a pair (model, tokenizer), a pipeline, or a SentenceTransformer.

A model may be a ``PeftModel``, or have adapters of PEFT in its layers. As a classifier of texts
also a pair of an encoder and a linear classifier of scikit-learn that is fitted to its vectors.
"""


def has_head(source: object) -> TypeGuard[tuple[Any, Any]]:
    """Return whether a model is a pair of an encoder and a classifier of scikit-learn."""
    if not isinstance(source, tuple) or len(source) != 2:
        return False
    return hasattr(source[1], "predict") and not callable(source[1])


def name_of(source: ModelLike) -> str:
    """Return the name of a model in messages and results; of a loaded one its source."""
    # Adapters of PEFT are named after it, as in all-MiniLM-L6-v2+lora.
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if has_head(source):
        return name_of(source[0])
    model, _ = model_and_tokenizer(source)
    return str(getattr(model, "name_or_path", "") or type(model).__name__) + adapters_in_name(model)


def model_and_tokenizer(source: object) -> tuple[Any, Any]:
    """Return the model and the tokenizer that a caller has loaded."""
    model = tokenizer = None
    if isinstance(source, (tuple, list)) and len(source) == 2:
        model, tokenizer = transformer_of(source[0]), source[1]
    elif not isinstance(source, (str, os.PathLike)):
        model, tokenizer = transformer_of(source), getattr(source, "tokenizer", None)
        if model is source and tokenizer is not None:
            model = getattr(source, "model", None)
    if hasattr(model, "config") and callable(tokenizer):
        return model, tokenizer
    without = " without its tokenizer" if hasattr(source, "config") else ""
    if not without and (callable(source) or hasattr(source, "encode")):
        without = (
            "; vectors of texts alone are taken by wordbias audit, encode, probe, erase, seat and "
            "retrieval, and this reads the model itself"
        )
    raise WordbiasError(
        "expected a model: a folder, a name on the hub, a pair (model, tokenizer) of transformers, "
        f"a pipeline or a SentenceTransformer; got {type(source).__name__}{without}"
    )


def held_by(model: Any) -> Any:
    """Return the model in a ``SentenceTransformer``, or the model itself."""
    if hasattr(model, "transformers_model"):
        return model.transformers_model
    return model[0].auto_model if hasattr(model, "_first_module") else model


def transformer_of(model: Any) -> Any:
    """Return the transformers model in a ``SentenceTransformer`` or ``PeftModel``, or itself."""
    return inside_peft(held_by(model))


@contextmanager
def in_folder(source: ModelLike) -> Iterator[str]:
    """Yield the folder of a model; one that is loaded is written to a temporary folder."""
    # Of a name on the hub it is the folder in the cache. Adapters of PEFT are merged into the
    # weights that are written.
    if isinstance(source, (str, os.PathLike)):
        yield model_folder(os.fspath(source))
        return
    model, tokenizer = model_and_tokenizer(source)
    whole: Any = source
    if has_adapters(model):
        plain = merged(model)
        if hasattr(source, "encode"):
            whole = copy.deepcopy(source, {id(held_by(source)): plain})
        model = plain
    with tempfile.TemporaryDirectory(prefix="wordbias-") as folder:
        with silent(need_transformers()):
            if hasattr(source, "encode"):  # a SentenceTransformer, with its other modules
                whole.save_pretrained(folder, create_model_card=False)
            else:
                model.save_pretrained(folder)
                tokenizer.save_pretrained(folder)
        yield folder


# Interventions that are applied to models now, which can be paused


class Applied:
    """Interventions that are applied to a model now."""

    sites: tuple[str, ...]
    setting: str  # name of the setting that they are of; by default their sites
    sha256: str  # hash of the sites and of what is removed there

    def __init__(self, sites: Sequence[str], setting: str = "", sha256: str = "") -> None:
        self.sites = tuple(sites)
        self.setting = setting or ",".join(self.sites)
        self.sha256 = sha256
        self.paused = False


_ACTIVE: WeakKeyDictionary[Any, list[Applied]] = WeakKeyDictionary()


def interventions_in(model: Any) -> list[Applied]:
    """Return the interventions in a model, or in one that it is part of, the outer block first."""
    # An encoder is a part of the same model with a head.
    return [
        intervention
        for whole, applied in _ACTIVE.items()
        if applied and (whole is model or any(part is model for part in whole.modules()))
        for intervention in applied
    ]


@contextmanager
def intervening(
    model: Any, sites: Sequence[str], setting: str = "", sha256: str = ""
) -> Iterator[Applied]:
    """Register interventions in a model as long as the block lasts; see `Applied`."""
    intervention = Applied(sites, setting, sha256)
    _ACTIVE.setdefault(model, []).append(intervention)
    try:
        yield intervention
    finally:
        _ACTIVE[model].remove(intervention)


@contextmanager
def paused(model: Any) -> Iterator[None]:
    """Pause all interventions in a model."""
    active = [applied for applied in interventions_in(model) if not applied.paused]
    for intervention in active:
        intervention.paused = True
    try:
        yield
    finally:
        for intervention in active:
            intervention.paused = False
