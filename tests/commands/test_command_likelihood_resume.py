"""`wordbias likelihood`, interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import small_likelihood  # noqa: E402
from tiny_decoders import save_decoder  # noqa: E402

import wordbias as wb  # noqa: E402
from wordbias.errors import Interrupted, WordbiasError  # noqa: E402
from wordbias.models import likelihood_resume as resume  # noqa: E402
from wordbias.models.causal_model import CausalModel  # noqa: E402
from wordbias.store import Store  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
METHODS = ("_score_batch", "_continue")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two decoders and two data sets."""
    folder = tmp_path_factory.mktemp("likelihood")
    save_decoder(folder / "decoder")
    save_decoder(folder / "other", seed=7)
    small_likelihood.crows_pairs(folder / "crows.csv")
    small_likelihood.bbq(folder / "bbq.jsonl")
    return folder


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], list[str]]:
    """Return a function that counts the batches from now on, and interrupts after some of them."""

    def begin(allowed: int | None = None) -> list[str]:
        computed: list[str] = []
        for name in METHODS:
            real = originals[name]

            def once(self: Any, *given: Any, real: Any = real, name: str = name) -> Any:
                if len(computed) == allowed:
                    raise KeyboardInterrupt
                computed.append(name)
                return real(self, *given)

            monkeypatch.setattr(CausalModel, name, once)
        return computed

    originals = {name: getattr(CausalModel, name) for name in METHODS}
    return begin


def measure(data: Path, model: str, output: Path | None = None, **given: Any) -> wb.Report:
    return wb.likelihood(
        data / model, data=[data / "crows.csv", data / "bbq.jsonl"], output=output, **given
    )


@pytest.mark.slow
def test_an_interrupted_measurement_resumes(
    data: Path, tmp_path: Path, batches: Callable[..., list[str]]
) -> None:
    whole = batches()
    expected = measure(data, "decoder", tmp_path / "whole.csv")
    assert set(whole) == set(METHODS)
    scores = tmp_path / "scores.csv"
    done = 0
    for allowed in (1, len(whole) // 2):
        batches(allowed)
        with pytest.raises(Interrupted, match=r"the same call resumes from scores\.csv\.part"):
            measure(data, "decoder", scores)
        done += allowed
        assert [path.name for path in tmp_path.iterdir() if path.stem != "whole"] == [
            "scores.csv.part"
        ]
    left = batches()
    report = measure(data, "decoder", scores)
    assert len(left) == len(whole) - done
    assert [row.to_dict() for row in report.rows] == [row.to_dict() for row in expected.rows]
    assert scores.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not (tmp_path / "scores.csv.part").exists()


def test_what_is_kept_is_of_one_model_and_precision(
    data: Path, tmp_path: Path, batches: Callable[..., list[str]]
) -> None:
    scores = tmp_path / "scores.csv"
    batches(1)
    with pytest.raises(Interrupted):
        measure(data, "decoder", scores)
    batches()
    for model, given in (("other", {}), ("decoder", {"precision": "bfloat16"})):
        with (
            pytest.raises(WordbiasError, match=r"\.part: line 1: is of another measurement"),
            wb.config(**given),  # type: ignore[arg-type]
        ):
            measure(data, model, scores)
    (tmp_path / "scores.csv.part").write_bytes(b"not one")
    with pytest.raises(WordbiasError, match=r"scores\.csv\.part"):
        measure(data, "decoder", scores)


def test_without_an_output_the_message_names_it(
    data: Path, batches: Callable[..., list[str]]
) -> None:
    batches(1)
    with pytest.raises(Interrupted, match="start it again with an output file"):
        measure(data, "decoder")


def test_what_is_no_number_is_not_kept(tmp_path: Path) -> None:
    scores = resume.Kept(Store(tmp_path / "a.part", {}, ("batch",)))
    keys = scores.keys("model", [1, 2, 3])
    assert scores.get(keys[:2]) is None
    scores.add(keys[:2], np.array([np.nan, 1.5]))
    scores.add(keys[2:], np.array([0.1]))
    reopened = resume.Kept(Store(tmp_path / "a.part", {}, ("batch",)))
    assert reopened.keys("model", [1, 2, 3]) == keys
    assert reopened.get(keys[:2]) is None
    assert reopened.get(keys[2:]) == [0.1]
    assert reopened.get(reopened.keys("model", [3])) is None  # another call: other batches
