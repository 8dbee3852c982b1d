"""The text that tools/wikipedia_text.py takes out of a dump: words of articles, nothing else."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wordbias.glove import Corpus

TOOL = Path(__file__).parents[1] / "tools" / "wikipedia_text.py"
DUMP = """<mediawiki>
  <page><title>Left out</title>
    <text xml:space="preserve">#REDIRECT [[Nurse]]</text>
  </page>
  <page><text bytes="0" /></page>
  <page>
    <comment>also left out</comment>
    <text xml:space="preserve">A '''Nurse''' is a [[person|Person]] who works in [[hospital]]s.
{{infobox
|field = medicine}}
&lt;!-- a
comment --&gt; In 1860 she wrote&lt;ref name="x"&gt;.

See http://example.org/a_b?c and [[Image:Nurse.jpg]] &amp; more&amp;nbsp;of&amp;#8211;AT&amp;T
    </text>
  </page>
  <page><text>One line</text></page>
  <page><text>cut off</text"""
TEXT = """a nurse is a person who works in hospital s
in she wrote
see and more of at t
one line
"""


def taken(*arguments: Path) -> Any:
    return subprocess.run(
        [sys.executable, TOOL, *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(TOOL.parents[1])},
        check=False,
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_words_of_articles_without_marks(tmp_path: Path, suffix: str) -> None:
    dump, text = tmp_path / f"dump.xml{suffix}", tmp_path / f"text.txt{suffix}"
    data = DUMP.encode()
    dump.write_bytes(gzip.compress(data) if suffix else data)
    done = taken(dump, text)
    assert done.returncode == 0, done.stderr
    content = text.read_bytes()
    assert (gzip.decompress(content) if suffix else content).decode() == TEXT
    tokens = [token for part in Corpus.open([text]).tokens("reading") for token in part]
    assert len(tokens) == len(TEXT.split()) + 5  # ends of lines, and of the file


def test_a_file_without_articles_is_refused(tmp_path: Path) -> None:
    dump, text = tmp_path / "dump.xml", tmp_path / "text.txt"
    dump.write_text("plain words")
    done = taken(dump, text)
    assert done.returncode == 1
    assert done.stderr == f"{dump}: has no article; expected a dump in XML, with <text> in it\n"
    assert not text.exists()


def test_without_a_dump_nothing_is_written(tmp_path: Path) -> None:
    done = taken(tmp_path / "none.xml", tmp_path / "text.txt")
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path / 'none.xml'}: there is no such file\n"
    assert not any(tmp_path.iterdir())


def test_the_dump_is_not_written_over(tmp_path: Path) -> None:
    dump = tmp_path / "dump.xml"
    dump.write_text(DUMP)
    (tmp_path / "same.xml").symlink_to(dump)
    for text in (dump, tmp_path / "same.xml"):
        done = taken(dump, text)
        assert done.returncode == 1
        assert done.stderr == f"{text}: is both the dump and the text; name two files\n"
        assert dump.read_text() == DUMP


@pytest.mark.parametrize("what", ["cut", "no gzip", "no folder", "folder", "empty"])
def test_files_that_cannot_be_read_or_written_are_named_in_one_line(
    tmp_path: Path, what: str
) -> None:
    dump, text = tmp_path / "dump.xml.gz", tmp_path / "text.txt"
    packed = gzip.compress(DUMP.encode() * 40)
    dump.write_bytes({"cut": packed[:-20], "no gzip": b"an", "empty": b""}.get(what, packed))
    if what == "no folder":
        text = tmp_path / "none" / "text.txt"
    elif what == "folder":
        text.mkdir()
    done = taken(dump, text)
    assert done.returncode == 1
    (line,) = [part for part in done.stderr.splitlines() if "reading articles" not in part]
    named = text if "folder" in what else dump
    assert line.startswith(f"{named}: ")
    assert not text.is_file()


def test_compressed_data_is_known_without_its_suffix(tmp_path: Path) -> None:
    dump, text = tmp_path / "dump", tmp_path / "text.txt"
    dump.write_bytes(gzip.compress(DUMP.encode()))
    assert taken(dump, text).returncode == 0
    assert text.read_text() == TEXT
