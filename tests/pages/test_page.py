"""The page: self-contained, escaped everywhere, readable by a machine and in a real browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from headless import Browser

from wordbias.measures.registry import LISTED
from wordbias.pages import entailment, words
from wordbias.pages.document import DATA, Document, for_others, read_documents
from wordbias.pages.markdown import render_markdown
from wordbias.pages.page import page_title, render_page
from wordbias.results import LIMITS

EVIL = '<script>alert("1")</script>'
QUOTE = "\" onload='alert(1)' x=`"
VOID = {"meta", "br", "hr", "col"}


def row(measure: str, value: float | None, subject: str, **details: Any) -> dict[str, Any]:
    return {"subject": subject, "measure": measure, "value": value, **details}


def document(subject: str, word: str) -> Document:
    """Make one of everything, with what a user can name being `subject` and `word`."""
    rows = []
    for k, stage in enumerate(("before", "after")):
        staged = {"stage": stage, "debiased": "misp"} if k else {"stage": stage}
        about = {**staged, "low": 0.1, "high": 0.6, "neutral": 0.0, "better": "lower"}
        rows += [row(name, 0.4 - k / 10, subject, **about, set=word) for name in LISTED]
        for i, (x, side) in enumerate((lean, two) for lean in (-0.3, 0.2) for two in ("m", word)):
            named = {**staged, "word": f"{word}{i}", "towards": side}
            rows.append(row(words.LEAN, x, subject, **named, set=words.OCCUPATIONS))
            rows.append(row(words.MAP, x, subject, **named, y=x * i, set=words.MOST_BIASED))
        for group in ("male", "female"):
            shares = zip(entailment.MEASURES, (0.5, 0.3, 0.2), strict=True)
            rows += [row(m, p, subject, **staged, group=group, setting=word) for m, p in shares]
        rows.append(row("midb-component", 0.2, subject, component=1, **about))
    rows.append(row("explained-variance", 0.3, subject, component=1, cos_difference=0.2))
    lists = {"stage": "after", "before": [word, "b"], "after": ["b", "c" * 60]}
    rows.append(row("neighbours-preserved", 0.5, subject, word=word, **lists))
    rows.append(row(word, None, subject, reason=word, why=word))
    inputs = {subject: {"path": f"/{word}.txt", "sha256": "0" * 64, "words": 5000, "dim": 3}}
    about = {"command": "audit", "arguments": {"words": [word]}, "seed": 0, "notes": [word]}
    return Document(rows, {**about, "inputs": inputs, "versions": {"numpy": "2"}})


class Tree(HTMLParser):
    """Checks that tags are balanced, and collects them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.said.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def plain_page() -> str:
    return render_page([document("sample", "nurse")])


@pytest.mark.parametrize(
    "bad", [EVIL, QUOTE, "</td></table>", "&amp;", "]]>", "\ud800\x00", "a\nb"]
)
def test_what_a_user_gave_changes_no_tag(bad: str, plain_page: str) -> None:
    tree = Tree(render_page([document(bad, bad)]))
    expected = Tree(plain_page)
    assert [tag for tag, _ in tree.tags] == [tag for tag, _ in expected.tags]
    assert [sorted(a) for _, a in tree.tags] == [sorted(a) for _, a in expected.tags]
    assert not [name for _, a in tree.tags for name in a if name.startswith("on")]


def test_what_a_user_gave_is_shown_as_it_was_written() -> None:
    page_text = "\n".join(Tree(render_page([document(EVIL, QUOTE)])).said)
    assert page_title([document(EVIL, "")]) == f"Bias report: {EVIL}"
    assert EVIL in page_text
    assert QUOTE in page_text


def test_the_page_loads_nothing_and_its_policy_forbids_it(plain_page: str) -> None:
    tree = Tree(plain_page)
    assert not {"link", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in tree.tags}
    for _, attributes in tree.tags:
        assert "src" not in attributes
        assert "style" not in attributes
        assert str(attributes.get("href", "#")).startswith("#")
    assert "@import" not in plain_page
    assert "url(" not in plain_page
    policy = next(a["content"] for a in tree.of("meta") if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", plain_page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_rows_are_inside_as_json() -> None:
    page = render_page([document(EVIL, "</script>")])
    (text,) = re.findall(rf'<script type="application/json" id="{DATA}">(.*?)</script>', page)
    assert "<" not in text
    (inside,) = for_others([document(EVIL, "</script>")])
    assert json.loads(text) == [inside.to_dict()]


def test_every_picture_has_a_title_and_every_table_has_heads(plain_page: str) -> None:
    tree = Tree(plain_page)
    assert all(a["role"] == "img" and a["aria-label"] for a in tree.of("svg"))
    assert len(tree.of("svg")) == plain_page.count("</title><desc>")
    assert len(tree.of("figure")) == len(tree.of("figcaption")) > 8
    assert plain_page.count("Not shown: </strong>") == len(tree.of("figure"))
    assert len(tree.of("table")) == len(tree.of("caption")) == len(tree.of("thead"))
    assert all(a.get("scope") in ("col", "row") for a in tree.of("th"))
    assert tree.tags[0] == ("html", {"lang": "en"})


def test_identities_are_unique_and_links_lead_to_them(plain_page: str) -> None:
    tree = Tree(plain_page)
    identities = [a["id"] for _, a in tree.tags if "id" in a]
    assert len(set(identities)) == len(identities)
    assert {str(a["href"])[1:] for a in tree.of("a")} <= set(identities)


def test_it_says_what_numbers_cannot_say_and_where_they_are_from(plain_page: str) -> None:
    page_text = "".join(Tree(plain_page).said)
    assert LIMITS in page_text
    for text in ("In short", "0" * 64, "Inputs, arguments and versions", "5,000 words × 3"):
        assert text in page_text


def test_the_same_documents_make_the_same_page(plain_page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(plain_page, encoding="utf-8")
    assert render_page(read_documents(path)) == plain_page


def test_markdown_says_the_same_and_escapes_too() -> None:
    text = render_markdown([document(EVIL, "a|b *c*")])
    assert text.startswith(f"# Bias report: {EVIL}".replace("<", r"\<").replace(">", r"\>"))
    assert "<script" not in text.replace(r"\<", "")
    assert r"a\|b \*c\*" in text
    for title in ("## At a glance", "## The occupations that lean most", LIMITS):
        assert title in text


def test_a_page_without_rows_is_still_a_page() -> None:
    assert Tree(render_page([Document([])])).of("main")


LONG = "Ünïcödé-" + "x" * 300


@pytest.fixture(scope="module")
def browser() -> Any:
    with Browser() as session:
        yield session


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    documents = [document("sample", "nurse"), document(EVIL, EVIL), document(LONG, LONG)]
    path.write_text(render_page(documents), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_in_a_browser_nothing_fails_and_nothing_hangs_over(
    browser: Browser, opened: Path, width: int, dark: bool
) -> None:
    browser.show(width, dark=dark)
    browser.errors.clear()
    browser.requests.clear()
    browser.open(opened)
    assert browser.evaluate("document.querySelectorAll('main figure').length") > 20
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []
    assert browser.requests == [opened.resolve().as_uri()]


_CONTRAST = """
(() => {
  const rgb = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => c.map(v => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = light(rgb(getComputedStyle(document.body).backgroundColor));
  const texts = "p, th, td, summary, a, h2, li, figcaption, svg text:not(.on)";
  const found = [...document.querySelectorAll(texts)];
  return Math.min(...found.map(node => {
    const style = getComputedStyle(node);
    const ink = light(rgb(node.closest("svg") ? style.fill : style.color));
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  }));
})()
"""


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser_all_text_has_contrast(browser: Browser, opened: Path, dark: bool) -> None:
    browser.show(1280, dark=dark)
    browser.open(opened)
    assert browser.evaluate(_CONTRAST) >= 4.5  # WCAG 2.1, criterion 1.4.3


@pytest.mark.slow
def test_in_a_browser_dark_is_dark_and_paper_is_white(browser: Browser, opened: Path) -> None:
    grey = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    browser.open(opened)
    browser.show(1280, dark=True)
    assert browser.evaluate(grey) < 40
    browser.show(1280, dark=True, media="print")
    assert browser.evaluate(grey) == 255
    assert browser.pdf().startswith(b"%PDF")
    browser.show(1280)


@pytest.mark.slow
def test_in_a_browser_a_table_can_be_sorted_and_nothing_that_was_named_runs(
    browser: Browser, opened: Path
) -> None:
    browser.show(1280)
    browser.open(opened)
    table = "document.querySelector('#occupations tbody').rows"
    cells = f"[...{table}].map(row => +row.cells[2].textContent.replace('−', '-'))"
    head = "document.querySelectorAll('#occupations thead th')[2]"
    for order in ("ascending", "descending"):
        browser.evaluate(f"{head}.querySelector('button').click()")
        values = browser.evaluate(cells)
        assert values == sorted(values, reverse=order == "descending")
        assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == order
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    assert browser.errors == []
