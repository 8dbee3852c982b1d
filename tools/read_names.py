"""Read the gender of first names off a sentence-transformers folder, by scikit-learn alone.

The sentences are those of `wordbias audit MODEL`, encoded by sentence-transformers. Probes are
tuned on inner folds and tested on outer ones; no name is in two folds. It is the check of what
`wordbias audit` says is left after a projection, by code that shares nothing with it but the
sentences:

    wordbias audit all-MiniLM-L6-v2 --methods hard --export minilm-projected
    python tools/read_names.py all-MiniLM-L6-v2 minilm-projected

It takes a quarter of an hour of CPU time.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from wordbias.contextual.audit.texts import AuditTexts

PROBES = {
    "logistic regression": (LogisticRegression(max_iter=2000), {"C": [1e-4, 1e-3, 0.01, 0.1, 1]}),
    "SVM with an RBF kernel": (
        SVC(),
        {"C": [0.1, 1, 10, 100], "gamma": [1e-4, 1 / 768, 1 / 384, 1 / 192]},
    ),
    "MLP, 100 units": (MLPClassifier((100,), random_state=0), {"alpha": [0.01, 1, 10]}),
}


def read(x: np.ndarray, y: np.ndarray, names: np.ndarray, model: object, grid: dict) -> float:
    """Return the accuracy of a tuned probe on names that it has not seen."""
    probe = make_pipeline(StandardScaler(), model)
    grid = {f"{probe.steps[-1][0]}__{name}": values for name, values in grid.items()}
    right = np.zeros(len(x), bool)
    for fit, test in StratifiedGroupKFold(5, shuffle=True, random_state=0).split(x, y, names):
        inner = StratifiedGroupKFold(5, shuffle=True, random_state=1)
        tuned = GridSearchCV(probe, grid, cv=inner).fit(x[fit], y[fit], groups=names[fit])
        right[test] = tuned.predict(x[test]) == y[test]
    return float(right.mean())


def main() -> None:
    """Print the accuracies for each folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", help="sentence-transformers folders")
    folders = parser.parse_args().folders
    from sentence_transformers import SentenceTransformer

    warnings.simplefilter("ignore")
    texts = AuditTexts.load().measured
    names = np.array([text.name for text in texts])
    y = np.array([int(text.group == "female") for text in texts])
    for folder in folders:
        x = SentenceTransformer(folder).encode([text.text for text in texts])
        for name, (model, grid) in PROBES.items():
            print(f"{folder}: {name} {read(x, y, names, model, grid):.3f}", flush=True)


if __name__ == "__main__":
    main()
