"""Many runs with inputs that stay set, and what they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _dtypes, _dyn, _values
from ._errors import UsageError, missing_input
from ._values import Result

if TYPE_CHECKING:
    from ._calls import Calls

_FORMATS = ("csv", "json", "trace")


@dataclass(frozen=True)
class RunStatistics:
    """Of the last run of a context. peak_bytes: the highest use of tensor and object memory; held_bytes: now held from
    the system; in_use_bytes: now in live tensors; allocations_count: of the system, 0 once warm; instructions_count:
    counted only while a profile is on; run_ns: wall time."""

    peak_bytes: int
    held_bytes: int
    in_use_bytes: int
    allocations_count: int
    launches_count: int
    instructions_count: int
    run_ns: int


class Context:
    """`context = model.context()`: runs whose inputs stay set, for loops and measurements. A run costs what the runtime's
    own costs; results are read when they are asked for.

        context.set({"x": x})
        context.run()
        context.output("y"), context.statistics.run_ns

    It belongs to one thread at a time; any may cancel(). Arrays that are set must not change while they are."""

    def __init__(self, model: Calls, program: _dyn.Program, interpret: bool, dry_run: bool) -> None:
        self._ports = model.inputs
        self._index = {port.name: i for i, port in enumerate(model.inputs)}
        self._names = model._names
        self._handle = _dyn.Context(program, interpret, dry_run)
        self.run = self._handle.run  # the extension's own: no frame of Python is between

    def set(self, inputs: Mapping[str, Any]) -> None:
        """Sets inputs by name; others stay as they are. Values are as of a call."""
        for name, given in inputs.items():
            index = self._at(name)
            self._handle.set(index, _values.form_of(self._ports[index], given))

    def set_forest(self, name: str, constructors: Any, starts: Any, children: Any, fields: Sequence[Any]) -> None:
        """An input of a data type, or a list of them, as arrays over its nodes (dyn_trees.h): constructors i32 [nodes],
        starts i64 [nodes + 1], children i64; fields: for each constructor in order, its fields other than nodes."""
        tables = [self._handle.value(_values.tensor_form(field, None, None, f"field {i}")) for i, field in enumerate(fields)]
        self._at(name)
        self._handle.set_forest(name, constructors, starts, children, tables)

    def set_data(self, name: str, value: _dyn.Value) -> None:
        """An input of a data type or of a list, made by data() and items()."""
        self._handle.set_value(self._at(name), value)

    def data(self, constructor: int, fields: Sequence[Any]) -> _dyn.Value:
        """A value of a data type: the number of its constructor, and its fields, arrays or such values."""
        return self._handle.compound(False, constructor, [self._value(field) for field in fields])

    def items(self, values: Sequence[Any]) -> _dyn.Value:
        """A list of arrays or of values that data() made."""
        return self._handle.compound(True, 0, [self._value(value) for value in values])

    def feed_back(self, links: Mapping[str, str]) -> None:
        """Outputs of the last run become inputs of the next, {input: output}; nothing is copied."""
        for to, output in links.items():
            self._handle.hand_on(self._output(output), self._at(to))

    def cancel(self) -> None:
        """Ends the run under way with Cancelled. Any thread; without one it does nothing."""
        self._handle.cancel()

    def output(self, output: str | int) -> Any:
        """A result of the last run, read-only."""
        index = output if isinstance(output, int) else self._output(output)
        if not 0 <= index < self._handle.result_count:
            raise UsageError(f"there is no result {index} of a run: there are {self._handle.result_count}")
        return self._handle.output(index)

    @property
    def outputs(self) -> Result:
        """All results of the last run."""
        return Result(self._names, [self._handle.output(i) for i in range(self._handle.result_count)])

    @property
    def statistics(self) -> RunStatistics:
        return RunStatistics(**self._handle.statistics())

    def profile(self, runs: int = 1, format: str = "csv") -> str:
        """Runs so many times and says how long each kernel took: "csv", "json", or "trace" for Chrome's viewer."""
        if format not in _FORMATS:
            raise UsageError(f"format is none of {', '.join(_FORMATS)}: {format!r}")
        self._handle.profile(True)
        try:
            for _ in range(runs):
                self.run()
            return self._handle.profile_text(format)
        finally:
            self._handle.profile(False)

    def simulate_threads(self, enabled: bool = True) -> None:
        """From the next run on the tasks of each kernel run one after the other, and run_ns and the profile are those of
        a machine with a core for each of the context's threads (dyn_cores.h)."""
        self._handle.simulate_threads(enabled)

    def _value(self, given: Any) -> _dyn.Value:
        return given if isinstance(given, _dyn.Value) else self._handle.value(_values.tensor_form(given, None, None, "a field"))

    def _at(self, name: str) -> int:
        if name not in self._index:
            raise missing_input(f"there is no input '{name}'; inputs: {', '.join(self._index)}")
        return self._index[name]

    def _output(self, name: str) -> int:
        if name not in self._names:
            raise UsageError(f"there is no output '{name}'; outputs: {', '.join(self._names)}")
        return self._names.index(name)
