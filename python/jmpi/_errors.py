"""What goes wrong: one exception for each exit code of the program."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Type


class Error(RuntimeError):
    """A run that failed.

    message: the program's own line, without "jmpi: "
    code:    its exit code, or the launcher's; 127 if a program is missing, 128 + N if signal N ended it
    log:     the last lines that the run has printed
    """

    def __init__(self, message: str, code: int = 6, log: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message, self.code, self.log = message, code, list(log)

    def __reduce__(self) -> Any:  # so that other processes can hand it on
        return type(self), (self.message, self.code, self.log)


class UsageError(Error, ValueError):
    """An option that does not exist, or a value that an option does not take (exit code 2)."""


class BadInput(Error, ValueError):
    """A matrix or a folder that cannot be used, or a disk without room for the results (exit code 3)."""


class NotConverged(Error, ArithmeticError):
    """Not converged within the limit of sweeps, or a hyperbolic SVD that does not exist (exit code 4).

    result: what there is, if the method has not converged; None if there is no decomposition
    """

    result: Optional[Any] = None


class CheckFailed(Error):
    """The check of the results has failed (exit code 5, with check=True).

    result: the results
    """

    result: Optional[Any] = None


BY_CODE: Dict[int, Type[Error]] = {2: UsageError, 3: BadInput, 4: NotConverged, 5: CheckFailed}


def error(message: str, code: int, log: Sequence[str] = ()) -> Error:
    """The exception for an exit code."""
    return BY_CODE.get(code, Error)(message, code, log)
