"""The ``fastrag`` command: one file per subcommand, each with its ``ABOUT``, ``EXAMPLES``, arguments and ``run``;
some with ``EXIT_CODES``, and with ``AFTER_INTERRUPT``, what Ctrl-C leaves.

Exit codes: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted; ``compare`` and ``copy`` have more.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from fastrag.cli import ask, best, compare, copy, demo, export, ingest, report, show, view
from fastrag.cli.arguments import WrongUsage
from fastrag.cli.terminal import say
from fastrag.errors import FastRAGError

_INTERRUPTED = 130
_AFTER_INTERRUPT = "interrupted; run the same command again to go on"

_COMMANDS: dict[str, ModuleType] = {
    "demo": demo,
    "ingest": ingest,
    "ask": ask,
    "copy": copy,
    "show": show,
    "best": best,
    "compare": compare,
    "report": report,
    "view": view,
    "export": export,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["best", "no-such-folder", "--metric", "ndcg@10"])
    1
    """
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    elif isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without the character shows a question mark in its place.
        sys.stdout.reconfigure(errors="replace")
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int | None] = options.run
    try:
        exit_code = run(options)
        sys.stdout.flush()
    except WrongUsage as error:
        options.parser.error(str(error))
    except KeyboardInterrupt:
        say(options.after_interrupt)
        if any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate()):
            # An engine's thread cannot be cancelled, and the interpreter would wait for it; what ended is on disk.
            sys.stderr.flush()
            os._exit(_INTERRUPTED)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough; the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if options.debug:
            raise
        if isinstance(error, FastRAGError | OSError):
            say(f"error: {error}")
        else:
            say(f"unexpected error: {type(error).__name__}: {error} (see the traceback with --debug)")
        return 1
    return exit_code or 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        say(f"wrong usage: {message}")
        self.exit(2, f"Try: {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fastrag",
        description="Index documents, ask them questions, and benchmark retrieval-augmented\npipelines honestly.",
        epilog="Start with: fastrag demo\nExit codes: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted;\n"
        "compare and copy have more, see: fastrag compare --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        made: argparse.ArgumentParser = commands.add_parser(
            name,
            help=module.ABOUT,
            description=module.ABOUT[0].upper() + module.ABOUT[1:] + ".",
            epilog="examples:\n"
            + "".join(f"  {line}\n" for line in module.EXAMPLES.splitlines())
            + _exit_codes(module),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        made.set_defaults(
            run=module.run, parser=made, after_interrupt=getattr(module, "AFTER_INTERRUPT", _AFTER_INTERRUPT)
        )
        module.add_arguments(made)
    return parser


def _exit_codes(module: ModuleType) -> str:
    return f"\nexit codes:\n{module.EXIT_CODES}" if hasattr(module, "EXIT_CODES") else ""


def _version() -> str:
    from importlib.metadata import version

    return f"fastrag {version('fastrag')}"
