"""`wordbias nli-train`: decomposable attention on one embedding or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wordbias.commands.inputs import Reading, open_subject
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    reading_options,
    show,
)
from wordbias.commands.training_options import (
    BFLOAT16,
    machine_options,
    recipe_options,
    training_files,
)
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.nli.recipes import RECIPES, Recipe
from wordbias.optional import need
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row, number
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.nli.runs import Data, Plan

_PURPOSE = "Training an NLI model"


@click.command()
@click.argument("embeddings", nargs=-1, metavar="[EMBEDDING]...")
@training_files
@click.option(
    "-o",
    "--output",
    required=True,
    help="The model; a folder for several, which are called NAME.seedS.safetensors.",
)
@recipe_options("published", seeds="0")
@click.option("--batch", type=click.IntRange(1), help="Pairs in a batch.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Learning rate.")
@click.option(
    "--dropout", type=click.FloatRange(0, 1, max_open=True), help="Rate, in steps of 1/256."
)
@click.option("--hidden", type=click.IntRange(1), help="Hidden units.")
@click.option("--no-intra", is_flag=True, help="Without intra-sentence attention.")
@click.option(
    "--patience", type=click.IntRange(1), help="Stop after so many epochs without a better one."
)
@machine_options
@reading_options
@format_option
@common_options
def command(
    embeddings: tuple[str, ...],
    train_file: str,
    dev_file: str,
    test_file: str | None,
    output: str,
    seeds: list[int],
    recipe_name: str,
    no_intra: bool,
    device: str | None,
    precision: str,
    jobs: int | None,
    backend: str,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    to: str,
    quiet: bool,
    **changes: Any,
) -> None:
    """Train decomposable attention (Parikh et al. 2016) on EMBEDDINGS, one model for each seed.

    Pairs are SNLI's own jsonl, or tabbed text of label, premise and hypothesis, compressed or not.
    The vectors are brought to length one and stay as they are; the epoch that is best on dev is
    kept. A log of every epoch lies beside the model. After an interruption the same command goes
    on from the last whole epoch; a finished model is not trained again. Without EMBEDDING the
    sample that comes with wordbias is used.

    \b
    Recipes:
      published  100 epochs of Adagrad, rate .025, decay 1e-5, dropout .2 (Dawkins 2021), batches
                 of 32
      fast       up to 30 epochs of Adam, rate .001, dropout .2, batches of 128, stopped after 4
                 without a better one

    \b
    Examples:
      wordbias nli-train --train snli_train.jsonl --dev snli_dev.jsonl --recipe fast -o m.st
      wordbias nli-train glove.txt hard.txt misp.txt --seeds 0,1,2 --train train.tsv.gz
        --dev dev.tsv.gz --test test.tsv.gz -o models
    """
    recipe = RECIPES[recipe_name].with_changes(intra=False if no_intra else None, **changes)
    names = list(dict.fromkeys(embeddings or (None,)))
    read = {f"EMBEDDING {name}": name for name in names}
    read |= {"--train": train_file, "--dev": dev_file, "--test": test_file}
    refuse_same({"-o": output}, read)
    folder, file = _outputs(output, len(names) * len(seeds))
    need("torch", extra="torch", purpose=_PURPOSE)
    trainer = need("wordbias.nli.trainer", extra="torch", purpose=_PURPOSE)
    runs = need("wordbias.nli.runs", extra="torch", purpose=_PURPOSE)
    trainer.find_device(device)
    data: Data = runs.Data.load(
        {
            "train": located(train_file),
            "dev": located(dev_file),
            "test": located(test_file),
        }
    )
    inputs: dict[str, dict[str, Any]] = {}
    opened = _opened(names, Reading(cache, skip_bad, allow_pickle), quiet, inputs)
    plan: Plan = runs.plan(opened, seeds, data, recipe, folder, half=precision == BFLOAT16)
    if file is not None:
        plan = runs.single(plan, file)
    trainer.train_all(
        plan.jobs,
        data.encoded["train"],
        data.encoded["dev"],
        recipe,
        device=device,
        half=precision == BFLOAT16,
        workers=Workers(jobs, backend),
    )
    rows = [row for job in plan.jobs for row in runs.accuracy_rows(job, data)]
    for name, file_name in (("train", train_file), ("dev", dev_file), ("test", test_file)):
        if name in data.pairs:
            pairs = data.pairs[name]
            about = {"pairs": len(pairs), "dropped": pairs.dropped, "sha256": pairs.sha256}
            inputs[f"pairs: {name}"] = {"path": file_name, **about}
    report = Report(
        "nli-train",
        given_arguments(),
        inputs,
        rows,
        [_table(rows)],
        _heading(recipe_name, recipe, data, plan),
        [f"Written: {output}."],
    )
    show(report, to)


def _outputs(output: str, count: int) -> tuple[Path, Path | None]:
    """Return the folder of the models, and the file if there is but one to be named so."""
    path = Path(output)
    if count == 1 and not path.is_dir():
        check_writable(path)
        return path.parent, path
    if path.exists() and not path.is_dir():
        raise WordbiasError(f"{path}: is a file; {count} models need a folder")
    check_writable(path / "model" if path.is_dir() else path)
    return path, None


def _opened(
    names: Sequence[str | None], reading: Reading, quiet: bool, inputs: dict[str, dict[str, Any]]
) -> Iterator[Embedding]:
    """Open one embedding after the other, and note what each is."""
    for name in names:
        subject = open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
        inputs[subject.embedding.name] = subject.info.to_dict()
        yield subject.embedding


def _heading(name: str, recipe: Recipe, data: Data, plan: Plan) -> list[str]:
    settings = ", ".join(f"{key} {value}" for key, value in recipe.to_dict().items())
    sizes = ", ".join(f"{len(pairs):,} {name}" for name, pairs in data.pairs.items())
    known = ", ".join(f"{name} {share:.1%}" for name, share in plan.known.items())
    return [
        f"Decomposable attention, recipe {name}: {settings}.",
        f"Pairs: {sizes}. Words of the training sentences that are known: {known}.",
    ]


def _table(rows: Sequence[Row]) -> Table:
    """One line a model."""
    found = {(row.subject, row.details["set"]): row for row in rows}
    sets = list(dict.fromkeys(row.details["set"] for row in rows))
    cells = []
    for subject in dict.fromkeys(row.subject for row in rows):
        about = found[subject, "dev"].details
        values = [number(found[subject, name].value) for name in sets]
        cells.append([subject, str(about["seed"]), str(about["epoch"]), *values])
    return Table("Accuracy of the best epoch", ["model", "seed", "best epoch", *sets], cells)
