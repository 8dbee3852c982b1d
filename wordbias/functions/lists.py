"""The word lists that measures and test sets are made of, and the measures."""

from __future__ import annotations

import os
from collections.abc import Sequence

from wordbias.calls import public
from wordbias.errors import UsageError, WordbiasError, unknown_name
from wordbias.measures.registry import BY_KEY, FAMILIES, MEASURES, Measure
from wordbias.measures.sembias import SemBias
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row
from wordbias.vocabulary import PUBLISHED, published_specific
from wordbias.wordlists import (
    ATTRIBUTES,
    Attribute,
    GroupsLike,
    Templates,
    WordGroups,
    load_attribute,
    names,
    wordlist,
)

_ALL = "measures"
_SETS = {
    "premises": "A person VERB a/an OBJECT .",
    "explicit": "premises × 8 gender words",
    "occupations": "premises × 32 stereotypical occupations",
    "names": "premises × 64 first names",
    "dev": "premises × 6 gender words × all occupations (Dev et al. 2020)",
}


@public
def lists(
    *measures: str,
    lists: str | os.PathLike[str] | Templates | None = None,
    groups: GroupsLike | None = None,
) -> Report:
    """Show the word lists: their words, sizes and sources; or explain measures.

    With ``lists`` the verbs, objects, people and occupations are read from a folder in the layout
    of Dev et al. (2020): nouns/objects/*, nouns/people/*, verbs/*_verbs.

    Parameters
    ----------
    *measures : str
        Measures, or families such as midb, to explain instead: what each asks, its neutral value,
        its limits and its source. ``measures`` explains all.
    lists : path, fetched name or Templates, optional
        Folder of the published lists, one word per line.
    groups : name, path or mapping, optional
        Groups of words: built-in name, or TOML file.

    Returns
    -------
    Report
        A row for each list, with its first words, and for each test set that the lists give. For
        measures, a row without a value for each one, with all texts about it.

    Raises
    ------
    WordbiasError
        If a file or folder cannot be read, or does not have this layout; or a measure is unknown.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.lists(groups="age")["group young"][0].details["first"]
    'young, younger, youngest, youth'
    >>> wb.lists("weat")["weat"][0].details["better"]
    'neutral'
    """
    if measures:
        if lists is not None or groups is not None:
            raise UsageError("measures have no word lists; leave out --lists and --groups")
        return _explained(measures)
    attribute = load_attribute(groups)
    templates = templates_of(lists)
    list_rows = [*_attribute_rows(attribute), *_template_rows(templates)]
    sizes = [
        Row("templates", f"size-{name}", count, {"set": name})
        for name, count in templates.sizes().items()
    ]
    return Report(
        rows=[*list_rows, *sizes],
        tables=[
            Table(
                f"Word lists; attribute {attribute.name}: {attribute.source}",
                ["list", "entries", "first entries"],
                [[row.measure, str(row.value), str(row.details["first"])] for row in list_rows],
            ),
            Table(
                "Test sets made from these lists",
                ["set", "pairs", "made of"],
                [
                    [row.details["set"], f"{row.value:,}", _SETS[row.details["set"]]]
                    for row in sizes
                ],
            ),
            Table(
                "Attributes, for --groups NAME",
                ["name", "description"],
                [list(item) for item in ATTRIBUTES.items()],
            ),
        ],
    )


def _explained(names: Sequence[str]) -> Report:
    """Return what there is to say about measures, named by themselves or by their families."""
    for name in names:
        if name not in (_ALL, *BY_KEY, *MEASURES):
            words = f"; its word lists: --groups {name}" if name in ATTRIBUTES else ""
            raise unknown_name("measure", name, (_ALL, *BY_KEY), f", or a name in the rows{words}")
    columns = ["measure", "title", "asks", "range", "neutral", "better"]
    rows, tables = [], []
    for family in FAMILIES:
        whole = not {_ALL, family.key}.isdisjoint(names)
        chosen = [measure for measure in family.measures if whole or measure.name in names]
        if not chosen:
            continue
        about = {
            "area": family.area,
            "family": family.title,
            "limits": family.limits,
            "method": family.method,
            "source": family.source,
        }
        rows += [
            Row(family.key, measure.name, None, {**_about_measure(measure), **about})
            for measure in chosen
        ]
        cells = [
            [
                measure.name,
                measure.title,
                measure.question,
                measure.scale,
                measure.neutral_text,
                measure.better_text,
            ]
            for measure in chosen
        ]
        note = f"{family.question} {family.description} Limits: {family.limits}"
        tables.append(Table(f"{family.area}. {family.title}", columns, cells, note))
    return Report(rows=rows, tables=tables)


def _about_measure(measure: Measure) -> dict[str, object]:
    names = ("title", "question", "scale", "neutral", "better", "caution")
    return {name: getattr(measure, name) for name in names}


def sembias_of(place: str | os.PathLike[str] | None) -> SemBias | None:
    """Read the SemBias test set of an argument, a file or a fetched name."""
    return None if place is None else SemBias.load(located(os.fspath(place)))


def templates_of(lists: str | os.PathLike[str] | Templates | None) -> Templates:
    """Return the words of sentences: from a folder, a fetched one by name, or the built-in ones."""
    if isinstance(lists, Templates):
        return lists
    if lists is not None and not isinstance(lists, (str, os.PathLike)):
        raise WordbiasError(f"--lists: expected a folder or Templates, got {type(lists).__name__}")
    return Templates.load(None if lists is None else located(os.fspath(lists)))


def vocabulary_of(
    vocab: str | os.PathLike[str] | Sequence[str] | None, attribute: Attribute | WordGroups
) -> tuple[tuple[str, ...] | None, frozenset[str] | None]:
    """Return the words to average over, or those that are not neutral; None for the default."""
    if vocab != PUBLISHED:
        return (None if vocab is None else wordlist(vocab)), None
    if attribute != Attribute.load():
        raise UsageError(
            f"--vocab={PUBLISHED} leaves out gendered English words, and the attribute is "
            f"{attribute.name}; give words of your own (--vocab=FILE), or leave it out"
        )
    return None, published_specific()


def _attribute_rows(attribute: Attribute | WordGroups) -> list[Row]:
    sets: dict[str, Sequence[Sequence[str]]]
    if isinstance(attribute, Attribute):
        sets = {"definitional pairs": attribute.pairs, "equalise pairs": attribute.equalise}
    else:
        sets = {
            "definitional sets": attribute.definitional,
            "equalise sets": attribute.equalise,
            "wider sets": attribute.wider,
        }
    members = zip(attribute.groups, attribute.members, strict=True)
    rows = [_row(attribute.name, f"group {group}", words) for group, words in members]
    for label, listed in sets.items():
        rows.append(_row(attribute.name, label, ["/".join(words) for words in listed]))
    rows.append(_row(attribute.name, "specific words", sorted(attribute.specific)))
    # subjects of sentences, by kind of word
    return rows + [
        _row(attribute.name, f"{kind} for sentences: {group}", words)
        for kind, by_group in attribute.subjects.items()
        for group, words in zip(attribute.groups, by_group, strict=True)
    ]


def _template_rows(templates: Templates) -> list[Row]:
    words_by_label = {f"verbs: {group}": words for group, words in templates.verbs.items()}
    words_by_label |= {f"objects: {group}": words for group, words in templates.objects.items()}
    words_by_label |= {"people": templates.people, "occupations": templates.occupations}
    rows = [_row("templates", label, words) for label, words in words_by_label.items()]
    return [*rows, _row("names", "names with share of women", list(names()))]


def _row(subject: str, label: str, words: Sequence[str]) -> Row:
    return Row(subject, label, len(words), {"first": ", ".join(words[:4])})
