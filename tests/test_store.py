"""A store gives back what was put, whatever happens to the process, and refuses another's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from quick_cases import examples

from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.files import locked
from wordbias.results import Draws, Row
from wordbias.store import Store, about_in, difference, resumable

ABOUT = {"model": {"weights": "0123456789" * 5}, "rate": 0.1}
DRAWS = {"sample": Draws(np.array([0.1, np.pi]), "words", "abc")}
ROW = Row("a", "midb", 0.1 + 0.2, {"set": "café", "ends": [1, None]}, DRAWS)


def filled(path: Path, count: int = 3) -> Store:
    store = Store(path, ABOUT, ("part", "seed"))
    for seed in range(count):
        arrays = {"x": np.full((2, seed + 1), seed / 3, np.float32)}
        store.put("p", seed, rows=[ROW], arrays=arrays, seconds=0.5 + seed)
    return store


def plain(store: Store) -> Any:
    return [
        (
            key,
            [
                (
                    row.to_dict(),
                    {k: (x.values.tolist(), x.unit, x.items) for k, x in row.draws.items()},
                )
                for row in entry.rows
            ],
            {name: (x.dtype, x.tolist()) for name, x in entry.arrays.items()},
            entry.facts,
        )
        for key, entry in store.entries.items()
    ]


def test_what_was_put_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    store = filled(path)
    reopened = Store(path, ABOUT, ("part", "seed"))
    assert plain(store) == plain(reopened)
    stored = reopened.get("p", 1)
    assert stored is not None
    assert stored.rows == [ROW]
    (draws,) = stored.rows[0].draws.values()
    assert (draws.values.tolist(), draws.unit, draws.items) == ([0.1, np.pi], "words", "abc")
    assert (stored.arrays["x"].dtype, stored.arrays["x"].shape) == (np.float32, (2, 2))
    assert stored.facts == {"seconds": 1.5}
    assert reopened.get("p", 3) is None
    reopened.put("p", 1, seconds=9)
    assert len(path.read_bytes().splitlines()) == 3
    entry = Store(path, ABOUT, ("part", "seed")).get("p", 1)
    assert entry is not None
    assert (entry.facts, entry.rows) == ({"seconds": 9}, [])


def test_without_a_file_it_is_in_memory() -> None:
    store = Store(None, {})
    store.put(rows=[ROW], n=1)
    assert store.entries[()].facts == {"n": 1}


@settings(max_examples=examples(60), deadline=None)
@given(some.data())
def test_a_file_cut_off_anywhere_holds_all_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, data: some.DataObject
) -> None:
    """A process may be killed while it writes; what it wrote before is not lost."""
    path = tmp_path_factory.mktemp("cut") / "a.part"
    whole = filled(path)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    cut = data.draw(some.integers(first, len(content)))
    path.write_bytes(content[:cut])
    store = Store(path, ABOUT, ("part", "seed"))
    lines = content[:cut].count(b"\n") + (content[cut : cut + 1] == b"\n")
    assert list(store.entries) == [("p", seed) for seed in range(lines)]
    for seed in range(lines, 3):
        store.put("p", seed, rows=[ROW], arrays=whole.entries["p", seed].arrays, seconds=0.5 + seed)
    assert path.read_bytes().rstrip() == content.rstrip()
    assert plain(store) == plain(whole)


@pytest.mark.parametrize(
    "line",
    [
        b"\0" * 40,
        b"[]",
        b"{}",
        b'{"part": "p", "seed": 1, "about": {}}',
        b'{"part": "p", "seed": [], "about": {}, "rows": []}',
        b'{"part": "p", "seed": 1, "about": {}, "rows": [{}]}',
        b'{"part": "p", "seed": 1, "about": {}, "rows": [], "arrays": {"x": ["<f8", [9], "AA=="]}}',
        b'{"part": "p", "seed": 1, "about": {}, "rows": [], "arrays": {"x": ["O", [1], "AA=="]}}',
    ],
)
def test_a_damaged_result_is_as_if_it_were_not_there(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.part"
    filled(path)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], line, lines[2], b""]))
    store = Store(path, ABOUT, ("part", "seed"))
    assert list(store.entries) == [("p", 0), ("p", 2)]
    assert path.read_bytes().splitlines() == [lines[0], line, lines[2]]
    entry = filled(tmp_path / "other").entries["p", 1]
    store.put("p", 1, rows=entry.rows, arrays=entry.arrays, **entry.facts)
    assert path.read_bytes().splitlines() == [lines[0], lines[2], lines[1]]


@pytest.mark.parametrize("content", [b"my thesis", b"\0" * 9, b"[1]\n", b"{}\n"])
def test_a_file_of_something_else_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.part"
    path.write_bytes(content)
    with pytest.raises(WordbiasError, match=r"a\.part: holds no results .*; remove it, or name "):
        Store(path, ABOUT, ("part", "seed"))
    assert path.read_bytes() == content
    with pytest.raises(WordbiasError, match="is a folder; try another"):
        Store(tmp_path, ABOUT, remedy="try another")


def test_other_settings_are_refused_and_the_difference_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.part"
    filled(path)
    content = path.read_bytes()
    for about, message in (
        ({**ABOUT, "rate": 0.2}, r"its rate is 0\.1, not 0\.2; remove it"),
        ({**ABOUT, "model": {"weights": "f" * 64}}, r"its model\.weights is '012345678901…', not"),
        ({**ABOUT, "more": 1}, "its more is None, not 1"),
    ):
        with pytest.raises(WordbiasError, match=f"line 1: is of another sweep: {message}"):
            Store(path, about, ("part", "seed"), what="sweep")
    monkeypatch.setattr("wordbias.store.__version__", "9.9")
    with pytest.raises(WordbiasError, match=r"another run: its wordbias is '.*', not '9\.9'"):
        Store(path, ABOUT, ("part", "seed"))
    assert path.read_bytes() == content


def test_results_of_other_settings_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    Store(path, {"seed": 0}, draws=False).put(rows=[ROW])
    (known,) = (json.loads(path.read_bytes()),)
    assert set(known) == {"about", "rows"}
    other = Store(path, {"seed": 1}, refuse=False, draws=False)
    assert (other.get(), about_in(path)["seed"]) == (None, 0)
    other.put(rows=[])
    assert json.loads(path.read_bytes())["about"]["seed"] == 1
    path.write_bytes(b"{")
    assert Store(path, {"seed": 1}, refuse=False).get() is None
    assert about_in(path) == about_in(tmp_path / "none") == {}


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.part")
    (tmp_path / "a.part").unlink()
    (tmp_path / "a.part").mkdir()
    with pytest.raises(WordbiasError, match=r"a\.part: could not be written: Is a directory; mend"):
        store.put("p", 9)


def test_a_run_that_ends_leaves_nothing_behind(tmp_path: Path) -> None:
    output, part, other = (tmp_path / name for name in ("a", "a.part", "a.null.part"))
    with resumable(output, part, other):
        filled(part)
        with pytest.raises(WordbiasError, match="another process is writing it"), locked(output):
            pass
    assert list(tmp_path.iterdir()) == []
    with resumable(output, part, keep=True):
        filled(part)
    assert list(tmp_path.iterdir()) == [part]


def test_an_interruption_says_where_the_same_call_resumes(tmp_path: Path) -> None:
    output, part, other = (tmp_path / name for name in ("a", "a.part", "a.null.part"))

    def interrupted(message: str, *given: Any, **more: Any) -> None:
        with pytest.raises(KeyboardInterrupt) as raised, resumable(*given, **more):
            raise KeyboardInterrupt
        assert str(raised.value) == message

    interrupted("", output, part)
    interrupted("start it again with an output file, and the next interruption loses nothing", None)
    filled(part)
    interrupted("the same call resumes from a.part", output, part, other)
    interrupted("the same call resumes from a.part: 3 of 4", output, part, done=lambda: "3 of 4")
    filled(other)
    interrupted("the same call resumes from a.part and a.null.part", output, part, other)
    message = "the same call resumes from a.part and 2 other files"
    interrupted(message, output, part, other, tmp_path)
    with pytest.raises(Interrupted, match="elsewhere"), resumable(output, part):
        raise Interrupted("elsewhere")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.null.part", "a.part"]


JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-3, 3) | some.sampled_from(["", "a", "b"]),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from("xyz"), inner)
    ),
    max_leaves=6,
)


def _plain(value: Any) -> Any:
    """Leave out what is None in a dictionary: it says no more than a missing key."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=examples(300), deadline=None)
@given(JSON, JSON)
def test_a_difference_is_found_where_there_is_one(one: Any, other: Any) -> None:
    assert difference(one, one) is None
    assert (difference(one, other) is None) == (_plain(one) == _plain(other))


def test_a_difference_is_named() -> None:
    first = {"model": [{"recipe": {"rate": 0.1}}, {"recipe": {"rate": 0.2}}]}
    other = {"model": [{"recipe": {"rate": 0.1}}, {"recipe": {"rate": 0.3}}]}
    assert difference(first, other) == "model.2.recipe.rate is 0.2, not 0.3"
    assert difference(first, {"model": []}) == "model has 2 entries, not 0"
    assert difference({"seed": 1}, other) == "model is another"
    hashes = {"data": "0123456789" * 5}, {"data": "f" * 64}
    assert difference(*hashes) == "data is '012345678901…', not 'ffffffffffff…'"
    assert difference({"a": (1, 2)}, {"a": [1, 2]}) is None
