"""Several calls of one TOML file, each with what makes it fail: checks of a pipeline."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import wordbias
from wordbias.calls import misfit, public
from wordbias.conditions import Outcome, baseline_rows, outcome_of, parse
from wordbias.configuration import Config, config
from wordbias.errors import UsageError, WordbiasError, unknown_name
from wordbias.formats.files import check_outputs, replacing
from wordbias.functions.report import report_of
from wordbias.junit import as_junit
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.wordlists.toml import complain, read_toml

NO_CALLS = ("config", "load", "run")
"""Public functions that are no call of a file of checks."""
COMMAND, FAIL_IF, BASELINE = "command", "fail_if", "baseline"
_FORM = 'write [NAME], command = "fairness", its arguments, and fail-if = "tpr-gap > .1"'
_SPELLED = {"from": "source"}
_SETTINGS = frozenset(setting.name for setting in fields(Config))


class Check(NamedTuple):
    """One table of a file of checks."""

    command: str
    # arguments without a name, those with one, and settings of `wordbias.config`
    several: Sequence[Any]
    arguments: Mapping[str, Any]
    settings: Mapping[str, Any]
    conditions: Sequence[str]  # what makes it fail, and the file that changes are counted from
    baseline: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Checked(Report):
    """A report of checks.

    Attributes
    ----------
    outcomes
        What became of the conditions of each check, by its name.
    """

    outcomes: Mapping[str, Sequence[Outcome]] = field(default_factory=dict)

    def junit(self) -> str:
        """Return the outcomes as JUnit XML."""
        return as_junit(self.outcomes)


@public
def run(checks: str | os.PathLike[str], *, output: str | os.PathLike[str] | None = None) -> Checked:
    """Run the calls of a TOML file, and say for each whether its conditions failed.

    Each table is a call, with its ``command`` and its arguments as the shell or Python names them.
    ``fail-if`` is a condition or a list of them. ``baseline`` is a result before, for a condition
    on a change. A call without ``fail-if`` fails only by an error. All calls run, also after one
    that failed. Relative paths in the file start from its folder, which is the working directory
    while the calls run.

    Parameters
    ----------
    checks : path
        File of the calls.
    output : path, optional
        File to write: JUnit XML (.xml), with a suite for each call and a case for each condition.

    Returns
    -------
    Report
        A row for each condition: that which decided, with its ``check``, ``fail_if`` and
        ``result``, which is passed, failed or error.

    Raises
    ------
    WordbiasError
        Before a call runs: if the file cannot be read, or has a command, an argument or a condition
        that is not known. An error of a call is the result of its conditions.

    Examples
    --------
    >>> import wordbias as wb
    >>> text = '''
    ... [sample]
    ... command = "measure"
    ... only = "same"
    ... fail-if = "same > .2"
    ... '''
    >>> from pathlib import Path
    >>> _ = Path("checks.toml").write_text(text)
    >>> report = wb.run("checks.toml")
    >>> report["same"][0].details["result"]
    'passed'
    """
    path = Path(checks)
    known = _read(path)
    target = None if output is None else os.path.abspath(output)
    if target is not None:
        if not target.endswith(".xml"):
            raise UsageError(f"-o {output}: is JUnit XML; end its name in .xml")
        check_outputs({"the output": target}, {"the file of checks": path})
    with chdir(path.absolute().parent):
        outcomes = {name: _outcomes(check) for name, check in known.items()}
    checked = Checked(
        inputs={"checks": {"path": os.fspath(checks)}},
        rows=[
            _row(name, known[name], outcome)
            for name, of_check in outcomes.items()
            for outcome in of_check
        ],
        tables=[_table(outcomes)],
        closing=_closing(outcomes),
        outcomes=outcomes,
    )
    if target is not None:
        with replacing(target) as file:
            file.write(checked.junit().encode("utf-8", "backslashreplace"))
    return checked


# Reading


def _read(path: Path) -> dict[str, Check]:
    """Return the checks of a file by their names; refuse what can be known to be wrong."""
    tables = read_toml(path)
    if not tables:
        raise WordbiasError(f"{path}: has no checks; {_FORM}")
    return {name: _check(table, f"{path}: [{name}]") for name, table in tables.items()}


def _check(table: object, where: str) -> Check:
    if not isinstance(table, dict):
        raise complain(where, "a table", table, _FORM)
    name = _text(table.get(COMMAND), f"{where}: {COMMAND}")
    try:
        function = _function(name)
        given = _by_name(table, {*inspect.signature(function).parameters, *_SETTINGS})
    except WordbiasError as error:
        raise UsageError(f"{where}: {error}") from None
    conditions = given.pop(FAIL_IF, None)
    listed = [conditions] if isinstance(conditions, str) else conditions
    if conditions is not None and not (isinstance(listed, list) and listed):
        raise complain(f"{where}: fail-if", "a condition or a list of them", conditions, _FORM)
    baseline = given.pop(BASELINE, None)
    try:
        changes = [parse(_text(condition, "fail-if")).change for condition in listed or ()]
        if baseline is not None and not any(changes):
            raise UsageError("baseline: no condition is about a change; add one to fail-if")
        baseline = None if baseline is None else _text(baseline, "baseline")
        settings = {key: given.pop(key) for key in [*given] if key in _SETTINGS}
        several, arguments = _arguments(function, given)
    except (WordbiasError, TypeError) as error:
        raise UsageError(f"{where}: {error}") from None
    return Check(name, several, arguments, settings, listed or (), baseline)


def _by_name(table: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the values of a table but the command, by their names in Python."""
    # no-chance = true is chance = false.
    given: dict[str, Any] = {}
    for key, value in table.items():
        name = _SPELLED.get(key, key.replace("-", "_"))
        off = name.removeprefix("no_")
        if name not in known and off in known and value is True:
            name, value = off, False
        if name in given:
            raise UsageError(f"key {key!r}: is given twice, in two spellings; remove one")
        given[name] = value
    del given[COMMAND]
    return given


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise complain(where, "a text", value, _FORM)
    return value


def _function(name: str) -> Callable[..., object]:
    """Return the public function of a command."""
    known = {
        export.replace("_", "-"): export
        for export in wordbias.__all__
        if export.islower() and export[0] != "_" and export not in NO_CALLS
    }
    function = known.get(name.replace("_", "-"))
    if function is None:
        raise unknown_name("command", name, known)
    command: Callable[..., object] = getattr(
        import_module(f"wordbias.functions.{function}"), function
    )
    return command


def _arguments(
    function: Callable[..., object], given: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the arguments without a name and those with one, as the function takes them."""
    signature = inspect.signature(function)
    named: dict[str, Any] = {}
    several: Sequence[Any] = ()
    for key, value in given.items():
        if key not in signature.parameters:
            known = [*signature.parameters, COMMAND, "fail-if", BASELINE, *sorted(_SETTINGS)]
            raise unknown_name("key", key, known)
        if signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL:
            several = value if isinstance(value, list) else [value]
        else:
            named[key] = value
    try:
        signature.bind(*several, **named)
    except TypeError as error:
        raise UsageError(misfit(function.__name__, signature, named, error)) from None
    return several, named


# Running


def _outcomes(check: Check) -> list[Outcome]:
    """Run a call and judge its conditions; its error is the result of each."""
    try:
        before = baseline_rows(check.baseline, check.conditions)
        with config(**check.settings):
            returned = _function(check.command)(*check.several, **check.arguments)
    except Exception as error:
        usual = isinstance(error, (WordbiasError, OSError))
        message = str(error) if usual else f"unexpected {type(error).__name__}: {error}"
        return [Outcome(text, "error", message) for text in check.conditions or [_runs(check)]]
    report = report_of(returned)
    rows = () if report is None else report.rows
    if not check.conditions:
        return [Outcome(_runs(check), "passed", "it ran")]
    return [outcome_of(text, rows, before) for text in check.conditions]


def _runs(check: Check) -> str:
    """Return what stands for the condition of a call without one."""
    return f"{check.command} has an error"


def _row(name: str, check: Check, outcome: Outcome) -> Row:
    about = {"check": name, "fail_if": outcome.condition, "result": outcome.status}
    if outcome.row is None:
        measure = parse(outcome.condition).measure if check.conditions else check.command
        return Row(name, measure, None, {"reason": outcome.said, **about})
    return replace(outcome.row, details={**outcome.row.details, **about}, draws={})


def _table(outcomes: Mapping[str, Sequence[Outcome]]) -> Table:
    cells = [
        (
            name,
            outcome.condition,
            "" if outcome.row is None else number(outcome.value),
            ""
            if outcome.low is None or outcome.high is None
            else f"{number(outcome.low)} to {number(outcome.high)}",
            outcome.status,
        )
        for name, of_check in outcomes.items()
        for outcome in of_check
    ]
    return Table("Checks", ["check", "fails if", "value", "95 %", "result"], cells)


def _closing(outcomes: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """Return a line for each condition that did not pass, and their number."""
    every = [(name, outcome) for name, of_check in outcomes.items() for outcome in of_check]
    wrong = [(name, outcome) for name, outcome in every if outcome.status != "passed"]
    lines = [
        f"{outcome.status}: {name}: {outcome.condition}: {outcome.said}" for name, outcome in wrong
    ]
    return [*lines, f"{how_many(len(every), 'condition')}, {len(wrong):,} not passed."]
