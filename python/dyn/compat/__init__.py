"""Programs that were written for another runtime, run on Dyn unchanged.

    import dyn.compat
    dyn.compat.install()          # from here on `import onnxruntime` gives dyn.compat.onnxruntime
    import onnxruntime

or, of a whole program: `python -m dyn.compat program.py ARGUMENT...`, `python -m dyn.compat -m module ARGUMENT...`.
"""

from ._finder import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
