"""Models with adapters of PEFT, such as LoRA: the model inside, and one with merged weights."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError, first_line

_OF_MODELS = ("config.json", "modules.json")
_CLASSES = {"CAUSAL_LM": "ForCausalLM", "SEQ_CLS": "ForSequenceClassification"}


def inside_peft(model: Any) -> Any:
    """Return the model of transformers in a ``PeftModel``, which computes with its adapters."""
    if not (hasattr(model, "peft_config") and hasattr(model, "get_base_model")):
        return model
    name = model.active_adapter
    config = model.peft_config.get(name if isinstance(name, str) else name[0])
    if getattr(config, "is_prompt_learning", False):
        kind = getattr(config.peft_type, "value", config.peft_type)
        raise WordbiasError(
            f"{type(model).__name__}: its adapter ({kind}) is a prompt, trained vectors before "
            "every text, which would be left out; give a model with LoRA or another adapter in "
            "its layers, or the base model"
        )
    return model.get_base_model()


def adapters_in_name(model: Any) -> str:
    """Return the kinds of a model's adapters as an addition to its name, such as "+lora"."""
    configs = getattr(model, "peft_config", None)
    adapters = configs.values() if isinstance(configs, dict) else ()
    kinds = [
        str(getattr(config.peft_type, "value", config.peft_type)).lower() for config in adapters
    ]
    return "".join(f"+{kind}" for kind in dict.fromkeys(kinds))


def has_adapters(model: Any) -> bool:
    """Return whether modules of a model are wrapped in adapters."""
    return any(True for _ in _wrappers(model))


def merged(model: Any) -> Any:
    """Return a copy of a model whose active adapters are in its weights."""
    # Adapters that are switched off are left out.
    copied = copy.deepcopy(model)
    tied = Counter(
        id(parameter) for _, parameter in copied.named_parameters(remove_duplicate=False)
    )
    for name, module in [*_wrappers(copied)]:
        is_on = not getattr(module, "disable_adapters", False)
        weight = getattr(getattr(module, "base_layer", None), "weight", None)
        if is_on and weight is not None and tied[id(weight)] > 1:
            # embeddings and head share it, and the adapter is of this one
            module.get_base_layer().weight = copy.deepcopy(weight)
            copied.config.tie_word_embeddings = False
        try:
            if not is_on and hasattr(module, "original_module"):
                plain = module.original_module
            elif hasattr(module, "unload_and_optionally_merge_module"):
                plain = module.unload_and_optionally_merge_module(is_on, True, None)
            else:
                if is_on:
                    module.merge(safe_merge=True)
                plain = module.get_base_layer()
        except Exception as error:  # whatever the kind of adapter raises
            raise WordbiasError(
                f"{type(model).__name__}: the adapter of {name} cannot be merged into its weights "
                f"({first_line(error)}); give a model with merged weights"
            ) from None
        above, _, last = name.rpartition(".")
        setattr(copied.get_submodule(above), last, plain)
    for module in copied.modules():  # marks of transformers, which would write the adapters alone
        vars(module).pop("_hf_peft_config_loaded", None)
        vars(module).pop("peft_config", None)
    return copied


def check_no_adapter(path: Path) -> None:
    """Refuse a folder that holds an adapter without its model."""
    file = path / "adapter_config.json"
    if not file.is_file() or any((path / name).is_file() for name in _OF_MODELS):
        return
    try:
        task = json.loads(file.read_text("utf-8")).get("task_type")
    except (OSError, ValueError, AttributeError):
        task = None
    raise WordbiasError(
        f"{path}: is an adapter of PEFT without its model; merge them in Python with peft."
        f"AutoPeftModel{_CLASSES.get(task, '')}.from_pretrained({str(path)!r})"
        ".merge_and_unload().save_pretrained(FOLDER), save the tokenizer there too, and give FOLDER"
    )


def _wrappers(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the modules that wrap others in adapters, by name, without those inside them."""
    inside = "\0"
    for name, module in model.named_modules():
        if name.startswith(inside):
            continue
        if hasattr(module, "unload_and_optionally_merge_module") or (
            hasattr(module, "base_layer") and callable(getattr(module, "merge", None))
        ):
            inside = f"{name}."
            yield name, module
