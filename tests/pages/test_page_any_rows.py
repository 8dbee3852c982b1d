"""Whatever JSON holds in the place of rows, a page comes out, and a sound one."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias.measures.registry import LISTED
from wordbias.pages import components, entailment, words
from wordbias.pages.document import Document
from wordbias.pages.markdown import render_markdown
from wordbias.pages.page import render_page

VOID = {"meta", "br", "hr", "col"}
KEYS = (
    "stage", "word", "component", "layer", "set", "setting", "group", "words", "low", "high",
    "neutral", "better", "n", "p", "coverage", "towards", "y", "before", "after", "reference",
    "reason", "debiased", "cos_difference", "sign_stability", "sd", "missing",
)  # fmt: skip
KNOWN = (
    "before", "after", "self", "lower", "higher", "neutral", "misp", "female", "male", 0, 1, 0.5,
    words.OCCUPATIONS, words.MOST_BIASED, ["a", "b"], {"x": 1, "y": 2, "a": 3, "b": 4},
)  # fmt: skip
MEASURES = (
    *LISTED, *entailment.MEASURES, words.MAP, components.CONTRIBUTION, components.VARIANCE, "other",
)  # fmt: skip
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=4,
)
DETAILS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(KNOWN) | ANYTHING, max_size=10)
ROWS = st.builds(
    lambda subject, measure, value, details: {
        **details, "subject": subject, "measure": measure, "value": value
    },
    st.sampled_from(["a", "b", "<i>"]),
    st.sampled_from(MEASURES),
    st.none() | st.floats(-2, 2) | NUMBERS,
    DETAILS,
)  # fmt: skip
ABOUT = st.dictionaries(
    st.sampled_from(["inputs", "arguments", "notes", "versions", "seed", "command", "wordbias"]),
    ANYTHING,
)


class Balanced(HTMLParser):
    """Checks that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(ROWS, max_size=8), ABOUT)
def test_any_rows_make_a_sound_page(rows: list[dict[str, Any]], about: dict[str, Any]) -> None:
    documents = [Document.of({**about, "rows": rows})]
    reader = Balanced()
    reader.feed(render_page(documents))
    reader.close()
    assert reader.open == []
    assert render_markdown(documents).startswith("# Bias report: ")
