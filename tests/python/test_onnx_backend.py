"""dyn.onnx_backend by itself; onnx_backend_suite.py runs onnx's tests over it."""
import importlib.util
import unittest

import numpy as np

import dyn
import models


@unittest.skipIf(importlib.util.find_spec("onnx") is None, "needs onnx")
class Backend(unittest.TestCase):
    def setUp(self):
        import onnx

        from dyn import onnx_backend
        self.onnx, self.backend = onnx, onnx_backend
        info = onnx.helper.make_tensor_value_info
        self.model = onnx.helper.make_model(onnx.helper.make_graph(
            [onnx.helper.make_node("Sub", ["a", "b"], ["y"])], "g",
            [info("a", onnx.TensorProto.FLOAT, ["n"]), info("b", onnx.TensorProto.FLOAT, ["n"])],
            [info("y", onnx.TensorProto.FLOAT, ["n"])]), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        self.given = [np.array([5, 7], np.float32), np.array([1, 2], np.float32)]

    def test_prepare(self):
        prepared = self.backend.prepare(self.model)
        for inputs in (self.given, dict(zip("ab", self.given))):
            y, = prepared.run(inputs)
            np.testing.assert_array_equal(y, [4, 5])
        np.testing.assert_array_equal(self.backend.run_model(self.model, self.given)[0], [4, 5])
        self.assertIsInstance(prepared, self.onnx.backend.base.BackendRep)
        self.assertEqual(self.backend.prepare(self.model, threads=1).model.command("set threads")["settings"][0]["value"], "1")

    def test_optional(self):
        """Given, absent, or not named at all; a tensor or a sequence of tensors."""
        helper = self.onnx.helper
        of_tensor = helper.make_optional_type_proto(helper.make_tensor_type_proto(self.onnx.TensorProto.FLOAT, ["n"]))
        model = helper.make_model(helper.make_graph(
            [helper.make_node("OptionalHasElement", ["x"], ["has"])], "g", [helper.make_value_info("x", of_tensor)],
            [helper.make_tensor_value_info("has", self.onnx.TensorProto.BOOL, [])]),
            opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        loaded = dyn.load(model)
        self.assertTrue(loaded(np.float32([1, 2])).has)
        self.assertFalse(loaded(x=None).has)
        self.assertFalse(loaded().has)
        with dyn.Server() as server:
            served = server.add(loaded)
            self.assertEqual((bool(served(np.float32([1])).has), bool(served().has)), (True, False))
        model.graph.node[0].op_type = "OptionalGetElement"
        model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(self.onnx.TensorProto.FLOAT, ["n"]))
        loaded = dyn.load(model)
        self.assertEqual(loaded(np.float32([1, 2])).has.tolist(), [1, 2])
        with self.assertRaises(dyn.Error):
            loaded(None)

    def test_node(self):
        node = self.onnx.helper.make_node("Gemm", ["a", "", "c"], ["y"])
        with self.assertRaises(dyn.Error):  # B is missing
            self.backend.run_node(node, [np.ones((2, 2), np.float32)] * 2)
        node = self.onnx.helper.make_node("Clip", ["x", "", "high"], ["y"])
        y, = self.backend.run_node(node, [np.arange(5, dtype=np.float32), np.float32(2)], opset_version=13)
        np.testing.assert_array_equal(y, [0, 1, 2, 2, 2])

    def test_devices(self):
        for device, is_there in (("CPU", True), ("CPU:0", True), ("CPU:1", False), ("CUDA", False), ("TPU", False)):
            self.assertEqual(self.backend.supports_device(device), is_there, device)
        with self.assertRaises(dyn.Unsupported):
            self.backend.prepare(self.model, "CUDA")

    def test_is_compatible(self):
        self.assertTrue(self.backend.is_compatible(self.model))
        self.model.graph.node[0].op_type = "NoSuchOperator"
        self.assertFalse(self.backend.is_compatible(self.model))


if __name__ == "__main__":
    unittest.main()
