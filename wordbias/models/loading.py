"""Loading of models: a folder without a network, a name on the hub from the cache first.

No code that comes with a model is run. Errors are one line with a remedy, raised early.

The file is long because of these checks, of what each library says too late or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import AUTO
from wordbias.devices import native_threads
from wordbias.errors import WordbiasError, first_line, need
from wordbias.models.model_like import (
    PURPOSE,
    ModelLike,
    check_in_memory,
    evaluating,
    model_and_tokenizer,
    name_of,
    need_transformers,
    silent,
    to_device,
)
from wordbias.models.peft import check_no_adapter
from wordbias.models.weight_files import (
    LENGTHS,
    POSITIONS,
    check_layers,
    check_sizes,
    of_other_layers,
)
from wordbias.resources.models import CONFIG, local_model

LONGEST = 512
"""Default of the maximum length of a text in tokens, where the model allows it."""
_NO_LIMIT = 1 << 20
"""Tokenizers without a known limit name one of 10^30."""
_REASONS = {
    "Weights only load failed": "its weights are a damaged pickle, or one that asks to run code, "
    "which is never done; give a folder with a model.safetensors",
    "ignore_mismatched_sizes": "its weights have other shapes than its config says; give a folder "
    "whose files belong together",
    "no file named model.safetensors": "it has no weights (no model.safetensors); give a folder "
    "with all of a model's files",
    "Class validation error": "its config.json holds settings that contradict each other; give a "
    "folder whose files belong together",
    "must be a mapping": "its config.json holds no settings; fetch or write it again",
    "backend tokenizer": "it has no tokenizer that can be read (a tokenizer.json)",
    "Error while deserializing header": "its weights are damaged; fetch or write them again",
    "kind of AutoModel: AutoModelForMaskedLM": "transformers has no masked-language head for it; "
    "give an encoder, such as BERT, or a decoder, such as GPT-2",
    "kind of AutoModel: AutoModelForCausalLM": "it is no decoder, such as GPT-2 or Llama",
    "contains custom code": "it needs code that comes with it, which is never run; give a model of "
    "an architecture that transformers has",
}
"""Reason and remedy by a part of the message of transformers, which is long or has no remedy."""

Loaded = TypeVar("Loaded")
Numbers = TypeVar("Numbers", bound=NDArray[np.floating])


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """Model of transformers with its tokenizer."""

    # A model that the caller has loaded keeps its device, its precision and its mode.

    name: str  # folder, or name on the hub; of a model that the caller has loaded its source
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    missing: tuple[str, ...] = ()  # names of parameters that no file held, which are random, sorted
    given: bool = False  # True if the caller has loaded it
    device: str = "cpu"  # device of the model
    precision: str = "float32"  # type of its numbers

    def on(self, device: str | None, precision: str | None = None) -> Self:
        """Return the model on a device; see `to_device`."""
        if not self.given:
            model, chosen = to_device(self.model, device, precision)
            final_precision = precision or self.precision
            return replace(self, model=model, device=chosen, precision=final_precision)
        if device not in (None, AUTO, self.device, self.model.device.type):
            raise WordbiasError(
                f"{self.name}: is loaded on {self.device}; move it there, model.to({device!r}), or "
                "leave out --device"
            )
        if precision is not None and precision != self.precision:
            raise WordbiasError(
                f"{self.name}: is loaded in {self.precision}; convert it, "
                f"model.to(torch.{precision}), or leave out --precision"
            )
        return self

    @property
    def longest(self) -> int | None:
        """Maximum length of a text in tokens, special ones included; None if there is no limit."""
        return least_limit([position_limit(self.model), int(self.tokenizer.model_max_length)])

    def check_lengths(
        self, lengths: NDArray[np.integer], what: str, text: Callable[[int], str]
    ) -> None:
        """Refuse texts that are longer than the model reads."""
        limit = self.longest
        if limit is not None and lengths.max(initial=0) > limit:
            worst = int(lengths.argmax())
            raise WordbiasError(
                f"{self.name}: reads at most {limit} tokens; {what} has {lengths[worst]}: "
                f"{text(worst)[:60]!r}"
            )

    @contextmanager
    def predicting(self) -> Iterator[Any]:
        """Switch off gradients and dropout, and set the number of threads; yield torch."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        torch.set_num_threads(native_threads())
        with torch.inference_mode(), evaluating(self.model):
            yield torch

    def finite(self, predicted: Numbers) -> Numbers:
        """Return predictions; refuse them if a value is no number."""
        if not np.isfinite(predicted).all():
            raise WordbiasError(f"{self.name}: predicts what is no number; its weights are damaged")
        return predicted


def position_limit(model: Any) -> int | None:
    """Return the number of tokens in a model's table of positions; None without one."""
    # RoBERTa and MPNet number positions after that of padding: a table of 514 rows is for 512
    # tokens; OPT numbers them from 2.
    for name, module in model.named_modules():
        if name.endswith(POSITIONS) and hasattr(module, "num_embeddings"):
            padding = getattr(module, "padding_idx", None)
            before = 0 if padding is None else padding + 1
            return int(module.num_embeddings) - int(getattr(module, "offset", before))
    return None


def configured_length(model: Any) -> int | None:
    """Return the number of tokens that a model was made for, as its config says; None if not."""
    config = model.config
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    return least_limit(getattr(config, name, None) for name in LENGTHS)


def least_limit(limits: Iterable[Any]) -> int | None:
    """Return the least of the limits that are known: whole numbers, above 0 and below 2^20."""
    known = (n for n in limits if isinstance(n, int) and 0 < n < _NO_LIMIT)
    return min(known, default=None)


def usual_length(model: Any, tokenizer: Any) -> int:
    """Return the default of the maximum length of a text in tokens."""
    known = int(tokenizer.model_max_length)  # 10^30 where the tokenizer does not say
    return min(LONGEST, known, position_limit(model) or known)


def load_pretrained(kind: str, source: ModelLike, what: str) -> LoadedModel:
    """Load a model and its tokenizer; no code that comes with them is run."""
    transformers = need_transformers()
    name = name_of(source)
    if not isinstance(source, (str, os.PathLike)):
        model, tokenizer = model_and_tokenizer(source)
        purpose = kind.removeprefix("AutoModel")
        spelled = (purpose, "LMHeadModel") if purpose == "ForCausalLM" else purpose
        own = getattr(model, "_orig_mod", model)  # of one that torch has compiled
        if not any(cls.__name__.endswith(spelled) for cls in type(own).__mro__):
            raise WordbiasError(f"{name}: is a {type(model).__name__}, not {what}")
        if kind == "AutoModel" or model.device.type == "meta":
            # layers are read and compared, or there is no device to put texts on; else accelerate
            # fetches what it has offloaded
            check_in_memory(model, name)
        return _loaded(name, model, tokenizer, given=True)

    def load(folder: str) -> LoadedModel:
        tokenizer = _tokenizer(transformers, folder)
        _config(transformers, folder)
        gguf = gguf_file(folder)
        with redirect_stderr(io.StringIO()) if gguf else nullcontext():  # a bar of transformers
            model, info = getattr(transformers, kind).from_pretrained(
                folder, trust_remote_code=False, output_loading_info=True, **where_of(folder)
            )
        if gguf:  # its weights are float32 now, which can be saved
            vars(model).pop("hf_quantizer", None)
            vars(model.config).pop("quantization_config", None)
        if other := of_other_layers(model, sorted(info["unexpected_keys"])):
            raise WordbiasError(
                f"its weights have a layer that its config does not ({other}); give a folder whose "
                "files belong together"
            )
        return _loaded(name, model, tokenizer, tuple(sorted(info["missing_keys"])))

    return _from_folder(load, name, what)


_OF_TEXTS = ("ForSequenceClassification", "ForNextSentencePrediction")
"""Ends of the names of classes whose head classifies texts or pairs, of encoders and decoders."""


def is_causal(source: ModelLike) -> bool:
    """Return whether a model predicts each word from those before it, by config and head."""
    # A decoder whose head classifies texts does not.
    transformers = need_transformers()
    if isinstance(source, (str, os.PathLike)):
        config = _from_folder(partial(_config, transformers), name_of(source), "a model")
        classes = list(config.architectures or ())
    else:
        model, _ = model_and_tokenizer(source)
        own = getattr(model, "_orig_mod", model)  # of one that torch has compiled
        config, classes = model.config, [cls.__name__ for cls in type(own).__mro__]
    if any(name.endswith(_OF_TEXTS) for name in classes):
        return False
    known = transformers.models.auto.modeling_auto
    if config.model_type in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return bool(getattr(config, "is_decoder", False))
    return config.model_type in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES


def load_untrained(kind: str, name: str, what: str, seed: int) -> LoadedModel:
    """Load a model with random weights, drawn by its own initialisation, and its tokenizer."""
    # Only the config and the tokenizer are read. The state of torch's generator does not change.
    transformers = need_transformers()
    torch = need("torch", extra="contextual", purpose=PURPOSE)

    def load(folder: str) -> LoadedModel:
        tokenizer = _tokenizer(transformers, folder)
        config = _config(transformers, folder)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = getattr(transformers, kind).from_config(config, trust_remote_code=False)
        return _loaded(name, model, tokenizer)

    return _from_folder(load, name, what)


def _check_tokens(name: str, model: Any, tokenizer: Any) -> None:
    """Refuse tokens beyond the model's vectors, but for special ones that no text has."""
    # Such as that for images of Gemma 3, whose models of text have no vector for it.
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) <= rows:
        return
    special = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    silent = special - set(tokenizer("a")["input_ids"])
    beyond = [i for i in tokenizer.get_vocab().values() if i >= rows and i not in silent]
    if beyond:
        last = max(beyond)
        raise WordbiasError(
            f"{name}: the tokenizer has the token {tokenizer.convert_ids_to_tokens(last)!r} of "
            f"number {last:,}, but the model has {rows:,} vectors of tokens; give them one "
            "tokenizer, or add vectors with model.resize_token_embeddings(len(tokenizer))"
        )


def _loaded(
    name: str, model: Any, tokenizer: Any, missing: tuple[str, ...] = (), given: bool = False
) -> LoadedModel:
    _check_tokens(name, model, tokenizer)
    device, precision = str(model.device), str(model.dtype).removeprefix("torch.")
    return LoadedModel(name, model, tokenizer, missing, given, device, precision)


def _tokenizer(transformers: Any, folder: str) -> Any:
    check_sizes(folder)  # a tokenizer may read the config
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, **where_of(folder)
        )
    except (json.JSONDecodeError, KeyError) as error:
        raise WordbiasError(
            f"its tokenizer is damaged ({error!r}); fetch or write it again"
        ) from None
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise WordbiasError("it has no tokenizer, or one without words")
    return tokenizer


def _config(transformers: Any, folder: str) -> Any:
    config = transformers.AutoConfig.from_pretrained(
        folder, trust_remote_code=False, **where_of(folder)
    )
    check_layers(folder, config)
    return config


def gguf_file(folder: str) -> str:
    """Return the name of the GGUF file that a folder without a config has; empty if it has none."""
    path = Path(folder)
    names = [] if (path / CONFIG).is_file() else sorted(file.name for file in path.glob("*.gguf"))
    if len(names) > 1:
        raise WordbiasError(
            f"{folder}: holds {len(names)} GGUF files, {names[0]} first; give a folder with one"
        )
    if names and find_spec("gguf") is None:
        raise WordbiasError(
            f"{folder}: holds a GGUF file, {names[0]}, which needs gguf and accelerate; install "
            "them with: pip install gguf accelerate; or give a folder of transformers, with a "
            f"{CONFIG}, which the lines in docs/decoders.md make of it"
        )
    return names[0] if names else ""


def where_of(folder: str) -> dict[str, Any]:
    """Return the arguments of transformers that read a folder, which may hold a GGUF file."""
    name = gguf_file(folder)
    return {"local_files_only": True, **({"gguf_file": name} if name else {})}


def check_padding(tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer without a padding token."""
    if tokenizer.pad_token_id is None:
        raise WordbiasError(
            f"{name}: its tokenizer has no padding token, which texts of different length need; "
            'name one in its tokenizer_config.json, such as "pad_token": "[PAD]"'
        )


def _from_folder(load: Callable[[str], Loaded], name: str, what: str) -> Loaded:
    """Load a model, or its config, from the folder that its name means."""
    with local_model(name) as folder:
        check_folder(folder)
        with silent(need_transformers()):
            try:
                return load(folder)
            except Exception as error:  # whatever transformers raises
                raise unloadable(name, what, error) from None


# errors


def check_folder(folder: str) -> None:
    """Refuse what is no folder of a model."""
    path, remedy = Path(folder), "give a folder, or a model's name on the hub"
    if path.is_file():
        raise WordbiasError(f"{folder}: is a file, and a model is a folder; {remedy}")
    check_no_adapter(path)
    if not (path / CONFIG).is_file() and not gguf_file(folder):
        raise WordbiasError(f"{folder}: is a folder without a {CONFIG}, so no model; {remedy}")


def unloadable(name: str, what: str, error: Exception) -> WordbiasError:
    """Return an error that says what a folder or a name should have been, and the reason."""
    message = str(error)
    reason = next((why for sign, why in _REASONS.items() if sign in message), first_line(error))
    return WordbiasError(f"{name}: cannot be loaded as {what}: {reason}")


# weights


def weights_sha256(model: Any, without: str = "") -> str:
    """Return a hash of all weights and their names, except those of a part called `without`."""
    digest = hashlib.sha256()
    uint8 = need("torch", extra="contextual", purpose=PURPOSE).uint8
    for name, weight in sorted(model.state_dict().items()):
        if without in name.split("."):
            continue
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
        digest.update(weight.detach().cpu().contiguous().view(-1).view(uint8).numpy().data)
    return digest.hexdigest()
