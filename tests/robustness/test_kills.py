"""A long command that is killed at three stages ends, called again, as if it had not been.

A stage is a number of files that have been written: the process kills itself (SIGKILL) as soon as
the file of that number has its name. Nothing is left to time, on any machine.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweep_files
import tiny_encoders
from forks import Forked

from wordbias import Attribute, Embedding
from wordbias.biographies.synthetic import synthetic
from wordbias.methods.words import listed_words
from wordbias.pages.stages import PARTS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

HOOK = """
import os, signal, sys

counter = os.open({counter!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

def written(event, arguments, seen=[], os=os, signal=signal, counter=counter):
    if len(seen) == {wanted}:
        signal.raise_signal(signal.SIGKILL)
    appended = event == "open" and arguments[1] == "ab"
    if event == "os.rename" or appended:
        name = os.fspath(arguments[0 if appended else 1])
        if isinstance(name, str) and name.startswith({folders}):
            seen.append(name)
            os.write(counter, os.fsencode(name) + bytes([10]))

sys.addaudithook(written)
"""
"""Notes each file that gets its name below some folders, and each that is appended to; kills."""


class Study:
    """A command that is run with its output in one folder, again and again."""

    def __init__(self, tmp_path: Path, call: Sequence[object], before: str = "") -> None:
        self.folder, self.call, self.before = tmp_path / "output", call, before
        self.counter = tmp_path / "written"
        self.cache = tmp_path / "cache"

    def run(self, wanted: int = -1) -> tuple[int, str]:
        """Run the command, to its end or until so many files are written; return what it said."""
        self.folder.mkdir(exist_ok=True)
        folders = (f"{self.folder}/", f"{self.cache}/audits/")
        hook = HOOK.format(wanted=wanted, folders=folders, counter=str(self.counter))
        code, out, error = Forked(*self.call, before=hook + self.before).ended()
        assert code in (0, -signal.SIGKILL), error
        return code, out

    def clear(self) -> None:
        for folder in (self.folder, self.cache):
            shutil.rmtree(folder, ignore_errors=True)

    def files(self) -> dict[str, Any]:
        """Return what is in the folder, without times."""
        return {
            path.relative_to(self.folder).as_posix(): content(path)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.name.endswith(".part")
        }


def content(path: Path) -> Any:
    """Return the lines of a log without seconds; of another file the bytes."""
    if path.suffix != ".jsonl":
        return path.read_bytes()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: line[key] for key in sorted(line.keys() - TIMES)} for line in lines]


TIMES = {"seconds", "time", "seconds_per_epoch"}


def check(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a study after its first file, one in the middle, and the last but one."""
    monkeypatch.setenv("WORDBIAS_CACHE", str(study.cache))
    code, said = study.run()
    assert code == 0
    whole, count = study.files(), len(study.counter.read_bytes().splitlines())
    assert count >= 4, "there is no middle"
    for wanted in (1, count // 2, count - 1):
        study.clear()
        code, _ = study.run(wanted)
        assert code == -signal.SIGKILL
        assert len(study.counter.read_bytes().splitlines()) == wanted
        code, again = study.run()
        assert (code, again) == (0, said), wanted
        found = study.files()
        assert found.keys() == whole.keys(), wanted
        assert [name for name in found if found[name] != whole[name]] == [], wanted


def test_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    call = sweep_files.arguments(sweep_files.write(tmp_path))
    options = ("--threads", 1, "-q", "--format", "jsonl", "-o", tmp_path / "output" / "t.csv")
    often = "import wordbias.contextual.sweep.run as k; k.SECONDS = 0\n"
    check(Study(tmp_path, (*call, *options), often), monkeypatch)


def test_bios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    words = sorted(set(tiny_encoders.words_of(*synthetic().texts)))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), tmp_path / "bert")
    call = ("bios", "--model", tmp_path / "bert", "--strategies", "none,subsample")
    small = ("--limit", 300, "--max-length", 20, "--draws", 20, "--seed", "0", "--no-baselines")
    quick = ("--epochs", 2, "--retrain-epochs", 2, "--batch-size", 32, "--every", 3)
    quick += ("--device", "cpu")
    options = ("--threads", 1, "-q", "--format", "jsonl", "-o", tmp_path / "output")
    check(Study(tmp_path, (*call, *small, *quick, *options)), monkeypatch)


def test_mab_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    sample = Embedding.sample()
    noise = np.random.default_rng(0).normal(size=sample.vectors.shape)
    for name, share in (("base", 0.0), ("one", 0.3)):
        sample.with_vectors(sample.vectors + share * noise).save(tmp_path / f"{name}.safetensors")
    line = "{}\tA man is eating an apple.\tA {} is eating."
    labels = ("neutral", "entailment", "contradiction")
    rows = [line.format(labels[i % 3], word) for i, word in enumerate(("person", "dog", "man") * 8)]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    call = ("mab-study", tmp_path / "base.safetensors", tmp_path / "one.safetensors")
    pairs = ("--train", tmp_path / "pairs.tsv", "--dev", tmp_path / "pairs.tsv", "--epochs", 1)
    options = ("--seed", "0", "--only", "direct-bias", "--format", "json", "--jobs", 1)
    few = """
import wordbias.nli.study as study
from wordbias.wordlists import Templates
study.marked_sets = lambda _: ("explicit",)
few = list(Templates.load().premises())[:5]
Templates.premises = lambda _, few=few: tuple(few)
"""
    output = ("--threads", 1, "-q", "-o", tmp_path / "output")
    check(Study(tmp_path, (*call, *pairs, *options, *output), few), monkeypatch)


def test_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Embedding.sample()
    words = [*sample.words[:5000], *sorted(listed_words(Attribute.load()))]
    sample.subset(words).save(tmp_path / "small.safetensors")
    kept = ("midb", "direct-bias", "occupations", "weat")
    skip = ",".join(part for part in PARTS if part not in kept)
    call = ("audit", tmp_path / "small.safetensors", "--methods", "misp hard", "--skip", skip)
    options = ("--no-chance", "--jobs", 1, "-q", "-o", tmp_path / "output" / "page.json")
    check(Study(tmp_path, (*call, *options)), monkeypatch)
