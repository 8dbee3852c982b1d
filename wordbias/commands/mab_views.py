"""Options of commands that build test sets of marked attribute bias."""

from __future__ import annotations

import click

from wordbias.commands.options import stacked
from wordbias.nli.fillers import marked_sets
from wordbias.wordlists import Attribute

ALL = "all"

list_options = stacked(
    click.option(
        "--lists", metavar="FOLDER", help="Word lists as Dev et al. (2020) publish theirs."
    ),
    click.option(
        "--as-published",
        is_flag=True,
        help="Articles by the first letter alone, as in the published sets: a SUV.",
    ),
)


def chosen_sets(name: str | None, attribute: Attribute | None = None) -> tuple[str, ...]:
    """Return the sets that the option --set names: without it the first there are words for."""
    if name == ALL:
        return marked_sets(attribute)
    return (marked_sets(attribute)[0] if name is None else name,)
