"""Audit of an encoder or a decoder: what `wordbias audit MODEL` measures, as one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from wordbias.calls import current, note
from wordbias.configuration import current_config
from wordbias.draws import control_name, control_of
from wordbias.embedding import is_words_and_vectors
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats import is_static_model
from wordbias.formats.files import check_new
from wordbias.formats.static_models import refuse_loaded_static
from wordbias.functions.arms import each_draw, is_drawn
from wordbias.functions.inputs import path_of
from wordbias.functions.report import FORMATS as PAGE_FORMATS
from wordbias.functions.report import Page, check_output
from wordbias.methods.trade_off import trade_off_rows
from wordbias.model_folder import MODULES
from wordbias.models.loading import LoadedModel
from wordbias.models.model_like import ModelLike, name_of
from wordbias.models.peft import check_no_adapter
from wordbias.models.sentence_transformers import is_sentence_transformer
from wordbias.models.text_encoders import EncoderLike, is_output_only
from wordbias.pages.answers import column_answers
from wordbias.pages.audit import with_changes
from wordbias.pages.columns import best_of
from wordbias.resources.hub import is_address
from wordbias.resources.models import CONFIG, could_be_model, hub_name, may_be_on_hub, model_folder
from wordbias.results import Row
from wordbias.settings import Configured
from wordbias.store import resumable
from wordbias.wordlists import GroupsLike

if TYPE_CHECKING:
    from wordbias.contextual.audit.measure import Audited, Measuring
    from wordbias.contextual.audit.projections import Fitted
    from wordbias.contextual.audit.texts import AuditTexts, Reader
    from wordbias.models.causal_model import CausalModel
    from wordbias.models.encoder import Encoder
    from wordbias.nli.pairs import PairsLike
    from wordbias.stereotypes.text_sets import TextSetLike

FORMATS = (*PAGE_FORMATS, "json")
ONLY_MODELS = ("export", "stereoset", "snli", "device")
"""Arguments of `wordbias.audit` that are for models only."""
_SHARED = ("embeddings", "output", "skip", "methods", "groups", "seed", "read_vectors")
"""Arguments that are for vectors and for models."""


def model_among(sources: object) -> EncoderLike | None:
    """Return the model among the arguments of an audit; None if they are vectors."""
    # A model is a folder with a config, a name on the hub, a loaded model with its tokenizer, a
    # name at an endpoint, or a function of texts. The folder of a static model is vectors.
    several = isinstance(sources, (list, tuple)) and not is_words_and_vectors(sources)
    if several and len(cast("Sequence[object]", sources)) == 2 and _is_model(sources):
        return cast("EncoderLike", sources)  # a model and its tokenizer
    listed = list(cast("Sequence[object]", sources)) if several else [sources]
    models = [source for source in listed if _is_model(source)]
    if not models:
        return None
    if len(listed) > 1:
        first = models[0]
        name = str(first) if is_output_only(first) else name_of(cast("ModelLike", first))
        raise WordbiasError(
            f"{name}: is a model, and a call audits one model "
            f"alone; {len(listed)} arguments were given"
        )
    return cast("EncoderLike", models[0])


def _is_model(source: object) -> bool:
    """Return whether an argument is a model rather than vectors."""
    name = path_of(source)
    if isinstance(source, str) and current_config().endpoint is not None:
        return True
    if is_output_only(source):
        return True
    if name is None:
        refuse_loaded_static(source)
        pair = isinstance(source, (list, tuple)) and len(source) == 2
        model = cast("Sequence[object]", source)[0] if pair else source
        inner = getattr(model, "model", None)  # of a pipeline
        return (
            is_sentence_transformer(model) or hasattr(model, "config") or hasattr(inner, "config")
        )
    if not os.path.exists(name) and not is_address(name) and not could_be_model(name):
        return False
    folder = model_folder(name, or_vectors=True)
    check_no_adapter(Path(folder))
    if not is_static_model(folder):
        files = (CONFIG, MODULES, "*.gguf")
        return os.path.isdir(folder) and any(any(Path(folder).glob(file)) for file in files)
    if may_be_on_hub(name) and not is_address(name):
        raise WordbiasError(
            f"{name}: is a static model on the hub, whose tokens are word vectors; give its "
            f"address: hf://{hub_name(folder)}"
        )
    return False


def refuse_options_of_models() -> None:
    """Refuse, for vectors, the arguments that are for models."""
    given = [name for name in ONLY_MODELS if name in current().given]
    if given:
        raise WordbiasError(
            f"--{given[0]} is for a model, and these are vectors; leave it out, or give a model's "
            "folder"
        )


def audit_model(
    model: ModelLike,
    *,
    output: str | os.PathLike[str] | None,
    skip: Sequence[str],
    methods: Sequence[str] | None,
    export: str | os.PathLike[str] | None,
    stereoset: TextSetLike | Sequence[TextSetLike],
    snli: PairsLike | None,
    groups: GroupsLike | None,
    device: str | None,
    seed: int,
) -> Page:
    """Measure a model before and after projections; see `wordbias.audit`."""
    from wordbias.contextual.audit.export import check_exportable
    from wordbias.contextual.audit.measure import OF_DECODERS, Measuring
    from wordbias.contextual.audit.projections import (
        METHODS,
        fitted_to_pairs,
        read_method,
    )
    from wordbias.contextual.audit.texts import AuditTexts, Reader
    from wordbias.models.encoder import Encoder

    refuse_options_of_vectors(name_of(model))
    about = AuditTexts.load(groups)
    check_parts(skip, about)
    if snli is not None and not about.of_gender:
        raise UsageError(
            f"--snli measures fairness by gender, and --groups {about.attribute} is another "
            "attribute; leave out one of them, or measure it with wordbias mab-eval --groups"
        )
    drawn = [text for text in methods or () if is_drawn(text)]
    controls = [Configured(control_name(*draw)) for draw in each_draw(drawn)]
    sets: list[TextSetLike] = (
        list(stereoset)
        if isinstance(stereoset, (list, tuple))
        else [cast("TextSetLike", stereoset)]
    )
    files = [*map(path_of, sets), path_of(snli), path_of(groups)]
    to = check_output(output, FORMATS, [path_of(model), *files])
    if export is not None:
        check_new(export)
    pairs = _pairs(snli)
    encoder = Encoder.load(model, device=device)
    encoder, decoder, missing = _with_head(encoder, model, device)
    reader = Reader(encoder, about)
    if export is not None and reader.kind == "encoder":
        check_exportable(encoder)
    if reader.kind == "encoder" and (strange := [part for part in OF_DECODERS if part in skip]):
        raise WordbiasError(f"part {strange[0]!r}: is of decoders, and {encoder.name} is none")
    data = _data(sets, reader)
    texts = METHODS[reader.kind] if methods is None else methods
    wanted = [read_method(text, reader.last) for text in texts if text not in drawn]
    distinct = list({method.text: method for method in wanted}.values())
    refuse_methods_of_gender(distinct, about)
    subject = Path(encoder.name).name
    remarks = [*encoder.notes, *missing, *fitted_to_pairs(distinct)]
    for line in remarks:
        note(line, reported=True)
    weights = encoder.sha256()
    stored = None if output is None else f"{os.fspath(output)}.{weights[:8]}.vectors"
    measuring = Measuring(subject, reader, seed, skip, decoder)
    named = path_of(model)
    untrained = None
    if named is not None and not {"probe", "untrained"} & set(skip):
        untrained = partial(Encoder.load, named, device=device, random_init=seed)
    with resumable(output, *([] if stored is None else [Path(stored)])):
        audited = measuring.run([*distinct, *controls], untrained=untrained, path=stored)
        rows, notes = _with_heads(model, decoder, reader, audited, data, pairs, measuring, device)
        rows = with_changes(rows)
        left = [_with_command(row, reader, audited.projections) for row in trade_off_rows(rows)]
        page = Page(
            arguments={
                key: argument
                for key, argument in current().arguments.items()
                if key not in ("output", "jobs")
            },
            inputs={
                subject: {
                    "path": encoder.name,
                    "weights_sha256": weights,
                    **reader.described(),
                }
            },
            rows=[*rows, *left],
            seed=seed,
            notes=list(dict.fromkeys([*remarks, *not_of_gender(about), *notes])),
        )
        if output is not None:
            page.write(output, to)
    if export is not None:
        chosen = _chosen(page, audited.projections, distinct)
        note(_exported(decoder or encoder, reader, model, chosen, export, page))
    return page


def check_parts(skip: Sequence[str], texts: AuditTexts) -> None:
    """Refuse to leave out a part that there is not, or that is not measured of the groups."""
    from wordbias.contextual.audit.measure import PARTS

    if unknown := [part for part in skip if part not in PARTS]:
        raise WordbiasError(
            f"part {unknown[0]!r}: expected some of {', '.join(PARTS)}, as of every model"
        )
    if strange := [part for part in texts.without if part in skip]:
        raise WordbiasError(
            f"part {strange[0]!r}: is not measured with --groups {texts.attribute}; leave it out"
        )


def refuse_methods_of_gender(methods: Sequence[Configured], texts: AuditTexts) -> None:
    """Refuse methods that are fitted to pairs of sentences, which only gender has."""
    from wordbias.contextual.audit.projections import of_labels

    strange = [method.text for method in methods if not of_labels(method)]
    if strange and not texts.of_gender:
        raise UsageError(
            f"--methods: {strange[0]}: is fitted to pairs of a female and a male sentence, and "
            f"--groups {texts.attribute} has none; take misp, mhd, hard, leace or inlp"
        )


def not_of_gender(texts: AuditTexts) -> list[str]:
    """Note what is measured of gender only."""
    if texts.of_gender:
        return []
    if "pronouns" not in texts.without:
        return [
            f"{texts.attribute}: not measured: words in their sentences (CEAT), and the pronoun "
            "that a decoder expects, which wordbias audit without --groups measures"
        ]
    return [
        f"{texts.attribute}: not measured, as they are about gender: occupations between she and "
        "he, and the pronoun that a decoder expects"
    ]


def _with_head(
    encoder: Encoder, source: ModelLike, device: str | None
) -> tuple[Encoder, CausalModel | None, list[str]]:
    """Load the head of a decoder; return its layers with the model whose head reads them."""
    # Both are then one model: what is applied to it changes vectors and likelihoods. A decoder
    # without a head, or one that gives vectors of sentences, has None, and a note why.
    from wordbias.models.causal_model import CausalModel
    from wordbias.models.families import base_of

    if not encoder.causal or encoder.sentence is not None:
        return encoder, None, []
    precision = None if encoder.given else encoder.precision
    try:
        decoder = CausalModel.load(source, device=device, precision=precision)
    except WordbiasError as error:
        return encoder, None, [f"likelihoods are not measured: {error}"]
    return replace(encoder, model=base_of(decoder.model)), decoder, []


def _with_command(row: Row, reader: Reader, fitted: Sequence[Fitted]) -> Row:
    """Add the command that writes the model with a projection, if there is one."""
    from wordbias.contextual.audit.projections import SCRUB

    label, encoder = row.details["stage"], reader.encoder
    if control_of(label) is not None:
        return row
    groups = path_of(current().arguments.get("groups")) or "GROUPS"  # given as lists of words
    about = "" if reader.texts.of_gender else f" --groups={groups}"
    (projection,) = (candidate for candidate in fitted if candidate.method.text == label)
    if reader.kind == "decoder" or (projection.step is not None and encoder.sentence is not None):
        command = f"wordbias audit {encoder.name}{about} --methods={label} --export=DIR"
    elif label == SCRUB:  # project fits it by default to these sentences
        command = f"wordbias project {encoder.name}{about or ' --groups=gender'} -o ADAPTER"
    elif projection.step is None:
        command = f"wordbias project {encoder.name} --setting={label} -o ADAPTER"
    else:
        return row
    return replace(row, details={**row.details, "written_by": command})


def _exported(
    loaded: LoadedModel,
    reader: Reader,
    source: ModelLike,
    fitted: Fitted,
    folder: str | os.PathLike[str],
    page: Page,
) -> str:
    """Write the model with a projection; return what was written."""
    from wordbias.contextual.audit.export import export_decoder, export_with_step

    if reader.kind == "decoder":
        return export_decoder(loaded, fitted, reader.site, folder)
    attribute = reader.texts.attribute
    card = partial(_card, page, attribute, fitted.method, reader.encoder, os.fspath(folder))
    export_with_step(reader.encoder, source, fitted, folder, card)
    return f"{os.fspath(folder)}: written, with {fitted.method.text} behind its pooling"


def _card(
    page: Page,
    attribute: str,
    method: Configured,
    encoder: Encoder,
    folder: str,
    staged: Path,
    base: str | None,
) -> str:
    """Return the card of a model with a projection, as `wordbias.erase` writes one."""
    from wordbias.contextual.audit.projections import fitted_to_pairs
    from wordbias.functions.erase_tables import limits
    from wordbias.functions.push import before_and_after
    from wordbias.models.sentence_folder import OLDEST, ORIGINAL_CARD
    from wordbias.pages.model_card import card_header, model_card

    original, label = Path(encoder.name).name, method.text
    rows = [row.to_dict() for row in page.rows if row.details.get("stage") in ("before", label)]
    table = before_and_after(rows)
    return model_card(
        Path(folder).resolve().name,
        base=base,
        original=base or original,
        header=card_header(staged / ORIGINAL_CARD),
        summary=[f"{base or original} without what {label} removes from its vectors of texts."],
        oldest=OLDEST,
        fitted=[
            f"Removed: {attribute}, by {label}, as a Dense module behind the pooling.",
            "Fitted and measured on sentences that come with wordbias, by wordbias audit.",
            *(f"{line[0].upper()}{line[1:]}." for line in fitted_to_pairs([method])),
            f"SHA-256 of the original's weights: {encoder.sha256()}.",
        ],
        tables=[] if table is None else [table],
        limits=limits(method.name.removesuffix("-pairs")),
    )


def _chosen(page: Page, fitted: Sequence[Fitted], methods: Sequence[Configured]) -> Fitted:
    """Return the only method, or the one that helps and leaves least."""
    best = best_of(column_answers([row.to_dict() for row in page.rows]))
    label = methods[0].text if len(methods) == 1 else best and best.name
    for projection in fitted:
        if projection.method.text == label:
            return projection
    raise WordbiasError(
        "--export: nothing is written, for "
        + ("that projection could not be made" if len(methods) == 1 else "no projection helps")
        + "; name one with --methods"
    )


def refuse_options_of_vectors(name: str) -> None:
    """Refuse, for a model, the arguments that are for vectors."""
    known = (*_SHARED, *ONLY_MODELS)
    given = [option for option in current().arguments if option in current().given]
    strange = [option for option in given if option not in known]
    if strange:
        raise WordbiasError(
            f"--{strange[0].replace('_', '-')} is for vectors, and {name} is a model; leave it out"
        )


def _data(stereoset: Sequence[TextSetLike], reader: Reader) -> list[Any]:
    """Read the data sets: of an encoder one that its heads score, of a decoder any."""
    from wordbias.stereotypes.text_sets import for_model, load_text_set

    name = reader.encoder.name
    if reader.kind == "encoder" and len(stereoset) > 1:
        raise WordbiasError(
            f"--stereoset: {name} is an encoder, which is measured on one file; "
            f"{len(stereoset)} were given"
        )
    causal = reader.kind == "decoder"
    return [for_model(load_text_set(source), name, causal=causal) for source in stereoset]


def _pairs(snli: PairsLike | None) -> Any:
    """Read labelled pairs."""
    if snli is None:
        return None
    from wordbias.contextual.labelled_pairs import load_inferences
    from wordbias.functions.nli_models import read_named

    return read_named(load_inferences, "--snli", snli)


def _with_heads(
    model: ModelLike,
    decoder: CausalModel | None,
    reader: Reader,
    audited: Audited,
    data: Sequence[Any],
    pairs: Any,
    measuring: Measuring,
    device: str | None,
) -> tuple[list[Row], list[str]]:
    """Add what the heads of the model are measured by; return all rows and notes."""
    rows, notes = list(audited.rows), list(audited.notes)
    if not data and pairs is None:
        other = reader.kind == "encoder" and not reader.texts.of_gender
        notes.append(_NOT_MEASURED["groups" if other else reader.kind])
        return rows, notes
    from wordbias.contextual.audit.heads import inference_rows, stereotype_rows
    from wordbias.nli.hugging_face import Classifier
    from wordbias.stereotypes.scorer import Scorer

    subject, columns, seed = measuring.subject, audited.projections, measuring.seed
    if data:
        try:
            scorer = (
                Scorer.load(model, data[0], device=device)
                if decoder is None
                else Scorer(decoder.name, {type(decoder): decoder})
            )
            more, remarks = stereotype_rows(subject, scorer, data, columns, reader, seed)
            rows, notes = [*rows, *more], [*notes, *scorer.missing, *remarks]
        except WordbiasError as error:
            notes.append(f"stereotypes were not measured: {error}")
    if pairs is not None:
        try:
            classifier = Classifier.load(model, device=device)
            more, remarks = inference_rows(subject, classifier, pairs, columns, reader, seed)
            rows, notes = [*rows, *more], [*notes, *remarks]
        except WordbiasError as error:
            notes.append(f"NLI fairness was not measured: {error}")
    return rows, notes


_NOT_MEASURED = {
    "encoder": (
        "not measured: stereotypes and NLI fairness, which need a model with such a head, and "
        "data: --stereoset FILE (StereoSet or CrowS-Pairs), --snli FILE"
    ),
    "groups": (
        "not measured: stereotypes, which need a model with such a head, and data: --stereoset "
        "FILE (StereoSet or CrowS-Pairs)"
    ),
    "decoder": (
        "not measured: published data sets, by likelihood: --stereoset FILE (StereoSet, "
        "CrowS-Pairs, WinoBias, Winogender or BBQ), which may be repeated"
    ),
}
