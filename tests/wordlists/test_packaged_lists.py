import hashlib
import json
import subprocess
import sys
import tomllib
from importlib.resources import files
from itertools import chain

import pytest

from wordbias.wordlists import Attribute, Templates, common_names, test_names

PACKAGED = (
    "age.toml",
    "eec.toml",
    "ethnicity.toml",
    "gender-de.toml",
    "gender-es.toml",
    "gender-fr.toml",
    "gender-it.toml",
    "gender.toml",
    "gender_specific.toml",
    "model_sentences.toml",
    "names.toml",
    "occupations.toml",
    "pronouns.toml",
    "religion.toml",
    "seat.toml",
    "sentence_pairs.toml",
    "swaps.toml",
    "templates.toml",
    "weat.toml",
)


def read(name):
    return (files("wordbias.wordlists") / name).read_text("utf-8")


def gender_specific():
    return tomllib.loads(read("gender_specific.toml"))


@pytest.mark.parametrize("name", PACKAGED)
def test_a_list_says_what_it_is_where_from_and_its_licence(name):
    lines = read(name).splitlines()
    head = "\n".join(lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))])
    assert "# Source " in head
    assert "# Licence " in head
    assert max(map(len, lines)) <= 100


def test_nothing_else_is_packaged():
    names = {file.name for file in files("wordbias.wordlists").iterdir()}
    assert {name for name in names if not name.endswith(".py")} - {"__pycache__"} == {*PACKAGED}


def test_importing_reads_no_list():
    code = (
        "import sys\n"
        "opened = []\n"
        "def hook(event, args):\n"
        "    if event == 'open': opened.append(str(args[0]))\n"
        "sys.addaudithook(hook)\n"
        "import wordbias.wordlists\n"
        "assert not [name for name in opened if name.endswith('.toml')], opened\n"
        "assert 'numpy' not in sys.modules\n"
        "wordbias.wordlists.names()\n"
        "assert [name for name in opened if name.endswith('names.toml')]\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_gender_specific_words_are_many_lower_case_and_listed_once():
    words = list(chain(*gender_specific().values()))
    assert len(set(words)) == len(words) >= 500
    assert all(word == word.lower() and not word.isspace() for word in words)
    assert Attribute.load().specific >= set(words)


def test_gender_specific_words_hold_all_pairs_and_no_name():
    gender, words = Attribute.load(), set(chain(*gender_specific().values()))
    assert set(chain(*gender.pairs, *gender.equalise)) <= words
    assert not {name.lower() for name in chain(*common_names(), *test_names())} & words


@pytest.mark.parametrize(
    "word",
    [
        "actress",
        "waitress",
        "mare",
        "stallion",
        "aunt",
        "herself",
        "mrs",
        "ovary",
        "testosterone",
        "abbess",
    ],
)
def test_plainly_gendered_words_are_there(word):
    assert word in Attribute.load().specific


@pytest.mark.parametrize(
    "word", ["nurse", "doctor", "engineer", "homemaker", "midwife", "dress", "rugby", "does"]
)
def test_stereotypes_are_not_gender_specific(word):
    assert word not in Attribute.load().specific


def test_gender_specific_words_cover_the_public_lists(shared_data):
    ours = Attribute.load().specific
    public = json.loads(
        (shared_data / "bolukbasi" / "gender_specific_seed.json").read_text("utf-8")
    )
    seed = {word.lower() for word in public if "_" not in word}
    assert len(seed & ours) / len(seed) > 0.8
    gn_glove = {
        word.strip()
        for side in ("female", "male")
        for word in (shared_data / "gn_glove" / f"{side}_word_file.txt")
        .read_text("utf-8")
        .split("\n")
    }
    assert len(gn_glove & ours) / len(gn_glove) > 0.8


@pytest.mark.slow
def test_no_published_file_was_copied(shared_data):
    ours = {hashlib.sha256(read(name).encode()).digest() for name in PACKAGED}
    theirs = {
        hashlib.sha256(file.read_bytes()).digest()
        for file in shared_data.rglob("*")
        if file.is_file()
    }
    assert not ours & theirs


def test_template_words_are_not_the_published_ones(shared_data):
    ours, theirs = Templates.load(), Templates.load(shared_data / "dev2020")
    for group, words in {**ours.objects, **ours.verbs}.items():
        published = {**theirs.objects, **theirs.verbs}[group]
        assert len(set(words) & set(published)) <= len(words) / 4
    assert len(set(ours.people) & set(theirs.people)) <= 10
