"""InferenceSession: a model of Dyn behind onnxruntime's interface."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import _dtypes
from ..._errors import Error
from ..._model import Model, opened, warnings_of
from ..._values import Port
from ._binding import IOBinding
from ._environment import get_available_providers
from ._errors import Fail, InvalidArgument, InvalidProtobuf, translated, translating
from ._errors import NotImplemented as Refused
from ._metadata import ModelMetadata, metadata_of, metadata_of_file
from ._options import RunOptions, SessionOptions, ignore
from ._types import NodeArg
from ._values import OrtValue


def _say_missing(providers: Sequence[Any] | None) -> None:
    for given in providers or ():
        name = given[0] if isinstance(given, tuple) else given
        if name not in get_available_providers():
            warnings.warn(f"Specified provider '{name}' is not in available provider names.Available providers: "
                          f"'{', '.join(get_available_providers())}'", UserWarning, stacklevel=4)


def _as_input(port: Port, value: Any) -> Any:
    if isinstance(value, OrtValue):
        value = value._value
    if port.kind == "tensor" and isinstance(value, (list, tuple, int, float, str)):
        return np.array(value, dtype=_dtypes.numpy_of(_dtypes.NAMES.index(port.dtype or "f32")))
    return value


def _map_argument(values: Port, keys: Port) -> NodeArg:
    made = NodeArg(values)
    text = f"map({NodeArg(keys).type[7:-1]},{made.type})"
    made.type = text if len(values.shape or ()) == 1 else f"seq({text})"
    made.shape = []
    return made


def _maps_of(values: Any, keys: Any) -> Any:
    """[{key: value}, ...] of values [n, keys]; {key: value} of values [keys]."""
    names = keys.tolist()
    rows = values.tolist()
    return dict(zip(names, rows)) if values.ndim == 1 else [dict(zip(names, row)) for row in rows]


def _writable(value: Any) -> Any:
    """Results belong to the program, which may write to them."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    return [_writable(item) for item in value] if isinstance(value, list) else value


class InferenceSession:
    """Reads and compiles a model: a path (.onnx, or a package .dynpkg) or the bytes of an ONNX file."""

    def __init__(self, path_or_bytes: Any, sess_options: SessionOptions | None = None,
                 providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None,
                 **kwargs: Any) -> None:
        options = sess_options or SessionOptions()
        _say_missing(providers)
        for name in kwargs:
            ignore(f"InferenceSession({name}=...)")
        self._options = options
        path = os.fspath(path_or_bytes) if isinstance(path_or_bytes, (str, os.PathLike)) else None
        if path is None and not isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if path is not None and os.path.isdir(path):
            raise InvalidProtobuf(f"[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from {path} failed:it is a "
                                  "folder")
        if path is not None and path.endswith(".ort"):
            raise Refused(f"{path}: Dyn does not read onnxruntime's own files, only the ONNX file that they are made of")
        with translating():
            handle = opened(path_or_bytes, "model.onnx", {"threads": options.intra_op_num_threads or None,
                                                          "dims": options._dims or None})
            self._model = Model(handle).compile()
            ports = self._model.outputs
        for said in warnings_of(handle):
            logging.getLogger("dyn").info(said)
        if options.optimized_model_filepath:
            with translating():
                self._model.to_onnx(options.optimized_model_filepath)
        self._ports: dict[str, Port] = {port.name: port for port in self._model.inputs}
        self._input_names = list(self._ports)
        self._inputs = [NodeArg(port) for port in self._model.inputs]
        # An output that is a list of maps is two of Dyn's: NAME, the values, and NAME.keys.
        names = {port.name: port for port in ports}
        self._maps = {name: name + ".keys" for name in names if name + ".keys" in names}
        self._outputs = [_map_argument(port, names[port.name + ".keys"]) if port.name in self._maps else NodeArg(port)
                         for port in ports if port.name not in self._maps.values()]
        self._output_names = [output.name for output in self._outputs]
        self._metadata = metadata_of_file(path) if path is not None else metadata_of(path_or_bytes)

    # --- what the model is ---
    def get_inputs(self) -> list[NodeArg]:
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        return []

    def get_modelmeta(self) -> ModelMetadata:
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        return self._options

    # --- where it runs ---
    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {"CPUExecutionProvider": {}}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Any = None) -> None:
        _say_missing(providers)

    def disable_fallback(self) -> None:
        """Nothing: there is one provider."""

    def enable_fallback(self) -> None:
        """Nothing: there is one provider."""

    # --- runs ---
    def _fed(self, feed: Mapping[str, Any]) -> tuple[Any, ...]:
        """What a program feeds, in the order of the inputs: OrtValue unpacked, lists as arrays of the input's type."""
        try:
            fed = tuple([feed[name] for name in self._input_names])
        except KeyError:
            missing = [name for name in self._input_names if name not in feed]
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).") from None
        if len(feed) != len(fed):
            for name in feed:
                if name not in self._ports:
                    raise InvalidArgument(f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid input name: {name}")
        for value in fed:
            if type(value) is not np.ndarray:
                return tuple(_as_input(port, value) for port, value in zip(self._ports.values(), fed))
        return fed

    def _chosen(self, names: Sequence[str] | None) -> Sequence[str]:
        for name in names or ():
            if name not in self._output_names:
                raise InvalidArgument(f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid output name:{name}")
        return names or self._output_names

    def _values(self, names: Sequence[str] | None, feed: Mapping[str, Any], options: RunOptions | None,
                out: dict[str, Any] | None = None) -> list[Any]:
        """Results in the order of `names`, read-only where they are Dyn's memory."""
        if options is not None and options.terminate:
            raise Fail("[ONNXRuntimeError] : 1 : FAIL : Exiting due to terminate flag being set to true.")
        wanted = self._chosen(names)
        fed = self._fed(feed)
        try:
            results = self._model.run(fed, out=out)
        except Error as error:
            raise translated(error) from error
        if self._maps:
            return [_maps_of(results[name], results[self._maps[name]]) if name in self._maps else results[name]
                    for name in wanted]
        return list(results) if wanted is self._output_names else [results[name] for name in wanted]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """The outputs as arrays that the program may write to; of a sequence as a list of arrays."""
        return [_writable(value) for value in self._values(output_names, input_feed, run_options)]

    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  callback: Callable[[list[Any], Any, str], None], user_data: Any,
                  run_options: RunOptions | None = None) -> None:
        """Returns at once; another thread calls callback(results, user_data, error)."""
        def work() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as thrown:
                results, error = [], str(thrown)
            callback(results, user_data, error)

        threading.Thread(target=work, daemon=True).start()

    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        return [OrtValue(value) for value in self._values(output_names, input_dict_ort_values, run_options)]

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Reads and writes the memory that is bound; outputs without memory are get_outputs()."""
        out = {name: memory for name, memory in iobinding._outputs.items() if memory is not None}
        iobinding._results = self._values(list(iobinding._outputs), iobinding._inputs, run_options, out)

    def end_profiling(self) -> str:
        """"": there is no file of onnxruntime's form."""
        ignore("InferenceSession.end_profiling", "dyn.load(...).profile() measures a run")
        return ""

    def get_profiling_start_time_ns(self) -> int:
        return 0

    def run_with_ortvaluevector(self, *given: Any) -> None:
        raise Refused("Dyn has no vectors of OrtValue: use run_with_ort_values")
