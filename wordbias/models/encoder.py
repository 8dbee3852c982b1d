"""Encoders of transformers: layers, dimensions, maximum length and hidden states."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wordbias.configuration import PRECISIONS as PRECISIONS  # noqa: PLC0414
from wordbias.configuration import Precision as Precision  # noqa: PLC0414
from wordbias.errors import WordbiasError, first_line, need
from wordbias.models.loading import (
    LoadedModel,
    configured_length,
    load_pretrained,
    load_untrained,
    position_limit,
    usual_length,
    weights_sha256,
)
from wordbias.models.model_like import (
    PURPOSE,
    ModelLike,
    evaluating,
    model_and_tokenizer,
    name_of,
    need_transformers,
)
from wordbias.models.sentence_transformers import (
    SentenceModules,
    is_sentence_transformer,
    loaded_modules,
    read_modules,
)
from wordbias.resources.models import local_model

_UNUSED = "pooler"
_NO_LIMIT = 1 << 20
"""Maximum length of a text where neither model nor folder names one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoder(LoadedModel):
    """Model that gives a vector for every token in every layer."""

    layers: int  # number of the last layer, L; layer 0 is the input embeddings
    dim: int
    # tokens that its table of positions allows, special ones included, or that a causal model was
    # made for; None if it has no table
    limit: int | None
    random_init: int | None = None  # seed of its weights, if they are random
    # a token attends only to those before it, as in GPT-2 and Llama; the first only to itself
    causal: bool = False
    # modules of a sentence-transformers folder; None in other folders
    sentence: SentenceModules | None = None
    notes: tuple[str, ...] = ()  # notes for the user on how it was loaded

    @classmethod
    def load(
        cls,
        source: ModelLike,
        *,
        device: str | None = None,
        precision: str | None = None,
        random_init: int | None = None,
    ) -> Self:
        """Load an encoder (extra `contextual`), or use a loaded model as it is."""
        # The body is taken of a model with a head; a pooler or a head may be missing, for no layer
        # needs it. The modules of a sentence-transformers model are read too, and texts are
        # lower-cased if its folder says so. Vectors are float32 in any precision. `random_init`
        # draws random weights with this seed: a baseline that separates what the layers have
        # learned from what any network of this shape lets through.
        need_transformers()
        notes: list[str] = []
        if isinstance(source, (str, os.PathLike)):
            precision = precision or PRECISIONS[0]
            if precision not in PRECISIONS:
                expected = ", ".join(PRECISIONS)
                raise WordbiasError(f"precision {precision!r}: expected one of {expected}")
            loaded, sentence = _from_name(os.fspath(source), random_init, notes)
        else:
            sentence = loaded_modules(source) if is_sentence_transformer(source) else None
            model, tokenizer = model_and_tokenizer(source)
            body = getattr(model, "base_model", model)
            loaded = load_pretrained("AutoModel", (body, tokenizer), "an encoder")
            loaded = replace(loaded, name=name_of(source))  # with the adapters around the body
            if random_init is not None:
                raise WordbiasError(
                    f"{loaded.name}: is loaded, and keeps its weights; --random-init needs a name"
                )
        loaded = loaded.on(device, precision)
        layers, dim, causal = _shape(loaded.model, loaded.name)
        limit = position_limit(loaded.model)
        if causal and limit is None:
            limit = configured_length(loaded.model)
        if sentence is not None:
            sentence.width(dim * len(sentence.pooling))
            if sentence.lower_case:
                _lower_case(loaded.tokenizer, loaded.name)
        return cls(
            **vars(loaded),
            layers=layers,
            dim=dim,
            limit=limit,
            random_init=random_init,
            causal=causal,
            sentence=sentence,
            notes=tuple(notes),
        )

    @property
    def max_length(self) -> int:
        """Default of the maximum length of a text in tokens, special ones included."""
        if self.sentence is None:
            usual = usual_length(self.model, self.tokenizer)
            return min(usual, self.limit or usual)
        if self.sentence.max_length is not None:
            return min(self.sentence.max_length, self.limit or self.sentence.max_length)
        known = int(self.tokenizer.model_max_length)  # 10^30 where the tokenizer does not say
        positions = int(getattr(self.model.config, "max_position_embeddings", -1) or -1)
        known = known if positions < 0 else min(known, positions)
        return min(known, self.limit or known, _NO_LIMIT)

    def choose_layers(self, layers: Sequence[int] | None) -> tuple[int, ...]:
        """Return layers, all of them by default, each once."""
        chosen = tuple(dict.fromkeys(range(self.layers + 1) if layers is None else layers))
        if bad := [layer for layer in chosen if not 0 <= layer <= self.layers]:
            raise WordbiasError(
                f"{self.name}: no layer {bad[0]}; it has layers 0 (input embeddings) to "
                f"{self.layers}"
            )
        if not chosen:
            raise WordbiasError("no layer given; give at least one")
        return chosen

    def hidden_states(self, inputs: dict[str, NDArray[np.int64]]) -> Sequence[Any]:
        """Return the hidden states of a padded batch, shape ``(B, T, d)`` for each layer from 0."""
        with self.predicting() as torch:
            given: dict[str, Any] = {
                key: torch.from_numpy(value).to(self.device) for key, value in inputs.items()
            }
            if self.causal:
                given["use_cache"] = False  # keys and values, which nothing would continue
            encoded = self.model(**given, output_hidden_states=True)
        states: list[Any] = list(encoded.hidden_states)
        last = getattr(encoded, "last_hidden_state", None)
        if last is not None and last.shape == states[-1].shape:
            states[-1] = last  # some models normalise what they collected without that
        return states

    def sha256(self) -> str:
        """Return a hash of the weights that vectors depend on."""
        # The pooler does not belong to them: where a folder lacks it, it is random each time.
        digest = weights_sha256(self.model, without=_UNUSED)
        return digest if self.sentence is None else self.sentence.weights_sha256(digest)


def _from_name(
    name: str, random_init: int | None, notes: list[str]
) -> tuple[LoadedModel, SentenceModules | None]:
    """Load a model from a folder or the hub, with the modules of a sentence-transformers model."""
    with local_model(name, notes) as source:
        sentence = read_modules(source, random_init)
        folder = source if sentence is None else sentence.transformer
        if random_init is None:
            loaded = load_pretrained("AutoModel", folder, "an encoder")
        else:
            loaded = load_untrained("AutoModel", folder, "an encoder", random_init)
    missing = [key for key in loaded.missing if _UNUSED not in key.split(".")]
    if missing:
        others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise WordbiasError(
            f"{name}: has no trained weights for {missing[0]}{others}; give a folder whose weights "
            "are of this model, or draw them all at random (random_init, --random-init)"
        )
    return replace(loaded, name=name), sentence


def _shape(model: Any, name: str) -> tuple[int, int, bool]:
    """Return the number of layers, their width, and whether the model is causal."""
    # It encodes two texts of two tokens, and is causal if the first token's vector is the same
    # whatever the second is. Configs do not say so reliably: some decoders were made bidirectional.
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    ids = torch.tensor([[0, 0], [0, 1]], dtype=torch.long, device=model.device)
    try:
        with torch.inference_mode(), evaluating(model):
            states = model(
                input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True
            ).hidden_states
        widths = {int(state.shape[-1]) for state in states}
    except Exception as error:  # whatever a model that is none raises
        raise WordbiasError(
            f"{name}: is no text encoder that shows its layers: {first_line(error)}"
        ) from None
    if len(widths) > 1:
        raise WordbiasError(f"{name}: its layers have different widths: {sorted(widths)}")
    vectors, other = states[-1]
    causal = torch.equal(vectors[0], other[0]) and not torch.equal(vectors[1], other[1])
    return len(states) - 1, widths.pop(), causal and len(states) > 1


def _lower_case(tokenizer: Any, name: str) -> None:
    """Make a tokenizer lower-case texts first, as sentence-transformers does."""
    if not tokenizer.is_fast:
        raise WordbiasError(
            f"{name}: its folder asks for lower-cased texts, which needs a fast tokenizer (a "
            "tokenizer.json); its tokenizer is a slow one"
        )
    from tokenizers.normalizers import Lowercase, Sequence

    known = tokenizer.backend_tokenizer.normalizer
    tokenizer.backend_tokenizer.normalizer = (
        Lowercase() if known is None else Sequence([Lowercase(), known])
    )
