"""Removals fitted layer by layer: against whole forward passes, with the rows gathered by loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from decoder_values import final_norm, layer_of, place_of
from tiny_decoders import WITH_SITES, build_decoder, word_tokenizer
from tiny_encoders import FAMILIES as ENCODER_FAMILIES
from tiny_encoders import build, make_tokenizer

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.hooks import Intervention, applied
from wordbias.contextual.scrubbing import scrub
from wordbias.contextual.sites import Site, sites
from wordbias.methods.leace import Erasure, fit_erasure

torch = pytest.importorskip("torch")

WORDS = [f"{letter}{number}" for letter in "abcdefgh" for number in range(4)]
DEPTH = 3
ENCODERS = tuple(name for name in ENCODER_FAMILIES if name != "albert")
MIXED = sites("input@1,attention-output@all,mlp-output@2,input@3,tokens@3", DEPTH)
CLOSE = 1e-7
"""Share of the length of a vector by which two ways of computing it in float64 may differ: the
rounding of some thousand operations, as often magnified as the covariances are ill-conditioned."""


class Labelled(NamedTuple):
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]


class Data(NamedTuple):
    """Tokens of texts, each of shape ``(1, tokens)``, and their labels."""

    ids: list[Any]
    labels: list[str]


def read_by(reader: Any, given: Labelled) -> Data:
    return Data([torch.tensor([reader(text)["input_ids"]]) for text in given.texts], given.labels)


def made_up(n: int, classes: int) -> Labelled:
    """Return texts of 2 to 8 words, of which each class prefers others, and their labels."""
    rng = np.random.default_rng(3)
    texts, labels = [], []
    for i in range(n):
        label = i % classes
        shares = np.where(np.arange(len(WORDS)) % classes == label, 2.0, 1.0)
        words = rng.choice(WORDS, rng.integers(2, 9), p=shares / shares.sum())
        texts.append(" ".join(words))
        labels.append(f"class {label}")
    return Labelled(texts, labels)


TWO, THREE = made_up(36, 2), made_up(45, 3)


@cache
def decoder(family: str) -> Any:
    """Return a decoder of three layers in float64; nobody may change it."""
    deeper = {"n_layer" if family == "gpt2" else "num_hidden_layers": DEPTH}
    return build_decoder(family, len(WORDS) + 2, **deeper).double()


@cache
def encoder(family: str) -> Any:
    """Return an encoder in float64; nobody may change it."""
    return build(family, "Model", vocabulary=len(WORDS) + 5).double()


@cache
def tokenizer() -> Any:
    """Return a tokenizer of words without a padding token."""
    return word_tokenizer(" ".join(WORDS), front=True)


@cache
def marking() -> Any:
    """Return a tokenizer of words with the markers of BERT."""
    return make_tokenizer(WORDS)


# The naive way


@contextmanager
def hooks(family: str, wanted: Mapping[Site, Callable[[Any], Any]]) -> Iterator[None]:
    """Replace vectors in a decoder by functions of them, by hooks of torch."""
    model = decoder(family)
    with ExitStack() as stack:
        for site, change in wanted.items():
            assert site.layer
            module, entering, _ = place_of(family, model, site)
            if site.kind == "tokens":
                norm = site.layer == DEPTH
                module = final_norm(family, model) if norm else layer_of(family, model, site.layer)

            def after(_: Any, args: Any, out: Any, change: Any = change) -> Any:
                return (change(out[0]), *out[1:]) if isinstance(out, tuple) else change(out)

            def before(_: Any, args: Any, named: Any, change: Any = change) -> Any:
                return (change(args[0]), *args[1:]), named

            handle = (
                module.register_forward_pre_hook(before, with_kwargs=True)
                if entering
                else module.register_forward_hook(after)
            )
            stack.callback(handle.remove)
        yield


def in_decoder(family: str, ids: Any, site: Site, removals: Mapping[Site, Erasure]) -> Any:
    """Return the vectors of one text at a site of a decoder, after removals."""
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(x[0].clone().numpy())
        return x

    with torch.no_grad(), hooks(family, dict(removals)), hooks(family, {site: look}):
        decoder(family)(input_ids=ids)
    return seen[0]


def in_encoder(family: str, ids: Any, site: Site, removals: Mapping[Site, Erasure]) -> Any:
    """Return the vectors of one text at an output of an encoder's layer, after removals."""
    model = encoder(family)
    changes = [Intervention(one, step) for one, step in removals.items()]
    with torch.no_grad(), applied(model, changes):
        x = model(input_ids=ids, output_hidden_states=True).hidden_states[site.layer]
    return x[0, :1].numpy() if site.kind == "cls" else x[0].numpy()


Reader = Callable[[Any, Site, Mapping[Site, Erasure]], Any]


def gathered(
    read: Reader,
    site: Site,
    removals: Mapping[Site, Erasure],
    data: Data,
    tokens: str = "all",
) -> tuple[Any, Any]:
    """Return the vectors of texts, each read by itself, and their classes."""
    names = sorted(set(data.labels))
    rows, codes = [], []
    for ids, label in zip(data.ids, data.labels, strict=True):
        x = read(ids, site, removals)
        for row in {"all": x, "last": x[-1:], "mean": [x.mean(0)]}[tokens]:
            rows.append(row)
            codes.append(names.index(label))
    return np.array(rows), np.array(codes)


def check_fitted(
    adapter: Adapter, read: Reader, data: Data, tokens: str = "all", sequential: bool = True
) -> None:
    """Compare each removal with one fitted to whole forward passes with those before it."""
    before: dict[Site, Erasure] = {}
    for site, found in adapter.steps.items():
        rows, codes = gathered(read, site, before, data, tokens)
        expected = fit_erasure(rows, codes)
        scale = np.abs(rows).max()
        assert np.abs(expected(rows) - rows).max() > 1e-3 * scale  # it removes something
        np.testing.assert_allclose(
            found(rows), expected(rows), rtol=0, atol=CLOSE * scale, err_msg=str(site)
        )
        about = adapter.facts["sites"][str(site)]
        assert about["vectors"] == len(rows)
        if sequential:
            before[site] = expected


@pytest.mark.parametrize("family", WITH_SITES)
def test_each_is_fitted_on_what_those_before_it_left(family: str) -> None:
    """At every layer of each decoder; `tokens@3` is what the final norm puts out."""
    adapter = scrub(decoder(family), tokenizer(), *TWO, batch=7)
    assert list(adapter.steps) == list(sites("tokens@all", DEPTH))
    check_fitted(adapter, partial(in_decoder, family), read_by(tokenizer(), TWO))


@pytest.mark.parametrize("family", WITH_SITES)
@pytest.mark.parametrize("sequential", [True, False])
def test_sites_inside_of_layers(family: str, sequential: bool) -> None:
    adapter = scrub(
        decoder(family), tokenizer(), *THREE, wanted=MIXED, batch=11, sequential=sequential
    )
    assert set(adapter.steps) == set(MIXED)
    read = partial(in_decoder, family)
    check_fitted(adapter, read, read_by(tokenizer(), THREE), sequential=sequential)


@pytest.mark.parametrize("family", ENCODERS)
@pytest.mark.parametrize("sequential", [True, False])
def test_layers_of_encoders(family: str, sequential: bool) -> None:
    """DeBERTa mixes the first layer's output with that of a convolution; others end with a norm."""
    wanted = sites("cls@1,tokens@all,cls@3", DEPTH)
    adapter = scrub(
        encoder(family), marking(), *TWO, wanted=wanted, batch=11, sequential=sequential
    )
    assert set(adapter.steps) == set(wanted)
    read = partial(in_encoder, family)
    check_fitted(adapter, read, read_by(marking(), TWO), sequential=sequential)


@pytest.mark.parametrize("tokens", ["last", "mean"])
@pytest.mark.parametrize("family", ["gpt2", "gemma3_text"])
def test_one_vector_of_each_text(family: str, tokens: str) -> None:
    adapter = scrub(decoder(family), tokenizer(), *TWO, tokens=tokens, batch=11)
    data = read_by(tokenizer(), TWO)
    check_fitted(adapter, partial(in_decoder, family), data, tokens)
