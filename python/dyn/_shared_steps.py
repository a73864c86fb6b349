"""One generator of a decoder for a whole process: prompts of any task join its steps, and leave them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from . import _dyn
from ._errors import Error, QueueFull, ShutDown, Unsupported, UsageError, error_of
from ._generate import _ENDS, _FAILED, GenerationOptions, GenerationStatistics, Prompt, Token, _submit
from ._model import Model

if TYPE_CHECKING:
    from typing import Unpack

_OF_ALL = ("tokenizer", "max_batch", "prompt_lookup", "prefill_chunk")  # options that all sequences share


class Sequence(AsyncIterator[Token]):
    """The tokens of one prompt as they come, by `async for` in the loop that asked for them. A task that is cancelled
    while it waits, or aclose(), ends the sequence."""

    def __init__(self, cancel: Callable[[int], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[Token | Error] = asyncio.Queue()
        self._cancel = cancel
        self._number = -1  # of the generator, which gives it
        self._has_ended = False

    def tell(self, said: Token | Error) -> None:
        """Of any thread. A loop that is closed has nobody who listens."""
        try:
            self._loop.call_soon_threadsafe(self._told.put_nowait, said)
        except RuntimeError:
            pass

    def __aiter__(self) -> Sequence:
        return self

    async def __anext__(self) -> Token:
        if self._has_ended:
            raise StopAsyncIteration
        try:
            said = await self._told.get()
        except BaseException:
            await self.aclose()
            raise
        if isinstance(said, Error):
            self._has_ended = True
            raise said
        self._has_ended = said.end != ""
        return said

    async def aclose(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._cancel(self._number)


class SharedSteps:
    """Continues prompts of a model. One thread runs the steps; all calls may come from any thread. max_queue: sequences
    that have not ended, more are refused. prefill_chunk: as in GenerationOptions."""

    def __init__(self, model: Model, tokenizer: str | os.PathLike[str] | None = None, max_batch: int = 16,
                 max_queue: int = 1000, prefill_chunk: int = 0) -> None:
        for name, value in (("max_batch", max_batch), ("max_queue", max_queue)):
            if value <= 0:
                raise UsageError(f"{name}: {value} is not above 0")
        self._handle = _dyn.Generator(model._handle, None if tokenizer is None else os.fspath(tokenizer), max_batch, [], [], 0,
                                      prefill_chunk)
        self._max_queue = max_queue
        self._changed = threading.Condition()
        self._open: dict[int, Sequence] = {}
        self._is_shut = False
        self._last_progress = time.monotonic()
        self._thread = threading.Thread(target=self._run_steps, name="dyn.SharedSteps", daemon=True)
        self._thread.start()

    def submit(self, prompt: Prompt, /, **options: Unpack[GenerationOptions]) -> Sequence:
        """Options are those of GenerationOptions but tokenizer, max_batch, prompt_lookup, prefill_chunk and
        logits_processor. Draws depend on the seed and the prompt alone."""
        unknown = set(options) - set(GenerationOptions.__annotations__)
        if unknown:
            raise UsageError(f"generate: no option {', '.join(sorted(unknown))}")
        for name in _OF_ALL:
            if name in options:
                raise UsageError(f"{name} is set for all sequences when the decoder is made")
        if options.get("logits_processor") is not None:
            raise Unsupported("unsupported: logits_processor of a decoder that serves: its exception would end the "
                              "sequences of others", "E0502")
        with self._changed:  # until the sequence is there: its first token may be ready before
            if self._is_shut:
                raise ShutDown("the decoder takes no prompts any more")
            if len(self._open) >= self._max_queue:
                raise QueueFull(f"{len(self._open)} sequences have not ended, and max_queue is {self._max_queue}")
            made = Sequence(self._handle.cancel)
            made._number = _submit(self._handle, prompt, 0, None, options)
            if not self._open:
                self._last_progress = time.monotonic()
            self._open[made._number] = made
            self._changed.notify()
        return made

    def _run_steps(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._open or self._is_shut)
                if not self._open:
                    return
            try:
                told = self._handle.next()
            except Exception as error:
                self._end_all(error if isinstance(error, Error) else Error(str(error)))
            else:
                self._last_progress = time.monotonic()
                if told is not None:
                    self._tell(*told)

    def _tell(self, number: int, id: int, text: str, end: int, status: int, status_text: str, message: str,
              score: float) -> None:
        with self._changed:
            sequence = self._open.pop(number, None) if end else self._open.get(number)
        if sequence is not None:  # not one of those that _end_all() cancelled
            sequence.tell(error_of(status, status_text, message, []) if end == _FAILED
                          else Token(0, id, text, _ENDS[end], score))

    def _end_all(self, error: Error) -> None:
        with self._changed:
            for number, sequence in self._open.items():
                self._handle.cancel(number)
                sequence.tell(error)
            self._open.clear()

    @property
    def sharing(self) -> str:
        """How sequences share steps: "along batch", or "one by one: " and why."""
        return self._handle.sharing()

    @property
    def statistics(self) -> GenerationStatistics:
        return GenerationStatistics(**self._handle.statistics())  # type: ignore[arg-type]

    def waiting_s(self) -> float:
        """Seconds since the last token, while there are sequences; else 0."""
        with self._changed:
            return time.monotonic() - self._last_progress if self._open else 0.0

    def shut_down(self) -> None:
        """Takes no further prompts, ends the sequences that it has by "cancelled", and returns when they know."""
        with self._changed:
            self._is_shut = True
            for number in self._open:
                self._handle.cancel(number)
            self._changed.notify()
        self._thread.join()
