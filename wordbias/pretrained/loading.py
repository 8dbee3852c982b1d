"""Loading: a folder without a network, a name on the hub from the cache first, no foreign code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained.computing import PURPOSE, need_transformers, silent, to_device
from wordbias.pretrained.given import ModelLike, model_and_tokenizer, name_of
from wordbias.pretrained.refusing import check_hub, check_name, unloadable
from wordbias.pretrained.weights import check_layers, of_other_layers


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a folder or the hub held.

    Attributes
    ----------
    model, tokenizer
        As transformers loads them.
    missing
        Parameters that no file held, which were drawn at random, sorted.
    given
        Whether the caller has loaded it.
    """

    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    missing: tuple[str, ...] = ()
    given: bool = False

    def on(self, device: str | None) -> tuple[Any, str]:
        """Make the model ready to compute; see `to_device`. One that was given stays where it is.

        Raises
        ------
        WordbiasError
            If there is no such device, or the model was given and one is named.
        """
        if not self.given:
            return to_device(self.model, device)
        if device is not None:
            raise WordbiasError(
                "--device goes with the name of a model; one that is loaded computes where it is"
            )
        return self.model, str(self.model.device)


def load_pretrained(kind: str, source: ModelLike, what: str) -> Loaded:
    """Load a model and its tokenizer; no code that comes with them is run.

    A folder needs no network. A name on the hub is looked up in the cache first, so that what was
    fetched once works offline.

    Parameters
    ----------
    kind
        A class of transformers, such as ``AutoModel``.
    source
        A folder, a name on the hub, or a loaded model of that class with its tokenizer.
    what
        What it should be, for messages.

    Raises
    ------
    WordbiasError
        If torch or transformers is missing, there is no such model, or one that was given is of
        another class.
    """
    transformers = need_transformers()
    name = name_of(source)
    if not isinstance(source, (str, os.PathLike)):
        model, tokenizer = model_and_tokenizer(source)
        purpose = kind.removeprefix("AutoModel")
        if not any(cls.__name__.endswith(purpose) for cls in type(model).__mro__):
            raise WordbiasError(f"{name}: is a {type(model).__name__}, not {what}")
        return Loaded(model, tokenizer, given=True)

    def load(**where: Any) -> Loaded:
        tokenizer = _tokenizer(transformers, name, **where)
        _config(transformers, name, **where)
        model, found = getattr(transformers, kind).from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, **where
        )
        if other := of_other_layers(model, sorted(found["unexpected_keys"])):
            raise WordbiasError(
                f"its weights have a layer that its config does not ({other}); give a folder whose "
                "files belong together"
            )
        return Loaded(model, tokenizer, tuple(sorted(found["missing_keys"])))

    return _from_folder_or_hub(load, name, what)


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
        config = _config(transformers, name, **where)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = getattr(transformers, kind).from_config(config, trust_remote_code=False)
        return Loaded(model, tokenizer)

    return _from_folder_or_hub(load, name, what)


def _tokenizer(transformers: Any, name: str, **where: Any) -> Any:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            name, trust_remote_code=False, **where
        )
    except (json.JSONDecodeError, KeyError) as error:
        raise WordbiasError(
            f"its tokenizer is damaged ({error!r}); fetch or write it again"
        ) from None
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise WordbiasError("it has no tokenizer, or one without words")
    return tokenizer


def _config(transformers: Any, name: str, **where: Any) -> Any:
    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False, **where)
    check_layers(name, config, **where)
    return config


def check_padding(tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer that cannot make texts equally long.

    Raises
    ------
    WordbiasError
        If it has no padding token.
    """
    if tokenizer.pad_token_id is None:
        raise WordbiasError(
            f"{name}: its tokenizer has no padding token, which texts of different length need; "
            'name one in its tokenizer_config.json, such as "pad_token": "[PAD]"'
        )


def _from_folder_or_hub(load: Callable[..., Loaded], name: str, what: str) -> Loaded:
    check_name(name)
    transformers = need_transformers()
    with silent(transformers):
        try:
            return load(local_files_only=True)
        except Exception as error:  # whatever transformers raises
            if Path(name).exists():
                raise unloadable(name, what, error) from None
        check_hub(name)
        try:
            return load()
        except Exception as error:
            raise unloadable(name, what, error) from None
