"""`wordbias audit`: the options of `wordbias.audit`."""

from __future__ import annotations

import click

from wordbias.commands.report import page_format, show_page_and_notes, unless_printed
from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import NAMES
from wordbias.functions.audit import FORMATS, audit

_OUTPUT = "wordbias-audit.html"


def _unless_none(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return what was given, or None: no text is another thing than the default."""
    return value or None


command: click.Command = shell(
    audit,
    argument("embeddings", many=True, metavar="[EMBEDDING]..."),
    option(
        "output",
        "-o",
        "--output",
        default=unless_printed(_OUTPUT),
        help=f"File to write.  [default: {_OUTPUT}; md and json: stdout]",
    ),
    option("methods", multiple=True, metavar="TEXT", callback=_unless_none),
    option("after", multiple=True, metavar="FILE", callback=_unless_none),
    option("skip", type=NAMES),
    option("export", metavar="DIR"),
    option("write_texts", metavar="FILE"),
    option("read_vectors", metavar="FILE"),
    option("stereoset", multiple=True, metavar="PATH", callback=_unless_none),
    option("nli_model", metavar="FILE"),
    examples="""
        wordbias audit
        wordbias audit glove.txt -o glove.html --benchmarks test_sets/
        wordbias audit glove.txt --methods "misp:dims=2 hard,misp inlp:rounds=10"
        wordbias audit glove.txt --methods none --after cleaned.txt
        wordbias audit glove.txt word2vec.bin --skip gipe,mab
        wordbias audit glove.txt --format json -o glove.json
        wordbias audit all-MiniLM-L6-v2/ -o minilm.html
        wordbias audit text-embedding-3-small --endpoint https://api.openai.com/v1
        wordbias audit --write-texts texts.jsonl
        wordbias audit --read-vectors vectors.parquet -o mine.html
        wordbias audit all-MiniLM-L6-v2/ --groups ethnicity -o ethnicity.html
        wordbias audit smollm2/ --stereoset stereoset.json -o smollm2.html
    """,
    shown=show_page_and_notes,
    extra=[
        page_format(
            FORMATS,
            "Format: a page, the same without pictures, rows, or junit, the conditions of "
            "--fail-if.  [default: by -o's suffix; html]",
        )
    ],
)
