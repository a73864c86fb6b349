"""A model: run it, ask about it, write it."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _dyn, _values
from ._calls import Calls
from ._errors import ModelWarning, UsageError, diagnostic_of
from ._generate import Generates
from ._options import options_of
from ._progress import Handle
from ._questions import Questions
from ._threads import split
from ._values import Port


class Model(Calls, Generates, Questions):
    """A model that load() read. It compiles at the first call, once for all sizes. Any number of threads may
    call it at once; the lock of the interpreter is released while it compiles and runs."""

    def __init__(self, handle: Handle, package: bytes | str | None = None, pool: _dyn.ThreadPool | None = None) -> None:
        """package: the bytes or the path of what was loaded, if that is a package; pool: whose threads its runs use."""
        super().__init__(tuple(_values.port_of(row) for row in handle.ports(input=True)))
        self._handle = handle
        self._package = package
        self._pool = pool
        self._compiling = threading.Lock()

    def _output_ports(self) -> tuple[Port, ...]:
        return tuple(_values.port_of(row) for row in self._handle.ports(input=False))

    def compile(self) -> Model:
        """Compiles what is not compiled yet; a call does it, too."""
        self._compiled()
        return self

    def _compiled(self) -> _dyn.Program:
        with self._compiling:
            if self._program is None:
                settings = {row["name"]: row["value"] for row in self.command("set")["settings"]}
                self._names = tuple(port.name for port in self.outputs)
                with self._handle.progress:
                    self._program = self._handle.compile(int(settings["threads"]) or _dyn.usable_cores(),
                                                         int(settings["mem-limit"]), self._pool)
            return self._program

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
        with self._handle.progress:
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


def _unpickled(package: bytes, options: dict[str, Any]) -> Model:
    return Model(opened(package, "model.dynpkg", options), package)


def load(source: Any, *, name: str = "model.onnx", dims: Mapping[str, Any] | Sequence[str] | None = None, **options: Any) -> Model:
    """Reads and checks a model: a path (.onnx, .dyn, .dynpkg), bytes (`name` says by its ending what they are),
    or an onnx.ModelProto. dims={"seq": "1..512:8"} declares ranges, dims=["seq=2*n"] relations. Options are those of the shell's `set`, `_`
    for `-`: threads=2 (or a ThreadPool), math="bf16", device="cuda", cache_dir="none", mem_limit="512MB"; static=True
    refuses open sizes. Warnings of the model are ModelWarning. Raises FileError, ModelError, Unsupported, UsageError."""
    pool = None
    if "threads" in options:
        options["threads"], pool = split(options["threads"])
    handle = opened(source, name, {"dims": dims, **options})
    for said in warnings_of(handle):
        warnings.warn(said, ModelWarning, stacklevel=2)
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(os.fspath(source))
        return Model(handle, os.path.abspath(path) if path.endswith(".dynpkg") else None, pool)
    return Model(handle, bytes(source) if name.endswith(".dynpkg") else None, pool)


def warnings_of(handle: Handle) -> list[str]:
    found = [diagnostic_of(row) for row in handle.warnings]
    return [f"[{said.id}] {said.place}: {said.message}" if said.place else f"[{said.id}] {said.message}"
            for said in found]


def opened(source: Any, name: str, options: dict[str, Any]) -> Handle:
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
    return Handle(path, data, name, options_of(options))
