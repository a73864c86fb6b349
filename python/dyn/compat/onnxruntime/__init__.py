"""The part of onnxruntime's Python interface that programs run models with, answered by Dyn.

What is taken, ignored (with one warning each) and refused: docs/onnxruntime.md."""

from __future__ import annotations

from ... import __version__ as _dyn_version
from ._binding import IOBinding, SessionIOBinding
from ._environment import (create_and_register_allocator, disable_telemetry_events, enable_telemetry_events,
                           get_all_providers, get_available_providers, get_build_info, get_device, get_version_string,
                           has_collective_ops, preload_dlls, print_debug_info, set_default_logger_severity,
                           set_default_logger_verbosity, set_seed)
from ._metadata import ModelMetadata
from ._options import (ExecutionMode, ExecutionOrder, GraphOptimizationLevel, IgnoredOption, RunOptions,
                       SessionOptions)
from ._session import InferenceSession
from ._types import NodeArg
from ._values import OrtArenaCfg, OrtDevice, OrtMemoryInfo, OrtMemType, OrtAllocatorType, OrtValue, SparseTensor

# The version whose interface this follows; programs compare it.
__version__ = get_version_string()
__author__ = "Dyn " + _dyn_version
package_name = "onnxruntime"

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "IgnoredOption", "InferenceSession",
    "ModelMetadata", "NodeArg", "OrtAllocatorType", "OrtArenaCfg", "OrtDevice", "OrtMemType", "OrtMemoryInfo",
    "OrtValue", "RunOptions", "SessionIOBinding", "SessionOptions", "SparseTensor", "create_and_register_allocator",
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers", "get_available_providers",
    "get_build_info", "get_device", "get_version_string", "has_collective_ops", "preload_dlls", "print_debug_info",
    "set_default_logger_severity", "set_default_logger_verbosity", "set_seed",
]
