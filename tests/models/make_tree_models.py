#!/usr/bin/env python3
"""Writes the models over trees and graphs of samples/models and their recorded cases: ONNX Loops over nodes, results by the same recursion in NumPy, in float64.

    python3 tests/models/make_tree_models.py [NAME...]        needs numpy and onnx

Nodes come behind those they read. In `treefc`, `treegru`, `treelstm_binary` and `mvrnn` leaves are numbered first and the loop is over inner nodes; in `treelstm_childsum` and `dagrnn` it is over all
nodes, and a node that lacks a child names the row behind the last, which nobody writes; `stackrnn` runs over the steps of a parser. Structures of any number are put behind each other.
"""
import os
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


# --- structures

def random_tree(random, leaves):
    """Parents in post-order, -1 at the root; one leaf is peeled off at 0.55, else the split is uniform: shapes as of parsed sentences."""
    parents = []

    def grow(count):  # explicit, as a tree may be deep
        stack, done = [(count, None)], []
        while stack:
            n, state = stack.pop()
            if n == 1:
                parents.append(-1)
                done.append(len(parents) - 1)
            elif state is None:
                left = (1 if random.random() < 0.5 else n - 1) if random.random() < 0.55 else int(random.integers(1, n))
                stack += [(n, "join"), (n - left, None), (left, None)]
            else:
                right, left = done.pop(), done.pop()
                parents.append(-1)
                parents[left] = parents[right] = len(parents) - 1
                done.append(len(parents) - 1)

    grow(leaves)
    return parents


def children_of(parents):
    """Of each node the children, ascending."""
    children = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    return children


def leaves_first(trees):
    """Binary trees as parents in post-order -> leaves, left and right of all of them: leaves are 0.., inner nodes follow."""
    leaves = sum(1 for parents in trees for c in children_of(parents) if not c)
    left, right, leaf, inner = [], [], 0, leaves
    for parents in trees:
        number = []
        for c in children_of(parents):
            if not c:
                number.append(leaf)
                leaf += 1
            else:
                left.append(number[c[0]])
                right.append(number[c[1]])
                number.append(inner)
                inner += 1
    return leaves, np.array(left, np.int64), np.array(right, np.int64)


def child_table(graphs, width):
    """Children (or predecessors) of nodes [n, width]; where one lacks it is n."""
    nodes = sum(len(g) for g in graphs)
    table, first = np.full((nodes, width), nodes, np.int64), 0
    for graph in graphs:
        for node, children in enumerate(graph):
            table[first + node, :len(children)] = [first + c for c in children]
        first += len(graph)
    return table


def grid(height, width):
    """Predecessors in a grid: above and left."""
    return [[p for p in ((r - 1) * width + c if r else -1, r * width + c - 1 if c else -1) if p >= 0] for r in range(height) for c in range(width)]


# --- models

class Graph:
    """Nodes and weights, each node's output named by its number; `body` holds those of the loop."""

    def __init__(self, seed):
        self.nodes, self.weights, self.random, self.count = [], {}, np.random.default_rng(seed), 0

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{self.count}_{i}" if outputs > 1 else f"{kind.lower()}_{self.count}" for i in range(outputs)]
        self.count += 1
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, name=None):
        name = name or f"c{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def weight(self, name, *shape):
        return self.constant((self.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32), name)

    def integers(self, *values):
        return self.constant(np.array(values, np.int64))

    def zeros(self, rows, width):
        """rows: the name of a vector of one number."""
        return self.op("ConstantOfShape", self.op("Concat", rows, self.integers(width), axis=0), value=helper.make_tensor("z", FLOAT, [1], [0.0]))

    def loop(self, count, states, body):
        """body(graph, turn, buffers) -> (row, values): where the turn writes, and what."""
        outer, self.nodes = self.nodes, []
        names = [f"state{i}" for i in range(len(states))]
        row, values = body("turn", names)
        place = self.op("Reshape", row, self.integers(1, 1))
        after = [self.op("ScatterND", name, place, self.op("Unsqueeze", value, self.integers(0))) for name, value in zip(names, values)]
        go = self.op("Identity", "go")
        inputs = [info("turn", INT64, []), info("go", BOOL, [])] + [info(n, FLOAT, [None, None]) for n in names]
        inner = helper.make_graph(self.nodes, "body", inputs, [info(go, BOOL, [])] + [info(n, FLOAT, [None, None]) for n in after])
        self.nodes = outer
        true = self.constant(np.array(True))
        results = self.op("Loop", count, true, *states, outputs=len(states), body=inner)
        return results if isinstance(results, list) else [results]

    def finish(self, name, inputs, result, width):
        self.nodes.append(helper.make_node("Identity", [result], ["h"]))
        graph = helper.make_graph(self.nodes, name, inputs, [info("h", FLOAT, ["rows", width])], [numpy_helper.from_array(v, k) for k, v in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def first_of_shape(g, x):
    return g.op("Slice", g.op("Shape", x), g.integers(0), g.integers(1))


def scalar(g, vector):
    return g.op("Squeeze", vector, g.integers(0))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


BINARY = [info("x", FLOAT, ["leaves", None]), info("left", INT64, ["inner"]), info("right", INT64, ["inner"])]


def binary_inputs(trees, width, random):
    leaves, left, right = leaves_first(trees)
    return {"x": random.standard_normal((leaves, width)).astype(np.float32), "left": left, "right": right}


def binary_inner(g, leaf_rows, width):
    """Buffers with rows of leaves, and zeros for inner nodes; count of inner nodes, and the number of leaves."""
    inner = first_of_shape(g, "left")
    buffers = [g.op("Concat", rows, g.zeros(inner, width), axis=0) for rows in leaf_rows]
    return buffers, scalar(g, inner), scalar(g, first_of_shape(g, "x"))


def two_rows(g, turn, buffer):
    return [g.op("Gather", buffer, g.op("Gather", side, turn, axis=0), axis=0) for side in ("left", "right")]


@model
def treefc(width=8, seed=1):
    """h = tanh((h left + h right) W + b); a leaf is its row of x."""
    g = Graph(seed)
    w, b = g.weight("W", width, width), g.weight("b", width)
    (buffer,), count, leaves = binary_inner(g, ["x"], width)

    def body(turn, states):
        a, c = two_rows(g, turn, states[0])
        h = g.op("Tanh", g.op("Add", g.op("MatMul", g.op("Add", a, c), w), b))
        return g.op("Add", turn, leaves), [h]

    (h,) = g.loop(count, [buffer], body)

    def reference(x, left, right):
        rows = list(x.astype(np.float64))
        for a, c in zip(left, right):
            rows.append(np.tanh((rows[a] + rows[c]) @ g.weights["W"].astype(np.float64) + g.weights["b"]))
        return np.array(rows).reshape(len(rows), width)

    inputs = [info("x", FLOAT, ["leaves", width])] + BINARY[1:]
    return g.finish("treefc", inputs, h, width), reference, lambda trees, random: binary_inputs(trees, width, random)


@model
def treegru(width=8, seed=2):
    """z = sigmoid(s Uz + bz) of the sum s of both states, r of each; h = z s + (1 - z) tanh((r left h left + r right h right) Un + bn)."""
    g = Graph(seed)
    uz, bz, ur, br = g.weight("Uz", width, width), g.weight("bz", width), g.weight("Ur", width, width), g.weight("br", width)
    un, bn = g.weight("Un", width, width), g.weight("bn", width)
    (buffer,), count, leaves = binary_inner(g, ["x"], width)

    def body(turn, states):
        a, c = two_rows(g, turn, states[0])
        s = g.op("Add", a, c)
        z = g.op("Sigmoid", g.op("Add", g.op("MatMul", s, uz), bz))
        kept = [g.op("Mul", h, g.op("Sigmoid", g.op("Add", g.op("MatMul", h, ur), br))) for h in (a, c)]
        n = g.op("Tanh", g.op("Add", g.op("MatMul", g.op("Add", *kept), un), bn))
        h = g.op("Add", n, g.op("Mul", z, g.op("Sub", s, n)))
        return g.op("Add", turn, leaves), [h]

    (h,) = g.loop(count, [buffer], body)

    def reference(x, left, right):
        w = {k: v.astype(np.float64) for k, v in g.weights.items()}
        rows = list(x.astype(np.float64))
        for i, k in zip(left, right):
            a, c = rows[i], rows[k]
            z = sigmoid((a + c) @ w["Uz"] + w["bz"])
            kept = sum(h * sigmoid(h @ w["Ur"] + w["br"]) for h in (a, c))
            rows.append(z * (a + c) + (1 - z) * np.tanh(kept @ w["Un"] + w["bn"]))
        return np.array(rows).reshape(len(rows), width)

    inputs = [info("x", FLOAT, ["leaves", width])] + BINARY[1:]
    return g.finish("treegru", inputs, h, width), reference, lambda trees, random: binary_inputs(trees, width, random)


@model
def treelstm_binary(width=8, word=12, seed=3):
    """The binary Tree-LSTM: gates of both states side by side, one forget gate for each; leaves from words."""
    g = Graph(seed)
    wx, bx, u, bu = g.weight("Wx", word, 3 * width), g.weight("bx", 3 * width), g.weight("U", 2 * width, 5 * width), g.weight("bu", 5 * width)
    i, o, v = g.op("Split", g.op("Add", g.op("MatMul", "x", wx), bx), g.integers(width, width, width), outputs=3, axis=1)
    c0 = g.op("Mul", g.op("Sigmoid", i), g.op("Tanh", v))
    h0 = g.op("Mul", g.op("Sigmoid", o), g.op("Tanh", c0))
    buffers, count, leaves = binary_inner(g, [h0, c0], width)

    def body(turn, states):
        (ha, hb), (ca, cb) = two_rows(g, turn, states[0]), two_rows(g, turn, states[1])
        p = g.op("Add", g.op("MatMul", g.op("Concat", ha, hb, axis=0), u), bu)
        i, fa, fb, o, v = g.op("Split", p, g.integers(*[width] * 5), outputs=5, axis=0)
        kept = g.op("Add", g.op("Mul", g.op("Sigmoid", fa), ca), g.op("Mul", g.op("Sigmoid", fb), cb))
        c = g.op("Add", g.op("Mul", g.op("Sigmoid", i), g.op("Tanh", v)), kept)
        h = g.op("Mul", g.op("Sigmoid", o), g.op("Tanh", c))
        return g.op("Add", turn, leaves), [h, c]

    h = g.loop(count, buffers, body)[0]

    def reference(x, left, right):
        w = {k: a.astype(np.float64) for k, a in g.weights.items()}
        i, o, v = np.split(x.astype(np.float64) @ w["Wx"] + w["bx"], 3, axis=1)
        c = list(sigmoid(i) * np.tanh(v))
        h = list(sigmoid(o) * np.tanh(np.array(c).reshape(len(c), width)))
        for a, b in zip(left, right):
            i, fa, fb, o, v = np.split(np.concatenate([h[a], h[b]]) @ w["U"] + w["bu"], 5)
            c.append(sigmoid(i) * np.tanh(v) + sigmoid(fa) * c[a] + sigmoid(fb) * c[b])
            h.append(sigmoid(o) * np.tanh(c[-1]))
        return np.array(h).reshape(len(h), width)

    inputs = [info("x", FLOAT, ["leaves", word])] + BINARY[1:]
    return g.finish("treelstm_binary", inputs, h, width), reference, lambda trees, random: binary_inputs(trees, word, random)


def node_inputs(graphs, width, word, random):
    table = child_table(graphs, width)
    return {"x": random.standard_normal((len(table), word)).astype(np.float32), "children": table}


@model
def treelstm_childsum(width=8, word=12, most=3, seed=4):
    """The child-sum Tree-LSTM: any number of children up to `most`, a word at every node."""
    g = Graph(seed)
    wx, bx = g.weight("Wx", word, 4 * width), g.weight("bx", 4 * width)
    ui, uf = g.weight("Uiou", width, 3 * width), g.weight("Uf", width, width)
    nodes = first_of_shape(g, "x")
    buffers = [g.zeros(g.op("Add", nodes, g.integers(1)), width) for _ in range(2)]

    def body(turn, states):
        children = g.op("Gather", "children", turn, axis=0)
        hs, cs = (g.op("Gather", s, children, axis=0) for s in states)
        p = g.op("Add", g.op("MatMul", g.op("Gather", "x", turn, axis=0), wx), bx)
        xi, xo, xv, xf = g.op("Split", p, g.integers(*[width] * 4), outputs=4, axis=0)
        summed = g.op("ReduceSum", hs, g.integers(0), keepdims=0)
        i, o, v = g.op("Split", g.op("MatMul", summed, ui), g.integers(*[width] * 3), outputs=3, axis=0)
        f = g.op("Sigmoid", g.op("Add", g.op("MatMul", hs, uf), xf))
        kept = g.op("ReduceSum", g.op("Mul", f, cs), g.integers(0), keepdims=0)
        c = g.op("Add", g.op("Mul", g.op("Sigmoid", g.op("Add", i, xi)), g.op("Tanh", g.op("Add", v, xv))), kept)
        h = g.op("Mul", g.op("Sigmoid", g.op("Add", o, xo)), g.op("Tanh", c))
        return turn, [h, c]

    h = g.loop(scalar(g, nodes), buffers, body)[0]

    def reference(x, children):
        w = {k: a.astype(np.float64) for k, a in g.weights.items()}
        h, c = np.zeros((len(x) + 1, width)), np.zeros((len(x) + 1, width))
        for n, below in enumerate(children):
            xi, xo, xv, xf = np.split(x[n].astype(np.float64) @ w["Wx"] + w["bx"], 4)
            i, o, v = np.split(h[below].sum(0) @ w["Uiou"], 3)
            kept = (sigmoid(h[below] @ w["Uf"] + xf) * c[below]).sum(0)
            c[n] = sigmoid(i + xi) * np.tanh(v + xv) + kept
            h[n] = sigmoid(o + xo) * np.tanh(c[n])
        return h

    inputs = [info("x", FLOAT, ["nodes", word]), info("children", INT64, ["nodes", most])]
    return g.finish("treelstm_childsum", inputs, h, width), reference, lambda graphs, random: node_inputs(graphs, most, word, random)


@model
def dagrnn(width=8, word=12, seed=5):
    """h = tanh(x Wx + (sum of the states of the predecessors) U + b)."""
    g = Graph(seed)
    wx, u, b = g.weight("Wx", word, width), g.weight("U", width, width), g.weight("b", width)
    nodes = first_of_shape(g, "x")

    def body(turn, states):
        before = g.op("ReduceSum", g.op("Gather", states[0], g.op("Gather", "children", turn, axis=0), axis=0), g.integers(0), keepdims=0)
        p = g.op("Add", g.op("MatMul", g.op("Gather", "x", turn, axis=0), wx), b)
        return turn, [g.op("Tanh", g.op("Add", p, g.op("MatMul", before, u)))]

    (h,) = g.loop(scalar(g, nodes), [g.zeros(g.op("Add", nodes, g.integers(1)), width)], body)

    def reference(x, children):
        w = {k: a.astype(np.float64) for k, a in g.weights.items()}
        h = np.zeros((len(x) + 1, width))
        for n, before in enumerate(children):
            h[n] = np.tanh(x[n].astype(np.float64) @ w["Wx"] + w["b"] + h[before].sum(0) @ w["U"])
        return h

    inputs = [info("x", FLOAT, ["nodes", word]), info("children", INT64, ["nodes", 2])]
    return g.finish("dagrnn", inputs, h, width), reference, lambda graphs, random: node_inputs(graphs, 2, word, random)


@model
def mvrnn(width=6, vocabulary=20, seed=6):
    """MV-RNN: a node is a vector a and a matrix A. Of two: p = tanh([B a; A b] W + b0), P = WM [A; B]. Leaves are those of their words."""
    g = Graph(seed)
    d = width
    vectors, matrices = g.weight("E", vocabulary, d), g.constant((np.eye(d) + 0.1 * g.random.standard_normal((vocabulary, d, d))).astype(np.float32).reshape(vocabulary, d * d), "EM")
    w, b, wm = g.weight("W", 2 * d, d), g.weight("b0", d), g.constant((g.random.standard_normal((d, 2 * d)) / np.sqrt(2 * d)).astype(np.float32), "WM")
    inner = first_of_shape(g, "left")
    leaves = scalar(g, first_of_shape(g, "words"))
    buffers = [g.op("Concat", g.op("Gather", table, "words", axis=0), g.zeros(inner, size), axis=0) for table, size in ((vectors, d), (matrices, d * d))]

    def body(turn, states):
        (a, c), (ma, mc) = two_rows(g, turn, states[0]), two_rows(g, turn, states[1])
        ma, mc = (g.op("Reshape", m, g.integers(d, d)) for m in (ma, mc))
        p = g.op("Concat", g.op("MatMul", mc, a), g.op("MatMul", ma, c), axis=0)
        p = g.op("Tanh", g.op("Add", g.op("MatMul", p, w), b))
        m = g.op("MatMul", wm, g.op("Concat", ma, mc, axis=0))
        return g.op("Add", turn, leaves), [p, g.op("Reshape", m, g.integers(d * d))]

    h = g.loop(scalar(g, inner), buffers, body)[0]

    def reference(words, left, right):
        w = {k: v.astype(np.float64) for k, v in g.weights.items()}
        rows, mats = list(w["E"][words]), list(w["EM"][words].reshape(-1, d, d))
        for a, c in zip(left, right):
            rows.append(np.tanh(np.concatenate([mats[c] @ rows[a], mats[a] @ rows[c]]) @ w["W"] + w["b0"]))
            mats.append(w["WM"] @ np.concatenate([mats[a], mats[c]]))
        return np.array(rows).reshape(len(rows), d)

    def inputs_of(trees, random):
        leaves, left, right = leaves_first(trees)
        return {"words": random.integers(0, vocabulary, leaves), "left": left, "right": right}

    inputs = [info("words", INT64, ["leaves"])] + BINARY[1:]
    return g.finish("mvrnn", inputs, h, d), reference, inputs_of


@model
def stackrnn(width=8, seed=7):
    """A shift-reduce parser with a tracker: step t shifts the next word or reduces the two states on top of the stack, and its result is row t + 1 (a thin stack: `places` are the rows on the stack).
    The tracker reads both states and the step before, so that no step can go before another. Row 0 is what lies below the stack."""
    g = Graph(seed)
    d = width
    wt, bt, wr, br = g.weight("Wt", 3 * d, d), g.weight("bt", d), g.weight("Wr", 3 * d, d), g.weight("br", d)
    steps = first_of_shape(g, "steps")
    rows = g.op("Add", steps, g.integers(1))
    stack, places = g.zeros(rows, d), g.op("ConstantOfShape", rows, value=helper.make_tensor("z", INT64, [1], [0]))
    one, zero, none = (g.constant(np.array(n, np.int64)) for n in (1, 0, -1))
    most = g.op("Sub", scalar(g, first_of_shape(g, "x")), one)
    tracker0 = g.constant(np.zeros(d, np.float32))

    outer, g.nodes = g.nodes, []
    below = [g.op("Gather", "stack", g.op("Gather", "places", g.op("Max", g.op("Sub", "depth", g.constant(np.array(k, np.int64))), zero), axis=0), axis=0) for k in (0, 1)]
    tracker = g.op("Tanh", g.op("Add", g.op("MatMul", g.op("Concat", below[1], below[0], "tracker", axis=0), wt), bt))
    body_nodes, g.nodes = g.nodes, []
    word = g.op("Gather", "x", g.op("Min", "next", most), axis=0)
    shift = [word, g.op("Add", "depth", one), g.op("Add", "next", one)]
    then = helper.make_graph(g.nodes, "shift", [], [info(n, kind, None) for n, kind in zip(shift, (FLOAT, INT64, INT64))])
    g.nodes = []
    state = g.op("Tanh", g.op("Add", g.op("MatMul", g.op("Concat", below[1], below[0], tracker, axis=0), wr), br))
    reduce = [state, g.op("Add", "depth", none), g.op("Identity", "next")]
    otherwise = helper.make_graph(g.nodes, "reduce", [], [info(n, kind, None) for n, kind in zip(reduce, (FLOAT, INT64, INT64))])
    g.nodes = body_nodes
    state, depth, following = g.op("If", g.op("Equal", g.op("Gather", "steps", "turn", axis=0), zero), outputs=3, then_branch=then, else_branch=otherwise)
    row = g.op("Add", "turn", one)
    after = [g.op("ScatterND", "stack", g.op("Reshape", row, g.integers(1, 1)), g.op("Unsqueeze", state, g.integers(0))),
             g.op("ScatterND", "places", g.op("Reshape", depth, g.integers(1, 1)), g.op("Reshape", row, g.integers(1))), depth, following, tracker]
    go = g.op("Identity", "go")
    carried = [("stack", FLOAT, [None, None]), ("places", INT64, [None]), ("depth", INT64, []), ("next", INT64, []), ("tracker", FLOAT, [None])]
    inputs = [info("turn", INT64, []), info("go", BOOL, [])] + [info(*c) for c in carried]
    inner = helper.make_graph(g.nodes, "step", inputs, [info(go, BOOL, [])] + [info(n, kind, shape) for n, (_, kind, shape) in zip(after, carried)])
    g.nodes = outer
    h = g.op("Loop", scalar(g, steps), g.constant(np.array(True)), stack, places, zero, zero, tracker0, outputs=5, body=inner)[0]

    def reference(x, steps):
        w = {k: v.astype(np.float64) for k, v in g.weights.items()}
        rows, places, following, tracker = [np.zeros(d)], [0], 0, np.zeros(d)
        for step in steps:
            top, second = rows[places[-1]], rows[places[max(len(places) - 2, 0)]]
            tracker = np.tanh(np.concatenate([second, top, tracker]) @ w["Wt"] + w["bt"])
            if step == 0:
                rows.append(x[following].astype(np.float64))
                following += 1
            else:
                places = places[:-2]
                rows.append(np.tanh(np.concatenate([second, top, tracker]) @ w["Wr"] + w["br"]))
            places.append(len(rows) - 1)
        return np.array(rows)

    def inputs_of(trees, random):
        steps = np.array([1 if c else 0 for parents in trees for c in children_of(parents)], np.int64)
        return {"x": random.standard_normal((int((steps == 0).sum()), d)).astype(np.float32), "steps": steps}

    inputs = [info("x", FLOAT, ["words", d]), info("steps", INT64, ["steps"])]
    return g.finish("stackrnn", inputs, h, d), reference, inputs_of


def structures(name, random):
    """The recorded cases: one tree, a forest of several, single nodes, none, a chain; and nodes that read rows that are written later."""
    forests = [[random_tree(random, n)] for n in (7, 1, 40)] + [[random_tree(random, n) for n in (5, 1, 9, 2)], [[-1]] * 3]
    if name in ("treefc", "treegru", "treelstm_binary", "mvrnn", "stackrnn"):
        return forests
    graphs = [[children_of(parents) for parents in forest] for forest in forests]
    if name == "dagrnn":
        return graphs + [[grid(4, 5)], [grid(1, 30), grid(10, 10)], [[[], [0], [0, 1], [2, 2], [1, 3]]]]
    return graphs + [[[[], [0], [0, 1], [2, 1, 0], []]], [[[1], [], [0, 3], [2]]]]


def write(name, below):
    made, reference, inputs_of = MODELS[name]()
    folder = os.path.join(below, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    onnx.checker.check_model(made)
    onnx.save(made, os.path.join(folder, "model.onnx"))
    random = np.random.default_rng(7)
    for number, forest in enumerate(structures(name, random)):
        inputs = inputs_of(forest, random)
        place = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(place)
        for i, port in enumerate(made.graph.input):
            onnx.save_tensor(numpy_helper.from_array(inputs[port.name], port.name), os.path.join(place, f"input_{i}.pb"))
        onnx.save_tensor(numpy_helper.from_array(reference(**inputs).astype(np.float32), "h"), os.path.join(place, "output_0.pb"))
        print(name, number, {k: v.shape for k, v in inputs.items()})


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        write(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples", "models"))
