"""A model as a deployment of Ray Serve: `serve.run(dyn.serving.ray.deployment("bert.dynpkg"))`; one that continues
prompts: `decoder_deployment("gpt2.onnx")` (docs/ray.md)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import ray.exceptions
from ray import serve

from .. import _errors
from .._errors import missing_input, wrong_input
from .._generate import Prompt, Token
from .._packages import Package, is_package_path, packaged_for_runs
from .._server import Server
from .._shared_steps import SharedSteps
from . import _tensors

_STATUS: dict[type[_errors.Error], int] = {_errors.InternalError: 500, _errors.QueueFull: 503, _errors.ShutDown: 503,
                                           _errors.Cancelled: 503, _errors.DeadlinePassed: 504}


class Replica:
    """One process of the deployment: a model that is mapped, and a server of this package before it."""

    def __init__(self, package: Package, options: Mapping[str, Any], policy: Mapping[str, Any],
                 stuck_after_s: float) -> None:
        self._server = Server(**policy)
        self._model = package.load(dict(options))
        self._served = self._server.add(self._model)
        self._stuck_after_s = stuck_after_s
        self._seen = (0, time.monotonic())

    async def __call__(self, /, *positional: Any, **by_name: Any) -> Any:
        """handle.remote(input_ids=ids, attention_mask=mask): {output: array}. Over HTTP: the body of a request of the
        Open Inference Protocol as JSON."""
        if len(positional) == 1 and not by_name and hasattr(positional[0], "scope"):
            return await self._over_http(positional[0])
        return await self.ask(self._model._arranged(positional, by_name))

    async def ask(self, inputs: Mapping[str, Any] | Sequence[Any], *, client: int = 0, priority: int = 0,
                  deadline_s: float | None = None) -> dict[str, Any]:
        """handle.ask.remote({"input_ids": ids}, deadline_s=0.2): as Served.submit. A caller that leaves cancels it."""
        result = await self._served.submit(inputs, client=client, priority=priority, deadline_s=deadline_s)
        return dict(zip(result.names, result))

    async def _over_http(self, request: Any) -> Any:
        from starlette.responses import JSONResponse
        try:
            inputs, wanted = _request_of(await request.body())
            names = [port.name for port in self._model.outputs]
            for name in wanted:
                if name not in names:
                    raise wrong_input(f"there is no output '{name}'; outputs: {', '.join(names)}")
            made = await self.ask(inputs)
            outputs = [{"name": name, "datatype": _tensors.datatype_of(made[name], f"output '{name}'"),
                        "shape": list(made[name].shape), "data": _tensors.to_list(made[name], f"output '{name}'")}
                       for name in wanted or names]
            return JSONResponse({"outputs": outputs})
        except _errors.Error as error:
            return JSONResponse({"error": str(error)}, _STATUS.get(type(error), 400))

    def info(self) -> dict[str, Any]:
        """The process, its file, how requests are joined, and the counts of its server."""
        return {"pid": os.getpid(), "joining": self._served.joining, "statistics": self._server.statistics}

    def metrics(self) -> str:
        """Of the server, as text for Prometheus."""
        return self._server.metrics()

    def check_health(self) -> None:
        """Asked by Ray: sick if requests wait or run, and none had its answer for a while."""
        now = self._server.statistics
        answered = now.submitted_count - now.queued_count - now.running_count
        if answered != self._seen[0] or not (now.queued_count or now.running_count):
            self._seen = answered, time.monotonic()
        elif time.monotonic() - self._seen[1] > self._stuck_after_s:
            raise RuntimeError(f"no request of {now.queued_count + now.running_count} was answered for "
                               f"{self._stuck_after_s:g} s")

    def __del__(self) -> None:
        """Called by Ray after it has stopped to send requests, and waited for those under way."""
        if hasattr(self, "_server"):
            self._server.shut_down("drain")


class Decoder:
    """One process of the deployment: a decoder, whose sequences share steps."""

    def __init__(self, package: Package, options: Mapping[str, Any], tokenizer: str | None, max_batch: int,
                 max_queue: int, stuck_after_s: float, prefill_chunk: int) -> None:
        self._steps = SharedSteps(package.load(dict(options)), tokenizer, max_batch, max_queue, prefill_chunk)
        self._stuck_after_s = stuck_after_s

    async def generate(self, prompt: Prompt, **options: Any) -> AsyncIterator[Token]:
        """handle.options(stream=True).generate.remote("Shapes are", max_new_tokens=20): tokens as they come, with the
        options of Model.generate. A caller that leaves ends its sequence."""
        tokens = self._steps.submit(prompt, **options)
        try:
            async for token in tokens:
                yield token
        finally:
            await tokens.aclose()

    async def __call__(self, request: Any) -> Any:
        """A POST of {"prompt": a text or ids, "max_new_tokens": ...}: each token is a line of JSON."""
        from starlette.responses import JSONResponse, StreamingResponse
        tokens = None
        try:
            said = _json_of(await request.body())
            if not isinstance(said, dict) or "prompt" not in said:
                raise wrong_input('the body is no {"prompt": a text or ids}')
            tokens = self._steps.submit(said.pop("prompt"), **said)
            first = await anext(tokens)  # what is wrong with the prompt has a status of its own
        except _errors.Error as error:
            return JSONResponse({"error": str(error)}, _STATUS.get(type(error), 400))
        return StreamingResponse(_lines_of(first, tokens), media_type="application/x-ndjson")

    def info(self) -> dict[str, Any]:
        """The process, how sequences share steps, and the counts of its generator."""
        return {"pid": os.getpid(), "sharing": self._steps.sharing, "statistics": self._steps.statistics}

    def check_health(self) -> None:
        """Asked by Ray: sick if there are sequences, and none had a token for a while."""
        if self._steps.waiting_s() > self._stuck_after_s:
            raise RuntimeError(f"no token came for {self._stuck_after_s:g} s")

    def __del__(self) -> None:
        """Called by Ray after it has stopped to send requests, and waited for those under way."""
        if hasattr(self, "_steps"):
            self._steps.shut_down()


async def _lines_of(token: Token, rest: AsyncIterator[Token]) -> AsyncIterator[bytes]:
    try:
        while True:
            yield json.dumps({"id": token.id, "text": token.text, "end": token.end}).encode() + b"\n"
            token = await anext(rest)
    except StopAsyncIteration:
        pass
    except _errors.Error as error:
        yield json.dumps({"error": str(error)}).encode() + b"\n"
    finally:
        await rest.aclose()  # type: ignore[attr-defined]


def _json_of(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise wrong_input(f"the body is no JSON: {error}") from error


def _request_of(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """Of the Open Inference Protocol: the inputs, and the outputs that it wants; none named: all."""
    said = _json_of(body)
    if not isinstance(said, dict) or not isinstance(said.get("inputs"), list):
        raise wrong_input("the request has no list of inputs")
    inputs: dict[str, Any] = {}
    for one in said["inputs"]:
        head = _tensors.head_of(one)
        if "binary_data_size" in head.parameters:
            raise _errors.Unsupported(f"unsupported: input '{head.name}' as binary data: over Ray it is JSON", "E0502")
        if head.name in inputs:
            raise missing_input(f"input '{head.name}' is given twice")
        inputs[head.name] = _tensors.from_json(one, head)
    outputs = said.get("outputs") or []
    if not isinstance(outputs, list) or any(not isinstance(one, dict) or not isinstance(one.get("name"), str)
                                            for one in outputs):
        raise wrong_input("an output has no name")
    return inputs, [one["name"] for one in outputs]


def _file_here(path: str | os.PathLike[str]) -> str:
    """Absolute. A replica would find out, too, but Ray tries several times and then does not say why."""
    found = os.path.abspath(os.fspath(path))
    if not os.path.isfile(found):
        raise _errors.FileError(f"{found}: there is no such file here; every machine must have it, this one, too")
    return found


def _check_counts(**counts: Any) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise _errors.UsageError(f"{name}: {value!r} is no whole number above 0")


def deployment(model: Any, *, name: str = "dyn", batching: str = "off", workers: int = 1, max_batch: int = 16,
               max_wait_s: float = 0.0, memory_limit_bytes: int = 0, max_queue: int = 1000,
               stuck_after_s: float = 60.0, load_options: Mapping[str, Any] | None = None,
               **ray_options: Any) -> serve.Application:
    """What `serve.run` takes, and other deployments bind. model: a path of a .dynpkg that every machine has, which all
    replicas of a machine map; or what dyn.load takes: it is compiled here, and its package travels to the machines.
    batching, workers, max_batch, max_wait_s, memory_limit_bytes, max_queue: of dyn.Server in each replica. A package
    has no graph to prove by that requests may be joined; with batching "auto" or "on", `model` is a path of an .onnx or
    .dyn that every machine has, and each replica compiles it. load_options: of dyn.load; threads is 1 unless said.
    stuck_after_s: a replica is sick if its requests have no answer for so long. ray_options: of serve.deployment;
    unless said, the replicas follow the number of requests that wait or run, and each has workers * threads CPUs."""
    options = {"threads": 1, **(load_options or {})}
    _check_counts(workers=workers, max_batch=max_batch, max_queue=max_queue, threads=options["threads"])
    if isinstance(model, (str, os.PathLike)):
        model = _file_here(model)
    if batching == "off":
        package, model_options = packaged_for_runs(model, options)
    elif batching not in ("auto", "on"):
        raise _errors.UsageError(f"batching is none of off, auto, on: {batching!r}")
    elif isinstance(model, str) and not is_package_path(model):
        package, model_options = Package(model), options
    else:
        raise _errors.UsageError(f"batching {batching!r} wants the path of an .onnx or .dyn: a package has no graph to "
                                 "prove anything by")
    policy = {"batching": batching, "workers": workers, "max_batch": max_batch, "max_wait_s": max_wait_s,
              "memory_limit_bytes": memory_limit_bytes, "max_queue": max_queue}
    together = workers * (1 if batching == "off" else max_batch)
    said = {"max_ongoing_requests": 16 * together, "ray_actor_options": {"num_cpus": workers * int(options["threads"])},
            **ray_options}
    if "num_replicas" not in said:
        said.setdefault("autoscaling_config", {"min_replicas": 1, "max_replicas": 8,
                                               "target_ongoing_requests": 2 * together})
    made = serve.deployment(name=name, **said)(Replica)
    return made.bind(package, model_options, policy, stuck_after_s)


def decoder_deployment(model: Any, *, name: str = "dyn", tokenizer: str | os.PathLike[str] | None = None,
                       max_batch: int | None = None, max_queue: int = 1000, prefill_chunk: int = 0, stuck_after_s: float = 60.0,
                       load_options: Mapping[str, Any] | None = None, **ray_options: Any) -> serve.Application:
    """What `serve.run` takes: a decoder that streams tokens (docs/generate.md says which models are one). model: a path
    of an .onnx or .dyn that every machine has, which each replica compiles, and whose sequences share steps, max_batch
    of them (16); or what deployment() takes as package: sequences run one by one then, since a package has no graph to
    prove by that rows do not see each other. tokenizer: of Model.generate, a path that every machine has; without it
    prompts are ids. max_queue: sequences of a replica, more are refused. prefill_chunk: of Model.generate. stuck_after_s: a
    replica is sick if no token came for so long. load_options, ray_options: as of deployment()."""
    options = {"threads": 1, **(load_options or {})}
    _check_counts(max_batch=16 if max_batch is None else max_batch, max_queue=max_queue, threads=options["threads"])
    if isinstance(model, (str, os.PathLike)):
        model = _file_here(model)
    if isinstance(model, str) and not is_package_path(model):
        package, model_options = Package(model), options
        max_batch = 16 if max_batch is None else max_batch
    elif max_batch not in (None, 1):
        raise _errors.UsageError(f"max_batch {max_batch} wants the path of an .onnx or .dyn: a package has no graph to "
                                 "prove anything by")
    else:
        package, model_options = packaged_for_runs(model, options)
        max_batch = 1
    said = {"max_ongoing_requests": 4 * max_batch, "ray_actor_options": {"num_cpus": int(options["threads"])},
            **ray_options}
    if "num_replicas" not in said:
        said.setdefault("autoscaling_config", {"min_replicas": 1, "max_replicas": 8,
                                               "target_ongoing_requests": max_batch})
    made = serve.deployment(name=name, **said)(Decoder)
    return made.bind(package, model_options, None if tokenizer is None else _file_here(tokenizer), max_batch, max_queue,
                     stuck_after_s, prefill_chunk)


def _is_lost(error: BaseException) -> bool:
    """Did the replica go, or its machine? The request may be asked again: a run changes nothing."""
    return isinstance(error, ray.exceptions.RayError) and not isinstance(
        error, (ray.exceptions.RayTaskError, ray.exceptions.TaskCancelledError, ray.exceptions.GetTimeoutError))


async def acall(handle: Any, /, inputs: Mapping[str, Any], *, attempts: int = 8, **how: Any) -> dict[str, Any]:
    """Asks a deployment of this module by its handle, and again where the replica or its machine is lost meanwhile, a
    little later each time. how: client, priority and deadline_s of Served.submit."""
    for attempt in range(attempts):
        try:
            return dict(await handle.ask.remote(inputs, **how))
        except ray.exceptions.RayError as error:
            if not _is_lost(error) or attempt + 1 == attempts:
                raise
            logging.getLogger("dyn").warning("asked again, as its replica was lost: %s", type(error).__name__)
        await asyncio.sleep(min(2.0, 0.1 * 2 ** attempt))
    raise AssertionError("the last attempt returns or raises")


def call(handle: Any, /, inputs: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    """The same, waited for, where no loop of asyncio runs."""
    return asyncio.run(acall(handle, inputs, **how))
