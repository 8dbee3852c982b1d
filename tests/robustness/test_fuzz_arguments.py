"""Every public function refuses or takes every odd argument, and is never caught off guard.

A function or an estimator is called in a process of its own, once for each of its
parameters and each of some fifty odd values (`fuzz_arguments.VALUES`, which says what each must
give); all other arguments are those of its small call in `tests/test_public_names.py`. A refusal is
one line of a `WordbiasError` or `TypeError` that says which argument it is about. Nothing else may
be raised, printed or left on the disk, no argument changed, no call hang or need gigabytes.
"""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import forks
import fuzz_arguments
import pytest
import test_public_names as small

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("WORDBIAS_FUZZ"), reason="ten minutes; set WORDBIAS_FUZZ=1 to run it"
    ),
]
NAMES = sorted({*small.FUNCTIONS, *small.ESTIMATORS})
LIMIT = 1800
"""Seconds for all calls of one function, of which each has a limit of its own."""

FRAMES = "a Series or a frame is read as the nearest thing, and the message is about that"
UTF8 = "safetensors and tokenizers read and write no path that is not UTF-8"
_KNOWN: tuple[tuple[str, str, str, str], ...] = (
    # functions, parameters, values, and why the fault is left
    ("convert load", "source", "frame", FRAMES),
    ("coref_train fine_tune", "output", "lone surrogate", UTF8),
    ("GenderPreserving", "checkpoint", "lone surrogate", UTF8),
    ("compare", "rows", "empty list", "says what to give, not which argument"),
    ("train_vectors", "lr", "one of numpy", "diverges; the counts are kept for the next call"),
    ("push", "revision", "long text", "an address that is too long reads as a broken connection"),
)
KNOWN: dict[str, set[tuple[str, str]]] = {name: set() for name in NAMES}
"""Faults that are left, by function: a parameter and an odd value. One that is mended goes."""
for _functions, _parameters, _values, _ in _KNOWN:
    for _name, *_place in product(_functions.split(), _parameters.split(), _values.split(", ")):
        KNOWN[_name].add((_place[0], _place[1]))


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of stand-ins, each made once."""
    return tmp_path_factory.mktemp("stand-ins")


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_argument_is_refused_or_taken(name: str, store: Path, tmp_path: Path) -> None:
    for package in ("pandas", *small.NEEDS.get(name, ()), "torch"):
        pytest.importorskip(package)
    folder, answer = tmp_path / "here", tmp_path / "answer.jsonl"
    folder.mkdir()
    arguments = (name, str(store), str(folder), str(answer), sorted(KNOWN[name]))
    process = forks.fork(fuzz_arguments.run, *arguments)
    process.join(LIMIT)
    hangs = process.is_alive()
    process.kill()
    rows = [json.loads(line) for line in answer.read_text("utf-8").splitlines()]
    assert not hangs, f"it hangs at {rows[-1][:2]}"
    assert rows[-1][2] == "complete", f"the process ended ({process.exitcode}) at {rows[-1][:2]}"
    ended = {(parameter, value): how for parameter, value, how in rows[:-1] if how}
    wrong = {place: how for place, how in ended.items() if how not in ("refused", "taken")}
    new = [f"{place[0]}, {place[1]}: {wrong[place]:.300}" for place in wrong.keys() - KNOWN[name]]
    assert new == []
    assert KNOWN[name] - wrong.keys() == set(), "they are mended: take them out of the table"


def test_the_values_are_many_and_each_is_made_anew() -> None:
    assert len(fuzz_arguments.VALUES) >= 40
    expected = {what for _, what in fuzz_arguments.VALUES.values()}
    assert expected == {fuzz_arguments.REFUSED, fuzz_arguments.EITHER}
