"""`wordbias.audit` as a user of Python calls it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding, WordbiasError
from wordbias.functions.audit import audit
from wordbias.functions.report import report
from wordbias.methods.words import listed_words
from wordbias.pages.stages import PARTS
from wordbias.wordlists import Attribute

Run = Callable[..., Any]
SKIP = ",".join(part for part in PARTS if part not in ("midb", "direct-bias", "misp"))


@pytest.fixture(scope="module")
def small() -> Embedding:
    sample = Embedding.sample()
    return sample.subset([*sample.words[:1200], *sorted(listed_words(Attribute.load()))])


@pytest.fixture(scope="module")
def saved(small: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "small.safetensors"
    small.save(path)
    return path


def test_the_rows_are_those_of_the_command(cli: Run, saved: Path, small: Embedding) -> None:
    done = cli("audit", saved, "--skip", SKIP, "--format", "json", "--quiet")
    found = json.loads(done.out)
    of_path, of_object = audit(saved, skip=SKIP), audit(small, skip=SKIP.split(","))
    assert [row.to_dict() for row in of_path] == found["rows"]
    assert json.loads(of_path.render("json"))["inputs"] == found["inputs"]
    assert [row.value for row in of_object] == [row.value for row in of_path]
    assert of_object.arguments["embeddings"].startswith("<Embedding 'sample'")


def test_the_page_that_is_saved_is_the_page_that_the_command_writes(
    cli: Run, saved: Path, tmp_path: Path
) -> None:
    typed, called = tmp_path / "typed.html", tmp_path / "called.html"
    skip = SKIP.split(",")
    assert cli("audit", saved, "--skip", SKIP, "-o", typed).code == 0
    page = audit([str(saved)], skip=skip)
    page.save(called)
    assert called.read_text("utf-8") == typed.read_text("utf-8")
    audit([str(saved)], skip=skip, output=tmp_path / "page.md")
    page.save(tmp_path / "saved.md")
    done = cli("audit", saved, "--skip", SKIP, "--format", "md")
    for name in ("page.md", "saved.md"):
        assert (tmp_path / name).read_text("utf-8") == done.out


def test_it_shows_itself(small: Embedding) -> None:
    page = audit(small, skip=SKIP)
    assert repr(page) == f"<Report of audit: {len(page)} values of 1 subject>"
    shown = page._repr_html_()
    assert "MISP took MIDB" in shown
    assert "<caption>MIDB: Values with their 95 % intervals</caption>" in shown
    assert {"before", "after"} <= set(page.to_frame()["stage"])
    assert audit(small, skip=SKIP)["midb-abs"][0].value == page["midb-abs"][0].value


def test_means_are_over_the_given_words(small: Embedding) -> None:
    given: dict[str, Any] = {"skip": [*SKIP.split(","), "misp"], "chance": False}
    longer = [f"{word}{'x' * 20}" if i in (900, 901) else word for i, word in enumerate(small)]
    other = Embedding(longer, small.vectors)
    plain, strict = (
        audit(other, strict_vocab=one, **given)["midb-abs"][0] for one in (False, True)
    )
    assert strict.details["n"] == plain.details["n"] - 2


def test_embeddings_of_one_name_get_different_names(small: Embedding) -> None:
    noise = np.random.default_rng(0).normal(size=small.vectors.shape).astype(np.float32)
    other = small.with_vectors(small.vectors + noise)
    page = audit([small, other], skip=[*SKIP.split(","), "misp"], chance=False)
    assert list(dict.fromkeys(row.subject for row in page)) == list(page.inputs)
    assert len(page.inputs) == 2
    values = [row.value for row in page["midb-abs"]]
    assert values[0] != values[1]


def test_messages_name_options_as_in_python(
    small: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WordbiasError, match="part 'gip': expected some of"):
        audit(small, skip="gip")
    with pytest.raises(WordbiasError, match=r"a page cannot be written as \.pdf"):
        audit(small, output="page.pdf")
    (note,) = [n for n in audit(small, skip="mab,gipe,weat,misp").notes if "SemBias" in n]
    assert '(sembias="sembias"), similarity and analogies (sets="men")' in note
    monkeypatch.setattr("wordbias.pages.audit.MANY_WORDS", 10)
    kept = [part for part in PARTS if part != "gipe"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        audit(small, skip=kept, chance=False)
    assert [str(one.message) for one in said] == [
        'gipe may take minutes; skip="gipe" leaves it out'
    ]


def test_a_page_makes_a_page(small: Embedding) -> None:
    page = audit(small, skip=SKIP)
    again = report(page)
    assert again.page() == page.page()
    assert len(again) == len(page)


def test_the_help_names_every_part(cli: Run) -> None:
    text = " ".join(cli("audit", "--help").out.split())
    assert f"Parts to leave out, some of {', '.join(PARTS)}." in text
