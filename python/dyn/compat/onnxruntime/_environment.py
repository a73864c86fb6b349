"""Functions of the module that are about no session."""

from __future__ import annotations

from typing import Any

from ._errors import NotImplemented as Refused


def get_available_providers() -> list[str]:
    return ["CPUExecutionProvider"]


def get_all_providers() -> list[str]:
    return ["CPUExecutionProvider"]


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    """Of the interface."""
    return "1.23.0"


def get_build_info() -> str:
    from ... import __version__
    return f"Dyn {__version__}"


def has_collective_ops() -> bool:
    return False


def set_seed(seed: int) -> None:
    """Nothing: operators that draw at random have a seed of their own."""


def set_default_logger_severity(severity: int) -> None:
    """0: all, 4: only what is fatal. Of the logger "dyn"."""
    import logging
    levels = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
    if not 0 <= severity < len(levels):
        raise RuntimeError(f"there is no severity {severity}: 0 to 4")
    logging.getLogger("dyn").setLevel(levels[severity])


def set_default_logger_verbosity(verbosity: int) -> None:
    """Nothing."""


def enable_telemetry_events() -> None:
    """Nothing: there is no telemetry."""


def disable_telemetry_events() -> None:
    """Nothing: there is no telemetry."""


def preload_dlls(*given: Any, **by_name: Any) -> None:
    """Nothing: there are none to load."""


def print_debug_info() -> None:
    print(f"{get_build_info()} with the interface of onnxruntime {get_version_string()}")


def create_and_register_allocator(*given: Any) -> None:
    raise Refused("Dyn shares no allocator between sessions")
