"""The command line: `trisplit COMMAND`. A new command is a file here with a function, and a line in `commands`."""

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper

import typer

from trisplit import __version__
from trisplit.cli.bench import bench
from trisplit.cli.info import info
from trisplit.cli.list_instances import list_instances
from trisplit.cli.match import match
from trisplit.cli.reproduce import reproduce
from trisplit.cli.solve import solve
from trisplit.cli.verify import verify
from trisplit.errors import InputError

commands: dict[str, Callable[..., None]] = {
    "solve": solve,
    "match": match,
    "verify": verify,
    "list": list_instances,
    "reproduce": reproduce,
    "bench": bench,
    "info": info,
}

app = typer.Typer(
    help="Minimise f + g + h with a certificate, solve quadratic assignment problems and match graphs.",
    add_completion=False,
    rich_markup_mode=None,
)
for _name, _command in commands.items():
    app.command(name=_name)(_command)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show_version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if show_version:
        typer.echo(f"trisplit {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 wrong result, 2 bad input, 130 interrupted."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit status; every error is one line on standard error."""
    try:
        status = app(arguments, standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except SystemExit:  # how rich ends when the reader of standard output has gone
        return 0
    except BrokenPipeError:
        _drop_output()  # the reader (such as `head`) has gone
        return 0
    except (KeyboardInterrupt, typer.Abort):
        print("trisplit: interrupted before there was an answer", file=sys.stderr)
        return 130
    except (InputError, OSError) as error:
        print(f"trisplit: {_one_line(error)}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # the disk is full, as was said
            _drop_output()
        return 2
    except Exception as error:
        if not hasattr(error, "format_message"):  # what the option parser raises
            raise
        print(f"trisplit: {_one_line(error.format_message())}; see `trisplit --help`", file=sys.stderr)  # pyright: ignore
        return 2


def _drop_output() -> None:
    """Throw away what cannot be written, which would be an error once more when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: object) -> str:
    return " ".join(str(error).split()).rstrip(".")
