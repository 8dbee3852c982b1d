"""Templates: a text that each text is put into before it is encoded, such as a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from wordbias.errors import WordbiasError, first_line

CHAT = "chat"
"""Name of the chat template of a model's tokenizer."""
PLACE = "{}"
"""Place of the text in a template."""
_MARK = "TEXT-OF-THE-USER"


@dataclass(frozen=True)
class Template:
    """What stands before and after a text."""

    before: str
    after: str
    # it is a chat template, which writes special tokens itself: the tokenizer adds none
    chat: bool = False

    def __str__(self) -> str:
        return f"{self.before}{PLACE}{self.after}"

    @classmethod
    def parse(cls, given: str) -> Self:
        """Divide a template at its one ``{}``; all other braces are as they are written."""
        parts = given.split(PLACE)
        if len(parts) != 2:
            raise WordbiasError(
                f"--template {given!r:.100}: has {len(parts) - 1 or 'no'} {PLACE}; expected one, "
                f"where each text stands, as in 'A text about a person: {PLACE}', or {CHAT}, the "
                "chat template of the model's tokenizer"
            )
        before, after = parts
        return cls(before, after)

    @classmethod
    def of_chat(cls, tokenizer: Any, name: str) -> Self:
        """Return the chat template of a tokenizer, with the text as the message of a user."""
        # It ends where the answer of the model begins.
        if not getattr(tokenizer, "chat_template", None):
            raise WordbiasError(
                f"{name}: its tokenizer has no chat template, as only those of instruct models "
                f"have; write a template out: --template 'TEXT {PLACE} TEXT'"
            )
        message = [{"role": "user", "content": _MARK}]
        try:
            rendered = tokenizer.apply_chat_template(
                message, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # whatever a template raises
            raise WordbiasError(
                f"{name}: its chat template fails: {first_line(error):.200}; write a template out: "
                f"--template 'TEXT {PLACE} TEXT'"
            ) from None
        before, mark, after = str(rendered).partition(_MARK)
        if not mark or any(marker in before + after for marker in (_MARK, PLACE)):
            raise WordbiasError(
                f"{name}: its chat template does not show the message of the user once and as it "
                f"is; write a template out: --template 'TEXT {PLACE} TEXT'"
            )
        return cls(before, after, chat=True)


def check_template(given: str | None) -> None:
    """Refuse what is no template, before a model is loaded."""
    if given is not None and given != CHAT:
        Template.parse(given)
