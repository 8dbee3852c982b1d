"""Every reader of the package, as a table: what it is called, its file, a seed, and how it reads.

A new reader is one line more. The seed is the content of a valid file, or a function that writes
one, and perhaps other files around it; `real` is a file of the real data of the same kind, of which
the head is spoiled too.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_seeds as seeds

WHOLE_FILE = "whole.safetensors"
WHOLE, HEAD = 200_000, 20_000
Read = Callable[[Path], Any]


class Reader(NamedTuple):
    """One reader."""

    name: str
    file: str  # name of the file that is spoiled; its suffix counts
    seed: bytes | seeds.Make  # what a valid one holds, or what writes one
    read: Read
    real: str = ""  # a file of real data of this kind
    slow: bool = False  # a call takes so long that it gets few examples

    def make(self, path: Path) -> bytes:
        """Write the seed at a path in an empty folder, and return what it holds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(self.seed, bytes):
            path.write_bytes(self.seed)
        else:
            self.seed(path)
        return path.read_bytes()

    def head(self, data: Path) -> bytes:
        """Return the beginning of the real file, uncompressed, up to the end of a line."""
        import gzip

        file = data / self.real
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        if len(raw) <= WHOLE or self.file.endswith(".json"):
            return raw
        return raw[: raw.rfind(b"\n", 0, HEAD) + 1]


def call(place: str, *more: Any, **named: Any) -> Read:
    """Return what calls ``module:function`` of the package with a path."""
    module, _, name = place.partition(":")

    def read(path: Path) -> Any:
        reader: Any = import_module(f"wordbias.{module}")
        for part in name.split("."):
            reader = getattr(reader, part)
        return reader(path, *more, **named)

    return read


def every(place: str, *more: Any, **named: Any) -> Read:
    """Return what takes everything that ``module:function`` yields."""
    read = call(place, *more, **named)
    return lambda path: list(read(path))


def folder(read: Read, up: int = 0) -> Read:
    """Return what reads the folder in which the file is."""
    return lambda path: read(path.parents[up])


def scanned(path: Path) -> Any:
    """Read an embedding as a streamed run does: some words first, then everything to a file."""
    from wordbias.formats import VectorFile, scan, stream

    file = VectorFile.open(path)
    if not file.layout.is_rows:
        return None
    survey = scan(file, head=3, wanted=["she", "he"])
    rows, dim = survey.info.words, file.layout.dim
    out = path.with_name("out.vec")
    return stream(file, out, lambda block: block.rows, to="word2vec", rows=rows, dim=dim)


def resumed(path: Path) -> Any:
    from wordbias.training import read_checkpoint

    with read_checkpoint(path, {"rate": 0.1}) as (parts, known):
        return parts["model"], parts["course"], known["done"], known["history"]


def rewritten(path: Path) -> Any:
    from wordbias.outcomes.records import RecordFile

    file = RecordFile.open(path)
    return [(record[file.text], record.line()) for record in file]


def coreference(path: Path) -> Any:
    from wordbias.stereotypes.clusters import load_clusters
    from wordbias.stereotypes.winobias import Sentence

    text = "The cook left as she could."
    sentence = Sentence(text, "cook", (0, 8), ((17, 20),), "F", "pro", 1, "dev", 1)
    return load_clusters(path, [sentence])


def gap_texts(path: Path) -> Any:
    from wordbias.coreference.gap import parse_gap
    from wordbias.text_files import read_text

    return parse_gap(read_text(path)).texts


def winopron(path: Path) -> Any:
    from wordbias.coreference.pronouns import parse_winopron
    from wordbias.text_files import read_text

    return parse_winopron(read_text(path)).sentences


def settings_of(make: seeds.Make) -> seeds.Make:
    """Return what writes the JSON that a safetensors file of `make` has in its header."""

    def write(path: Path) -> None:
        whole = path.with_name(WHOLE_FILE)
        make(whole)
        (text,) = header(whole)[0]["__metadata__"].values()
        path.write_text(text, encoding="utf-8")

    return write


def with_settings(read: Read) -> Read:
    """Return what puts JSON into the header of a safetensors file, and reads that."""

    def reading(path: Path) -> Any:
        known, tensors = header(path.with_name(WHOLE_FILE))
        (key,) = known["__metadata__"]
        known["__metadata__"][key] = path.read_text(encoding="utf-8", errors="replace")
        text = json.dumps(known).encode()
        changed = path.with_name(f"changed{path.stat().st_ino}")
        changed.write_bytes(len(text).to_bytes(8, "little") + text + tensors)
        return read(changed)

    return reading


def header(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header of a safetensors file, and what follows it."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def store(path: Path) -> Any:
    from wordbias.store import Store

    return Store(path, {"rate": 0.1}, ("strategy", "seed")).entries


def cached(path: Path) -> Any:
    """Load vectors whose entry in the cache is the file: it never fails, and nothing else comes."""
    from wordbias.formats import cache, load

    source = path.with_name("v.txt")
    if not source.exists():
        seeds.embedding(source)
    os.environ["WORDBIAS_CACHE"] = str(path.parent / "cache")
    key = cache.Key.of(cache.Source.find(source), False)
    load(source)
    key.entry.unlink()
    shutil.copyfile(path, key.entry)
    loaded, parsed = load(source), load(source, cache=False)
    assert loaded.words == parsed.words
    assert loaded.vectors.tobytes() == parsed.vectors.tobytes()


def unfinished(path: Path) -> Any:
    from wordbias.models.representations import stored_provenance

    return stored_provenance(path)


def document(path: Path) -> Any:
    from wordbias.pages.document import read_documents

    return [page.to_dict() for page in read_documents(path)]


def kept_rows(path: Path) -> Any:
    from wordbias.nli.study import cached_rows

    return cached_rows(path, {"a": 1}, list)


load = call("formats:load", cache=False)
vectors = call("probes.inputs:load_vectors")
adapter = call("models.adapters:read_adapter")
transform = call("methods.storage:load_chain")
nli_model = call("nli.files:Model.load")
texts = call("models.texts:load_texts")
columns = call("columns:read", ["y", "p", "g"])
pairs = call("nli.pairs:load_pairs")
text_pairs = call("contextual.labelled_pairs:load_inferences")
stereoset_tables = call("stereotypes.text_sets:load_text_set")
quality = call("word_tasks.sets:read_set")
attribute = call("wordlists.groups:load_attribute")
queries = call("wordlists.queries:load_queries")
wordlist = call("wordlists.toml:wordlist")
sentence_pairs = call("models.sentence_pairs:sentence_pairs")
shares = call("outcomes.inputs:load_shares")
source = call("rows:read_source")
biographies = call("biographies.data:load_biographies")
classifier = folder(call("nli.hugging_face:Classifier.load", device="cpu"))
encoder = folder(call("models.encoder:Encoder.load", device="cpu"))


stimuli: Any = call("wordlists.queries:as_queries")


def compared(path: Path) -> Any:
    from wordbias.comparison import joined

    return joined([source(path)])


def stereoset(path: Path) -> Any:
    from wordbias.stereotypes.stereoset import KINDS, parse_stereoset
    from wordbias.text_files import read_text

    parsed = parse_stereoset(read_text(path))
    return [getattr(parsed, kind) for kind in KINDS]


def labelled(task: str) -> Read:
    def read(path: Path) -> Any:
        from wordbias.contextual.labelled_pairs import load_labelled

        return load_labelled(task, path)

    return read


READERS = [
    Reader("glove", "v.txt", seeds.embedding, load),
    Reader("word2vec text", "v.vec", seeds.embedding, load),
    Reader("word2vec binary", "v.bin", seeds.embedding, load),
    Reader(
        "glove, bad rows dropped",
        "v.txt",
        seeds.embedding,
        call("formats:load", cache=False, skip_bad=True),
    ),
    Reader("glove in gzip", "v.txt.gz", seeds.embedding, load),
    Reader("glove in bzip2", "v.txt.bz2", seeds.embedding, load),
    Reader("glove in xz", "v.txt.xz", seeds.embedding, load),
    Reader("glove in zip", "v.txt.zip", seeds.embedding, load),
    Reader("vectors in safetensors", "v.safetensors", seeds.embedding, load),
    Reader("gensim", "v.kv", seeds.embedding, load),
    Reader("fastText", "v.bin", seeds.fasttext, load),
    Reader("glove, streamed", "v.txt", seeds.embedding, scanned),
    Reader("word2vec binary, streamed", "v.bin", seeds.embedding, scanned),
    Reader("npy", "x.npy", seeds.npy, vectors),
    Reader("npz", "x.npz", seeds.npz, vectors),
    Reader("npz, compressed", "x.npz", seeds.npz_small, vectors),
    Reader("arrays in safetensors", "x.safetensors", seeds.tensors, vectors),
    Reader("representations", "x.safetensors", seeds.representations, vectors),
    Reader("kinds of arrays", "x.npz", seeds.npz, call("probes.inputs:is_arrays")),
    Reader("adapter", "a.adapter", seeds.adapter, adapter),
    Reader("subspace", "s.safetensors", seeds.subspace, call("subspace:read_subspace")),
    Reader("transform", "t.safetensors", seeds.transform, transform),
    Reader("NLI model", "m.safetensors", seeds.nli_model, nli_model),
    Reader("entry of the cache", "entry.safetensors", seeds.entry, cached),
    Reader("unfinished vectors", "x.unfinished", seeds.representations, unfinished),
    Reader("checkpoint", "m.checkpoint", seeds.checkpoint, resumed),
    Reader("settings of an adapter", "s.json", settings_of(seeds.adapter), with_settings(adapter)),
    Reader(
        "settings of a transform", "s.json", settings_of(seeds.transform), with_settings(transform)
    ),
    Reader(
        "settings of an NLI model", "s.json", settings_of(seeds.nli_model), with_settings(nli_model)
    ),
    Reader(
        "settings of a checkpoint", "s.json", settings_of(seeds.checkpoint), with_settings(resumed)
    ),
    Reader(
        "settings of representations",
        "s.json",
        settings_of(seeds.representations),
        with_settings(vectors),
    ),
    Reader("SNLI table", "p.tsv", seeds.SNLI, pairs, "nli/snli_dev.tsv.gz"),
    Reader("SNLI jsonl", "p.jsonl", seeds.SNLI_JSONL, pairs),
    Reader("SNLI in gzip", "p.tsv.gz", seeds.packed(seeds.SNLI), pairs),
    Reader("SNLI for encoders", "p.tsv", seeds.SNLI, text_pairs, "nli/snli_test.tsv.gz"),
    Reader("fine-tune on NLI", "p.tsv", seeds.SNLI, labelled("nli")),
    Reader("fine-tune on NSP pairs", "p.tsv", seeds.NSP, labelled("nsp")),
    Reader("fine-tune on running text", "p.txt", seeds.SENTENCES, labelled("nsp")),
    Reader(
        "SemBias",
        "s.tsv",
        seeds.SEMBIAS,
        call("measures.sembias:SemBias.load"),
        "sembias/SemBias.tsv",
    ),
    Reader("StereoSet", "d.json", seeds.STEREOSET, stereoset, "stereoset/dev_gender.json.gz"),
    Reader("StereoSet in gzip", "d.json.gz", seeds.packed(seeds.STEREOSET), stereoset),
    Reader("GSSS", "d.csv", seeds.GSSS, stereoset_tables, "gsss/dev.csv"),
    Reader("CrowS-Pairs", "d.csv", seeds.CROWS, stereoset_tables),
    Reader(
        "table of settings",
        "t.csv",
        seeds.TABLE7,
        call("contextual.table7:load_table"),
        "published/paper2_table7_clean.csv",
    ),
    Reader(
        "WinoBias",
        "pro_stereotyped_type1.txt.dev",
        seeds.winobias,
        folder(call("stereotypes.winobias:load_winobias")),
    ),
    Reader(
        "documents in columns",
        "d.conll",
        seeds.DOCUMENTS,
        call("coreference.reading:read_documents"),
    ),
    Reader(
        "documents of CoNLL-U", "d.conllu", seeds.CONLLU, call("coreference.reading:read_documents")
    ),
    Reader(
        "documents in jsonl", "d.jsonl", seeds.PRECO, call("coreference.reading:read_documents")
    ),
    Reader("GAP", "g.tsv", seeds.gap, gap_texts),
    Reader("WinoPron", "new_templates.tsv", seeds.WINOPRON, winopron),
    Reader("clusters", "c.json", seeds.CLUSTERS, coreference),
    Reader("clusters in jsonl", "c.jsonl", seeds.CLUSTERS_JSONL, coreference),
    Reader("attribute", "a.toml", seeds.ATTRIBUTE, attribute),
    Reader("groups", "g.toml", seeds.GROUPS, attribute),
    Reader("sets of words", "g.toml", seeds.GROUPS, call("wordlists.groups:WordSets.load")),
    Reader("queries", "q.toml", seeds.QUERIES, queries),
    Reader("queries in JSON", "q.json", seeds.QUERIES_JSON, queries),
    Reader("stimuli", "q.toml", seeds.QUERIES, lambda path: stimuli(str(path))),
    Reader(
        "word list",
        "w.txt",
        b"# names\nann,\nbob\nna\xc3\xafve\n",
        wordlist,
        "gn_glove/male_word_file.txt",
    ),
    Reader("word list in TOML", "w.toml", b'words = ["ann", "bob"]\n', wordlist),
    Reader(
        "folder of templates",
        "nouns/people/rulers",
        seeds.templates,
        folder(call("wordlists.templates:Templates.load"), 2),
    ),
    Reader("similarity", "s.txt", seeds.SIMILARITY, quality, "wordsim/EN-SIMLEX-999.txt"),
    Reader("similarity by commas", "s.csv", b"a,b,1.5\nc,d,2\n", quality, "wordsim/EN-RG-65.txt"),
    Reader("analogies", "a.txt", seeds.ANALOGIES, quality, "analogy/MSR-syntax.txt"),
    Reader("texts", "t.tsv", seeds.TEXTS, texts, "bios/bios_surgeon_nurse.tsv.gz"),
    Reader("texts, CSV", "t.csv", seeds.TEXTS_CSV, texts),
    Reader("texts, jsonl", "t.jsonl", seeds.TEXTS_JSONL, texts),
    Reader("texts, plain", "t.txt", seeds.SENTENCES, texts),
    Reader("texts in xz", "t.tsv.xz", seeds.packed(seeds.TEXTS), texts),
    Reader("sentences", "s.txt", seeds.SENTENCES, every("probes.ceat.sentences:read_sentences")),
    Reader(
        "sentences in bzip2",
        "s.txt.bz2",
        seeds.packed(seeds.SENTENCES),
        every("probes.ceat.sentences:read_sentences"),
    ),
    Reader(
        "running text", "s.txt", seeds.SENTENCES, every("contextual.sent_debias:read_sentences")
    ),
    Reader("sentence pairs", "p.txt", seeds.SENTENCE_PAIRS, sentence_pairs),
    Reader("sentence pairs in TOML", "p.toml", seeds.SENTENCE_PAIRS_TOML, sentence_pairs),
    Reader("labels", "l.txt", b"F\nM\nF\n", call("columns:read_labels")),
    Reader("labels of words", "l.tsv", seeds.WORD_LABELS, call("probes.inputs:read_word_labels")),
    Reader("records", "r.tsv", seeds.TEXTS, rewritten, "bios/bios_surgeon_nurse.tsv.gz"),
    Reader("records, CSV", "r.csv", seeds.TEXTS_CSV, rewritten),
    Reader("records, jsonl", "r.jsonl", seeds.TEXTS_JSONL, rewritten),
    Reader("records, plain", "r.txt", seeds.SENTENCES, rewritten),
    Reader("records in gzip", "r.jsonl.gz", seeds.packed(seeds.TEXTS_JSONL), rewritten),
    Reader("predictions", "p.tsv", seeds.PREDICTIONS, columns),
    Reader("predictions, CSV", "p.csv", seeds.PREDICTIONS.replace(b"\t", b","), columns),
    Reader(
        "NLI predictions", "p.csv", seeds.NLI_PREDICTIONS, call("nli.predictions:Predictions.load")
    ),
    Reader("shares", "s.csv", seeds.SHARES, shares),
    Reader(
        "shares in JSON",
        "s.json",
        seeds.SHARES_JSON,
        shares,
        "winobias/occupational_female_precentage.json",
    ),
    Reader("costs", "c.csv", seeds.COSTS, call("outcomes.inputs:load_costs", ["nurse", "surgeon"])),
    Reader("rows", "r.json", seeds.ROWS, source),
    Reader("rows, jsonl", "r.jsonl", seeds.ROWS_JSONL, source),
    Reader("rows, CSV", "r.csv", seeds.ROWS_CSV, source),
    Reader("table of results", "r.csv", seeds.ROWS_TABLE, source, "published/paper1_table6.csv"),
    Reader("report of rows", "r.json", seeds.ROWS, document),
    Reader("report of CSV", "r.csv", seeds.ROWS_CSV, document),
    Reader("report of a page", "r.html", seeds.PAGE, document),
    Reader("comparison", "r.json", seeds.ROWS, compared),
    Reader("biographies", "b.tsv", seeds.BIOS, biographies, "bios/bios_surgeon_nurse.tsv.gz"),
    Reader("biographies, pickled", "b.pkl", seeds.pickled, biographies),
    Reader("results of a study", "results.jsonl", seeds.store, store),
    Reader("results of a job", "rows.json", b'{"about": {"a": 1}, "rows": []}', kept_rows),
    Reader("encoder's config", "config.json", seeds.encoder, classifier, slow=True),
    Reader("encoder's weights", "model.safetensors", seeds.encoder, classifier, slow=True),
    Reader("encoder's tokenizer", "tokenizer.json", seeds.encoder, encoder, slow=True),
    Reader("tokenizer's config", "tokenizer_config.json", seeds.encoder, encoder, slow=True),
]
