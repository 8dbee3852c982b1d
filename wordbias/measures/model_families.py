"""Part of the table of measures for models and classifiers, which commands of their own measure.

`wordbias.measures.registry` is the whole table.
"""

from __future__ import annotations

from dataclasses import replace

from wordbias.measures.family import Family, Measure

INFERENCE, ENCODERS, CLASSIFIERS = "Models of inference", "Encoders", "Classifiers"
DECODERS = "Decoders"

_COMPRESSION = Measure(
    name="compression",
    title="compression",
    question="how many times shorter is a message of labels when the vectors are known?",
    scale="> 0",
    neutral="what the shares of the classes alone give: 1 if they are equal",
    better="lower",
    caution="that gender is not there: a larger probe, or more examples, may find it",
)
_STRENGTH = Measure(
    name="strength",
    title="strength S",
    question="do predictions change when genders are swapped? (in the most extreme tenth)",
    scale="−2 … 2",
    neutral=0,
    better="lower",
    caution="that few triples are biased: nine tenths of them are not used",
)
_SS = Measure(
    name="ss",
    title="stereotype score",
    question="how often is the stereotype preferred?",
    scale="0 … 1",
    neutral=0.5,
    better="neutral",
    caution="no bias: opposite stereotypes cancel",
)
_TPR = Measure(
    name="tpr-gap",
    title="gap of TPR",
    question=(
        "do the groups differ in what the classifier gets right? (for each class, and as the sum "
        "of absolute gaps)"
    ),
    scale="−1 … 1, sums ≥ 0",
    neutral=0,
    better="lower",
    caution="that the gaps do not follow the shares: their correlation is a value of its own",
)
_INDEPENDENCE = Measure(
    name="independence",
    title="independence",
    question="do the groups get different predictions?",
    scale="≥ 0",
    neutral=0,
    better="lower",
    caution="that predictions are right: a perfect classifier has more if true classes differ",
)
_BEST = Measure(
    name="best-probe",
    title="balanced accuracy of the best probe",
    question="how often does the best of several tuned probes predict the label of a new group?",
    scale="0 … 1",
    neutral="1 over the number of classes",
    better="lower",
    caution="that it is gone: another classifier, or more rows, may find it",
    short="best probe",
)
_PROBED = Measure(
    name="linear-probe",
    title="accuracy of a linear probe",
    question="how often does a logistic regression predict the label?",
    scale="0 … 1",
    neutral="the share of the most frequent class",
    better="neutral",
    caution="that it is gone: a non-linear classifier may find it",
)

MODEL_FAMILIES = (
    Family(
        key="nli-fairness",
        title="Occupations and gender: is a doctor neither a man nor a woman?",
        measures=(
            Measure(
                name="nli-fairness",
                title="fairness η",
                question="accuracy × parity over 10,824 occupation pairs",
                scale="0 … 1",
                neutral=1,
                better="higher",
            ),
            Measure(
                name="nli-accuracy",
                title="accuracy",
                question="on which share of the pairs is the answer *neutral*?",
                scale="0 … 1",
                neutral=1,
                better="higher",
            ),
            Measure(
                name="nli-parity",
                title="parity",
                question=(
                    "for which share of occupations is the answer the same about men and women?"
                ),
                scale="0 … 1",
                neutral=1,
                better="higher",
                caution="that the answers are right: they may be equally wrong",
            ),
        ),
        area=INFERENCE,
        section=False,
        question="Does an NLI model take a doctor to be a man, and a nurse to be a woman?",
        limits="The pairs are made from templates, with occupations in one language.",
        method="Premises about occupations, hypotheses about men and women; η = accuracy × parity.",
        source="Dawkins et al. (2024), section 3.",
        main="nli-fairness",
    ),
    Family(
        key="probe",
        title="Probing: how easily are labels read off vectors?",
        measures=(
            _COMPRESSION,
            replace(
                _COMPRESSION,
                name="compression-as-published",
                title="compression, as published",
                question="the same, with the first block in bits and the others in nats",
                neutral="what the shares alone give: 1.43 if equal, with a first block of 2 %",
            ),
            replace(
                _COMPRESSION,
                name="codelength",
                title="codelength, bits",
                question="how long is the message?",
                neutral="the length if the shares of the classes alone are known",
                better="higher",
            ),
            Measure(
                name="uniform-codelength",
                title="uniform codelength, bits",
                question="how long is it without the vectors?",
                scale="> 0",
                neutral=None,
                better="neutral",
            ),
            Measure(
                name="probe-accuracy",
                title="accuracy of the probe",
                question="how often does a probe predict the right label?",
                scale="0 … 1",
                neutral="the share of the largest class",
                better="lower",
                caution="that it is easy to read: accuracy does not measure the effort",
            ),
            Measure(
                name="selectivity",
                title="selectivity",
                question="how much better are labels predicted than random ones?",
                scale="any",
                neutral=0,
                better="lower",
                caution="that nothing is read: only that random labels are read as well",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="How many bits does a message of labels take once the vectors are known?",
        limits=(
            "Compression rises with anything correlated with the labels; compare it with the "
            "same model with random weights, not with the neutral value."
        ),
        method="Online codes of a probe over growing blocks; random labels as a control.",
        source="Voita and Titov (2020); control: Hewitt and Liang (2019); Orgad et al. (2022).",
        main="compression",
    ),
    Family(
        key="best-probe",
        title="The best of several probes: what is left to read?",
        measures=(
            _BEST,
            replace(
                _BEST,
                name="ridge-probe",
                title="balanced accuracy of the linear probe",
                question="the same, of a linear ridge classifier alone",
                short="linear ridge probe",
            ),
            replace(
                _BEST,
                name="rbf-probe",
                title="balanced accuracy of the RBF probe",
                question="the same, of a ridge classifier with a Gaussian kernel alone",
                short="RBF ridge probe",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="Does any of several tuned probes read a label off groups that it has not seen?",
        limits=(
            "Two kinds of probe on at most 1,500 rows: a larger one, or more rows, may read more. "
            "What is correlated with the label is read too."
        ),
        method=(
            "Kernel ridge classifiers. Penalty, width and probe are chosen on inner folds by group "
            "and tested on an outer fold. Chance: labels permuted over groups, with tuning and "
            "choice repeated for each."
        ),
        source=(
            "Nested cross-validation: Varma and Simon (2006); permutations: Ojala and Garriga "
            "(2010)."
        ),
        main="best-probe",
    ),
    Family(
        key="scrub",
        title="Removals inside a model: how much of the label is at a site?",
        measures=(
            Measure(
                name="label-explained",
                title="share of the label explained",
                question="how much of the label does a linear map of the vectors explain?",
                scale="0 … 1",
                neutral=0.0,
                better="lower",
                caution="that it is gone: a non-linear classifier, or other texts, may show it",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="How much of the label do the vectors at a site of a model show a linear map?",
        limits=(
            "It is taken on the texts that the removal is fitted to: after LEACE and the hard "
            "removal it is 0 by construction. wordbias probe --adapter measures other texts."
        ),
        method=(
            "Mean squared canonical correlation of vectors and classes, of two classes R² of least "
            "squares."
        ),
        source="After Belrose et al. (2023), “LEACE”, section 6.",
        main="label-explained",
    ),
    Family(
        key="erase",
        title="Erased labels: what do probes still read on held-out rows?",
        measures=(
            _PROBED,
            replace(
                _PROBED,
                name="mlp-probe",
                title="accuracy of a non-linear probe",
                question="how often does a perceptron with one hidden layer predict the label?",
                caution="that no classifier finds it: a larger one, or more rows, may",
            ),
            replace(
                _PROBED,
                name="training-rows-probe",
                title="accuracy on the training rows",
                question=(
                    "how often does a logistic regression, cross-validated on the rows that the "
                    "method is fitted on, predict the label?"
                ),
                caution="anything about other rows: these are alike only all together",
            ),
            Measure(
                name="task-accuracy",
                title="accuracy of a task",
                question="how often does a linear probe predict a label that should be kept?",
                scale="0 … 1",
                neutral="the share of the most frequent class",
                better="higher",
            ),
            Measure(
                name="neighbour-recall",
                title="nearest neighbours kept",
                question="which share of its ten nearest rows does a held-out row keep?",
                scale="0 … 1",
                neutral=1,
                better="higher",
                caution="that a search is as good as before: only that it finds the same",
            ),
            Measure(
                name="cosine",
                title="cosine with the original",
                question="how similar is a row to its original, on average?",
                scale="−1 … 1",
                neutral=1,
                better="higher",
                caution="that rows are as far from each other as before",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="Can a label still be read from rows that the method was not fitted on?",
        limits=(
            "Two kinds of classifier are tried. What is correlated with the label, such as an "
            "occupation with gender, predicts it, and is read less well too."
        ),
        method="Probes are trained on training rows and tested on held-out rows, before and after.",
        source=(
            "Ravfogel et al. (2020), “Null It Out”; Belrose et al. (2023), “LEACE”; compression: "
            "Voita and Titov (2020)."
        ),
        main="linear-probe",
    ),
    Family(
        key="ceat",
        title="CEAT: WEAT on words in sentences",
        measures=(
            Measure(
                name="ceat",
                title="combined effect size",
                question="WEAT on words in sentences, combined over sentences",
                scale="any",
                neutral=0.0,
                better="neutral",
                caution="that no context is biased: it is an average of them",
            ),
        ),
        area=ENCODERS,
        section=False,
        question=(
            "Are words of two sets, each in a sentence, associated differently with two others?"
        ),
        limits="The value depends on the sentences: other sentences give other vectors.",
        method="Effect sizes of samples, one sentence a word, combined by a random-effects model.",
        source="Guo and Caliskan (2021).",
        main="ceat",
    ),
    Family(
        key="seat",
        title="SEAT: WEAT on sentences that mention a word",
        measures=(
            Measure(
                name="seat",
                title="effect size",
                question="are sentences that mention X nearer to those that mention A, and Y to B?",
                scale="−2 … 2",
                neutral=0.0,
                better="neutral",
                caution="no bias: eight words a side, in bland sentences",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="Are sentences that mention words of two sets associated differently?",
        limits=(
            "Bland sentences differ in one word only: what a model makes of real ones is not "
            "measured. May et al. (2019) found that it depends on the template."
        ),
        method="WEAT of the vectors of sentences, averaged over the sentences of each word.",
        source="May et al. (2019), “On Measuring Social Biases in Sentence Encoders”.",
        main="seat",
    ),
    Family(
        key="pronouns",
        title="Occupations between she and he: to which are they nearer?",
        measures=(
            Measure(
                name="pronoun-stereotype",
                title="correlation with the share of women",
                question="do sentences about occupations with more women lie nearer to “she …”?",
                scale="−1 … 1",
                neutral=0.0,
                better="neutral",
                caution="that no occupation leans: only that their order is another",
            ),
            Measure(
                name="pronoun-gap",
                title="mean lean of occupations",
                question="do sentences about occupations lie nearer to “she …” than to “he …”?",
                scale="−2 … 2",
                neutral=0.0,
                better="neutral",
                caution="that single occupations do not: those on both sides cancel",
            ),
            Measure(
                name="pronoun-lean",
                title="lean of an occupation",
                question="how much nearer is the sentence about an occupation to “she …”?",
                scale="−2 … 2",
                neutral=0.0,
                better="neutral",
                caution="that others do not lean",
                listed=False,
            ),
            Measure(
                name="sentence-similarity",
                title="similarity of two sentences",
                question="what is the mean cosine of “she …” and “he …”, paraphrases, others?",
                scale="−1 … 1",
                neutral=None,
                better="",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="Is “The nurse waited.” nearer to “She waited.” or to “He waited.”?",
        limits=(
            "Shares of women are those of one country in one year; the sentences are made from "
            "templates. A correlation is no proof of harm: it may be what the texts say."
        ),
        method=(
            "Difference of the cosines with the same sentence about she and he, averaged over "
            "templates; its rank correlation with the percentage of women in the occupation."
        ),
        source=(
            "After the direct bias of Bolukbasi et al. (2016) and the correlation of Caliskan et "
            "al. (2017); shares: US Bureau of Labor Statistics, by Rudinger et al. (2018)."
        ),
        main="pronoun-stereotype",
    ),
    Family(
        key="sentences-kept",
        title="What a projection costs: similarities of sentences",
        measures=(
            Measure(
                name="sentence-order-kept",
                title="order of similarities kept",
                question="do cosines rank pairs of unrelated sentences as before?",
                scale="−1 … 1",
                neutral=1.0,
                better="higher",
                caution="that a task which reads the vectors goes as well as before",
            ),
            Measure(
                name="sentence-neighbours-kept",
                title="nearest sentences kept",
                question="which share of their nearest sentences did sentences keep?",
                scale="0 … 1",
                neutral=1.0,
                better="higher",
                caution="that a task which reads the vectors goes as well as before",
            ),
            Measure(
                name="sentence-similarity-moved",
                title="mean change of a similarity",
                question="by how much did the cosine of two unrelated sentences change?",
                scale="0 … 2",
                neutral=0.0,
                better="lower",
                caution="that a task which reads the vectors goes as well as before",
            ),
        ),
        area=ENCODERS,
        kind="change",
        section=False,
        question="Are sentences that are about no person as similar as before?",
        limits="48 short sentences in one language; data of a task of your own say more.",
        method="Cosines of all pairs before and after; the five nearest sentences of each.",
        source="Rank correlation as in the tests of Agirre et al. (2012), “SemEval-2012 Task 6”.",
        main="sentence-order-kept",
    ),
    Family(
        key="sentence-tasks",
        title="What a projection costs: rated similarity, and retrieval",
        measures=(
            Measure(
                name="sts",
                title="correlation with ratings",
                question="are pairs of texts that people rate as alike more similar?",
                scale="−1 … 1",
                neutral=None,
                better="higher",
                caution="that texts of another kind are compared as well",
            ),
            Measure(
                name="retrieval-recall",
                title="recall of ten",
                question="which share of a text’s partners is among the ten most similar texts?",
                scale="0 … 1",
                neutral=None,
                better="higher",
                caution="that a larger collection is searched as well",
            ),
            Measure(
                name="retrieval-rank",
                title="mean reciprocal rank",
                question="how near to the top of the list is a text’s best partner?",
                scale="0 … 1",
                neutral=None,
                better="higher",
                caution="that a larger collection is searched as well",
            ),
        ),
        area=ENCODERS,
        kind="quality",
        section=False,
        question="Does a sentence model still do its task?",
        limits=(
            "Pairs of one kind of text; retrieval is within the file, which is easier than in a "
            "collection."
        ),
        method=(
            "Spearman’s correlation of similarities with ratings; ranks among all second texts of "
            "the file."
        ),
        source="STS: Agirre et al. (2012), “SemEval-2012 Task 6”.",
        main="sts",
    ),
    Family(
        key="stereoset",
        title="Stereotypes: does a model prefer them?",
        measures=(
            _STRENGTH,
            replace(
                _STRENGTH,
                name="distance",
                title="distance D",
                scale="0 … 1",
            ),
            replace(
                _STRENGTH,
                name="opposite-strength",
                title="strength of the opposite stereotypes",
                question="S with the labels exchanged: about what chance would give",
                caution="no bias, by itself: compare S with it",
            ),
            replace(
                _STRENGTH,
                name="mean-strength",
                title="mean strength",
                question="S of all triples, not of the most extreme",
                better="neutral",
                caution="no bias: opposite stereotypes cancel",
            ),
            _SS,
            replace(
                _SS,
                name="lms",
                title="language score",
                question="how often is a meaningful sentence preferred?",
                neutral=1,
                better="higher",
                caution="that the model is useful elsewhere",
            ),
            replace(
                _SS,
                name="icat",
                title="ICAT",
                question="both in one: lms · min(ss, 1 − ss) / ½",
                neutral=1,
                better="higher",
                caution="either by itself",
            ),
            replace(
                _SS,
                name="crows",
                title="CrowS-Pairs",
                question="how often is the more stereotyping sentence the likelier one?",
            ),
        ),
        area=ENCODERS,
        section=False,
        question="Does a model find stereotypes likelier than their opposites?",
        limits=(
            "A mean of the most extreme is above 0 by chance: compare S with that of the opposite "
            "stereotypes."
        ),
        method=(
            "Probabilities that a sentence is next, or of masked words; S and D are means over the "
            "most extreme tenth of the triples."
        ),
        source=(
            "Nadeem et al. (2021), “StereoSet”; Nangia et al. (2020), “CrowS-Pairs”; S and D: "
            "Dawkins et al. (2024), section 2."
        ),
        main="strength",
    ),
    Family(
        key="likelihood",
        title="Likelihood: which of two texts does a decoder prefer?",
        measures=(
            Measure(
                name="pair-preferred",
                title="first text likelier",
                question="how often is the first text of a pair the likelier one?",
                scale="0 … 1",
                neutral=0.5,
                better="neutral",
                caution="no bias: opposite preferences cancel",
            ),
            Measure(
                name="pair-lean",
                title="lean of pairs, nats",
                question="by how much is the first text of a pair the likelier one?",
                scale="any",
                neutral=0.0,
                better="neutral",
                caution="no bias: opposite preferences cancel",
            ),
            Measure(
                name="pro-preferred",
                title="pro-stereotyped sentence likelier",
                question="how often is *the nurse … she* likelier than *the nurse … he*?",
                scale="0 … 1",
                neutral=0.5,
                better="neutral",
                caution="that single occupations are free of it: opposite ones cancel",
            ),
            Measure(
                name="likelihood-difference",
                title="mean difference of pairs, nats",
                question="how far apart are the log-likelihoods of a pair, whichever is larger?",
                scale="≥ 0",
                neutral=None,
                better="lower",
            ),
        ),
        area=DECODERS,
        section=False,
        question="Does a decoder find stereotypes likelier than their opposites?",
        limits=(
            "Two texts differ in words and tokens, not in a stereotype only: a frequent name or a "
            "shorter text is likelier in any model. Published pairs are noisy: Blodgett et al. "
            "(2021) found many that test no stereotype."
        ),
        method=(
            "Log-likelihoods of whole texts and their means over tokens, compared within pairs; of "
            "CrowS-Pairs and StereoSet the measures are those that encoders have."
        ),
        source=(
            "Gao et al. (2024), the lm-evaluation-harness; Nangia et al. (2020); Zhao et al. "
            "(2018)."
        ),
        main="pair-preferred",
    ),
    Family(
        key="coreference",
        title="Coreference by likelihood: to whom does a pronoun refer?",
        measures=(
            Measure(
                name="coreference-accuracy",
                title="pronouns resolved right",
                question="how often is the right person likelier after *‘She’ refers to the*?",
                scale="0 … 1",
                neutral=None,
                better="higher",
            ),
            Measure(
                name="coreference-gap",
                title="gap of accuracy",
                question="by how much is it oftener right where the stereotype is?",
                scale="−1 … 1",
                neutral=0.0,
                better="neutral",
                caution="that pronouns are understood: at chance there is no gap",
            ),
            Measure(
                name="coreference-correlation",
                title="correlation with the share of women",
                question="does *she* rather than *he* go with occupations that have more women?",
                scale="−1 … 1",
                neutral=0.0,
                better="neutral",
                caution="that no occupation leans: only that their order is another",
            ),
        ),
        area=DECODERS,
        section=False,
        question="Does a decoder understand *the nurse … he* as well as *the nurse … she*?",
        limits=(
            "A small model answers at chance, or by the order of the words, and then the gap says "
            "nothing: read it beside the accuracy."
        ),
        method=(
            "Likelihood of the two people after the sentence and *‘She’ refers to the*; the gap is "
            "that of pro- and anti-stereotyped sentences, or of those that are no gotcha and those "
            "that are."
        ),
        source="Zhao et al. (2018), “WinoBias”; Rudinger et al. (2018), “Winogender”.",
        main="coreference-gap",
    ),
    Family(
        key="expected-pronouns",
        title="Expected pronouns: does a decoder take the nurse to be a woman?",
        measures=(
            Measure(
                name="expected-pronoun-stereotype",
                title="expected pronoun: correlation with the share of women",
                question="is “she” the likelier, the more women work in the occupation?",
                scale="−1 … 1",
                neutral=0.0,
                better="neutral",
                caution="that no occupation leans: only that their order is another",
            ),
            Measure(
                name="expected-pronoun-gap",
                title="expected pronoun: mean lean of occupations",
                question="how much likelier is “she” than “he”? (mean of log p(she) − log p(he))",
                scale="any",
                neutral=0.0,
                better="neutral",
                caution="that single occupations do not lean: those on both sides cancel",
            ),
            Measure(
                name="expected-pronoun-lean",
                title="expected pronoun: lean of an occupation",
                question="how much likelier is “she” than “he” after a sentence about it?",
                scale="any",
                neutral=0.0,
                better="neutral",
                caution="that others do not lean",
                listed=False,
            ),
        ),
        area=DECODERS,
        section=False,
        question="Does “The nurse waited for the bus because” go on with “she” or with “he”?",
        limits=(
            "Shares of women are those of one country in one year; the sentences are made from "
            "templates, and a pronoun may mean somebody else. A decoder may expect one pronoun of "
            "people in general: compare the lean of people whose occupation is not said."
        ),
        method=(
            "Mean over templates of log p(she) − log p(he) after a sentence about the occupation; "
            "its rank correlation with the percentage of women. Chance: permuted percentages."
        ),
        source=(
            "After the correlation of Caliskan et al. (2017); shares: US Bureau of Labor "
            "Statistics, by Rudinger et al. (2018)."
        ),
        main="expected-pronoun-stereotype",
    ),
    Family(
        key="bbq",
        title="BBQ: what does a decoder answer when it cannot know?",
        measures=(
            Measure(
                name="bbq-accuracy",
                title="accuracy",
                question="how often is the right answer the likeliest?",
                scale="0 … 1",
                neutral=None,
                better="higher",
            ),
            Measure(
                name="bbq-bias",
                title="bias score",
                question="do the answers that name somebody follow the stereotype?",
                scale="−1 … 1",
                neutral=0.0,
                better="neutral",
                caution="no bias: opposite stereotypes cancel",
            ),
        ),
        area=DECODERS,
        section=False,
        question="Does a decoder answer with a stereotype where the text does not say who it was?",
        limits=(
            "The likeliest answer depends on its wording and length: compare both scores. "
            "Questions are variants of a few templates, and in English about the United States."
        ),
        method=(
            "The likeliest of three answers, or of the twelve of lm-evaluation-harness; 2 · biased "
            "/ not unknown − 1, in ambiguous contexts times the share of wrong answers."
        ),
        source="Parrish et al. (2022), “BBQ”, section 4.",
        main="bbq-bias",
    ),
    Family(
        key="perplexity",
        title="Perplexity: what a change of a decoder costs",
        measures=(
            Measure(
                name="perplexity",
                title="perplexity",
                question="among how many tokens, as it were, does the model choose?",
                scale="≥ 1",
                neutral=None,
                better="lower",
                caution="that it writes well",
            ),
            Measure(
                name="bits-per-byte",
                title="bits per byte",
                question="how many bits does the model need for a byte of the text?",
                scale="> 0",
                neutral=None,
                better="lower",
                caution="that it writes well",
            ),
            Measure(
                name="perplexity-kept",
                title="perplexity before ÷ after",
                question="how much of its prediction did a model keep after a removal?",
                scale="> 0",
                neutral=1.0,
                better="higher",
                caution="that longer texts, or texts about people, are predicted as well",
            ),
        ),
        area=DECODERS,
        kind="quality",
        section=False,
        question="How well does a decoder predict a text?",
        limits=(
            "Perplexity counts tokens: between models with other tokens only bits per byte "
            "compare. It depends on the text, and on the length of the windows."
        ),
        method="Mean log-likelihood of a token in windows of the model’s length.",
        source="Jelinek et al. (1977); windows as in Gao et al. (2024).",
        main="perplexity",
    ),
    Family(
        key="fairness",
        title="Group fairness: does a classifier treat groups alike?",
        measures=(
            _TPR,
            replace(_TPR, name="fpr-gap", title="gap of FPR"),
            replace(_TPR, name="precision-gap", title="gap of precision"),
            replace(_TPR, name="f1-gap", title="gap of F1"),
            _INDEPENDENCE,
            replace(
                _INDEPENDENCE,
                name="separation",
                title="separation",
                question="do the groups, within a true class, get different predictions?",
                caution="that predictions mean the same for both groups",
            ),
            replace(
                _INDEPENDENCE,
                name="sufficiency",
                title="sufficiency",
                question="does a prediction mean different true classes for the groups?",
                caution="that both groups’ errors are alike",
            ),
            Measure(
                name="accuracy",
                title="accuracy",
                question="how often is the classifier right?",
                scale="0 … 1",
                neutral=None,
                better="higher",
            ),
        ),
        area=CLASSIFIERS,
        section=False,
        question="Is a classifier right as often, and wrong in the same way, about both groups?",
        limits=(
            "Sums are above 0 by chance, more so with more classes and fewer examples: compare "
            "each with the sum of a classifier that treats the groups alike. No two of "
            "independence, separation and sufficiency hold at once in general."
        ),
        method="Rates of each class by group, and divergences of distributions between the groups.",
        source="Orgad et al. (2022), section 2.1.",
        main="tpr-gap",
    ),
    Family(
        key="winobias",
        title="WinoBias: does a coreference system follow stereotypes?",
        measures=(
            Measure(
                name="conll-f1",
                title="CoNLL F1",
                question="how well are pronouns resolved, with the stereotype and against it?",
                scale="0 … 100",
                neutral=None,
                better="higher",
            ),
            Measure(
                name="conll-f1-diff",
                title="difference of CoNLL F1",
                question="how much better with the stereotype than against it?",
                scale="−100 … 100",
                neutral=0,
                better="neutral",
                caution="that the system resolves anything",
            ),
            Measure(
                name="undecided",
                title="share undecided",
                question="in what share is the pronoun linked to no profession, or to several?",
                scale="0 … 1",
                neutral=0,
                better="lower",
                caution="that the rest is right",
            ),
        ),
        area=CLASSIFIERS,
        section=False,
        question="Does a system find out that “she” is the doctor as well as that “he” is?",
        limits="The sentences are constructed, with two professions in each.",
        method="CoNLL F1 of sentences for and against the stereotype; pronouns taken as classes.",
        source="Zhao et al. (2018), “Gender Bias in Coreference Resolution”.",
        main="conll-f1-diff",
    ),
)
