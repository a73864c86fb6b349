"""A model: run it, ask about it, write it."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _dyn, _values
from ._errors import ModelWarning, UsageError, diagnostic_of, missing_input
from ._options import options_of
from ._questions import Questions
from ._values import Port, Result


class Model(Questions):
    """A model that load() read. It compiles at the first call, once for all sizes. Any number of threads may
    call it at once; the lock of the interpreter is released while it compiles and runs."""

    def __init__(self, handle: _dyn.Model, package: bytes | str | None = None) -> None:
        """package: the bytes or the path of what was loaded, if that is a package."""
        self._handle = handle
        self._package = package
        self._inputs = tuple(_values.port_of(row) for row in handle.ports(input=True))
        self._index = {port.name: i for i, port in enumerate(self._inputs)}
        self._outputs: tuple[Port, ...] | None = None
        self._names: tuple[str, ...] = ()
        self._program: _dyn.Program | None = None
        self._compiling = threading.Lock()

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """With inferred types."""
        if self._outputs is None:
            self._outputs = tuple(_values.port_of(row) for row in self._handle.ports(input=False))
        return self._outputs

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
                self._names = tuple(port.name for port in self.outputs)
                self._program = self._handle.compile(int(settings["threads"]) or _dyn.usable_cores(),
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

    def run_sequences(self, inputs: Mapping[str, Any], lengths: str = "") -> Result:
        """Runs a model of padded batches [batch, longest, ...] on sequences of different lengths:
        run_sequences({"input_ids": [ids0, ids1]}), where ids0 and ids1 are arrays [length, ...]. Inputs that are
        no lists are arrays as of run(). The input that holds the lengths or the mask is filled in; lengths: its
        name, where several may be it. Outputs with the padded axis are lists of arrays, one for each sequence."""
        program = self._program or self._compiled()
        for name in inputs:
            if name not in self._index:
                raise missing_input(f"there is no input '{name}'; inputs: {', '.join(self._index)}")
        forms = [None if port.name not in inputs else _values.sequences_form(port, inputs[port.name])
                 for port in self._inputs]
        made = program.run_sequences(forms, list(self._index), lengths)
        return Result(self._names, [_values.sequences_of(form) for form in made])

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a package (.dynpkg): load() and the runtime read it and compile nothing."""
        if not os.fspath(path).endswith(".dynpkg"):
            raise UsageError(f"'{os.fspath(path)}' does not end in .dynpkg; export() and to_onnx() write other forms")
        if self._package is None:
            self.export(path, kind="package")
        elif isinstance(self._package, str):
            import shutil
            shutil.copyfile(self._package, path)
        else:
            with open(path, "wb") as file:
                file.write(self._package)

    def export(self, path: str | os.PathLike[str], kind: str, **options: Any) -> None:
        """Writes it as kind "package", "exe", "static", "shared" or "image" (docs/exports.md)."""
        self._handle.export(kind, os.fspath(path), options_of(options))

    def to_onnx(self, path: str | os.PathLike[str], after: str | None = None) -> None:
        """Writes its graph to NAME.onnx; after: a pass, as it stands behind it."""
        if not os.fspath(path).endswith(".onnx"):
            raise UsageError(f"'{os.fspath(path)}' does not end in .onnx")
        self._handle.save(os.fspath(path), [("pass", after)] if after else [])

    def __reduce__(self) -> tuple[Any, ...]:
        """As the bytes of its package; the copy has its settings of threads and memory."""
        import tempfile
        settings = {row["name"]: row["value"] for row in self.command("set")["settings"]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.dynpkg")
            self.save(path)
            with open(path, "rb") as file:
                return _unpickled, (file.read(), {"threads": settings["threads"], "mem-limit": settings["mem-limit"]})

    def _repr_html_(self) -> str:
        from ._notebook import model_html
        return model_html(self)

    def __repr__(self) -> str:
        return f"dyn.Model({', '.join(f'{port.name}: {port.type}' for port in self._inputs)})"


def _unpickled(package: bytes, options: dict[str, Any]) -> Model:
    return Model(opened(package, "model.dynpkg", options), package)


def load(source: Any, *, name: str = "model.onnx", dims: dict[str, Any] | None = None, **options: Any) -> Model:
    """Reads and checks a model: a path (.onnx, .dyn, .dynpkg), bytes (`name` says by its ending what they are),
    or an onnx.ModelProto. dims={"seq": "1..512:8"} declares ranges. Options are those of the shell's `set`, `_`
    for `-`: threads=2, math="bf16", device="cuda", cache_dir="none", mem_limit="512MB"; static=True refuses open
    sizes. Warnings of the model are ModelWarning. Raises FileError, ModelError, Unsupported, UsageError."""
    handle = opened(source, name, {"dims": dims, **options})
    for said in warnings_of(handle):
        warnings.warn(said, ModelWarning, stacklevel=2)
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(os.fspath(source))
        return Model(handle, os.path.abspath(path) if path.endswith(".dynpkg") else None)
    return Model(handle, bytes(source) if name.endswith(".dynpkg") else None)


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
    return _dyn.Model(path, data, name, options_of(options), _log)


def _log(text: str, fraction: float | None) -> None:
    """Of the library: log lines are INFO of the logger "dyn", progress is DEBUG."""
    import logging
    logger = logging.getLogger("dyn")
    if fraction is None:
        logger.info(text)
    elif logger.isEnabledFor(logging.DEBUG):
        logger.debug(text if fraction < 0 else f"{text} ({fraction:.0%})")
