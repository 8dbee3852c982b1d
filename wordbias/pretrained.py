"""Models of transformers, from a folder or the hub: loaded quietly, and refused in one line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.optional import need

PURPOSE = "a Hugging Face model"
HUB_SECONDS = 10
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a folder or the hub held.

    Attributes
    ----------
    model, tokenizer
        As transformers loads them.
    missing
        Parameters that no file held, which were drawn at random, sorted.
    """

    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    missing: tuple[str, ...] = ()


def load_pretrained(kind: str, name: str, what: str) -> Loaded:
    """Load a model and its tokenizer; no code that comes with them is run.

    A folder needs no network. A name on the hub is looked up in the cache first, so that what was
    fetched once works offline.

    Parameters
    ----------
    kind
        A class of transformers, such as ``AutoModel``.
    name
        A folder, or a name on the hub.
    what
        What it should be, for messages.

    Raises
    ------
    WordbiasError
        If torch or transformers is missing, or there is no such model.
    """
    transformers = need_transformers()

    def load(**where: Any) -> Loaded:
        tokenizer = _tokenizer(transformers, name, **where)
        model, found = getattr(transformers, kind).from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, **where
        )
        return Loaded(model, tokenizer, tuple(sorted(found["missing_keys"])))

    loaded: Loaded = _from_folder_or_hub(load, name, what)
    return loaded


def load_untrained(kind: str, name: str, what: str, seed: int) -> Loaded:
    """Draw the weights of a model anew, as its own initialisation does; keep its tokenizer.

    Only the config and the tokenizer are read. The state of torch's generator is as before.

    Raises
    ------
    WordbiasError
        As `load_pretrained` does.
    """
    transformers = need_transformers()
    torch = need("torch", extra="contextual", purpose=PURPOSE)

    def load(**where: Any) -> Loaded:
        tokenizer = _tokenizer(transformers, name, **where)
        config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False, **where)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = getattr(transformers, kind).from_config(config, trust_remote_code=False)
        return Loaded(model, tokenizer)

    loaded: Loaded = _from_folder_or_hub(load, name, what)
    return loaded


def need_transformers() -> Any:
    """Import transformers, or say how to install it and torch."""
    need("torch", extra="contextual", purpose=PURPOSE)
    return need("transformers", extra="contextual", purpose=PURPOSE)


def to_device(model: Any, device: str | None, precision: str | None = None) -> tuple[Any, str]:
    """Make a model ready to compute; return it and where it is.

    Parameters
    ----------
    device
        By default cuda if there is one.
    precision
        A type of torch; by default as the model is.

    Raises
    ------
    WordbiasError
        If there is no such device.
    """
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = None if precision is None else getattr(torch, precision)
    try:
        return model.eval().to(device=chosen, dtype=dtype), chosen
    except (RuntimeError, AssertionError) as error:
        raise WordbiasError(
            f"device {chosen!r}: {first_line(error)}; use cpu, or cuda with a GPU"
        ) from None


def weights_sha256(model: Any, without: str = "") -> str:
    """Return a hash of all weights and their names, but for those of a part called `without`."""
    digest = hashlib.sha256()
    uint8 = need("torch", extra="contextual", purpose=PURPOSE).uint8
    for name, weight in sorted(model.state_dict().items()):
        if without in name.split("."):
            continue
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        digest.update(weight.detach().cpu().contiguous().view(-1).view(uint8).numpy().data)
    return digest.hexdigest()


def first_line(error: BaseException) -> str:
    """Return what a foreign error says, without what follows its first line."""
    return (str(error).strip() or type(error).__name__).split("\n")[0]


@contextmanager
def silent(transformers: Any) -> Iterator[None]:
    """Keep the notes and bars of transformers from stderr."""
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


def _tokenizer(transformers: Any, name: str, **where: Any) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False, **where)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise WordbiasError("it has no tokenizer, or one without words")
    return tokenizer


def _from_folder_or_hub(load: Callable[..., Any], name: str, what: str) -> Any:
    _check_name(name)
    transformers = need_transformers()
    with silent(transformers):
        try:
            return load(local_files_only=True)
        except Exception as error:  # whatever transformers raises
            if Path(name).exists():
                raise _unloadable(name, what, error) from None
        _check_hub(name)
        try:
            return load()
        except Exception as error:
            raise _unloadable(name, what, error) from None


def _check_name(name: str) -> None:
    """Refuse what can be neither a folder nor a name on the hub."""
    path, remedy = Path(name), "give a folder, or a model's name on the hub"
    if not name.strip():
        raise WordbiasError(f"expected a model, found an empty name; {remedy}")
    if path.is_file():
        raise WordbiasError(f"{name}: is a file, and a model is a folder; {remedy}")
    if path.is_dir() and not (path / "config.json").is_file():
        raise WordbiasError(f"{name}: is a folder without a config.json, so no model; {remedy}")
    if not path.is_dir() and not _HUB_NAME.fullmatch(name):
        raise WordbiasError(f"{name}: no such folder; {remedy}")


def _unloadable(name: str, what: str, error: Exception) -> WordbiasError:
    said = str(error)
    reason = next((why for sign, why in _REASONS.items() if sign in said), first_line(error))
    return WordbiasError(f"{name}: cannot be loaded as {what}: {reason}")


_REASONS = {
    "Weights only load failed": "its weights are a damaged pickle, or one that asks to run code, "
    "which is never done; give a folder with a model.safetensors",
    "ignore_mismatched_sizes": "its weights have other shapes than its config says; give a folder "
    "whose files belong together",
    "backend tokenizer": "it has no tokenizer that can be read (a tokenizer.json)",
    "Error while deserializing header": "its weights are damaged; fetch or write them again",
    "contains custom code": "it needs code that comes with it, which is never run; give a model of "
    "an architecture that transformers has",
}
"""What transformers says at length, or with a remedy that is none here."""


def _check_hub(name: str) -> None:
    """Say at once what transformers would say after half a minute of attempts."""
    hub = need("huggingface_hub", extra="contextual", purpose=PURPOSE)
    try:
        hub.model_info(name, timeout=HUB_SECONDS)
    except Exception as error:  # no network, no such model, no leave to read it
        raise WordbiasError(
            f"{name}: no such folder, not in the cache of the hub, and not to be had from it "
            f"({first_line(error)[:200]}); name a model's folder, or fetch it once with: "
            f"hf download {name}"
        ) from None
