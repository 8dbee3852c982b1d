"""`wordbias mab-study`: a whole small study, its files, and bad calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_study
import stand_ins

from wordbias.wordlists import Templates

Run = Callable[..., Any]

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_study.write(tmp_path_factory.mktemp("study"), base=0.0, one=0.3, two=0.6)


@pytest.fixture
def five_premises(monkeypatch: pytest.MonkeyPatch) -> None:
    small_study.five_premises(monkeypatch)


def _call(
    cli: Run, files: Path, out: Path, *more: object, names: tuple[str, ...] = ("base", "one", "two")
) -> Any:
    given = [files / f"{name}.safetensors" for name in names]
    pairs = ("--train", files / "pairs.tsv", "--dev", files / "pairs.tsv")
    return cli("mab-study", *given, *pairs, "-o", out, *more)


@pytest.mark.slow
@pytest.mark.usefixtures("five_premises")
def test_a_finished_study_is_not_repeated(cli: Run, files: Path, tmp_path: Path) -> None:
    options = ("--epochs", 1, "--seed", "0,1", "--only", "direct-bias", "--jobs", 1, "-q")
    options += ("--benchmarks", files / "similar.txt")
    done = _call(cli, files, tmp_path / "out", *options, "--format", "json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["rows"] == json.loads((tmp_path / "out" / "study.json").read_text())["rows"]
    models = sorted(path.name for path in (tmp_path / "out").glob("*.safetensors"))
    assert models == [
        f"{name}.seed{seed}.safetensors" for name in ("base", "one", "two") for seed in (0, 1)
    ]
    averaged = [r for r in report["rows"] if r["measure"] == "mab-error" and "seeds" in r]
    assert {r["subject"] for r in averaged} == {"base", "one", "two"}
    qualities = {r["subject"]: r["value"] for r in report["rows"] if r["measure"] == "similarity"}
    for name, value in qualities.items():
        alone = cli("quality", files / f"{name}.safetensors", "--benchmarks", files / "similar.txt",
                    "--format", "json")  # fmt: skip
        assert json.loads(alone.out)["rows"][0]["value"] == value
    assert set(qualities) == {"base", "one", "two"}
    for r in report["rows"]:
        if r["measure"] == "mab-error-change":
            of = {
                (row["subject"], row["seed"]): row["value"]
                for row in report["rows"]
                if row["measure"] == "mab-error" and "seed" in row
                if row["setting"] == r["setting"]
            }
            d = [of[r["subject"], seed] - of["base", seed] for seed in (0, 1)]
            assert r["value"] == pytest.approx(np.mean(d))
            assert (r["original"], r["n"], r["tests"], r["p"]) in (
                ("base", 2, 4, 0.5),  # both differences of one sign
                ("base", 2, 4, 1.0),
            )
    changed = [(r["subject"], r["measure"]) for r in report["rows"] if "change" in r["measure"]]
    assert sorted(changed) == sorted(
        (name, f"mab-{what}-change") for name in ("one", "two") for what in ("error", "distance")
        for _ in ("nouns", "pronouns")
    )  # fmt: skip
    related = [r for r in report["rows"] if r["measure"] == "correlation"]
    assert {(r["x"], r["y"], r["n"]) for r in related} == {
        ("direct-bias", "E", 3),
        ("direct-bias-pca", "E", 3),
    }
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.safetensors")}
    rerun = _call(cli, files, tmp_path / "out", *options, "--format", "json")
    assert json.loads(rerun.out)["rows"] == report["rows"]
    assert before == {path: path.stat().st_mtime_ns for path in before}
    table = _call(cli, files, tmp_path / "out", *options, "--plot", tmp_path / "figure.svg")
    assert f"Drawn: {tmp_path / 'figure.svg'}." in table.out
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    for text in ("E, nouns", "d, pronouns", "one", "two", "difference from base"):
        assert text in drawn
    assert "Table 1, nouns" in table.out
    assert "Table 5: correlation with E" in table.out
    assert "Difference to base in E, models of the same seed in pairs" in table.out
    text = " ".join(table.out.split())
    first = text.partition("Accuracy, and marked attribute bias")[0]
    assert "p cannot reach .05: with 2 seeds the smallest is .500" in first
    assert "2 seeds find a difference of 26 % in E of the nouns" in text
    assert max(map(len, table.out.splitlines())) <= 100


@pytest.mark.slow
@pytest.mark.usefixtures("five_premises")
def test_random_removals_are_one_arm_and_the_others_are_compared_with_it(
    cli: Run, files: Path, tmp_path: Path
) -> None:
    options = ("--epochs", 1, "--only", "direct-bias", "--jobs", 1, "-q", "--null", 2)
    options += ("--benchmarks", files / "similar.txt")
    call = partial(_call, cli, files, tmp_path / "out", *options, names=("base", "one"))
    done = call("--seed", "0,1,2", "--format", "json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"]
    models = {path.name for path in (tmp_path / "out").glob("base.null*.safetensors")}
    assert models == {f"base.null-{seed % 2}.seed{seed}.safetensors" for seed in (0, 1, 2)}

    error = {
        (r["subject"], r["seed"]): r
        for r in rows
        if r["measure"] == "mab-error" and "seed" in r and r["setting"] == "nouns"
    }
    assert {name for name, _ in error} == {"base", "one", "base.null"}
    assert [error["base.null", s]["draw"] for s in (0, 1, 2)] == [
        "base.null-0", "base.null-1", "base.null-0",
    ]  # fmt: skip

    def difference(name: str, other: str) -> float:
        return float(
            np.mean([error[name, s]["value"] - error[other, s]["value"] for s in (0, 1, 2)])
        )

    nouns = {
        (r["measure"], r["subject"]): r for r in rows if r.get("setting") == "nouns" and "p" in r
        if r["measure"].startswith("mab-error-")
    }  # fmt: skip
    for key, other in {
        ("mab-error-change", "one"): "base",
        ("mab-error-change", "base.null"): "base",
        ("mab-error-against-null", "one"): "base.null",
    }.items():
        row = nouns.pop(key)
        assert row["value"] == pytest.approx(difference(key[1], other))
        assert (row["original"], row["n"]) == (other, 3)
        assert row["low"] <= row["value"] <= row["high"]
        assert row["p"] <= row["p_holm"] <= 1
    assert not nouns
    stored = tmp_path / "out"
    for measure, kind in (("direct-bias", "measures"), ("similarity", "quality")):
        (row,) = (r for r in rows if (r["subject"], r["measure"]) == ("base.null", measure))
        values = [
            next(
                r["value"] for r in json.loads(path.read_text())["rows"] if r["measure"] == measure
            )
            for path in (stored / f"base.null-{i}.{kind}.json" for i in (0, 1))
        ]
        assert row["value"] == pytest.approx((2 * values[0] + values[1]) / 3)  # seeds 0, 2; 1
        assert row["sd"] == pytest.approx(np.std(values, ddof=1))
        assert (row["draws"], "low" in row) == (2, False)

    before = {path: path.stat().st_mtime_ns for path in stored.glob("*.safetensors")}
    rerun = call("--seed", "0,1,2,3", "--format", "json")
    assert rerun.code == 0, rerun.err
    assert before == {path: path.stat().st_mtime_ns for path in before}
    earlier = [r for r in json.loads(rerun.out)["rows"] if r.get("seed") in (0, 1, 2)]
    assert earlier == [r for r in rows if "seed" in r]
    table = call("--seed", "0,1,2")
    assert "Difference to base.null in E, models of the same seed in pairs" in table.out
    printed = " ".join(table.out.split())
    assert "base.null: 2 random removals with the weights of MISP, together one arm." in printed
    assert max(map(len, table.out.splitlines())) <= 100
    refused = call("--seed", "0,2")
    assert (refused.code, "2 seeds would use 1 of 2 draws" in refused.err) == (2, True)


@pytest.mark.slow
@pytest.mark.usefixtures("five_premises")
def test_misp_of_redrawn_names_is_one_arm_beside_random_removals(
    cli: Run, files: Path, tmp_path: Path
) -> None:
    options = ("--epochs", 1, "--only", "direct-bias", "--jobs", 1, "-q", "--seed-lists", 2)
    options += ("--null", 1)
    call = partial(_call, cli, files, tmp_path / "out", *options, names=("base", "one"))
    done = call("--seed", "0,1", "--format", "json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"]
    models = {path.name for path in (tmp_path / "out").glob("base.misp-lists*.safetensors")}
    assert models == {f"base.misp-lists-{seed}.seed{seed}.safetensors" for seed in (0, 1)}
    error = {
        (r["subject"], r["seed"]): r["value"]
        for r in rows
        if r["measure"] == "mab-error" and "seed" in r and r["setting"] == "nouns"
    }
    differences = {
        (r["measure"], r["subject"]): r["value"]
        for r in rows
        if r["measure"].startswith("mab-error-") and r.get("setting") == "nouns" and "p" in r
    }
    arms = {"change": "base", "against-null": "base.null", "against-lists": "base.misp-lists"}
    expected = {
        (f"mab-error-{kind}", name): np.mean([error[name, s] - error[other, s] for s in (0, 1)])
        for kind, other in arms.items()
        for name in ("one", "base.null", "base.misp-lists")
        if name != other and (kind, name) != ("against-lists", "base.null")
    }
    assert differences == pytest.approx(expected)
    (measured,) = (
        r for r in rows if (r["subject"], r["measure"]) == ("base.misp-lists", "direct-bias")
    )
    assert (measured["draws"], "low" in measured) == (2, False)
    table = call("--seed", "0,1")
    assert "Difference to base.misp-lists in E, models of the same seed in pairs" in table.out
    printed = " ".join(table.out.split())
    assert "base.misp-lists: MISP fitted to 2 redraws of the names, together one arm." in printed
    assert max(map(len, table.out.splitlines())) <= 100
    refused = call("--seed", "0,2")
    assert refused.code == 2
    assert "--seed-lists: 2 seeds would use 1 of 2 draws" in refused.err


def test_bad_calls_are_one_line(cli: Run, files: Path, tmp_path: Path) -> None:
    missing = cli(
        "mab-study", files / "base.safetensors", "--train", "none.tsv", "--dev", "none.tsv",
        "-o", tmp_path,
    )  # fmt: skip
    assert (missing.code, missing.err.count("\n")) == (1, 1)
    assert "none.tsv: cannot be read" in missing.err
    assert _call(cli, files, tmp_path, "--seed", "a").code == 2
    assert cli("mab-study", "--train", "a", "--dev", "b", "-o", "c").code == 2
    for output, message in (
        (files / "pairs.tsv", "is a file; name a folder"),
        (tmp_path / "none" / "study", f"the folder {tmp_path / 'none'} does not exist"),
    ):
        done = _call(cli, files, output)
        assert (done.code, message in done.err, done.err.count("\n")) == (1, True, 1)
    done = _call(cli, files, tmp_path / "study", "--only", "beauty")
    assert "measure 'beauty': expected one of midb, direct-bias," in done.err
    assert not list(tmp_path.iterdir())
    twice = [files / "base.safetensors"] * 2
    same = cli("mab-study", *twice, "--train", files / "pairs.tsv", "--dev", files / "pairs.tsv",
               "-o", tmp_path)  # fmt: skip
    assert (same.code, "the same name" in same.err) == (1, True)


def _without(words: set[str], path: Path) -> None:
    sample = stand_ins.small()
    sample.subset([word for word in sample.words if word not in words]).save(path)


@pytest.mark.slow
def test_a_set_whose_words_are_missing_is_skipped_and_the_study_goes_on(
    cli: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.nli.study.marked_sets", lambda _: ("explicit", "names"))
    few = list(Templates.load().premises())[:2]
    monkeypatch.setattr(Templates, "premises", lambda _: tuple(few))
    absent = [name for names in Templates.load().names for name in names][::30]
    _without(
        {form for name in absent for form in (name, name.lower())}, tmp_path / "few.safetensors"
    )
    _without(set(), tmp_path / "whole.safetensors")
    given = [tmp_path / "whole.safetensors", tmp_path / "few.safetensors"]
    pairs = ("--train", files / "pairs.tsv", "--dev", files / "pairs.tsv")
    options = ("--epochs", 1, "--seed", "0,1", "--only", "direct-bias")
    call = ("mab-study", *given, *pairs, "-o", tmp_path / "out", *options)
    done = cli(*call, "--format", "json")
    assert done.code == 0, done.err
    total = sum(map(len, Templates.load().names)) + 1
    named = ", ".join(absent[:5])
    message = f"lacks {len(absent)} of {total} words that the set names asks about ({named}"
    assert f"note: few {message}" in done.err
    assert "wordbias mab-eval" not in done.err
    rows = json.loads(done.out)["rows"]
    errors = {
        (r["subject"], r["set"], r["setting"]): r
        for r in rows
        if r["measure"] == "mab-error" and "seeds" in r
    }
    lacking = errors["few", "names", "names"]
    assert lacking["value"] is None
    assert f"few {message}" in lacking["reason"]
    assert all(row["value"] is not None for row in errors.values() if row is not lacking)
    assert {key[0] for key in errors} == {"whole", "few"}
    table = cli(*call, "-q")
    assert table.code == 0
    assert "the set is skipped" in " ".join(table.out.split())


def test_a_study_without_any_set_is_refused_before_any_training(
    cli: Run, files: Path, tmp_path: Path
) -> None:
    lists = Templates.load()
    absent = {"gentleman", lists.stereotypes[0][0], lists.names[0][0]}
    _without({form for w in absent for form in (w, w.lower())}, tmp_path / "few.safetensors")
    pairs = ("--train", files / "pairs.tsv", "--dev", files / "pairs.tsv")
    done = cli("mab-study", tmp_path / "few.safetensors", *pairs, "-o", tmp_path / "out", "-q")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "lacks 1 of 9 words that the set explicit asks about (gentleman)" in done.err
    assert "no other marked set can be scored" in done.err
    assert "mab-eval" not in done.err
    assert not (tmp_path / "out").exists()
