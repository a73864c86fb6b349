#!/usr/bin/env python3
"""Writes models as large as real ones, from onnx alone: what compiling costs is measured on them (./dev bench compile).

    python3 tests/models/large_models.py FOLDER [NAME...]        needs numpy and onnx

NAME.onnx each, with seeded random weights; widths are small, as compiling does not depend on them, but for those of bert_base, which is written when it is named.
make_models.py takes the small Swin from here.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
END = np.iinfo(np.int64).max


class Graph:
    """Nodes in order; each method adds one and gives the name of its value."""

    def __init__(self, seed):
        self.nodes, self.weights, self.known, self.random = [], [], {}, np.random.default_rng(seed)

    def add(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" if outputs > 1 else f"v{len(self.nodes)}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            self.known[key] = f"c{len(self.weights)}"
            self.weights.append(numpy_helper.from_array(array, self.known[key]))
        return self.known[key]

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def int(self, value):
        return self.constant(np.array(value, np.int64))

    def real(self, value):
        return self.constant(np.array(value, np.float32))

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        scale = 1 / np.sqrt(shape[0]) if len(shape) > 1 else 0.1
        self.weights.append(numpy_helper.from_array((self.random.standard_normal(shape) * scale).astype(np.float32), name))
        return name

    def size(self, x, axis):
        return self.add("Gather", self.add("Shape", x), self.int(axis), axis=0)

    def shape(self, *sizes):
        """A tensor of sizes: numbers stay numbers, names are scalars of the graph."""
        parts = [self.ints(s) if isinstance(s, int) else self.add("Unsqueeze", s, self.ints(0)) for s in sizes]
        return self.add("Concat", *parts, axis=0)

    def reshape(self, x, *sizes):
        return self.add("Reshape", x, self.shape(*sizes))

    def slice(self, x, axis, start, end, step=1):
        as_vector = lambda bound: self.ints(bound) if isinstance(bound, int) else self.add("Unsqueeze", bound, self.ints(0))
        return self.add("Slice", x, as_vector(start), as_vector(end), self.ints(axis), self.ints(step))

    def linear(self, x, inner, outer):
        return self.add("Add", self.add("MatMul", x, self.weight(inner, outer)), self.weight(outer))

    def norm(self, x, width):
        return self.add("LayerNormalization", x, self.weight(width), self.weight(width), axis=-1)

    def gelu(self, x):
        erf = self.add("Erf", self.add("Div", x, self.real(2 ** 0.5)))
        return self.add("Mul", self.add("Mul", x, self.add("Add", erf, self.real(1))), self.real(0.5))

    def model(self, inputs, outputs, name):
        info = lambda port: helper.make_tensor_value_info(*port)
        graph = helper.make_graph(self.nodes, name, [info(p) for p in inputs], [info(p) for p in outputs], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Swin:
    """A Swin transformer whose height and width are open, written as exporters write it: every size is computed from Shape."""

    def __init__(self, graph, window, heads):
        self.g, self.window, self.heads = graph, window, heads

    def roll(self, x, shift):
        """By `shift` along height and width: two slices and a concat each."""
        for axis in (1, 2):
            x = self.g.add("Concat", self.g.slice(x, axis, -shift, END), self.g.slice(x, axis, 0, -shift), axis=axis)
        return x

    def missing(self, size, multiple):
        """What `size` lacks to a multiple: (multiple - size % multiple) % multiple."""
        g = self.g
        return g.add("Mod", g.add("Sub", g.int(multiple), g.add("Mod", size, g.int(multiple))), g.int(multiple))

    def padded(self, x, down, right):
        g = self.g
        zero = g.int(0)
        return g.add("Pad", x, g.shape(zero, zero, zero, zero, zero, down, right, zero))

    def regions(self, size, shift):
        """0, 1 or 2 for each place along one side: which of the three parts of a rolled picture it is in."""
        g = self.g
        places = g.add("Range", g.int(0), size, g.int(1))
        behind = lambda distance: g.add("Cast", g.add("GreaterOrEqual", places, g.add("Sub", size, g.int(distance))), to=FLOAT)
        return g.add("Add", behind(self.window), behind(shift))

    def windows_of(self, x, batch, rows, columns, width):
        g, w = self.g, self.window
        x = g.reshape(x, batch, rows, w, columns, w, width)
        return g.reshape(g.add("Transpose", x, perm=[0, 1, 3, 2, 4, 5]), -1, w * w, width)

    def mask(self, height, wide, rows, columns, shift):
        g, area = self.g, self.window ** 2
        sides = [g.add("Unsqueeze", self.regions(height, shift), g.ints(1)), g.add("Unsqueeze", self.regions(wide, shift), g.ints(0))]
        regions = g.add("Add", g.add("Mul", sides[0], g.real(3)), sides[1])
        regions = g.reshape(self.windows_of(g.reshape(regions, 1, height, wide, 1), 1, rows, columns, 1), -1, area)
        differ = g.add("Sub", g.add("Unsqueeze", regions, g.ints(1)), g.add("Unsqueeze", regions, g.ints(2)))
        return g.add("Where", g.add("Equal", differ, g.real(0)), g.real(0), g.real(-100))

    def places(self):
        """What each pair of places of a window adds: a table by their distance along both sides."""
        g, area, w = self.g, self.window ** 2, self.window
        at = np.stack(np.divmod(np.arange(area), w))
        apart = at[:, :, None] - at[:, None, :] + w - 1
        rows = g.add("Gather", g.weight((2 * w - 1) ** 2, self.heads), g.constant((apart[0] * (2 * w - 1) + apart[1]).reshape(-1).astype(np.int64)), axis=0)
        return g.add("Unsqueeze", g.add("Transpose", g.reshape(rows, area, area, self.heads), perm=[2, 0, 1]), g.ints(0))

    def attention(self, x, width, mask, windows):
        g, heads, area = self.g, self.heads, self.window ** 2
        qkv = g.reshape(g.linear(x, width, 3 * width), g.size(x, 0), g.size(x, 1), 3, heads, width // heads)
        qkv = g.add("Transpose", qkv, perm=[2, 0, 3, 1, 4])
        q, k, v = (g.add("Gather", qkv, g.int(i), axis=0) for i in range(3))
        q = g.add("Mul", q, g.real((width // heads) ** -0.5))
        scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = g.add("Add", scores, self.places())
        if mask:
            apart = g.reshape(scores, g.add("Div", g.size(x, 0), windows), windows, heads, area, area)
            scores = g.reshape(g.add("Add", apart, g.add("Unsqueeze", mask, g.ints(0, 2))), -1, heads, area, area)
        mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
        mixed = g.reshape(g.add("Transpose", mixed, perm=[0, 2, 1, 3]), g.size(x, 0), g.size(x, 1), width)
        return g.linear(mixed, width, width)

    def block(self, x, width, shift):
        g, w = self.g, self.window
        batch, height, wide = (g.size(x, axis) for axis in range(3))
        inner = self.padded(g.norm(x, width), self.missing(height, w), self.missing(wide, w))
        tall, broad = g.size(inner, 1), g.size(inner, 2)
        rows, columns = g.add("Div", tall, g.int(w)), g.add("Div", broad, g.int(w))
        if shift:
            inner = self.roll(inner, -shift)
        mask = self.mask(tall, broad, rows, columns, shift) if shift else None
        inner = self.attention(self.windows_of(inner, batch, rows, columns, width), width, mask, g.add("Mul", rows, columns))
        inner = g.add("Transpose", g.reshape(inner, batch, rows, columns, w, w, width), perm=[0, 1, 3, 2, 4, 5])
        inner = g.reshape(inner, batch, tall, broad, width)
        if shift:
            inner = self.roll(inner, shift)
        x = g.add("Add", x, g.slice(g.slice(inner, 1, 0, height), 2, 0, wide))
        return g.add("Add", x, g.linear(g.gelu(g.linear(g.norm(x, width), width, 2 * width)), 2 * width, width))

    def merged(self, x, width):
        """Every second row and column, four times, side by side: half the size, twice the width."""
        g = self.g
        x = self.padded(x, self.missing(g.size(x, 1), 2), self.missing(g.size(x, 2), 2))
        quarters = [g.slice(g.slice(x, 1, i, END, 2), 2, j, END, 2) for j in (0, 1) for i in (0, 1)]
        return g.add("MatMul", g.norm(g.add("Concat", *quarters, axis=-1), 4 * width), g.weight(4 * width, 2 * width))


def swin(depths, width, heads, window=7, patch=4):
    g = Graph(14)
    net = Swin(g, window, heads)
    x = g.add("Conv", "image", g.weight(width, 3, patch, patch), g.weight(width), strides=[patch, patch])
    x = g.norm(g.add("Transpose", x, perm=[0, 2, 3, 1]), width)
    for stage, blocks in enumerate(depths):
        if stage:
            x = net.merged(x, width)
            width *= 2
        for i in range(blocks):
            x = net.block(x, width, window // 2 if i % 2 else 0)
    pooled = g.add("ReduceMean", g.norm(x, width), axes=[1, 2], keepdims=0)
    y = g.linear(pooled, width, 10)
    return g.model([("image", FLOAT, ["batch", 3, "height", "width"])], [(y, FLOAT, ["batch", 10])], "swin")


def bert(layers, width=32, heads=4, words=100, inner=2):
    """`inner`: times as wide as the rest is each feed-forward layer."""
    g = Graph(15)
    x = g.add("Gather", g.weight(words, width), "ids", axis=0)
    places = g.slice(g.weight(512, width), 0, 0, g.size("ids", 1))
    x = g.norm(g.add("Add", x, places), width)
    mask = g.add("Mul", g.add("Sub", g.real(1), g.add("Cast", g.add("Unsqueeze", "mask", g.ints(1, 2)), to=FLOAT)), g.real(-1e4))
    for _ in range(layers):
        batch, length = g.size(x, 0), g.size(x, 1)
        split = lambda y: g.reshape(y, batch, length, heads, width // heads)
        q, k, v = (split(g.linear(x, width, width)) for _ in range(3))
        q, v = (g.add("Transpose", y, perm=[0, 2, 1, 3]) for y in (q, v))
        scores = g.add("Div", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 3, 1])), g.real((width // heads) ** 0.5))
        mixed = g.add("MatMul", g.add("Softmax", g.add("Add", scores, mask), axis=-1), v)
        mixed = g.add("Transpose", mixed, perm=[0, 2, 1, 3])
        x = g.norm(g.add("Add", x, g.linear(g.reshape(mixed, batch, length, width), width, width)), width)
        x = g.norm(g.add("Add", x, g.linear(g.gelu(g.linear(x, width, inner * width)), inner * width, width)), width)
    return g.model([("ids", INT64, ["batch", "seq"]), ("mask", INT64, ["batch", "seq"])], [(x, FLOAT, ["batch", "seq", width])], "bert")


def random_graph(count, seed=16):
    """About `count` nodes of many kinds over two open dims; each takes one or two of the last forty values, of one of three shapes."""
    g = Graph(seed)
    shapes = {"rows": ["x"], "sum": [g.add("ReduceSum", "x", g.ints(1))], "columns": [g.add("Transpose", "x", perm=[1, 0])]}
    pick = lambda kind: shapes[kind][-1 - int(g.random.integers(0, min(40, len(shapes[kind]))))]

    def step(kind):
        x, y = pick(kind), pick(kind)
        choice = int(g.random.integers(0, 10))
        if choice < 3:
            return g.add(["Tanh", "Sigmoid", "Abs"][choice], x)
        if choice < 6:
            return g.add(["Add", "Sub", "Mul"][choice - 3], x, g.add("Tanh", y))
        if choice == 6:
            return g.add("Softmax", x, axis=-1)
        if choice == 7:
            joined = g.add("Concat", x, y, axis=0)
            return g.slice(joined, 0, 0, g.size(x, 0))
        if choice == 8:
            return g.reshape(g.add("Reshape", x, g.ints(-1)), g.size(y, 0), g.size(y, 1))
        return g.add("Where", g.add("Less", x, y), x, y)

    while len(g.nodes) < count:
        kind = ["rows", "rows", "sum", "columns"][int(g.random.integers(0, 4))]
        shapes[kind].append(step(kind))
        choice = int(g.random.integers(0, 12))
        if choice == 0:
            shapes["rows"].append(g.add("Add", pick("rows"), pick("sum")))
        elif choice == 1:
            shapes["sum"].append(g.add("Tanh", g.add("ReduceSum", pick("rows"), g.ints(1))))
        elif choice == 2:
            shapes["columns"].append(g.add("Transpose", pick("rows"), perm=[1, 0]))
    return g.model([("x", FLOAT, ["n", "m"])], [(shapes["rows"][-1], FLOAT, ["n", "m"]), (shapes["columns"][-1], FLOAT, ["m", "n"])], "random")


MODELS = {
    "swin_blocks": lambda: swin([2, 2, 2], 8, 2),
    "swin_t": lambda: swin([2, 2, 6, 2], 24, 3),
    "swin_deep": lambda: swin([2, 2, 18, 2], 24, 3),
    "bert_12": lambda: bert(12),
    "bert_48": lambda: bert(48),
    "bert_base": lambda: bert(12, 768, 12, 30522, 4),
    "random_1000": lambda: random_graph(1000),
    "random_5000": lambda: random_graph(5000),
}


def write(folder, names=()):
    os.makedirs(folder, exist_ok=True)
    paths = []
    for name in names or [n for n in MODELS if n != "bert_base"]:
        paths.append(os.path.join(folder, name + ".onnx"))
        onnx.save(MODELS[name](), paths[-1])
    return paths


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in write(sys.argv[1], sys.argv[2:]):
        print(path, len(onnx.load(path).graph.node), "nodes")
