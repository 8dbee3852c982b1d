from itertools import chain

import pytest

from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, Templates, test_names

VERBS = {"commerce": 10, "interaction": 10, "driving": 2, "eating": 5}
OBJECTS = {
    "clothes": 14,
    "farm_animals": 16,
    "food": 22,
    "furniture": 15,
    "household": 19,
    "vehicles": 9,
}


@pytest.fixture
def dev2020(shared_data):
    return Templates.load(shared_data / "dev2020")


@pytest.fixture
def folder(tmp_path):
    """A folder in the published layout, as small as can be."""
    for name in VERBS:
        save(tmp_path / "verbs" / f"{name}_verbs", f"{name}ed\n")
    for name in OBJECTS:
        save(tmp_path / "nouns" / "objects" / name, f"{name}1\n{name}2\n")
    for name in ("person_hyponyms", "rulers", "occupations", "gendered_words"):
        save(tmp_path / "nouns" / "people" / name, f"{name}\nboth\n")
    return tmp_path


def save(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def lengths(lists):
    return {name: len(words) for name, words in lists.items()}


def test_our_groups_have_the_published_sizes():
    ours = Templates.load()
    assert lengths(ours.verbs) == VERBS
    assert lengths(ours.objects) == OBJECTS
    assert len(ours.people) == 89


def test_our_184_objects_are_distinct():
    ours = Templates.load()
    assert len({*chain(*ours.objects.values()), *ours.people}) == 184
    assert len(set(chain(*ours.verbs.values()))) == 27


def test_our_objects_have_no_gender():
    ours = Templates.load()
    assert not {*chain(*ours.objects.values()), *ours.people} & Attribute.load().specific


def test_premises_follow_the_crossing_rule():
    ours = Templates.load()
    premises = ours.premises()
    assert len(set(premises)) == len(premises) == 1968
    assert premises == tuple(sorted(premises))
    things = set(chain(*ours.objects.values()))
    for group, allowed in {
        "commerce": things,
        "interaction": set(ours.people),
        "driving": set(ours.objects["vehicles"]),
        "eating": set(ours.objects["food"]),
    }.items():
        for verb in ours.verbs[group]:
            assert {thing for other, thing in premises if other == verb} == allowed


def test_our_sizes():
    sizes = Templates.load().sizes()
    dev = sizes.pop("dev")
    assert sizes == {
        "premises": 1968,
        "explicit": 15_744,
        "occupations": 62_976,
        "names": 125_952,
    }
    assert dev == 1968 * 6 * len(Templates.load().occupations)


def test_published_sizes(dev2020):
    assert dev2020.sizes() == {
        "premises": 1968,
        "explicit": 15_744,
        "occupations": 62_976,
        "names": 125_952,
        "dev": 1_936_512,
    }


def test_published_lists(dev2020):
    assert lengths(dev2020.verbs) == VERBS
    assert lengths(dev2020.objects) == OBJECTS
    assert len(dev2020.people) == 89
    assert len(dev2020.occupations) == 164
    assert "can afford" in dev2020.verbs["commerce"]
    assert dev2020.dev_words == ("man", "gentleman", "guy", "woman", "lady", "girl")


def test_what_a_folder_lacks_is_ours(dev2020):
    ours = Templates.load()
    assert dev2020.stereotypes == ours.stereotypes
    assert dev2020.names == ours.names
    assert dev2020.crossing == ours.crossing


def test_occupations():
    ours = Templates.load()
    assert [len(words) for words in ours.stereotypes] == [16, 16]
    assert {"doctor", "engineer", "boss"} <= set(ours.stereotypes.male)
    assert {"nurse", "maid", "homemaker"} <= set(ours.stereotypes.female)
    assert not set(ours.stereotypes.male) & set(ours.stereotypes.female)
    assert {*ours.stereotypes.male, *ours.stereotypes.female} <= set(ours.occupations)
    assert len(ours.occupations) >= 160
    assert all(word.isalpha() and word.islower() for word in ours.occupations)
    assert Attribute.load().specific & set(ours.occupations) == {"maid"}


def test_gender_words():
    ours = Templates.load()
    assert ours.nouns.male == ("man", "guy", "gentleman")
    assert ours.nouns.female == ("woman", "girl", "lady")
    assert (ours.pronouns.male, ours.pronouns.female) == (("He",), ("She",))
    assert ours.dev_words == ("man", "gentleman", "guy", "woman", "lady", "girl")
    assert (ours.names.female, ours.names.male) == test_names()


def test_a_small_folder_is_read(folder):
    small = Templates.load(str(folder))
    assert small.people == ("person_hyponyms", "both", "rulers")
    assert small.verbs["driving"] == ("drivinged",)
    assert small.premises()[0] == ("commerceed", "clothes1")
    assert small.sizes()["premises"] == 12 + 3 + 2 + 2
    assert small.sizes()["dev"] == 19 * 2 * 2


def test_commas_comments_and_repetitions_in_a_folder_are_dropped(folder):
    save(folder / "nouns" / "objects" / "food", "# ours\npie,\n\npie\nplum\n")
    assert Templates.load(folder).objects["food"] == ("pie", "plum")


def test_files_the_layout_does_not_know_are_not_read(folder):
    save(folder / "nouns" / "objects" / "tools", "hammer\n")
    assert "tools" not in Templates.load(folder).objects


def test_a_missing_list_is_named(folder):
    (folder / "verbs" / "driving_verbs").unlink()
    with pytest.raises(WordbiasError, match=r"verbs.driving_verbs: no such file; check"):
        Templates.load(folder)


def test_an_empty_list_is_named(folder):
    save(folder / "nouns" / "people" / "rulers", "# nobody\n\n")
    with pytest.raises(WordbiasError, match=r"rulers: expected at least one word, found none; add"):
        Templates.load(folder)


def test_a_missing_folder_and_a_file_have_different_messages(tmp_path, folder):
    with pytest.raises(WordbiasError, match=r"expected a folder of word lists, found nothing"):
        Templates.load(tmp_path / "none")
    with pytest.raises(WordbiasError, match=r"found a file; it needs verbs/, nouns/objects/"):
        Templates.load(folder / "verbs" / "driving_verbs")
