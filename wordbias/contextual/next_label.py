"""Which of two outputs says that a sentence is next."""

from __future__ import annotations

from collections.abc import Mapping

from wordbias.errors import WordbiasError

_NEXT = frozenset({"isnext", "next", "isnextsentence", "nextsentence"})
_NOT_NEXT = frozenset({"notnext", "isnotnext", "random", "randomsentence", "notnextsentence"})


def next_place(
    id2label: Mapping[int, str], given: str | None, name: str, default: int | None
) -> int:
    """Return which of two outputs means "is next".

    Parameters
    ----------
    id2label
        Of the model's config.
    given
        What a user says: a label, or its number.
    name
        Of the model, for messages.
    default
        Where the config says nothing; None if it must.

    Raises
    ------
    WordbiasError
        If there is no such label, or nothing tells.
    """
    names = [str(id2label[i]) for i in sorted(id2label)] or ["LABEL_0", "LABEL_1"]
    if given is not None:
        if given in names:
            return names.index(given)
        if given in ("0", "1"):
            return int(given)
        raise WordbiasError(f"--next-label={given}: {name} has the labels {', '.join(names)}")
    plain = ["".join(filter(str.isalnum, label)).lower() for label in names]
    told = [label in _NEXT or plain[1 - i] in _NOT_NEXT for i, label in enumerate(plain)]
    if sum(told) == 1:
        return told.index(True)
    if default is None:
        raise WordbiasError(
            f"{name}: its labels {', '.join(names)} do not tell which one means that a sentence is "
            f"next; say so with --next-label={names[0]} or {names[1]}"
        )
    return default
