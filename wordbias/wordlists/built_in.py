"""The attributes that come with wordbias by name, and how one is asked for: ``religion:a,b``."""

from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.wordlists._toml import packaged

ATTRIBUTES = {
    "gender": "female and male first names, English pairs",
    "gender-de": "the same in German",
    "age": "words for the young and for the old",
    "religion": "words of five religions",
    "ethnicity": "first names by the ethnicity US bearers of them reported",
}
"""What each holds, in a few words."""


class Asked(NamedTuple):
    """A file with groups of words, and the names of those chosen of them; none for all."""

    file: Traversable
    chosen: tuple[str, ...] = ()


def asked(text: object) -> Asked:
    """Find what ``NAME|FILE[:GROUP,GROUP]`` asks for; without it, gender.

    A built-in name comes before a file of that name, which ``./NAME`` still reads; a `Path` is
    always a file.

    Raises
    ------
    WordbiasError
        If it has no suffix and no folder, as names have none, and is neither built in nor a file.
    """
    if isinstance(text, Path):
        return Asked(text)
    text = "gender" if text is None else text
    if not isinstance(text, str):
        raise WordbiasError(
            f"--groups: got {type(text).__name__}; expected one of {', '.join(ATTRIBUTES)}, a "
            'TOML file, or {"female": [...], "male": [...]}'
        )
    name, _, choice = text.rpartition(":")
    chosen = tuple(part.strip() for part in choice.split(","))
    if not name or (len(chosen) < 2 and name not in ATTRIBUTES) or Path(text).exists():
        return Asked(_find(text))
    return Asked(_find(name), chosen)


def _find(name: str) -> Traversable:
    if not name:
        raise WordbiasError(f"the attribute has no name; built in are {', '.join(ATTRIBUTES)}")
    if name in ATTRIBUTES:
        return packaged(f"{name}.toml")
    path = Path(name)
    if path.suffix or len(path.parts) > 1 or path.exists():
        return path
    raise WordbiasError(
        f"no attribute {name!r}: built in are {', '.join(ATTRIBUTES)}; name one of them, or a TOML "
        "file with groups of words"
    )
