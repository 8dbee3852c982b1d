"""`wordbias compare`: from files to a matrix, rows and a figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Attribute, Embedding, correlation

Run = Callable[..., Any]

TABLE = """emb,MIDB,GIPE,"E (dev, test)"
w2v,.1,.2,.3
GloVe,.3,.1,.4
HD,-.1,NA,.2
INLP,0,.25,.1
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four measures with long names."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    heads = ",".join(f"neighbours-preserved-number-{i}" for i in range(24))
    lines = [f"e{i}," + ",".join(map(str, rng.normal(size=24))) for i in range(6)]
    path.write_text("\n".join([f"emb,{heads}", *lines]), encoding="utf-8")
    return path


def _error(done: Any, code: int = 1) -> str:
    assert (done.code, done.out) == (code, "")
    if code == 1:
        assert done.err.count("\n") == 1
    return str(done.err)


def test_the_matrix_is_the_upper_triangle(cli: Run, table: Path) -> None:
    done = cli("compare", table)
    assert (done.code, done.err) == (0, "")
    lines = done.out.split("\n")
    assert lines[0] == "Pearson correlation between 3 measures over 4 embeddings."
    cells = [line.split() for line in lines[4:7]]
    assert [len(line) for line in cells] == [4, 3, 4]
    assert cells[0][:2] == ["MIDB", "1"]
    assert cells[0][3] == f"{np.corrcoef([0.1, 0.3, -0.1, 0], [0.3, 0.4, 0.2, 0.1])[0, 1]:.3f}"
    assert "not corrected for 3 pairs." in " ".join(done.out.split())


def test_rows(cli: Run, table: Path) -> None:
    report = json.loads(cli("compare", table, "--format", "json", "--correlation", "spearman").out)
    assert report["inputs"][str(table)]["format"] == "CSV table"
    assert report["arguments"]["correlation"] == "spearman"
    first = report["rows"][0]
    assert first.pop("p") == pytest.approx(2 / 6)  # two of the six orders of three are monotone
    assert first == {
        "subject": "MIDB – GIPE",
        "measure": "correlation",
        "value": -1.0,
        "x": "MIDB",
        "y": "GIPE",
        "n": 3,
        "method": "spearman",
        "neutral": 0.0,
        "pearson": pytest.approx(-1),  # GIPE is .25 - MIDB / 2 where both are given
        "pearson_p": pytest.approx(0, abs=1e-6),
    }
    four = report["rows"][1]
    assert (four["x"], four["y"], four["n"]) == ("MIDB", "E (dev, test)", 4)
    assert {"bootstrap_low", "without_high", "driver", "without_driver"} <= set(four)
    assert report["seed"] == 0


@pytest.fixture(scope="module")
def of_many(wide: Path) -> wb.Report:
    """Return the correlations of 24 measures, whose intervals no test reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "DRAWS", 2000)
        return wb.compare(wide)


@pytest.mark.slow
def test_ten_pairs_are_shown_in_detail_and_those_of_a_chosen_measure(
    cli: Run, wide: Path, of_many: wb.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlation, "DRAWS", 2000)
    assert "The 10 largest of 276 pairs." in " ".join(str(of_many).split())
    detailed = cli("compare", wide, "--y", "neighbours-preserved-number-3").out
    assert "The 10 largest of 23 pairs." in " ".join(detailed.split())
    lines = detailed.split("one embedding left out\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(lines) == 10
    assert all("4" in line.split()[:3] for line in lines)


@pytest.mark.slow
def test_many_measures_are_numbered_and_fit(
    of_many: wb.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = of_many.to_dict()["rows"]
    assert len(rows) == 24 * 23 // 2
    for columns in (60, 80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        printed = str(of_many)
        assert max(map(len, printed.split("\n"))) <= columns
        assert "  24  neighbours-preserved-number-23" in printed
        cells = printed.split("measures over")[1].split()
        for row in rows:
            assert f"{row['value']:z.3f}" in cells


@pytest.mark.slow
def test_what_misp_says_can_be_compared(three: list[Path], tmp_path: Path) -> None:
    """As CSV, whose rows of different stages have names of their own."""
    files, reports = [tmp_path / f"{i}.csv" for i in range(3)], [wb.misp(path) for path in three]
    for file, outcome in zip(files, reports, strict=True):
        outcome.report.save(file)
    comparison = wb.compare(*files, only=["midb", "direct-bias"])
    names = {row.details[end] for row in comparison for end in ("x", "y")}
    stages = ["before", "after, before", "after, self"]
    assert names == {f"{name} ({stage})" for name in ("midb", "direct-bias") for stage in stages}

    def values(measure: str, **which: str) -> list[Any]:
        rows = [row for removal in reports for row in removal.report[measure]]
        return [row.value for row in rows if which.items() <= row.details.items()]

    x, y = values("midb", stage="before"), values("direct-bias", stage="after", reference="self")
    ends = ("midb (before)", "direct-bias (after, self)")
    (got,) = (row.value for row in comparison if (row.details["x"], row.details["y"]) == ends)
    assert got == pytest.approx(np.corrcoef(x, y)[0, 1])


@pytest.mark.parametrize(
    "only",
    [
        ["E (dev, test),MIDB"],
        ["E (dev, test)", "MIDB"],
        ["E, MIDB"],
        ["E (dev, test), MIDB,"],
    ],
)
def test_only(cli: Run, table: Path, only: list[str]) -> None:
    given = [part for name in only for part in ("--only", name)]
    (row,) = json.loads(cli("compare", table, *given, "--format", "json").out)["rows"]
    assert (row["x"], row["y"]) == ("E (dev, test)", "MIDB")


def test_x_and_y_choose_the_pair(cli: Run, table: Path) -> None:
    assert "Chosen pair: GIPE – MIDB, " in cli("compare", table, "--x", "GIPE", "--y", "MIDB").out
    assert "E (dev, test), r" in cli("compare", table, "--y", "E").out
    chosen, whole = (cli("compare", table, *axis).out for axis in (("--x", "GIPE"), ()))
    assert "Largest |r| with GIPE: GIPE – " in chosen
    assert "Largest |r|: " in whole
    names = ("GIPE", "MIDB", "E (dev, test)")
    assert all(name in whole for name in names)
    assert f"not corrected for {len(names) - 1} pairs." in chosen
    assert f"not corrected for {len(names)} pairs." in whole


@pytest.mark.slow
def test_plot(cli: Run, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.png"
    with np.errstate(all="warn"):
        done = cli("compare", table, "--plot", path, "--x", "MIDB", "--y", "E")
    assert (done.code, done.err) == (0, "")
    assert "Chosen pair: MIDB – E (dev, test), r = " in done.out
    assert f"Drawn: {path}." in " ".join(done.out.split())
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_without_matplotlib(
    cli: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias import errors

    class Missing:
        @staticmethod
        def import_module(name: str) -> None:
            raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(errors, "importlib", Missing)
    message = _error(cli("compare", table, "--plot", tmp_path / "a.png"))
    assert 'A figure needs matplotlib; install it with: pip install "wordbias[plot]"' in message
    assert cli("compare", table).code == 0


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (TABLE[: TABLE.index("GloVe")], [], "at least 3 embeddings, found 1: w2v"),
        ("emb,m\na,1\nb,2\nc,4\n", [], "at least 2 measures, found 1: m"),
        (TABLE, ["--only", "E"], "at least 2 measures, found 1: E (dev, test)"),
        (TABLE, ["--only", ","], "at least 2 measures, found 0"),
        ("emb,m,k\na,1,\nb,2,\nc,3,\nd,,1\n", [], "0 embeddings have both m and k"),
        (TABLE.replace(".25", ".1").replace(".2,", ".1,"), [], "GIPE is 0.1 for all 3 embeddings"),
        (TABLE, ["--x", "WEAT"], "no measure 'WEAT'; there are: MIDB, GIPE, E (dev, test)"),
        (TABLE, ["--only", "MIDB,E", "--y", "GIPE"], "no measure 'GIPE'; there are: MIDB, E ("),
        (TABLE, ["--plot", "a.gif"], "name a file in .png, .pdf, .svg"),
        (TABLE, ["--plot", "no/folder/a.png"], "does not exist"),
        (TABLE.replace(".3,.1", "x,.1"), [], "line 3, column MIDB: expected a number or NA"),
    ],
)
def test_bad_input_is_one_line(
    cli: Run, table: Path, text: str, arguments: list[str], said: str
) -> None:
    table.write_text(text, encoding="utf-8")
    assert said in _error(cli("compare", table, *arguments))


def test_missing_file(cli: Run, tmp_path: Path) -> None:
    assert "gone.json: cannot be read" in _error(cli("compare", tmp_path / "gone.json"))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--correlation", "kendall"],
        ["--format", "xml"],
        ["--x", "MIDB", "--y", "MIDB"],
        ["--z"],
    ],
)
def test_wrong_usage(cli: Run, table: Path, arguments: list[str]) -> None:
    given = [table, *arguments] if arguments else []
    assert "see wordbias compare --help" in _error(cli("compare", *given), 2)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three small embeddings, two of them the first with noise."""
    sample, attribute = Embedding.sample(), Attribute.load()
    needed = [word.lower() for group in attribute.members for word in group]
    pairs = [word for pair in attribute.pairs for word in pair]
    rows, _ = sample.rows(list(dict.fromkeys([*needed, *pairs, *sample.words[:1500]])))
    words, vectors = [sample.words[i] for i in rows], sample.vectors[rows]
    rng, folder, paths = np.random.default_rng(0), tmp_path_factory.mktemp("three"), []
    for i in range(3):
        noise = 0.3 * i * rng.normal(size=vectors.shape).astype(np.float32)
        paths.append(folder / f"e{i}.safetensors")
        Embedding(words, vectors + noise, f"e{i}").save(paths[-1])
    return paths


@pytest.mark.slow
def test_embeddings_are_measured_and_compared(cli: Run, three: list[Path], tmp_path: Path) -> None:
    """It is what measure and compare say one after the other, to the last bit on one thread."""
    same = ("--original", three[0], "--threads", 1, "--format", "json")
    measured = cli("measure", *three, *same, "--no-chance")
    assert measured.code == 0, measured.err
    (tmp_path / "rows.json").write_text(measured.out, encoding="utf-8")
    after = json.loads(cli("compare", tmp_path / "rows.json", "--format", "json").out)
    at_once = json.loads(cli("compare", "--measure", *three, "--jobs", 2, *same).out)
    assert at_once["rows"] == json.loads(measured.out)["rows"] + after["rows"]
    assert set(at_once["inputs"]) == {"e0", "e1", "e2", "original: e0"}


@pytest.mark.parametrize("option", ["--original", "--groups"])
def test_what_is_for_measuring_only(cli: Run, option: str, tmp_path: Path) -> None:
    refusal = cli("compare", tmp_path / "rows.json", option, "x")
    assert refusal.code == 2
    assert f"{option} is for --measure; give --measure" in refusal.err
