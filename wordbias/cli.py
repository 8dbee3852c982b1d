"""Command line: the group of all commands, each imported when it is called."""

from __future__ import annotations

import difflib
import importlib
import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from wordbias import __version__
from wordbias.errors import WordbiasError, printable, shortened

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECTIONS: dict[str, dict[str, str]] = {
    "Word vectors or a model": {
        "audit": "Answer on one page: is it biased, and which method helps?",
    },
    "Word vectors": {
        "misp": "Measure gender bias, and remove it softly by MISP.",
        "debias": "Debias with any method, or with several in order.",
        "choose": "Debias with the method that improves one measure most.",
        "apply": "Apply a saved method to more vectors, of words or of texts.",
        "measure": "Measure bias: MIDB, direct bias, clustering, SemBias and more.",
        "weat": "Test associations between sets of words: WEAT and five others.",
        "quality": "Measure word similarity and analogies, which debiasing may harm.",
        "convert": "Convert vectors between formats.",
        "nli-train": "Train a natural language inference (NLI) model on word vectors.",
        "mab-study": "Train NLI models on several embeddings, and compare their bias.",
    },
    "A model: encoder, decoder or NLI model": {
        "encode": "Write the vectors of texts, from any layers of a model.",
        "probe": "Measure how easily a label can be read from vectors or a model.",
        "ceat": "Test associations between words in sentences (CEAT).",
        "seat": "Test associations between sentences (SEAT), from any encoder.",
        "predict": "Write what a classifier of texts predicts, for fairness.",
        "sentiment": "Measure whether the score of a text depends on who is in it.",
        "likelihood": "Measure which texts a model prefers: StereoSet, BBQ and more.",
        "mab-eval": "Measure bias of an NLI model: does a person entail he, not she?",
        "project": "Remove gender or another label inside a model, by an adapter.",
        "sweep": "Measure all 74 projections of a paper, or choose one for a task.",
        "fine-tune": "Train a head on an encoder: NLI or next sentence.",
        "coref-train": "Train a coreference model on documents with clusters.",
        "coref-predict": "Find the clusters of mentions in documents.",
    },
    "Texts or vectors with labels": {
        "retrieval": "Measure whether a changed name moves what queries retrieve.",
        "erase": "Erase a label, such as gender, and measure what is left.",
        "control": "Make a control of StereoSet with swapped groups, and check it.",
        "rewrite": "Rewrite texts to train on: scrub, balance, swap, anonymise.",
        "bios": "Train on debiased biographies: is bias removed or only hidden?",
        "coref-study": "Train on debiased coreference data: is bias removed or only hidden?",
    },
    "Predictions": {
        "fairness": "Measure whether a classifier treats women and men alike.",
        "coref-score": "Score a coreference system: CoNLL F1, GAP, pronouns of all sets.",
        "winobias": "Score a coreference system on WinoBias: is a nurse always she?",
    },
    "Results of other commands": {
        "report": "Make one page of saved results.",
        "changes": "Compare two results value by value, with paired intervals.",
        "compare": "Correlate the measures of three or more embeddings.",
        "run": "Run the checks of a file: which calls fail their conditions?",
        "push": "Publish methods, adapters, models and vectors on the hub.",
    },
    "Data": {
        "fetch": "Download or list published vectors, test sets and word lists.",
        "lists": "Show the word lists and their sources, or explain measures.",
        "train-vectors": "Train GloVe or gender-neutral GN-GloVe vectors on text.",
        "cache": "List, limit or clear the cache of parsed vectors.",
    },
}
"""What a person has, and the commands that take it, with what each does."""
HELP = "help"
"""A command that is not listed: it shows what --help shows."""
_INTERRUPTED = 130
_NAMED = 6
"""Number of commands that an error names."""
_STDERR = 2
_WINDOWS = os.name == "nt"


class _Stopped(BaseException):
    """A KeyboardInterrupt that click does not handle, which would write an empty line."""


class LazyGroup(click.Group):
    """A group whose help needs no command to be imported."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interruption is reported by `run`, in one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Stopped(str(error)) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the sections."""
        return [name for section in SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command; for shell completion nothing is imported."""
        if cmd_name not in (*self.list_commands(ctx), HELP):
            return None
        if ctx.resilient_parsing:
            from wordbias import completion

            return completion.command(cmd_name)
        module = importlib.import_module(f"wordbias.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; for an unknown name, suggest the nearest one."""
        name, known = args[0], [*self.list_commands(ctx), HELP]
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name.lower().replace("_", "-"), known, 1)
            guess = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"No such command {name!r}.{guess}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands with their help, and the options of the group."""
        from click.shell_completion import CompletionItem

        commands = (command for section in SECTIONS.values() for command in section.items())
        completions = [
            CompletionItem(n, help=text) for n, text in commands if n.startswith(incomplete)
        ]
        return [*completions, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


def _print_version(ctx: click.Context, parameter: click.Parameter, is_requested: bool) -> None:
    """Print the version; with ``-v`` also what a bug report needs."""
    if not is_requested or ctx.resilient_parsing:
        return
    if ctx.params.get("verbose"):
        from wordbias.installation import described

        click.echo(described().render("table"), nl=False)
    else:
        click.echo(f"wordbias, version {__version__}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    is_eager=True,
    help="With --version: also what a bug report needs.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit; with -v what a bug report needs: the versions of all packages,"
    " the machine, the cache and the devices.",
)
def cli(verbose: bool) -> None:
    """Measure social bias in language representations, remove it, show the effect.

    \b
    Try it without any data, on real vectors that come with the package:
      wordbias misp
    On your own vectors, in GloVe, word2vec, fastText, gensim or safetensors:
      wordbias misp glove.txt -o debiased.txt

    \b
    wordbias help COMMAND   the options of a command, such as debias
    wordbias help METHOD    the settings of a method, such as inlp
    wordbias help options   the options that commands share, such as --device
    """
    if verbose:
        raise click.UsageError("-v goes with --version")


def main() -> None:
    """Run the command line and exit; ignore Ctrl-C once the command is done."""
    _open_closed_streams()
    if "--debug" not in sys.argv:
        silence_libraries()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
            if _WINDOWS and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")  # a file or a pipe, as on other systems
    code = run(sys.argv[1:])
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the output is complete: only worker processes are joined
    sys.exit(code)


def silence_libraries() -> None:
    """Turn off the log messages and warnings of libraries on stderr."""
    # Warnings requested by -W or PYTHONWARNINGS are shown.
    logging.disable(logging.CRITICAL)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _open_closed_streams() -> None:
    """Replace the standard streams that the caller closed (``>&-``) by the null device."""
    # Otherwise a file that is opened later would get the number of a closed stream, and its output.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(handle, True)
    os.close(handle)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return 0, 1 after an error, 2 for wrong usage, 3 if a check failed."""
    try:
        result: Any = cli.main(list(arguments), prog_name="wordbias", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (click.Abort, KeyboardInterrupt, _Stopped) as error:
        if sys.stderr.isatty():
            click.echo(err=True)  # after the ^C of a terminal
        click.echo(f"wordbias: interrupted; {str(error) or 'no output was changed'}", err=True)
        return _INTERRUPTED
    except click.ClickException as error:
        line = _of_usage(error)
        click.echo(f"{line}{_without_space(arguments, line)}", err=True)
        return error.exit_code
    except Exception as error:
        if "--debug" in arguments:
            raise
        line = f"wordbias: {_one_line(error)}"
        click.echo(f"{line}{_without_space(arguments, line)}", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _of_usage(error: click.ClickException) -> str:
    """Return the line for wrong usage, or the help where nothing was typed."""
    text, context = error.format_message(), getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return text
    if isinstance(error, click.NoSuchOption):
        text = _elsewhere(error.option_name) or text
    text = shortened(" ".join(printable(text).split("\n"))).rstrip(".")
    see = f"; see {context.command_path} --help" if context else ""
    return f"wordbias: {text}{see}"


def _elsewhere(option: str) -> str:
    """Return the line for an option that only other commands have."""
    from wordbias.completion import commands_with
    from wordbias.rendering import how_many

    names = commands_with(option)
    if not names:
        return ""
    others = f" and {how_many(len(names) - _NAMED, 'other')}" if len(names) > _NAMED else ""
    return f"No such option {option!r} here; these have it: {', '.join(names[:_NAMED])}{others}"


def _without_space(arguments: Sequence[str], line: str) -> str:
    """Return the remedy if an error names a word that was typed after a comma and a space."""
    for before, after in pairwise(arguments):
        if before.endswith(",") and (f"wordbias: {after}: " in line or f"({after})" in line):
            return f"; type a list without a space: {before}{after}"
    return ""


def _one_line(error: Exception) -> str:
    text = shortened(" ".join(printable(str(error)).split("\n")))
    if isinstance(error, (WordbiasError, OSError)):
        return text
    if isinstance(error, MemoryError):
        return f"not enough memory: {text}" if text else "not enough memory"
    return (
        f"unexpected {type(error).__name__}: {text}; --debug shows where (please report it, with "
        "what wordbias --version -v prints)"
    )
