"""Options of sessions and runs: what is taken, what is ignored with one warning, what is refused."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from ._errors import NotImplemented as Refused


class IgnoredOption(UserWarning):
    """An option that Dyn has no use for; said once for each option."""


_said: set[str] = set()


def ignore(name: str, why: str = "Dyn has no use for it") -> None:
    if name not in _said:
        _said.add(name)
        warnings.warn(f"{name} is ignored: {why}", IgnoredOption, stacklevel=4)


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1


# Attributes that change nothing here.
_IGNORED: dict[str, Any] = {
    "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL, "execution_order": ExecutionOrder.DEFAULT,
    "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL, "inter_op_num_threads": 0,
    "use_deterministic_compute": False, "use_per_session_threads": True,
}
_SILENT = {"log_severity_level": -1, "log_verbosity_level": 0, "logid": "",
           "profile_file_prefix": "onnxruntime_profile_"}
_REASONS = {
    "enable_profiling": "dyn.load(...).profile() measures a run",
    "use_deterministic_compute": "results do not depend on the run",
    "graph_optimization_level": "the passes of Dyn always run",
}


class SessionOptions:
    """Taken: intra_op_num_threads, optimized_model_filepath, add_free_dimension_override_by_name."""

    def __init__(self) -> None:
        self.__dict__.update(_IGNORED)
        self.__dict__.update(_SILENT)
        self.intra_op_num_threads = 0
        self.optimized_model_filepath = ""
        self._dims: dict[str, int] = {}
        self._entries: dict[str, str] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        known = name in self.__dict__ or name.startswith("_")
        if not known and name not in ("intra_op_num_threads", "optimized_model_filepath"):
            raise AttributeError(f"SessionOptions has no attribute '{name}'")
        if name in _IGNORED and value != _IGNORED[name]:
            ignore(f"SessionOptions.{name}", _REASONS.get(name, "Dyn has no use for it"))
        self.__dict__[name] = value

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        self._dims[name] = int(value)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        ignore("SessionOptions.add_free_dimension_override_by_denotation", "Dyn keeps no denotations")

    def add_session_config_entry(self, key: str, value: str) -> None:
        ignore(f"session config entry {key}")
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"there is no session config entry {key}")
        return self._entries[key]

    def register_custom_ops_library(self, path: str) -> None:
        raise Refused("Dyn runs no operators of onnxruntime's custom libraries")

    def add_initializer(self, name: str, value: Any) -> None:
        raise Refused("Dyn replaces no weights: write them to the model with the package onnx")

    def add_external_initializers(self, names: Any, values: Any) -> None:
        raise Refused("Dyn replaces no weights: write them to the model with the package onnx")

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        ignore(f"provider {name}", "Dyn runs on the CPU here")

    def has_providers(self) -> bool:
        return False


class RunOptions:
    """terminate is looked at before a run. The others change nothing."""

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.terminate = False
        self._entries: dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        ignore(f"run config entry {key}")
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"there is no run config entry {key}")
        return self._entries[key]

    def add_active_adapter(self, adapter: Any) -> None:
        raise Refused("Dyn has no adapters")
