"""Group fairness of predictions, as a metric of Hugging Face evaluate.

gaps = evaluate.load("integrations/evaluate/fairness_gaps")
gaps.compute(predictions=[...], references=[...], groups=[...])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

import wordbias as wb

_DESCRIPTION = """\
Does a classifier treat groups, such as women and men, alike? Gaps of true and false positive rate,
precision and F1 between two groups, in each class, and their absolute sum, with 95 % bootstrap
intervals, beside the sum that a classifier has by chance that treats the groups alike.
"""
_INPUTS = """
Args:
    predictions: predicted classes, names or numbers.
    references: true classes.
    groups: group of each example, such as "F" and "M".
    compare: the two groups to compare, the first minus the second; by default all, sorted. With
        more than two a gap is the largest minus the smallest.
    draws: number of bootstrap samples; 0 for no intervals.
    seed: seed of the samples.
Returns:
    A dictionary with, for each of tpr_gap, fpr_gap, precision_gap and f1_gap: the sum over classes
    under this name, its interval (_low, _high), the sum of a classifier that treats the groups
    alike (_alike) and how often that is as large (_p), and the gap of each class (_by_class) with
    its interval. A gap is None where a group has no such example. And accuracy_by_group.
"""
_CITATION = """\
@inproceedings{orgad2022how,
  title = {How Gender Debiasing Affects Internal Model Representations, and Why It Matters},
  author = {Orgad, Hadas and Goldfarb-Tarrant, Seraphina and Belinkov, Yonatan},
  booktitle = {NAACL},
  year = {2022},
}
"""
GAPS = ("tpr-gap", "fpr-gap", "precision-gap", "f1-gap")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class FairnessGaps(evaluate.Metric):  # type: ignore[misc]
    """Gaps of `wordbias.fairness`."""

    def _info(self) -> evaluate.MetricInfo:
        kinds = ("string", "int64")  # the second if all values are numbers
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=[
                datasets.Features(
                    {
                        "predictions": datasets.Value(kind),
                        "references": datasets.Value(kind),
                        "groups": datasets.Value(of_group),
                    }
                )
                for kind in kinds
                for of_group in kinds
            ],
        )

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        groups: Sequence[Any],
        compare: Sequence[Any] | None = None,
        draws: int = 1000,
        seed: int = 0,
    ) -> dict[str, Any]:
        report = wb.fairness(
            list(references),
            list(predictions),
            list(groups),
            values=None if compare is None else list(compare),
            draws=draws,
            seed=seed,
        )
        scores: dict[str, Any] = {}
        for gap in GAPS:
            name = gap.replace("-", "_")
            by_class = {}
            for row in report[gap]:
                part = row.details["set"]
                interval = [row.details.get("low"), row.details.get("high")]
                if part == "sum":
                    scores[name] = row.value
                    scores[f"{name}_low"], scores[f"{name}_high"] = interval
                    scores[f"{name}_alike"] = row.details.get("chance")
                    scores[f"{name}_p"] = row.details.get("p")
                elif part != "pearson":
                    by_class[part] = {"gap": row.value, "low": interval[0], "high": interval[1]}
            scores[f"{name}_by_class"] = by_class
        scores["accuracy_by_group"] = {
            row.details["set"]: row.value
            for row in report["accuracy"]
            if row.details["set"] != "all"
        }
        return scores
