"""Table of measures: everything there is to say about each, in one place.

The families that ``--only`` takes, what an audit measures, the order and the texts of a report, the
titles of tables, neutral values and better ways in rows, and the tables of `docs/measures.md` come
from `FAMILIES`. A new measure of embeddings is a module that evaluates it and an entry here; what
commands of their own measure of models and classifiers is in `wordbias.measures.model_families`.
The file is long because it is one table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from wordbias.measures.family import Evaluator, Family, Measure
from wordbias.measures.model_families import INFERENCE, MODEL_FAMILIES

# Evaluators, which import what computes only when they are called


def _midb() -> Evaluator:
    from wordbias.measures.midb import chance_of_midb, midb_rows

    return Evaluator(
        lambda of: midb_rows(of.panel), lambda of, nulls: chance_of_midb(of.panel, nulls)
    )


def _same() -> Evaluator:
    from wordbias.measures.same import chance_of_same, same_rows

    return Evaluator(
        lambda of: same_rows(of.panel), lambda of, nulls: chance_of_same(of.panel, nulls)
    )


def _clustering() -> Evaluator:
    from wordbias.measures.clustering import chance_of_clustering, clustering_rows

    return Evaluator(
        lambda of: clustering_rows(of.panel),
        lambda of, nulls: chance_of_clustering(of.panel, nulls),
    )


def _recoverability() -> Evaluator:
    from wordbias.measures.recoverability import chance_of_recoverability, recoverability_rows

    return Evaluator(
        lambda of: recoverability_rows(of.panel),
        lambda of, nulls: chance_of_recoverability(of.panel, nulls),
    )


def _sembias() -> Evaluator:
    from wordbias.measures.sembias import chance_of_sembias, sembias_rows

    return Evaluator(
        lambda of: sembias_rows(of.panel, of.sembias),
        lambda of, nulls: chance_of_sembias(of.panel, nulls, of.sembias),
    )


def _gipe() -> Evaluator:
    from wordbias.measures.gipe import chance_of_gipe, gipe_rows

    return Evaluator(
        lambda of: gipe_rows(of.panel, isolated=of.isolated, neighbourhood=of.neighbourhood),
        lambda of, nulls: chance_of_gipe(nulls, of.neighbourhood, of.isolated),
    )


def _weat() -> Evaluator:
    from wordbias.measures.associations import query_rows

    return Evaluator(lambda of: query_rows(of.panel))


# The table

VECTORS = "Word vectors"

_MIDB = Measure(
    name="midb",
    title="MIDB, signed mean",
    short="MIDB",
    staged="MIDB (signed mean)",
    question="on which side of the weighted gender subspace do neutral words lie, on average?",
    scale="any",
    neutral=0.0,
    better="neutral",
    caution="that words lie near it: words on both sides cancel",
    by_length=True,
)
_MIDB_ABS = Measure(
    name="midb-abs",
    title="MIDB, mean of |·|",
    short="MIDB (mean of |·|)",
    question="how far out do they lie, on either side?",
    scale="≥ 0",
    neutral=0.0,
    better="lower",
    caution="that gender cannot be found elsewhere: other directions are not measured",
    by_length=True,
)
_DIRECT = Measure(
    name="direct-bias",
    title="direct bias",
    staged="direct bias ({axis})",
    question="how much do neutral words lean along *she − he*?",
    scale="0 … 1",
    neutral=0.0,
    better="lower",
    caution=(
        "that they do not cluster by gender: a method that removes one direction gets 0 by "
        "construction"
    ),
)
_CLUSTERING = Measure(
    name="clustering-accuracy",
    title="clustering, accuracy",
    question="do k-means clusters of the most biased words split by their former bias?",
    scale="½ … 1",
    neutral=0.5,
    better="lower",
    caution="that a trained classifier finds nothing",
)
_LINEAR_SVM = Measure(
    name="recoverability-linear-svm",
    title="linear SVM",
    short="recoverability, linear SVM",
    question="can a classifier predict which words were female?",
    scale="0 … 1",
    neutral=0.5,
    better="lower",
    two_sided=True,
    caution="that another classifier, or more words, could not",
)
_DEFINITION = Measure(
    name="sembias-definition",
    title="definition",
    short="SemBias, definition",
    question="which pair is chosen as *he : she*: the definition, a stereotype, neither?",
    scale="0 … 1",
    neutral=None,
    better="higher",
    caution="much, beyond 440 questions over 22 × 20 pairs of words",
)
_RND = Measure(
    name="rnd",
    title="RND",
    number="distance to X minus distance to Y",
    question="are words nearer to Y than to X, by distance?",
    scale="any",
    neutral=0.0,
    better="neutral",
    caution="that single words are not: their differences cancel",
    by_length=True,
)
_MAB_MEAN = Measure(
    name="mab-neutral",
    title="mean probability of neutral",
    question="what does the model answer about a group, on average?",
    scale="0 … 1",
    neutral=1,
    better="higher",
    caution="that single pairs are right",
    listed=False,
)

FAMILIES = (
    Family(
        key="lean",
        title="Lean: to which group does a word lean?",
        measures=(
            Measure(
                name="lean",
                title="lean",
                question=(
                    "to which group does a word lean: its cosine with the axis of the pairs minus "
                    "the mean of neutral words"
                ),
                scale="any",
                neutral=0.0,
                better="neutral",
                caution="that the word is neutral: only that many neutral words lie as far out",
                listed=False,
            ),
            Measure(
                name="lean-told",
                title="words told and right",
                question="of what share of the words of pairs does the lean name the group?",
                scale="0 … 1",
                neutral=None,
                better="higher",
                caution="that words lean to no side: only that this lean cannot tell",
                listed=False,
            ),
        ),
        area=VECTORS,
        section=False,
        question="To which group does a word lean, more than nearly all neutral words do?",
        limits=(
            "The interval is over redrawn pairs: which words the axis was fitted to. The vector of "
            "the word is fixed."
        ),
        method=(
            "Cosine of the word with the first component of the definitional pairs (without pairs, "
            "with the difference of the groups’ means), minus the mean over the neutral words; a "
            "lean is reported only outside the middle 95 % of the neutral words, with an interval "
            "without 0. Axis and this range are those of the original."
        ),
        source="After Bolukbasi et al. (2016), section 5.1.",
        main="lean",
    ),
    Family(
        key="midb",
        title="MIDB: lean along the directions in which the groups differ",
        measures=(
            _MIDB,
            _MIDB_ABS,
            replace(
                _MIDB_ABS,
                name="midb-rms",
                title="MIDB, RMS of components",
                short="MIDB (RMS of components)",
            ),
            replace(
                _MIDB,
                name="midb-unit",
                title="MIDB, unit length",
                short="MIDB (unit length)",
                staged="",
                question="the same on vectors of length one",
                caution="as `midb`",
                by_length=False,
            ),
            replace(
                _MIDB_ABS,
                name="midb-unit-abs",
                title="MIDB, unit length, mean of |·|",
                short="MIDB (unit, mean of |·|)",
                question="the same on vectors of length one",
                caution="as `midb-abs`",
                by_length=False,
            ),
            replace(
                _MIDB_ABS,
                name="midb-unit-rms",
                title="MIDB, unit length, RMS",
                short="MIDB (unit, RMS)",
                question="the same on vectors of length one",
                caution="as `midb-abs`",
                by_length=False,
            ),
            Measure(
                name="midb-component",
                title="contribution of a component",
                question="what does one component add to MIDB: the mean of |aᵢ⟨gᵢ, x⟩|",
                scale="≥ 0",
                neutral=0.0,
                better="lower",
                caution="as `midb-abs`",
                listed=False,
                by_length=True,
            ),
            Measure(
                name="explained-variance",
                title="variance explained",
                question="what share of the variance is a component’s? (the weights a_i)",
                scale="0 … 1",
                neutral=None,
                better="",
                listed=False,
            ),
        ),
        area=VECTORS,
        question=(
            "How much do neutral words lean along the main directions in which the words of the "
            "two groups, by default first names of women and men, differ, each weighted by the "
            "variance that it explains?"
        ),
        limits=(
            "MIDB is measured along the kind of directions that MISP attenuates: it falls after "
            "MISP by construction, which shows nothing about bias elsewhere. The values grow with "
            "the length of the vectors; between embeddings, and before and after a method, compare "
            "only those on unit length."
        ),
        method=(
            "MIDB(x) = Σ aᵢ⟨gᵢ, x⟩ over the principal components gᵢ of all pairwise differences "
            "between the groups’ words, averaged over neutral words; each stage along its own "
            "components."
        ),
        source=(
            "Dawkins (2021), “Marked Attribute Bias in Natural Language Inference”, section 4, "
            "eq. 3."
        ),
        main="midb-unit-abs",
        evaluator=_midb,
        standard=True,
        options=("dims", "centre"),
        own_axis=True,
        in_words="leaning along the groups’ subspace (MIDB)",
    ),
    Family(
        key="direct-bias",
        title="Direct bias: nearness to one axis",
        measures=(
            _DIRECT,
            replace(
                _DIRECT,
                name="direct-bias-pca",
                title="direct bias, PCA of pairs",
                short="direct bias (PCA)",
                staged="",
                question="the same along the first component of pairs",
                caution="the same",
            ),
        ),
        area=VECTORS,
        question=(
            "How near are neutral words, on average, to the axis between two words such as she and "
            "he?"
        ),
        limits=(
            "It measures only what lies along one axis. Words can keep all their associations "
            "with each other and still be far from it."
        ),
        method=(
            "Mean of |cos(w, g)| over neutral words, g = she − he or the first principal component "
            "of definitional pairs."
        ),
        source=(
            "Bolukbasi et al. (2016), “Man is to Computer Programmer as Woman is to Homemaker?”, "
            "section 5.2."
        ),
        main="direct-bias",
        evaluator=_midb,
        standard=True,
        own_axis=True,
    ),
    Family(
        key="same",
        title="SAME: do words lean along the difference of the groups?",
        measures=(
            Measure(
                name="same",
                title="SAME, mean of |cos|",
                short="SAME",
                question="how much do neutral words lean along the difference of the groups?",
                scale="0 … 1",
                neutral=0.0,
                better="lower",
                caution="that groups of other words, or a classifier, would not tell them apart",
            ),
            Measure(
                name="same-skew",
                title="SAME, skew",
                question="to which group do they lean, on average?",
                scale="−1 … 1",
                neutral=0.0,
                better="neutral",
                caution="that words lie near it: words on both sides cancel",
            ),
            Measure(
                name="same-stereotype",
                title="SAME, stereotype",
                number="standard deviation of the cosine",
                question="how much do they differ in it: some lean to one group, some to the other",
                scale="0 … 1",
                neutral=0.0,
                better="lower",
                caution="that they do not lean: all may lean to one group",
            ),
        ),
        area=VECTORS,
        question=(
            "How much do neutral words lean along the difference of two groups of words, all to "
            "one group (skew) or some to each (stereotype)?"
        ),
        limits=(
            "It measures one direction, and which one depends on the groups’ words. All words "
            "share a part of their vectors, which the skew contains: look at the chance level "
            "before you read its sign. A debiased embedding is measured along the difference that "
            "it still has, not along the one that was removed."
        ),
        method=(
            "Cosine of each neutral word with the difference of the groups’ mean unit vectors: "
            "mean of its size, mean, and standard deviation."
        ),
        source=(
            "Schröder, Schulz and Hammer (2022), “The SAME score: Improved cosine based bias "
            "score for word embeddings”, for two groups."
        ),
        main="same",
        common=True,
        evaluator=_same,
        own_axis=True,
    ),
    Family(
        key="clustering",
        title="Clustering: do biased words form clusters?",
        measures=(
            _CLUSTERING,
            replace(
                _CLUSTERING,
                name="clustering-v",
                title="clustering, v-measure",
                scale="0 … 1",
                neutral=0.0,
            ),
        ),
        area=VECTORS,
        question=(
            "Does k-means with two clusters find the two sides on which the most biased words "
            "were before?"
        ),
        limits=(
            "It uses only the most biased words, the extreme of the vocabulary. A share of 1 has "
            "an interval of zero width, as no resampling of these words can differ."
        ),
        method=(
            "The words that lean most along the axis in the original, half of each side; accuracy "
            "is max(a, 1 − a)."
        ),
        source="Gonen and Goldberg (2019), “Lipstick on a Pig”, section 4.",
        main="clustering-accuracy",
        common=True,
        evaluator=_clustering,
        standard=True,
        options=("direction", "by_projection"),
    ),
    Family(
        key="recoverability",
        title="Recoverability: can a classifier predict the sides?",
        measures=(
            _LINEAR_SVM,
            replace(
                _LINEAR_SVM,
                name="recoverability-rbf-svm",
                title="RBF SVM",
                short="recoverability, RBF SVM",
            ),
            replace(
                _LINEAR_SVM,
                name="recoverability-logistic",
                title="logistic regression",
                short="recoverability, logistic",
            ),
            replace(
                _LINEAR_SVM,
                name="recoverability-mlp",
                title="MLP",
                short="recoverability, MLP",
            ),
        ),
        area=VECTORS,
        question=(
            "Can a classifier trained on a fifth of the most biased words predict on which side "
            "the others were before?"
        ),
        limits=(
            "A value of 0.5 for these classifiers is no proof that no classifier could. The "
            "interval is a bootstrap over the test words, of zero width for a share of 1; the "
            "classifier is trained once."
        ),
        method="Accuracy on the words not trained on, balanced.",
        source=(
            "Gonen and Goldberg (2019), section 4; classifiers as in Dawkins (2021), section 3."
        ),
        main="recoverability-logistic",
        common=True,
        evaluator=_recoverability,
        standard=True,
        options=("direction", "by_projection"),
        draws=5,
    ),
    Family(
        key="sembias",
        title="SemBias: which pair is most like he − she?",
        measures=(
            _DEFINITION,
            replace(
                _DEFINITION,
                name="sembias-none",
                title="none",
                short="SemBias, none",
                better="lower",
            ),
            replace(
                _DEFINITION,
                name="sembias-stereotype",
                title="stereotype",
                short="SemBias, stereotype",
                better="lower",
            ),
        ),
        area=VECTORS,
        question=(
            "Of four pairs of words, does the one that means gender come first, or a stereotype?"
        ),
        limits="The questions use 20 stereotypical pairs; other stereotypes are not tested.",
        method="440 questions, cosine with he − she.",
        source="Zhao et al. (2018), “Learning Gender-Neutral Word Embeddings”, section 4.",
        main="sembias-stereotype",
        common=True,
        evaluator=_sembias,
        standard=True,
        options=("direction", "sembias"),
        needs="SemBias (--sembias=sembias)",
        fetch="sembias",
        own_axis=True,
        own_words=True,
    ),
    Family(
        key="gipe",
        title="GIPE: are words near each other because of the groups?",
        measures=(
            Measure(
                name="gipe",
                title="GIPE",
                question=(
                    "what share of words’ neighbours is near because of gender, by more than θ?"
                ),
                scale="0 … 1",
                neutral=0.0,
                better="lower",
                caution="that bias is low: only that it does not make neighbours",
                variant="setting",
            ),
        ),
        area=VECTORS,
        question=(
            "Which share of the neighbours of neutral words is near them mostly because both lean "
            "the same way?"
        ),
        limits=(
            "It depends on the threshold θ and on the words among which neighbours are searched. "
            "Values of embeddings with different vocabularies are not comparable. An audit "
            "searches the 50,000 most frequent words, wordbias measure all words."
        ),
        method=(
            "Weighted share of the 100 nearest neighbours whose indirect bias β, taken in the "
            "original, exceeds θ."
        ),
        source="Kumar et al. (2020), “Nurse is Closer to Woman than Surgeon?”, section 3.",
        main="gipe",
        main_variant="θ=0.03",
        common=True,
        evaluator=_gipe,
        standard=True,
        options=("direction", "isolated_zero"),
    ),
    Family(
        key="weat",
        title="WEAT: associations between sets of words",
        measures=(
            Measure(
                name="weat",
                title="WEAT, effect size d",
                number="effect size d of X over Y, nearness to A against B",
                short="WEAT",
                question="are X nearer to A, and Y to B?",
                scale="−2 … 2",
                neutral=0.0,
                better="neutral",
                caution=(
                    "no bias: eight words a side; an effect of 0 with a wide interval is no finding"
                ),
            ),
        ),
        area=VECTORS,
        question=(
            "Are two sets of words, such as career and family, associated differently with two "
            "others, such as names of men and women?"
        ),
        limits=(
            "Each query is about its own few words. The p-values are not corrected for the number "
            "of queries. Controls, such as flowers and insects, are not about people: they show "
            "that the test works at all, and what debiasing did not change."
        ),
        method=(
            "Effect size d of the difference in mean cosine, with the sample standard deviation; p "
            "is the share of partitions of both sets with at least that difference, of all or of "
            "random ones; the interval is a bootstrap over all words, the attribute words too."
        ),
        source=(
            "Caliskan, Bryson and Narayanan (2017), “Semantics derived automatically from language "
            "corpora contain human-like biases”."
        ),
        main="weat",
        main_variant="weat6",
        common=True,
        evaluator=_weat,
        own_words=True,
        names_variant=-1,
    ),
    Family(
        key="associations",
        title="Associations: other measures of the same queries",
        measures=(
            _RND,
            Measure(
                name="rnsb",
                title="RNSB",
                number="KL divergence of being like B from uniform",
                question="does a classifier of A and B predict some words as more negative?",
                scale="≥ 0",
                neutral=0.0,
                better="lower",
                caution="that the words are not negative: only that all are alike",
            ),
            Measure(
                name="mac",
                title="MAC",
                number="mean cosine distance to A and B",
                question="how far are words from both attribute sets?",
                scale="0 … 2",
                neutral=1.0,
                better="neutral",
                caution="that they are as far from A as from B",
            ),
            Measure(
                name="ect",
                title="ECT",
                number="do X and Y rank the words alike",
                question="do the means of X and Y rank the words in the same order of similarity?",
                scale="−1 … 1",
                neutral=1.0,
                better="higher",
                caution="no bias: a shift of all words alike is not detected",
            ),
            replace(
                _RND,
                name="ripa",
                title="RIPA",
                number="inner product with X − Y",
                question="do words lean along the difference of the pairs of X and Y?",
            ),
        ),
        area=VECTORS,
        section=False,
        question="What do other tests find for the sets of words of WEAT?",
        limits="Each is about the few words of its query, and uses some of its four sets.",
        method=(
            "RND: mean difference of the distances to both groups’ means. RNSB: divergence from "
            "uniform of the probabilities of being negative. MAC: mean cosine distance. ECT: "
            "Spearman’s correlation of the similarities with both means. RIPA: mean inner product "
            "with the first component of the pairs’ differences."
        ),
        source=(
            "Garg et al. (2018); Sweeney and Najafian (2019); Manzini et al. (2019); Dev and "
            "Phillips (2019); Ethayarajh et al. (2019)."
        ),
        main="rnd",
        own_words=True,
    ),
    Family(
        key="moved",
        title="What debiasing changed",
        measures=(
            Measure(
                name="displacement",
                title="displacement ‖w′−w‖/‖w‖",
                question="how far did debiasing move the words?",
                scale="≥ 0",
                neutral=0.0,
                better="lower",
                caution="that what was preserved is useful",
            ),
            Measure(
                name="neighbours-preserved",
                title="share of neighbours kept",
                staged="neighbours kept ({k})",
                question="which share of their neighbours did words keep?",
                scale="0 … 1",
                neutral=1.0,
                better="higher",
                caution="that what was preserved is useful",
            ),
            Measure(
                name="difference-in-span",
                title="groups’ difference inside the components",
                question=(
                    "what share of Δ, the difference of the groups’ means, lies inside the fitted "
                    "components?"
                ),
                scale="0 … 1",
                neutral=None,
                better="",
            ),
            Measure(
                name="difference-removed",
                title="groups’ difference removed",
                question="what share of Δ was removed?",
                scale="0 … 1",
                neutral=None,
                better="",
            ),
        ),
        area=VECTORS,
        kind="change",
        question="How far did the vectors move, and do words keep their neighbours?",
        limits=(
            "Small changes are neither good nor bad: they show how much was changed, not whether "
            "it was the right thing."
        ),
        method=(
            "Means over neutral words; neighbours by cosine, of words drawn at random. The share "
            "of ‖Δ‖² of the groups’ means that lies in the components is all that MISP can "
            "remove;"
        ),
        source="components as in Dawkins (2021), section 5.",
        main="neighbours-preserved",
    ),
    Family(
        key="trade-off",
        title="Trade-off: how much bias is left, and how much quality kept?",
        measures=(
            Measure(
                name="bias-left",
                title="bias left",
                question="what share of the bias beyond chance does a method leave, at most?",
                scale="≥ 0",
                neutral=0.0,
                better="lower",
                caution="that bias is gone: only that the main measures are at chance",
                variant="stage",
                listed=False,
            ),
        ),
        area=VECTORS,
        kind="change",
        section=False,
        question=(
            "Which method leaves least of the bias that was measured, and how much quality does it "
            "keep?"
        ),
        limits=(
            "The measures do not measure the same thing: look at each. Quality "
            "is what was measured of it: neighbours, and the test sets that were given."
        ),
        method=(
            "Largest over the families of max(0, (D after − C) / (D before − C)), with the "
            "distances D of their main measure from neutral, the worse way, and C that of the "
            "chance mean. "
            "WEAT has a test and no chance level; its C is 0. "
            "Only measures that are beyond chance before count; not MIDB, which misp, mhd and "
            "leace lower by construction. Quality kept is the smallest share kept of "
            "similarity, analogies and neighbours. A method is efficient if no other, nor "
            "doing nothing, leaves as little and keeps as much, and more of one."
        ),
        source="Bias is set against quality in papers on debiasing; this share is of wordbias.",
        main="bias-left",
    ),
    Family(
        key="mab",
        title="Downstream: marked attribute bias of an NLI model",
        measures=(
            Measure(
                name="mab-distance",
                title="distance d between the groups",
                question="how far are the two genders’ mean answers from each other?",
                scale="0 … √2",
                neutral=0,
                better="lower",
                caution=(
                    "that the answers are right: a model that always says *entailment* has *d* = 0"
                ),
            ),
            Measure(
                name="mab-error",
                title="error E of the means",
                question="how far are both genders’ mean answers from *neutral*?",
                scale="0 … √2",
                neutral=0,
                better="lower",
                caution="that single pairs are right: errors can cancel in means",
            ),
            Measure(
                name="mab-error-per-pair",
                title="error E, per pair",
                question="how far are the answers from *neutral*, pair by pair?",
                scale="0 … √2",
                neutral=0,
                better="lower",
                caution="that other sentences get the same answers",
            ),
            _MAB_MEAN,
            replace(
                _MAB_MEAN,
                name="mab-entailment",
                title="mean probability of entailment",
                neutral=0,
                better="lower",
            ),
            replace(
                _MAB_MEAN,
                name="mab-contradiction",
                title="mean probability of contradiction",
                neutral=0,
                better="lower",
            ),
        ),
        area=INFERENCE,
        question=(
            "Does a model of inference that reads these vectors take “A person bought a hat” to "
            "imply “He bought a hat”, but not “She bought a hat”, or the same of other groups? "
            "Neutral is always right."
        ),
        limits=(
            "This is one small model on template sentences. After debiasing it reads vectors that "
            "it was not trained on: to measure the effect of debiasing on a model, train a new one "
            "(wordbias nli-train)."
        ),
        method=(
            "d = ‖M − F‖ of both groups’ mean probabilities of neutral, entailment and "
            "contradiction; E is their mean distance from (1, 0, 0). The intervals are a bootstrap "
            "over premises, and do not cover the training seed."
        ),
        source="Dawkins (2021), section 2.",
        main="mab-distance",
        main_variant="nouns",
        common=True,
        needs="a model of inference (--nli-model)",
        in_words="marked attribute bias",
        names_variant=0,
    ),
    Family(
        key="quality",
        title="Quality: similarity and analogies",
        measures=(
            Measure(
                name="similarity",
                title="similarity, Spearman’s ρ",
                question="do cosines rank pairs of words as people do?",
                scale="−1 … 1",
                neutral=None,
                better="higher",
                caution="that the vectors are of no use: the sets are small",
            ),
            Measure(
                name="analogy",
                title="analogies answered",
                question="how many analogies are answered?",
                scale="0 … 1",
                neutral=None,
                better="higher",
                caution="that relations are missing: only that they are not the nearest word",
            ),
        ),
        area=VECTORS,
        kind="quality",
        question="Do the vectors still rank pairs of words as people do, and answer analogies?",
        limits=(
            "The sets are small and of general words; words unknown to the embedding are left out, "
            "and the value is for the words that remain."
        ),
        method=(
            "Spearman’s correlation of cosine with human scores; analogies by 3CosAdd or 3CosMul "
            "over the whole vocabulary."
        ),
        source="For the sets, see their papers.",
        main="similarity",
        common=True,
        needs="similarity and analogies (--benchmarks=men)",
        fetch="men simlex-999 google-analogies",
        own_words=True,
    ),
    *MODEL_FAMILIES,
)

# Look-ups

BY_KEY: Mapping[str, Family] = {family.key: family for family in FAMILIES}
FAMILY_OF: Mapping[str, Family] = {
    one.name: family for family in FAMILIES for one in family.measures
}
MEASURES: Mapping[str, Measure] = {one.name: one for family in FAMILIES for one in family.measures}
SECTIONS = tuple(family for family in FAMILIES if family.section)
"""Families that have a section in a report, in their order."""
LISTED = tuple(one.name for family in SECTIONS for one in family.measures if one.listed)
"""Measures that these sections list."""
SELECTABLE = tuple(family.key for family in FAMILIES if family.evaluator is not None)
"""Keys of the families that ``--only`` takes."""
STANDARD = tuple(family.key for family in FAMILIES if family.standard)
"""The families that are taken by default."""

F = TypeVar("F", bound=Callable[..., object])


def ideal(measure: str) -> dict[str, Any]:
    """Return the keys of a measure's rows about its neutral value and what is better."""
    return MEASURES[measure].ideal


def variant_of(measure: str, details: Mapping[str, Any]) -> str:
    """Return the variant of a row within its measure: its set or, for GIPE, its setting."""
    known = MEASURES.get(measure)
    return str(details.get("set" if known is None else known.variant) or "")


def measure_title(measure: str) -> str:
    """Return a measure's name for people; an unknown measure keeps its own name."""
    known = MEASURES.get(measure)
    return known.title if known else measure


def short_title(measure: str) -> str:
    """Return a measure's name in a table of several families."""
    known = MEASURES.get(measure)
    return known.short or known.title if known else measure


def staged_title(measure: str, *, axis: str, k: str) -> str:
    """Return a measure's name in a table of before and after, with the axis and the setting."""
    known = MEASURES.get(measure)
    return known.staged.format(axis=axis, k=k) if known and known.staged else short_title(measure)


def full_title(measure: str) -> str:
    """Return a measure's name with its family, unless the name includes it."""
    family, named = FAMILY_OF.get(measure), measure_title(measure)
    if family is None or family.short.lower().split()[0] in named.lower():
        return named
    return f"{family.short}: {named}"


def meaning(measure: str) -> str:
    """Describe the number of a measure, its neutral value and the better direction."""
    one = MEASURES[measure]
    notes = [f"neutral {one.neutral:g}"] if isinstance(one.neutral, (int, float)) else []
    notes += [f"{one.better} is better"] if one.better in ("lower", "higher") else []
    return "; ".join(filter(None, [f"{measure}: {one.number or one.title}", ", ".join(notes)]))


def names_families(function: F) -> F:
    """Fill in the families that ``--only`` takes in a docstring.

    ``{measures}`` are all, ``{standard}`` the default, ``{others}`` the rest.
    """
    lists = {
        "measures": SELECTABLE,
        "standard": STANDARD,
        "others": [key for key in SELECTABLE if key not in STANDARD],
    }
    text = function.__doc__ or ""
    for name, keys in lists.items():
        text = text.replace(f"{{{name}}}", ", ".join(keys))
    function.__doc__ = text
    return function
