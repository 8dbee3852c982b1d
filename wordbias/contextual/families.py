"""Where the families of encoders keep what is intervened in: a table of module names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wordbias.errors import WordbiasError

PARTS = ("query", "key", "value")


@dataclass(frozen=True)
class Head:
    """A classification head, by module names from the model's root.

    Attributes
    ----------
    final
        The last linear layer; what enters it is the vector of the site `sentence`.
    dense
        The first linear layer, which reads the last encoder layer at position 0.
    alone
        False where something else reads the last layer too, such as a second head.
    """

    final: str
    dense: str
    alone: bool = True


@dataclass(frozen=True)
class Family:
    """The module names of a family.

    Attributes
    ----------
    layers
        The list of encoder layers, from the base model.
    parts
        The linear maps of query, key and value, from a layer.
    heads
        For each kind of model, named as its class is (``ForSequenceClassification``), its head.
    pooled
        The module of the base model that puts out the sentence's vector, for models without a
        head; empty if there is none.
    mixed
        A child of the encoder whose output replaces that of layer 1, if the model has it.
    shared
        Layers are groups that are called several times.
    """

    layers: str
    parts: tuple[str, str, str]
    heads: Mapping[str, Head] = field(default_factory=dict)
    pooled: str = ""
    mixed: str = ""
    shared: bool = False


_SELF = ("attention.self.query", "attention.self.key", "attention.self.value")
_DENSE_HEAD = Head("classifier.out_proj", "classifier.dense")


def _roberta(base: str) -> Family:
    multiple_choice = Head("classifier", f"{base}.pooler.dense")
    heads = {"SequenceClassification": _DENSE_HEAD, "MultipleChoice": multiple_choice}
    return Family("encoder.layer", _SELF, heads, "pooler")


FAMILIES: dict[str, Family] = {
    "bert": Family(
        "encoder.layer",
        _SELF,
        {
            "NextSentencePrediction": Head("cls.seq_relationship", "bert.pooler.dense"),
            "PreTraining": Head("cls.seq_relationship", "bert.pooler.dense", alone=False),
            "SequenceClassification": Head("classifier", "bert.pooler.dense"),
            "MultipleChoice": Head("classifier", "bert.pooler.dense"),
        },
        "pooler",
    ),
    "roberta": _roberta("roberta"),
    "xlm-roberta": _roberta("roberta"),
    "electra": Family("encoder.layer", _SELF, {"SequenceClassification": _DENSE_HEAD}),
    "distilbert": Family(
        "transformer.layer",
        ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        {
            "SequenceClassification": Head("classifier", "pre_classifier"),
            "MultipleChoice": Head("classifier", "pre_classifier"),
        },
    ),
    "deberta-v2": Family(
        "encoder.layer",
        ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"),
        {
            "SequenceClassification": Head("classifier", "pooler.dense"),
            "MultipleChoice": Head("classifier", "pooler.dense"),
        },
        mixed="conv",
    ),
    "mpnet": Family(
        "encoder.layer",
        ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        {
            "SequenceClassification": _DENSE_HEAD,
            "MultipleChoice": Head("classifier", "mpnet.pooler.dense"),
        },
        "pooler",
    ),
    "albert": Family(
        "encoder.albert_layer_groups",
        ("attention.query", "attention.key", "attention.value"),
        {
            "PreTraining": Head("sop_classifier.classifier", "albert.pooler", alone=False),
            "SequenceClassification": Head("classifier", "albert.pooler"),
            "MultipleChoice": Head("classifier", "albert.pooler"),
        },
        "pooler_activation",
        shared=True,
    ),
}


def family_of(model: Any) -> Family:
    """Return the family of a transformers model.

    Raises
    ------
    WordbiasError
        If the table has no such family.
    """
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    if kind not in FAMILIES:
        raise WordbiasError(
            f"{type(model).__name__}: models of type {kind!r} are not known here; "
            f"known are {', '.join(FAMILIES)}"
        )
    return FAMILIES[kind]


def head_of(model: Any) -> Head | None:
    """Return the head of a model, told by the names of its class and of those it derives from."""
    heads = family_of(model).heads
    for cls in type(model).__mro__:
        head = heads.get(cls.__name__.partition("For")[2])
        if head is not None:
            return head
    return None


def base_of(model: Any) -> Any:
    """Return the encoder without its head."""
    return getattr(model, getattr(model, "base_model_prefix", "") or "", model)


def layer_count(model: Any) -> int:
    """Return how many layers a model has; a shared one counts as often as it is called."""
    family, base = family_of(model), base_of(model)
    if family.shared:
        return int(model.config.num_hidden_layers)
    return len(base.get_submodule(family.layers))


def head_count(model: Any) -> int:
    """Return the number of attention heads of a layer."""
    return int(model.config.num_attention_heads)


def width(model: Any) -> int:
    """Return the dimension of the hidden states."""
    return int(model.config.hidden_size)
