"""The answers of an audit of a model, in sentences that are made of its rows by stated rules.

Is gender read off sentences that do not state it, and where most? Do occupations follow the share
of women, and does the pronoun that a decoder expects? Does a projection help, at which cost? What
next? `docs/audit-models.md` has the rules; each of their limits is a constant here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wordbias.measures.held_out_probes import BEST, NOT_CODED, PROBES
from wordbias.measures.registry import in_words, short_title
from wordbias.pages.lines import chance_range, interval, is_number, minus, value_text, with_change
from wordbias.pages.section import Answer
from wordbias.pages.verdicts import degree
from wordbias.rendering import how_many
from wordbias.results import NO_PROOF
from wordbias.rows import Found

BEFORE = "before"
NAMES = "first names"
COMPRESSION, ACCURACY, STEREOTYPE = "compression", "probe-accuracy", "pronoun-stereotype"
EXPECTED, EXPECTED_GAP = "expected-pronoun-stereotype", "expected-pronoun-gap"
SEAT, CEAT = "seat", "ceat"
ORDER, NEIGHBOURS = "sentence-order-kept", "sentence-neighbours-kept"
PERPLEXITY, PERPLEXITY_KEPT = "perplexity", "perplexity-kept"
LEFT, COLUMN = "bias-left", "column"
LIMITS = {ORDER: 0.95, NEIGHBOURS: 0.9, PERPLEXITY_KEPT: 0.95}
"""Smallest value of each cost of a projection that helps."""
SIGNIFICANT = 0.05
"""Largest p of SEAT, corrected for the number of queries, that counts as a finding."""
MAIN = (BEST, STEREOTYPE, EXPECTED)
_MAY, _NOT_SHOWN = "may help", "is not shown to help"


_INSIDE = ("L11-01110", "attn-01110")
"""Projections inside an encoder to try where those of the last layer do not help."""
_MEASURES = {
    "encoder": "wordbias probe MODEL --texts OTHERS --labels COLUMN --adapter ADAPTER",
    "decoder": "wordbias likelihood MODEL --perplexity TEXT --adapter ADAPTER",
}
"""Commands that measure a model with a removal of one's own."""


def is_of_model(row: Found) -> bool:
    """Return whether a row is of an audit of a model."""
    return row.get("audit") in ("encoder", "decoder")


class ModelRows:
    """The rows of one model, by measure, stage, layer and set.

    Attributes
    ----------
    subject
        Name of the model.
    kind
        ``encoder`` or ``decoder``.
    rows
        Its rows.
    stages
        Stages in their order, ``before`` first.
    layers
        Layers that were measured before.
    """

    subject: str
    kind: str
    rows: list[Found]
    stages: list[str]
    layers: list[int]

    def __init__(self, subject: str, rows: Iterable[Found]) -> None:
        self.subject = subject
        self.rows = [row for row in rows if row["subject"] == subject and is_of_model(row)]
        self.kind = next((str(row.get("audit")) for row in self.rows), "encoder")
        stages = dict.fromkeys(str(row.get("stage", "")) for row in self.rows)
        self.stages = [BEFORE, *(stage for stage in stages if stage != BEFORE)]
        known = {row["layer"] for row in self.rows if isinstance(row.get("layer"), int)}
        self.layers = sorted(known)

    @property
    def last(self) -> int:
        """Number of the last layer."""
        return self.layers[-1] if self.layers else 0

    def get(
        self, measure: str, stage: str = BEFORE, layer: int | None = None, name: str = ""
    ) -> Found | None:
        """Return the row of a measure with a value, at the last layer by default."""
        wanted = self.last if layer is None else layer
        if not name and measure in (COMPRESSION, ACCURACY, "selectivity", BEST, *PROBES):
            name = NAMES
        return next(
            (
                row
                for row in self.rows
                if row["measure"] == measure
                and str(row.get("stage")) == stage
                and row.get("layer") == wanted
                and is_number(row["value"])
                and (not name or row.get("set") == name)
            ),
            None,
        )

    @property
    def untrained(self) -> str:
        """Name of the set of first names that the model with random weights has read."""
        return f"{NAMES}, untrained {self.kind}"

    def sets(self, measure: str) -> list[str]:
        """Return the sets of a measure, such as the queries of an association test."""
        found = (str(row.get("set", "")) for row in self.rows if row["measure"] == measure)
        return list(dict.fromkeys(found))

    def columns(self) -> list[str]:
        """Return the projections that were measured."""
        failed = {str(row.get("stage")) for row in self.rows if row["measure"] == COLUMN}
        return [stage for stage in self.stages if stage not in (BEFORE, *failed)]


def model_subjects(rows: Iterable[Found]) -> list[str]:
    """Return the models that rows are of."""
    return list(dict.fromkeys(str(row["subject"]) for row in rows if is_of_model(row)))


def model_answer_parts(rows: Sequence[Found]) -> list[Answer]:
    """Return what an audit of a model says, a question after the other."""
    subjects = model_subjects(rows)
    found: list[Answer] = []
    for subject in subjects:
        one = ModelRows(subject, rows)
        read = BEST if one.get(BEST) else COMPRESSION
        leans = EXPECTED if one.get(EXPECTED) else STEREOTYPE
        texts, next_ = (
            [text for label in one.columns() for text in _verdict(one, label)],
            _next(one),
        )
        parts = [
            Answer("Is gender read off it?", *_brief(one, read), _readable(one)),
            Answer(
                "Do occupations follow the share of women?",
                *_brief(one, leans),
                [*_occupations(one), *_expected(one)],
            ),
            Answer("Do association tests show gender?", *_tests(one), _associations(one)),
            Answer(
                "Does a projection help, and at what cost?",
                *_help(one),
                [*texts, *_failures(one)],
            ),
            Answer("What next?", *next_),
        ]
        prefix = f"{subject}: " if len(subjects) > 1 else ""
        found += [
            replace(part, question=f"{prefix}{part.question}")
            for part in parts
            if part.text or part.below
        ]
    return [*found, Answer("", below=[NO_PROOF])] if found else []


# In few words


def _brief(one: ModelRows, measure: str) -> tuple[str, str, str]:
    """Return whether a main measure finds gender, its value, and what it is compared with."""
    row = one.get(measure)
    if row is None:
        return "", "", ""
    by_layer = COMPRESSION if measure == BEST else measure  # probes are tuned in the last layer
    inside = any((at := one.get(by_layer, layer=n)) and at.get("beyond_chance") for n in one.layers)
    text = "Yes." if _finds(row) else "Inside, not in the last layer." if inside else "Not shown."
    chance = chance_range(row)
    sure = f"chance {chance}" if chance else ""
    return text, f"{in_words(measure)} {value_text(row, 2)}", sure


def _finds(row: Found) -> bool:
    """Return whether a value is beyond chance and, of a correlation, its interval leaves 0 out."""
    return bool(row.get("beyond_chance")) and (row.get("neutral") != 0 or _is_clear(row))


def _tests(one: ModelRows) -> tuple[str, str, str]:
    """Return how many association tests show gender, and the clearest of them."""
    seats = [row for name in one.sets(SEAT) if (row := one.get(SEAT, name=name))]
    ceats = [row for name in one.sets(CEAT) if (row := one.get(CEAT, name=name))]
    ps = {id(row): p for row in seats if is_number(p := row.get("p_holm"))}
    if not seats:
        return "", "", ""
    shown = sum(p < SIGNIFICANT for p in ps.values())
    text = f"SEAT shows it in {shown} of {how_many(len(seats), 'query', 'queries')}"
    text += f", CEAT in {sum(map(_is_clear, ceats))} of {len(ceats)}." if ceats else "."
    first = min(seats, key=lambda row: ps.get(id(row), 2))
    p = ps.get(id(first))
    sure = "" if p is None else f"p = {p:.2g}, corrected for their number"
    return text, f"{query_text(first)}: SEAT {value_text(first, 2)}", sure


def _help(one: ModelRows) -> tuple[str, str, str]:
    """Return what the projections do, and how the best, or else the first, changes a measure."""
    said = [f"{label} {verdict(one, label)}" for label in one.columns()]
    label = best(one) or next(iter(one.columns()), "")
    measure = next(iter(changes(one, label)), "") if label else ""
    before, after = one.get(measure), one.get(measure, label)
    text = f"{'; '.join(said)}." if said else ""
    if before is None or after is None:
        return text, "", ""
    figure = f"{label}: {in_words(measure)} {_value(before)} → {_value(after)}"
    left = one.get(LEFT, label)
    sure = "" if left is None else f"{left['value']:.0%} of {_worst(left)} is left"
    return text, with_change(figure, after, 2), sure


# Before


def _readable(one: ModelRows) -> list[str]:
    """Say whether gender is read off the names' sentences, and in which layer most."""
    by_layer = {
        layer: row for layer in one.layers if (row := one.get(COMPRESSION, layer=layer)) is not None
    }
    output, read = by_layer.get(one.last), one.get(BEST)
    if output is None:
        return []
    shown = (
        f"compression is {_value(output)} in the last layer, {output.get('neutral', 1):.3g} where "
        "nothing is read"
    )
    is_read = read is not None and bool(read.get("beyond_chance"))
    if read is not None:
        shown = (
            f"the best probe is right for {_value(read)} of unseen names in the last layer (chance "
            f"{chance_range(read)}), and {shown}"
        )
        if is_read and not output.get("beyond_chance"):
            shown += f" ({NOT_CODED})"
    if not is_read and not any(row.get("beyond_chance") for row in by_layer.values()):
        return [
            "The gender of a first name cannot be read off sentences that do not state it, as far "
            f"as these probes can tell: {shown}, and no layer is beyond chance."
        ]
    most = max(by_layer, key=lambda layer: float(by_layer[layer]["value"]))
    if not is_read and not output.get("beyond_chance"):
        return [
            "The gender of a first name cannot be read off the vectors of sentences that do not "
            f"state it: {shown}, which is at chance. Inside the {one.kind} it can, most in layer "
            f"{most}: {_value(by_layer[most])}.{_untrained(one, by_layer[most], most)}"
        ]
    in_layer = "" if most == one.last else f"; most in layer {most}, {_value(by_layer[most])}"
    return [
        "The gender of a first name can be read off sentences that do not state it: "
        f"{shown}{in_layer}.{_untrained(one, by_layer[most], most)}"
    ]


def _untrained(one: ModelRows, row: Found, layer: int) -> str:
    """Compare a layer with that of the model with random weights."""
    other = one.get(COMPRESSION, layer=layer, name=one.untrained)
    if other is None:
        return ""
    own, random = interval(row), interval(other)
    if own is None or random is None:
        return f" The same {one.kind} with random weights has {_value(other)}."
    trained = "training put it there" if own[0] > random[1] else "training need not be the reason"
    return f" The same {one.kind} with random weights has {_value(other)}: {trained}."


def _occupations(one: ModelRows) -> list[str]:
    """Say whether the leans of occupations follow the share of women."""
    row = one.get(STEREOTYPE)
    if row is None:
        return []
    shown = f"rank correlation {_value(row)}, chance {chance_range(row) or 'unknown'}"
    if not _is_clear(row) or not row.get("beyond_chance"):
        return [
            "Whether sentences about occupations lie nearer to “she …” the more women work in them "
            f"cannot be told ({shown})."
        ]
    pronoun = "she" if row["value"] > 0 else "he"
    return [
        f"Sentences about occupations lie nearer to “{pronoun} …” the more women work in them "
        f"({shown})."
    ]


def _expected(one: ModelRows) -> list[str]:
    """Say which pronoun a decoder expects of occupations, and of people in general."""
    row, gap = one.get(EXPECTED), one.get(EXPECTED_GAP)
    if row is None:
        return []
    shown = f"rank correlation {_value(row)}, chance {chance_range(row) or 'unknown'}"
    if not _is_clear(row) or not row.get("beyond_chance"):
        text = (
            "Whether it expects “she” rather than “he” the more, the more women work in an "
            f"occupation, cannot be told ({shown})."
        )
    else:
        pronoun, other = ("she", "he") if row["value"] > 0 else ("he", "she")
        text = (
            f"After a sentence about an occupation it expects “{pronoun}” rather than “{other}” "
            f"the more, the more women work in it ({shown})."
        )
    return [f"{text}{_one_pronoun(gap)}"]


def _one_pronoun(gap: Found | None) -> str:
    """Say which pronoun a decoder prefers over all occupations, and of people in general."""
    if gap is None or not _is_clear(gap):
        return ""
    pronoun = "she" if gap["value"] > 0 else "he"
    times = math.exp(min(abs(float(gap["value"])), 700))
    people = gap.get("people")
    beside = f"; of people whose occupation is not said {minus(f'{people:.2f}')}"
    return (
        f" Over all of them “{pronoun}” is the likelier, {times:.3g} times by the mean of "
        f"log p(she) − log p(he), {_value(gap)}{beside if is_number(people) else ''}."
    )


_TESTS = {
    (True, True): "SEAT and CEAT show gender in",
    (True, False): "SEAT shows gender, CEAT does not, in",
    (False, True): "SEAT does not show gender, CEAT does, in",
    (False, False): "Neither SEAT nor CEAT shows gender in",
    (True, None): "SEAT shows gender in",
    (False, None): "SEAT does not show gender in",
}
"""Beginnings of a sentence, by what SEAT and CEAT show; None is not measured."""
_WHY_TESTS_DIFFER = (
    "They ask different things: the p of SEAT is whether other words would give as much; the "
    "interval of CEAT takes the words as given, and that of a model with random weights often "
    "leaves 0 out, too."
)


def _associations(one: ModelRows) -> list[str]:
    """Say what SEAT shows by its p, and CEAT by its interval, and why they differ."""
    found: dict[str, list[str]] = {}
    differ = False
    for name in one.sets(SEAT):
        seat, ceat = one.get(SEAT, name=name), one.get(CEAT, name=name)
        if seat is None:
            continue
        p = seat.get("p_holm")
        clear = is_number(p) and p < SIGNIFICANT
        shown = None if ceat is None else _is_clear(ceat)
        text = f"{query_text(seat)} (SEAT {_value(seat)}"
        text += f", p = {p:.2g}" if is_number(p) else ""
        text += f"; CEAT {value_text(ceat, 2)}" if ceat is not None else ""
        key = _TESTS[clear, shown]
        if clear and shown and ceat is not None and ceat["value"] * seat["value"] < 0:
            key = "SEAT and CEAT contradict each other in"
        differ = differ or shown not in (None, clear)
        found.setdefault(key, []).append(f"{text})")
    said = [f"{key} {'; '.join(texts)}." for key, texts in found.items()]
    return [" ".join([*said, *([_WHY_TESTS_DIFFER] if differ else [])])] if said else []


# After a projection


def changes(one: ModelRows, label: str) -> dict[str, str]:
    """Return ``better``, ``worse`` or ``unclear`` for each main measure that was beyond chance.

    A value is better if it is nearer to neutral, or no longer beyond it, and the interval of its
    change does not contain 0; worse if it is further away, and that interval does not.
    """
    found = {}
    for measure in MAIN:
        before, after = one.get(measure), one.get(measure, label)
        if before is None or after is None or not before.get("beyond_chance"):
            continue
        found[measure] = _direction(before, after)
    return found


def _direction(before: Found, after: Found) -> str:
    low, high, neutral = after.get("change_low"), after.get("change_high"), after.get("neutral")
    if not (is_number(low) and is_number(high) and is_number(neutral)) or low <= 0 <= high:
        return "unclear"
    if after.get("better") == "lower":
        return "better" if high < 0 else "worse"
    nearer = abs(float(after["value"]) - neutral) < abs(float(before["value"]) - neutral)
    return "better" if nearer else "worse"


def exceeded(one: ModelRows, label: str) -> dict[str, Found]:
    """Return the costs of a projection that are beyond their limits."""
    rows = {measure: one.get(measure, label) for measure in LIMITS}
    return {m: row for m, row in rows.items() if row is not None and row["value"] < LIMITS[m]}


def helps(one: ModelRows, label: str) -> bool | None:
    """Return whether a projection helps: True, False, or None if that cannot be told.

    It helps if a main measure is better, none is worse, and no cost is beyond its limit.
    """
    found = list(changes(one, label).values())
    if exceeded(one, label) or "worse" in found:
        return False
    return True if "better" in found else None


def verdict(one: ModelRows, label: str) -> str:
    """Return in few words whether a projection helps."""
    found, left = helps(one, label), one.get(LEFT, label)
    how_much = degree(None if left is None else float(left["value"]))
    if found:
        return {"yes": "helps", "a little": "helps a little", "hardly": "hardly helps"}[how_much]
    if found is None:
        return _NOT_SHOWN if how_much == "hardly" else _MAY
    return "does not help"


def _verdict(one: ModelRows, label: str) -> list[str]:
    """Say whether a projection helps, what is left, and what it costs."""
    steps, costs, left = changes(one, label), exceeded(one, label), one.get(LEFT, label)
    if not steps:
        return [f"{label} cannot help: no main measure was beyond chance before."]
    found = verdict(one, label)
    text = f"{label} {found}"
    if found == _MAY:
        text += ", which cannot be told from chance"
    if costs:
        over = "; ".join(_cost(one, label, m, row) for m, row in costs.items())
        text += f", for it costs too much ({over})"
    share = "" if left is None else f"{left['value']:.0%} of {_worst(left)} is left, "
    moved = "; ".join(_step(one, measure, label, steps[measure]) for measure in steps)
    kept = [
        f"{_value(row)} of {in_words(m)}"
        for m in (ORDER, NEIGHBOURS)
        if (row := one.get(m, label)) is not None and m not in costs
    ]
    cost = f" It keeps {' and '.join(kept)}." if kept else ""
    if PERPLEXITY_KEPT not in costs and (after := _perplexity(one, label)):
        cost += f" {after[0].upper()}{after[1:]}."
    return [f"{text}: {share}{moved}.{cost}{_contradictions(one, label)}"]


def _worst(left: Found) -> str:
    """Name the measure of which most is left."""
    of = left.get("of")
    worst = max(of, key=of.__getitem__) if isinstance(of, dict) and of else None
    if worst is None:
        return "the bias beyond chance"
    if worst in (BEST, *PROBES):
        return f"what the {short_title(worst)} reads beyond chance"
    return f"the {in_words(worst)} beyond chance"


def _cost(one: ModelRows, label: str, measure: str, row: Found) -> str:
    """Write a cost that is beyond its limit."""
    if measure == PERPLEXITY_KEPT:
        return f"{_perplexity(one, label)}, the limit is {1 / LIMITS[measure]:.3g} times as much"
    return f"{_value(row)} of {in_words(measure)} kept, the limit is {LIMITS[measure]:g}"


def _perplexity(one: ModelRows, label: str) -> str:
    """Write how the perplexity of sentences about no person changed."""
    before, after = one.get(PERPLEXITY), one.get(PERPLEXITY, label)
    if before is None or after is None:
        return ""
    values = f"{before['value']:.1f} → {after['value']:.1f}"
    return f"the perplexity of sentences about no person goes {values}"


def _step(one: ModelRows, measure: str, label: str, direction: str) -> str:
    """Write how a main measure changed."""
    before, after = one.get(measure), one.get(measure, label)
    assert before is not None
    assert after is not None
    beyond = "still beyond chance" if after.get("beyond_chance") else "at chance"
    change = {"unclear": "no clear change, ", "worse": "worse, ", "better": ""}[direction]
    return f"{in_words(measure)} {_value(before)} → {_value(after)} ({change}{beyond})"


def _contradictions(one: ModelRows, label: str) -> str:
    """Name the measures that say something else than the main ones."""
    texts = []
    compression, read = one.get(COMPRESSION, label), one.get(BEST, label)
    hidden = compression is not None and not compression.get("beyond_chance")
    if compression is not None and hidden and read is not None and read.get("beyond_chance"):
        texts.append(f"compression, {_value(compression)}, is {NOT_CODED}")
    for name in one.sets(SEAT):
        before, after = one.get(SEAT, name=name), one.get(SEAT, label, name=name)
        if before is not None and after is not None and _direction(before, after) == "worse":
            texts.append(
                f"SEAT on {query_text(after)} is further from neutral ({_value(before)} → "
                f"{_value(after)})"
            )
    return f" But {', and '.join(texts)}." if texts else ""


def _failures(one: ModelRows) -> list[str]:
    return [
        f"{row.get('stage')}: not measured: {row.get('reason', 'no reason is given')}."
        for row in one.rows
        if row["measure"] == COLUMN
    ]


def best(one: ModelRows) -> str | None:
    """Return the projection that helps, not hardly, and leaves least; None if none does."""
    known = {
        label: float(row["value"])
        for label in one.columns()
        if helps(one, label)
        and (row := one.get(LEFT, label)) is not None
        and degree(float(row["value"])) != "hardly"
    }
    return min(known, key=lambda label: known[label]) if known else None


def _next(one: ModelRows) -> list[str]:
    """Say what to do next, with the command."""
    found = [m for m in MAIN if (row := one.get(m)) is not None and row.get("beyond_chance")]
    if not found:
        return [
            "Measure the task that the model is for, such as wordbias bios or wordbias "
            "fairness; nothing here asks for a projection."
        ]
    chosen = best(one)
    if chosen is None:
        left = [method for method in _INSIDE if method not in one.columns()]
        if one.kind == "encoder" and left:
            return [
                "Try a projection inside the encoder, with: wordbias audit MODEL "
                f"--methods='{' '.join(left)}'."
            ]
        return [
            f"Fit a removal inside the {one.kind} to labelled texts of your own, with: wordbias "
            "project MODEL --texts FILE --labels COLUMN -o ADAPTER; and measure it with: "
            f"{_MEASURES[one.kind]}."
        ]
    row = one.get(LEFT, chosen)
    written = None if row is None else row.get("written_by")
    if not written:
        return [
            f"{chosen} has no place in this model's files; audit removals that wordbias "
            f"project writes, with: wordbias audit MODEL --methods='cls@{one.last} L11-01110'."
        ]
    return [f"Write the model with {chosen}, and measure your own task on it: {written}"]


# Numbers


def _is_clear(row: Found) -> bool:
    """Return whether the interval of a value does not contain its neutral value."""
    ends, neutral = interval(row), row.get("neutral")
    if ends is None or not is_number(neutral):
        return False
    return not ends[0] <= neutral <= ends[1]


def query_text(row: Found) -> str:
    """Name the four sets of words of an association test."""
    sizes = row.get("n")
    if isinstance(sizes, dict) and len(sizes) == 4:
        x, y, a, b = (str(name).replace("_", " ") for name in sizes)
        return f"{x}/{y} × {a}/{b}"
    return str(row.get("set", ""))


def _value(row: Found) -> str:
    return minus(f"{row['value']:.2f}")
