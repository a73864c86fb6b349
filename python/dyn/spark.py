"""A model as a function of Spark's columns: `df.select(predict_udf("bert.dynpkg", ...)("tokens"))` (docs/spark.md)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Iterator, Tuple

import numpy as np
import pyarrow as pa
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType, _parse_datatype_string

from ._errors import UsageError, missing_input, wrong_input
from ._packages import Package, packaged_for_runs
from ._predictor import DynPredictor

__all__ = ["predict_udf"]

_predictors: dict[str, DynPredictor] = {}  # of this process of an executor
_lock = threading.Lock()


def predict_udf(model: Any, *, return_type: DataType | str, batch_size: int = 1024,
                input_tensor_shapes: Sequence[Sequence[int] | None] | Mapping[int, Sequence[int]] | None = None,
                output: str | None = None, lengths: str | None = None, **options: Any) -> Callable[..., Any]:
    """A function of columns, in the convention of pyspark.ml.functions.predict_batch_udf: the columns are the inputs of
    the model, in order. model: of dyn.packaged(), or what that takes. return_type: of `output`, an output of the model
    ("array<float>"), or a struct whose fields are outputs; output: not needed where there is one. batch_size: rows of
    a run. input_tensor_shapes: of a row, where a column holds it as a flat array. Rows of different lengths are taken
    as they are; lengths: the input with the mask or the lengths, which is then filled in and has no column
    (dyn.DynPredictor). options: of dyn.load; threads is 1 unless said. A process of an executor loads the model once."""
    if batch_size <= 0:
        raise UsageError(f"batch_size: {batch_size} is not above 0")
    package, of_runs = packaged_for_runs(model, options)
    kind = _parse_datatype_string(return_type) if isinstance(return_type, str) else return_type
    fields = kind.names if isinstance(kind, StructType) else None
    given = input_tensor_shapes or {}
    shapes: dict[int, Sequence[int] | None] = dict(given.items() if isinstance(given, Mapping) else enumerate(given))
    key = uuid.uuid4().hex

    def predict(batches: Iterator[Any]) -> Iterator[pa.Array]:
        predictor = _predictor_of(key, package, lengths, of_runs)
        for batch in batches:
            columns = batch if isinstance(batch, tuple) else (batch,)  # Spark hands out a single column as it is.
            count = len(columns[0])
            parts = [_predicted(predictor, [column.slice(at, batch_size) for column in columns], shapes, output, fields,
                                lengths) for at in range(0, count, batch_size)]
            yield pa.concat_arrays(parts) if parts else pa.array([], to_arrow_type(kind))

    predict.__annotations__ = {"batches": Iterator[Tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    made: Callable[..., Any] = arrow_udf(predict, return_type)
    return made


def _predictor_of(key: str, package: Package, lengths: str | None, options: dict[str, Any]) -> DynPredictor:
    with _lock:
        if key not in _predictors:
            _predictors[key] = DynPredictor(package, lengths=lengths, **options)
        return _predictors[key]


def _predicted(predictor: DynPredictor, columns: Sequence[pa.Array], shapes: Mapping[int, Sequence[int] | None],
               output: str | None, fields: Sequence[str] | None, lengths: str | None) -> pa.Array:
    names = [port.name for port in predictor.inputs]
    if len(columns) == len(names) - 1 and lengths in names:
        names.remove(lengths)
    if len(columns) != len(names):
        raise missing_input(f"{len(columns)} columns are given, the model has the inputs {', '.join(names)}")
    batch = {}
    for i, (name, column) in enumerate(zip(names, columns)):
        array, shape = numpy_of(column, f"input '{name}'"), shapes.get(i)
        batch[name] = array if shape is None else array.reshape(len(column), *shape)
    made = predictor(batch)
    if fields is not None:
        for field in fields:
            if field not in made:
                raise missing_input(f"there is no output '{field}'; outputs: {', '.join(made)}")
        return pa.StructArray.from_arrays([arrow_of(made[field]) for field in fields], list(fields))
    if output is None and len(made) != 1:
        raise UsageError(f"output= names one of the outputs {', '.join(made)}, or return_type is a struct of them")
    if output is not None and output not in made:
        raise missing_input(f"there is no output '{output}'; outputs: {', '.join(made)}")
    return arrow_of(next(iter(made.values())) if output is None else made[output])


def numpy_of(array: pa.Array, what: str) -> Any:
    """A column of Arrow: numbers and lists of one length lie where they lay; lists of different lengths are an array of
    arrays, which lie there, too."""
    if array.null_count:
        raise wrong_input(f"{what}: its column has {array.null_count} nulls")
    if pa.types.is_fixed_size_list(array.type):
        inner = numpy_of(array.flatten(), what)
        return inner.reshape(len(array), array.type.list_size, *inner.shape[1:])
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        inner, ends = numpy_of(array.flatten(), what), np.asarray(array.offsets)
        ends = ends - ends[0]
        lengths = np.diff(ends)
        if len(lengths) and inner.dtype != object and (lengths == lengths[0]).all():
            return inner.reshape(len(array), lengths[0], *inner.shape[1:])
        made = np.empty(len(array), object)
        for i in range(len(array)):
            made[i] = inner[ends[i]:ends[i + 1]]
        return made
    return array.to_numpy(zero_copy_only=False)


def arrow_of(column: Any) -> pa.Array:
    """An array with the rows along its first axis, or an array of arrays, as a column of Arrow: nested lists."""
    if column.dtype == object and len(column) and isinstance(column[0], np.ndarray):
        ends = np.cumsum([0, *map(len, column)])
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), arrow_of(np.concatenate(list(column))))
    if column.ndim == 1:
        return pa.array(column)
    count, size = column.shape[:2]
    ends = np.arange(count + 1, dtype=np.int32) * size
    return pa.ListArray.from_arrays(pa.array(ends), arrow_of(column.reshape(count * size, *column.shape[2:])))
