"""Settings of methods: texts and objects as the same, what is wrong with them, and their help."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias import Embedding
from wordbias.errors import UsageError
from wordbias.methods.methods import fit_chain, fit_methods, parse_columns
from wordbias.methods.settings import METHODS
from wordbias.methods.words import listed_words
from wordbias.outcomes.settings import METHODS as REWRITING
from wordbias.settings import (
    Configured,
    Setting,
    Settings,
    method_help,
    read_chain,
    read_chains,
    settings_of,
    summary_of,
    text_of,
)
from wordbias.wordlists import Attribute

EVERY: Mapping[str, type[Settings]] = {**METHODS, **REWRITING}


@pytest.fixture(scope="module")
def few() -> Embedding:
    sample = Embedding.sample()
    return sample.subset([*sample.words[:4000], *sorted(listed_words(Attribute.load()))])


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("misp:dims=2", {"misp": {"dims": 2}}),
        ("inlp:rounds=3:classifier=logistic", {"inlp": {"rounds": 3, "classifier": "logistic"}}),
        ("hard:equalise=no:direction=she-he", {"hard": {"equalise": False, "direction": "she-he"}}),
        ("misp:centre:dims=3", {"misp": {"centre": True, "dims": 3}}),
        ("misp:weights=0.5,.25", {"misp": {"weights": [0.5, 0.25]}}),
        ("misp:weights=perm:2134", {"misp": {"weights": "perm:2134"}}),
        ("ran:lambdas=0.1,0.8,0.1", {"ran": {"lambdas": [0.1, 0.8, 0.1]}}),
        ("ran:words='my words.txt'", {"ran": {"words": "my words.txt"}}),
        ("conceptor:aperture=1.5", {"conceptor": {"aperture": 1.5}}),
        ("LEACE:per_class=200", {"leace": {"per_class": 200}}),
        ("hard, misp:dims=1", {"hard": {}, "misp": {"dims": 1}}),
    ],
)
def test_settings_follow_a_name(text: str, settings: dict[str, dict[str, object]]) -> None:
    assert {method.name: dict(method.settings) for method in read_chain(text, METHODS)} == settings


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("misp:dims=2", wb.MISP(dims=2)),
        ("inlp:rounds=2:per-class=100", wb.INLP(rounds=2, per_class=100)),
        ("hard:equalise=no", wb.Hard(equalise=False)),
        ("half-sibling:alpha=5", wb.HalfSibling(alpha=5.0)),
        ("misp:weights=0.5,0.25", wb.MISP(weights=[0.5, 0.25])),
        ("leace", wb.LEACE()),
        ("scrub:mask=*:names-column='first,last'", wb.Scrub(mask="*", names_column="first,last")),
    ],
)
def test_a_text_and_an_object_are_the_same(text: str, method: Any) -> None:
    (typed,), (given) = read_chain(text, EVERY), read_chain(method, EVERY)
    assert [typed] == given
    assert text_of(given) == text


def test_a_setting_does_what_it_says(few: Embedding) -> None:
    for text in ("misp:dims=2", "hard:equalise=no", "inlp:rounds=2:per-class=100"):
        plain = fit_chain(text.partition(":")[0], few)[1]
        assert np.abs(fit_chain(text, few)[1].vectors - plain.vectors).max() > 1e-4
    chain = fit_chain("misp:dims=2,mhd:dims=3", few)[0]
    assert [part.settings["dims"] for part in chain.parts] == [2, 3]


@pytest.mark.slow
def test_a_seed_of_a_method_goes_before_that_of_the_call(few: Embedding) -> None:
    own, others = Configured("leace", {"random_state": 3}), Configured("leace")
    seeds = [fit_methods([own, others], few, seed=5)[0].parts[i].settings["seed"] for i in (0, 1)]
    assert seeds == [3, 5]
    drawn = Configured("leace", {"random_state": np.random.default_rng(0)})
    assert fit_methods([drawn], few)[0].parts[0].settings["seed"] > 5


@given(st.data())
def test_what_is_typed_is_written_and_read_as_the_same(data: st.DataObject) -> None:
    """A value of each kind, for some settings of some methods."""
    name = data.draw(st.sampled_from(sorted(EVERY)))
    takes = [
        setting
        for setting in settings_of(EVERY[name]).values()
        if "Callable" not in setting.annotation
    ]
    chosen = [
        setting
        for setting in takes
        if setting.name in ("labels", "sensitive") or data.draw(st.booleans())
    ]
    chain = [Configured(name, {setting.name: data.draw(_values(setting)) for setting in chosen})]
    assert read_chain(text_of(chain), EVERY) == chain


def _values(one: Setting) -> st.SearchStrategy[object]:
    if one.annotation == "bool":
        return st.booleans()
    if one.annotation.startswith("Literal"):
        return st.sampled_from(one.expected.removeprefix("one of ").split(", "))
    if one.annotation in ("int", "Seed"):
        return st.integers(2, 99)
    if one.annotation == "float":
        return st.integers(0, 8).map(lambda n: n / 8)
    if one.annotation.startswith("Sequence[float]"):
        return st.lists(st.integers(0, 99).map(lambda n: n / 8), min_size=1, max_size=3)
    return st.text(st.sampled_from("ab:,=@'\" "), min_size=1)


def test_chains_are_separated_by_spaces_or_lists_and_called_as_typed() -> None:
    texts = ["misp  HARD,misp", "inlp:Rounds=010 misp:as_published"]
    chains = parse_columns(texts)
    assert list(chains) == ["misp", "hard,misp", "inlp:rounds=10", "misp:as-published"]
    assert read_chains(["misp", [wb.Hard(), "misp"], "inlp:rounds=10", wb.MISP(as_published=True)],
                       METHODS) == chains  # fmt: skip
    with pytest.raises(UsageError, match=r"^methods: misp is named twice; name it once$"):
        parse_columns("misp hard MISP")
    assert parse_columns("none") == parse_columns([]) == parse_columns(["NONE"]) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mips", r"method 'mips': expected one of misp, .*; did you mean misp\?"),
        ("misp,", r"'misp,': expected the name of a method, at character 6"),
        ("misp:dim=3", r"method 'misp:dim=3': misp takes dims, .*; found 'dim'; did you mean dims"),
        ("inlp:round=3", r"found 'round'; did you mean rounds\?"),
        ("inlp:iterations=3", r"found 'iterations'; iterations is for: ran"),
        ("leace:dims=3", r"leace takes .*; found 'dims'; dims is for: misp, mhd, multi-hard"),
        ("leace:as-published", r"as-published is for: misp, mhd, hard"),
        ("misp:", "'misp:': expected the name of a setting, at character 6"),
        ("misp:dims=x", r"'misp:dims=x': dims: expected a whole number from 1 on, found 'x'"),
        ("misp:dims", r"dims: expected a whole number from 1 on, found nothing"),
        ("misp:dims=0", r"expected a whole number from 1 on, found '0'"),
        ("misp:dims=2.5", r"expected a whole number from 1 on, found '2.5'"),
        ("inlp:random-state=-1", r"random-state: expected a whole number from 0 on, found '-1'"),
        ("inlp:classes=1", r"classes: expected a whole number from 2 on"),
        ("hard:equalise=maybe", r"equalise: expected yes or no, found 'maybe'"),
        ("inlp:classifier=tree", r"classifier: expected one of svm, logistic, found 'tree'"),
        ("conceptor:aperture=nan", r"aperture: expected a number from 0 on, found 'nan'"),
        ("conceptor:aperture=inf", r"aperture: expected a number from 0 on, found 'inf'"),
        ("ran:words", r"words: expected file or list of words, found nothing"),
        ("misp:weights=0.5,x", r"'x': expected one of misp, .*; if it belongs to the value"),
        ("hard misp", r"spaces separate what .*; join .* with commas: hard,misp"),
        ("extra-scrub:sensitive=g:until=2", r"until: expected a number from 0 to 1, found '2'"),
        ("oversample:labels=job", r"needs sensitive=…: Column of the group"),
    ],
)
def test_a_wrong_text_is_one_line_of_wrong_usage(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_chain(text, EVERY)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (3, "methods: expected names of methods, or methods such as .*, got int"),
        (wb.MISP, "methods: expected names"),
        (wb.MISP(dims=0), "dims=: expected a whole number from 1 on, got 0"),
        (wb.INLP(classifier="tree"), "classifier=: expected one of svm, logistic, got 'tree'"),
        (wb.MISP(groups="age"), r"MISP: the groups are an argument of the call, groups="),
        (wb.Scrub(), "method 'scrub': expected one of misp"),
    ],
)
def test_a_wrong_object_is_refused(method: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_chain([method], METHODS)


def test_what_was_loaded_is_applied_and_not_fitted_again(few: Embedding, tmp_path: Path) -> None:
    wb.Hard().fit(few).save(tmp_path / "hard.safetensors")
    loaded = wb.load(tmp_path / "hard.safetensors")
    with pytest.raises(UsageError, match=r"^Hard: is fitted and frozen; apply it: wb\.apply"):
        read_chain(loaded, METHODS)


@pytest.mark.parametrize("text", ["none misp", "misp NONE"])
def test_none_stands_alone(text: str) -> None:
    with pytest.raises(UsageError, match="none stands alone"):
        parse_columns(text)


def test_a_text_of_spaces_names_no_method() -> None:
    with pytest.raises(UsageError, match=r"methods: expected some of misp, .*, or none"):
        parse_columns("  ")


# Help


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_setting_has_its_type_its_sentence_and_its_place_in_the_help(name: str) -> None:
    text = method_help(name.upper().replace("-", "_"), EVERY)
    assert text.startswith(f"{name}: ")
    assert 20 < len(summary_of(EVERY[name])) < 90
    for setting in settings_of(EVERY[name]).values():
        assert setting.sentence.endswith(".")
        assert setting.kind
        assert f"\n  {setting.typed}  ({setting.expected})" in text
    assert set(inspect.signature(EVERY[name]).parameters) - {"groups"} == {
        *settings_of(EVERY[name])
    }


def test_the_help_of_a_method_is_that_of_the_command(cli: Any) -> None:
    for call in (["debias", "--help", "inlp"], ["debias", "inlp:rounds=3", "glove.txt", "-h"]):
        done = cli(*call)
        assert done.code == 0
        assert done.out.startswith("inlp: Remove what linear classifiers find")
    assert "  rounds  (a whole number from 1 on)  [default: 35]" in done.out
    assert cli("rewrite", "--help", "scrub").out.startswith("scrub: Mask gendered words")
    assert "Usage: wordbias debias" in cli("debias", "--help").out
    with pytest.raises(UsageError, match="did you mean inlp"):
        method_help("inpl", METHODS)
