"""No test fails because a machine is slow or busy: none has a clock or a limit of time."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).resolve().parent
TIMED = re.compile(
    r"\b(?:perf_counter|process_time|thread_time|(?<!def )monotonic)(?:_ns)?\(\)"
    r"|\btime\.time(?:_ns)?\(|\btimeit\b|\bdatetime\.now\(|\.elapsed\b"
    r"|\btimeout=(?!timeout\b)|\bdeadline=(?!None\b)"
)
ALLOWED = {
    "contextual/test_fine_tuning_distributed.py": "timeout=300",  # of processes that hang
    "test_workers.py": "timeout=300",  # of processes that wait for ever
    "functions/test_fetch.py": "timeout=: expected",  # a message
    "resources/test_resources_http.py": "timeout=0.2",  # of the downloads that are tested
}


def test_no_test_reads_a_clock() -> None:
    timed_lines = []
    for path in sorted(TESTS.rglob("*.py")):
        if path == Path(__file__).resolve():
            continue  # this file names the clocks
        name = path.relative_to(TESTS).as_posix()
        timed_lines += [
            f"{name}: {i}: {line.strip()}"
            for i, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
            if TIMED.search(line) and not (name in ALLOWED and ALLOWED[name] in line)
        ]
    assert timed_lines == []


def test_examples_of_hypothesis_have_no_deadline() -> None:
    assert settings().deadline is None
