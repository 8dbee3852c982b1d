"""Small valid files of every kind, for the fuzz tests to spoil."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import pickle
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_scores
import small_winobias

Make = Callable[[Path], None]
WORDS = ["she", "he", "nurse", "naïve", ". . .", "at home", "2020", "x"]
LABELS = ("stereotype", "anti-stereotype", "unrelated")


def matrix(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def embedding(path: Path) -> None:
    """Write vectors in the format that the suffix says."""
    from wordbias.formats import save

    words = [word for word in WORDS if " " not in word or path.suffix != ".bin"]
    save(path, words, matrix(len(words), 4))


def fasttext(path: Path) -> None:
    """Write a tiny model as fastText itself does."""
    pytest.importorskip("gensim")
    from gensim.models.fasttext import FastText, save_facebook_model

    texts = [["she", "sat"], ["he", "slept"], ["she", "ran"]]
    model = FastText(texts, vector_size=4, min_count=1, bucket=20, epochs=1, workers=1)
    save_facebook_model(model, str(path))


def packed(content: bytes) -> Make:
    """Compress as the suffix says."""
    pack = {".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress, ".xz": lzma.compress}

    def make(path: Path) -> None:
        path.write_bytes(pack[path.suffix](content))

    return make


def npy(path: Path) -> None:
    np.save(path, matrix(2, 5, 3), allow_pickle=False)


def npz(path: Path) -> None:
    np.savez(path, matrix(5, 3))


def npz_small(path: Path) -> None:
    np.savez_compressed(path, matrix(5, 3))


def representations(path: Path) -> None:
    from wordbias.columns import Column
    from wordbias.models.representations import Representations, save_representations

    columns = {"label": Column.of("aabba"), "split": Column.of(["train", "test", *"aaa"])}
    save_representations(Representations(matrix(2, 5, 3), (0, 1), columns, {"model": "m"}), path)


def tensors(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"x": matrix(5, 3)}, path)


def adapter(path: Path) -> None:
    from wordbias.models.adapters import Adapter
    from wordbias.models.fingerprint import Fingerprint
    from wordbias.models.sites import Site
    from wordbias.subspace import Subspace

    plane = Subspace(np.eye(2, 6), np.array([0.7, 0.3]))
    about = Fingerprint("BertModel", 3, 6, 2, "0" * 64)
    Adapter({Site("cls", 2): plane, Site("sentence"): plane}, about, plane, {"pairs": 3}).save(path)


def subspace(path: Path) -> None:
    from wordbias.subspace import Subspace

    Subspace(np.eye(2, 6), np.array([0.7, 0.3])).save(path)


def transform(path: Path) -> None:
    from wordbias import Embedding
    from wordbias.methods.fitted import Chain, Fitted, Replaced
    from wordbias.methods.storage import Origin, save_chain
    from wordbias.methods.transform import Linear, Normalise, Shift
    from wordbias.results import Row

    steps = (Shift([1.0, 2, 3]), Linear(2 * np.eye(3)), Normalise())
    replaced = Replaced(["he"], np.ones((1, 3)))
    rows = (Row("e", "x", 0.5, {"n": 3}),)
    part = Fitted("m", steps, frozenset(["she"]), (Normalise(),), replaced, rows, {"alpha": 0.5})
    save_chain(path, Chain((part,)), Origin.of(Embedding(["she", "he", "x"], np.eye(3), "e")))


def nli_model(path: Path) -> None:
    from wordbias.nli.files import Model, shapes

    weights = {name: matrix(*shape) for name, shape in shapes(4, 3, True).items()}
    Model(weights, 4, 3, True, about={"embedding": "e", "conventions": {"lower": True}}).save(path)


def store(path: Path) -> None:
    from wordbias.results import Draws, Row
    from wordbias.store import Store

    study_store = Store(path, {"rate": 0.1}, ("strategy", "seed"))
    for seed in range(3):
        draws = {"sample": Draws(np.zeros(2), "rows")}
        rows = [Row("none", "accuracy", 0.5, {"n": 3}, draws)]
        study_store.put(
            "none", seed, rows=rows, arrays={"x": np.ones((2, 3), np.float32)}, seconds=1.5
        )


def checkpoint(path: Path) -> None:
    torch = pytest.importorskip("torch")
    from wordbias.training import write_checkpoint

    parts = {"model": {"weight": torch.ones(3, 2)}, "course": {"score": torch.zeros(1)}}
    write_checkpoint(path, parts, {"about": {"rate": 0.1}, "done": 1, "history": [{"epoch": 1}]})


def entry(path: Path) -> None:
    """Copy what loading a file of vectors puts into the cache."""
    from wordbias.formats import load

    source, folder = path.with_name("v.txt"), path.parent / "cache"
    embedding(source)
    os.environ["WORDBIAS_CACHE"] = str(folder)
    load(source)
    (cached_file,) = folder.glob("*.safetensors")
    shutil.copyfile(cached_file, path)


def pickled(path: Path) -> None:
    raw = "Dr. Ann Lee is a surgeon. She lives in Fairview."
    record = {
        "raw": raw,
        "title": "surgeon",
        "raw_title": "Surgeon",
        "gender": "F",
        "start_pos": 26,
        "name": ("Ann", "", "Lee"),
        "path": "a.wet",
        "URI": "http://a",
    }
    path.write_bytes(pickle.dumps([record, {**record, "title": "nurse", "gender": "M"}]))


DOCUMENTS = b"""#begin document (a); part 000
a\t0\t0\tAnn\t-\t-\t-\t-\t-\tEve\t(1)
a\t0\t1\tsaw\t-\t-\t-\t-\t-\tEve\t(2|(1
a\t0\t2\ther\t-\t-\t-\t-\t-\tEve\t1)|2)

#end document
"""
CONLLU = b"""# newdoc id = a
# global.Entity = eid-etype
1\tAnn\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1[1/2]-person
2\tleft\t_\t_\t_\t_\t_\t_\t_\tEntity=e1[1/2])(e2-x)
3\ther\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1[2/2]-person)

"""
PRECO = b"""{"id": 1, "sentences": [["Ann"], ["I"]], "mention_clusters": [[[0, 0, 1], [1, 0, 1]]]}
{"name": "b", "sentences": [["Ann"]], "speakers": ["Eve"], "clusters": [[[0, 1]]]}
"""
WINOPRON = (
    b"occupation(0)\tother-participant(1)\tanswer\tpronoun_type\ttemplate\tsingle_version\n"
    b"baker\tguest\t0\t$NOM_PRONOUN\tThe $OCCUPATION told the $PARTICIPANT that $NOM_PRONOUN baked."
    b"\tThe $OCCUPATION said that $NOM_PRONOUN baked.\n"
)


def gap(path: Path) -> None:
    small_scores.gap(path)


def winobias(path: Path) -> None:
    small_winobias.write(path.parent)


def templates(path: Path) -> None:
    """Write the folder of Dev et al. around one of its files."""
    folder = path.parents[2]
    for name in ("commerce", "driving", "eating", "interaction"):
        _lines(folder / "verbs" / f"{name}_verbs", "bought", "drove")
    for name in ("clothes", "farm_animals", "food", "furniture", "household", "vehicles"):
        _lines(folder / "nouns" / "objects" / name, "hat", "cow")
    for name in ("person_hyponyms", "rulers", "occupations", "gendered_words"):
        _lines(folder / "nouns" / "people" / name, "nurse", "king")


def _lines(path: Path, *words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(words) + "\n")


def encoder(path: Path) -> None:
    """Write a tiny classifier's folder around one of its files."""
    import tiny_encoders

    texts = ["she", "he", "sat", ".", "the", "nurse", "slept", "tea"]
    model = tiny_encoders.build("bert", vocabulary=40, num_hidden_layers=1)
    model.config.id2label = {0: "contradiction", 1: "entailment", 2: "neutral"}
    model.config.label2id = {label: i for i, label in model.config.id2label.items()}
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(texts), path.parent)


SNLI = b"""label\tpremise\thypothesis
neutral\tA man sat .\tThe man is tall .
entailment\tTwo dogs ran .\tDogs ran .
contradiction\tTea is hot .\tTea is cold .
-\tA man .\tA dog .
"""
SNLI_JSONL = b"""{"gold_label": "neutral", "sentence1": "A man sat.", "sentence2": "He is tall."}
{"gold_label": "entailment", "sentence1": "Two dogs ran.", "sentence2": "Dogs ran."}
"""
SEMBIAS = b"""king:queen\tdog:bitch\tbook:magazine\tdoctor:nurse
actor:actress\tcup:lid\talgebra:geometry\tmanager:secretary
"""
STEREOSET = json.dumps(
    {
        "version": "1",
        "data": {
            kind: [
                {
                    "id": kind,
                    "target": "nurse",
                    "bias_type": "profession",
                    "context": "THE nurse was BLANK.",
                    "sentences": [
                        {"id": label, "sentence": f"The nurse was {word}.", "gold_label": label}
                        for label, word in zip(LABELS, ("kind", "stern", "tea"), strict=True)
                    ],
                }
            ]
            for kind in ("intersentence", "intrasentence")
        },
    }
).encode()
GSSS = b"""context_id,context,next_sentence,label,gender,gender_swapped_context,\
gender_swapped_next_sentence
7,Her car broke.,She wept.,stereotype,F,His car broke.,He wept.
7,Her car broke.,She coped.,anti-stereotype,F,His car broke.,He coped.
7,Her car broke.,Tea is hot.,unrelated,F,His car broke.,Tea is hot.
"""
CROWS = b""",sent_more,sent_less,stereo_antistereo,bias_type,annotations
0,He is a doctor.,She is a doctor.,stereo,gender,[]
1,"She, the nurse.","He, the nurse.",antistereo,gender,[]
"""
TABLE7 = b"""level,settings (n11 c11 n12 c12 np),strength,distance,parity,accuracy,fairness,\
snli_accuracy
Base,,0.3069,0.7052,0.0976,0.3840,0.0375,0.8889
SENT,0,0.3077,0.5972,0.2195,0.5607,0.1231,0.8458
L12,0 0 1,0.3068,0.6237,0.2317,0.5904,0.1368,0.8684
"""
ATTRIBUTE = b"""name = "age"
source = "here"
direction = ["old", "young"]
specific = ["aged"]
[groups]
young = ["young", "youth"]
old = ["old", "aged"]
[pairs]
definitional = [["young", "old"]]
equalise = [["youth", "age"]]
[subjects.nouns]
young = ["youngster", "young person"]
old = ["pensioner"]
[subjects.names]
young = ["Mia"]
old = ["Edna"]
"""
GROUPS = b"""name = "religion"
[groups]
one = ["church", "bible"]
two = ["mosque", "quran"]
three = ["temple", "torah"]
[sets]
definitional = [["church", "mosque", "temple"]]
equalise = [["bible", "quran", "torah"]]
specific = ["priest"]
"""
QUERIES = b"""[sets]
flowers = ["rose", "lily"]
insects = ["ant", "flea"]
good = ["love", "peace"]
bad = ["hate", "war"]
[queries.one]
targets = ["flowers", "insects"]
attributes = ["good", "bad"]
source = "here"
"""
QUERIES_JSON = json.dumps(
    {
        "target_sets": [["rose", "lily"], ["ant", "flea"]],
        "attribute_sets": [["love", "peace"], ["hate", "war"]],
        "target_sets_names": ["flowers", "insects"],
        "attribute_sets_names": ["good", "bad"],
        "query_name": "one",
    },
    indent=1,
).encode()
SIMILARITY = b"word1\tword2\tscore\nsun\tmoon\t3.5\ncup\tlid\t0.25\ntea\tpot\t9\n"
ANALOGIES = b": capital\nAthens Greece Oslo Norway\n: gram1\nslow slowly calm calmly\n"
TEXTS = (
    b'text\tlabel\tstart\tend\nA nurse sat.\tF\t2\t7\n"He" slept.\tM\t1\t3\nTea is hot.\tN\t0\t3\n'
)
TEXTS_CSV = b'text,label\n"A nurse, ""she"" sat.",F\nHe slept.,M\nTea is hot.,N\n'
TEXTS_JSONL = b"""{"text": "A nurse sat.", "label": "F", "n": 1}
{"text": "He \\u00e9tait.", "label": "M", "tags": ["a"]}
{"text": "Tea is hot.", "label": null, "x": 1.5}
"""
SENTENCES = "A nurse sat.\nHe slept naïvely.\n\nTea is hot.\nShe ran.\n".encode()
SENTENCE_PAIRS = b"# pairs\nShe left.\tHe left.\nA woman sat.\tA man sat.\n"
SENTENCE_PAIRS_TOML = b'one = [["She left.", "He left."]]\ntwo = [["A woman.", "A man."]]\n'
NSP = b"label\tfirst\tsecond\nis_next\tShe sat.\tShe ate.\nnot_next\tHe slept.\tTea is hot.\n"
BIOS = b"""split\tprofession\tgender\ttext
train\tnurse\tF\tShe cares for children.
train\tsurgeon\tM\tHe operates in Fairview.
test\tnurse\tM\tHe works at night.
test\tsurgeon\tF\tShe trained in Riverton.
"""
PREDICTIONS = b"id\ty\tp\tg\n1\tnurse\tnurse\tF\n2\tsurgeon\tnurse\tM\n3\tnurse\tsurgeon\tF\n"
NLI_PREDICTIONS = b"""premise,hypothesis,neutral,entailment,contradiction
A man sat .,A doctor sat .,0.5,0.25,0.25
"A man, sat",A nurse sat .,0.1,0.2,0.7
"""
SHARES = b"class,share\nnurse,90\nsurgeon,15.5\n"
SHARES_JSON = b'{"nurse": 90, "surgeon": 15.5}'
COSTS = b"class,nurse,surgeon\nnurse,0,1.5\nsurgeon,1.5,0\n"
CLUSTERS = b'{"The cook left as she could.": [[[0, 8], [17, 20]]], "He sat.": []}'
CLUSTERS_JSONL = b"""{"sentence": "The cook left as she could.", "clusters": [[[0, 8], [17, 20]]]}
{"sentence": "He sat.", "clusters": []}
"""
ROWS = json.dumps(
    {
        "command": "measure",
        "version": "1",
        "inputs": {"a": {"path": "a.txt"}},
        "rows": [
            {"subject": "a", "measure": "midb", "value": 0.5, "low": 0.4, "high": 0.6, "n": 3},
            {"subject": "b", "measure": "midb", "value": None, "reason": "none"},
        ],
    }
).encode()
ROWS_JSONL = b"""{"subject": "a", "measure": "midb", "value": 0.5, "n": 3}
{"subject": "b", "measure": "weat", "value": -1, "query": "weat6"}
"""
ROWS_CSV = b"subject,measure,value,n\na,midb,0.5,3\nb,midb,NA,\n"
ROWS_TABLE = b"embedding,WEAT,midb\nglove,1.5,0.2\nplain,-0.1,0.1\n"
WORD_LABELS = "she\tfemale\nhe\tmale\nnaïve\tnone\n".encode()
PAGE = (
    b'<!doctype html><html><head></head><body><script type="application/json" id="wordbias-data">['
    + ROWS
    + b"]</script></body></html>"
)
