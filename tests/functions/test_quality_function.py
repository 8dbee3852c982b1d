"""`wordbias.quality` as Python calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding, WordbiasError
from wordbias.functions.quality import quality

Run = Callable[..., Any]

PAIRS = "man\twoman\t8\nking\tqueen\t9\ncar\tpizza\t1\nsea\tzzyzxq\t4\nsun\tlight\t7\n"


@pytest.fixture
def few() -> Embedding:
    sample = Embedding.sample()
    return sample.subset(sample.words[:3000]).renamed("few")


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    (tmp_path / "mine.tsv").write_text(PAIRS)
    (tmp_path / "questions-words.txt").write_text(": family\nman woman king queen\n")
    return tmp_path


def test_rows_are_those_of_the_command(cli: Run, few: Embedding, sets: Path) -> None:
    few.save(sets / "few.safetensors")
    done = cli("quality", sets / "few.safetensors", "--benchmarks", sets, "--format", "json", "-q")
    printed_rows = json.loads(done.out)["rows"]
    for given in (few, sets / "few.safetensors"):
        rows = quality(given, benchmarks=sets).to_dict()["rows"]
        assert json.loads(json.dumps(rows)) == printed_rows
    report = quality(few, benchmarks=[sets / "mine.tsv"], only=["mine"], oov="mean")
    assert [row.details["n"] for row in report] == [5]


def test_objects_of_one_name_are_numbered(few: Embedding, sets: Path) -> None:
    half = few.with_vectors(few.vectors[:, ::2])
    report = quality([few, half], benchmarks=str(sets / "mine.tsv"))
    assert list(report.inputs) == [row.subject for row in report] == ["few", "few (2)"]
    assert "few (2)" in str(report)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"benchmarks": ()}, 'run: wb.fetch("men", "simlex-999", "google-analogies")'),
        ({"only": []}, "only=: expected names of sets"),
        ({"oov": "zero"}, "oov=: expected one of skip, mean, got 'zero'"),
        ({"embeddings": ["a.txt", "a.txt"]}, "given twice"),
    ],
)
def test_errors_name_arguments_of_python(sets: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError) as error:
        quality(**{"benchmarks": sets, **given})
    assert said in str(error.value)


def test_one_reason_for_several_sets_stands_once(sets: Path) -> None:
    other = Embedding(["x", "y"], np.eye(2), "other")
    (sets / "more.tsv").write_text(PAIRS)
    text = " ".join(str(quality(other, benchmarks=sets)).split())
    assert "left out; analogies answered by 3CosAdd. " in text
    assert text.endswith(
        "google undefined: 0 of 1 questions have words of this embedding. mine, more undefined: "
        "0 of 5 pairs have words of this embedding."
    )
