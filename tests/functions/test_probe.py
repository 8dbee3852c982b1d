"""`wordbias.probe`: files and what is in memory give the same; its report draws the codes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.calls import WordbiasWarning
from wordbias.columns import Column
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.probe import probe
from wordbias.models.representations import Representations
from wordbias.reports import Report

pytestmark = pytest.mark.usefixtures("one_thread")

N = 300
QUICK: dict[str, Any] = {"seed": [0], "epochs": 3, "lr": 0.02, "fractions": [10, 50, 100]}
TYPED = ("--seed", 0, "--epochs", 3, "--lr", 0.02, "--fractions", "10,50,100")


@pytest.fixture(scope="module")
def reps() -> Representations:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    x = rng.standard_normal((2, N, 8)).astype(np.float32)
    x[1, :, 0] += 2 * y
    columns = {
        "gender": Column.of("FM"[i] for i in y),
        "job": Column.of(f"p{i}" for i in rng.integers(0, 9, N)),
        "split": Column.of(("train", "dev", "test")[i] for i in rng.integers(0, 3, N)),
    }
    return Representations(x, (0, 6), columns, {"model": "tiny"}, "bios")


@pytest.fixture
def file(reps: Representations, tmp_path: Path) -> Path:
    path = tmp_path / "bios.st"
    reps.save(path)
    return path


def rows(report: Report) -> Any:
    return json.loads(json.dumps(report.to_dict()["rows"]))


def test_the_function_gives_what_the_command_gives(
    cli: Callable[..., Any], reps: Representations, file: Path
) -> None:
    given = ("--labels", "gender", "--unit", "job", "--types", "job", "--dev", "split=dev")
    done = cli("probe", file, *given, *TYPED, "--format", "json")
    assert (done.code, done.err) == (0, "")
    typed = json.loads(done.out)
    options = {"unit": "job", "types": "job", "dev": "split=dev"}
    reports = [
        probe(reps, "gender", **options, **QUICK),
        probe(str(file), "gender", **options, **QUICK),
        probe(
            reps,
            reps.column("gender").cells(),
            unit=reps.column("job"),
            types=np.array(reps.column("job").cells()),
            dev=np.array(reps.column("split").cells()) == "dev",
            **QUICK,
        ),
    ]
    for report in reports:
        assert rows(report) == typed["rows"]
    assert rows(reports[0]) == typed["rows"]
    assert reports[1].arguments["labels"] == typed["arguments"]["labels"]
    assert reports[1].inputs == typed["inputs"]
    assert "path" not in reports[0].inputs["bios"]
    assert "Drawn" not in str(reports[0])


def test_arrays_and_labels_of_every_kind(reps: Representations) -> None:
    pandas = pytest.importorskip("pandas")
    x, cells = reps[6], reps.column("gender").cells()
    expected = rows(probe(x, cells, **QUICK))
    assert expected[0]["subject"] == "vectors"
    assert "layer" not in expected[0]
    for labels in (tuple(cells), np.array(cells), pandas.Series(cells), reps.column("gender")):
        assert rows(probe(x, labels, **QUICK)) == expected
    layered = rows(probe(reps.vectors, cells, layers=1, **QUICK))
    assert [row["value"] for row in layered] == [row["value"] for row in expected]
    numbers = [int(cell == "M") for cell in cells]
    for labels in (numbers, np.array(numbers, bool), pandas.Series(numbers)):
        numeric_rows = rows(probe(x, labels, **QUICK))
        assert [row["value"] for row in numeric_rows] == [row["value"] for row in expected]


def test_several_inputs_are_probed_together(reps: Representations, file: Path) -> None:
    cells, x = reps.column("gender").cells(), reps[6]
    report = probe([x, x.copy(), x, reps], cells, layers="last", **QUICK)
    assert list(report.inputs) == ["vectors 1", "vectors 2", "bios"]
    named = probe({"trained": x, "noise": reps[0]}, cells, random=True, **QUICK)
    assert list(named.inputs) == ["trained", "random (trained)", "noise", "random (noise)"]
    trained, two, *_ = (row.value for row in named["compression"] if row.details["set"] == "labels")
    assert trained is not None
    assert two is not None
    assert trained > 1.2 > two
    assert list(probe([file, str(file)], "gender", **QUICK).inputs) == ["bios"]


def test_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(N)]
    vectors = rng.standard_normal((N, 6)).astype(np.float32)
    labels = ["hi" if row[0] > 0 else "lo" for row in vectors]
    listed = tmp_path / "list.tsv"
    label_of = dict(zip(words, labels, strict=True))
    listed.write_text("".join(f"{w}\t{label}\n" for w, label in label_of.items()), encoding="utf-8")
    embedding = Embedding(words, vectors, "mine")
    expected = rows(probe(embedding, str(listed), **QUICK))
    assert expected[0]["subject"] == "mine"
    assert rows(probe(embedding, label_of, **QUICK)) == expected
    assert rows(probe(embedding, labels, **QUICK)) == expected
    named = probe({"a": embedding, "b": (words, vectors)}, label_of, **QUICK)
    assert list(named.inputs) == ["a", "b"]
    plain = rows(probe(dict(zip(words, vectors, strict=True)), label_of, **QUICK))
    assert [row["value"] for row in plain] == [row["value"] for row in expected]
    with pytest.raises(WordbiasError, match=r"300 words, but 2 values .*word, or a dict"):
        probe(embedding, ["hi", "lo"])


@pytest.mark.slow
def test_the_picture_is_that_of_the_codes(reps: Representations, tmp_path: Path) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    report = probe(reps, "gender", **QUICK)
    report.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 1000
    axes = report.plot()
    assert axes.get_title(loc="left") == "Compression along the layers"
    assert len([panel for panel in axes.figure.axes if panel.get_title(loc="left")]) == 2
    own = figures.Figure().subplots()
    assert report.plot(own) is own
    assert own.get_title(loc="left") or own.get_title()
    flat = probe(reps[6], reps.column("gender"), **QUICK).plot()
    assert flat.get_xlabel() == "examples learned from"
    accuracy = probe(reps, "gender", mdl=False, seed=0, epochs=2)
    assert accuracy.plot().figure.legends
    unpickled = pickle.loads(pickle.dumps(report))
    assert unpickled.plot().get_title(loc="left") == "Compression along the layers"


def test_accuracy_on_a_given_split(reps: Representations) -> None:
    given: dict[str, Any] = {"mdl": False, "seed": 0, "epochs": 2}
    split = reps.column("split").cells()
    assert rows(probe(reps, "gender", split=split, **given)) == rows(
        probe(reps, "gender", split="split", **given)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {},
            "bios: no labels given: name them with labels=COLUMN or labels=FILE .one a line.;",
        ),
        ({"labels": "sex"}, "labels='sex': neither a column of bios .it has gender, job, split"),
        ({"labels": ["F", "M"]}, "300 texts, but 2 values of labels="),
        (
            {"labels": [None, *"FM" * 149, "F"]},
            "bios: 1 of 300 texts have no label, .* text 1; leave",
        ),
        ({"labels": [float("nan"), *"FM" * 149, "F"]}, "bios: 1 of 300 texts have no label"),
        (
            {"labels": np.zeros((N, 2))},
            r"labels=: expected .* text of bios, .* shape \(300, 2\)",
        ),
        ({"labels": 3}, "labels=: expected a column's name, a file or a value for each text"),
        ({"labels": "gender", "unit": ["a"]}, "bios: 300 texts, but 1 value of unit="),
        ({"labels": "gender", "dev": [0, 1]}, "dev=: expected COLUMN=VALUE, or true or false for"),
        ({"labels": "gender", "seed": []}, "seed=: expected one at least"),
        ({"labels": "gender", "probe": "tree"}, "probe 'tree': expected one of linear, mlp"),
        ({"labels": "gender", "epochs": 0}, "epochs=: expected a whole number from 1 on"),
        ({"labels": "gender", "lr": 0}, "lr 0: expected a number above 0"),
        ({"labels": "gender", "fractions": [0.5]}, "fractions 0.5: expected at least two, rising"),
        ({"labels": "gender", "layers": [3]}, "bios: no layer 3; it holds 0, 6"),
    ],
)
def test_bad_arguments_are_refused(reps: Representations, arguments: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        probe(reps, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "split"}, "split= is for mdl=False; an online code makes its own split"),
        ({"mdl": False, "dev": "split=dev"}, "dev= is for mdl=True"),
        ({"first_names": True}, "first_names=True is for embeddings; bios holds no words"),
        ({"array": "x"}, "array= is for files that hold several; bios is none"),
    ],
)
def test_contradictions_name_arguments_of_python(
    reps: Representations, arguments: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        probe(reps, "gender", **arguments)


def test_inputs_that_are_no_vectors_are_refused() -> None:
    with pytest.raises(WordbiasError, match="expected an embedding"):
        probe(3, "gender")  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match="<Embedding 'a': 2 words × 1>: holds words, whose"):
        probe(Embedding(["x", "y"], [[1], [2]], "a"), "gender")
    with pytest.raises(WordbiasError, match="vectors: expected numbers of shape"):
        probe(np.zeros(3), [0, 1, 0])


def test_rare_classes_are_a_warning(reps: Representations) -> None:
    cells = ["once", *reps.column("gender").cells()[1:]]
    with pytest.warns(WordbiasWarning, match="bios: 1 of 3 classes occur only once .once."):
        probe(reps, cells, layers=6, **QUICK)


def grown() -> tuple[Any, Any]:
    """Return vectors of three layers of very different sizes, which all hold the label alike."""
    rng = np.random.default_rng(0)
    y = np.repeat(["f", "m"], 200)
    x = rng.normal(size=(400, 40)).astype(np.float32)
    x[:, 0] += 2 * (y == "f")
    return x * np.array([0.05, 1, 60], np.float32)[:, None, None], y


@pytest.mark.slow
def test_layers_of_different_sizes_are_comparable_once_they_are_scaled() -> None:
    x, y = grown()
    original = x.copy()
    uneven = "layer 2 are 1,200 times as large as those of layer 0.*scaled, the layers are"
    with pytest.warns(WordbiasWarning, match=uneven):
        plain = probe(x, y, seed=(0, 1), lr=0.01, control=False, scale=False)["compression"]
    scaled = probe(x, y, seed=(0, 1), lr=0.01, control=False)["compression"]
    assert len({round(row.value or 0, 3) for row in scaled}) == 1
    assert plain[2].value < 0.7 * scaled[2].value, "large vectors are learned by heart"
    np.testing.assert_array_equal(x, original)
    by_accuracy = probe(x, y, seed=0, mdl=False)
    assert "of vectors with mean square 1 in each layer" in " ".join(str(by_accuracy).split())


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "told"), [(5, True), (2, False)])
def test_inputs_whose_vectors_spread_differently_get_a_note(
    factor: float, told: bool, recwarn: pytest.WarningsRecorder
) -> None:
    """A mean that all vectors share, such as that of an untrained encoder, does not count."""
    x, y = grown()
    inputs = {"wide": factor * x[1] + 3, "close": x[1] + 40}
    probe(inputs, y, seed=0, control=False, scale=False)
    note = f"wide and close: the vectors of the first are {factor}.0 times as far from their mean"
    assert [str(warning.message)[: len(note)] for warning in recwarn] == [note] * told
    probe(inputs, y, seed=0, control=False)
    assert len(recwarn) == told


def test_what_all_vectors_share_does_not_hide_a_label() -> None:
    """As the first token does in the mean over the tokens of a decoder."""
    x, y = grown()
    alone, shared = (
        probe(vectors, y, seed=0, control=False)["compression"][0].value
        for vectors in (x[1], x[1] + 300 * (np.arange(40) == 5).astype(np.float32))
    )
    assert shared == pytest.approx(alone, rel=0.01)


def test_constant_vectors_are_not_scaled_up() -> None:
    x = np.full((400, 4), 0.1, np.float32)
    x[:, 0] += np.float32(1e-8) * (np.arange(400) < 200)
    row = probe(x, np.repeat(["f", "m"], 200), seed=0)["compression"][0]
    assert row.value <= 1.02


@pytest.mark.slow
def test_layers_are_scaled_by_one_number_each() -> None:
    x, y = grown()
    x[2, :7] = 0
    x += 7  # of no label
    apart = x.astype(float) - x.mean(1, dtype=float, keepdims=True)
    sizes = np.sqrt((apart**2).mean((1, 2)))
    by_hand = probe((apart / sizes[:, None, None]).astype(np.float32), y, seed=3, scale=False)
    report = probe(x, y, seed=3)
    for row, other in zip(report, by_hand, strict=True):
        assert row.value == pytest.approx(other.value, rel=1e-3, abs=1e-9)
