"""A model as a deployment of Ray Serve: `serve.run(dyn.serving.ray.deployment("bert.dynpkg"))` (docs/ray.md)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import ray.exceptions
from ray import serve

from .. import _errors
from .._errors import wrong_input
from .._packages import Package, is_package_path, packaged_for_runs
from .._server import Server
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
            made = await self.ask(_inputs_of(await request.body()))
            outputs = [{"name": name, "datatype": _tensors.datatype_of(array, f"output '{name}'"), "shape": list(array.shape),
                        "data": _tensors.to_list(array, f"output '{name}'")} for name, array in made.items()]
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


def _inputs_of(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
        rows = [(one["name"], one["datatype"], one["shape"], one["data"]) for one in said["inputs"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise wrong_input('the body is no {"inputs": [{"name", "shape", "datatype", "data"}]}: '
                          f"{type(error).__name__} {error}") from error
    return {name: _tensors.from_list(data, datatype, shape, f"input '{name}'") for name, datatype, shape, data in rows}


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
    if batching == "off":
        package, model_options = packaged_for_runs(model, options)
    elif isinstance(model, (str, os.PathLike)) and not is_package_path(model):
        package, model_options = Package(os.path.abspath(os.fspath(model))), options
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
