"""Keyword options of load() as names and values of the library (docs/c-api.md, Options)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._errors import UsageError

Options = list[tuple[str, str]]
_RENAMED = {"cache": "cache-dir", "memory_limit": "mem-limit"}


def _text(name: str, value: Any) -> str:
    if value is True:
        return "on"
    if value is False:
        return "off"
    if isinstance(value, (str, int, float, os.PathLike)):
        return str(os.fspath(value) if isinstance(value, os.PathLike) else value)
    if name == "ops" and isinstance(value, (list, tuple)):
        return ";".join(_text(name, file) for file in value)
    raise UsageError(f"option {name}: a {type(value).__name__} is no value of an option")


def _dims(said: Any) -> list[str]:
    """{"seq": "1..512", "n": "<=m"}, or the texts of --dim themselves: ["seq=2*n", "n<=m"]."""
    if isinstance(said, Mapping):
        texts = {dim: _text(dim, size) for dim, size in said.items()}
        return [dim + text if text.startswith(("<", ">", "==")) else f"{dim}={text}" for dim, text in texts.items()]
    if isinstance(said, (list, tuple)) and all(isinstance(text, str) for text in said):
        return list(said)
    raise UsageError('option dims: write {"seq": "1..512"}, or a list such as ["seq=2*n", "n<=m"]')


def options_of(given: Mapping[str, Any]) -> Options:
    """dims={"seq": "1..512"} becomes a "dim" each; static=True the switch; ops= takes a list of files; `_` in a name is `-`."""
    options: Options = []
    for name, value in given.items():
        if value is None:
            continue
        if name == "dims":
            options += [("dim", text) for text in _dims(value)]
        elif name == "static":
            options += [("static", "")] if value else []
        else:
            options.append((_RENAMED.get(name, name.replace("_", "-")), _text(name, value)))
    return options
