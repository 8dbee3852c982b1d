"""What is known of each family of measures: its question, its limits, its method and source."""

from __future__ import annotations

from wordbias.pages.family import Family

FAMILIES = (
    Family(
        "midb",
        "MIDB: lean along the directions in which the groups differ",
        {
            "midb": "MIDB, signed mean",
            "midb-abs": "MIDB, mean of |·|",
            "midb-rms": "MIDB, RMS of components",
            "midb-unit": "MIDB, unit length",
        },
        "How much do neutral words lean along the main directions in which the words of the two "
        "groups, by default first names of women and men, differ, each weighed by the variance "
        "that it explains?",
        "MIDB is measured along directions of the very kind that MISP attenuates: that it falls "
        "after MISP is by construction and shows nothing about bias elsewhere. The values grow "
        "with the length of the vectors and compare between embeddings only on unit length.",
        "MIDB(x) = Σ aᵢ⟨gᵢ, x⟩ over the principal components gᵢ of all pairwise differences "
        "between the groups’ words, averaged over neutral words; each stage along its own "
        "components. Dawkins (2021), “Marked Attribute Bias in Natural Language Inference”, "
        "section 4, eq. 3.",
        "midb-abs",
    ),
    Family(
        "direct-bias",
        "Direct bias: nearness to one axis",
        {"direct-bias": "direct bias", "direct-bias-pca": "direct bias, PCA of pairs"},
        "How near are neutral words, on average, to the axis between two words such as she and he?",
        "One axis sees what lies along it. Words can keep all their associations with each other "
        "and still be far from it.",
        "Mean of |cos(w, g)| over neutral words, g = she − he or the first principal component of "
        "definitional pairs. Bolukbasi et al. (2016), “Man is to Computer Programmer as Woman is "
        "to Homemaker?”, section 5.2.",
        "direct-bias",
    ),
    Family(
        "clustering",
        "Clustering: do biased words stay together?",
        {
            "clustering-accuracy": "clustering, accuracy",
            "clustering-v": "clustering, v-measure",
        },
        "Does k-means, asked for two clusters, find the two sides again on which the most biased "
        "words were before?",
        "It looks at the most biased words alone, the extreme of the vocabulary. A share of 1 has "
        "an interval without width, as no resampling of these words can differ.",
        "The words that lean most along the axis in the original, half of each side; accuracy is "
        "max(a, 1 − a). Gonen and Goldberg (2019), “Lipstick on a Pig”, section 4.",
        "clustering-accuracy",
        common=True,
    ),
    Family(
        "recoverability",
        "Recoverability: can a classifier tell the sides apart?",
        {
            "recoverability-linear-svm": "linear SVM",
            "recoverability-rbf-svm": "RBF SVM",
            "recoverability-logistic": "logistic regression",
            "recoverability-mlp": "MLP",
        },
        "Can a classifier that saw a fifth of the most biased words tell on which side the others "
        "were before?",
        "A value of 0.5 for these classifiers is no proof that no classifier could. The interval "
        "draws the tested words again, and a share of 1 has one without width; the classifier is "
        "trained once.",
        "Accuracy on the words not trained on, balanced. Gonen and Goldberg (2019), section 4; "
        "classifiers as in Dawkins (2021), section 3.",
        "recoverability-logistic",
        common=True,
    ),
    Family(
        "sembias",
        "SemBias: which pair is most like he − she?",
        {
            "sembias-definition": "definition",
            "sembias-none": "none",
            "sembias-stereotype": "stereotype",
        },
        "Of four pairs of words, does the one that means gender come first, or a stereotype?",
        "The questions use 20 stereotypical pairs; what is not among them is not asked.",
        "440 questions, cosine with he − she. Zhao et al. (2018), “Learning Gender-Neutral Word "
        "Embeddings”, section 4.",
        "sembias-stereotype",
        common=True,
    ),
    Family(
        "gipe",
        "GIPE: are words near each other for the groups’ sake?",
        {"gipe": "GIPE"},
        "Which share of the neighbours of neutral words is near them mostly because both lean the "
        "same way?",
        "It depends on the threshold θ and on the words among which neighbours are looked for. "
        "Values of embeddings with different vocabularies do not compare. An audit looks among the "
        "50,000 most frequent words, wordbias measure among all.",
        "Weighted share of the 100 nearest neighbours whose indirect bias β, taken in the "
        "original, exceeds θ. Kumar et al. (2020), “Nurse is Closer to Woman than Surgeon?”, "
        "section 3.",
        "gipe",
        "θ=0.03",
        common=True,
    ),
    Family(
        "weat",
        "WEAT: which words are nearer to which",
        {"weat": "WEAT, effect size d"},
        "Are two sets of words, such as career and family, differently near to two others, such "
        "as names of men and women?",
        "Each query is about its own few words. The p-values are not corrected for the number of "
        "queries. Controls, such as flowers and insects, are about no people: they show that the "
        "test works at all, and what debiasing left alone.",
        "Effect size d of the difference in mean cosine, with the sample standard deviation; p is "
        "the share of partitions of both sets with at least that difference, of all or of random "
        "ones; the interval draws all words again, the attribute words too. "
        "Caliskan, Bryson and Narayanan (2017), “Semantics derived automatically from language "
        "corpora contain human-like biases”.",
        "weat",
        "weat6",
        common=True,
    ),
    Family(
        "moved",
        "What debiasing changed",
        {
            "displacement": "displacement ‖w′−w‖/‖w‖",
            "neighbours-preserved": "share of neighbours kept",
            "difference-in-span": "groups’ difference inside the components",
            "difference-removed": "groups’ difference removed",
        },
        "How far did the vectors move, and do words keep their neighbours?",
        "Small changes are no fault and no merit: they say how much was touched, not whether it "
        "was the right thing.",
        "Means over neutral words; neighbours by cosine, of words drawn at random. The share of "
        "‖Δ‖² of the groups’ means that lies in the components is what MISP can reach at all; "
        "components as in Dawkins (2021), section 5.",
        "neighbours-preserved",
    ),
    Family(
        "quality",
        "Quality: similarity and analogies",
        {"similarity": "similarity, Spearman’s ρ", "analogy": "analogies answered"},
        "Do the vectors still rank pairs of words as people do, and answer analogies?",
        "The sets are small and of general words; words unknown to the embedding are left out, "
        "and the value is one of the words that remain.",
        "Spearman’s correlation of cosine with people’s scores; analogies by 3CosAdd or 3CosMul "
        "over the whole vocabulary. For the sets see their papers.",
        "similarity",
        common=True,
    ),
    Family(
        "mab",
        "Downstream: marked attribute bias of an NLI model",
        {
            "mab-distance": "distance d between the groups",
            "mab-error": "error E of the means",
            "mab-error-per-pair": "error E, per pair",
        },
        "Does a model of inference that reads these vectors take “A person bought a hat” to imply "
        "“He bought a hat”, but not “She bought a hat”, or the same of other groups? Neutral is "
        "always right.",
        "This is one small model on template sentences. After debiasing it reads vectors that it "
        "was not trained on: what debiasing does to a model is measured with one trained anew "
        "(wordbias nli-train).",
        "d = ‖M − F‖ of both groups’ mean probabilities of neutral, entailment and contradiction; "
        "E is their mean distance from (1, 0, 0). The intervals draw the premises again. Dawkins "
        "(2021), section 2.",
        "mab-distance",
        "nouns",
        common=True,
    ),
)
BY_MEASURE = {measure: family for family in FAMILIES for measure in family.measures}


def measure_title(measure: str) -> str:
    """Name a measure for people; an unknown one by its own name."""
    family = BY_MEASURE.get(measure)
    return family.measures[measure] if family else measure


def full_title(measure: str) -> str:
    """Name a measure together with its family, where its own name does not say which that is."""
    family, named = BY_MEASURE.get(measure), measure_title(measure)
    if family is None or family.short.lower().split()[0] in named.lower():
        return named
    return f"{family.short}: {named}"
