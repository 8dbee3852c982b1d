import pytest

from wordbias.errors import WordbiasError
from wordbias.wordlists import wordlist


def test_one_word_a_line(write):
    text = "\ufeff# occupations\nnurse\n\n  doctor  \r\nemma,\nmaid ,\nnurse\n,\n"
    path = write(text, "words.txt")
    assert wordlist(str(path)) == ("nurse", "doctor", "emma", "maid")


def test_odd_tokens_of_real_vocabularies_are_kept(write):
    assert wordlist(write("\x85\n\xa0\nc#\nspoke to\n\u2028x\n", "words.txt")) == (
        "\x85",
        "\xa0",
        "c#",
        "spoke to",
        "\u2028x",
    )


def test_toml(write):
    assert wordlist(write('words = ["b", "a", "b"]', "words.TOML")) == ("b", "a")


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("# nothing\n\n", "w.txt", r"w\.txt: expected at least one word, found none; add"),
        ("words = []", "w.toml", r"w\.toml: expected at least one word, found none; add"),
        (b"caf\xe9\n", "w.txt", r"w\.txt: not UTF-8 \(at byte 3\); save the file as UTF-8"),
        ("nurse\n", "w.toml", r"w\.toml: not valid TOML: .*line 1"),
        ("a = 1", "w.toml", r"words: expected a list of words, found nothing; write it as"),
        ("words = [1]", "w.toml", r"words: expected a list of words, found a number; put every"),
        ('words = [""]', "w.toml", r"words: expected words, found an empty word; remove it"),
    ],
)
def test_a_mistake_is_named_in_one_line(write, text, name, message):
    with pytest.raises(WordbiasError, match=message) as caught:
        wordlist(write(text, name))
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_have_different_messages(tmp_path):
    with pytest.raises(WordbiasError, match=r"none\.txt: no such file; check the path"):
        wordlist(tmp_path / "none.txt")
    with pytest.raises(WordbiasError, match="expected a file, found a folder"):
        wordlist(tmp_path)
