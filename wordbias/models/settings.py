"""The 74 published settings: projected sites, numbers of components, soft or hard removal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from wordbias.errors import WordbiasError

LEVELS = ("SENT", "L12", "L11", "attn")
SENT_DEBIAS = "sent-debias"
_DIGITS = {"SENT": 1, "L12": 3, "L11": 5, "attn": 5}
_LEVEL_NAMES = {"sent": "SENT", "l12": "L12", "layer12": "L12", "l11": "L11", "layer11": "L11"}
_NAME = re.compile(r"\+?(sent|l12|layer12|l11|layer11|(?:layer11\+|l11\+)?attn)[-_:]*([01]+)")


@dataclass(frozen=True)
class Settings:
    """The projections of one of the debiased models of Dawkins et al. (2024, section 4).

    Notes
    -----
    ``n = 0`` projects hard, ``n = 1`` weights each component by its share of the variance;
    ``c = 1`` adds the second component. Deeper levels imply the later ones. The paper's caption of
    Table 7 calls the second pair of numbers (n10, c10); its text and its numbers say (n12, c12).
    """

    # tokens behind the last layer but one ("layer 11"); None for no intervention
    n11: int | None = None
    c11: int | None = None
    n12: int | None = None  # CLS behind the last layer ("layer 12"); None for no intervention
    c12: int | None = None
    np: int = 0  # the sentence's vector, always projected, on one component
    # query, key and value of every head of the last layer but one, one component each, hard
    attention: bool = False

    def __post_init__(self) -> None:
        for name in ("n11", "c11", "n12", "c12", "np"):
            value = getattr(self, name)
            if value not in ((0, 1) if name == "np" else (None, 0, 1)):
                raise WordbiasError(f"setting {name}: expected 0 or 1, got {value!r}")
        for n, c in (("n11", "c11"), ("n12", "c12")):
            if (getattr(self, n) is None) != (getattr(self, c) is None):
                raise WordbiasError(f"settings {n} and {c}: give both or none")
        if (self.n11 is not None and self.n12 is None) or (self.attention and self.n11 is None):
            raise WordbiasError(
                "an intervention implies all later ones: attention that of layer 11, "
                "layer 11 that of layer 12"
            )

    @property
    def level(self) -> str:
        """The earliest intervention, one of `LEVELS`."""
        if self.attention:
            return "attn"
        return "SENT" if self.n12 is None else "L12" if self.n11 is None else "L11"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers as the published table prints them: 1, 3 or 5."""
        given = (self.n11, self.c11, self.n12, self.c12, self.np)
        return tuple(value for value in given if value is not None)

    @property
    def name(self) -> str:
        """Level and numbers, such as ``L11-01110``."""
        return f"{self.level}-{''.join(map(str, self.numbers))}"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, text: str) -> Settings:
        """Read a name: ``L11-01110``, and also ``layer 11 (0, 1, 1, 1, 0)`` or ``+attn 11101``."""
        match = _NAME.fullmatch(re.sub(r"[\s(),]", "", text).lower())
        level = _LEVEL_NAMES.get(match[1], "attn") if match else ""
        if match is None or len(match[2]) != _DIGITS[level]:
            raise WordbiasError(
                f"setting {text!r}: expected SENT-p, L12-ncp, L11-ncncp or attn-ncncp with a 0 or "
                "1 for each letter, such as L11-11101"
            )
        return cls.of(level, [int(digit) for digit in match[2]])

    @classmethod
    def of(cls, level: str, numbers: list[int] | tuple[int, ...]) -> Settings:
        """Return the setting of a level with the numbers as printed."""
        padded = [*[None] * (5 - len(numbers)), *numbers]
        n11, c11, n12, c12, last = padded
        return cls(n11, c11, n12, c12, last or 0, level == "attn")


def all_settings() -> tuple[Settings, ...]:
    """Return the 74 published settings in the order of Table 7: 2 + 8 + 32 + 32."""
    return tuple(
        Settings.of(level, numbers)
        for level in LEVELS
        for numbers in product((0, 1), repeat=_DIGITS[level])
    )
