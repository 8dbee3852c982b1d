"""Words and parts of words in a `tokenizer.json`, compared with the library `tokenizers`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import static_folders
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from wordbias import WordbiasError
from wordbias.formats.tokens import Tokens, read_tokens

LINES = [
    "The nurse said that she would walk with the doctors of the hospital at nine.",
    "A doctor walked home; his nurses, who were nursing the king's daughter, didn't.",
    "Queens and kings were walking, talking and housing the hospitals' guests: 1999, 2020!",
    "naïve façade 東京 nurse. she. he. they're walking walked walks walker homes housed",
] * 3


def trained(kind: str) -> Tokenizer:
    """Train a tokenizer of a kind on a few lines."""
    special = ["<pad>", "<unk>"]
    if kind == "WordPiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=200, special_tokens=special)
    elif kind == "byte-level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=350, special_tokens=special)
    elif kind == "ends":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.BpeTrainer(
            vocab_size=250, special_tokens=special, end_of_word_suffix="</w>"
        )
    elif kind == "Metaspace BPE":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=250, special_tokens=special)
    elif kind == "Unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        )
        trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token="<unk>")
    else:
        tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.WordLevelTrainer(special_tokens=special)
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


KINDS = ("WordPiece", "byte-level", "ends", "Metaspace BPE", "Unigram", "WordLevel")


def agrees(tokens: Tokens, made: Tokenizer, *, allowed: int = 0) -> None:
    """Each word becomes its token and no other; what is no word is never made of a text alone."""
    ids = set(tokens.ids.tolist())
    for word, number in zip(tokens.words, tokens.ids.tolist(), strict=True):
        assert made.encode(word, add_special_tokens=False).ids == [number], word
    whole = set()
    for number, name in tokens.names.items():
        if number not in ids:
            text = (made.decode([number], skip_special_tokens=False) or name).strip(" ▁")
            text_ids = made.encode(text, add_special_tokens=False).ids if text else []
            whole |= {name} if text_ids == [number] else set()
    assert len(whole) <= allowed, whole


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_the_tokens_that_the_tokenizer_makes_of_them(kind: str, tmp_path: Path) -> None:
    tokenizer = trained(kind)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokens = read_tokens(tmp_path / "tokenizer.json")
    agrees(tokens, tokenizer, allowed=2)  # <pad> and <unk> are found as they stand
    assert len(tokens.words) + tokens.parts + tokens.others == tokenizer.get_vocab_size()
    assert tokens.size == tokenizer.get_vocab_size()
    assert {"nurse", "the"} <= set(tokens.words)
    assert tokens.parts > 10 or kind == "WordLevel"
    assert tokens.ids.tolist() == sorted(tokens.ids.tolist())


def test_a_real_tokenizer() -> None:
    folder = os.environ.get("WORDBIAS_STATIC_MODEL")
    if folder is None:
        pytest.skip("set WORDBIAS_STATIC_MODEL to a folder of potion-base-8M")
    file = Path(folder, "tokenizer.json")
    tokens = read_tokens(file)
    assert (len(tokens.words), tokens.parts, tokens.others) == (23_694, 5_828, 6)
    ids = set(tokens.ids.tolist())
    tokenizer = Tokenizer.from_file(str(file))
    encoded = tokenizer.encode_batch(list(tokens.words), add_special_tokens=False)
    assert [encoding.ids for encoding in encoded] == [[number] for number in tokens.ids.tolist()]
    left = [name for number, name in tokens.names.items() if number not in ids]
    assert [name for name in left if not name.startswith("##")] == [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "..."
    ]  # fmt: skip


def test_tokens_that_no_text_becomes_are_no_words(tmp_path: Path) -> None:
    static_folders.tokenizer().save(str(tmp_path / "tokenizer.json"))
    tokens = read_tokens(tmp_path / "tokenizer.json")
    assert tuple(tokens.words) == static_folders.known_words()
    assert tokens.parts == len(static_folders.PARTS)
    assert tokens.others == len(static_folders.OTHERS) + len(static_folders.SPECIAL)


ODD = st.text(
    st.sampled_from([*"abzAZéÉñßİı.'-’1２ﬁ東京한ﾊ̈Σς", "\u0301", "\u200b", "\u4e00"]),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(60))
@given(st.sets(ODD, min_size=1, max_size=8), st.booleans(), st.sampled_from([None, True, False]))
def test_what_survives_bert_s_normaliser_is_told_as_the_library_does(
    tmp_path_factory: pytest.TempPathFactory, words: set[str], lower: bool, strip: bool | None
) -> None:
    vocabulary = {name: i for i, name in enumerate(["[UNK]", *sorted(words)])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=lower, strip_accents=strip, clean_text=False
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    file = tmp_path_factory.mktemp("odd") / "tokenizer.json"
    tokenizer.save(str(file))
    expected = [
        word
        for word in sorted(words)
        if tokenizer.encode(word).tokens == [word]
        and tokenizer.encode(f"a {word}").tokens[-1:] == [word]
    ]
    assert sorted(read_tokens(file).words) == expected


def test_added_words_are_words(tmp_path: Path) -> None:
    tokenizer = trained("byte-level")
    tokenizer.add_tokens(["new york", "nurse"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokens = read_tokens(tmp_path / "tokenizer.json")
    numbers = dict(zip(tokens.words, tokens.ids.tolist(), strict=True))
    for word in ("new york", "nurse"):
        assert numbers[word] == tokenizer.token_to_id(word)
        assert tokenizer.encode(word).ids[-1] == numbers[word]
    assert len(tokens.words) + tokens.parts + tokens.others == tokenizer.get_vocab_size()


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("model"), "it has no model"),
        (lambda t: t["model"].update(vocab={}), "expected a vocabulary of tokens"),
        (lambda t: t["model"].update(vocab={"a": "1"}), r"the token 'a' has the number '1'"),
        (lambda t: t["model"].update(vocab={"a": -1}), r"the token 'a' has the number -1"),
        (lambda t: t["model"].update(vocab={"a": 1, "b": 1}), "two tokens have one number"),
        (lambda t: t["model"].update(vocab={"\ud800": 1}), "is no text"),
        (lambda t: t["model"].update(vocab=[["a", 0.5], 3]), "expected a vocabulary of tokens"),
        (lambda t: t["model"].update(vocab=[["a"]]), "expected a number for each token of Unigram"),
        (lambda t: t["model"].update(type="Letters"), "a tokenizer of the kind 'Letters'"),
        (lambda t: t.update(added_tokens=-1), "expected a list of added tokens, found -1"),
        (lambda t: t.update(added_tokens=[{"content": "\ud800", "id": 1}]), "is no text"),
        (lambda t: t["model"].update(continuing_subword_prefix=-1), "_prefix' as text, found -1"),
        (lambda t: t["model"].update(type="BPE", end_of_word_suffix=[3]), r"found \[3\]"),
        (lambda t: t.update(added_tokens=[3]), "expected an added token, found 3"),
        (lambda t: t.update(added_tokens=[{"content": "x"}]), "the token 'x' has the number None"),
    ],
)
def test_damage_is_named(change: Change, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    stored = json.loads(static_folders.tokenizer().to_str())
    change(stored)
    file.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(WordbiasError, match=message) as caught:
        read_tokens(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "it is no JSON"), (b"[]", "expected settings, found list"), (None, "cannot be read")],
)
def test_what_is_no_tokenizer_is_refused(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(WordbiasError, match=message):
        read_tokens(file)
