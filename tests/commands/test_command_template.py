"""`--template` of `encode`, `probe` and `ceat`: one option, the same vectors, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_decoders import save_decoder  # noqa: E402

import wordbias as wb  # noqa: E402
from wordbias.models.representations import load_representations  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
Cli = Callable[..., Any]
AROUND = "A text about a person: {}\nThe profession is"
TYPED = r"A text about a person: {}\nThe profession is"
PEOPLE = ("nurse", "surgeon", "teacher", "pilot", "clerk", "judge")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a decoder, texts with labels, and sentences of four words."""
    root = tmp_path_factory.mktemp("templates")
    save_decoder(root / "decoder")
    lines = ["text\tgender\tword"]
    for i, person in enumerate(PEOPLE * 3):
        pronoun, gender = (("She", "F"), ("He", "M"))[i % 2]
        lines.append(f"{pronoun} is a {person} number {i}.\t{gender}\t{person}")
    (root / "texts.tsv").write_text("\n".join(lines) + "\n")
    rows = [line.split("\t") for line in lines[1:]]
    written = [{"text": AROUND.replace("{}", a), "gender": b, "word": c} for a, b, c in rows]
    (root / "written.jsonl").write_text("\n".join(map(json.dumps, written)) + "\n")
    sentences = [f"{a} and {b} spoke." for a in ("He", "She", "Him", "Her") for b in PEOPLE]
    (root / "sentences.txt").write_text("\n".join(sentences) + "\n")
    (root / "query.toml").write_text(
        "[sets]\na = ['nurse', 'teacher']\nb = ['pilot', 'judge']\n"
        "f = ['she', 'her']\nm = ['he', 'him']\n"
        "[queries.jobs]\ntargets = ['a', 'b']\nattributes = ['f', 'm']\n"
    )
    return root


def test_encode_puts_each_text_into_it(folder: Path, cli: Cli, tmp_path: Path) -> None:
    """The last token is that of the texts written out; the file and the report say how."""
    out = tmp_path / "asked.safetensors"
    done = cli("encode", folder / "decoder", folder / "texts.tsv", "--template", TYPED, "-o", out)
    assert done.code == 0, done.err
    assert "Each text in the template" in done.out
    encoded = load_representations(out)
    assert encoded.about["template"] == AROUND
    written = wb.encode(folder / "decoder", folder / "written.jsonl")
    np.testing.assert_array_equal(encoded.vectors, written.vectors)
    python = wb.encode(folder / "decoder", folder / "texts.tsv", template=AROUND)
    np.testing.assert_array_equal(encoded.vectors, python.vectors)
    plain = wb.encode(folder / "decoder", folder / "texts.tsv")
    assert "template" not in plain.about
    assert not np.array_equal(plain[-1], encoded[-1])


def test_words_are_found_in_the_text_and_not_in_the_template(folder: Path) -> None:
    def words(template: str | None, subword: str | None = None) -> wb.Representations:
        return wb.encode(
            folder / "decoder",
            folder / "texts.tsv",
            word_column="word",
            template=template,
            subword=subword,
        )

    encoded = words("The nurse said: {}")
    np.testing.assert_array_equal(encoded.vectors, words("The nurse said: {}", "last").vectors)
    assert not np.array_equal(encoded[-1], words(None)[-1])
    np.testing.assert_array_equal(words("{} said the nurse")[-1], words("{} said the pilot")[-1])


def test_a_file_of_another_template_is_not_resumed(folder: Path, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    given = ("encode", folder / "decoder", folder / "texts.tsv", "-o", out, "-q")
    assert cli(*given, "--template", "He: {}").code == 0
    before = out.read_bytes()
    for other in (["--template", "She: {}"], []):
        done = cli(*given, *other)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "is of another run: its template is 'He: {}'" in done.err
        assert out.read_bytes() == before
    assert cli(*given, "--template", "He: {}").code == 0


def test_probe_and_ceat_take_it_too(folder: Path, cli: Cli) -> None:
    """Their values are those of the vectors that encode writes with it."""
    probing = ("--seed", 0, "--accuracy", "--no-control", "--format", "json")
    given = ("--labels", "gender", "--layers", "last", *probing)
    model, texts = folder / "decoder", folder / "texts.tsv"
    done = cli("probe", model, "--texts", texts, "--template", TYPED, *given)
    assert done.code == 0, done.err
    (info,) = json.loads(done.out)["inputs"].values()
    assert info["about"]["template"] == AROUND
    vectors = wb.encode(model, texts, template=AROUND)
    direct = wb.probe(vectors, "gender", layers="last", mdl=False, seed=0, control=False)
    assert [row["value"] for row in json.loads(done.out)["rows"]] == [row.value for row in direct]
    done = cli(
        "ceat", model, "--sentences", folder / "sentences.txt", "--query",
        folder / "query.toml", "--draws", 20, "--template", "They said: {}", "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["inputs"]["model"]["template"] == "They said: {}"
    assert report["inputs"]["model"]["subword"] == "last"
    assert "in 24 of 40 contexts that is only the template" in done.err
    given = ("--sentences", folder / "sentences.txt", "--query", folder / "query.toml")
    done = cli("ceat", folder / "decoder", *given, "--draws", 20)
    assert done.code == 0, done.err
    warning = " ".join(done.err.split())
    assert "depends on what stands before the word alone; in 24 of 40 contexts" in warning
    assert "--template 'Someone said: {}'" in warning


def test_a_mean_that_counts_the_first_token_is_noted(folder: Path, cli: Cli) -> None:
    """Without BOS that is a word of the text; the template that the note names leaves it out."""

    def noted(*more: str) -> str:
        given = ("--texts", folder / "texts.tsv", "--labels", "gender", "--accuracy", "--seed", 0)
        done = cli("probe", folder / "decoder", *given, "--layers", "last", *more)
        assert done.code == 0, done.err
        return " ".join(str(done.err).split())

    note = noted("--pooling", "mean")
    assert "the mean counts the first token of its input" in note
    assert "--template '<s>{}'" in note
    for other in (("--pooling", "last"), ("--pooling", "mean", "--template", "<s>{}")):
        assert "the first token" not in noted(*other)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("A person", "has no {}; expected one"),
        ("", "--template: is empty"),
        ("{} and {}", "has 2 {}; expected one"),
        ("chat", "its tokenizer has no chat template"),
    ],
)
def test_bad_templates_are_one_line(
    folder: Path, cli: Cli, tmp_path: Path, template: str, problem: str
) -> None:
    model, out = folder / "decoder", tmp_path / "out.safetensors"
    sentences, query = folder / "sentences.txt", folder / "query.toml"
    for call in (
        ("encode", model, folder / "texts.tsv", "-o", out),
        ("probe", model, "--texts", folder / "texts.tsv", "--labels", "gender"),
        ("ceat", model, "--sentences", sentences, "--query", query),
    ):
        done = cli(*call, "--template", template)
        assert (done.code, done.err.count("\n")) == (1, 1), done.err
        assert problem in done.err
    assert not out.exists()


def test_options_that_would_do_nothing_are_refused(folder: Path, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    done = cli("encode", folder / "decoder", folder / "texts.tsv", "-o", out, "--subword", "last")
    assert done.code == 2
    assert "--subword is for words" in done.err
    done = cli("probe", folder / "texts.tsv", "--labels", "gender", "--template", "A {}")
    assert done.code == 2
    assert "--template is for a model with --texts" in done.err
    vectors = tmp_path / "words.safetensors"
    words = wb.encode(folder / "decoder", folder / "texts.tsv", word_column="word")
    words.save(vectors)
    done = cli("ceat", vectors, "--template", "A {}")
    assert done.code == 1
    assert "--template is only for a model" in done.err
