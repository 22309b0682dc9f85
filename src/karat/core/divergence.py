"""The one exception that means: training left the range of finite numbers."""


class Diverged(ArithmeticError):
    """Training diverged at a known step; recorded as a result, not shown as a stack trace."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"training diverged at step {step}: {what}.")
        self.step = step
        self.what = what

    def __reduce__(self) -> tuple[type["Diverged"], tuple[int, str]]:
        """Survive the trip from a worker process."""
        return Diverged, (self.step, self.what)
