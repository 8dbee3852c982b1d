"""`wordbias mab-study "NAME{seed}.txt"`: vectors that were trained anew for each seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_study

pytest.importorskip("torch", reason="the study trains models")

import wordbias as wb
from wordbias import Embedding
from wordbias.functions.mab_study import mab_study

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms with vectors of each of three seeds, and an embedding for all."""
    names = ("glove0", "glove1", "glove2", "gn-0", "gn-1", "gn-2", "fixed")
    return small_study.write(tmp_path_factory.mktemp("seeds"), **dict.fromkeys(names, 0.3))


@pytest.fixture(autouse=True)
def _five_premises(monkeypatch: pytest.MonkeyPatch) -> None:
    small_study.five_premises(monkeypatch)


def _call(cli: Run, files: Path, out: Path, names: tuple[str, ...], *more: object) -> Any:
    given = [files / f"{name}.safetensors" for name in names]
    options = ("--train", files / "pairs.tsv", "--dev", files / "pairs.tsv", "--epochs", 1)
    options += ("--only", "direct-bias", "--jobs", 1)
    return cli("mab-study", *given, *options, "-o", out, *more)


def _models(folder: Path) -> set[str]:
    return {path.name.removesuffix(".safetensors") for path in folder.glob("*.safetensors")}


@pytest.mark.slow
def test_the_model_of_a_seed_reads_the_vectors_of_that_seed(
    cli: Run, files: Path, tmp_path: Path
) -> None:
    arms, out = ("glove{seed}", "gn-{seed}", "fixed"), tmp_path / "study"
    more = ("--null", 2, "--benchmarks", files / "similar.txt", "--format", "json")
    done = _call(cli, files, out, arms, *more, "--seed", "0,1")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    rows = report["rows"]
    of_arms = {
        "glove": "glove{}",
        "gn": "gn-{}",
        "fixed": "fixed",
        "glove.null": "glove{0}.null-{0}",
    }
    assert _models(out) == {f"{of_arms[arm].format(s)}.seed{s}" for arm in of_arms for s in (0, 1)}
    for name, about in report["inputs"].items():
        path = files / f"{name}.safetensors"
        assert about["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert set(report["inputs"]) == {"glove0", "glove1", "gn-0", "gn-1", "fixed"}

    single = {
        (r["subject"], r["seed"]): r
        for r in rows
        if r["measure"] == "mab-error" and r["setting"] == "nouns" and "seed" in r
    }
    assert {key: r.get("draw") for key, r in single.items()} == {
        (arm, s): None if arm == "fixed" else of_arms[arm].format(s)
        for arm in of_arms
        for s in (0, 1)
    }
    for r in rows:
        other = {"mab-error-change": "glove", "mab-error-against-null": "glove.null"}
        if r["measure"] in other and r["setting"] == "nouns":
            assert r["original"] == other[r["measure"]]
            d = [single[r["subject"], s]["value"] - single[r["original"], s]["value"]
                 for s in (0, 1)]  # fmt: skip
            assert r["value"] == pytest.approx(np.mean(d))
            assert r["n"] == 2

    _measures_are_those_of_each_file(cli, files, out, rows)

    before = {path: path.stat().st_mtime_ns for path in out.glob("*.safetensors")}
    rerun = _call(cli, files, out, arms, *more, "--seed", "0,1,2", "--null", 3)
    assert rerun.code == 0, rerun.err
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert len(_models(out)) == len(before) + 4
    seed_rows = [r for r in json.loads(rerun.out)["rows"] if r.get("seed") in (0, 1)]
    assert seed_rows == [r for r in rows if "seed" in r]

    table = _call(cli, files, out, arms, *more[:4], "--seed", "0,1")
    text = " ".join(table.out.split())
    assert "Embeddings: 3. Models of each: 2. glove, gn: vectors of each seed; differences" in text
    assert "vary over the training of vectors and of models." in text
    assert "glove.null: 2 random removals with the weights of MISP, together one arm." in text
    assert max(map(len, table.out.splitlines())) <= 100


def _measures_are_those_of_each_file(cli: Run, files: Path, out: Path, rows: Any) -> None:
    """An arm has the mean; each file is compared with the first one of its seed."""

    def stored(name: str) -> Any:
        return json.loads((out / name).read_text())

    for kind, measure in (("measures", "direct-bias"), ("quality", "similarity")):
        (row,) = (r for r in rows if (r["subject"], r["measure"]) == ("gn", measure))
        values = [
            next(
                r["value"] for r in stored(f"gn-{s}.{kind}.json")["rows"] if r["measure"] == measure
            )
            for s in (0, 1)
        ]
        assert row["value"] == pytest.approx(np.mean(values))
        assert row["sd"] == pytest.approx(np.std(values, ddof=1))
        assert (row["draws"], "low" in row) == (2, False)
        assert row.get("original", "glove") == "glove"
    alone = [
        json.loads(cli("measure", files / f"gn-{s}.safetensors", "--only", "direct-bias",
                       "--original", files / f"glove{s}.safetensors", "--format", "json").out)
        for s in (0, 1)
    ]  # fmt: skip
    assert [
        r["value"] for report in alone for r in report["rows"] if r["measure"] == "direct-bias"
    ] == [
        pytest.approx(r["value"])
        for s in (0, 1)
        for r in stored(f"gn-{s}.measures.json")["rows"]
        if r["measure"] == "direct-bias"
    ]
    digest = [
        hashlib.sha256((files / f"glove{s}.safetensors").read_bytes()).hexdigest() for s in (0, 1)
    ]
    for arm in ("glove{}", "gn-{}", "fixed.against-glove{}", "glove{0}.null-{0}"):
        assert [
            stored(f"{arm.format(s)}.measures.json")["about"]["original"] for s in (0, 1)
        ] == digest
    (row,) = (r for r in rows if (r["subject"], r["measure"]) == ("fixed", "similarity"))
    assert "draws" not in row


@pytest.mark.slow
def test_files_and_a_mapping_of_vectors_are_the_same_study(files: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "train": files / "pairs.tsv", "dev": files / "pairs.tsv", "epochs": 1,
        "only": ["direct-bias"], "seed": [0, 1],
    }  # fmt: skip
    patterns = [files / "fixed.safetensors", files / "glove{seed}.safetensors"]
    from_files = mab_study(patterns, output=tmp_path / "files", **given)
    by_seed = {s: wb.load(files / f"glove{s}.safetensors") for s in (0, 1)}
    vectors = {"fixed": wb.load(patterns[0]), "glove": by_seed}
    two = mab_study(vectors, output=tmp_path / "vectors", **given)
    assert from_files.rows == two.rows
    assert {row.details["original"] for row in from_files["mab-error-change"]} == {"fixed"}
    assert not list((tmp_path / "files").glob("*.against-*"))


@pytest.mark.slow
def test_lists_and_permuted_weights_start_from_the_vectors_of_the_seed(
    cli: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.nli.arms.ORDERS", ("1234", "2134"))
    more = ("--seed-lists", 2, "--permute-weights", "--seed", "0,1", "--format", "json")
    done = _call(cli, files, tmp_path / "study", ("glove{seed}",), *more)
    assert done.code == 0, done.err
    assert _models(tmp_path / "study") == {
        f"glove{s}{kind}.seed{s}"
        for s in (0, 1)
        for kind in ("", f".misp-lists-{s}", ".perm-1234", ".perm-2134")
    }
    subjects = {r["subject"] for r in json.loads(done.out)["rows"] if r["measure"] == "mab-error"}
    assert subjects == {"glove", "glove.misp-lists", "glove.perm-1234", "glove.perm-2134"}


@pytest.mark.slow
def test_one_seed_of_an_arm_has_no_interval(cli: Run, files: Path, tmp_path: Path) -> None:
    done = _call(cli, files, tmp_path / "study", ("glove{seed}", "gn-{seed}"), "--seed", 2)
    assert done.code == 0, done.err
    assert _models(tmp_path / "study") == {"glove2.seed2", "gn-2.seed2"}
    assert "Differences have no interval: one model of each embedding" in " ".join(done.out.split())


def test_bad_names_are_refused_before_any_training(cli: Run, files: Path, tmp_path: Path) -> None:
    few = Embedding.sample().vectors[:, :10]
    Embedding(Embedding.sample().words, few).save(tmp_path / "few1.safetensors")
    (tmp_path / "few0.safetensors").write_bytes((files / "glove0.safetensors").read_bytes())
    out = tmp_path / "study"
    for names, seeds, message in (
        (("glove{seed}", "gn-{seed}"), "0,3", "glove3.safetensors: "),
        (("glove{foo}",), "0,1", "glove{foo}.safetensors: there is no such file; a name for the"),
        (("glove{seed}", "glove{seed}"), "0,1", "two embeddings have the same name"),
        (("glove{seed}", "glove0"), "0,1", "two embeddings have the same name"),
        (
            ("glove{seed}", str(tmp_path / "few{seed}")),
            "0,1",
            "dimension, found glove0 100, few1 10",
        ),
    ):
        done = _call(cli, files, out, names, "--seed", seeds)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert message in done.err
    assert not out.exists()


@pytest.mark.slow
def test_methods_stand_behind_an_embedding(cli: Run, files: Path, tmp_path: Path) -> None:
    """An arm with methods is the file that they write; draws are those of the options."""
    out, base = tmp_path / "study", files / "fixed.safetensors"
    options = ("--train", files / "pairs.tsv", "--dev", files / "pairs.tsv", "--epochs", 1)
    options += ("--only", "direct-bias", "--jobs", 1, "--seed", "0,1", "--format", "json")
    done = cli("mab-study", base, f"{files}/gn-{{seed}}.safetensors@hard:direction=she-he",
               "@misp:dims=2", "@null:2", *options, "-o", out)  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    hard, misp = "gn@hard-direction=she-he", "fixed@misp-dims=2"
    arms = {row["subject"] for row in report["rows"] if row["measure"] == "mab-error"}
    assert arms == {"fixed", hard, misp, "fixed.null"}
    models = {f"fixed.seed{s}" for s in (0, 1)} | {f"{misp}.seed{s}" for s in (0, 1)}
    models |= {f"gn-{s}@hard-direction=she-he.seed{s}" for s in (0, 1)}
    assert _models(out) == models | {f"fixed.null-{s}.seed{s}" for s in (0, 1)}
    written = tmp_path / "two.safetensors"
    assert cli("debias", "misp:dims=2", base, "-o", written).code == 0
    plain = cli("mab-study", base, written, *options, "--null", 2, "-o", tmp_path / "plain")

    def values(found: Any, name: str) -> list[Any]:
        of = (row for row in found["rows"] if row["subject"] == name)
        return [row["value"] for row in of if not row["measure"].endswith("against-null")]

    for name, other in ((misp, "two"), ("fixed.null", "fixed.null")):
        assert values(report, name) == values(json.loads(plain.out), other)
    before = cli("mab-study", "@misp", base, *options, "-o", out)
    assert (before.code, before.err.count("\n")) == (1, 1)
    assert "@misp: the first arm has no embedding; name one before the @" in before.err
