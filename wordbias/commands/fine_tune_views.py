"""What `wordbias fine-tune` found, for people and machines."""

from __future__ import annotations

from pathlib import Path

from wordbias.commands.fine_tune_plan import Asked, Done
from wordbias.commands.options import given_arguments
from wordbias.rendering import Table
from wordbias.results import Report, Row, number


def report_of(asked: Asked, done: Done) -> Report:
    """Arrange what was trained, on what, and the accuracy on dev."""
    row = _row(asked, done)
    return Report(
        "fine-tune",
        given_arguments(),
        {
            "model": {"path": asked.model},
            "train": done.data.to_dict(),
            "dev": done.dev.to_dict(),
        },
        [row],
        [_table(row, done.chance)],
        [_heading(asked, done)],
        [
            f"{asked.output} was finished before; nothing was trained."
            if done.before
            else f"Written: {asked.output}."
        ],
        asked.seed,
    )


def _row(asked: Asked, done: Done) -> Row:
    tuned = done.tuned
    about = {"task": asked.task, "seed": asked.seed, "n": len(done.dev), "round": tuned.round}
    about |= {"rounds": tuned.rounds.rounds, "neutral": 1, "better": "higher"}
    about |= dict(zip(("low", "high"), done.interval, strict=True))
    return Row(Path(asked.output).name, "dev-accuracy", tuned.accuracy, about)


def _heading(asked: Asked, done: Done) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in done.recipe.to_dict().items())
    count, new = asked.processes, done.headed.new_parameters
    together = f" In each of {count} processes, which train together." if count > 1 else ""
    head = f"a new head ({new:,} parameters)" if new else "its own head"
    return (
        f"{asked.model} with {head}, trained on {len(done.data):,} pairs ({done.data.kind}), dev "
        f"{len(done.dev):,}. Recipe: {settings}.{together}"
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
