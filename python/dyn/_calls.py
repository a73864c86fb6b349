"""How a model runs: the part of a Model that both packages have, dyn and dyn_runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _values
from ._errors import Unsupported, UsageError, missing_input
from ._values import Port, Result

if TYPE_CHECKING:
    from . import _dyn
    from ._context import Context


class Calls:
    """The part of a Model that runs. Any number of threads may call it at once; the lock of the interpreter is
    released while it runs."""

    def __init__(self, inputs: tuple[Port, ...]) -> None:
        self._inputs = inputs
        self._index = {port.name: i for i, port in enumerate(inputs)}
        self._outputs: tuple[Port, ...] | None = None
        self._names: tuple[str, ...] = ()
        self._program: _dyn.Program | None = None

    def _compiled(self) -> _dyn.Program:
        """The program and the names of its outputs, made when the first is asked for."""
        raise NotImplementedError

    def _output_ports(self) -> tuple[Port, ...]:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """With inferred types."""
        if self._outputs is None:
            self._outputs = self._output_ports()
        return self._outputs

    @property
    def copies(self) -> int:
        """Arrays that calls had to copy: inputs that are not dense in C order, outputs that are an input."""
        return self._program.copies if self._program else 0

    def __call__(self, /, *positional: Any, **by_name: Any) -> Result:
        """Runs it. Inputs: arrays by position or name, of NumPy, or with __dlpack__ or a buffer; of an input of
        kind list a list of arrays. Dense arrays in C order are used in place and must not change meanwhile.
        Results are arrays of the runtime's memory; they are read-only where weights or another result lie there,
        too. out=: as of run(). Raises InputError, CheckError, MemoryLimitError; KeyboardInterrupt at Ctrl-C."""
        program = self._program or self._compiled()
        if by_name:
            if "out" in by_name and "out" not in self._index:
                out = by_name.pop("out")
                return self._run(self._arranged(positional, by_name), out)
            positional = self._arranged(positional, by_name)
        made = program.run_plain(positional)
        if made is None:
            return self._run(self._arranged(positional, {}), None)
        return Result(self._names, made)

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], out: Any = None) -> Result:
        """The same with the inputs in a mapping by name or a sequence. out: memory for outputs, which must be
        dense in C order, writable, and of the dtype and shape of the result: an array for a model with one
        output, a sequence with an array or None for each, or a mapping by name. Such a result is that array."""
        return self._run(self._listed(inputs), out)

    def run_sequences(self, inputs: Mapping[str, Any], lengths: str = "") -> Result:
        """Runs a model of padded batches [batch, longest, ...] on sequences of different lengths:
        run_sequences({"input_ids": [ids0, ids1]}), where ids0 and ids1 are arrays [length, ...]. Inputs that are
        no lists are arrays as of run(). The input that holds the lengths or the mask is filled in; lengths: its
        name, where several may be it. Outputs with the padded axis are lists of arrays, one for each sequence."""
        program = self._program or self._compiled()
        for name in inputs:
            if name not in self._index:
                raise missing_input(f"there is no input '{name}'; inputs: {', '.join(self._index)}")
        # None: it follows from the sequences.
        forms = [None if port.name not in inputs and port.kind != "optional"
                 else _values.sequences_form(port, inputs.get(port.name)) for port in self._inputs]
        made = program.run_sequences(forms, list(self._index), lengths)
        return Result(self._names, [_values.sequences_of(form) for form in made])

    def growing(self, array: Any, axis: int, room: int) -> Any:
        """A read-only copy of an array with room for `room` rows along an axis, for a cache of keys and values. Where
        the model appends rows to such an input, its output shares the memory: only the new rows are written. The output
        is the next call's input as it is. When the room is used up, it doubles."""
        program = self._program or self._compiled()
        given, code = _values.tensor_form(array, None, None, "growing")[:2]
        if code == _dtypes.STRING:
            raise Unsupported("unsupported: an array of strings that grows", "E0502")
        if not -given.ndim <= axis < given.ndim:
            raise UsageError(f"growing: an array of rank {given.ndim} has no axis {axis}")
        axis %= given.ndim
        if room < max(given.shape[axis], 1):
            raise UsageError(f"growing: room for {room} rows, the array has {given.shape[axis]}")
        return _dtypes.restored(program.growing(np.ascontiguousarray(given), code, axis, room), code)

    def context(self, *, interpret: bool = False, dry_run: bool = False) -> Context:
        """For many runs with inputs that stay set. interpret: its host code runs as bytecode; dry_run: runs only count
        memory."""
        from ._context import Context
        return Context(self, self._program or self._compiled(), interpret, dry_run)

    async def arun(self, /, *positional: Any, **by_name: Any) -> Result:
        """As a call, on a thread of asyncio's own: `y = await model.arun(x)`. A task that is cancelled waits no
        longer; its run goes on to its end."""
        import asyncio
        return await asyncio.to_thread(self, *positional, **by_name)

    def _run(self, given: tuple[Any, ...], out: Any) -> Result:
        program = self._program or self._compiled()
        if out is None:
            made = program.run_plain(given)
            if made is not None:
                return Result(self._names, made)
        targets = _values.targets_of(self.outputs, out) if out is not None else []
        forms = program.run([_values.form_of(port, one) for port, one in zip(self._inputs, given)], targets)
        return Result(self._names, forms)

    def _listed(self, inputs: Mapping[str, Any] | Sequence[Any]) -> tuple[Any, ...]:
        """What a mapping or a sequence gives, in the order of the inputs."""
        if isinstance(inputs, Mapping):
            return self._arranged((), {str(name): value for name, value in inputs.items()})
        if isinstance(inputs, (list, tuple)):
            return self._arranged(tuple(inputs), {})
        raise UsageError(f"inputs: a {type(inputs).__name__} is neither a mapping nor a list")

    def _arranged(self, positional: tuple[Any, ...], by_name: dict[str, Any]) -> tuple[Any, ...]:
        """What is given, in the order of the inputs."""
        if not positional and len(by_name) == len(self._inputs):
            try:
                return tuple([by_name[name] for name in self._index])
            except KeyError:
                pass  # said below
        known = ", ".join(port.name for port in self._inputs)
        if len(positional) > len(self._inputs):
            raise missing_input(f"{len(positional)} inputs are given, the model has {len(self._inputs)}: {known}")
        given = dict(enumerate(positional))
        for name, value in by_name.items():
            if name not in self._index:
                raise missing_input(f"there is no input '{name}'; inputs: {known}")
            if self._index[name] in given:
                raise missing_input(f"input '{name}' is given twice: by position and by name")
            given[self._index[name]] = value
        missing = [f"'{port.name}' ({port.type})" for i, port in enumerate(self._inputs)
                   if i not in given and port.kind != "optional"]
        if missing:
            raise missing_input(f"missing: input {', '.join(missing)}")
        return tuple(given.get(i) for i in range(len(self._inputs)))  # None: an optional input that is absent

    def __repr__(self) -> str:
        package = type(self).__module__.partition(".")[0]
        return f"{package}.Model({', '.join(f'{port.name}: {port.type}' for port in self._inputs)})"
