"""The table of encoder families: where each keeps what is intervened in, and how it goes on.

All that differs from family to family is in its record here; a new one is an entry in `FAMILIES`.
What a model at hand tells by itself has no place in it: how many layers and heads it has, how many
tokens it reads, and whether it is a causal one (`wordbias.probes.encoder`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wordbias.errors import WordbiasError

if TYPE_CHECKING:
    from torch import Tensor, nn

PARTS = ("query", "key", "value")
Reading = Callable[[Any, "Tensor"], "Tensor"]
"""From a model and what its last layer puts out at position 0, ``(n, d)``."""
Finish = Callable[[Any, "Tensor", "Tensor"], "Tensor"]
"""From a layer, what its attention gathers and what came in, ``(n, d)`` both."""


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
    sentence
        Makes the vector that enters `final`, without dropout; None where the head is of another
        kind than a classifier of texts.
    dropout
        The dropout between `sentence` and `final`; empty if there is none.
    """

    final: str
    dense: str
    alone: bool = True
    sentence: Reading | None = None
    dropout: str = ""


@dataclass(frozen=True)
class Family:
    """What is known of a family.

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
    pooler
        What the names of a pooler's parameters have in them.
    mixed
        The module, from the base model, whose output replaces that of layer 1, if the model has it.
    shared
        Layers are groups that are called several times; the list of layers in a group.
    finish
        How a layer goes on from what its attention gathers, for the last layer to be computed at
        position 0 alone; None where a layer has to be run whole.
    bias
        The argument of a layer that is added to the scores, shape ``(B, heads, T, T)``; or none.
    whole
        Why a layer has to be run whole, where it has.
    comes_with
        The head that trained weights come with, by the one that their config names.
    """

    layers: str
    parts: tuple[str, str, str]
    heads: Mapping[str, Head] = field(default_factory=dict)
    pooled: str = ""
    pooler: str = "pooler"
    mixed: str = ""
    shared: str = ""
    finish: Finish | None = None
    bias: str = ""
    whole: str = ""
    comes_with: Mapping[str, str] = field(default_factory=dict)


# what heads make of position 0


def _pooled(model: Any, x: Tensor) -> Tensor:
    found: Tensor = base_of(model).pooler(x[:, None])
    return found


def _context_pooled(model: Any, x: Tensor) -> Tensor:
    found: Tensor = model.pooler(x[:, None])
    return found


def _albert_pooled(model: Any, x: Tensor) -> Tensor:
    base = base_of(model)
    found: Tensor = base.pooler_activation(base.pooler(x))
    return found


def _rectified(model: Any, x: Tensor) -> Tensor:
    found: Tensor = model.pre_classifier(x).relu()
    return found


def _dense(model: Any, x: Tensor) -> Tensor:
    found: Tensor = model.classifier.dense(model.classifier.dropout(x)).tanh()
    return found


def _dense_activated(model: Any, x: Tensor) -> Tensor:
    head = model.classifier
    found: Tensor = head.activation(head.dense(head.dropout(x)))
    return found


# how layers go on from their attention


def _bert_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attended = layer.attention.output(context, x)
    found: Tensor = layer.output(layer.intermediate(attended), attended)
    return found


def _distilbert_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attended = layer.sa_layer_norm(layer.attention.out_lin(context) + x)
    found: Tensor = layer.output_layer_norm(layer.ffn(attended) + attended)
    return found


def _mpnet_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attention = layer.attention
    attended = attention.LayerNorm(attention.attn.o(context) + x)
    found: Tensor = layer.output(layer.intermediate(attended), attended)
    return found


def _albert_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attention = layer.attention
    attended = attention.LayerNorm(attention.dense(context) + x)
    inner = layer.ffn_output(layer.activation(layer.ffn(attended)))
    found: Tensor = layer.full_layer_layer_norm(inner + attended)
    return found


# the table

_SELF = ("attention.self.query", "attention.self.key", "attention.self.value")
_DENSE_HEAD = Head(
    "classifier.out_proj", "classifier.dense", sentence=_dense, dropout="classifier.dropout"
)
_ROBERTA = Family(
    "encoder.layer",
    _SELF,
    {
        "SequenceClassification": _DENSE_HEAD,
        "MultipleChoice": Head("classifier", "roberta.pooler.dense"),
    },
    pooled="pooler",
    finish=_bert_layer,
)
FAMILIES: dict[str, Family] = {
    "bert": Family(
        "encoder.layer",
        _SELF,
        {
            "NextSentencePrediction": Head(
                "cls.seq_relationship", "bert.pooler.dense", sentence=_pooled
            ),
            "PreTraining": Head("cls.seq_relationship", "bert.pooler.dense", alone=False),
            "SequenceClassification": Head(
                "classifier", "bert.pooler.dense", sentence=_pooled, dropout="dropout"
            ),
            "MultipleChoice": Head("classifier", "bert.pooler.dense"),
        },
        pooled="pooler",
        finish=_bert_layer,
        comes_with={
            "MaskedLM": "NextSentencePrediction",
            "PreTraining": "NextSentencePrediction",
        },
    ),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "electra": Family(
        "encoder.layer",
        _SELF,
        {"SequenceClassification": replace(_DENSE_HEAD, sentence=_dense_activated)},
        finish=_bert_layer,
    ),
    "distilbert": Family(
        "transformer.layer",
        ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        {
            "SequenceClassification": Head(
                "classifier", "pre_classifier", sentence=_rectified, dropout="dropout"
            ),
            "MultipleChoice": Head("classifier", "pre_classifier"),
        },
        finish=_distilbert_layer,
    ),
    "deberta-v2": Family(
        "encoder.layer",
        ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"),
        {
            "SequenceClassification": Head(
                "classifier", "pooler.dense", sentence=_context_pooled, dropout="dropout"
            ),
            "MultipleChoice": Head("classifier", "pooler.dense"),
        },
        mixed="encoder.conv",
        whole="its scores depend on the distance of tokens as well",
    ),
    "mpnet": Family(
        "encoder.layer",
        ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        {
            "SequenceClassification": _DENSE_HEAD,
            "MultipleChoice": Head("classifier", "mpnet.pooler.dense"),
        },
        pooled="pooler",
        finish=_mpnet_layer,
        bias="position_bias",
    ),
    "albert": Family(
        "encoder.albert_layer_groups",
        ("attention.query", "attention.key", "attention.value"),
        {
            "PreTraining": Head("sop_classifier.classifier", "albert.pooler", alone=False),
            "SequenceClassification": Head(
                "classifier", "albert.pooler", sentence=_albert_pooled, dropout="dropout"
            ),
            "MultipleChoice": Head("classifier", "albert.pooler"),
        },
        pooled="pooler_activation",
        shared="albert_layers",
        finish=_albert_layer,
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


def module_at(model: Any, path: str) -> Any:
    """Return a module of a model by its name from there; None if the model does not have it."""
    for name in path.split("."):
        model = getattr(model, name, None)
    return model


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


def sentence_of(model: Any, x: Tensor) -> Tensor:
    """Return the vector that enters the final linear layer.

    Parameters
    ----------
    model
        A classifier of sentences, or BERT for the next sentence.
    x
        What the last layer puts out at position 0, shape ``(n, d)``.
    """
    return _read(model)[1](model, x)


def final_of(model: Any) -> nn.Module:
    """Return the final linear layer."""
    final: nn.Module = model.get_submodule(_read(model)[0].final)
    return final


def logits_of(model: Any, x: Tensor) -> Tensor:
    """Return what the model puts out for vectors at position 0; dropout as the model's is."""
    head, read = _read(model)
    sentence = read(model, x)
    if head.dropout:
        sentence = model.get_submodule(head.dropout)(sentence)
    found: Tensor = final_of(model)(sentence)
    return found


def check_head(model: Any) -> None:
    """Refuse a model whose head is not known to read position 0 alone.

    Raises
    ------
    WordbiasError
        If it is none of the supported kinds.
    """
    _read(model)


def _read(model: Any) -> tuple[Head, Reading]:
    """Return a model's head and what makes the vector that enters its final layer."""
    head = head_of(model)
    if head is None or head.sentence is None:
        every = [item for family in FAMILIES.values() for item in family.heads.items()]
        purposes = dict.fromkeys(purpose for purpose, one in every if one.sentence is not None)
        raise WordbiasError(
            f"{type(model).__name__}: expected a model with a head for {' or '.join(purposes)}, "
            "which reads the first token alone"
        )
    return head, head.sentence
