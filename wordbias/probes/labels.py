"""Labels: of a file with one a line, of a column, of words, of first names."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.foreign import refuse_foreign
from wordbias.lines import read_bounded
from wordbias.probes.representations import Column
from wordbias.wordlists.names import names
from wordbias.wordlists.resolve import resolve

FEMALE = 0.5
"""Share of female bearers from which on a name counts as female."""


def read_labels(path: str | Path) -> Column:
    """Read a file with one label a line.

    Raises
    ------
    WordbiasError
        If it cannot be read, is not UTF-8, or a line is blank.
    """
    lines = _lines(Path(path))
    for i, line in enumerate(lines, 1):
        if not line.strip():
            raise WordbiasError(f"{path}: line {i} is blank; expected one label a line")
    return Column.of(line.strip() for line in lines)


def read_word_labels(path: str | Path) -> dict[str, str]:
    """Read a file with a word, a tab and its label on each line.

    Raises
    ------
    WordbiasError
        If it cannot be read, is not UTF-8, a line is of another form, or a word has two labels.
    """
    found: dict[str, str] = {}
    for i, line in enumerate(_lines(Path(path)), 1):
        word, tab, label = line.partition("\t")
        if not (tab and word and label.strip()) or "\t" in label:
            raise WordbiasError(
                f"{path}: line {i}: expected a word, a tab and its label, found {line[:60]!r}"
            )
        if found.setdefault(word, label.strip()) != label.strip():
            raise WordbiasError(
                f"{path}: line {i}: {word!r} is labelled {label.strip()!r}, but "
                f"{found[word]!r} before; leave one"
            )
    return found


def name_labels() -> dict[str, str]:
    """Return the gender of first names: female where at least half of their bearers are."""
    return {name: "female" if share >= FEMALE else "male" for name, share in names().items()}


@dataclass(frozen=True)
class LabelledVocabulary:
    """Labelled words as a vocabulary spells them.

    Attributes
    ----------
    words, labels
        The words that it has, and a label for each.
    missing
        Those that it has in no form.
    """

    words: Sequence[str]
    labels: Column
    missing: Sequence[str]

    @classmethod
    def of(cls, labels: Mapping[str, str], vocabulary: Container[str]) -> LabelledVocabulary:
        """Find each word as written, else lower-cased, else capitalised; the first one counts."""
        found: dict[str, str] = {}
        missing = []
        for word, label in labels.items():
            spelled = resolve([word], vocabulary).found
            if spelled:
                found.setdefault(spelled[0], label)
            else:
                missing.append(word)
        return cls(tuple(found), Column.of(found.values()), missing)


def _lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file, without the empty end."""
    try:
        data = read_bounded(path)
    except OSError as error:
        raise WordbiasError(f"{path}: cannot be read: {error.strerror or error}") from None
    refuse_foreign(path, data.partition(b"\n")[0])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WordbiasError(
            f"{path}: line {line} is not UTF-8 text (byte 0x{data[error.start]:02x}); "
            "convert the file, for example with: iconv -f latin1 -t utf8"
        ) from None
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        raise WordbiasError(f"{path}: is empty; expected one label a line")
    return [line.removesuffix("\r") for line in lines]
