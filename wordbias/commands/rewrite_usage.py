"""Which options of `wordbias rewrite` belong to which methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

_OF_METHODS: Mapping[str, tuple[str, ...]] = {
    "attribute_file": ("scrub", "swap"),
    "as_published": ("scrub",),
    "words": ("scrub",),
    "names_column": ("scrub",),
    "first_names": ("scrub",),
    "mask": ("scrub", "extra-scrub"),
    "label": ("subsample", "oversample"),
    "group": ("subsample", "oversample", "extra-scrub"),
    "within": ("extra-scrub",),
    "rounds": ("extra-scrub",),
    "words_per_round": ("extra-scrub",),
    "splits": ("extra-scrub",),
    "until": ("extra-scrub",),
    "swap_names": ("swap",),
    "keep_original": ("swap",),
    "swap_values": ("swap",),
    "spans": ("anonymise",),
    "model": ("anonymise",),
    "entities": ("anonymise",),
}


_NEEDED: Mapping[str, tuple[str, ...]] = {
    "subsample": ("label", "group"),
    "oversample": ("label", "group"),
    "extra-scrub": ("group",),
}


def refuse_unused(chosen: list[str], options: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing, and methods without what they need."""
    source = click.get_current_context().get_parameter_source
    for key, owners in _OF_METHODS.items():
        if source(key) is not click.core.ParameterSource.DEFAULT and not set(owners) & set(chosen):
            raise click.UsageError(f"{option_of(key)} is for {' and '.join(owners)}")
    for method, needed in _NEEDED.items():
        for key in needed if method in chosen else ():
            if options[key] is None:
                raise click.UsageError(f"{method} needs {option_of(key)} COLUMN")
    if "anonymise" in chosen and (options["spans"] is None) == (options["model"] is None):
        raise click.UsageError("anonymise needs --spans COLUMNS or --spacy MODEL, one of the two")
    if options["attribute_file"] and (options["as_published"] or options["swap_names"]):
        raise click.UsageError("--as-published and --swap-names are about gender, not --attribute")
    if len(options["spans"] or ()) > 2:
        raise click.UsageError("--spans takes one column with a list, or two with start and end")


def option_of(key: str) -> str:
    """Return how an option is written."""
    named = {"model": "--spacy", "attribute_file": "--attribute"}
    return named.get(key) or f"--{key.replace('_', '-')}"
