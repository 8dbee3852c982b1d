"""A long command that is killed three times ends, called again, as if it had not been.

Two of them at once do not write one output: the second is refused in one line.

A stage is a number of files that have been written: the process kills itself (SIGKILL) as soon as
the file of that number has its name. Nothing is left to time, on any machine.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import encoder_folders
import numpy as np
import planted_encoder
import pytest
import small_likelihood
import sweep_files
import tiny_decoders
import tiny_encoders
from forks import Forked

from wordbias import Attribute, Embedding
from wordbias.biographies.synthetic import synthetic
from wordbias.formats.files import locked
from wordbias.methods.words import listed_words
from wordbias.pages.stages import PARTS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")]

HOOK = """
import os, signal, sys

counter = os.open({counter!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

def written(event, arguments, seen=[], os=os, signal=signal, counter=counter):
    if len(seen) == {wanted}:
        signal.raise_signal(signal.SIGKILL)
    appended = event == "open" and arguments[1] in ("a", "ab")
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

    def __init__(
        self,
        tmp_path: Path,
        call: Sequence[object],
        output: str,
        before: str = "",
        is_timed: bool = False,
    ) -> None:
        """Prepare it; ``before`` is run ahead of it. What it says may hold times."""
        self.folder, self.before, self.is_timed = tmp_path / "output", before, is_timed
        self.call = (*call, "--threads", 1, "-q", "-o", self.folder / output)
        self.output = self.folder / output
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

    def refused(self) -> str:
        """Run the command, and return why it was refused."""
        code, out, error = Forked(*self.call, before=self.before).ended()
        assert (code, out) == (1, "")
        return error

    def clear(self) -> None:
        for folder in (self.folder, self.cache):
            shutil.rmtree(folder, ignore_errors=True)

    def files(self) -> dict[str, Any]:
        """Return what is in the folder, without times."""
        return {
            path.relative_to(self.folder).as_posix(): content(path)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.match(".*.part")
        }


def content(path: Path) -> Any:
    """Return the lines of a log without seconds; of another file the bytes."""
    if path.suffix != ".jsonl":
        return path.read_bytes()
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: line[key] for key in sorted(line.keys() - TIMES)} for line in lines]


TIMES = {"seconds", "time", "seconds_per_epoch", "input", "output"}


def check(study: Study, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    """Kill a study after its first file, then go on and kill it at the middle and near the end.

    Each call goes on from what the killed ones left; the last one is not killed. `lock` is the
    file that a process locks while it writes the output.
    """
    monkeypatch.setenv("WORDBIAS_CACHE", str(study.cache))
    code, printed = study.run()
    assert code == 0
    assert not list(study.cache.glob("audits/*"))
    whole, count = study.files(), len(study.counter.read_bytes().splitlines())
    assert count >= 4, "there is no middle"
    study.clear()
    for wanted in (1, count // 2 - 1, count - 1 - count // 2):
        code, _ = study.run(wanted)
        assert code == -signal.SIGKILL
        assert len(study.counter.read_bytes().splitlines()) == wanted
    code, resumed = study.run()
    assert code == 0
    assert resumed == printed or study.is_timed
    files = study.files()
    assert files.keys() == whole.keys()
    assert [name for name in files if files[name] != whole[name]] == []
    assert not list(study.cache.glob("audits/*"))
    study.clear()
    study.folder.mkdir()
    locks = study.folder / lock
    locks.parent.mkdir(exist_ok=True)
    with locked(locks):
        error = study.refused()
        assert re.fullmatch(r"wordbias: .*: another process is writing it; wait .*\n", error)


def test_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    call = sweep_files.arguments(sweep_files.write(tmp_path))
    small = """
from wordbias.models.token_batches import TokenisedTexts
TokenisedTexts.of.__func__.__kwdefaults__["budget"] = 60
"""
    study = Study(tmp_path, (*call, "--format", "jsonl"), "t.csv", small)
    check(study, monkeypatch, "t.csv")


def test_bios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    words = sorted(set(tiny_encoders.words_of(*synthetic().texts)))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), tmp_path / "bert")
    call = ("bios", "--model", tmp_path / "bert", "--strategies", "none,subsample")
    small = ("--limit", 300, "--max-length", 20, "--draws", 20, "--seed", "0", "--no-baselines")
    quick = ("--epochs", 2, "--retrain-epochs", 2, "--batch-size", 32, "--every", 3)
    quick += ("--device", "cpu", "--format", "jsonl")
    check(Study(tmp_path, (*call, *small, *quick), ""), monkeypatch, "results.jsonl")


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
    check(Study(tmp_path, (*call, *pairs, *options), "", few), monkeypatch, "study")


def test_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Embedding.sample()
    words = [*sample.words[:1000], *sorted(listed_words(Attribute.load()))]
    sample.subset(words).save(tmp_path / "small.safetensors")
    parts = ("midb", "direct-bias", "occupations", "weat")
    skip = ",".join(part for part in PARTS if part not in parts)
    call = ("audit", tmp_path / "small.safetensors", "--methods", "misp hard", "--skip", skip)
    study = Study(tmp_path, (*call, "--no-chance", "--jobs", 1), "page.json")
    check(study, monkeypatch, "page.json")


def test_audit_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    model = planted_encoder.write_folder(tmp_path / "planted")
    call = ("audit", model, "--methods", "hard", "--skip", "probe,untrained,seat,ceat")
    often = """
import wordbias.contextual.audit.texts as texts
import wordbias.models.resume as resume
from wordbias.wordlists import model_sentences
model_sentences.NAMES = 40
resume.SAVE_SECONDS = 0
"""
    study = Study(tmp_path, (*call, "--device", "cpu"), "page.json", often)
    check(study, monkeypatch, "page.json")


def test_likelihood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    tiny_decoders.save_decoder(tmp_path / "decoder")
    small_likelihood.crows_pairs(tmp_path / "crows.csv")
    small_likelihood.bbq(tmp_path / "bbq.jsonl")
    data = ("--data", tmp_path / "crows.csv", "--data", tmp_path / "bbq.jsonl")
    call = ("likelihood", tmp_path / "decoder", *data, "--format", "jsonl", "--device", "cpu")
    small = "import wordbias.models.causal_model as causal; causal.BUDGET = 40\n"
    check(Study(tmp_path, call, "scores.csv", small), monkeypatch, "scores.csv")


def test_encode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    folder = encoder_folders.make_encoder("bert", tmp_path / "bert")
    (tmp_path / "texts.txt").write_text("\n".join(f"A nurse spoke {i}" for i in range(12)))
    call = ("encode", folder, tmp_path / "texts.txt", "--batch-tokens", 1, "--device", "cpu")
    often = "import wordbias.models.resume as resume; resume.SAVE_SECONDS = 0\n"
    study = Study(tmp_path, call, "x.safetensors", often, is_timed=True)
    check(study, monkeypatch, "x.safetensors.unfinished")


def test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shards").mkdir()
    vectors = np.random.default_rng(0).normal(size=(5, 60, 8))
    for i, shard in enumerate(vectors):
        np.save(tmp_path / "shards" / f"{i}.npy", shard)
    labels = [["F", "M"][i % 2] for i in range(300)]
    (tmp_path / "labels.txt").write_text("\n".join(labels) + "\n")
    call = ("erase", tmp_path / "shards", "--labels", tmp_path / "labels.txt")
    check(Study(tmp_path, (*call, "--format", "json"), ""), monkeypatch, "../output")


def test_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Embedding.sample()
    words = [*sample.words[:1000], *sorted(listed_words(Attribute.load()))]
    sample.subset(words).save(tmp_path / "small.safetensors")
    call = ("choose", "misp:dims=1 misp:dims=2 hard mhd", tmp_path / "small.safetensors")
    options = ("--by", "midb-unit-abs", "--keep", 0.1, "--format", "csv")
    check(Study(tmp_path, (*call, *options), "clean.txt"), monkeypatch, "clean.txt")
