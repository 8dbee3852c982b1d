"""What a golden call gave, as a structure that is stored and compared."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

import wordbias

ZERO = float(np.finfo(np.float32).eps)
"""What is left of 0 in single precision."""
ZERO_TRAINED = 16 * ZERO
"""What is left of a difference of two probabilities behind the layers of an encoder."""
LONG, SHOWN = 40, 4
"""Of a file with more lines than the first, so many are stored as they are."""
WORDS = "checksum of the words"

# masks

_MASKS = (
    (re.compile(r"\b[0-9a-f]{32,}\b"), "<hash>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b\d+\.\d+\.\d+(?:\.?(?:dev|rc|post|a|b)\d+)?(?:\+\w+)?\b"), "<version>"),
)
_MASKED_KEYS = {
    "row_draws": "<draws>",
    "wordbias": "<version>",
    "versions": "<versions>",
    "transformers_version": "<version>",
    "seconds": "<seconds>",
    "sha256": "<hash>",
}


def masked(value: Any) -> Any:
    """Replace what differs from machine to machine, or from day to day."""
    if isinstance(value, str):
        for pattern, instead in _MASKS:
            value = pattern.sub(instead, value)
        return value
    if isinstance(value, list):
        return [masked(part) for part in value]
    if isinstance(value, dict):
        return {
            masked(key): _MASKED_KEYS[key] if key in _MASKED_KEYS else masked(part)
            for key, part in value.items()
        }
    return value


_TIMES = (
    (re.compile(r'("texts-per-second",\s*"value": ?)[0-9.e+-]+'), r"\g<1>0"),
    (re.compile(r"(  seconds  texts/s\n.*?) +\S+ +\S+\n"), r"\1 <seconds> <rate>\n"),
)


def without_times(said: str, folder: Path) -> str:
    """Replace in what was printed how long it took, and where it ran."""
    places = {str(folder): "<folder>", str(Path(wordbias.__file__).parent): "<package>"}
    for place, instead in places.items():
        said = said.replace(json.dumps(place)[1:-1], instead).replace(place, instead)
    for pattern, instead in _TIMES:
        said = pattern.sub(instead, said)
    return said


# what a call gave


def record(line: str, code: int, out: str, err: str, folder: Path, made: list[Path]) -> Any:
    """Return the masked structure of a call: what it printed, and the files that it made."""
    fields = {"call": f"wordbias {line}", "exit": code, "stdout": text(without_times(out, folder))}
    fields["stderr"] = lines(without_times(err, folder))
    fields["files"] = {path.relative_to(folder).as_posix(): file(path) for path in made}
    return masked(json.loads(without_times(json.dumps(fields), folder)))


def text(said: str) -> Any:
    """Return JSON, or JSON lines, as what they hold, and all other text as its lines."""
    if said.startswith("{"):
        try:
            return json.loads(said)
        except ValueError:
            return [json.loads(line) for line in said.splitlines()]
    return lines(said)


def lines(said: str) -> list[str]:
    return said.split("\n")[:-1] if said.endswith("\n") else said.split("\n") if said else []


def file(path: Path) -> Any:
    """Return what is compared of a file."""
    if path.suffix in (".safetensors", ".adapter"):
        return _arrays(path)
    if path.suffix == ".html":
        return visible(path.read_text(encoding="utf-8"))
    if path.suffix in (".csv", ".json", ".jsonl", ".md", ".tsv", ".txt", ".vec"):
        content = path.read_text(encoding="utf-8")
        read = text(content)
        return read if not isinstance(read, list) or len(read) <= LONG else _long(read)
    return "<not compared>"


def _long(rows: list[Any]) -> Any:
    """Return the first rows, and of all of them what numbers and words there are."""
    joined = masked("\n".join(map(str, rows)))
    numbers = [_number(number) for number in _NUMBER.findall(joined) if _is_real(number)]
    words = _NUMBER.sub(lambda match: "#" if _is_real(match[0]) else match[0], joined)
    return {
        "first": rows[:SHOWN],
        "lines": len(rows),
        WORDS: zlib.crc32(words.encode()),
        "mean square of the numbers": float(np.mean(np.square(numbers))) if numbers else None,
    }


def _number(text: str) -> float:
    return float(text.replace("−", "-"))  # the minus sign of tables


def _arrays(path: Path) -> Any:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as opened:
        about = {key: _parsed(value) for key, value in (opened.metadata() or {}).items()}
        arrays = {name: _array(opened.get_tensor(name)) for name in sorted(opened.keys())}
    return {"metadata": dict(sorted(about.items())), "arrays": arrays}


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _array(array: Any) -> Any:
    about: dict[str, Any] = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind == "f" and array.size:
        flat = array.astype(np.float64).ravel()
        about |= {"first": flat[:3].tolist(), "mean square": float(np.mean(flat**2))}
    elif array.size:
        about["checksum"] = zlib.crc32(np.ascontiguousarray(array).tobytes())
    return about


class _Visible(HTMLParser):
    """Collects the text that a reader of a page sees."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.parts.append(" ".join(data.split()))


def visible(page: str) -> list[str]:
    """Return the visible text of a page, one piece a line, but for versions of libraries.

    Which libraries a process has imported depends on what it did before.
    """
    parser = _Visible()
    parser.feed(re.sub("<dt>version of [^<]*</dt><dd>[^<]*</dd>", "", page))
    return parser.parts


def stored(value: Any, indent: int = 0) -> str:
    """Return JSON in which what is short stands on one line."""
    whole = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(whole) <= ONE_LINE:
        return whole
    start = "\n" + " " * (indent + 1)
    if isinstance(value, list):
        inside = [stored(part, indent + 1) for part in value]
    else:
        inside = [f"{stored(key)}: {stored(part, indent + 1)}" for key, part in value.items()]
    first, last = "[]" if isinstance(value, list) else "{}"
    return first + start + f",{start}".join(inside) + "\n" + " " * indent + last


ONE_LINE = 600

# comparing

_NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?![\w])")


def _is_real(number: str) -> bool:
    return "." in number or "e" in number


def differences(expected: Any, found: Any, trained: bool, at: str = "") -> Iterator[str]:
    """Yield where two records differ, in words."""
    # Keys, words, whole numbers, lengths and orders are equal; other numbers within 1e-5 of each
    # other (float32 on another processor), or 1e-3 where something was trained. A number in a text
    # may also differ by the rounding of its last digit, and a change in a row by that of the values
    # whose difference it is. Where something was trained, words behind the first rows of a long
    # file are not compared: another processor may predict another class.
    if isinstance(expected, dict) and isinstance(found, dict):
        if list(expected) != list(found):
            yield f"{at}: expected the keys {list(expected)}, found {list(found)}"
        for key in (expected.keys() & found.keys()) - ({WORDS} if trained else set()):
            if not _equal_change(expected, key, found[key], trained):
                yield from differences(expected[key], found[key], trained, f"{at}/{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{at}: expected {len(expected)} items or lines, found {len(found)}"
        for i, (old, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(old, other, trained, f"{at}/{i}")
    elif not _equal(expected, found, trained):
        yield f"{at}: expected {expected!r}, found {found!r}"


def settled(expected: Any, found: Any, trained: bool) -> Any:
    """Return what was found, with the numbers that were expected where they are equal.

    What is written anew then differs from what stood there in what changed, and not in rounding.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        return {
            key: expected[key]
            if _equal_change(expected, key, new, trained)
            else settled(expected.get(key), new, trained)
            for key, new in found.items()
        }
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [settled(old, new, trained) for old, new in zip(expected, found, strict=True)]
    return expected if _equal(expected, found, trained) else found


def _equal(expected: Any, found: Any, trained: bool) -> bool:
    if isinstance(expected, str) and isinstance(found, str):
        return expected == found or _equal_text(expected, found, trained)
    if type(expected) is float or type(found) is float:
        numbers = all(type(side) in (int, float) for side in (expected, found))
        return numbers and _near(expected, found, trained)
    return type(expected) is type(found) and expected == found


def _equal_change(row: Any, key: str, found: Any, trained: bool) -> bool:
    """Say whether a number is a change, and that of a row but for the rounding of its values."""
    if "change" not in key or type(row.get(key)) is not float or type(found) is not float:
        return False
    values = re.compile("value|low|high|change")
    size = max(
        abs(cell) for name, cell in row.items() if type(cell) is float and values.search(name)
    )
    return _near(row[key], found, trained, size * (1e-3 if trained else 1e-5))


def _near(expected: float, found: float, trained: bool, rounding: float = 0) -> bool:
    zero, share = (ZERO_TRAINED, 1e-3) if trained else (ZERO, 1e-5)
    return math.isclose(expected, found, rel_tol=share, abs_tol=max(zero, rounding))


def _equal_text(expected: str, found: str, trained: bool) -> bool:
    if _NUMBER.sub("#", expected) != _NUMBER.sub("#", found):
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(found), strict=True)
    return all(number == other or _near_printed(number, other, trained) for number, other in pairs)


def _near_printed(expected: str, found: str, trained: bool) -> bool:
    if not _is_real(expected) or not _is_real(found):
        return False
    rounding = 1.01 * _last_digit(expected)
    return _near(_number(expected), _number(found), trained, rounding)


def _last_digit(number: str) -> float:
    """Return what one more in the last digit of a number is worth."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
