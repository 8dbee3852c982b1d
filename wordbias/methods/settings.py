"""The methods of debiasing with their settings; `wordbias.estimators` makes scikit-learn's of them.

Apart, since scikit-learn takes seconds to import, and a text such as ``misp:dims=2``, the help and
the documents need only this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.random import RandomState

from wordbias.settings import Known, Settings, Takes, settings_of
from wordbias.vocabulary import SIZE
from wordbias.wordlists import GroupsLike, WordSets

Words = Sequence[str] | str | Path | None
Seed = int | RandomState | np.random.Generator | None


class MethodSettings(Settings):
    """Base class of the methods of debiasing.

    Attributes
    ----------
    _head
        Number of frequent words that fitting looks at, beside the listed ones; None for all words.
    _of_words
        Fields that are of no use for rows with labels.
    _fewest_values
        Number of coordinates that a row needs.
    _is_of_words
        It can be fitted to the words of an embedding.
    """

    _head: ClassVar[int | None] = 0
    _is_of_words: ClassVar[bool] = True
    _of_words: ClassVar[tuple[str, ...]] = ("groups", "classes", "per_class")
    _fewest_values: ClassVar[int] = 1
    groups: GroupsLike | None


@dataclass(kw_only=True, eq=False, repr=False)
class MISP(MethodSettings):
    """Remove a subspace softly, weighted by information (Dawkins 2021).

    Along each principal component ``g_i`` of all differences between vectors of two groups, ``x − Σ
    a_i ⟨g_i, x⟩ g_i`` removes the share ``a_i`` of variance that it explains. For more than two
    groups the components are those of their means.

    Parameters
    ----------
    dims : int, optional
        Number of components; by default 4, for k > 2 groups k − 1. For rows the default is lower
        if they span fewer, and one dimension of two or more is kept.
    centre : bool
        Centre the differences, as the paper's one-sided PCA does; this removes their mean.
    weights : variance, perm:ORDER or numbers
        Weights of the components: their shares of variance, these permuted (``perm:2134``), or
        numbers with commas between.
    as_published : bool
        Use the settings of the paper: `centre`.
    groups : name, path or mapping, optional
        Words of the groups, by default gender; for an embedding only.

    Examples
    --------
    >>> from wordbias.estimators import MISP
    >>> from wordbias.embedding import Embedding
    >>> misp = MISP(dims=2).fit(Embedding.sample())
    >>> misp.report["difference-removed"][0].details["centred"]
    False
    >>> MISP(dims=1).fit_transform([[1.0, 3], [1, 4], [5, 3], [5, 4]], [0, 0, 1, 1]).shape
    (4, 2)
    """

    _name = "misp"
    dims: int | None = None
    centre: bool = False
    weights: str | Sequence[float] = "variance"
    as_published: bool = False
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class MHD(MethodSettings):
    """Remove the subspace of `MISP` completely: the control of Dawkins (2021).

    ``x − Σ ⟨g_i, x⟩ g_i``, a projection onto what is orthogonal to all components.

    Parameters
    ----------
    dims : int, optional
        Number of components, as of `MISP`.
    centre : bool
        Centre the differences.
    as_published : bool
        Use the settings of the paper: `centre`.
    groups : name, path or mapping, optional
        Words of the groups, by default gender; for an embedding only.

    Examples
    --------
    >>> from wordbias.estimators import MHD
    >>> MHD(dims=1).fit_transform([[1.0, 3], [1, 4], [5, 3], [5, 4]], [0, 0, 1, 1]).tolist()
    [[0.0, 3.0], [0.0, 4.0], [0.0, 3.0], [0.0, 4.0]]
    """

    _name = "mhd"
    _fewest_values = 2
    dims: int | None = None
    centre: bool = False
    as_published: bool = False
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class Hard(MethodSettings):
    """Neutralise a direction and equalise pairs (Bolukbasi et al. 2016).

    Every vector but those of specific words loses its component along a direction ``g`` and is
    normalised to length one, ``(x − ⟨g, x⟩ g) / ‖x − ⟨g, x⟩ g‖``. Words of the pairs are left out
    like specific words, even if they are not listed as specific. Rows have no pairs. Their
    direction is the difference between the groups' means; k > 2 groups have the k − 1 directions in
    which their means differ. Inside a model (``project``, ``audit MODEL``) later parts read the
    lengths of vectors, and nothing is normalised. The direction is that of the means of these
    vectors.

    Parameters
    ----------
    direction : name or file
        ``pca`` of the definitional pairs, ``axis``, ``means``, ``subspace``, or a file; rows always
        have ``means``.
    equalise : bool
        Equalise the pairs of the groups; rows have none.
    as_published : bool
        Exempt only listed words, as they are spelled; for an embedding only.
    groups : name, path or mapping, optional
        Words and pairs of the groups, by default gender; for an embedding only.

    Examples
    --------
    >>> from wordbias.estimators import Hard
    >>> from wordbias.embedding import Embedding
    >>> sample = Embedding.sample()
    >>> after = Hard().fit_transform(sample)
    >>> [round(float(after["nurse"] @ after[word]), 4) for word in ("women", "men")]
    [0.3631, 0.3631]
    """

    _name = "hard"
    _fewest_values = 2
    _of_words: ClassVar[tuple[str, ...]] = ("groups", "as_published")
    direction: str = "pca"
    equalise: bool = True
    as_published: bool = False
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class MultiHard(MethodSettings):
    """Neutralise directions of several groups, equalise sets (Manzini et al. 2019).

    Like `Hard`, along the principal components of sets such as *judaism, christianity, islam*, each
    centred on its mean.

    Parameters
    ----------
    sets : file or WordSets, optional
        The sets, instead of those of `groups`; by default religion.
    dims : int, optional
        Number of components; by default one less than the words of the largest set.
    equalise : bool
        Equalise the sets.
    means : bool
        Use the differences between the means of `groups`, in place of sets.
    groups : name, path or mapping, optional
        Groups with sets or pairs of words.

    Examples
    --------
    >>> from wordbias.estimators import MultiHard
    >>> from wordbias.embedding import Embedding
    >>> MultiHard().fit(Embedding.sample()).fitted_.steps[0].subspace.dims
    2
    """

    _name = "multi-hard"
    sets: WordSets | str | Path | None = None
    dims: int | None = None
    equalise: bool = True
    means: bool = False
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class DoubleHard(MethodSettings):
    """Remove a frequency component first, then a direction (Wang et al. 2020).

    One principal component of the whole vocabulary is removed. Without this component the most
    biased words cluster least by group.

    Parameters
    ----------
    candidates : int
        Number of components to try, from the first on.
    per_side : int
        Number of biased words of each group to cluster.
    groups : name, path or mapping, optional
        Words and pairs of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import DoubleHard
    >>> from wordbias.embedding import Embedding
    >>> double = DoubleHard(candidates=2, per_side=100).fit(Embedding.sample())
    >>> [step.kind for step in double.fitted_.steps]
    ['projection', 'shift', 'projection']
    """

    _name = "double-hard"
    _head = None
    candidates: int = 20
    per_side: int = 1000
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class INLP(MethodSettings):
    """Remove what linear classifiers find, in rounds (Ravfogel et al. 2020).

    Each round trains a classifier of the groups on the result of the rounds before, and removes the
    row space of its weights `W`: ``x ↦ (I − W⁺ W) x``. The rounds end when a classifier is at
    chance on held-out rows or words, 30 % of all. On an embedding it is trained on the words that
    lean most to each group.

    Parameters
    ----------
    rounds : int
        Number of rounds at most.
    weights : {"hard", "information"}
        Remove directions whole, or weighted by the accuracy of their classifier.
    classifier : {"svm", "logistic"}
        Classifier that finds the directions.
    as_published : bool
        Do not centre, and do not end at chance.
    random_state : int, RandomState or None
        Seed of the split, and of neutral words.
    classes : int from 2, optional
        Number of classes: that of the groups, or one more for neutral words; for an embedding only.
    per_class : int, optional
        Number of words in each class; for an embedding only.
    groups : name, path or mapping, optional
        Words of the groups, by default gender; for an embedding only.

    Examples
    --------
    >>> import numpy as np
    >>> from wordbias.estimators import INLP
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 0] > 0
    >>> INLP(rounds=2).fit(X, y).fitted_.steps[0].subspace
    <Subspace: 1 of 5 dimensions, weights 1.0000>
    """

    _name = "inlp"
    _fewest_values = 2
    _head = 150_000
    rounds: int = 35
    weights: Literal["hard", "information"] = "hard"
    classifier: Literal["svm", "logistic"] = "svm"
    as_published: bool = False
    random_state: Seed = 0
    classes: int | None = None
    per_class: int | None = None
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class LEACE(MethodSettings):
    r"""Erase groups linearly by a small change (Belrose et al. 2023).

    In a pipeline give ``leace__concept=``, or the task's own label is erased. ``LEACE().fit(X, y)``
    erases `y`. On the rows that it was fitted on, no linear classifier then predicts the groups
    better than a constant answer does. In a pipeline `y` is the target of the last step, so
    ``pipeline.fit(X, y, leace__concept=z)`` erases `z` instead.

    Least-squares concept erasure (Belrose et al. 2023) is the affine map

    .. math:: x - W^{+} U U^\top W (x - \mathrm{E}[x]), \quad W = (\Sigma_{xx}^{1/2})^{+},

    where :math:`U U^\top` projects onto the columns of :math:`W \Sigma_{xz}`. It makes the groups'
    means equal. With ``shrinkage=False`` no affine map that does so moves the fitted rows less;
    with the shrunk covariance they move further. One row far longer than all others decides the
    shrinkage: leave it out.

    Do not train on the rows that it was fitted on. The groups' means are equal over all of these
    rows. In one part of them they therefore differ in the opposite way to the rest. A classifier
    that is trained on one part reads the other part's groups backwards (arXiv 2403.16142).
    ``erase`` has ``cross_fit``.

    Parameters
    ----------
    method : {"leace", "orth"}
        LEACE, or the orthogonal projection that makes the means equal.
    shrinkage : bool
        Shrink the covariance towards a multiple of the identity, as the authors do by default.
    random_state : int, RandomState or None
        Seed of the held-out words; no rows are held out.
    classes : int from 2, optional
        Number of classes: that of the groups, or one more for neutral words; for an embedding only.
    per_class : int, optional
        Number of words in each class; for an embedding only.
    groups : name, path or mapping, optional
        Words of the groups, by default gender; for an embedding only.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from wordbias.estimators import LEACE
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y, z = X[:, 1] > 0, X[:, 0] > 0
    >>> pipeline = make_pipeline(LEACE(), LogisticRegression()).fit(X, y, leace__concept=z)
    >>> bool(pipeline.score(X, y) > 0.9)
    True
    >>> after = pipeline[0].transform(X)
    >>> bool(np.allclose(after[z].mean(0), after[~z].mean(0)))
    True
    """

    _name = "leace"
    _head = 150_000
    method: Literal["leace", "orth"] = "leace"
    shrinkage: bool = True
    random_state: Seed = 0
    classes: int | None = None
    per_class: int | None = None
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class QLEACE(MethodSettings):
    r"""Erase groups quadratically from rows whose labels are known (Quirke and Belrose 2025).

    ``transform(X, concept=labels)`` maps each row by its group. On the rows that it was fitted on,
    the groups then have one mean and one covariance: no linear or quadratic classifier predicts
    them better than a constant answer does. New rows, which have no labels, cannot be mapped, so
    that it is not saved, applied or written into a model.

    Each group goes to the Wasserstein barycentre :math:`N(\bar\mu, \bar\Sigma)` of all, weighted by
    their shares, by the optimal transport

    .. math:: \bar\mu + T_z (x - \mu_z), \quad T_z = \Sigma_z^{-1/2}
              (\Sigma_z^{1/2} \bar\Sigma \Sigma_z^{1/2})^{1/2} \Sigma_z^{-1/2}.

    A map that is chosen by the label can write the label in: other moments may differ more than
    before, and networks learn to read it from them (arXiv 2502.02820).

    Parameters
    ----------
    shrinkage : bool
        Shrink the covariance of each group, for groups of fewer rows than dimensions. The
        covariances are then nearly equal afterwards, not exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from wordbias.estimators import QLEACE
    >>> z = np.arange(200) % 2
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * (1 + z)[:, None]
    >>> after = QLEACE().fit(X, z).transform(X, concept=z)
    >>> bool(np.allclose(np.cov(after[z == 0].T), np.cov(after[z == 1].T)))
    True
    """

    _name = "qleace"
    _is_of_words = False
    _of_words: ClassVar[tuple[str, ...]] = ()
    shrinkage: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class DensityMatching(MethodSettings):
    r"""Remove directions until groups of rows have like densities (Saillenfest and Lemberger 2025).

    An orthogonal projection for classifiers that are not linear. It removes the directions in which
    the groups' means differ, so that the means of the fitted rows become equal, and `dims` further
    ones. Those are learned: they lower the maximum mean discrepancy between the groups.

    Parameters
    ----------
    dims : int
        Maximum number of further directions; one dimension is kept. More leave less to read, and
        keep fewer neighbours.
    random_state : int, RandomState or None
        Seed of the batches.

    Examples
    --------
    >>> import numpy as np
    >>> from wordbias.estimators import DensityMatching
    >>> z = np.arange(300) % 2
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[:, 0] *= 1 + 2 * z
    >>> after = DensityMatching(dims=1).fit(X, z).transform(X)
    >>> bool(after[:, 0].std() < 0.2)
    True
    """

    _name = "density-matching"
    _is_of_words = False
    _of_words: ClassVar[tuple[str, ...]] = ()
    _fewest_values = 2
    dims: int = 8
    random_state: Seed = 0


@dataclass(kw_only=True, eq=False, repr=False)
class BAM(MethodSettings):
    """Average vectors with their alignment (Lauscher et al. 2020).

    ``(X + X W) / 2``, where `W` is the orthogonal map that best maps the first words of pairs to
    the second.

    Parameters
    ----------
    as_published : bool
        Follow the released code, whose `W` is not the minimiser.
    groups : name, path or mapping, optional
        Pairs of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import BAM
    >>> from wordbias.embedding import Embedding
    >>> BAM().fit_transform(Embedding.sample())
    <Embedding 'sample.bam': 21,791 words × 100>
    """

    _name = "bam"
    as_published: bool = False
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class OSCaR(MethodSettings):
    """Rotate a second concept to 90 degrees from the groups (Dev et al. 2021).

    Nothing is removed. Each vector is rotated within the plane of the two directions, by an amount
    that depends on its angle there.

    Parameters
    ----------
    concept : file or list of words, optional
        Words of the second concept; by default occupations.
    direction : name or file
        Direction of the groups: ``she-he`` (``axis``), ``pca``, ``means``, ``subspace`` or a file.
    groups : name, path or mapping, optional
        Words of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import OSCaR
    >>> from wordbias.embedding import Embedding
    >>> rows = OSCaR().fit(Embedding.sample()).report["angle"]
    >>> [(row.details["stage"], round(row.value)) for row in rows][1]
    ('after', 90)
    """

    _name = "oscar"
    concept: Words = None
    direction: str = "she-he"
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class HalfSibling(MethodSettings):
    r"""Subtract the part that specific words predict (Yang and Feng 2020).

    With the vectors of specific words as columns of `G`, ridge regression leaves
    :math:`n - G (G^\top G + \alpha I)^{-1} G^\top n` of every other vector.

    Parameters
    ----------
    alpha : float
        Ridge penalty.
    groups : name, path or mapping, optional
        Specific words of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import HalfSibling
    >>> from wordbias.embedding import Embedding
    >>> "she" in HalfSibling().fit(Embedding.sample()).fitted_.exempt
    True
    """

    _name = "half-sibling"
    alpha: float = 60.0
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class Conceptor(MethodSettings):
    r"""Shrink the main directions of the groups' words (Karve, Ungar and Sedoc 2019).

    With the vectors of these words as rows of `X`, shape ``(n, d)``, every vector is multiplied by
    :math:`I - R (R + \alpha^{-2} I)^{-1}`, where :math:`R = X^\top X / n`.

    Parameters
    ----------
    aperture : float
        Aperture α. A larger aperture, or longer vectors, means that more is removed.
    groups : name, path or mapping, optional
        Words of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import Conceptor
    >>> from wordbias.embedding import Embedding
    >>> 0 < Conceptor().fit(Embedding.sample()).report["quota"][0].value < 1
    True
    """

    _name = "conceptor"
    aperture: float = 2.0
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class RAN(MethodSettings):
    """Repel, attract and neutralise each word (Kumar et al. 2020).

    For each word to debias, Adam minimises a weighted sum of three terms. They are its similarity
    to neighbours that are near because of the direction, its distance from its first vector, and
    its component along the direction. Other words do not change.

    Parameters
    ----------
    words : file or list of words, optional
        Words to debias; by default the frequent neutral ones.
    iterations : int
        Number of steps of Adam.
    learning_rate : float
        Learning rate of Adam.
    lambdas : three numbers
        Weights of repulsion, attraction and neutralisation.
    neighbours : int
        Maximum number of neighbours that repel a word.
    theta : float
        Threshold of indirect bias above which a neighbour repels.
    direction : name or file
        ``pca``, ``axis``, ``means`` or a file.
    as_published : bool
        Follow the released code.
    groups : name, path or mapping, optional
        Words and pairs of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import RAN
    >>> from wordbias.embedding import Embedding
    >>> RAN(words=["nurse", "doctor"], iterations=2).fit(Embedding.sample()).fitted_.replaced.words
    ('nurse', 'doctor')
    """

    _name = "ran"
    _head = None
    words: Words = None
    iterations: int = 300
    learning_rate: float = 0.01
    lambdas: Sequence[float] = (1 / 8, 6 / 8, 1 / 8)
    neighbours: int = 100
    theta: float = 0.05
    direction: str = "pca"
    as_published: bool = False
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class GenderPreserving(MethodSettings):
    """Keep gender in pairs, not in stereotypes (Kaneko and Bollegala 2019).

    An autoencoder is trained with two classifiers, which keep what distinguishes the groups' own
    words. Fitting needs the extra ``torch``.

    Parameters
    ----------
    stereotypes : file or list of words, optional
        Stereotyped words, which lose what distinguishes the groups.
    neutral : file or list of words, optional
        Neutral words, which lose this too.
    pretrain_epochs : int
        Number of epochs of the autoencoder, without the classifiers.
    classifier_epochs : int
        Number of epochs of the classifiers.
    epochs : int
        Number of epochs of the main loss.
    weight : float
        Weight of all terms of the main loss but the reconstruction.
    device : str, optional
        ``auto``, ``cpu``, ``cuda`` or ``mps``; by default auto, the first available of cuda,
        mps, cpu.
    checkpoint : file, optional
        File to resume an interrupted training from; ``save`` removes it.
    as_published : bool
        Follow the released code.
    random_state : int, RandomState or None
        Seed of everything random.
    groups : name, path or mapping, optional
        Pairs of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import GenderPreserving
    >>> GenderPreserving(epochs=2).get_params()["epochs"]
    2
    """

    _name = "gender-preserving"
    _head = None
    stereotypes: Words = None
    neutral: Words = None
    pretrain_epochs: int = 315
    classifier_epochs: int = 15
    epochs: int = 5
    weight: float = 1e-4
    device: str | None = None
    checkpoint: str | Path | None = None
    as_published: bool = False
    random_state: Seed = 0
    groups: GroupsLike | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class GNGloVe(MethodSettings):
    """Remove ``w_g`` from vectors that were trained as ``(w_a, w_g)`` (Zhao et al. 2018).

    Parameters
    ----------
    drop_last : bool
        Drop the last coordinate; by default it is set to zero.
    check : bool
        Check that the last coordinate tells the pairs' words apart.
    groups : name, path or mapping, optional
        Pairs of the groups, by default gender.

    Examples
    --------
    >>> from wordbias.estimators import GNGloVe
    >>> from wordbias.embedding import Embedding
    >>> GNGloVe(drop_last=True, check=False).fit_transform(Embedding.sample()).dim
    99
    """

    _name = "gn-glove"
    _head = SIZE
    drop_last: bool = False
    check: bool = True
    groups: GroupsLike | None = None


EVERY: Mapping[str, type[MethodSettings]] = {
    method._name: method for method in MethodSettings.__subclasses__()
}
"""All methods by their names."""
METHODS: Mapping[str, type[MethodSettings]] = {
    name: method for name, method in EVERY.items() if method._is_of_words
}
"""Those that can be fitted to words."""
ROW_METHODS: Known = {
    name: EVERY[name] for name in ("leace", "inlp", "misp", "mhd", "hard", "density-matching")
}
"""Those that can be fitted to rows with labels, and map rows without."""
ERASERS: Known = {**ROW_METHODS, QLEACE._name: QLEACE}
"""Those that can be fitted to rows with labels."""
ROW_SETTINGS: Takes = {
    name: [key for key in settings_of(kind) if key not in EVERY[name]._of_words]
    for name, kind in ERASERS.items()
}
"""Settings that they take there."""
