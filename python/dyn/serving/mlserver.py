"""The runtime for MLServer: `"implementation": "dyn.serving.mlserver.DynRuntime"` of a model-settings.json.

MLServer executes this file again at each load, so all that must exist once stands in the modules beside it."""

from ._runtime import DynRuntime

__all__ = ["DynRuntime"]
