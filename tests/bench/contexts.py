"""Models of a build for scripts that measure: compiled by its dynrepl, run by the package dyn_runtime over its libdynvm.

  context = contexts.load("build/release", "model.onnx", threads=1, options=["--math", "bf16"])
  context.set(feed); context.run(); context.outputs()      # and all of dyn_runtime.Context

NumPy has no bf16: such inputs are given and such outputs come as f32."""
import importlib
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
_BRIEF = "bf16"
_of_build = None


def package(build):
    """dyn_runtime over the library of this build; its extension is compiled where it is not yet (tests/python)."""
    global _of_build
    build = pathlib.Path(build).resolve()
    if _of_build is None:
        sys.path.insert(0, str(ROOT / "tests/python"))
        import package_test
        missing = package_test.missing()
        if missing:
            sys.exit(f"the package dyn_runtime cannot be built: {missing}")
        package_test.build(build / "lib/libdynvm.so", ROOT, build / "python_runtime", ("vm/include",), ["-DDYN_RUNTIME=ON"])
        sys.path.insert(0, str(build / "python_runtime"))
        _of_build = build
    if _of_build != build:
        sys.exit(f"one process has one runtime: that of {_of_build}, not that of {build}")
    return importlib.import_module("dyn_runtime")


def __getattr__(name):
    if name == "Error":  # of the package, once there is one
        return sys.modules["dyn_runtime"].Error
    raise AttributeError(name)


def _shortened(array):
    """f32 as bf16, rounded to even: what ml_dtypes has a type for."""
    import ml_dtypes
    return np.ascontiguousarray(array, np.float32).astype(ml_dtypes.bfloat16)


def opened(dyn, path, threads=1, interpret=False, dry_run=False, **options):
    """A package as a context, with what the benches ask for beside it."""
    model = dyn.load(path, threads=threads, **options)

    class Measured(dyn.Context):
        def __init__(self):
            super().__init__(model, model._compiled(), interpret, dry_run)
            # (name, NumPy's type or None, shape) of each input.
            self.inputs = [(port.name, _numpy_of(dyn, port.dtype), list(port.shape or ())) for port in model.inputs]
            self._brief = {port.name for port in model.inputs if port.dtype == _BRIEF}

        set_some = dyn.Context.set

        def set(self, feed):
            """All inputs of the model that the feed names; it may have more."""
            super().set({name: _shortened(feed[name]) if name in self._brief else np.asarray(feed[name], order="C")
                         for name, _, _ in self.inputs})

        def set_growing(self, name, array, axis, room):
            """An input that the program appends to along `axis`, with room for so many rows."""
            super().set({name: model.growing(array, axis, room)})

        def output(self, index):
            array = super().output(index)
            return array.astype(np.float32) if getattr(array, "dtype", None) is not None and array.dtype.name == "bfloat16" else array

        def outputs(self):
            return [self.output(index) for index in range(self._handle.result_count)]

        def profile_table(self, runs):
            """The rows of the profile: kind, name, count, total_ns, ..."""
            return json.loads(self.profile(runs, "json"))["rows"]

        def profile_head(self, runs=5, rows=12):
            """The head of the table per kernel of a few runs."""
            return "\n".join(line[:160] for line in self.profile(runs, "csv").splitlines()[: rows + 1]) + "\n"
    return Measured()


def _numpy_of(dyn, dtype):
    if dtype == _BRIEF:
        return np.dtype(np.float32)
    code = next((code for code, name in enumerate(dyn._dtypes.NAMES) if name == dtype), None)
    return dyn._dtypes.PLAIN.get(code)


def load(build, model, threads=1, options=(), **context):
    """A model, compiled with these options of dynrepl unless it is a package already, by the programs in `build`."""
    dyn = package(build)
    if str(model).endswith(".dynpkg"):
        return opened(dyn, model, threads, **context)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.dynpkg")
        subprocess.run([f"{build}/bin/dynrepl", "compile", model, "-o", path, "--quiet", *options], check=True,
                       stdout=subprocess.DEVNULL)
        return opened(dyn, path, threads, **context)


class Elsewhere:
    """A context of another build, in a process of its own, which the contexts.py of that build's sources serves: one process
    has one runtime. run() gives the nanoseconds that it took there, by the clock of that name in `time`."""

    def __init__(self, build, model, threads, clock):
        with open(os.path.join(build, "CMakeCache.txt")) as cache:
            home = next(line.split("=", 1)[1].strip() for line in cache if line.startswith("CMAKE_HOME_DIRECTORY:"))
        script = os.path.join(home, "tests/bench/contexts.py")
        if not os.path.exists(script):
            sys.exit(f"{build} is of sources without {script}: they are too old to be run beside")
        self.process = subprocess.Popen([sys.executable, script, "serve", build, str(model), str(threads), clock], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.inputs = self._receive()

    def _receive(self):
        try:
            return pickle.load(self.process.stdout)
        except EOFError:
            sys.exit(f"the process of another build ended: {self.process.wait()}")

    def _ask(self, *what):
        pickle.dump(what, self.process.stdin)
        self.process.stdin.flush()
        return self._receive()

    def set(self, feed):
        self._ask("set", feed)

    def run(self):
        return self._ask("run", None)

    def outputs(self):
        return self._ask("outputs", None)

    def __del__(self):
        self.process.stdin.close()
        self.process.wait()


def serve(build, model, threads, clock):
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print
    now, context = getattr(time, clock), load(build, model, int(threads))

    def answer(what):
        pickle.dump(what, answers)
        answers.flush()

    answer(context.inputs)
    while True:
        try:
            what, argument = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if what == "run":
            start = now()
            context.run()
            answer(now() - start)
        else:
            answer(context.set(argument) if what == "set" else context.outputs())


if __name__ == "__main__":
    if sys.argv[1:2] != ["serve"]:
        sys.exit(__doc__)
    serve(*sys.argv[2:])
