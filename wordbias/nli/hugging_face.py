"""Hugging Face sequence-classification models as NLI systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.models.loading import LoadedModel
from wordbias.models.model_like import ModelLike
from wordbias.models.text_classifier import load_classifier
from wordbias.nli.pairs import LABELS, label_indices
from wordbias.nli.test_sets import Pair, TestSet
from wordbias.progress import progress

Float32 = NDArray[np.float32]
BATCH = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Classifier(LoadedModel):
    """Sequence classifier of sentence pairs with the three labels of NLI."""

    # indices of neutral, entailment and contradiction among its outputs
    places: tuple[int, int, int]

    @classmethod
    def load(
        cls,
        source: ModelLike,
        *,
        labels: Sequence[str] | None = None,
        device: str | None = None,
    ) -> Self:
        """Load a model; see `wordbias.models.text_classifier.load_classifier`."""
        loaded = load_classifier(source, device, "NLI")
        places = label_order(loaded.model.config.id2label, labels, loaded.name)
        return cls(**vars(loaded), places=places)

    def labels(self) -> dict[int, str]:
        """Return the label of each output."""
        return {place: label for label, place in zip(LABELS, self.places, strict=True)}

    def score_set(self, test: TestSet, batch: int = BATCH) -> Float32:
        """Return (N, E, C) of each pair of a test set in its order, shape ``(n, 3)``."""
        # No space precedes the full stop, as in the texts that such models were trained on.
        pairs = [Pair(as_written(first), as_written(second)) for first, second in test]
        return self.probabilities(pairs, batch, f"scoring {test.name}")

    def probabilities(
        self, pairs: Sequence[Pair], batch: int = BATCH, what: str = "scoring"
    ) -> Float32:
        """Return (N, E, C) of sentence pairs, shape ``(n, 3)``, in batches of like length."""
        out = np.empty((len(pairs), len(LABELS)), np.float32)
        order = np.argsort([len(first) + len(second) for first, second in pairs], kind="stable")
        with self.predicting(), progress(what, len(pairs), "pair") as bar:
            for start in range(0, len(pairs), batch):
                rows = order[start : start + batch]
                out[rows] = self._predict([pairs[i] for i in rows])
                bar.update(len(rows))
        return out

    def accuracy(self, pairs: Sequence[Pair], labels: NDArray[np.integer]) -> float:
        """Return the accuracy on labelled pairs; labels are indices in `LABELS`, shape ``(n,)``."""
        predicted = self.probabilities(pairs, what="SNLI").argmax(1)
        return float((predicted == labels).mean())

    def _predict(self, pairs: Sequence[Pair]) -> Float32:
        premises, hypotheses = (list(side) for side in zip(*pairs, strict=True))
        inputs = self.tokenizer(
            premises, hypotheses, padding=True, truncation=True, return_tensors="pt"
        ).to(self.device)
        logits = self.model(**inputs).logits[:, list(self.places)]  # (B, 3)
        probabilities: Float32 = logits.float().softmax(-1).cpu().numpy()
        return self.finite(probabilities)


def label_order(
    id2label: Mapping[int, str], given: Sequence[str] | None, name: str
) -> tuple[int, int, int]:
    """Return the indices of neutral, entailment and contradiction among a model's outputs."""
    own = [str(id2label[i]) for i in sorted(id2label)]
    if len(own) != len(LABELS):
        raise WordbiasError(
            f"{name}: has {len(own)} labels ({', '.join(own)}), expected three: {', '.join(LABELS)}"
        )
    names = own if given is None else list(given)
    places = label_indices(names) if len(names) == len(own) else None
    if places is None and given is None:
        raise WordbiasError(
            f"{name}: a label order that cannot be determined ({', '.join(own)}); give it, such as "
            f"--label-order={','.join(LABELS)}, from what the model's authors say"
        )
    if places is None:
        raise WordbiasError(
            f"--label-order={','.join(names)}: expected {', '.join(LABELS)}, in the order of the "
            "model"
        )
    return places


def as_written(sentence: str) -> str:
    """Remove the space before the full stop: "bought a hat ." to "bought a hat."."""
    return sentence.removesuffix(" .") + "."
