"""Decoders that continue prompts: all prompts of a call share the steps of the model."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Union

import numpy as np

from . import _dyn, _values
from ._errors import UsageError, error_of

if TYPE_CHECKING:
    from typing import Unpack

_ENDS = ("", "length", "stop token", "stop text", "cancelled", "failed")
_FAILED = 5

Prompt = Union[str, Sequence[int], "np.ndarray[Any, Any]"]
# hook(tokens, scores): the scores of the next token, changed in place or returned; tokens are those of the prompt and
# the new ones.
LogitsProcessor = Callable[["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"], Any]


class GenerationOptions(TypedDict, total=False):
    """tokenizer: path of tokenizer.json, vocab.txt or vocab.json; prompts of ids do without. max_new_tokens: at most,
    32. temperature: 0 takes the best token; 1 where top_k or top_p is given. top_k, top_p: draws from the best K, or
    the best whose probabilities sum up to P. repetition_penalty: divides scores above 0 of tokens that are there. stop:
    texts, tokens or ids that end a sequence. ignore_end_tokens: it goes on behind those that the files beside the model
    say. seed: prompt i draws the same whatever runs beside it. logits_processor: one for all prompts, or a sequence
    with one or None for each. max_batch: sequences in a step, 16. beams: above 1 beam search,
    which finds the most likely text and draws nothing; its tokens come at its end. length_penalty: a text is ranked by its
    log probability divided by (its tokens) ** length_penalty, 1. early_stopping: the search ends when `beams` texts have
    ended. prompt_lookup: a step of a prompt that runs by itself takes up to so many tokens ahead, drafted from its own text;
    the same tokens in fewer steps; 0. prefill_chunk: a prompt of more tokens, which comes while others run, runs so many at
    a time beside their steps; 0: whole. inputs: arrays by the names of inputs, the same in all
    steps: what an encoder made of the source, the first value of a state; prompts run one by one then. ports: "ROLE=NAME"
    each, what an input or output is for where its name does not say it."""

    tokenizer: str | os.PathLike[str] | None
    max_new_tokens: int
    temperature: float | None
    top_k: int
    top_p: float
    repetition_penalty: float
    stop: str | int | Sequence[str | int]
    ignore_end_tokens: bool
    seed: int
    logits_processor: LogitsProcessor | Sequence[LogitsProcessor | None] | None
    max_batch: int
    beams: int
    length_penalty: float
    early_stopping: bool
    prompt_lookup: int
    prefill_chunk: int
    inputs: Mapping[str, Any]
    ports: Sequence[str]


class Token(NamedTuple):
    """A token of the prompt with this number. text: what it adds, whole characters; "" without a tokenizer. end: ""
    while the sequence goes on; then "length", "stop token", "stop text" or "cancelled", whose id is -1. score: of the text that a beam search has
    found, with its last token; else 0."""

    sequence: int
    id: int
    text: str
    end: str
    score: float = 0.0


class Generated(NamedTuple):
    """What came behind a prompt. ids: with the stop token. text: in front of what stopped it. score: of a beam search,
    else 0."""

    ids: list[int]
    text: str
    end: str
    score: float = 0.0


class GenerationStatistics(NamedTuple):
    """Counts of a generator, which a model keeps for later calls. steps_count: runs of the model; rows_count divided by
    it is the mean of sequences in one. growing_caches_count: of the caches_count those that a step does not copy.
    shares_lengths: sequences of different lengths share steps. shared_tokens_count: tokens of prompts whose caches
    another prompt made, as both begin with them. draft_tokens_count, accepted_tokens_count: by prompt lookup."""

    submitted_count: int
    ended_count: int
    waiting_count: int
    running_count: int
    tokens_count: int
    steps_count: int
    rows_count: int
    growing_caches_count: int
    caches_count: int
    shares_lengths: bool
    shared_tokens_count: int
    draft_tokens_count: int
    accepted_tokens_count: int


class Generation(Iterator[Token], AsyncIterator[Token]):
    """The tokens of prompts as they come, by `for` or `async for`. One thread at a time. What leaves the loop, or is
    interrupted, ends it; close() or `with` do, too."""

    def __init__(self, pool: Generators, prompts: Sequence[Prompt], options: GenerationOptions) -> None:
        unknown = set(options) - set(GenerationOptions.__annotations__)
        if unknown:
            raise UsageError(f"generate: no option {', '.join(sorted(unknown))}")
        tokenizer = options.get("tokenizer")
        self._key = _Key(os.fspath(tokenizer) if tokenizer is not None else None, options.get("max_batch", 16),
                         options.get("prompt_lookup", 0), options.get("prefill_chunk", 0))
        if self._key.max_batch < 1:
            raise UsageError(f"max_batch: {self._key.max_batch} is not above 0")
        self._pool = pool
        inputs, ports = _given_inputs(options.get("inputs", {})), _port_texts(options.get("ports", ()))
        self._is_pooled = not inputs and not ports
        self._handle: _dyn.Generator | None = pool.take(self._key) if self._is_pooled else pool.make(self._key, inputs, ports)
        self._numbers: dict[int, int] = {}
        try:
            for number, (prompt, hook) in enumerate(zip(prompts, _hooks_of(options, len(prompts)))):
                self._numbers[_submit(self._handle, prompt, number, hook, options)] = number
        except BaseException:
            self._handle = None  # with the prompts that it has
            raise

    def __iter__(self) -> Generation:
        return self

    def __next__(self) -> Token:
        token = self._next()
        if token is None:
            raise StopIteration
        return token

    def __aiter__(self) -> Generation:
        return self

    async def __anext__(self) -> Token:
        import asyncio
        try:
            token = await asyncio.to_thread(self._next)
        except asyncio.CancelledError:
            self.close()
            raise
        if token is None:
            raise StopAsyncIteration
        return token

    def _next(self) -> Token | None:
        handle = self._handle
        if handle is None:
            return None
        try:
            told = handle.next()
        except BaseException:
            self.close()
            raise
        if told is None:
            if self._handle is not None:  # close() was not called meanwhile
                self._last_statistics = self.statistics
                if self._is_pooled:
                    self._pool.give_back(handle, self._key)
                self._handle = None
            return None
        sequence, id, text, end, status, status_text, message, score = told
        if end == _FAILED:
            self.close()
            raise error_of(status, status_text, f"prompt {self._numbers[sequence]}: {message}", [])
        return Token(self._numbers[sequence], id, text, _ENDS[end], score)

    def cancel(self, prompt: int) -> None:
        """Ends the sequence of a prompt before the next step. Any thread."""
        for sequence, number in self._numbers.items():
            if number == prompt and self._handle is not None:
                self._handle.cancel(sequence)

    def close(self) -> None:
        """Ends all sequences. Any thread."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._last_statistics = GenerationStatistics(**handle.statistics())  # type: ignore[arg-type]
            handle.interrupt()

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    @property
    def statistics(self) -> GenerationStatistics:
        if self._handle is None:
            return self._last_statistics
        return GenerationStatistics(**self._handle.statistics())  # type: ignore[arg-type]


class _Key(NamedTuple):
    tokenizer: str | None
    max_batch: int
    prompt_lookup: int
    prefill_chunk: int


class Generators:
    """Those of a model that nobody uses, by tokenizer and size of a batch."""

    def __init__(self, model: _dyn.Model) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._idle: dict[_Key, list[_dyn.Generator]] = {}

    def take(self, key: _Key) -> _dyn.Generator:
        with self._lock:
            idle = self._idle.get(key)
            if idle:
                return idle.pop()
        return self.make(key, [], [])

    def make(self, key: _Key, inputs: list[tuple[str, int, list[int], bytes]], ports: list[str]) -> _dyn.Generator:
        return _dyn.Generator(self._model, key.tokenizer, key.max_batch, inputs, ports, key.prompt_lookup,
                              key.prefill_chunk)

    def give_back(self, handle: _dyn.Generator, key: _Key) -> None:
        with self._lock:
            self._idle.setdefault(key, []).append(handle)


class Generates:
    """What of a model continues prompts."""

    _handle: Any
    _generators: Generators | None = None

    def generate(self, prompts: Prompt | Sequence[Prompt], **options: Unpack[GenerationOptions]) -> list[Generated]:
        """Continues one prompt or several, texts or ids, which share the steps of the model; the results are in their
        order. Options are those of GenerationOptions. Ctrl-C ends it. Raises Unsupported where the model is no decoder,
        UsageError, and what a run of a prompt fails with."""
        with self.generate_stream(prompts, **options) as tokens:
            made = _Collected(len(tokens._numbers))
            for token in tokens:
                made.add(token)
        return made.all()

    def generate_stream(self, prompts: Prompt | Sequence[Prompt], **options: Unpack[GenerationOptions]) -> Generation:
        """The same as an iterator of tokens, by `for` or `async for`, as they come."""
        if self._generators is None:
            self._generators = Generators(self._handle)
        return Generation(self._generators, _listed(prompts), options)

    async def agenerate(self, prompts: Prompt | Sequence[Prompt], **options: Unpack[GenerationOptions]) -> list[Generated]:
        """generate(), on threads of asyncio's own. A task that is cancelled ends it."""
        import asyncio
        tokens = await asyncio.to_thread(self.generate_stream, prompts, **options)
        made = _Collected(len(tokens._numbers))
        async for token in tokens:
            made.add(token)
        return made.all()


class _Collected:
    def __init__(self, count: int) -> None:
        self._ids: list[list[int]] = [[] for _ in range(count)]
        self._texts: list[list[str]] = [[] for _ in range(count)]
        self._ends = [""] * count
        self._scores = [0.0] * count

    def add(self, token: Token) -> None:
        if token.id >= 0:
            self._ids[token.sequence].append(token.id)
        self._texts[token.sequence].append(token.text)
        self._ends[token.sequence] = token.end
        self._scores[token.sequence] = token.score

    def all(self) -> list[Generated]:
        return [Generated(ids, "".join(texts), end, score)
                for ids, texts, end, score in zip(self._ids, self._texts, self._ends, self._scores)]


def _listed(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str):
        return [prompts]
    if isinstance(prompts, np.ndarray):
        return [prompts] if prompts.ndim == 1 else list(prompts)
    listed: list[Any] = list(_listed_only("prompts are texts or lists of ids", prompts))
    return [listed] if listed and all(isinstance(one, (int, np.integer)) for one in listed) else listed


def _given_inputs(given: Any) -> list[tuple[str, int, list[int], bytes]]:
    if not isinstance(given, Mapping):
        raise UsageError(f"inputs: arrays by names, not {given!r}")
    forms = []
    for name, value in given.items():
        form = _values.tensor_form(value, None, None, f"input {name!r}")
        if len(form) != 2:
            raise UsageError(f"input {name!r}: a tensor of strings is none of a decoder")
        array, code = form
        forms.append((str(name), int(code), list(array.shape), np.ascontiguousarray(array).tobytes()))
    return forms


def _port_texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    return [str(one) for one in _listed_only('ports: "ROLE=NAME" each', given)]


def _hooks_of(options: GenerationOptions, count: int) -> list[LogitsProcessor | None]:
    given = options.get("logits_processor")
    if given is None or callable(given):
        return [given] * count
    if len(given) != count:
        raise UsageError(f"logits_processor: {len(given)} for {count} prompts")
    return list(given)


def _submit(handle: _dyn.Generator, prompt: Prompt, number: int, hook: LogitsProcessor | None,
            options: GenerationOptions) -> int:
    text = prompt if isinstance(prompt, str) else None
    ids = [] if isinstance(prompt, str) else _integers("a prompt is a text or a list of ids", prompt)
    stop = options.get("stop", ())
    stops: list[Any] = [stop] if isinstance(stop, (str, int, np.integer)) else list(_listed_only("stop: texts, tokens or ids", stop))
    stop_ids = _integers("stop: texts, tokens or ids", [one for one in stops if not isinstance(one, str)])
    for name, kind in _KINDS.items():
        given = options.get(name)
        # bool is a number for Python; None is the default of temperature.
        if name in options and (given is not None or name != "temperature") and (
                not isinstance(given, kind) or (isinstance(given, bool) and kind is not _BOOL)):
            raise UsageError(f"{name}: {given!r} is {_SAID[kind]}")
    temperature = options.get("temperature")
    if temperature is None:
        temperature = 1.0 if "top_k" in options or "top_p" in options else 0.0
    max_new, top_k, seed, beams = (
        int(options.get(name, default))  # type: ignore[call-overload]
        for name, default in (("max_new_tokens", 32), ("top_k", 0), ("seed", 0), ("beams", 1)))
    for name, value in (("max_new_tokens", max_new), ("beams", beams), ("top_p", options.get("top_p", 1.0)),
                        ("repetition_penalty", options.get("repetition_penalty", 1.0))):
        if value <= 0:
            raise UsageError(f"{name}: {value} is not above 0")
    for name, value, most in (("max_new_tokens", max_new, 2**63), ("top_k", top_k, 2**63), ("seed", seed, 2**64),
                              ("beams", beams, 1025)):
        if not 0 <= value < most:
            raise UsageError(f"{name}: {value} is no number from 0 to {most - 1}")
    return handle.submit(text, ids, max_new, [one for one in stops if isinstance(one, str)], stop_ids,
                         bool(options.get("ignore_end_tokens", False)), float(temperature), top_k,
                         float(options.get("top_p", 1.0)), float(options.get("repetition_penalty", 1.0)), seed, number,
                         beams, float(options.get("length_penalty", 1.0)) or _NO_LENGTH_PENALTY,
                         bool(options.get("early_stopping", False)), None if hook is None else _on_views(hook))


_BOOL, _INTEGER, _REAL = (bool, np.bool_), (int, np.integer), (int, float, np.integer, np.floating)
_SAID = {_BOOL: "neither True nor False", _INTEGER: "no whole number", _REAL: "no number"}
_KINDS: dict[str, tuple[type, ...]] = {
    "max_new_tokens": _INTEGER, "top_k": _INTEGER, "seed": _INTEGER, "temperature": _REAL, "top_p": _REAL,
    "repetition_penalty": _REAL, "ignore_end_tokens": _BOOL, "beams": _INTEGER, "length_penalty": _REAL,
    "early_stopping": _BOOL}
_NO_LENGTH_PENALTY = 5e-324  # 0 stands for the default in dyn_prompt


def _listed_only(what: str, given: Any) -> Any:
    if isinstance(given, (Mapping, bytes)) or not isinstance(given, Iterable):
        raise UsageError(f"{what}, not {given!r}")
    return given


def _integers(what: str, given: Any) -> list[int]:
    """Ids of tokens. Nothing is cast: 1.5 and True are none."""
    ids = []
    for one in _listed_only(what, given):
        if isinstance(one, bool) or not isinstance(one, (int, np.integer)) or not -2**63 <= one < 2**63:
            raise UsageError(f"{what}: {one!r} is no id of a token")
        ids.append(int(one))
    return ids


def _on_views(hook: LogitsProcessor) -> Callable[[memoryview, memoryview], None]:
    def call(tokens: memoryview, scores: memoryview) -> None:
        # Copies: the memory is the library's, for the time of the call.
        own = np.frombuffer(scores, np.float32).copy()
        changed = hook(np.frombuffer(tokens, np.int64).copy(), own)
        np.frombuffer(scores, np.float32)[:] = own if changed is None else changed
    return call
