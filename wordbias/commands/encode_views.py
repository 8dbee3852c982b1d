"""What `wordbias encode` says: of the texts beforehand, and of the file that it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordbias.commands.options import note
from wordbias.probes.columns import DISTINCT
from wordbias.probes.encoder import Encoder
from wordbias.probes.pooling import Settings
from wordbias.probes.texts import Texts
from wordbias.probes.unfinished import Written
from wordbias.probes.work import Work
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number


def tell(texts: Texts, work: Work, quiet: bool) -> None:
    """Say what was left out, dropped or cut."""
    if texts.left_out:
        note(
            f"{texts.file}: not kept, for they have more than {DISTINCT:,} values: "
            f"{', '.join(texts.left_out)}; --keep names what to keep",
            quiet,
        )
    if texts.dropped:
        note(f"{how_many(texts.dropped, 'row')} dropped, the first: {texts.problem}", quiet)
    for said in (*work.encoder.notes, *pooled_otherwise(work.encoder, work.settings)):
        note(said, quiet)
    if work.truncated:
        note(
            f"cut to {work.settings.max_length} tokens: {work.truncated} of "
            f"{how_many(len(texts), 'text')}",
            quiet,
        )


def pooled_otherwise(encoder: Encoder, settings: Settings) -> list[str]:
    """Say in what a vector is not what a sentence-transformers folder makes of a text."""
    if settings.pooling == "word":
        return beside_modules(encoder, settings.modules)
    if encoder.sentence is None or settings.modules:
        return []
    prompt = encoder.sentence.prompt
    without = f" and its prompt {prompt!r} is left out" if prompt else ""
    return [
        f"{encoder.name}: is a sentence-transformers model with {_own(encoder)}; as asked, its "
        f"vectors are pooled otherwise ({settings.pooling}, special tokens "
        f"{settings.special_tokens}){without}, so they are not those of its own encode"
    ]


def beside_modules(encoder: Encoder, followed: Sequence[str]) -> list[str]:
    """Say where the vectors of words do not go through a folder's modules, which do not fit."""
    if encoder.sentence is None or not encoder.sentence.steps or followed:
        return []
    return [
        f"{encoder.name}: words do not go through the modules behind its last layer "
        f"({_own(encoder)}), which take vectors of another length"
    ]


def _own(encoder: Encoder) -> str:
    return " → ".join(() if encoder.sentence is None else encoder.sentence.names)


def encoded_row(output: str, texts: Texts, work: Work, done: Written) -> Row:
    """Return the row of a file that was written: how fast, and how."""
    rate = done.encoded / done.seconds if done.encoded else None
    details: dict[str, Any] = {
        "n": len(texts),
        "distinct": len(work.order),
        **work.settings.to_dict(),
        "dim": work.shape[-1],
        "truncated": work.truncated,
        "dropped": texts.dropped,
        "columns": {name: len(column.values) for name, column in texts.columns.items()},
        "encoded": done.encoded,
        "before": done.before,
        "seconds": round(done.seconds, 3),
        "random_init": work.encoder.random_init,
        "precision": work.encoder.precision,
        "device": work.encoder.device,
        "file": output,
    }
    if rate is None:
        details["reason"] = "the file was complete before"
    return Row(Path(work.encoder.name).name, "texts-per-second", rate, details)


def encoded_table(row: Row) -> Table:
    """Return the row as a table of one line."""
    about = row.details
    layers = list(about["layers"])
    whole = layers == list(range(layers[0], layers[-1] + 1)) and len(layers) > 1
    cells = [
        f"{about['n']:,}",
        f"{layers[0]} … {layers[-1]}" if whole else ", ".join(map(str, layers)),
        str(about["dim"]),
        about["pooling"],
        str(about["max_length"]),
        f"{about['truncated']:,}",
        number(about["seconds"], 1),
        number(row.value, 0),
    ]
    columns = ["texts", "layers", "dim", "pooling", "tokens ≤", "cut", "seconds", "texts/s"]
    kept = ", ".join(f"{name} ({count})" for name, count in about["columns"].items())
    followed = f"As its folder says: {' → '.join(about['modules'])}" if about["modules"] else ""
    if followed:
        prompt = about["prompt"]
        followed += f", behind the prompt {prompt!r}. " if prompt else ". "
    return Table(
        f"Representations by {row.subject}",
        columns,
        [cells],
        f"{followed}{about['distinct']:,} distinct texts; columns kept (values): {kept or 'none'}.",
    )


def closing(row: Row) -> str:
    """Say what is in the file, and whether it was before."""
    about = row.details
    if row.value is None:
        return f"{about['file']} holds just this already; nothing was encoded."
    before = f", {about['before']:,} of the distinct texts before" if about["before"] else ""
    return f"Written: {about['file']}{before}."
