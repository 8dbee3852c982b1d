"""Take the text out of a Wikipedia dump, a paragraph on each line, in the letters a to z.

python tools/wikipedia_text.py enwik8.gz enwik8.txt

The dump is the XML of MediaWiki (pages-articles), also compressed (.gz, .bz2, .xz), of any size.
Redirects, templates, links with a colon (pictures, categories, other languages), addresses and HTML
are left out; of another link its text is kept. What is nested is not followed: of a template in a
template the end is kept, and of a picture whose caption has a link words such as "thumb".
Everything except letters separates words, as in Matt Mahoney's text8; unlike there, digits are not
spelled out, and lines are kept.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.files import compressing, refuse_same, replacing
from wordbias.formats.source import Source

_OPENED = re.compile(r"<text[^>]*(?<!/)>")
_MARKS = re.compile(
    r"&lt;.*?&gt;"  # HTML, also comments
    r"|&amp;(?:#?\w+;)?|&quot;"  # entities, also those of the article: &amp;nbsp;
    r"|\[\[[^\[\]|]*:[^\[\]]*\]\]"  # pictures, categories, other languages
    r"|https?://\S+"
    r"|\{\{.*?\}\}",  # templates
    re.DOTALL,
)
_TARGETS = re.compile(r"\[\[[^\[\]|]*\|")
_OTHERS = re.compile(r"[^a-z\n]+")
_BREAKS = re.compile(r" *\n[ \n]*")


def main() -> None:
    """Read the dump and write the text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dump", help="XML of MediaWiki, perhaps .gz, .bz2 or .xz")
    parser.add_argument("text", help="the file to write, perhaps .gz, .bz2 or .xz")
    given = parser.parse_args()
    try:
        write(given.dump, given.text)
    except WordbiasError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("interrupted; no output was changed", file=sys.stderr)
        sys.exit(130)


def write(dump: str, text: str) -> None:
    """Write the text of a dump to a file.

    Raises
    ------
    WordbiasError
        If the dump cannot be read or has no article, or the file cannot be written.
    """
    if not Path(dump).is_file():
        raise WordbiasError(f"{dump}: there is no such file")
    refuse_same({"the text": text}, {"the dump": dump})
    lines = Source.find(dump).text_lines("reading articles")
    with replacing(text) as raw, compressing(raw, text) as out:
        written = 0
        sources = articles(line.decode(errors="replace") for line in lines)
        for article in filter(None, map(plain, sources)):
            written += out.write(f"{article}\n".encode())
        if not written:
            raise WordbiasError(
                f"{dump}: has no article; expected a dump in XML, with <text> in it"
            )


def articles(lines: Iterable[str]) -> Iterator[str]:
    """Yield the source of each article, without redirects."""
    parts: list[str] | None = None
    for line in lines:
        if parts is None:
            opened = _OPENED.search(line)
            if opened is None:
                continue
            parts, line = [], line[opened.end() :]
        text, closed, _ = line.partition("</text>")
        parts.append(text)
        if closed:
            source = "".join(parts)
            if source[:9].upper() != "#REDIRECT":
                yield source
            parts = None


def plain(source: str) -> str:
    """Return the text of an article, without marks, in the letters a to z."""
    text = _TARGETS.sub(" ", _MARKS.sub(" ", source))
    return _BREAKS.sub("\n", _OTHERS.sub(" ", text.lower())).strip()


if __name__ == "__main__":
    main()
