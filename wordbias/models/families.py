"""The table of families of encoders and decoders: their layers, linear maps and heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wordbias.errors import WordbiasError

if TYPE_CHECKING:
    from torch import Tensor, nn

PARTS = ("query", "key", "value")
OUTPUTS = ("attention-output", "mlp-output")
"""What a layer adds to the residual stream, in its order."""
FIRST, LAST, MEAN, LATE = "first", "last", "mean", "late"
"""What a head reads of the last layer: position 0, the last token that is no padding, or the mean
of all tokens. The late kind reads each token, and takes the mean of their logits."""
SentenceVector = Callable[[Any, "Tensor"], "Tensor"]
"""Function of a model and what its head reads of the last layer, ``(n, d)``."""
RestOfLayer = Callable[[Any, "Tensor", "Tensor"], "Tensor"]
"""Function of a layer, the context vectors of its attention and its input, both ``(n, d)``."""


@dataclass(frozen=True)
class Head:
    """A classification head, by module names from the model's root."""

    final: str  # the last linear layer; its input is the vector of the site `sentence`
    dense: str  # the first linear layer, which reads the last layer
    # False if something else reads the last layer too, such as a second head
    only_reader: bool = True
    # function that computes the input of `final`, without dropout; None if the head is no
    # classifier of texts
    sentence: SentenceVector | None = None
    dropout: str = ""  # the dropout between `sentence` and `final`; empty if there is none
    reads: str = FIRST  # what it reads of the last layer: `FIRST`, `LAST`, `MEAN` or `LATE`
    # the same for each `classifier_pooling` of a config, where the config says it
    poolings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A family of encoders or decoders, by the names of its modules."""

    layers: str  # the list of layers, from the base model
    # the linear maps of query, key and value, from a layer; three times the same name if one map
    # computes all three, one after another
    parts: tuple[str, str, str]
    # heads by kind of model, as the class is named (`ForSequenceClassification`); a decoder's
    # language-modelling head is found by transformers
    heads: Mapping[str, Head] = field(default_factory=dict)
    # set if it is a family of decoders, whose tokens read only those before them
    causal: bool = False
    # set if one map computes query, key and value of the first head, then of the second, and so on
    interleaved: bool = False
    # the modules, from a layer, whose outputs are added to the residual stream: those of the
    # attention and of the MLP. Empty where they are no sites.
    outputs: tuple[str, str] = ("", "")
    # for each of `outputs` the linear map that computes it; empty if a norm follows that map
    written_by: tuple[str, str] = ("", "")
    # the tables, from the base model, whose rows are added up and enter the first layer; that of
    # positions is the last
    embeddings: tuple[str, ...] = ()
    scaled: bool = False  # set if rows of `embeddings` are multiplied by the root of the dimension
    # the module of the base model that returns the sentence's vector, for models without a head;
    # empty if there is none
    pooled: str = ""
    pooler: str = "pooler"  # substring of the names of a pooler's parameters
    # the module, from the base model, whose output replaces that of layer 1, if the model has it
    mixed: str = ""
    # the module, from the base model, whose output is that of the last layer, such as a norm after
    # it; empty if it is the layer itself
    last: str = ""
    # set if the layers are groups that are called several times: the list of layers in a group
    shared: str = ""
    # function that computes the rest of a layer after its attention: the last layer can then be
    # computed at position 0 only; None if a layer has to be run whole
    finish: RestOfLayer | None = None
    # the argument of a layer that is added to the attention scores, shape `(B, heads, T, T)`; empty
    # if there is none
    bias: str = ""
    whole: str = ""  # reason why a layer has to be run whole, without `finish`
    # the head that trained weights come with, by the head that their config names
    comes_with: Mapping[str, str] = field(default_factory=dict)


# Sentence vectors: from what is read of the last layer to the input of the final linear layer


def _as_it_is(model: Any, x: Tensor) -> Tensor:
    return x


def _pooled(model: Any, x: Tensor) -> Tensor:
    pooled: Tensor = base_of(model).pooler(x[:, None])
    return pooled


def _context_pooled(model: Any, x: Tensor) -> Tensor:
    pooled: Tensor = model.pooler(x[:, None])
    return pooled


def _albert_pooled(model: Any, x: Tensor) -> Tensor:
    base = base_of(model)
    pooled: Tensor = base.pooler_activation(base.pooler(x))
    return pooled


def _rectified(model: Any, x: Tensor) -> Tensor:
    rectified: Tensor = model.pre_classifier(x).relu()
    return rectified


def _dense(model: Any, x: Tensor) -> Tensor:
    hidden: Tensor = model.classifier.dense(model.classifier.dropout(x)).tanh()
    return hidden


def _modern(model: Any, x: Tensor) -> Tensor:
    hidden: Tensor = model.head(x)
    return hidden


def _activated(model: Any, x: Tensor) -> Tensor:
    activated: Tensor = model.activation(model.dense(x))
    return activated


def _dense_activated(model: Any, x: Tensor) -> Tensor:
    head = model.classifier
    activated: Tensor = head.activation(head.dense(head.dropout(x)))
    return activated


# Rests of layers: from the context vectors of the attention to the layer's output


def _bert_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attended = layer.attention.output(context, x)
    hidden: Tensor = layer.output(layer.intermediate(attended), attended)
    return hidden


def _distilbert_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attended = layer.sa_layer_norm(layer.attention.out_lin(context) + x)
    hidden: Tensor = layer.output_layer_norm(layer.ffn(attended) + attended)
    return hidden


def _mpnet_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attention = layer.attention
    attended = attention.LayerNorm(attention.attn.o(context) + x)
    hidden: Tensor = layer.output(layer.intermediate(attended), attended)
    return hidden


def _albert_layer(layer: Any, context: Tensor, x: Tensor) -> Tensor:
    attention = layer.attention
    attended = attention.LayerNorm(attention.dense(context) + x)
    inner = layer.ffn_output(layer.activation(layer.ffn(attended)))
    hidden: Tensor = layer.full_layer_layer_norm(inner + attended)
    return hidden


# The table

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


def _rotary(prefix: str) -> Family:
    """Return a family like BERT with rotary position embeddings."""
    return Family(
        "layers",
        ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        {
            "SequenceClassification": Head(
                "classifier", f"{prefix}.pooler.dense", sentence=_pooled, dropout="dropout"
            ),
        },
        whole="it has rotary position embeddings",
    )


_LAST_TOKEN = {
    "SequenceClassification": Head("score", "score", sentence=_as_it_is, reads=LAST),
}
_LLAMA = Family(
    "layers",
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    _LAST_TOKEN,
    causal=True,
    outputs=("self_attn", "mlp"),
    written_by=("self_attn.o_proj", "mlp.down_proj"),
    embeddings=("embed_tokens",),
    last="norm",
)
_GEMMA = replace(
    _LLAMA,
    outputs=("post_attention_layernorm", "post_feedforward_layernorm"),
    written_by=("", ""),
    scaled=True,
)


FAMILIES: dict[str, Family] = {
    "bert": Family(
        "encoder.layer",
        _SELF,
        {
            "NextSentencePrediction": Head(
                "cls.seq_relationship", "bert.pooler.dense", sentence=_pooled
            ),
            "PreTraining": Head("cls.seq_relationship", "bert.pooler.dense", only_reader=False),
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
    "camembert": _ROBERTA,  # Martin et al. (2020): RoBERTa of French, modules of the same names
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
            "PreTraining": Head("sop_classifier.classifier", "albert.pooler", only_reader=False),
            "SequenceClassification": Head(
                "classifier", "albert.pooler", sentence=_albert_pooled, dropout="dropout"
            ),
            "MultipleChoice": Head("classifier", "albert.pooler"),
        },
        pooled="pooler_activation",
        shared="albert_layers",
        finish=_albert_layer,
    ),
    "modernbert": Family(
        "layers",
        ("attn.Wqkv",) * 3,
        {
            "SequenceClassification": Head(
                "classifier",
                "head.dense",
                sentence=_modern,
                dropout="drop",
                poolings={"cls": FIRST, "mean": MEAN},
            ),
        },
        last="final_norm",
        whole="it has rotary position embeddings, and attends within a window in some layers",
    ),
    "eurobert": Family(  # Boizard et al. (2025)
        "layers",
        ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        {
            "SequenceClassification": Head(
                "classifier",
                "dense",
                sentence=_activated,
                poolings={"bos": FIRST, "mean": MEAN, "late": LATE},
            ),
        },
        last="norm",
        whole="it has rotary position embeddings",
    ),
    "nomic_bert": _rotary("nomic_bert"),
    "gte": _rotary("gte"),
    "xlm-roberta-xl": Family(
        "encoder.layer",
        _SELF,
        {
            "SequenceClassification": _DENSE_HEAD,
            "MultipleChoice": Head("classifier", "roberta.pooler.dense"),
        },
        pooled="pooler",
        last="encoder.LayerNorm",
        whole="it has a norm before the attention, and another one after the last layer",
    ),
    "gpt2": Family(
        "h",
        ("attn.c_attn",) * 3,
        _LAST_TOKEN,
        causal=True,
        outputs=("attn", "mlp"),
        written_by=("attn.c_proj", "mlp.c_proj"),
        embeddings=("wte", "wpe"),
        last="ln_f",
    ),
    "gpt_neox": Family(
        "layers",
        ("attention.query_key_value",) * 3,
        _LAST_TOKEN,
        causal=True,
        interleaved=True,
        outputs=("attention", "mlp"),
        written_by=("attention.dense", "mlp.dense_4h_to_h"),
        embeddings=("embed_in",),
        last="final_layer_norm",
    ),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "gemma2": _GEMMA,
    "gemma3_text": _GEMMA,
    "phi": replace(_LLAMA, written_by=("self_attn.dense", "mlp.fc2"), last="final_layernorm"),
    "phi3": replace(_LLAMA, parts=("self_attn.qkv_proj",) * 3),
}


# A model's family, parts and sizes


def family_of(model: Any) -> Family:
    """Return the family of a transformers model."""
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    if kind not in FAMILIES:
        raise WordbiasError(
            f"{type(model).__name__}: models of type {kind!r} are not known here; "
            f"known are {', '.join(FAMILIES)}"
        )
    return FAMILIES[kind]


def is_decoder(of: Family | str | Any) -> bool:
    """Return whether a family, or that of a name or model, is one of decoders."""
    if isinstance(of, Family):
        return of.causal
    return (FAMILIES[of] if isinstance(of, str) and of in FAMILIES else family_of(of)).causal


def head_of(model: Any) -> Head | None:
    """Return the head of a model: its own, or by the names of its class and its base classes."""
    heads = family_of(model).heads
    if isinstance(own := getattr(model, "own_head", None), Head):
        return own
    for cls in type(model).__mro__:
        head = heads.get(cls.__name__.partition("For")[2])
        if head is not None:
            return head
    return None


def read_by_head(model: Any) -> str:
    """Return what a model's head reads of the last layer; position 0 without a head."""
    head = head_of(model)
    if head is None:
        return FIRST
    return head.poolings.get(model.config.classifier_pooling, LATE) if head.poolings else head.reads


def fused(family: Family) -> bool:
    """Return whether one linear map computes query, key and value."""
    return len(set(family.parts)) == 1


def module_at(model: Any, path: str) -> Any:
    """Return a submodule of a model by its dotted name; None if the model does not have it."""
    for name in path.split("."):
        model = getattr(model, name, None)
    return model


def base_of(model: Any) -> Any:
    """Return the encoder or decoder without its head."""
    return getattr(model, getattr(model, "base_model_prefix", "") or "", model)


def layer_count(model: Any) -> int:
    """Return the number of layers of a model; a shared one counts once for each call."""
    family, base = family_of(model), base_of(model)
    if family.shared:
        return int(model.config.num_hidden_layers)
    return len(base.get_submodule(family.layers))


def head_count(model: Any) -> int:
    """Return the number of attention heads of a layer."""
    return int(model.config.num_attention_heads)


def part_heads(model: Any) -> tuple[int, int, int]:
    """Return the numbers of heads of query, key and value: keys and values may be shared."""
    shared = getattr(model.config, "num_key_value_heads", None) or head_count(model)
    return head_count(model), int(shared), int(shared)


def width(model: Any) -> int:
    """Return the dimension of the hidden states."""
    return int(model.config.hidden_size)


# The head of a model


def language_head_of(model: Any) -> nn.Module | None:
    """Return the linear map from the last layer to the logits of a causal language model."""
    if not (is_decoder(model) and type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))):
        return None
    head: nn.Module | None = model.get_output_embeddings()
    return head


def sentence_of(model: Any, x: Tensor) -> Tensor:
    """Return the input of the final linear layer, from what the head reads, (n, d)."""
    return text_head_of(model)[1](model, x)


def texts_of(model: Any, x: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    """Return what a model's head reads of vectors of tokens, (B, T, d): (B, d)."""
    reads = read_by_head(model)
    if reads == FIRST:
        return x[:, 0]
    mask = inputs["attention_mask"].to(x.device)
    if reads == MEAN:
        means: Tensor = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return means.to(x.dtype)
    padding = model.config.get_text_config().pad_token_id
    real = mask if padding is None else (inputs["input_ids"] != padding).to(mask)
    return x[range(len(x)), real.cumsum(1).argmax(1)]  # the first place with all of them


def final_of(model: Any) -> nn.Module:
    """Return the final linear layer."""
    final: nn.Module = model.get_submodule(text_head_of(model)[0].final)
    return final


def logits_of(model: Any, x: Tensor) -> Tensor:
    """Return the model's logits for what its head reads of the last layer, ``(n, d)``."""
    head, sentence_vector = text_head_of(model)
    sentence = sentence_vector(model, x)
    if head.dropout:
        sentence = model.get_submodule(head.dropout)(sentence)
    logits: Tensor = final_of(model)(sentence)
    return logits


def text_head_of(model: Any) -> tuple[Head, SentenceVector]:
    """Return a model's head and the function that computes the input of its final layer."""
    head = head_of(model)
    if head is not None and read_by_head(model) == LATE:
        raise WordbiasError(
            f"{type(model).__name__}: its head reads every token and takes the mean of their "
            f"logits (classifier_pooling {model.config.classifier_pooling!r} in its config), and "
            "one vector of the text has to be read; give a model that pools another way"
        )
    if head is None or head.sentence is None:
        every = [item for family in FAMILIES.values() for item in family.heads.items()]
        purposes = dict.fromkeys(
            purpose for purpose, known_head in every if known_head.sentence is not None
        )
        decoder = "; wordbias likelihood measures decoders that predict words"
        raise WordbiasError(
            f"{type(model).__name__}: expected a model with a head for {' or '.join(purposes)}"
            f"{decoder if is_decoder(model) else ''}"
        )
    return head, head.sentence


def first_token_head_of(model: Any) -> Head:
    """Return a model's head, which reads position 0 alone."""
    head, _ = text_head_of(model)
    if (reads := read_by_head(model)) != FIRST:
        raise WordbiasError(
            f"{type(model).__name__}: its head reads the {reads} of the tokens, and here the first "
            "token alone has to be read; give another encoder"
        )
    return head
