"""A model of Dyn as a model of MLServer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import time
from typing import Any

from mlserver import MLModel
from mlserver.errors import InferenceError, MLServerError, ModelNotReady
from mlserver.types import (InferenceRequest, InferenceResponse, MetadataTensor, Parameters, RequestInput,
                            ResponseOutput, TensorData)
from mlserver.utils import get_model_uri
from prometheus_client import Counter

from .. import _dyn, _errors
from .._errors import missing_input, wrong_input
from .._model import Model, load
from .._values import Port
from . import _tensors

_KINDS = (".dynpkg", ".onnx", ".dyn")
_STATUS: dict[type[_errors.Error], int] = {_errors.InternalError: 500, _errors.Cancelled: 503}
_counters: dict[str, Counter] = {}


class ArrayRequest(InferenceRequest):
    """A request whose tensors are NumPy arrays; so are those of its response. Other requests have lists."""


def refused(error: _errors.Error) -> MLServerError:
    return MLServerError(str(error), _STATUS.get(type(error), 400))


def _count(name: str, text: str, labels: dict[str, str], amount: float) -> None:
    if name not in _counters:  # not before: MLServer first decides whether several processes count together
        _counters[name] = Counter(name, text, ["model", "version"])
    _counters[name].labels(**labels).inc(amount)


def _metadata_of(port: Port, kind: str) -> MetadataTensor:
    datatype = _tensors.name_of(port.dtype)
    if port.kind != "tensor" or datatype is None:
        raise _errors.Unsupported(f"unsupported: {kind} '{port.name}' is {port.type}, for which the Open Inference "
                                  "Protocol has no datatype", "E0502")
    if port.shape is None:
        return MetadataTensor(name=port.name, datatype=datatype, shape=[-1], parameters=Parameters(dims="any rank"))
    shape = [size if isinstance(size, int) else -1 for size in port.shape]
    return MetadataTensor(name=port.name, datatype=datatype, shape=shape,
                          parameters=Parameters(dims=", ".join(map(str, port.shape))))


def _array_of(given: RequestInput) -> Any:
    what = f"input '{given.name}'"
    data = given.data.root
    if hasattr(data, "dtype"):
        return data
    said = given.parameters.content_type if given.parameters else None
    if said not in (None, "np", "str"):
        raise _errors.Unsupported(f"unsupported: {what} with content_type '{said}': np or str", "E0502")
    datatype = getattr(given.datatype, "value", given.datatype)
    return _tensors.from_list(data, datatype, given.shape, what)


class DynRuntime(MLModel):
    """Runs a .onnx, .dyn or .dynpkg: `parameters.uri` is the file, or a folder with one such file;
    `parameters.extra` are options of dyn.load, and `concurrency`: how many runs go on at once. threads= is 1 unless
    said, and concurrency the cores divided by threads."""

    _model: Model
    _pool: concurrent.futures.ThreadPoolExecutor

    async def load(self) -> bool:
        extra = dict((self.settings.parameters and self.settings.parameters.extra) or {})
        path = self._file_of(await get_model_uri(self.settings))
        try:
            threads = int(extra.setdefault("threads", 1))
            cores = _dyn.usable_cores()
            concurrency = int(extra.pop("concurrency", 0)) or max(1, cores // (threads or cores))
        except (TypeError, ValueError):
            raise InferenceError(f"{self.name}: threads and concurrency of parameters.extra are numbers") from None
        try:
            model = await asyncio.to_thread(self._compiled, path, extra)
            self.inputs = [_metadata_of(port, "input") for port in model.inputs]
            self.outputs = [_metadata_of(port, "output") for port in model.outputs]
        except _errors.Error as error:
            raise refused(error) from error
        self.settings.platform = self.settings.platform or "dyn"
        self._model = model
        self._pool = concurrent.futures.ThreadPoolExecutor(concurrency, f"dyn-{self.name}")
        return True

    def _file_of(self, path: str) -> str:
        if os.path.isdir(path):
            found = sorted(name for name in os.listdir(path) if name.endswith(_KINDS))
            if len(found) != 1:
                raise InferenceError(f"{self.name}: {path} has {len(found)} files of {', '.join(_KINDS)}: "
                                     "parameters.uri names one")
            return os.path.join(path, found[0])
        return path

    @staticmethod
    def _compiled(path: str, extra: dict[str, Any]) -> Model:
        return load(path, **extra).compile()

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        try:
            submitted = self._pool.submit(self._answer, payload)
        except (AttributeError, RuntimeError):  # not loaded, or unloaded since the request found it
            raise ModelNotReady(self.name, self.version) from None
        try:
            return await asyncio.wrap_future(submitted)
        except _errors.Error as error:
            raise refused(error) from error

    def _answer(self, payload: InferenceRequest) -> InferenceResponse:
        """On a thread of the pool."""
        given: dict[str, Any] = {}
        for one in payload.inputs:
            if one.name in given:
                raise missing_input(f"input '{one.name}' is given twice")
            if one.name not in self._inputs_index:
                raise missing_input(f"there is no input '{one.name}'; inputs: {', '.join(self._inputs_index)}")
            given[one.name] = _array_of(one)
        names = [port.name for port in self._model.outputs]
        wanted = [one.name for one in payload.outputs] if payload.outputs else names
        for name in wanted:
            if name not in names:
                raise wrong_input(f"there is no output '{name}'; outputs: {', '.join(names)}")
        begun = time.perf_counter()
        results = self._model.run(given)
        self._counted(time.perf_counter() - begun, next(iter(given.values()), None))
        arrays = isinstance(payload, ArrayRequest)
        return InferenceResponse.model_construct(
            model_name=self.name, model_version=self.version,
            outputs=[self._output(name, results[name], arrays) for name in wanted])

    def _output(self, name: str, array: Any, arrays: bool) -> ResponseOutput:
        data = array if arrays else _tensors.to_list(array, f"output '{name}'")
        return ResponseOutput.model_construct(
            name=name, shape=list(array.shape), datatype=self._outputs_index[name].datatype,
            data=TensorData.model_construct(root=data))

    def _counted(self, seconds: float, first: Any) -> None:
        labels = {"model": self.name, "version": self.version or ""}
        rows = len(first) if first is not None and first.ndim else 1
        _count("dyn_runs", "Runs that gave results", labels, 1)
        _count("dyn_rows", "Sizes of the first axis of the first input, summed over runs", labels, rows)
        _count("dyn_run_seconds", "Seconds in these runs, without reading requests and writing answers", labels, seconds)

    async def unload(self) -> bool:
        """Waits for the requests that the model has."""
        pool = self.__dict__.get("_pool")
        if pool:
            await asyncio.to_thread(pool.shutdown)
        return True
