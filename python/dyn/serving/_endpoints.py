"""The two calls of MLServer that carry tensors, HTTP and gRPC, with bytes in place of lists of Python's numbers.

MLServer reads and writes both, but over HTTP it lacks the protocol's extension for binary tensors, a broken body is an
internal error there, and the answers about health have no body."""

from __future__ import annotations

import json
import zlib
from typing import Any

import orjson
from fastapi import FastAPI
from grpc import StatusCode
from mlserver.errors import MLServerError
from mlserver.grpc import dataplane_pb2 as pb
from mlserver.grpc.converters import ModelInferResponseConverter, ParametersConverter
from mlserver.grpc.logging import logger
from mlserver.grpc.servicers import InferenceServicer
from mlserver.grpc.utils import STATUS_CODE_MAPPING, to_headers
from mlserver.handlers import DataPlane
from mlserver.types import InferenceResponse, Parameters, RequestInput, RequestOutput, ResponseOutput, TensorData
from mlserver.utils import extract_headers, insert_headers
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .._errors import Error, Unsupported, wrong_input
from . import _tensors
from ._runtime import ArrayRequest, refused

_LENGTH = "inference-header-content-length"
_FIELDS = {"BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
           "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
           "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents"}


def _input(name: str, datatype: str, shape: list[int], array: Any, parameters: Parameters | None) -> RequestInput:
    return RequestInput.model_construct(name=name, shape=shape, datatype=datatype, parameters=parameters,
                                        data=TensorData.model_construct(root=array))


def _datatype(output: ResponseOutput) -> str:
    return str(getattr(output.datatype, "value", output.datatype))


# HTTP ---------------------------------------------------------------------------------------------------------------


async def _body(request: Request, most: int) -> bytes:
    """Raises MLServerError of status 413 beyond `most` bytes, packed or unpacked."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise MLServerError(f"the request has more than {most} bytes", 413)
    packing = request.headers.get("content-encoding", "identity")
    if packing == "identity":
        return bytes(body)
    if packing not in ("gzip", "deflate"):
        raise wrong_input(f"content-encoding {packing!r} is neither gzip nor deflate")
    unpacking = zlib.decompressobj(47)  # either
    try:
        made = unpacking.decompress(bytes(body), most + 1)
    except zlib.error as error:
        raise wrong_input(f"the body is no {packing}: {error}") from error
    if len(made) > most:
        raise MLServerError(f"the request has more than {most} bytes", 413)
    if not unpacking.eof:
        raise wrong_input(f"the body is no {packing}: it ends too early")
    return made


def _json(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(text)  # knows NaN and Infinity, which Triton's client writes
    except (ValueError, RecursionError) as error:
        raise wrong_input(f"the request is no JSON: {error}") from error


def _http_request(body: bytes, length: str | None) -> tuple[ArrayRequest, set[str] | None]:
    """The request, and the outputs that it wants as bytes; None: all."""
    size = len(body) if length is None else int(length) if length.isdecimal() else -1
    if not 0 <= size <= len(body):
        raise wrong_input(f"{_LENGTH}: {length} is no length within the body of {len(body)} bytes")
    said = _json(body[:size])
    if not isinstance(said, dict) or not isinstance(said.get("inputs"), list):
        raise wrong_input("the request has no list of inputs")
    inputs, at = [], size
    for one in said["inputs"]:
        made, at = _http_input(one, memoryview(body), at)
        inputs.append(made)
    if at != len(body):
        raise wrong_input(f"{len(body) - at} bytes of the body belong to no input")
    try:
        outputs = [RequestOutput.model_validate(one) for one in said.get("outputs") or []]
        parameters = Parameters.model_validate(said.get("parameters") or {})
        id = said.get("id")
        if id is not None and not isinstance(id, str):
            raise wrong_input("id is no string")
    except (ValidationError, TypeError) as error:
        raise wrong_input(f"the request breaks the protocol: {_findings(error)}") from error
    made_request = ArrayRequest.model_construct(id=id, parameters=parameters, inputs=inputs, outputs=outputs or None)
    if not outputs:
        return made_request, None if getattr(parameters, "binary_data_output", False) is True else set()
    by_default = getattr(parameters, "binary_data_output", False) is True
    return made_request, {one.name for one in outputs if getattr(one.parameters, "binary_data", by_default) is True}


def _findings(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())


def _http_input(one: Any, body: memoryview, at: int) -> tuple[RequestInput, int]:
    head = _tensors.head_of(one)
    what, size = f"input '{head.name}'", head.parameters.get("binary_data_size")
    if size is None:
        return _input(head.name, head.datatype, head.shape, _tensors.from_json(one, head), None), at
    if type(size) is not int or not 0 <= size <= len(body) - at:
        raise wrong_input(f"{what}: binary_data_size {size}, but {len(body) - at} bytes are left in the body")
    array = _tensors.from_bytes(body[at:at + size], head.datatype, head.shape, what)
    return _input(head.name, head.datatype, head.shape, array, None), at + size


def _http_response(made: InferenceResponse, binary: set[str] | None, headers: dict[str, str] | None) -> Response:
    outputs, parts = [], []
    for one in made.outputs:
        row: dict[str, Any] = {"name": one.name, "datatype": _datatype(one), "shape": one.shape}
        if binary is None or one.name in binary:
            parts.append(_tensors.to_bytes(one.data.root))
            row["parameters"] = {"binary_data_size": len(parts[-1])}
        else:
            row["data"] = _tensors.to_list(one.data.root, f"output '{one.name}'")
        outputs.append(row)
    said = {"model_name": made.model_name, "model_version": made.model_version, "id": made.id, "outputs": outputs}
    head = orjson.dumps({key: value for key, value in said.items() if value is not None})
    if not parts:
        return Response(head, media_type="application/json", headers=headers)
    return Response(b"".join([head, *parts]), media_type="application/octet-stream",
                    headers={**(headers or {}), _LENGTH: str(len(head))})


def _health(name: str, is_so: bool) -> Response:
    return Response(orjson.dumps({name: is_so}), 200 if is_so else 400, media_type="application/json")


def add_http(app: FastAPI, data_plane: DataPlane, most: int) -> None:
    """Answers .../infer of the app, and the server's health with the bodies that KServe's client reads; most: bytes of
    a request."""
    async def infer(request: Request) -> Response:
        try:
            payload, binary = _http_request(await _body(request, most), request.headers.get(_LENGTH))
            insert_headers(payload, dict(request.headers))
            made = await data_plane.infer(payload, request.path_params["model_name"],
                                          request.path_params.get("model_version"))
            return _http_response(made, binary, extract_headers(made))
        except Error as error:
            raise refused(error) from error

    async def live(request: Request) -> Response:
        return _health("live", await data_plane.live())

    async def ready(request: Request) -> Response:
        return _health("ready", await data_plane.ready())

    app.router.routes.insert(0, Route("/v2/health/live", live, methods=["GET"]))
    app.router.routes.insert(0, Route("/v2/health/ready", ready, methods=["GET"]))
    for path in ("/v2/models/{model_name}/versions/{model_version}/infer", "/v2/models/{model_name}/infer"):
        app.router.routes.insert(0, Route(path, infer, methods=["POST"]))


# gRPC ---------------------------------------------------------------------------------------------------------------


def _grpc_request(request: pb.ModelInferRequest) -> ArrayRequest:
    raw, inputs = list(request.raw_input_contents), []
    if raw and len(raw) != len(request.inputs):
        raise wrong_input(f"{len(raw)} raw_input_contents for {len(request.inputs)} inputs")
    for i, one in enumerate(request.inputs):
        what, shape = f"input '{one.name}'", list(one.shape)
        if "shared_memory_region" in one.parameters:
            raise Unsupported(f"unsupported: {what} in shared memory", "E0502")
        if raw:
            if one.HasField("contents"):
                raise wrong_input(f"{what}: it has contents beside raw_input_contents")
            array = _tensors.from_bytes(raw[i], one.datatype, shape, what)
        elif one.datatype == "FP16":
            raise wrong_input(f"{what}: FP16 wants raw_input_contents; the protocol has no other form of it")
        else:
            _tensors.dtype_of(one.datatype, what)
            array = _tensors.from_list(list(getattr(one.contents, _FIELDS[one.datatype])), one.datatype, shape, what)
        inputs.append(_input(one.name, one.datatype, shape, array, None))
    outputs = [RequestOutput.model_construct(name=one.name) for one in request.outputs]
    return ArrayRequest.model_construct(id=request.id or None, inputs=inputs, outputs=outputs or None,
                                        parameters=ParametersConverter.to_types(request.parameters))


def _grpc_response(made: InferenceResponse, raw: bool) -> pb.ModelInferResponse:
    arrays = [one.data.root for one in made.outputs]
    raw = raw or any(_datatype(one) == "FP16" for one in made.outputs)
    response: pb.ModelInferResponse = ModelInferResponseConverter.from_types(made.model_copy(update={"outputs": []}))
    for one, array in zip(made.outputs, arrays):
        row = response.outputs.add(name=one.name, datatype=_datatype(one), shape=one.shape)
        if raw:
            response.raw_output_contents.append(_tensors.to_bytes(array))
        elif array.dtype == object:
            row.contents.bytes_contents.extend(map(_tensors.encoded, array.ravel()))
        else:
            getattr(row.contents, _FIELDS[_datatype(one)]).extend(array.ravel().tolist())
    return response


class Servicer(InferenceServicer):
    """MLServer's, with its ModelInfer replaced. A request that is refused leaves no traceback in the log."""

    async def ModelInfer(self, request: pb.ModelInferRequest, context: Any) -> pb.ModelInferResponse:
        try:
            try:
                payload = _grpc_request(request)
                insert_headers(payload, to_headers(context))
                made = await self._data_plane.infer(payload=payload, name=request.model_name,
                                                    version=request.model_version)
                self._SetTrailingMetadata(made, context)
                return _grpc_response(made, bool(request.raw_input_contents))
            except Error as error:
                raise refused(error) from error
        except MLServerError as error:
            code, said = STATUS_CODE_MAPPING.get(error.status_code, StatusCode.UNAVAILABLE), str(error)
        except Exception as error:
            logger.exception(error)
            code, said = StatusCode.INTERNAL, str(error)
        await context.abort(code, said)
        raise AssertionError("abort raises")
