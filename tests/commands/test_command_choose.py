"""`wordbias choose`: what it tries, writes, reports and refuses, on real vectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Attribute, Embedding, WordbiasError
from wordbias.functions.choose import choose
from wordbias.functions.debias import debias
from wordbias.methods.words import listed_words
from wordbias.word_tasks import SimilaritySet, find_sets

Run = Callable[..., Any]
METHODS = "misp:dims=1 hard misp:dims=2"


@pytest.fixture(scope="module")
def few() -> Embedding:
    sample = Embedding.sample()
    listed = sorted(listed_words(Attribute.load()))
    return sample.subset([*sample.words[:5000], *listed, "nurse", "engineer"]).renamed("few")


@pytest.fixture
def text(few: Embedding, tmp_path: Path) -> Path:
    few.save(tmp_path / "few.txt")
    return tmp_path / "few.txt"


def rows_of(cli: Run, *arguments: object) -> list[dict[str, Any]]:
    done = cli("choose", *arguments, "--format", "json", "-q")
    assert (done.code, done.err) == (0, "")
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


@pytest.mark.slow
def test_the_file_is_that_of_the_method_chosen_byte_for_byte(
    cli: Run, text: Path, tmp_path: Path
) -> None:
    chosen, alone = tmp_path / "chosen.txt", tmp_path / "alone.txt"
    saved, expected = tmp_path / "chosen.transform", tmp_path / "alone.transform"
    call = ["--by", "midb-abs", "--keep", 0.95, "-q"]
    done = cli("choose", METHODS, text, *call, "-o", chosen, "--save-transform", saved)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("misp:dims=2: 3 methods tried on one half of the words.")
    assert f"Written: {chosen}" in " ".join(done.out.split())
    single = ["misp:dims=2", text, "-q"]
    assert cli("debias", *single, "-o", alone, "--save-transform", expected).code == 0
    assert chosen.read_bytes() == alone.read_bytes()
    assert saved.read_bytes() == expected.read_bytes()


@pytest.mark.slow
def test_a_method_with_a_seed_and_a_chain_are_written_as_alone_too(
    cli: Run, text: Path, tmp_path: Path
) -> None:
    for metric, named in (
        ("lean", "inlp:rounds=2:per-class=100"),
        ("midb-unit-rms", "hard,misp:dims=1"),
    ):
        chosen, expected = tmp_path / "chosen.txt", tmp_path / "alone.txt"
        call = ["--by", metric, "--keep", 0.3, "--seed", 3, "-q"]
        assert cli("choose", named, text, *call, "-o", chosen).code == 0
        single = [named, text, "--seed", 3, "-q"]
        assert cli("debias", *single, "-o", expected).code == 0
        assert chosen.read_bytes() == expected.read_bytes()


@pytest.mark.slow
def test_rows_say_what_was_tried_on_one_half_and_reported_on_the_other(
    cli: Run, text: Path
) -> None:
    rows = rows_of(cli, METHODS, text, "--by", "midb-unit-rms", "--keep", 0.9)
    tried = [row for row in rows if row.get("half") == "choose"]
    reported = [row for row in rows if row.get("half") == "report"]
    assert [row["stage"] for row in tried] == ["before", "misp:dims=1", "hard", "misp:dims=2"]
    assert [row["stage"] for row in tried if row.get("chosen")] == ["misp:dims=2"]
    best = min(tried[1:], key=lambda row: row["value"])
    assert best["chosen"]
    for row in tried[1:]:
        assert row["change"] == pytest.approx(row["value"] - tried[0]["value"])
        assert row["change_low"] < row["change"] < row["change_high"] < 0
        assert row["kept"] == row["costs"]["neighbours"] > 0.9
    before, after, neighbours = reported
    assert [row["measure"] for row in reported] == [*["midb-unit-rms"] * 2, "neighbours-preserved"]
    assert (before["stage"], after["stage"], after["debiased"]) == (
        "before",
        "after",
        "misp:dims=2",
    )
    assert after["change_high"] < 0
    assert after["kept"] == neighbours["value"]
    n = {row["n"] for row in (*tried, before, after)}
    assert max(n) - min(n) <= 1  # halves


@pytest.mark.slow
def test_vectors_that_got_shorter_are_not_chosen_for_it(cli: Run, text: Path) -> None:
    """MIDB of vectors as they are falls most after hard, which scales all vectors to length one."""
    rows = rows_of(cli, METHODS, text, "--by", "midb-abs", "--keep", 0.9)
    tried = {row["stage"]: row for row in rows if row.get("half") == "choose"}
    assert min(tried.values(), key=lambda row: row["value"]) is tried["hard"]
    assert tried["hard"]["length_ratio"] < 0.5
    assert [stage for stage, row in tried.items() if row.get("chosen")] == ["misp:dims=2"]


@pytest.mark.slow
def test_similarity_is_a_cost_on_each_half(cli: Run, text: Path, shared_data: Path) -> None:
    sets = shared_data / "wordsim" / "EN-MEN-TR-3k.txt"
    rows = rows_of(cli, "misp", text, "--by", "midb-abs", "--benchmarks", sets)
    (whole,) = find_sets(sets)
    assert isinstance(whole, SimilaritySet)
    reported = [row for row in rows if row["measure"] == "similarity"]
    assert [row["stage"] for row in reported] == ["before", "after"]
    assert {row["half"] for row in reported} == {"report"}
    assert {row["asked"] for row in reported} == {len(whole.pairs) // 2}
    (after,) = [row for row in rows if row.get("half") == "report" and "costs" in row]
    old, new = (row["value"] for row in reported)
    assert after["costs"]["similarity"] == pytest.approx(new / old)
    assert after["kept"] == min(after["costs"].values())


@pytest.mark.slow
def test_processes_side_by_side_choose_the_same(cli: Run, text: Path) -> None:
    call = [METHODS, text, "--by", "direct-bias", "--keep", 0.9]
    assert rows_of(cli, *call, "--jobs", 2) == rows_of(cli, *call)


@pytest.mark.slow
def test_a_text_that_stands_alone_is_the_embedding_unless_it_is_a_method(
    cli: Run, tmp_path: Path
) -> None:
    missing = cli("choose", tmp_path / "none.txt", "--by", "lean")
    assert (missing.code, missing.err) == (
        1,
        f"wordbias: {tmp_path / 'none.txt'}: there is no such file\n",
    )
    done = cli("choose", "oscar", "--by", "direct-bias", "--keep", 0.9, "-q")
    assert done.code == 0
    assert "oscar on the sample" in done.out


@pytest.mark.slow
def test_of_python_it_is_the_same(few: Embedding) -> None:
    methods = [wb.MISP(dims=1), ["hard"], "misp:dims=2"]
    clean = choose(few, methods, by="midb-abs", keep=0.95)
    np.testing.assert_array_equal(clean.vectors, debias(few, "misp:dims=2").vectors)
    assert clean.report is not None
    assert clean.report.heading[0].startswith("misp:dims=2: 3 methods")
    assert "Tried on one half of the words" in str(clean.report)


@pytest.mark.slow
def test_the_grid_is_tried_where_no_method_is_named(
    few: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.functions.choose.GRID", ("misp:dims=1", "misp:dims=2"))
    clean = choose(few, by="midb-abs", keep=0.9)
    assert clean.report is not None
    tried = [r.details["stage"] for r in clean.report if r.details.get("half") == "choose"]
    assert tried == ["before", "misp:dims=1", "misp:dims=2"]


# Refusals


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            ["misp hard", "--by", "midb-abs", "--keep", 0.999],
            "no method keeps 99.9% of neighbours; the nearest, misp, keeps 9",
        ),
        (
            ["inlp:rounds=1:per-class=100", "--by", "midb-abs", "--keep", 0.1],
            "1 method tried with 10% kept, and none improves MIDB",
        ),
        (
            ["gn-glove", "--by", "midb-abs"],
            "no method gives a value of MIDB (mean of |·|); gn-glove: ",
        ),
        (["misp", "--by", "sembias-none"], "no value before on one half of the words"),
    ],
)
def test_where_there_is_nothing_to_choose_nothing_is_written(
    cli: Run, text: Path, tmp_path: Path, call: list[object], said: str
) -> None:
    out, saved = tmp_path / "out.txt", tmp_path / "out.transform"
    done = cli("choose", call[0], text, *call[1:], "-o", out, "--save-transform", saved, "-q")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("wordbias: ")
    assert done.err.count("\n") == 1
    assert said in done.err
    assert {path.name for path in tmp_path.iterdir()} == {"few.txt"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["misp", "--by", "lean", "--dims", 2], "No such option"),
        (["misp", "--by", "lean", "--keep", 1.5], "1.5 is not in the range"),
        (["misp", "--keep", 0.9], "Missing option '--by'"),
        (["misp", "--by", "bias"], "--by=bias: expected one of midb-abs, midb-rms, "),
        (["misp:dims=x hard", "--by", "lean"], "dims: expected a whole number"),
    ],
)
def test_what_does_not_go_together_is_refused(cli: Run, call: list[object], said: str) -> None:
    done = cli("choose", *call)
    assert done.code == 2
    assert said in done.err


def test_groups_of_more_than_two_are_refused(cli: Run) -> None:
    done = cli("choose", "misp", "--by", "midb-abs", "--groups", "religion")
    assert done.code == 1
    assert "expected exactly two groups, found 5" in done.err


def test_python_names_its_own_arguments(few: Embedding) -> None:
    with pytest.raises(WordbiasError, match=r"^keep=: expected a share above 0, 1 at most, got 2$"):
        choose(few, "misp", by="lean", keep=2.0)
    with pytest.raises(WordbiasError, match=r'^by="bias": expected one of midb-abs, '):
        choose(few, "misp", by="bias")
    with pytest.raises(WordbiasError, match=r"^methods: expected names of methods, .*, got int"):
        choose(few, 3, by="lean")  # type: ignore[arg-type]
