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
    every = [one for outcomes in calls.values() for one in outcomes]
    root = ElementTree.Element("testsuites", {"name": "wordbias", **_counts(every)})
    for name, outcomes in calls.items():
        shown = printable(name)
        suite = ElementTree.SubElement(root, "testsuite", {"name": shown, **_counts(outcomes)})
        for one in outcomes:
            about = {
                "name": f"fails if {printable(one.condition)}",
                "classname": f"wordbias.{shown}",
            }
            case = ElementTree.SubElement(suite, "testcase", about)
            said = {"message": printable(one.said), "type": one.status}
            element = _ELEMENTS[one.status]
            inside = ElementTree.SubElement(case, element, {} if one.status == "passed" else said)
            inside.text = printable(one.said)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    found = [one.status for one in outcomes]
    return {
        "tests": str(len(found)),
        "failures": str(found.count("failed")),
        "errors": str(found.count("error")),
    }
