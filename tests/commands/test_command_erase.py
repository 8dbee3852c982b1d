"""`wordbias erase`: real files in and out, its text, and how it refuses."""

from __future__ import annotations

import csv
import gzip
import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias.batches import map_rows

pytestmark = pytest.mark.usefixtures("one_thread", "short_probes")
Run = Callable[..., Any]
N = 300


def vectors(n: int = N) -> tuple[Any, list[str]]:
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=n)
    x = rng.normal(size=(n, 6)).astype(np.float32)
    x[:, 0] += 5 * codes
    return x, ["fm"[i] for i in codes]


@pytest.fixture
def npy(tmp_path: Path) -> Path:
    x, y = vectors()
    np.save(tmp_path / "s.npy", x)
    (tmp_path / "gender.txt").write_text("\n".join(y) + "\n")
    return tmp_path / "s.npy"


def table(path: Path, missing: tuple[int, ...] = (), n: int = N) -> Path:
    """Write vectors with labels, an id and a split as Parquet."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    x, y = vectors(n)
    columns = {
        "id": [f"row {i}" for i in range(n)],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 6),
        "gender": [None if i in missing else label for i, label in enumerate(y)],
        "job": ["nurse" if v > 0 else "doctor" for v in x[:, 1]],
        "split": ["test" if i % 4 == 0 else "train" for i in range(n)],
    }
    parquet.write_table(pa.table(columns), path, row_group_size=100)
    return path


def test_npy_with_a_file_of_labels(npy: Path, tmp_path: Path, cli: Run) -> None:
    clean = tmp_path / "clean.npy"
    done = cli(
        "erase", npy, "--labels", tmp_path / "gender.txt", "-o", clean,
        "--save-transform", tmp_path / "leace.st",
    )  # fmt: skip
    assert done.code == 0, done.err
    printed = " ".join(done.out.split())
    assert "leace of gender (f, m), fitted on 240 training rows of s, tested on 60" in printed
    assert "gender: a linear probe was right for" in printed
    method = wb.load(tmp_path / "leace.st")
    expected = map_rows(method.fitted_, np.load(npy))
    np.testing.assert_array_equal(np.load(clean), expected, strict=True)
    applied = tmp_path / "applied.npy"
    assert cli("apply", tmp_path / "leace.st", npy, "-o", applied).code == 0
    assert applied.read_bytes() == clean.read_bytes()


def test_parquet_keeps_its_other_columns(tmp_path: Path, cli: Run) -> None:
    source = table(tmp_path / "s.parquet", missing=(5, 17))
    parquet = pytest.importorskip("pyarrow.parquet")
    clean = tmp_path / "clean.parquet"
    done = cli(
        "erase", source, "--labels", "gender", "--also", "job", "--missing", "drop",
        "--split-column", "split", "-o", clean,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "2 rows without a label only mapped" in " ".join(done.out.split())
    assert "job, a task" in done.out
    before, after = parquet.read_table(source), parquet.read_table(clean)
    assert after.schema.equals(before.schema, check_metadata=True)
    for name in ("id", "gender", "job", "split"):
        assert after[name].equals(before[name])
    x = np.array(before["vector"].to_pylist(), np.float32)
    y, split = np.array(before["gender"].to_pylist()), np.array(before["split"].to_pylist())
    learned = np.array([label is not None for label in y]) & (split == "train")
    expected = wb.LEACE().fit(x[learned], y[learned].astype(str))
    erased = np.array(after["vector"].to_pylist(), np.float32)
    np.testing.assert_array_equal(erased, map_rows(expected.fitted_, x), strict=True)


def test_shards_are_written_side_by_side_and_skipped_when_done(tmp_path: Path, cli: Run) -> None:
    (tmp_path / "shards").mkdir()
    for i in range(2):
        table(tmp_path / "shards" / f"{i}.parquet", n=100 + i)
    call = ("erase", tmp_path / "shards", "--labels", "gender", "-o", tmp_path / "clean")
    first = cli(*call[:-1], f"{tmp_path / 'clean'}/")
    assert first.code == 0, first.err
    assert "Written: 2 files; all rows are mapped" in first.out
    names = sorted(path.name for path in (tmp_path / "clean").glob("*.parquet"))
    assert names == ["0.parquet", "1.parquet"]
    stamps = {name: (tmp_path / "clean" / name).stat().st_mtime_ns for name in names}
    rerun = cli(*call)
    assert "Written: 2 files, 2 of them by an earlier call" in rerun.out
    assert stamps == {n: (tmp_path / "clean" / n).stat().st_mtime_ns for n in names}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--labels", "gnder"], "--labels 'gnder': neither a column of s.npy (it has none)"),
        ([], "s.npy: no labels given: name them with --labels COLUMN or --labels FILE"),
        (["--labels", "short.txt"], "300 rows, but 2 values of short.txt; give one for"),
        (["--labels", "gaps.txt"], "1 of 300 rows have no gaps, the first is row 2; label them, or "
         "--missing=drop: they are then mapped, but not fitted on"),
        (["--labels", "gender.txt", "--held-out", "1"], "1.0 is not in the range 0<x<=0.9"),
        (["--labels", "gender.txt", "-o", "s.npy"], "s.npy"),
        (["--labels", "gender.txt", "--array", "v"], "array"),
        (["--labels", "gender.txt", "--jobs", "2"], "--jobs is for a folder of files that -o"),
    ],
)  # fmt: skip
def test_it_refuses_in_one_line(
    arguments: list[str], message: str, npy: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(npy.parent)
    (npy.parent / "short.txt").write_text("f\nm\n")
    labels = (npy.parent / "gender.txt").read_text().splitlines()
    (npy.parent / "gaps.txt").write_text("\n".join([labels[0], "", *labels[2:]]) + "\n")
    before = sorted(path.name for path in npy.parent.iterdir())
    done = cli("erase", "s.npy", *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert "Traceback" not in done.err
    assert sorted(path.name for path in npy.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "message"), [(None, "no such file"), (b"", "empty"), (b"words\n", "no rows of")]
)
def test_files_of_something_else_are_refused(
    content: bytes | None, message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    if content is not None:
        (tmp_path / "x.txt").write_bytes(content)
    assert message in refused("erase", tmp_path / "x.txt", "--labels", "gender")


def test_a_value_that_is_not_finite_is_named(tmp_path: Path, cli: Run) -> None:
    x, y = vectors()
    x[41, 2] = np.nan
    np.save(tmp_path / "s.npy", x)
    (tmp_path / "y.txt").write_text("\n".join(y))
    done = cli(
        "erase", tmp_path / "s.npy", "--labels", tmp_path / "y.txt", "-o", tmp_path / "c.npy"
    )
    assert done.code == 1
    assert "row 42" in done.err
    assert not (tmp_path / "c.npy").exists()


@pytest.mark.slow
def test_biographies_as_bags_of_their_words(shared_data: Path, tmp_path: Path, cli: Run) -> None:
    """Real texts: the mean of their words' vectors tells gender, and hardly does afterwards."""
    sample = wb.Embedding.sample()
    bios = shared_data / "bios" / "bios_surgeon_nurse.tsv.gz"
    with gzip.open(bios, "rt", encoding="utf-8") as file:
        rows = [row for i, row in enumerate(csv.DictReader(file, delimiter="\t")) if i % 3 == 0]
    texts = [[word for word in row["text"].lower().split() if word in sample] for row in rows]
    usable = [i for i, words in enumerate(texts) if words]
    x = np.stack([sample.take(texts[i]).mean(0) for i in usable])
    np.save(tmp_path / "bios.npy", x)
    (tmp_path / "gender.txt").write_text("\n".join(rows[i]["gender"] for i in usable))
    (tmp_path / "job.txt").write_text("\n".join(rows[i]["profession"] for i in usable))
    done = cli(
        "erase", tmp_path / "bios.npy", "--labels", tmp_path / "gender.txt", "--also",
        tmp_path / "job.txt", "--format", "json", "-q",
    )  # fmt: skip
    assert done.code == 0, done.err
    by_stage = {(row["measure"], row["stage"]): row for row in json.loads(done.out)["rows"]}
    before, after = (by_stage["linear-probe", stage] for stage in ("before", "after"))
    assert before["low"] > before["neutral"] + 0.2
    assert after["value"] < before["neutral"] + 0.06
    assert by_stage["task-accuracy", "after"]["low"] > by_stage["task-accuracy", "after"]["neutral"]


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_no_method_without_its_rows(
    tmp_path: Path, process: Run
) -> None:
    x, y = vectors(2000)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "gender.txt").write_text("\n".join(y) + "\n")
    call = ("erase", tmp_path / "x.npy", "--labels", tmp_path / "gender.txt")
    outputs = ("-o", tmp_path / "clean.npy", "--save-transform", tmp_path / "m.st")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    for before in ({"gender.txt", "x.npy"}, {"gender.txt", "x.npy", "m.st"}):
        if "m.st" in before:
            (tmp_path / "m.st").write_bytes(b"of another call")
        done = process(*call, *outputs, preexec_fn=limit)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "clean.npy" in done.err
        assert {path.name for path in tmp_path.iterdir()} == before
    assert (tmp_path / "m.st").read_bytes() == b"of another call"
