"""The runtime's C API for scripts that measure: load a package, set inputs, run, read outputs."""
import ctypes as c
import json
import os
import subprocess
import tempfile

import numpy as np

from c_header import structure

I64 = c.c_int64


Options, ContractDim, Statistics = structure("dyn_options"), structure("dyn_contract_dim"), structure("dyn_statistics")


class Error(Exception):
    pass


class Runtime:
    def __init__(self, library):
        self.api = c.CDLL(library)
        for name in ("dyn_last_message", "dyn_dtype_text", "dyn_context_profile_text"):
            getattr(self.api, name).restype = c.c_char_p
        self.api.dyn_value_data.restype = c.c_void_p
        self.api.dyn_value_shape.restype = c.POINTER(I64)
        self.numpy_of = {}
        names = {"bool": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}
        names |= {f"i{b}": np.dtype(f"int{b}").type for b in (8, 16, 32, 64)}
        names |= {f"u{b}": np.dtype(f"uint{b}").type for b in (8, 16, 32, 64)}
        for code in range(64):
            text = self.api.dyn_dtype_text(code)
            if text and text.decode() in names:
                self.numpy_of[code] = names[text.decode()]
        self.code_of = {np.dtype(t): code for code, t in self.numpy_of.items()}
        self.bf16 = next(code for code in range(64) if self.api.dyn_dtype_text(code) == b"bf16")  # NumPy has none: as f32

    def check(self, status):
        if status != 0:
            raise Error(self.api.dyn_last_message().decode())


class Module:
    """One package and one context over it."""

    def __init__(self, runtime, path, threads=1, **options):
        self.runtime, self.api = runtime, runtime.api
        self.module, self.context = c.c_void_p(), c.c_void_p()
        runtime.check(self.api.dyn_module_load_file(path.encode(), None, c.byref(self.module)))
        options = Options(thread_count=threads, **options)
        runtime.check(self.api.dyn_context_create(self.module, c.byref(options), c.byref(self.context)))
        self.brief = set()  # inputs of bf16
        self.inputs = [self._input(i) for i in range(self.api.dyn_module_input_count(self.module))]

    def _input(self, index):
        name, kind, dtype, rank = c.c_char_p(), c.c_char_p(), c.c_int32(), c.c_int32()
        self.runtime.check(self.api.dyn_module_input(self.module, index, c.byref(name), c.byref(kind), c.byref(dtype), c.byref(rank)))
        shape = []
        for axis in range(rank.value):
            dim = ContractDim()
            self.runtime.check(self.api.dyn_module_input_dim(self.module, index, axis, c.byref(dim)))
            shape.append(dim.text.decode() if dim.text else dim.value)
        element = np.float32 if dtype.value == self.runtime.bf16 else self.runtime.numpy_of.get(dtype.value)  # none: of a list, or of a value of a data type
        if dtype.value == self.runtime.bf16:
            self.brief.add(name.value.decode())
        return name.value.decode(), np.dtype(element) if element else None, shape

    def set_inputs(self, feed):
        """The arrays are borrowed: they must live until other ones are set."""
        self.held = {name: np.asarray(feed[name], order="C") for name, _, _ in self.inputs}  # keeps rank 0
        for name in self.brief:
            bits = np.ascontiguousarray(self.held[name], np.float32).view(np.uint32)
            self.held[name] = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        for index, (name, _, _) in enumerate(self.inputs):
            array, value = self.held[name], c.c_void_p()
            shape = (I64 * array.ndim)(*array.shape)
            code = self.runtime.bf16 if name in self.brief else self.runtime.code_of[array.dtype]
            self.runtime.check(self.api.dyn_value_borrow(self.context, code, array.ndim, shape, array.ctypes.data_as(c.c_void_p),
                                                         c.c_size_t(array.nbytes), None, None, c.byref(value)))
            status = self.api.dyn_context_set_input(self.context, index, value)
            self.api.dyn_value_release(value)
            self.runtime.check(status)

    def set_growing(self, index, array, axis, room):
        """An input that the program appends to along `axis`, with room for so many rows."""
        array, value = np.ascontiguousarray(array), c.c_void_p()
        shape = (I64 * array.ndim)(*array.shape)
        self.runtime.check(self.api.dyn_value_growing(self.context, self.runtime.code_of[array.dtype], array.ndim, shape, axis, I64(room),
                                                      array.ctypes.data_as(c.c_void_p), c.c_size_t(array.nbytes), c.byref(value)))
        self.runtime.check(self.api.dyn_context_set_input(self.context, index, value))
        self.api.dyn_value_release(value)

    def hand_on(self, links):
        """Outputs of the last run become inputs of the next: pairs of (input, output)."""
        for to, index in links:
            value = c.c_void_p()
            self.runtime.check(self.api.dyn_context_get_output(self.context, index, c.byref(value)))
            self.runtime.check(self.api.dyn_context_set_input(self.context, to, value))
            self.api.dyn_value_release(value)

    def run(self):
        self.runtime.check(self.api.dyn_context_run(self.context))

    def output(self, index):
        value = c.c_void_p()
        self.runtime.check(self.api.dyn_context_get_output(self.context, index, c.byref(value)))
        rank = self.api.dyn_value_rank(value)
        shape = tuple(self.api.dyn_value_shape(value)[axis] for axis in range(rank)) if rank > 0 else ()
        code = self.api.dyn_value_dtype(value)
        brief = code == self.runtime.bf16
        dtype = np.dtype(np.uint16 if brief else self.runtime.numpy_of[code])
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        text = c.string_at(self.api.dyn_value_data(value), size) if size else b""
        self.api.dyn_value_release(value)
        if brief:
            return (np.frombuffer(text, dtype).astype(np.uint32) << 16).view(np.float32).reshape(shape)
        return np.frombuffer(text, dtype).reshape(shape).copy()

    def outputs(self):
        return [self.output(index) for index in range(self.api.dyn_context_result_count(self.context))]

    def statistics(self):
        """Of the last run: {name: number}."""
        numbers = Statistics()
        self.runtime.check(self.api.dyn_context_statistics(self.context, c.byref(numbers)))
        return {name: getattr(numbers, name) for name, _ in Statistics._fields_}

    def _profiled(self, runs, form):
        self.runtime.check(self.api.dyn_context_profile(self.context, 1))
        for _ in range(runs):
            self.run()
        text = self.api.dyn_context_profile_text(self.context, form).decode()
        self.runtime.check(self.api.dyn_context_profile(self.context, 0))
        return text

    def profile_table(self, runs):
        """The rows of the profile: kind, name, count, total_ns, ..."""
        return json.loads(self._profiled(runs, b"json"))["rows"]

    def profile(self, runs=5, rows=12):
        """The head of the table per kernel (CSV) of a few runs."""
        text = self._profiled(runs, b"csv")
        return "\n".join(line[:160] for line in text.splitlines()[: rows + 1]) + "\n"


def load(build, model, threads=1, options=(), **context):
    """A model, compiled with these options of dynrepl unless it is a package already, by the programs in `build`."""
    runtime = Runtime(f"{build}/lib/libdynvm.so")
    if model.endswith(".dynpkg"):
        return Module(runtime, model, threads, **context)
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "model.dynpkg")
        subprocess.run([f"{build}/bin/dynrepl", "compile", model, "-o", package, "--quiet", *options], check=True,
                       stdout=subprocess.DEVNULL)
        return Module(runtime, package, threads, **context)
