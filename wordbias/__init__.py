"""Measure social bias in language representations, remove it, and show whether that helped.

Every command is a function of this package with the same name and options. Importing the package
loads nothing heavy: each name is imported on first use (PEP 562).
"""

from wordbias.first_use import on_first_use

TYPE_CHECKING = False  # as typing has it, which takes time to load

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from wordbias.configuration import config as config
    from wordbias.embedding import Embedding as Embedding
    from wordbias.errors import WordbiasError as WordbiasError
    from wordbias.estimators import BAM as BAM
    from wordbias.estimators import INLP as INLP
    from wordbias.estimators import LEACE as LEACE
    from wordbias.estimators import MHD as MHD
    from wordbias.estimators import MISP as MISP
    from wordbias.estimators import QLEACE as QLEACE
    from wordbias.estimators import RAN as RAN
    from wordbias.estimators import Conceptor as Conceptor
    from wordbias.estimators import DensityMatching as DensityMatching
    from wordbias.estimators import DoubleHard as DoubleHard
    from wordbias.estimators import GenderPreserving as GenderPreserving
    from wordbias.estimators import GNGloVe as GNGloVe
    from wordbias.estimators import HalfSibling as HalfSibling
    from wordbias.estimators import Hard as Hard
    from wordbias.estimators import MultiHard as MultiHard
    from wordbias.estimators import OSCaR as OSCaR
    from wordbias.experiment import Experiment as Experiment
    from wordbias.functions.apply import apply as apply
    from wordbias.functions.audit import audit as audit
    from wordbias.functions.bios import bios as bios
    from wordbias.functions.cache import cache as cache
    from wordbias.functions.ceat import ceat as ceat
    from wordbias.functions.changes import changes as changes
    from wordbias.functions.choose import choose as choose
    from wordbias.functions.compare import compare as compare
    from wordbias.functions.control import control as control
    from wordbias.functions.convert import convert as convert
    from wordbias.functions.coref_predict import coref_predict as coref_predict
    from wordbias.functions.coref_score import coref_score as coref_score
    from wordbias.functions.coref_study import coref_study as coref_study
    from wordbias.functions.coref_train import coref_train as coref_train
    from wordbias.functions.debias import debias as debias
    from wordbias.functions.encode import encode as encode
    from wordbias.functions.erase import erase as erase
    from wordbias.functions.fairness import fairness as fairness
    from wordbias.functions.fetch import fetch as fetch
    from wordbias.functions.fine_tune import fine_tune as fine_tune
    from wordbias.functions.likelihood import likelihood as likelihood
    from wordbias.functions.lists import lists as lists
    from wordbias.functions.load import load as load
    from wordbias.functions.mab_eval import mab_eval as mab_eval
    from wordbias.functions.mab_study import mab_study as mab_study
    from wordbias.functions.measure import measure as measure
    from wordbias.functions.misp import misp as misp
    from wordbias.functions.nli_train import nli_train as nli_train
    from wordbias.functions.predict import predict as predict
    from wordbias.functions.probe import probe as probe
    from wordbias.functions.project import project as project
    from wordbias.functions.push import push as push
    from wordbias.functions.quality import quality as quality
    from wordbias.functions.report import report as report
    from wordbias.functions.retrieval import retrieval as retrieval
    from wordbias.functions.rewrite import rewrite as rewrite
    from wordbias.functions.run import run as run
    from wordbias.functions.seat import seat as seat
    from wordbias.functions.sentiment import sentiment as sentiment
    from wordbias.functions.sweep import sweep as sweep
    from wordbias.functions.train_vectors import train_vectors as train_vectors
    from wordbias.functions.weat import weat as weat
    from wordbias.functions.winobias import winobias as winobias
    from wordbias.models.adapters import Adapter as Adapter
    from wordbias.models.representations import Representations as Representations
    from wordbias.moments import Moments as Moments
    from wordbias.outcomes.settings import Anonymise as Anonymise
    from wordbias.outcomes.settings import ExtraScrub as ExtraScrub
    from wordbias.outcomes.settings import Oversample as Oversample
    from wordbias.outcomes.settings import Scrub as Scrub
    from wordbias.outcomes.settings import Subsample as Subsample
    from wordbias.outcomes.settings import Swap as Swap
    from wordbias.reports import Report as Report
    from wordbias.results import Row as Row
    from wordbias.subspace import Subspace as Subspace
    from wordbias.wordlists import Attribute as Attribute
    from wordbias.wordlists import Query as Query

__all__ = [
    "BAM",
    "INLP",
    "LEACE",
    "MHD",
    "MISP",
    "QLEACE",
    "RAN",
    "Adapter",
    "Anonymise",
    "Attribute",
    "Conceptor",
    "DensityMatching",
    "DoubleHard",
    "Embedding",
    "Experiment",
    "ExtraScrub",
    "GNGloVe",
    "GenderPreserving",
    "HalfSibling",
    "Hard",
    "Moments",
    "MultiHard",
    "OSCaR",
    "Oversample",
    "Query",
    "Report",
    "Representations",
    "Row",
    "Scrub",
    "Subsample",
    "Subspace",
    "Swap",
    "WordbiasError",
    "__version__",
    "apply",
    "audit",
    "bios",
    "cache",
    "ceat",
    "changes",
    "choose",
    "compare",
    "config",
    "control",
    "convert",
    "coref_predict",
    "coref_score",
    "coref_study",
    "coref_train",
    "debias",
    "encode",
    "erase",
    "fairness",
    "fetch",
    "fine_tune",
    "likelihood",
    "lists",
    "load",
    "mab_eval",
    "mab_study",
    "measure",
    "misp",
    "nli_train",
    "predict",
    "probe",
    "project",
    "push",
    "quality",
    "report",
    "retrieval",
    "rewrite",
    "run",
    "seat",
    "sentiment",
    "sweep",
    "train_vectors",
    "weat",
    "winobias",
]

_HOME = {
    "Adapter": "models.adapters",
    "Attribute": "wordlists",
    "Embedding": "embedding",
    "Experiment": "experiment",
    "Moments": "moments",
    "Query": "wordlists",
    "Report": "reports",
    "Representations": "models.representations",
    "Row": "results",
    "Subspace": "subspace",
    "WordbiasError": "errors",
    **dict.fromkeys(
        ("Anonymise", "ExtraScrub", "Oversample", "Scrub", "Subsample", "Swap"),
        "outcomes.settings",
    ),
    "config": "configuration",
}
for _name in (name for name in __all__ if name not in {*_HOME, "__version__"}):
    # a function lies in a module of its name, an estimator among the estimators
    _HOME[_name] = f"functions.{_name}" if _name.islower() else "estimators"


def __getattr__(name: str) -> "Any":
    return on_first_use(__name__, _HOME, name)


def __dir__() -> list[str]:
    return sorted(__all__)
