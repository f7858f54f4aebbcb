"""trisplit verify: check a result file independently of the solver."""

from pathlib import Path
from typing import Annotated

import typer

from trisplit.errors import InputError
from trisplit.verify import UnreadableError, WrongError
from trisplit.verify import verify as check


def verify(
    result: Annotated[Path, typer.Argument(metavar="OUT.json", help="What `trisplit solve --json` has written.")],
    data: Annotated[Path | None, typer.Option(metavar="FILE.dat", help="The file that was solved.")] = None,
) -> None:
    """Compute a result again, independently of the solver; exit status 1 if it is wrong."""
    try:
        typer.echo(str(check(result, data)))
    except UnreadableError as error:
        raise InputError(str(error)) from error
    except WrongError as error:
        typer.echo(f"trisplit: {result}: wrong, {error}", err=True)
        raise typer.Exit(1) from error
