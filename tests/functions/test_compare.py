"""`wordbias.compare` as a user of Python calls it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.compare import compare
from wordbias.functions.measure import measure
from wordbias.reports import Report
from wordbias.results import Row


@pytest.fixture(scope="module")
def three() -> list[Embedding]:
    sample, rng, attribute = Embedding.sample(), np.random.default_rng(0), Attribute.load()
    members = [word.lower() for group in attribute.members for word in group]
    pairs = [word for pair in attribute.pairs for word in pair]
    small = sample.subset([*sample.words[:900], *members, *pairs])
    noise = rng.normal(size=small.vectors.shape).astype(np.float32)
    return [small.with_vectors(small.vectors + 0.3 * i * noise).renamed(f"e{i}") for i in range(3)]


@pytest.fixture(scope="module")
def reports(three: list[Embedding]) -> list[Report]:
    return [measure(embedding, only=["midb", "direct-bias"], chance=False) for embedding in three]


def test_reports_are_compared_as_their_files(reports: list[Report], tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    for report, path in zip(reports, paths, strict=True):
        report.save(path)
    mixed = compare(reports[0], str(paths[1]), paths[2])
    assert mixed.rows == compare(*paths).rows
    assert mixed.inputs["report 1"] == {"format": "Report", "command": "measure"}
    assert mixed.inputs[str(paths[1])]["format"] == "JSON"


def test_results_of_the_first_schema_are_read(reports: list[Report], tmp_path: Path) -> None:
    for i, report in enumerate(reports):
        fields = report.to_dict()
        del fields["schema"]
        fields["arguments"] = {"recipe": "she-he", "attribute_file": None}
        (tmp_path / f"{i}.json").write_text(json.dumps(fields), encoding="utf-8")
    old = compare(*(tmp_path / f"{i}.json" for i in range(3)))
    assert [row.value for row in old] == [row.value for row in compare(*reports)]


def test_embeddings_are_measured_first(three: list[Embedding], reports: list[Report]) -> None:
    for embedding in three:
        assert embedding.report is None
    with pytest.raises(WordbiasError, match="embeddings are for measure=True"):
        compare(*three)
    report = compare(*three, measure=True, only="midb-rms,direct-bias")
    assert report["correlation"][0].details["n"] == 3
    assert {row.subject for row in report["midb-rms"]} == {"e0", "e1", "e2"}
    measured = [emb.with_report(r) for emb, r in zip(three, reports, strict=True)]
    assert len(compare(*measured)) == len(compare(*reports))


def test_only_takes_a_text_or_several(reports: list[Report]) -> None:
    from_text = compare(*reports, only="midb-rms,midb-abs")
    several = compare(*reports, only=["midb-rms", "midb-abs"])
    assert [row.value for row in from_text] == [row.value for row in several]
    assert len(from_text) == 1


def test_midb_of_vectors_as_they_are_is_compared_on_request_only(reports: list[Report]) -> None:
    """It grows with the length of the vectors, in which embeddings differ."""
    columns = (row.details[end] for row in compare(*reports) for end in ("x", "y"))
    compared = {column.partition("[")[0] for column in columns}
    assert {"midb-unit", "midb-unit-abs", "midb-unit-rms", "direct-bias"} <= compared
    assert compared.isdisjoint({"midb", "midb-abs", "midb-rms"})
    (left_out,) = (note for note in compare(*reports).notes if "grow with the length" in note)
    assert left_out.startswith("midb, midb-abs, midb-rms: left out")
    closing = compare(*reports, x="midb-abs", y="direct-bias").closing[0]
    assert closing.startswith("Chosen pair: midb-abs")


def test_a_wide_matrix_is_whole_but_on_a_terminal(reports: list[Report]) -> None:
    report = compare(*reports)
    assert len(report.tables) == 1
    assert report.render("table", 60).startswith("Pearson")
    title = report.tables[0].title
    assert report.render("table", 60).count(title) > report.render("table", 1000).count(title) == 1
    assert report.render("md").count("\n| midb") == 3
    assert report._repr_html_().count("<table>") == 1


def test_arguments_without_effect_are_refused_by_their_python_names(reports: list[Report]) -> None:
    with pytest.raises(UsageError, match=r"^original= is for measure=True"):
        compare(*reports, original="x.txt")
    with pytest.raises(UsageError, match=r"^x= and y= are both midb-abs"):
        compare(*reports, x="midb-abs", y="midb-abs")
    with pytest.raises(WordbiasError, match=r"^compare: name results"):
        compare()


def test_a_constant_measure_is_left_out(
    three: list[Embedding], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recoverability is 1 for every large embedding, and no reason to refuse the others."""
    values = {"midb": (1.0, 2.0, 4.0), "direct-bias": (3.0, 1.0, 2.0), "rnd": (1.0, 1.0, 1.0)}
    rows = [
        Row(embedding.name, name, value)
        for name, column in values.items()
        for embedding, value in zip(three, column, strict=True)
    ]
    monkeypatch.setattr("wordbias.functions.compare.evaluate_panels", lambda *_, **__: rows)
    report = compare(*three, measure=True)
    assert report.notes == [
        "rnd is 1 for all 3 embeddings that have it: left out, as nothing correlates with a "
        "constant"
    ]
    assert [row.subject for row in report["correlation"]] == ["midb – direct-bias"]
    for chosen in ({"only": "midb,rnd"}, {"x": "rnd"}):
        with pytest.raises(WordbiasError, match="rnd is 1 for all 3"):
            compare(*three, measure=True, **chosen)
