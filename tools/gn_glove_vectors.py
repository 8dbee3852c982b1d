"""Train GloVe and GN-GloVe anew for each seed, and debias them: the vectors of docs/study.md.

python tools/gn_glove_vectors.py enwik8.txt vectors --seeds 12 --jobs 2

For each seed s the folder gets glove{s}.txt, gn{s}.txt (GN-GloVe), wa{s}.txt (without its gendered
coordinate), misp{s}.txt and misp-published{s}.txt (MISP of wa{s}.txt), and mhd{s}.txt (MHD of
glove{s}.txt, as published). The same call resumes: files that are there are not made again. What
torch and numpy choose by the processor is fixed, so that another AMD processor with AVX2 makes the
same vectors, to the bit. Intel's differ in the last digits: MKL has another logarithm there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import wordbias as wb

SAME_EVERYWHERE = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Haswell",  # numpy
}
"""Otherwise each library adds in the order that suits the processor, and last digits differ."""


def main() -> None:
    """Make the vectors of every seed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", help="text, as tools/wikipedia_text.py writes it")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=12, help="number of seeds, from 0")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=12)
    given = parser.parse_args()
    if not Path(given.corpus).is_file():
        sys.exit(f"{given.corpus}: there is no such file")
    os.environ.update(SAME_EVERYWHERE)
    from joblib import Parallel, delayed  # it loads numpy, which reads the settings

    given.folder.mkdir(exist_ok=True)
    calls = [
        delayed(make_seed)(given.corpus, given.folder, seed, given.dim, given.epochs)
        for seed in range(given.seeds)
    ]
    Parallel(1)(calls[:1])  # counts once, for all
    Parallel(given.jobs)(calls[1:])


def make_seed(corpus: str, folder: Path, seed: int, dim: int, epochs: int) -> None:
    """Train both objectives with one seed, and debias the vectors."""
    objectives: dict[str, Literal["glove", "gn-glove"]] = {"glove": "glove", "gn": "gn-glove"}
    for name, objective in objectives.items():
        made = folder / f"{name}{seed}.txt"
        if not made.exists():
            wb.train_vectors(
                corpus,
                output=made,
                objective=objective,
                counts=folder / "counts",
                min_count=10,
                dim=dim,
                epochs=epochs,
                x_max=10,
                seed=seed,
            )
    w_a = _saved(folder / f"wa{seed}.txt", lambda: wb.debias(folder / f"gn{seed}.txt", "gn-glove"))
    _saved(folder / f"misp{seed}.txt", lambda: wb.misp(w_a))
    _saved(folder / f"misp-published{seed}.txt", lambda: wb.misp(w_a, as_published=True))
    _saved(
        folder / f"mhd{seed}.txt",
        lambda: wb.debias(folder / f"glove{seed}.txt", "mhd", as_published=True),
    )


def _saved(path: Path, make: Callable[[], wb.Embedding]) -> Path:
    if not path.exists():
        make().save(path)
    return path


if __name__ == "__main__":
    main()
