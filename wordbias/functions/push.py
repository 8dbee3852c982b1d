"""Publishing of methods, adapters, models and vectors on the Hugging Face hub, with a card.

Long, because the card says for each kind what it is, how it is loaded and what its limits are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from wordbias import cells
from wordbias.calls import note, public
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.layout import detect
from wordbias.formats.source import Source
from wordbias.formats.stored import ADAPTER, ADAPTER_OF_LABELS, REPRESENTATIONS, TRANSFORM
from wordbias.formats.tensors import map_tensors
from wordbias.functions.inputs import path_of
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.model_folder import CARD, MODULES, others_text, own_files
from wordbias.models.adapters import Adapter, read_adapter
from wordbias.models.folding import NOTE
from wordbias.pages.document import read_documents
from wordbias.pages.lines import make_lines, variant
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, as_markdown
from wordbias.reports import Report
from wordbias.resources.hub import ADAPTER_FILE, METHOD_FILE, Address, is_address, library, publish
from wordbias.resources.models import model_on_hub
from wordbias.results import LIMITS, NO_PROOF, Row
from wordbias.rows import Found, given

if TYPE_CHECKING:
    from wordbias.estimators import Method

DATA_SETS = (".parquet", ".arrow", ".feather")
"""Suffixes of tables, which the hub keeps in data sets."""
ROWS = (*DATA_SETS, ".npy", ".npz", ".csv", ".tsv")
"""Suffixes of vectors that are rows, not words."""
_TOLD_APART = ("concept", "column", "classifier", "layer")
"""Details of a row that tell it from others of its measure, besides those of its variant."""


@public
def push(
    source: str | os.PathLike[str] | Method | Adapter | Embedding,
    repo: str,
    *,
    private: bool = False,
    revision: str | None = None,
    message: str | None = None,
    report: str | os.PathLike[str] | Report | None = None,
    dry_run: bool = False,
) -> Report:
    """Publish ``source``, a file or folder, in the repository ``repo`` of the Hugging Face hub.

    ``source`` is what debias --save-transform, project, debias or another command wrote: a method,
    an adapter, the folder of a model, or vectors. The repository is created if it does not exist.
    Unless the folder or the repository has a README.md, one is written. It says what the source is,
    how to load it, its bias before and after, and its limits. Only files of a model by their usual
    names, its card and its licence are uploaded. Before the upload, notes name these files and
    those left out. All files go into one commit; unchanged files are not uploaded again. Log in
    first with hf auth login, or set HF_TOKEN.

    Parameters
    ----------
    source : path, fitted estimator, Adapter or Embedding
        What to publish.
    repo : str
        OWNER/NAME for a model, or datasets/OWNER/NAME for data; a folder in it may follow.
    private : bool
        Make a new repository private.
    revision : str, optional
        Branch to commit to, created if it does not exist.  [default: main]
    message : str, optional
        Message of the commit.
    report : path or Report, optional
        Results for the README.md, as --format json prints them; by default an object's own.
    dry_run : bool
        List the files, and upload nothing.

    Returns
    -------
    Report
        A row ``bytes-published`` for each file, with the commit and the address that loads it; with
        ``dry_run``, ``bytes-to-publish``.

    Raises
    ------
    WordbiasError
        If huggingface_hub is not installed, there is no token, the hub refuses or cannot be
        reached, or ``source`` is nothing that can be published.

    Examples
    --------
    >>> import wordbias as wb
    >>> leace = wb.LEACE().fit(wb.load())
    >>> wb.push(leace, "me/gender-leace")  # doctest: +SKIP
    >>> wb.load("hf://me/gender-leace")  # doctest: +SKIP
    """
    place = _place(repo, revision)
    rows, inputs = _results(getattr(source, "report", None) if report is None else report)
    with _published(source) as (files, card):
        _check_files(files, place)
        if dry_run:
            return _planned(files, place)
        text = card.text(place, rows, inputs)
        what = card.title
        done = publish(
            files, place, text, private=private, message=message or f"Add {what} by wordbias"
        )
    address = place.to(place.path)
    at = {"url": done.url, "commit": done.commit, "address": address}
    with_card = {True: "with a new README.md", False: "its README.md stays"}[done.card]
    if CARD in files:
        with_card = "with its README.md"
    state = f"Published: {done.url}, {with_card}" if done.new else f"Nothing new for {done.url}"
    return Report(
        rows=[Row(name, "bytes-published", size, at) for name, size in done.files.items()],
        tables=[_sizes_table(f"{done.url}, commit {done.commit[:12]}", done.files)],
        closing=[state, f"Load it: {card.loading(place)[0]}"],
    )


def _planned(files: Mapping[str, Path], place: Address) -> Report:
    """Return the report of a call that uploads nothing."""
    sizes = {name: file.stat().st_size for name, file in files.items()}
    return Report(
        rows=[Row(name, "bytes-to-publish", size, {}) for name, size in sizes.items()],
        tables=[_sizes_table(f"{place.text}: nothing is published yet", sizes)],
        closing=[f"Publish these files by the same call without --dry-run, to {place.to('')}."],
    )


def _sizes_table(title: str, sizes: Mapping[str, int]) -> Table:
    return Table(title, ["file", "bytes"], [[name, f"{size:,}"] for name, size in sizes.items()])


def _place(repo: str, revision: str | None) -> Address:
    """Return the repository and the branch to publish to."""
    place = Address.parse(repo)
    if "/" not in place.repo:
        raise WordbiasError(f"{repo}: expected OWNER/NAME, such as me/{place.repo}")
    if place.revision and revision:
        raise UsageError(f"{repo}: names a revision, and --revision another; give one")
    return Address(repo, place.kind, place.repo, place.revision or revision, place.path)


def _check_files(files: Mapping[str, Path], place: Address) -> None:
    rows = next((name for name in files if name.endswith(DATA_SETS)), None)
    if rows is not None and place.kind == "model":
        below = f"/{place.path}" if place.path else ""
        raise WordbiasError(
            f"{rows}: is a table, which the hub keeps in a data set; publish it in "
            f"datasets/{place.repo}{below}"
        )


def _results(given: object) -> tuple[list[Found], list[str]]:
    """Return the rows of a report or of a saved one, and the paths of its inputs; None has none."""
    if isinstance(given, Report):
        documents = [given.to_dict()]
    elif (path := path_of(given)) is not None:
        documents = [document.to_dict() for document in read_documents(path)]
    elif given is None:
        return [], []
    else:
        raise WordbiasError(f"--report: expected a report or a file, got {type(given).__name__}")
    rows = [row for document in documents for row in document["rows"]]
    inputs = [about for document in documents for about in document.get("inputs", {}).values()]
    return rows, [str(about["path"]) for about in inputs if about.get("path")]


# What is published, and its card


@dataclass(frozen=True)
class Card:
    """What the README.md of a repository says."""

    title: str  # noun for what is published
    what: Sequence[str]  # paragraphs: what it is, and what it was fitted on
    # lines that load it; ADDRESS and REPO stand for the address and for owner and name
    shell: Sequence[str]
    python: Sequence[str]
    limits: Sequence[str] = (LIMITS,)  # sentences on what it does not do
    library: str = "wordbias"  # the library that loads it, and tags for the search on the hub
    tags: Sequence[str] = ()
    file: str = ""  # its only file, if the address names it
    # True if it was made from a model, which the card names if the hub has it
    of_model: bool = False
    base: str = ""  # name of that model, where it is known without a report
    derived: bool = False  # True if it has weights of that model, whose licence then holds for it

    def loading(self, place: Address) -> list[str]:
        """Return the lines of the shell that load it, with its address."""
        return [_filled(line, place, self.file) for line in self.shell]

    def text(self, place: Address, rows: Sequence[Found], inputs: Sequence[str]) -> str:
        """Return the card, with the header that the hub reads, and rows before and after."""
        hub = library("A card")
        names = [self.base, *inputs] if self.of_model else []
        base_model = next((model for name in names if name and (model := model_on_hub(name))), None)
        make = hub.DatasetCardData if place.kind == "dataset" else hub.ModelCardData
        about: dict[str, Any] = {"tags": ["wordbias", "fairness", "debiasing", *self.tags]}
        if place.kind == "model":
            about["library_name"] = self.library
            if base_model is not None:
                about["base_model"] = base_model[0]
        if base_model is not None and self.derived and base_model[1] is not None:
            about["license"] = base_model[1]
        python = [_filled(line, place, self.file) for line in self.python]
        parts = [
            f"---\n{make(**about).to_yaml()}\n---",
            f"# {place.repo.partition('/')[2]}",
            *self.what,
            "## Load it",
            "```python\n" + "\n".join(python) + "\n```",
            "```sh\n" + "\n".join(self.loading(place)) + "\n```",
        ]
        if table := before_and_after(rows):
            parts += ["## Bias before and after", as_markdown(table)]
        parts += ["## Limits", *self.limits]
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _filled(line: str, place: Address, file: str) -> str:
    below = "/".join(filter(None, [place.path, file]))
    return line.replace("ADDRESS", place.to(below)).replace("REPO", place.repo)


def before_and_after(row_dicts: Sequence[Found]) -> Table | None:
    """Show each measure that has a value before and one after; None if there is none."""
    lines = [
        line for line in make_lines(row_dicts) if line.first is not None and line.last is not None
    ]
    several = len({line.subject for line in lines}) > 1

    def name(row: Row) -> str:
        about = row.to_dict()
        distinctions = (str(about[key]) for key in _TOLD_APART if given(about, key))
        whose = [row.subject] if several else []
        return " ".join([*whose, row.measure, *distinctions, variant(about)]).strip()

    rows = [
        Row.from_dict({**row, "stage": stage})
        for line in lines
        for stage, row in (("before", line.first), ("after", line.last))
        if row is not None
    ]
    columns = values(("before", cells.with_interval), stage="before")
    columns += values(("after", cells.with_interval), stage="after")
    columns += values(("neutral", cells.neutral))
    note = "In brackets: 95 % of bootstrap samples. Neutral is the value without bias."
    return pivot("Measured by wordbias", rows, {"measure": name}, columns, note) if rows else None


@contextmanager
def _published(source: object) -> Iterator[tuple[dict[str, Path], Card]]:
    """Yield the files to publish, by their paths in the repository, and their card."""
    path = path_of(source)
    with ExitStack() as stack:
        if path is None:
            path = _saved(source, Path(stack.enter_context(TemporaryDirectory())))
        elif is_address(path):
            raise WordbiasError(f"{path}: is on the hub already; give a local file or folder")
        if os.path.isdir(path):
            yield _files_of(Path(path)), _model_card(Path(path))
        elif os.path.isfile(path):
            name, card = _file_card(Path(path))
            yield {name: Path(path)}, card
        else:
            raise WordbiasError(f"{path}: there is no such file or folder")


def _saved(source: Any, folder: Path) -> str:
    """Write an object to a folder; return the file."""
    if isinstance(source, Adapter):
        path = folder / ADAPTER_FILE
        source.save(path)
    elif isinstance(source, Embedding):
        path = folder / f"{Path(source.name).name}.safetensors"
        source.save(path)
    else:
        steps = [step for _, step in getattr(source, "steps", [("", source)])]
        fitted = [getattr(step, "fitted_", None) for step in steps]
        origin = getattr(steps[0], "origin_", None) if steps else None
        if not all(isinstance(part, Fitted) for part in fitted) or not isinstance(origin, Origin):
            how = "; call its fit() first" if hasattr(source, "fit") else ""
            raise WordbiasError(
                "source: expected a file, a folder, a fitted method, an Adapter or an Embedding, "
                f"got {type(source).__name__}{how}"
            )
        path = folder / METHOD_FILE
        if len(steps) == 1:
            steps[0].save(path)
        else:
            save_chain(path, Chain(tuple(part for part in fitted if part is not None)), origin)
    return str(path)


def _files_of(folder: Path) -> dict[str, Path]:
    """Return the files of a model's folder that are the model's or describe it; note others."""
    # A folder without a model needs a card of its own, and has vectors, methods and adapters.
    files, others = own_files(folder)
    if not files and not others:
        raise WordbiasError(f"{folder}: is an empty folder; give one with files to publish")
    if files.keys() & {"config.json", MODULES}:
        if others:
            others_note = others_text(folder, others, "published")
            note(f"{others_note}; upload what is needed with: hf upload")
        return files
    if CARD not in files:
        raise WordbiasError(
            f"{folder}: is no folder of a model (no config.json or {MODULES}) and has no "
            f"{CARD}; give one file, or write a {CARD} that says what it is"
        )
    for name in others:
        _file_card(folder / name)
        files[name] = folder / name
    return files


def _file_card(path: Path) -> tuple[str, Card]:
    """Return the name of a file in the repository, and its card."""
    if path.name.endswith(ROWS):
        return path.name, _rows_card(path)
    if detect(Source.find(path)).kind == "safetensors":
        tensors, kinds = map_tensors(path)
        if TRANSFORM in kinds:
            return METHOD_FILE, _method_card(path)
        if ADAPTER in kinds or ADAPTER_OF_LABELS in kinds:
            return ADAPTER_FILE, _adapter_card(read_adapter(path))
        if REPRESENTATIONS in kinds:
            return path.name, _rows_card(path)
        if not tensors.keys() >= {"vectors", "words"}:
            raise WordbiasError(
                f"{path}: holds no method, adapter or vectors; give what wordbias debias, project, "
                "encode or convert wrote, or the whole folder of a model"
            )
    return path.name, _vectors_card(path)


def _method_card(path: Path) -> Card:
    chain, origin = load_chain(path)
    rows = "rows" if not origin.words else "words"
    parts = [f"`{part.name}`{_settings(part)}" for part in chain.parts]
    return Card(
        "a method of debiasing",
        [
            f"A fitted method of debiasing for vectors of {origin.dim} dimensions: "
            f"{', then '.join(parts)}.",
            f"Fitted on {Path(origin.name).name}: {origin.size:,} {rows} × {origin.dim}. It is only"
            " valid for vectors of the same space.",
        ],
        ["wordbias apply ADDRESS VECTORS -o OUTPUT"],
        [
            "import wordbias as wb",
            "",
            'method = wb.load("ADDRESS")',
            f"clean = method.transform(vectors)  # an embedding, or rows of {origin.dim} values",
        ],
        [
            "The method removes only what it was fitted to, and non-linear classifiers may still "
            "read that. Measure what is left on your own data.",
            NO_PROOF,
        ],
    )


def _settings(part: Fitted) -> str:
    settings = [f"{key} {value}" for key, value in part.settings.items() if value is not None]
    listed = ", ".join(setting for setting in settings if setting != f"method {part.name}")
    return f" ({listed})" if listed else ""


def _adapter_card(adapter: Adapter) -> Card:
    shape = adapter.fingerprint
    chosen = f" Its default setting is {adapter.chosen}." if adapter.chosen else ""
    setting = "" if adapter.chosen else " --setting SETTING"
    what, are = "Subspaces", "are"
    if adapter.steps:
        what, are = f"The label {adapter.facts.get('labels', '')!r}".replace(" ''", ""), "is"
    if "null" in adapter.facts:
        what, are = "Random directions, with which a fitted adapter is compared, and", "are"
    return Card(
        "an adapter",
        [
            f"{what} that {are} removed while a {shape.architecture} of {shape.layers} layers and "
            f"{shape.width} dimensions computes, at: {', '.join(map(str, adapter.sites))}."
            f"{chosen}",
            "It belongs to the model that it was fitted on, and is refused for any other.",
        ],
        [f"wordbias likelihood MODEL --data FILE --adapter ADDRESS{setting}"],
        [
            "import wordbias as wb",
            "",
            'adapter = wb.load("ADDRESS")',
            "with adapter.on(model):",
            "    outputs = model(**inputs)",
        ],
        [
            "Gender may still be read at other sites, or by other classifiers; measure it with "
            "wordbias probe.",
            NO_PROOF,
        ],
        tags=["adapter"],
        of_model=True,
    )


def _model_card(folder: Path) -> Card:
    """Return the card of a folder, by its config and by what was folded into its weights."""
    config, note = _json_of(folder / "config.json"), _json_of(folder / NOTE)
    sentences = (folder / "modules.json").is_file()
    architecture = next(iter(config.get("architectures") or []), "model")
    static = config.get("model_type") == "model2vec"
    library = "sentence-transformers" if sentences else "model2vec" if static else "transformers"
    kind = architecture if library == "transformers" else f"{library} model"
    removed = note.get("method") or note.get("setting")
    folded = [f"Removed, as wordbias {note.get('command', 'project')} names it: {removed}."]
    return Card(
        "a model",
        [
            f"A {kind} from which wordbias removed a concept. It loads without wordbias.",
            *(folded if removed else []),
        ],
        ["wordbias audit ADDRESS -o audit.html"],
        _LOADED_BY[library],
        [
            "The rest stays, and non-linear classifiers may still read what was removed. Measure "
            "it in your system.",
            NO_PROOF,
        ],
        library=library,
        of_model=True,
        base=str(note.get("model") or ""),
        derived=True,
    )


_LOADED_BY = {
    "model2vec": [
        "from model2vec import StaticModel",
        "",
        'model = StaticModel.from_pretrained("REPO")',
    ],
    "sentence-transformers": [
        "from sentence_transformers import SentenceTransformer",
        "",
        'model = SentenceTransformer("REPO")',
    ],
    "transformers": [
        "from transformers import AutoModel, AutoTokenizer",
        "",
        'tokenizer = AutoTokenizer.from_pretrained("REPO")',
        'model = AutoModel.from_pretrained("REPO")',
    ],
}
"""Lines that load the folder of a model, by its library."""


def _json_of(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        document = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise WordbiasError(f"{file}: cannot be read as JSON ({error}); write it again") from None
    return document if isinstance(document, dict) else {}


def _vectors_card(path: Path) -> Card:
    return Card(
        "vectors",
        [f"Word vectors, written by wordbias: `{path.name}`."],
        ["wordbias measure ADDRESS"],
        ["import wordbias as wb", "", 'embedding = wb.load("ADDRESS")'],
        tags=["word-embeddings"],
        file=path.name,
    )


def _rows_card(path: Path) -> Card:
    return Card(
        "vectors",
        [f"Vectors with their columns, written by wordbias: `{path.name}`."],
        ["wordbias probe ADDRESS --labels COLUMN"],
        ["from datasets import load_dataset", "", 'rows = load_dataset("REPO")'],
        file=path.name,
    )
