"""Vectors of biographies: each text is encoded once, stored, and found again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_bios import small_bios

from wordbias.errors import WordbiasError
from wordbias.models.loading import weights_sha256
from wordbias.models.model_like import silent
from wordbias.probes.ceat.sentences import find_sentences

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from wordbias.biographies import encoding  # noqa: E402
from wordbias.biographies.encoding import (  # noqa: E402
    EncodingSettings,
    LiveEncoder,
    VectorCache,
    distinct_texts,
    sha256_of,
)

SETTINGS = EncodingSettings(max_tokens=20, device="cpu")


def stored(folder: str, where: Path, loads: list[int], **about: Any) -> VectorCache:
    def load() -> Any:
        loads.append(1)
        return SETTINGS.load(folder)

    return VectorCache(where, {"model": "m", **about}, load, SETTINGS)


def test_each_text_once(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bios = small_bios()
    parts = [bios, bios.take([0, 0, 3]), bios.take(np.arange(len(bios))[::-1])]
    texts = distinct_texts(parts)
    assert list(texts) == sorted(set(bios.texts))
    seen: list[int] = []
    inner = encoding.encode

    def counting(encoder: Any, some: Any, **options: Any) -> Any:
        seen.append(len(some))
        return inner(encoder, some, **options)

    monkeypatch.setattr(encoding, "encode", counting)
    vectors = LiveEncoder(SETTINGS.load(folder), SETTINGS).vectors(parts)
    assert seen == [len(texts)]
    assert np.array_equal(vectors.of(parts[1]), vectors.of(bios)[[0, 0, 3]])
    assert vectors.of(bios).shape == (len(bios), 16)


def test_stored_is_what_live_gives_and_is_made_once(folder: str, tmp_path: Path) -> None:
    bios = small_bios()
    loads: list[int] = []
    source = stored(folder, tmp_path / "v", loads)
    first = source.vectors([bios]).of(bios)
    second = source.vectors([bios.take(np.arange(len(bios))[::-1]), bios]).of(bios)
    live = LiveEncoder(SETTINGS.load(folder), SETTINGS)
    assert loads == [1]
    assert np.array_equal(first, second)
    assert np.array_equal(first, live.vectors([bios]).of(bios))
    assert len(list((tmp_path / "v").iterdir())) == 1
    stored(folder, tmp_path / "v", loads, random_init=0).vectors([bios])
    source.vectors([bios.take([0, 1])])
    assert loads == [1, 1, 1]
    assert len(list((tmp_path / "v").iterdir())) == 3


def test_vectors_that_were_cut_off_are_not_used(folder: str, tmp_path: Path) -> None:
    source = stored(folder, tmp_path / "v", [])
    source.vectors([small_bios()])
    (file,) = (tmp_path / "v").iterdir()
    whole = file.read_bytes()
    for length in (0, 8, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(WordbiasError, match=r"safetensors.*; remove it, and it is made again"):
            source.vectors([small_bios()])
    (tmp_path / "file").write_text("")
    with pytest.raises(WordbiasError, match="file: cannot be made a folder: File exists"):
        stored(folder, tmp_path / "file", []).vectors([small_bios()])


def test_words_in_sentences_are_kept_too(folder: str, tmp_path: Path) -> None:
    sentences = find_sentences(small_bios().texts, ["Amy", "John", "family"])
    loads: list[int] = []
    source = stored(folder, tmp_path / "v", loads)
    copies = [source.contexts(sentences) for _ in range(2)]
    live = LiveEncoder(SETTINGS.load(folder), SETTINGS).contexts(sentences)
    assert loads == [1]
    for copy in copies:
        assert np.array_equal(copy.vectors, live.vectors)
        assert copy.column("word").cells() == live.column("word").cells()


def test_a_hash_of_what_vectors_depend_on(folder: str, tmp_path: Path) -> None:
    """A pooler that no file holds is drawn anew each time; a weight of a layer is not."""
    from safetensors.torch import load_file, save_file

    bare = tmp_path / "bare"
    with silent(transformers):
        transformers.AutoModel.from_pretrained(folder).save_pretrained(bare)
        transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(bare)
    weights = load_file(bare / "model.safetensors")
    bare_weights = {name: tensor for name, tensor in weights.items() if "pooler" not in name}
    assert len(bare_weights) < len(weights)
    save_file(bare_weights, bare / "model.safetensors", {"format": "pt"})
    encoder = SETTINGS.load(str(bare))
    assert encoder.sha256() == SETTINGS.load(str(bare)).sha256()
    assert len({weights_sha256(SETTINGS.load(str(bare)).model) for _ in range(2)}) == 2
    assert sha256_of(encoder) == sha256_of(SETTINGS.load(str(bare)))
    assert sha256_of(encoder) == sha256_of(SETTINGS.load(folder))
    assert sha256_of(encoder) == sha256_of(replace(SETTINGS, half=True).load(folder))
    with torch.no_grad():
        next(encoder.model.parameters())[0, 0] += 1
    assert sha256_of(encoder) != sha256_of(SETTINGS.load(folder))
    assert sha256_of(SETTINGS.load(folder, 0)) == sha256_of(SETTINGS.load(folder, 0))
    assert sha256_of(SETTINGS.load(folder, 0)) != sha256_of(SETTINGS.load(folder, 1))
