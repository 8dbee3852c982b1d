"""What an audit of a model says, from its rows by stated rules, apart from any audit's answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from wordbias import verdicts
from wordbias.measures.held_out_probes import BEST, NOT_CODED, PROBES
from wordbias.methods.trade_off import STATED
from wordbias.pages.columns import COLUMN, LEFT, ColumnAnswer, best_of
from wordbias.pages.lines import Line, chance_range, make_lines, minus, value_text
from wordbias.rows import Found, given
from wordbias.verdicts import change, finds, interval, is_number

BEFORE = "before"
GENDER, NAMES = "gender", "first names"
SIMILARITY = "sentence-similarity"
COMPRESSION, ACCURACY, STEREOTYPE = "compression", "probe-accuracy", "pronoun-stereotype"
EXPECTED, EXPECTED_GAP = "expected-pronoun-stereotype", "expected-pronoun-gap"
SEAT, CEAT = "seat", "ceat"
ORDER, NEIGHBOURS = "sentence-order-kept", "sentence-neighbours-kept"
PERPLEXITY, PERPLEXITY_KEPT = "perplexity", "perplexity-kept"
MAIN = (BEST, STEREOTYPE, EXPECTED)
CHANCE_OF_MODELS = (
    "chance: the range where there is nothing to find: of probes that of permuted labels, of which "
    "5 % give any probe more than the upper end; of pronouns that of two subjects that mean no "
    "gender in their place, of expected ones that of permuted shares of women"
)
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
    """The rows of one model, by measure, stage, layer and set."""

    subject: str
    kind: str  # `encoder` or `decoder`
    attribute: str  # attribute of people that the audit is about
    units: str  # what the groups are read of: `first names`, `words`, or `sentences` with a pronoun
    rows: list[Found]
    stages: list[str]  # stages in their order, `before` first
    layers: list[int]  # layers that were measured before

    def __init__(self, subject: str, rows: Iterable[Found]) -> None:
        self.subject = subject
        self.rows = [row for row in rows if row["subject"] == subject and is_of_model(row)]
        self.kind = next((str(row.get("audit")) for row in self.rows), "encoder")
        stages = dict.fromkeys(str(row.get("stage", "")) for row in self.rows)
        self.stages = [BEFORE, *(stage for stage in stages if stage != BEFORE)]
        known = {row["layer"] for row in self.rows if isinstance(row.get("layer"), int)}
        self.layers = sorted(known)
        about = (str(row["attribute"]) for row in self.rows if given(row, "attribute"))
        self.attribute = next(about, GENDER)
        read = (str(row.get("set")) for row in self.rows if row["measure"] in (BEST, COMPRESSION))
        of_pair = any(row["measure"] == STEREOTYPE and given(row, "set") for row in self.rows)
        self.units = next(read, STATED if of_pair else NAMES)

    @property
    def has_layers(self) -> bool:
        """False of an encoder that shows the vectors of texts alone, which are its layer 0."""
        return self.layers != [0]

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
            name = self.units
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
        """Name of the set of words that the model with random weights has read."""
        return f"{self.units}, untrained {self.kind}"

    @property
    def unseen(self) -> str:
        """What a probe has not seen: ``names``, ``words`` or ``sentences``."""
        return self.units.removeprefix("first ")

    @property
    def states(self) -> bool:
        """Whether the sentences state what is read of them, a pronoun: that is no bias."""
        return self.units == STATED

    @property
    def group(self) -> str:
        """What is read of a name or word: ``gender``, or the group of groups that were chosen."""
        if self.states:
            return "pronoun"
        return f"group ({self.attribute})" if "/" in self.attribute else self.attribute

    @property
    def sentences(self) -> str:
        """What is read off sentences: ``the gender of a first name``, and how they say it."""
        if self.states:
            return "The pronoun {} from {}sentences that state it, which is no bias"
        unit = self.units.removesuffix("s")
        how = "do not state it" if self.units == NAMES else "mention it"
        return f"The {self.group} of a {unit} {{}} from {{}}sentences that {how}"

    def sets(self, measure: str) -> list[str]:
        """Return the sets of a measure, such as the queries of an association test."""
        names = (str(row.get("set", "")) for row in self.rows if row["measure"] == measure)
        return list(dict.fromkeys(names))

    @property
    def columns(self) -> list[str]:
        """Projections that were measured."""
        failed = {str(row.get("stage")) for row in self.rows if row["measure"] == COLUMN}
        return [stage for stage in self.stages if stage not in (BEFORE, *failed)]

    def lines(self, measures: Sequence[str]) -> list[Line]:
        """Return the values of measures in the last layer, each at its stages."""
        at_last = [row for row in self.rows if row.get("layer") == self.last]
        known = [row for row in at_last if is_number(row["value"]) and not given(row, "word")]
        return make_lines(row for measure in measures for row in known if row["measure"] == measure)

    @property
    def main(self) -> list[Line]:
        """The main measures, each with its stages."""
        measures = (STEREOTYPE,) if self.states else MAIN
        return [line for line in self.lines(measures) if line.first]


def models_of(rows: Sequence[Found]) -> list[ModelRows]:
    """Return the models that rows are of."""
    subjects = dict.fromkeys(str(row["subject"]) for row in rows if is_of_model(row))
    return [ModelRows(subject, rows) for subject in subjects]


def model_details(model: ModelRows) -> list[str]:
    """Say what the main measures of a model do not: of its layers, pronouns, and tests."""
    return [*_readable(model), *_leans(model), *_number(model), *_associations(model)]


def _finds(row: Found | None) -> bool:
    return row is not None and finds(row) == verdicts.YES


# Before


def _readable(model: ModelRows) -> list[str]:
    """Say whether the group is read off the names' sentences, and in which layer most."""
    by_layer = {
        layer: row
        for layer in model.layers
        if (row := model.get(COMPRESSION, layer=layer)) is not None
    }
    output, read = by_layer.get(model.last), model.get(BEST)
    if output is None:
        return []
    where = "in the last layer" if model.has_layers else "in their vectors"
    text = (
        f"compression is {_value(output)} {where}, {output.get('neutral', 1):.3g} where "
        "nothing is read"
    )
    is_read, is_coded = _finds(read), _finds(output)
    if read is not None:
        text = (
            f"the best probe is right for {_value(read)} of unseen {model.unseen} {where} (chance "
            f"{chance_range(read)}), and {text}"
        )
        if is_read and not is_coded:
            text += f" ({NOT_CODED})"
    if not is_read and not any(map(_finds, by_layer.values())):
        inside = ", and no layer is beyond chance" if model.has_layers else ""
        return [
            f"{model.sentences.format('cannot be read', '')}, as far as these probes can tell: "
            f"{text}{inside}."
        ]
    most = max(by_layer, key=lambda layer: float(by_layer[layer]["value"]))
    if not is_read and not is_coded:
        return [
            f"{model.sentences.format('cannot be read', 'the vectors of ')}: {text}, which is at "
            f"chance. Inside the {model.kind} it can, most in layer {most}: "
            f"{_value(by_layer[most])}.{_untrained(model, by_layer[most], most)}"
        ]
    in_layer = "" if most == model.last else f"; most in layer {most}, {_value(by_layer[most])}"
    return [
        f"{model.sentences.format('can be read', '')}: {text}{in_layer}."
        f"{_untrained(model, by_layer[most], most)}"
    ]


def _untrained(model: ModelRows, row: Found, layer: int) -> str:
    """Compare a layer with that of the model with random weights."""
    other = model.get(COMPRESSION, layer=layer, name=model.untrained)
    if other is None:
        return ""
    own, random = interval(row), interval(other)
    if own is None or random is None:
        return f" The same {model.kind} with random weights has {_value(other)}."
    trained = "training put it there" if own[0] > random[1] else "training need not be the reason"
    return f" The same {model.kind} with random weights has {_value(other)}: {trained}."


_LEANS = {
    STEREOTYPE: (
        "Sentences about occupations lie nearer to “{} …” the more women work in them",
        "Whether sentences about occupations lie nearer to “she …” the more women work in them "
        "cannot be told",
    ),
    EXPECTED: (
        "After a sentence about an occupation it expects “{}” rather than “{}” the more, the more "
        "women work in it",
        "Whether it expects “she” rather than “he” the more, the more women work in an occupation, "
        "cannot be told",
    ),
}
"""What is said of correlations with the share of women, where they are found and where not."""


def _leans(model: ModelRows) -> list[str]:
    """Say whether vectors, and the pronouns that a decoder expects, follow the share of women."""
    if model.states:
        return _leans_of_pairs(model)
    texts = []
    for measure, forms in _LEANS.items():
        if (row := model.get(measure)) is not None:
            pronouns = ("she", "he") if row["value"] > 0 else ("he", "she")
            text = forms[0].format(*pronouns) if _finds(row) else forms[1]
            evidence = f"rank correlation {_value(row)}, chance {chance_range(row) or 'unknown'}"
            beside = _one_pronoun(model.get(EXPECTED_GAP)) if measure == EXPECTED else ""
            texts.append(f"{text} ({evidence}).{beside}")
    return texts


def _leans_of_pairs(model: ModelRows) -> list[str]:
    """Say between which two pronouns vectors follow the share of women."""
    clear, unclear = [], []
    for name in model.sets(STEREOTYPE):
        if (row := model.get(STEREOTYPE, name=name)) is not None:
            nearer, other = name.split("/") if row["value"] > 0 else name.split("/")[::-1]
            evidence = f"({_value(row)}, chance {chance_range(row) or 'unknown'})"
            if _finds(row):
                clear.append(f"to “{nearer} …” than to “{other} …” {evidence}")
            else:
                unclear.append(f"{name} {evidence}")
    forms = (
        ("The more women work in an occupation, the nearer its sentences lie {}.", clear),
        (
            "Whether sentences about occupations follow the share of women cannot be told between "
            "{}.",
            unclear,
        ),
    )
    sentences = [form.format(", ".join(texts)) for form, texts in forms if texts]
    return [" ".join(sentences)] if sentences else []


def _number(model: ModelRows) -> list[str]:
    """Say how near pronouns are to one person and to several, where they are compared."""
    ends, cosines = (" and one person", " and several people"), []
    for name in model.sets(SIMILARITY):
        group = name.removesuffix(ends[0])
        both = [model.get(SIMILARITY, name=f"{group}{end}") for end in ends]
        if group != name and all(both):
            of_one, several = (f"{row['value']:.3f}" for row in both if row is not None)
            cosines.append(f"“{group} …” {of_one} and {several}")
    if not cosines:
        return []
    return [
        "Mean cosine with the same sentence about one person (“The guest …”) and about several "
        f"(“The guests …”): {', '.join(cosines)}. A pronoun that is nearer to several people is "
        "read as a plural: what sets it apart from others is number, too, and not bias alone."
    ]


def _one_pronoun(gap: Found | None) -> str:
    """Say which pronoun a decoder prefers over all occupations, and of people in general."""
    if gap is None or not _finds(gap):
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
    (True, True): "SEAT and CEAT show {} in",
    (True, False): "SEAT shows {}, CEAT does not, in",
    (False, True): "SEAT does not show {}, CEAT does, in",
    (False, False): "Neither SEAT nor CEAT shows {} in",
    (True, None): "SEAT shows {} in",
    (False, None): "SEAT does not show {} in",
}
"""Beginnings of a sentence, by what SEAT and CEAT show; None is not measured."""
_WHY_TESTS_DIFFER = (
    "They ask different things. The p of SEAT asks whether other words would give an equally large "
    "value. The interval of CEAT takes the words as given; for a model with random weights it "
    "often leaves 0 out, too."
)


def _associations(model: ModelRows) -> list[str]:
    """Say what SEAT shows by its p, and CEAT by its interval, and why they differ."""
    findings: dict[str, list[str]] = {}
    differ = False
    for name in model.sets(SEAT):
        seat, ceat = model.get(SEAT, name=name), model.get(CEAT, name=name)
        if seat is None:
            continue
        p = seat.get("p_holm")
        clear, ceat_clear = _finds(seat), None if ceat is None else _finds(ceat)
        text = f"{query_text(seat)} (SEAT {value_text(seat, 2)}"
        text += f", p = {p:.2g}" if is_number(p) else ""
        text += f"; CEAT {value_text(ceat, 2)}" if ceat is not None else ""
        key = _TESTS[clear, ceat_clear].format("a difference" if model.states else model.attribute)
        if clear and ceat_clear and ceat is not None and ceat["value"] * seat["value"] < 0:
            key = "SEAT and CEAT contradict each other in"
        differ = differ or ceat_clear not in (None, clear)
        findings.setdefault(key, []).append(f"{text})")
    sentences = [f"{key} {'; '.join(texts)}." for key, texts in findings.items()]
    return [" ".join([*sentences, *([_WHY_TESTS_DIFFER] if differ else [])])] if sentences else []


# After a projection


def contradictions(model: ModelRows, columns: Sequence[ColumnAnswer]) -> list[str]:
    """Name, of each projection, the measures that say something else than the main ones."""
    sentences = []
    for label in (column.name for column in columns):
        texts = []
        compression, read = model.get(COMPRESSION, label), model.get(BEST, label)
        if compression is not None and not _finds(compression) and _finds(read):
            texts.append(f"compression, {_value(compression)}, is {NOT_CODED}")
        for name in model.sets(SEAT):
            before, after = model.get(SEAT, name=name), model.get(SEAT, label, name=name)
            if before is not None and after is not None and change(before, after) == verdicts.WORSE:
                texts.append(
                    f"SEAT on {query_text(after)} is further from neutral ({_value(before)} → "
                    f"{_value(after)})"
                )
        if texts:
            sentences.append(f"After {label}, {', and '.join(texts)}.")
    return sentences


def model_next(model: ModelRows, columns: Sequence[ColumnAnswer]) -> str:
    """Say what to do next, with the command."""
    if not any(_finds(line.first) for line in model.main):
        return (
            "Measure the task that the model is for, such as wordbias bios or wordbias "
            "fairness; nothing here asks for a projection."
        )
    best = best_of(columns)
    if not model.has_layers:
        method = "" if best is None else f" --methods={best.name}"
        return (
            "Erase the label from vectors of your own texts, and measure your own task on them: "
            f"wordbias erase VECTORS --labels COLUMN{method} --save-transform FILE."
        )
    if best is None:
        left = [method for method in _INSIDE if method not in model.stages]
        if model.kind == "encoder" and model.attribute == GENDER and left:
            return (
                "Try a projection inside the encoder, with: wordbias audit MODEL "
                f"--methods='{' '.join(left)}'."
            )
        return (
            f"Fit a removal inside the {model.kind} to labelled texts of your own, with: wordbias "
            "project MODEL --texts FILE --labels COLUMN -o ADAPTER; and measure it with: "
            f"{_MEASURES[model.kind]}."
        )
    row = model.get(LEFT, best.name)
    written = None if row is None else row.get("written_by")
    if not written and model.attribute != GENDER:
        return (
            f"{best.name} has no place in this model's files; fit a removal inside the {model.kind}"
            ", with: wordbias project MODEL --groups=GROUPS -o ADAPTER; and measure it with: "
            f"{_MEASURES[model.kind]}."
        )
    if not written:
        return (
            f"{best.name} has no place in this model's files; audit removals that wordbias "
            f"project writes, with: wordbias audit MODEL --methods='cls@{model.last} L11-01110'."
        )
    return f"Write the model with {best.name}, and measure your own task on it: {written}"


# Numbers


def query_text(row: Found) -> str:
    """Name the four sets of words of an association test."""
    sizes = row.get("n")
    if isinstance(sizes, dict) and len(sizes) == 4:
        x, y, a, b = (str(name).replace("_", " ") for name in sizes)
        return f"{x}/{y} × {a}/{b}"
    return str(row.get("set", ""))


def _value(row: Found) -> str:
    return minus(f"{row['value']:.2f}")
