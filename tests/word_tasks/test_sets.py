"""Test sets: the published forms, their names, and what is wrong with a bad line."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.word_tasks import AnalogySet, SimilaritySet, find_sets, read_set
from wordbias.word_tasks.sets import set_name

PAIRS = (("sun", "light"), ("car", "pizza"))
SIMLEX = (
    "word1\tword2\tPOS\tSimLex999\tconc(w1)\nold\tnew\tA\t1.58\t2.72\nhard\teasy\tA\t0.95\t3.76\n"
)


def _write(folder: Path, text: str | bytes, name: str = "own.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "sun\tlight\t50.0\ncar\tpizza\t1\n",
        "sun light 50.0\ncar pizza 1",
        "sun  light   50.0\ncar pizza 1\n",
        "sun,light,50\ncar,pizza,1.0\n",
        "sun, light, 50\ncar, pizza, 1.0\n",
        '"sun","light","50"\n"car","pizza","1"\n',
        "Word 1,Word 2,Human (mean)\nsun,light,50\ncar,pizza,1\n",
        "word1\tword2\tscore\nsun\tlight\t50\ncar\tpizza\t1\n",
        "# a comment\n\nsun\tlight\t5e1\n\ncar\tpizza\t1\n",
        "sun\tlight\t50\r\ncar\tpizza\t1\r\n",
        "\ufeffsun light 50\ncar pizza 1\n",
        "sun-n light-n 50\ncar-n pizza-n 1\n",
        "sun-n\tlight-v\t50\ncar-j\tpizza-n\t1\n",
    ],
)
def test_two_words_and_a_score(tmp_path: Path, text: str) -> None:
    assert read_set(_write(tmp_path, text)) == SimilaritySet("own", PAIRS, (50.0, 1.0))


def test_an_ending_that_not_every_word_has_is_part_of_the_word(tmp_path: Path) -> None:
    similarity_set = read_set(_write(tmp_path, "x-y light 1\nt-v set-n 2\n"))
    assert isinstance(similarity_set, SimilaritySet)
    assert similarity_set.pairs == (("x-y", "light"), ("t-v", "set-n"))


def test_simlex_by_its_header(tmp_path: Path) -> None:
    similarity_set = read_set(_write(tmp_path, SIMLEX, "SimLex-999.txt"))
    pairs = (("old", "new"), ("hard", "easy"))
    assert similarity_set == SimilaritySet("simlex-999", pairs, (1.58, 0.95))


def test_characters_that_are_words_do_not_end_a_line(tmp_path: Path) -> None:
    similarity_set = read_set(_write(tmp_path, "\x85\tlight\t1\n\xa0\tpizza\t2\n"))
    assert isinstance(similarity_set, SimilaritySet)
    assert similarity_set.pairs == (("\x85", "light"), ("\xa0", "pizza"))


def test_analogies_with_sections(tmp_path: Path) -> None:
    text = ": capitals\nRome Italy Oslo Norway\n\n: gram1-plural\ncat  cats dog\tdogs\n"
    analogy_set = read_set(_write(tmp_path, text))
    assert isinstance(analogy_set, AnalogySet)
    assert analogy_set.questions == (
        ("Rome", "Italy", "Oslo", "Norway"),
        ("cat", "cats", "dog", "dogs"),
    )
    assert analogy_set.sections == ("capitals", "gram1-plural")
    assert analogy_set.parts == {"own-semantic": [0], "own-syntactic": [1], "own-total": [0, 1]}


@pytest.mark.parametrize("heading", ["", ": all\n", ": gram1\n"])
def test_analogies_of_one_kind_are_one_part(tmp_path: Path, heading: str) -> None:
    analogy_set = read_set(_write(tmp_path, f"{heading}cat cats dog dogs\n"))
    assert isinstance(analogy_set, AnalogySet)
    assert analogy_set.parts == {"own": [0]}


def test_analogies_with_a_category_in_the_fourth_column(tmp_path: Path) -> None:
    analogy_set = read_set(_write(tmp_path, "good better rough JJ_JJR rougher\n"))
    assert isinstance(analogy_set, AnalogySet)
    assert analogy_set.questions == (("good", "better", "rough", "rougher"),)


def test_standardised_as_in_the_published_code() -> None:
    analogy_set = AnalogySet("own", (("City's", "x_y", "Port-au-Prince", "U.S."),), ("",))
    assert analogy_set.standardised().questions == (("citys", "x_y", "port-au-prince", "us"),)
    assert analogy_set.standardised().sections == analogy_set.sections


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sun\tlight\t5\ncar\tpizza\n", "line 2: expected two words and a score, found 'car"),
        ("sun\tlight\t5\n\ncar\tpizza\tx\n", "line 3: expected two words and a score"),
        ("sun light 5\ncar pizza 1 2\n", "line 2: expected two words and a score"),
        ("sun,light,5\ncar,,1\n", "line 2: expected two words and a score"),
        ("sun light nan\n", "line 1: expected two words and a score"),
        ("sun light inf\n", "line 1: expected two words and a score"),
        ("sun light five\n", "line 1: expected two words and a score"),
        ("one word a line\nand more\n", "line 2: expected four words"),
        (SIMLEX + "a\tb\n", "line 4: expected two words and a score"),
        (SIMLEX + "a\tb\tN\t\t1\n", "line 4: expected two words and a score"),
        (": a\ncat cats dog\n", "line 2: expected four words, or a colon"),
        (": a\n", "found only names of sections"),
        ("word1,word2,score\n", "found only headings"),
        ("", "found no lines"),
        ("# nothing\n\n", "found no lines"),
        (b"caf\xe9 coffee 3\n", "cannot be read as a test set"),
    ],
)
def test_a_line_in_neither_form_is_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(WordbiasError) as error:
        read_set(path)
    assert str(path) in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("EN-RG-65.txt", "rg-65"),
        ("rg65.csv", "rg-65"),
        ("EN-MTurk-287.txt", "mturk-287"),
        ("EN-MTURK-771.txt", "EN-MTURK-771"),
        ("EN-MEN-TR-3k.txt", "men"),
        ("MEN_dataset_natural_form_full", "men"),
        ("EN-SIMLEX-999.txt", "simlex-999"),
        ("questions-words.txt", "google"),
        ("MSR-syntax.txt", "msr"),
        ("combined.csv", "combined"),
        ("EN-WS-353-ALL.txt", "EN-WS-353-ALL"),
        ("women.txt", "women"),
        ("mention.tsv", "mention"),
        ("my.words.tsv", "my.words"),
    ],
)
def test_sets_are_known_by_their_file(file: str, name: str) -> None:
    assert set_name(Path(file)) == name


def test_the_published_files(shared_data: Path) -> None:
    by_name = {x.name: x for x in find_sets(shared_data / "wordsim", shared_data / "analogy")}
    sizes = {
        name: len(x.pairs if isinstance(x, SimilaritySet) else x.questions)
        for name, x in by_name.items()
    }
    assert sizes == {
        "google": 19544,
        "men": 3000,
        "msr": 8000,
        "mturk-287": 287,
        "rg-65": 65,
        "simlex-999": 999,
    }
    google, msr = by_name["google"], by_name["msr"]
    assert isinstance(google, AnalogySet)
    assert {name: len(part) for name, part in google.parts.items()} == {
        "google-semantic": 8869,
        "google-syntactic": 10675,
        "google-total": 19544,
    }
    assert isinstance(msr, AnalogySet)
    assert list(msr.parts) == ["msr"]


def test_a_folder_gives_its_sets_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a.tsv", "RG.txt", "MEN_dataset_natural_form_full"):
        _write(tmp_path, "sun,light,1\n", name)
    for name in (".hidden.txt", "notes.md", "Makefile"):
        _write(tmp_path, "no set", name)
    (tmp_path / "folder.txt").mkdir()
    assert [word_set.name for word_set in find_sets(tmp_path)] == ["a", "b", "men", "rg-65"]
    assert [word_set.name for word_set in find_sets(tmp_path, only=["men", "a"])] == ["a", "men"]


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    _write(tmp_path, "sun,light,1\n", "a.csv")
    _write(tmp_path, "Words of thanks\n", "README.txt")
    assert [word_set.name for word_set in find_sets(tmp_path, only=["a"])] == ["a"]
    with pytest.raises(WordbiasError, match=r"README\.txt: line 1: expected two words"):
        find_sets(tmp_path)


def test_a_single_file_is_a_set_whatever_its_suffix(tmp_path: Path) -> None:
    assert [x.name for x in find_sets(_write(tmp_path, "a b 1\n", "mine.dat"))] == ["mine.dat"]


def test_what_cannot_be_found_is_said(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="no test sets found"):
        find_sets(tmp_path)
    with pytest.raises(WordbiasError, match="no such file or folder"):
        find_sets(tmp_path / "nowhere")
    _write(tmp_path, "a b 1\n", "x.txt")
    with pytest.raises(WordbiasError, match="no set 'men'; there are x"):
        find_sets(tmp_path, only=["men"])
    _write(tmp_path, "a b 1\n", "x.csv")
    with pytest.raises(WordbiasError, match=r"goes by the name 'x' as well"):
        find_sets(tmp_path)
