"""`train-vectors`: the vectors, what debias gn-glove makes of them, resuming, refusals."""

from __future__ import annotations

import errno
import inspect
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import wordbias as wb
from wordbias import progress
from wordbias.functions import train_vectors as train_vectors_module
from wordbias.functions.train_vectors import _pairs
from wordbias.glove.objectives import GloVe, Recipe

QUICK: dict[str, Any] = {"dim": 8, "epochs": 2}
GN_GLOVE: dict[str, Any] = {**QUICK, "objective": "gn-glove"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    stand_ins.corpus(path)
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def options(given: dict[str, Any]) -> list[str]:
    found = [(f"--{key.replace('_', '-')}", value) for key, value in given.items()]
    return [part for key, value in found for part in ([key] if value is True else [key, value])]


@pytest.mark.parametrize("name", ["made.txt", "made.vec.gz", "made.safetensors", "made.bin"])
def test_the_shell_and_python_write_the_same_vectors(
    name: str, cli: Callable[..., Any], corpus: Path, tmp_path: Path
) -> None:
    made = wb.train_vectors(corpus, output=tmp_path / name, **QUICK)
    again = wb.load(tmp_path / name)
    assert again.words == made.words
    assert made.words[0] == "the"
    np.testing.assert_allclose(again.vectors, made.vectors, rtol=1e-5, atol=1e-7)
    first = (tmp_path / name).read_bytes()
    assert names(tmp_path) == {"corpus.txt", name, f"{name}.log.jsonl"}
    log = [json.loads(line) for line in (tmp_path / f"{name}.log.jsonl").read_text().splitlines()]
    assert [entry["epoch"] for entry in log] == [1, 2]

    done = cli("train-vectors", corpus, "-o", tmp_path / name, *options(QUICK), "--format", "json")
    assert done.code == 0, done.err
    assert (tmp_path / name).read_bytes() == first
    said = json.loads(done.out)
    assert [row["value"] for row in said["rows"]] == [entry["loss"] for entry in log]
    assert said["rows"] == [row.to_dict() for row in made.report.rows]
    facts = said["inputs"]["corpus"]
    assert facts["words"] == len(made)
    assert facts["tokens"] == len(corpus.read_text().split())


@pytest.mark.parametrize("more", [{}, {"distance": "l2"}, {"as_published": True}])
def test_debias_gn_glove_takes_what_gn_glove_trained(
    more: dict[str, Any], corpus: Path, tmp_path: Path
) -> None:
    lists = {}
    if more.get("as_published"):
        pairs = [*wb.Attribute.load().pairs, *wb.Attribute.load().equalise, ("nowhere", "never")]
        for side, name in enumerate(("female", "male")):
            words = "\n".join(pair[side] for pair in pairs)
            (tmp_path / f"{name}_word_file.txt").write_text(words)
        lists = {"lists": tmp_path}
    made = wb.train_vectors(
        corpus, output=tmp_path / "gn.txt", **{**GN_GLOVE, "epochs": 6}, **more, **lists
    )
    w_a = wb.debias(made, "gn-glove", drop_last=True)
    assert w_a.dim == made.dim - 1
    np.testing.assert_array_equal(w_a.vectors, made.vectors[:, :-1])
    (auc,) = w_a.report["separation-auc"]
    assert auc.value == 1.0
    sides = made[["she", "he"]][:, -1]
    # the published lists have men first
    assert np.sign(sides).tolist() == ([-1, 1] if more.get("as_published") else [1, -1])
    heading = " ".join(made.report.heading)
    assert ("as published" in heading) == bool(more.get("as_published"))

    plain = wb.train_vectors(corpus, output=tmp_path / "glove.txt", **QUICK)
    with pytest.raises(wb.WordbiasError, match="no GN-GloVe vectors"):
        wb.debias(plain, "gn-glove")


def test_counts_are_reused_by_the_next_call(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "counts"
    first = wb.train_vectors(corpus, output=tmp_path / "a.txt", counts=kept, **QUICK)
    with monkeypatch.context() as patch:
        patch.setattr("wordbias.functions.train_vectors.count", None)
        again = wb.train_vectors([corpus], output=tmp_path / "b.txt", counts=kept, **QUICK)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    with pytest.raises(
        wb.WordbiasError, match=r"counted otherwise: their window is 10, not 5; .*counts="
    ):
        wb.train_vectors(corpus, output=tmp_path / "c.txt", counts=kept, window=5, **QUICK)
    corpus.write_text(corpus.read_text() + "one more line\n")
    with pytest.raises(wb.WordbiasError, match="counted otherwise: their corpus"):
        wb.train_vectors(corpus, output=tmp_path / "c.txt", counts=kept, **QUICK)
    assert not (tmp_path / "c.txt").exists()
    with pytest.raises(wb.WordbiasError, match="holds no co-occurrences"):
        wb.train_vectors(corpus, output=tmp_path / "c.txt", counts=tmp_path, **QUICK)


def test_counts_are_not_kept_where_another_call_removes_its_own(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path
) -> None:
    given = options({**QUICK, "counts": tmp_path / "o.txt.counts"})
    done = cli("train-vectors", corpus, "-o", tmp_path / "o.txt", *given)
    assert done.code == 1
    assert "a later call without --counts uses" in done.err
    assert names(tmp_path) == {"corpus.txt"}


def test_what_a_killed_count_left_is_removed_by_the_next(corpus: Path, tmp_path: Path) -> None:
    left = tmp_path / ".o.txt.counts.99999999.part"
    (left / "work").mkdir(parents=True)
    (left / "work" / "0.keys").write_bytes(bytes(8))
    wb.train_vectors(corpus, output=tmp_path / "o.txt", **QUICK)
    assert names(tmp_path) == {"corpus.txt", "o.txt", "o.txt.log.jsonl"}


def test_a_call_killed_while_it_removes_the_counts_can_be_repeated(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = wb.train_vectors(corpus, output=tmp_path / "whole.txt", **QUICK)

    original = shutil.rmtree

    def killed(folder: Path, **given: Any) -> None:
        if folder.parent != tmp_path or given:  # what counting removes
            return original(folder, **given)
        (folder / "counts.json").unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wordbias.functions.train_vectors.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            wb.train_vectors(corpus, output=tmp_path / "o.txt", **QUICK)
    again = wb.train_vectors(corpus, output=tmp_path / "o.txt", **QUICK)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    left = {f"{name}{end}" for name in ("o", "whole") for end in (".txt", ".txt.log.jsonl")}
    assert names(tmp_path) == {"corpus.txt", *left}


def test_a_full_disk_leaves_nothing(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("wordbias.glove.cooccurrence._Runs._store", full)
    done = cli("train-vectors", corpus, "-o", tmp_path / "o.txt", *options(QUICK), "-q")
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("o.txt.counts: could not be written: No space left on device\n")
    assert len(done.err.splitlines()) == 1
    assert names(tmp_path) == {"corpus.txt"}


def test_an_interrupted_call_resumes(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["train-vectors", corpus, "--dim", "8", "--epochs", "3", "-q", "-o"]
    assert cli(*call, tmp_path / "whole.txt").code == 0
    epochs, original = [0], GloVe.start_epoch

    def interrupted(self: GloVe) -> None:
        epochs[0] += 1
        if epochs[0] == 3:
            raise KeyboardInterrupt
        original(self)

    with monkeypatch.context() as patch:
        patch.setattr(GloVe, "start_epoch", interrupted)
        done = cli(*call, tmp_path / "made.txt")
    assert done.code == 130
    assert "wordbias: interrupted; the same call resumes after epoch 2" in done.err
    assert not (tmp_path / "made.txt").exists()
    left = {"made.txt.checkpoint", "made.txt.counts", "made.txt.log.jsonl"}
    assert left <= names(tmp_path)
    other = cli(*call, tmp_path / "made.txt", "--rate", "0.1")
    assert other.code == 1
    assert "is of another training: its recipe.rate is 0.05, not 0.1" in other.err
    assert cli(*call, tmp_path / "made.txt").code == 0
    assert (tmp_path / "made.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert not {"made.txt.checkpoint", "made.txt.counts"} & names(tmp_path)


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [
        ({"lambda_d": "1"}, "--lambda-d is for --objective gn-glove", 2),
        ({"as_published": True}, "--as-published is for --objective gn-glove", 2),
        ({"objective": "gn-glove", "dim": "1"}, "--dim: expected 2 or more", 2),
        ({"objective": "gn-glove", "groups": "age", "lists": "x"}, "give one", 2),
        ({"objective": "gn-glove", "as_published": True, "distance": "l2"}, "l1 only", 2),
        ({"objective": "gn-glove", "as_published": True}, "wordbias fetch gn-glove-lists", 1),
        ({"objective": "gn-glove", "groups": "religion"}, "groups", 1),
        ({"objective": "gn-glove", "groups": "age"}, "pairs", 1),
        ({"objective": "skip-gram"}, "'skip-gram' is not one of 'glove', 'gn-glove'", 2),
        ({"memory": "much"}, "--memory: 'much': expected a size with its unit", 1),
        ({"memory": "9" * 400 + "GB"}, "expected a size of at most 9223372TB", 1),
        ({"min_count": "100000"}, "lower --min-count", 1),
        ({"rate": "0"}, "--rate", 2),
        ({"alpha": "2"}, "--alpha", 2),
        ({"dim": "1"}, "cannot tell one dimension; write .vec", 1),
        ({"device": "abacus"}, "device 'abacus': torch cannot compute there", 1),
        ({"rate": "1e30"}, "training diverged", 1),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    given: dict[str, Any],
    message: str,
    code: int,
    cli: Callable[..., Any],
    corpus: Path,
    tmp_path: Path,
) -> None:
    done = cli("train-vectors", corpus, "-o", tmp_path / "o.txt", *options({**QUICK, **given}))
    assert done.code == code
    line = done.err.strip().splitlines()[-1]
    assert message in line
    assert done.out == ""
    assert not (tmp_path / "o.txt").exists()
    assert names(tmp_path) <= {"corpus.txt", "o.txt.counts"}  # complete, for the next call


def test_outputs_that_cannot_be_written_are_refused_before_counting(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.functions.train_vectors.count", None)
    for output, message in (
        (corpus, "is both CORPUS"),
        (tmp_path / "no" / "made.txt", "does not exist"),
        (tmp_path / "made.json", "vectors are not written as .json"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(wb.WordbiasError, match=message):
            wb.train_vectors(corpus, output=output, **QUICK)
    with pytest.raises(wb.WordbiasError, match="there is no such file"):
        wb.train_vectors(tmp_path / "none.txt", output=tmp_path / "made.txt", **QUICK)
    with pytest.raises(wb.WordbiasError, match="corpus=: expected"):
        wb.train_vectors(3, output=tmp_path / "made.txt", **QUICK)  # type: ignore[arg-type]
    with pytest.raises(wb.WordbiasError, match="expected one text file at least"):
        wb.train_vectors([], output=tmp_path / "made.txt", **QUICK)
    assert names(tmp_path) == {"corpus.txt"}


def test_lists_that_are_no_pairs_are_refused(corpus: Path, tmp_path: Path) -> None:
    given = {**GN_GLOVE, "output": tmp_path / "made.txt", "lists": tmp_path}
    (tmp_path / "male_word_file.txt").write_text("he\nking\n")
    with pytest.raises(wb.WordbiasError, match=r"female_word_file\.txt: cannot be read"):
        wb.train_vectors(corpus, **given)
    (tmp_path / "female_word_file.txt").write_text("she\n")
    with pytest.raises(wb.WordbiasError, match=r"2 words in .* and 1 in .*a pair on each line"):
        wb.train_vectors(corpus, **given)
    (tmp_path / "female_word_file.txt").write_text("she\n\nher queen\n")
    with pytest.raises(
        wb.WordbiasError,
        match=r"female_word_file\.txt: line 3: expected a word, found 2: 'her queen'",
    ):
        wb.train_vectors(corpus, **given)


def test_no_input_is_written_over(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.functions.train_vectors.count", None)
    text = corpus.read_bytes()
    output = tmp_path / "made.txt"
    for name, message in (
        ("made.txt.log.jsonl", r"log\.jsonl: is both CORPUS .* and the log of output="),
        ("made.txt.checkpoint", r"checkpoint: is both CORPUS .* and the checkpoint of output="),
        ("made.txt.lock", r"made\.txt\.lock: has content, and would be removed"),
    ):
        read = tmp_path / name
        read.write_bytes(text)
        with pytest.raises(wb.WordbiasError, match=message):
            wb.train_vectors(read, output=output, **QUICK)
        assert read.read_bytes() == text
        read.unlink()
    with pytest.raises(wb.WordbiasError, match="is both the log of output= and counts="):
        wb.train_vectors(corpus, output=output, counts=f"{output}.log.jsonl", **QUICK)
    for name in ("male_word_file.txt", "female_word_file.txt"):
        (tmp_path / name).write_text("he\nking\n")
        with pytest.raises(wb.WordbiasError, match=f"is both lists=, {name} and output="):
            wb.train_vectors(corpus, output=tmp_path / name, lists=tmp_path, **GN_GLOVE)
    groups = tmp_path / "groups.txt"
    groups.write_text('[groups]\na = ["he", "him"]\nb = ["she", "her"]\n')
    with pytest.raises(wb.WordbiasError, match="is both groups= and output="):
        wb.train_vectors(corpus, output=groups, groups=groups, **GN_GLOVE)


def test_complete_counts_need_no_lock(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "counts"
    first = wb.train_vectors(corpus, output=tmp_path / "a.txt", counts=kept, **QUICK)
    original = train_vectors_module.locked

    def locked(path: Path) -> Any:
        assert Path(path) != kept, "the folder of the counts may be read-only"
        return original(path)

    monkeypatch.setattr(train_vectors_module, "locked", locked)
    again = wb.train_vectors(corpus, output=tmp_path / "b.txt", counts=kept, **QUICK)
    np.testing.assert_array_equal(first.vectors, again.vectors)


def test_gendered_words_that_the_corpus_lacks(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("stone and sand and water\n" * 60 + "she he\n" * 60)
    given: dict[str, Any] = {**GN_GLOVE, "output": tmp_path / "made.txt"}
    made = wb.train_vectors(path, **given)
    assert made.report.notes == [
        "1 pair found in the corpus; with fewer than 8, wordbias debias gn-glove cannot check w_g"
    ]
    path.write_text("stone and sand and water\n" * 60)
    with pytest.raises(wb.WordbiasError, match=r"0 of 64 pairs found .*groups="):
        wb.train_vectors(path, **given)


def test_published_lists_are_found_with_all_their_pairs(shared_data: Path) -> None:
    pairs = _pairs(None, shared_data / "gn_glove", as_published=True)
    assert len(pairs) == 222
    assert {("he", "she"), ("king", "queen")} < set(pairs)


def test_defaults_are_those_of_the_recipe() -> None:
    defaults = {
        name: one.default for name, one in inspect.signature(wb.train_vectors).parameters.items()
    }
    recipe = vars(Recipe())
    assert {name: defaults[name] for name in recipe} == recipe


def test_progress_says_what_is_done(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    original = progress._maker(False)

    def make(**given: Any) -> Any:
        shown.append(given["desc"])
        return original(**{**given, "disable": True})

    monkeypatch.setattr(progress, "_maker", lambda notebook: make)
    assert cli("train-vectors", corpus, "-o", tmp_path / "o.txt", *options(QUICK)).code == 0
    counting = ["counting words", "counting co-occurrences", "sorting co-occurrences"]
    assert shown[:4] == [*counting, "training"]
