"""What the library says while it works: log lines, and progress, by logging and by a bar of tqdm."""

from __future__ import annotations

import sys
from typing import Any

from . import _dyn

_DELAY_S = 1.0  # shorter work has no bar


class Progress:
    """The listener of one model. As a context it is around one call, at whose end the bar goes."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, text: str, fraction: float | None) -> None:
        """Log lines (no fraction) are INFO of the logger "dyn", progress is DEBUG. fraction: -1 where nobody knows."""
        import logging
        logger = logging.getLogger("dyn")
        if fraction is None:
            logger.info(text)
            return
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(text if fraction < 0 else f"{text} ({fraction:.0%})")
        if fraction >= 0 and (self._bar is not None or _is_watched()):
            self._show(text, fraction)

    def _show(self, text: str, fraction: float) -> None:
        if self._bar is None:
            from tqdm.auto import tqdm
            self._bar = tqdm(total=100, unit="%", delay=_DELAY_S, leave=False,
                             bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(100 * min(fraction, 1.0) - self._bar.n)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _is_watched() -> bool:
    """Does somebody see a bar? At a terminal or in a notebook, where tqdm is installed."""
    import importlib.util
    return ((sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules) and (
        importlib.util.find_spec("tqdm") is not None)


class Handle(_dyn.Model):
    """A model of the library with the listener that it has."""

    def __init__(self, path: str | None, data: bytes | None, name: str, options: list[tuple[str, str]]) -> None:
        self.progress = Progress()
        super().__init__(path, data, name, options, self.progress)
