"""onnxruntime's interface over Dyn, beside onnxruntime itself where it is installed: the same calls, the same answers."""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

import dyn.compat.onnxruntime as ours
import models

try:
    import onnx
    import onnxruntime as theirs
    from onnx import TensorProto, helper
except ImportError:
    onnx = theirs = None

BERT = str(models.BERT)


def both():
    return (ours,) if theirs is None else (ours, theirs)


def session(runtime, model=BERT, **options):
    if runtime is theirs:
        options["providers"] = ["CPUExecutionProvider"]
    return runtime.InferenceSession(model, **options)


def made(nodes, inputs, outputs, **more):
    """Bytes of a model: (name, type, shape) of inputs and outputs."""
    def values(rows):
        return [helper.make_tensor_value_info(*row) for row in rows]

    graph = helper.make_graph([helper.make_node(*node[0], **node[1]) for node in nodes], "graph", values(inputs),
                              values(outputs))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, **more)
    return model


class Bert(unittest.TestCase):
    def setUp(self):
        ids, mask = models.bert_inputs(2, 7)
        self.feed = {"input_ids": ids, "attention_mask": mask}

    def test_ports(self):
        for runtime in both():
            with self.subTest(runtime.__name__):
                model = session(runtime)
                self.assertEqual([(one.name, one.type, one.shape) for one in model.get_inputs()],
                                 [("input_ids", "tensor(int64)", ["batch", "seq"]),
                                  ("attention_mask", "tensor(int64)", ["batch", "seq"])])
                [output] = model.get_outputs()
                self.assertEqual((output.name, output.type, len(output.shape), output.shape[2]),
                                 ("last_hidden_state", "tensor(float)", 3, 32))
                self.assertEqual(model.get_providers(), ["CPUExecutionProvider"])
                self.assertEqual(model.get_overridable_initializers(), [])

    def test_metadata(self):
        seen = []
        for runtime in both():
            for model in (BERT, models.BERT.read_bytes()):
                meta = session(runtime, model).get_modelmeta()
                seen.append((meta.producer_name, meta.graph_name, meta.domain, meta.description,
                             meta.graph_description, meta.version, meta.custom_metadata_map))
        for one in seen:
            self.assertEqual(one, seen[0])
        self.assertEqual(seen[0][0], "pytorch")

    def test_run(self):
        results = []
        for runtime in both():
            for model in (BERT, models.BERT, models.BERT.read_bytes()):
                one = session(runtime, model)
                for names in (None, [], ["last_hidden_state"]):
                    results.append(one.run(names, self.feed)[0])
                results.append(one.run_with_ort_values(None, {
                    name: runtime.OrtValue.ortvalue_from_numpy(value) for name, value in self.feed.items()})[0].numpy())
        for result in results:
            np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-5)
            self.assertTrue(result.flags.writeable)

    def test_binding(self):
        for runtime in both():
            with self.subTest(runtime.__name__):
                model = session(runtime)
                [wanted] = model.run(None, self.feed)
                binding = model.io_binding()
                binding.bind_cpu_input("input_ids", self.feed["input_ids"])
                mask = self.feed["attention_mask"]
                binding.bind_input("attention_mask", "cpu", 0, np.int64, mask.shape, mask.ctypes.data)
                binding.bind_output("last_hidden_state")
                model.run_with_iobinding(binding)
                np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], wanted)
                self.assertEqual(binding.get_outputs()[0].shape(), list(wanted.shape))
                memory = np.zeros_like(wanted)
                binding.bind_output("last_hidden_state", "cpu", 0, np.float32, memory.shape, memory.ctypes.data)
                model.run_with_iobinding(binding)
                np.testing.assert_array_equal(memory, wanted)
                value = runtime.OrtValue.ortvalue_from_shape_and_type(wanted.shape, np.float32, "cpu")
                binding.clear_binding_outputs()
                binding.bind_ortvalue_output("last_hidden_state", value)
                model.run_with_iobinding(binding)
                np.testing.assert_array_equal(value.numpy(), wanted)

    def test_run_async(self):
        for runtime in both():
            done, seen = threading.Event(), []

            def callback(results, user_data, error):
                seen.append((results, user_data, error))
                done.set()

            model = session(runtime)
            model.run_async(None, self.feed, callback, 7)
            self.assertTrue(done.wait(30))
            [(results, user_data, error)] = seen
            self.assertEqual((user_data, error), (7, ""))
            np.testing.assert_array_equal(results[0], model.run(None, self.feed)[0])


@unittest.skipIf(onnx is None, "needs onnx and onnxruntime")
class Kinds(unittest.TestCase):
    def agree(self, model, feed):
        answers = [session(runtime, model.SerializeToString()).run(None, feed) for runtime in both()]
        for ours_, theirs_ in zip(*answers):
            if isinstance(ours_, list):
                self.assertEqual(len(ours_), len(theirs_))
                for a, b in zip(ours_, theirs_):
                    np.testing.assert_allclose(a, b, rtol=1e-5)
            elif ours_.dtype == object:
                self.assertEqual((ours_.dtype, ours_.tolist()), (theirs_.dtype, theirs_.tolist()))
            else:
                self.assertEqual((ours_.dtype, ours_.shape), (theirs_.dtype, theirs_.shape))
                np.testing.assert_allclose(ours_, theirs_, rtol=1e-5)

    def test_scalar_and_lists(self):
        model = made([(("ReduceSum", ["x"], ["y"]), {"keepdims": 0})], [("x", TensorProto.FLOAT, [None, "n"])],
                     [("y", TensorProto.FLOAT, [])])
        self.agree(model, {"x": np.ones((2, 3), np.float32)})
        self.agree(model, {"x": [[1.0, 2.5]]})
        for runtime in both():
            [x] = session(runtime, model.SerializeToString()).get_inputs()
            self.assertEqual(x.shape, [None, "n"])

    def test_strings(self):
        model = made([(("Identity", ["x"], ["y"]), {})], [("x", TensorProto.STRING, ["n"])],
                     [("y", TensorProto.STRING, ["n"])])
        self.agree(model, {"x": np.array(["a", "größer", ""])})

    def test_sequences(self):
        model = made([(("SplitToSequence", ["x"], ["y"]), {"axis": 0, "keepdims": 1})],
                     [("x", TensorProto.FLOAT, ["n", 2])], [])
        model.graph.output.append(helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None))
        self.agree(model, {"x": np.arange(6, dtype=np.float32).reshape(3, 2)})
        for runtime in both():
            [y] = session(runtime, model.SerializeToString()).get_outputs()
            self.assertEqual(y.type, "seq(tensor(float))")

    def test_maps(self):
        graph = helper.make_graph([helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml",
                                                    classlabels_strings=["a", "b", "c"])], "graph",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
                                  [helper.make_value_info("z", helper.make_sequence_type_proto(
                                      helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(
                                          TensorProto.FLOAT, []))))])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)],
                                  ir_version=8)
        x = np.array([[1, 2, 3], [0.5, 0, 9]], np.float32)
        for runtime in both():
            one = session(runtime, model.SerializeToString())
            self.assertEqual([(z.name, z.type, z.shape) for z in one.get_outputs()],
                             [("z", "seq(map(string,tensor(float)))", [])])
            self.assertEqual(one.run(None, {"x": x}), [[{"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 0.5, "b": 0.0, "c": 9.0}]])

    def test_metadata_map(self):
        model = made([(("Identity", ["x"], ["y"]), {})], [("x", TensorProto.FLOAT, ["n"])],
                     [("y", TensorProto.FLOAT, ["n"])], producer_name="maker", doc_string="what it is")
        helper.set_model_props(model, {"character": "a\nb\nü", "empty": ""})
        model.model_version = 7
        seen = [session(runtime, model.SerializeToString()).get_modelmeta() for runtime in both()]
        for meta in seen:
            self.assertEqual(dict(meta.custom_metadata_map), {"character": "a\nb\nü", "empty": ""})
            self.assertEqual((meta.version, meta.description, meta.producer_name), (7, "what it is", "maker"))


class Refused(unittest.TestCase):
    def name_of(self, runtime, call):
        with self.assertRaises(Exception) as caught:
            call(runtime)
        return type(caught.exception).__name__

    def check(self, call, name):
        for runtime in both():
            self.assertEqual(self.name_of(runtime, call), name, runtime.__name__)

    def feed(self, **changes):
        ids, mask = models.bert_inputs(1, 3)
        feed = {"input_ids": ids, "attention_mask": mask, **changes}
        return {name: value for name, value in feed.items() if value is not None}

    def test_feeds(self):
        run = lambda feed, names=None: lambda runtime: session(runtime).run(names, feed)
        self.check(run(self.feed(input_ids=np.ones((1, 3), np.float32))), "InvalidArgument")
        self.check(run(self.feed(input_ids=np.ones(3, np.int64))), "InvalidArgument")
        self.check(run(self.feed(attention_mask=None)), "ValueError")
        self.check(run(self.feed(more=np.ones(3, np.int64))), "InvalidArgument")
        self.check(run(self.feed(), ["absent"]), "InvalidArgument")

    def test_files(self):
        data = models.BERT.read_bytes()
        self.check(lambda runtime: session(runtime, "/absent/model.onnx"), "NoSuchFile")
        self.check(lambda runtime: session(runtime, data[:len(data) // 2]), "InvalidProtobuf")
        self.check(lambda runtime: session(runtime, b"nonsense"), "InvalidProtobuf")
        self.check(lambda runtime: session(runtime, 7), "TypeError")
        with tempfile.TemporaryDirectory() as folder:
            self.check(lambda runtime: session(runtime, folder), "InvalidProtobuf")

    def test_terminated(self):
        def run(runtime):
            options = runtime.RunOptions()
            options.terminate = True
            session(runtime).run(None, self.feed(), options)

        self.check(run, "Fail")

    def test_devices(self):
        value = np.ones(3, np.float32)
        with self.assertRaises(Exception):
            ours.OrtValue.ortvalue_from_numpy(value, "cuda")
        with self.assertWarnsRegex(UserWarning, "CUDAExecutionProvider"):
            self.assertEqual(ours.InferenceSession(BERT, providers=["CUDAExecutionProvider"]).get_providers(),
                             ["CPUExecutionProvider"])

    def test_not_there(self):
        from dyn.compat.onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as Unsupported
        with self.assertRaises(Unsupported):
            ours.SessionOptions().register_custom_ops_library("libcustom.so")
        with self.assertRaises(Unsupported):
            ours.InferenceSession("model.ort")
        with self.assertRaises(AttributeError):
            ours.SessionOptions().no_such_option = 1


class Options(unittest.TestCase):
    def test_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            written = pathlib.Path(folder) / "simple.onnx"
            options = ours.SessionOptions()
            options.intra_op_num_threads = 1
            options.optimized_model_filepath = str(written)
            options.add_free_dimension_override_by_name("batch", 1)
            model = ours.InferenceSession(BERT, options)
            self.assertEqual(model.get_inputs()[0].shape, [1, "seq"])
            self.assertTrue(written.is_file())
            self.assertIs(model.get_session_options(), options)

    def test_ignored_with_one_warning(self):
        from dyn.compat.onnxruntime import _options
        _options._said.clear()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                options = ours.SessionOptions()
                options.graph_optimization_level = ours.GraphOptimizationLevel.ORT_ENABLE_BASIC
                options.enable_mem_pattern = False
                options.log_severity_level = 3
                options.enable_cpu_mem_arena = True  # as it was
                options.add_session_config_entry("session.set_denormal_as_zero", "1")
        self.assertEqual([str(one.message).split(" is ignored")[0] for one in said],
                         ["SessionOptions.graph_optimization_level", "SessionOptions.enable_mem_pattern",
                          "session config entry session.set_denormal_as_zero"])
        self.assertTrue(all(one.category is ours.IgnoredOption for one in said))
        self.assertEqual(options.get_session_config_entry("session.set_denormal_as_zero"), "1")


class Values(unittest.TestCase):
    def test_as_theirs(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        for runtime in both():
            with self.subTest(runtime.__name__):
                value = runtime.OrtValue.ortvalue_from_numpy(array)
                self.assertEqual((value.shape(), value.data_type(), value.element_type(), value.device_name(),
                                  value.is_tensor(), value.has_value(), value.is_tensor_sequence()),
                                 ([2, 3], "tensor(float)", 1, "cpu", True, True, False))
                np.testing.assert_array_equal(value.numpy(), array)
                self.assertEqual(ctypes.c_float.from_address(value.data_ptr() + 4).value, 1.0)
                value = runtime.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
                value.update_inplace(array * 2)
                np.testing.assert_array_equal(value.numpy(), array * 2)
                empty = runtime.OrtValue.ortvalue_from_shape_and_type([0, 4], np.int64)
                self.assertEqual((empty.shape(), empty.data_type()), ([0, 4], "tensor(int64)"))


class Installed(unittest.TestCase):
    def run_python(self, *arguments):
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)

    def test_import(self):
        done = self.run_python("-c", """
import importlib.util, sys
import dyn.compat
dyn.compat.install()
dyn.compat.install()
assert importlib.util.find_spec("onnxruntime") is not None
import onnxruntime, onnxruntime.backend
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from onnxruntime.capi._pybind_state import Fail
from onnxruntime import InferenceSession, SessionOptions
assert InferenceSession.__module__.startswith("dyn.compat"), InferenceSession.__module__
assert not any("onnxruntime_pybind11_state.cpython" in line for line in open("/proc/self/maps"))
try:
    import onnxruntime.training
    raise SystemExit("there is no training here")
except ModuleNotFoundError as refused:
    assert "has no part 'onnxruntime.training'" in str(refused)
dyn.compat.uninstall()
assert "onnxruntime" not in sys.modules
""")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipIf(theirs is None, "needs onnxruntime")
    def test_too_late(self):
        done = self.run_python("-c", "import onnxruntime, dyn.compat; dyn.compat.install()")
        self.assertIn("onnxruntime is imported already", done.stderr)

    def test_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text("import sys, onnxruntime\nif __name__ == '__main__':\n"
                               "    print(onnxruntime.get_build_info(), sys.argv[1:])\n")
            done = self.run_python("-m", "dyn.compat", str(program), "--flag", "x")
            self.assertEqual((done.stdout, done.stderr), ("Dyn 0.1.0 ['--flag', 'x']\n", ""))
        self.assertEqual(self.run_python("-m", "dyn.compat").returncode, 2)


@unittest.skipIf(onnx is None, "needs onnx")
class Backend(unittest.TestCase):
    def test_prepared(self):
        from dyn.compat.onnxruntime.backend import Backend as backend
        model = made([(("Add", ["x", "x"], ["y"]), {})], [("x", TensorProto.FLOAT, ["n"])],
                     [("y", TensorProto.FLOAT, ["n"])])
        x = np.ones(3, np.float32)
        for given in ([x], x, {"x": x}):
            np.testing.assert_array_equal(backend.prepare(model).run(given)[0], x * 2)
        np.testing.assert_array_equal(backend.run_model(model, [x])[0], x * 2)
        self.assertTrue(backend.supports_device("CPU"))
        self.assertFalse(backend.supports_device("CUDA"))


if __name__ == "__main__":
    unittest.main()
