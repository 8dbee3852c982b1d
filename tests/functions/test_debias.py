"""`wordbias.debias` and `wordbias.apply` as Python calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Attribute, Embedding, WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.apply import apply
from wordbias.functions.debias import debias
from wordbias.measures.registry import SELECTABLE, STANDARD
from wordbias.methods import conceptor
from wordbias.methods.methods import fit_chain
from wordbias.methods.misp import fit as fit_misp
from wordbias.methods.words import listed_words
from wordbias.wordlists import WordSets


@pytest.fixture(scope="module")
def few() -> Embedding:
    sample = Embedding.sample()
    listed = sorted(listed_words(Attribute.load()) | WordSets.load().specific)
    return sample.subset([*sample.words[:1000], *listed, "nurse"]).renamed("few")


@pytest.fixture
def text(few: Embedding, tmp_path: Path) -> Path:
    few.save(tmp_path / "few.txt")
    return tmp_path / "few.txt"


def _rows(made: Embedding) -> Any:
    assert made.report is not None
    return json.loads(json.dumps(made.report.to_dict()["rows"]))


def test_rows_and_vectors_of_a_file_are_those_of_what_is_in_memory(
    few: Embedding, tmp_path: Path
) -> None:
    path, out = tmp_path / "few.safetensors", tmp_path / "out.safetensors"
    few.save(path)
    given: dict[str, Any] = {"methods": ["hard", wb.MISP(dims=2)], "measure": True}
    given |= {"only": ["midb"], "chance": False}
    debiased, of_file = debias(few, **given), debias(path, **given, output=out)
    assert _rows(debiased) == _rows(of_file)
    assert repr(debiased).startswith("<Embedding 'few.hard.misp'")
    np.testing.assert_array_equal(debiased.vectors, wb.load(out).vectors)
    assert debiased.info is None  # it is in no file


def test_of_a_streamed_file_the_result_is_loaded_when_it_is_looked_at(
    few: Embedding, text: Path, tmp_path: Path
) -> None:
    out, fitted = tmp_path / "out.txt", tmp_path / "fitted.safetensors"
    debiased = debias(text, "mhd", output=out, save_transform=fitted)
    assert "vectors" not in vars(debiased)
    assert repr(debiased) == f"<Embedding 'few.mhd': {len(few):,} words × {few.dim}>"
    expected = fit_chain("mhd", few)[1].vectors
    np.testing.assert_allclose(debiased.vectors, expected, atol=1e-5)
    assert debiased.words == few.words

    applied = apply(fitted, text, output=tmp_path / "again.txt")
    assert "vectors" not in vars(applied)
    np.testing.assert_allclose(applied.vectors, expected, atol=1e-5)
    held = apply(fitted, few)
    np.testing.assert_allclose(held.vectors, expected, atol=1e-5)
    assert held.report is not None
    assert held.report.closing == ["Nothing written; output=FILE writes the result."]


def test_what_was_fitted_is_applied_as_an_object(few: Embedding) -> None:
    chain, done = fit_chain("hard,misp", few)
    np.testing.assert_array_equal(apply(chain, few).vectors, done.vectors)
    fitted = fit_misp(few)
    for method in (fitted, fit_chain("misp", few)[0].parts[0]):
        np.testing.assert_array_equal(apply(method, few).vectors, fitted(few.vectors))
    half = few.with_vectors(few.vectors[:, ::2], "half")
    with pytest.raises(WordbiasError, match=r"hard\.misp: does not fit half"):
        apply(chain, half)
    with pytest.raises(UsageError, match=r"^force=True is for a transform in a file"):
        apply(chain, few, force=True)
    with pytest.raises(
        WordbiasError, match=r"^transform: expected a fitted method.*the embedding comes second"
    ):
        apply(few, few)  # type: ignore[arg-type]


def test_lists_are_given_as_words(few: Embedding, tmp_path: Path) -> None:
    words = ["nurse", "doctor", "engineer"]
    (tmp_path / "words.txt").write_text("\n".join(words))
    from_words, other = (
        debias(few, wb.RAN(words=given, iterations=2))
        for given in (words, str(tmp_path / "words.txt"))
    )
    np.testing.assert_array_equal(from_words.vectors, other.vectors)
    named, held = (debias(few, wb.MultiHard(sets=given)) for given in (None, WordSets.load()))
    np.testing.assert_array_equal(named.vectors, held.vectors)


def test_groups_are_given_as_words(few: Embedding) -> None:
    groups = {"female": ["she", "her", "woman"], "male": ["he", "his", "man"]}
    debiased = debias(few, "mhd:dims=1", groups=groups)
    assert debiased.report is not None
    assert debiased.report.heading[-1] == "Attribute female/male."


def test_a_false_flag(few: Embedding) -> None:
    plain, without = (debias(few, method) for method in ("hard", "hard:equalise=no"))
    assert "equalised-sets" in {row.measure for row in plain.report or ()}
    assert not np.array_equal(plain.vectors, without.vectors)


def test_measures_are_averaged_over_the_given_words(few: Embedding) -> None:
    longer = [f"{word}{'x' * 20}" if i in (900, 901) else word for i, word in enumerate(few)]
    other = Embedding(longer, few.vectors)
    given: dict[str, Any] = {"measure": True, "only": ["midb"], "chance": False}
    plain, strict = (
        debias(other, "mhd:dims=1", strict_vocab=is_strict, **given).report["midb-abs"][0]  # type: ignore[index]
        for is_strict in (False, True)
    )
    assert strict.details["n"] == plain.details["n"] - 2


@pytest.mark.parametrize(
    ("methods", "given", "said"),
    [
        ("hard:alpha=3", {}, "found 'alpha'; alpha is for: half-sibling"),
        ("hard", {"only": ["midb"]}, "only= is for measure=True"),
        ("hard", {"chance": False}, "chance=False is for measure=True"),
        ("multi-hard:sets=a", {"groups": "age"}, "sets=FILE or the pairs of groups=, not both"),
        ("hard", {"measure": True, "only": ["magic"]}, "measure 'magic'"),
        ((), {}, "methods=: name at least one of misp, mhd"),
        ("hard,", {}, "expected the name of a method, at"),
        (
            Embedding(["a"], [[1.0]]),
            {},
            "methods: expected names of methods, or methods such as wb.MISP(dims=2), got Embedding",
        ),
    ],
)
def test_errors_name_arguments_of_python(
    few: Embedding, methods: Any, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(WordbiasError) as error:
        debias(few, methods, **given)
    assert said in str(error.value)


def test_conceptor_takes_the_aperture(few: Embedding) -> None:
    debiased = debias(few, wb.Conceptor(aperture=4.0))
    own = conceptor.fit(few, Attribute.load(), aperture=4.0)(few)
    np.testing.assert_array_equal(debiased.vectors, own.vectors)
    assert not np.array_equal(debiased.vectors, debias(few, "conceptor").vectors)


def test_the_help_names_all_measures() -> None:
    others = ", ".join(key for key in SELECTABLE if key not in STANDARD)
    assert f"some of {', '.join(SELECTABLE)}.  [default: all but {others}]" in (
        debias.__doc__ or ""
    )


@pytest.mark.slow
def test_measures_have_intervals_over_redrawn_lists_as_measure_gives_them() -> None:
    sample = wb.Embedding.sample()
    words = [word for word in sample.words[:600] if word.isalpha()]
    given = {"only": ["same", "neighbour-bias"], "vocab": words, "chance": False, "seed_lists": 3}
    clean = wb.debias(sample, "misp", measure=True, **given)
    expected = wb.measure([sample, clean], original=sample, **given)
    rows = [row for row in clean.report.rows if "lists_draws" in row.details]
    assert rows == expected.rows
    both = [wb.measure(embedding, original=sample, **given) for embedding in (sample, clean)]
    for old, row in zip(expected.rows[4:], wb.changes(*both).rows, strict=True):
        assert row.details["change"] == old.details["change"]
        for key in ("change_lists_low", "change_lists_high"):  # two results: in single precision
            assert row.details[key] == pytest.approx(old.details[key], abs=2**-22)
    with pytest.raises(wb.WordbiasError, match=r"seed_lists= is for midb, .* only weat is"):
        wb.debias(sample, "misp", measure=True, only=["weat"], seed_lists=3)
    with pytest.raises(wb.WordbiasError, match="seed_lists= is for measure="):
        wb.debias(sample, "misp", seed_lists=3)
