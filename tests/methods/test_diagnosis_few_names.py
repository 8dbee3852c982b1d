"""A subspace of a handful of first names is refused; words are measured from two on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.measures.direction import find_direction
from wordbias.measures.evaluate import evaluate
from wordbias.measures.panel import make_panels
from wordbias.methods.diagnosis import subspace_cautions
from wordbias.methods.methods import fit_chain
from wordbias.methods.misp import fit
from wordbias.wordlists import ATTRIBUTES, WordGroups


def _with_names(female: int, male: int) -> Embedding:
    """Return the sample with so many first names."""
    sample, (first, second) = Embedding.sample(), Attribute.load().members
    gone = {word.lower() for word in (*first[female:], *second[male:])}
    return sample.subset([word for word in sample.words if word not in gone])


def test_the_built_in_attributes_of_first_names_say_so() -> None:
    names = {name for name in ATTRIBUTES if WordGroups.load(name).first_names}
    assert names == {
        "gender",
        "ethnicity",
        *(f"gender-{language}" for language in ("de", "es", "fr", "it")),
    }
    assert Attribute.load("ethnicity:white,black").first_names


@pytest.mark.parametrize("names", [(3, 2), (9, 100), (100, 9)])
def test_fewer_than_ten_are_refused(names: tuple[int, int]) -> None:
    emb, gender = _with_names(*names), Attribute.load()
    refusal = (
        f"{names[0]} of 100 female and {names[1]} of 100 male first names found; "
        r"needed are 10 of each group.*the method hard.*--groups FILE"
    )
    for method in ("misp", "mhd"):
        with pytest.raises(WordbiasError, match=refusal):
            fit_chain(method, emb)
    for recipe in ("means", "subspace"):
        with pytest.raises(WordbiasError, match=refusal):
            find_direction(emb, gender, recipe)
    rows = {row.measure: row for row in evaluate(make_panels([emb], None, gender)[0], ["midb"])}
    assert rows["midb"].value is None
    assert "needed are 10 of each group" in rows["midb"].details["reason"]


def test_ten_are_enough_and_below_thirty_there_is_a_note() -> None:
    fit(_with_names(10, 10))
    for count, noted in ((10, True), (29, True), (30, False)):
        notes = subspace_cautions(
            _with_names(count, 100), Attribute.load(), dims=4, centre=False, seed=0
        )
        caution = f"group female: only {count} of 100 first names found"
        assert any(caution in note for note in notes) is (noted or count < 50)


def test_words_are_measured_from_two_on_with_a_note_where_they_do_not_agree() -> None:
    sample = Embedding.sample()
    few = Attribute("x", ("a", "b"), (("water", "trumpet"), ("democracy", "elbow")))
    assert fit(sample, few, dims=1).subspace.dims == 1
    assert any(
        "the first component hangs on which words are in the groups" in note
        for note in subspace_cautions(sample, few, dims=1, centre=False, seed=0)
    )
    rng = np.random.default_rng(0)
    axis = np.zeros(50)
    axis[0] = 5
    names = [[f"{side}{i}" for i in range(10)] for side in "ab"]
    vectors = np.concatenate([rng.normal(size=(10, 50)) + s * axis for s in (1, -1)])
    clear = Embedding([*names[0], *names[1]], vectors)
    groups = replace(few, members=(tuple(names[0]), tuple(names[1])))
    assert not any(
        "hangs on" in note
        for note in subspace_cautions(clear, groups, dims=1, centre=False, seed=0)
    )
