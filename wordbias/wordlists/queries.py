"""Queries: two sets of target words and two of attribute words, such as those of WEAT."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.wordlists.resolve import Resolved, candidates, resolve, resolve_pairs

Words = tuple[str, ...]
Named = tuple[str, Words]
Pair = tuple[Named, Named]

_REMEDY = "give words this embedding has with --queries FILE"


@dataclass(frozen=True)
class FoundQuery:
    """A query's words as one vocabulary spells them.

    Attributes
    ----------
    query
        What was asked.
    sets
        X, Y, A and B.
    pairs
        The i-th words of both target sets, for i = 1, 2, …; None where the sets, as listed, are
        not equally long.
    """

    query: "Query"
    sets: tuple[Resolved[str], Resolved[str], Resolved[str], Resolved[str]]
    pairs: Resolved[tuple[str, str]] | None

    def details(self) -> dict[str, Any]:
        """Return what every row says of its words: how many, which are missing, which case."""
        named = dict(zip(self.query.names, self.sets, strict=True))
        forms = [form for found in self.sets for form in found.how.values()]
        return {
            "set": self.query.name,
            "n": {name: len(found.found) for name, found in named.items()},
            "missing": {n: list(found.missing) for n, found in named.items() if found.missing},
            "case": {form: forms.count(form) for form in dict.fromkeys(forms)},
        }


@dataclass(frozen=True)
class Query:
    """Two named sets of target words (X, Y) and two of attribute words (A, B).

    Parameters
    ----------
    name
        What results call it.
    targets, attributes
        ``((name, words), (name, words))`` each.
    source
        Where the words come from.
    """

    name: str
    targets: Pair
    attributes: Pair
    source: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of X, Y, A and B."""
        return tuple(name for name, _ in (*self.targets, *self.attributes))

    def candidates(self) -> set[str]:
        """Return every spelling that `find` may look for."""
        return candidates(word for _, words in (*self.targets, *self.attributes) for word in words)

    def find(self, vocabulary: Container[str], what: str = "") -> FoundQuery:
        """Look every word up; `what` says where, in messages.

        Raises
        ------
        WordbiasError
            If fewer than two words of a set are found.
        """
        where = f"{what}: {self.name}" if what else self.name
        x, y, a, b = (
            resolve(words, vocabulary, f"{where}: {name}").at_least(2, _REMEDY)
            for name, words in (*self.targets, *self.attributes)
        )
        (_, first), (_, second) = self.targets
        pairs = None
        if len(first) == len(second):
            pairs = resolve_pairs(zip(first, second, strict=True), vocabulary, where)
        return FoundQuery(self, (x, y, a, b), pairs)


def choose_query(queries: Sequence[Query], name: str) -> tuple[Query, ...]:
    """Return the query called `name`, or every one for ``"all"``."""
    chosen = tuple(query for query in queries if name in (query.name, "all"))
    if not chosen:
        known = ", ".join(query.name for query in queries)
        raise WordbiasError(f"no query {name!r}; choose one of {known}, or all")
    return chosen
