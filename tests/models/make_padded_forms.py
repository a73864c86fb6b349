#!/usr/bin/env python3
"""More models like those of make_padded_models.py: attention that exporters write in other forms before it is computed without padding (compiler/passes/padding/canonicalise.h, moved_positions.h).

    python3 tests/models/make_padded_forms.py [NAME...]        needs numpy, onnx and onnxruntime
"""
import sys

import numpy as np

import make_models
import make_padded_models
from make_models import ints
from make_padded_models import BOOL, DEEP, FLOAT, HEADS, LEAST, PLACES, WIDTH, WITHIN, WORDS, padded

OTHERS = set(make_padded_models.MODELS)


def normed(g, x):
    """[b, c, s] by channel."""
    return g("Transpose", g.norm(g("Transpose", x, perm=[0, 2, 1])), perm=[0, 2, 1])


def pointwise(g, x, rows, columns, group=1):
    return g("Conv", x, g.weight(columns, rows // group, 1), g.weight(columns), kernel_shape=[1], group=group, pads=[0, 0], strides=[1], dilations=[1])


@padded
def squeeze_mean(g):
    """SqueezeBERT: convolutions with windows of one, in groups, of channels before positions."""
    x = g("Transpose", g.embedded(), perm=[0, 2, 1])
    q, k, v = (g("Reshape", pointwise(g, x, WIDTH, WIDTH, 2), ints(0, HEADS, DEEP, -1)) for _ in range(3))
    scores = g("Div", g("MatMul", g("Transpose", q, perm=[0, 1, 3, 2]), k), np.float32(DEEP ** 0.5))
    p = g("Softmax", g("Add", scores, g.bias()), axis=-1)
    z = g("Transpose", g("MatMul", p, g("Transpose", v, perm=[0, 1, 3, 2])), perm=[0, 1, 3, 2])
    x = normed(g, g("Add", x, pointwise(g, g("Reshape", z, ints(0, WIDTH, -1)), WIDTH, WIDTH)))
    x = normed(g, g("Add", x, pointwise(g, g("Relu", pointwise(g, x, WIDTH, WITHIN, 4)), WITHIN, WIDTH, 2)))
    return g.mean(g("Transpose", x, perm=[0, 2, 1]))


@padded
def gated_mean(g):
    """WavLM: relative biases behind a gate of each query, added with the mask first; batch and heads in one axis, which is never taken apart."""
    x = g.embedded()
    b, s = g.size("ids", 0), g.size("ids", 1)
    many = g("Mul", b, np.int64(HEADS))
    places = g.counting(s)
    apart = g("Clip", g("Sub", g.unsqueezed(places, 0), g.unsqueezed(places, 1)), np.int64(-3), np.int64(3))
    table = g.unsqueezed(g("Transpose", g("Gather", g.weight(7, HEADS), g("Add", apart, np.int64(3))), perm=[2, 0, 1]), 0)
    table = g("Reshape", g("Tile", table, g.sizes(b, 1, 1, 1)), g.sizes(many, s, s))
    gate = g("Sigmoid", g("MatMul", g("Transpose", g("Reshape", x, ints(0, 0, HEADS, DEEP)), perm=[0, 2, 1, 3]), g.weight(DEEP, 1)))
    bias = g("Reshape", g("Mul", g("Reshape", gate, g.sizes(many, -1, 1)), table), g.sizes(-1, s, s))
    first = g("Transpose", x, perm=[1, 0, 2])
    q, k, v = (g("Transpose", g("Reshape", g.linear(first, WIDTH, WIDTH), g.sizes(s, many, DEEP)), perm=[1, 0, 2]) for _ in range(3))
    hidden = g("Where", g("Not", g("Cast", "mask", to=BOOL)), np.float32(-np.inf), np.float32(0))
    hidden = g("Reshape", g("Expand", g("Reshape", hidden, g.sizes(b, 1, 1, s)), g.sizes(b, HEADS, 1, s)), g.sizes(many, 1, s))
    scores = g("MatMul", g("Mul", q, np.float32(0.5)), g("Transpose", k, perm=[0, 2, 1]))
    scores = g("Add", g("Mul", scores, np.float32(1)), g("Mul", g("Add", bias, hidden), np.float32(1)))
    z = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=[1, 0, 2])
    joined = g("Gemm", g("Reshape", z, g.sizes(g("Mul", s, b), WIDTH)), g.weight(WIDTH, WIDTH), g.weight(WIDTH), transB=1)
    y = g("Transpose", g("Reshape", joined, g.sizes(s, b, WIDTH)), perm=[1, 0, 2])
    return g.mean(g.norm(g("Add", x, y)))


@padded
def xlnet_mean(g):
    """XLNet: sequence first, relative scores shifted along the diagonal by reshaping, all scaled, the mask subtracted; a query sees its own key whatever the mask says."""
    b, s = g.size("ids", 0), g.size("ids", 1)
    x = g("Gather", g.weight(WORDS, WIDTH), g("Transpose", "ids", perm=[1, 0]))
    hidden = g("Greater", g.unsqueezed(g("Sub", np.float32(1), g("Cast", g("Transpose", "mask", perm=[1, 0]), to=FLOAT)), 0), np.float32(0))
    own = g("EyeLike", g("ConstantOfShape", g.sizes(s, s)))
    mask = g("Greater", g("Add", g("Cast", g.unsqueezed(hidden, 3), to=FLOAT), g.unsqueezed(g("Neg", own), 2, 3)), np.float32(0))
    mask = g("Mul", g("Einsum", g("Cast", mask, to=FLOAT), equation="ijbn->bnij"), np.float32(65500))
    count = g("Cast", g("Range", s, g("Neg", s), np.int64(-1)), to=FLOAT)
    waves = g("Mul", g.unsqueezed(count, 1), (10000.0 ** -np.arange(0, 1, 2 / WIDTH)).astype(np.float32)[None])
    waves = g.unsqueezed(g("Concat", g("Sin", waves), g("Cos", waves), axis=-1), 1)
    far = g("Einsum", g("Expand", waves, g.sizes(1, b, 1)), g.weight(WIDTH, HEADS, DEEP), equation="ibh,hnd->ibnd")
    q, k, v = (g("Einsum", x, g.weight(WIDTH, HEADS, DEEP), equation="ibh,hnd->ibnd") for _ in range(3))
    near = g("Einsum", g("Add", q, g.weight(HEADS, DEEP)), k, equation="ibnd,jbnd->bnij")
    shifted = g("Einsum", g("Add", q, g.weight(HEADS, DEEP)), far, equation="ibnd,jbnd->bnij")
    long = g("Add", s, s)
    shifted = g("Slice", g("Reshape", shifted, g.sizes(b, HEADS, long, s)), ints(1), ints(2 ** 63 - 1), ints(2), ints(1))
    shifted = g("Reshape", shifted, g.sizes(b, HEADS, s, g("Sub", long, np.int64(1))))
    shifted = g("Gather", shifted, g.counting(s), axis=3)
    scores = g("Mul", g("Add", near, shifted), np.float32(DEEP ** -0.5))
    p = g("Softmax", g("Sub", scores, mask), axis=3)
    z = g("Einsum", g("Einsum", p, v, equation="bnij,jbnd->ibnd"), g.weight(WIDTH, HEADS, DEEP), equation="ibnd,hnd->ibh")
    return g.mean(g("Transpose", g.norm(g("Add", x, z)), perm=[1, 0, 2]))


@padded
def cut_mean(g):
    """XLM and MPT: places, ids and slopes cut from their ends by as many as there are; the result is cut to its own length."""
    b, s = g.size("ids", 0), g.size("ids", 1)
    back = g.unsqueezed(g("Neg", s), 0)
    far = ints(2 ** 63 - 1)
    ids, mask = (g("Slice", v, back, far, ints(1), ints(1)) for v in ("ids", "mask"))
    places = g("Slice", g("Slice", np.arange(PLACES)[None], ints(0), g.unsqueezed(s, 0), ints(1), ints(1)), back, far, ints(1), ints(1))
    x = g("Add", g("Gather", g.weight(WORDS, WIDTH), ids), g("Expand", g("Gather", g.weight(PLACES, WIDTH), places), g.sizes(b, 1, WIDTH)))
    slopes = (np.arange(1 - PLACES, 1) * np.array([[0.5], [0.25]])).astype(np.float32)[:, None]
    first = g.unsqueezed(g("Max", g("Sub", np.int64(PLACES), s), np.int64(0)), 0)
    slopes = g("Slice", slopes, first, far, ints(2), ints(1))
    scores = g("Add", g.scored(x), slopes)
    shape = g.sizes(g.size(mask, 0), 1, 1, g.size(mask, 1))
    hidden = g("Expand", g("Reshape", g("Equal", mask, np.int64(0)), shape), g("Shape", scores))
    z = g.attended(x, g("Where", g("Cast", hidden, to=BOOL), np.float32(LEAST), scores))
    z = g("Slice", z, ints(0), g.unsqueezed(g.size("ids", 1), 0), ints(1), ints(1))
    return g.mean(z, mask)


@padded
def decoder_hidden(g):
    """Three queries of their own read an encoder: its mask, written anew, hides positions from them, too."""
    x = g.embedded()
    y = g.attended(x, g("Add", g.scored(x), g.bias()))
    asked = g("Expand", g.weight(1, 3, WIDTH), g.sizes(g.size("ids", 0), 1, 1))
    scores = g("Mul", g("MatMul", g.heads(asked), g.heads(y, (0, 2, 3, 1))), np.float32(DEEP ** -0.5))
    z = g("MatMul", g("Softmax", g("Add", scores, g.bias()), axis=-1), g.heads(y))
    return g.closed(asked, z)


if __name__ == "__main__":
    make_models.MODELS = make_padded_models.MODELS
    for name in sys.argv[1:] or [n for n in make_padded_models.MODELS if n not in OTHERS]:
        make_models.write(name)
