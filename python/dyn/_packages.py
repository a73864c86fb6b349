"""A model on the machines of a cluster: as one file of each machine, which all processes there map."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._errors import FileError, Unsupported, UsageError
from ._model import Model, load

_MOST_BYTES = 64 << 20
_OF_RUNS = ("threads", "mem_limit", "verify_key")  # options that a package takes, too


@dataclass(frozen=True)
class Package:
    """path: of a file that every machine has; "": `data` is a package (.dynpkg), which travels with this object and
    becomes a file of each machine."""

    path: str
    data: bytes = field(default=b"", repr=False)

    def file(self) -> str:
        """The file on this machine."""
        return self.path or _file_of(self.data)

    def load(self, options: dict[str, Any]) -> Model:
        return load(self.file(), **{"threads": 1, **options})


def is_package_path(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike)) and os.fspath(model).endswith(".dynpkg")


def packaged(model: Any, **options: Any) -> Package:
    """Of a Model, or of what load() takes, with its options. A path of a .dynpkg stays that path. Raises Unsupported
    for a larger package than travels."""
    if isinstance(model, (Package, Model)) or is_package_path(model):
        if options:
            raise UsageError(f"the model is compiled, so it is too late for {', '.join(options)}")
        if isinstance(model, Package):
            return model
        if not isinstance(model, Model):
            return Package(os.path.abspath(os.fspath(model)))
    else:
        model = load(model, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.dynpkg")
        model.save(path)
        if os.path.getsize(path) > _MOST_BYTES:
            raise Unsupported(f"unsupported: a package of {os.path.getsize(path) >> 20} MiB that travels to machines, at "
                              f"most {_MOST_BYTES >> 20} MiB do: save it to a path that every machine has, and give "
                              "that path", "E0502")
        with open(path, "rb") as file:
            return Package("", file.read())


def packaged_for_runs(model: Any, options: Mapping[str, Any]) -> tuple[Package, dict[str, Any]]:
    """packaged() with the options that it takes, and the others, which Package.load() takes."""
    of_runs = {name: value for name, value in options.items() if name in _OF_RUNS}
    return packaged(model, **{name: value for name, value in options.items() if name not in _OF_RUNS}), of_runs


def _own_folder() -> str:
    """For packages of this user: they are machine code, so nobody else may write there."""
    path = os.path.join(tempfile.gettempdir(), f"dyn-packages-{os.getuid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise FileError(f"{path} is no folder that this user alone may write to: remove it, or set TMPDIR")
    return path


def _file_of(data: bytes) -> str:
    """Written once for each machine; processes that come at once write the same bytes."""
    digest = hashlib.sha256(data).digest()
    path = os.path.join(_own_folder(), digest.hex() + ".dynpkg")
    if os.path.exists(path):
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").digest() == digest:
                return path
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as made:
        made.write(data)
    os.replace(made.name, path)
    return path
