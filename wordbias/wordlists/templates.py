"""Words of the sentence templates, which verb goes with which object, and first names."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.wordlists.toml import as_table, as_words, packaged, read_lines, read_toml

Lists = dict[str, tuple[str, ...]]
_ONE_SEX = 0.98
"""Share of bearers of one sex from which on a name belongs to it."""


class Gendered(NamedTuple):
    """Two lists of words, the male one first, as the published tables print them."""

    male: tuple[str, ...]
    female: tuple[str, ...]


@dataclass(frozen=True)
class Templates:
    """Words that sentence pairs are built of: "A person V a/an O ." and its hypotheses.

    References
    ----------
    Dev, Li, Phillips and Srikumar (2020), "On Measuring and Mitigating Biased Inferences of Word
    Embeddings", section 3; Dawkins (2021), "Marked Attribute Bias in Natural Language Inference".
    """

    verbs: Lists
    objects: Lists
    people: tuple[str, ...]  # people, used as objects too
    # for each group of verbs the groups of objects it takes; `"people"` is one of them
    crossing: Lists
    occupations: tuple[str, ...]
    stereotypes: Gendered  # stereotypically male and female occupations
    nouns: Gendered
    pronouns: Gendered
    # the six gendered words that Dev et al. combine with all occupations.
    dev_words: tuple[str, ...]
    names: Gendered

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Templates":
        """Read the lists from a folder; without `path`, the built-in ones.

        The folder is laid out as Dev et al. publish theirs, one word a line:
        ``verbs/{commerce,driving,eating,interaction}_verbs``,
        ``nouns/objects/{clothes,farm_animals,food,furniture,household,vehicles}`` and
        ``nouns/people/{person_hyponyms,rulers,occupations,gendered_words}``; other files in it are
        not read. People are the person hyponyms and the rulers. The stereotypical occupations,
        the names and the crossing of groups, which such a folder lacks, are the built-in ones.
        """
        return _built_in() if path is None else _from_folder(Path(path))

    def premises(self) -> tuple[tuple[str, str], ...]:
        """Return the distinct pairs (verb, object) of the crossing, in alphabetical order."""
        things = {**self.objects, "people": self.people}
        return tuple(
            sorted(
                {
                    (verb, thing)
                    for verbs, groups in self.crossing.items()
                    for verb in self.verbs[verbs]
                    for group in groups
                    for thing in things[group]
                }
            )
        )

    def sizes(self) -> dict[str, int]:
        """Return the number of sentence pairs in each set built from these lists."""
        n = len(self.premises())
        return {
            "premises": n,
            "explicit": n * sum(map(len, (*self.nouns, *self.pronouns))),
            "occupations": n * sum(map(len, self.stereotypes)),
            "names": n * sum(map(len, self.names)),
            "dev": n * len(self.dev_words) * len(self.occupations),
        }


@cache
def _built_in() -> Templates:
    file = packaged("templates.toml")
    tables = read_toml(file)
    occupations = read_toml(packaged("occupations.toml"))
    gendered = tables["gender_words"]
    female, male = test_names()
    return Templates(
        verbs=_lists(tables, "verbs"),
        objects=_lists(tables, "objects"),
        people=as_words(tables["people"]["words"], f"{file}: [people] words"),
        crossing=_lists(tables, "crossing"),
        occupations=as_words(occupations["crossed"]["words"], "occupations.toml: [crossed] words"),
        stereotypes=Gendered(**_lists(occupations, "stereotypes")),
        nouns=Gendered(**_lists(gendered, "nouns")),
        pronouns=Gendered(**_lists(gendered, "pronouns")),
        dev_words=as_words(gendered["dev"]["words"], f"{file}: [gender_words.dev] words"),
        names=Gendered(male=male, female=female),
    )


def _lists(tables: dict[str, Any], key: str) -> Lists:
    table = as_table(tables[key], key)
    return {name: as_words(words, f"{key}.{name}") for name, words in table.items()}


def _from_folder(folder: Path) -> Templates:
    if not folder.is_dir():
        raise WordbiasError(
            f"{folder}: expected a folder of word lists, found "
            f"{'a file' if folder.exists() else 'nothing'}; it needs verbs/, nouns/objects/ and "
            "nouns/people/"
        )
    ours = _built_in()
    people = folder / "nouns" / "people"
    return Templates(
        verbs={key: read_lines(folder / "verbs" / f"{key}_verbs") for key in ours.verbs},
        objects={key: read_lines(folder / "nouns" / "objects" / key) for key in ours.objects},
        people=tuple(
            dict.fromkeys((*read_lines(people / "person_hyponyms"), *read_lines(people / "rulers")))
        ),
        crossing=ours.crossing,
        occupations=read_lines(people / "occupations"),
        stereotypes=ours.stereotypes,
        nouns=ours.nouns,
        pronouns=ours.pronouns,
        dev_words=read_lines(people / "gendered_words"),
        names=ours.names,
    )


@dataclass(frozen=True)
class Articles:
    """Words that take "an", "a" or no article; every other goes by its first letter."""

    an: frozenset[str] = frozenset()
    a: frozenset[str] = frozenset()
    none: frozenset[str] = frozenset()

    @classmethod
    def load(cls) -> "Articles":
        """Read the built-in exceptions."""
        table = read_toml(packaged("templates.toml"))["articles"]
        return cls(**{key: frozenset(table[key]) for key in ("an", "a", "none")})

    def before(self, word: str) -> str:
        """Return a word, or several, with the right article before it."""
        first = word.split(" ", maxsplit=1)[0]
        if first in self.none:
            return word
        if first in self.an:
            return f"an {word}"
        vowel = first[:1].lower() in ("a", "e", "i", "o", "u")
        return f"an {word}" if vowel and first not in self.a else f"a {word}"


# First names


def names() -> dict[str, float]:
    """Return the share of female bearers of each name, the most frequent first; a fresh copy."""
    # F / (F + M) among US births registered in 2020.
    return dict(_file()["share"])


def common_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return 100 female and 100 male names that span the gender subspace."""
    # The most frequent names of (almost) one sex that are nothing else in lower-cased vectors.
    return _two_lists("subspace")


def test_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return 32 female and 32 male names for testing, none of them in :func:`common_names`."""
    return _two_lists("test")


def unambiguous_names() -> Gendered:
    """Return the names of (almost) one sex that are nothing else, the most frequent ones first."""
    # At least 98 % of their bearers are of one sex, and no name is listed under `left_out`.
    words = as_table(_file()["left_out"], "names.toml: left_out")
    others = {name for key, listed in words.items() for name in as_words(listed, key)}
    known = {name: share for name, share in names().items() if name not in others}
    return Gendered(
        male=tuple(name for name, share in known.items() if share <= 1 - _ONE_SEX),
        female=tuple(name for name, share in known.items() if share >= _ONE_SEX),
    )


# Its name must not make pytest run it where it is imported.
test_names.__test__ = False  # type: ignore[attr-defined]


@cache
def _file() -> dict[str, Any]:
    return read_toml(packaged("names.toml"))


@cache
def _two_lists(table: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lists = _file()[table]
    return (
        as_words(lists["female"], f"names.toml: {table}.female"),
        as_words(lists["male"], f"names.toml: {table}.male"),
    )
