"""encode, probe and erase with a function and an endpoint: the vectors are those of a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_server import Fault, Server, serving, toy

import wordbias as wb
from wordbias.errors import WordbiasError

pytestmark = pytest.mark.usefixtures("short_probes")
Cli = Callable[..., Any]
TEXTS = [f"{who} person {'e' * (i % 7)} {i}" for i, who in enumerate(["she", "a he"] * 100)]
LABELS = ["f", "m"] * 100
TABLE = {"text": TEXTS, "gender": LABELS}


class Toy:
    """An object whose texts stay on this machine."""

    def encode(self, texts: list[str]) -> Any:
        return toy(texts)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = [f"{text}\t{label}\n" for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "texts.tsv").write_text("".join(["text\tgender\n", *lines]))
    return tmp_path / "texts.tsv"


def values(report: Any) -> list[Any]:
    return [(row.measure, row.value, row.details.get("stage")) for row in report.rows]


def test_encode() -> None:
    reps = wb.encode(Toy(), TABLE)
    assert np.array_equal(reps[0], toy(TEXTS))
    assert reps.columns["gender"].cells() == LABELS
    assert reps.report is not None
    assert reps.report.inputs["model"]["by"] == "encode"


def test_probe_and_erase_have_the_values_of_the_vectors() -> None:
    reps = wb.Representations(toy(TEXTS)[None], (0,), wb.encode(Toy(), TABLE).columns)
    settings: dict[str, Any] = {"seed": 0, "epochs": 2}
    probed = wb.probe(Toy(), "gender", texts=TABLE, **settings)
    assert values(probed) == values(wb.probe(reps, "gender", **settings))
    leace = wb.erase(model=Toy(), texts=TABLE, labels="gender")
    plain = wb.erase(reps, "gender")
    assert values(leace.report) == values(plain.report)
    assert {row.subject for row in leace.report.rows} == {"Toy"}
    assert np.array_equal(leace.transform(toy(TEXTS)), plain.transform(toy(TEXTS)))  # type: ignore[union-attr]


def test_a_complete_file_is_not_asked_for_again(
    server: Server, table: Path, cli: Cli, tmp_path: Path
) -> None:
    out = tmp_path / "v.safetensors"
    call = ("encode", "toy", table, "--endpoint", server.url, "-o", out)
    assert cli(*call).code == 0
    request_count = len(server.requests)
    before = out.read_bytes()
    done = cli(*call, "--no-cache")
    assert "complete already" in " ".join(done.out.split())  # the path decides where lines break
    assert (len(server.requests), out.read_bytes()) == (request_count, before)
    refused = cli("encode", "other", table, "--endpoint", server.url, "-o", out)
    assert refused.code == 1
    assert "is of another run" in refused.err
    assert (len(server.requests), out.read_bytes()) == (request_count, before)


def test_a_function_without_a_name_writes_no_file_twice(tmp_path: Path) -> None:
    out = tmp_path / "v.safetensors"
    wb.encode(Toy(), TEXTS, output=out)
    with pytest.raises(WordbiasError, match=r"has no name by which its vectors could be known"):
        wb.encode(Toy(), TEXTS, output=out)


def test_the_shell_probes_and_erases(server: Server, table: Path, cli: Cli, tmp_path: Path) -> None:
    common = ("--texts", table, "--labels", "gender", "--endpoint", server.url)
    done = cli("probe", "toy", *common, "--seed", 0, "--epochs", 2, "--batch-texts", 200)
    assert done.code == 0
    assert len(server.requests) == 1
    done = cli("erase", "--model", "toy", *common, "--save-transform", tmp_path / "l.safetensors")
    assert done.code == 0
    assert len(server.requests) == 1
    assert (tmp_path / "l.safetensors").exists()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("encode", "toy", "T", "-o", "O", "--layers", "3"), "--layers is for models whose layers"),
        (("encode", "toy", "T", "-o", "O", "--pooling", "mean"), "--pooling is for models whose"),
        (("encode", "toy", "T", "-o", "O", "--device", "cpu"), "--device is for models whose"),
        (
            ("probe", "toy", "--texts", "T", "--labels", "gender", "--layers", "1"),
            "--layers is for",
        ),
        (
            ("erase", "--model", "toy", "--texts", "T", "--labels", "gender", "-o", "O"),
            "no model can",
        ),
        (("erase", "v.npy", "--labels", "l.txt"), "--endpoint is for --model"),
        (("probe", "v.npy", "--labels", "l.txt"), "--endpoint is for a model with --texts"),
        (("ceat", "toy", "--sentences", "T"), "--endpoint: wordbias ceat does not use it"),
        (("project", "toy", "-o", "O"), "--endpoint: wordbias project does not use it"),
    ],
)
def test_what_needs_the_inside_is_refused_before_anything_is_sent(
    server: Server, table: Path, cli: Cli, tmp_path: Path, call: tuple[str, ...], said: str
) -> None:
    named = {"T": str(table), "O": str(tmp_path / "o.safetensors")}
    done = cli(*(named.get(argument, argument) for argument in call), "--endpoint", server.url)
    assert done.code in (1, 2)
    assert said in done.err
    assert not server.requests


def test_a_function_where_the_model_itself_is_read() -> None:
    with pytest.raises(WordbiasError, match="got Toy; vectors of texts alone are taken by"):
        wb.project(Toy())  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_ends_pays_for_nothing_twice_that_has_arrived(
    server: Server, table: Path, tmp_path: Path, how: signal.Signals
) -> None:
    server.faults, server.always = [None], Fault(wait=True)
    call = [sys.executable, "-m", "wordbias", "encode", "toy", str(table)]
    call += ["--endpoint", server.url, "-o", str(tmp_path / "v.safetensors")]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as process:
        assert server.arrived.wait(120)
        os.kill(process.pid, how)
        _, printed = process.communicate()
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "32 answers kept; the same call resumes" in printed
    server.always = None
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert sorted(server.answered) == sorted(TEXTS)
    assert np.array_equal(wb.load(tmp_path / "v.safetensors")[0], toy(TEXTS))
