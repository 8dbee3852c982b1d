"""Entry point of `wordbias` and `python -m wordbias`; handles Ctrl-C from the first import on."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Load and run the command line; exit with 130 on an interruption."""
    if sys.flags.optimize > 1:
        sys.stderr.write(
            "wordbias: python -OO and PYTHONOPTIMIZE=2 leave out the docstrings, from which the "
            "help and the options are made; use -O, or PYTHONOPTIMIZE=1\n"
        )
        sys.exit(1)
    try:
        from wordbias.cli import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:
        sys.stderr.write("wordbias: interrupted; no output was changed\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
