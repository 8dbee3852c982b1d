"""`wordbias ceat`: association tests on words in context, over many sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from wordbias.commands.ceat_inputs import open_subject
from wordbias.commands.ceat_views import (
    CONVENTION,
    P_SHRINKS,
    draws_table,
    effects_table,
    words_lines,
)
from wordbias.commands.encoder_options import computing_options
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    seed_option,
    show,
    split_layers,
)
from wordbias.errors import Interrupted
from wordbias.probes.in_context.association import DRAWS
from wordbias.probes.in_context.measuring import Settings, ceat
from wordbias.probes.in_context.sentences import PER_WORD
from wordbias.probes.in_context.stimuli import choose_stimuli
from wordbias.probes.in_context.variance import VARIANCES, Variance
from wordbias.probes.in_context.words import swapped
from wordbias.probes.pooling import SUBWORDS
from wordbias.results import Report


@click.command()
@click.argument("model", metavar="MODEL|VECTORS")
@click.option("--sentences", metavar="FILE", help="One a line, or a table; with a MODEL.")
@click.option("--column", help="Of the table.  [default: text, or sentence, or the only one]")
@click.option(
    "--stimuli",
    default="1-10",
    show_default=True,
    help="Numbers or names of WEAT's, or a TOML or JSON file of your own.",
)
@click.option(
    "--draws",
    type=click.IntRange(2),
    default=DRAWS,
    show_default=True,
    help="Samples of one sentence a word.",
)
@click.option(
    "--layers",
    callback=split_layers,
    help="all, last, or numbers such as 0,3,6.  [default: last of a MODEL, all of VECTORS]",
)
@click.option(
    "--variance",
    type=click.Choice(VARIANCES),
    help="Of one draw's effect size.  [default: standard-error]",
)
@click.option(
    "--per-word", type=click.IntRange(1), help=f"Sentences of a word.  [default: {PER_WORD:,}]"
)
@click.option(
    "--min-sentences",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Leave out words with fewer.",
)
@click.option("--subword", type=click.Choice(SUBWORDS), help="Of a word's tokens.  [default: mean]")
@click.option(
    "--special-tokens/--no-special-tokens",
    default=None,
    help="Let the model see [CLS], [SEP].  [default: yes]",
)
@click.option(
    "--window/--no-window",
    default=None,
    help="Cut sentences to the words around, as released.  [default: no]",
)
@click.option(
    "--as-published",
    is_flag=True,
    help="All as the released code: variance, last sub-word, no special tokens, window.",
)
@click.option("--swap-roles", is_flag=True, help="Exchange targets and attributes.")
@computing_options
@click.option("--save", metavar="VECTORS", help="Keep the words' vectors (safetensors).")
@seed_option
@format_option
@common_options
def command(
    model: str,
    stimuli: str,
    draws: int,
    variance: Variance | None,
    swap_roles: bool,
    to: str,
    **options: Any,
) -> None:
    """Test which of two sets of words is nearer to which of two others, in context.

    CEAT (Guo and Caliskan 2021): many times one sentence is drawn for every word, WEAT computed on
    the words' vectors in them, and the effect sizes combined by a random-effects model. MODEL is an
    encoder, a folder or a name on the hub, and needs --sentences. VECTORS is what --save or
    `wordbias encode --word-column word` wrote.

    A word stands alone, never inside another; written with a capital (Bill) it is found only so,
    without one (bill) in any case. Equal sentences count once.

    \b
    Examples:
      wordbias ceat bert-base-cased --sentences reddit.txt.gz
      wordbias ceat ./minilm --sentences snli.tsv.gz --column premise --stimuli 6 --layers all
      wordbias ceat ./minilm --sentences wiki.txt --stimuli mine.toml --save words.safetensors
      wordbias ceat words.safetensors --stimuli mine.toml --draws 100000 --format json
    """
    queries = choose_stimuli(stimuli)
    subject = open_subject(model, queries, {**options, "stimuli": stimuli})
    kind: Variance = variance or ("released" if options["as_published"] else "standard-error")
    minimum, seed = options["min_sentences"], options["seed"]
    settings = Settings(draws, kind, minimum, swap_roles, seed)
    with _kept(options["save"]):
        rows = ceat(subject.found, queries, settings, subject.layers)
    asked = [swapped(query) for query in queries] if swap_roles else queries
    tables = [effects_table(subject.found.name, rows, asked)]
    if any(row.value is not None for row in rows):
        tables.append(draws_table(rows))
    report = Report(
        "ceat",
        given_arguments(),
        subject.inputs,
        rows,
        tables,
        closing=[*words_lines(rows), CONVENTION, *subject.closing],
        seed=seed,
        notes=[P_SHRINKS, *subject.notes],
    )
    show(report, to)


@contextmanager
def _kept(save: str | None) -> Iterator[None]:
    """Say of an interruption that the vectors, which take long, are there already."""
    try:
        yield
    except KeyboardInterrupt:
        if save is None:
            raise
        raise Interrupted(
            f"the words' vectors are kept; go on with: wordbias ceat {save}"
        ) from None
