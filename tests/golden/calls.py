"""The golden calls: what is typed, which files it needs, what else must be installed.

Names of files are those that `stand_ins.STAND_INS` or `INPUTS` below make. A call runs in a folder
of its own that holds copies of them, with ``--threads 1``.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import stand_ins

from wordbias.cli import SECTIONS, run

COMMANDS = tuple(name for section in SECTIONS.values() for name in section)


@dataclass(frozen=True)
class Call:
    """One call of the command line, by its name and that of the file that holds what it gave."""

    name: str
    line: str  # what is typed behind `wordbias`
    needs: tuple[str, ...] = ()  # packages without which it is skipped
    # its numbers come from training or from an encoder: they are compared within 1e-3
    trained: bool = False
    # on a few premises of the marked-attribute sets; all take half a minute
    few_premises: bool = False
    # its numbers count predicted classes: one near a tie is another on other processors
    counts: bool = False

    @property
    def words(self) -> list[str]:
        """The arguments of the call."""
        words = shlex.split(self.line)
        alone = {"--help", "--version"} & {*words} or words[0] not in COMMANDS
        return words if alone else [*words, "--threads", "1"]

    @property
    def inputs(self) -> list[str]:
        """The files and folders that are made before it runs."""
        typed = shlex.split(self.line)
        words = [part for word in typed for part in (word, *re.split("[:=,]", word)[1:])]
        return [word for word in dict.fromkeys(words) if word in MAKERS]


# files that a call of another command, or nobody, has written


def _silently(*words: object) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert run([*map(str, words), "--threads", "1", "-q"]) == 0, words


def _vectors(folder: Path) -> Path:
    path = folder / "vectors-for-inputs.txt"
    stand_ins.vectors(path)
    return path


def fitted(path: Path) -> None:
    """Fit two methods and keep what was fitted."""
    _silently("debias", "hard,misp", _vectors(path.parent), "--save-transform", path)


def measured(path: Path) -> None:
    """Write rows of three embeddings, as measure prints them."""
    rows = [
        {"subject": name, "measure": measure, "value": value, "n": 100, "stage": "embedding"}
        for name, values in {
            "a.txt": (0.5, 0.9, 0.11),
            "b.txt": (0.3, 0.7, 0.08),
            "c.txt": (0.1, 0.8, 0.02),
            "d.txt": (0.2, 0.6, 0.05),
        }.items()
        for measure, value in zip(("midb", "clustering", "direct-bias"), values, strict=True)
    ]
    path.write_text(json.dumps({"command": "measure", "rows": rows}) + "\n", encoding="utf-8")


def _printed(path: Path, *words: str) -> None:
    """Write what a call prints as JSON."""
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()):
        assert run([*words, "--format", "json", "--threads", "1"]) == 0
    path.write_text(stdout.getvalue(), encoding="utf-8")


def tested(path: Path) -> None:
    """Write what weat prints as JSON."""
    _printed(path, "weat", "--query", "weat6,weat7")


def before(path: Path) -> None:
    """Write what weat prints of vectors."""
    _printed(path, "weat", str(_vectors(path.parent)), "--query", "weat6,weat7")


def after(path: Path) -> None:
    """Write what weat prints of the same vectors without the first direction of the pairs."""
    clean = path.with_name("clean-for-inputs.txt")
    _silently("debias", "hard", _vectors(path.parent), "-o", clean)
    _printed(path, "weat", str(clean), "--query", "weat6,weat7")


def adapter(path: Path) -> None:
    """Fit projections of the small NLI encoder."""
    model = path.with_name("encoder-for-adapter")
    stand_ins.nli_encoder(model)
    _silently("project", model, "-o", path)


def gn_glove(path: Path) -> None:
    """Write vectors whose last coordinate is one for men's words and minus one for women's."""
    path.write_text(
        "".join(
            f"{word} {i % 3 / 10 + 0.1:.1f} {i % 5 / 10 - 0.2:.1f} {i % 7 / 10:.1f} {side}\n"
            for i, (word, side) in enumerate(_SIDES.items())
        ),
        encoding="utf-8",
    )


MEN = "he man boy father son king uncle brother male himself his john"
WOMEN = "she woman girl mother daughter queen aunt sister female herself her mary"
THINGS = "the table house doctor nurse car"
_SIDES = {
    **dict.fromkeys(MEN.split(), 1.0),
    **dict.fromkeys(WOMEN.split(), -1.0),
    **dict.fromkeys(THINGS.split(), 0.01),
}


def texts(path: Path) -> None:
    """Write ten short texts about people."""
    path.write_text(
        "text\tprofession\tgender\n"
        "She is a nurse and her mother was one too.\tnurse\tF\n"
        "He is a nurse; his father was not.\tnurse\tM\n"
        "Mary says that she sings.\tsinger\tF\n"
        "The king and the queen met her.\tsinger\tF\n"
        "He himself drove the car.\tsinger\tM\n"
        "Ms. Hill works for herself.\tnurse\tF\n",
        encoding="utf-8",
    )


def broken(path: Path) -> None:
    """Write vectors whose third line is short of a number."""
    path.write_text("he 0.1 0.2 0.3\nshe 0.1 0.3 0.3\nman 0.1 0.2\n", encoding="utf-8")


INPUTS: dict[str, Callable[[Path], None]] = {
    "after.json": after,
    "before.json": before,
    "broken.txt": broken,
    "fitted.safetensors": fitted,
    "gn.txt": gn_glove,
    "nli.adapter": adapter,
    "rows.json": measured,
    "texts.tsv": texts,
    "weat.json": tested,
}
MAKERS = {**stand_ins.STAND_INS, **INPUTS}

# the calls

ENCODER = ("torch", "transformers")
_DRAWS = "glove.txt --null 4 --seed-lists 5"
_HELP = (
    Call("version", "--version"),
    Call("help", "--help"),
    Call("help-misp", "misp --help"),
    Call("help-debias", "debias --help"),
)
_EMBEDDINGS = (
    Call("misp-sample-json", "misp --format json"),
    Call("misp-sample-table", "misp"),
    Call("misp-file-table", "misp glove.txt -o out.txt --no-chance"),
    Call("misp-published-csv", "misp glove.txt --as-published --dims 2 --format csv"),
    Call("misp-religion-latex", "misp --groups religion:christian,muslim --format latex"),
    Call("misp-hard-md", "misp glove.txt --mhd --dims 2 --format md"),
    Call("misp-draws-json", f"misp {_DRAWS} --dims 2 --format json"),
    Call("misp-draws-table", f"misp {_DRAWS} --dims 2 --details"),
    Call(
        "debias-measure-json",
        "debias hard,misp glove.txt --measure --only midb,direct-bias --format json",
    ),
    Call(
        "choose-table",
        "choose 'misp:dims=1 misp hard gn-glove' glove.txt --by midb-abs --keep .5 -o out.txt",
    ),
    Call(
        "choose-json",
        "choose 'misp hard' glove.txt --by midb-abs --keep .5 --benchmarks test_sets/"
        " --format json",
    ),
    Call("error-nothing-to-choose", "choose misp glove.txt --by midb-abs --keep 1 -o out.txt"),
    Call(
        "debias-draws-json",
        f"debias leace:per-class=200,misp {_DRAWS} --measure --only midb,same --format json",
    ),
    Call("debias-null-table", "debias hard:equalise=no glove.txt --null 3"),
    Call("debias-misp-table", "debias misp glove.txt -o out.safetensors"),
    Call("debias-mhd-json", "debias mhd:centre glove.txt --format json -o out.safetensors"),
    Call("debias-hard-json", "debias hard:as-published glove.txt --format json -o out.vec"),
    Call(
        "debias-multi-hard-json",
        "debias multi-hard glove.txt --groups religion --format json -o out.safetensors",
    ),
    Call(
        "debias-double-hard-json",
        "debias double-hard:candidates=2 glove.txt --format json -o out.safetensors",
        trained=True,
    ),
    Call(
        "debias-inlp-json",
        "debias inlp:per-class=100:rounds=2 glove.txt --format json -o out.safetensors",
        trained=True,
    ),
    Call(
        "debias-leace-json",
        "debias leace:per-class=200 glove.txt --format json -o out.safetensors",
        ("torch", "concept_erasure"),
    ),
    Call("debias-bam-json", "debias bam glove.txt --format json -o out.safetensors"),
    Call("debias-oscar-json", "debias oscar glove.txt --format json -o out.safetensors"),
    Call(
        "debias-half-sibling-json",
        "debias half-sibling glove.txt --format json -o out.txt",
        trained=True,
    ),
    Call("debias-conceptor-json", "debias conceptor glove.txt --format json -o out.safetensors"),
    Call(
        "debias-ran-json",
        "debias ran:words=words.txt:iterations=3 glove.txt --format json -o out.safetensors",
        trained=True,
    ),
    Call(
        "debias-gender-preserving-json",
        "debias gender-preserving:pretrain-epochs=1:epochs=1 glove.txt --format json"
        " -o out.safetensors",
        ("torch",),
        trained=True,
    ),
    Call("debias-gn-glove-json", "debias gn-glove:drop-last gn.txt --format json -o out.txt"),
    Call("apply-json", "apply fitted.safetensors glove.txt -o out.txt --format json"),
    Call("apply-table", "apply fitted.safetensors glove.txt -o out.bin"),
    Call(
        "measure-json",
        "measure glove.txt --only midb,direct-bias,clustering,recoverability --format json",
        trained=True,
    ),
    Call(
        "measure-lists-json",
        "measure glove.txt debiased.txt --only midb,same --seed-lists 4 --format json",
    ),
    Call("measure-lists-table", "measure glove.txt --only direct-bias --seed-lists 4"),
    Call("measure-table", "measure glove.txt debiased.txt --original glove.txt --only midb"),
    Call(
        "measure-gipe-sembias-json",
        "measure glove.txt debiased.txt --original glove.txt --only gipe,sembias"
        " --sembias SemBias --format json",
    ),
    Call(
        "measure-subspace-table",
        "measure glove.txt debiased.txt --original glove.txt --only clustering,gipe --no-chance"
        " --direction subspace --dims 3 --clustered 100,200 --theta .01,.03 --neighbours 20",
    ),
    Call("measure-words-json", "measure glove.txt --words nurse,doctor --extremes 3 --format json"),
    Call(
        "measure-same-json",
        "measure --only same --groups religion:christian,muslim --format json",
    ),
    Call(
        "measure-religion-jsonl",
        "measure --groups religion:christian,muslim --only midb,direct-bias --format jsonl",
    ),
    Call("weat-table", "weat"),
    Call(
        "weat-measures-json",
        "weat glove.txt --query weat6,weat7 --only weat,rnd,rnsb,mac,ect,ripa --format json",
        trained=True,
    ),
    Call(
        "weat-age-md",
        "weat --groups age --attributes pleasant,unpleasant --two-sided --holm --format md",
    ),
    Call("quality-json", "quality glove.txt debiased.txt --benchmarks test_sets/ --format json"),
    Call("quality-table", "quality glove.txt --benchmarks test_sets/ --oov mean --analogy mul"),
    Call("convert-word2vec", "convert glove.txt out.vec"),
    Call("convert-safetensors", "convert vectors.bin out.safetensors"),
    Call(
        "audit-html",
        "audit glove.txt --skip gipe,clustering,recoverability,mab --benchmarks test_sets/"
        " -o page.html",
    ),
    Call("audit-sample-md", "audit --skip gipe,clustering,recoverability,mab,weat -o page.md"),
    Call(
        "audit-draws-json",
        "audit glove.txt --methods 'misp null:2 lists:1' --skip gipe,clustering,recoverability,mab"
        ",weat,map,neighbours,occupations -o page.json --no-chance",
    ),
    Call(
        "audit-json",
        "audit glove.txt --skip gipe,clustering,recoverability,mab,map,neighbours -o page.json",
    ),
)
_TRAINED_VECTORS = (
    Call(
        "train-vectors-glove-json",
        "train-vectors enwik8.txt --vector-size 6 --epochs 2 -o vectors.txt --format json",
        ("torch",),
        trained=True,
    ),
    Call(
        "train-vectors-gn-glove-table",
        "train-vectors enwik8.txt --objective gn-glove --vector-size 6 --epochs 3 -o vectors.txt",
        ("torch",),
        trained=True,
    ),
)
_INFERENCE = (
    Call(
        "nli-train-json",
        "nli-train glove.txt --train train.jsonl --dev dev.jsonl --test test.jsonl --epochs 1"
        " --hidden 8 -o model.safetensors --format json",
        ("torch",),
        trained=True,
    ),
    Call("mab-eval-json", "mab-eval --lists lists/ --draws 200 --format json", trained=True),
    Call(
        "mab-eval-table",
        "mab-eval glove.nli.safetensors --embedding glove.txt --lists lists/ --set all --by-word"
        " --draws 200",
        trained=True,
    ),
    Call(
        "mab-eval-predictions-json",
        "mab-eval --predictions mine.csv --set explicit --draws 200 --format json",
    ),
    Call(
        "mab-study-json",
        "mab-study glove.txt debiased.txt --train train.jsonl --dev dev.jsonl --epochs 1"
        " --seed 0 --only midb,direct-bias --jobs 1 -o study --format json",
        ("torch",),
        trained=True,
        few_premises=True,
    ),
    Call("mab-eval-write-json", "mab-eval --set all --lists lists/ --write sets --format json"),
    Call(
        "mab-eval-they-json",
        "mab-eval --groups pronouns:they,he --by-word --draws 200 --format json",
    ),
    Call(
        "mab-eval-write-religion-table",
        "mab-eval --set all --groups religion:jewish,muslim --write sets",
    ),
)
_ENCODERS = (
    Call(
        "encode-json",
        "encode roberta-base texts.tsv -o out.safetensors --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "encode-mean-table",
        "encode roberta-base texts.tsv --pooling mean --layers 0,2 --where gender=F --limit 2"
        " -o out.safetensors",
        ENCODER,
        trained=True,
    ),
    Call(
        "probe-json",
        "probe bios.safetensors --labels gender --epochs 2 --fractions 50,100 --seed 0"
        " --layers 3 --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "probe-sample-table",
        "probe --epochs 2 --fractions 50,100 --seed 0,1",
        trained=True,
    ),
    Call(
        "probe-accuracy-csv",
        "probe bios.safetensors --labels gender --accuracy --epochs 2 --seed 0 --layers 3"
        " --format csv",
        ENCODER,
        trained=True,
    ),
    Call(
        "audit-model-json",
        "audit all-MiniLM-L6-v2 --skip probe,untrained,ceat --methods hard -o page.json",
        ENCODER,
        trained=True,
    ),
    Call(
        "retrieval-table",
        "retrieval cvs.jsonl jobs.jsonl --model all-MiniLM-L6-v2 --top 3 --seed-lists 1 --draws 50"
        " --relevance profession",
        ENCODER,
        trained=True,
    ),
    Call(
        "audit-model-groups-json",
        "audit all-MiniLM-L6-v2 --groups religion:christian,hindu,muslim"
        " --skip probe,untrained,ceat --methods hard -o page.json",
        ENCODER,
        trained=True,
    ),
    Call(
        "audit-model-pronouns-json",
        "audit all-MiniLM-L6-v2 --groups pronouns:she,they"
        " --skip probe,untrained --methods hard -o page.json",
        ENCODER,
        trained=True,
    ),
    Call(
        "seat-json",
        "seat all-MiniLM-L6-v2 --query 7,angry-black-woman-b --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "ceat-json",
        "ceat roberta-base --sentences sentences.txt.gz --query 6 --draws 200 --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "ceat-published-table",
        "ceat roberta-base --sentences sentences.txt.gz --query 6 --draws 100 --as-published",
        ENCODER,
        trained=True,
    ),
    Call(
        "likelihood-encoder-json",
        "likelihood minilm-nsp --data gsss_dev.csv --top 0.5 -o scores.csv --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "probe-adapter-table",
        "probe minilm-nli --texts bios.tsv --labels gender --adapter nli.adapter"
        " --setting tokens@-2 --layers 1,3 --seed 0,1 --epochs 3 --fractions 50,100 --limit 200",
        ENCODER,
        trained=True,
    ),
    Call(
        "likelihood-encoder-table",
        "likelihood minilm-nsp --data gsss_dev.csv",
        ENCODER,
        trained=True,
    ),
    Call(
        "likelihood-json",
        "likelihood smollm2 --data winogender/ --data Gender_identity.jsonl -o scores.csv"
        " --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "likelihood-table",
        "likelihood smollm2 --data crows_pairs.csv --pairs pairs.tsv --perplexity wikitext.txt",
        ENCODER,
        trained=True,
    ),
    Call(
        "mab-eval-parity-json",
        "mab-eval --set parity --lists lists/ -o jobs.csv --format json",
        trained=True,
    ),
    Call(
        "mab-eval-parity-adapter-table",
        "mab-eval minilm-nli --set parity --lists lists/ --snli snli_test.tsv.gz"
        " --adapter nli.adapter --setting L11-11101",
        ENCODER,
        trained=True,
    ),
    Call("project-json", "project minilm-nli -o out.adapter --format json", ENCODER, trained=True),
    Call(
        "project-table",
        "project minilm-nli -o out.adapter --setting L12-110",
        ENCODER,
        trained=True,
    ),
    Call(
        "apply-model-table",
        "apply nli.adapter minilm-nli -o folded --setting L12-110",
        ENCODER,
        trained=True,
    ),
    Call(
        "sweep-json",
        "sweep minilm-nsp --stereoset gsss_dev.csv --nli minilm-nli --snli snli_test.tsv.gz"
        " --lists lists/ --top 0.5 --no-repair -o table7.csv --jobs 1 --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "sweep-task-json",
        "sweep my-classifier --task dev.tsv --test test.tsv --labels profession --sensitive gender"
        " --methods leace --drop 0.3 --null 2 --retrain train.tsv --jobs 1 --format json",
        ENCODER,
        trained=True,
        counts=True,
    ),
    Call(
        "predict-json",
        "predict my-classifier dev.tsv -o predictions.tsv --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "sentiment-json",
        "sentiment my-classifier --groups age --draws 50 --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "sentiment-table",
        "sentiment my-classifier --groups age --score nurse=-1,doctor=1 --draws 50 -o scores.csv",
        ENCODER,
        trained=True,
    ),
    Call(
        "fine-tune-json",
        "fine-tune bert-base-cased --head nli --train snli_train.tsv.gz --dev snli_dev.tsv.gz"
        " --limit 32 --epochs 1 --batch-size 16 --every 1 -o out --format json",
        (*ENCODER, "accelerate"),
        trained=True,
    ),
    Call(
        "coref-train-json",
        "coref-train train.conll --dev dev.conll --test test.conll --model bert-base-cased"
        " --epochs 1 --hidden 20 --segment-length 32 --draws 20 -o out --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "coref-study-json",
        "coref-study train.conll --dev dev.conll --test test.conll --winobias winobias/"
        " --model bert-base-cased --strategies none --seed 0 --epochs 1 --hidden 20"
        " --segment-length 32 --no-baselines -o study --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "coref-predict-json",
        "coref-predict coref/ dev.conll -o clusters.conll --format json",
        ENCODER,
        trained=True,
    ),
)
_CLASSIFIERS = (
    Call(
        "fairness-json",
        "fairness predictions.csv --labels y --predicted r --sensitive z --train train.csv"
        " --draws 100 --format json",
    ),
    Call(
        "fairness-table",
        "fairness predictions.csv --labels y --predicted r --sensitive z --by-class --draws 100",
    ),
    Call(
        "bios-json",
        "bios --data bios.tsv --model bert-base-cased --strategies none --limit 300"
        " --seed 0 --epochs 1 --retrain-epochs 1 --draws 20 --max-length 32 --no-baselines"
        " --jobs 1 -o study --format json",
        ENCODER,
        trained=True,
    ),
    Call(
        "coref-score-json",
        "coref-score gold.conll --clusters found.conll --draws 100 --format json",
    ),
    Call("coref-score-gap-table", "coref-score gap-test.tsv --clusters answers.tsv --draws 100"),
    Call(
        "coref-score-pronouns-table",
        "coref-score winogender/ --clusters pronouns-found.jsonl --draws 100",
    ),
    Call("winobias-json", "winobias winobias/ --masked masked.tsv --format json"),
    Call("winobias-table", "winobias winobias/ --sentences sentences.jsonl"),
)
_MANY = (
    Call("changes-json", "changes before.json after.json --format json"),
    Call("changes-table", "changes before.json after.json"),
    Call("run-json", "run checks.toml -o junit.xml --format json"),
    Call("run-table", "run checks.toml"),
    Call("gate-failed", "weat --query weat6 -q --fail-if 'weat > 1' --fail-if 'weat > 1.9'"),
    Call("gate-junit", "weat --query weat6 --format junit --fail-if 'weat[set=x] > 1'"),
    Call("compare-json", "compare rows.json --format json"),
    Call("compare-table", "compare rows.json --correlation spearman --only midb,clustering"),
    Call("report-html", "report weat.json rows.json -o page.html"),
    Call("report-md", "report weat.json -o page.md"),
)
_DATA = (
    Call("fetch-json", "fetch --format json"),
    Call("fetch-about-table", "fetch sembias glove-wiki-gigaword-100 --about"),
    Call(
        "control-table",
        "control stereoset_dev.json --groups religion:christian,muslim -o control.csv",
    ),
    Call("control-json", "control gsss_dev.csv --format json"),
    Call("rewrite-scrub-json", "rewrite scrub texts.tsv -o out.tsv --format json"),
    Call(
        "rewrite-subsample-table",
        "rewrite subsample:labels=profession:sensitive=gender texts.tsv -o out.tsv",
    ),
    Call("rewrite-swap-csv", "rewrite swap:first-names texts.tsv -o out.tsv --format csv"),
    Call(
        "rewrite-extra-scrub-json",
        "rewrite scrub,extra-scrub:sensitive=gender:rounds=1 bios.tsv -o out.tsv --format json",
        trained=True,
    ),
    Call("lists-json", "lists --format json"),
    Call("lists-religion-table", "lists --groups religion"),
    Call("lists-measures-table", "lists gipe similarity"),
    Call("cache-json", "cache --format json"),
    Call("cache-table", "cache --max-size 5GB"),
)
_ERRORS = (
    Call("error-no-file", "misp nowhere.txt"),
    Call("error-short-row", "misp broken.txt"),
    Call("error-no-attribute", "misp --groups nowhere"),
    Call("error-no-column", "fairness predictions.csv --labels y --predicted r --sensitive gender"),
    Call("error-no-query", "weat --query 99"),
    Call("error-other-vectors", "apply fitted.safetensors gn.txt -o out.txt"),
    Call("error-gn-glove", "debias gn-glove glove.txt -o out.txt"),
    Call("usage-no-command", "mips"),
    Call("usage-no-option", "misp --dim 2"),
    Call("usage-out-of-range", "misp --dims 0"),
    Call("error-no-method", "debias soft glove.txt"),
    Call("usage-no-argument", "encode"),
    Call("usage-hard-and-weights", "misp --mhd --weights 1,0.5"),
)
CALLS = (
    *_HELP,
    *_EMBEDDINGS,
    *_TRAINED_VECTORS,
    *_INFERENCE,
    *_ENCODERS,
    *_CLASSIFIERS,
    *_MANY,
    *_DATA,
    *_ERRORS,
)
