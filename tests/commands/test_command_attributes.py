"""Every command that takes gender takes other groups: age, religions, names, another language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_cases import first_quick

import wordbias as wb
from wordbias import Embedding, WordbiasError
from wordbias.measures.clustering import clustering_rows
from wordbias.measures.gipe import gipe_rows
from wordbias.measures.midb import midb_rows
from wordbias.measures.panel import make_panels
from wordbias.measures.recoverability import recoverability_rows
from wordbias.methods.settings import METHODS
from wordbias.wordlists import ATTRIBUTES, Attribute, WordGroups

Run = Callable[..., Any]

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "attributes.md"
GENDERED = re.compile(r"\b(gender\w*|female|male|she|he|wom[ae]n|m[ae]n)\b", re.IGNORECASE)
TWO = ["age", "religion:christian,muslim", "ethnicity:white,black"]
NAMES = {
    "age": ("young", "old"),
    "religion:christian,muslim": ("christian", "muslim"),
    "ethnicity:white,black": ("white", "black"),
}
FAMILIES = {
    "midb": midb_rows,
    "direct-bias": midb_rows,
    "clustering": clustering_rows,
    "recoverability": partial(recoverability_rows, words=60),
    "gipe": gipe_rows,
}


def _rows(out: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(out)["rows"]
    return rows


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 1,000 most frequent words of the sample, and those the attributes list."""
    sample = Embedding.sample()
    listed = [w.lower() for n in ATTRIBUTES for g in WordGroups.load(n).members for w in g]
    words = dict.fromkeys([*sample.words[:1000], "table", *(w for w in listed if w in sample)])
    path = tmp_path_factory.mktemp("small") / "small.txt"
    sample.subset(list(words)).save(str(path))
    return path


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=pytest.mark.slow) if method == "inlp" else method
        for method in METHODS
    ],
)
def test_the_guide_says_which_methods_take_more_than_two_groups(small: Path, method: str) -> None:
    guide = GUIDE.read_text(encoding="utf-8").partition("## What needs what\n")[2]
    rows = [line.split(" | ") for line in guide.splitlines() if line.startswith("| ")]
    (cell,) = (row[1] for row in rows if f"`{method}`" in row[0])
    settings = {"inlp": "inlp:per-class=20:rounds=1", "multi-hard": "multi-hard:means"}
    try:
        wb.debias(small, settings.get(method, method), groups="religion")
    except WordbiasError as error:
        takes_many = "expected exactly two groups, found 5" not in str(error)
    else:
        takes_many = True
    assert takes_many == ("any number" in cell)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("attribute", first_quick(TWO))
def test_every_family_of_measures_measures_it(small: Path, attribute: str, family: str) -> None:
    with wb.config(cache=False):
        emb = wb.load(small)
    (panel,) = make_panels([emb], None, Attribute.load(attribute), recipe="means", clustered=(60,))
    rows = [row.to_dict() for row in FAMILIES[family](panel)]
    lacking = {"direct-bias", "direct-bias-pca"} if attribute.startswith("ethnicity") else set()
    for row in rows:
        if row["measure"] in lacking:
            assert row["value"] is None
            assert "has no pairs, and direct bias is taken along nothing else" in row["reason"]
        else:
            assert np.isfinite(row["value"])
            assert row["low"] <= row["value"] <= row["high"]


@pytest.mark.slow
@pytest.mark.parametrize("attribute", TWO)
def test_what_is_printed_is_about_its_groups_and_nothing_gendered(
    cli: Run, small: Path, attribute: str
) -> None:
    first, second = NAMES[attribute]
    only = ["--only", "midb,gipe,sembias", "--direction", "means"]
    done = cli("measure", small, "--groups", attribute, *only)
    assert f"{first} − {second}." in done.out
    text = " ".join(done.out.split())
    printed = text.replace("SemBias asks about gender, and the attribute is", "")
    assert printed != text
    assert not GENDERED.search(printed)
    words = cli("measure", small, "--groups", attribute, "--words", "table")
    listing = " ".join(words.out.partition("Words of")[2].split())
    assert "leans to" in listing
    assert not GENDERED.search(listing)
    done = cli("misp", small, "--groups", attribute, "--details")
    assert done.code == 0
    moved = done.out.partition("Most moved words")[0]
    assert f"Δ = mean {first} − mean {second}" in moved
    assert not GENDERED.search(moved)


def test_sembias_is_of_gender_only_even_if_it_is_given(
    cli: Run, small: Path, tmp_path: Path
) -> None:
    file = tmp_path / "SemBias"
    file.write_text("he:she\tthe:of\tand:in\tto:was\n")
    arguments = ["--only", "sembias", "--sembias", file, "--format", "json"]
    done = cli("measure", small, "--groups", "age", *arguments)
    assert {row["value"] for row in _rows(done.out)} == {None}
    assert all("the attribute is age" in row["reason"] for row in _rows(done.out))
    done = cli("measure", small, *arguments)
    assert _rows(done.out)[0]["value"] is not None


def test_without_an_axis_it_is_said_what_does_without(cli: Run, small: Path) -> None:
    arguments = ["--groups", "ethnicity:white,black", "--format", "json"]
    done = cli("measure", small, "--only", "clustering", *arguments)
    assert all(row["value"] is None for row in _rows(done.out))
    (reason, *_) = (row["reason"] for row in _rows(done.out))
    assert "has no pairs; the direction means or subspace does without" in reason
    done = cli("measure", small, "--extremes", 3, "--centre", *arguments)
    leans = [row for row in _rows(done.out) if row["measure"] == "lean"]
    assert len(leans) == 6, "the words that lean most along the difference of means"
    assert all("no lean is claimed" in row["reason"] for row in leans)


@pytest.mark.parametrize("command", ["measure", "misp"])
def test_more_groups_than_two_are_to_be_chosen_from(cli: Run, small: Path, command: str) -> None:
    done = cli(command, small, "--groups", "religion")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "found 5 (jewish, christian, muslim, hindu, buddhist)" in done.err
    assert "--groups=religion:jewish,christian" in done.err


def test_an_unknown_name_lists_those_there_are(cli: Callable[..., Any]) -> None:
    done = cli("measure", "--groups", "relgion")
    assert done.code == 2
    assert done.err.splitlines() == [
        "wordbias: attribute 'relgion': expected one of gender, gender-de, gender-fr, gender-es, "
        "gender-it, age, religion, ethnicity, pronouns, or a TOML file with groups of words; "
        "did you mean religion?; see wordbias measure --help"
    ]


@pytest.mark.slow
def test_weat_takes_every_two_groups_and_corrects_for_their_number(cli: Run) -> None:
    arguments = ["weat", "--groups", "religion", "--attributes", "pleasant,unpleasant"]
    done = cli(*arguments, "--only", "weat,rnsb,mac", "--two-sided", "--holm")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 100
    assert "p Holm" in done.out
    assert (
        "Attribute religion: jewish, christian, muslim, hindu, buddhist; A = pleasant" in done.out
    )
    printed = " ".join(done.out.split())
    assert "hindu (hinduism, vishnu," in printed  # each group's missing words once
    assert done.out.count("hinduism") == 1
    assert not GENDERED.search(done.out)
    data = cli(*arguments, "--holm", "--format", "json")
    rows = [row for row in _rows(data.out) if row["measure"] == "weat"]
    assert len(rows) == 10
    assert all(row["tests"] == 10 and row["p_holm"] >= row["p"] for row in rows)


def test_weat_without_holm_says_that_p_is_not_corrected(cli: Run) -> None:
    done = cli("weat", "--query", "weat7")
    assert "p is not corrected for the number of queries; --holm corrects it" in done.out
    assert "p Holm" not in done.out


def test_weat_takes_a_choice_and_sets_of_a_file(cli: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[sets]\nwork = ["job", "office"]\nhome = ["kitchen", "garden"]\n')
    arguments = ["--groups", "ethnicity:asian,white", "--query", file]
    done = cli("weat", *arguments, "--attributes", "work,home", "--format", "json")
    (row,) = _rows(done.out)
    assert row["set"] == "asian/white"
    assert row["n"]["work"] == row["n"]["home"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "age"], "--groups needs --attributes A,B"),
        (["--groups", "age", "--attributes", "a,b", "--targets", "x,y"], "take no --targets"),
        (["--groups", "age", "--attributes", "a,b", "--query", "weat1"], "and no --query"),
        (["--groups", "age", "--attributes", "zz,career"], "no set 'zz' in"),
        (["--groups", "zz", "--attributes", "career,family"], "attribute 'zz'"),
    ],
)
def test_weat_says_what_does_not_fit(cli: Run, arguments: list[str], message: str) -> None:
    done = cli("weat", *arguments)
    assert done.code != 0
    assert message in done.err
    assert "Traceback" not in done.err


def _german() -> Embedding:
    """Vectors in which German female and male words lie on two sides, and one stereotype."""
    gender, rng = Attribute.load("gender-de"), np.random.default_rng(0)
    neutral = [f"wort{a}{b}" for a in "abcdefghijklmnop" for b in "abcdefghijklmnop"]
    pairs = [*gender.pairs, *gender.equalise]
    sides = [{*gender.members[i], *(pair[i] for pair in pairs)} - {"Herren"} for i in range(2)]
    words = [*neutral, "Pflege", *sorted(sides[0]), *sorted(sides[1])]
    x = rng.normal(size=(len(words), 12))
    axis = np.array([1.0, *[0.0] * 11])
    x += 4 * axis * np.array([[(w in sides[0]) - (w in sides[1])] for w in words])
    x[words.index("Pflege")] = [3.0, *[0.1] * 11]
    return Embedding(words, x, "deutsch")


@pytest.fixture
def german(tmp_path: Path) -> Path:
    path = tmp_path / "deutsch.txt"
    _german().save(str(path))
    return path


def test_german_words_are_found_as_german_spells_them(cli: Run, german: Path) -> None:
    done = cli("misp", german, "--groups", "gender-de", "--dims", 1)
    assert "40 of 40 female + 40 of 40 male words found" in done.out
    assert "direct bias (Frau − Mann)" in done.out
    arguments = ["--groups", "gender-de", "--words", "Pflege", "--format", "json"]
    rows = {row["measure"]: row for row in _rows(cli("measure", german, *arguments).out)}
    assert rows["lean"]["value"] > 0  # names are a fifth of this vocabulary, so none is claimed
    assert rows["direct-bias"]["value"] > 0.5  # its cosine with the axis planted is .99


def test_german_vectors_in_lower_case_do_as_well(cli: Run, tmp_path: Path) -> None:
    emb = _german()
    path = tmp_path / "klein.txt"
    Embedding([word.lower() for word in emb.words], emb.vectors, "klein").save(str(path))
    done = cli("misp", path, "--groups", "gender-de", "--dims", 1)
    assert "40 of 40 female + 40 of 40 male words found" in done.out


def test_german_hard_debiasing_takes_the_stereotype_off_its_side() -> None:
    from wordbias.methods.methods import fit_chain

    emb, gender = _german(), Attribute.load("gender-de")
    done = fit_chain("hard", emb, gender)[1]
    before, after = (
        float(e["Pflege"] @ (e["Frau"] - e["Mann"])) / np.linalg.norm(e["Pflege"])
        for e in (emb, done)
    )
    assert before > 1
    assert abs(after) < before / 10


@pytest.mark.slow
def test_english_vectors_lack_most_german_words_and_say_so(cli: Run) -> None:
    done = cli("misp", "--groups", "gender-de")
    assert "group female: only 16 of 40 first names found" in done.err


@pytest.mark.parametrize("command", ["measure", "audit"])
def test_vectors_of_another_language_are_not_answered_with_dashes(
    cli: Run, german: Path, tmp_path: Path, command: str
) -> None:
    page = tmp_path / "page.html"
    done = cli(command, german, *(["-o", page] if command == "audit" else []))
    assert (done.code, done.out) == (1, "")
    assert "nothing was measured: undefined: " in done.err
    assert "take the lists of the vectors' language (wordbias lists)" in done.err
    assert not page.exists()


SLOW = "clustering,recoverability,gipe,weat,mab,map,neighbours,quality,sembias"
ROMANCE = ("gender-fr", "gender-es", "gender-it")
SEMANTIC, GRAMMATICAL = 1.0, 0.75


def _with_two_genders(name: str) -> Embedding:
    """Vectors of a language whose nouns have a gender, in which things have no bias at all.

    People differ along the first axis and, as do things, along the second, that of grammar. The
    words of a pair such as feminine and masculine have the same grammatical gender.
    """
    attribute, rng = Attribute.load(name), np.random.default_rng(0)
    things = [f"{kind}{a}{b}" for kind in "fm" for a in "abcdefgh" for b in "abcdefgh"]
    x = np.zeros((len(things), 10))
    x[:, 1] = np.repeat([GRAMMATICAL, -GRAMMATICAL], len(things) // 2)
    words, rows = [*things], [*x + rng.normal(size=x.shape) * np.array([0, 0, *[0.3] * 8])]
    for pair in (*attribute.pairs, *attribute.equalise, *zip(*attribute.members, strict=True)):
        stem = np.array([0, 0, *rng.normal(size=8)])
        for word, side in zip(pair, (1, -1), strict=True):
            words.append(word)
            rows.append(stem + side * np.array([SEMANTIC, GRAMMATICAL, *[0.0] * 8]))
    for word in attribute.pairs[-1]:  # féminin/masculin, of the same grammatical gender
        rows[words.index(word)][1] = 0
    return Embedding(words, np.array(rows), name)


@pytest.mark.parametrize("name", ROMANCE)
def test_the_lists_of_a_language_are_found(cli: Run, tmp_path: Path, name: str) -> None:
    _with_two_genders(name).save(str(tmp_path / "vectors.txt"))
    done = cli("misp", tmp_path / "vectors.txt", "--groups", name, "--dims", 1, "--no-chance")
    assert "50 of 50 female + 50 of 50 male words found" in done.out
    assert f"note: {name}: nouns of this language have a grammatical gender" in done.err


@pytest.mark.slow
def test_pages_and_cleaning_say_that_nouns_have_a_gender(cli: Run, tmp_path: Path) -> None:
    path, page = tmp_path / "vectors.txt", tmp_path / "report.html"
    _with_two_genders("gender-fr").save(str(path))
    given = ("--groups", "gender-fr", "-o")
    ways = ["--methods", "hard", "--skip", SLOW, "--no-chance"]
    audited = cli("audit", path, *ways, *given, page)
    assert audited.code == 0, audited.err
    assert "have a grammatical gender" in page.read_text(encoding="utf-8")
    cleaned = cli("debias", "hard", path, *given, tmp_path / "clean.txt")
    assert cleaned.code == 0, cleaned.err
    assert "have a grammatical gender" in cleaned.err


@pytest.mark.parametrize("name", ROMANCE)
def test_grammar_alone_is_direct_bias_of_nouns_and_an_association(name: str) -> None:
    """Along an axis (s, g) a noun without bias, (0, ±g) and more, has a cosine other than 0."""
    emb, attribute = _with_two_genders(name), Attribute.load(name)
    things = [word for word in emb.words if word[0] in "fm" and len(word) == 3]
    report = wb.measure(emb, only=["direct-bias"], groups=name, vocab=things, chance=False)
    first, second = attribute.direction
    axis = emb[first] - emb[second]
    cosines = np.abs(emb[things] @ axis) / np.linalg.norm(emb[things], axis=1)
    expected = float(np.mean(cosines)) / float(np.hypot(SEMANTIC, GRAMMATICAL) * 2)
    assert report["direct-bias"][0].value == pytest.approx(expected, rel=1e-4)
    assert expected > 0.3
    same = attribute.pairs[-1]
    axis_of_same = emb[same[0]] - emb[same[1]]
    assert np.abs(emb[things] @ axis_of_same).max() < 1e-6

    control = {"feminine": things[:64], "masculine": things[64:]}
    test = wb.weat(emb, groups=name, attributes=control, two_sided=True)
    assert test["weat"][0].value > 1.5  # names have the gender of grammar too
    assert test["weat"][0].details["p"] < 0.001
    assert "grammatical gender" in test.notes[0]


def test_lists_show_whom_sentences_are_about(cli: Run) -> None:
    rows = json.loads(cli("lists", "--groups", "ethnicity", "--format", "json").out)["rows"]
    counts = {row["measure"]: row["value"] for row in rows if "for sentences" in row["measure"]}
    groups = WordGroups.load("ethnicity")
    assert counts == {
        f"{kind} for sentences: {group}": len(words)
        for kind, lists in groups.subjects.items()
        for group, words in zip(groups.groups, lists, strict=True)
    }
    assert len(counts) == 8
