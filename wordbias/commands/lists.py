"""`wordbias lists`: the word lists that measures and test sets are made of."""

from __future__ import annotations

from collections.abc import Sequence

import click

from wordbias.commands.options import common_options, format_option, show
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row
from wordbias.wordlists import ATTRIBUTES, Attribute, Templates, WordGroups, load_attribute, names

_SETS = {
    "premises": "A person VERB a/an OBJECT .",
    "explicit": "premises × 8 gender words",
    "occupations": "premises × 32 stereotypical occupations",
    "names": "premises × 64 first names",
    "dev": "premises × 6 gender words × all occupations (Dev et al. 2020)",
}


@click.command()
@click.option("--lists", "folder", help="Folder of the published one-word-a-line lists.")
@click.option(
    "--attribute",
    "attribute_file",
    metavar="NAME|FILE",
    help="Built-in name, or TOML file with groups of words.",
)
@format_option
@common_options
def command(folder: str | None, attribute_file: str | None, to: str, quiet: bool) -> None:
    """Show the word lists: what is in them, how many, from where.

    With --lists the verbs, objects, people and occupations are read from a folder in the layout
    of Dev et al. (2020): nouns/objects/*, nouns/people/*, verbs/*_verbs.

    \b
    Examples:
      wordbias lists
      wordbias lists --lists word_lists/ --format json
      wordbias lists --attribute religion
    """
    attribute = load_attribute(attribute_file)
    templates = Templates.load(located(folder))
    lists = [*_attribute_rows(attribute), *_template_rows(templates)]
    sizes = [
        Row("templates", f"size-{name}", count, {"set": name})
        for name, count in templates.sizes().items()
    ]
    tables = [_lists_table(attribute, lists), _sizes_table(sizes), _attributes_table()]
    arguments = {"lists": folder, "attribute": attribute_file}
    show(Report("lists", arguments, {}, [*lists, *sizes], tables), to)


def _lists_table(attribute: Attribute | WordGroups, rows: Sequence[Row]) -> Table:
    return Table(
        f"Word lists; attribute {attribute.name}: {attribute.source}",
        ["list", "entries", "first entries"],
        [[row.measure, str(row.value), str(row.details["first"])] for row in rows],
    )


def _sizes_table(rows: Sequence[Row]) -> Table:
    return Table(
        "Test sets these lists give",
        ["set", "pairs", "made of"],
        [[row.details["set"], f"{row.value:,}", _SETS[row.details["set"]]] for row in rows],
    )


def _attributes_table() -> Table:
    cells = [list(item) for item in ATTRIBUTES.items()]
    return Table("Attributes, for --attribute NAME", ["name", "what"], cells)


def _attribute_rows(attribute: Attribute | WordGroups) -> list[Row]:
    lists = dict(zip(attribute.groups, attribute.members, strict=True))
    found = [_row(attribute.name, f"group {group}", words) for group, words in lists.items()]
    for label, sets in _sets(attribute).items():
        found.append(_row(attribute.name, label, ["/".join(words) for words in sets]))
    found.append(_row(attribute.name, "specific words", sorted(attribute.specific)))
    return [*found, *_subject_rows(attribute)]


def _subject_rows(attribute: Attribute | WordGroups) -> list[Row]:
    """One row a kind of word and group: whom sentences are about."""
    return [
        _row(attribute.name, f"{kind} for sentences: {group}", words)
        for kind, lists in attribute.subjects.items()
        for group, words in zip(attribute.groups, lists, strict=True)
    ]


def _sets(attribute: Attribute | WordGroups) -> dict[str, tuple[tuple[str, ...], ...]]:
    if isinstance(attribute, Attribute):
        return {"definitional pairs": attribute.pairs, "equalise pairs": attribute.equalise}
    return {
        "definitional sets": attribute.definitional,
        "equalise sets": attribute.equalise,
        "wider sets": attribute.wider,
    }


def _template_rows(templates: Templates) -> list[Row]:
    lists = {f"verbs: {group}": words for group, words in templates.verbs.items()}
    lists |= {f"objects: {group}": words for group, words in templates.objects.items()}
    lists |= {"people": templates.people, "occupations": templates.occupations}
    found = [_row("templates", label, words) for label, words in lists.items()]
    return [*found, _row("names", "names with share of women", list(names()))]


def _row(subject: str, label: str, words: list[str] | tuple[str, ...]) -> Row:
    return Row(subject, label, len(words), {"first": ", ".join(words[:4])})
