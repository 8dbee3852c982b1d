"""Arms of a study as arguments: a file for each seed, mappings, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.functions.arms import open_arms
from wordbias.functions.inputs import ReadOptions


def _write(folder: Path, *names: str) -> None:
    """Write vectors whose only value is their place among the names."""
    for i, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"she {i} 1\nhe {i} 2\n")


def _opened(embeddings: Any, seeds: tuple[int, ...] = (0, 1)) -> dict[str, dict[int, Any]]:
    opened = open_arms(embeddings, seeds, ReadOptions())
    arms = {
        name: {s: subject.embedding for s, subject in by_seed.items()} for name, by_seed in opened
    }
    assert len(arms) == len(opened)
    return arms


@pytest.mark.parametrize(
    ("pattern", "arm", "names"),
    [
        ("glove{seed}.txt", "glove", ["glove0", "glove1"]),
        ("glove-{seed}.txt", "glove", ["glove-0", "glove-1"]),
        ("glove.seed{seed}.txt", "glove", ["glove.seed0", "glove.seed1"]),
        ("glove_seed_{seed}.vec", "glove", ["glove_seed_0", "glove_seed_1"]),
        ("linseed{seed}.txt", "linseed", ["linseed0", "linseed1"]),
        ("{seed}-glove.txt", "glove", ["0-glove", "1-glove"]),
        ("gn-{seed}-50d.txt", "gn-50d", ["gn-0-50d", "gn-1-50d"]),
        ("run{seed}/glove.txt", "glove", ["glove0", "glove1"]),
        ("run{seed}/glove{seed}.txt", "glove", ["glove0", "glove1"]),
    ],
)
def test_files_of_seeds_are_one_arm(
    pattern: str, arm: str, names: list[str], tmp_path: Path
) -> None:
    _write(tmp_path, *(pattern.replace("{seed}", str(seed)) for seed in (0, 1)))
    for given in (str(tmp_path / pattern), tmp_path / pattern):
        (opened_arm,) = _opened(given).items()
        assert opened_arm[0] == arm
        assert [embedding.name for embedding in opened_arm[1].values()] == names
        assert [int(embedding["she"][0]) for embedding in opened_arm[1].values()] == [0, 1]
        assert all(embedding.info.sha256 for embedding in opened_arm[1].values())


def test_arms_of_all_kinds_stand_together(tmp_path: Path) -> None:
    _write(tmp_path, "a3.txt", "a7.txt", "fixed.txt")
    vectors = Embedding(["she", "he"], np.ones((2, 2)), "mine")
    seeds = (7, 3)
    listed = _opened([str(tmp_path / "a{seed}.txt"), tmp_path / "fixed.txt", vectors], seeds)
    assert {name: [member.name for member in arm.values()] for name, arm in listed.items()} == {
        "a": ["a7", "a3"], "fixed": ["fixed"] * 2, "mine": ["mine"] * 2
    }  # fmt: skip
    assert len({id(embedding) for embedding in listed["fixed"].values()}) == 1
    mapping = {
        "one": {3: vectors, 7: tmp_path / "a7.txt", 8: "none.txt"},
        "two": tmp_path / "a{seed}.txt",
        "three": vectors,
    }
    named = _opened(mapping, seeds)
    assert {name: [member.name for member in arm.values()] for name, arm in named.items()} == {
        "one": ["one7", "one3"], "two": ["two7", "two3"], "three": ["three"] * 2
    }  # fmt: skip
    assert vectors.name == "mine"


def test_members_of_an_archive_and_repositories_on_the_hub_are_named_after_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for seed in (0, 1):
            archive.writestr(f"gn{seed}.txt", f"she {seed} 1\nhe {seed} 2\n")
    _write(tmp_path, "fetched/me/glove0@v1", "fetched/me/glove1@v1")
    monkeypatch.setattr(
        "wordbias.resources.storage.fetched", lambda name: str(tmp_path / "fetched" / name[5:])
    )
    arms = _opened([f"{tmp_path}/all.zip::gn{{seed}}.txt", "hf://me/glove{seed}@v1"])
    assert {name: [member.name for member in arm.values()] for name, arm in arms.items()} == {
        "gn": ["gn0", "gn1"], "glove": ["glove0", "glove1"]
    }  # fmt: skip
    assert [int(embedding["she"][0]) for embedding in arms["gn"].values()] == [0, 1]


def test_a_file_whose_name_has_braces_is_one_file(tmp_path: Path) -> None:
    _write(tmp_path, "a{seed}.txt", "b{c}.txt", "a0.txt", "a1.txt")
    arms = _opened([str(tmp_path / "a{seed}.txt"), str(tmp_path / "b{c}.txt")])
    assert {name: {embedding.name for embedding in arm.values()} for name, arm in arms.items()} == {
        "a{seed}": {"a{seed}"}, "b{c}": {"b{c}"}
    }  # fmt: skip


def test_what_is_missing_is_named_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, "a0.txt", "a1.txt", "a2.txt", "b0.txt", "b2.txt")
    (tmp_path / "empty0.txt").touch()
    monkeypatch.setattr("wordbias.functions.arms.open_subject", lambda *_: pytest.fail("loaded"))
    files = [str(tmp_path / f"{name}{{seed}}.txt") for name in ("a", "b")]
    embedding = Embedding(["she", "he"], np.ones((2, 2)))
    for given, message in (
        (files, rf"b1\.txt: there is no such file \(for seed 1 of {tmp_path}/b\{{seed\}}\.txt\)$"),
        (str(tmp_path / "empty{seed}.txt"), r"empty0\.txt: the file is empty \(for seed 0 of"),
        ("a{foo}.txt", r"a\{foo\}\.txt: there is no such file; .* has \{seed\}, and no other"),
        ("a{seed}{Seed}.txt", r"a\{seed\}\{Seed\}\.txt: there is no such file; a name for"),
        ("{seed}.txt", r"\{seed\}\.txt: has no name beside \{seed\}; name the files NAME\{seed\}"),
        ({"g": {0: embedding}}, r"^g: has no embedding for seed 1; it has those for: 0; give one"),
        ({"g": {}, "h": embedding}, r"^g: has no embedding for seed 0; it has those for: none"),
        ({"g": {0: embedding, 1: 5}}, "expected an embedding"),
    ):
        with pytest.raises(WordbiasError, match=message):
            open_arms(given, (0, 1, 2) if given is files else (0, 1), ReadOptions())
