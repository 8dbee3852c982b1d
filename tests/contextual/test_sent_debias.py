"""SENT-Debias: counterfactual sentences, and the direction against one computed step by step."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_encoders import build, make_tokenizer, words_of

from wordbias.contextual.fitting import Recipe, fit_adapter
from wordbias.contextual.sent_debias import (
    counterfactuals,
    fit_sent_debias,
    fit_with_baseline,
    pairs_of_text,
    read_sentences,
)
from wordbias.errors import WordbiasError
from wordbias.models.sentence_pairs import SentencePair, sentence_pairs
from wordbias.models.sites import Site, locate

torch = pytest.importorskip("torch")

WORDS = [("she", "he"), ("her", "his"), ("woman", "man"), ("her", "him")]
LINES = [
    "He saw the woman and she saw him.",
    "I gave her HER coat, the man said.",
    "Nothing of the kind, Herman, manly Sheila.",
    "The man laughed.",
    "A woman sings where she likes.",
]


def test_each_gendered_word_gives_a_pair_in_which_only_it_changes() -> None:
    pairs = counterfactuals(LINES[:1], WORDS)
    assert pairs == (
        SentencePair("She saw the woman and she saw him.", LINES[0]),
        SentencePair(LINES[0], "He saw the man and she saw him."),
        SentencePair(LINES[0], "He saw the woman and he saw him."),
        SentencePair("He saw the woman and she saw her.", LINES[0]),
    )


def test_her_becomes_his_always_and_case_is_kept() -> None:
    pairs = counterfactuals(LINES[1:2], WORDS)
    assert pairs[0] == SentencePair(LINES[1], "I gave his HIS coat, the man said.")
    assert pairs[1] == SentencePair("I gave her HER coat, the woman said.", LINES[1])
    assert len(pairs) == 2


def test_parts_of_words_are_no_words() -> None:
    assert counterfactuals(LINES[2:3], WORDS) == ()


def test_the_default_words_are_the_definitional_pairs() -> None:
    line = "The aunt left her sister."
    assert counterfactuals([line]) == (
        SentencePair(line, "The uncle left her sister."),
        SentencePair(line, "The aunt left his sister."),
        SentencePair(line, "The aunt left her brother."),
    )


def test_a_limit_draws_evenly_and_repeatably() -> None:
    lines = [f"she {i}" for i in range(20)]
    assert counterfactuals(lines, WORDS, limit=20) == counterfactuals(lines, WORDS)
    drawn = [counterfactuals(lines, WORDS, limit=5, seed=seed) for seed in range(400)]
    assert drawn[3] == counterfactuals(iter(lines), WORDS, limit=5, seed=3)
    assert {len(set(pairs)) for pairs in drawn} == {5}
    counts = Counter(pair.first for pairs in drawn for pair in pairs)
    # binomial, n = 400, p = 1/4: sd < 8.7; six of them either side
    assert all(100 - 52 < counts[line] < 100 + 52 for line in lines)


def test_the_direction_is_the_first_component_of_centred_unit_vectors(family: str) -> None:
    tokenizer = make_tokenizer(words_of(*LINES, "hers his he him man his"))
    model = build(family, vocabulary=len(tokenizer))
    pairs = counterfactuals(LINES, WORDS)
    final = locate(model, Site("sentence")).module
    seen: list[Any] = []
    handle = final.register_forward_pre_hook(lambda _, args: seen.append(args[0][0]))
    rows = []
    with torch.no_grad():
        for pair in pairs:
            seen.clear()
            for text in pair:
                model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False))
            u = np.array([x.double().numpy() / x.double().norm().item() for x in seen])
            rows += list(u - u.mean(0))
    handle.remove()
    (subspace,) = fit_sent_debias(model, tokenizer, [pairs], batch=3)
    _, s, vt = np.linalg.svd(np.array(rows))
    assert subspace.dims == 1
    assert abs(subspace.basis[0] @ vt[0]) == pytest.approx(1, abs=1e-4)
    assert subspace.weights[0] == pytest.approx(s[0] ** 2 / (s**2).sum(), abs=1e-4)


def test_an_adapter_has_the_baseline_beside_its_own_sites(tokenizer: Any) -> None:
    model = build("bert", vocabulary=len(tokenizer))
    plain = fit_adapter(model, tokenizer, sentence_pairs())
    (both,) = fit_with_baseline(model, tokenizer, Recipe(), text=LINES)
    assert both.facts["sent_debias"] == {"source": "given", "pairs": len(counterfactuals(LINES))}
    for site, subspace in both.subspaces.items():
        np.testing.assert_array_equal(subspace.basis, plain.subspaces[site].basis)
    assert list(both.subspaces) == list(plain.subspaces)
    assert plain.sent_debias is None
    assert both.interventions("sent-debias")[0].what is both.sent_debias


def test_too_few_sentences(tokenizer: Any) -> None:
    model = build("bert", vocabulary=len(tokenizer))
    with pytest.raises(WordbiasError, match=r"gendered word .* apart: 1, .*--sent-debias"):
        fit_sent_debias(model, tokenizer, [counterfactuals(["she left", "nobody left"])])


def test_texts_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\n\n  two\r\n")
    assert list(read_sentences(path)) == ["one", "two"]
    path.write_bytes(b"\xff")
    with pytest.raises(WordbiasError, match="text: line 1: byte 1 is not UTF-8"):
        list(read_sentences(path))
    with pytest.raises(WordbiasError, match="No such file"):
        list(read_sentences(tmp_path / "none"))
    with pytest.raises(WordbiasError, match="cannot be read: Is a directory"):
        list(read_sentences(tmp_path))
    packed = tmp_path / "packed.txt"
    packed.write_bytes(gzip.compress(b"one\n"))
    with pytest.raises(WordbiasError, match="is packed by gzip; unpack it, or name it"):
        list(read_sentences(packed))


@pytest.mark.parametrize(("suffix", "module"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_a_packed_text_is_read_as_what_it_holds(tmp_path: Path, suffix: str, module: Any) -> None:
    path = tmp_path / f"text.txt.{suffix}"
    path.write_bytes(module.compress("\n".join(LINES).encode()))
    assert list(read_sentences(path)) == LINES
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(WordbiasError, match="cannot be read"):
        list(read_sentences(path))


def test_a_text_without_gendered_words(tokenizer: Any) -> None:
    model = build("bert", vocabulary=len(tokenizer))
    with pytest.raises(WordbiasError, match=r"gendered word .* apart: 0, .*--sent-debias"):
        fit_sent_debias(model, tokenizer, [counterfactuals(["nobody left"])])


def test_any_attribute_with_pairs(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The young painter sang .\nHe sang .\n", encoding="utf-8")
    young = (SentencePair("The young painter sang .", "The old painter sang ."),)
    assert pairs_of_text(text, "age") == young
    assert pairs_of_text(text) == counterfactuals(read_sentences(text))
    assert [pair.second for pair in pairs_of_text(text)] == ["He sang ."]


def test_an_attribute_without_pairs(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("A sentence .", encoding="utf-8")
    with pytest.raises(
        WordbiasError, match="the attribute ethnicity white/black has no pairs to swap"
    ):
        pairs_of_text(tmp_path / "text.txt", "ethnicity:white,black")
