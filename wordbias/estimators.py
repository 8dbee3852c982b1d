"""The debiasing methods as scikit-learn estimators, on embeddings and on arrays.

Parameters and docstrings are those of `wordbias.methods.settings`. No other module may import
scikit-learn's base, which takes seconds: all of them, with one contract, are in one long file.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from wordbias.batches import BatchMap
from wordbias.calls import WordbiasWarning, misfit, plain, python_messages
from wordbias.embedding import EmbeddingLike
from wordbias.errors import WordbiasError, on_a_line
from wordbias.estimator_data import moments_of, refuse_missing, refuse_table, words_of
from wordbias.functions.debias import fitted_report
from wordbias.labelled import Labelled
from wordbias.methods import settings
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.gender_preserving import remove_checkpoints
from wordbias.methods.methods import arguments_of, fit_methods
from wordbias.methods.qleace import UNLABELLED, Transport
from wordbias.methods.rows import fit_labelled, fit_moments, fit_rows, with_warning_of
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.moments import Moments
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.settings import Configured, check_settings
from wordbias.wordlists import GroupsLike, load_attribute

__all__ = [
    "BAM",
    "INLP",
    "LEACE",
    "MHD",
    "MISP",
    "QLEACE",
    "RAN",
    "Conceptor",
    "DensityMatching",
    "DoubleHard",
    "GNGloVe",
    "GenderPreserving",
    "HalfSibling",
    "Hard",
    "MultiHard",
    "OSCaR",
]

Floats = NDArray[np.floating[Any]]

if TYPE_CHECKING:
    Pipeline = Any

    class _Estimator:
        """Types of the inherited methods, since scikit-learn has none."""

        def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
            """Return the names of the coordinates."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""

        def set_params(self, **params: Any) -> Self:
            """Set parameters by name."""

        def set_output(self, *, transform: str | None = None) -> Self:
            """Choose the type of the rows returned: ``default``, ``pandas`` or ``polars``."""

        def __repr__(self, N_CHAR_MAX: int = 700) -> str: ...

        def __getstate__(self) -> dict[str, Any]: ...

        def __sklearn_clone__(self) -> Any: ...

        def __sklearn_tags__(self) -> Any: ...

    class _Pipeline:
        """The same of a pipeline."""

        steps: list[tuple[str, Any]]

        def __init__(self, steps: list[tuple[str, Any]]) -> None: ...
else:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.pipeline import Pipeline

    _Pipeline = Pipeline

    class _Estimator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
        pass


class _Rows(_Estimator):
    """Transform of arrays, which scikit-learn wraps so that it can return data frames."""

    fitted_: Fitted

    def transform(self, X: ArrayLike) -> Floats:
        """Apply the fitted method to each row."""
        refuse_table(self, X)
        x: Floats = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        if self.fitted_.by_word:
            warn(_alike(self), WordbiasWarning, stacklevel=4)
        mapped: Floats = self.fitted_(x)
        return mapped.copy() if mapped is x else mapped


class _Words:
    """Transform of embeddings, which bypasses what scikit-learn does with arrays."""

    def fit_transform(
        self: Any,
        X: EmbeddingLike | ArrayLike,
        y: ArrayLike | None = None,
        *,
        concept: ArrayLike | None = None,
    ) -> Any:
        """Fit, and return `X` transformed; see ``fit`` and ``transform``."""
        given = {} if concept is None else {"concept": concept}
        words = words_of(X, rows=y is not None or concept is not None)
        if words is None:
            return super().fit_transform(X, y, **given)  # type: ignore[misc]
        return self.fit(words, y, **given).transform(words)

    def transform(self: Any, X: EmbeddingLike | ArrayLike) -> Any:
        """Apply the fitted method.

        Parameters
        ----------
        X : Embedding, KeyedVectors, (words, vectors), mapping, path, or array of shape (n, d)
            An embedding is transformed word by word: exempt words are not changed, and replaced
            words get their new vectors. A data frame whose index has words is an embedding if the
            method was fitted on one.

        Returns
        -------
        Embedding, or array of shape (n, d)
            The same kind as `X`; an array keeps its float type.

        Warns
        -----
        WordbiasWarning
            If `X` is an array, and the method treats some words differently.
        """
        check_is_fitted(self)
        words = words_of(X, rows=not self.origin_.words)
        if words is None:
            return super().transform(X)  # type: ignore[misc]
        with python_messages():
            self.origin_.check(words, type(self).__name__, force=True)
            return self.fitted_(words)


_INIT = "__init__"


def _named(init: Callable[..., None]) -> Callable[..., None]:
    """Let errors for arguments that there are not name those that there are, and the nearest."""

    @wraps(init)
    def checked_init(self: Any, *args: Any, **kwargs: Any) -> None:
        signature = inspect.signature(type(self))
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(misfit(type(self).__name__, signature, kwargs, error)) from None
        init(self, *args, **kwargs)

    return checked_init


class Method(_Words, _Rows):
    """Base class of the methods.

    Attributes
    ----------
    fitted_ : Fitted
        Fitted method: steps, exempt words and replaced words.
    origin_ : Origin
        Vectors that it was fitted on.
    classes_ : array
        Groups of the rows, if it was fitted on rows.
    cross_fitted_ : same kind as the rows
        The rows in memory that ``erase`` mapped, if it was called with ``cross_fit``.
    """

    _name: ClassVar[str]
    _of_words: ClassVar[tuple[str, ...]]
    _fewest_values: ClassVar[int]
    _is_of_words: ClassVar[bool]
    groups: GroupsLike | None
    fitted_: Fitted
    origin_: Origin
    classes_: NDArray[Any]
    cross_fitted_: Any
    n_features_in_: int
    _frozen: bool = False

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.__doc__ = inspect.getdoc(cls.__mro__[1])  # that of its settings
        setattr(cls, _INIT, _named(getattr(cls, _INIT)))  # not written as a method: it has no type

    def fit(
        self,
        X: EmbeddingLike | ArrayLike | Moments | Sequence[Moments] | Labelled,
        y: ArrayLike | None = None,
        *,
        concept: ArrayLike | None = None,
    ) -> Self:
        """Fit the method.

        A method that was loaded, or that `erase` returned, is frozen: ``fit(X, y)``, as a pipeline
        calls it, changes nothing, and `clone` keeps what was fitted.

        Parameters
        ----------
        X : Embedding, KeyedVectors, (words, vectors), mapping, path, or array of shape (n, d)
            Words with their vectors, whose groups the parameter ``groups`` names; or rows with
            labels, for `MISP`, `MHD`, `Hard`, `INLP`, `LEACE`, `DensityMatching` and `QLEACE`. The
            last two take no words. A data frame is rows if labels are given or its index has no
            words. In place of rows and labels the first three and `LEACE` take `Moments`, or a list
            of them, of the same rows by several labels; and all seven a
            `wordbias.labelled.Labelled`.
        y : array of shape (n,), optional
            Group of each row, two groups or more; they are removed. Not for an embedding.
        concept : array of shape (n,), optional
            Group of each row where `y` is something else: the target of a pipeline.

        Returns
        -------
        self

        Raises
        ------
        WordbiasError
            If the method cannot be fitted: too few words or rows, no groups, no difference; or is
            frozen and gets a concept, words or moments.
        """
        moments = moments_of(X)
        labelled = y is not None or concept is not None
        complete = bool(moments) or isinstance(X, Labelled)  # with labels of its own
        words = None if complete else words_of(X, rows=labelled)
        if self._frozen:
            if concept is not None or complete or words is not None:
                raise self._refused()
            return self
        with python_messages():
            check_settings(cast("settings.MethodSettings", self))
            if complete and labelled:
                what = "moments" if moments else "these rows"
                raise WordbiasError(f"{type(self).__name__}: {what} have their labels already")
            if isinstance(X, Labelled):
                return self._fit_labelled(X)
            if moments:
                return self._fit_moments(moments)
            if words is None:
                return self._fit_rows(X, y if concept is None else concept)
            if not self._is_of_words:
                raise WordbiasError(
                    f"{type(self).__name__}: is for rows with labels, not for an embedding; "
                    "wb.LEACE takes both"
                )
            if labelled:
                raise WordbiasError(
                    f"{type(self).__name__}: an embedding has no labels; its groups are words, "
                    f"which {type(self).__name__}(groups=…) names"
                )
            attribute = None if self.groups is None else load_attribute(self.groups)
            chain, _ = fit_methods([self._configured()], words, attribute)
        self._keep(chain.parts[0], Origin.of(words))
        self._embedding = words
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; a frozen method has none to set."""
        if self._frozen and params:
            raise self._refused()
        return super().set_params(**params)

    def __sklearn_clone__(self) -> Self:
        if self._frozen:
            return self
        cloned: Self = super().__sklearn_clone__()
        return cloned

    def _refused(self) -> WordbiasError:
        name = type(self).__name__
        return WordbiasError(
            f"{name}: is fitted and frozen, as it was loaded or returned by erase; fit a new one: "
            f"wb.{name}(…).fit(…)"
        )

    def _fit_rows(self, X: Any, groups: Any) -> Self:
        name = type(self).__name__
        if self._name in settings.ERASERS and groups is None:
            raise WordbiasError(
                f"{name} requires y to be passed, but the target y is None: y= holds the group of "
                "each row, or concept= does where y is the target of a pipeline"
            )
        self._check_takes_rows()
        refuse_table(self, X)
        refuse_missing(self, groups)
        x = validate_data(
            self, X, dtype=(np.float64, np.float32), ensure_min_samples=2,
            ensure_min_features=self._fewest_values,
        )  # fmt: skip
        groups = column_or_1d(check_array(groups, ensure_2d=False, dtype=None), warn=True)
        check_consistent_length(x, groups)
        check_classification_targets(groups)
        classes, labels = np.unique(groups, return_inverse=True)
        if len(classes) < 2:
            raise WordbiasError(
                f"{name}: all {len(x)} labels are the same, one class; expected two or more"
            )
        fitted = fit_rows(self._name, x, labels.astype(np.intp), arguments_of(self._configured()))
        return self._keep_rows(fitted, len(x), x.shape[1], classes)

    def _fit_moments(self, moments: Sequence[Moments]) -> Self:
        self._check_takes_rows()
        first = moments[0]
        fitted = fit_moments(self._name, moments, arguments_of(self._configured()))
        fitted = with_warning_of(fitted, first)
        classes = first.classes if len(moments) == 1 else None
        return self._keep_rows(fitted, first.n, first.dim, classes)

    def _fit_labelled(self, rows: Labelled) -> Self:
        self._check_takes_rows()
        fitted = fit_labelled(self._name, rows, arguments_of(self._configured()))
        dim = rows.take(np.zeros(1, np.intp)).shape[1]
        classes = rows.label.classes if len(rows.labels) == 1 else None
        return self._keep_rows(fitted, int(rows.there.sum()), dim, classes)

    def _keep_rows(
        self, fitted: Fitted, n: int, dim: int, classes: Sequence[str] | NDArray[Any] | None
    ) -> Self:
        """Keep a fit to rows, of one label with its classes, and warn of what it says."""
        for note in fitted.warnings:
            warn(f"{type(self).__name__}: {note}", WordbiasWarning, stacklevel=5)
        self._keep(fitted, _origin(n, dim))
        if classes is not None:
            self.classes_ = np.array(classes)
        return self

    def _check_takes_rows(self) -> None:
        """Refuse rows and moments if the method is for words, or settings for words are given."""
        name = type(self).__name__
        if self._name not in settings.ERASERS:
            raise WordbiasError(
                f"{name} needs words, which the rows of an array do not name: give an Embedding, "
                "or (words, vectors)"
            )
        given = {key: getattr(self, key) for key in self.get_params(deep=False)}
        changed = [key for key, value in given.items() if key in self._of_words
                   and (hasattr(value, "shape") or value != getattr(type(self), key))]  # fmt: skip
        if changed:
            raise WordbiasError(
                f"{name}: {'=, '.join(changed)}= is for words; rows have labels instead"
            )

    def _keep(self, fitted: Fitted, origin: Origin) -> None:
        of_words = ("feature_names_in_",) if origin.words else ()
        for name in ("_embedding", "_report", "classes_", "cross_fitted_", *of_words):
            self.__dict__.pop(name, None)
        self.fitted_, self.origin_, self.n_features_in_ = fitted, origin, origin.dim

    def _configured(self) -> Configured:
        """Return the parameters but for the groups as the settings of the method."""
        return Configured(
            self._name,
            {
                key: float(value) if isinstance(value, Fraction) else value
                for key, value in self.get_params(deep=False).items()
                if key != "groups"
            },
        )

    @property
    def report(self) -> Report:
        """`Report` of a fit on an embedding: what it removed, what it cost.

        Bias and cost are measured on first use, on the frequent neutral words.

        Raises
        ------
        AttributeError
            If the method was fitted on an array, loaded or copied.
        """
        check_is_fitted(self)
        if "_report" not in vars(self):
            if "_embedding" not in vars(self):
                raise AttributeError(
                    f"{type(self).__name__} has a report only after a fit on an embedding, not "
                    "after a fit on an array, loading or copying"
                )
            attribute = None
            if self.groups is not None or self._name != "multi-hard":
                attribute = load_attribute(self.groups)
            self._report = fitted_report(self.fitted_, self._embedding, attribute)
        return self._report

    def on(self, array: str | None = None) -> BatchMap:
        """Return the fitted method as a function of batches, for Ray, Spark, Dask or datasets.

        It pickles to its steps, as `save` writes them, and a worker loads no scikit-learn for it.
        The values are those of ``transform``, computed in float64.

        Parameters
        ----------
        array : str, optional
            Name of the vectors' column, or of the first of a run of columns that count up; by
            default the only one that a batch has.

        Returns
        -------
        BatchMap
            Called with a batch, it returns one of the same kind with the vectors mapped: an array,
            a pyarrow Table or RecordBatch, a pandas DataFrame, or a mapping of columns. A row has
            the same bytes whatever its batch, see `wordbias.batches.map_rows`.

        Raises
        ------
        WordbiasError
            If the method only gives single words new vectors, or maps rows by their labels.

        Warns
        -----
        WordbiasWarning
            If the method treats some words differently; rows do not name words.

        Examples
        --------
        >>> import numpy as np
        >>> from wordbias.estimators import MHD
        >>> mhd = MHD(dims=1).fit([[1.0, 3], [1, 4], [5, 3], [5, 4]], [0, 0, 1, 1])
        >>> clean = mhd.on("vector")
        >>> clean({"id": [7], "vector": [[1.0, 3.0]]})
        {'id': [7], 'vector': [[0.0, 3.0]]}
        >>> clean(np.array([[2.0, 3.0]])).tolist()
        [[0.0, 3.0]]
        """
        return _batch_map([self], array)

    def __call__(self, batch: Any) -> Any:
        """Map a batch, as ``on()`` does."""
        return _batch_map([self], None)(batch)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted method to a safetensors file, which `wordbias.load` reads.

        The format is that of ``wordbias debias --save-transform``; ``wordbias apply`` applies it.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        if self.groups is not None:
            fitted = replace(fitted, settings={**fitted.settings, "groups": plain(self.groups)})
        save_chain(path, Chain((fitted,)), self.origin_)
        remove_checkpoints((self.fitted_,))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = on_a_line(super().__repr__(N_CHAR_MAX))
        return f"{text} (fitted, frozen)" if self._frozen else text

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_embedding"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._name in settings.ERASERS
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class MISP(settings.MISP, Method):
    """`settings.MISP` with ``fit`` and ``transform``; it gets the docstring of that."""


class MHD(settings.MHD, Method):
    """`settings.MHD` with ``fit`` and ``transform``; it gets the docstring of that."""


class Hard(settings.Hard, Method):
    """`settings.Hard` with ``fit`` and ``transform``; it gets the docstring of that."""


class MultiHard(settings.MultiHard, Method):
    """`settings.MultiHard` with ``fit`` and ``transform``; it gets the docstring of that."""


class DoubleHard(settings.DoubleHard, Method):
    """`settings.DoubleHard` with ``fit`` and ``transform``; it gets the docstring of that."""


class INLP(settings.INLP, Method):
    """`settings.INLP` with ``fit`` and ``transform``; it gets the docstring of that."""


class LEACE(settings.LEACE, Method):
    """`settings.LEACE` with ``fit`` and ``transform``; it gets the docstring of that."""


class QLEACE(settings.QLEACE, Method):
    """`settings.QLEACE` with ``fit`` and ``transform``; it gets the docstring of that."""

    def fit_transform(
        self,
        X: EmbeddingLike | ArrayLike,
        y: ArrayLike | None = None,
        *,
        concept: ArrayLike | None = None,
    ) -> Any:
        """Fit, and return the rows transformed by their groups; see ``fit`` and ``transform``."""
        given = {} if concept is None else {"concept": concept}
        return self.fit(X, y, **given).transform(X, concept=y if concept is None else concept)

    def transform(self, X: EmbeddingLike | ArrayLike, *, concept: ArrayLike | None = None) -> Any:
        """Map each row by its group.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        concept : array of shape (n,)
            Group of each row, one of those that it was fitted on.

        Returns
        -------
        array of shape (n, d)
            It keeps the float type of `X`.

        Raises
        ------
        WordbiasError
            If groups are not given, or one is unknown.
        """
        check_is_fitted(self)
        if concept is None:
            raise WordbiasError(UNLABELLED)
        refuse_table(self, X)
        refuse_missing(self, concept)
        x: Floats = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        groups = np.array([str(group) for group in np.asarray(concept)])
        check_consistent_length(x, groups)
        known = [str(group) for group in self.classes_]
        unknown = np.setdiff1d(groups, known)
        if len(unknown):
            raise WordbiasError(
                f"QLEACE: {str(unknown[0])!r:.40} is none of the groups that it was fitted on: "
                f"{', '.join(known):.200}"
            )
        mapped = np.empty_like(x)
        (step,) = cast("tuple[Transport]", self.fitted_.steps)
        for name, of in zip(known, step.of_classes(), strict=True):
            mapped[groups == name] = of(x[groups == name])
        return mapped

    def save(self, path: str | os.PathLike[str]) -> None:
        """Refuse: a saved method maps rows without labels."""
        raise WordbiasError(UNLABELLED)


class DensityMatching(settings.DensityMatching, Method):
    """`settings.DensityMatching` with ``fit`` and ``transform``; it gets the docstring of that."""


class BAM(settings.BAM, Method):
    """`settings.BAM` with ``fit`` and ``transform``; it gets the docstring of that."""


class OSCaR(settings.OSCaR, Method):
    """`settings.OSCaR` with ``fit`` and ``transform``; it gets the docstring of that."""


class HalfSibling(settings.HalfSibling, Method):
    """`settings.HalfSibling` with ``fit`` and ``transform``; it gets the docstring of that."""


class Conceptor(settings.Conceptor, Method):
    """`settings.Conceptor` with ``fit`` and ``transform``; it gets the docstring of that."""


class RAN(settings.RAN, Method):
    """`settings.RAN` with ``fit`` and ``transform``; it gets the docstring of that."""


class GenderPreserving(settings.GenderPreserving, Method):
    """`settings.GenderPreserving` with ``fit`` and ``transform``; it gets the docstring of that."""


class GNGloVe(settings.GNGloVe, Method):
    """`settings.GNGloVe` with ``fit`` and ``transform``; it gets the docstring of that."""

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the coordinates of rows, without the last if it is dropped."""
        names: NDArray[Any] = super().get_feature_names_out(input_features)
        return names[:-1] if self.drop_last else names


_METHODS = {cls._name: cls for cls in Method.__subclasses__()}


class Methods(_Pipeline):
    """A pipeline of fitted methods, which maps batches as one of them does."""

    def on(self, array: str | None = None) -> BatchMap:
        """Return the fitted methods, one after the other, as a function of batches."""
        return _batch_map([method for _, method in self.steps], array)

    def __call__(self, batch: Any) -> Any:
        """Map a batch, as ``on()`` does."""
        return _batch_map([method for _, method in self.steps], None)(batch)


def read_method(path: str | os.PathLike[str]) -> Method | Pipeline:
    """Read the file of an estimator's ``save``; see `wordbias.load`."""
    chain, origin = load_chain(path)
    methods: list[Method] = []
    for part in chain.parts:
        if part.name not in _METHODS:
            raise WordbiasError(f"{path}: holds {part.name!r}, expected {', '.join(_METHODS)}")
        methods.append(estimator_of(part, origin))
    return methods[0] if len(methods) == 1 else Methods(make_pipeline(*methods).steps)


def _batch_map(methods: Sequence[Method], array: str | None) -> BatchMap:
    """Make a function of batches from fitted methods; say what they cannot do without words."""
    for method in methods:
        if isinstance(method, QLEACE):
            raise WordbiasError(UNLABELLED)
        check_is_fitted(method)
        if not method.fitted_.steps:
            raise WordbiasError(
                f"{type(method).__name__} only gives single words new vectors, which rows do not "
                "name: give transform() an Embedding"
            )
        if method.fitted_.by_word:
            warn(_alike(method), WordbiasWarning, stacklevel=3)
    steps = tuple(step for estimator in methods for step in estimator.fitted_.steps)
    name = ".".join(estimator.fitted_.name for estimator in methods)
    first = methods[0].origin_
    return BatchMap(name, steps, first.dim, first.name, array)


def _alike(method: _Rows) -> str:
    """Say that a method treats some words differently."""
    return (
        f"{type(method).__name__} leaves out {how_many(len(method.fitted_.exempt), 'word')} and "
        f"replaces {len(method.fitted_.replaced)} vectors; rows do not name words, and all of them "
        "are mapped alike"
    )


def estimator_of(fitted: Fitted, origin: Origin, report: Report | None = None) -> Method:
    """Return a fitted estimator whose parameters are the settings of a fitted method."""
    estimator = _METHODS[fitted.name]()
    takes = estimator.get_params(deep=False)
    given = {"random_state" if key == "seed" else key: v for key, v in fitted.settings.items()}
    estimator.set_params(**{key: value for key, value in given.items() if key in takes})
    estimator._keep(fitted, origin)
    estimator._frozen = True
    if isinstance(estimator, QLEACE):  # which needs them to map rows
        (classes,) = fitted.settings["labels"].values()
        estimator.classes_ = np.array(classes)
    if report is not None:
        estimator._report = report
    return estimator


def _origin(n: int, dim: int) -> Origin:
    """Return the origin of a method that was fitted on rows."""
    return Origin(f"{n} rows", "", n, dim, (), np.zeros((0, dim)))
