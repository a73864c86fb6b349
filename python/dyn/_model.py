"""A model: run it, ask about it, write it."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _dyn, _values
from ._errors import ModelWarning, UsageError, diagnostic_of, missing_input
from ._options import options_of, physical_cores
from ._values import Dim, Port, Result


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


class Model:
    """A model that load() read. It compiles at the first call, once for all sizes. Any number of threads may
    call it at once; the lock of the interpreter is released while it compiles and runs."""

    def __init__(self, handle: _dyn.Model) -> None:
        self._handle = handle
        self._inputs = tuple(_values.port_of(row) for row in handle.ports(input=True))
        self._index = {port.name: i for i, port in enumerate(self._inputs)}
        self._names: tuple[str, ...] = ()
        self._program: _dyn.Program | None = None
        self._compiling = threading.Lock()

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """With inferred types."""
        return tuple(_values.port_of(row) for row in self._handle.ports(input=False))

    @property
    def dims(self) -> dict[str, Dim]:
        """The sizes known only at run time, by name."""
        rows = self.command("dims")["dims"]
        return {row["symbol"]: Dim(row["symbol"], row["low"], row["high"], row["multiple"], row["origin"])
                for row in rows}

    @property
    def copies(self) -> int:
        """Arrays that calls had to copy: inputs that are not dense in C order, outputs that are an input."""
        return self._program.copies if self._program else 0

    def compile(self) -> Model:
        """Compiles what is not compiled yet; a call does it, too."""
        self._compiled()
        return self

    def _compiled(self) -> _dyn.Program:
        with self._compiling:
            if self._program is None:
                settings = {row["name"]: row["value"] for row in self.command("set")["settings"]}
                self._names = tuple(row[0] for row in self._handle.ports(input=False))
                self._program = self._handle.compile(int(settings["threads"]) or physical_cores(),
                                                     int(settings["mem-limit"]))
            return self._program

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
        if isinstance(inputs, Mapping):
            given = self._arranged((), {str(name): value for name, value in inputs.items()})
        elif isinstance(inputs, (list, tuple)):
            given = self._arranged(tuple(inputs), {})
        else:
            raise UsageError(f"inputs: a {type(inputs).__name__} is neither a mapping nor a list")
        return self._run(given, out)

    def _run(self, given: tuple[Any, ...], out: Any) -> Result:
        program = self._compiled()
        targets = _values.targets_of(self.outputs, out) if out is not None else []
        forms = program.run([_values.form_of(port, one) for port, one in zip(self._inputs, given)], targets)
        return Result(self._names, forms)

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
        missing = [f"'{port.name}' ({port.type})" for i, port in enumerate(self._inputs) if i not in given]
        if missing:
            raise missing_input(f"missing: input {', '.join(missing)}")
        return tuple(given[i] for i in range(len(self._inputs)))

    def cancel(self) -> None:
        """Ends the compilation, command and runs under way with Cancelled. Any thread; without one it does
        nothing."""
        self._handle.cancel()
        if self._program:
            self._program.cancel()

    def why(self, question: str) -> Explanation:
        """"out.1" (an axis of a value), "seq" (a dim), "check0" (a check), "a.0=b.0" (a relation)."""
        row = self.command(f"why {question}")["why"]
        return Explanation(row["question"], row["answer"], tuple(row["lines"]), tuple(row["chain"]),
                           self.text(f"why {question}").rstrip("\n"))

    def predict(self, /, **dims: int) -> Prediction:
        """What a call with these dims will be, without running it: predict(batch=4, seq=128)."""
        shapes, peak, refused, checks = self._handle.predict([(name, int(size)) for name, size in dims.items()])
        names = [row[0] for row in self._handle.ports(input=False)]
        sizes = [None if shape is None else tuple(None if size < 0 else size for size in shape) for shape in shapes]
        return Prediction(dict(zip(names, sizes)), None if peak < 0 else peak, refused,
                          tuple(Check(*check) for check in checks))

    def command(self, line: str) -> dict[str, Any]:
        """Any command of the shell but load and reload; its answer is what `dynrepl --json` prints."""
        answer: dict[str, Any] = json.loads(self._handle.command(line, as_text=False))
        return answer

    def text(self, line: str) -> str:
        """The same as the shell prints it."""
        return self._handle.command(line, as_text=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a package (.dynpkg): load() and the runtime read it and compile nothing."""
        if not os.fspath(path).endswith(".dynpkg"):
            raise UsageError(f"'{os.fspath(path)}' does not end in .dynpkg; export() and to_onnx() write other forms")
        self.export(path, kind="package")

    def export(self, path: str | os.PathLike[str], kind: str, **options: Any) -> None:
        """Writes it as kind "package", "exe", "static", "shared" or "image" (docs/exports.md)."""
        self._handle.export(kind, os.fspath(path), options_of(options))

    def to_onnx(self, path: str | os.PathLike[str], after: str | None = None) -> None:
        """Writes its graph to NAME.onnx; after: a pass, as it stands behind it."""
        if not os.fspath(path).endswith(".onnx"):
            raise UsageError(f"'{os.fspath(path)}' does not end in .onnx")
        self._handle.save(os.fspath(path), [("pass", after)] if after else [])

    def __repr__(self) -> str:
        return f"dyn.Model({', '.join(f'{port.name}: {port.type}' for port in self._inputs)})"


def load(source: Any, *, name: str = "model.onnx", dims: dict[str, Any] | None = None, **options: Any) -> Model:
    """Reads and checks a model: a path (.onnx, .dyn, .dynpkg), bytes (`name` says by its ending what they are),
    or an onnx.ModelProto. dims={"seq": "1..512:8"} declares ranges. Options are those of the shell's `set`, `_`
    for `-`: threads=2, math="bf16", device="cuda", cache_dir="none", mem_limit="512MB"; static=True refuses open
    sizes. Warnings of the model are ModelWarning. Raises FileError, ModelError, Unsupported, UsageError."""
    handle = opened(source, name, {"dims": dims, **options})
    for said in warnings_of(handle):
        warnings.warn(said, ModelWarning, stacklevel=2)
    return Model(handle)


def warnings_of(handle: _dyn.Model) -> list[str]:
    found = [diagnostic_of(row) for row in handle.warnings]
    return [f"[{said.id}] {said.place}: {said.message}" if said.place else f"[{said.id}] {said.message}"
            for said in found]


def opened(source: Any, name: str, options: dict[str, Any]) -> _dyn.Model:
    """What load() makes a Model of."""
    path, data = None, None
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    elif hasattr(source, "SerializeToString"):
        data = source.SerializeToString()
    else:
        raise UsageError(f"a {type(source).__name__} is no model: give a path, bytes or an onnx.ModelProto")
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return _dyn.Model(path, data, name, options_of(options))
