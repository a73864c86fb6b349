"""A model: a package that was compiled elsewhere."""

from __future__ import annotations

import base64
import os
import re
from typing import Any

from . import _dyn, _values
from ._calls import Calls
from ._errors import FileError, Unsupported, UsageError
from ._threads import ThreadPool, split
from ._values import Port

_COMPILES = ("unsupported: {} without a compiler: dyn_runtime runs packages (.dynpkg) alone. The package dyn and "
             "the program dynrepl compile models")
_UNITS = {"": 1, "B": 1, "K": 2**10, "KB": 2**10, "KIB": 2**10, "M": 2**20, "MB": 2**20, "MIB": 2**20, "G": 2**30,
          "GB": 2**30, "GIB": 2**30}
_MAGIC = b"DYNPACK1"
_How = tuple[int, int, bool, bytes, _dyn.ThreadPool | None]
_KEY_HEAD = bytes.fromhex("302a300506032b6570032100")  # DER of such a key, but for its 32 bytes


class Model(Calls):
    """A package that load() read. Any number of threads may call it at once; the lock of the interpreter is
    released while it runs."""

    def __init__(self, program: _dyn.Program, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> None:
        super().__init__(inputs)
        self._outputs = outputs
        self._names = tuple(port.name for port in outputs)
        self._program: _dyn.Program = program

    def _compiled(self) -> _dyn.Program:
        return self._program

    def compile(self) -> Model:
        """A package is compiled already."""
        return self

    def cancel(self) -> None:
        """Ends the runs under way with Cancelled. Any thread; without one it does nothing."""
        self._program.cancel()

    def __getattr__(self, name: str) -> Any:
        if name in ("command", "commands", "dims", "export", "kernels", "limit", "passes", "plan", "predict",
                    "profile", "save", "text", "to_onnx", "why"):
            raise Unsupported(_COMPILES.format(f"Model.{name}"), "E0502")
        raise AttributeError(f"'Model' object has no attribute '{name}'")


def _ports(rows: list[Any]) -> tuple[Port, ...]:
    ports = [_values.port_of(row) for row in rows]
    return tuple(port._replace(type=_type_text(port)) for port in ports)


def _type_text(port: Port) -> str:
    if port.dtype is None or port.shape is None:
        return port.kind
    return f"Tensor[({', '.join(map(str, port.shape))}), {port.dtype}]"


def _bytes_of(memory: int | str) -> int:
    found = re.fullmatch(r"(\d+)([A-Za-z]*)", str(memory))
    if not found or found[2].upper() not in _UNITS:
        raise UsageError(f"mem_limit: '{memory}' is not a number of bytes: write it as 1000000, 512MB or 2GB")
    return int(found[1]) * _UNITS[found[2].upper()]


def load(source: Any, *, name: str = "model.dynpkg", threads: int | ThreadPool = 0, mem_limit: int | str = 0, native_code: bool = True,
         verify_key: str | os.PathLike[str] | None = None, **options: Any) -> Model:
    """Opens a package: a path, or bytes (of that name). threads: of a call, 0: all cores, or a ThreadPool; mem_limit: bytes or "512MB", 0: the
    machine's memory; native_code=False: without the package's machine code; verify_key: the file of an Ed25519 public
    key that must have signed it. Other options are the compiler's: Unsupported. Raises FileError, ModelError."""
    if options:
        raise Unsupported(_COMPILES.format(f"option {', '.join(options)}"), "E0502")
    key = b"" if verify_key is None else _key_of(verify_key)
    count, pool = split(threads)
    how = (count or _dyn.usable_cores(), _bytes_of(mem_limit), native_code, key, pool)
    if isinstance(source, (bytes, bytearray, memoryview)):
        if bytes(source[:len(_MAGIC)]) != _MAGIC:
            raise Unsupported(_COMPILES.format(f"{name}, whose bytes are no package,"), "E0502")
        return _loaded_bytes(source, how)
    if not isinstance(source, (str, os.PathLike)):
        raise Unsupported(_COMPILES.format(f"a {type(source).__name__}"), "E0502")
    path = os.fsdecode(os.fspath(source))
    if path.endswith((".onnx", ".dyn")):
        raise Unsupported(_COMPILES.format(path), "E0502")
    return _loaded(path, how)


def _loaded(path: str, how: _How) -> Model:
    program, inputs, outputs = _dyn.load(path, *how)
    return Model(program, _ports(inputs), _ports(outputs))


def _loaded_bytes(source: bytes | bytearray | memoryview, how: _How) -> Model:
    """The runtime maps files; this one lies in memory and has no name."""
    descriptor = os.memfd_create("package")
    with os.fdopen(descriptor, "wb") as file:
        file.write(source)
        file.flush()
        return _loaded(f"/proc/self/fd/{descriptor}", how)


def _key_of(path: str | os.PathLike[str]) -> bytes:
    """The 32 bytes of a key in PEM."""
    try:
        with open(path, encoding="ascii") as file:
            text = file.read()
    except OSError as fault:
        raise FileError(str(fault), "E0010") from fault
    except UnicodeDecodeError:
        text = ""
    found = re.search("-----BEGIN PUBLIC KEY-----(.*?)-----END PUBLIC KEY-----", text, re.S)
    data = base64.b64decode("".join(found[1].split())) if found else b""
    if len(data) != len(_KEY_HEAD) + 32 or not data.startswith(_KEY_HEAD):
        raise UsageError(f"verify_key: {os.fspath(path)} is no Ed25519 public key in PEM")
    return data[len(_KEY_HEAD):]
