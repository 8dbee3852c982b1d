"""The settings of debiasing methods as options; what is not given keeps the method's default."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.options import stacked
from wordbias.methods.methods import settings_of


def _setting(name: str, help: str, **attributes: Any) -> Any:
    return click.option(name, default=None, help=help, **attributes)


FILES = ("direction", "sets", "concept", "words", "stereotypes", "neutral", "checkpoint")
"""Settings that may name a file."""
_FLAGS = ("center", "drop_last", "as_published", "means")
_COUNT = click.IntRange(1)
_CLASSIFIERS = click.Choice(["svm", "logistic"])

method_options = stacked(
    _setting("--dims", "misp, mhd, multi-hard: components of the subspace.", type=_COUNT),
    _setting("--center", "misp, mhd: centre the differences.", is_flag=True),
    _setting("--weights", "misp: variance, numbers 0.5,0.3,… or perm:2134; inlp: information."),
    _setting("--direction", "hard, oscar, ran: pca, she-he (axis), names, means or FILE."),
    _setting("--equalise/--no-equalise", "hard, multi-hard: equalise pairs or sets."),
    _setting("--sets", "multi-hard: TOML file with sets of words."),
    _setting("--means", "multi-hard: span what the groups' means differ in.", is_flag=True),
    _setting("--candidates", "double-hard: frequency components to try.", type=_COUNT),
    _setting("--classes", "inlp, leace: as many as groups, or one more.", type=click.IntRange(2)),
    _setting("--per-class", "inlp, leace: words of each class.", type=_COUNT),
    _setting("--iterations", "inlp, ran: rounds at most.", type=_COUNT),
    _setting("--classifier", "inlp: what finds the directions.", type=_CLASSIFIERS),
    _setting("--alpha", "half-sibling: strength of the ridge penalty.", type=float),
    _setting("--concept", "oscar: FILE with words of the second concept."),
    _setting("--words", "ran: FILE with the words to debias."),
    _setting("--stereotypes", "gender-preserving: FILE with stereotyped words."),
    _setting("--neutral", "gender-preserving: FILE with neutral words."),
    _setting("--pretrain-epochs", "gender-preserving: of the autoencoder alone.", type=_COUNT),
    _setting("--epochs", "gender-preserving: with the classifiers.", type=_COUNT),
    _setting("--device", "gender-preserving: cpu or cuda."),
    _setting("--checkpoint", "gender-preserving: FILE to resume an interrupted training from."),
    _setting("--drop-last", "gn-glove: take w_g off, not only set it to 0.", is_flag=True),
    _setting("--check/--no-check", "gn-glove: make sure that the last coordinate is w_g."),
    _setting(
        "--as-published",
        "As the paper, or its released code, bugs and all; METHOD:as-published sets one alone.",
        is_flag=True,
    ),
)


def given_settings(names: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given, and the seed for the methods that take one."""
    settings = {
        key: value
        for key, value in given.items()
        if value is not None and key != "seed" and not (key in _FLAGS and value is False)
    }
    if any("seed" in settings_of(name) for name in names):
        settings["seed"] = given["seed"]
    return settings


def as_option(setting: str) -> str:
    """Return what the command line calls a setting."""
    return f"--{setting.replace('_', '-')}"
