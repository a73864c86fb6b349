"""`dyn serve`: MLServer with the models that are named, and defaults for Dyn."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from typing import Any

import mlserver.grpc.server
import mlserver.metrics.server
import mlserver.rest.server
from mlserver.errors import MLServerError
from mlserver.server import MLServer
from mlserver.settings import Settings
from mlserver.utils import install_uvloop_event_loop

from .. import __version__
from . import _endpoints, _repository


# Longer than proxies keep an idle connection (nginx and Envoy: 60 s): they would send a request on one that is being
# closed, which is lost. uvicorn has 5 s.
_KEEP_ALIVE_S = 75


class Refused(Exception):
    """Why nothing is served."""


def _keep_connections(server: MLServer) -> None:
    configured = server._rest_server._get_config

    def with_keep_alive() -> Any:
        config = configured()
        config.timeout_keep_alive = _KEEP_ALIVE_S
        return config
    setattr(server._rest_server, "_get_config", with_keep_alive)


def _check_ports(host: str, ports: dict[str, int]) -> None:
    """gRPC would share a port with another process in silence."""
    for option, port in ports.items():
        if list(ports.values()).count(port) > 1:
            raise Refused(f"port {port} is named twice; --http-port, --grpc-port and --metrics-port differ")
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except (OSError, OverflowError) as error:
                taken = getattr(error, "errno", None) == errno.EADDRINUSE
                raise Refused(f"port {port} of {host} is taken: give another {option}" if taken else
                              f"cannot listen on port {port} of {host}: {error}") from error


async def _serve(paths: list[str], host: str, ports: dict[str, int], max_request: int, extra: dict[str, Any]) -> None:
    settings = Settings(
        host=host, http_port=ports["--http-port"], grpc_port=ports["--grpc-port"], metrics_port=ports["--metrics-port"],
        debug=False, parallel_workers=0, gzip_enabled=False, grpc_max_message_length=max_request,
        server_name="dyn", server_version=__version__, extensions=["binary_tensor_data", "model_repository"],
        model_repository_implementation="dyn.serving._repository.Models",
        model_repository_implementation_args={"paths": paths, "extra": extra})
    # Each would take the signals for itself, and MLServer could not stop the others.
    for module in (mlserver.rest.server, mlserver.metrics.server):
        setattr(module._NoSignalServer, "capture_signals", lambda self: contextlib.nullcontext())
    setattr(mlserver.grpc.server, "InferenceServicer", _endpoints.Servicer)
    server = MLServer(settings)
    _keep_connections(server)
    _endpoints.add_http(server._rest_server._app, server._data_plane, max_request)
    found = await _repository.Models("", paths, extra).list()
    if not found:
        raise Refused(f"there is no model in {', '.join(paths)}")
    names = [(model.name, model.version) for model in found]
    for name, version in names:
        if names.count((name, version)) > 1:
            raise Refused(f"two models have the name '{name}'")
    for model in found:
        try:
            await server._model_registry.load(model)
        except MLServerError as error:
            raise Refused(f"{model.name}: {error}") from error
    # Nothing listens before all models are loaded.
    await server.start([])


def serve(paths: list[str], host: str, ports: dict[str, int], max_request: int, extra: dict[str, Any]) -> None:
    """Returns after SIGINT or SIGTERM, when all requests that it had are answered. Raises Refused."""
    _check_ports(host, ports)
    install_uvloop_event_loop()
    asyncio.run(_serve(paths, host, ports, max_request, extra))
