"""Settings of the whole process: the options that every command has."""

from __future__ import annotations

from wordbias.calls import public
from wordbias.devices import set_threads
from wordbias.devices import threads as threads_now
from wordbias.progress import is_quiet, set_quiet
from wordbias.text_files import longest_line as longest_now
from wordbias.text_files import parse_size, set_longest_line


@public
def set_config(
    *,
    threads: int | None = None,
    longest_line: str | int | None = None,
    quiet: bool | None = None,
) -> dict[str, int | bool]:
    """Set options of all later calls in this process; options left out do not change.

    Parameters
    ----------
    threads : int, optional
        Number of threads, also of torch and BLAS, and in the environment (OMP_NUM_THREADS and its
        like) for processes that are started later.  [at the start: what the machine allows]
    longest_line : str or int, optional
        Longest line of a table, a text or JSON lines, in bytes or as 500MB.  [at the start: 64MB]
    quiet : bool, optional
        Show no progress bars.  [at the start: shown on a terminal]

    Returns
    -------
    dict
        The settings that hold now, by name.

    Raises
    ------
    WordbiasError
        If a size has no unit, or a value is not a number.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.set_config(longest_line="64MB")["longest_line"]
    64000000
    """
    if threads is not None:
        set_threads(threads)
    if longest_line is not None:
        size = parse_size(longest_line) if isinstance(longest_line, str) else longest_line
        set_longest_line(size)
    if quiet is not None:
        set_quiet(quiet)
    return {"threads": threads_now(), "longest_line": longest_now(), "quiet": is_quiet()}
