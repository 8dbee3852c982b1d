"""The tokeniser: raw and tokenised text give the same tokens, and nothing is lost."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias.nli.pairs import tokenise

SETS = ("train100k", "dev", "test")
PIECES = (
    *("n't", "N'T", "cannot", "can", "not", "'s", "'ll", "'", "''", "`", "’", "“", "…", "...", "."),
    *(
        "U.S.",
        "a.b",
        "x",
        "3.5",
        "7:30",
        "1,000",
        "-",
        "&",
        ",",
        "_",
        " ",
        "\t",
        "é",
        "ß",
        "ſ",
        "İ",
    ),
)
TEXT = st.one_of(
    st.text(st.characters(max_codepoint=127)),
    st.lists(st.sampled_from(PIECES)).map("".join),
    st.text(),
)


def straight(text: str) -> str:
    """Write every kind of quote alike, by the description."""
    return re.sub("''", '"', re.sub("[“”]", '"', re.sub("[’‘´`]", "'", text)))


@settings(max_examples=examples(1500), deadline=None)
@given(TEXT)
def test_tokenising_tokens_changes_nothing(text: str) -> None:
    tokens = tokenise(text)
    assert tokenise(" ".join(tokens)) == tokens


@pytest.mark.slow
@settings(max_examples=examples(500), deadline=None)
@given(TEXT)
def test_nothing_is_lost_and_nothing_added(text: str) -> None:
    tokens = tokenise(text)
    assert "".join(tokens) == "".join(straight(text).split())
    assert all(token and not re.search(r"\s", token) for token in tokens)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A man isn't here.", "A man is n't here ."),
        ("They can't; she won't.", "They ca n't ; she wo n't ."),
        ("I cannot, and you Cannot.", "I can not , and you Can not ."),
        ("Tom's dogs' house", "Tom 's dogs ' house"),
        ("We're, they've, I'm, he'd, she'll", "We 're , they 've , I 'm , he 'd , she 'll"),
        ("IT'S HERE, DON'T", "IT 'S HERE , DO N'T"),
        ("a well-known T-shirt at 7:30 for 10,000 or 3.5", None),
        ("Wait... what?!", "Wait ... what ? !"),
        ("the U.S. and L.A. at 5 p.m.", "the U.S. and L.A. at 5 p.m."),
        ("ran.The end.", "ran.The end ."),
        ("``Hello'' “you” 'all'", '" Hello " " you " \' all \''),
        ("he/she (or)#1 $5 50%", "he / she ( or ) # 1 $ 5 50 %"),
        ("café naïve", "café naïve"),
        ("", ""),
        (" \t ", ""),
    ],
)
def test_examples(text: str, tokens: str | None) -> None:
    assert tokenise(text) == (text if tokens is None else tokens).split()


def sentences(shared_data: Path, name: str) -> Iterator[str]:
    path = shared_data / "nli" / f"snli_{name}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        for line in file:
            yield from line.rstrip("\n").split("\t")[1:]


@pytest.fixture
def snli(shared_data: Path) -> dict[str, set[str]]:
    return {name: set(sentences(shared_data, name)) for name in SETS}


@pytest.mark.slow
def test_tokenising_tokens_of_real_sentences_changes_nothing(snli: dict[str, set[str]]) -> None:
    for texts in snli.values():
        for text in sorted(texts)[:20_000]:
            tokens = tokenise(text)
            assert tokenise(" ".join(tokens)) == tokens


@pytest.mark.slow
def test_raw_and_tokenised_sentences_give_the_same_tokens(
    snli: dict[str, set[str]],
) -> None:
    """Many sentences of the dev copy, which has spaces between tokens, are raw in the others.

    Two texts are one sentence if they differ in spaces beside a mark or before n't alone.
    """

    def key(text: str) -> str:
        return re.sub(r"(?<!\w)\s+|\s+(?!\w)|\s+(?=n't\b)", "", straight(text))

    raw = {key(text): text for name in ("train100k", "test") for text in snli[name]}
    both = [(text, raw[key(text)]) for text in snli["dev"] if key(text) in raw]
    written_apart = [(tokenised, text) for tokenised, text in both if tokenised != text]
    assert len(written_apart) > 500
    unlike = [pair for pair in written_apart if tokenise(pair[0]) != tokenise(pair[1])]
    assert unlike == []


@pytest.mark.slow
def test_the_parts_of_the_corpus_use_the_same_tokens(snli: dict[str, set[str]]) -> None:
    counts = {
        name: Counter(token for text in texts for token in tokenise(text))
        for name, texts in snli.items()
    }
    for counter in counts.values():
        assert all(counter[token] for token in (".", ",", "n't", "'s", '"', "can", "not"))
        glued = [
            token for token in counter if re.fullmatch(r"(?i).+(n't|'s|cannot|[.,;!?\"])", token)
        ]
        assert [token for token in glued if not re.fullmatch(r"(\w\.)+|\.\.\.", token)] == []
    marks = [t for t, n in counts["dev"].items() if n >= 10 and not t.isalnum()]
    assert [token for token in marks if token not in counts["train100k"]] == []
