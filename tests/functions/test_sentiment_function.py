"""`wordbias.sentiment`: which score is measured, before and after a removal; refusals."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_encoders
import tiny_heads
from quick_cases import first_quick

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.wordlists import load_attribute
from wordbias.wordlists.eec import comparisons_of, contexts

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("sklearn")

pytestmark = pytest.mark.usefixtures("one_thread")
GROUPS = """
[groups]
f = ["she", "her"]
m = ["he", "him"]
[subjects.nouns]
f = ["woman", "girl", "nurse"]
m = ["man", "boy", "doctor"]
"""


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("sentiment") / "people.toml"
    path.write_text(GROUPS)
    return str(path)


def model(labels: int = 2, **options: Any) -> tuple[Any, Any]:
    classifier = tiny_heads.model("bert", "SequenceClassification", num_labels=labels, **options)
    return classifier, tiny_heads.tokenizer()


def texts(groups: str) -> list[tuple[str, str]]:
    """Return the two sentences of each pair of persons and context."""
    (comparison,) = comparisons_of(load_attribute(groups))
    return [(c.about(a), c.about(b)) for a, b in comparison.pairs for c in contexts()]


def expected(given: Any, groups: str, weights: list[float]) -> float:
    """Take the mean difference of scores from what the model itself says of the texts."""
    loaded, tokenizer = given
    flat = [text for pair in texts(groups) for text in pair]
    with torch.inference_mode():
        inputs = tokenizer(flat, return_tensors="pt", truncation=True, padding=True)
        logits = loaded(**inputs).logits.double()
    values = logits.softmax(1) if logits.shape[1] > 1 else logits
    scores = (values @ torch.tensor(weights).double()).numpy().reshape(-1, 2)
    return float((scores[:, 0] - scores[:, 1]).mean())


@pytest.mark.parametrize(
    ("labels", "score", "weights", "said"),
    first_quick(
        [
            (2, None, [0, 1], "the probability of LABEL_1"),
            (2, "LABEL_0", [1, 0], "the probability of LABEL_0"),
            (1, None, [1], "the number that the model gives"),
            (
                3,
                {"LABEL_2": 1, "LABEL_0": -1, "LABEL_1": 0},
                [-1, 0, 1],
                "the weighted sum of LABEL_2 1, ",
            ),
            (
                3,
                "LABEL_0=1,LABEL_1=2, LABEL_2=5",
                [1, 2, 5],
                "the weighted sum of LABEL_0 1, LABEL_1 2, ",
            ),
        ]
    ),
)
def test_the_score_of_each_kind_of_model(
    groups: str, labels: int, score: Any, weights: list[float], said: str
) -> None:
    given = model(labels)
    report = wb.sentiment(given, groups=groups, score=score, draws=0)
    row = report["score-gap"][0]
    assert row.value == pytest.approx(expected(given, groups, weights), abs=1e-6)  # float32
    assert row.details["groups"] == ["f", "m"]
    assert row.details["n"] == 3 * 144
    assert said in report.heading[0]


def test_a_model_that_reads_nothing_of_the_text_gives_no_difference(groups: str) -> None:
    loaded, tokenizer = model()
    with torch.no_grad():
        loaded.classifier.weight.zero_()
    for row in wb.sentiment((loaded, tokenizer), groups=groups, draws=20).rows:
        assert row.value == 0
        assert row.details["p"] == 1


def test_an_encoder_with_a_head_of_scikit_learn(groups: str, tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression, Ridge

    flat = [text for pair in texts(groups) for text in pair]
    tokenizer = tiny_encoders.make_tokenizer(tiny_encoders.words_of(*flat))
    encoder = str(tmp_path / "encoder")
    network = tiny_encoders.build("bert", "Model", vocabulary=len(tokenizer))
    tiny_encoders.save(network, tokenizer, tmp_path / "encoder")
    x = (
        wb.encode(encoder, flat, pooling="mean", special_tokens="counted")
        .vectors[-1]
        .astype(np.float64)
    )
    y = np.arange(len(x)) % 7
    ridge = Ridge().fit(x, y)
    gap = np.mean(np.diff(ridge.predict(x).reshape(-1, 2)[:, ::-1], axis=1))
    row = wb.sentiment((encoder, ridge), groups=groups, draws=0)["score-gap"][0]
    assert row.value == pytest.approx(gap, abs=1e-4)  # float32 weights and vectors
    with pytest.raises(WordbiasError, match="has one output, a number; give a classifier"):
        wb.predict((encoder, ridge), ["a cup ."])
    logistic = LogisticRegression().fit(x, y > 3)
    gap = np.mean(np.diff(logistic.predict_proba(x)[:, 1].reshape(-1, 2)[:, ::-1], axis=1))
    row = wb.sentiment((encoder, logistic), groups=groups, draws=0)["score-gap"][0]
    assert row.value == pytest.approx(gap, abs=1e-4)


def test_a_head_of_scikit_learn_excludes_classes_whatever_the_encoder_was_for(
    tmp_path: Path,
) -> None:
    from sklearn.linear_model import LogisticRegression

    tokenizer = tiny_encoders.make_tokenizer(tiny_encoders.words_of("a woman sat . a man ."))
    encoder = tiny_encoders.build("bert", "Model", vocabulary=len(tokenizer))
    encoder.config.problem_type = "multi_label_classification"
    tiny_encoders.save(encoder, tokenizer, tmp_path / "encoder")
    x = np.random.default_rng(0).normal(size=(20, encoder.config.hidden_size))
    head = LogisticRegression().fit(x, np.arange(20) % 2)
    predictions = wb.predict((str(tmp_path / "encoder"), head), ["a woman sat .", "a man ."])
    np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1, rtol=1e-6)  # float32


def test_classes_that_do_not_exclude_each_other_have_probabilities_of_their_own(
    groups: str,
) -> None:
    loaded, tokenizer = model(3, problem_type="multi_label_classification")
    report = wb.sentiment((loaded, tokenizer), groups=groups, score="LABEL_1", draws=0)
    predictions = wb.predict((loaded, tokenizer), ["a woman sat .", "a man sat ."])
    with torch.inference_mode():
        logits = loaded(**tokenizer("a woman sat .", return_tensors="pt")).logits
    np.testing.assert_allclose(predictions.probabilities[0], logits.sigmoid()[0], rtol=1e-5)
    assert report["score-gap"][0].value != 0


def test_the_command_writes_scores_and_measures_before_and_after(
    cli: Callable[..., Any], groups: str, tmp_path: Path, job_classifier: str, job_adapter: Path
) -> None:
    out = tmp_path / "scores.csv"
    call = ["sentiment", job_classifier, "--groups", groups, "--draws", 50, "--format", "json"]
    done = cli(*call, "--adapter", job_adapter, "--setting", "L12-110", "-o", out)
    assert done.code == 0, done.err
    measured = [row for row in json.loads(done.out)["rows"] if row["measure"] == "score-gap"]
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 6 * 144
    assert {row["people"] for row in rows} == {"f", "m"}
    for setting in ("none", "L12-110"):
        of = {row["text"]: float(row["score"]) for row in rows if row["setting"] == setting}
        gap = np.mean([of[a] - of[b] for a, b in texts(groups)])
        stage = None if setting == "none" else setting
        (row,) = (row for row in measured if (row["subset"], row.get("stage")) == ("all", stage))
        assert row["value"] == pytest.approx(gap)
        if stage:
            assert row["change_low"] <= row["change"] <= row["change_high"]


def test_what_is_refused(
    cli: Callable[..., Any], groups: str, tmp_path: Path, job_classifier: str, job_adapter: Path
) -> None:
    two = job_classifier
    three = tiny_heads.folder(tmp_path / "three", model(3)[0])
    regressor = tiny_heads.folder(tmp_path / "one", model(1)[0])
    for words, message in (
        ([three], "its classes are LABEL_0, LABEL_1, LABEL_2; name the one whose probability is"),
        ([three, "--score", "LABEL_0=1,LABEL_1=2"], "LABEL_0=0,LABEL_1=1,LABEL_2=2"),
        ([two, "--score", "good"], "its classes are nurse, doctor; name the one"),
        ([two, "--score", "nurse=x,doctor=1"], "its classes are nurse, doctor; name the one"),
        ([two, "--score", "nurse=nan,doctor=1"], "its classes are nurse, doctor; name the one"),
        ([two, "--score", "nurse=0,nurse=2,doctor=1"], "its classes are nurse, doctor; name the"),
        ([regressor, "--score", "LABEL_0"], "has one output, which is the score"),
        ([two, "--setting", "L12-110"], "--adapter and --setting go together"),
        ([two, "--groups", "pronouns"], "no subjects of English sentences"),
        ([two, "-o", "scores.json"], "expected a name that ends in .csv"),
        ([three, "--adapter", job_adapter, "--setting", "SENT-0", "--score", "LABEL_0"],
         "was fitted on another model"),
    ):  # fmt: skip
        done = cli("sentiment", *words, *([] if "--groups" in words else ["--groups", groups]))
        assert done.code in (1, 2)
        assert "Traceback" not in done.err
        assert re.search(re.escape(message), " ".join(done.err.split())), done.err
