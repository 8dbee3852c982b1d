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
from wordbias.text_files import parse_size

QUICK: dict[str, Any] = {"vector_size": 8, "epochs": 2}
GN_GLOVE: dict[str, Any] = {**QUICK, "objective": "gn-glove"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    stand_ins.corpus(path)
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def options(given: dict[str, Any]) -> list[str]:
    flags = [(f"--{key.replace('_', '-')}", value) for key, value in given.items()]
    return [part for key, value in flags for part in ([key] if value is True else [key, value])]


@pytest.mark.parametrize("name", ["made.txt", "made.vec.gz", "made.safetensors", "made.bin"])
def test_the_shell_and_python_write_the_same_vectors(
    name: str, cli: Callable[..., Any], corpus: Path, tmp_path: Path
) -> None:
    trained = wb.train_vectors(corpus, output=tmp_path / name, **QUICK)
    loaded = wb.load(tmp_path / name)
    assert loaded.words == trained.words
    assert trained.words[0] == "the"
    np.testing.assert_allclose(loaded.vectors, trained.vectors, rtol=1e-5, atol=1e-7)
    first = (tmp_path / name).read_bytes()
    assert names(tmp_path) == {"corpus.txt", name, f"{name}.log.jsonl"}
    log = [json.loads(line) for line in (tmp_path / f"{name}.log.jsonl").read_text().splitlines()]
    assert [entry["epoch"] for entry in log] == [1, 2]

    done = cli("train-vectors", corpus, "-o", tmp_path / name, *options(QUICK), "--format", "json")
    assert done.code == 0, done.err
    assert (tmp_path / name).read_bytes() == first
    printed = json.loads(done.out)
    assert [row["value"] for row in printed["rows"]] == [entry["loss"] for entry in log]
    assert printed["rows"] == [row.to_dict() for row in trained.report.rows]
    facts = printed["inputs"]["corpus"]
    assert facts["words"] == len(trained)
    assert facts["tokens"] == len(corpus.read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"separation": "l2"}, {"as_published": True}])
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
    trained = wb.train_vectors(
        corpus, output=tmp_path / "gn.txt", **{**GN_GLOVE, "epochs": 6}, **more, **lists
    )
    w_a = wb.debias(trained, "gn-glove:drop-last")
    assert w_a.dim == trained.dim - 1
    np.testing.assert_array_equal(w_a.vectors, trained.vectors[:, :-1])
    (auc,) = w_a.report["separation-auc"]
    assert auc.value == 1.0
    sides = trained[["she", "he"]][:, -1]
    # the published lists have men first
    assert np.sign(sides).tolist() == ([-1, 1] if more.get("as_published") else [1, -1])
    heading = " ".join(trained.report.heading)
    assert ("as published" in heading) == bool(more.get("as_published"))

    plain = wb.train_vectors(corpus, output=tmp_path / "glove.txt", **QUICK)
    with pytest.raises(wb.WordbiasError, match="no GN-GloVe vectors"):
        wb.debias(plain, "gn-glove")


def test_counts_are_reused_by_the_next_call(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "counts"
    first = wb.train_vectors(corpus, output=tmp_path / "a.txt", counts=folder, **QUICK)
    with monkeypatch.context() as patch:
        patch.setattr("wordbias.functions.train_vectors.count", None)
        second = wb.train_vectors([corpus], output=tmp_path / "b.txt", counts=folder, **QUICK)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    with pytest.raises(
        wb.WordbiasError, match=r"counted otherwise: their window is 10, not 5; .*counts="
    ):
        wb.train_vectors(corpus, output=tmp_path / "c.txt", counts=folder, window=5, **QUICK)
    corpus.write_text(corpus.read_text() + "one more line\n")
    with pytest.raises(wb.WordbiasError, match="counted otherwise: their corpus"):
        wb.train_vectors(corpus, output=tmp_path / "c.txt", counts=folder, **QUICK)
    assert not (tmp_path / "c.txt").exists()
    with pytest.raises(wb.WordbiasError, match="holds no co-occurrences"):
        wb.train_vectors(corpus, output=tmp_path / "c.txt", counts=tmp_path, **QUICK)


def test_kept_counts_are_not_removed_by_a_call_of_its_own(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path
) -> None:
    """Whatever the folder is called: also as that of a call without --counts would be."""
    folder = tmp_path / "o.txt.counts"
    call = ("train-vectors", corpus, "-o", tmp_path / "o.txt", *options(QUICK))
    assert cli(*call, "--counts", folder).code == 0
    before = names(folder)
    done = cli(*call)
    assert done.code == 1
    assert "o.txt.counts: holds co-occurrences that are kept" in done.err
    assert names(folder) == before
    assert cli(*call, "--counts", folder).code == 0


def stopped(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_counts_that_an_interrupted_call_resumes_from_are_no_others(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**QUICK, "output": tmp_path / "o.txt"}
    with monkeypatch.context() as patch:
        patch.setattr("wordbias.embedding.Embedding.save", stopped)
        with pytest.raises(KeyboardInterrupt):
            wb.train_vectors(corpus, **given)
    left = tmp_path / "o.txt.counts"
    with pytest.raises(wb.WordbiasError, match="belongs to a call without counts="):
        wb.train_vectors(corpus, output=tmp_path / "p.txt", counts=left, **QUICK)
    with pytest.raises(
        wb.WordbiasError,
        match=r"resumes from these co-occurrences, and their window is 10, not 5; .* checkpoint",
    ):
        wb.train_vectors(corpus, **given, window=5)
    wb.train_vectors(corpus, **given)
    assert not left.exists()


def test_the_folder_of_counts_may_be_a_link(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "o.txt.counts").symlink_to(tmp_path / "disk" / "counts")
    wb.train_vectors(corpus, output=tmp_path / "o.txt", **QUICK)
    assert not any((tmp_path / "disk").iterdir())


@pytest.mark.slow
def test_counts_of_another_version_are_refused_by_it(corpus: Path, tmp_path: Path) -> None:
    given = {**QUICK, "output": tmp_path / "o.txt", "counts": tmp_path / "counts"}
    wb.train_vectors(corpus, **given)
    file = tmp_path / "counts" / "counts.json"
    facts = json.loads(file.read_text())
    del facts["memory"], facts["kept"]
    facts["about"]["version"] = 1
    file.write_text(json.dumps(facts))
    with pytest.raises(wb.WordbiasError, match="their version is 1, not 2; remove the folder"):
        wb.train_vectors(corpus, **given)


@pytest.mark.slow
def test_counts_that_a_failed_call_left_are_made_anew(corpus: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {**GN_GLOVE, "output": tmp_path / "gn.txt"}
    text = corpus.read_text()
    corpus.write_text("stone and sand and water\n" * 60)
    with pytest.raises(wb.WordbiasError, match="0 of 64 pairs found"):
        wb.train_vectors(corpus, **given)
    assert (tmp_path / "gn.txt.counts").is_dir()
    corpus.write_text(text)
    recounted = wb.train_vectors(corpus, **given, min_count=40)
    whole = wb.train_vectors(corpus, **{**given, "output": tmp_path / "b.txt"}, min_count=40)
    np.testing.assert_array_equal(recounted.vectors, whole.vectors)
    assert not (tmp_path / "gn.txt.counts").exists()


def test_counts_of_a_renamed_corpus_are_reused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**QUICK, "counts": tmp_path / "counts"}
    first = wb.train_vectors(corpus, output=tmp_path / "a.txt", **given)
    monkeypatch.setattr("wordbias.functions.train_vectors.count", None)
    other = corpus.rename(tmp_path / "other.txt")
    second = wb.train_vectors(other, output=tmp_path / "b.txt", **given)
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_a_training_that_diverges_leaves_no_checkpoint(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the second epoch: a call with the remedy begins anew."""
    call = ("train-vectors", corpus, "-o", tmp_path / "o.txt", "--objective", "gn-glove")
    call = (*call, *options({**QUICK, "epochs": 4}))
    original = GloVe.vectors

    def vectors(self: GloVe) -> Any:
        learned = original(self)
        return learned * np.nan if (tmp_path / "o.txt.checkpoint").exists() else learned

    with monkeypatch.context() as patch:
        patch.setattr(GloVe, "vectors", vectors)
        done = cli(*call)
    assert done.code == 1
    assert "diverged in epoch 2" in done.err
    assert "a smaller --batch-size, or lower --lambda-d and --lambda-e" in done.err
    assert not (tmp_path / "o.txt.checkpoint").exists()
    assert cli(*call, "--lr", "0.01").code == 0


def test_a_training_does_not_resume_on_counts_in_another_order(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**QUICK, "output": tmp_path / "o.txt", "counts": tmp_path / "counts"}
    with monkeypatch.context() as patch:
        patch.setattr("wordbias.embedding.Embedding.save", stopped)
        with pytest.raises(KeyboardInterrupt):
            wb.train_vectors(corpus, **given)
    shutil.rmtree(tmp_path / "counts")
    with pytest.raises(wb.WordbiasError, match="another training: its memory is 1000000000, not 2"):
        wb.train_vectors(corpus, **given, memory="2MB")
    assert not (tmp_path / "o.txt").exists()


@pytest.mark.parametrize("what", ["log", "full", "checkpoint", "junk", "long"])
def test_what_is_written_beside_the_output_is_checked_before_counting(
    what: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.functions.train_vectors.count", None)
    output, log = tmp_path / "o.txt", tmp_path / "o.txt.log.jsonl"
    message = "log.jsonl: is a folder"
    if what == "log":
        log.mkdir()
    elif what == "full":
        if not Path("/dev/full").exists():
            pytest.skip("this system has no /dev/full")
        log.symlink_to("/dev/full")
        message = "log.jsonl: is not a regular file"
    elif what == "checkpoint":
        (tmp_path / "o.txt.checkpoint").mkdir()
        message = "checkpoint: is a folder"
    elif what == "junk":
        (tmp_path / "o.txt.checkpoint").write_bytes(b"junk")
        message = "o.txt.checkpoint: "
    elif os.name == "nt":
        pytest.skip("names of 260 characters are another error on Windows")
    else:
        output, message = tmp_path / f"{'x' * 235}.txt", "File name too long"
    with pytest.raises(wb.WordbiasError, match=message):
        wb.train_vectors(corpus, output=output, **QUICK)


def test_an_interruption_after_the_vectors_are_written_says_so(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.functions.train_vectors._remove_counts", stopped)
    done = cli("train-vectors", corpus, "-o", tmp_path / "o.txt", *options(QUICK))
    assert done.code == 130
    assert f"interrupted; the vectors are complete: {tmp_path / 'o.txt'}\n" in done.err
    assert len(wb.load(tmp_path / "o.txt"))


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
    repeated = wb.train_vectors(corpus, output=tmp_path / "o.txt", **QUICK)
    np.testing.assert_array_equal(first.vectors, repeated.vectors)
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
    call = ["train-vectors", corpus, "--vector-size", "8", "--epochs", "3", "-q", "-o"]
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
    other = cli(*call, tmp_path / "made.txt", "--lr", "0.1")
    assert other.code == 1
    assert "is of another training: its rate is 0.05, not 0.1" in other.err
    assert cli(*call, tmp_path / "made.txt").code == 0
    assert (tmp_path / "made.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert not {"made.txt.checkpoint", "made.txt.counts"} & names(tmp_path)


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [
        ({"lambda_d": "1"}, "--lambda-d is for --objective gn-glove", 2),
        ({"as_published": True}, "--as-published is for --objective gn-glove", 2),
        ({"objective": "gn-glove", "vector_size": "1"}, "--vector-size: expected 2 or more", 2),
        ({"objective": "gn-glove", "groups": "age", "lists": "x"}, "give one", 2),
        ({"objective": "gn-glove", "as_published": True, "separation": "l2"}, "l1 only", 2),
        ({"objective": "gn-glove", "as_published": True}, "wordbias fetch gn-glove-lists", 1),
        ({"objective": "gn-glove", "groups": "religion"}, "groups", 1),
        ({"objective": "gn-glove", "groups": "age"}, "pairs", 1),
        ({"objective": "skip-gram"}, "'skip-gram' is not one of 'glove', 'gn-glove'", 2),
        ({"memory": "much"}, "--memory: 'much': expected a size with its unit", 1),
        ({"memory": "9000000TB"}, "--memory: 9,000,000,000,000,000,000 bytes are more than", 1),
        (
            {"vector_size": "2000000000000"},
            "--vector-size: there is not enough memory to train 71 words",
            1,
        ),
        (
            {"vector_size": "1" + "0" * 17},
            "--vector-size: there is not enough memory to train 71 words",
            1,
        ),
        ({"window": "1" + "0" * 17}, "give a smaller --window, a higher", 1),
        ({"memory": "9" * 400 + "GB"}, "expected a size of at most 9223372TB", 1),
        ({"min_count": "100000"}, "lower --min-count", 1),
        ({"lr": "0"}, "--lr", 2),
        ({"exponent": "2"}, "--exponent", 2),
        ({"vector_size": "1"}, "o.txt: GloVe text has no header and cannot tell one dimension", 1),
        ({"device": "abacus"}, "device 'abacus': torch cannot compute there", 1),
        ({"lr": "1e30"}, "training diverged", 1),
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
    for theirs, line, has in (("she\n", 2, "male"), ("she\n\nqueen\n", 2, "male")):
        (tmp_path / "female_word_file.txt").write_text(theirs)
        with pytest.raises(
            wb.WordbiasError,
            match=rf"/{has}_word_file\.txt: line {line}: has a word, and that line of .* a pair on",
        ):
            wb.train_vectors(corpus, **given)
    (tmp_path / "female_word_file.txt").write_text("\n \n")
    with pytest.raises(wb.WordbiasError, match=r"female_word_file\.txt: has no words"):
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
    folder = tmp_path / "counts"
    first = wb.train_vectors(corpus, output=tmp_path / "a.txt", counts=folder, **QUICK)
    original = train_vectors_module.locked

    def locked(path: Path) -> Any:
        assert Path(path) != folder, "the folder of the counts may be read-only"
        return original(path)

    monkeypatch.setattr(train_vectors_module, "locked", locked)
    second = wb.train_vectors(corpus, output=tmp_path / "b.txt", counts=folder, **QUICK)
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_gendered_words_that_the_corpus_lacks(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("stone and sand and water\n" * 60 + "she he\n" * 60)
    given: dict[str, Any] = {**GN_GLOVE, "output": tmp_path / "made.txt"}
    trained = wb.train_vectors(path, **given)
    assert trained.report.notes == [
        "1 pair found in the corpus; with fewer than 8, wordbias debias gn-glove cannot check w_g"
    ]
    path.write_text("stone and sand and water\n" * 60)
    with pytest.raises(wb.WordbiasError, match=r"0 of 64 pairs found .*groups="):
        wb.train_vectors(path, **given)


def test_published_lists_are_found_with_all_their_pairs(shared_data: Path) -> None:
    pairs = _pairs(None, shared_data / "gn_glove")
    assert len(pairs) == 222
    assert {("he", "she"), ("king", "queen")} < set(pairs)


def test_defaults_are_those_of_the_recipe() -> None:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(wb.train_vectors).parameters.items()
    }
    names = {"dim": "vector_size", "alpha": "exponent", "rate": "lr", "distance": "separation"}
    recipe = {names.get(name, name): value for name, value in vars(Recipe()).items()}
    assert {name: defaults[name] for name in recipe} == recipe


def test_progress_says_what_is_done(
    cli: Callable[..., Any], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    original = progress._maker(False)

    def make(**given: Any) -> Any:
        titles.append(given["desc"])
        return original(**{**given, "disable": True})

    monkeypatch.setattr(progress, "_maker", lambda notebook: make)
    assert cli("train-vectors", corpus, "-o", tmp_path / "o.txt", *options(QUICK)).code == 0
    counting = ["counting words", "counting co-occurrences", "sorting co-occurrences"]
    assert titles[:4] == [*counting, "training"]


def test_a_size_is_the_same_in_another_unit() -> None:
    for text, other, size in (("8.2GB", "8200MB", 8_200_000_000), ("1.1K", "1100 b", 1100)):
        assert parse_size(text) == parse_size(other) == size
