"""`wordbias convert`: any format in, any format out."""

from __future__ import annotations

import click

from wordbias.commands.options import common_options, reading_options
from wordbias.formats import WRITABLE, Kind
from wordbias.functions.inputs import Reading, open_subject
from wordbias.methods.transform import Identity
from wordbias.rendering import how_many


@click.command()
@click.argument("source")
@click.argument("target")
@click.option(
    "--to",
    "kind",
    type=click.Choice(WRITABLE),
    help="Format to write.  [default: what TARGET's suffix says]",
)
@reading_options
@common_options
def command(
    source: str,
    target: str,
    kind: Kind | None,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    quiet: bool,
) -> None:
    """Convert the vectors in SOURCE to TARGET.

    SOURCE is GloVe or word2vec text, word2vec binary, fastText .bin, gensim .kv or safetensors,
    recognised by its content, perhaps inside .gz, .bz2, .xz or .zip (ARCHIVE.zip::MEMBER).
    TARGET's suffix chooses the format: .txt text, with a header if SOURCE has one, .vec word2vec
    text, .bin word2vec binary, .kv gensim, .safetensors; any other means the format of SOURCE.
    Another .gz, .bz2, .xz or .zip behind it compresses text and binary.

    \b
    Examples:
      wordbias convert glove.840B.300d.zip glove.safetensors
      wordbias convert GoogleNews-vectors-negative300.bin.gz news.vec
      wordbias convert --allow-pickle my.kv my.txt
    """
    subject = open_subject(
        source,
        Reading(cache, skip_bad, allow_pickle),
        head=0,
        wanted=(),
        output=target,
        quiet=quiet,
        kind=kind,
        as_it_is=True,
    )
    subject.write(Identity())
    words = how_many(subject.info.words, "word")
    click.echo(f"{target}: {words} × {subject.info.dim} ({subject.kind})")
