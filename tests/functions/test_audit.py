"""`wordbias.audit` as a user of Python calls it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Embedding, WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.audit import audit
from wordbias.functions.report import Page, report
from wordbias.methods.words import listed_words
from wordbias.nli.arms import drawn_arm
from wordbias.pages.lines import make_lines
from wordbias.pages.stages import PARTS
from wordbias.verdicts import BETTER, RESCALED, change
from wordbias.wordlists import Attribute

Run = Callable[..., Any]
SKIP = ",".join(part for part in PARTS if part not in ("midb", "direct-bias"))


@pytest.fixture(scope="module")
def small() -> Embedding:
    sample = Embedding.sample()
    return sample.subset([*sample.words[:1200], *sorted(listed_words(Attribute.load()))])


@pytest.fixture(scope="module")
def saved(small: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "small.safetensors"
    small.save(path)
    return path


@pytest.fixture(scope="module")
def page(small: Embedding) -> Page:
    """Return the audit of an embedding with MISP, which no test changes."""
    audited = audit(small, methods="misp", skip=SKIP, chance=False)
    assert isinstance(audited, Page)
    return audited


def test_files_and_objects_have_the_same_values(saved: Path, small: Embedding, page: Page) -> None:
    of_path = audit(saved, methods=["misp"], skip=SKIP.split(","), chance=False)
    assert [row.value for row in page] == [row.value for row in of_path]
    assert page.arguments["embeddings"].startswith("<Embedding 'sample'")


@pytest.mark.slow
def test_a_page_is_saved_as_it_is_written(saved: Path, tmp_path: Path) -> None:
    for suffix in ("html", "md"):
        written, saved_path = tmp_path / f"written.{suffix}", tmp_path / f"saved.{suffix}"
        audit_page = audit([str(saved)], skip=SKIP.split(","), output=written)
        audit_page.save(saved_path)
        assert saved_path.read_text("utf-8") == written.read_text("utf-8")


def test_it_shows_itself_and_makes_a_page(page: Page) -> None:
    assert repr(page) == f"<Report of audit: {len(page)} values of 1 subject>"
    html = page._repr_html_()
    assert "Does cleaning help?" in html
    assert "<caption>MIDB: Values with their 95 % intervals</caption>" in html
    assert {"before", "misp"} <= set(page.to_frame()["stage"])
    rebuilt = report(page)
    assert rebuilt.page() == page.page()
    assert len(rebuilt) == len(page)


def test_means_are_over_the_given_words(small: Embedding) -> None:
    given: dict[str, Any] = {"skip": SKIP, "methods": (), "chance": False}
    longer = [f"{word}{'x' * 20}" if i in (900, 901) else word for i, word in enumerate(small)]
    other = Embedding(longer, small.vectors)
    plain, strict = (
        audit(other, strict_vocab=is_strict, **given)["midb-abs"][0] for is_strict in (False, True)
    )
    assert strict.details["n"] == plain.details["n"] - 2


@pytest.mark.slow
def test_vectors_that_only_got_shorter_are_not_called_improved(small: Embedding) -> None:
    """Scaling all vectors lowers MIDB of vectors as they are, and removes no bias."""
    scaled = small.with_vectors(small.vectors * np.float32(0.2)).renamed("scaled")
    page = audit(small, methods="hard", after=[scaled], skip=SKIP)
    for name in ("midb", "midb-abs", "midb-rms"):
        before, hard, after = page[name]
        assert after.value == pytest.approx(0.2 * before.value, rel=1e-5)
        assert after.details["length_ratio"] == pytest.approx(0.2)
        assert "chance" in before.details
        for row in (hard, after):
            assert "length_ratio" in row.details
            assert "chance" not in row.details  # it was measured at other lengths
    for name in ("midb-unit", "midb-unit-abs", "midb-unit-rms", "direct-bias"):
        before, _, after = page[name]
        assert after.value == pytest.approx(before.value, rel=1e-5)
        assert "length_ratio" not in after.details
    lines = {line.measure: line for line in make_lines([row.to_dict() for row in page])}
    verdicts = {
        name: change(line.first, line.stages.get("scaled"))
        for name, line in lines.items()
        if line.later
    }
    assert verdicts["midb-abs"] == verdicts["midb-rms"] == RESCALED
    assert BETTER not in verdicts.values()
    assert change(lines["midb-abs"].first, lines["midb-abs"].stages["hard"]) == RESCALED


@pytest.mark.slow
def test_embeddings_of_one_name_get_different_names(small: Embedding) -> None:
    noise = np.random.default_rng(0).normal(size=small.vectors.shape).astype(np.float32)
    other = small.with_vectors(small.vectors + noise)
    page = audit([small, other], skip=SKIP, chance=False)
    assert list(dict.fromkeys(row.subject for row in page)) == list(page.inputs)
    assert len(page.inputs) == 2
    values = [row.value for row in page["midb-abs"]]
    assert values[0] != values[1]
    assert {row.details.get("stage") for row in page} == {None}
    assert "several embeddings are compared as they are; methods= cleans each of them" in page.notes
    cleaned = audit([small, other], methods="leace", skip=SKIP, chance=False)
    stages = {(row.subject, row.details["stage"]) for row in cleaned["midb-abs"]}
    assert stages == {(name, stage) for name in page.inputs for stage in ("before", "leace")}


def test_messages_name_options_as_in_python(
    small: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WordbiasError, match="part 'gip': expected some of"):
        audit(small, skip="gip")
    with pytest.raises(WordbiasError, match=r"a page cannot be written as \.pdf"):
        audit(small, output="page.pdf")
    quick = [part for part in PARTS if part not in ("sembias", "quality")]
    notes = audit(small, methods="none", skip=quick, chance=False).notes
    (note,) = [n for n in notes if "SemBias" in n]
    assert '(sembias="sembias"), similarity and analogies (benchmarks="men")' in note
    with pytest.raises(WordbiasError, match=r'part .misp.: .*methods="none" measures only before'):
        audit(small, skip="misp")
    with pytest.raises(UsageError, match=r"after= is of one embedding, and several are given"):
        audit([small, small.renamed("other")], after=small)
    monkeypatch.setattr("wordbias.pages.audit.MANY_WORDS", 10)
    skipped = [part for part in PARTS if part != "gipe"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        audit(small, methods="none", skip=skipped, chance=False)
    assert [str(warning.message) for warning in caught] == [
        'gipe may take minutes; skip="gipe" leaves it out'
    ]


def test_the_help_names_every_part(cli: Run) -> None:
    text = " ".join(cli("audit", "--help").out.split())
    assert f"Parts to leave out, some of {', '.join(PARTS)}." in text


@pytest.mark.slow
def test_cleaned_files_are_columns_of_the_common_words(small: Embedding, tmp_path: Path) -> None:
    """A file lacks words, and has others in another order: what is common is measured."""
    rng = np.random.default_rng(0)
    lacking = set(small.words[5:200:7])
    words = [word for word in small.words[::-1] if word not in lacking]
    noisy = small.take(words) + rng.normal(0, 0.1, (len(words), small.dim))
    cleaned = Embedding([*words, "zzx"], np.concatenate([noisy, np.ones((1, small.dim))]), "sample")
    cleaned.save(tmp_path / "cleaned.safetensors")
    given: dict[str, Any] = {"skip": SKIP, "chance": False}
    page = audit(small, methods="misp", after=[tmp_path / "cleaned.safetensors", cleaned], **given)
    rows = {row.details["stage"]: row for row in page["midb-abs"]}
    assert list(rows) == ["before", "misp", "cleaned", "sample"]
    assert rows["cleaned"].value == rows["sample"].value
    assert rows["cleaned"].details["column"] == "file"
    assert "debiased" not in rows["cleaned"].details
    common = small.subset(word for word in small.words if word not in lacking)
    alone = audit(common, methods="misp", **given)["midb-abs"]
    assert [row.value for row in alone] == [rows["before"].value, rows["misp"].value]
    own = audit(cleaned.subset(common.words), methods="none", **given)["midb-abs"]
    assert own[0].value == rows["cleaned"].value
    n = len(small)
    assert any(f"sample: {len(lacking)} of {n:,} words are left out" in note for note in page.notes)
    assert any(f"cleaned: 1 of {len(cleaned):,} words are left out" in note for note in page.notes)
    assert list(page.inputs) == ["sample", "after: cleaned", "after: sample"]
    page.save(tmp_path / "page.html")
    assert "“cleaned”, “sample” are your own files" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.slow
def test_draws_are_columns_like_any_other(small: Embedding, tmp_path: Path) -> None:
    """Each is what the other commands measure of the same removal, and has a paired change."""
    given: dict[str, Any] = {"skip": SKIP, "chance": False}
    methods = ["misp null:2", "hard,misp", wb.Hard(), "lists:1"]
    page = audit(small, methods=methods, **given)
    rows = {row.details["stage"]: row for row in page["midb-abs"]}
    assert list(rows) == ["before", "misp", "hard,misp", "hard", "null-0", "null-1", "lists-0"]
    chain = rows["hard,misp"].details
    assert (chain["debiased"], chain["column"]) == ("hard,misp", "method")
    for kind in ("null", "lists"):
        drawn = drawn_arm(kind, {0: small, 1: small}, 2)
        for draw in range(2 if kind == "null" else 1):
            row = rows[f"{kind}-{draw}"]
            alone = audit(drawn[draw], methods="none", **given)["midb-abs"][0]
            assert row.value == pytest.approx(alone.value, rel=1e-5)
            assert row.details["column"] == kind
            assert {"change_low", "change_high"} <= row.details.keys()
    assert rows["null-0"].value != rows["null-1"].value
    page.save(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text("utf-8")
    assert "“null-0”, “null-1” are random directions removed" in html
    for wrong in ("null:0", "hard,null:2", "null", "lists:x"):
        with pytest.raises(UsageError, match="expected a number of draws from 1, alone"):
            audit(small, methods=f"misp {wrong}", **given)
    with pytest.raises(UsageError, match="null is given twice"):
        audit(small, methods="null:2 null:5", **given)
    with pytest.raises(UsageError, match="each draw is a column; 101 are too many"):
        audit(small, methods="null:101", **given)


def test_files_without_common_words_are_refused(small: Embedding) -> None:
    with pytest.raises(WordbiasError, match="after=: other and sample have no word in common"):
        audit(small, after=Embedding(["zzx", "zzy"], np.eye(2, small.dim), "other"), skip=SKIP)


@pytest.mark.slow
def test_processes_change_no_bit_of_the_rows(small: Embedding) -> None:
    skip = [part for part in PARTS if part not in ("midb", "weat", "occupations", "gipe")]
    with wb.config(jobs=1):
        single = audit(small, methods="misp inlp:rounds=3", skip=skip)
    with wb.config(jobs=2):
        two = audit(small, methods="misp inlp:rounds=3", skip=skip)
    assert single.rows == two.rows


def test_nothing_is_left_in_the_cache(
    small: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDBIAS_CACHE", str(tmp_path))
    audit(small, methods="misp", skip=SKIP, chance=False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_what_is_left_is_read_off_words_that_no_method_was_fitted_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By scikit-learn: on these words its probe reads less than all and more than nothing."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    from wordbias import debias
    from wordbias.measures import held_out_probes
    from wordbias.measures.panel import make_panels
    from wordbias.methods.classes import labelled_words
    from wordbias.pages.audit_parts import _unfitted

    monkeypatch.setattr(held_out_probes, "DRAWS", 19)
    sample, attribute = Embedding.sample(), Attribute.load()
    [panel] = make_panels([sample], None, attribute)
    chosen, _ = _unfitted(panel)
    words = [panel.vocabulary[row] for row in chosen.rows.tolist()]
    for classes in (2, 3):  # of LEACE, and of INLP, which divide the words otherwise
        learned = labelled_words(sample, attribute, classes=classes)
        assert not {learned.words[i] for i in learned.learned.tolist()} & set(words)
    assert not set(words) & listed_words(attribute)
    page = audit(methods="leace", skip=[part for part in PARTS if part != "recoverability"])
    before, after = page["best-probe"]
    assert (before.details["stage"], after.details["stage"]) == ("before", "leace")
    assert before.value is not None
    assert before.value > 0.98, "the label is a side of a plane"
    cleaned = debias(sample, "leace")
    x = np.array([cleaned[word] for word in words])
    read = cross_val_score(LogisticRegression(max_iter=2000), x, chosen.labels, cv=5).mean()
    assert after.value is not None
    assert read - 0.05 < after.value < before.value
    assert 0.5 < after.details["left"] < 1
    (left,) = page["bias-left"]
    assert left.value == pytest.approx(after.details["left"], abs=0.01)  # chance is drawn again
