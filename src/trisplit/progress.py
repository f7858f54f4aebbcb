"""A progress line with rich, on standard error and only where that is a terminal."""

from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import Self

from trisplit.result import BatchTraceRow, TraceRow


class Progress:
    """Shows iteration, objective and certificate of the last check; does nothing unless enabled on a terminal."""

    def __init__(self, max_iter: int, time_limit: float | None, *, enabled: bool) -> None:
        self.max_iter, self.time_limit, self.bar = max_iter, time_limit, None
        self.begin = perf_counter()
        if enabled:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            if console.is_terminal:
                columns = (BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn())
                self.bar = Bar(*columns, console=console, transient=True)
                self.task = self.bar.add_task("starting", total=1.0)

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def update(self, trace: Sequence[TraceRow | BatchTraceRow]) -> None:
        """Show the last check; the bar is the larger share of iterations and of time that are used up."""
        if self.bar is None or not trace:
            return
        row = trace[-1]
        used = row.iteration / self.max_iter
        if self.time_limit is not None:
            used = max(used, (perf_counter() - self.begin) / self.time_limit)
        self.bar.update(self.task, completed=min(used, 1.0), description=str(row))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
