"""Reports: rows for machines, tables and figures for people, and their provenance."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from wordbias import __version__
from wordbias.arguments import accepted, named_file
from wordbias.calls import current, in_python, python_messages
from wordbias.conditions import baseline_rows, judge
from wordbias.draws import stored_draws
from wordbias.errors import WordbiasError, need, on_a_line, printable
from wordbias.formats.files import replacing
from wordbias.rendering import (
    FIGURES,
    Table,
    as_csv,
    as_html,
    as_json,
    as_latex,
    as_markdown,
    as_paragraph,
    as_text,
    how_many,
    latex_labels,
    markdown_text,
    paragraph,
    stacked,
    terminal_width,
    with_texts,
    without_folders,
)
from wordbias.results import LIMITS, Row, flat
from wordbias.rows import SCHEMA, spread

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Format = Literal["table", "json", "jsonl", "csv", "spreadsheet", "md", "latex"]
FORMATS: tuple[str, ...] = get_args(Format)
SUFFIXES = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".md": "md",
    ".tex": "latex",
    ".txt": "table",
    ".html": "html",
    ".htm": "html",
}
"""Formats by the suffixes of their files."""
_MANY = 4
"""Number of subjects from which on a title has their number."""


@dataclass(frozen=True, eq=False)
class Report:
    """Result of a function or command of wordbias.

    It prints as a table, and shows as one in a notebook.

    Parameters
    ----------
    command : str
        Name of the function; by default the public function that is running.
    arguments : mapping
        Arguments of the call.
    inputs : mapping
        Path, format, sha256, words and dimension of each input.
    rows : sequence of Row
        Values, for machines.
    tables : sequence of Table
        Same values, arranged for people.
    heading, closing : sequence of str
        Lines above and below the tables.
    seed : int, optional
        Random seed.
    notes : sequence of str
        Notes that a reader of the values needs.
    picture : callable, optional
        Function that draws the report on axes or a new figure, in place of values with intervals.
    config : mapping
        Settings of `wordbias.config` that differ from the defaults.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.measure(only=["midb"])
    >>> report
    <Report of measure: 6 values of 1 subject>
    >>> report["midb"][0].measure
    'midb'
    >>> report.save("midb.csv")  # doctest: +SKIP
    """

    command: str = field(default_factory=lambda: current().command)
    arguments: Mapping[str, Any] = field(default_factory=lambda: current().arguments)
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()
    heading: Sequence[str] = ()
    closing: Sequence[str] = ()
    seed: int | None = None
    notes: Sequence[str] = ()
    picture: Callable[[Report, Axes | None], Axes] | None = None
    config: Mapping[str, Any] = field(default_factory=lambda: current().config)

    def __post_init__(self) -> None:
        spelled = current().spelled if current().command else in_python
        for name in ("heading", "closing", "notes"):
            object.__setattr__(self, name, [spelled(line) for line in getattr(self, name)])
        tables = [
            replace(table, title=spelled(table.title), note=spelled(table.note))
            for table in self.tables
        ]
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "rows", [_with_reasons(row, spelled) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return the report without its tables, as JSON stores it."""
        return {
            "schema": SCHEMA,
            "wordbias": __version__,
            "command": self.command,
            "arguments": dict(self.arguments),
            "config": dict(self.config),
            "seed": self.seed,
            "inputs": {name: dict(facts) for name, facts in self.inputs.items()},
            "versions": versions(),
            "limits": LIMITS,
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
            **({"row_draws": draws} if (draws := stored_draws(self.rows)) else {}),
        }

    def __repr__(self) -> str:
        values = how_many(len(self.rows), "value")
        subjects = len({row.subject for row in self.rows})
        of = f" of {self.command}" if self.command else ""
        return on_a_line(f"<Report{of}: {values} of {how_many(subjects, 'subject')}>")

    def __str__(self) -> str:
        return self.render("table").rstrip("\n")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, measure: str) -> list[Row]:
        """Return the rows of a measure.

        Raises
        ------
        KeyError
            If there is no such measure; the message has those of the report.
        """
        rows = [row for row in self.rows if row.measure == measure]
        if not rows:
            known = ", ".join(dict.fromkeys(row.measure for row in self.rows))
            raise KeyError(f"no measure {measure!r} in this report; it has {known}")
        return rows

    def check(
        self, *conditions: str, baseline: Report | str | os.PathLike[str] | None = None
    ) -> None:
        """State what must hold for every row, in a test: ``report.check("tpr-gap < .1")``.

        The conditions are those of ``--fail-if``, which names what fails; here is named what holds.
        A value that is undefined, or that lacks the interval that is asked for, does not hold.

        Parameters
        ----------
        *conditions
            Conditions such as ``tpr-gap[set=sum] < .3``, ``same high < 1``, ``change same <
            .02``.
        baseline
            Report, or file that a command printed with --format json, that changes are counted
            from.

        Raises
        ------
        AssertionError
            If a condition does not hold: a line for each that fails, with its value.
        WordbiasError
            If a condition cannot be read, no row has its measure or keys, or the baseline lacks
            such a row.
        """
        with python_messages():
            if not conditions:
                raise WordbiasError('check: name a condition, such as "tpr-gap < .1"')
            before = baseline_rows(baseline, conditions)
            outcomes = [judge(condition, self.rows, before, holds=True) for condition in conditions]
        wrong = [outcome for outcome in outcomes if outcome.status == "failed"]
        if wrong:
            raise AssertionError(
                "\n".join(f"{outcome.condition} does not hold: {outcome.said}" for outcome in wrong)
            )

    def _further(self) -> list[str]:
        """Return the notes that are not below a table already."""
        table_notes = {table.note for table in self.tables}
        return [line for line in self.notes if line not in table_notes]

    def _repr_html_(self) -> str:
        """Show the tables in a notebook."""
        lines = [*map(as_paragraph, self.heading), *map(as_html, self.tables)]
        lines += map(as_paragraph, [*self.closing, *(f"Note: {line}" for line in self._further())])
        return "\n".join(lines or [as_paragraph(repr(self))])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the tables in IPython on a terminal."""
        notes = "".join(f"\nnote: {line}" for line in self._further())
        printer.text(f"{self}{notes}".strip("\n") or repr(self))

    def to_frame(self, *, wide: bool = False) -> pandas.DataFrame:
        """Return a pandas frame with one line for each value and flat columns.

        First come the subject, the measure, the value, the ends of its interval and chance. A
        mapping within a row gives a column for each of its keys: ``n_female``, ``n_male``.

        Parameters
        ----------
        wide
            Return only values: a line for each subject, a column for each measure. If the report
            has rows about single words, these: a line for each word, a column for each measure, for
            each subject, or for each pair of them. What else tells values apart, such as the stage
            or the set, is a level of the index.

        Raises
        ------
        WordbiasError
            If pandas is not installed.
        """
        frames = need("pandas", extra="pandas", purpose="A frame")
        rows = [flat(row.to_dict()) for row in self.rows]
        frame: pandas.DataFrame
        if wide:
            lines, names, heads, levels = spread(rows)
            index = frames.MultiIndex.from_tuples(list(lines), names=names)
            columns = frames.MultiIndex.from_tuples(heads, names=levels)
            cells = [[line.get(head) for head in heads] for line in lines.values()]
            frame = frames.DataFrame(cells, index, columns, dtype=float)
            frame.index, frame.columns = map(_one_level, (index, columns))
            return frame
        frame = frames.DataFrame(rows)
        first = [name for name in _FIRST if name in frame]
        chance = [name for name in frame if name.startswith("chance")]
        return frame[list(dict.fromkeys([*first, *chance, *frame]))]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what the report is about; ``report.plot().figure`` is the figure.

        By default these are the values with their intervals, chance and the neutral value. Reports
        of `probe`, `compare`, `sweep`, `bios`, `mab_study` and of an audit of several methods have
        a figure of their own.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on; by default a new figure with a title.

        Raises
        ------
        WordbiasError
            If matplotlib is not installed, or there is no value to draw.
        """
        if ax is not None and not hasattr(ax, "plot"):
            raise WordbiasError(f"ax=: expected matplotlib axes, got {ax!r}")
        from wordbias.pages.forest_plot import forest_plot

        return (self.picture or forest_plot)(self, ax)

    @property
    def title(self) -> str:
        """The command and what it measured, for a figure."""
        subjects = list(dict.fromkeys(row.subject for row in self.rows))
        few = ", ".join(subjects) if len(subjects) < _MANY else how_many(len(subjects), "subject")
        named = without_folders(self.inputs, self.arguments)
        return printable(on_a_line(named(": ".join(filter(None, [self.command, few])))))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report in the format of the suffix.

        Parameters
        ----------
        path
            ``.json``, ``.jsonl`` and ``.csv`` for machines, ``.md``, ``.tex`` and ``.txt`` for
            people, ``.html`` for a page with figures; ``.png``, ``.pdf`` and ``.svg`` for the
            figure that `plot` draws.

        Raises
        ------
        WordbiasError
            If the suffix is unknown, or the file cannot be written.
        """
        target = named_file(path)
        suffix = os.path.splitext(target)[1].lower()
        if suffix in FIGURES:
            from wordbias.pages.plots import check_plot, write_figure

            check_plot(target)
            write_figure(target, self.plot().figure)
            return
        if suffix not in SUFFIXES:
            known = ", ".join([*SUFFIXES, *FIGURES])
            raise WordbiasError(f"{target}: expected a name that ends in {known}")
        self.write(target, SUFFIXES[suffix])

    def write(self, path: str | os.PathLike[str], to: str) -> None:
        """Write the report in one of `FORMATS`, or as ``html``.

        Raises
        ------
        WordbiasError
            If there is no such format, or the file cannot be written.
        """
        text = self.page() if to == "html" else self.render(to)
        with replacing(path) as file:
            file.write(text.encode("utf-8", "backslashreplace"))

    def page(self) -> str:
        """Return the report as one HTML page with figures and its data."""
        from wordbias.pages.document import Document
        from wordbias.pages.page import render_page

        return render_page([Document.of(self.to_dict())])

    def render(self, to: str, width: int | None = None) -> str:
        """Return the report in one of `FORMATS`, ending in a line feed."""
        if to == "json":
            return as_json(self.to_dict(), indent=2) + "\n"
        if to == "jsonl":
            return "".join(as_json(row.to_dict()) + "\n" for row in self.rows)
        if to in ("csv", "spreadsheet"):
            return as_csv([row.to_dict() for row in self.rows], formulas=to == "csv")
        if to not in FORMATS:
            raise WordbiasError(f"format {to!r}: expected one of {', '.join(FORMATS)}")
        width = terminal_width() if width is None else accepted("width", "int", width, {})
        heading, closing = list(map(printable, self.heading)), list(map(printable, self.closing))
        if to == "table":  # the notes go to stderr
            parts = [as_text(table, width) for table in self.tables]
            parts = [*paragraph(heading, width), *parts, *paragraph(closing, width)]
            return "\n\n".join(parts) + "\n"
        named = without_folders(self.inputs, self.arguments, self.config)
        heading, closing = list(map(named, heading)), list(map(named, closing))
        closing += [f"Note: {named(printable(line))}" for line in self._further()]
        tables = [with_texts(table, named) for table in self.tables]
        if to == "md":
            parts = [*map(markdown_text, heading), *map(as_markdown, tables)]
            parts += map(markdown_text, closing)
        else:
            tables = stacked(tables)
            labels = latex_labels([table.title for table in tables], self.command)
            parts = ["% needs \\usepackage{booktabs}", *map("% {}".format, heading)]
            parts += [*map(as_latex, tables, labels), *map("% {}".format, closing)]
        return "\n\n".join(parts) + "\n"


def _with_reasons(row: Row, spelled: Callable[[str], str]) -> Row:
    """Return a row for a report, with the options in its reasons spelled as the caller writes."""
    reasons = {
        key: spelled(text)
        for key, text in row.details.items()
        if key.endswith("reason") and isinstance(text, str)
    }
    return replace(row, details={**row.details, **reasons}) if reasons else row


_FIRST = ("subject", "measure", "value", "low", "high")


def _one_level(index: pandas.MultiIndex) -> pandas.Index:
    """Return an index of one level as a plain one."""
    return index.get_level_values(0) if index.nlevels == 1 else index


_LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "ot": "POT",
    "gensim": "gensim",
    "torch": "torch",
    "transformers": "transformers",
    "tokenizers": "tokenizers",
    "sentence_transformers": "sentence-transformers",
    "spacy": "spacy",
    "ray": "ray",
    "pyarrow": "pyarrow",
    "pandas": "pandas",
    "polars": "polars",
}
"""Packages that compute or read, by the name that they are imported as."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that this process has imported."""
    imported = {"python": platform.python_version()}
    for module, package in _LIBRARIES.items():
        known = getattr(sys.modules.get(module), "__version__", None)
        if known is not None:
            imported[package] = str(known)
    return imported
