"""Few words in the files of Dev et al. (2020), for few pairs about few occupations."""

from __future__ import annotations

from pathlib import Path

_WORDS = {
    "nouns/objects/clothes": "hat",
    "nouns/objects/farm_animals": "cow",
    "nouns/objects/food": "pie",
    "nouns/objects/furniture": "bed",
    "nouns/objects/household": "cup",
    "nouns/objects/vehicles": "car",
    "nouns/people/gendered_words": "man woman",
    "nouns/people/person_hyponyms": "friend",
    "nouns/people/rulers": "king",
    "verbs/commerce_verbs": "bought",
    "verbs/driving_verbs": "drove",
    "verbs/eating_verbs": "ate",
    "verbs/interaction_verbs": "saw",
}
OCCUPATIONS = "nurse baker driver teacher"


def words(occupations: str = OCCUPATIONS) -> list[str]:
    """Return every word of the lists."""
    return " ".join([*_WORDS.values(), occupations]).split()


def write(folder: Path, occupations: str = OCCUPATIONS) -> None:
    """Write the lists into a folder."""
    for name, listed in {**_WORDS, "nouns/people/occupations": occupations}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(listed.split()) + "\n", encoding="utf-8")
