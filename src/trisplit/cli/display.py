"""The progress line of commands that take long."""

from collections.abc import Callable
from types import TracebackType


class Display:
    """A progress line on standard error; silent unless that is a terminal."""

    def __init__(self, name: str, *, remaining: bool = False, endless: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self.bar = Progress(
            TextColumn(name, markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            *([TextColumn("left"), TimeRemainingColumn()] if remaining else []),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None if endless else 1.0)

    def __enter__(self) -> Callable[[str, float], None]:
        self.bar.start()
        return lambda text, done: self.bar.update(self.task, description=text, completed=done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
