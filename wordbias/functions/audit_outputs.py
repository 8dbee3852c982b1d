"""Audit of an encoder that shows the vectors of texts alone, and of vectors that it made before.

Apart from `wordbias.functions.audit_model`, which reads the layers of a model. Both measure the
same sentences by the same code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext

from wordbias.calls import current, note, refuse_given
from wordbias.draws import control_name
from wordbias.formats.files import locked
from wordbias.functions.arms import each_draw, is_drawn
from wordbias.functions.audit_model import (
    FORMATS,
    ONLY_MODELS,
    check_parts,
    not_of_gender,
    refuse_methods_of_gender,
    refuse_options_of_vectors,
)
from wordbias.functions.inputs import path_of
from wordbias.functions.report import Page, check_output
from wordbias.methods.trade_off import trade_off_rows
from wordbias.models.read_vectors import check_texts_file, write_texts
from wordbias.models.text_encoders import TextEncoder
from wordbias.pages.audit import with_changes
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.settings import Configured
from wordbias.wordlists import GroupsLike

_OF_INSIDE = ("ceat", "untrained", "likelihood")
"""Parts that need more than the vectors of texts."""
_LEFT_OUT = (
    "not measured: layers, words in their sentences (CEAT), stereotypes and NLI fairness, which "
    "need the model itself"
)


def write_audit_texts(path: str | os.PathLike[str], groups: GroupsLike | None) -> Report:
    """Write the sentences that an audit needs; return the report that says so."""
    from wordbias.contextual.audit.texts import AuditTexts

    others = [
        argument for argument in current().arguments if argument not in ("write_texts", "groups")
    ]
    refuse_given(others, "is for an audit; --write-texts writes its texts alone")
    check_texts_file(path)
    texts = AuditTexts.load(groups).all()
    write_texts(path, texts)
    counted = f"{how_many(len(texts), 'text')} of {sum(map(len, texts)):,} characters"
    return Report(
        heading=[f"{counted}. Encode each, and go on with: wordbias audit --read-vectors FILE"],
        closing=[f"Written: {os.fspath(path)}"],
    )


def audit_outputs(
    encoder: TextEncoder,
    *,
    output: str | os.PathLike[str] | None,
    skip: Sequence[str],
    methods: Sequence[str] | None,
    groups: GroupsLike | None,
    seed: int,
) -> Page:
    """Measure an encoder by the vectors of texts; see `wordbias.audit`."""
    from wordbias.contextual.audit.measure import Measuring
    from wordbias.contextual.audit.projections import METHODS, fitted_to_pairs, read_of_output
    from wordbias.contextual.audit.texts import AuditTexts, OutputReader

    name = encoder.name
    refuse_options_of_vectors(name)
    refuse_given(ONLY_MODELS, f"needs the model itself; {name} gives vectors of texts alone")
    about = AuditTexts.load(groups)
    check_parts(skip, about)
    reader = OutputReader(encoder, about)
    listed = METHODS[reader.kind] if methods is None else methods
    drawn = [text for text in listed if is_drawn(text)]
    controls = [Configured(control_name(*draw)) for draw in each_draw(drawn)]
    wanted = [read_of_output(text, name) for text in listed if text not in drawn]
    distinct = list({method.text: method for method in wanted}.values())
    refuse_methods_of_gender(distinct, about)
    to = check_output(output, FORMATS, [path_of(groups)])
    remarks = [*encoder.notes, *fitted_to_pairs(distinct)]
    for line in remarks:
        note(line, reported=True)
    measuring = Measuring(name, reader, seed, [*skip, *_OF_INSIDE])
    with nullcontext() if output is None else locked(output):
        audited = measuring.run([*distinct, *controls])
    rows = with_changes(audited.rows)
    page = Page(
        arguments={
            key: argument
            for key, argument in current().arguments.items()
            if key not in ("output", "jobs")
        },
        inputs={name: {**encoder.about, "kind": reader.kind}},
        rows=[*rows, *trade_off_rows(rows)],
        seed=seed,
        notes=list(dict.fromkeys([*remarks, *not_of_gender(about), *audited.notes, _LEFT_OUT])),
    )
    if output is not None:
        page.write(output, to)
    return page
