"""Probing: how easily a label is read off vectors, by MDL online codes or probing accuracy.

The length of the file is that of the documentation of `probe`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.arguments import seeds_of
from wordbias.calls import note, public, refuse_given, typed_setting
from wordbias.columns import Column
from wordbias.configuration import (
    ASKS_ENCODERS,
    READS_VECTORS,
    STARTS_PROCESSES,
    current_config,
    uses,
)
from wordbias.errors import UsageError
from wordbias.formats import is_static_model
from wordbias.functions.inputs import ReadOptions, path_of, reading
from wordbias.functions.labelled_vectors import (
    ManyVectorsLike,
    open_labelled,
    random_like,
    several_of,
    with_names,
)
from wordbias.labelled import CellsLike, Labelled
from wordbias.models.representations import Layers
from wordbias.models.text_encoders import EncoderLike
from wordbias.models.texts import TextsLike
from wordbias.pages.probe_plots import plot_codes
from wordbias.pivot import pivot, values
from wordbias.probes.accuracy import accuracy_rows, probe_accuracy
from wordbias.probes.mdl import (
    ACCURACY,
    CODELENGTH,
    COMPRESSION,
    CONTROL,
    PUBLISHED,
    SELECTIVITY,
    TASK,
    UNIFORM,
    code_rows,
    online_codes_in_processes,
)
from wordbias.probes.train import Recipe
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.functions.adapters import AdapterLike
    from wordbias.functions.encoded_texts import After

_OF_TEXTS = ("where", "limit", "pooling", "template", "adapter", "setting", "force")


@public
@uses(*READS_VECTORS, *STARTS_PROCESSES, "device", *ASKS_ENCODERS)
def probe(
    vectors: ManyVectorsLike | EncoderLike = None,
    labels: CellsLike | Mapping[str, str] | None = None,
    *,
    first_names: bool = False,
    mdl: bool = True,
    probe: str = "linear",
    fractions: str | Sequence[float] | None = None,
    seed: int | Sequence[int] = (0, 1, 2),
    layers: Layers = None,
    array: str | None = None,
    texts: TextsLike | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    limit: int | None = None,
    pooling: str | None = None,
    template: str | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    unit: CellsLike | None = None,
    types: CellsLike | None = None,
    control: bool = True,
    random: bool | None = None,
    dev: CellsLike | None = None,
    split: CellsLike | None = None,
    epochs: int = 50,
    batch_size: int = 16,
    lr: float = 1e-3,
    scale: bool = True,
    as_published: bool = False,
) -> Report:
    """Measure how easily a probe can read a label, such as gender, from ``vectors``: compression.

    Compression is the code length of the labels without a probe, divided by the length with one
    (MDL). It is about 1 if nothing can be read. The higher it is, the easier the label is to read.

    ``vectors`` are files of encode, arrays (.npy, .npz, safetensors) or tables (.parquet, .arrow,
    .feather, .csv, .tsv) with ``labels``. They can also be word vectors. Their first names are then
    probed for gender, unless ``labels`` is a file of words and labels, separated by a tab. Several
    are compared. Without ``vectors`` the sample that comes with wordbias is probed, and random
    vectors.

    With ``texts``, ``vectors`` is a model (a folder or a name on the hub), which encodes them. It
    may be one behind --endpoint, or in Python a function of texts, which gives vectors alone. With
    ``adapter`` the model encodes them again, after a ``setting`` of the adapter is removed: is the
    label still readable? Give texts that the adapter was not fitted to.

    Parameters
    ----------
    vectors : Representations, array (n, d) or (L, n, d), embedding, path, several, or a model
        The vectors to probe, several also by name.
    labels : str, path, sequence or, for words, mapping, optional
        Labels: a column of the vectors' file or of ``texts``, or a file with one per line.
    first_names : bool
        Probe first names for gender, the default for word vectors.
    mdl : bool
        Measure compression, as MDL by an online code, or only accuracy.  [default: mdl]
    probe : str
        Kind of probe.
    fractions : str or sequence of float, optional
        With ``mdl``: ends of the blocks in which labels are sent: published, voita, or percentages
        such as 2,10,100.  [default: published]
    seed : int or sequence of int
        Random seeds. Each gives another order and other initial weights.
    layers : int, sequence of int or str, optional
        Layers: last, or numbers such as 0,6,12.  [default: all]
    array : str, optional
        Name of the array, or of the vectors' column, if a file holds several.
    texts : path, sequence of str, mapping or frame of columns, optional
        Texts to encode with the model; a table, or one per line.
    where : mapping of str to str or sequence of str, optional
        With ``texts``: use only rows with this value; may be repeated.
    limit : int, optional
        With ``texts``: maximum number of rows.
    pooling : str, optional
        With ``texts``: tokens whose mean is the vector.  [default: that of wordbias encode]
    template : str, optional
        With ``texts``: template for each text, which replaces its {}: "A text about a person: {}".
        Or chat, for the model's chat template.
    adapter : path or Adapter, optional
        With ``texts``: adapter that wordbias project wrote for the model.
    setting : str or sequence of str, optional
        With ``adapter``: its setting to remove, such as L11-11101; may be repeated.
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    unit : str, path or sequence, optional
        With ``mdl``: the unit that examples belong to, such as a person or a profession. Blocks do
        not split a unit.
    types : str, path or sequence, optional
        With ``control``: types of examples, such as words; each type gets one random label.
    control : bool
        Probe random labels too, as a control.  [default: yes]
    random : bool, optional
        Probe random vectors of the same shape too.  [default: only without arguments]
    dev : str or sequence of bool, optional
        With ``mdl``: examples to choose the best epoch on; they are not sent, as published.
        [default: the last tenth of those sent]
    split : str, path or sequence, optional
        With --accuracy: column of train, dev and test.
    epochs : int
        Maximum number of epochs.
    batch_size : int
        Batch size, in examples.
    lr : float
        Learning rate.
    scale : bool
        Centre the vectors of each layer, and divide them by one number that makes their mean square
        1. Without it compression depends on the length of vectors.
    as_published : bool
        Do as the released code does: use the last weights, not the best, and unscaled vectors.

    Returns
    -------
    Report
        For each input and layer its compression, code lengths, accuracy and selectivity: means over
        the seeds. Its ``plot`` draws the codes.

    Raises
    ------
    WordbiasError
        If vectors and labels do not fit, or there are fewer than two classes or fewer examples than
        the blocks need. Also if an adapter is of another model or changes no vector, or an argument
        would do nothing.

    Notes
    -----
    The neutral value of compression depends on the shares of the classes; the report gives it. With
    ``adapter`` the answer also says which layers are unchanged. In the last layer that changes, the
    best of several tuned probes decides. It is trained and tested on the given texts.

    Compression measures what Orgad et al. (2022) call the extractability of a label. The
    compression as published, which adds nats to bits, is always printed too. Scaling lets one
    learning rate suit all layers and models. After an adapter, vectors are scaled by the same
    numbers as before it. ``fractions`` voita are the blocks of Voita and Titov (2020), and
    published those of Orgad et al. (2022).

    References
    ----------
    Voita and Titov, Information-Theoretic Probing with Minimum Description Length, 2020.

    Orgad, Goldfarb-Tarrant and Belinkov, How Gender Debiasing Affects Internal Model
    Representations, and Why It Matters, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import wordbias as wb
    >>> x = np.random.default_rng(0).normal(size=(400, 4))
    >>> report = wb.probe(x, x[:, 0] > 0, seed=0, lr=0.02)
    >>> report["compression"][0].value > 2
    True
    """
    how = current_config()
    if mdl:
        refuse_given(("split",), "is for --accuracy; an online code makes its own split")
    else:
        refuse_given(("fractions", "unit", "dev", "jobs"), "is for --mdl")
    if texts is not None:
        refuse_given(("first_names", "array"), "is for vectors, --texts is for a model")
    else:
        refuse_given((*_OF_TEXTS, *ASKS_ENCODERS), "is for a model with --texts")
        _refuse_models(vectors)
    device = typed_setting("device")
    if probe == "linear" and texts is None and device not in (None, "cpu"):
        raise UsageError(
            f"--device={device} is for --probe=mlp; a linear probe is trained on the cpu"
        )
    recipe = Recipe(probe, epochs, batch_size, lr, last=as_published)
    scale = scale and not as_published
    order = seeds_of(seed)
    shares = _shares(fractions)
    read_options = reading()
    after: list[After] = []
    if texts is None:
        given = cast("ManyVectorsLike", vectors)
        inputs = _opened(given, labels, first_names, read_options, layers, array, random, order[0])
    else:
        from wordbias.functions.encoded_texts import encode_labelled

        before, after = encode_labelled(
            _one_model(vectors),
            texts,
            labels,
            adapter=adapter,
            setting=setting,
            force=force,
            layers=layers,
            pooling=pooling,
            template=template,
            where=where,
            limit=limit,
            skip_bad=how.skip_bad,
            device=how.device,
        )
        inputs = [before, random_like(before, order[0])] if random else [before]
    uneven = (
        []
        if scale
        else [*(line for labelled in inputs for line in _uneven(labelled)), *_apart(inputs)]
    )
    once = [
        line for labelled in inputs if "random" not in labelled.info for line in labelled.once()
    ]
    for line in dict.fromkeys([*once, *uneven]):
        note(line)

    def measured(labelled: Labelled, like: Labelled | None = None) -> list[Row]:
        examples, of_one = (
            labelled,
            {"one_layer": len(labelled.layers) == 1 and "layers" not in labelled.info},
        )
        if scale:
            sizes, centres = (like or labelled).spread()
            known = (like or labelled).layers
            places = [known.index(layer) for layer in labelled.layers]
            examples = labelled.scaled([sizes[i] for i in places], centres[places])
        of_types = _codes(None if types is None else labelled.column("--types", types))
        if mdl:
            codes = online_codes_in_processes(
                examples,
                Workers(how.jobs, how.backend),
                seeds=order,
                recipe=recipe,
                fractions=shares,
                groups=_codes(labelled.units(unit)),
                dev=None if dev is None else labelled.places("--dev", dev),
                types=of_types,
                control=control,
                device=how.device,
            )
            return code_rows(examples, codes, **of_one)
        probed = probe_accuracy(
            examples,
            seeds=order,
            recipe=recipe,
            split=None if split is None else labelled.column("--split", split),
            types=of_types,
            control=control,
            device=how.device,
        )
        return accuracy_rows(examples, probed, **of_one)

    rows = [row for labelled in inputs for row in measured(labelled)]
    of_first = [row for row in rows if row.subject == inputs[0].name]
    for stage in after:
        rows += stage.with_unchanged(of_first, measured(stage.labelled, inputs[0]))
    answers, beside, judged = _compared(rows, inputs[0], after, labels, unit, order[0])
    inputs += [changed.labelled for changed in after]
    closing = _code_closing(rows, dev is not None, as_published) if mdl else [_ACCURACY_CLOSING]
    return Report(
        inputs={labelled.name: labelled.info for labelled in inputs},
        rows=[*rows, *judged],
        tables=[*beside, _code_table(rows) if mdl else _accuracy_table(rows)],
        heading=_heading(inputs, probe, scale),
        closing=[*answers, *closing],
        seed=order[0],
        picture=plot_codes if mdl else None,
    )


def _refuse_models(vectors: object) -> None:
    """Refuse the folder of a model, which needs texts."""
    for source in vectors if isinstance(vectors, (list, tuple)) else [vectors]:
        path = path_of(source)
        if path is None or is_static_model(path):  # words, whose names are probed
            continue
        if os.path.isfile(os.path.join(path, "config.json")):
            raise UsageError(
                f"{path}: is a model, whose vectors are of texts: give them with --texts FILE"
            )


def _opened(
    vectors: ManyVectorsLike,
    labels: CellsLike | Mapping[str, str] | None,
    names: bool,
    read_options: ReadOptions,
    layers: Layers,
    array: str | None,
    random: bool | None,
    seed: int,
) -> list[Labelled]:
    """Open one input or several, each with random vectors of its shape if those are probed too."""
    several = several_of(vectors)
    opened = with_names(
        [
            open_labelled(source, name, read_options, labels, names, layers, array)
            for name, source in several
        ]
    )
    if random or (random is None and all(source is None for _, source in several)):
        return [both for labelled in opened for both in (labelled, random_like(labelled, seed))]
    return opened


def _codes(column: Column | None) -> NDArray[np.intp] | None:
    return None if column is None else column.codes.astype(np.intp)


def _one_model(vectors: object) -> EncoderLike:
    """Return the model among the vectors; refuse none or several."""
    if isinstance(vectors, (list, tuple)) and all(
        path_of(source) is not None for source in vectors
    ):
        if len(vectors) != 1:
            raise UsageError(f"--texts is for one model; {len(vectors)} were given")
        vectors = vectors[0]
    if vectors is None:
        raise UsageError("--texts is for one model; none was given")
    return cast("EncoderLike", vectors)


def _shares(fractions: str | Sequence[float] | None) -> str | Sequence[float]:
    """Return the ends of blocks as a name or as shares, which may be given as percentages."""
    if fractions is None or isinstance(fractions, str):
        return fractions or "published"
    ends = [float(fraction) for fraction in fractions]
    return [end / 100 for end in ends] if ends and ends[-1] > 1 else ends


def _compared(
    rows: Sequence[Row],
    before: Labelled,
    after: Sequence[After],
    labels: object,
    groups: CellsLike | None,
    seed: int,
) -> tuple[list[str], list[Table], list[Row]]:
    """Return the answers for each setting, tables of before and after, and further rows."""
    if not after:
        return [], [], []
    from wordbias.functions.encoded_texts import answers, best_probes, best_table, comparison_table

    judged = best_probes(before, after, _codes(before.units(groups)), seed)
    tables = [comparison_table(rows, before, after), *([best_table(judged)] if judged else [])]
    return answers([*rows, *judged], before, after, path_of(labels)), tables, judged


# tables

_SHOWN = 8
_UNEVEN = 10
"""Ratio of the sizes of two layers from which on a note says so."""
_APART = 3
"""Ratio of the spreads of two inputs from which on a note says so."""
_ACCURACY_CLOSING = (
    "Neutral is the majority; lower is better if labels should not be readable. Control: random "
    "labels, which a probe can only memorise; selectivity = accuracy − that on the control (Hewitt "
    "and Liang 2019)."
)


def _code_table(rows: Sequence[Row]) -> Table:
    """Return a table of compression in bits, as published, and its parts, a line for each layer."""
    code, lengths, labels = "code", "lengths", "labels"  # parts; the control beside what it is of
    spread = cells.with_spread
    columns = values(("compression", spread), part=code, measure=COMPRESSION, set=TASK)
    columns += values(("control", spread), part=code, measure=COMPRESSION, set=CONTROL)
    columns += values("published", part=lengths, measure=PUBLISHED, set=TASK)
    columns += values(("kbit", _kilo), part=lengths, measure=CODELENGTH, set=TASK)
    columns += values(("uniform", _kilo), part=lengths, measure=UNIFORM, set=TASK)
    columns += values("accuracy", part=labels, measure=ACCURACY, set=TASK)
    columns += values("selectivity", part=labels, measure=SELECTIVITY)
    return pivot("MDL online code", rows, _BY, columns, _about_seeds(rows))


def _accuracy_table(rows: Sequence[Row]) -> Table:
    """Return a table of accuracy, beside the majority and a control, a line for each layer."""
    heads = (("accuracy", cells.with_spread), "95 %", ("majority", cells.neutral))
    columns = values(*heads, measure=ACCURACY, set=TASK)
    columns += values(("control", cells.with_spread), measure=ACCURACY, set=CONTROL)
    columns += values("selectivity", measure=SELECTIVITY)
    return pivot("Probing accuracy", rows, _BY, columns, _about_seeds(rows))


_BY = {"vectors": "subject", "layer": "layer"}


def _kilo(row: Row) -> str:
    return number((row.value or 0) / 1000, 3)


def _about_seeds(rows: Sequence[Row]) -> str:
    seeds = rows[0].details["seeds"]
    about = f"Mean ± standard deviation over {len(seeds)} seeds."
    return f"Seed {seeds[0]}." if len(seeds) == 1 else about


def _code_closing(rows: Sequence[Row], external: bool, last: bool) -> list[str]:
    """Explain the numbers: neutral, direction, and the conversion of the published one."""
    f1 = next(row.details["first_share"] for row in rows if row.measure == PUBLISHED)
    known, published = (_neutral(rows, measure) for measure in (COMPRESSION, PUBLISHED))
    of_shares = (
        ""
        if known == "1"
        else " The shares of the classes alone give that much: a probe learns them without reading "
        "the vectors."
    )
    lines = [
        f"Compression = uniform / online codelength, in bits. {known} = the labels cannot be read "
        "from the vectors; higher = easier to read. Lower is better if they should not be "
        "readable. Memorising labels costs bits: a probe that finds nothing gives slightly less, "
        f"and so does the control, the same vectors with random labels.{of_shares}",
        "As published: cross-entropy in nats is added to bits; finding nothing then gives "
        f"{published}. Converted: 1 / (f + (1/c − f) / ln 2), f = {f1:.4g}, the first block.",
    ]
    if external:
        lines.append(
            "The best weights were chosen on an external dev set, as published. That is not a "
            "valid code: a receiver does not have that set."
        )
    if last:
        lines.append(
            "--as-published: the last weights of each probe were used, not its best, and vectors "
            "as they are."
        )
    return lines


def _neutral(rows: Sequence[Row], measure: str) -> str:
    """Return the neutral value of the labels, or the range of it over several inputs."""
    values = [
        row.details["neutral"]
        for row in rows
        if row.measure == measure and row.details["set"] == TASK
    ]
    return " to ".join(dict.fromkeys(f"{end:.3g}" for end in (min(values), max(values))))


def _uneven(labelled: Labelled) -> list[str]:
    """Note that layers differ much in the size of their vectors, which one learning rate meets."""
    sizes = dict(zip(labelled.layers, labelled.sizes(), strict=True))
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    ratio = sizes[most] / sizes[least]
    if ratio < _UNEVEN:
        return []
    return [
        f"{labelled.name}: the vectors of layer {most} are {ratio:,.0f} times as large as those of "
        f"layer {least}. A probe learns both with one learning rate; scaled, the layers are "
        "comparable"
    ]


def _apart(inputs: Sequence[Labelled]) -> list[str]:
    """Note that inputs differ much in how far vectors of one layer are from their mean."""
    given = [labelled for labelled in inputs if "random" not in labelled.info]
    if len(given) < 2:
        return []
    known = {
        labelled.name: dict(zip(labelled.layers, labelled.deviations(), strict=True))
        for labelled in given
    }
    ratios = [
        (known[more][layer] / known[less][layer], more, less, layer)
        for more, less in permutations(known, 2)
        for layer in known[more].keys() & known[less].keys()
    ]
    ratio, more, less, layer = max(ratios, default=(0, "", "", 0))
    if ratio < _APART:
        return []
    return [
        f"{more} and {less}: the vectors of the first are {ratio:,.1f} times as far from their "
        f"mean as those of the second (layer {layer}). A probe learns both with one learning rate; "
        "scaled, they are comparable"
    ]


def _heading(inputs: Sequence[Labelled], probe: str, scale: bool) -> list[str]:
    """Return a line on each input, and on the classes and the probe."""
    of_size = ", of vectors with mean square 1 in each layer" if scale else ""
    lines = [f"{labelled.name}: {labelled.described}." for labelled in inputs]
    for classes in dict.fromkeys(labelled.label.classes for labelled in inputs):
        names = ", ".join(f"{name:.40}" for name in classes[:_SHOWN])
        lines.append(f"Classes: {names}{' …' * (len(classes) > _SHOWN)}. Probe: {probe}{of_size}.")
    return lines
