"""Queries and documents about people of two groups: what a changed name moves."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentence_models
from numpy.typing import NDArray
from sklearn.metrics import ndcg_score

import wordbias as wb
from wordbias.rankings import effects
from wordbias.rankings.counterfactuals import given_versions, with_synonyms
from wordbias.wordlists.templates import unambiguous_names

pytestmark = pytest.mark.filterwarnings("ignore::wordbias.calls.WordbiasWarning")
FEMALE, MALE = {*unambiguous_names().female}, {*unambiguous_names().male}
JOBS = ("nurse", "cook", "baker", "clerk", "welder", "pilot", "judge", "tailor", "driver", "actor")
FIELDS = ("care", "food", "food", "office", "metal", "air", "law", "cloth", "road", "stage")
CVS = [f"{{name}} {verb} as a {job}" for job in JOBS for verb in ("works", "trained", "hired")]
ADS = [f"we {verb} a {job} {place}" for job in JOBS for verb in ("need", "want")
       for place in ("here", "there", "soon")]  # fmt: skip
Vectors = NDArray[np.float32]


@cache
def _word(word: str, d: int = 24) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(word.encode())).normal(size=d)


def words(texts: Sequence[str]) -> Vectors:
    """Encode each text as the sum of a random vector of each of its words."""
    return np.array([sum(map(_word, re.findall(r"\w+", text))) for text in texts], np.float32)


def gendered(texts: Sequence[str]) -> Vectors:
    """Do the same, with a coordinate in which names of women and some jobs are high."""
    vectors = words(texts)
    for i, text in enumerate(texts):
        of = {*re.findall(r"\w+", text)}
        lean = len(of & {*FEMALE, "nurse", "tailor", "actor"}) - len(
            of & {*MALE, "welder", "pilot"}
        )
        vectors[i, 0] += 9 * lean
    return vectors


def _value(report: wb.Report, measure: str, kind: str, subject: int = 0) -> float:
    name = list(dict.fromkeys(row.subject for row in report))[subject]
    (row,) = (row for row in report[measure] if (row.details["set"], row.subject) == (kind, name))
    assert row.value is not None
    return row.value


def _run(queries: Any = CVS, documents: Any = ADS, model: Any = words, **given: Any) -> wb.Report:
    return wb.retrieval(queries, documents, model=model, **{"top": 5, "draws": 50, **given})


@pytest.fixture(autouse=True)
def _few_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchange changes a few times; what p is then is proved with the rankings."""
    monkeypatch.setattr(effects, "EXCHANGES", 49)


@pytest.fixture(scope="module")
def plain() -> wb.Report:
    return _run()


@pytest.fixture(scope="module")
def by_gender() -> wb.Report:
    return _run(model=gendered)


@pytest.mark.parametrize("changed", ["queries", "documents"])
def test_texts_that_do_not_change_retrieve_the_same(changed: str) -> None:
    table = {"text": ADS, "other": ADS, "null": ADS}
    tables = {"queries": (table, ADS), "documents": (ADS, table)}[changed]
    report = _run(*tables, changed=changed, counterfactual="other", meaningless="null")
    for kind in ("counterfactual", "meaningless"):
        assert _value(report, "list-overlap", kind) == 1
        assert _value(report, "rank-biased-overlap", kind) == pytest.approx(1, abs=1e-12)
        assert _value(report, "rank-shift", kind) == 0
    assert {row.details["p"] for row in report if "p" in row.details} == {1}
    assert "Not beyond meaningless changes." in str(report).replace("\n", " ")


def test_white_space_moves_nothing_where_the_encoder_reads_words(plain: wb.Report) -> None:
    assert _value(plain, "list-overlap", "white space") == 1
    assert _value(plain, "rank-shift", "white space") == 0
    assert _value(plain, "list-overlap", "name") < 1


def test_names_that_mean_nothing_are_not_found_and_names_that_do_are(
    plain: wb.Report, by_gender: wb.Report
) -> None:
    assert "beyond\n" not in plain.render("table", 100).replace("not beyond", "")
    (row,) = (row for row in by_gender["list-overlap"] if row.details["set"] == "name")
    assert row.details["excess_high"] < 0
    assert row.details["p_holm"] < 0.05
    assert "Beyond meaningless changes." in " ".join(by_gender.heading)


def test_leace_takes_what_names_move_and_random_removals_do_not() -> None:
    report = _run(model=gendered, methods="leace", null=4)
    assert [row.subject for row in report["rank-shift"]][-1] == "gendered leace"
    before, after = (_value(report, "list-overlap", "name", i) for i in (0, 1))
    (row,) = (
        row for row in report["list-overlap"]
        if row.details["set"] == "name" and row.subject == "gendered leace"
    )  # fmt: skip
    assert after - before == pytest.approx(row.details["change"])
    assert row.details["change"] > row.details["null_as_far_high"]
    assert row.details["null_as_far_draws"] == 4
    assert row.details["change_low"] > 0


def test_synonyms_are_shown_and_are_no_part_of_the_null(plain: wb.Report, tmp_path: Path) -> None:
    file = tmp_path / "synonyms.tsv"
    file.write_text("HIRED\temployed\nVera\tOlga\n", "utf-8")
    report = _run(meaningless=file)
    others = [row for row in report if row.details["set"] != "synonyms"]
    assert [(row.measure, row.value, row.details.get("p")) for row in others] == [
        (row.measure, row.value, row.details.get("p")) for row in plain
    ]
    assert _value(report, "list-overlap", "synonyms") < 1
    assert any("synonyms: 10 of 30 texts have one" in note for note in report.notes)


def test_synonyms_are_in_the_case_of_the_word() -> None:
    texts = ["a big cup", "A BIG cup", "a bİg cup"]  # a regular expression takes İ for i
    versions, n = with_synonyms(given_versions(texts, {}), [("Big", "large")], {})
    assert versions.texts[0]["synonyms"] == ["a large cup", "A LARGE cup", "a bİg cup"]
    assert n == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "changed"), [("embedding", "queries"), ("attention@2", "documents")]
)
def test_an_adapter_moves_what_the_folder_with_it_does(
    tmp_path: Path, setting: str, changed: str
) -> None:
    folder = sentence_models.sentence_folder(tmp_path / "small", "Normalize")
    pairs = [("she spoke to the nurse", "he spoke to the nurse"), ("she said her", "he said his")]
    adapter = wb.project(folder, sites=setting, setting=setting, pairs=pairs)
    wb.apply(adapter, folder, output=tmp_path / "after")
    sides = (CVS, ADS) if changed == "queries" else (JOBS, [f"{{name}} {ad}" for ad in ADS])
    report = _run(*sides, folder, changed=changed, adapter=adapter, null=3)
    n = len(report.rows) // 2
    subjects = list(dict.fromkeys(row.subject for row in report))
    assert subjects == ["small", f"small {setting}"]
    after = [row for row in report if row.subject == subjects[1]]
    moved = [row for row in after if row.details["set"] == "before the removal"]
    for name, rows in (("small", report.rows[:n]), ("after", after)):
        alone = _run(*sides, tmp_path / name, changed=changed)
        of = [row for row in rows if row not in moved]
        assert [(row.measure, row.value) for row in of] == [
            (row.measure, pytest.approx(row.value, abs=1e-6)) for row in alone
        ]
    assert {row.details["null_as_far_draws"] for row in moved} == {3}


@pytest.mark.slow
def test_an_adapter_needs_the_model_itself(tmp_path: Path) -> None:
    folder = sentence_models.sentence_folder(tmp_path / "small")
    pairs = [("she spoke", "he spoke"), ("she said her", "he said his")]
    adapter = wb.project(folder, sites="embedding", setting="embedding", pairs=pairs)
    with pytest.raises(wb.WordbiasError, match="words: gives vectors of texts alone, and adapter="):
        _run(adapter=adapter)


def test_the_order_of_the_documents_changes_nothing(plain: wb.Report) -> None:
    order = np.random.default_rng(0).permutation(len(ADS))
    second = _run(documents=[ADS[i] for i in order])
    assert [(row.measure, row.value) for row in plain] == [
        (row.measure, pytest.approx(row.value, abs=1e-12)) for row in second
    ]


def test_vectors_give_what_their_texts_give() -> None:
    texts = {"text": [cv.replace("{name}", "Ann") for cv in CVS]}
    texts["other"] = [text.replace("Ann", "Thomas") for text in texts["text"]]
    texts["null"] = [text.replace("Ann", "Ella") for text in texts["text"]]
    of_texts = _run(texts, counterfactual="other", meaningless="null")
    of_vectors = wb.retrieval(
        words(texts["text"]), words(ADS), counterfactual=words(texts["other"]),
        meaningless=words(texts["null"]), top=5, draws=50,
    )  # fmt: skip
    assert [row.value for row in of_vectors] == [row.value for row in of_texts]
    assert "list-ndcg" not in {row.measure for row in of_vectors}
    assert [row.details["p"] for row in of_vectors if "p" in row.details] == [
        row.details["p"] for row in of_texts if "p" in row.details
    ]


def test_ndcg_is_that_of_scikit_learn_by_a_column_and_by_a_table() -> None:
    queries = {"text": CVS, "field": [field for field in FIELDS for _ in range(3)]}
    documents = {"text": ADS, "field": [field for field in FIELDS for _ in range(6)]}
    by_column = _run(queries, documents, relevance="field")
    pairs = [
        (i, j)
        for i, a in enumerate(queries["field"], 1)
        for j, b in enumerate(documents["field"], 1)
        if a == b
    ]
    table = {
        "query": [i for i, _ in pairs], "document": [j for _, j in pairs],
        "relevance": [1] * len(pairs),
    }  # fmt: skip
    by_table = _run(CVS, ADS, relevance=table)
    assert [row.value for row in by_table] == [row.value for row in by_column]
    named = {"text": [cv.replace("{name}", "Olivia") for cv in CVS], "field": queries["field"]}
    report = _run({**named, "other": named["text"]}, documents, relevance="field",
                 counterfactual="other")  # fmt: skip
    a, b = (x.astype(float) for x in (words(named["text"]), words(ADS)))
    scores = (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T
    relevant = np.array([[x == y for y in documents["field"]] for x in queries["field"]], float)
    expected = ndcg_score(relevant, scores, k=5)
    assert _value(report, "list-ndcg", "as given") == pytest.approx(expected, rel=1e-9)


def test_an_empty_cell_of_a_column_is_relevant_to_nothing() -> None:
    cells = {"queries": ["care"] * 3 + [""] * 27, "documents": ["care"] * 6 + [""] * 54}
    report = _run(
        {"text": CVS, "field": cells["queries"]}, {"text": ADS, "field": cells["documents"]},
        relevance="field",
    )  # fmt: skip
    assert {row.details["n"] for row in report["list-ndcg"]} == {3}


def test_the_output_is_no_input(tmp_path: Path) -> None:
    table = tmp_path / "relevant.csv"
    table.write_text("query,document,relevance\n1,1,1\n", "utf-8")
    with pytest.raises(wb.WordbiasError, match=r"relevant\.csv"):
        _run(relevance=table, output=table)
    assert table.read_text("utf-8").count("\n") == 2


def test_changed_documents_have_exposures_by_the_group_of_their_name() -> None:
    report = _run(JOBS, [f"{{name}} {ad}" for ad in ADS], gendered, changed="documents")
    rows = {(row.measure, row.details.get("group")): row for row in report}
    n = len(ADS)
    for measure, total in (("selection-rate", 5), ("exposure", sum(1 / np.log2(np.arange(2, 7))))):
        a, b = (rows[measure, group].value for group in ("female", "male"))
        # each document stands in the lists once with a name of each group
        assert n * (a + b) / 2 == pytest.approx(total)
    ratio = rows["impact-ratio", None]
    assert ratio.details["set"] == "another name and name"
    assert 0 < ratio.value <= 1
    assert ratio.details["chance_low"] <= ratio.details["chance_high"] <= 1
    assert "rule of thumb" in " ".join(report.closing)


def test_groups_that_no_document_has_have_no_exposure() -> None:
    documents = ["Cedric bakes", *ADS[:-1]]
    report = _run(JOBS, documents, changed="documents", groups="ethnicity", seed_lists=1)
    groups = [row.details["group"] for row in report["exposure"]]
    assert len(groups) == 2
    assert "black" in groups
    for measure in ("exposure", "selection-rate"):  # of one text with a name of each
        assert all(row.value is not None for row in report[measure])


@pytest.mark.parametrize("changed", ["queries", "documents"])
def test_without_a_relevant_document_ndcg_is_undefined_and_the_others_are_not(changed: str) -> None:
    sides = (CVS, ADS) if changed == "queries" else (JOBS, [f"{{name}} {ad}" for ad in ADS])
    relevance = {"query": [1], "document": [1], "relevance": [0]}
    with_it, without = (
        _run(*sides, changed=changed, **more) for more in ({"relevance": relevance}, {})
    )
    (row,) = with_it["list-ndcg"]
    assert (row.value, row.details["reason"][:9]) == (None, "undefined")
    for a, b in zip(with_it["rank-shift"], without["rank-shift"], strict=True):
        assert (a.value, a.details.get("p")) == (b.value, b.details.get("p"))


def test_groups_of_documents_may_be_given() -> None:
    documents = {"text": ADS, "who": ["a", "b", "b"] * (len(ADS) // 3)}
    report = _run(CVS, documents, sensitive="who")
    shares = [row.value for row in report["selection-rate"] if row.details["set"] == "as given"]
    assert shares[0] * len(ADS) / 3 + shares[1] * 2 * len(ADS) / 3 == pytest.approx(5)
    assert {row.details["set"] for row in report["impact-ratio"]} == {"as given", "name"}


def test_texts_without_a_name_are_counted() -> None:
    report = _run(["Olivia bakes", "The cook", "James drives", "A clerk"], ADS)
    (note,) = (note for note in report.notes if "have no first name" in note)
    assert note.startswith("queries: 2 of 4 texts have no first name of female, male")
    assert note.endswith("left out: row 2, 4")
    assert report["list-overlap"][0].details["n"] == 2
    report = _run(JOBS, ["Olivia bakes", "The cook", "James drives", *ADS], changed="documents")
    assert any("are unchanged: row 2, 4, 5 …" in note for note in report.notes)


def test_other_groups_of_names() -> None:
    report = _run(groups="ethnicity:white,black", seed_lists=1)
    assert "Groups: white, black." in report.heading[0]
    assert {row.details["set"] for row in report["list-overlap"]} == {
        "name", "another name", "white space",
    }  # fmt: skip


Given = Mapping[str, Any]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"top": 100}, "documents: expected at least 100 documents, as top= says, found 60"),
        ({"queries": ["Ann", ""]}, "queries: row 2: is empty"),
        ({"queries": ["{name} bakes", "cooks"]}, "queries: row 2: has no {name}"),
        ({"queries": JOBS}, "no text has a first name of female, male"),
        ({"documents": ["{name} sought", *ADS]}, "and the queries are changed; change the others"),
        ({"groups": {"a": ["Ann", "Eve"]}}, "expected two groups of words or more, found 1"),
        ({"groups": "age"}, "is no first name"),
        (
            {"groups": {"a": ["Ann", "Eve"], "b": ["Tom", "Bob"]}, "methods": "leace"},
            "methods=: the names of a, b make one set of two of each",
        ),
        ({"methods": "bam"}, "bam"),
        ({"null": 3}, "goes with methods="),
        ({"meaningless": "x"}, "meaningless=: x: no such file of synonyms"),
        ({"methods": "leace", "adapter": "x"}, "methods= and adapter= are two removals"),
        ({"meaningless": [("tall", "high")]}, "no text has a word that is the first of a pair"),
        (
            {"meaningless": [("works", "serves"), ("Works", "acts")]},
            "meaningless=: 'Works' has two synonyms, 'serves' and 'acts'",
        ),
        ({"meaningless": [("works", "works")]}, "pair 1: expected two different texts"),
        ({"setting": "tokens@1"}, "adapter= and setting= go together"),
        ({"adapter": "x"}, "x"),
        ({"counterfactual": "x"}, "which has no columns"),
        ({"queries": {"text": CVS}, "counterfactual": "x"}, "has no column 'x'"),
        (
            {"queries": {"text": ["a", "b"], "x": ["c", " "]}, "counterfactual": "x"},
            "row 2: has no",
        ),
        (
            {"queries": {"text": CVS, "x": CVS}, "counterfactual": "x", "groups": "age"},
            "groups= needs",
        ),
        ({"relevance": "x"}, "which has no columns"),
        (
            {"relevance": {"query": [1], "document": [99], "relevance": [1]}},
            "a number from 1 to 60",
        ),
        ({"relevance": {"query": [1], "document": [9], "relevance": [-1]}}, "a number from 0 on"),
        (
            {"relevance": {"query": [1, 1], "document": [9, 9], "relevance": [1, 2]}},
            "document 9 has relevance 1 for query 1 in a row before, and 2 here",
        ),
        ({"sensitive": ["a", ""] * 30}, "sensitive=: document 2 has no group"),
        (
            {"queries": {"text": CVS, "x": CVS}, "counterfactual": "x", "seed_lists": 2},
            "seed_lists= draws names, and counterfactual= has the changed texts",
        ),
        ({"sensitive": ["a"] * 60}, "all documents are of one group, a"),
        ({"sensitive": ["a", "b"]}, "expected 60 groups, one for each document, found 2"),
        ({"changed": "both"}, "changed=: expected one of queries, documents, got 'both'"),
        ({"output": "page.pdf"}, "expected a name that ends in"),
        ({"model": None}, "without model=, queries and documents are vectors"),
        ({"model": None, "counterfactual": [[1.0]], "seed_lists": 2}, "is for texts"),
        ({"model": lambda texts: np.full((len(texts), 3), np.nan)}, ""),
        ({"model": lambda texts: np.zeros((len(texts), 3))}, "is zero, and has no direction"),
        ({"draws": 1}, "draws=: expected a number of at least 2"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(given: Given, message: str) -> None:
    with pytest.raises(wb.WordbiasError) as error:
        _run(**given)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("queries", "counterfactual", "message"),
    [
        (np.ones((3, 4)), np.ones((2, 4)), "--counterfactual: has 2 vectors, and there are 3"),
        (np.ones((3, 4)), np.ones((3, 5)), "expected vectors of one length, found: queries 4"),
        (["a", "b"], np.ones((2, 4)), "queries: without --model, vectors are expected"),
        (np.eye(3, 4), np.ones((3, 4)), "documents: vectors: row 5 is zero in float32, and has no"),
        (np.eye(3, 4), 1e300 * np.eye(3, 4), "row 1 has a value beyond those of float32"),
        (np.eye(3, 4), 1e-300 * np.eye(3, 4), "--counterfactual: vectors: row 1 is zero in"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    queries: Any, counterfactual: Any, message: str
) -> None:
    with pytest.raises(wb.WordbiasError) as error:
        wb.retrieval(queries, np.eye(12, 4), counterfactual=counterfactual)
    assert message.replace("--counterfactual", "counterfactual=").replace(
        "--model", "model="
    ) in str(error.value)


def test_nothing_that_is_given_is_changed() -> None:
    arrays = [np.random.default_rng(i).normal(size=(12, 4)).astype(np.float32) for i in range(4)]
    copies = [array.copy() for array in arrays]
    wb.retrieval(arrays[0], arrays[1], counterfactual=arrays[2], meaningless=arrays[3], draws=20)
    assert all((a == b).all() for a, b in zip(arrays, copies, strict=True))


def test_the_shell_writes_a_page_and_a_figure(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [cv.replace("{name}", "Ann") for cv in CVS]
    for name, file_texts in (("q", texts), ("c", [t.replace("Ann", "Tom") for t in texts]),
                       ("m", [t.replace("Ann", "Eva") for t in texts]), ("d", ADS)):  # fmt: skip
        np.save(f"{name}.npy", words(file_texts))
    pytest.importorskip("matplotlib")
    done = cli(
        "retrieval", "q.npy", "d.npy", "--counterfactual", "c.npy", "--meaningless", "m.npy",
        "--top", "5", "--draws", "50", "-o", "page.html", "--plot", "figure.svg",
        "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"]
    assert {row["measure"] for row in rows} == {"list-overlap", "rank-biased-overlap", "rank-shift"}
    page = Path("page.html").read_text("utf-8")
    assert "beyond meaningless changes" in page
    for title in ("vectors: what a change moves", "vectors: beyond meaningless changes?"):
        assert title in page  # the tables that are printed, not keys of rows
    assert "Other values" not in page
    assert Path("figure.svg").stat().st_size > 1000
