"""Fitted methods on disk: read back as they were, bound to their vectors, damage named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods import hard
from wordbias.methods.fitted import Chain, Fitted, Replaced
from wordbias.methods.methods import fit_chain
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.methods.transform import Linear, Normalise, Shift
from wordbias.results import Row


def test_a_loaded_chain_maps_like_the_saved_one(sample: Embedding, tmp_path: Path) -> None:
    chain, done = fit_chain(["hard", "misp"], sample)
    file = tmp_path / "fitted.safetensors"
    save_chain(file, chain, Origin.of(sample))
    read, origin = load_chain(file)
    assert read.name == chain.name == "hard.misp"
    np.testing.assert_array_equal(read(sample).vectors, done.vectors)
    for part, other in zip(read.parts, chain.parts, strict=True):
        assert (part.name, part.exempt, part.settings) == (other.name, other.exempt, other.settings)
        assert part.replaced.words == other.replaced.words
        assert [row.to_dict() for row in part.found] == [row.to_dict() for row in other.found]
    assert (origin.name, origin.size, origin.dim) == ("sample", len(sample), sample.dim)
    assert sample.info is not None
    assert origin.sha256 == sample.info.sha256


def test_every_kind_of_field_is_kept(tmp_path: Path) -> None:
    words = ["naïve", "\udcff", "a b"]
    embedding = Embedding(words, np.eye(3), "e")
    fitted = Fitted(
        "m",
        (Shift([1.0, 2, 3]), Linear(2 * np.eye(3)), Normalise()),
        frozenset(words[:1]),
        (Normalise(),),
        Replaced(words[1:], np.ones((2, 3))),
        (Row("e", "x", None, {"reason": "because"}),),
        {"alpha": 0.5, "words": None},
        ("beware",),
    )
    file = tmp_path / "f.safetensors"
    save_chain(file, Chain((fitted, fitted)), Origin.of(embedding))
    (first, two), origin = load_chain(file)[0].parts, load_chain(file)[1]
    assert first.warnings == two.warnings == ("beware",)
    assert first.settings == {"alpha": 0.5, "words": None}
    assert first.found[0].details["reason"] == "because"
    assert origin.words == tuple(words)
    np.testing.assert_array_equal(two(embedding).vectors, fitted(embedding).vectors)


def test_equal_fits_give_equal_files(sample: Embedding, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_chain(tmp_path / name, Chain((hard.fit(sample),)), Origin.of(sample))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_other_dimensions_and_other_vectors_are_refused(sample: Embedding) -> None:
    origin = Origin.of(sample)
    origin.check(sample, "f")
    origin.check(sample.subset(sample.words[:500]), "f")
    origin.check(sample.subset(sample.words[3000:3400]), "f")
    longer = sample.with_vectors(7 * sample.vectors)
    origin.check(longer, "f", by_length=False)
    with pytest.raises(WordbiasError, match=r"whose vectors are 0.143 times as long as those of s"):
        origin.check(longer, "f")
    half = Embedding(sample.words, sample.vectors[:, :50], "half")
    with pytest.raises(WordbiasError, match="f: fitted on sample, whose vectors have 100 dim"):
        origin.check(half, "f", force=True)
    other = sample.with_vectors(sample.vectors[:, ::-1], "other")
    with pytest.raises(WordbiasError, match=r"fitted on other vectors than other: its .* --force"):
        origin.check(other, "f")
    origin.check(other, "f", force=True)
    strange = Embedding(["xyzzy"], np.ones((1, 100)), "strange")
    with pytest.raises(WordbiasError, match=r"strange has none of the \d+ words that"):
        origin.check(strange, "f")
    origin.check(strange, "f", force=True)


def test_rounding_is_not_other_vectors(sample: Embedding) -> None:
    rough = sample.with_vectors(np.round(sample.vectors, 2))
    Origin.of(sample).check(rough, "f")


def _stored(tmp_path: Path, sample: Embedding) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    file = tmp_path / "good.safetensors"
    save_chain(file, Chain((Fitted("m", (Shift(np.ones(100)),)),)), Origin.of(sample))
    from safetensors import safe_open

    with safe_open(file, "numpy") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        return tensors, json.loads(opened.metadata()["transform"])


def test_other_files_are_refused_by_name(tmp_path: Path, sample: Embedding) -> None:
    with pytest.raises(WordbiasError, match="none: cannot be read as a transform"):
        load_chain(tmp_path / "none")
    (tmp_path / "text").write_text("she 0.1 0.2\n")
    with pytest.raises(WordbiasError, match="text: cannot be read as a transform"):
        load_chain(tmp_path / "text")
    sample.save(tmp_path / "vectors.safetensors")
    with pytest.raises(WordbiasError, match="holds an embedding, but no transform; save one with"):
        load_chain(tmp_path / "vectors.safetensors")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda t, j: j["parts"][0]["steps"][0].update(kind="magic"), "of the kind 'magic'"),
        (lambda t, j: j.pop("origin"), "KeyError"),
        (lambda t, j: j["origin"].update(extra=1), "TypeError"),
        (lambda t, j: t.pop("0.step.0.vector"), "TypeError"),
        (lambda t, j: j["origin"].update(dim=7), "do not fit vectors of shape"),
        (lambda t, j: j.update(parts=[1]), "TypeError"),
        (lambda t, j: j.update(parts=[]), "holds no method"),
        (lambda t, j: j["parts"][0].update(exempt="she"), "exempt words are no list of words"),
        (lambda t, j: j["parts"][0].update(name="a\nb"), r"its name is 'a\\nb'"),
        (lambda t, j: j["origin"].update(size="big"), "not described by texts and numbers"),
        (lambda t, j: t.update({"0.step.0.vector": np.full(100, np.nan)}), "what is no number"),
        (lambda t, j: t.update({"0.step.0.vector": np.ones(50)}), "ValueError"),
        (lambda t, j: t.update({"0.step.0.vector": np.ones((2, 2, 100))}), "to shape"),
        (lambda t, j: t.update(origin=t["origin"] * np.nan), "no number"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, sample: Embedding, spoil: object, said: str) -> None:
    tensors, about = _stored(tmp_path, sample)
    spoil(tensors, about)  # type: ignore[operator]
    file = tmp_path / "bad.safetensors"
    save_file(tensors, file, {"transform": json.dumps(about)})
    with pytest.raises(WordbiasError, match=said) as caught:
        load_chain(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_half_written(tmp_path: Path, sample: Embedding) -> None:
    target = tmp_path / "missing" / "f.safetensors"
    with pytest.raises(WordbiasError, match="does not exist"):
        save_chain(target, Chain((hard.fit(sample),)), Origin.of(sample))
