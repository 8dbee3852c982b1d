"""Train GloVe and GN-GloVe anew for each seed, and debias them: the vectors of docs/study.md.

python tools/gn_glove_vectors.py enwik8.txt vectors --seeds 12 --jobs 2

For each seed s the folder gets glove{s}.txt, gn{s}.txt (GN-GloVe), wa{s}.txt (without its gendered
coordinate), misp{s}.txt and misp-published{s}.txt (MISP of wa{s}.txt), and mhd{s}.txt (MHD of
glove{s}.txt, as published). The same call resumes: files that are there are not made again. What
torch and numpy choose by the processor is fixed, so that the AMD processor of the study makes
the same vectors, to the bit. Intel's differ in the last digits: MKL has another logarithm there.
The folder's settings.json has the text and the settings; a call with others is refused.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import wordbias as wb

FIXED = {
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
    for name in ("seeds", "jobs", "dim", "epochs"):
        if getattr(given, name) < 1:
            sys.exit(f"--{name}: expected 1 or more, got {getattr(given, name)}")
    os.environ.update(FIXED)
    from joblib import Parallel, delayed  # it loads numpy, which reads the settings

    from wordbias.formats.files import output_folder

    try:
        with output_folder(given.folder):
            check_settings(given.folder, given.corpus, given.dim, given.epochs)
            calls = [
                delayed(make_seed)(given.corpus, given.folder, seed, given.dim, given.epochs)
                for seed in range(given.seeds)
            ]
            Parallel(1)(calls[:1])  # counts once, for all
            Parallel(given.jobs)(calls[1:])
    except wb.WordbiasError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("interrupted; the same call resumes", file=sys.stderr)
        sys.exit(130)


def check_settings(folder: Path, corpus: str, dim: int, epochs: int) -> None:
    """Store text and settings in a folder, or refuse one that has vectors of others."""
    from wordbias.formats.files import replacing
    from wordbias.formats.source import sha256_of

    file = folder / "settings.json"
    settings = {"sha256": sha256_of(corpus), "dim": dim, "epochs": epochs}
    try:
        known = json.loads(file.read_bytes()) if file.exists() else None
    except ValueError:
        known = None
    if (folder / "counts").exists() or any(folder.glob("*[0-9].txt")):
        if known != settings:
            stored = "unknown settings" if known is None else f"other settings, {known}"
            raise wb.WordbiasError(
                f"{folder}: has vectors of {stored}, not {settings}; name another folder"
            )
    else:
        with replacing(file) as new:
            new.write(json.dumps(settings).encode())


def make_seed(corpus: str, folder: Path, seed: int, dim: int, epochs: int) -> None:
    """Train both objectives with one seed, and debias the vectors."""
    objectives: dict[str, Literal["glove", "gn-glove"]] = {"glove": "glove", "gn": "gn-glove"}
    for name, objective in objectives.items():
        path = folder / f"{name}{seed}.txt"
        if not path.exists():
            wb.train_vectors(
                corpus,
                output=path,
                objective=objective,
                counts=folder / "counts",
                min_count=10,
                vector_size=dim,
                epochs=epochs,
                x_max=10,
                seed=seed,
            )
    w_a = _saved(folder / f"wa{seed}.txt", lambda: wb.debias(folder / f"gn{seed}.txt", "gn-glove"))
    _saved(folder / f"misp{seed}.txt", lambda: wb.misp(w_a))
    _saved(folder / f"misp-published{seed}.txt", lambda: wb.misp(w_a, as_published=True))
    _saved(
        folder / f"mhd{seed}.txt",
        lambda: wb.debias(folder / f"glove{seed}.txt", "mhd:as-published"),
    )


def _saved(path: Path, make: Callable[[], wb.Embedding]) -> Path:
    if not path.exists():
        make().save(path)
    return path


if __name__ == "__main__":
    main()
