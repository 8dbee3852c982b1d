"""No command writes over what it reads, and no page goes by the wrong name."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias import Embedding
from wordbias.data import nli_sample_path, sample_path
from wordbias.formats.files import refuse_same
from wordbias.methods.words import listed_words
from wordbias.wordlists import Attribute

Run = Callable[..., Any]
Refused = Callable[..., str]
PAIRS = "label\tpremise\thypothesis\nneutral\ta nurse\ta doctor\n"
ATTRIBUTE = '[groups]\na = ["woman", "girl", "she"]\nb = ["man", "boy", "he"]\n'
TEXTS = {
    "list.toml": ATTRIBUTE,
    "words.txt": "nurse\ndoctor\nteacher\n",
    "questions.txt": "she:he\tdog:cat\tcup:lid\tsun:moon\n",
    "similar.txt": "dog cat 7\ncup lid 3\nsun moon 5\n",
    "pairs.tsv": PAIRS,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Fill a folder with one file of each kind that commands read."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copy(nli_sample_path(), tmp_path / "model.safetensors")
    shutil.copy(sample_path(), tmp_path / "vectors.safetensors")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "option", "file"),
    [
        ("misp", "--groups", "list.toml"),
        ("misp", "--groups", "list.toml:a,b"),
        ("misp", "--vocab", "words.txt"),
        ("debias hard", "--groups", "list.toml:a,b"),
        ("audit", "--groups", "list.toml"),
        ("audit", "--vocab", "words.txt"),
        ("audit", "--sembias", "questions.txt"),
        ("audit", "--benchmarks", "similar.txt"),
        ("audit", "--nli-model", "model.safetensors"),
    ],
)
def test_a_list_or_a_model_is_not_replaced_by_the_output(
    refused: Refused, folder: Path, command: str, option: str, file: str
) -> None:
    target = folder / file.partition(":")[0]
    before = target.read_bytes()
    form = ("--format", "html") if command == "audit" else ()
    vectors = folder / "vectors.safetensors"
    error = refused(*command.split(), vectors, option, folder / file, "-o", target, *form)
    assert error.endswith("; name two files")
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        "project none --sent-debias pairs.tsv --groups LIST -o LIST",
        "sweep none --stereoset no --nli no --snli no --sent-debias no --groups LIST -o LIST",
        "mab-eval none --set parity --groups LIST -o LIST",
        "compare --measure vectors.safetensors --groups LIST --plot LIST",
        "rewrite scrub words.txt --groups LIST -o LIST",
        "rewrite scrub:words=LIST words.txt -o LIST",
    ],
)
def test_a_list_is_not_replaced_by_what_is_not_the_vectors(
    refused: Refused, folder: Path, arguments: str
) -> None:
    target = folder / "list.png"
    target.write_text(ATTRIBUTE, encoding="utf-8")
    named = {name: str(folder / name) for name in TEXTS}
    words = arguments.replace("LIST", str(target)).split()
    error = refused(*(named.get(word, word) for word in words))
    option = "scrub:words" if "scrub:words" in arguments else "--groups"
    assert f"{target}: is both {option} and " in error
    assert error.endswith("; name two files")
    assert target.read_text(encoding="utf-8") == ATTRIBUTE


@pytest.mark.parametrize("command", ["misp", "debias hard", "audit"])
@pytest.mark.parametrize("target", ["other.toml", "specific.toml"])
def test_a_list_that_another_names_is_not_replaced_by_the_output(
    refused: Refused, folder: Path, command: str, target: str
) -> None:
    (folder / "other.toml").write_text('women = ["woman", "girl"]\n', encoding="utf-8")
    (folder / "specific.toml").write_text('some = ["beard"]\n', encoding="utf-8")
    attribute = folder / "attribute.toml"
    attribute.write_text(
        'specific = "specific.toml#*"\n[groups]\na = "other.toml#women"\nb = ["man", "boy"]\n'
        '[pairs]\ndefinitional = [["woman", "man"], ["girl", "boy"]]\n',
        encoding="utf-8",
    )
    before = (folder / target).read_bytes()
    form = ("--format", "html") if command == "audit" else ()
    vectors = folder / "vectors.safetensors"
    more = ("--groups", attribute, "-o", folder / target)
    assert refused(*command.split(), vectors, *more, *form).endswith("; name two files")
    assert (folder / target).read_bytes() == before


@pytest.mark.parametrize("file", ["pairs.tsv", "vectors.safetensors"])
def test_a_model_is_not_written_over_what_it_learns_from(
    refused: Refused, folder: Path, file: str
) -> None:
    before = (folder / file).read_bytes()
    pairs = folder / "pairs.tsv"
    vectors = folder / "vectors.safetensors"
    data = ("--train", pairs, "--dev", pairs, "-o", folder / file)
    assert refused("nli-train", vectors, *data).endswith("and -o; name two files")
    assert (folder / file).read_bytes() == before


@pytest.mark.slow
def test_an_archive_is_not_replaced_by_one_of_its_files(
    cli: Run, refused: Refused, tmp_path: Path
) -> None:
    sample = Embedding.sample()
    words = [*sample.words[:300], *sorted(listed_words(Attribute.load()))]
    sample.subset(words).save(tmp_path / "v.txt")
    packed, alone = tmp_path / "both.zip", tmp_path / "alone.zip"
    for path, names in ((packed, ("v.txt", "other.txt")), (alone, ("v.txt",))):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.write(tmp_path / "v.txt", name)
    before = packed.read_bytes()
    for command in (("misp",), ("debias", "hard")):
        error = refused(*command, f"{packed}::v.txt", "-o", packed)
        assert "is the archive that v.txt is read from, and its other files (1)" in error
    assert "other files" in refused("convert", f"{packed}::v.txt", packed)
    error = refused("audit", f"{packed}::v.txt", "-o", packed, "--format", "md")
    assert error.endswith("name two files")
    assert packed.read_bytes() == before
    assert cli("convert", alone, alone).code == 0


def test_what_is_read_is_known_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.touch()
    for read in (f"{file}", f"{file}::member", f"{file}:x,y"):
        with pytest.raises(Exception, match="is both the list and -o"):
            refuse_same({"-o": str(file)}, {"the list": read})
    refuse_same({"-o": f"{file}:x"}, {"the list": str(file)})
    (tmp_path / "deep").write_text('[[[["a#b"')  # no TOML, and no trouble
    (tmp_path / "pipes").write_text('a = "a#b"\n[x]\ny = "deep#*"\n')
    os.mkfifo(tmp_path / "pipe")
    for named, target in (("pipes", "a"), ("pipes", "deep"), ("pipes:x,y", "deep")):
        with pytest.raises(Exception, match="is both the list and -o"):
            refuse_same({"-o": str(tmp_path / target)}, {"the list": str(tmp_path / named)})
    for harmless in ("deep", "pipe", "none", "."):
        refuse_same({"-o": str(file)}, {"the list": str(tmp_path / harmless)})
    with pytest.raises(Exception, match="is both -o and --plot"):
        refuse_same({"-o": "x", "--plot": "./x"}, {})
    refuse_same({"-o": str(file)}, {"the list": f"{file}b::member", "none": None, "empty": ""})


@pytest.mark.slow
def test_a_page_is_written_as_its_file_is_named(cli: Run, refused: Refused, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("subject,measure,value\na,midb,0.1\n", encoding="utf-8")
    for name, start in (("a.md", "# Bias report"), ("a.htm", "<!DOCTYPE"), ("a", "<!DOCTYPE")):
        assert cli("report", rows, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert cli("report", rows, "-o", tmp_path / "b.txt", "--format", "html").code == 0
    assert (tmp_path / "b.txt").read_text(encoding="utf-8").startswith("<!DOCTYPE")
    wrong = (("report", rows), "c.md", "html"), (("audit",), "c.html", "json")
    for command, name, to in (*wrong, (("audit",), "c.json", "md"), (("audit",), "c.pdf", "html")):
        done = cli(*command, "-o", name, "--format", to)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert f"-o {name}: is not {to}, which --format names; end it in .{to}" in done.err
    assert "a page cannot be written as .pdf; name it .html or .md" in refused(
        "report", rows, "-o", tmp_path / "a.pdf"
    )
    assert not (tmp_path / "a.pdf").exists()
    skip = "midb,clustering,recoverability,sembias,gipe,weat,map,neighbours,quality,mab"
    done = cli("audit", "--methods", "none", "--skip", skip, "-o", tmp_path / "c.json")
    assert done.code == 0
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["command"] == "audit"


def test_an_attribute_without_a_name_is_not_taken_for_gender() -> None:
    with pytest.raises(Exception, match="the attribute has no name; built in are gender,"):
        Attribute.load("")
