"""What every query must be: four sets of different names, none of which shares a word."""

from collections.abc import Iterable
from importlib.resources.abc import Traversable

from wordbias.errors import WordbiasError
from wordbias.wordlists._toml import as_words
from wordbias.wordlists.queries import Pair, Query, Words


def as_names(value: object, where: str) -> Words:
    """Return the names of two different sets, refusing anything else."""
    names = as_words(value, where) if value else ()
    if len(names) != 2:
        raise WordbiasError(
            f"{where}: expected the names of two different sets, found {len(names)}; "
            'write two, such as "male" and "female"'
        )
    return names


def checked(query: Query, where: str) -> Query:
    """Refuse sets that are compared with each other and share a word."""
    if len(set(query.names)) < 4:
        raise WordbiasError(
            f"{where}: {query.name}: expected four different sets, found {', '.join(query.names)}; "
            "give each another name"
        )
    for two in (query.targets, query.attributes):
        disjoint(two, f"{where}: {query.name}")
    return query


def disjoint(two: Pair, where: str) -> None:
    """Refuse two sets that share a word."""
    (first, some), (second, others) = two
    known = {word.lower() for word in some}
    for word in others:
        if word.lower() in known:
            raise WordbiasError(
                f"{where}: expected sets without a common word, found {word!r} in both {first} and "
                f"{second}; remove it from one"
            )


def distinct(queries: Iterable[Query], file: Traversable) -> None:
    """Refuse two queries of one name."""
    seen: set[str] = set()
    for query in queries:
        if query.name in seen:
            raise WordbiasError(f"{file}: two queries {query.name!r}; rename one")
        seen.add(query.name)
