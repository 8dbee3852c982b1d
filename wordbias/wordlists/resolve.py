"""Finding listed words in a vocabulary, in whatever case it spells them."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from wordbias.errors import WordbiasError

Item = TypeVar("Item", str, tuple[str, str])

_REMEDY = "give words this embedding has with --groups FILE"
_SHOWN = 3


@dataclass(frozen=True)
class Resolved(Generic[Item]):
    """Items of a list found in a vocabulary and missing from it; words, or pairs of words."""

    listed: tuple[Item, ...]  # items as listed
    # items the vocabulary has, spelled as it spells them, in the order listed. Items with the same
    # spelling there count once.
    found: tuple[Item, ...]
    # for each word in `found`: `"as written"`, `"lower-cased"` or `"capitalised"`
    how: Mapping[str, str]
    missing: tuple[Item, ...]  # items the vocabulary has in no form
    what: str = ""  # name of the items in messages: `"group female"`

    def at_least(self, n: int, remedy: str = _REMEDY) -> Self:
        """Return this object, or raise if fewer than `n` items were found."""
        if len(self.found) >= n:
            return self
        noun = "pairs" if any(isinstance(item, tuple) for item in self.listed) else "words"
        counts = f"{len(self.found)} of {len(self.listed)} {noun} found (at least {n} needed)"
        parts = [f"{self.what}: {counts}" if self.what else counts]
        if self.missing:
            parts.append(f"first missing: {_first(self.missing)}")
        raise WordbiasError(f"{': '.join(parts)}; {remedy}")


def resolve(words: Iterable[str], vocabulary: Container[str], what: str = "") -> Resolved[str]:
    """Find each word as written, else lower-cased, else capitalised."""
    listed = tuple(words)
    how: dict[str, str] = {}
    missing = []
    for word in listed:
        match = _match(word, vocabulary)
        if match is None:
            missing.append(word)
        else:
            how.setdefault(*match)
    return Resolved(listed, tuple(how), how, tuple(dict.fromkeys(missing)), what)


def resolve_pairs(
    pairs: Iterable[Sequence[str]], vocabulary: Container[str], what: str = ""
) -> Resolved[tuple[str, str]]:
    """Find both words of each pair by the rule of :func:`resolve`."""
    # A pair is missing if one of its words is, or if both are found with the same spelling: such a
    # pair has no difference.
    listed = tuple((first, second) for first, second in pairs)
    how: dict[str, str] = {}
    found_pairs: dict[tuple[str, str], None] = {}
    missing = []
    for pair in listed:
        first, second = (_match(word, vocabulary) for word in pair)
        if first is None or second is None or first[0] == second[0]:
            missing.append(pair)
            continue
        found_pairs[first[0], second[0]] = None
        how.setdefault(*first)
        how.setdefault(*second)
    return Resolved(listed, tuple(found_pairs), how, tuple(dict.fromkeys(missing)), what)


def candidates(words: Iterable[str]) -> set[str]:
    """Return every spelling :func:`resolve` may look for."""
    # A reader that streams a large file keeps these words and may drop all others.
    return {form for word in words for form, _ in _forms(word)}


def _forms(word: str) -> Iterator[tuple[str, str]]:
    yield word, "as written"
    yield word.lower(), "lower-cased"
    yield word.capitalize(), "capitalised"


def _match(word: str, vocabulary: Container[str]) -> tuple[str, str] | None:
    return next((match for match in _forms(word) if match[0] in vocabulary), None)


def _first(items: Sequence[str | tuple[str, str]]) -> str:
    texts = [item if isinstance(item, str) else "/".join(item) for item in items[:_SHOWN]]
    return ", ".join([*texts, "…"] if len(items) > _SHOWN else texts)
