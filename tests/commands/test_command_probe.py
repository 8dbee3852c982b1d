"""`wordbias probe`: its inputs, its formats, its figure, and how it refuses."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.columns import Column
from wordbias.models.representations import Representations, save_representations
from wordbias.probes.mdl import online_code, to_published
from wordbias.probes.train import Recipe

Run = Callable[..., Any]
Refused = Callable[..., str]
N = 400


def _vectors(trained: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    x = rng.standard_normal((3, N, 8)).astype(np.float32) / 2
    if trained:
        x[1, :, 0] += 0.5 * (2 * y - 1)
        x[2, :, 0] += 3 * (2 * y - 1)
    return x, y


def _encoded(path: Path, trained: bool = True) -> Path:
    x, y = _vectors(trained)
    rng = np.random.default_rng(1)
    columns = {
        "gender": Column.of("FM"[i] for i in y),
        "profession": Column.of(f"p{i}" for i in rng.integers(0, 20, N)),
        "split": Column.of(("train", "dev", "test")[i] for i in rng.integers(0, 3, N)),
        "only": Column.of("a" for _ in y),
        "id": Column.of(str(i) for i in range(N)),
    }
    save_representations(Representations(x, (0, 6, 12), columns, {"model": "tiny"}), path)
    return path


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _encoded(tmp_path_factory.mktemp("probe") / "trained.st")


@pytest.fixture
def found(cli: Run) -> Callable[..., dict[str, Any]]:
    """Run with few epochs and return the parsed JSON."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli("probe", "--epochs", 8, "--lr", 0.02, "--format", "json", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


def _value(result: dict[str, Any], measure: str, **wanted: Any) -> Any:
    (row,) = [
        row
        for row in result["rows"]
        if row["measure"] == measure and all(row.get(key) == wanted[key] for key in wanted)
    ]
    return row


@pytest.mark.slow
def test_without_arguments_it_probes_the_sample_beside_random_vectors(cli: Run) -> None:
    done = cli("probe")
    assert (done.code, done.err) == (0, "")
    text = " ".join(done.out.split())
    assert "first names by gender" in text
    lines = {line.split()[0]: line.split() for line in done.out.split("\n") if "±" in line}
    compressed, chance = float(lines["sample"][1]), float(lines["random"][1])
    assert compressed > 1.5
    assert chance <= 1.02
    assert "Compression = uniform / online codelength, in bits. 1 = the labels cannot" in text
    assert "finding nothing then gives 1.43" in text
    assert "1 / (f + (1/c − f) / ln 2)" in text
    assert max(map(len, done.out.split("\n"))) <= 100


def test_the_sample_has_a_thousand_names_and_the_control_none(found: Run) -> None:
    result = found()
    (sample, random) = (
        _value(result, "compression", subject=s, set="labels") for s in ("sample", "random")
    )
    assert sample["n"] == random["n"] >= 1000
    assert (sample["better"], sample["seeds"]) == ("lower", [0, 1, 2])
    assert 1 <= sample["neutral"] < 1.001, "nearly as many names are of women as of men"
    assert len(set(sample["values"])) == 3
    assert sample["min"] <= sample["value"] <= sample["max"]
    assert sample["sd"] == pytest.approx(np.std(sample["values"], ddof=1))
    assert "layer" not in sample
    assert result["inputs"]["random"]["random"] is True


def test_every_layer_beside_an_untrained_encoder(found: Run, tmp_path: Path, encoded: Path) -> None:
    other = _encoded(tmp_path / "untrained.st", trained=False)
    result = found(encoded, other, "--labels", "gender", "--seed", "0,5")
    by_layer = [
        _value(result, "compression", subject="trained", set="labels", layer=layer)["value"]
        for layer in (0, 6, 12)
    ]
    assert by_layer[0] <= 1.02 < by_layer[1] < by_layer[2]
    for layer in (0, 6, 12):
        row = _value(result, "compression", subject="untrained", set="labels", layer=layer)
        assert row["value"] <= 1.02
        control = _value(result, "compression", subject="trained", set="control", layer=layer)
        assert control["value"] <= 1.02
    picked = _value(result, "selectivity", subject="trained", layer=12)
    accuracy = _value(result, "probe-accuracy", subject="trained", set="labels", layer=12)
    control = _value(result, "probe-accuracy", subject="trained", set="control", layer=12)
    assert picked["value"] == pytest.approx(accuracy["value"] - control["value"])
    assert result["inputs"]["trained"]["about"] == {"model": "tiny"}


def test_the_command_is_the_library(found: Run, encoded: Path) -> None:
    x, y = _vectors()
    result = found(encoded, "--labels", "gender", "--layers", "6", "--seed", 3, "--no-control")
    apart = x[1] - x[1].mean(0)
    scaled = (apart / np.sqrt((apart**2).mean())).astype(np.float32)
    code = online_code(scaled, y, seed=3, recipe=Recipe(epochs=8, rate=0.02))
    assert _value(result, "compression")["value"] == pytest.approx(code.compression, rel=1e-4)
    length = _value(result, "codelength")
    assert length["value"] == pytest.approx(code.codelength, rel=1e-4)
    assert length["scale"] == "bits"
    assert sum(length["block_bits"][0]) == pytest.approx(length["value"])
    assert length["block_ends"] == [code.ends().tolist()]
    assert _value(result, "uniform-codelength")["value"] == N
    assert {row["layer"] for row in result["rows"]} == {6}
    assert {row["set"] for row in result["rows"]} == {"labels"}


def test_both_figures_obey_the_conversion(found: Run, encoded: Path) -> None:
    result = found(encoded, "--labels", "gender", "--seed", 0)
    for layer in (0, 6, 12):
        published = _value(result, "compression-as-published", set="labels", layer=layer)
        f1 = published["first_share"]
        assert f1 == 8 / N
        bits = _value(result, "compression", set="labels", layer=layer)["value"]
        assert published["value"] == pytest.approx(to_published(bits, f1), rel=1e-9)
        neutral = _value(result, "compression", set="labels", layer=layer)["neutral"]
        assert published["neutral"] == pytest.approx(1 / (f1 + (1 / neutral - f1) * math.log(2)))
        length = _value(result, "codelength", set="labels", layer=layer)
        assert length["neutral"] == pytest.approx(N / neutral)


@pytest.mark.slow
def test_neutral_is_what_the_shares_of_the_classes_give(cli: Run, tmp_path: Path) -> None:
    """A probe learns that a class is rare from any vectors; that is no trace of the label."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.1, "rare", "other")
    np.savez(tmp_path / "x.npz", x=rng.normal(size=(3000, 3)).astype(np.float32), y=y)
    arguments = ("probe", tmp_path / "x.npz", "--array", "x", "--labels", "y", "--seed", "0,1,2")
    done = cli(*arguments)
    assert (done.code, done.err) == (0, "")
    p = np.mean(y == "rare")
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    neutral = 3000 / (60 + 2940 * entropy)
    text = " ".join(done.out.split())
    assert f"{neutral:.3g} = the labels cannot be read from the vectors" in text
    assert "The shares of the classes alone give that much" in text
    row = _value(json.loads(cli(*arguments, "--format", "json").out), "compression", set="labels")
    assert row["neutral"] == pytest.approx(neutral)
    assert 1.3 < row["value"] <= 1.02 * neutral


@pytest.mark.slow
def test_as_published_uses_the_last_weights(cli: Run, encoded: Path) -> None:
    arguments = ("probe", encoded, "--labels", "gender", "--layers", 0, "--dev", "split=dev")
    best, last = cli(*arguments), cli(*arguments, "--as-published")
    assert "external dev set, as published. That is not a valid code" in " ".join(best.out.split())
    assert "--as-published: the last weights" in last.out
    assert "--as-published" not in best.out
    assert best.out.split("Compression =")[0] != last.out.split("Compression =")[0]


def test_arrays_with_a_label_file(found: Run, encoded: Path, tmp_path: Path) -> None:
    x, y = _vectors()
    labels = tmp_path / "y.txt"
    labels.write_text("".join("FM"[i] + "\n" for i in y), encoding="utf-8")
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", states=x[1], other=x[2])
    expected = found(encoded, "--labels", "gender", "--seed", 0)
    several = found(tmp_path / "x.npy", "--labels", labels, "--seed", 0)
    for layer, number in ((0, 0), (6, 1), (12, 2)):
        assert (
            _value(several, "compression", set="labels", layer=number)["value"]
            == _value(expected, "compression", set="labels", layer=layer)["value"]
        )
    single = found(tmp_path / "x.npz", "--array", "states", "--labels", labels, "--seed", 0)
    assert _value(single, "compression", set="labels")["value"] == pytest.approx(
        _value(expected, "compression", set="labels", layer=6)["value"], rel=1e-4
    )
    assert "layer" not in single["rows"][0]
    assert {row["subject"] for row in single["rows"]} == {"x"}


def test_two_files_of_one_name(found: Run, tmp_path: Path) -> None:
    paths = []
    for folder in "ab":
        (tmp_path / folder).mkdir()
        paths.append(_encoded(tmp_path / folder / "v.st", trained=folder == "a"))
    result = found(*paths, paths[0], "--labels", "gender", "--layers", 12, "--seed", 0)
    assert list(result["inputs"]) == list(map(str, paths))


def test_a_word_list_from_a_file(found: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    vectors = rng.standard_normal((300, 10)).astype(np.float32)
    Embedding(words, vectors).save(tmp_path / "v.txt")
    lines = [f"{w}\t{'hi' if v[0] > 0 else 'lo'}" for w, v in zip(words, vectors, strict=True)]
    listed = tmp_path / "list.tsv"
    listed.write_text("\n".join([*lines, "absent\thi"]), encoding="utf-8")
    result = found(tmp_path / "v.txt", "--labels", listed, "--seed", 0, "--lr", 0.05)
    row = _value(result, "compression", set="labels")
    assert (row["n"], row["value"] > 1.3) == (300, True)
    assert result["inputs"]["v"]["missing"] == 1
    same = found(tmp_path / "v.txt", "--labels", listed, "--seed", 0, "--types", "label")
    assert _value(same, "selectivity")["value"] != _value(result, "selectivity")["value"]


def test_groups_types_and_fractions(found: Run, encoded: Path) -> None:
    common = (encoded, "--labels", "gender", "--layers", 12, "--seed", "0,1")
    result = found(*common, "--unit", "profession", "--types", "profession")
    ends = _value(result, "codelength", set="labels")["block_ends"]
    assert len(ends) == 2
    assert ends[0] != ends[1], "each seed has its own order of the groups"
    result = found(*common, "--fractions", "10,50,100")
    assert _value(result, "codelength", set="labels")["block_ends"] == [[40, 200, 400]] * 2


@pytest.mark.slow
def test_plain_accuracy(found: Run, cli: Run, encoded: Path) -> None:
    result = found(encoded, "--labels", "gender", "--accuracy")
    row = _value(result, "probe-accuracy", set="labels", layer=12)
    assert row["low"] < row["value"] <= row["high"]
    assert row["n"] == 40
    assert row["neutral"] == pytest.approx(0.5, abs=0.1)
    assert {row["measure"] for row in result["rows"]} == {"probe-accuracy", "selectivity"}
    out = cli("probe", encoded, "--labels", "gender", "--accuracy", "--split", "split").out
    assert "majority" in out
    assert "compression" not in out


@pytest.mark.slow
def test_an_mlp(found: Run, encoded: Path) -> None:
    arguments = (encoded, "--labels", "gender", "--layers", 12, "--seed", 0, "--probe", "mlp")
    result = found(*arguments, "--device", "cpu")
    assert _value(result, "compression", set="labels")["value"] > 1.3


@pytest.mark.slow
def test_a_figure(cli: Run, encoded: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.svg"
    quick = ("--epochs", 2, "--labels", "gender", "--plot", path)
    assert cli("probe", encoded, _encoded(tmp_path / "u.st", False), *quick).code == 0
    first = path.read_bytes()
    for text in ("Compression along the layers", "trained: bits an example takes", "u: control"):
        assert text in first.decode()
    assert cli("probe", encoded, "--layers", 6, "--unit", "profession", *quick).code == 0
    assert path.read_bytes() != first


def test_a_figure_of_orders_with_unlike_blocks(cli: Run, tmp_path: Path) -> None:
    """Groups of very unlike sizes: some seeds have fewer blocks than others."""
    pytest.importorskip("matplotlib")
    x, y = _vectors()
    np.save(tmp_path / "x.npy", x[1])
    for name, values in (("y", y), ("g", np.minimum(np.arange(N) // 3, 40))):
        (tmp_path / name).write_text("".join(f"{i}\n" for i in values), encoding="utf-8")
    arguments = ("--labels", tmp_path / "y", "--unit", tmp_path / "g", "--no-control")
    path = tmp_path / "figure.svg"
    more = ("--epochs", 1, "--seed", "0,1,2,3,4", "--format", "json", "--plot", path)
    done = cli("probe", tmp_path / "x.npy", *arguments, *more)
    assert done.code == 0
    ends = _value(json.loads(done.out), "codelength")["block_ends"]
    assert len({len(block_ends) for block_ends in ends}) > 1
    assert "bits per example" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_figure_of_inputs_without_layers(cli: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.svg"
    assert cli("probe", "--epochs", 1, "--plot", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert all(name in text for name in ("sample: control", "random", "without a model"))
    assert "Compression along" not in text


def test_figures_that_cannot_be_drawn_are_refused(
    refused: Refused, encoded: Path, tmp_path: Path
) -> None:
    assert "name a file in .png, .pdf, .svg" in refused("probe", "--plot", tmp_path / "f.gif")
    assert "does not exist" in refused("probe", "--plot", tmp_path / "none" / "f.png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            "no labels given: name them with --labels COLUMN or --labels FILE (one a line); its "
            "columns: gender",
        ),
        (("--labels", "only"), "only needs two classes at least; all are 'a'"),
        (("--labels", "id"), "id has 400 classes in 400 texts"),
        (("--labels", "gender", "--fractions", "voita"), "they need 2,000"),
        (("--labels", "gender", "--unit", "only"), "two at least"),
        (("--labels", "gender", "--unit", "nil"), "--unit 'nil': neither a column"),
        (("--labels", "gender", "--dev", "split=val"), "--dev: no split is 'val'; there are dev"),
        (("--labels", "gender", "--dev", "gender=M"), "outside of the dev set all labels are 'F'"),
        (("--labels", "gender", "--dev", "only=a"), "--dev: every only is 'a'; choose one that"),
        (
            ("--labels", "gender", "--accuracy", "--split", "profession"),
            "--split: 'p0' is not",
        ),
        (("--labels", "gender", "--probe", "mlp", "--device", "abacus"), "device 'abacus'"),
    ],
)
def test_bad_arguments_are_refused(
    refused: Refused, encoded: Path, arguments: Any, message: str
) -> None:
    assert message in refused("probe", encoded, *arguments)


def test_label_files_that_do_not_fit_are_refused(
    refused: Refused, encoded: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "y.txt"
    labels.write_text("f\nm\n" * 100, encoding="utf-8")
    assert "400 texts, but 200 values of" in refused("probe", encoded, "--labels", labels)
    wanted = f"trained: 400 texts, but 200 values of {labels}; give one for each text"
    assert wanted in refused("probe", encoded, "--labels", "gender", "--types", labels)
    labels.write_bytes(gzip.compress(b"f\nm\n" * 200))
    assert "is packed by gzip; unpack it" in refused("probe", encoded, "--labels", labels)
    labels.write_bytes("für\n".encode("latin-1") * 400)
    assert "line 1: byte 2 is not UTF-8" in refused("probe", encoded, "--labels", labels)


def test_vectors_that_are_not_finite_are_refused(refused: Refused, tmp_path: Path) -> None:
    x, y = _vectors()
    x[2, 17, 3] = np.nan
    np.save(tmp_path / "x.npy", x)
    labels = tmp_path / "y.txt"
    labels.write_text("".join(f"{i}\n" for i in y), encoding="utf-8")
    message = refused("probe", tmp_path / "x.npy", "--labels", labels)
    assert "x.npy: layer 2, row 18 holds nan" in message


def test_files_without_vectors_are_refused(refused: Refused, tmp_path: Path) -> None:
    gone = refused("probe", tmp_path / "none.st", "--labels", "a")
    assert "none.st: there is no such file; " in gone
    assert gone.endswith("vectors of a model are written with: wordbias encode")
    assert "holds no files of vectors" in refused("probe", tmp_path)
    assert refused("probe", "googlenews").endswith("run: wordbias fetch googlenews")
    (tmp_path / "v.txt").write_text("alpha 1 2\nbeta 3 4\n", encoding="utf-8")
    message = refused("probe", tmp_path / "v.txt", "--labels", "gender")
    assert "holds words, whose --labels is a file of words and labels" in message
    message = refused("probe", tmp_path / "v.txt")
    assert "v: has none of 1,250 labelled words, such as 'Liam'" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--accuracy", "--unit", "a"), "--unit is for --mdl"),
        (("--accuracy", "--fractions", "voita"), "--fractions is for --mdl"),
        (("--accuracy", "--fractions", "published"), "--fractions is for --mdl"),
        (("--device", "cuda"), "--device=cuda is for --probe=mlp; a linear probe"),
        (("--layers", "1"), "--layers and --array are for arrays"),
        (("--layers", "one"), "expected all, last, or numbers such as 0,3,6"),
        (("--fractions", "a,b"), "expected published, voita, or percentages"),
        *(
            (("--fractions", value), f"rise from above 0 to 100, found {value}")
            for value in ("50", "10,5,100", "0,100", "10,200", "nan,100", "1e-9,100")
        ),
        (("--first-names", "--labels", "x"), "choose one of --labels and --first-names"),
        (("--seed", "a"), "expected whole numbers"),
        (("--dev", "a"), "expected FILE-or-COLUMN=VALUE"),
        (("--lr", "0"), "--lr"),
        (("--lr", "nan"), "'nan' is not a finite number"),
    ],
)
def test_wrong_usage(refused: Refused, arguments: Any, message: str) -> None:
    assert message in " ".join(refused("probe", *arguments, code=2).split())


def test_classes_that_occur_once_are_noted(cli: Run, tmp_path: Path) -> None:
    x, y = _vectors()
    np.save(tmp_path / "x.npy", x[0])
    labels = tmp_path / "y.txt"
    labels.write_text("".join(f"{i}\n" for i in [*y[:-1], 7]), encoding="utf-8")
    arguments = ("probe", tmp_path / "x.npy", "--labels", labels, "--epochs", 1, "--seed", 0)
    labels.write_text("".join(f"{i}\n" for i in [*y[:-1], "z" * 1000]), encoding="utf-8")
    assert all(len(line) < 200 for line in cli(*arguments).err.splitlines())
    labels.write_text("".join(f"{i}\n" for i in [*y[:-1], 7]), encoding="utf-8")
    assert "note: x: 1 of 3 classes occur only once (7)" in cli(*arguments).err
    assert cli(*arguments, "--quiet").err == ""


@pytest.mark.slow
def test_it_runs_as_a_process_without_heavy_packages(encoded: Path) -> None:
    heavy = ["torch", "transformers", "sklearn", "scipy", "matplotlib"]
    code = (
        "import sys; from wordbias.cli import run; "
        f"assert run(['probe', {str(encoded)!r}, '--labels', 'gender', '--epochs', '1']) == 0; "
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stderr == "[]\n"


@pytest.mark.slow
def test_an_interruption_ends_all_threads_and_writes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.standard_normal((6, 3000, 64), np.float32))
    labels = tmp_path / "y.txt"
    labels.write_text("".join(f"{i}\n" for i in rng.integers(0, 2, 3000)), encoding="utf-8")
    code = (
        "import sys, threading, _thread; from wordbias.cli import run; "
        "threading.Timer(1.5, _thread.interrupt_main).start(); "
        "sys.exit(run(sys.argv[1:]))"
    )
    long = ["--epochs", "100000", "--labels", labels, "--plot", tmp_path / "f.svg"]
    done = subprocess.run(
        [sys.executable, "-c", code, "probe", tmp_path / "x.npy", *map(str, long)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip().endswith("wordbias: interrupted; no output was changed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "y.txt"]


def test_texts_without_a_label_are_no_class(cli: Run, tmp_path: Path) -> None:
    x, y = _vectors()
    cells = ["" if i < 3 else "FM"[label] for i, label in enumerate(y)]
    path = tmp_path / "a.st"
    column = {"gender": Column.of(cells)}
    save_representations(Representations(x, (0, 6, 12), column), path)
    done = cli("probe", path, "--labels", "gender")
    assert (done.code, done.out) == (1, "")
    message = "3 of 400 texts have no gender, the first is text 1; encode only those that have one"
    assert message in done.err


@pytest.mark.parametrize("at", [10, 20, 60])
def test_an_array_with_a_damaged_header(cli: Run, tmp_path: Path, at: int) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((4, 2), np.float32))
    data = path.read_bytes()
    path.write_bytes(data[:at] + b"import os(" + data[at + 10 :])
    done = cli("probe", path, "--labels", "labels")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "cannot be read as an array: " in done.err
    path.write_bytes(b"")
    assert "is empty; write it again" in cli("probe", path, "--labels", "labels").err
