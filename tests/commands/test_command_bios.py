from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_encoders

from wordbias.biographies.data import Biographies, load_biographies, sample
from wordbias.biographies.synthetic import synthetic

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordbias.biographies.plan import FROZEN  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

Cli = Callable[..., Any]
SMALL = ["--limit", 300, "--draws", 20, "--max-length", 32, "--device", "cpu", "--seed", "0"]
QUICK = ["--epochs", 3, "--retrain-epochs", 3, "--lr", 0.02, "--retrain-lr", 0.02]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    words = sorted(set(tiny_encoders.words_of(*synthetic().texts)))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), folder)
    return str(folder)


def written(bios: Biographies, path: Path) -> Path:
    """Write biographies as tabbed text."""
    rows = zip(bios.label_names(), bios.gender_names(), bios.texts, strict=True)
    lines = ["\t".join(row) for row in rows]
    path.write_text("\n".join(["profession\tgender\ttext", *lines]) + "\n", encoding="utf-8")
    return path


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_synthetic_frozen(cli: Cli, encoder: str, tmp_path: Path) -> None:
    """All tables, within 100 columns, said to be of synthetic data; nothing on stderr."""
    output, plot = tmp_path / "study", tmp_path / "figure.svg"
    arguments = ["bios", "--model", encoder, "--head-only", "-o", output, "--plot", plot]
    done = cli(*arguments, *SMALL, *QUICK)
    assert done.code == 0, done.err
    assert done.err == ""
    assert all(len(line) <= 100 for line in done.out.splitlines())
    printed = flat(done.out)
    assert "synthetic" in printed
    assert "Table 5" in printed
    for name in ("none", "subsample", "oversample", "scrub", "pretrained", "untrained"):
        assert name in printed
    assert f"Drawn: {plot}." in printed
    assert plot.read_text().lstrip().startswith("<?xml")
    assert len((output / "results.jsonl").read_text().splitlines()) == 6
    rerun = cli(*arguments, *SMALL, *QUICK)
    assert rerun.out == done.out
    other = cli(*arguments, *SMALL, *QUICK, "--epochs", 4)
    assert other.code == 1
    assert other.err == (
        f"wordbias: {output / 'results.jsonl'}: line 1: is of another study: its recipe.epochs is "
        "3, not 4; name another folder\n"
    )


@pytest.mark.slow
def test_random_changes_of_the_same_size(cli: Cli, encoder: str, tmp_path: Path) -> None:
    arguments = [
        "bios",
        "--model",
        encoder,
        "--head-only",
        "-o",
        tmp_path / "study",
        *SMALL,
        *QUICK,
    ]
    given = ["--strategies", "none,subsample", "--seed", "0,1", "--no-baselines"]
    first = cli(*arguments, *given)
    assert first.code == 0, first.err
    done = cli(*arguments, *given, "--random-changes")  # what is there is not made again
    assert done.code == 0, done.err
    assert all(len(line) <= 100 for line in done.out.splitlines())
    printed = flat(done.out)
    assert "Differences from random changes of the same size, paired by seed" in printed
    assert "compared with random changes of the same size" in printed
    lines = (tmp_path / "study" / "results.jsonl").read_text().splitlines()
    jobs = [(record["strategy"], record["seed"]) for record in map(json.loads, lines)]
    assert jobs == [(name, seed) for name in ("none", "subsample", "random-subsample")
                    for seed in (0, 1)]  # fmt: skip
    alone = cli(*arguments, "--strategies", "none", "--random-changes")
    assert (alone.code, alone.out) == (1, "")
    assert alone.err.count("\n") == 1
    assert "no strategy given changes anything" in alone.err


@pytest.mark.slow
def test_arms_of_vectors(cli: Cli, encoder: str, tmp_path: Path) -> None:
    """Tables, the verdict, the figure and the rows; the same call finds all there."""
    plot = tmp_path / "figure.svg"
    arguments = ["bios", "--model", encoder, "--head-only", "-o", tmp_path / "study", *SMALL]
    given = ["--strategies", "none,leace,null:2", "--seed", "0,1", "--no-baselines", *QUICK]
    done = cli(*arguments, *given, "--plot", plot)
    assert done.code == 0, done.err
    assert done.err == ""
    assert all(len(line) <= 100 for line in done.out.splitlines())
    printed = flat(done.out)
    assert "Differences from random changes of the same size, paired by seed" in printed
    assert "trained again? leace: cannot tell, as the seeds are too few (" in printed
    assert (
        "leace: a removal stands behind the encoder of none. After retraining, the last" in printed
    )
    assert "Methods are fitted to the vectors of the training set" in printed
    assert "runs of none, leace." in printed
    assert "random-leace" in plot.read_text()
    written_lines = (tmp_path / "study" / "results.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in written_lines]
    assert [(record["strategy"], record["seed"]) for record in lines] == [
        (name, seed) for name in ("none", "leace", "random-leace") for seed in (0, 1)
    ]
    report = json.loads(cli(*arguments, *given, "--format", "json").out)
    (row,) = [row for row in report["rows"] if "verdict" in row]
    assert (row["subject"], row["stage"], row["verdict"]) == ("leace", "restored", "cannot tell")
    read = [row for row in report["rows"] if row["measure"] == "best-probe" and "seeds" in row]
    assert {row["subject"] for row in read} == {"none", "leace", "random-leace"}
    refused = cli(*arguments, "--strategies", "none,double-hard")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "double-hard is fitted to words" in refused.err
    refused = cli(*arguments, "--strategies", "none,null:2")
    assert (refused.code, "random removals are compared with those" in refused.err) == (
        2,
        True,
    )


@pytest.mark.slow
def test_options_reach_the_study(cli: Cli, encoder: str, tmp_path: Path) -> None:
    shares = tmp_path / "shares.json"
    classes = synthetic().classes
    shares.write_text(json.dumps({name: 10 * i + 5 for i, name in enumerate(classes)}))
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("Amy is at home.\nJohn has a career.\n")
    output = tmp_path / "study"
    done = cli(
        "bios", "--model", encoder, "--head-only", "-o", output, *SMALL, "--strategies", "none",
        "--epochs", 2, "--retrain-epochs", 1, "--batch-size", 50, "--as-published",
        "--pooling", "mean",
        "--precision", "bfloat16", "--shares", shares, "--sentences", sentences, "--no-baselines",
        "--balanced-probe", "--holm", "--format", "jsonl",
    )  # fmt: skip
    assert done.code == 0, done.err
    (line,) = [json.loads(line) for line in (output / "results.jsonl").read_text().splitlines()]
    about = line["about"]
    assert about["frozen"] is True
    assert (about["recipe"]["epochs"], about["recipe"]["batch"]) == (2, 50)
    assert about["recipe"] == {**FROZEN.as_published().to_dict(), "epochs": 2, "batch": 50}
    assert (about["retraining"]["epochs"], about["retraining"]["plain"]) == (1, True)
    assert about["reading"] == {"max_tokens": 32, "pooling": "mean", "precision": "bfloat16"}
    assert about["shares"] == {name: 10 * i + 5 for i, name in enumerate(classes)}
    assert about["ceat"]["sentences"]
    assert about["balanced_probe"]
    assert about["as_published"]
    (ceat,) = [row for row in line["rows"] if row["measure"] == "ceat"]
    assert "weat6" in ceat["reason"]


def test_which_encoder(cli: Cli, tmp_path: Path) -> None:
    done = cli("bios", "-o", tmp_path / "study")
    assert done.code == 1
    assert re.match(r"wordbias: no encoder: give a folder, .*--model;.*roberta-base", done.err)
    assert not (tmp_path / "study").exists()


def test_bad_usage(cli: Cli, encoder: str, tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        done = cli("bios", "--model", encoder, *arguments)
        assert done.code == 2
        return flat(done.err)

    output = ["-o", tmp_path / "study"]
    assert "Missing option '-o'" in refused()
    assert "expected whole numbers" in refused(*output, "--seed", "0,x")
    assert "'float8' is not one of" in refused(*output, "--precision", "float8")
    assert "2 is not in the range" in refused(*output, "--max-length", 2)
    assert "is not one of 'first', 'mean', 'last'" in refused(*output, "--pooling", "max")
    assert not (tmp_path / "study").exists()


def test_bad_input(cli: Cli, encoder: str, tmp_path: Path) -> None:
    def said(*arguments: object) -> str:
        done = cli("bios", "--model", encoder, "-o", tmp_path / "study", *arguments)
        assert done.code == 1
        assert done.err.count("\n") == 1
        assert not (tmp_path / "study" / "results.jsonl").exists()
        return str(done.err)

    data = written(sample(synthetic(), 40), tmp_path / "bios.tsv")
    assert "strategy 'wish': expected none" in said("--strategies", "none,wish")
    assert "options for columns need a file" in said("--text-column", "bio")
    assert "--sentence-column names a column of --sentences" in said("--sentence-column", "x")
    assert "figure.txt" in said("--plot", tmp_path / "figure.txt")
    assert "is both --data and -o" in said("--data", data, "-o", data)
    assert "no such folder" in said("--data", data, "--model", tmp_path / "none")
    assert "; use cpu" in said("--device", "abacus")
    assert "cannot be made, the folder" in said("-o", tmp_path / "no" / "study")
    assert not (tmp_path / "no").exists()
    assert not (tmp_path / "study").exists()


@pytest.mark.slow
def test_a_class_that_a_limit_leaves_empty(cli: Cli, encoder: str, tmp_path: Path) -> None:
    """It has no share of women, which JSON could not say."""
    texts = [f"text {i} works" for i in range(60)]
    genders = ["F" if i % 2 else "M" for i in range(60)]
    kinds = [("train", "dev", "test")[i % 3] for i in range(60)]
    jobs = ["poet" if i == 59 else ("nurse", "surgeon")[i // 2 % 2] for i in range(60)]
    rows = zip(texts, jobs, genders, kinds, strict=True)
    lines = ["text\tprofession\tgender\tsplit", *("\t".join(row) for row in rows)]
    data = tmp_path / "bios.tsv"
    data.write_text("\n".join(lines) + "\n")
    limit = next(
        n
        for n in range(58, 30, -1)
        if "poet" not in sample(load_biographies(data), n).label_names()
    )
    given = ["bios", "--model", encoder, "--data", data, "--head-only", "-o", tmp_path / "study"]
    more = ["--strategies", "none", "--no-baselines", *SMALL, "--limit", limit, *QUICK]
    done = cli(*given, *more, "--format", "json")
    assert done.code == 0, done.err
    facts = json.loads(done.out)["inputs"]["biographies"]
    assert facts["classes"] == ["nurse", "poet", "surgeon"]
    assert set(facts["women"]) == {"nurse", "surgeon"}
    printed = flat(cli(*given, *more).out)
    assert f"{limit} biographies, 2 classes" in printed
    assert "nan" not in printed


@pytest.mark.slow
def test_what_is_undefined_everywhere_has_no_table(cli: Cli, encoder: str, tmp_path: Path) -> None:
    """No run, or one, has no correlation: said in words, and there is no table without lines."""
    given = ["bios", "--model", encoder, "--head-only", "-o", tmp_path / "study", "--format", "md"]
    done = cli(*given, *SMALL, *QUICK, "--strategies", "none", "--no-baselines")
    assert done.code == 0, done.err
    assert "R²" not in done.out
    assert "The runs do not tell: 0 runs have both, needed are 3." in flat(done.out)
    lines = done.out.splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("| ---")]
    assert rules
    assert all(lines[i + 1].startswith("|") for i in rules)


@pytest.mark.slow
def test_real_biographies(cli: Cli, shared_data: Path, tmp_path: Path) -> None:
    """Surgeons and nurses; the tiny encoder is drawn at random, so only the data are real."""
    data = shared_data / "bios" / "bios_surgeon_nurse.tsv.gz"
    words = sorted(set(tiny_encoders.words_of("she he her his the of nurse surgeon school care")))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), tmp_path / "bert")
    done = cli(
        "bios", "--model", tmp_path / "bert", "--data", data, "--head-only", "--limit", 600,
        "-o", tmp_path / "study", "--strategies", "none,subsample", "--seed", "0",
        "--epochs", 5, "--retrain-epochs", 5, "--max-length", 32, "--no-baselines",
        "--draws", 20, "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["inputs"]["biographies"]["classes"] == ["nurse", "surgeon"]
    women = report["inputs"]["biographies"]["women"]
    assert women["nurse"] > 0.8 > 0.3 > women["surgeon"]
    correlated = [row for row in report["rows"] if row.get("set") == "pearson" and "view" in row]
    assert correlated
    assert all(row["value"] is None for row in correlated)
    assert all(row["reason"].endswith("needed are 3") for row in correlated)
