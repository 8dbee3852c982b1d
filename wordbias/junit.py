"""JUnit XML of conditions: what systems of continuous integration show of a run.

Elements and attributes are those that Jenkins, GitLab and the actions of GitHub read. The name of a
case says when it fails: systems show it with a mark of what passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from wordbias.conditions import Outcome
from wordbias.errors import printable

_ELEMENTS = {"failed": "failure", "error": "error", "passed": "system-out"}
"""Element of a case that says what became of it."""


def as_junit(calls: Mapping[str, Sequence[Outcome]]) -> str:
    """Return the outcomes of the conditions of each call, by its name, as JUnit XML."""
    every = [judged for outcomes in calls.values() for judged in outcomes]
    root = ElementTree.Element("testsuites", {"name": "wordbias", **_counts(every)})
    for name, outcomes in calls.items():
        printed = printable(name)
        suite = ElementTree.SubElement(root, "testsuite", {"name": printed, **_counts(outcomes)})
        for outcome in outcomes:
            about = {
                "name": f"fails if {printable(outcome.condition)}",
                "classname": f"wordbias.{printed}",
            }
            case = ElementTree.SubElement(suite, "testcase", about)
            failure = {"message": printable(outcome.said), "type": outcome.status}
            element = _ELEMENTS[outcome.status]
            inside = ElementTree.SubElement(
                case, element, {} if outcome.status == "passed" else failure
            )
            inside.text = printable(outcome.said)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    statuses = [outcome.status for outcome in outcomes]
    return {
        "tests": str(len(statuses)),
        "failures": str(statuses.count("failed")),
        "errors": str(statuses.count("error")),
    }
