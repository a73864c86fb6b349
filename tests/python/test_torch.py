"""Models of PyTorch, from memory and through torch.compile."""
import importlib.util
import sys
import unittest

import numpy as np

import dyn

HAVE = all(importlib.util.find_spec(name) for name in ("torch", "onnx", "onnxscript"))
if HAVE:
    import torch

    import dyn.torch

    class Layers(torch.nn.Module):
        """[batch, seq, 8] -> a dict."""

        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x):
            torch._check(x.shape[1] <= 512)
            hidden = torch.relu(self.linear(x))
            return {"hidden": hidden, "total": hidden.sum(1)}

    class Branch(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    class Fourth(torch.nn.Module):
        def forward(self, x):
            torch._check(x.shape[0] % 4 == 0)
            return x.reshape(-1, 4).sum(1)


def layers(seed=0):
    torch.manual_seed(seed)
    return Layers().eval()


def compiled(module, **options):
    torch._dynamo.reset()
    dyn.torch.reset()
    return torch.compile(module, backend=dyn.torch.backend, dynamic=True, **options)


@unittest.skipUnless(HAVE, "the packages torch, onnx and onnxscript are missing")
class FromTorch(unittest.TestCase):
    def test_sizes_and_names(self):
        module = layers()
        model = dyn.from_torch(module, (torch.randn(2, 6, 8),), dynamic_shapes={"x": {0: "batch", 1: "seq"}}, threads=1)
        self.assertEqual(model.inputs[0].shape, ("batch", "seq", 8))
        for batch, seq in ((1, 1), (3, 10), (2, 512)):
            x = torch.randn(batch, seq, 8)
            with torch.no_grad():
                wanted = module(x)
            made = model(x)
            self.assertEqual(made.names, ("hidden", "total"))
            for name in made.names:
                np.testing.assert_allclose(made[name], wanted[name].numpy(), rtol=1e-4, atol=1e-4)

    def test_check_is_a_fact(self):
        shapes = {"x": {0: torch.export.Dim("batch", min=3, max=64), 1: torch.export.Dim("seq", max=512)}}
        model = dyn.from_torch(layers(), (torch.randn(4, 6, 8),), dynamic_shapes=shapes)
        self.assertEqual((model.dims["batch"].low, model.dims["batch"].high), (3, 64))
        self.assertEqual(model.dims["seq"].high, 512)
        with self.assertRaises(dyn.Error) as caught:
            model(torch.randn(4, 513, 8))
        self.assertIn("512", str(caught.exception))

    def test_multiple_is_a_fact(self):
        model = dyn.from_torch(Fourth().eval(), (torch.randn(8),), dynamic_shapes={"x": {0: "n"}})
        self.assertEqual(model.dims["n"].multiple, 4)
        self.assertEqual(model(torch.ones(12))[0].tolist(), [4, 4, 4])
        with self.assertRaises(dyn.Error):
            model(torch.ones(10))

    def test_refused_by_torch(self):
        with self.assertRaises(dyn.ModelError) as caught:
            dyn.from_torch(Branch().eval(), (torch.randn(3),))
        self.assertIn("torch.export refuses the model", str(caught.exception))

    def test_written_buffer(self):
        class Counter(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x):
                self.calls.add_(1)
                return x + self.calls

        with self.assertRaisesRegex(dyn.Unsupported, "writes into its input or buffer '.*calls"):
            dyn.from_torch(Counter().eval(), (torch.randn(3),))

    def test_training_and_gradients(self):
        with self.assertRaisesRegex(dyn.UsageError, "training mode"):
            dyn.from_torch(Layers(), (torch.randn(2, 6, 8),))
        with self.assertRaisesRegex(dyn.UsageError, "requires gradients"):
            dyn.from_torch(layers(), (torch.randn(2, 6, 8, requires_grad=True),))
        with self.assertRaisesRegex(dyn.UsageError, "is no torch.nn.Module"):
            dyn.from_torch(abs, (torch.randn(2),))


@unittest.skipUnless(HAVE, "the packages torch, onnx and onnxscript are missing")
class Compile(unittest.TestCase):
    def tearDown(self):
        torch._dynamo.reset()
        dyn.torch.reset()

    def same(self, fast, module, *inputs):
        with torch.no_grad():
            made, wanted = fast(*inputs), module(*inputs)
        torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-4)

    def test_no_recompilation(self):
        module = layers()
        fast = compiled(module)
        for size in range(2, 42):
            self.same(fast, module, torch.randn(2 + size % 3, size, 8))
        graph, = dyn.torch.report()
        self.assertEqual((graph.runs_in, graph.calls_count, graph.compilations_count), ("dyn", 40, 1))

    def test_name(self):
        torch._dynamo.reset()
        dyn.torch.reset()
        module = layers()
        self.same(torch.compile(module, backend="dyn", dynamic=True), module, torch.randn(2, 3, 8))
        self.assertEqual([graph.runs_in for graph in dyn.torch.report()], ["dyn"])

    def test_changed_weights(self):
        module = layers()
        fast = compiled(module)
        self.same(fast, module, torch.randn(2, 3, 8))
        with torch.no_grad():
            module.linear.weight.mul_(2)
        self.same(fast, module, torch.randn(2, 3, 8))
        module.load_state_dict(layers(1).state_dict())
        self.same(fast, module, torch.randn(2, 3, 8))
        self.assertEqual(sum(graph.compilations_count for graph in dyn.torch.report()), 3)

    def test_floats_of_a_module(self):
        class Scaled(torch.nn.Module):
            scale = 0.5

            def forward(self, x):
                return x * self.scale + self.scale ** 2

        module = Scaled().eval()
        fast = compiled(module)
        for size in (3, 5, 7):
            self.same(fast, module, torch.randn(2, size))
        module.scale = 0.25
        self.same(fast, module, torch.randn(2, 3))
        self.assertEqual({graph.runs_in for graph in dyn.torch.report()}, {"dyn"}, str(dyn.torch.report()))

    def test_a_number_among_the_inputs(self):
        def scaled(x, n):
            return x * n

        fast = compiled(scaled)
        for size, n in ((3, 5), (4, 5), (7, 5), (3, 6), (3, 7)):
            self.same(fast, scaled, torch.randn(2, size), n)
        self.assertEqual({graph.runs_in for graph in dyn.torch.report()}, {"dyn"}, str(dyn.torch.report()))
        self.assertLessEqual(sum(graph.compilations_count for graph in dyn.torch.report()), 4)
        with self.assertLogs("dyn", "WARNING"):
            for n in range(10, 30):
                self.same(fast, scaled, torch.randn(2, 3), n)
        self.assertIn("a number that differs from call to call", str(dyn.torch.report()))

    def test_dropout_that_leaves_out_nothing(self):
        module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).eval()
        self.same(compiled(module), module, torch.randn(2, 3, 8))

        def attention(x):
            return torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.0)

        self.same(compiled(attention), attention, torch.randn(2, 3, 4, 8))
        self.assertEqual({graph.runs_in for graph in dyn.torch.report()}, {"dyn"}, str(dyn.torch.report()))

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
    def test_transformers(self):
        import transformers as t
        sizes = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
                 "intermediate_size": 64}
        for model in (t.BertModel(t.BertConfig(**sizes)), t.LlamaModel(t.LlamaConfig(use_cache=False, **sizes)),
                      t.GPT2Model(t.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, use_cache=False))):
            torch._dynamo.reset()
            dyn.torch.reset()
            module = model.eval()
            fast = torch.compile(module, backend=dyn.torch.backend, dynamic=True)
            for size in (3, 5, 9):
                ids = torch.randint(0, 100, (2, size))
                with torch.no_grad():
                    torch.testing.assert_close(fast(ids)[0], module(ids)[0], rtol=1e-4, atol=1e-4)
            graph, = dyn.torch.report()
            self.assertNotIn("\x1b", graph.reason)
            if isinstance(model, t.LlamaModel) and torch.__version__.startswith("2.6."):
                self.assertIn("torch.onnx.export refuses the model", graph.reason)  # it does not decompose it
                continue
            self.assertEqual((graph.runs_in, graph.compilations_count), ("dyn", 1), graph.reason)

    def test_gradients_run_in_torch(self):
        module = layers()
        fast = compiled(module)
        with self.assertLogs("dyn", "WARNING") as said:
            for _ in range(3):
                fast(torch.randn(2, 5, 8))["total"].sum().backward()
        self.assertIsNotNone(module.linear.weight.grad)
        self.assertEqual(len(said.output), 1)
        graph, = dyn.torch.report()
        self.assertEqual(graph.runs_in, "torch")
        self.assertIn("gradients are needed", graph.reason)

    def refused(self, function, *inputs, reason):
        fast = compiled(function)
        with self.assertLogs("dyn", "WARNING") as said, torch.no_grad():
            made = fast(*inputs)
        self.assertEqual(len(said.output), 1)
        self.assertIn(reason, str(dyn.torch.report()))
        return made

    def test_random(self):
        self.refused(lambda x: torch.nn.functional.dropout(x, 0.5, True), torch.ones(4, 4), reason="random numbers")

    def test_written_input(self):
        x = torch.ones(3, 4)
        self.refused(lambda x: x.add_(1) * 2, x, reason="writes into")
        self.assertEqual(float(x[0, 0]), 2)

    def test_view_of_an_input(self):
        x = torch.ones(3, 4)
        y = self.refused(lambda x: (x.view(-1), x + 1), x, reason="shares memory")[0]
        x[0, 0] = 7
        self.assertEqual(float(y[0]), 7)

    def test_graph_break(self):
        def halves(x):
            y = torch.relu(x) * 2
            torch._dynamo.graph_break()
            return y + 1

        self.same(compiled(halves), halves, torch.randn(3, 5))
        self.assertEqual([graph.runs_in for graph in dyn.torch.report()], ["dyn", "dyn"])

    def test_types(self):
        def mixed(x, ids, mask):
            return torch.where(mask, x, -x), ids.cumsum(1), mask

        inputs = torch.randn(3, 5).bfloat16(), torch.arange(15).reshape(3, 5), torch.arange(15).reshape(3, 5) > 7
        self.same(compiled(mixed), mixed, *inputs)
        self.assertEqual([graph.runs_in for graph in dyn.torch.report()], ["dyn"], str(dyn.torch.report()))


class Missing(unittest.TestCase):
    def test_without_torch(self):
        kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "torch"}
        sys.modules["torch"] = None
        try:
            with self.assertRaisesRegex(dyn.Unsupported, "without the package torch"):
                dyn.from_torch(None)
        finally:
            del sys.modules["torch"]
            sys.modules.update(kept)


if __name__ == "__main__":
    unittest.main()
