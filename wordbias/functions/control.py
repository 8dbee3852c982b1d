"""A control of StereoSet with swapped groups: proposed for people to correct, and checked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from wordbias import cells
from wordbias.calls import path_of, public
from wordbias.configuration import uses
from wordbias.errors import UsageError, WordbiasError, listed
from wordbias.formats.files import check_outputs
from wordbias.functions.inputs import check_records, write_records
from wordbias.pivot import pivot, values
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.stereotypes.control import Lists, control_records, problems, propose
from wordbias.stereotypes.gsss import Gsss
from wordbias.stereotypes.stereoset import StereoSet
from wordbias.stereotypes.text_sets import TextSetLike, load_text_set, source_of
from wordbias.wordlists import Attribute, GroupsLike

_KIND = "bias_type"


@public
@uses()
def control(
    data: TextSetLike,
    *,
    groups: GroupsLike | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Report:
    """Make a control of StereoSet with swapped groups, for people to correct, and check it.

    ``data`` is StereoSet. Each context and next sentence gets a version in which the words of two
    ``groups`` change places, as enhanced StereoSet has it for gender. ``output`` has both, and a
    column, check, with what people should look at. That is a triple without a swapped word, a text
    with words of both groups, or a word that stayed. It is also an article or a verb that no longer
    fits.

    People correct the file. It is then ``data``, and is checked again. wordbias likelihood measures
    S and D of it.

    Parameters
    ----------
    data : path, fetched name or frame
        StereoSet (JSON), or a control to check (CSV).
    groups : name, path or mapping, optional
        Two groups with pairs of words to swap, such as religion:christian,muslim, or a TOML file.
        [default: gender]
    where : mapping of column to value or values, optional
        Only triples with this value, such as bias_type=religion; may be repeated.
    output : path, optional
        File for the control (CSV).

    Returns
    -------
    Report
        Counts of the triples: all, swapped, and those to look at, for each reason.

    Raises
    ------
    WordbiasError
        If the data are neither, no triple is left, or the groups have no pairs.

    References
    ----------
    Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in Pre-trained Language
    Models", section 2. Nadeem et al. (2021), "StereoSet: Measuring stereotypical bias in pretrained
    language models".

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.control("stereoset/dev.json", output="control.csv")  # doctest: +SKIP
    """
    target = path_of(output)
    check_outputs({"-o": target}, {"DATA": data, "--groups": groups})
    check_records(target)
    lists = Lists.of(Attribute.load(groups))
    read = load_text_set(data)
    if isinstance(read, Gsss):
        if where:
            raise UsageError(
                "--where is for StereoSet; a control has no column of the kind of bias"
            )
        triples = list(read.triples)
    elif isinstance(read, StereoSet):
        kinds = _kinds(where)
        triples = propose(read, lists, kinds)
        if not triples:
            chosen = f" with {_KIND} {listed(kinds)}" if kinds else ""
            raise WordbiasError(f"{read.path}: has no triple of two sentences{chosen}")
    else:
        raise WordbiasError(f"{read.path}: expected StereoSet (JSON), or a control of it (CSV)")
    checks = {triple.id: dict(problems(triple, lists)) for triple in triples}
    reasons = Counter(
        reason
        for by_label in checks.values()
        for reason in dict.fromkeys(
            text.partition(":")[0] for texts in by_label.values() for text in texts
        )
    )
    swapped = sum(triple.is_swapped for triple in triples)
    flagged = sum(any(by_label.values()) for by_label in checks.values())
    about = {"groups": [*lists.groups]}
    counts = {"triples": len(triples), "swapped": swapped, "to look at": flagged}
    rows = [
        Row(read.path, "control-triples", count, {**about, "set": name, "n": len(triples)})
        for name, count in [*counts.items(), *reasons.most_common()]
    ]
    written = write_records(target, control_records(triples, checks))
    columns = values(("triples", cells.count))
    return Report(
        inputs={"data": {**source_of(read), "triples": len(triples)}},
        rows=rows,
        tables=[pivot("Triples", rows, {"": "set"}, columns)],
        heading=[f"{read.path}: {how_many(len(triples), 'triple')}, {' ↔ '.join(lists.groups)}."],
        closing=written or ["Nothing written; -o FILE writes the control."],
    )


def _kinds(where: Mapping[str, str | Sequence[str]] | None) -> list[str]:
    """Return the kinds of bias of the triples to keep; empty for all."""
    kinds: list[str] = []
    for column, wanted in (where or {}).items():
        if column != _KIND:
            raise UsageError(
                f"--where: {column}: StereoSet is chosen by {_KIND}, such as {_KIND}=race"
            )
        kinds += [wanted] if isinstance(wanted, str) else wanted
    return kinds
