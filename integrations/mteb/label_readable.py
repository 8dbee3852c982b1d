"""A task of MTEB: how easily a label, such as gender, is read from the embeddings of texts.

mteb.evaluate(SentenceTransformer("all-MiniLM-L6-v2"), LabelReadable("bios.tsv", "gender"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from datasets import Dataset, DatasetDict
from mteb._create_dataloaders import create_dataloader
from mteb.abstasks.abstask import AbsTask
from mteb.abstasks.task_metadata import TaskMetadata

import wordbias as wb
from wordbias.models.texts import Choice, TextsLike, kept_values, load_texts


class LabelReadable(AbsTask):  # type: ignore[misc]
    """Probe the embeddings of texts for a label that they should not show.

    The data are your own. Scores are those of `wordbias.probe`: the accuracy of a probe on held-out
    texts, beside that of always guessing the larger class, and compression, which a probe gains
    only if it can read the label, beside that of random labels. Lower is better, unlike in other
    tasks of MTEB.

    Parameters
    ----------
    texts : path, mapping or frame of columns
        Texts with labels: a table as `wordbias.encode` takes it.
    label : str
        Column of the label.
    text : str, optional
        Column of the texts.  [default: text]
    where : mapping, optional
        Use only rows with these values of columns, such as {"split": "test"}.
    limit : int, optional
        Number of rows, from the first on.
    probe : str
        Kind of probe: linear or mlp.
    seed : int
        Seed of MTEB; the probes have the seeds 0, 1 and 2.
    """

    def __init__(
        self,
        texts: TextsLike,
        label: str,
        *,
        text: str | None = None,
        where: Mapping[str, str | Sequence[str]] | None = None,
        limit: int | None = None,
        probe: str = "linear",
        seed: int = 42,
    ) -> None:
        self._metadata = TaskMetadata(
            name=f"{label.title().replace(' ', '')}Readable",
            description=f"How easily a {probe} probe reads {label} from the embeddings of texts.",
            dataset={"path": "local", "revision": "local"},
            type="Classification",
            category="t2c",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="accuracy",
            is_public=False,
        )
        super().__init__(seed=seed)
        self._texts, self._label, self._probe = texts, label, probe
        self._choice = Choice(text, (label,), kept_values(where), limit)

    @property
    def metadata(self) -> TaskMetadata:
        """Name and description of the task, with its label."""
        return self._metadata

    def load_data(self, num_proc: int | None = None, **given: Any) -> None:
        """Read the texts and their labels; nothing is downloaded."""
        if self.data_loaded:
            return
        read = load_texts(self._texts, self._choice)
        columns = {"text": list(read.texts), "label": list(read.columns[self._label].cells())}
        self.dataset = DatasetDict({"test": Dataset.from_dict(columns)})
        self.data_loaded = True

    def _evaluate_subset(
        self, model: Any, data_split: Dataset, *, encode_kwargs: Any, **about: Any
    ) -> dict[str, Any]:
        loader = create_dataloader(data_split, task_metadata=self.metadata, **encode_kwargs)
        vectors = model.encode(
            loader,
            task_metadata=self.metadata,
            hf_split=about["hf_split"],
            hf_subset=about["hf_subset"],
            **encode_kwargs,
        )
        x, labels = np.asarray(vectors, np.float32), data_split["label"][:]
        read = wb.probe(x, labels, probe=self._probe, mdl=False)
        coded = wb.probe(x, labels, probe=self._probe)
        accuracy, control = read["probe-accuracy"]
        compression, of_control = coded["compression"]
        return {
            "accuracy": accuracy.value,
            "accuracy_low": accuracy.details["low"],
            "accuracy_high": accuracy.details["high"],
            "accuracy_majority": accuracy.details["neutral"],
            "accuracy_random_labels": control.value,
            "compression": compression.value,
            "compression_random_labels": of_control.value,
        }

    def _calculate_descriptive_statistics_from_split(
        self, split: str, **given: Any
    ) -> dict[str, Any]:
        self.load_data()
        labels = self.dataset[split]["label"][:]
        return {
            "num_samples": len(labels),
            "labels": {label: labels.count(label) for label in labels},
        }
