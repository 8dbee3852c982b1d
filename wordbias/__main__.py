"""`wordbias` and `python -m wordbias`: what runs first, so that Ctrl-C is one line from here on."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Load the command line and run it; exit with 130 if that is interrupted."""
    try:
        from wordbias.cli import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:
        sys.stderr.write("wordbias: interrupted; no output was changed\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
