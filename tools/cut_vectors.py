"""Cut vectors to the words that models of inference read, so that little has to be copied.

python tools/cut_vectors.py cut glove.safetensors hard.safetensors --pairs train.tsv dev.tsv

Kept are the words of the pairs, in lower case, of the marked sets, and of the attribute gender, to
which MISP is fitted. Debias the vectors first: most methods use more words. Models, and random
removals with the weights of MISP, then read what they would read of the whole files; measures of
the vectors would be of other words.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import wordbias as wb
from wordbias.nli.pairs import load_pairs, tokenise
from wordbias.nli.test_sets import MARKED, build
from wordbias.wordlists import Attribute, Templates


def main() -> None:
    """Write the vectors under their names to the folder."""
    about = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("output", type=Path, help="folder for the cut vectors")
    parser.add_argument("embeddings", nargs="+", type=Path, help="vectors of lower-case words")
    parser.add_argument("--pairs", nargs="+", required=True, help="files of labelled pairs")
    parser.add_argument("--lists", type=Path, help="more word lists of the marked sets")
    args = parser.parse_args()

    lists = [Templates.load(), *([Templates.load(args.lists)] if args.lists else [])]
    words = {word.lower() for word in (*of_pairs(args.pairs), *of_sets(lists), *of_gender())}
    args.output.mkdir(parents=True, exist_ok=True)
    for path in args.embeddings:
        whole = wb.load(path)
        cut = whole.subset([word for word in whole.words if word in words])
        cut.save(args.output / path.name)
        print(f"{args.output / path.name}: {len(cut):,} of {len(whole):,} words")


def of_pairs(files: list[str]) -> Iterator[str]:
    """Yield the words of pairs."""
    for file in files:
        pairs = load_pairs(file)
        for sentence in {*pairs.premises, *pairs.hypotheses}:
            yield from sentence


def of_sets(lists: list[Templates]) -> Iterator[str]:
    """Yield the words of the marked sets."""
    for templates in lists:
        for test in (build(name, templates) for name in MARKED):
            subjects = map(test.subject, (*test.premises, *test.hypotheses))
            for part in (*subjects, *map(test.predicate, test.templates)):
                yield from tokenise(part)


def of_gender() -> Iterator[str]:
    """Yield the listed words of the attribute gender."""
    gender = Attribute.load()
    for listed in (*gender.members, *gender.pairs, *gender.equalise, gender.specific):
        yield from listed


if __name__ == "__main__":
    main()
