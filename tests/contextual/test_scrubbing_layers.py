"""Removals fitted layer by layer: against whole forward passes, with the rows gathered by loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from decoder_values import final_norm, layer_of, place_of
from labelled_texts import (
    DEPTH,
    THREE,
    TWO,
    WORDS,
    Labelled,
    decoder,
    encoder,
    marking,
    tokenizer,
)
from quick_cases import first_quick
from tiny_decoders import WITH_SITES
from tiny_encoders import FAMILIES as ENCODER_FAMILIES

from wordbias.contextual.scrubbing import scrub, scrub_pairs
from wordbias.methods.leace import Erasure, fit_erasure, shrunk_covariance
from wordbias.models.adapters import Adapter
from wordbias.models.hooks import Intervention, applied
from wordbias.models.sentence_pairs import SentencePair
from wordbias.models.sites import Site, sites

torch = pytest.importorskip("torch")

ENCODERS = tuple(name for name in ENCODER_FAMILIES if name != "albert")
MIXED = sites("input@1,attention-output@all,mlp-output@2,input@3,tokens@3", DEPTH)
EPS = float(np.finfo(np.float32).eps)
"""Norms, and gemma2's softmax, compute in float32 also in a model that is float64."""


class Data(NamedTuple):
    """Tokens of texts, each of shape ``(1, tokens)``, and their labels."""

    ids: list[Any]
    labels: list[str]


def read_by(reader: Any, given: Labelled) -> Data:
    return Data([torch.tensor([reader(text)["input_ids"]]) for text in given.texts], given.labels)


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
    changes = [Intervention(place, step) for place, step in removals.items()]
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
    for number, (site, step) in enumerate(adapter.steps.items(), 1):
        rows, codes = gathered(read, site, before, data, tokens)
        expected = fit_erasure(rows, codes)
        scale = np.abs(rows).max()
        assert np.abs(expected(rows) - rows).max() > 1e-3 * scale  # it removes something
        # a change of ε of the values is √κ as large a share where the vectors vary least, and that
        # is what whitening magnifies; each site adds its own to those of the sites before it
        condition = np.linalg.cond(shrunk_covariance(np.cov(rows.T), len(rows)))
        rounding = number * np.sqrt(condition) * EPS * scale
        np.testing.assert_allclose(
            step(rows), expected(rows), rtol=0, atol=rounding, err_msg=str(site)
        )
        about = adapter.facts["sites"][str(site)]
        assert about["vectors"] == len(rows)
        if sequential:
            before[site] = expected


@pytest.mark.parametrize("family", first_quick(WITH_SITES))
def test_each_is_fitted_on_what_those_before_it_left(family: str) -> None:
    """At every layer of each decoder; `tokens@3` is what the final norm puts out."""
    adapter = scrub(decoder(family), tokenizer(), *TWO, batch=7)
    assert list(adapter.steps) == list(sites("tokens@all", DEPTH))
    check_fitted(adapter, partial(in_decoder, family), read_by(tokenizer(), TWO))


@pytest.mark.parametrize(
    ("family", "sequential"),
    first_quick([*((name, True) for name in WITH_SITES), ("gpt_neox", False), ("gemma2", False)]),
)
def test_sites_inside_of_layers(family: str, sequential: bool) -> None:
    adapter = scrub(
        decoder(family), tokenizer(), *THREE, wanted=MIXED, batch=11, sequential=sequential
    )
    assert set(adapter.steps) == set(MIXED)
    read = partial(in_decoder, family)
    check_fitted(adapter, read, read_by(tokenizer(), THREE), sequential=sequential)


@pytest.mark.parametrize(
    ("family", "sequential"),
    first_quick(
        [*((name, True) for name in ENCODERS), ("deberta-v2", False), ("modernbert", False)]
    ),
)
def test_layers_of_encoders(family: str, sequential: bool) -> None:
    """DeBERTa mixes the first layer's output with that of a convolution; others end with a norm."""
    wanted = sites("cls@1,tokens@all,cls@3", DEPTH)
    adapter = scrub(
        encoder(family), marking(), *TWO, wanted=wanted, batch=11, sequential=sequential
    )
    assert set(adapter.steps) == set(wanted)
    read = partial(in_encoder, family)
    check_fitted(adapter, read, read_by(marking(), TWO), sequential=sequential)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", ["last", "mean"])
@pytest.mark.parametrize("family", ["gpt2", "gemma3_text"])
def test_one_vector_of_each_text(family: str, tokens: str) -> None:
    adapter = scrub(decoder(family), tokenizer(), *TWO, tokens=tokens, batch=11)
    data = read_by(tokenizer(), TWO)
    check_fitted(adapter, partial(in_decoder, family), data, tokens)


# Pairs of sentences


def replaced(sentence: str, words: int) -> str:
    """Return a sentence with other words in front, and as many."""
    given = sentence.split()
    return " ".join([WORDS[(WORDS.index(word) + 1) % 32] for word in given[:words]] + given[words:])


PAIRS = [
    *(SentencePair(text, replaced(text, 1 + i % 2)) for i, text in enumerate(TWO.texts)),
    SentencePair("a0 a1", "b0 b1 b2"),
    SentencePair("c0 c1", "c0 c1"),
]
"""Sentences that differ in their first words; a pair of other lengths, and one of equal ones."""


@pytest.mark.parametrize("tokens", ["word", "all", "last", "mean"])
def test_the_two_sides_of_pairs_are_the_classes(tokens: str) -> None:
    """At the words that differ: the mean of their vectors, of pairs of equal length alone."""
    pairs = PAIRS[:-2] if tokens == "word" else PAIRS[:-1]
    adapter = scrub_pairs(
        decoder("qwen3"), tokenizer(), PAIRS, tokens=tokens, wanted=sites("tokens@2,tokens@3")
    )
    assert adapter.facts["left_out"] == len(PAIRS) - len(pairs)
    assert adapter.facts["classes"] == {"first": len(pairs), "second": len(pairs)}
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    data = read_by(tokenizer(), Labelled(texts, ["first"] * len(pairs) + ["second"] * len(pairs)))
    changed = [1 + i % 2 for i in range(len(pairs))] * 2

    def read(ids: Any, site: Site, removals: Mapping[Site, Erasure]) -> Any:
        x = in_decoder("qwen3", ids, site, removals)
        if tokens != "word":
            return x
        place = next(i for i, text_ids in enumerate(data.ids) if text_ids is ids)
        return x[1 : 1 + changed[place]].mean(0, keepdims=True)  # behind the BOS token

    check_fitted(adapter, read, data, "all" if tokens == "word" else tokens)
