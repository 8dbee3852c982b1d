"""JUnit XML of conditions: of the form that CI systems read, whatever stands in a text."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from wordbias.conditions import Outcome
from wordbias.errors import printable
from wordbias.junit import as_junit

SCHEMA: Mapping[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (
        set(),
        {"name", "time", "tests", "failures", "disabled", "errors"},
        {"testsuite"},
    ),
    "testsuite": (
        {"name"},
        {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp"}
        | {"hostname", "id", "package", "file", "log", "url", "version", "group"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"name", "assertions", "time", "classname", "status", "class", "file", "line", "group"},
        {"skipped", "error", "failure", "system-out", "system-err", "properties"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}
"""Of each element: attributes that it must have, those it may have, and elements inside it, as the
common schema has them that the plug-in xUnit of Jenkins validates with."""


def check_schema(text: str) -> ElementTree.Element:
    """Check the elements and attributes of a file, and that its counts are true."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, known, inside = SCHEMA[element.tag]
        assert needed <= set(element.attrib) <= known
        assert {child.tag for child in element} <= inside
        if element.tag in ("testsuites", "testsuite"):
            counts = {"tests": "testcase", "failures": "failure", "errors": "error"}
            for attribute, tag in counts.items():
                assert int(element.attrib[attribute]) == len([*element.iter(tag)])
    return root


TEXT = st.text(max_size=20)
OUTCOMES = st.builds(Outcome, TEXT, st.sampled_from(["passed", "failed", "error"]), TEXT)


@given(st.dictionaries(TEXT, st.lists(OUTCOMES, max_size=3), max_size=3))
def test_every_text_is_escaped_and_read_back(calls: dict[str, list[Outcome]]) -> None:
    text = as_junit(calls)
    root = check_schema(text.encode("utf-8").decode())
    assert [suite.attrib["name"] for suite in root] == [*map(printable, calls)]
    cases = [test for suite in root for test in suite]
    outcomes = [verdict for call in calls.values() for verdict in call]
    for case, outcome in zip(cases, outcomes, strict=True):
        assert case.attrib["name"] == f"fails if {printable(outcome.condition)}"
        (child,) = case
        wanted = {"passed": "system-out", "failed": "failure", "error": "error"}[outcome.status]
        assert child.tag == wanted
        if outcome.status != "passed":
            assert child.attrib["message"] == printable(outcome.said)
