"""`wordbias audit`: its formats, what it leaves out, and what it says when something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias import Embedding
from wordbias.methods.words import listed_words
from wordbias.pages.stages import PARTS
from wordbias.wordlists import Attribute, Templates, load_queries

Run = Callable[..., Any]
QUICK = "clustering,recoverability,mab,weat,gipe,sembias,quality"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the listed words, the occupations and the first words of the sample."""
    sample = Embedding.sample()
    queries = [word for query in load_queries() for word in sorted(query.candidates())]
    listed = [*sorted(listed_words(Attribute.load())), *Templates.load().occupations, *queries]
    path = tmp_path_factory.mktemp("vectors") / "small.safetensors"
    sample.subset([*sample.words[:1500], *listed]).save(path)
    return path


@pytest.fixture
def found(cli: Run) -> Callable[..., dict[str, Any]]:
    """Audit and return the parsed JSON."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli("audit", "--format", "json", "--quiet", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


def test_skipping_leaves_out_and_only_that(found: Run, small: Path) -> None:
    everything = [part for part in PARTS if part != "direct-bias"]
    rows = found(small, "--methods", "none", "--skip", ",".join(everything))["rows"]
    assert {row["measure"] for row in rows} == {"direct-bias", "direct-bias-pca"}
    assert all("stage" not in row for row in rows)


@pytest.mark.slow
def test_several_embeddings_share_one_vocabulary_and_get_a_matrix(
    cli: Run, small: Path, tmp_path: Path
) -> None:
    other = tmp_path / "<script>alert(1)<b>.safetensors"
    vectors = wb.load(small)
    vectors.subset(vectors.words[::-1]).save(other)
    target = tmp_path / "page.html"
    done = cli("audit", small, other, "--skip", QUICK, "-o", target)
    assert done.code == 0, done.err
    text = target.read_text(encoding="utf-8")
    assert '<section id="matrix">' in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;b&gt;" in text


@pytest.mark.slow
def test_two_files_of_one_name_are_called_by_their_paths(
    found: Run, small: Path, tmp_path: Path
) -> None:
    copy = tmp_path / small.name
    copy.write_bytes(small.read_bytes())
    result = found(small, copy, small, "--skip", f"{QUICK},map")
    assert list(result["inputs"]) == [str(small), str(copy)]
    assert {row["subject"] for row in result["rows"]} == {str(small), str(copy)}


@pytest.mark.slow
def test_words_can_be_asked_for_and_an_odd_one_is_escaped(
    found: Run, small: Path, tmp_path: Path
) -> None:
    vectors = wb.load(small)
    odd = Embedding(["<script>", *vectors.words[1:]], vectors.vectors, "odd")
    odd.save(tmp_path / "odd.safetensors")
    words = ("--words", "<script>,boss", "--skip", QUICK)
    rows = found(tmp_path / "odd.safetensors", *words)["rows"]
    listed = [r["word"] for r in rows if r["measure"] == "neighbours-preserved" and "word" in r]
    assert listed[:2] == ["<script>", "boss"]


@pytest.mark.slow
def test_real_sets_of_quality_and_sembias(found: Run, small: Path, shared_data: Path) -> None:
    skip = ",".join(set(QUICK.split(",")) - {"quality", "sembias"})
    sets = (
        "--benchmarks",
        shared_data / "wordsim",
        "--sembias",
        shared_data / "sembias/SemBias.tsv",
    )
    rows = found(small, *sets, "--methods", "hard", "--skip", skip)["rows"]
    similar = [row for row in rows if row["measure"] == "similarity"]
    assert {row["stage"] for row in similar} == {"before", "hard"}
    assert all(r["change_low"] <= r["change_high"] for r in similar if r["stage"] == "hard")
    assert any(r["measure"] == "sembias-stereotype" and r["value"] is not None for r in rows)


@pytest.mark.slow
def test_without_a_name_the_page_has_one(
    cli: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("audit", small, "--skip", ",".join(p for p in PARTS if p != "direct-bias"))
    assert "Written: wordbias-audit.html" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["wordbias-audit.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--skip", "gip"), "part 'gip': expected some of midb, direct-bias"),
        (("--skip", "misp"), "part 'misp': expected some of midb, direct-bias"),
        (("--methods", "misp:dim=2"), "did you mean dims?"),
        (("--methods", "misp hrad"), "method 'hrad'"),
        (("--after", "nothere.txt"), "nothere.txt"),
        (("nothere.txt",), "nothere.txt"),
        (("--benchmarks", "nothere"), "nothere"),
        (("--sembias", "nothere"), "nothere"),
        (("--nli-model", "nothere"), "nothere"),
        (("-o", "no/such/folder.html"), "the folder"),
        (("--direction", "nothere.safetensors"), "nothere.safetensors"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_measured(
    cli: Run, arguments: tuple[str, ...], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = cli("audit", *arguments)
    assert (done.code, done.out) == (2 if "--methods" in arguments else 1, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_not_written_over_an_input(cli: Run, small: Path) -> None:
    before = small.read_bytes()
    assert "is both an input" in cli("audit", small, "-o", small).err
    assert small.read_bytes() == before
