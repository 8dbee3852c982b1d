"""Methods as texts: names, orders and settings after a name, and what is wrong with a text."""

from __future__ import annotations

import numpy as np
import pytest

from wordbias import Embedding, WordbiasError
from wordbias.methods.methods import (
    METHODS,
    fit_chain,
    parse_chain,
    parse_columns,
    settings_of,
    strengths_of,
)
from wordbias.methods.words import listed_words
from wordbias.wordlists import Attribute


@pytest.fixture(scope="module")
def few() -> Embedding:
    sample = Embedding.sample()
    return sample.subset([*sample.words[:4000], *sorted(listed_words(Attribute.load()))])


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("misp:dims=2", {"misp": {"dims": 2}}),
        (
            "inlp:rounds=3:classifier=logistic",
            {"inlp": {"iterations": 3, "classifier": "logistic"}},
        ),
        ("hard:equalise=no:direction=she-he", {"hard": {"equalise": False, "direction": "she-he"}}),
        ("misp:center:dims=3", {"misp": {"center": True, "dims": 3}}),
        ("conceptor:aperture=1.5", {"conceptor": {"aperture": 1.5}}),
        ("leace:per-class=200", {"leace": {"per_class": 200}}),
        ("leace:per_class=200", {"leace": {"per_class": 200}}),
        ("hard,misp:dims=1", {"hard": {}, "misp": {"dims": 1}}),
    ],
)
def test_settings_follow_a_name(text: str, settings: dict[str, dict[str, object]]) -> None:
    assert {one.name: dict(one.settings) for one in parse_chain(text)} == settings


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("misp:dims=2", {"dims": 2}),
        ("inlp:rounds=2:per-class=100", {"iterations": 2, "per_class": 100}),
        ("hard:equalise=no", {"equalise": False}),
        ("half-sibling:alpha=5", {"alpha": 5.0}),
    ],
)
def test_a_setting_in_the_text_does_what_the_option_does(
    few: Embedding, text: str, options: dict[str, object]
) -> None:
    name = text.partition(":")[0]
    one, other = fit_chain(text, few)[1], fit_chain(name, few, settings=options)[1]
    np.testing.assert_array_equal(one.vectors, other.vectors)
    assert np.abs(one.vectors - fit_chain(name, few)[1].vectors).max() > 1e-4


def test_a_setting_is_of_its_method_only_and_goes_before_an_option(few: Embedding) -> None:
    chain = fit_chain("misp:dims=2,mhd", few, settings={"dims": 3})[0]
    assert [part.settings["dims"] for part in chain.parts] == [2, 3]


def test_columns_are_separated_by_spaces_and_called_as_typed() -> None:
    texts = ["misp  HARD,misp", "inlp:Rounds=010 misp:as_published misp"]
    assert list(parse_columns(texts)) == [
        "misp",
        "hard,misp",
        "inlp:rounds=10",
        "misp:as-published",
    ]
    assert parse_columns("none") == parse_columns([]) == {}
    for label, chain in parse_columns("hard:equalise=false,conceptor:aperture=0.50").items():
        assert label == "hard:equalise=no,conceptor:aperture=0.5"
        assert parse_chain(label) == chain


def test_what_may_follow_a_name_is_a_setting_of_it() -> None:
    for name in METHODS:
        assert set(strengths_of(name)) <= set(settings_of(name))
    files = {"words", "concept", "sets", "checkpoint", "stereotypes", "neutral", "lambdas"}
    assert not files & {key for name in METHODS for key in strengths_of(name)}
    assert strengths_of("inlp")["classifier"] == ("svm", "logistic")
    assert strengths_of("misp")["dims"] is int


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mips", r"method 'mips': expected one of misp, .*; did you mean misp\?"),
        ("misp,", r"method '': expected one of misp"),
        ("misp:dim=3", r"method 'misp:dim=3': misp takes dims, .*; found 'dim'; did you mean dims"),
        ("inlp:round=3", r"found 'round'; did you mean rounds\?"),
        ("leace:dims=3", r"leace takes .*; found 'dims'; dims is for: misp, mhd, multi-hard"),
        ("leace:as-published", r"as-published is for: misp, mhd, hard"),
        ("misp:", r"misp takes dims, .*; found ''"),
        ("misp:dims=x", r"'misp:dims=x': dims: expected a whole number from 1 on, found 'x'"),
        ("misp:dims", r"dims: expected a whole number from 1 on, found ''"),
        ("misp:dims=0", r"expected a whole number from 1 on, found '0'"),
        ("misp:dims=2.5", r"expected a whole number from 1 on, found '2.5'"),
        ("inlp:seed=-1", r"seed: expected a whole number from 0 on, found '-1'"),
        ("inlp:classes=1", r"classes: expected a whole number from 2 on"),
        ("hard:equalise=maybe", r"equalise: expected yes or no, found 'maybe'"),
        ("inlp:classifier=tree", r"classifier: expected one of svm, logistic, found 'tree'"),
        ("conceptor:aperture=nan", r"aperture: expected a number from 0 on, found 'nan'"),
        ("conceptor:aperture=inf", r"aperture: expected a number from 0 on, found 'inf'"),
        ("misp:dims=4:dims=2", r"dims is given twice"),
        ("inlp:rounds=4:iterations=2", r"iterations is given twice"),
        ("misp:weights=perm", r"weights is no number, flag or choice, but an option of wordbias"),
    ],
)
def test_a_wrong_text_is_one_line(text: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=message) as caught:
        parse_columns(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["none misp", "misp NONE"])
def test_none_stands_alone(text: str) -> None:
    with pytest.raises(WordbiasError, match="none stands alone"):
        parse_columns(text)


def test_a_text_of_spaces_names_no_method() -> None:
    with pytest.raises(WordbiasError, match=r"methods: expected some of misp, .*, or none"):
        parse_columns("  ")
