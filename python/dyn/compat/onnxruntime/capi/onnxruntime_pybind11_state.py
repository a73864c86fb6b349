"""Exceptions and classes under the names that programs import them by."""

from .._binding import IOBinding as SessionIOBinding
from .._environment import get_all_providers, get_available_providers, get_build_info, get_device, get_version_string
from .._errors import (EngineError, EPFail, Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled,
                       ModelLoaded, ModelRequiresCompilation, NoModel, NoSuchFile, NotFound, NotImplemented,
                       RuntimeException)
from .._metadata import ModelMetadata
from .._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .._types import NodeArg
from .._values import OrtDevice, OrtMemoryInfo, OrtValue

__all__ = [
    "EPFail", "EngineError", "ExecutionMode", "ExecutionOrder", "Fail", "GraphOptimizationLevel", "InvalidArgument",
    "InvalidGraph", "InvalidProtobuf", "ModelLoadCanceled", "ModelLoaded", "ModelMetadata",
    "ModelRequiresCompilation", "NoModel", "NoSuchFile", "NodeArg", "NotFound", "NotImplemented", "OrtDevice",
    "OrtMemoryInfo", "OrtValue", "RunOptions", "RuntimeException", "SessionIOBinding", "SessionOptions",
    "get_all_providers", "get_available_providers", "get_build_info", "get_device", "get_version_string",
]
