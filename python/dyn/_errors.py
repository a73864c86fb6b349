"""Exceptions of the package, and how a failed call of the library becomes one."""

from __future__ import annotations

from typing import Any, NamedTuple


class Diagnostic(NamedTuple):
    """One finding: an error, a warning or a note, as the shell prints it."""

    severity: str
    id: str
    message: str
    place: str
    file: str
    node: str
    line: int
    column: int
    notes: tuple[str, ...]
    op: str


class Error(Exception):
    """What Dyn refuses. `id` is stable ("E0203"; `model.command("explain E0203")` says more), or the name of a
    run's status ("check failed"). `place` is where in the model, `notes` say what is known and what to do, a
    line each. `diagnostics` has all that was found."""

    def __init__(self, message: str, id: str = "", place: str = "", notes: tuple[str, ...] = (),
                 diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.id, self.place, self.notes, self.diagnostics = message, id, place, notes, diagnostics

    def __str__(self) -> str:
        there = bool(self.place) and not self.message.startswith(self.place)
        head = f"{self.place}: {self.message}" if there else self.message
        return "\n".join([f"[{self.id}] {head}" if self.id else head, *(f"  note: {note}" for note in self.notes)])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.id, self.place, self.notes, self.diagnostics)


class UsageError(Error, ValueError):
    """The call itself is wrong: an unknown option, dim or command."""


class ModelError(Error):
    """The model is damaged or breaks a rule."""


class InputError(Error, ValueError):
    """An input is missing, has no such name, or has the wrong kind, dtype, rank or size."""


def missing_input(message: str) -> InputError:
    return InputError(message, "E0304")


def wrong_input(message: str) -> InputError:
    return InputError(message, "E0305")


class CheckError(Error):
    """A test of sizes or values failed during a run."""


class MemoryLimitError(Error, MemoryError):
    """A run needs more memory than its limit or the machine has."""


class Cancelled(Error):
    """The call was ended from outside."""


class Unsupported(Error, NotImplementedError):
    """Well-formed, but Dyn cannot do it; the message says what."""


class QueueFull(Error):
    """A server refused a request at once: max_queue others wait."""


class DeadlinePassed(Error, TimeoutError):
    """A request of a server did not start before its deadline."""


class DeadlineInfeasible(DeadlinePassed):
    """A server refused a request at once, or a run was refused: it takes longer than its deadline or limit allows."""


class ShutDown(Error):
    """A server takes no requests any more, or refused those that waited."""


class FileError(Error):
    """A file cannot be read or written."""


class InternalError(Error):
    """A bug of Dyn."""


class ModelWarning(UserWarning):
    """A warning of a model that was read."""


_CLASSES: dict[int, type[Error]] = {  # dyn_status
    1: UsageError, 2: ModelError, 3: InputError, 4: CheckError, 5: CheckError, 6: CheckError, 7: MemoryLimitError,
    8: MemoryLimitError, 9: Cancelled, 10: MemoryLimitError, 11: InternalError, 12: Unsupported, 13: FileError,
    14: InternalError, 32: QueueFull, 33: DeadlinePassed, 34: ShutDown, 36: DeadlineInfeasible,
}
_SEVERITIES = ("error", "warning", "note")


def diagnostic_of(row: tuple[Any, ...]) -> Diagnostic:
    severity, id, message, place, file, node, line, column, notes, op = row
    return Diagnostic(_SEVERITIES[severity], id, message, place, file, node, line, column,
                      tuple(notes.split("\n")) if notes else (), op)


def error_of(status: int, status_text: str, message: str, rows: list[tuple[Any, ...]]) -> Error:
    """The exception of a status; called by the extension."""
    made = _CLASSES.get(status, InternalError)
    if not rows:  # of a run: "check failed: MESSAGE (at PLACE)"
        said, at, place = message.removeprefix(status_text + ": ").rpartition(" (at ")
        if at and place.endswith(")"):
            return made(said, status_text, place[:-1])
        return made(message.removeprefix(status_text + ": "), status_text)
    all_of_them = tuple(diagnostic_of(row) for row in rows)
    first = all_of_them[0]
    return made(first.message, first.id, first.place, first.notes, all_of_them)
