"""`wordbias encode`: vectors of texts, or of words in them, out of any layer of an encoder."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.encode_views import closing, encoded_row, encoded_table, tell
from wordbias.commands.encoder_options import PRECISION, computing_options
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    show,
    split_layers,
    split_names,
    split_where,
    which_layers,
)
from wordbias.errors import Interrupted
from wordbias.formats.atomic import refuse_same
from wordbias.probes.columns import DISTINCT, Choice
from wordbias.probes.encoder import Encoder
from wordbias.probes.pooling import POOLINGS, SPECIALS, SUBWORDS, Settings
from wordbias.probes.provenance import provenance
from wordbias.probes.texts import load_texts
from wordbias.probes.unfinished import check_target, encode_to
from wordbias.probes.work import BATCH_TOKENS, Work
from wordbias.resources import located
from wordbias.results import Report


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", required=True, help="File to write (safetensors).")
@click.option(
    "--layers",
    callback=split_layers,
    help="all, last, or numbers such as 0,3,6; 0 is the input embeddings.  [default: all, or the "
    "last where MODEL's own modules give its vectors another length]",
)
@click.option(
    "--pooling",
    type=click.Choice(POOLINGS),
    help="Which tokens a vector is the mean of.  [default: as a sentence-transformers MODEL says, "
    "else first, last of a causal model; word where words are named]",
)
@click.option(
    "--subword",
    type=click.Choice(SUBWORDS),
    default="mean",
    show_default=True,
    help="With words: of its tokens.",
)
@click.option(
    "--special-tokens",
    type=click.Choice(SPECIALS),
    help="[CLS], [SEP]: seen by the model, counted in the mean as well, or none.  [default: seen; "
    "counted where a sentence-transformers MODEL is followed]",
)
@click.option("--word-column", metavar="COLUMN", help="Column of the word that is meant.")
@click.option(
    "--span-columns",
    metavar="START,END",
    callback=split_names,
    help="Columns of the word's first character, from 0, and of the one behind it.",
)
@click.option("--text-column", metavar="COLUMN", help="Name or number of the texts' column.")
@click.option(
    "--keep",
    metavar="COLUMNS",
    callback=split_names,
    help=f"Columns to keep as labels.  [default: those of at most {DISTINCT:,} values]",
)
@click.option(
    "--where",
    metavar="COLUMN=VALUE",
    multiple=True,
    callback=split_where,
    help="Only such rows; repeatable.",
)
@click.option("--limit", type=click.IntRange(1), help="Only so many rows.")
@click.option("--skip-bad", is_flag=True, help="Drop and count rows that cannot be used.")
@computing_options
@click.option(
    "--batch-tokens",
    type=click.IntRange(1),
    default=BATCH_TOKENS,
    show_default=True,
    help="Tokens in a batch.",
)
@format_option
@common_options
def command(
    model: str,
    data: str,
    output: str,
    device: str | None,
    precision: str | None,
    random_init: int | None,
    batch_tokens: int,
    skip_bad: bool,
    to: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the vectors of the texts in DATA, from any or all layers of the encoder MODEL.

    MODEL is a folder or a name on the hub. DATA is plain text, one text a line, or has columns
    (.tsv, .csv, .jsonl), compressed or not; other columns are kept as labels. By default a vector
    is that of the first token, which is what a classifier on top of an encoder reads and what
    Orgad et al. (2022) probe; in layer 0 it is the same for every text. Of a causal model, such as
    GPT-2 or Llama, it is that of the last token. A sentence-transformers MODEL decides itself: its
    pooling, length, prompt, and behind the last layer its other modules. After an interruption the
    same command goes on where it stopped.

    \b
    Examples:
      wordbias encode roberta-base bios.tsv.gz -o bios.safetensors
      wordbias encode ./minilm bios.tsv.gz --where split=test --pooling mean -o test.safetensors
      wordbias encode ./minilm winobias.tsv --word-column occupation -o words.safetensors
      wordbias encode roberta-base bios.tsv.gz --random-init 0 -o untrained.safetensors
    """
    refuse_same({"the output": output}, {"DATA": data})
    check_target(output)
    texts = load_texts(located(data), _choice(options, skip_bad))
    encoder = Encoder.load(
        model, device=device, precision=precision or PRECISION, random_init=random_init
    )
    settings = _settings(options, encoder, texts.spans is not None)
    work = Work.of(encoder, texts.texts, texts.spans, settings)
    if lost := work.lost():
        texts = texts.without({i: f"its word {why}" for i, why in lost.items()}, skip_bad)
        work = Work.of(encoder, texts.texts, texts.spans, settings)
    tell(texts, work, quiet)
    about = provenance(work, texts.file.name, texts.sha256())
    try:
        done = encode_to(output, work, texts.columns, about, batch_tokens=batch_tokens)
    except KeyboardInterrupt:
        raise Interrupted("the same command goes on where it stopped") from None
    row = encoded_row(output, texts, work, done)
    inputs = {"model": {"path": model, "sha256": about["weights_sha256"]}}
    inputs["texts"] = {"path": data, "sha256": about["texts_sha256"], "texts": len(texts)}
    report = Report(
        "encode", given_arguments(), inputs, [row], [encoded_table(row)], [], [closing(row)]
    )
    show(report, to)


def _choice(options: dict[str, Any], skip_bad: bool) -> Choice:
    span, keep = options["span_columns"], options["keep"]
    if span is not None and (len(span) != 2 or options["word_column"] is not None):
        raise click.UsageError("--span-columns takes two columns, and no --word-column beside it")
    if options["pooling"] not in (None, "word") and (span or options["word_column"]):
        raise click.UsageError(f"--pooling {options['pooling']} is of whole texts; name no words")
    if options["pooling"] == "word" and not (span or options["word_column"]):
        raise click.UsageError("--pooling word needs --word-column or --span-columns")
    return Choice(
        options["text_column"],
        None if keep is None else tuple(keep),
        options["where"],
        options["limit"],
        options["word_column"],
        None if span is None else (span[0], span[1]),
        skip_bad,
    )


def _settings(options: dict[str, Any], encoder: Encoder, words: bool) -> Settings:
    layers = options["layers"]
    return Settings(
        None if layers is None else which_layers(layers, range(encoder.layers + 1)),
        options["pooling"] or ("word" if words else None),
        options["subword"],
        options["special_tokens"],
        options["max_length"],
    )
