"""Values of known embeddings beside those of another: what is compared, and the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding, Row, measure
from wordbias.measures.chance import DRAWS
from wordbias.measures.known import (
    COVERED,
    PAIRS,
    Known,
    Place,
    comparable,
    known_embeddings,
    pair_cosines,
    place,
    place_less_chance,
    with_known_values,
)
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.registry import MEASURES

OWN = "GloVe 6B 100d"
OTHER = "GloVe 6B 50d"


@pytest.fixture(scope="module")
def sample() -> Embedding:
    return Embedding.sample()


def values_of(row: Row) -> dict[str, float]:
    known_values: dict[str, float] = row.details.get("known_values", {})
    return known_values


def panel_of(embedding: Embedding) -> Panel:
    return make_panels([embedding], None, Attribute.load())[0]


def direct(panel: Panel, **details: Any) -> Row:
    """A row of direct bias as `measure` makes it."""
    return Row(panel.embedding.name, "direct-bias", 0.1, {"setting": "c=1", **details})


def placed(row: Row, panel: Panel) -> dict[str, float]:
    return values_of(with_known_values([row], [panel])[0])


# The embedding itself


def test_the_cosines_know_an_excerpt_rounded_and_scaled(sample: Embedding) -> None:
    known = {embedding.name: embedding for embedding in known_embeddings()}
    few = sample.subset(sample.words[:5000])
    halved = Embedding(few.words, (few.vectors * 3).astype(np.float16), "other")
    assert known[OWN].is_same(pair_cosines(halved))
    assert not known[OTHER].is_same(pair_cosines(halved))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(100, 100)))[0]
    turned = Embedding(few.words, few.vectors @ turn.astype(np.float32), "turned")
    assert known[OWN].is_same(pair_cosines(turned))


def test_vectors_without_an_axis_are_no_longer_the_same(sample: Embedding) -> None:
    """Hard debiasing and the like change the cosine of she and he."""
    g = sample["she"].astype(float) - sample["he"]
    g /= np.linalg.norm(g)
    few = sample.subset([word for pair in PAIRS for word in pair])
    clean = few.vectors - np.outer(few.vectors @ g, g)
    [own] = [embedding for embedding in known_embeddings() if embedding.name == OWN]
    assert not own.is_same(pair_cosines(Embedding(few.words, clean, "clean")))


def test_too_few_pairs_do_not_tell(sample: Embedding) -> None:
    [own] = [embedding for embedding in known_embeddings() if embedding.name == OWN]
    words = [word for pair in PAIRS[:4] for word in pair]
    cosines = pair_cosines(sample.subset(words))
    assert cosines[4:] == [None] * 4
    assert cosines[:4] == pytest.approx(own.cosines[:4], abs=1e-3)
    assert not own.is_same(cosines)


def test_an_embedding_is_not_compared_with_itself(sample: Embedding) -> None:
    panel = panel_of(sample)
    names = placed(direct(panel), panel)
    assert OTHER in names
    assert not {OWN, "sample of GloVe 6B 100d"} & set(names)


def test_of_two_excerpts_of_the_same_vectors_one_counts(sample: Embedding) -> None:
    """The file has the vectors of GoogleNews twice."""
    panel = panel_of(sample)
    both = [known for known in known_embeddings() if known.name.startswith("GoogleNews")]
    key = comparable("direct-bias", {"setting": "c=1"})
    assert [key in embedding.values for embedding in both] == [True, True]
    assert both[0].is_same(both[1].cosines)
    assert [name for name in placed(direct(panel), panel) if name.startswith("Goog")] == [
        both[0].name
    ]


# What is compared


def test_only_the_words_by_rule_and_the_same_setting_are_compared(sample: Embedding) -> None:
    panel = panel_of(sample)
    weat6 = Row("sample", "weat", 1.7, {"set": "weat6", "ddof": 1})
    fewer = replace(panel, vocabulary=panel.vocabulary[:-1])
    assert placed(direct(panel), panel)
    assert not placed(direct(panel), fewer)
    assert placed(weat6, panel)
    assert placed(weat6, fewer), "WEAT has words of its own"
    assert not placed(replace(weat6, details={"set": "weat6", "ddof": 0}), panel)
    assert not placed(direct(panel, setting="c=2"), panel)


def test_other_attributes_stages_and_words_are_not_compared(sample: Embedding) -> None:
    panel = panel_of(sample)
    religion = make_panels([sample], None, Attribute.load("religion:christian,muslim"))[0]
    assert not placed(direct(religion), religion)
    assert not placed(direct(panel), replace(panel, by_projection=True))
    assert placed(direct(panel, stage="before"), panel)
    assert not placed(direct(panel, stage="misp"), panel)
    assert not placed(direct(panel, word="nurse"), panel)
    assert not placed(replace(direct(panel), value=None), panel)
    assert not placed(replace(direct(panel), subject="another"), panel)
    assert not placed(Row(panel.embedding.name, "my-measure", 1.0, {}), panel)


def test_too_few_known_words_are_not_compared(sample: Embedding) -> None:
    panel = panel_of(sample)
    about = {"set": "weat6", "ddof": 1, "n": {"a": 8, "b": 7}, "missing": {"b": ["x"]}}
    assert COVERED > 7 / 8
    assert not placed(Row("sample", "weat", 1.7, about), panel)
    assert placed(Row("sample", "weat", 1.7, {**about, "missing": {}}), panel)
    cosines = pair_cosines(sample)
    lacking = [
        (embedding.name, row)
        for embedding in known_embeddings()
        for row in embedding.values.values()
        if row.get("coverage", 1) < COVERED and not embedding.is_same(cosines)
    ]
    assert lacking
    rows = [
        Row("sample", known["measure"], 0.5, {**known, "coverage": 1.0}) for _, known in lacking
    ]
    for (name, _), row in zip(lacking, with_known_values(rows, [panel]), strict=True):
        assert name not in values_of(row)


def test_gipe_is_compared_only_among_as_many_words(sample: Embedding) -> None:
    panel = panel_of(sample)
    [known] = [embedding for embedding in known_embeddings() if embedding.name == OTHER]
    [at] = [
        row
        for row in known.values.values()
        if row["measure"] == "gipe" and row["setting"] == "θ=0.03"
    ]
    about = {key: detail for key, detail in at.items() if key not in ("measure", "value", "n")}
    row = Row("sample", "gipe", 0.1, about)
    assert placed(row, panel)[OTHER] == at["value"]
    many = replace(row, details={**about, "among": 400_000})
    assert not placed(many, panel)


@pytest.mark.slow
def test_values_that_grow_with_the_length_are_not_compared(sample: Embedding) -> None:
    """The flag agrees with the numbers: these values double with the vectors, no others do."""
    few = sample.subset(sample.words[:3000])
    longer = Embedding(few.words, few.vectors * 2, "longer")
    families = ["midb", "direct-bias", "gipe", "weat"]
    rows = [measure(embedding, only=families, chance=False).rows for embedding in (few, longer)]
    assert len(rows[0]) > 15
    for before, after in zip(*rows, strict=True):
        if before.value is None:
            continue
        times = 2 if MEASURES[before.measure].by_length else 1
        assert after.value == pytest.approx(times * before.value, rel=1e-3, abs=1e-6)
        assert not (MEASURES[before.measure].by_length and values_of(before))


def test_the_library_compares_what_measure_computes(sample: Embedding) -> None:
    report = measure(only=["midb", "direct-bias"], chance=False)
    assert {row.measure for row in report.rows if values_of(row)} == {
        "midb-unit", "midb-unit-abs", "midb-unit-rms", "direct-bias", "direct-bias-pca",
    }  # fmt: skip
    others = (
        {"dims": 3, "only": ["midb"]},
        {"centre": True, "only": ["midb"]},
        {"groups": "religion:christian,muslim", "only": ["direct-bias"]},
        {"vocab": ["nurse", "doctor", "house"], "only": ["direct-bias"]},
    )
    for given in others:
        rows = measure(chance=False, **given).rows  # type: ignore[arg-type]
        assert any(row.value is not None for row in rows)
        assert not any(map(values_of, rows)), given


# The place


def known_row(name: str, value: float, others: dict[str, float], **details: Any) -> Row:
    return Row("mine", name, value, {"known_values": others, **details})


def test_a_place_counts_those_below_and_those_that_look_equal() -> None:
    others = {"a": 0.1, "b": 0.2, "c": 0.3}
    assert place(known_row("direct-bias", 0.25, others)) == Place(2, 0, 3)
    assert place(known_row("direct-bias", 0.2004, others)) == Place(1, 1, 3)
    assert place(known_row("direct-bias", 0.25, others), ["a", "c"]) == Place(1, 0, 2)
    assert place(known_row("direct-bias", 0.05, others)) == Place(0, 0, 3)
    assert place(Row("mine", "direct-bias", 0.1)) is None


def test_measures_with_two_sides_are_placed_by_their_distance() -> None:
    others = {"a": 1.5, "b": -0.5}
    assert place(known_row("weat", -1.0, others)) == Place(1, 0, 2)
    assert place(known_row("mac", 0.9, {"a": 1.05, "b": 1.2})) == Place(1, 0, 2)


def test_the_place_less_chance_can_be_another() -> None:
    """In few dimensions every |cos| is higher, by chance too."""
    chance = {"few dimensions": 0.12, "many dimensions": 0.05}
    others = {"few dimensions": 0.12, "many dimensions": 0.09}
    row = known_row("direct-bias", 0.1, others, known_chance=chance, chance=0.09)
    assert place(row) == Place(1, 0, 2)
    assert place_less_chance(row) == Place(1, 0, 2)
    assert place_less_chance(replace(row, details={**row.details, "chance": 0.03})) == Place(
        2, 0, 2
    )
    unknown = {key: detail for key, detail in row.details.items() if key != "chance"}
    assert place_less_chance(replace(row, details=unknown)) is None
    assert place_less_chance(replace(row, measure="midb-unit")) is None


# The command


@pytest.mark.slow
def test_the_table_of_measure_places_values_within_80_columns(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli("measure", "--only", "direct-bias,weat,recoverability", "--no-chance")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    [line] = [x for x in done.out.splitlines() if x.startswith("  direct bias  ")]
    [row] = measure(only=["direct-bias"], chance=False)["direct-bias"]
    placing = place(row)
    assert placing is not None
    assert f"  {placing.below} of {placing.of}  " in line
    printed = " ".join(done.out.split())
    assert all(name in printed for name in values_of(row))
    assert "for WEAT: the number nearer to 0" in printed
    assert "chance" not in printed


@pytest.mark.slow
def test_the_note_names_places_that_differ_less_chance(cli: Callable[..., Any]) -> None:
    done = cli("measure", "--only", "direct-bias")
    [row] = measure(only=["direct-bias"])["direct-bias"]
    less = place_less_chance(row)
    assert less is not None
    assert less != place(row)
    printed = " ".join(done.out.split())
    assert (
        f"with the chance level subtracted, another number (direct bias: {less.below} of {less.of}"
        in printed
    )
    assert f"{DRAWS} axes" in printed


def test_json_has_the_values_and_several_embeddings_no_column(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    few = Embedding.sample().renamed("a")
    few.save(tmp_path / "a.safetensors")
    clean = Embedding(few.words, few.vectors - few.vectors.mean(0), "b")
    clean.save(tmp_path / "b.safetensors")
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    given = ["--only", "direct-bias", "--no-chance", "-q"]
    rows = json.loads(cli("measure", *files, *given, "--format", "json").out)["rows"]
    assert OWN not in rows[0]["known_values"]
    assert OWN in rows[2]["known_values"], "other vectors: centred ones"
    assert "above: the number" not in cli("measure", *files, *given).out
    assert "above: the number" in cli("measure", files[0], *given).out


def test_a_published_value_is_compared_without_vectors(sample: Embedding) -> None:
    [published] = [embedding for embedding in known_embeddings() if not embedding.cosines]
    panel = panel_of(sample)
    [key] = [key for key in published.values if key[0] == "sembias-stereotype"]
    row = Row("sample", "sembias-stereotype", 0.2, dict(published.values[key]))
    assert placed(row, panel)[published.name] == 0.014
    assert not Known("none", (), {}).is_same(pair_cosines(sample))


def test_words_that_either_embedding_lacks_are_left_out_of_the_comparison() -> None:
    cosines = pair_cosines(Embedding.sample())
    partial = [None, *cosines[1:]]
    assert Known("excerpt", partial, {}).is_same(cosines)
    assert Known("whole", cosines, {}).is_same(partial)
    assert not Known("excerpt", partial, {}).is_same([cosines[0], *([None] * (len(cosines) - 1))])
    assert not any(embedding.is_same([None] * len(cosines)) for embedding in known_embeddings())


def test_every_known_embedding_can_be_compared_with_every_other() -> None:
    embeddings = known_embeddings()
    same = {(a.name, b.name) for a in embeddings for b in embeddings if a.is_same(b.cosines)}
    assert {(known.name, known.name) for known in embeddings if known.cosines} <= same
    assert all((b, a) in same for a, b in same)
