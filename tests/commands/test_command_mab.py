"""`wordbias mab-eval`: what it writes, prints and refuses."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import stand_ins
from numpy.typing import NDArray

from wordbias import Embedding
from wordbias.contextual.nli_fairness import fairness_rows
from wordbias.data import nli_sample_path
from wordbias.functions import nli_models
from wordbias.nli.files import Model, shapes
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.mab import Settings, mab_rows, word_rows
from wordbias.nli.pairs import tokenise
from wordbias.nli.scoring import score_set
from wordbias.nli.test_sets import COLUMNS, TestSet, build
from wordbias.results import number

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def all_premises() -> None:
    """Ask for the sets as they are."""


@pytest.fixture(autouse=True)
def _few_premises(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sets have the first premises only: what they hold is proved of the sets themselves."""
    if "all_premises" not in request.fixturenames:
        stand_ins.few_premises(monkeypatch)


def random_model(dim: int = 100, **about: Any) -> Model:
    rng = np.random.default_rng(0)
    weights = {
        name: (0.8 * rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        for name, shape in shapes(dim, 4, True).items()
    }
    return Model(weights, dim, 4, True, about=about)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, sample: Embedding) -> Path:
    """Return a file of a model that says it was trained on the sample."""
    assert sample.info is not None
    path = tmp_path_factory.mktemp("models") / "sample.nli.safetensors"
    known = {"name": "sample", "sha256": sample.info.sha256}
    random_model(embedding=known).save(path)
    return path


@pytest.fixture
def found(cli: Run) -> Callable[..., dict[str, Any]]:
    def call(*arguments: object) -> dict[str, Any]:
        done = cli("mab-eval", "--format", "json", "-q", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


def write_predictions(path: Path, *tests: TestSet) -> NDArray[np.float32]:
    """Write random predictions for the pairs of test sets; return them."""
    pairs = [pair for test in tests for pair in test]
    p = np.random.default_rng(0).dirichlet((2, 1, 1), len(pairs))
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["premise", "hypothesis", "entailment", "neutral", "contradiction"])
        table.writerows([*pair, e, n, c] for pair, (n, e, c) in zip(pairs, p, strict=True))
    return p.astype(np.float32)


# --write


@pytest.mark.usefixtures("all_premises")
@pytest.mark.slow
def test_three_sets_are_written(cli: Run, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    done = cli("mab-eval", "--set", "all", "--write", folder)
    assert (done.code, done.err) == (0, "")
    sizes = {"explicit": 15_744, "occupations": 62_976, "names": 125_952}
    assert {path.name for path in folder.iterdir()} == {f"{name}.csv" for name in sizes}
    for name, size in sizes.items():
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert tuple(header) == COLUMNS
        assert len(rows) == len({row[0] for row in rows}) == size
        assert f"{size:,}" in done.out


@pytest.mark.usefixtures("all_premises")
def test_published_lists_and_articles(cli: Run, tmp_path: Path, shared_data: Path) -> None:
    call = ("mab-eval", "--lists", shared_data / "dev2020", "--write", tmp_path)
    assert cli(*call, "--as-published").code == 0
    text = (tmp_path / "explicit.csv").read_text(encoding="utf-8")
    assert text.count("\n") == 15_745
    assert "crashed a SUV ." in text
    assert "crashed an SUV ." not in text


def test_a_folder_that_cannot_be(refused: Refused, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("", encoding="utf-8")
    assert f"{taken}: is a file; name a folder" in refused("mab-eval", "--write", taken)
    for gone in (taken / "below", tmp_path / "no" / "sets"):
        message = refused("mab-eval", "--write", gone)
        assert f"cannot be made, the folder {gone.parent} does not exist" in message
    assert list(tmp_path.iterdir()) == [taken]


def test_nothing_is_written_if_one_file_cannot_be(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "names.csv").mkdir()
    assert "names.csv: is a folder" in refused("mab-eval", "--set", "all", "--write", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["names.csv"]


def test_lists_that_are_not_there(refused: Refused, tmp_path: Path) -> None:
    for command in (("mab-eval", "--write", tmp_path), ("mab-eval",)):
        message = refused(*command, "--lists", tmp_path / "gone")
        assert "expected a folder of word lists, found nothing" in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["mab-eval", "--write", "x", "--set", "nouns"],
        ["mab-eval", "--write", "x", "--by-word"],
        ["mab-eval", "model", "--write", "x"],
        ["mab-eval", "--set", "parity", "--by-word"],
        ["mab-eval", "--snli", "pairs.tsv"],
        ["mab-eval", "-o", "x.csv"],
        ["mab-eval", "--set", "dev"],
        ["mab-eval", "--set", "nouns"],
        ["mab-eval", "--draws", "0"],
        ["mab-eval", "x", "--label-order", ","],
        ["mab-eval", "x", "--embedding", "glove.txt"],
        ["mab-eval", "m.safetensors", "--predictions", "x"],
        ["mab-eval", "m", "--predictions", "x"],
        ["mab-eval", "--label-order", "neutral,entailment,contradiction"],
        ["mab-eval", "--device", "cpu"],
    ],
)
def test_wrong_usage_is_status_2(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(r"wordbias: .*; see wordbias [a-z-]+ --help\n", done.err)
    assert list(tmp_path.iterdir()) == []


# mab-eval: our models


@pytest.mark.slow
def test_the_rows_are_the_librarys(
    found: Callable[..., dict[str, Any]], model: Path, sample: Embedding
) -> None:
    result = found(model, "--set", "occupations", "--by-word", "--seed", 3)
    test = build("occupations")
    p = score_set(Model.load(model), sample, test).probabilities
    expected = [*mab_rows(test, p, "sample", Settings(seed=3)), *word_rows(test, p, "sample")]
    assert result["rows"] == [json.loads(json.dumps(row.to_dict())) for row in expected]
    assert result["inputs"]["sample"]["dim"] == 100
    assert result["inputs"]["model"]["parameters"] == Model.load(model).parameters
    assert result["inputs"]["model"]["about"]["embedding"]["name"] == "sample"
    assert len(result["inputs"]["model"]["sha256"]) == 64
    assert result["seed"] == 3


@pytest.mark.slow
def test_p_as_published(found: Callable[..., dict[str, Any]], model: Path) -> None:
    ours, published = (
        [row for row in found(model, "--set", "occupations", *flag)["rows"] if "p" in row]
        for flag in ((), ("--as-published",))
    )
    assert published[0]["method"] == f"{ours[0]['method']}, as published"
    assert ours[0]["p"] == pytest.approx((1 + 10_000 * published[0]["p"]) / 10_001)


def test_the_table_shows_the_rows(
    cli: Run, found: Callable[..., dict[str, Any]], model: Path
) -> None:
    rows = found(model)["rows"]
    done = cli("mab-eval", model, "-q")
    assert done.err == ""
    line = next(x for x in done.out.splitlines() if x.startswith("  nouns  ")).split()
    nouns = [row for row in rows if row["setting"] == "nouns"]
    means = [f"{row['value']:.3f}" for row in nouns if "group" in row]
    bias = {row["measure"]: row for row in nouns if "group" not in row}
    assert line[1:7] == means
    assert line[7:] == [number(bias[x]["value"], 3) for x in ("mab-distance", "mab-error")]
    for row in bias.values():
        assert f"{row['low']:z.3f} to {row['high']:z.3f}" in done.out
    assert "--set all measures occupations and names too." in done.out


def test_words_the_embedding_lacks_are_noted(cli: Run, model: Path, sample: Embedding) -> None:
    assert "a" not in sample
    pairs = build("explicit")
    words = {token.lower() for pair in pairs for text in pair for token in tokenise(text)}
    done = cli("mab-eval", model)
    assert done.code == 0
    assert done.err.splitlines() == [
        f"note: sample lacks 1 of the templates' {len(words)} words (a): each is given a fixed "
        "random vector, as in training"
    ]
    result = json.loads(cli("mab-eval", model, "--format", "json", "-q").out)
    assert ["note: " + text for text in result["notes"]] == done.err.splitlines()


def test_a_model_of_other_vectors_is_noted(cli: Run, model: Path, tmp_path: Path) -> None:
    sample = Embedding.sample()
    path = tmp_path / "debiased.safetensors"
    sample.with_vectors(sample.vectors * [2.0] * 100, "debiased").save(path)
    done = cli("mab-eval", model, "--embedding", path)
    assert done.code == 0
    assert "note: the model was trained on sample; it is given debiased: what" in done.err
    printed = " ".join(done.out.split())
    assert "Marked attribute bias of decomposable attention" in printed
    assert str(path) in printed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "MODEL --embedding few.safetensors",
            "few lacks 2 of 9 words that the set explicit asks about (lady, She)",
        ),
        ("other.nli.safetensors", "trained on glove50 of 50 dimensions, sample has 100"),
        ("cut.safetensors", "cut.safetensors: cannot be read as an NLI model"),
        ("gone.safetensors", "gone.safetensors: cannot be read as an NLI model"),
        ("glove.txt", "; vectors are given by --embedding"),
        ("MODEL --embedding nowhere.txt", "nowhere.txt"),
    ],
)
def test_models_and_vectors_that_cannot_be_used(
    refused: Refused,
    model: Path,
    sample: Embedding,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "few" in given:
        remaining = [word for word in sample.words if word not in ("she", "lady")]
        sample.subset(remaining).save("few.safetensors")
    random_model(dim=50, embedding={"name": "glove50"}).save("other.nli.safetensors")
    Path("cut.safetensors").write_bytes(model.read_bytes()[:-100])
    Path("glove.txt").write_bytes(b"a 0.1 0.2\n")
    words = [model if word == "MODEL" else word for word in given.split()]
    assert message in refused("mab-eval", *words)


@pytest.mark.slow
@pytest.mark.skipif(not nli_sample_path().exists(), reason="no NLI model comes with this checkout")
def test_without_arguments_it_is_the_sample_and_its_model(cli: Run) -> None:
    done = cli("mab-eval")
    assert done.code == 0
    assert "the sample of GloVe 6B 100d that comes with wordbias" in " ".join(done.out.split())
    assert "was trained on" not in done.err


def test_the_model_that_comes_along_is_the_default(
    cli: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nli_models, "nli_sample_path", lambda: model)
    without, given = (cli("mab-eval", *x, "-q") for x in ((), (model,)))
    assert without.code == 0
    assert without.out == given.out


@pytest.mark.slow
def test_neither_torch_nor_transformers_is_loaded(model: Path) -> None:
    code = (
        "import sys; from wordbias.cli import run\n"
        f"assert run(['mab-eval', '-q', {str(model)!r}]) == 0\n"
        "print(sorted({'torch', 'transformers', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# mab-eval: other systems


@pytest.mark.usefixtures("all_premises")
@pytest.mark.slow
def test_predictions_of_another_system(
    cli: Run, found: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "roberta.csv"
    test = build("explicit")
    p = write_predictions(path, test)
    result = found("--predictions", path, "--by-word")
    expected = [*mab_rows(test, p, "roberta"), *word_rows(test, p, "roberta")]
    assert result["rows"] == [json.loads(json.dumps(row.to_dict())) for row in expected]
    assert result["inputs"]["predictions"]["pairs"] == 15_744
    assert len(result["inputs"]["predictions"]["sha256"]) == 64
    printed = " ".join(cli("mab-eval", "--predictions", path).out.split())
    assert f"of the predictions in {path}." in printed


@pytest.mark.slow
def test_sets_that_are_written_can_be_predicted_and_evaluated(cli: Run, tmp_path: Path) -> None:
    """Its file with three columns added is a file of predictions, whatever the articles."""
    assert cli("mab-eval", "--as-published", "--write", tmp_path).code == 0
    path = tmp_path / "explicit.csv"
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    text = [f"{header},entail,neutral,contradict", *(f"{line},0.25,0.5,0.25" for line in lines)]
    path.write_text("\n".join(text), encoding="utf-8")
    done = cli("mab-eval", "--predictions", path, "--as-published", "--format", "jsonl")
    assert (done.code, done.err) == (0, "")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {row["value"] for row in rows if row["measure"] == "mab-neutral"} == {0.5}
    assert {row["value"] for row in rows if row["measure"] == "mab-distance"} == {0}


def test_pairs_of_no_chosen_set_are_noted(cli: Run, tmp_path: Path) -> None:
    path, others = tmp_path / "p.csv", build("occupations")
    write_predictions(path, build("explicit"), others)
    done = cli("mab-eval", "--predictions", path)
    note = f"note: {path}: {len(others):,} pairs of no chosen set (--set) left out"
    assert done.err.startswith(note)
    assert cli("mab-eval", "--predictions", path, "-q").err == ""


def test_missing_pairs_are_refused(refused: Refused, tmp_path: Path) -> None:
    path, explicit = tmp_path / "p.csv", build("explicit")
    write_predictions(path, explicit)
    message = refused("mab-eval", "--predictions", path, "--set", "all")
    n = f"{len(build('occupations')):,}"
    assert f"lacks {n} of the {n} pairs of the set occupations; the first is" in message
    path.write_text(path.read_text(encoding="utf-8").replace("gentleman", "gent"))
    message = refused("mab-eval", "--predictions", path)
    parts = f"lacks {len(explicit) // 8:,} of the {len(explicit):,} pairs of the set explicit"
    assert f"{parts}; the first is" in message
    assert "A gentleman " in message


def test_predictions_that_cannot_be_read(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    assert f"{path}: cannot be read" in refused("mab-eval", "--predictions", path)
    path.write_text("premise,hypothesis,neutral,entail,contradict\nA,B,3.1,-2,0.4\n")
    assert f"{path}: line 2: 3.1, -2, 0.4: expected three probabilities" in refused(
        "mab-eval", "--predictions", path
    )


def test_a_hugging_face_model(
    cli: Run, found: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command hands on, and what it makes of the answer."""
    calls = []

    def load(name: str, **options: Any) -> Any:
        calls.append((name, options))
        return SimpleNamespace(
            name=name,
            device="cpu",
            labels=lambda: {0: "neutral", 1: "entailment", 2: "contradiction"},
            score_set=lambda test: np.tile(np.float32([0.5, 0.25, 0.25]), (len(test), 1)),
        )

    monkeypatch.setattr(Classifier, "load", load)
    result = found("someone/mnli", "--label-order", "neutral, entail,contradict")
    assert calls == [
        ("someone/mnli", {"labels": ["neutral", "entail", "contradict"], "device": None})
    ]
    assert {row["subject"] for row in result["rows"]} == {"mnli"}
    assert {row["value"] for row in result["rows"] if row["measure"] == "mab-neutral"} == {0.5}
    assert result["inputs"]["model"]["path"] == "someone/mnli"
    assert result["inputs"]["model"]["labels"]["1"] == "entailment"
    done = cli("mab-eval", "someone/mnli", "--device", "cpu")
    assert calls[-1] == ("someone/mnli", {"labels": None, "device": "cpu"})
    assert "of the Hugging Face model someone/mnli." in " ".join(done.out.split())


def test_predictions_for_the_set_parity(
    found: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    test = build("parity")
    p = write_predictions(path, test)
    result = found("--set", "parity", "--predictions", path)
    expected = fairness_rows(test, p, "p")
    assert result["rows"] == [json.loads(json.dumps(row.to_dict())) for row in expected]
