"""An encoder of transformers: its layers, its dimensions, how long a text it can read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained import (
    PURPOSE,
    Loaded,
    evaluating,
    first_line,
    load_pretrained,
    load_untrained,
    need_transformers,
    to_device,
    weights_sha256,
)
from wordbias.probes.sentence_transformers import (
    SentenceModules,
    is_sentence_transformer,
    loaded_modules,
    read_modules,
)
from wordbias.threads import threads

Precision = Literal["float32", "bfloat16", "float16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)


class WithTokenizer(Protocol):
    """A pipeline of transformers, or what looks like it."""

    model: Any
    tokenizer: Any


class SentenceEncoder(Protocol):
    """A ``SentenceTransformer``."""

    tokenizer: Any

    def __getitem__(self, place: int) -> Any:
        """Return a module."""


ModelLike = str | os.PathLike[str] | tuple[Any, Any] | WithTokenizer | SentenceEncoder
"""A folder or a name on the hub; a loaded model and its tokenizer; a ``SentenceTransformer``."""
LONGEST = 512
"""Tokens of a text that are read where no other number is asked for and the model allows it."""
_UNUSED = "pooler"
_NO_LIMIT = 1 << 20
"""Tokens of a text that are read where neither model nor folder says how many."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """A model that gives a vector for every token in every layer.

    Attributes
    ----------
    name
        Its folder, or its name on the hub.
    model, tokenizer
        As transformers loads them.
    layers
        Number of the last layer, L; layer 0 is the input embeddings.
    dim
        Dimensions of a vector, the same in all layers.
    limit
        Tokens that its table of positions allows, special ones included; None if it has no table.
    device
        Where it computes.
    precision
        What it computes in.
    random_init
        Seed of its weights, if they are not the trained ones.
    causal
        A token sees those before it alone, as in GPT-2 and Llama; so the first sees only itself.
    sentence
        What a sentence-transformers folder says of the vector of a text; None in other folders.
    notes
        What a user should know of how it was loaded.
    """

    name: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    layers: int
    dim: int
    limit: int | None
    device: str = "cpu"
    precision: str = "float32"
    random_init: int | None = None
    causal: bool = False
    sentence: SentenceModules | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        device: str | None = None,
        precision: str = "float32",
        random_init: int | None = None,
    ) -> Encoder:
        """Load an encoder (extra `contextual`).

        Of a sentence-transformers folder the modules are read too, and its texts are lower-cased
        where it says so.

        Parameters
        ----------
        name
            A folder, or a name on the hub.
        device
            By default the first of cuda, mps and cpu that is there.
        precision
            One of `PRECISIONS`; vectors are float32 in any case.
        random_init
            Draw the weights anew with this seed, as the model's own initialisation does: the
            baseline that tells what training put into the layers from what any network of this
            shape lets through.

        Raises
        ------
        WordbiasError
            If transformers is missing, there is no such model or device, a weight that the layers
            need is in no file, or a module of a sentence-transformers folder is not understood. A
            pooler or a head may be missing: no layer needs it.
        """
        if precision not in PRECISIONS:
            raise WordbiasError(f"precision {precision!r}: expected one of {', '.join(PRECISIONS)}")
        what, notes = "an encoder", list[str]()
        need_transformers()
        in_folder = Path(name).is_dir() and bool(str(name).strip())
        sentence = read_modules(str(name), random_init) if in_folder else None
        folder = str(name) if sentence is None else sentence.transformer
        if random_init is None:
            loaded = load_pretrained("AutoModel", folder, what)
        else:
            loaded = load_untrained("AutoModel", folder, what, random_init)
        _check_weights(loaded, str(name))
        if not in_folder:
            sentence = read_modules(str(name), random_init, notes)
        model, chosen = to_device(loaded.model, device, precision)
        layers, dim, causal = _shape(model, str(name))
        if sentence is not None:
            sentence.width(dim * len(sentence.pooling))
            if sentence.lower_case:
                _lower_case(loaded.tokenizer, str(name))
        return cls(
            str(name),
            model,
            loaded.tokenizer,
            layers,
            dim,
            position_limit(model),
            chosen,
            precision,
            random_init,
            causal,
            sentence,
            tuple(notes),
        )

    @classmethod
    def of(
        cls,
        model: ModelLike,
        *,
        device: str | None = None,
        precision: str | None = None,
        random_init: int | None = None,
    ) -> Encoder:
        """Load an encoder, or take a model that is loaded as it is; of one with a head its body.

        Parameters
        ----------
        model
            What `load` takes, a pair of a model and its tokenizer, an object that has both, such as
            a pipeline of transformers, or a ``SentenceTransformer``.
        device, precision, random_init
            See `load`. A loaded model is where it is and computes in what it computes in.

        Raises
        ------
        WordbiasError
            As `load` does; if `model` is something else, or a loaded one would have to be changed.
        """
        if isinstance(model, (str, os.PathLike)):
            precision = precision or PRECISIONS[0]
            return cls.load(
                os.fspath(model), device=device, precision=precision, random_init=random_init
            )
        need_transformers()
        sentence = None
        if is_sentence_transformer(model):
            sentence = loaded_modules(model)
            body, tokenizer = model[0].auto_model, model[0].tokenizer
        else:
            body, tokenizer = _model_and_tokenizer(model)
        body = getattr(body, "base_model", body)
        name = str(getattr(body, "name_or_path", "") or type(body).__name__)
        _refuse_to_change(body, name, device, precision, random_init)
        layers, dim, causal = _shape(body, name)
        if sentence is not None:
            sentence.width(dim * len(sentence.pooling))
        return cls(
            name,
            body,
            tokenizer,
            layers,
            dim,
            position_limit(body),
            str(body.device),
            _precision(body),
            None,
            causal,
            sentence,
        )

    @property
    def max_length(self) -> int:
        """Tokens of a text that are read unless told otherwise, special ones included."""
        known = int(self.tokenizer.model_max_length)  # 10^30 where the tokenizer does not say
        if self.sentence is None:
            return min(LONGEST, known, self.limit or known)
        if self.sentence.max_length is not None:
            return min(self.sentence.max_length, self.limit or self.sentence.max_length)
        positions = int(getattr(self.model.config, "max_position_embeddings", -1) or -1)
        known = known if positions < 0 else min(known, positions)
        return min(known, self.limit or known, _NO_LIMIT)

    def choose_layers(self, layers: Sequence[int] | None) -> tuple[int, ...]:
        """Return layers, all of them by default, each once.

        Raises
        ------
        WordbiasError
            If one does not exist.
        """
        chosen = tuple(dict.fromkeys(range(self.layers + 1) if layers is None else layers))
        if bad := [layer for layer in chosen if not 0 <= layer <= self.layers]:
            raise WordbiasError(
                f"{self.name}: no layer {bad[0]}; it has layers 0 (input embeddings) to "
                f"{self.layers}"
            )
        if not chosen:
            raise WordbiasError("no layer is asked for; give at least one")
        return chosen

    def hidden_states(self, inputs: dict[str, NDArray[np.int64]]) -> Sequence[Any]:
        """Return the hidden states of a padded batch, shape ``(B, T, d)`` for each layer from 0.

        Parameters
        ----------
        inputs
            Arguments of the model by name, each of shape ``(B, T)``.
        """
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        torch.set_num_threads(threads())
        given = {key: torch.from_numpy(value).to(self.device) for key, value in inputs.items()}
        with torch.inference_mode(), evaluating(self.model):
            found = self.model(**given, output_hidden_states=True)
        states: list[Any] = list(found.hidden_states)
        last = getattr(found, "last_hidden_state", None)
        if last is not None and last.shape == states[-1].shape:
            states[-1] = last  # some models normalise what they collected without that
        return states

    def sha256(self) -> str:
        """Return a hash of the weights that vectors depend on.

        A pooler is none of them; where a folder lacks it, it is drawn anew each time.
        """
        found = weights_sha256(self.model, without=_UNUSED)
        return found if self.sentence is None else self.sentence.weights_sha256(found)


def position_limit(model: Any) -> int | None:
    """Return how many tokens a model's table of positions holds; None if there is no such table.

    RoBERTa and MPNet number positions from after that of padding, so that a table of 514 rows
    holds 512 tokens.
    """
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            padding = module.padding_idx
            return int(module.num_embeddings) - (0 if padding is None else padding + 1)
    return None


def _model_and_tokenizer(model: Any) -> tuple[Any, Any]:
    """Return a loaded model and its tokenizer."""
    pair = model if isinstance(model, (tuple, list)) else ()
    if not pair:
        pair = getattr(model, "model", None), getattr(model, "tokenizer", None)
    if len(pair) != 2 or not hasattr(pair[0], "modules") or not hasattr(pair[1], "is_fast"):
        lacks = " without its tokenizer" if hasattr(model, "config") else ""
        raise WordbiasError(
            f"got a {type(model).__name__}{lacks}; expected a folder, a name on the hub, a loaded "
            "model with its tokenizer (model, tokenizer), or a SentenceTransformer"
        )
    return pair[0], pair[1]


def _precision(model: Any) -> str:
    return str(model.dtype).removeprefix("torch.")


def _refuse_to_change(
    model: Any, name: str, device: str | None, precision: str | None, random_init: int | None
) -> None:
    """Refuse what would change a loaded model, which is its owner's."""
    if random_init is not None:
        raise WordbiasError(f"{name}: is loaded, and keeps its weights; --random-init needs a name")
    if device is not None and device not in (str(model.device), model.device.type):
        raise WordbiasError(
            f"{name}: is loaded on {model.device}; move it there, model.to({device!r}), or leave "
            "out --device"
        )
    if precision is not None and precision != _precision(model):
        raise WordbiasError(
            f"{name}: is loaded in {_precision(model)}; convert it, model.to(torch.{precision}), "
            "or leave out --precision"
        )


def _check_weights(loaded: Loaded, name: str) -> None:
    missing = [key for key in loaded.missing if _UNUSED not in key.split(".")]
    if missing:
        others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise WordbiasError(
            f"{name}: has no trained weights for {missing[0]}{others}; give a folder whose weights "
            "are of this model, or draw them all at random (random_init, --random-init)"
        )


def _shape(model: Any, name: str) -> tuple[int, int, bool]:
    """Return the number of layers, their width, and whether the model is a causal one.

    It reads two texts of two tokens, and is causal if the first token's vector is the same whatever
    the second is. Configs do not tell reliably: some decoders were made to look both ways.
    """
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
    one, other = states[-1]
    causal = torch.equal(one[0], other[0]) and not torch.equal(one[1], other[1])
    return len(states) - 1, widths.pop(), causal and len(states) > 1


def _lower_case(tokenizer: Any, name: str) -> None:
    """Let a tokenizer lower-case texts first, as sentence-transformers does."""
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
