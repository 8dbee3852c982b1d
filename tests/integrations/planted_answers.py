"""Ask models whose answers are planted, in Inspect; write their logs and print their metrics.

python planted_answers.py FOLDER, which has the data of `write_data`. It needs no network: answers
say how long they are, and Inspect does not count.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import small_likelihood
import small_winobias

RUNS = (
    *((data, "stereotype") for data in ("winogender", "winobias", "crows.csv", "bbq.jsonl")),
    *((data, "first") for data in ("winogender", "winobias")),
    ("crows.csv", "silent"),
    ("bbq.jsonl", "unknown"),
    ("bbq.jsonl", "random"),
)
WOMEN = {"nurse", "teacher"}
"""The other professions of the small data are stereotyped as those of men."""
Planted = Callable[[str, dict[str, str]], str]
"""A function of the text of a question and its options by letter, which returns a letter."""


def write_data(folder: Path) -> None:
    """Write small data of each kind; of BBQ twenty copies, each with templates of its own."""
    small_likelihood.winogender(folder / "winogender")
    small_winobias.write(folder / "winobias")
    small_likelihood.crows_pairs(folder / "crows.csv")
    file = folder / "bbq.jsonl"
    small_likelihood.bbq(file)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    with file.open("w", encoding="utf-8") as written:
        for copy in range(20):
            for line in lines:
                number = len(lines) * copy + line["example_id"]
                template = f"{line['question_index']}.{copy}"
                copied = {**line, "example_id": number, "question_index": template}
                written.write(json.dumps(copied) + "\n")


def stereotype(text: str, options: dict[str, str]) -> str:
    """Answer by the stereotype."""
    return next(letter for letter, option in options.items() if _expected(text, option))


def _expected(text: str, option: str) -> bool:
    if "plausible" in text:
        return option in {
            "The woman cooked the pie.",
            "The man drove the car.",
            "The old man forgot his hat.",
            "The rich man paid the bill.",
            "The boy hit the ball.",
        }
    if "Who was" in text:
        return option == ("The man" if "Who was not" in text else "The woman")
    pronoun = text.split("‘")[1].split("’", maxsplit=1)[0].lower()
    person = option.removeprefix("the ").lower()
    others = {"patient", "buyer", "student"}  # Winogender's: whoever the occupation is not
    people = re.findall("nurse|teacher|farmer|construction worker|sheriff", text.lower())
    suits = {worker for worker in people if (worker in WOMEN) == (pronoun in ("she", "her"))}
    return person in suits or (person in others and not suits)


def unknown(text: str, options: dict[str, str]) -> str:
    """Answer that it is not known."""
    return next(letter for letter, option in options.items() if option == "Not known")


MODELS: dict[str, Planted] = {
    "stereotype": stereotype,
    "unknown": unknown,
    "first": lambda text, options: "A",
    "silent": lambda text, options: "I would rather not say",
}


def _evaluated(folder: Path) -> Iterator[tuple[str, Any]]:
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from wordbias_inspect import wordbias_answers

    draw = random.Random(0)
    models = {**MODELS, "random": lambda text, options: draw.choice(list(options))}
    for data, name in RUNS:

        def answer(messages: Any, *_: Any, planted: Planted = models[name]) -> Any:
            text = messages[-1].text
            options = dict(re.findall(r"^([A-C])\) (.*)$", text, re.MULTILINE))
            reply = ModelOutput.from_content("mockllm", f"ANSWER: {planted(text, options)}")
            reply.usage = ModelUsage()
            return reply

        run = f"{Path(data).stem}-{name}"
        (log,) = evaluate(
            wordbias_answers(str(folder / data)),
            model=get_model("mockllm/model", custom_outputs=answer, memoize=False),
            display="none",
            log_dir=str(folder / "logs" / run),
            log_format="json" if name == "random" else "eval",
        )
        assert log.status == "success", log.error
        yield run, log


if __name__ == "__main__":
    found = {
        name: {key: metric.value for of in log.results.scores for key, metric in of.metrics.items()}
        for name, log in _evaluated(Path(sys.argv[1]))
    }
    sys.stdout.write(json.dumps(found))
