"""Modules of a sentence-transformers folder, which make a text's vector."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeGuard

from wordbias.errors import WordbiasError, first_line, need
from wordbias.model_folder import MODULES, own_files
from wordbias.models.model_like import PURPOSE

LIBRARY_CONFIG = "config_sentence_transformers.json"
_POOLINGS = {
    "cls": "first",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean-sqrt-length",
    "weightedmean": "weighted-mean",
    "lasttoken": "last",
}
"""The library's names of kinds of pooling, in the order in which it joins them, and ours."""
_OLD_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_TRANSFORMER_CONFIGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_FIRST = ("Transformer", "Pooling")
_KNOWN = (*_FIRST, "Dense", "LayerNorm", "Normalize", "Dropout")
_LAST = "last_hidden_state"
_WIDEST = 1 << 20
"""Most values of a vector that a module can have."""
_HARMLESS = ("attn_implementation", "dtype", "torch_dtype", "use_safetensors")
_REMEDY = (
    "to read the transformer alone, as any other model, copy the folder without its modules.json"
)
_REMEDY_LOADED = "to read the transformer alone, give (model[0].auto_model, model.tokenizer)"
# fmt: off
_ACTIVATIONS = (
    "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity",
    "LeakyReLU", "LogSigmoid", "Mish", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink",
)
# fmt: on
"""Classes of torch.nn that need no argument and have no weights."""


@dataclass(frozen=True, eq=False)
class Step:
    """Module behind the pooling."""

    name: str  # class of the module, with its settings
    # function on vectors, shape `(n, width before)`
    apply: Callable[[Any], Any] = field(repr=False)
    # length of its input and output vectors; None is any length, and the same
    before: int | None = None
    width: int | None = None
    weights: Mapping[str, Any] = field(default_factory=dict, repr=False)  # weights by name


@dataclass(frozen=True, eq=False)
class SentenceModules:
    """Modules and settings by which a sentence-transformers folder makes a text's vector."""

    transformer: str  # folder of the transformer, or the model's name on the hub
    pooling: tuple[str, ...]  # kinds of pooling, whose vectors are joined
    include_prompt: bool = True  # tokens of the prompt are pooled too
    prompt: str = ""  # default prompt before every text; may be empty
    # tokens that a text is cut to; None leaves it to the tokenizer and the model
    max_length: int | None = None
    lower_case: bool = False  # texts are lower-cased before they are tokenised
    steps: tuple[Step, ...] = ()  # modules behind the pooling
    prompts: Mapping[str, str] = field(default_factory=dict)  # all prompts by name
    similarity: str = "cosine"  # function that compares two vectors, such as `cosine` or `dot`

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the modules behind the transformer in results."""
        return (f"Pooling({'+'.join(self.pooling)})", *(step.name for step in self.steps))

    @property
    def pools_first(self) -> bool:
        """True if a text's vector depends on its first token's."""
        whole = self.include_prompt or not self.prompt
        return whole and self.pooling != ("last",)

    def width(self, pooled: int) -> int:
        """Return the length of the vectors that `apply` makes of vectors of length `pooled`."""
        for step in self.steps:
            if step.before not in (None, pooled):
                raise WordbiasError(
                    f"{self.transformer}: its module {step.name} takes vectors of {step.before} "
                    f"values, those before it have {pooled}; give a folder whose files belong "
                    "together"
                )
            pooled = step.width or pooled
        return pooled

    def apply(self, x: Any) -> Any:
        """Put pooled vectors, shape ``(n, d)``, through the modules behind the pooling."""
        for step in self.steps:
            x = step.apply(x)
        return x

    def weights_sha256(self, transformer: str) -> str:
        """Return a hash of the transformer's hash and of the other modules' weights."""
        if not any(step.weights for step in self.steps):
            return transformer
        digest = hashlib.sha256(transformer.encode())
        for step in self.steps:
            for name, weight in sorted(step.weights.items()):
                digest.update(f"{step.name} {name} {tuple(weight.shape)}\n".encode())
                digest.update(weight.float().contiguous().numpy().tobytes())
        return digest.hexdigest()


def read_modules(folder: str | Path, random_init: int | None = None) -> SentenceModules | None:
    """Read a sentence-transformers model; None if the folder is none."""
    # `random_init` draws random weights of Dense modules with this seed, and resets LayerNorm.
    folder = Path(folder)
    if not (folder / MODULES).is_file():
        return None
    (_, first_path), (_, pooling_path), *rest = _listed(folder)
    config = _transformer_config(folder / first_path)
    modes, include_prompt = _pooling(folder / pooling_path / "config.json")
    steps = [_step(folder, kind, path, random_init) for kind, path in rest]
    prompt, prompts, dims, similarity = _library_config(folder)
    used_steps = [step for step in steps if step is not None]
    if dims is not None:
        used_steps.append(Step(f"truncate_dim({dims})", lambda x: x[:, :dims], None, dims))
    plain = str(folder / first_path) if first_path != PurePosixPath() else str(folder)
    return SentenceModules(
        plain,
        modes,
        include_prompt,
        prompt,
        config.get("max_seq_length"),
        bool(config.get("do_lower_case")),
        tuple(used_steps),
        prompts,
        similarity,
    )


def is_sentence_transformer(model: object) -> TypeGuard[Any]:
    """Return whether an object is a ``SentenceTransformer``; the library is not imported."""
    kinds = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(model).__mro__)
    return any(
        kind.startswith("sentence_transformers.") and kind.endswith(".SentenceTransformer")
        for kind in kinds
    )


def loaded_modules(model: Any) -> SentenceModules:
    """Read a loaded ``SentenceTransformer`` as `read_modules` reads a folder."""
    # Its modules write what is read, all but the transformer, whose tokenizer lower-cases by
    # itself.
    first, *rest = model
    name = str(getattr(getattr(first, "auto_model", None), "name_or_path", "") or "the model")
    keys = ("prompts", "default_prompt_name", "truncate_dim", "similarity_fn_name")
    prompts = {key: getattr(model, key, None) for key in keys}
    kinds = [f"{type(part).__module__}.{type(part).__qualname__}" for part in (first, *rest)]
    places = ["", *(f"{i}_{type(part).__qualname__}" for i, part in enumerate(rest, 1))]
    listed = [{"path": place, "type": kind} for place, kind in zip(places, kinds, strict=True)]
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / MODULES).write_text(json.dumps(listed), "utf-8")
        (folder / LIBRARY_CONFIG).write_text(json.dumps(prompts), "utf-8")
        try:
            _listed(folder)  # refuses modules of which nothing is known
            config = {**first.get_config_dict(), "do_lower_case": False}
            (folder / _TRANSFORMER_CONFIGS[0]).write_text(json.dumps(config), "utf-8")
            for place, module in zip(places[1:], rest, strict=True):
                (folder / place).mkdir()
                module.save(str(folder / place))
            modules = read_modules(directory)
        except WordbiasError as error:
            message = (
                str(error)
                .replace(f"{folder}{os.sep}", f"{name}: ")
                .replace(_REMEDY, _REMEDY_LOADED)
            )
            raise WordbiasError(message) from None
    if modules is None:
        raise WordbiasError(f"{name}: is no model of sentence-transformers")
    return replace(modules, transformer=name)


def module_files(folder: Path) -> dict[str, Path]:
    """Return the files of the modules of a folder, by their paths in it."""
    # Those of the transformer itself are left out. Empty if the folder holds no such model.
    if not (folder / MODULES).is_file():
        return {}
    _listed(folder)  # refuses modules of which nothing is known
    files, _ = own_files(folder)
    top = (MODULES, LIBRARY_CONFIG, *_TRANSFORMER_CONFIGS)
    return {name: file for name, file in files.items() if "/" in name or name in top}


def _listed(folder: Path) -> list[tuple[str, PurePosixPath]]:
    """Return the class and the folder of each module: a Transformer, a Pooling, then others."""
    file = folder / MODULES
    listed = _json(file, list)
    modules = []
    for module in listed:
        if not isinstance(module, dict) or not isinstance(module.get("type"), str):
            raise WordbiasError(f"{file}: a module without a type; fetch or write it again")
        path = PurePosixPath(str(module.get("path", "")))
        if path.is_absolute() or ".." in path.parts:
            raise WordbiasError(f"{file}: the path {path} leaves the folder; such is not read")
        library, _, kind = str(module["type"]).partition(".")
        kind = kind.rpartition(".")[2]
        if library != "sentence_transformers" or kind not in _KNOWN:
            raise WordbiasError(
                f"{file}: has a module {module['type']}, which is not understood; known are "
                f"{', '.join(_KNOWN)} of sentence_transformers; {_REMEDY}"
            )
        modules.append((kind, path))
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != list(_FIRST) or any(kind in _FIRST for kind in kinds[2:]):
        raise WordbiasError(
            f"{file}: expected a Transformer, then a Pooling, then other modules; found "
            f"{', '.join(kinds) or 'none'}; {_REMEDY}"
        )
    return modules


def _transformer_config(folder: Path) -> dict[str, Any]:
    """Return the settings of a Transformer module; refuse others that would change vectors."""
    file = next((folder / name for name in _TRANSFORMER_CONFIGS if (folder / name).is_file()), None)
    if file is None:
        return {}
    config = _json(file, dict)
    text = {**_part(config, file, "processing_kwargs", "common")}
    text |= _part(config, file, "processing_kwargs", "text")
    tokenizer = _part(config, file, "processor_kwargs") or _part(config, file, "tokenizer_args")
    model = _part(config, file, "model_kwargs") or _part(config, file, "model_args")
    modality = _part(config, file, "modality_config") or {"text": {}}
    strange = [
        *(f"processing_kwargs {key}" for key in text if key not in ("max_length", "padding")),
        *(f"tokenizer_args {key}" for key in tokenizer if key != "model_max_length"),
        *(f"model_args {key}" for key in model if key not in _HARMLESS),
        *(key for key in ("config_args", "config_kwargs") if config.get(key)),
        *(key for key in ("tokenizer_name_or_path",) if config.get(key)),
    ]
    if config.get("transformer_task", "feature-extraction") != "feature-extraction":
        strange.append(f"transformer_task {config['transformer_task']!r}")
    if config.get("module_output_name", "token_embeddings") != "token_embeddings":
        strange.append(f"module_output_name {config['module_output_name']!r}")
    if "message" in modality or "text" not in modality:
        strange.append(f"modality_config {', '.join(modality)}")
    elif (name := _part(modality, file, "text").get("method_output_name", _LAST)) != _LAST:
        strange.append(f"method_output_name {name!r}")
    if strange:
        raise WordbiasError(f"{file}: {strange[0]} is not understood; {_REMEDY}")
    longest = text.get(
        "max_length", tokenizer.get("model_max_length", config.get("max_seq_length"))
    )
    if longest is not None and (not isinstance(longest, int) or longest < 1):
        raise WordbiasError(f"{file}: expected a number of tokens, found {longest!r}; {_REMEDY}")
    return {"max_seq_length": longest, "do_lower_case": config.get("do_lower_case", False)}


def _part(settings: Mapping[str, Any], file: Path, *keys: str) -> dict[str, Any]:
    value: Any = settings
    for key in keys:
        value = value.get(key) or {}
        if not isinstance(value, dict):
            raise WordbiasError(f"{file}: {key}: expected settings, found {value!r}; {_REMEDY}")
    return dict(value)


def _pooling(file: Path) -> tuple[tuple[str, ...], bool]:
    """Return the kinds of pooling and whether the prompt is pooled too."""
    config = _json(file, dict)
    mode: Any = config.get("pooling_mode")
    if mode is None:
        old = {key: value for key, value in config.items() if key.startswith("pooling_mode_")}
        unknown = [key for key, value in old.items() if value and key not in _OLD_KEYS]
        if unknown:
            raise WordbiasError(f"{file}: {unknown[0]} is not understood; {_REMEDY}")
        mode = [name for key, name in _OLD_KEYS.items() if old.get(key)] or ["mean"]
    modes = mode if isinstance(mode, list) else [mode]
    if not modes or any(not isinstance(name, str) or name not in _POOLINGS for name in modes):
        raise WordbiasError(
            f"{file}: pooling_mode {mode!r}: expected some of {', '.join(_POOLINGS)}; {_REMEDY}"
        )
    return tuple(_POOLINGS[name] for name in modes), bool(config.get("include_prompt", True))


def _library_config(folder: Path) -> tuple[str, dict[str, str], int | None, str]:
    """Return the default prompt, all of them, the length of vectors, and what compares them."""
    file = folder / LIBRARY_CONFIG
    if not file.is_file():
        return "", {}, None, "cosine"
    config = _json(file, dict)
    kind = config.get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise WordbiasError(f"{file}: is a {kind}, which makes no vector of a text; {_REMEDY}")
    name, prompts = config.get("default_prompt_name"), config.get("prompts") or {}
    if name is None:
        prompt = ""
    elif isinstance(prompts, dict) and isinstance(name, str) and name in prompts:
        prompt = prompts[name] or ""
    else:
        raise WordbiasError(f"{file}: has no prompt {name!r}, its default; fetch or write it again")
    dims = config.get("truncate_dim")
    if dims is not None and (not isinstance(dims, int) or dims < 1):
        raise WordbiasError(f"{file}: truncate_dim: expected a number of values, found {dims!r}")
    listed = prompts.items() if isinstance(prompts, dict) else ()
    named = {str(key): str(text or "") for key, text in listed}
    similarity = str(config.get("similarity_fn_name") or "cosine")
    return str(prompt), named, dims, similarity


def _step(folder: Path, kind: str, path: PurePosixPath, random_init: int | None) -> Step | None:
    """Return a module as a function on vectors; None if it changes none."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    place = folder / path
    if kind == "Dropout":  # it is used only in training
        return None
    if kind == "Normalize":
        config = _json(place / "config.json", dict) if (place / "config.json").is_file() else {}
        _check_names(place / "config.json", config)
        return Step(kind, torch.nn.functional.normalize)
    config = _json(place / "config.json", dict)
    if kind == "LayerNorm":
        size = _size(place, config, "dimension")
        module = torch.nn.Module()
        with torch.random.fork_rng(devices=[]):
            module.norm = torch.nn.LayerNorm(size)
        if random_init is None:
            _fill(module, place)
        weights = _weights_of(module)

        def normed(x: Any) -> Any:
            moved = {name: weight.to(x.device) for name, weight in weights.items()}
            norm = torch.nn.functional.layer_norm
            return norm(x, (size,), moved["norm.weight"], moved["norm.bias"], module.norm.eps)

        return Step(kind, normed, size, size, weights)
    return _dense(place, config, random_init)


def _dense(place: Path, config: dict[str, Any], random_init: int | None) -> Step:
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    file = place / "config.json"
    _check_names(file, config)
    before, width = (_size(place, config, key) for key in ("in_features", "out_features"))
    dotted = str(config.get("activation_function", "torch.nn.Tanh"))
    name = dotted.rpartition(".")[2]
    if not dotted.startswith("torch.nn.") or name not in _ACTIVATIONS:
        raise WordbiasError(
            f"{file}: the activation {dotted!r} is not understood; known are those of torch.nn: "
            f"{', '.join(_ACTIVATIONS)}; {_REMEDY}"
        )
    weights_file = place / "model.safetensors"
    if random_init is None and weights_file.is_file():
        size = weights_file.stat().st_size
        if before * width > size:  # before torch takes the memory for them
            raise WordbiasError(
                f"{weights_file}: its {size:,} bytes cannot hold weights of {before} to {width} "
                "values, as config.json says; give a folder whose files belong together"
            )
    residual = bool(config.get("use_residual"))
    module, activation = torch.nn.Module(), getattr(torch.nn, name)()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_init or 0)
        module.linear = torch.nn.Linear(before, width, bias=bool(config.get("bias", True)))
        if residual and before != width:
            module.residual = torch.nn.Linear(before, width, bias=False)
    if random_init is None:
        _fill(module, place)
    weights = _weights_of(module)

    def dense(x: Any) -> Any:
        moved = {name: weight.to(x.device) for name, weight in weights.items()}
        linear = torch.nn.functional.linear
        out = activation(linear(x, moved["linear.weight"], moved.get("linear.bias")))
        if not residual:
            return out
        return out + (linear(x, moved["residual.weight"]) if "residual.weight" in moved else x)

    title = f"Dense({before} to {width}, {name}{', residual' * residual})"
    return Step(title, dense, before, width, weights)


def _check_names(file: Path, config: Mapping[str, Any]) -> None:
    """Refuse a module that works on anything but the vectors of texts."""
    for key in ("module_input_name", "module_output_name"):
        value = config.get(key)
        if value not in (None, "sentence_embedding"):
            raise WordbiasError(f"{file}: {key} {value!r} is not understood; {_REMEDY}")


def _size(place: Path, config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    if type(value) is not int or not 0 < value <= _WIDEST:
        raise WordbiasError(
            f"{place / 'config.json'}: {key}: expected a number of values, found {value!r}; fetch "
            "or write it again"
        )
    return value


def _fill(module: Any, place: Path) -> None:
    """Load a module's weights from its folder; nothing in a pickle is run."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    file = place / "model.safetensors"
    try:
        if file.is_file():
            from safetensors.torch import load_file

            module.load_state_dict(load_file(file))
        else:
            file = place / "pytorch_model.bin"
            module.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    except FileNotFoundError:
        raise WordbiasError(
            f"{place}: has no weights (no model.safetensors); give a folder with all of a model's "
            "files"
        ) from None
    except Exception as error:  # whatever torch and safetensors raise
        raise WordbiasError(
            f"{file}: its weights are damaged or not those of its config ({first_line(error)}); "
            "fetch or write them again"
        ) from None


def _weights_of(module: Any) -> dict[str, Any]:
    return {name: weight.detach().float() for name, weight in module.state_dict().items()}


def _json(file: Path, kind: type) -> Any:
    try:
        content = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise WordbiasError(
            f"{file}: no such file, and {MODULES} names its module; give a folder with all of a "
            "model's files"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise WordbiasError(
            f"{file}: cannot be read as JSON ({first_line(error)}); fetch or write it again"
        ) from None
    if not isinstance(content, kind):
        expected = "a list" if kind is list else "settings"
        raise WordbiasError(f"{file}: expected {expected}; fetch or write it again")
    return content
