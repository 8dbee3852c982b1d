"""A small WinoBias in the form of the real one: eight files of three sentences of our own."""

from __future__ import annotations

from pathlib import Path

SIDES = ("pro", "anti")
_OTHER = {"he": "she", "she": "he", "him": "her", "her": "him", "his": "her"}
TYPE_1 = (
    "[The farmer] thanked the nurse because [he] was healed.",
    "The farmer thanked [the nurse] because [she] healed the wound.",
    "[The construction worker] called the teacher while [he] ate [his] soup.",
)
TYPE_2 = (
    "The farmer visited [the nurse] and asked [her] for tea.",
    "The nurse called the [the sheriff] and told [him] the truth.",
    "The sheriff saw [the teacher] and thanked [her].",
)


def anti(line: str) -> str:
    """Exchange the pronouns in brackets."""
    for word in ("he", "she", "him", "her", "his"):
        if f"[{word}]" in line:
            line = line.replace(f"[{word}]", f"[_{_OTHER[word]}]")
    return line.replace("[_", "[")


def write(folder: Path) -> Path:
    """Write the eight files; those of test have a word more at the end of each sentence."""
    folder.mkdir(exist_ok=True)
    for kind, lines in ((1, TYPE_1), (2, TYPE_2)):
        for split, ending in (("dev", "."), ("test", " today.")):
            pro = [line.removesuffix(".") + ending for line in lines]
            for side, sentences in zip(SIDES, (pro, list(map(anti, pro))), strict=True):
                numbered = "".join(f"{i} {line}\n" for i, line in enumerate(sentences, 1))
                (folder / f"{side}_stereotyped_type{kind}.txt.{split}").write_text(numbered)
    return folder
