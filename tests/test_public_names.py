"""Public names stay what they are, say what they are, and do what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import os
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import hub_server
import numpy as np
import pytest
import stand_ins

import wordbias
import wordbias as wb
from wordbias.cli import SECTIONS
from wordbias.conditions import Condition, outcome_of
from wordbias.configuration import Config
from wordbias.measures.panel import Panel

NAMES = tuple(name for name in wb.__all__ if name != "__version__")
FUNCTIONS = tuple(name for name in NAMES if inspect.isroutine(getattr(wb, name)))
CLASSES = tuple(name for name in NAMES if name not in FUNCTIONS)
ESTIMATORS = tuple(name for name in CLASSES if hasattr(getattr(wb, name), "transform"))
NO_COMMANDS = {"config", "load"}
"""Functions that take or return what only Python has."""
COMMANDS = {name: name.replace("-", "_") for section in SECTIONS.values() for name in section}

CHECK = """
import importlib, json, pkgutil, sys
from types import ModuleType

modules, replaced, uncallable = [], [], []

def check(package):
    names = [name for name in getattr(package, "__all__", ()) if not name.startswith("__")]
    before = {name: getattr(package, name) for name in names}
    for module in pkgutil.iter_modules(package.__path__):
        modules.append(f"{package.__name__}.{module.name}")
        found = importlib.import_module(modules[-1])
        if module.ispkg:
            check(found)
    for name, value in before.items():
        now = getattr(package, name)
        if now is not value or isinstance(now, ModuleType):
            replaced.append(f"{package.__name__}.{name}")
    if package.__name__ == sys.argv[1]:
        uncallable.extend(name for name in names if not callable(getattr(package, name)))

check(importlib.import_module(sys.argv[1]))
print("FOUND", json.dumps({"modules": modules, "replaced": replaced, "uncallable": uncallable}))
"""


def _found(package: str, *, where: Path | None = None) -> Any:
    """Import all modules of a package in a fresh interpreter; return what became of its names."""
    there = [str(where)] if where else []
    path = os.pathsep.join([*there, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", CHECK, package],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("FOUND")[2])


@pytest.mark.slow
def test_importing_every_module_replaces_no_public_name() -> None:
    facts = _found("wordbias")
    assert {"wordbias.methods.misp", "wordbias.commands.misp"} <= set(facts["modules"])
    assert (facts["replaced"], facts["uncallable"]) == ([], [])


def test_the_check_sees_a_function_that_a_package_replaces(tmp_path: Path) -> None:
    home = tmp_path / "made_up"
    (home / "turn").mkdir(parents=True)
    (home / "turning.py").write_text("def turn():\n    pass\n")
    (home / "turn" / "__init__.py").write_text("")
    (home / "__init__.py").write_text(
        "__all__ = ['turn']\n\n\n"
        "def __getattr__(name):\n"
        "    from made_up.turning import turn\n"
        "    return turn\n"
    )
    facts = _found("made_up", where=tmp_path)
    assert (facts["replaced"], facts["uncallable"]) == (["made_up.turn"], ["turn"])


def test_no_module_of_the_package_has_the_name_of_a_command() -> None:
    modules = {module.name for module in pkgutil.iter_modules(wordbias.__path__)}
    commands = {name.replace("-", "_") for section in SECTIONS.values() for name in section}
    assert modules & commands == set()
    assert {"methods", "outcomes", "word_tasks", "biographies", "pages"} <= modules


# what is there


def test_what_tab_offers_are_the_public_names() -> None:
    assert dir(wb) == sorted(wb.__all__)
    assert set(COMMANDS.values()) | NO_COMMANDS == set(FUNCTIONS)


def test_every_public_name_is_there_and_its_help_begins_with_its_docstring() -> None:
    for name in NAMES:
        thing = getattr(wb, name)
        first = (inspect.getdoc(thing) or "").split("\n")[0]
        assert first.endswith((".", ":")), name
        assert first in pydoc.plain(pydoc.render_doc(thing)), name


OFFERED = {
    "Embedding": "dim from_gensim index info most_similar name renamed report rows"
    " sample save subset take to_gensim vectors with_report with_vectors words",
    "Report": "arguments check closing command config heading inputs notes page picture plot render"
    " rows save seed tables title to_dict to_frame write",
    "Row": "details draws from_dict measure subject to_dict value",
    "Subspace": "basis coordinates dims from_direction from_groups from_means from_pairs from_sets"
    " like remove save weights with_weights",
    "Attribute": "cases direction equalise first_names grammatical_gender groups load members name"
    " of pairs source specific subjects unlisted unmarked",
    "Query": "about attributes candidates find name names pairs source targets templates",
    "Representations": "about column columns dim layer layers name place report save vectors",
    "Moments": "classes counts covariance dim mean means n noise of of_batch of_codes unit within",
    "Adapter": "check chosen facts fingerprint fold intervention interventions null on"
    " report save sent_debias setting settings sites steps subspaces",
}
"""What Tab offers on an object of each type."""
FITTED = "fit fit_transform fitted_ n_features_in_ on origin_ report save transform"


def offered(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


# what functions and commands have in common

OF_THE_SHELL = {*(field.name for field in fields(Config)), "quiet", "debug", "to", "plot"}
OF_THE_SHELL |= {"fail_if", "baseline"}
"""Options of the command line that no function has: in Python they are `wordbias.config`,
`Report.plot` and `Report.check`.

A parameter may be called ``to``."""
REQUIRED = {
    ("apply", "output"),
    ("bios", "output"),
    ("coref_study", "output"),
    ("encode", "output"),
    ("rewrite", "output"),
}
"""What a command must be told and a function need not: it returns what the command writes."""
WHERE_TO = {("audit", "output"), ("report", "output")}
"""Pages that a command writes under a name of its own, and a function returns."""
PYTHON_ONLY = {
    "likelihood": {"rounding", "absolute", "next_label"},
    "mab_eval": {"parity"},
    "measure": {"isolated_zero", "by_projection"},
    "sweep": {"next_label", "rounding", "parity", "relative", "rule"},
}
"""Parameters that are no options."""
SPELLED = {("fetch", "source"): "from"}
"""Parameters whose option would be a word of Python."""


def _default(parameter: inspect.Parameter) -> object:
    """Return the default of a parameter as an option has it: lists as one text."""
    value = parameter.default
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or None
    return value


@pytest.mark.parametrize(("command", "name"), COMMANDS.items())
def test_a_command_has_the_options_and_defaults_of_its_function(command: str, name: str) -> None:
    module = importlib.import_module(f"wordbias.commands.{name}")
    options = {param.name: param for param in module.command.params}
    parameters = inspect.signature(getattr(wb, name)).parameters
    assert module.command.name == command
    assert set(options) - set(parameters) <= OF_THE_SHELL
    assert set(parameters) - set(options) == PYTHON_ONLY.get(name, set())
    for key, parameter in parameters.items():
        if key not in options:
            continue
        option = options[key]
        needed = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_POSITIONAL:
            assert option.nargs == -1, key
            continue
        if isinstance(option, click.Option):
            spelled = [text.lstrip("-") for text in [*option.opts, *option.secondary_opts]]
            assert SPELLED.get((name, key), key).replace("_", "-") in spelled
        if (name, key) in WHERE_TO:
            assert parameter.default is None
        elif (name, key) in REQUIRED or needed:
            assert option.required or option.nargs == -1, key
        elif isinstance(option, click.Option):
            assert not option.required, key
            assert option.default == _default(parameter) or not (
                option.default or _default(parameter)
            ), key


# what they say

_HEADING = re.compile(r"^(\w[\w ]+)\n-{3,}$", re.MULTILINE)


def sections(thing: object) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by their headings."""
    parts = _HEADING.split(inspect.getdoc(thing) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(thing: object) -> dict[str, str]:
    """Return the types of the parameters in a docstring by name; empty where there is none."""
    types = {}
    for line in sections(thing).get("Parameters", "").splitlines():
        if line and not line.startswith(" "):
            named, _, kind = line.partition(" : ")
            types.update({name.strip(" *"): kind for name in named.split(",")})
    return types


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_says_every_parameter_with_its_type_and_has_an_example(name: str) -> None:
    thing = getattr(wb, name)
    wanted = {"Parameters", "Examples"}
    if name in FUNCTIONS:
        wanted |= {"Returns", "Raises"}
    if hasattr(thing, "uses"):
        wanted |= {"See Also"}
    assert wanted <= set(sections(thing)), name
    if name != "WordbiasError":
        types = documented(thing)
        assert set(types) == set(inspect.signature(thing).parameters)
        assert [key for key, kind in types.items() if not kind] == []


NOT_RUN = {
    "Adapter": "a model from the Hugging Face hub",
    "Report": "writes a file",
    "bios": "trains for hours",
    "control": "a file of StereoSet",
    "coref_predict": "a model that coref_train wrote",
    "coref_study": "trains for hours",
    "coref_train": "trains for hours",
    "encode": "a model from the Hugging Face hub",
    "fine_tune": "a model from the Hugging Face hub",
    "likelihood": "a model from the Hugging Face hub",
    "mab_study": "trains for hours",
    "nli_train": "trains for hours",
    "predict": "a model from the Hugging Face hub",
    "project": "a model from the Hugging Face hub",
    "push": "a repository on the Hugging Face hub",
    "seat": "a model from the Hugging Face hub",
    "sentiment": "a model from the Hugging Face hub",
    "sweep": "a model from the Hugging Face hub",
    "train_vectors": "trains for hours",
}
"""Examples of which a line is not run, and what it needs."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_examples_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (doc_test,) = doctest.DocTestFinder(recurse=False).find(
        getattr(wb, name), name, module=False, globs={}
    )
    assert doc_test.examples
    skipped = any(example.options.get(doctest.SKIP) for example in doc_test.examples)
    assert skipped == (name in NOT_RUN)
    failures: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(
        doc_test, out=failures.append
    )
    assert "".join(failures) == ""


# what they do

File = Callable[[str], str]
QUERY = {
    "targets": {"female": ["she", "her", "woman"], "male": ["he", "him", "man"]},
    "attributes": {"career": ["office", "business"], "family": ["home", "children"]},
}
TRAINING = {"train": "train.jsonl", "dev": "dev.jsonl"}
TEXTS = ["she is a nurse .", "he is a doctor .", "she sings .", "he sings ."]
TORCH = ("torch",)
ENCODER = ("torch", "transformers")


def _rows(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = np.arange(40) % 2
    return rng.normal(size=(40, 6)) + labels[:, None], labels


def _on_rows(name: str) -> Callable[[File], Any]:
    return lambda file: getattr(wb, name)().fit(*_rows())


def _on_words(name: str, **given: Any) -> Callable[[File], Any]:
    return lambda file: getattr(wb, name)(**given).fit(stand_ins.small())


def _pushed(file: File) -> Any:
    with hub_server.serving() as hub, pytest.MonkeyPatch.context() as patch:
        hub_server.point(patch, hub.url, Path("hub"))
        return wb.push(wb.MHD(dims=1).fit(stand_ins.small()), "me/mhd")


def _error(file: File) -> Any:
    with pytest.raises(wb.WordbiasError) as caught:
        wb.load("no_such_file.txt")
    return caught.value


def _training(file: File) -> dict[str, Any]:
    return {key: file(name) for key, name in TRAINING.items()}


CALLS: Mapping[str, Callable[[File], Any]] = {
    "Adapter": lambda file: wb.project(file("minilm-nli"), setting="L12-110"),
    "Attribute": lambda file: wb.Attribute.load("age"),
    "BAM": _on_words("BAM"),
    "Conceptor": _on_words("Conceptor"),
    "DensityMatching": _on_rows("DensityMatching"),
    "DoubleHard": _on_words("DoubleHard", candidates=2),
    "Embedding": lambda file: wb.Embedding(["she", "he"], [[1.0, 0.0], [0.0, 1.0]]),
    "Experiment": lambda file: wb.Experiment(file("glove.txt"), lambda vectors, seed: {}),
    "GNGloVe": lambda file: wb.GNGloVe(check=False).fit(stand_ins.small()),
    "GenderPreserving": _on_words("GenderPreserving", pretrain_epochs=1, epochs=1),
    "HalfSibling": _on_words("HalfSibling"),
    "Hard": _on_words("Hard"),
    "INLP": _on_rows("INLP"),
    "LEACE": _on_rows("LEACE"),
    "MHD": _on_rows("MHD"),
    "MISP": _on_words("MISP", groups=QUERY["targets"]),
    "Moments": lambda file: wb.Moments.of(*_rows()),
    "MultiHard": _on_words("MultiHard", groups="religion"),
    "OSCaR": _on_words("OSCaR"),
    "QLEACE": _on_rows("QLEACE"),
    "Query": lambda file: wb.Query(
        "work",
        targets=(("female", ("she", "her")), ("male", ("he", "him"))),
        attributes=(("career", ("office", "salary")), ("family", ("home", "children"))),
    ),
    "RAN": _on_words("RAN", words=["nurse", "doctor"], iterations=3),
    "Report": lambda file: wb.Report(rows=(wb.Row("glove", "midb", 0.1),)),
    "Representations": lambda file: wb.Representations(np.zeros((2, 3, 4), np.float32), (0, 6)),
    "Row": lambda file: wb.Row("glove", "midb", 0.1, {f"key{i}": "long" * 50 for i in range(30)}),
    "Subspace": lambda file: wb.Subspace(np.eye(60), np.full(60, 0.5)),
    "WordbiasError": _error,
    "apply": lambda file: wb.apply(wb.MHD().fit(stand_ins.small()).fitted_, file("glove.txt")),
    "audit": lambda file: wb.audit(
        file("glove.txt"),
        skip=["gipe", "clustering", "recoverability", "mab", "map", "neighbours", "sembias"],
        methods="hard",
        chance=False,
    ),
    "bios": lambda file: wb.bios(
        data=file("bios.tsv"),
        model=file("bert-base-cased"),
        strategies=["none"],
        limit=300,
        seed=[0],
        epochs=1,
        retrain_epochs=1,
        draws=20,
        max_length=32,
        baselines=False,
    ),
    "cache": lambda file: wb.cache(),
    "ceat": lambda file: wb.ceat(
        file("roberta-base"), sentences=file("sentences.txt.gz"), query="6", draws=100
    ),
    "seat": lambda file: wb.seat(file("roberta-base"), query="double-bind-likable"),
    "changes": lambda file: wb.changes(
        *[wb.Report(rows=[wb.Row("glove", "midb", value)]) for value in (0.1, 0.2)]
    ),
    "compare": lambda file: wb.compare(
        wb.Report("measure", rows=[wb.Row(f"{i}", m, i * k) for i in range(4) for m, k in _PAIR])
    ),
    "control": lambda file: wb.control(file("stereoset_dev.json")),
    "convert": lambda file: wb.convert(file("glove.txt"), "out.vec"),
    "choose": lambda file: wb.choose(file("glove.txt"), "misp:dims=1", by="midb-abs", keep=0.01),
    "debias": lambda file: wb.debias(file("glove.txt"), "hard"),
    "encode": lambda file: wb.encode(file("roberta-base"), TEXTS),
    "coref_predict": lambda file: wb.coref_predict(file("coref/"), file("dev.conll")),
    "coref_study": lambda file: wb.coref_study(
        file("train.conll"),
        dev=file("dev.conll"),
        test=file("test.conll"),
        winobias=file("winobias/"),
        model=file("bert-base-cased"),
        strategies=["none"],
        seed=0,
        epochs=1,
        hidden=20,
        segment_length=32,
        baselines=False,
    ),
    "coref_train": lambda file: wb.coref_train(
        file("train.conll"),
        dev=file("dev.conll"),
        model=file("bert-base-cased"),
        epochs=1,
        hidden=20,
        segment_length=32,
        output="coref",
    ),
    "erase": lambda file: wb.erase(*_rows()),
    "fairness": lambda file: wb.fairness([0, 1, 1, 0], [0, 1, 0, 0], ["a", "a", "b", "b"]),
    "fetch": lambda file: wb.fetch(),
    "fine_tune": lambda file: wb.fine_tune(
        file("bert-base-cased"),
        head="nli",
        train=file("snli_train.tsv.gz"),
        dev=file("snli_dev.tsv.gz"),
        limit=32,
        epochs=1,
        batch_size=16,
        output="tuned",
    ),
    "lists": lambda file: wb.lists(),
    "load": lambda file: wb.load(file("vectors.bin")),
    "config": lambda file: wb.config(progress=True),
    "mab_eval": lambda file: wb.mab_eval(predictions=file("mine.csv"), set="explicit", draws=50),
    "mab_study": lambda file: wb.mab_study(
        file("glove.txt"),
        **_training(file),
        output="study",
        seed=[0],
        recipe="fast",
        epochs=1,
        only=["midb"],
    ),
    "likelihood": lambda file: wb.likelihood(file("smollm2"), pairs=file("pairs.tsv")),
    "measure": lambda file: wb.measure(file("glove.txt"), only=["direct-bias"], chance=False),
    "misp": lambda file: wb.misp(file("glove.txt"), chance=False),
    "nli_train": lambda file: wb.nli_train(
        file("glove.txt"), **_training(file), output="nli.safetensors", epochs=1, hidden=8
    ),
    "coref_score": lambda file: wb.coref_score(file("gold.conll"), clusters=file("found.conll")),
    "probe": lambda file: wb.probe(*_rows(), epochs=1, fractions=[0.5, 1.0], seed=[0]),
    "predict": lambda file: wb.predict(file("my-classifier"), TEXTS),
    "project": lambda file: wb.project(file("minilm-nli")),
    "push": _pushed,
    "quality": lambda file: wb.quality(file("glove.txt"), benchmarks=file("test_sets/")),
    "report": lambda file: wb.report(wb.Report("measure", rows=[wb.Row("glove", "midb", 0.1)])),
    "retrieval": lambda file: wb.retrieval(
        _rows(0)[0], _rows(1)[0], counterfactual=_rows(2)[0], meaningless=_rows(3)[0], draws=20
    ),
    "rewrite": lambda file: wb.rewrite("scrub", TEXTS),
    "Anonymise": lambda file: wb.Anonymise(spans="who"),
    "ExtraScrub": lambda file: wb.ExtraScrub(sensitive="gender"),
    "Oversample": lambda file: wb.Oversample(labels="job", sensitive="gender"),
    "Scrub": lambda file: wb.Scrub(mask="*"),
    "Subsample": lambda file: wb.Subsample(labels="job", sensitive="gender"),
    "Swap": lambda file: wb.Swap(first_names=True),
    "run": lambda file: wb.run(file("checks.toml")),
    "sentiment": lambda file: wb.sentiment(file("my-classifier"), groups="age", draws=20),
    "sweep": lambda file: wb.sweep(
        file("minilm-nsp"),
        stereoset=file("gsss_dev.csv"),
        nli=file("minilm-nli"),
        snli=file("snli_test.tsv.gz"),
        lists=file("lists/"),
        top=0.5,
        repair=False,
    ),
    "train_vectors": lambda file: wb.train_vectors(
        file("enwik8.txt"), output="vectors.txt", vector_size=8, epochs=1
    ),
    "weat": lambda file: wb.weat(file("glove.txt"), query=QUERY, draws=100),
    "winobias": lambda file: wb.winobias(file("winobias/")),
}
"""A small call of every public name."""
_PAIR = (("midb", 1.0), ("clustering", -1.0))
NEEDS = {
    **dict.fromkeys(("GenderPreserving", "mab_study", "nli_train", "train_vectors"), TORCH),
    **dict.fromkeys(("Adapter", "predict", "project", "sweep", "bios"), ENCODER),
    **dict.fromkeys(("coref_predict", "coref_study", "coref_train"), ENCODER),
    **dict.fromkeys(("ceat", "encode", "likelihood", "seat", "sentiment"), ENCODER),
    "fine_tune": (*ENCODER, "accelerate"),
    "push": ("huggingface_hub",),
}
"""Packages that a call needs beyond those that wordbias always has."""
NO_VALUES = ("cache", "winobias")
"""Commands that give values, but not in their small call."""
SHOWN = ("Adapter", "Embedding", "Report", "Representations", *ESTIMATORS)
"""Types that show themselves in a notebook."""


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of stand-ins, each made once."""
    return tmp_path_factory.mktemp("stand-ins")


@pytest.fixture
def file(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> File:
    """Put a stand-in into the folder where the test runs, and return its name."""
    monkeypatch.chdir(tmp_path)
    return stand_ins.placed(store, tmp_path)


def test_every_public_name_has_a_call() -> None:
    assert sorted(CALLS) == sorted(NAMES)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if name in ("GenderPreserving", "audit") else []
        )
        for name in NAMES
    ],
)
def test_a_call_gives_what_the_signature_says(
    name: str, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    stand_ins.few_premises(monkeypatch)
    returned = CALLS[name](file)
    if name in CLASSES:
        assert isinstance(returned, getattr(wb, name))
    elif name != "load":
        annotation = str(inspect.signature(getattr(wb, name)).return_annotation)
        assert type(returned).__name__ in re.findall(r"\w+", annotation)
    report = returned if isinstance(returned, wb.Report) else getattr(returned, "report", None)
    if name in COMMANDS.values():
        assert isinstance(report, wb.Report)
        assert report.command.replace("-", "_") == name
        takes = "--fail-if" in importlib.import_module(f"wordbias.commands.{name}").command.common
        assert takes == (len(report) > 0 and name != "run") or name in NO_VALUES
        for measure, subject in {(row.measure, row.subject) for row in report}:
            condition = str(Condition(measure, {"subject": subject}, "", ">", 0.0, False))
            assert outcome_of(condition, report.rows).status != "error"
    if name != "WordbiasError":
        check_shown(name, returned)


def check_shown(name: str, made: Any) -> None:
    """The object fits a line, Tab offers on it what it should, and a notebook shows it."""
    assert "\n" not in repr(made)
    assert len(repr(made)) <= 100
    if name in OFFERED:
        assert offered(made) == set(OFFERED[name].split())
    if name in ESTIMATORS:
        from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

        known = {
            *made.get_params(),
            *FITTED.split(),
            "classes_",
            "set_fit_request",
            "set_transform_request",
        }
        for base in (BaseEstimator, OneToOneFeatureMixin, TransformerMixin):
            known |= offered(base)
        assert offered(made) <= known
        assert "\n" not in repr(made.fitted_)
        assert len(repr(made.fitted_)) <= 100
    if name in SHOWN:
        assert made._repr_html_().startswith("<")


def test_what_functions_work_with_fits_a_line_too() -> None:
    small = stand_ins.small()
    chain = wb.debias(small, "hard,misp,mhd").report
    panel = Panel(small, small, small.words)
    for thing in (panel, chain, small.renamed("long " * 50)):
        assert "\n" not in repr(thing)
        assert len(repr(thing)) <= 100
