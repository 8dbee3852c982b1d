"""WEAT and five measures on the same words: associations between two sets and two others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from wordbias import cells
from wordbias.calls import public
from wordbias.configuration import READS_VECTORS, uses
from wordbias.draws import with_holm
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.inputs import (
    EmbeddingsLike,
    by_name,
    names_of,
    open_subjects,
    path_of,
    reading,
)
from wordbias.measures.associations import AT_ONCE, check_measures, measure_groups, measure_queries
from wordbias.measures.registry import meaning
from wordbias.measures.weat import PARTITIONS, READING, Settings
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.wordlists import (
    Attribute,
    GroupsLike,
    Query,
    WordGroups,
    group_queries,
    load_attribute,
    load_two_sets,
    notes_on_language,
)
from wordbias.wordlists.queries import Pair, QueryLike, SetsLike, as_queries, file_of

_MARK = "*"
"""Mark of lines with a small p whose interval includes 0."""
_CLOSING = (
    "The 95 % intervals are a bootstrap over the words of all sets, the attribute words too, which "
    "p takes as fixed. "
)
_UNCORRECTED = "p is not corrected for the number of queries; --holm corrects it."
_HOLM = "p Holm is corrected for the number of tests of an embedding, even if they are dependent."


@public
@uses(*READS_VECTORS)
def weat(
    embeddings: EmbeddingsLike = None,
    query: QueryLike = "all",
    *,
    targets: SetsLike | None = None,
    attributes: SetsLike | None = None,
    groups: GroupsLike | None = None,
    only: str | Sequence[str] = "weat",
    ddof: int = 1,
    two_sided: bool = False,
    holm: bool = False,
    draws: int = PARTITIONS,
    seed: int = 0,
) -> Report:
    """Test associations between two sets of words and two others.

    The tests are WEAT (Caliskan et al. 2017), with its ten queries or your own, and five measures
    on the same words. Without ``embeddings`` the sample that comes with wordbias is used.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several
        The embeddings to measure; by default the sample that comes with wordbias.
    query : str, path, Query, {"targets": {name: words, …}, "attributes": …} or several
        Queries: names or numbers of WEAT's, 1,6-8, or all; names of SEAT's, such as
        angry-black-woman, or seat. Or your own TOML file or WEFE's JSON; FILE::NAME is one query in
        it.
    targets : str, two lists, or mapping from two names to words, optional
        Two sets of words, X and Y, for a query of your own: male,female by name. Or give it twice,
        once for each set, as a name, a file with a word per line, or words: he,him and she,her.
    attributes : str, two lists, or mapping from two names to words, optional
        Two sets of words, A and B, as ``targets``.
    groups : name, path or mapping, optional
        Groups: age, religion, …, or a TOML file. Every two of them are taken as X,Y.
    only : str or list of str
        Measures, some of weat,rnd,rnsb,mac,ect,ripa.
    ddof : int
        Delta degrees of freedom of the standard deviation: 1 as Caliskan et al., 0 as WEFE.
    two_sided : bool
        Compute a two-sided p-value.
    holm : bool
        Give p corrected for the number of tests as well (Holm).
    draws : int
        Number of partitions to draw if there are too many to count.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each value: its interval over words (``low``, ``high``), the number of words of
        each set, and the missing words. For WEAT also the p-value.

    Raises
    ------
    WordbiasError
        If a file cannot be used, no query has enough words, or a name is not known.

    Notes
    -----
    A query of your own is a mapping with ``targets`` and ``attributes``. Each of these is a mapping
    from two names to words, a pair of lists, or names of two sets that come with wordbias. ``name``
    and ``about`` are optional. The arguments ``targets`` and ``attributes`` take names of sets in
    the file ``query`` too.

    References
    ----------
    Caliskan, Bryson and Narayanan (2017), Semantics derived automatically from language corpora
    contain human-like biases.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.weat(query="weat7")
    >>> round(report["weat"][0].value, 2)
    1.28
    >>> jobs = {"jobs": ["engineer", "boss"], "others": ["nurse", "maid"]}
    >>> wb.weat(targets=jobs, attributes=["male", "female"]).rows[0].value > 1
    True
    """
    chosen = names_of(only)
    check_measures(chosen)
    if ddof not in (0, 1) or draws < 1:
        raise WordbiasError(
            f"expected --ddof 0 or 1 and --draws 1 or more, found {ddof} and {draws}"
        )
    own = not isinstance(query, str) and isinstance(query, (Query, Mapping))
    if own and (targets or attributes):
        raise UsageError("--query has words of its own: take no --targets and no --attributes")
    across = None
    if groups is None:
        tested = as_queries(query, targets=targets or (), attributes=attributes or ())
    else:
        name = path_of(query)
        file, names = (None, "") if name is None else file_of(name)
        if targets or names != "all":
            raise UsageError("--groups gives the targets: take no --targets and no --query")
        if not attributes:
            raise UsageError("--groups needs --attributes A,B, such as pleasant,unpleasant")
        across = load_attribute(groups), load_two_sets(attributes, file)
        tested = group_queries(*across)
    subjects = by_name(
        open_subjects(
            embeddings,
            reading(),
            wanted=set().union(*(test.candidates() for test in tested)),
        )
    )
    settings = Settings(ddof, "two-sided" if two_sided else "greater", draws, seed)
    rows_by_name: dict[str, list[Row]] = {}
    heading = []
    for name, subject in subjects.items():
        embedding = subject.embedding.renamed(name)
        if across is None:
            rows = measure_queries(embedding, tested, chosen, settings)
        else:
            rows = _across(embedding, across, chosen, settings)
        rows_by_name[name] = with_holm(rows) if holm else rows
    if across is not None:
        compared, ((a, _), (b, _)) = across
        heading = [f"Attribute {compared.name}: {', '.join(compared.groups)}; A = {a}, B = {b}."]
    return Report(
        inputs={name: subject.info.to_dict() for name, subject in subjects.items()},
        rows=[row for rows in rows_by_name.values() for row in rows],
        tables=[
            _associations_table(name, rows, tested, settings, by_group=across is not None)
            for name, rows in rows_by_name.items()
        ],
        heading=heading,
        closing=[_CLOSING + (_HOLM if holm else _UNCORRECTED)],
        seed=seed,
        notes=[] if across is None else notes_on_language(across[0]),
    )


def _across(
    embedding: Embedding,
    across: tuple[Attribute | WordGroups, Pair],
    measures: Sequence[str],
    settings: Settings,
) -> list[Row]:
    """Measure every two groups; an error says that no set comes in the language of the groups."""
    try:
        return measure_groups(embedding, *across, measures, settings)
    except WordbiasError as error:
        if not across[0].grammatical_gender:
            raise
        raise WordbiasError(
            f"{error}; {across[0].name} has no sets of attribute words of its language with it: "
            "give them by words or files, --attributes twice"
        ) from None


def _associations_table(
    subject: str,
    rows: Sequence[Row],
    queries: Sequence[Query],
    settings: Settings,
    *,
    by_group: bool,
) -> Table:
    """Make a line for each value, and a note on the numbers and the missing words."""
    sets = {query.name: "{}/{} × {}/{}".format(*query.names) for query in queries}
    named, words = (partial(_about, sets, by_group, part) for part in range(2))
    several = len({row.measure for row in rows}) > 1
    by: dict[str, object] = {"groups" if by_group else "query": named}
    by |= {**({"measure": "measure"} if several else {}), "words": words}
    mark = ("", lambda row: _MARK if "reading" in row.details else "")
    columns = values("value", "95 %", "p", ("p Holm", cells.p_holm), mark, ("n", _sizes))
    note = f"{'; '.join(_notes(rows, settings, by_group))}."
    return pivot(f"Associations in {subject}", rows, by, columns, note)


def _notes(rows: Sequence[Row], settings: Settings, by_group: bool) -> list[str]:
    notes = [meaning(name) for name in dict.fromkeys(row.measure for row in rows)]
    if any("p" in row.details for row in rows):
        sided = "one-sided" if settings.alternative == "greater" else "two-sided"
        drawn = f"exact or of {settings.samples:,} partitions"
        notes.append(f"p {sided}, {drawn}; ddof {settings.ddof}")
    if any("reading" in row.details for row in rows):
        notes.append(f"{_MARK}: {READING}")
    abouts = [] if by_group else _listed((row.details.get("about"), row) for row in rows)
    if abouts:
        notes.append(f"about: {', '.join(abouts)}")
    missing = _missing(rows, by_group)
    if missing:
        notes.append(f"missing: {', '.join(missing)}")
    reasons = [f"{r.details['set']} {r.details['reason']}" for r in rows if r.value is None]
    notes += dict.fromkeys(reasons)
    lacking = dict.fromkeys(name for row in rows for name in row.details.get("left_out", ()))
    return [*notes, *[f"without {', '.join(lacking)}, whose words are missing"] * bool(lacking)]


def _listed(named: Iterable[tuple[str | None, Row]]) -> list[str]:
    """Return the subjects of queries, each with its queries."""
    sets_by_name: dict[str, dict[str, None]] = {}
    for name, row in named:
        if name:
            sets_by_name.setdefault(name, {})[row.details["set"]] = None
    return [f"{name} ({', '.join(sets)})" for name, sets in sets_by_name.items()]


def _missing(rows: Sequence[Row], by_group: bool) -> list[str]:
    """Return the missing words by query, or by group if groups are compared."""
    lists: dict[str, list[str]] = {}
    for row in rows:
        for name, words in row.details.get("missing", {}).items():
            key = name if by_group else row.details["set"]
            lists.setdefault(key, []).extend(words)
    return [f"{name} ({', '.join(dict.fromkeys(words))})" for name, words in lists.items()]


def _about(sets: Mapping[str, str], by_group: bool, part: int, row: Row) -> str:
    """Return query or groups, the first part of a line's names, or the words, the second."""
    name, words = row.details["set"], row.details.get("words", "")
    if not by_group:
        words = words or sets[name]
        return (name, "" if words == name else words)[part]
    return ((words, "") if row.measure in AT_ONCE and words else (name, words))[part]


def _sizes(row: Row) -> str:
    n = list(row.details.get("n", {}).values())
    compared = str(sum(n[:-2])) if len(n) > 4 else "+".join(map(str, n[:-2]))
    if "units" in row.details:
        compared = how_many(row.details["units"], "pair")
    return f"{compared} × {'+'.join(map(str, n[-2:]))}" if n else "–"
