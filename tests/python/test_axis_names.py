"""One name in a file for two sizes, of which one broadcasts: the error says how to part them, and that helps."""
import importlib.util
import re
import unittest

import numpy as np

import dyn

FLOATS = "Add Sub Mul Div Pow Mod PRelu Equal Less LessOrEqual Greater GreaterOrEqual Max Min Sum Mean Where MatMul".split()
WHOLE = {"And": bool, "Or": bool, "Xor": bool, "BitShift": np.uint32, "BitwiseAnd": np.int32, "BitwiseOr": np.int32, "BitwiseXor": np.int32}
ATTRIBUTES = {"Mod": {"fmod": 1}, "BitShift": {"direction": "LEFT"}}
OF_BOOL = "Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor".split()


@unittest.skipIf(importlib.util.find_spec("onnx") is None, "needs onnx")
class AxisNames(unittest.TestCase):
    def model(self, op, dtype):
        """x [a, b] and y [b], which the file says to be as long as a row of x; of MatMul both are batches."""
        from onnx import helper
        of = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        names, shapes = (["m"] if op == "Where" else []) + ["x", "y"], {"x": ["a", "b"], "y": ["b"], "m": ["b"]}
        if op == "MatMul":
            shapes = {"x": ["a", "b", 2, 3], "y": ["b", 3, 2]}
        made = helper.np_dtype_to_tensor_dtype(np.dtype(bool)) if op in OF_BOOL else of
        info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(bool)) if n == "m" else of, shapes[n])
                for n in names]
        graph = helper.make_graph([helper.make_node(op, names, ["z"], **ATTRIBUTES.get(op, {}))], "g", info,
                                  [helper.make_tensor_value_info("z", made, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    def given(self, op, dtype, x, y):
        random = np.random.default_rng(len(op))
        ends = {"x": (2, 3), "y": (3, 2)} if op == "MatMul" else {"x": (), "y": ()}
        made = {n: random.integers(1, 4, size=s + ends[n]).astype(dtype) for n, s in (("x", x), ("y", y))}
        return {"m": np.ones(1, bool), **made} if op == "Where" else made

    def test_broadcasting_operators(self):
        from onnx.reference import ReferenceEvaluator
        for op, dtype in [(op, np.float32) for op in FLOATS] + list(WHOLE.items()):
            model = self.model(op, dtype)
            expected = ReferenceEvaluator(model)
            for x, y in (((5, 1), (4,)), ((5, 4), (1,))):
                if op == "PRelu" and x[1] == 1:
                    continue  # a slope has to fit its operand
                given = self.given(op, dtype, x, y)
                options = []
                with self.subTest(op=op, x=x, y=y):
                    for _ in range(3):  # one axis after the other is parted
                        try:
                            result, = dyn.load(model, dims=options)(**given)
                            break
                        except dyn.InputError as error:
                            said = re.search(r"--dim (\S+=\S+)", "\n".join([str(error), *getattr(error, "notes", [])]))
                            self.assertTrue(said, error)
                            options.append(said[1])
                    self.assertTrue(options)
                    # The evaluator of the package onnx adds the later operands of Mean into the first.
                    wanted = (given["x"] + given["y"]) / 2 if op == "Mean" else expected.run(None, given)[0]
                    np.testing.assert_allclose(result, wanted, rtol=1e-5)

    def test_one_size_stays_checked(self):
        model = dyn.load(self.model("Add", np.float32), dims={"y.0": "columns"})
        self.assertEqual([str(d) for d in model.inputs[1].shape], ["columns"])
        with self.assertRaises(dyn.Error):
            model(np.ones((2, 3), np.float32), np.ones(4, np.float32))


if __name__ == "__main__":
    unittest.main()
