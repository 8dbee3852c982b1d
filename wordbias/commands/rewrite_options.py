"""What the options of `wordbias rewrite` say together: columns, words to scrub, an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.formats.tables import kind_of
from wordbias.outcomes.scrubbing import Scrubber, gendered_words, register
from wordbias.outcomes.swapping import Swapper
from wordbias.wordlists import other_than_gender, wordlist
from wordbias.wordlists.rewriting import swaps, words_saying

BALANCING = ("subsample", "oversample")


def scrubber(options: Mapping[str, Any]) -> Scrubber:
    """Return what masks words, and names where asked."""
    further = wordlist(options["words"]) if options["words"] else ()
    other = other_than_gender(options["attribute_file"])
    own = words_saying(other) if other else gendered_words(options["as_published"])
    return Scrubber(
        own | {word.lower() for word in further},
        small_only=frozenset() if other else swaps().small_only,
        columns=tuple(options["names_column"] or ()),
        first_names=register() if options["first_names"] else frozenset(),
        mask=options["mask"],
        as_published=options["as_published"],
    )


def swapper(options: Mapping[str, Any]) -> Swapper:
    """Return what swaps words, and names where asked."""
    other = other_than_gender(options["attribute_file"])
    return Swapper.of(other) if other else Swapper.built_in(with_names=options["swap_names"])


def needed_columns(options: Mapping[str, Any]) -> list[str]:
    """Return all columns that some method needs."""
    one = (options[key] for key in ("label", "group", "within"))
    listed = (options["names_column"] or (), options["spans"] or (), options["where"])
    found = [name for name in one if name is not None]
    return [*found, *(name for names in listed for name in names), *options["swap_values"]]


def refuse_moved_spans(methods: Sequence[str], spans: Sequence[str] | None) -> None:
    """Refuse methods that change a text before the spans in it are put to use.

    Raises
    ------
    WordbiasError
        With the order that works.
    """
    before = methods[: methods.index("anonymise")] if spans else []
    moving = [name for name in before if name not in BALANCING]
    if moving:
        raise WordbiasError(
            f"{moving[0]} before anonymise: would move the spans; write anonymise,{moving[0]}"
        )


def check_output(data: str, output: str, lists: Mapping[str, str | None]) -> None:
    """Refuse early an output that cannot be written, or would be of another form than the input.

    Parameters
    ----------
    lists
        Other files that are read, by what they are called on the command line.

    Raises
    ------
    WordbiasError
        Saying which.
    """
    refuse_same({"the output": output}, {"DATA": data, **lists})
    check_writable(output)
    kinds = kind_of(Path(data)), kind_of(Path(output))
    if kinds[0] != kinds[1]:
        raise WordbiasError(
            f"{output}: would be {kinds[1]}, but {data} is {kinds[0]}, and rewriting keeps the "
            "form; give both the same suffix"
        )
