"""The marked-attribute test sets as CSV."""

from __future__ import annotations

import os

from wordbias.calls import public
from wordbias.formats.files import check_writable, output_folder
from wordbias.functions.inputs import Written
from wordbias.functions.lists import templates_of
from wordbias.nli.test_sets import SETS, build, marked_sets
from wordbias.rendering import Table
from wordbias.results import Report, Row
from wordbias.wordlists import GroupsLike, Templates, other_than_gender

ALL = "all"
CHOICES = (*SETS, ALL)


@public
def mab_build(
    *,
    set: str = ALL,
    output: str | os.PathLike[str],
    groups: GroupsLike | None = None,
    lists: str | os.PathLike[str] | Templates | None = None,
    as_published: bool = False,
) -> Written:
    """Write test sets of marked attribute bias, in which neutral is always right, as CSV files.

    The sets, built from the word lists in a fixed order:
      explicit       A person VERB a/an OBJECT . → A man, woman, …, He, She        15,744 pairs
      occupations    … → A doctor, nurse, …: 16 + 16 stereotypes                   62,976
      names          … → 32 + 32 first names                                      125,952
      dev            all occupations → six gendered words (Dev et al. 2020)     1,936,512
      parity         The doctor … → The man, The woman (Dawkins et al. 2024)       10,824

    With ``groups`` the hypotheses are about its two groups, "A Christian man bought a hat ." or
    "Tamika bought a hat .". The files are named after it; only sets that it has words for are
    written.

    The columns are id, pair type, premise_filler_word, hypothesis_filler_word, template_type,
    premise and hypothesis. To evaluate predictions of any system for these pairs: wordbias mab-eval
    --predictions.

    Parameters
    ----------
    set : str
        Test set; all means the three of Dawkins (2021): explicit, occupations and names.
    output : path
        Folder for the files, one per set.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    lists : path, fetched name or Templates, optional
        Word lists in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV.

    Returns
    -------
    Written
        The folder; its ``report`` has a row for each file.

    Raises
    ------
    WordbiasError
        If there is no such set, the groups have no words for it, or the folder cannot be written.

    References
    ----------
    Dawkins (2021), "Marked Attribute Bias in Natural Language Inference". Dev, Li, Phillips and
    Srikumar (2020), "On Measuring and Mitigating Biased Inferences of Word Embeddings".

    Examples
    --------
    >>> import tempfile
    >>> import wordbias as wb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = wb.mab_build(set="explicit", output=folder)
    >>> made.report["pairs"][0].value
    15744
    """
    attribute = other_than_gender(groups)
    templates = templates_of(lists)
    tests = [
        build(name, templates, attribute=attribute, as_published=as_published)
        for name in (marked_sets(attribute) if set == ALL else [set])
    ]
    with output_folder(output) as folder:
        names = [[*test.groups, test.name] if attribute else [test.name] for test in tests]
        files = [folder / f"{'-'.join(parts)}.csv" for parts in names]
        for file in files:
            check_writable(file)
        for test, file in zip(tests, files, strict=True):
            test.write(file)
    rows, cells = [], []
    for test, file in zip(tests, files, strict=True):
        premises, words = len(test.premises) * len(test.templates), len(test.hypotheses)
        details = {
            "attribute": test.attribute,
            "set": test.name,
            "premises": premises,
            "words": words,
            "file": str(file),
        }
        rows.append(Row(test.name, "pairs", len(test), details))
        cells.append([test.name, f"{premises:,}", str(words), f"{len(test):,}", str(file)])
    table = Table("Test sets written", ["", "premises", "words", "pairs", "file"], cells)
    return Written(str(folder), Report(rows=rows, tables=[table]))
