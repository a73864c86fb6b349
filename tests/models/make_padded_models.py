#!/usr/bin/env python3
"""Writes models over padded batches as exporters write them, small, and their recorded cases (outputs by onnxruntime): tests/models/padded_*.

    python3 tests/models/make_padded_models.py [NAME...]        needs numpy, onnx and onnxruntime

Each is one layer, 8 wide, of two heads, over ids [batch, seq] and a mask [batch, seq], or lengths [batch]. What differs is how the mask is made and hides keys, what is added to the
scores, how the heads stand, and what is returned. tests/golden/passes/padded_models.dyn.txt says which of them are computed without padding. Masks of the cases: all ones, prefixes, left
padding, holes.
"""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import make_models
from make_models import info, ints

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
WIDTH, HEADS, DEEP, WITHIN, WORDS, PLACES = 8, 2, 4, 12, 20, 40
LEAST = float(np.finfo(np.float32).min)
MODELS = {}


class Graph:
    """Nodes and weights as an exporter writes them; what a node makes is named by its number."""

    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(7)

    def __call__(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        inputs = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        name = f"constant_{len(self.weights)}"
        value = np.asarray(value)
        self.weights.append(numpy_helper.from_array(value.astype(np.float32) if value.dtype == np.float64 else value, name))
        return name

    def weight(self, *shape):
        return self.constant((self.random.standard_normal(shape) * 0.4).astype(np.float32))

    # --- sizes and places

    def size(self, of, axis):
        return self("Gather", self("Shape", of), np.int64(axis))

    def sizes(self, *parts):
        return self("Concat", *[self("Unsqueeze", p, ints(0)) if isinstance(p, str) else ints(p) for p in parts], axis=0)

    def counting(self, size):
        return self("Range", np.int64(0), size, np.int64(1))

    def unsqueezed(self, v, *axes):
        return self("Unsqueeze", v, ints(*axes))

    # --- layers

    def linear(self, x, rows, columns):
        return self("Add", self("MatMul", x, self.weight(rows, columns)), self.weight(columns))

    def norm(self, x):
        return self("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), axis=-1, epsilon=1e-5)

    def embedded(self, places=None):
        x = self("Gather", self.weight(WORDS, WIDTH), "ids")
        if places is None:
            length = self.unsqueezed(self.size("ids", 1), 0)
            places = self("Slice", np.arange(PLACES)[None], ints(0), length, ints(1), ints(1))
        return self.norm(self("Add", x, self("Gather", self.weight(PLACES, WIDTH), places)))

    def heads(self, x, order=(0, 2, 1, 3)):
        return self("Transpose", self("Reshape", self.linear(x, WIDTH, WIDTH), ints(0, 0, HEADS, DEEP)), perm=list(order))

    def scored(self, x):
        return self("Mul", self("MatMul", self.heads(x), self.heads(x, (0, 2, 3, 1))), np.float32(DEEP ** -0.5))

    def closed(self, x, z):
        """What follows attention [b, h, s, d]."""
        joined = self("Reshape", self("Transpose", z, perm=[0, 2, 1, 3]), ints(0, 0, WIDTH))
        return self.after(x, joined)

    def after(self, x, joined):
        x = self.norm(self("Add", x, self.linear(joined, WIDTH, WIDTH)))
        return self.norm(self("Add", x, self.linear(self("Relu", self.linear(x, WIDTH, WITHIN)), WITHIN, WIDTH)))

    def attended(self, x, scores):
        return self.closed(x, self("MatMul", self("Softmax", scores, axis=-1), self.heads(x)))

    # --- results

    def first(self, x):
        return self("Tanh", self.linear(self("Gather", x, np.int64(0), axis=1), WIDTH, WIDTH))

    def mean(self, x, mask="mask"):
        factor = self("Cast", self("Expand", self.unsqueezed(mask, -1), self("Shape", x)), to=FLOAT)
        total = self("ReduceSum", self("Mul", x, factor), ints(1), keepdims=0)
        return self("Div", total, self("Clip", self("ReduceSum", factor, ints(1), keepdims=0), np.float32(1e-9)))

    # --- masks

    def bias(self):
        keys = self("Cast", self.unsqueezed("mask", 1, 2), to=FLOAT)
        return self("Mul", self("Sub", np.float32(1), keys), np.float32(LEAST))

    def grid(self):
        """Indices of sequences, queries and keys as torch.vmap leaves them."""
        places = self.counting(self.size("ids", 1))
        return self.unsqueezed(self.counting(self.size("ids", 0)), 1, 2, 3), self.unsqueezed(places, 0, 1, 3), self.unsqueezed(places, 0, 1, 2)

    def flat_mask(self, row, column):
        """As TorchScript writes an index by two tensors: flat, and each number counted out."""
        held = self("Cast", "mask", to=BOOL)
        flat = self("Flatten", held, axis=2)
        at = self("Add", column, self("Mul", row, self("Gather", self("Shape", held), ints(1))))
        found = self("Gather", flat, at)
        return self("Cast", self("Reshape", self("Reshape", found, ints(-1)), self("Shape", at)), to=BOOL)

    def nd_mask(self, row, column):
        held = self("Cast", "mask", to=BOOL)
        shape = self("Shape", self("Max", row, column))
        pairs = self("Concat", self.unsqueezed(self("Expand", row, shape), -1), self.unsqueezed(self("Expand", column, shape), -1), axis=-1)
        return self("GatherND", held, pairs)


def padded(make):
    """`make(g)` -> the result; ids and mask, or ids and lengths where its name says so."""
    def models():
        g = Graph()
        result = make(g)
        g.nodes[[n.output[0] for n in g.nodes].index(result)].output[0] = "y"
        for n in g.nodes:
            n.input[:] = ["y" if i == result else i for i in n.input]
        lengths = make.__name__.endswith("_lengths")
        second = info("lengths", INT64 if not make.__name__.startswith("rnn") else INT32, ["batch"]) if lengths else info("mask", INT64, ["batch", "seq"])
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph(g.nodes, make.__name__, [info("ids", INT64, ["batch", "seq"]), second], [helper.make_tensor_value_info("y", FLOAT, None)], g.weights)
        yield helper.make_model(graph, opset_imports=imports, ir_version=8)
        random = np.random.default_rng(3)
        for kind, (batch, seq) in enumerate(((3, 7), (1, 5), (4, 3), (5, 11), (2, 1))):
            place, ends = np.arange(seq)[None], random.integers(1, seq + 1, batch)[:, None]
            ends[0] = seq
            mask = [place < ends, place < ends, place >= seq - ends, (random.random((batch, seq)) < 0.6) | (place == ends - 1), place < seq][kind].astype(np.int64) * np.ones((batch, 1), np.int64)
            if lengths:
                mask = (place < ends).astype(np.int64)
            case = {"ids": random.integers(2, WORDS, (batch, seq))}
            case |= {"lengths": mask.sum(1).astype(np.int32 if make.__name__.startswith("rnn") else np.int64)} if lengths else {"mask": mask}
            yield case
    MODELS["padded_" + make.__name__] = models
    return make


@padded
def bert_first(g):
    """A bias of (1 - mask) * least; the result of a sequence is that of its first position."""
    x = g.embedded()
    return g.first(g.attended(x, g("Add", g.scored(x), g.bias())))


@padded
def bert_hidden(g):
    x = g.embedded()
    return g.attended(x, g("Add", g.scored(x), g.bias()))


@padded
def bert_mean(g):
    """The mean over the mask, as sentence-transformers has it."""
    x = g.embedded()
    return g.mean(g.attended(x, g("Add", g.scored(x), g.bias())))


@padded
def traced_mean(g):
    """A mask by a flat index, expanded to all queries; both factors scaled; NaN of a query without keys made 0."""
    x = g.embedded()
    row, query, key = g.grid()
    held = g("And", g("GreaterOrEqual", query, np.int64(0)), g.flat_mask(row, key))
    held = g("Expand", held, g.sizes(g.size("ids", 0), 1, g.size("ids", 1), g.size("ids", 1)))
    root = np.float32(DEEP ** -0.25)
    scores = g("MatMul", g("Mul", g.heads(x), root), g("Mul", g.heads(x, (0, 2, 3, 1)), root))
    p = g("Softmax", g("Add", scores, g("Where", held, np.float32(0), np.float32(LEAST))), axis=-1)
    p = g("Where", g("IsNaN", p), np.float32(0), p)
    return g.mean(g.closed(x, g("MatMul", p, g.heads(x))))


@padded
def captured_mean(g):
    """A mask by GatherND; keys transposed with batch and heads joined."""
    x = g.embedded()
    row, query, key = g.grid()
    held = g("And", g("And", np.bool_(True), g("GreaterOrEqual", query, np.int64(0))), g.nd_mask(row, key))
    k = g.heads(x)
    shape = g("Shape", k)
    last, before, front = g("Slice", shape, ints(-1), ints(2 ** 63 - 1)), g("Slice", shape, ints(-2), ints(-1)), g("Slice", shape, ints(-2 ** 63), ints(-2))
    turned = g("Transpose", g("Reshape", k, g("Concat", ints(-1), before, last, axis=0)), perm=[0, 2, 1])
    k = g("Reshape", turned, g("Concat", front, last, before, axis=0))
    scores = g("MatMul", g("Mul", g.heads(x), np.float32(DEEP ** -0.25)), g("Mul", k, np.float32(DEEP ** -0.25)))
    p = g("Softmax", g("Add", scores, g("Where", held, np.float32(0), np.float32(LEAST))), axis=-1)
    p = g("Where", g("IsNaN", p), np.float32(0), p)
    return g.mean(g.closed(x, g("MatMul", p, g.heads(x))))


@padded
def distilbert_first(g):
    """masked_fill where the mask is 0, expanded to the scores."""
    x = g.embedded()
    scores = g.scored(x)
    hidden = g("Expand", g("Reshape", g("Equal", "mask", np.int64(0)), g.sizes(g.size("ids", 0), 1, 1, g.size("ids", 1))), g("Shape", scores))
    return g.first(g.attended(x, g("Where", hidden, np.float32(LEAST), scores)))


@padded
def roberta_mean(g):
    """Places counted among the ids that are not padding."""
    there = g("Cast", g("Not", g("Equal", "ids", np.int64(1))), to=INT64)
    x = g.embedded(g("Add", g("Mul", g("CumSum", there, np.int64(1)), there), np.int64(1)))
    return g.mean(g.attended(x, g("Add", g.scored(x), g.bias())))


def relative(g):
    """Biases of heads by the distance of query and key: [1, h, s, s]."""
    places = g.counting(g.size("ids", 1))
    apart = g("Clip", g("Sub", g.unsqueezed(places, 0), g.unsqueezed(places, 1)), np.int64(-3), np.int64(3))
    return g.unsqueezed(g("Transpose", g("Gather", g.weight(7, HEADS), g("Add", apart, np.int64(3))), perm=[2, 0, 1]), 0)


@padded
def t5_mean(g):
    """One sum of relative biases and the mask."""
    x = g.embedded()
    return g.mean(g.attended(x, g("Add", g.scored(x), g("Add", relative(g), g.bias()))))


@padded
def mpnet_mean(g):
    """Relative biases expanded to the batch."""
    x = g.embedded()
    table = g("Expand", relative(g), g.sizes(g.size("ids", 0), HEADS, g.size("ids", 1), g.size("ids", 1)))
    return g.mean(g.attended(x, g("Add", g("Add", g.scored(x), table), g.bias())))


def causal(g):
    row, query, key = g.grid()
    return g("And", g("LessOrEqual", key, query), g.nd_mask(row, key))


@padded
def gpt_mean(g):
    """Causal and the mask in one bias."""
    x = g.embedded()
    return g.mean(g.attended(x, g("Add", g.scored(x), g("Where", causal(g), np.float32(0), np.float32(LEAST)))))


@padded
def gpt_hidden(g):
    x = g.embedded()
    return g.attended(x, g("Add", g.scored(x), g("Where", causal(g), np.float32(0), np.float32(LEAST))))


@padded
def llama_mean(g):
    """One head of keys for two of queries, rotated."""
    x = g("Gather", g.weight(WORDS, WIDTH), "ids")
    length = g.size("ids", 1)
    angles = g("Mul", g.unsqueezed(g("Cast", g.counting(length), to=FLOAT), 1), np.array([[1.0, 0.1]], np.float32))
    angles = g.unsqueezed(g("Concat", angles, angles, axis=-1), 0, 1)
    cosine, sine = g("Cos", angles), g("Sin", angles)

    def turned(v):
        first, second = g("Split", v, ints(2, 2), outputs=2, axis=-1)
        return g("Add", g("Mul", v, cosine), g("Mul", g("Concat", g("Neg", second), first, axis=-1), sine))

    def shared(columns):
        one = g("Transpose", g("Reshape", g("MatMul", x, g.weight(WIDTH, columns)), ints(0, 0, 1, DEEP)), perm=[0, 2, 1, 3])
        return one
    k, v = turned(shared(DEEP)), shared(DEEP)
    repeated = [g("Reshape", g("Expand", g.unsqueezed(one, 2), g.sizes(g.size("ids", 0), 1, HEADS, length, DEEP)), g.sizes(g.size("ids", 0), HEADS, length, DEEP)) for one in (k, v)]
    scores = g("Mul", g("MatMul", turned(g.heads(x)), g("Transpose", repeated[0], perm=[0, 1, 3, 2])), np.float32(0.5))
    p = g("Softmax", g("Add", scores, g("Where", causal(g), np.float32(0), np.float32(LEAST))), axis=-1)
    return g.mean(g.closed(x, g("MatMul", p, repeated[1])))


@padded
def window_mean(g):
    """Keys further than two from the query are hidden, too."""
    x = g.embedded()
    row, query, key = g.grid()
    near = g("LessOrEqual", g("Abs", g("Sub", query, key)), np.int64(2))
    held = g("And", near, g.nd_mask(row, key))
    return g.mean(g.attended(x, g("Add", g.scored(x), g("Where", held, np.float32(0), np.float32(LEAST)))))


@padded
def deberta_mean(g):
    """Queries take part in the mask, and the scores get products of queries and distances."""
    x = g.embedded()
    q = g.heads(x)
    places = g.counting(g.size("ids", 1))
    apart = g("Add", g("Clip", g("Sub", g.unsqueezed(places, 0), g.unsqueezed(places, 1)), np.int64(-3), np.int64(3)), np.int64(3))
    far = g("Expand", g.unsqueezed(apart, 0, 1), g.sizes(g.size("ids", 0), HEADS, g.size("ids", 1), g.size("ids", 1)))
    scores = g("Add", g.scored(x), g("GatherElements", g("MatMul", q, g.weight(DEEP, 7)), far, axis=-1))
    keys = g.unsqueezed("mask", 1, 2)
    both = g("Cast", g("Mul", keys, g("Transpose", keys, perm=[0, 1, 3, 2])), to=BOOL)
    p = g("Softmax", g("Where", both, scores, np.float32(LEAST)), axis=-1)
    return g.mean(g.closed(x, g("MatMul", p, g.heads(x))))


@padded
def deberta_first(g):
    """Batch and heads in one axis; the scores get products of queries and of keys with distances. What is read may be hidden, and sees all keys alike."""
    x = g.embedded()
    b, s = g.size("ids", 0), g.size("ids", 1)
    many = g("Mul", b, np.int64(HEADS))
    q, k, v = (g("Reshape", g.heads(x), g.sizes(many, -1, DEEP)) for _ in range(3))
    places = g.counting(s)
    apart = g("Add", g("Clip", g("Sub", g.unsqueezed(places, 0), g.unsqueezed(places, 1)), np.int64(-3), np.int64(3)), np.int64(3))
    far = g("Expand", g.unsqueezed(apart, 0), g.sizes(many, s, s))
    scores = g("MatMul", q, g("Transpose", k, perm=[0, 2, 1]))
    scores = g("Add", scores, g("GatherElements", g("MatMul", q, g.weight(DEEP, 7)), far, axis=-1))
    scores = g("Add", scores, g("Transpose", g("GatherElements", g("MatMul", k, g.weight(DEEP, 7)), far, axis=-1), perm=[0, 2, 1]))
    keys = g.unsqueezed("mask", 1, 2)
    both = g("Cast", g("Mul", keys, g("Transpose", keys, perm=[0, 1, 3, 2])), to=BOOL)
    p = g("Softmax", g("Where", both, g("Reshape", scores, g.sizes(-1, HEADS, s, s)), np.float32(LEAST)), axis=-1)
    z = g("MatMul", g("Reshape", p, g.sizes(-1, s, s)), v)
    return g.first(g.closed(x, g("Reshape", z, g.sizes(b, HEADS, s, DEEP))))


@padded
def bloom_mean(g):
    """ALiBi of positions that the mask counts, added with batch and heads in one axis whose size the exporter leaves to the run."""
    x = g.embedded()
    b, s = g.size("ids", 0), g.size("ids", 1)
    many = g("Mul", b, np.int64(HEADS))
    counted = g("Mul", g("Sub", g("CumSum", "mask", np.int64(1)), np.int64(1)), "mask")
    alibi = g("Reshape", g("Mul", np.array([[[0.25], [0.0625]]], np.float32), g("Cast", g.unsqueezed(counted, 1), to=FLOAT)), g.sizes(many, 1, s))
    q, k, v = (g("Reshape", g.heads(x), g.sizes(many, -1, DEEP)) for _ in range(3))
    scores = g("Add", g("Mul", g("MatMul", q, g("Transpose", k, perm=[0, 2, 1])), np.float32(DEEP ** -0.5)), alibi)
    _, row, column = g.grid()
    held = g("And", g("LessOrEqual", column, row), g("Cast", g.unsqueezed("mask", 1, 2), to=BOOL))
    scores = g("Add", g("Reshape", scores, g.sizes(b, HEADS, s, -1)), g("Where", held, np.float32(0), np.float32(LEAST)))
    z = g("MatMul", g("Reshape", g("Softmax", scores, axis=-1), g.sizes(many, s, -1)), v)
    return g.mean(g.closed(x, g("Reshape", z, g.sizes(b, HEADS, s, DEEP))))


@padded
def joined_first(g):
    """Batch and heads in one axis, as older decoders and BART have it."""
    x = g.embedded()
    b, s = g.size("ids", 0), g.size("ids", 1)
    many = g("Mul", b, np.int64(HEADS))
    q, k, v = (g("Reshape", g.heads(x), g.sizes(many, -1, DEEP)) for _ in range(3))
    scores = g("Reshape", g("MatMul", q, g("Transpose", k, perm=[0, 2, 1])), g.sizes(b, HEADS, s, s))
    scores = g("Add", scores, g("Expand", g.bias(), g.sizes(b, 1, s, s)))
    p = g("Softmax", g("Reshape", scores, g.sizes(many, s, s)), axis=-1)
    return g.first(g.closed(x, g("Reshape", g("MatMul", p, v), g.sizes(b, HEADS, s, DEEP))))


@padded
def optimised_first(g):
    """As onnxruntime's optimiser saves it: Attention with the mask, SkipLayerNormalization."""
    x = g.embedded()
    z = g("Attention", x, g.weight(WIDTH, 3 * WIDTH), g.weight(3 * WIDTH), g("Cast", "mask", to=INT32), domain="com.microsoft", num_heads=HEADS, mask_filter_value=LEAST)
    y = g("SkipLayerNormalization", g("MatMul", z, g.weight(WIDTH, WIDTH)), x, g.weight(WIDTH), g.weight(WIDTH), g.weight(WIDTH), domain="com.microsoft", epsilon=1e-5)
    inner = g("BiasGelu", g("MatMul", y, g.weight(WIDTH, WITHIN)), g.weight(WITHIN), domain="com.microsoft")
    return g.first(g("SkipLayerNormalization", g("MatMul", inner, g.weight(WITHIN, WIDTH)), y, g.weight(WIDTH), g.weight(WIDTH), g.weight(WIDTH), domain="com.microsoft", epsilon=1e-5))


@padded
def optimised_lengths(g):
    """MultiHeadAttention with a key padding mask of the lengths."""
    x = g.embedded()
    q, k, v = (g("MatMul", x, g.weight(WIDTH, WIDTH)) for _ in range(3))
    held = g("Less", g.unsqueezed(g.counting(g.size("ids", 1)), 0), g.unsqueezed("lengths", 1))
    z = g("MultiHeadAttention", q, k, v, g.weight(3 * WIDTH), g("Cast", held, to=INT32), domain="com.microsoft", num_heads=HEADS)
    return g.first(g.after(x, z))


@padded
def encoder_lengths(g):
    """nn.TransformerEncoder with src_key_padding_mask: -inf at hidden keys."""
    x = g.embedded()
    held = g("Less", g.unsqueezed(g.counting(g.size("ids", 1)), 0), g.unsqueezed("lengths", 1))
    bias = g("Where", g("Not", held), np.float32(-np.inf), np.float32(0))
    bias = g("Expand", g("Reshape", bias, g.sizes(g.size("ids", 0), 1, 1, g.size("ids", 1))), g.sizes(g.size("ids", 0), HEADS, 1, g.size("ids", 1)))
    return g.mean(g.attended(x, g("Add", g.scored(x), bias)), held)


@padded
def bert_max(g):
    """The largest over the mask: what is hidden is filled with -1e9 first."""
    x = g.embedded()
    y = g.attended(x, g("Add", g.scored(x), g.bias()))
    hidden = g("Expand", g.unsqueezed(g("Equal", "mask", np.int64(0)), -1), g("Shape", y))
    return g("ReduceMax", g("Where", hidden, np.float32(-1e9), y), axes=[1], keepdims=0)


@padded
def gpt_max(g):
    """Likewise behind a causal mask, by the mask as it is."""
    x = g.embedded()
    y = g.attended(x, g("Add", g.scored(x), g("Where", causal(g), np.float32(0), np.float32(LEAST))))
    return g("ReduceMax", g("Where", g("Cast", g.unsqueezed("mask", -1), to=BOOL), y, np.float32(-1e9)), axes=[1], keepdims=0)


@padded
def mha_lengths(g):
    """nn.MultiheadAttention: sequence first, batch and heads joined behind it, a product over sequence and batch in one axis."""
    x = g.embedded()
    b, s = g.size("ids", 0), g.size("ids", 1)
    many = g("Mul", b, np.int64(HEADS))
    first = g("Transpose", x, perm=[1, 0, 2])
    q, k, v = (g("Transpose", g("Reshape", g.linear(first, WIDTH, WIDTH), g.sizes(s, many, DEEP)), perm=[1, 0, 2]) for _ in range(3))
    held = g("Less", g.unsqueezed(g.counting(s), 0), g.unsqueezed("lengths", 1))
    bias = g("Reshape", g("Where", g("Not", held), np.float32(-np.inf), np.float32(0)), g.sizes(b, 1, 1, s))
    bias = g("Reshape", g("Expand", bias, g.sizes(b, HEADS, 1, s)), g.sizes(many, 1, s))
    q, k, v = (g("Reshape", part, g.sizes(b, HEADS, s, DEEP)) for part in (q, k, v))
    scores = g("Add", g("MatMul", g("Mul", q, np.float32(0.5)), g("Transpose", k, perm=[0, 1, 3, 2])), g("Reshape", bias, g.sizes(b, HEADS, 1, s)))
    z = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=[2, 0, 1, 3])
    joined = g("Gemm", g("Reshape", z, g.sizes(g("Mul", s, b), WIDTH)), g.weight(WIDTH, WIDTH), g.weight(WIDTH), transB=1)
    y = g("Transpose", g("Reshape", joined, g.sizes(s, b, WIDTH)), perm=[1, 0, 2])
    return g.mean(g.norm(g("Add", x, y)), held)


@padded
def conv1d_mean(g):
    """GPT-2's layers: products over batch and sequence in one axis."""
    x = g.embedded()
    b, s = g.size("ids", 0), g.size("ids", 1)
    qkv = g("Reshape", g("Gemm", g("Reshape", x, ints(-1, WIDTH)), g.weight(WIDTH, 3 * WIDTH), g.weight(3 * WIDTH)), g.sizes(b, s, 3 * WIDTH))
    q, k, v = (g("Transpose", g("Reshape", part, g.sizes(b, s, -1, DEEP)), perm=[0, 2, 1, 3]) for part in g("Split", qkv, ints(WIDTH, WIDTH, WIDTH), outputs=3, axis=2))
    scores = g("Mul", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), np.float32(0.5))
    p = g("Cast", g("Softmax", g("Add", scores, g("Where", causal(g), np.float32(0), np.float32(LEAST))), axis=-1), to=FLOAT)
    z = g("Reshape", g("Transpose", g("MatMul", p, v), perm=[0, 2, 1, 3]), ints(0, 0, WIDTH))
    z = g("Reshape", g("Gemm", g("Reshape", z, ints(-1, WIDTH)), g.weight(WIDTH, WIDTH), g.weight(WIDTH)), g.sizes(b, s, WIDTH))
    return g.mean(g.norm(g("Add", x, z)))


@padded
def conv_mean(g):
    """A convolution along the sequence, of what is 0 at padded positions, before attention: padded up to it, not behind it."""
    x = g.embedded()
    x = g("Mul", x, g("Cast", g.unsqueezed("mask", -1), to=FLOAT))
    c = g("Conv", g("Transpose", x, perm=[0, 2, 1]), g.weight(WIDTH, WIDTH, 3), g.weight(WIDTH), pads=[1, 1])
    x = g.norm(g("Add", x, g("Transpose", c, perm=[0, 2, 1])))
    return g.mean(g.attended(x, g("Add", g.scored(x), g.bias())))


def recurrent(g, kind, direction, hidden=6, layers=1):
    x = g("Transpose", g("Gather", g.weight(WORDS, WIDTH), "ids"), perm=[1, 0, 2])
    gates, directions, rows = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 2 if direction == "bidirectional" else 1, WIDTH
    lengths = g("Cast", "lengths", to=INT32)
    for _ in range(layers):
        y, last = g(kind, x, g.weight(directions, gates * hidden, rows), g.weight(directions, gates * hidden, hidden), g.weight(directions, 2 * gates * hidden), lengths,
                    outputs=2, hidden_size=hidden, direction=direction)
        rows = directions * hidden
        x = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), ints(0, 0, rows))
    return x, last


@padded
def lstm_last_lengths(g):
    return g("MatMul", g("Squeeze", recurrent(g, "LSTM", "forward")[1], ints(0)), g.weight(6, 2))


@padded
def lstm_layers_lengths(g):
    """Two layers of both directions, whole."""
    return g("Transpose", recurrent(g, "LSTM", "bidirectional", layers=2)[0], perm=[1, 0, 2])


@padded
def gru_reverse_lengths(g):
    return g("Transpose", recurrent(g, "GRU", "reverse")[0], perm=[1, 0, 2])


@padded
def rnn_mean_lengths(g):
    """The sum of what a recurrence stacks, by the lengths; they are i32."""
    y = recurrent(g, "RNN", "bidirectional")[0]
    return g("Div", g("ReduceSum", y, ints(0), keepdims=0), g("Cast", g.unsqueezed("lengths", 1), to=FLOAT))


if __name__ == "__main__":
    make_models.MODELS = MODELS
    for name in sys.argv[1:] or MODELS:
        make_models.write(name)
