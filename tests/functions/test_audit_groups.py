"""`wordbias audit MODEL --groups`: any number of groups of names or words, planted and not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import planted_encoder
import pytest

import wordbias as wb
from wordbias.contextual.audit.texts import AuditTexts
from wordbias.functions.report import Page
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import Settings, encode
from wordbias.models.text_encoders import open_text_encoder
from wordbias.wordlists.groups import load_attribute
from wordbias.wordlists.model_sentences import ModelSentences, forms

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("one_thread")
Cli = Callable[..., Any]
NAMES = {
    "north": [f"Nor{end}" for end in "abcdefghijklmnopqrst"],
    "east": [f"Eas{end}" for end in "abcdefghijklmnopqrstuv"],
    "south": [f"Sou{end}" for end in "abcdefghijklmnopqrstuvwx"],
}
FEW_PARTS = ["seat", "ceat", "untrained"]


def write_groups(path: Path, groups: dict[str, list[str]], *more: str) -> Path:
    lines = [*more, "[groups]", *(f"{name} = {words}" for name, words in groups.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of three groups of first names."""
    path = tmp_path_factory.mktemp("groups") / "regions.toml"
    return write_groups(path, NAMES, 'name = "region"', "first_names = true")


def folder_of(place: Path, size: float, groups: Path) -> Path:
    return planted_encoder.write_folder(place / f"size{size:g}", size=size, groups=groups)


def of(page: Page, measure: str, **details: Any) -> list[Any]:
    return [
        row
        for row in page.rows
        if row.measure == measure
        and all(row.details.get(key) == value for key, value in details.items())
    ]


# Texts


def test_no_word_of_the_fit_is_measured_and_no_form_of_one() -> None:
    for name in ("age", "religion", "ethnicity", "ethnicity:white,black,asian"):
        texts, attribute = AuditTexts.load(name), load_attribute(name)
        assert texts.groups == attribute.groups
        members = dict(zip(attribute.groups, attribute.members, strict=True))
        for group, words in members.items():
            halves = [
                {sentence.name for sentence in sentences if sentence.group == group}
                for sentences in (texts.fit, texts.measured)
            ]
            assert not halves[0] & halves[1]
            starts = [{word[:4].lower() for word in half} for half in halves]
            assert attribute.first_names or not starts[0] & starts[1]
            everything = " ".join(sentence.text for sentence in (*texts.fit, *texts.measured))
            assert all(word in everything for word in words)
        fitted = {sentence.text for sentence in texts.fit}
        assert not fitted & {text for mentioned in texts.mentions.values() for text in mentioned}
        assert not fitted & {sentence.text for sentence in texts.measured}


def test_forms_of_a_word_are_one() -> None:
    words = ["mosque", "mosques", "rama", "ramayana", "old", "older", "kid", "kids", "king"]
    assert forms(words) == [
        ("mosque", "mosques"),
        ("rama", "ramayana"),
        ("old", "older"),
        ("kid", "kids"),
        ("king",),
    ]


def test_queries_are_those_about_the_groups_and_every_two_of_them() -> None:
    assert [query.name for query in AuditTexts.load("age").queries] == ["weat10", "young/old"]
    names = [query.name for query in AuditTexts.load("ethnicity").queries]
    assert names[:3] == ["weat3", "weat4", "weat5"]
    assert len(names) == 3 + 6
    assert [query.name for query in AuditTexts.load("ethnicity:hispanic,asian").queries] == [
        "hispanic/asian"
    ]
    texts = AuditTexts.load("religion:jewish,hindu,muslim")
    assert [query.name for query in texts.queries] == [
        "jewish/hindu", "jewish/muslim", "hindu/muslim",
    ]  # fmt: skip
    assert {texts.alternative(query) for query in texts.queries} == {"two-sided"}
    age = AuditTexts.load("age")
    assert [age.alternative(query) for query in age.queries] == ["greater", "two-sided"]


@pytest.mark.parametrize("groups", ["pronouns", "pronouns:they,he", "own"])
def test_sentences_about_pronouns_differ_in_the_pronoun_alone(tmp_path: Path, groups: str) -> None:
    """No verb agrees, and each version is that of *they* with the pronoun exchanged."""
    own = ("[cases]", 'ze = ["ze", "zir", "zir"]', 'they = ["they", "them", "their"]')
    if groups == "own":
        forms = {"they": ["they", "them"], "ze": ["ze", "zir"]}
        groups = str(write_groups(tmp_path / "own.toml", forms, *own))
    texts, attribute = AuditTexts.load(groups), load_attribute(groups)
    cases = dict(zip(attribute.groups, attribute.cases, strict=True))
    assert not {sentence.name for sentence in texts.fit} & {
        sentence.name for sentence in texts.measured
    }
    agreeing = {"was", "were", "is", "are", "am", "has", "have", "does", "do"}
    for sentences, least in ((texts.fit, 24), (texts.measured, 50)):
        versions: dict[str, dict[str, list[str]]] = {}
        for version in sentences:
            versions.setdefault(version.name, {})[version.group] = version.text.lower().split()
        assert len(versions) >= least
        used = Counter[str]()
        for of in versions.values():
            assert [*of] == [*attribute.groups]
            (place,) = {i for i, word in enumerate(of["they"]) if word in cases["they"]}
            case = cases["they"].index(of["they"][place])
            used[case] += 1
            for group, words in of.items():
                assert words == [
                    cases[group][case] if i == place else word for i, word in enumerate(of["they"])
                ]
                assert not agreeing & {*words}
        assert min(used[case] for case in range(3)) >= least // 3
    everything = texts.all()
    assert {sentence.text for sentence in (*texts.fit, *texts.measured)} <= {*everything}
    assert {text for pairs in texts.alike.values() for pair in pairs for text in pair} <= {
        *everything
    }
    assert {"they and one person", "they and several people"} <= {*texts.alike}


def test_gender_is_what_it_was_without_groups() -> None:
    default, other = AuditTexts.load(), AuditTexts.load("gender")
    assert default.all() == other.all()
    assert [default.attribute, default.groups] == ["gender", ("female", "male")]
    assert Counter(text.group for text in default.fit) == {"female": 627, "male": 627}


@pytest.mark.parametrize(
    ("groups", "more", "message"),
    [
        ("gender-de", (), "its words are not English"),
        ("ethnicity:white,black,green", (), "no group 'green'"),
        ("ethnicity:white", (), "expected two different groups, found white"),
        ("nosuch", (), "'nosuch'"),
        ({"a": ["x", "y"]}, (), "expected two groups"),
        ({"a": ["ant", "bee"], "b": ["Ant", "cat"]}, (), "'Ant' in both"),
        ({"a": list("abcdefgh"), "b": list("ijklmnop")}, (), "a has 8 different words"),
        (
            {"a": [f"x{i}" for i in range(19)], "b": [f"y{i}" for i in range(19)]},
            ("first_names = true",),
            "a has 19 first names, 19 of them in no association test; expected 20 or more",
        ),
        (
            {"a": ["ze", "zir"], "b": ["ey", "em"]},
            ("[subjects.pronouns]", 'a = ["Ze"]', 'b = ["Ey"]'),
            "for fitting; give groups of pronouns a table [cases] in their file",
        ),
        ({"a": ["mosque", "mosques"] * 9, "b": list("abcdefghi")}, (), "a has 1 different"),
    ],
)
def test_groups_that_a_model_cannot_be_measured_on_are_one_line(
    tmp_path: Path, groups: object, more: tuple[str, ...], message: str
) -> None:
    if isinstance(groups, dict):
        groups = write_groups(tmp_path / "own.toml", groups, *more)
    with pytest.raises(wb.WordbiasError) as caught:
        AuditTexts.load(groups)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_fairness_of_nli_is_about_gender(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")  # refused before the model is opened
    message = "snli= measures fairness by gender, and groups= age"
    with pytest.raises(wb.WordbiasError, match=message):
        wb.audit(tmp_path, groups="age", snli="pairs.tsv")


# An audit


@pytest.mark.slow
def test_planted_groups_are_found_in_unseen_names_and_removed(
    regions: Path, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, 3.0, regions)
    page = wb.audit(folder, groups=regions, methods=["leace", "null:1"], skip=FEW_PARTS)
    (read,) = of(page, "best-probe", stage="before", layer=3)
    assert read.details["attribute"] == "region"
    assert read.details["neutral"] == pytest.approx(1 / 3)
    assert read.details["groups"] == 10 + 11 + 12
    assert read.details["beyond_chance"] is True
    (accuracy,) = of(page, "probe-accuracy", stage="before", layer=3)
    assert accuracy.details["neutral"] == pytest.approx(12 / 33)
    expected = _by_sklearn(folder)
    assert read.details["low"] <= expected <= read.details["high"]
    assert expected > 0.9
    (after,) = of(page, "best-probe", stage="leace", layer=3)
    assert after.details["change_high"] < 0
    (control,) = of(page, "best-probe", stage="null-0", layer=3)
    assert control.value > after.value
    assert not of(page, "pronoun-stereotype")
    assert any("not measured, as they are about gender" in note for note in page.notes)
    heading = "\n".join(page.heading)
    assert "The region of a first name can be read from sentences that do not state it" in heading
    (left,) = of(page, "bias-left", stage="leace")
    assert f"--groups={regions} --methods=leace --export=DIR" in left.details["written_by"]


@pytest.mark.slow
def test_commands_that_write_a_projection_are_about_the_groups(
    regions: Path, tmp_path: Path, cli: Cli
) -> None:
    """Of groups without a file the command has a place for one; that of scrubbing runs."""
    folder, methods = folder_of(tmp_path, 3.0, regions), ["leace", "concept-scrubbing"]
    page = wb.audit(folder, groups=NAMES, methods=methods, skip=FEW_PARTS)
    written = {row.details["stage"]: row.details["written_by"] for row in of(page, "bias-left")}
    assert f"audit {folder} --groups=GROUPS --methods=leace --export=DIR" in written["leace"]
    _, *call = written["concept-scrubbing"].split()
    places = {"--groups=GROUPS": f"--groups={regions}", "ADAPTER": str(tmp_path / "a.adapter")}
    done = cli(*(places.get(part, part) for part in call))
    assert done.code == 0, done.err
    assert wb.load(tmp_path / "a.adapter").facts["labels"] == "region"


def _by_sklearn(folder: Path) -> float:
    """Return the balanced accuracy of a logistic regression on unseen names, made by hand."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    names = [(name, i) for i, group in enumerate(NAMES.values()) for name in group[::2]]
    templates = ModelSentences.load().measured
    texts = [template.replace("{subject}", name) for name, _ in names for template in templates]
    unit = np.repeat(np.arange(len(names)), len(templates))
    y = np.repeat([i for _, i in names], len(templates))
    x = encode(Encoder.load(folder, device="cpu"), texts, None, Settings((3,)))[0]
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(
        LogisticRegression(C=10, max_iter=500), x, y, groups=unit, cv=folds
    )
    return float(balanced_accuracy_score(y, predicted))


@pytest.mark.slow
def test_where_no_group_is_planted_the_probe_stays_at_chance(regions: Path, tmp_path: Path) -> None:
    page = wb.audit(folder_of(tmp_path, 0.0, regions), groups=regions, methods=[], skip=FEW_PARTS)
    (read,) = of(page, "best-probe", layer=3)
    assert read.value <= read.details["chance_high"]
    assert read.details["beyond_chance"] is False
    heading = "\n".join(page.heading)
    assert "The region of a first name cannot be read from" in heading


@pytest.mark.slow
def test_groups_of_words_have_their_tests_and_an_adapter(tmp_path: Path, cli: Cli) -> None:
    groups = "religion:christian,muslim"
    folder = planted_encoder.write_folder(tmp_path / "words", groups=groups)
    page = wb.audit(folder, groups=groups, methods=["hard"], skip=["probe", "untrained"])
    (row,) = of(page, "seat", stage="before", layer=3)
    assert row.details["set"] == "christian/muslim"
    assert row.details["alternative"] == "two-sided"
    assert row.details["about"] == row.details["attribute"] == "religion christian/muslim"
    assert of(page, "ceat", stage="hard", layer=3)
    assert of(page, "sentence-order-kept", stage="hard")
    page.save(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text("utf-8")
    assert "Are sentences that mention one group nearer to pleasant words than others?" in html
    done = cli("project", folder, "--groups", groups, "-o", tmp_path / "a.adapter")
    assert done.code == 0, done.err
    adapter = wb.load(tmp_path / "a.adapter")
    assert adapter.facts["labels"] == "religion christian/muslim"
    assert adapter.facts["classes"].keys() == {"christian", "muslim"}


@pytest.mark.slow
def test_pronouns_of_any_number_have_an_audit_and_an_adapter(tmp_path: Path, cli: Cli) -> None:
    folder = planted_encoder.write_folder(tmp_path / "pronouns", groups="pronouns")
    page = wb.audit(folder, groups="pronouns", methods=["hard"], skip=["untrained"])
    (read,) = of(page, "best-probe", stage="before", layer=3)
    assert (read.details["neutral"], read.details["set"]) == (0.25, "sentences")
    assert read.value > 0.9
    assert read.details["groups"] == len(
        {sentence.name for sentence in AuditTexts.load("pronouns").measured}
    )
    (after,) = of(page, "ridge-probe", stage="hard", layer=3)
    assert after.details["change_high"] < 0
    pairs = ["she/he", "she/they", "she/xe", "he/they", "he/xe", "they/xe"]
    for measure in ("pronoun-stereotype", "pronoun-gap", "seat"):
        rows = of(page, measure, stage="before", layer=3)
        assert [row.details["set"] for row in rows] == pairs
    for row in of(page, "pronoun-stereotype", stage="before", layer=3):
        assert row.value == pytest.approx(_by_scipy(folder, row.details["set"]), abs=1e-6)
    heading = "\n".join(page.heading)
    assert "The pronoun can be read from sentences that state it, which is no bias" in heading
    assert re.search(r"several .* “they …” [01]\.\d{3} and [01]\.\d{3}", heading)
    assert (
        "best probe" not in heading.partition("The pronoun can")[0]
    )  # does not say that it is biased
    assert not of(page, "ceat")
    assert "the first pronoun" in page.page()
    done = cli("project", folder, "--groups", "pronouns:they,he", "-o", tmp_path / "a.adapter")
    assert done.code == 0, done.err
    assert wb.load(tmp_path / "a.adapter").facts["classes"].keys() == {"they", "he"}


def _by_scipy(folder: Path, pair: str) -> float:
    """Return the correlation of occupations' leans between two pronouns, made by hand."""
    from scipy.stats import spearmanr

    lists, encoder = ModelSentences.load(), open_text_encoder(folder)

    def units(subject: str) -> Any:
        texts = [template.replace("{subject}", subject) for template in lists.measured]
        x = encoder.encode(texts).astype(float)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    first, second = (units(word.capitalize()) for word in pair.split("/"))
    leans = [
        float((units(f"The {occupation}") * (first - second)).sum()) for occupation in lists.women
    ]
    return float(spearmanr(leans, list(lists.women.values())).statistic)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--groups", "age", "--methods", "misp-pairs"), "misp-pairs: is fitted to pairs of"),
        (("--groups", "age", "--methods", "tokens@1"), "tokens@1: is fitted to pairs of"),
        (
            ("--groups", "age", "--skip", "pronouns"),
            "'pronouns': is not measured with --groups age",
        ),
        (
            ("--groups", "pronouns", "--skip", "ceat"),
            "'ceat': is not measured with --groups pronouns",
        ),
        (("--groups", "pronouns", "--methods", "misp-pairs"), "misp-pairs: is fitted to pairs of"),
        (("--groups", "gender-fr"), "gender-fr: its words are not English"),
    ],
)
def test_what_is_of_gender_is_refused_with_other_groups(
    cli: Cli, tiny: Path, given: tuple[str, ...], message: str
) -> None:
    done = cli("audit", tiny, *given)
    assert done.code in (1, 2)
    assert message in done.err


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_encoder.write_folder(tmp_path_factory.mktemp("tiny") / "age", groups="age")


def test_a_file_that_is_called_gender_has_its_own_words(tmp_path: Path) -> None:
    groups = {name: [f"{name}{i}x" for i in range(20)] for name in ("female", "male")}
    path = write_groups(tmp_path / "own.toml", groups, 'name = "gender"', "first_names = true")
    texts = AuditTexts.load(path)
    assert (texts.attribute, texts.of_gender) == ("gender", False)
    assert not texts.occupations
    assert AuditTexts.load().of_gender
