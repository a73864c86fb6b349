"""Answers `import onnxruntime` with dyn.compat.onnxruntime."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_NAME = "onnxruntime"
_OURS = "dyn.compat.onnxruntime"


class _Alias(importlib.abc.Loader):
    """Gives the module of the package under the other name."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(_OURS + spec.name[len(_NAME):])

    def exec_module(self, module: ModuleType) -> None:
        """It has run already; its spec is its own again."""
        loader = module.__loader__ if isinstance(module.__loader__, importlib.abc.Loader) else None
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, loader, origin=module.__file__,
                                                         is_package=hasattr(module, "__path__"))


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        ours = importlib.util.find_spec(_OURS + fullname[len(_NAME):])
        if ours is None:
            raise ModuleNotFoundError(f"dyn.compat.onnxruntime has no part '{fullname}'", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, _Alias(), origin=ours.origin,
                                              is_package=ours.submodule_search_locations is not None)


_finder = _Finder()


def installed() -> bool:
    return _finder in sys.meta_path


def install() -> None:
    """`import onnxruntime` gives dyn.compat.onnxruntime from here on. Raises RuntimeError where onnxruntime itself is
    imported already: who has its classes keeps them."""
    if installed():
        return
    if _NAME in sys.modules:
        raise RuntimeError("onnxruntime is imported already: call dyn.compat.install() before it")
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """`import onnxruntime` gives onnxruntime again, where it is installed."""
    if not installed():
        return
    sys.meta_path.remove(_finder)
    for name in [name for name in sys.modules if name == _NAME or name.startswith(_NAME + ".")]:
        del sys.modules[name]
