"""Answers of the shell's commands as objects. Imported when the first is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from ._questions import Questions

Made = TypeVar("Made")


def row_of(made: type[Made], row: Mapping[str, Any], **more: Any) -> Made:
    """A dataclass of a JSON object: what it has no field for is left out, lists become tuples."""
    known = {one.name for one in fields(made)}  # type: ignore[arg-type]
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items() if name in known}
    return made(**given, **more)


@dataclass(frozen=True)
class Explanation:
    """Why a dim or a relation of dims is what it is. str() gives it as the shell prints it."""

    question: str
    answer: str
    lines: tuple[str, ...]
    chain: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._notebook import explanation_html
        return explanation_html(self)


@dataclass(frozen=True)
class Check:
    """A test of sizes that a run makes: `why(name)` explains it. fails: a run of these sizes ends there."""

    name: str
    text: str
    fails: bool


@dataclass(frozen=True)
class Prediction:
    """What a run of given sizes will be. shapes: by output; None for a size that the run decides, and for an
    output that is no tensor. peak_bytes: highest use of memory of a first run; None: `refused` says why.
    checks: those that fail come first."""

    shapes: dict[str, tuple[int | None, ...] | None]
    peak_bytes: int | None
    refused: str
    checks: tuple[Check, ...]

    @property
    def fails(self) -> tuple[Check, ...]:
        """The checks that end a run of these sizes."""
        return tuple(check for check in self.checks if check.fails)


@dataclass(frozen=True)
class Buffer:
    """An intermediate tensor in the memory plan. shape, size: formulas of dims; size_bytes, offset_bytes: with
    dims alone. begin, end: the first and last instruction that needs it."""

    name: str
    function: str
    dtype: str
    shape: tuple[int | str, ...]
    pooled: bool
    offset_bytes: int | None
    size: str
    size_bytes: int | None
    slot: int | None
    begin: int
    end: int


@dataclass(frozen=True)
class Plan:
    """The memory plan: its peak as a formula of dims, and in bytes where they are given. str() gives it as the
    shell prints it."""

    dims: dict[str, int]
    peak: str
    predicted_peak_bytes: int | None
    constants_bytes: int
    buffers: tuple[Buffer, ...]
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._notebook import plan_html
        return plan_html(self)


@dataclass(frozen=True)
class Limit:
    """The largest value of a dim for which a run fits the memory; `end` says what the next would meet."""

    symbol: str
    largest: int | None
    peak_bytes: int | None
    others: dict[str, int]
    end: str


@dataclass(frozen=True)
class Kernel:
    """A kernel of the program. kind: "kernel" (generated) or "builtin"."""

    name: str
    kind: str
    symbol: str
    description: str
    buffers_count: int


@dataclass(frozen=True)
class KernelTime:
    """A place of the program in a profile: times in nanoseconds; share: of the time of all places, 0 to 1."""

    name: str
    kind: str
    description: str
    place: str
    launches_count: int
    total_ns: int
    min_ns: int
    max_ns: int
    share: float


@dataclass(frozen=True)
class Profile:
    """A measured run. kernels: the longest first. str() gives it as the shell prints it."""

    dims: dict[str, int]
    run_ns: int
    peak_bytes: int
    predicted_peak_bytes: int | None
    launches_count: int
    kernels: tuple[KernelTime, ...]
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._notebook import profile_html
        return profile_html(self)


@dataclass(frozen=True)
class Change:
    """A line of the graph that a pass changed. kind: "added", "removed" or "changed"."""

    kind: str
    before: str
    after: str
    function: str


@dataclass(frozen=True)
class Diff:
    """The changes from one step to another."""

    start: str
    end: str
    added_count: int
    removed_count: int
    changed_count: int
    unchanged_count: int
    changes: tuple[Change, ...]
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._notebook import diff_html
        return diff_html(self)


@dataclass(frozen=True)
class Pass:
    """A step of the compilation. time_ns: of the step; ops_count: operations behind it."""

    index: int
    name: str
    kind: str
    time_ns: int
    changed: bool
    ops_before_count: int
    ops_count: int
    counters: dict[str, int]
    remarks: tuple[str, ...]
    _questions: Questions = field(repr=False, compare=False)

    @property
    def ir(self) -> str:
        """The graph behind this step, as text."""
        return str(self._questions.command(f"ir {self.index}")["ir"]["text"])

    @property
    def diff(self) -> Diff:
        """What this step changed."""
        return self._questions.passes.diff(self.name)


class Passes(Sequence[Pass]):
    """The steps of the compilation, by number or name: passes[3], passes["fuse"]."""

    def __init__(self, questions: Questions, rows: Sequence[Mapping[str, Any]]) -> None:
        self._questions = questions
        self._rows = tuple(row_of(Pass, row, index=i, _questions=questions) for i, row in enumerate(rows))

    @overload
    def __getitem__(self, key: int | str) -> Pass: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Pass]: ...
    def __getitem__(self, key: int | str | slice) -> Pass | Sequence[Pass]:
        if isinstance(key, str):
            for one in self._rows:
                if one.name == key:
                    return one
            raise KeyError(f"there is no pass '{key}'; passes: {', '.join(one.name for one in self._rows)}")
        return self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def diff(self, start: str | int, end: str | int | None = None) -> Diff:
        """The changes of one step, or from the graph behind one to that behind another."""
        line = f"diff {start}" if end is None else f"diff {start} {end}"
        row = self._questions.command(line)
        return row_of(Diff, row, start=row["from"], end=row["to"], text=self._questions.text(line).rstrip("\n"),
                    changes=tuple(row_of(Change, one) for one in row["lines"]))

    def _repr_html_(self) -> str:
        from ._notebook import passes_html
        return passes_html(self)

    def __repr__(self) -> str:
        return f"Passes({', '.join(one.name for one in self._rows)})"


class Answer(Mapping[str, Any]):
    """A JSON document of a command: answer.name is answer["name"]; lists are tuples."""

    def __init__(self, row: Mapping[str, Any], text: Callable[[], str] | None = None) -> None:
        self._row, self._text = row, text

    @staticmethod
    def _wrapped(value: Any) -> Any:
        if isinstance(value, Mapping):
            return Answer(value)
        return tuple(Answer._wrapped(item) for item in value) if isinstance(value, list) else value

    def __getitem__(self, name: str) -> Any:
        return self._wrapped(self._row[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._row:
            raise AttributeError(f"the answer has no '{name}'; it has {', '.join(self._row)}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._row]

    def __str__(self) -> str:
        """As the shell prints it; this asks once more."""
        return self._text() if self._text else repr(self)

    def __repr__(self) -> str:
        return f"Answer({dict(self._row)!r})"


def _word(value: Any) -> str:
    text = str(os.fspath(value) if isinstance(value, os.PathLike) else value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def line_of(command: str, words: Sequence[Any], options: Mapping[str, Any]) -> str:
    """A line of the shell: dim={"seq": 4} is `--dim seq=4`, explain=True the switch, o="x" is `-o x`."""
    made = [command, *(_word(word) for word in words)]
    for name, value in options.items():
        option = f"-{name}" if len(name) == 1 else "--" + name.replace("_", "-")
        if value is True:
            made.append(option)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                made += [option, _word(f"{key}={inner}")]
        elif isinstance(value, (list, tuple)):
            for inner in value:
                made += [option, _word(inner)]
        elif value is not None and value is not False:
            made += [option, _word(value)]
    return " ".join(made)


@dataclass(frozen=True)
class Graph:
    """The graph before and after each pass, as the page of a report draws it: a notebook shows it in a frame, where a
    click folds a group, the pointer shows an operation, and words are searched. page: the HTML, to write to a file."""

    page: str = field(repr=False)

    def _repr_html_(self) -> str:
        from ._notebook import graph_html
        return graph_html(self)


@dataclass(frozen=True)
class Report:
    """A page that was written; a notebook shows it in a frame."""
    path: str
    bytes: int
    no_run: str  # why it is without the profile of a run; "": it has one

    def _repr_html_(self) -> str:
        from ._notebook import report_html
        return report_html(self)


class Commands:
    """Every command of the shell as a method: commands.sweep("seq", "1..256", dim={"batch": 1}) gives an Answer.
    dir() lists them, help(name) explains one."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def help(self, command: str = "") -> str:
        return self._questions.text(f"help {command}".rstrip())

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        if name.startswith("_") or name.replace("_", "-") not in self._names():
            raise AttributeError(f"the shell has no command '{name}'")

        def ask(*words: Any, **options: Any) -> Answer:
            line = line_of(name.replace("_", "-"), words, options)
            return Answer(self._questions.command(line), lambda: self._questions.text(line).rstrip("\n"))

        ask.__name__ = name
        ask.__doc__ = self.help(name.replace("_", "-"))
        return ask

    def _names(self) -> list[str]:
        lines = self._questions.text("help all").splitlines()
        return [line.split()[0][1:] for line in lines if line.startswith(":")]

    def __dir__(self) -> list[str]:
        return ["help", *(name.replace("-", "_") for name in self._names() if name not in ("load", "reload", "quit"))]
