"""A server in this process: requests of any thread or task, those that wait together run together."""

from __future__ import annotations

import atexit
import concurrent.futures
import itertools
import threading
import weakref
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _dyn, _values
from ._errors import UsageError, error_of
from ._model import Model
from ._threads import ThreadPool
from ._values import Result

_BATCHING = {"auto": 0, "on": 1, "off": 2}
_ADMISSIONS = {"all": 0, "deadline": 1}
_ENDINGS = {"drain": 0, "refuse": 1, "cancel": 2}
_OK, _CANCELLED = 0, 9  # dyn_status


@dataclass(frozen=True)
class ServerStatistics:
    """Counts since the server began. joined_runs_count: runs of two and more requests; ran_requests_count divided by
    runs_count is the mean size of a batch. p50_ns, p99_ns: from the arrival of a request that ran to its answer."""

    submitted_count: int
    completed_count: int
    failed_count: int
    cancelled_count: int
    expired_count: int
    queue_full_count: int
    memory_refused_count: int
    shut_down_count: int
    queued_count: int
    longest_queue_count: int
    running_count: int
    runs_count: int
    joined_runs_count: int
    ran_requests_count: int
    p50_ns: int
    p99_ns: int
    infeasible_count: int


class Request(concurrent.futures.Future[Result]):
    """A request that the server took: a future of its Result, which `await` takes, too."""

    _handle: _dyn.Request | None = None

    def cancel(self) -> bool:
        """A request that waits is answered at once; a run ends if all its requests are cancelled. False: it has its
        answer already. result() then raises concurrent.futures.CancelledError."""
        if self.done() or self._handle is None:
            return self.cancelled()
        self._handle.cancel()
        return True

    def __await__(self) -> Generator[Any, None, Result]:
        import asyncio
        return asyncio.wrap_future(self).__await__()

    def _answer(self, model: Served, status: int, status_text: str, message: str, outputs: list[Any]) -> None:
        if status == _OK:
            self.set_result(Result(model._names, outputs))
        elif status == _CANCELLED:
            super().cancel()
            self.set_running_or_notify_cancel()  # tells those who wait for several futures
        else:
            self.set_exception(error_of(status, status_text, message, []))


class Served:
    """A model of a server."""

    def __init__(self, server: Server, model: Model, index: int) -> None:
        self._server, self._model, self._index = server, model, index
        self._program = model._compiled()
        self._names = model._names

    @property
    def joining(self) -> str:
        """How requests are joined: "along batch, of different seq by attention_mask"; or "one by one: " and why."""
        return self._server._handle.joining(self._index)

    @property
    def admission(self) -> str:
        """What admission="deadline" goes by: "time = " and a formula; or "all: " and why no request is refused."""
        return self._server._handle.admission(self._index)

    def submit(self, inputs: Mapping[str, Any] | Sequence[Any], *, client: int = 0, priority: int = 0,
               deadline_s: float | None = None) -> Request:
        """Asks for a run. inputs: as of Model.run; arrays must not change before the answer. Requests of higher
        priority run first; among equals the clients (any number) take turns. deadline_s: seconds from now; it does
        not start later. Results are read-only. Raises InputError, QueueFull, DeadlinePassed, DeadlineInfeasible, ShutDown; result()
        raises what the run does."""
        forms = [_values.form_of(port, one) for port, one in zip(self._model.inputs, self._model._listed(inputs))]
        # 0 is none for the library, so a deadline that is now has passed.
        deadline_ns = 0 if deadline_s is None else int(deadline_s * 1e9) or -1
        return self._server._submit(self, forms, client, priority, deadline_ns)

    def __call__(self, /, *positional: Any, **by_name: Any) -> Result:
        """A request, waited for."""
        return self.submit(self._model._arranged(positional, by_name)).result()


class Server:
    """Answers requests for models: `served = server.add(model)`, `served.submit([ids, mask])`. It joins requests that
    wait together, where the compiler proves that no row of a batch reads another one. Any number of threads may use
    it. As a context it is shut down at its end.

    batching: "auto" (joined where that takes less time), "on" (add() fails where requests may not be joined) or "off".
    max_batch: requests in one run. max_wait_s: seconds that a request waits for others to join it. max_batch_time_s:
    of a joined run, as far as earlier runs tell. memory_limit_bytes: of all runs together, 0: no limit. max_queue:
    requests that wait. admission: "all", or "deadline", which refuses a request whose run takes longer than its
    deadline allows, by the formula of the time in the model's package. workers: runs at the same time, each with the threads of its model; threads: a ThreadPool that
    all runs share instead."""

    def __init__(self, *, batching: str = "auto", max_batch: int = 16, max_wait_s: float = 0.0,
                 max_batch_time_s: float = 0.1, memory_limit_bytes: int = 0, max_queue: int = 1000,
                 workers: int = 1, threads: ThreadPool | None = None, admission: str = "all") -> None:
        if admission not in _ADMISSIONS:
            raise UsageError(f"admission is none of {', '.join(_ADMISSIONS)}: {admission!r}")
        if batching not in _BATCHING:
            raise UsageError(f"batching is none of {', '.join(_BATCHING)}: {batching!r}")
        for name, value in (("max_batch", max_batch), ("max_batch_time_s", max_batch_time_s), ("max_queue", max_queue),
                            ("workers", workers)):
            if value <= 0:
                raise UsageError(f"{name}: {value} is not above 0")
        if threads is not None and not isinstance(threads, ThreadPool):
            raise UsageError(f"threads: a {type(threads).__name__} is no ThreadPool; load() says how many threads a run has")
        self._handle = _dyn.Server(_BATCHING[batching], max_batch, int(max_wait_s * 1e9), int(max_batch_time_s * 1e9),
                                   memory_limit_bytes, max_queue, workers, threads._handle if threads is not None else None,
                                   _ADMISSIONS[admission])
        self._open: dict[int, tuple[Request, Served]] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        # The thread knows the handle alone: a server that nobody holds ends.
        self._teller = threading.Thread(target=_tell, args=(self._handle, self._open, self._lock), name="dyn.Server",
                                        daemon=True)
        self._teller.start()
        weakref.finalize(self, _end, self._handle).atexit = False
        _running.add(self)

    def add(self, model: Model) -> Served:
        """Compiles the model for this server."""
        return Served(self, model, self._handle.add(model._handle))

    def _submit(self, model: Served, forms: list[Any], client: int, priority: int, deadline_ns: int) -> Request:
        request, number = Request(), next(self._numbers)
        with self._lock:  # until it has its handle: the answer may be there before
            self._open[number] = request, model
            try:
                request._handle = self._handle.submit(model._index, model._program, forms, number, client, priority,
                                                      deadline_ns)
            except BaseException:
                del self._open[number]
                raise
        return request

    def shut_down(self, how: str = "drain") -> None:
        """Takes no further requests and returns when all are answered. how: "drain" runs those that wait; "refuse"
        answers them by ShutDown and finishes runs under way; "cancel" ends these, too."""
        if how not in _ENDINGS:
            raise UsageError(f"how is none of {', '.join(_ENDINGS)}: {how!r}")
        self._handle.shut_down(_ENDINGS[how])
        _running.discard(self)
        if threading.current_thread() is not self._teller:
            self._teller.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.shut_down("drain" if raised[0] is None else "cancel")

    @property
    def statistics(self) -> ServerStatistics:
        return ServerStatistics(**self._handle.statistics())

    def metrics(self) -> str:
        """The same and more as text for Prometheus."""
        return self._handle.metrics()


_running: weakref.WeakSet[Server] = weakref.WeakSet()


def _end(handle: _dyn.Server) -> None:
    handle.shut_down(_ENDINGS["cancel"])


@atexit.register
def _end_all() -> None:
    for server in list(_running):
        _end(server._handle)


def _tell(handle: _dyn.Server, open: dict[int, tuple[Request, Served]], lock: threading.Lock) -> None:
    while _tell_some(handle, open, lock):  # its names hold no server while it waits
        pass


def _tell_some(handle: _dyn.Server, open: dict[int, tuple[Request, Served]], lock: threading.Lock) -> bool:
    """False: there will be no more."""
    told = handle.answers()
    for number, status, status_text, message, outputs in told:
        with lock:
            request, model = open.pop(number)
        request._answer(model, status, status_text, message, outputs)
    return bool(told)
