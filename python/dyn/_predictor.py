"""A model over batches of columns, as engines for large data hand them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import Unsupported, missing_input
from ._packages import packaged_for_runs
from ._values import Port


def _rows_of(column: Any) -> list[Any] | None:
    """The rows of a ragged column, an array of arrays or lists; None: it is a tensor."""
    if isinstance(column, np.ndarray) and column.dtype == object and column.ndim == 1 and len(column) and isinstance(
            column[0], (np.ndarray, list)):
        return [np.asarray(row) for row in column]
    return None


def column_of(rows: Sequence[Any]) -> Any:
    """Rows of equal shapes as one array; others as an array of arrays."""
    if len({row.shape for row in rows}) == 1:
        return np.stack(rows)
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


class DynPredictor:
    """Runs a model on batches: a mapping of names to arrays, whose first axis are the rows, to the same of outputs.

        dataset.map_batches(dyn.DynPredictor, fn_constructor_args=(dyn.packaged(model),), concurrency=4)

    model: of packaged(), or what that takes. columns: input -> column, where the names differ. outputs: output ->
    column, of the outputs that are wanted; all unless said. keep: columns that go on unchanged. A column may be
    ragged: an array of arrays. With `lengths`, the name of the input with the mask or the lengths, rows of different
    lengths run together, and that input needs no column (Model.run_sequences); without it, rows of equal shapes run
    together. options: of load(); threads is 1 unless said."""

    def __init__(self, model: Any, *, columns: Mapping[str, str] | None = None,
                 outputs: Mapping[str, str] | None = None, keep: Sequence[str] = (), lengths: str | None = None,
                 **options: Any) -> None:
        package, of_runs = packaged_for_runs(model, options)
        self._model = package.load(of_runs)
        self._columns = dict(columns or {})
        self._outputs = outputs
        self._keep = tuple(keep)
        self._lengths = lengths

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self._model.inputs

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for port in self._model.inputs:
            column = self._columns.get(port.name, port.name)
            if column in batch:
                given[port.name] = batch[column]
            elif port.name != self._lengths:
                raise missing_input(f"input '{port.name}' has no column '{column}'; columns: {', '.join(batch)}")
        count = len(next(iter(given.values()))) if given else 0
        made = self._ran(given, count)
        names = self._outputs if self._outputs is not None else {name: name for name in made}
        for name in names:
            if name not in made:
                raise missing_input(f"there is no output '{name}'; outputs: {', '.join(made)}")
        return {**{name: batch[name] for name in self._keep}, **{column: made[name] for name, column in names.items()}}

    def _ran(self, given: dict[str, Any], count: int) -> dict[str, Any]:
        """By output, a column of `count` rows."""
        ragged = {name: rows for name, column in given.items() if (rows := _rows_of(column)) is not None}
        if self._lengths is not None and (ragged or self._lengths not in given):
            for port in self._model.inputs:  # rows that are of one length in this batch, by chance
                if port.name in given and port.shape and len(port.shape) > 1 and isinstance(port.shape[1], str):
                    ragged.setdefault(port.name, list(given[port.name]))
            results = self._model.run_sequences({**given, **ragged}, self._lengths)
            return {name: column_of(self._checked(name, result, count))
                    for name, result in zip(results.names, results)}
        if not ragged:
            results = self._model.run(given)
            return {name: self._checked(name, result, count) for name, result in zip(results.names, results)}
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i in range(count):
            groups.setdefault(tuple(rows[i].shape for rows in ragged.values()), []).append(i)
        made: dict[str, list[Any]] = {}
        for group in groups.values():
            results = self._model.run({name: np.stack([ragged[name][i] for i in group]) if name in ragged
                                       else np.asarray(column)[group] for name, column in given.items()})
            for name, result in zip(results.names, results):
                rows = made.setdefault(name, [None] * count)
                for i, row in zip(group, self._checked(name, result, len(group))):
                    rows[i] = row
        return {name: column_of(rows) for name, rows in made.items()}

    @staticmethod
    def _checked(name: str, result: Any, count: int) -> Any:
        if not isinstance(result, list) and result.ndim == 0 or len(result) != count:
            raise Unsupported(f"unsupported: output '{name}' has no row for each of the {count} rows of the batch",
                              "E0502")
        return result
