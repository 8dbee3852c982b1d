"""Sentences and tables on held-out rows, before and after a method removed labels from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from wordbias import cells
from wordbias.measures.held_out_probes import ATTACKS, BEST, NOT_CODED, PROBES, left_text
from wordbias.measures.registry import column_title
from wordbias.pivot import pivot, values
from wordbias.probes.held_out import COSINE, FOLDS, LINEAR, MLP, RECALL, TASK, TRAINING
from wordbias.probes.mdl import COMPRESSION
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.verdicts import BACKWARDS, READ, READS, UNREAD, Reading, Rule, decide

_NON_LINEAR = (
    "Linear erasure does not stop non-linear classifiers. The non-linear probe is one of them: a "
    "larger one, or one trained on more rows, may read more."
)
_CORRELATED = (
    "Anything correlated with a label can be read less well afterwards. It still predicts the "
    "label where it is known: if most nurses are women, an occupation predicts gender."
)
_TRAINED = (
    "Do not train on the rows that the method was fitted on, and do not judge by them. The classes "
    "are alike in all of these rows together, so in one part they differ in the opposite way to "
    "the rest. A model trained on one part reads the label of the other backwards. Train on rows "
    "that the method was not fitted on, by a larger --held-out; --cross-fit makes the problem "
    "smaller."
)
_OF_METHODS = {
    "leace": "LEACE makes the means of the classes equal in the training part only. In held-out "
    "rows and in rows from elsewhere some difference stays, as far as the training part does not "
    "represent them.",
    "qleace": "QLEACE maps each row by its label, and can write the label in: other moments of the "
    "classes may differ more than before. Trust the non-linear probes, not the linear ones.",
    "misp": "MISP weakens directions and removes none: a probe that scales them up reads them as "
    "before. The label affects cosines, and searches by cosine, less.",
}
_CERTIFIED = (BEST, *PROBES, *ATTACKS)
_OF_OTHERS = "They are trained on the training rows, which the method was fitted on."
_OF_BEST = (
    "The best probe and the two ridge probes are tuned, trained and tested on held-out rows; their "
    "accuracy is balanced. The others are trained on the training rows, which the method was "
    "fitted on."
)
_READ = (*_CERTIFIED, LINEAR, MLP, COMPRESSION)
_STAGE_OF = {"after": "", "cross-fit": ", cross-fit"}
_CERTIFICATES = {"after": "new rows", "cross-fit": "training rows, cross-fitted"}
_STAGES = {"after": "the saved method", "cross-fit": "cross-fitting"}


def limits(method: str) -> list[str]:
    """Return what the figures do not show, in general and for a method."""
    return [_NON_LINEAR, _CORRELATED, _TRAINED, *filter(None, [_OF_METHODS.get(method)])]


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Say of each label what probes read before and after, and what the method cost."""
    concepts = dict.fromkeys(row.details["concept"] for row in rows if row.measure == LINEAR)
    lines = [
        line
        for concept in concepts
        for line in (
            _left_sentence(rows, concept),
            *_verdict(rows, concept),
            _uncertified(rows, concept),
        )
        if line
    ]
    for column in dict.fromkeys(row.details["column"] for row in rows if row.measure == TASK):
        before, after = (_row_of(rows, TASK, stage, column) for stage in ("before", "after"))
        if before.value is not None and after.value is not None:
            lines.append(
                f"{column}, a task: a linear probe was right for {_share(before.value)} before "
                f"and for {_share(after.value)} after; always guessing the most frequent one is "
                f"right for {_share(after.details['neutral'])}."
            )
    recall, cosine = (_row_of(rows, measure, "after") for measure in (RECALL, COSINE))
    if recall.value is not None and cosine.value is not None:
        lines.append(
            f"A held-out row keeps {_share(recall.value)} of its ten nearest rows, and has a "
            f"cosine of {cosine.value:.3f} with its original, on average."
        )
    return lines


def _left_sentence(rows: Sequence[Row], concept: str) -> str:
    """Say what the best of several probes reads after, and how much the worst one has left."""
    before, after = (_row_of(rows, BEST, stage, concept) for stage in ("before", "after"))
    if before.value is None or after.value is None:
        reason = after.details.get("reason")
        return f"{concept}: what is left was not judged: {reason}." if reason else ""
    known = after.details
    ends = [_share(known[end]) for end in ("chance_low", "chance_high")]
    text = (
        f"{concept}: the best of several probes, trained on other held-out rows, was right for "
        f"{_share(before.value)} before and for {_share(after.value)} after (every class counts "
        f"alike; permuted labels: {' to '.join(ends)})."
    )
    left: dict[str, float] = {}
    read = set()
    tried = {row.measure for row in rows}
    for measure in (probe for probe in (*_CERTIFIED, LINEAR, MLP) if probe in tried):
        old, new = (_row_of(rows, measure, stage, concept).details for stage in ("before", "after"))
        if measure in (LINEAR, MLP):  # trained on more rows, such a probe may read more
            if new.get("balanced") is None or old["balanced_low"] <= old["balanced_neutral"]:
                continue
            chance = new["balanced_neutral"]
            left[measure] = max(0.0, new["balanced"] - chance) / (old["balanced"] - chance)
        else:
            left |= {measure: new["left"]} if "left" in new else {}
        read.add(_read(_row_of(rows, measure, "after", concept)).verdict)
    if read <= {UNREAD, BACKWARDS}:
        but = ", but backwards" * (BACKWARDS in read)
        return f"{text} No probe reads it beyond chance{but}."
    text += f" {left_text(left)}." if left else ""
    code = _row_of(rows, COMPRESSION, "after", concept)
    if code.value is not None and code.value <= code.details["neutral"]:
        text += f" Compression, {code.value:.2f}, is {NOT_CODED}."
    return text


def _verdict(rows: Sequence[Row], concept: str) -> list[str]:
    before, after = (_row_of(rows, LINEAR, stage, concept) for stage in ("before", "after"))
    mlp = _row_of(rows, MLP, "after", concept)
    if before.value is None or after.value is None or mlp.value is None:
        return [f"{concept}: not probed: {after.details.get('reason', 'undefined')}."]
    text = (
        f"{concept}: a linear probe was right for {_share(before.value)} of the held-out rows "
        f"before and for {_share(after.value)} after; always guessing the most frequent label is "
        f"right for {_share(after.details['neutral'])}."
    )
    text += _alike(after, "linear")
    if _read(mlp).verdict == READ:
        text += f" A non-linear probe still reads it: it is right for {_share(mlp.value)}."
    else:
        text += f" A non-linear probe is right for {_share(mlp.value)}.{_alike(mlp, 'non-linear')}"
    return [text, *_training(rows, concept)]


def _training(rows: Sequence[Row], concept: str) -> list[str]:
    """Say what is read of a label from training rows, after the method and with cross-fitting."""
    saved, crossed = (_row_of(rows, TRAINING, stage, concept) for stage in ("after", "cross-fit"))
    if saved.value is None:
        return []
    text = (
        f"{concept}, in the training rows after: a logistic regression cross-validated on them is "
        f"right for {_share(saved.value)}.{_alike(saved, 'linear')}"
    )
    probe = _row_of(rows, LINEAR, "cross-fit", concept)
    if crossed.value is not None and probe.value is not None:
        text += (
            f" With cross-fitting it is right for {_share(crossed.value)}."
            f"{_alike(crossed, 'linear')} A linear probe that is trained on the cross-fitted rows "
            f"is right for {_share(probe.value)} of the held-out rows.{_alike(probe, 'linear')}"
        )
    return [text]


def _uncertified(rows: Sequence[Row], concept: str) -> str:
    """Say why cross-fitted rows have no certificate; nothing if they have one, or need none."""
    best = _row_of(rows, BEST, "cross-fit", concept)
    if "reason" not in best.details:
        return ""
    return f"{concept}: no certificate of the cross-fitted rows: {best.details['reason']}."


def _read(row: Row) -> Rule:
    return decide(READS, Reading(row.to_dict()))


def _alike(row: Row, probe: str) -> str:
    """Say that a label is read backwards, or where only the balanced accuracy shows it."""
    balanced, chance = (row.details.get(f"balanced{of}", 0.0) for of in ("", "_neutral"))
    return _read(row).says.format(
        opposite=_share(1 - (row.value or 0.0)),
        probe=probe,
        balanced=_share(balanced),
        chance=_share(chance),
    )


def held_out_tables(rows: Sequence[Row]) -> list[Table]:
    """Return the tables of `wordbias.probes.held_out.held_out_rows`."""
    later = [row for row in rows if row.details["stage"] != "before"]
    concepts = list(dict.fromkeys(row.details["concept"] for row in rows if row.measure == MLP))
    elsewhere = _CERTIFIED if is_certified(rows) else ()
    measures = [measure for measure in _READ if measure not in elsewhere]
    read = [row for row in later if row.measure in measures and _is_read(row)]
    read.sort(key=lambda row: (concepts.index(row.details["concept"]), _READ.index(row.measure)))
    before = ("before", partial(_before, rows))
    columns = values(before, "after", "95 %", ("balanced", cells.detail("balanced")))
    columns += values(("chance", cells.neutral))
    note = (
        "Accuracy: chance is the share of the most frequent label. Balanced: the mean over the "
        f"classes, after. {_OF_BEST if BEST in measures else _OF_OTHERS} Compression is by an "
        "online code, in bits: chance is the value that the shares of the classes alone give, 1 "
        "if they are equal."
    )
    by: dict[str, object] = {"label": "concept", "read by": _probe}
    tables = [pivot("Read from held-out rows", read, by, columns, note)]
    trained = [row for row in rows if row.measure == TRAINING]
    columns = values("right", "95 %", ("backwards", _backwards), ("chance", cells.neutral))
    note = (
        f"A logistic regression, cross-validated in {FOLDS} parts. Backwards: the share of its "
        "opposite answers that is right, for two classes. If a value is far from chance on either "
        "side, the rows tell the label."
    )
    by = {"label": "concept", "rows of": lambda row: _STAGES[row.details["stage"]]}
    tables.append(pivot("Read from the training rows", trained, by, columns, note))
    costs = [row for row in later if row.measure == TASK]
    costs += [_row_of(rows, measure, "after") for measure in (RECALL, COSINE)]
    columns = values(before, "after", "95 %", ("chance", _majority))
    by = {"": lambda row: row.details.get("column", "all"), "kept": _probe}
    return [*tables, pivot("Cost on held-out rows", costs, by, columns)]


def is_certified(rows: Sequence[Row]) -> bool:
    """Return whether the attacks of a certificate are among the rows."""
    return any(row.measure in ATTACKS for row in rows)


def certificate_tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table of the attacks on each label, the best attack first; none without them."""
    # One is of new rows, and with cross-fitting one of the training rows.
    if not is_certified(rows):
        return []
    attacks = [row for row in rows if row.measure in _CERTIFIED and row.value is not None]
    attacks.sort(key=lambda row: (-(row.value or 0.0), _CERTIFIED.index(row.measure)))
    columns = values(("before", partial(_before, rows)), stage="after")
    permuted, there = ("permuted", cells.interval_of("chance")), tuple(_CERTIFICATES)
    columns += values("after", "95 %", permuted, ("p", cells.p_of()), stage=there)
    tables = []
    for concept in dict.fromkeys(row.details["concept"] for row in attacks):
        for stage, where in _CERTIFICATES.items():
            of = (concept, stage)
            matching = [
                attack
                for attack in attacks
                if (attack.details["concept"], attack.details["stage"]) == of
            ]
            if matching:
                title, about = f"Certificate: {concept}, {where}", matching[0].details
                note = (
                    f"{about['n']:,} rows, each mapped by a method that was not fitted on it. "
                    "Balanced accuracy of probes that are tuned, trained and tested on folds of "
                    f"these rows. One class for all is right for {about['neutral']:.3f}. Permuted: "
                    f"values with {about['chance_draws']} permutations of the labels, up to the "
                    "largest of all probes. p: how often the largest there is as large."
                )
                tables.append(pivot(title, matching, {"read by": _titled}, columns, note))
    return tables


def _majority(row: Row) -> str:
    return cells.neutral(row) if row.measure == TASK else ""


def _is_read(row: Row) -> bool:
    return row.details["stage"] == "after" or bool(row.details.get("n"))


def _probe(row: Row) -> str:
    title = "linear probe" if row.measure == TASK else column_title(row.measure)
    return title + _STAGE_OF[row.details["stage"]]


def _titled(row: Row) -> str:
    return column_title(row.measure)


def _before(rows: Sequence[Row], row: Row) -> str:
    """Write the value before; each row is its own nearest one, with a cosine of 1."""
    if row.measure in (RECALL, COSINE):
        return number(1, 3)
    about = row.details.get("concept", row.details.get("column"))
    return cells.value(_row_of(rows, row.measure, "before", about))


def _backwards(row: Row) -> str:
    if row.value is None or row.details["classes"] != 2:
        return ""
    return number(1 - row.value, 3)


def _row_of(rows: Sequence[Row], measure: str, stage: str, of: str | None = None) -> Row:
    """Return the row of a measure, a stage and a label or column; an undefined one if none is."""
    for row in rows:
        about = row.details.get("concept", row.details.get("column"))
        if (row.measure, row.details["stage"], about) == (measure, stage, of):
            return row
    return Row("", measure, None, {"stage": stage})


def _share(value: float) -> str:
    """Return a share in per cent; one that is nearly all, or nearly nothing, with a decimal."""
    return f"{100 * value:.{int(0 < min(value, 1 - value) < 0.01)}f} %"
