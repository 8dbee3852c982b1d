"""Encoding into a file: gone on with after any stop, never half a file, never another's file."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encoder_folders import TEXTS

from wordbias import WordbiasError
from wordbias.columns import Column
from wordbias.formats.files import locked
from wordbias.models import resume
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings, encode
from wordbias.models.representations import (
    Representations,
    load_representations,
    provenance,
    save_representations,
)
from wordbias.models.resume import Partial, encode_to
from wordbias.store import Store

pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("one_thread")

BATCH = 40
COLUMNS = {"class": Column.of("abababab")}
DISTINCT = len(set(TEXTS))


@pytest.fixture
def bert(encoder_folder: Callable[[str], Path]) -> Encoder:
    return Encoder.load(encoder_folder("bert"), device="cpu")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bios.st"


def run(out: Path, encoder: Encoder, some: Settings | None = None, **about: Any) -> Any:
    job = EncodingJob.of(encoder, TEXTS, settings=some)
    return encode_to(out, job, COLUMNS, {**provenance(job, "t", "0"), **about}, batch_tokens=BATCH)


def names(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


def stopping(monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException) -> None:
    """Stop once, before the batch that follows `after` others."""
    count = 0
    true = Encoder.hidden_states

    def call(self: Encoder, inputs: dict[str, Any]) -> Any:
        nonlocal count
        count += 1
        if count == after + 1:
            raise error
        return true(self, inputs)

    monkeypatch.setattr(Encoder, "hidden_states", call)


def test_the_file_holds_the_vectors_of_encode(bert: Encoder, out: Path) -> None:
    done = run(out, bert)
    assert (done.encoded, done.before) == (DISTINCT, 0)
    assert done.seconds > 0
    stored = load_representations(out)
    np.testing.assert_array_equal(stored.vectors, encode(bert, TEXTS, batch_tokens=BATCH))
    assert stored.layers == (0, 1, 2, 3)
    assert stored.column("class").cells() == list("abababab")
    assert names(out) == ["bios.st"]
    save_representations(
        Representations(stored.vectors, stored.layers, stored.columns, stored.about),
        out.parent / "b",
    )
    assert (out.parent / "b").read_bytes() == out.read_bytes()


def test_the_file_holds_its_provenance(bert: Encoder, out: Path) -> None:
    run(out, bert, Settings((3, 1), "mean", special_tokens="counted", max_length=7))
    about = load_representations(out).about
    expected = {
        "model": bert.name,
        "weights_sha256": bert.sha256(),
        "random_init": None,
        "precision": "float32",
        "device": "cpu",
        "layers": [3, 1],
        "pooling": "mean",
        "subword": "mean",
        "special_tokens": "counted",
        "max_length": 7,
        "prompt": "",
        "modules": [],
        "texts": "t",
        "texts_sha256": "0",
        "truncated": sum(len(bert.tokenizer(text)["input_ids"]) > 7 for text in TEXTS),
    }
    assert {key: about[key] for key in expected} == expected
    assert set(about["versions"]) == {"torch", "transformers", "tokenizers"}
    assert set(about) == {*expected, "versions"}


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("no room")])
def test_an_interrupted_call_is_resumed(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException
) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, after, error)
        with pytest.raises(type(error)):
            run(out, bert)
    assert names(out) == ["bios.st.unfinished", "bios.st.unfinished.json"]
    state = json.loads((out.parent / "bios.st.unfinished.json").read_text())
    assert state["done"] > 0
    done = run(out, bert)
    assert (done.before, done.encoded) == (state["done"], DISTINCT - state["done"])
    assert names(out) == ["bios.st"]
    expected = encode(bert, TEXTS, batch_tokens=BATCH)
    np.testing.assert_array_equal(load_representations(out).vectors, expected)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), WordbiasError("vectors that are none")])
def test_an_interruption_before_the_first_text_leaves_no_file(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """A model that fails at once does not bar the output to the next one."""
    with monkeypatch.context() as patch:
        stopping(patch, 0, error)
        with pytest.raises(type(error)):
            run(out, bert)
    assert names(out) == []
    assert run(out, bert, None, texts_sha256="another").before == 0


def test_a_failure_does_not_lose_what_was_encoded_before(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for after in (1, 0):
        with monkeypatch.context() as patch:
            stopping(patch, after, KeyboardInterrupt())
            with pytest.raises(KeyboardInterrupt):
                run(out, bert)
    assert run(out, bert).before > 0


def test_what_was_encoded_before_is_not_encoded_again(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run(out, bert)
    part = out.with_name("bios.st.unfinished")
    vectors = load_representations(part).vectors
    done = np.array([bool(row.any()) for row in vectors[-1]])
    assert 0 < done.sum() < len(TEXTS)
    marked = np.memmap(
        part, np.float32, "r+", part.stat().st_size - 4 * len(TEXTS) - vectors.nbytes, vectors.shape
    )
    marked[:, done] = 7.0
    marked.flush()
    run(out, bert)
    assert (load_representations(out).vectors[:, done] == 7).all()


def test_a_call_killed_before_the_first_note_starts_again(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process does not run what is `finally`."""
    with monkeypatch.context() as patch:
        stopping(patch, 1, KeyboardInterrupt())
        patch.setattr(Partial, "save", lambda *rest: None)
        with pytest.raises(KeyboardInterrupt):
            run(out, bert)
    assert names(out) == ["bios.st.unfinished"]
    done = run(out, bert)
    assert (done.before, done.encoded) == (0, DISTINCT)
    np.testing.assert_array_equal(
        load_representations(out).vectors, encode(bert, TEXTS, batch_tokens=BATCH)
    )


def test_a_note_without_its_file_is_ignored(bert: Encoder, out: Path) -> None:
    Store(out.with_name("bios.st.unfinished.json"), {}).put(done=3)
    done = run(out, bert)
    assert (done.before, done.encoded) == (0, DISTINCT)
    assert names(out) == ["bios.st"]


@pytest.mark.slow
def test_progress_is_noted_while_it_works(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = []
    true = Partial.save
    monkeypatch.setattr(resume, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(Partial, "save", lambda *given: (noted.append(given[-1]), true(*given)))
    run(out, bert)
    assert noted[-2:] == [DISTINCT, DISTINCT]
    assert noted == sorted(noted)
    assert len(noted) > 3


def test_a_complete_file_is_not_written_again(bert: Encoder, out: Path) -> None:
    run(out, bert)
    before = out.stat().st_mtime_ns
    done = run(out, bert)
    assert (done.encoded, done.before) == (0, DISTINCT)
    assert out.stat().st_mtime_ns == before
    assert names(out) == ["bios.st"]


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    ("some", "about", "message"),
    [
        (Settings(pooling="mean"), {}, "its pooling is 'first', not 'mean'"),
        (Settings((0,)), {}, "its layers has 4 entries, not 1"),
        (None, {"texts_sha256": "1"}, "its texts_sha256 is '0', not '1'"),
        (None, {"more": 1}, "its more is None, not 1"),
    ],
)
def test_other_settings_are_refused_and_the_difference_named(
    bert: Encoder,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    complete: bool,
    some: Settings | None,
    about: dict[str, Any],
    message: str,
) -> None:
    if complete:
        run(out, bert)
    else:
        with monkeypatch.context() as patch:
            stopping(patch, 1, KeyboardInterrupt())
            with pytest.raises(KeyboardInterrupt):
                run(out, bert)
    there = {path.name: path.read_bytes() for path in out.parent.iterdir()}
    with pytest.raises(WordbiasError, match=f"is of another run: {message}; remove it, or name an"):
        run(out, bert, some, **about)
    assert {path.name: path.read_bytes() for path in out.parent.iterdir()} == there


def test_other_columns_are_refused(bert: Encoder, out: Path) -> None:
    run(out, bert)
    job = EncodingJob.of(bert, TEXTS)
    with pytest.raises(WordbiasError, match="its columns are others"):
        encode_to(out, job, {}, provenance(job, "t", "0"))


@pytest.mark.parametrize("content", [b"", b"my thesis", bytes(200)])
@pytest.mark.parametrize("name", ["bios.st", "bios.st.unfinished"])
def test_a_file_of_something_else_is_not_touched(
    bert: Encoder, out: Path, content: bytes, name: str
) -> None:
    path = out.with_name(name)
    path.write_bytes(content)
    with pytest.raises(WordbiasError, match="is there already and holds no representations"):
        run(out, bert)
    assert path.read_bytes() == content
    assert names(out) == [name]


@pytest.mark.parametrize("note", [b"{", {"done": 1_000_000}, {"done": -1}, {"done": "x"}, {}])
def test_with_a_damaged_note_all_is_encoded_anew(
    note: Any, bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run(out, bert)
    path = out.with_name("bios.st.unfinished.json")
    if isinstance(note, bytes):
        path.write_bytes(note)
    else:
        Store(path, {}).put(**note)
    assert run(out, bert).before == 0
    expected = encode(bert, TEXTS, batch_tokens=BATCH)
    np.testing.assert_array_equal(load_representations(out).vectors, expected)


def test_a_full_disk_is_an_error_before_anything_is_encoded(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*rest: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(Encoder, "hidden_states", None)
    with pytest.raises(WordbiasError, match="No space left on device"):
        run(out, bert)
    assert names(out) == []


def test_disk_space_is_reserved_where_the_system_has_no_call_for_it(
    bert: Encoder, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(out, bert)
    expected = out.read_bytes()
    monkeypatch.delattr(os, "posix_fallocate")
    other = out.with_name("other.st")
    run(other, bert)
    assert other.read_bytes() == expected


def test_outputs_that_cannot_be_written_are_refused(bert: Encoder, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="is a folder"):
        run(tmp_path, bert)
    with pytest.raises(WordbiasError, match="does not exist"):
        run(tmp_path / "gone" / "a.st", bert)
    with pytest.raises(WordbiasError, match=r"vectors, .* expected a name such as a\.safetensors"):
        run(tmp_path / "a.json", bert)


def test_a_link_is_written_where_it_points(bert: Encoder, out: Path) -> None:
    link = out.with_name("link.st")
    link.symlink_to(out)
    run(link, bert)
    assert link.is_symlink()
    assert len(load_representations(out)) == len(TEXTS)


def test_a_second_process_does_not_take_part(bert: Encoder, out: Path) -> None:
    pytest.importorskip("fcntl")
    with locked(out.with_name("bios.st.unfinished")):
        before = names(out)
        with pytest.raises(WordbiasError, match="another process is writing it"):
            run(out, bert)
        assert names(out) == before
    run(out, bert)
    assert names(out) == ["bios.st"]


def test_the_lock_of_a_killed_process_does_not_block_others(bert: Encoder, out: Path) -> None:
    out.with_name("bios.st.unfinished.lock").touch()
    run(out, bert)
    assert names(out) == ["bios.st"]


def test_standard_output_is_refused(
    bert: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WordbiasError, match="not written to standard output"):
        run(Path("-"), bert)
    assert not Path("-").exists()
