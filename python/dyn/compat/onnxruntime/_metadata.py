"""What an ONNX file says of itself, read from its bytes: the fields of onnx.proto3's ModelProto that are no graph."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

_NO_VERSION = 2**63 - 1  # onnxruntime's, of a file that gives none
_VARINT, _EIGHT_BYTES, _TEXT, _FOUR_BYTES = 0, 1, 2, 5


class ModelMetadata:
    def __init__(self) -> None:
        self.producer_name = ""
        self.graph_name = ""
        self.domain = ""
        self.description = ""
        self.graph_description = ""
        self.version = _NO_VERSION
        self.custom_metadata_map: dict[str, str] = {}


def _number(data: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(data: Any, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(field, number, begin, end) of a message: number of a varint, else the place of its bytes."""
    while at < end:
        key, at = _number(data, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _number(data, at)
            yield key >> 3, number, at, at
            continue
        if kind == _TEXT:
            size, at = _number(data, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            return
        yield key >> 3, 0, at, at + size
        at += size


def metadata_of(data: Any) -> ModelMetadata:
    """Of the bytes of an ONNX file; of anything else what could be read."""
    made = ModelMetadata()

    def text(begin: int, end: int) -> str:
        return bytes(data[begin:end]).decode("utf-8", "replace")

    try:
        for field, number, begin, end in _fields(data, 0, len(data)):
            if field == 2:
                made.producer_name = text(begin, end)
            elif field == 4:
                made.domain = text(begin, end)
            elif field == 5:
                made.version = number
            elif field == 6:
                made.description = text(begin, end)
            elif field == 7:
                for part, _, inner_begin, inner_end in _fields(data, begin, end):
                    if part == 2:
                        made.graph_name = text(inner_begin, inner_end)
                    elif part == 10:
                        made.graph_description = text(inner_begin, inner_end)
            elif field == 14:
                entry = {part: text(b, e) for part, _, b, e in _fields(data, begin, end)}
                made.custom_metadata_map[entry.get(1, "")] = entry.get(2, "")
    except IndexError:
        pass
    return made


def metadata_of_file(path: str) -> ModelMetadata:
    with open(path, "rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return metadata_of(data)
        except ValueError:  # an empty file
            return ModelMetadata()
