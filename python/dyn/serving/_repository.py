"""The models of `dyn serve`: files, and folders with model-settings.json or bare model files."""

from __future__ import annotations

import os
from typing import Any

from mlserver.errors import ModelNotFound
from mlserver.repository import SchemalessModelRepository
from mlserver.repository.repository import DEFAULT_MODEL_SETTINGS_FILENAME, ModelRepository
from mlserver.settings import ModelParameters, ModelSettings

from ._runtime import _KINDS

_Settings = list[ModelSettings]
_RUNTIME = "dyn.serving.mlserver.DynRuntime"


class Models(ModelRepository):
    """It reads its folders at each question, so a model that is new there can be loaded while the server runs."""

    def __init__(self, root: str, paths: list[str], extra: dict[str, Any]) -> None:
        """extra: for models whose settings do not say otherwise."""
        self._paths, self._extra = paths, extra

    async def list(self) -> _Settings:
        found: _Settings = []
        for path in self._paths:
            found += await self._in_folder(path) if os.path.isdir(path) else [self._of_file(path)]
        return found

    async def find(self, name: str) -> _Settings:
        found = [settings for settings in await self.list() if settings.name == name]
        if not found:
            raise ModelNotFound(name)
        return found

    def _of_file(self, path: str) -> ModelSettings:
        name = os.path.splitext(os.path.basename(path))[0]
        return ModelSettings(name=name, implementation=_RUNTIME,
                             parameters=ModelParameters(uri=os.path.abspath(path), extra=dict(self._extra)))

    async def _in_folder(self, path: str) -> _Settings:
        found: _Settings = []
        if any(DEFAULT_MODEL_SETTINGS_FILENAME in names for _, _, names in os.walk(path)):
            found = await SchemalessModelRepository(path).list()
            for settings in found:
                if settings.parameters and settings.implementation_ == _RUNTIME:
                    settings.parameters.extra = {**self._extra, **(settings.parameters.extra or {})}
        if not os.path.isfile(os.path.join(path, DEFAULT_MODEL_SETTINGS_FILENAME)):
            found += [self._of_file(os.path.join(path, name)) for name in sorted(os.listdir(path)) if name.endswith(_KINDS)]
        return found
