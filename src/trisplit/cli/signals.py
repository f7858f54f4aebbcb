"""What happens to a command that is interrupted."""

import signal


class Signals:
    """While a search runs, SIGINT and SIGTERM end it with the best answer so far; once, lest the answer is lost."""

    caught: int | None = None

    @property
    def exit_status(self) -> int:
        """What the shell is told."""
        return 128 + (self.caught or signal.SIGINT)

    def __enter__(self) -> "Signals":
        self.before = {number: signal.signal(number, self.interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self.before.items():  # once caught, nothing is to end this process but itself
            signal.signal(number, signal.SIG_IGN if self.caught else handler)

    def interrupt(self, number: int, frame: object) -> None:
        """Interrupt the search; code that is just being loaded may swallow that, so it is remembered as well."""
        if self.caught is None:
            self.caught = number
            raise KeyboardInterrupt
