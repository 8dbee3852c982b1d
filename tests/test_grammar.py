"""The grammar of methods: what is one value and what begins the next setting, method or chain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.errors import UsageError
from wordbias.grammar import Item, parse_chains, quoted, written

NAMES = st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True)
VALUES = st.one_of(
    st.none(),
    st.text(st.sampled_from("ab:,=@'\" 01.\\/-\t"), max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
ITEMS = st.builds(Item, NAMES, st.dictionaries(NAMES, VALUES, max_size=3))
CHAINS = st.lists(st.lists(ITEMS, min_size=1, max_size=3), max_size=3)


@pytest.mark.slow
@given(CHAINS)
def test_what_is_written_is_read_as_the_same(chains: list[list[Item]]) -> None:
    text = " ".join(map(written, chains))
    assert parse_chains(text) == chains
    assert " ".join(map(written, parse_chains(text))) == text


@given(st.text(st.sampled_from("ab:,=@'\" 01.\\"), max_size=20))
def test_any_text_is_read_or_refused_and_what_is_read_stays_the_same(text: str) -> None:
    try:
        chains = parse_chains(text)
    except UsageError:
        return
    assert parse_chains(" ".join(map(written, chains))) == chains


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("inlp:rounds=10:classifier=logistic", {"rounds": "10", "classifier": "logistic"}),
        ("misp:centre:dims=2", {"centre": None, "dims": "2"}),
        ("misp:weights=perm:2134", {"weights": "perm:2134"}),
        ("misp:weights=0.5,0.3,.2:centre", {"weights": "0.5,0.3,.2", "centre": None}),
        (r"ran:words=C:\data\words.txt:theta=1", {"words": r"C:\data\words.txt", "theta": "1"}),
        ("ran:words=archive.zip::member.txt", {"words": "archive.zip::member.txt"}),
        ("ran:words=archive::member:theta=1", {"words": "archive::member", "theta": "1"}),
        ("ran:words=hf://owner/name", {"words": "hf://owner/name"}),
        ("ran:words='a, b:c=1@2.txt':theta=1", {"words": "a, b:c=1@2.txt", "theta": "1"}),
        ('ran:words="it\'s.txt"', {"words": "it's.txt"}),
        ("ran:words='it''s.txt'", {"words": "it's.txt"}),
        ("ran:words=o'brien.txt", {"words": "o'brien.txt"}),
        ("scrub:mask=", {"mask": ""}),
        ("scrub:mask='':first-names", {"mask": "", "first-names": None}),
        ("INLP:Per_Class=3", {"per-class": "3"}),
    ],
)
def test_settings_of_one_method(text: str, settings: dict[str, str | None]) -> None:
    ((item,),) = parse_chains(text)
    assert item.settings == settings
    assert item.name == text.partition(":")[0].lower()


def test_commas_join_and_spaces_separate() -> None:
    chains = parse_chains("  misp hard,misp:dims=2, leace\tmulti_hard:sets='a b' ")
    assert [[item.name for item in chain] for chain in chains] == [
        ["misp"],
        ["hard", "misp", "leace"],
        ["multi-hard"],
    ]
    assert parse_chains(" ") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ran:words='a", "the quotation mark ' is not closed, at character 11"),
        ("hard ran:words=\"it's", 'the quotation mark " is not closed, at character 16'),
        ("ran:words='a'b", "expected a comma or a space before 'b', at character 14"),
        ("ran:words=a@b", "@ is reserved; put the value between quotation marks, at character 12"),
        ("misp:dims=1:dims=2", "dims is given twice, at character 13"),
        ("inlp:per-class=1:per_class=2", "per-class is given twice, at character 18"),
        ("misp=2", "expected a comma or a space before '=2', at character 5"),
    ],
)
def test_an_error_names_the_place(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_chains(text)
    assert str(caught.value) == f"methods {text!r}: {said}"


@pytest.mark.parametrize("value", ["a.txt", "perm:2134", "0.5,0.3", r"C:\a.txt", "a::b", "o'b"])
def test_values_that_need_no_quotation_marks_have_none(value: str) -> None:
    assert quoted(value) == value
