"""The report of one fitted method: what it found, whom it changed, what that did and cost."""

from __future__ import annotations

from wordbias.embedding import Embedding
from wordbias.formats import FileInfo
from wordbias.functions.tables import effect_table
from wordbias.methods.diagnosis import REMOVED, about_removal
from wordbias.methods.effect import effect
from wordbias.methods.fitted import Fitted
from wordbias.methods.misp import DIMS
from wordbias.methods.transform import width_after
from wordbias.methods.words import listed_words
from wordbias.rendering import Table
from wordbias.results import Report, Row, number
from wordbias.vocabulary import choose_vocabulary, neutral_vocabulary
from wordbias.wordlists import Attribute, WordGroups


def fitted_report(
    fitted: Fitted, embedding: Embedding, attribute: Attribute | WordGroups | None
) -> Report:
    """Report on a method and the embedding that it was fitted on.

    Parameters
    ----------
    fitted, embedding
        The method and the embedding before it.
    attribute
        The groups. Of two, bias is measured before and after, over the frequent neutral words;
        of more, and where the vectors have fewer values afterwards, it is not.
    """
    name = embedding.name
    reach = fitted.reach(embedding.words)
    changed = {"method": fitted.name, "replaced": reach.replaced, "outside": reach.outside}
    rows = [*fitted.found, Row(name, "words-changed", reach.mapped + reach.replaced, changed)]
    cells = [[row.measure, _number(row.value), _details(row)] for row in rows]
    tables = [Table(f"{fitted.name} on {name}", ["", "value", "details"], cells)]
    said = [line for row in rows if row.measure == REMOVED for line in about_removal(row)]
    if width_after(fitted, embedding.dim) == embedding.dim:
        listed = set() if attribute is None else listed_words(attribute)
        neutral = neutral_vocabulary(embedding.words, {word.lower() for word in listed})
        two = attribute if isinstance(attribute, Attribute) else None
        if two is not None:
            neutral = choose_vocabulary([embedding], two)
        part = embedding.subset([*neutral, *sorted(listed)])
        dims, center = fitted.settings.get("dims") or DIMS, bool(fitted.centred)
        measured = effect(part, fitted(part), neutral, two, dims=dims, center=center)
        rows += measured.rows
        tables.append(effect_table(measured, two, {}))
    info = embedding.info or FileInfo(name, "memory", "", len(embedding), embedding.dim)
    return Report(
        "debias",
        {"methods": fitted.name, **fitted.settings},
        {name: info.to_dict()},
        rows,
        tables,
        [*said, f"{fitted.name} on {embedding!r}"],
        seed=fitted.settings.get("seed"),
        notes=fitted.warnings,
    )


def _details(row: Row) -> str:
    shown = {key: v for key, v in row.details.items() if isinstance(v, (str, int, float))}
    return ", ".join(f"{key} {v if isinstance(v, str) else _number(v)}" for key, v in shown.items())


def _number(value: bool | float | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else number(value)
