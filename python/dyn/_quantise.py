"""quantise: an ONNX model with weights, and by calibration activations, of few bits."""
from __future__ import annotations

import os
import pathlib
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError

if TYPE_CHECKING:
    from ._answers import Answer
    from ._model import Model


def quantise(model: Model, output: str | os.PathLike[str], weights: str = "int8", *,
             calibration: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
             percentile: float | None = None, exclude: Sequence[str] = (), block: int | None = None) -> Answer:
    """Writes the ONNX model with weights of 8 ("int8") or 4 bits ("int4"). With `calibration`, the inputs of some runs
    as mappings from names to arrays, or data as `dynrepl quantise --calibration` takes it, activations become bytes by
    the ranges that their values have in these runs. percentile, exclude, block: as the options of that command.
    Gives what was quantised, and why the rest stays: answer.weights, answer.activations."""
    options: dict[str, Any] = {"weights": weights, "percentile": percentile, "exclude": list(exclude), "block": block}
    if calibration is None or isinstance(calibration, (str, os.PathLike)):
        path = None if calibration is None else os.fspath(calibration)
        return model.commands.quantise(os.fspath(output), calibration=path, **options)
    with tempfile.TemporaryDirectory(prefix="dyn_calibration_") as folder:
        _write(pathlib.Path(folder), calibration)
        return model.commands.quantise(os.fspath(output), calibration=folder, **options)


def _write(folder: pathlib.Path, runs: Iterable[Mapping[str, Any]]) -> None:
    """A folder for each run with a file for each input, called like the input as far as a file may be."""
    count = 0
    for run in runs:
        if not isinstance(run, Mapping) or not run:
            raise UsageError("calibration takes a mapping from inputs to arrays for each run")
        (folder / str(count)).mkdir()
        for name, value in run.items():
            np.save(folder / str(count) / (re.sub(r"[^\w.-]", "_", name) + ".npy"), np.asarray(value))
        count += 1
    if count == 0:
        raise UsageError("calibration needs the inputs of one run at least")
