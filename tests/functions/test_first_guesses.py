"""What people who do not know wordbias try first: it works, or the message says what does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import stand_ins

import wordbias as wb
from wordbias.calls import WordbiasWarning, in_python

FEMALE, MALE = ["she", "woman", "mother", "her"], ["he", "man", "father", "his"]
CAREER, FAMILY = ["office", "salary", "career"], ["home", "family", "children"]
GROUPS = {"female": FEMALE, "male": MALE}
SETS = {"career": CAREER, "family": FAMILY}
CLASSES = ["a", "b"] * 20


@pytest.fixture(scope="module")
def sample() -> wb.Embedding:
    """Return the listed and the frequent words of the sample."""
    return stand_ins.small()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: wb.measure(e, random_state=0), r"^measure\(\): .*did you mean seed="),
        (lambda e: wb.debias(e, method="misp"), r"^debias\(\): .*did you mean methods="),
        (lambda e: wb.weat(e, FEMALE, MALE), r"^weat\(\): .*embeddings, query; by name: targets, "),
        (lambda e: wb.rewrite(["He left."]), r"^rewrite\(\): .*'data'; it takes methods, data;"),
        (lambda e: wb.ceat("model", stimuli="weat6"), r"^ceat\(\): .*did you mean query="),
        (
            lambda e: wb.fairness(y_true=CLASSES, y_pred=CLASSES, values=CLASSES),
            r"^fairness\(\): .*did you mean predictions=.* It takes predictions, predicted, "
            "sensitive;",
        ),
    ],
)
def test_arguments_that_do_not_fit(
    sample: wb.Embedding, call: Callable[[wb.Embedding], object], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        call(sample)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: wb.measure([]), "no embedding or vectors in the list; leave it out"),
        (lambda e: wb.measure(e, groups=[FEMALE, MALE]), '^groups=: got list; .*"female": '),
        (
            lambda e: wb.debias(e, wb.MISP),
            r"^methods: expected names of methods, or methods such as wb\.MISP",
        ),
        (lambda e: wb.apply(wb.MISP(), e), r"got MISP; call its fit\(\) first"),
        (lambda e: wb.Query(FEMALE, MALE, CAREER), r"write Query\(name, targets, attributes"),
        (lambda e: wb.Query("a", GROUPS, {"x": CAREER}), "^attributes: expected two sets"),
        (lambda e: wb.encode("model", "She is a nurse."), r"stands in a list: \[text\]"),
        (lambda e: wb.fairness(CLASSES, np.linspace(0, 1, 40), CLASSES), "found numbers such as 0"),
        (lambda e: wb.compare([wb.measure(e, only="midb", chance=False)]), "side with report"),
    ],
)
def test_mistakes(sample: wb.Embedding, call: Callable[[wb.Embedding], object], said: str) -> None:
    with pytest.raises(wb.WordbiasError, match=said):
        call(sample)


def test_embeddings_by_name(sample: wb.Embedding, tmp_path: Path) -> None:
    sample.save(tmp_path / "other.safetensors")
    named = {"first": sample, "second": tmp_path / "other.safetensors"}
    report = wb.weat(named, query={"targets": GROUPS, "attributes": SETS})
    first, second = report["weat"]
    assert (first.subject, second.subject) == ("first", "second")
    assert first.value == second.value
    vectors = {word: sample[word] for word in (*FEMALE, *MALE, *CAREER, *FAMILY)}
    (same,) = wb.weat(vectors, query={"targets": GROUPS, "attributes": SETS})["weat"]
    assert same.value == pytest.approx(first.value)


@pytest.mark.slow
def test_embeddings_by_name_are_read_as_those_without(sample: wb.Embedding, tmp_path: Path) -> None:
    query = {"targets": GROUPS, "attributes": SETS}
    damaged = tmp_path / "damaged.txt"
    sample.save(damaged)
    with damaged.open("a", encoding="utf-8") as file:
        file.write("short 0.1\n")
    with pytest.raises(wb.WordbiasError, match="expected 100 values, found 1"):
        wb.weat({"mine": damaged}, query=query)
    with pytest.warns(match="1 row dropped"), wb.config(skip_bad=True):
        report = wb.weat({"mine": damaged}, query=query)
    assert [row.subject for row in report["weat"]] == ["mine"]
    assert report.inputs["mine"]["path"] == str(damaged)


def test_a_query_of_ones_own_names_no_file(sample: wb.Embedding) -> None:
    two = {"a": FEMALE, "b": MALE}
    with pytest.raises(wb.WordbiasError, match=r"^query: a/b × a/b: expected four different sets"):
        wb.weat(sample, query={"targets": two, "attributes": two})


def test_a_query_of_ones_own(sample: wb.Embedding) -> None:
    query = wb.Query("career", GROUPS, SETS)
    assert query == wb.Query("career", tuple(query.targets), tuple(query.attributes))
    (row,) = wb.weat(sample, query=query)["weat"]
    (same,) = wb.weat(sample, query={"targets": GROUPS, "attributes": SETS})["weat"]
    assert row.value == same.value
    assert [row.value for row in wb.weat(sample, query=[6, 7])] == [
        row.value for row in wb.weat(sample, query="6,7")
    ]


def test_an_estimator_is_applied(sample: wb.Embedding) -> None:
    misp = wb.MISP().fit(sample)
    assert (wb.apply(misp, sample).vectors == misp.transform(sample).vectors).all()


def test_a_row_fits_a_line(sample: wb.Embedding) -> None:
    row = wb.weat(sample, query="weat6")["weat"][0]
    low, high = row.details["low"], row.details["high"]
    assert repr(row) == f"<Row sample, weat, set weat6: {row.value:.4f} [{low:.4f}, {high:.4f}]>"


def test_why_a_value_is_missing_is_said_in_pythons_words(sample: wb.Embedding) -> None:
    report = wb.measure(sample, only="sembias")
    (reason,) = {row.details["reason"] for row in report}
    assert reason.endswith('run: wb.fetch("sembias"), and give it with sembias="sembias" (or FILE)')
    few = sample.subset([*sample.words[:200], *FEMALE, *MALE])
    with pytest.raises(wb.WordbiasError, match=r"the method hard:direction=pca.*groups=FILE"):
        wb.misp(few)


def test_a_warning_names_the_line_of_the_caller(sample: wb.Embedding) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WordbiasWarning)
        from wordbias.calls import note, public

        @public
        def warning() -> None:
            note("give --only")

        warning()
    (record,) = caught
    assert (record.filename, str(record.message)) == (__file__, "give only=")


def test_what_to_fetch_is_said_as_a_call() -> None:
    call = in_python(
        "run: wordbias fetch men rg-65, and give --benchmarks; wordbias fetch --list shows"
    )
    assert (
        call == 'run: wb.fetch("men", "rg-65"), and give benchmarks=; wordbias fetch --list shows'
    )
    assert in_python("which wordbias fetch without names lists") == (
        "which wordbias fetch without names lists"
    )


@pytest.mark.slow
def test_groups_of_three_words_have_no_chance_level_and_four_have_one() -> None:
    sentence = "MIDB has no chance level here"
    for n in (3, 4):
        groups = {"female": FEMALE[:n], "male": MALE[:n]}
        report = wb.measure(only=["midb"], groups=groups)
        known = ["chance" in row.details for row in report.rows]
        assert (known, sentence in " ".join(report.notes)) == ([n == 4] * 6, n == 3)
        quiet = wb.measure(only=["midb"], groups=groups, chance=False)
        assert sentence not in " ".join(quiet.notes)
