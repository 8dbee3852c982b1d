"""`wordbias debias` and `wordbias apply`: every method, chains, saved transforms, bad calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Attribute, Embedding
from wordbias.devices import blas_threads
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain
from wordbias.methods.methods import fit_chain, fit_methods
from wordbias.methods.settings import METHODS
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.methods.words import listed_words
from wordbias.settings import Configured
from wordbias.wordlists import WordSets

Run = Callable[..., Any]

QUICK = {
    "double-hard": {"candidates": 3},
    "inlp": {"rounds": 3},
    "ran": {"iterations": 3},
    "gender-preserving": {"pretrain_epochs": 1, "epochs": 1},
}
NEEDS = {"gender-preserving": "torch"}
ROW_WISE = [name for name in METHODS if name != "gn-glove"]


@pytest.fixture(scope="module", autouse=True)
def _one_blas_thread() -> Any:
    with blas_threads(1):
        yield


@pytest.fixture(scope="module")
def few() -> Embedding:
    """The frequent words of the sample, and those that are listed."""
    sample = Embedding.sample()
    listed = sorted(listed_words(Attribute.load()) | WordSets.load().specific)
    return sample.subset([*sample.words[:800], *listed, "doctor", "nurse", "engineer", "elderly"])


def _rounding(embedding: Embedding) -> float:
    """Bound what the order of sums over d products can change in float32."""
    longest = float(np.linalg.norm(embedding.vectors, axis=1).max())
    return embedding.dim * float(np.finfo(np.float32).eps) * longest


@pytest.fixture
def text(few: Embedding, tmp_path: Path) -> Path:
    few.save(tmp_path / "few.txt")
    return tmp_path / "few.txt"


def _needs(name: str) -> None:
    package = NEEDS.get(name)
    if package and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROW_WISE)
def test_every_method_writes_what_python_makes(
    name: str, cli: Run, few: Embedding, text: Path, tmp_path: Path
) -> None:
    _needs(name)
    quick = Configured(name, QUICK.get(name, {}))
    out, fitted = tmp_path / "out.txt", tmp_path / "fitted.safetensors"
    done = cli("debias", quick.text, text, "-o", out, "--save-transform", fitted, "-q")
    assert (done.code, done.err) == (0, "")
    written = wb.load(out)
    assert written.words == few.words
    chain, debiased = fit_methods([quick], few)
    np.testing.assert_allclose(written.vectors, debiased.vectors, atol=_rounding(few))
    assert not np.allclose(written.vectors, few.vectors, atol=1e-3)
    assert str(out) in done.out

    mapped = tmp_path / "again.txt"
    applied = cli("apply", fitted, text, "-o", mapped, "-q")
    assert (applied.code, applied.err) == (0, "")
    # blocks of another height round differently
    np.testing.assert_allclose(wb.load(mapped).vectors, written.vectors, atol=_rounding(few))
    assert load_chain(fitted)[1].size == len(few)
    assert chain.parts[0].name in applied.out


def test_words_that_are_left_alone_are_counted(
    cli: Run, few: Embedding, text: Path, tmp_path: Path
) -> None:
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("doctor\nnurse\nengineer\nxyzzy\n")
    out = tmp_path / "out.txt"
    ran = f"ran:words='{vocabulary}':iterations=5"
    done = cli("debias", ran, text, "-o", out, "--format", "json", "-q")
    assert done.code == 0, done.err
    changed = (wb.load(out).vectors != few.vectors).any(axis=1)
    (row,) = [r for r in json.loads(done.out)["rows"] if r["measure"] == "words-changed"]
    assert row["value"] == row["replaced"] == changed.sum() == 3
    assert row["n"] == len(few)


def test_a_chain_is_one_after_the_other(few: Embedding) -> None:
    both, first = fit_chain("hard,misp", few)[1], fit_chain("hard", few)[1]
    np.testing.assert_array_equal(both.vectors, fit_chain("misp", first)[1].vectors)
    assert not np.allclose(both.vectors, fit_chain("misp,hard", few)[1].vectors, atol=1e-3)


def test_the_chain_is_recorded(cli: Run, text: Path, tmp_path: Path) -> None:
    fitted = tmp_path / "f.safetensors"
    done = cli("debias", "hard,mhd:dims=2", text, "--save-transform", fitted)
    assert done.code == 0
    chain, origin = load_chain(fitted)
    assert [part.name for part in chain.parts] == ["hard", "mhd"]
    assert chain.parts[1].settings["dims"] == 2
    assert origin.name == "few"
    assert len(origin.sha256) == 64
    assert " ".join(done.out.split()).startswith("mhd: the means of the groups come ")
    assert " hard, then mhd on " in " ".join(done.out.split())  # a long path is wrapped


@pytest.mark.slow
def test_the_output_may_be_safetensors_or_the_input_itself(
    cli: Run, few: Embedding, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.safetensors"
    assert cli("debias", "hard", text, "-o", out).code == 0
    assert cli("debias", "hard", text, "-o", text).code == 0
    np.testing.assert_allclose(wb.load(text).vectors, wb.load(out).vectors, atol=1e-6)


def test_lines_of_a_streamed_file_stay_where_they_are(
    cli: Run, few: Embedding, tmp_path: Path
) -> None:
    few.save(tmp_path / "few.txt")
    lines = (tmp_path / "few.txt").read_text(encoding="utf-8").splitlines()
    twice = tmp_path / "twice.txt"
    twice.write_text("\n".join([*lines, lines[0], lines[7]]) + "\n", encoding="utf-8")
    out = tmp_path / "out.txt"
    assert cli("debias", "hard", twice, "-o", out).code == 0
    written = out.read_text(encoding="utf-8").splitlines()
    assert [line.rpartition(" ")[0].split(" ")[0] for line in written] == [
        line.split(" ")[0] for line in [*lines, lines[0], lines[7]]
    ]
    for repeated, first in zip(written[-2:], (written[0], written[7]), strict=True):
        x, y = (np.array(line.split(" ")[-few.dim :], float) for line in (repeated, first))
        np.testing.assert_allclose(x, y, atol=_rounding(few))


def test_measuring_before_and_after(cli: Run, text: Path) -> None:
    done = cli("debias", "mhd", text, "--measure", "--only", "midb", "--format", "json")
    assert done.code == 0, done.err
    rows = [row for row in json.loads(done.out)["rows"] if row["measure"] == "midb-rms"]
    assert [row["subject"] for row in rows] == ["few", "few.mhd"]
    assert rows[1]["value"] < rows[0]["value"]


def test_ordinary_vectors_are_no_gn_glove(cli: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    done = cli("debias", "gn-glove", text, "-o", out)
    assert done.code == 1
    assert done.err.startswith("wordbias: ")
    assert done.err.count("\n") == 1
    assert not out.exists()


def test_a_file_without_a_method_before_it(cli: Run, text: Path) -> None:
    done = cli("debias", text, "-o", "out.txt")
    assert done.code == 2
    assert f"{text} is a file, not a method" in done.err


def test_applied_twice_changes_nothing_and_fails(cli: Run, text: Path, tmp_path: Path) -> None:
    out, fitted, twice = (tmp_path / name for name in ("o.txt", "f.safetensors", "t.txt"))
    assert cli("debias", "mhd", text, "-o", out, "--save-transform", fitted).code == 0
    done = cli("apply", fitted, out, "-o", twice, "--force")
    assert done.code == 1
    assert "changed no word of o" in done.err
    assert not twice.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["hardd"], 2, "did you mean hard?"),
        (["hard", "--alpha", "3"], 2, "No such option"),
        (["misp:dims=0"], 2, "dims: expected a whole number from 1 on, found '0'"),
        (["misp:weights=2"], 1, "expected 4 weights"),
        (["misp", "none.txt"], 1, "none.txt"),
        (["hard:direction=none.toml"], 1, "none.toml"),
        (["multi-hard:sets=none.toml"], 1, "none.toml"),
        (["oscar:concept=none.txt"], 1, "none.txt"),
        (["hard", "--save-transform", "no/such/f.safetensors"], 1, "does not exist"),
        ([], 2, "or let wordbias choose find one"),
        (["hard", "--strict-vocab"], 2, "--strict-vocab is for --measure"),
        (["misp:center"], 2, "as-published"),
        (["misp:centred"], 2, "as-published"),
        (["leace:as-published"], 2, "as-published"),
    ],
)
def test_bad_calls_are_one_clear_line(cli: Run, arguments: list[str], code: int, said: str) -> None:
    done = cli("debias", *arguments)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err
    if code == 1:
        assert done.err.count("\n") == 1


def test_apply_says_what_it_needs(cli: Run, text: Path, tmp_path: Path) -> None:
    assert "Missing option '-o'" in cli("apply", text, text).err
    done = cli("apply", text, text, "-o", tmp_path / "out.txt")
    assert done.code == 1
    assert "cannot be read as a transform" in done.err


def test_another_attribute(cli: Run, few: Embedding, text: Path, tmp_path: Path) -> None:
    age = tmp_path / "age.toml"
    age.write_text(
        '[groups]\nyoung = ["young", "youth", "child"]\nold = ["old", "elderly", "senior"]\n'
        '[pairs]\ndefinitional = [["young", "old"], ["youth", "elderly"]]\n'
    )
    out = tmp_path / "out.txt"
    assert cli("debias", "hard", text, "--groups", age, "-o", out).code == 0
    after = wb.load(out)
    gap = after["young"].astype(float) - after["old"]
    nurse = after["nurse"].astype(float)
    assert abs(nurse @ gap) < 1e-5


def test_no_file_is_written_over_another(cli: Run, text: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "same.txt", tmp_path / "words.txt"
    words.write_text("nurse\nengineer\ndoctor\n")
    before = text.read_bytes()
    for arguments in (
        ("hard", text, "-o", out, "--save-transform", tmp_path / "." / "same.txt"),
        ("hard", text, "--save-transform", text),
        (f"oscar:concept='{words}'", text, "-o", words),
    ):
        done = cli("debias", *arguments)
        assert done.code == 1
        assert "name two files" in done.err
    assert not out.exists()
    assert text.read_bytes() == before
    assert words.read_text().startswith("nurse")


def test_vectors_are_not_replaced_where_the_transform_cannot_be_written(
    cli: Run, text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any) -> None:
        raise WordbiasError("disk full")

    monkeypatch.setattr("wordbias.functions.debias.save_chain", full)
    before = text.read_bytes()
    for out in (text, tmp_path / "out.safetensors"):
        done = cli("debias", "hard", text, "-o", out, "--save-transform", tmp_path / "f.st")
        assert (done.code, "disk full" in done.err) == (1, True)
    assert text.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.txt"]


def test_hyphens_and_apostrophes_stream_like_the_rest(
    cli: Run, few: Embedding, tmp_path: Path
) -> None:
    odd = ["Great-Ma-Ma", "Great-Pa-Pa", "great-ma-ma", "great-pa-pa", "O'Maid", "O'Man"]
    rng = np.random.default_rng(0)
    vectors = np.concatenate([few.vectors, rng.normal(size=(len(odd), few.dim))])
    Embedding([*few.words, *odd], vectors).save(tmp_path / "odd.txt")
    attribute = tmp_path / "g.toml"
    attribute.write_text(
        '[groups]\nf = ["she", "woman"]\nm = ["he", "man"]\n[pairs]\n'
        'definitional = [["she", "he"], ["woman", "man"]]\n'
        'equalise = [["great-ma-ma", "great-pa-pa"], ["o\'maid", "o\'man"]]\n'
    )
    for suffix in ("txt", "safetensors"):
        out = tmp_path / f"out.{suffix}"
        done = cli("debias", "hard", tmp_path / "odd.txt", "--groups", attribute, "-o", out)
        assert done.code == 0, done.err
        assert " 6 " in done.out.split("Words")[1]


def test_methods_are_known_by_either_spelling(few: Embedding) -> None:
    underscored, other = (fit_chain(name, few)[0] for name in ("multi_hard", ["multi-hard"]))
    assert underscored.parts[0].settings == other.parts[0].settings
    assert underscored.parts[0].settings["sets"] == "religion"
    with pytest.raises(WordbiasError, match="method 'foo'"):
        fit_chain("foo", few)
    with pytest.raises(WordbiasError, match="methods: name at least one of misp"):
        fit_chain([], few)


def test_misp_says_what_was_removed_and_what_its_components_describe(cli: Run) -> None:
    done, usual = cli("debias", "misp:as-published"), cli("debias", "misp").out
    assert "difference-in-span" in done.out
    assert "these components hold 22% of the difference" in done.err
    assert "not centred" in usual
    sentence = "misp: the means of the groups come 20.3% nearer to each other (36.5% of the"
    assert usual.startswith(sentence)


def test_one_method_of_a_chain_can_be_as_published(few: Embedding) -> None:
    chain, done = fit_chain("misp:as-published,inlp:rounds=2:per-class=100", few)
    assert [part.settings["as_published"] for part in chain.parts] == [True, False]
    assert [part.centred for part in chain.parts] == [True, None]
    first = fit_chain("misp:centre", few)[1]
    second = fit_chain("inlp:rounds=2:per-class=100", first)[1]
    np.testing.assert_array_equal(second.vectors, done.vectors)


def test_centred_and_not_centred_are_not_mixed(few: Embedding, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="one method has centred differences"):
        fit_chain("misp:as-published,mhd", few)
    parts = [fit_chain(name, few)[0].parts[0] for name in ("misp:as-published", "mhd")]
    path = tmp_path / "mixed.safetensors"
    save_chain(path, Chain(tuple(parts)), Origin.of(few))
    with pytest.raises(WordbiasError, match="one method has centred differences"):
        load_chain(path)


def test_apply_says_that_differences_were_centred(cli: Run, text: Path, tmp_path: Path) -> None:
    fitted = tmp_path / "f.safetensors"
    cli("debias", "misp:as-published", text, "--save-transform", fitted)
    done = cli("apply", fitted, text, "-o", tmp_path / "out.txt")
    assert "misp (differences centred), fitted on" in done.out
