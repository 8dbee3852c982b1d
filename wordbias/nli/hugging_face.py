"""A Hugging Face sequence-classification model as the system whose inferences are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.nli.pairs import LABELS
from wordbias.nli.predictions import label_places
from wordbias.nli.test_sets import Pair, TestSet
from wordbias.optional import need
from wordbias.pretrained import PURPOSE, check_padding, evaluating, load_pretrained, to_device
from wordbias.progress import progress
from wordbias.threads import threads

Float32 = NDArray[np.float32]
BATCH = 64


@dataclass(frozen=True, eq=False)
class Classifier:
    """A model that reads a sentence pair and has three labels.

    Attributes
    ----------
    name
        Its folder, or its name on the hub.
    model, tokenizer
        As transformers loads them.
    places
        Where neutral, entailment and contradiction stand among its outputs.
    device
        Where it computes.
    """

    name: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    places: tuple[int, int, int]
    device: str

    @classmethod
    def load(
        cls, name: str | Path, *, labels: Sequence[str] | None = None, device: str | None = None
    ) -> Classifier:
        """Load a model (extra `contextual`).

        Parameters
        ----------
        name
            A folder, or a name on the hub.
        labels
            The order of its outputs, where its config does not say; what is given here wins.
        device
            By default the first of cuda, mps and cpu that is there.

        Raises
        ------
        WordbiasError
            If transformers is missing, there is no such model or device, the model has no trained
            classifier, or the order of its labels cannot be determined.
        """
        model, tokenizer = _load(str(name))
        check_padding(tokenizer, str(name))
        places = label_order(model.config.id2label, labels, str(name))
        model, chosen = to_device(model, device)
        return cls(str(name), model, tokenizer, places, chosen)

    @classmethod
    def of(
        cls,
        model: Any,
        tokenizer: Any,
        *,
        labels: Sequence[str] | None = None,
        device: str | None = None,
    ) -> Classifier:
        """Take a model that is loaded, with its tokenizer; it computes where it is.

        Parameters
        ----------
        labels
            As `load` has it.
        device
            Move the model there.

        Raises
        ------
        WordbiasError
            If there is no such device, or the order of its labels cannot be determined.
        """
        name = getattr(model, "name_or_path", "") or type(model).__name__
        check_padding(tokenizer, name)
        places = label_order(model.config.id2label, labels, name)
        if device is not None:
            model, _ = to_device(model, device)
        return cls(name, model, tokenizer, places, str(model.device))

    def labels(self) -> dict[int, str]:
        """Return which output means what."""
        return {place: label for label, place in zip(LABELS, self.places, strict=True)}

    def score_set(self, test: TestSet, batch: int = BATCH) -> Float32:
        """Return (N, E, C) of each pair of a test set in its order, shape ``(n, 3)``.

        The full stop follows the last word at once, as in the texts such models have read.
        """
        pairs = [Pair(as_written(first), as_written(second)) for first, second in test]
        return self.probabilities(pairs, batch, f"scoring {test.name}")

    def probabilities(
        self, pairs: Sequence[Pair], batch: int = BATCH, what: str = "scoring"
    ) -> Float32:
        """Return (N, E, C) of sentence pairs, shape ``(n, 3)``, pairs of like length together."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        torch.set_num_threads(threads())
        out = np.empty((len(pairs), len(LABELS)), np.float32)
        order = np.argsort([len(first) + len(second) for first, second in pairs], kind="stable")
        with (
            evaluating(self.model),
            torch.inference_mode(),
            progress(what, len(pairs), "pair") as bar,
        ):
            for start in range(0, len(pairs), batch):
                rows = order[start : start + batch]
                out[rows] = self._predict([pairs[i] for i in rows])
                bar.update(len(rows))
        return out

    def accuracy(self, pairs: Sequence[Pair], labels: NDArray[np.integer]) -> float:
        """Return the share of labelled pairs, such as SNLI's, that the model gets right.

        `labels` are places in `wordbias.nli.pairs.LABELS`, shape ``(n,)``.
        """
        found = self.probabilities(pairs, what="SNLI").argmax(1)
        return float((found == labels).mean())

    def _predict(self, pairs: Sequence[Pair]) -> Float32:
        premises, hypotheses = (list(side) for side in zip(*pairs, strict=True))
        inputs = self.tokenizer(
            premises, hypotheses, padding=True, truncation=True, return_tensors="pt"
        ).to(self.device)
        logits = self.model(**inputs).logits[:, list(self.places)]  # (B, 3)
        found: Float32 = logits.float().softmax(-1).cpu().numpy()
        if not np.isfinite(found).all():
            raise WordbiasError(f"{self.name}: predicts what is no number; its weights are damaged")
        return found


def label_order(
    id2label: Mapping[int, str], given: Sequence[str] | None, name: str
) -> tuple[int, int, int]:
    """Return where neutral, entailment and contradiction stand among a model's outputs.

    Parameters
    ----------
    id2label
        Of the model's config.
    given
        What a user says the order is.
    name
        Of the model, for messages.

    Raises
    ------
    WordbiasError
        If there are not three labels, or their names do not tell which is which.
    """
    own = [str(id2label[i]) for i in sorted(id2label)]
    if len(own) != len(LABELS):
        raise WordbiasError(
            f"{name}: has {len(own)} labels ({', '.join(own)}), expected three: {', '.join(LABELS)}"
        )
    names = own if given is None else list(given)
    places = label_places(names) if len(names) == len(own) else None
    if places is None and given is None:
        raise WordbiasError(
            f"{name}: a label order that cannot be determined ({', '.join(own)}); give it, such as "
            f"--labels={','.join(LABELS)}, from what the model's authors say"
        )
    if places is None:
        raise WordbiasError(
            f"--labels={','.join(names)}: expected {', '.join(LABELS)}, in the order of the model"
        )
    return places


def _load(name: str) -> tuple[Any, Any]:
    loaded = load_pretrained(
        "AutoModelForSequenceClassification", name, "a sequence-classification model"
    )
    if loaded.missing:
        raise WordbiasError(
            f"{name}: is no trained classifier: it lacks {loaded.missing[0]}; give a model "
            "that was trained for NLI"
        )
    return loaded.model, loaded.tokenizer


def as_written(sentence: str) -> str:
    """Put the full stop behind the last word at once, as in the texts that models have read."""
    return sentence.removesuffix(" .") + "."
