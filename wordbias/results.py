"""One measured value as a row, and what stands in its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wordbias.errors import on_a_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_PROOF = (
    "A value near neutral is no proof of fairness: a measure detects only the bias it was made "
    "for, in the words it was given."
)
LIMITS = (
    "misp, measure, choose, mab-eval, mab-study, sweep, winobias and bios compare two groups only: "
    f"people in neither group are not measured. {NO_PROOF} The behaviour of a system built on the "
    "vectors must be measured in that system."
)


@dataclass(frozen=True, eq=False)
class Draws:
    """Values of a measure on draws of the same kind."""

    values: NDArray[np.float64]  # shape `(b,)`, nan where one is undefined
    unit: str  # what is drawn again: words, premises, pairs, persons, seeds
    # hash of the items that are drawn from, and of the seed; empty if it is not known. Draws are
    # paired only if all three agree.
    items: str = ""


@dataclass(frozen=True, repr=False)
class Row:
    """One measured value.

    Parameters
    ----------
    subject : str
        Name of the embedding or model.
    measure : str
        Name of the measure.
    value : float or None
        Value, or None if it is undefined; then the details have a `reason`.
    details : mapping, optional
        Other keys: `stage`, `reference`, `n`, `missing`, `neutral`, `better`, …
    draws : mapping, optional
        Draws of the value by their kind; see `wordbias.draws`. `sample` draws the measured items
        and gives the interval, `lists` draws other word lists. Rows with draws of the same units
        are compared draw by draw.

    Examples
    --------
    >>> import wordbias as wb
    >>> row = wb.Row("glove", "midb", 0.1142, {"n": 20_461, "neutral": 0.0})
    >>> row
    <Row glove, midb: 0.1142>
    >>> row.to_dict()["n"]
    20461
    """

    subject: str
    measure: str
    value: float | None
    details: Mapping[str, Any] = field(default_factory=dict)
    draws: Mapping[str, Draws] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        """Show the names, the value and its interval."""
        details = self.details
        names = [
            f"{key} {details[key]}" for key in ("stage", "set", "layer", "word") if key in details
        ]
        low, high = details.get("low"), details.get("high")
        ends = "" if low is None or high is None else f" [{number(low)}, {number(high)}]"
        title = ", ".join([self.subject, self.measure, *names])
        return on_a_line(f"<Row {title}: {number(self.value)}{ends}>")

    def to_dict(self) -> dict[str, Any]:
        """Return the row as one flat dictionary."""
        row = {"subject": self.subject, "measure": self.measure, "value": self.value}
        return {**row, **self.details}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any], draws: Mapping[str, Draws] | None = None) -> Row:
        """Return the row that `to_dict` made a dictionary of, with its draws if given."""
        details = dict(found)
        subject, measure, value = (details.pop(name) for name in ("subject", "measure", "value"))
        return cls(subject, measure, value, details, draws or {})


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with a key for each key of its mappings, and its lists as text."""
    flattened: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flattened |= {f"{key}_{name}": cell for name, cell in flat(value).items()}
        elif isinstance(value, (list, tuple)):
            flattened[key] = ", ".join(map(str, value))
        else:
            flattened[key] = value
    return flattened


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as text for people; None as a dash."""
    if value is None:
        return "–"
    text = f"{value:z.{digits}f}"
    if value and float(text) == 0:
        return f"{value:.1e}"
    return text


def with_details(rows: Sequence[Row], about: Mapping[str, object]) -> list[Row]:
    """Return rows with further details, before their own."""
    return [replace(row, details={**about, **row.details}) for row in rows]
