"""`wordbias fine-tune`: train a classification head on an encoder."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.fine_tune_plan import Asked
from wordbias.commands.fine_tune_views import report_of
from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    seed_option,
    show,
)
from wordbias.commands.training_options import precision_option
from wordbias.progress import set_quiet


@click.command()
@click.argument("model")
@click.option(
    "--task", required=True, type=click.Choice(["nli", "nsp"]), help="Inference, next sentence."
)
@click.option("--train", "train_file", metavar="FILE", required=True, help="Pairs to train on.")
@click.option(
    "--dev", "dev_file", metavar="FILE", required=True, help="Pairs that choose the best."
)
@click.option("-o", "--output", metavar="DIR", required=True, help="Folder for the model.")
@click.option("--head-only", is_flag=True, help="Leave the encoder as it is, which is quick.")
@click.option("--limit", type=click.IntRange(1), help="Of the pairs to train on: the first ones.")
@click.option(
    "--epochs", type=click.IntRange(1), help="[default: 3; 10 with --head-only]", show_default=False
)
@click.option("--batch", type=click.IntRange(1), help="Pairs in a batch.  [default: 32]")
@click.option(
    "--rate",
    type=FiniteRange(0, min_open=True),
    help="Highest learning rate.  [default: 2e-5; 1e-3 with --head-only]",
)
@click.option("--warmup", type=FiniteRange(0, 1), help="Share of steps it rises.  [default: .06]")
@click.option("--decay", type=FiniteRange(0), help="Weight decay of matrices.  [default: .01]")
@click.option(
    "--every",
    type=click.IntRange(1),
    help="Steps between looks at dev and checkpoints.  [default: 1000]",
)
@device_option
@precision_option
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Train MODEL, an encoder of Hugging Face, to tell what follows: from it, or after it.

    For nli pairs are SNLI's own jsonl, or tabbed text of label, premise and hypothesis. For nsp
    they are tabbed text of is_next or not_next, first and second sentence, or made from running
    text, one sentence a line and a blank line between documents. AdamW with warm-up and gradient
    clipping; the state that is best on dev is kept. A head for the same task is trained on, BERT
    gets its own for the next sentence, others a new classifier. The folder is for transformers
    alone to load; training.json in it says how it came about. A log lies beside it. After an
    interruption the same command goes on from the last look at dev; a finished model is not trained
    again. On several GPUs start it with
    accelerate or torchrun; each process then reads a batch of its own at every step.

    \b
    Examples:
      wordbias fine-tune bert-base-uncased --task nli --train snli_train.jsonl
        --dev snli_dev.jsonl -o bert-nli
      wordbias fine-tune ./minilm --task nsp --train wiki.txt --dev wiki_dev.txt
        --head-only -o minilm-nsp
      accelerate launch --multi_gpu -m wordbias fine-tune bert-base-uncased --task nli …
    """
    asked = Asked(**given)
    asked.check()
    if not asked.first:
        set_quiet(True)
    done = asked.run()
    if asked.first:
        show(report_of(asked, done), to)
