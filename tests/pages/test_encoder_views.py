"""The page of an encoder: its sections, pictures and tables, and a phone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from headless import Browser

from wordbias.pages.document import Document
from wordbias.pages.encoder_answers import NAMES
from wordbias.pages.encoder_views import claims_model, model_sections
from wordbias.pages.markdown import render_markdown
from wordbias.pages.page import render_page
from wordbias.pages.views import sections

LAYERS = 6
COLUMNS = (
    "misp",
    "hard",
    "leace",
    "L11-01110",
    "a long name of a projection, tokens@3,attention@3",
)
Rows = list[dict[str, Any]]


def row(measure: str, value: float | None, stage: str = "before", **details: Any) -> dict[str, Any]:
    column = {} if stage == "before" else {"column": "method", "debiased": stage}
    known = {"subject": "m", "measure": measure, "value": value, "audit": "encoder"}
    return {**known, "stage": stage, "layer": LAYERS, **column, **details}


def rows_of_stage(stage: str, shift: float) -> Rows:
    ends = {"low": 0.1, "high": 0.9} | (
        {} if stage == "before" else {"change": -shift, "change_low": -0.9, "change_high": -0.1}
    )
    chance = {"chance": 0.0, "chance_low": -0.4, "chance_high": 0.4, "beyond_chance": not shift}
    sizes = {"male names": 8, "female names": 8, "career": 8, "family": 8}
    table = []
    for layer in range(LAYERS + 1) if stage == "before" else (LAYERS,):
        about = {"layer": layer, "neutral": 1, "better": "lower", **ends, **chance}
        table.append(row("compression", 2.0 + layer / 9 - shift, stage, set=NAMES, **about))
        table.append(row("probe-accuracy", 0.9 - shift / 3, stage, set=NAMES, **about))
        table.append(row("selectivity", 0.4, stage, set=NAMES, **about))
        if stage == "before":
            table.append(row("compression", 1.0, stage, set=f"{NAMES}, untrained encoder", **about))
        table.append(row("seat", 1.2 - shift, stage, set="weat6", n=sizes, p_holm=0.01, **about))
        table.append(row("ceat", 0.6, stage, set="weat6", n=sizes, **about))
    for measure in ("best-probe", "ridge-probe", "rbf-probe"):
        table.append(row(measure, 0.9 - shift / 3, stage, set=NAMES, **about))
    about = {"neutral": 0.0, "better": "neutral", **ends, **chance}
    table.append(row("pronoun-stereotype", 0.6 - shift / 2, stage, **about))
    table.append(row("pronoun-gap", -0.03, stage, **about))
    for name in ("she and he", "paraphrases", "unrelated"):
        table.append(row("sentence-similarity", 0.8, stage, set=name, **ends))
    for i, word in enumerate(
        ("nurse", "carpenter", "electrician & <son>", "teacher", "cook", "guard")
    ):
        lean = (i - 2.5) / 50 * (1 - shift / 2)
        table.append(row("pronoun-lean", lean, stage, word=word, women=15.0 * i))
    if stage != "before":
        table += [
            row(f"sentence-{name}", 0.97, stage, low=0.96, high=0.99)
            for name in ("order-kept", "neighbours-kept", "similarity-moved")
        ]
        table.append(row("bias-left", 0.2, stage, kept=0.97, pareto=True))
    return table


def rows(columns: tuple[str, ...] = COLUMNS) -> Rows:
    shifts = {"before": 0.0} | {name: 1.0 + i / 10 for i, name in enumerate(columns)}
    return [record for stage, shift in shifts.items() for record in rows_of_stage(stage, shift)]


def document(found: Rows) -> Document:
    inputs = {"m": {"path": "/models/m"}}
    return Document(found, {"command": "audit", "inputs": inputs, "notes": ["a note"]})


def test_main_measures_that_were_not_taken_are_not_named() -> None:
    pronouns = ("pronoun-stereotype", "pronoun-gap", "pronoun-lean")
    for records, named in (
        (rows(), True),
        ([x for x in rows() if x["measure"] not in pronouns], False),
    ):
        (glance,) = (section for section in model_sections(records) if section.key == "glance")
        assert "balanced accuracy of the best probe" in glance.lead[0]
        assert ("share of women" in glance.lead[0]) is named
        assert "expected pronoun" not in glance.lead[0]


def test_a_change_may_begin_a_line_so_that_several_columns_fit() -> None:
    html = str(render_page([document(rows())]))
    assert "), <wbr>change " in html
    assert "<wbr>(" in html


def test_shares_of_pronouns_are_in_the_section_of_expected_pronouns() -> None:
    shares = {"she": 0.2, "he": 0.5, "they": 0.29, "xe": 0.01}
    records = [row("expected-pronoun-share", x, set=word, n=45) for word, x in shares.items()]
    (section,) = (part for part in model_sections(records) if part.key == "expected-pronouns")
    (grid,) = section.grids
    assert [cells[0].rpartition("(")[2] for cells in grid.table.cells] == [
        f"{word})" for word in shares
    ]


def test_every_row_of_the_audit_is_in_these_sections() -> None:
    others = {record["measure"] for record in rows() if not claims_model(record)}
    assert others == {"bias-left"}
    parts = sections(rows())
    keys = [section.key for section in parts]
    assert keys == ["methods", "trade-off", "glance", "layers", "pronouns", "associations"]
    (methods,) = parts[0].grids
    assert [line[:2] for line in methods.table.cells] == [[name, "yes"] for name in COLUMNS]
    assert not claims_model({"subject": "m", "measure": "compression", "value": 1.0})


def test_the_first_table_has_a_column_for_each_projection() -> None:
    summary = model_sections(rows())[0].grids[0].table
    assert summary.columns[: 3 + len(COLUMNS)] == ["measure", "before", "chance", *COLUMNS]
    by_name = {line[0]: line[1:] for line in summary.cells}
    compression = by_name["Probing: compression (first names)"]
    assert compression[0] == "2.667 (0.100 to 0.900)"
    assert compression[1] == "0.000 (−0.400 to 0.400); beyond"
    assert compression[2].endswith(", change −1.000 (−0.900 to −0.100)")
    assert by_name["Probing: accuracy of the probe (first names)"][0] == "0.900 (0.100 to 0.900)"
    for probe in ("best probe", "linear probe", "RBF probe"):
        named = f"balanced accuracy of the {probe} (first names)"
        assert by_name[named][0] == "0.900 (0.100 to 0.900)"


def test_the_picture_of_the_layers_has_every_mark_once() -> None:
    (figure,) = model_sections(rows())[1].figures
    assert figure.picture.count("<title>before, layer ") == LAYERS + 1
    assert figure.picture.count("<title>untrained, layer ") == LAYERS + 1
    assert figure.picture.count("<title>hard, layer 6") == 1


def test_occupations_are_drawn_before_and_after_what_helps_most() -> None:
    section = model_sections(rows())[2]
    (figure,) = section.figures
    assert figure.picture.count("% women: ") == 2 * 6
    assert "electrician &amp; &lt;son&gt;" in figure.picture
    leans = section.grids[1].table
    assert next(line[0] for line in leans.cells) == "nurse"
    assert leans.columns == ["occupation", "% women", "before", *COLUMNS]


def test_an_encoder_without_projections_has_a_page() -> None:
    page = render_page([document(rows(()))])
    assert "Methods side by side" not in page
    assert "can be read from sentences" in page
    assert "hard debiasing makes of it" not in render_page([document(rows())])


def of_decoder() -> Rows:
    """Return rows of a decoder, with what it expects and predicts."""
    table = [
        {
            **record,
            "audit": "decoder",
            **(
                {"set": str(record["set"]).replace("encoder", "decoder")} if "set" in record else {}
            ),
        }
        for record in rows(("hard",))
    ]
    for stage, shift in (("before", 0.0), ("hard", 1.0)):
        about = {
            "neutral": 0.0,
            "better": "neutral",
            "beyond_chance": not shift,
            "audit": "decoder",
        }
        ends = {"low": 0.3, "high": 0.8, "change": -0.4, "change_low": -0.6, "change_high": -0.2}
        table.append(row("expected-pronoun-stereotype", 0.6 - shift / 2, stage, **about, **ends))
        table.append(row("expected-pronoun-gap", -0.7, stage, **about, **ends, people=-0.4))
        table += [
            row("expected-pronoun-lean", i / 10, stage, word=f"job {i}", women=9.0 * i, **about)
            for i in range(5)
        ]
        table.append(row("perplexity", 31.26 + shift, stage, audit="decoder"))
        table.append(row("bits-per-byte", 1.2345, stage, audit="decoder"))
    return [*table, row("perplexity-kept", 0.97, "hard", audit="decoder")]


def test_a_decoder_has_what_it_expects_and_predicts() -> None:
    parts = model_sections(of_decoder())
    keys = ["glance", "layers", "pronouns", "expected-pronouns", "associations"]
    assert [section.key for section in parts] == keys
    cells = {line[0]: line[1:] for line in parts[0].grids[0].table.cells}
    assert cells["perplexity"][0].startswith("31.26")
    assert cells["Perplexity: bits per byte"][0].startswith("1.23")
    assert cells["perplexity before ÷ after"][:3] == ["", "", "0.970"]
    (figure,) = parts[3].figures
    assert figure.picture.count("% women: ") == 2 * 5
    head = {"m": {"path": "/models/m", "kind": "decoder", "pooling": "last", "layers": 6, "dim": 8}}
    page = render_page([Document(of_decoder(), {"command": "audit", "inputs": head, "notes": []})])
    assert "decoder of 6 layers × 8; a text’s vector is that of its last token" in page
    assert "untrained decoder" in page
    assert "encoder" not in page.partition("<body")[2].partition("<script")[0]


def test_associations_and_correlations_are_drawn_by_layer() -> None:
    ranks = [record for record in rows(()) if record["measure"] == "pronoun-stereotype"]
    layered = [{**rank, "layer": layer} for rank in ranks for layer in range(1, LAYERS)]
    by_key = {section.key: section for section in model_sections([*rows(()), *layered])}
    (tests,) = by_key["associations"].figures
    assert tests.title == "SEAT by layer, male names/female names × career/family"
    assert tests.picture.count("<title>before, layer ") == LAYERS + 1
    by_layer = by_key["pronouns"].figures[1]
    assert by_layer.picture.count("<title>before, layer ") == LAYERS
    last = [record for record in rows(()) if record.get("layer") == LAYERS]
    for section in model_sections(last):
        assert not any("by layer" in figure.title for figure in section.figures[1:])
        assert section.key != "associations" or not section.figures


def test_parts_that_are_missing_leave_their_sections_out() -> None:
    for measure, key in (("compression", "layers"), ("seat", "associations")):
        remaining = [record for record in rows() if record["measure"] not in (measure, "ceat")]
        assert key not in [section.key for section in model_sections(remaining)]
    assert model_sections([row("column", None, "x", reason="no site")]) == []
    render_page([document([row("column", None, "x", reason="no site")])])


def test_two_encoders_share_sections() -> None:
    both = [*rows(("hard",)), *({**record, "subject": "n"} for record in rows(("hard",)))]
    parts = model_sections(both)
    assert [section.key for section in parts] == ["glance", "layers", "pronouns", "associations"]
    assert {line[0] for line in parts[0].grids[0].table.cells} == {"m", "n"}
    assert len(parts[1].figures) == 2
    assert parts[1].figures[1].title.startswith("n: ")


def test_markdown_has_the_same_tables() -> None:
    text = render_markdown([document(rows())])
    assert "## Methods side by side" in text
    assert "## At a glance" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(width: int, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page([document(rows())]), encoding="utf-8")
    with Browser() as browser:
        browser.show(width)
        browser.open(path)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        outside = (
            "[...document.querySelectorAll('figure svg *')].filter(one => {"
            "const a = one.getBoundingClientRect(), b = one.closest('svg').getBoundingClientRect();"
            "return a.width && (a.left < b.left - 1 || a.right > b.right + 1)}).length"
        )
        assert browser.evaluate(outside) == 0
        assert browser.errors == []


JUNK = ("x", None, [], {}, True, -1e99, 1e308, -1, "", ["a"], {"a": "b"}, float("inf"), "<b>")


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_any_origin_make_a_page(seed: int) -> None:
    rng = random.Random(seed)
    for changes in (1, 3, 30, 200):
        records = rows(("hard",))
        for _ in range(changes):
            record = rng.choice(records)
            key = rng.choice([key for key in record if key not in ("subject", "measure", "value")])
            record[key] = rng.choice(JUNK)
        whole = Document.of({"rows": records, "command": "audit"})
        assert render_page([whole]).startswith("<!DOCTYPE html>")
        assert render_markdown([whole])
