"""What is printed of the experiment: every table fits, says what it is, and leaves nothing out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from made_up_runs import PUBLISHED_COMPRESSION, compression_rows, gap_rows, published_rows, row
from scipy.stats import ttest_rel

from wordbias.biographies.data import Biographies
from wordbias.biographies.synthetic import synthetic
from wordbias.functions.bios import _heading
from wordbias.rendering import Table, as_text
from wordbias.results import Row
from wordbias.retraining.conclusions import closing
from wordbias.retraining.results import (
    ACCURATE,
    AFTER,
    BEFORE,
    COREFERENCE,
    F1_GAP,
    GAPS,
    UNRESOLVED,
)
from wordbias.retraining.summary import Summary
from wordbias.retraining.tables import tables
from wordbias.statistics import sign_flip_p

LONG = ("none", "subsample", "oversample", "scrub", "scrub-as-published+oversample", "swap")
WIDTH = 100


def runs(
    strategies: Sequence[str], seeds: int, classes: int = 3, *, after: bool = True
) -> list[Row]:
    """Return rows as of a study, with random values, of so many classes."""
    rng = np.random.default_rng(3)

    def of(names: Sequence[str]) -> dict[str, list[float]]:
        return {name: (1 + rng.random(seeds)).tolist() for name in names}

    everyone = ("pretrained", "untrained", *strategies)
    rows = [*compression_rows(of(everyone), control=1.25)]
    for i in range(classes):
        rows += compression_rows(of(everyone), part=f"class {i}")
    undefined = [
        row(name, "ceat", None, 0, reason="undefined: no john; give --sentences")
        for name in everyone
    ]
    rows += undefined
    for view in ("own", "original"):
        names = [name for name in strategies if view == "own" or "scrub" in name]
        if view == "original":
            rows += compression_rows(of(names), view=view)
        for stage in (BEFORE, AFTER) if after else (BEFORE,):
            for metric in (ACCURATE, *GAPS):
                metric_rows = list(gap_rows(metric, stage, of(names), view=view))
                if classes < 3 and metric.set == "pearson":
                    why = {"reason": "2 classes have a gap and a share, needed are 3"}
                    metric_rows = [
                        Row(r.subject, r.measure, None, {**r.details, **why}) for r in metric_rows
                    ]
                rows += metric_rows
    return rows


def column(table: Table, name: str) -> dict[str, str]:
    place = list(table.columns).index(name)
    return {cells[0]: cells[place] for cells in table.cells}


def tables_of(rows: Sequence[Row], *, frozen: bool = False, correct: bool = False) -> list[Table]:
    return tables(Summary.of(rows, correct=correct), frozen=frozen)


def titled(tables: Sequence[Table], start: str) -> list[Table]:
    matching = [table for table in tables if table.title.startswith(start)]
    assert matching, [table.title for table in tables]
    return matching


@pytest.mark.each_once("frozen", "strategies")
@pytest.mark.parametrize("classes", [2, 28])
@pytest.mark.parametrize("seeds", [1, 3, 6])
@pytest.mark.parametrize("strategies", [("scrub",), LONG])
@pytest.mark.parametrize("frozen", [False, True])
def test_every_table_fits(
    strategies: Sequence[str], seeds: int, classes: int, frozen: bool
) -> None:
    for table in tables_of(runs(strategies, seeds, classes), frozen=frozen):
        lines = as_text(table, WIDTH).splitlines()
        assert max(map(len, lines)) <= WIDTH
        assert len(table.cells) == len({cells[0] for cells in table.cells})


def test_strategies_that_do_not_fit_beside_each_other_are_in_the_next_part() -> None:
    (table,) = titled(tables_of(runs(LONG, 3)), "As fine-tuned")
    assert tuple(table.columns[1:]) == LONG
    pieces = as_text(table, WIDTH).split("\n\n")
    assert [piece.splitlines()[0] for piece in pieces] == [table.title] * 2
    assert [name for piece in pieces for name in piece.splitlines()[1].split()] == [*LONG]
    assert ["Mean ± sd" in piece for piece in pieces] == [False, True]


def test_the_published_means_are_printed_as_published() -> None:
    tables = tables_of(published_rows())
    (before,) = titled(tables, "As fine-tuned (as Orgad et al. 2022, Table 3)")
    assert column(before, "subsample") == {
        "Accuracy": "0.861",
        "TPR gap (P)": "0.319",
        "TPR gap (S)": "1.598",
        "FPR gap (P)": "0.087",
        "FPR gap (S)": "0.030",
        "Precision gap (P)": "-0.299",
        "Precision gap (S)": "1.549",
        "Independence (S)": "0.001",
        "Separation (S)": "0.204",
        "Sufficiency (S)": "1.218",
    }
    (after,) = titled(tables, "Last layer retrained (as Orgad et al. 2022, Table 4)")
    assert column(after, "oversample")["Sufficiency (S)"] == "10.908"
    (both,) = titled(tables, "Before and after retraining")
    cells = column(both, "scrub")
    assert list(cells)[:2] == ["Compression", "Accuracy, before"]
    assert cells["Compression"] == f"{PUBLISHED_COMPRESSION['scrub']:.3f}"
    assert (cells["TPR gap (P), before"], cells["TPR gap (P), after"]) == ("0.704", "0.714")
    (squares,) = titled(tables, "Compression and extrinsic bias")
    by_stage = column(squares, "R² before"), column(squares, "R² after")
    x = list(PUBLISHED_COMPRESSION.values())
    y = [0.075, 0.085, 0.030, 0.057], [0.073, 0.068, 0.081, 0.059]
    for cells, values in zip(by_stage, y, strict=True):
        assert cells["FPR gap (S)"] == f"{np.corrcoef(x, values)[0, 1] ** 2:.3f}"
    assert "n = 4 runs of none, oversample, subsample, scrub." in squares.note


def test_a_frozen_encoder_has_the_table_of_one() -> None:
    titles = [table.title for table in tables_of(runs(LONG[:4], 3), frozen=True)]
    assert "Frozen encoder (as Orgad et al. 2022, Table 5)" in titles
    assert "Frozen encoder, last layer retrained on the original data" in titles
    assert not any("Table 3" in title or "Table 4" in title for title in titles)


def test_an_experiment_without_retraining_has_no_columns_for_it() -> None:
    tables = tables_of(runs(LONG[:4], 3, after=False))
    for table in tables:
        assert "after" not in " ".join([*table.columns, *(cells[0] for cells in table.cells)])


def test_metrics_undefined_in_all_runs_are_named_below_and_not_drawn() -> None:
    tables = tables_of(runs(("none", "scrub"), 3, classes=2))
    (before,) = titled(tables, "As fine-tuned")
    assert [cells[0] for cells in before.cells] == [
        metric.title for metric in (ACCURATE, *GAPS) if metric.set != "pearson"
    ]
    assert (
        "Undefined: TPR gap (P), FPR gap (P), Precision gap (P) (2 classes have a gap and a share, "
        "needed are 3)."
    ) in before.note
    (vectors,) = titled(tables, "Gender in the vectors")
    assert "Undefined: CEAT (no john)." in vectors.note
    assert set(column(vectors, "CEAT").values()) == {"–"}


def test_a_frozen_encoder_of_coreference_has_no_published_table() -> None:
    rows = [*gap_rows(F1_GAP, BEFORE, {"none": [3.0]}), *gap_rows(F1_GAP, AFTER, {"none": [2.0]})]
    titles = [table.title for table in tables(Summary.of(rows, COREFERENCE), frozen=True)]
    assert titles[-2:] == [
        "Frozen encoder",
        "Frozen encoder, all above the encoder retrained on the original data",
    ]


def test_the_vectors_of_baselines_stand_beside_those_of_strategies() -> None:
    (vectors,) = titled(tables_of(runs(LONG, 3)), "Gender in the vectors")
    assert [cells[0] for cells in vectors.cells] == ["pretrained", "untrained", *LONG]
    of_compression = ["compression", "compression as published", "within classes"]
    assert vectors.columns == ["encoder", *of_compression, "probe accuracy", "CEAT"]
    assert "Knowing only the class gives a compression of 1.250." in vectors.note
    assert re.fullmatch(r"\d\.\d{3} ±\d\.\d{3}", column(vectors, "compression")["untrained"])


@pytest.mark.parametrize("seeds", [3, 6])
def test_stars_stand_where_there_can_be_any(seeds: int) -> None:
    base = np.arange(seeds) / 10
    values = {"none": base.tolist(), "scrub": (base + 1).tolist(), "swap": base.tolist()}
    rows = list(compression_rows(values)) + list(gap_rows(GAPS[1], BEFORE, values))
    (table,) = titled(tables_of(rows), "As fine-tuned")
    starred = {name: column(table, name)["TPR gap (S)"].endswith("*") for name in values}
    assert starred == {"none": False, "scrub": seeds >= 6, "swap": False}
    if seeds >= 6:
        assert "* p < 0.05 against none, exact sign-flip permutation test" in table.note
        (table,) = titled(tables_of(rows, correct=True), "As fine-tuned")
        assert "two-sided, corrected by Holm's method." in table.note
    else:
        assert "No stars: the smallest p that 3 pairs of seeds can have is 0.25." in table.note


def test_models_of_rewritten_texts_are_shown_on_both_texts() -> None:
    (table,) = titled(tables_of(runs(("none", "scrub"), 3)), "Models trained on rewritten texts")
    assert list(table.columns[1:]) == ["scrub: rewritten texts", "scrub: original texts"]
    own, original = (column(table, head) for head in table.columns[1:])
    assert own["TPR gap (S), after"] != original["TPR gap (S), after"]
    rows = runs(("none", "swap"), 3)
    titles = [table.title for table in tables_of(rows)]
    assert not any(title.startswith("Models trained on rewritten texts") for title in titles)


def test_fewer_seeds_are_told() -> None:
    rows = [*compression_rows({"none": [1.0, 2.0, 3.0]})]
    rows += gap_rows(GAPS[1], BEFORE, {"none": [1.0, None, 3.0]})
    (table,) = titled(tables_of(rows), "As fine-tuned")
    assert "From fewer seeds: TPR gap (S)." in table.note
    assert column(table, "none")["TPR gap (S)"].startswith("2.000 ±1.414")


def test_the_heading_says_what_the_data_are() -> None:
    line = _heading(synthetic(1000), "tiny")
    assert "synthetic biographies (seed 0, n=1,000): 1,000 biographies, 10 classes" in line
    assert "(from engineer 14 % to nurse 88 %). Encoder: tiny." in line
    two = Biographies.of("a.tsv", "abcd", "xxyy", "FMMM")
    line = _heading(two, "tiny")
    assert line.endswith(
        "a.tsv: 4 biographies, 2 classes, 25 % women (y 0 %, x 50 %). Encoder: tiny."
    )


def test_the_closing_reads_the_figures_and_says_the_conventions() -> None:
    lines = closing(Summary.of(published_rows()))
    assert any(line.startswith("Does compression predict what retraining") for line in lines)
    assert "0 is fair" in lines[-1]


def test_one_job_alone_can_be_shown() -> None:
    rows = list(compression_rows({"none": [2.0]}))
    (table,) = tables_of(rows)
    assert table.title == "Gender in the vectors"
    assert closing(Summary.of(rows))


def test_ceat_has_its_own_squares_where_it_is_defined() -> None:
    rows = [run_row for run_row in runs(("none", "scrub"), 3) if run_row.measure != "ceat"]
    values = {"none": [0.4, 0.6, 0.9], "scrub": [0.1, 0.3, 0.2]}
    for name, of_seeds in values.items():
        rows += [row(name, "ceat", value, i, part="weat6") for i, value in enumerate(of_seeds)]
    (table,) = titled(tables_of(rows), "CEAT and extrinsic bias over all runs")
    gap = [
        gap_row.value
        for name in values
        for gap_row in rows
        if gap_row.subject == name
        and (gap_row.measure, gap_row.details["set"]) == ("tpr-gap", "sum")
        and (gap_row.details["stage"], gap_row.details["view"]) == (BEFORE, "own")
    ]
    x = [value for of_seeds in values.values() for value in of_seeds]
    expected = np.corrcoef(x, np.array(gap, float))[0, 1]
    assert column(table, "R² before")["TPR gap (S)"] == f"{expected**2:.3f}"
    assert column(table, "r before")["TPR gap (S)"] == f"{expected:.2f}"


def test_differences_from_no_debiasing_are_paired_by_seed() -> None:
    rows = runs(("none", "scrub"), 3)
    summary = Summary.of(rows)
    (table,) = (table for table in tables(summary) if "paired by seed" in table.title)
    assert table.title == "Differences from none, paired by seed"
    assert list(table.columns) == ["", "scrub"]
    cell = column(table, "scrub")["Compression"]
    by = {
        name: np.array([r.value for r in rows if r.subject == name and r.measure == "compression"
                        and r.details["set"] == "all" and r.details["view"] == "own"], float)
        for name in ("none", "scrub")
    }  # fmt: skip
    d = by["scrub"] - by["none"]
    half = 4.302652729696142 * d.std(ddof=1) / np.sqrt(3)  # Student's t of two degrees of freedom
    assert cell == f"{d.mean():.3f} ({d.mean() - half:.3f} to {d.mean() + half:.3f})"
    (cells,) = (
        summary_row.details
        for summary_row in summary.rows()
        if (summary_row.subject, summary_row.measure) == ("scrub", "compression")
        and (summary_row.details["set"], summary_row.details["view"]) == ("all", "own")
    )
    assert cells["change"] == pytest.approx(d.mean())
    assert cells["change_low"] == pytest.approx(d.mean() - half)
    assert cells["excluded"] > abs(cells["change"])
    assert "No stars" in table.note
    one_seed = tables(Summary.of(runs(("none", "scrub"), 1)))
    assert not [table for table in one_seed if "paired by seed" in table.title]
    for start in ("Before and after", "As fine-tuned", "Last layer retrained"):
        (titled_table,) = titled(one_seed, start)
        assert titled_table.note.startswith("One seed: no interval over seeds, no test.")


@pytest.mark.parametrize("seeds", [3, 6])
def test_every_gap_of_coreference_has_its_paired_interval(seeds: int) -> None:
    """Of Tables 1b, 7 and 8, from no debiasing and from a random change; by scipy."""
    rng, names = np.random.default_rng(seeds), ("none", "leace", "random-leace")
    values = {
        (metric, stage): {name: rng.normal(i, 1, seeds).tolist() for i, name in enumerate(names)}
        for metric in COREFERENCE.of_predictions
        for stage in (BEFORE, AFTER)
    }
    rows = compression_rows({name: rng.normal(2, 1, seeds).tolist() for name in names})
    study_rows = [*rows, *(r for key, of in values.items() for r in gap_rows(*key, of))]
    study_tables = tables(Summary.of(study_rows, COREFERENCE))
    for start, base in (("Differences from none", "none"), ("Differences from rand", names[2])):
        cells = column(*titled(study_tables, start), "leace")
        for (metric, stage), of in values.items():
            ttest = ttest_rel(of["leace"], of[base])
            low, high = ttest.confidence_interval()
            cell = cells[f"{metric.title}, {'before' if stage == BEFORE else 'after'}"]
            mean = np.mean(of["leace"]) - np.mean(of[base])
            star = "*" * (sign_flip_p(np.subtract(of["leace"], of[base])) < 0.05)
            assert cell == f"{mean:.3f} ({low:.3f} to {high:.3f}){star}"
    (above,) = (
        sentence
        for sentence in closing(Summary.of(study_rows, COREFERENCE))
        if "at random" in sentence
    )
    main = values[F1_GAP, BEFORE]
    low, high = ttest_rel(main["leace"], main["random-leace"]).confidence_interval()
    assert f"95 % {low:.3f} to {high:.3f}" in above


def test_more_undecided_examples_are_said_beside_the_gaps() -> None:
    rows = [
        *compression_rows({"none": [1.0], "leace": [1.0]}),
        *gap_rows(UNRESOLVED, BEFORE, {"none": [0.4], "leace": [0.7], "random-leace": [0.9]}),
        *gap_rows(UNRESOLVED, AFTER, {"none": [0.5], "leace": [0.4], "random-leace": [0.9]}),
        *gap_rows(F1_GAP, BEFORE, {"none": [9.0], "leace": [2.0], "random-leace": [9.0]}),
        *gap_rows(F1_GAP, AFTER, {"none": [9.0], "leace": [2.0], "random-leace": [9.0]}),
    ]
    (undecided,) = (
        sentence for sentence in closing(Summary.of(rows, COREFERENCE)) if "Undecided" in sentence
    )
    assert undecided.startswith("Undecided before retraining: none 40 %, leace 70 %. A")
    larger = [*rows, *gap_rows(F1_GAP, BEFORE, {"leace": [9.5]})]
    assert not [x for x in closing(Summary.of(larger, COREFERENCE)) if x.startswith("Undecided")]
    (table,) = titled(tables(Summary.of(rows, COREFERENCE)), "Before and after")
    assert column(table, "leace")["Share undecided, after"] == "0.400"


def test_differences_from_random_changes_have_a_table_of_their_own() -> None:
    rows = runs(("none", "scrub", "swap", "random-scrub"), 6)
    tables = tables_of(rows)
    of_none = titled(tables, "Differences from none, paired by seed")
    (of_null,) = titled(tables, "Differences from random changes")
    heads = [name for table in of_none for name in table.columns[1:]]
    assert heads == ["scrub", "swap", "random-scrub"]
    assert of_null.title == "Differences from random changes of the same size, paired by seed"
    assert list(of_null.columns) == ["", "scrub"]
    d = [
        np.array([r.value for r in rows if (r.subject, r.measure) == (name, "compression")
                  and r.details["set"] == "all" and r.details["view"] == "own"], float)
        for name in ("scrub", "random-scrub")
    ]  # fmt: skip
    expected = ttest_rel(*d)
    low, high = expected.confidence_interval()
    star = "*" * (sign_flip_p(d[0] - d[1]) < 0.05)
    text = f"{(d[0] - d[1]).mean():.3f} ({low:.3f} to {high:.3f}){star}"
    assert column(of_null, "scrub")["Compression"] == text
    assert "* p < 0.05, exact sign-flip" in of_null.note
    assert "without regard to gender" in of_null.note
