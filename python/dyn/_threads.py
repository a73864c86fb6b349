"""Threads that models share."""

from __future__ import annotations

from . import _dyn


class ThreadPool:
    """`pool = dyn.ThreadPool(8)`, then `load(..., threads=pool)` of many models, and `Server(threads=pool)`: their calls
    share these threads, however many run at once. threads: with the thread that calls; 0: all cores. Results have the
    same bits as with threads of a model's own."""

    def __init__(self, threads: int = 0) -> None:
        self._handle = _dyn.ThreadPool(threads or _dyn.usable_cores())

    @property
    def threads(self) -> int:
        return self._handle.threads

    def __repr__(self) -> str:
        return f"ThreadPool({self.threads})"


def split(threads: int | ThreadPool) -> tuple[int, _dyn.ThreadPool | None]:
    """The number of threads, and the pool if they are one's."""
    return (threads.threads, threads._handle) if isinstance(threads, ThreadPool) else (threads, None)
