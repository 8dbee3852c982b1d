"""`wordbias fine-tune`: train a classification head on an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    given_arguments,
    seed_option,
    show,
)
from wordbias.commands.training_options import BFLOAT16, precision_option
from wordbias.formats.atomic import check_new
from wordbias.optional import need
from wordbias.progress import set_quiet
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row, number

_PURPOSE = "Fine-tuning an encoder"
_ROOM = "wordbias.contextual.fine_tuning"


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
def command(
    model: str,
    task: str,
    train_file: str,
    dev_file: str,
    output: str,
    head_only: bool,
    limit: int | None,
    device: str | None,
    precision: str,
    seed: int,
    to: str,
    quiet: bool,
    **changes: Any,
) -> None:
    """Train MODEL, an encoder of Hugging Face, to tell what follows: from it, or after it.

    For nli pairs are SNLI's own jsonl, or tabbed text of label, premise and hypothesis. For nsp
    they are tabbed text of is_next or not_next, first and second sentence, or made from running
    text, one sentence a line and a blank line between documents. AdamW with warm-up and gradient
    clipping; the state that is best on dev is kept. A head for the same task is trained on, BERT
    gets its own for the next sentence, others a new classifier. The folder is for transformers
    alone to load; training.json in it says how it came about. A log lies beside it. After an
    interruption the same command goes on from the last look at dev. On several GPUs start it with
    accelerate or torchrun; each process then reads a batch of its own at every step.

    \b
    Examples:
      wordbias fine-tune bert-base-uncased --task nli --train snli_train.jsonl
        --dev snli_dev.jsonl -o bert-nli
      wordbias fine-tune ./minilm --task nsp --train wiki.txt --dev wiki_dev.txt
        --head-only -o minilm-nsp
      accelerate launch --multi_gpu -m wordbias fine-tune bert-base-uncased --task nli …
    """
    check_new(output)
    several = need(f"{_ROOM}.several", extra="contextual", purpose=_PURPOSE)
    count, rank = several.launched()
    if rank > 0:
        set_quiet(True)
    pairs = need(f"{_ROOM}.pairs", extra="contextual", purpose=_PURPOSE)
    recipes = need(f"{_ROOM}.recipe", extra="contextual", purpose=_PURPOSE)
    running = need(f"{_ROOM}.running", extra="contextual", purpose=_PURPOSE)
    data = pairs.load_labelled(task, located(train_file), seed).head(limit)
    dev = pairs.load_labelled(task, located(dev_file), seed)
    start = recipes.HEAD_ONLY if head_only else recipes.WHOLE
    recipe = start.with_changes(half=precision == BFLOAT16, seed=seed, **changes)
    tuned, headed = running.run(task, model, data, dev, recipe, output, device)
    if rank > 0:
        return
    about = {"task": task, "seed": seed, "n": len(dev), "round": tuned.round}
    about |= {"rounds": tuned.rounds.rounds, "neutral": 1, "better": "higher"}
    about |= dict(zip(("low", "high"), running.interval(tuned, dev), strict=True))
    row = Row(Path(output).name, "dev-accuracy", tuned.accuracy, about)
    report = Report(
        "fine-tune",
        given_arguments(),
        {"model": {"path": model}, "train": data.to_dict(), "dev": dev.to_dict()},
        [row],
        [_table(row, running.chance(dev))],
        [_heading(model, recipe, data, dev, headed.new, count)],
        [f"Written: {output}."],
        seed,
    )
    show(report, to)


def _heading(model: str, recipe: Any, data: Any, dev: Any, new: tuple[str, ...], count: int) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in recipe.to_dict().items())
    together = f" In each of {count} processes, which train together." if count > 1 else ""
    head = f"a new head ({len(new)} parameters)" if new else "its own head"
    return (
        f"{model} with {head}, trained on {len(data):,} pairs ({data.kind}), dev {len(dev):,}. "
        f"Recipe: {settings}.{together}"
    )


def _table(row: Row, chance: float) -> Table:
    about = row.details
    interval = f"{about['low']:.3f} … {about['high']:.3f}"
    best = f"{about['round']} of {about['rounds']}"
    cells = [[row.subject, number(row.value), interval, number(chance), best]]
    return Table(
        "Accuracy on dev, of the best state",
        ["model", "accuracy", "95 %", "the commonest label", "best at look"],
        cells,
        "Higher is better; worth something above the share of the commonest label, which is what "
        "always saying that one reaches. Looks at dev: see --every.",
    )
