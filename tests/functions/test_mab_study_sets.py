"""`wordbias.mab_study` on chosen test sets, other word lists, and vectors as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_word_lists

pytest.importorskip("torch")

import wordbias as wb
from wordbias import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.mab_eval import mab_eval
from wordbias.functions.mab_study import mab_study
from wordbias.functions.nli_train import nli_train
from wordbias.nli.files import AS_GIVEN, Model
from wordbias.nli.study import Plan, skipped
from wordbias.nli.test_sets import build
from wordbias.reports import Report
from wordbias.wordlists import Templates

Run = Callable[..., Any]
LABELS = ("neutral", "entailment", "contradiction")
PAIRS = [
    (LABELS[i % 3], "A man is eating an apple.", f"A {word} is eating.")
    for i, word in enumerate(("person", "dog", "man") * 4)
]
CALL: dict[str, Any] = {
    "train": PAIRS, "dev": PAIRS, "epochs": 1, "seed": [0], "only": ["direct-bias"]
}  # fmt: skip


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """Few words, one of which begins with a letter that its sound does not."""
    folder = tmp_path / "lists"
    small_word_lists.write(folder)
    (folder / "nouns" / "objects" / "vehicles").write_text("SUV\n")
    return folder


def _errors(report: Report) -> dict[tuple[str, str], float | None]:
    """Return E of single models, or of the only one."""
    return {
        (row.details["set"], row.details["setting"]): row.value
        for row in report["mab-error"]
        if "seeds" not in row.details
    }


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"as_published": True}, {"raw": True}])
def test_a_study_scores_its_models_as_mab_eval_does(
    tmp_path: Path, lists: Path, more: dict[str, bool]
) -> None:
    sample, out = Embedding.sample(), tmp_path / "study"
    given = {**CALL, **more, "set": "explicit", "lists": str(lists)}
    report = mab_study(sample, output=out, **given)
    model = Model.load(out / "sample.seed0.safetensors")
    assert model.raw == ("raw" in more)
    published = more.get("as_published", False)
    alone = mab_eval(model, embedding=sample, set="explicit", lists=lists, as_published=published)
    assert _errors(report) == _errors(alone)
    assert {row.details["n"] for row in report["mab-error-per-pair"] if "seeds" not in row.details}
    assert {key[0] for key in _errors(report)} == {"explicit"}
    with wb.config(jobs=1):
        trained = nli_train(sample, train=PAIRS, dev=PAIRS, recipe="fast", epochs=1, 
                            raw="raw" in more, output=tmp_path / "m.safetensors")  # fmt: skip
    trained_model = Model.load(trained.files[0])
    for name, weight in model.weights.items():
        np.testing.assert_array_equal(trained_model.weights[name], weight)


@pytest.mark.slow
def test_raw_vectors_are_another_training(tmp_path: Path) -> None:
    """Models that read longer vectors are the same if vectors are scaled, and others if raw."""
    sample = Embedding.sample()
    longer = sample.with_vectors(3 * sample.vectors, "longer")
    weights = {}
    for raw in (False, True):
        with wb.config(jobs=1):
            trained = nli_train(
                [sample, longer], train=PAIRS, dev=PAIRS, recipe="fast", epochs=1, raw=raw,
                output=tmp_path / str(raw),
            )  # fmt: skip
        models = [Model.load(file) for file in trained.files]
        assert {model.raw for model in models} == {raw}
        assert {model.about["conventions"]["length"] for model in models} == {
            AS_GIVEN if raw else "unit"
        }
        weights[raw] = [model.weights["project.weight"] for model in models]
    np.testing.assert_allclose(*weights[False], atol=1e-6)
    assert np.abs(np.subtract(*weights[True])).max() > 1e-4
    with (
        pytest.raises(WordbiasError, match=r"trained otherwise: its conventions"),
        wb.config(jobs=1),
    ):
        nli_train(
            [sample, longer], train=PAIRS, dev=PAIRS, recipe="fast", epochs=1, raw=True,
            output=tmp_path / "False",
        )  # fmt: skip


def _plan(folder: Path, **more: Any) -> Plan:
    return Plan({"sample": {0: Embedding.sample()}}, {}, folder, **more)


def test_the_sets_of_a_plan_are_those_of_build(tmp_path: Path, lists: Path) -> None:
    words = Templates.load(lists)
    (names_set,) = _plan(tmp_path, marked=("names",), lists=words).marked_sets()
    assert list(names_set) == list(build("names", words))
    assert [marked_set.name for marked_set in _plan(tmp_path).marked_sets()] == [
        "explicit", "occupations", "names"
    ]  # fmt: skip
    texts = [
        " ".join(marked_set.predicate(template) for template in marked_set.templates)
        for published in (False, True)
        for marked_set in _plan(
            tmp_path, marked=("explicit",), lists=words, as_published=published
        ).marked_sets()
    ]
    assert "an SUV" in texts[0]
    assert "a SUV" in texts[1]


def test_the_published_explicit_set_has_15744_pairs(tmp_path: Path, shared_data: Path) -> None:
    words = Templates.load(shared_data / "dev2020")
    plan = _plan(tmp_path, marked=("explicit",), lists=words, as_published=True)
    (explicit_set,) = plan.marked_sets()
    assert len(explicit_set) == 15_744
    assert list(explicit_set) == list(build("explicit", words, as_published=True))


def test_missing_words_are_named_for_the_chosen_sets_only(tmp_path: Path) -> None:
    sample = Embedding.sample()
    absent = Templates.load().names[0][0]
    few = sample.subset([word for word in sample.words if word.lower() != absent.lower()])
    for marked, notes in ((("explicit",), 0), (("names",), 1)):
        plan = Plan({"sample": {0: few}}, {}, tmp_path, marked=marked)
        assert len(skipped(plan)) == notes


def test_words_that_all_files_of_an_arm_lack_are_named_once(tmp_path: Path) -> None:
    sample = Embedding.sample()
    absent = Templates.load().names[0][0]
    few = sample.subset([word for word in sample.words if word.lower() != absent.lower()])
    zero, second, whole = (v.renamed(f"g{i}") for i, v in enumerate((few, few, sample)))
    for arm, start in (
        ({0: zero, 1: second}, "g lacks 1"),
        ({0: zero, 1: second, 2: whole}, "g0, g1: each lacks 1"),
    ):
        (line,) = skipped(Plan({"g": arm}, {}, tmp_path, marked=("names",)))
        assert line.startswith(start)


@pytest.mark.slow
def test_rows_of_other_sentences_are_made_again(tmp_path: Path, lists: Path) -> None:
    sample, out = Embedding.sample(), tmp_path / "study"
    small = {**CALL, "lists": lists, "output": out}
    first = mab_study(sample, set="explicit", **small)
    before = (out / "sample.seed0.safetensors").stat().st_mtime_ns
    names = mab_study(sample, set="names", **small)
    assert {key[0] for key in _errors(names)} == {"names"}
    assert _errors(mab_study(sample, set="explicit", **small)) == _errors(first)
    assert {key[0] for key in _errors(mab_study(sample, set="all", **small))} == {
        "explicit", "occupations", "names"
    }  # fmt: skip
    assert (out / "sample.seed0.safetensors").stat().st_mtime_ns == before


def test_bad_sets_and_lists_are_refused_before_training(tmp_path: Path, lists: Path) -> None:
    sample, out = Embedding.sample(), tmp_path / "study"
    groups, words = tmp_path / "names.toml", 'old = ["Ruth", "Doris"]\nnew = ["Megan", "Tyler"]\n'
    groups.write_text(f"[groups]\n{words}[subjects.names]\n{words}", encoding="utf-8")
    (lists / "verbs" / "eating_verbs").unlink()
    for more, kind, message in (
        ({"set": "parity"}, UsageError, "set=: expected one of explicit, .*, all, got 'parity'"),
        ({"set": "explicit", "groups": groups}, WordbiasError, "it has words for: names"),
        ({"lists": lists}, WordbiasError, "eating_verbs"),
        ({"lists": tmp_path / "gone"}, WordbiasError, "gone"),
        ({"lists": 3}, WordbiasError, "lists"),
    ):
        with pytest.raises(kind, match=message):
            mab_study(sample, output=out, **CALL, **more)
    assert not out.exists()


@pytest.mark.slow
def test_the_command_takes_the_options(cli: Run, tmp_path: Path, lists: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join("\t".join(pair) for pair in PAIRS) + "\n", encoding="utf-8")
    Embedding.sample().save(tmp_path / "v.safetensors")
    options = ("--epochs", 1, "--seed", 0, "--only", "direct-bias", "--jobs", 1)
    given = ("--train", pairs, "--dev", pairs, "-o", tmp_path / "out")
    call = ("mab-study", tmp_path / "v.safetensors", *given, *options)
    done = cli(*call, "--set", "explicit", "--lists", lists, "--raw", "-q")
    assert done.code == 0, done.err
    assert "Table 1, pronouns" in done.out
    assert "Table 4" not in done.out
    wrong = cli(*call, "--set", "parity")
    assert (wrong.code, "Invalid value for '--set'" in wrong.err) == (2, True)
    other = cli(*call, "--set", "explicit", "--lists", lists)
    assert (other.code, other.err.count("\n")) == (1, 1)
    assert "trained otherwise: its conventions" in other.err
