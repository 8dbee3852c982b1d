"""Markup: nothing that a user gave can become a tag, an attribute or the end of a script."""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.errors import printable
from wordbias.pages.section import Markup, element, escape, joined, script_data

ANY = st.text(st.characters(codec=None), max_size=40)
SEEN = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn", "Cs"]), max_size=40)


class Reader(HTMLParser):
    """Collects what a parser of HTML sees."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


@given(ANY)
def test_any_text_stays_text(text: str) -> None:
    tree = read(element("p", text, title=text))
    assert [tag for tag, _ in tree.tags] == ["p"]
    assert tree.text == html.unescape(escape(text))
    assert tree.tags[0][1] == {"title": tree.text}


@given(SEEN)
def test_text_that_can_be_seen_is_kept_as_it_is(text: str) -> None:
    assert html.unescape(escape(text)) == text


@pytest.mark.parametrize("bad", [*"\x00\x1b\x85\ud800\ufffe\u202e\u2066"])
def test_what_cannot_be_seen_is_replaced(bad: str) -> None:
    assert escape(f"a{bad}b") == "a\ufffdb"
    assert (
        escape(printable(f"{bad}שלום\n")) == "\ufffdשלום\n"
    )  # letters that run backwards are none


def test_markup_is_not_escaped_again() -> None:
    once = escape("a & <b>")
    assert escape(once) is once
    assert element("p", once) == "<p>a &amp; &lt;b&gt;</p>"
    assert joined(["<", Markup("<hr>")], ", ") == "&lt;, <hr>"


def test_attributes_are_named_as_in_html_and_none_is_left_out() -> None:
    assert element("td", class_="a", data_label="b", hidden=None, x=1 / 3) == (
        '<td class="a" data-label="b" x="0.33"></td>'
    )
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


@pytest.mark.slow
@given(
    st.recursive(ANY | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(ANY, x))
)
def test_data_in_a_script_can_be_read_back_and_cannot_end_it(value: object) -> None:
    text = script_data(value, "data")
    body = text.removeprefix('<script type="application/json" id="data">').removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(body)
    assert json.loads(body) == json.loads(json.dumps(value))


def test_data_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_data([float("nan")], "data")
