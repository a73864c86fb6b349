#!/usr/bin/env python3
"""Models of which one number grows and everything else stays: the operands of a node, the depth of bodies, the inputs, a name.

    python3 tests/models/growing_models.py FOLDER NAME COUNT        needs numpy and onnx

CLASSES has a row for each: what grows, the function that makes the model from the number, and the largest number that `./dev bench growth` asks for. A model takes float
inputs of small random numbers; its open sizes are all set to 3, or to 1 where they are multiplied.
"""
import os
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSET = 17


def value(name, dims=("n",), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, None if dims is None else list(dims))


def out(name, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, None)


def ints(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, values):
    return numpy_helper.from_array(np.array(values, np.float32), name)


def node(kind, inputs, outputs, **attributes):
    """helper.make_node takes its time to find the kinds of attributes; most nodes have none."""
    if attributes:
        return helper.make_node(kind, inputs, outputs, **attributes)
    made = onnx.NodeProto()
    made.op_type = kind
    made.input.extend(inputs)
    made.output.extend(outputs)
    return made


def model(nodes, inputs, outputs, weights=(), functions=(), domains=()):
    graph = helper.make_graph(nodes, "growing", inputs, outputs, list(weights))
    opsets = [helper.make_opsetid("", OPSET)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=8)


# --- operands and results of one node

def names(prefix, count):
    return [f"{prefix}{i}" for i in range(count)]


def operands(kind, **attributes):
    """One node of `count` operands, computed from two inputs so that none is the same as another."""
    def make(count):
        scalars = [floats(f"s{i}", i / count) for i in range(count)]
        nodes = [node("Add", ["x", f"s{i}"], [f"v{i}"]) for i in range(count)]
        return model(nodes + [node(kind, names("v", count), ["y"], **attributes)], [value("x")], [out("y")], scalars)
    return make


def same_operands(kind, **attributes):
    return lambda count: model([node(kind, ["x"] * count, ["y"], **attributes)], [value("x")], [out("y")])


def input_operands(kind, **attributes):
    return lambda count: model([node(kind, names("x", count), ["y"], **attributes)], [value(x) for x in names("x", count)], [out("y")])


def stranger_operands(count):
    inputs = [value(f"x{i}", [f"d{i}"]) for i in range(count)]
    return model([node("Concat", names("x", count), ["y"], axis=0)], inputs, [out("y")])


def split(count):
    return model([node("Split", ["x", "sizes"], names("v", count), axis=0), node("Add", ["v0", f"v{count - 1}"], ["y"])],
                 [value("x", [count, "n"])], [out("y"), out("v1")], [ints("sizes", [1] * count)])


def split_all(count):
    nodes = [node("Split", ["x", "sizes"], names("v", count), axis=0)]
    return model(nodes + [node("Neg", [f"v{i}"], [f"y{i}"]) for i in range(count)], [value("x", [count, "n"])], [out(f"y{i}") for i in range(count)], [ints("sizes", [1] * count)])


def split_to_outputs(count):
    return model([node("Split", ["x", "sizes"], names("y", count), axis=0)], [value("x", [count, "n"])], [out(y) for y in names("y", count)], [ints("sizes", [1] * count)])


def split_joined(count):
    nodes = [node("Split", ["x", "sizes"], names("v", count), axis=0), node("Concat", names("v", count)[::-1], ["y"], axis=0)]
    return model(nodes, [value("x", [count, "n"])], [out("y")], [ints("sizes", [1] * count)])


def sequence_of(count):
    nodes = [node("SequenceConstruct", names("x", count), ["s"]), node("SequenceAt", ["s", "at"], ["y"])]
    return model(nodes, [value(x) for x in names("x", count)], [out("y")], [ints("at", count // 2)])


def sequence_inserts(count):
    nodes = [node("SequenceConstruct", ["x"], ["s0"])]
    nodes += [node("SequenceInsert", [f"s{i}", "x"], [f"s{i + 1}"]) for i in range(count)]
    return model(nodes + [node("SequenceAt", [f"s{count}", "at"], ["y"])], [value("x")], [out("y")], [ints("at", count // 2)])


def sequence_split(count):
    nodes = [node("SplitToSequence", ["x", "sizes"], ["s"], axis=0), node("SequenceAt", ["s", "at"], ["y"])]
    return model(nodes, [value("x", [count, "n"])], [out("y")], [ints("at", count // 2), ints("sizes", [1] * count)])


def einsum(count):
    spell = ",".join(["i"] * count) + "->i"
    return model([node("Einsum", names("x", count), ["y"], equation=spell)], [value(x) for x in names("x", count)], [out("y")])


# --- bodies

def body(name, nodes, results, inputs=()):
    return helper.make_graph(nodes, name, list(inputs), results)


def if_results(count):
    then = body("t", [node("Add", ["x", f"w{i}"], [f"a{i}"]) for i in range(count)], [out(f"a{i}") for i in range(count)])
    other = body("e", [node("Sub", ["x", f"w{i}"], [f"b{i}"]) for i in range(count)], [out(f"b{i}") for i in range(count)])
    nodes = [node("If", ["c"], names("r", count), then_branch=then, else_branch=other), node("Add", ["r0", f"r{count - 1}"], ["y"])]
    return model(nodes, [value("x"), value("c", [], BOOL)], [out("y"), out("r1")], [floats(f"w{i}", i / count) for i in range(count)])


def if_captures(count):
    nodes = [node("Add", ["x", f"w{i}"], [f"v{i}"]) for i in range(count)]
    then = body("t", [node("Sum", names("v", count), ["a"])], [out("a")])
    other = body("e", [node("Max", names("v", count), ["b"])], [out("b")])
    nodes.append(node("If", ["c"], ["y"], then_branch=then, else_branch=other))
    return model(nodes, [value("x"), value("c", [], BOOL)], [out("y")], [floats(f"w{i}", i / count) for i in range(count)])


def loop_carried(count):
    turn = [node("Identity", ["go"], ["more"])] + [node("Neg", [f"p{i}"], [f"q{i}"]) for i in range(count)]
    inner = body("b", turn, [out("more", BOOL)] + [out(f"q{i}") for i in range(count)],
                 [value("at", [], INT64), value("go", [], BOOL)] + [value(f"p{i}") for i in range(count)])
    nodes = [node("Add", ["x", f"w{i}"], [f"v{i}"]) for i in range(count)]
    nodes += [node("Loop", ["turns", ""] + names("v", count), names("r", count), body=inner), node("Add", ["r0", f"r{count - 1}"], ["y"])]
    return model(nodes, [value("x")], [out("y")], [floats(f"w{i}", i / count) for i in range(count)] + [ints("turns", 3)])


def scan_results(count):
    step = [node("Add", ["e", f"w{i}"], [f"q{i}"]) for i in range(count)]
    inner = body("b", step, [out(f"q{i}") for i in range(count)], [value("e", [])])
    nodes = [node("Scan", ["x"], names("r", count), body=inner, num_scan_inputs=1), node("Add", ["r0", f"r{count - 1}"], ["y"])]
    return model(nodes, [value("x")], [out("y")], [floats(f"w{i}", i / count) for i in range(count)])


def nested_ifs(count):
    """As text: protobuf's own reader stops at a hundred levels."""
    text = ["fn @main(%x0: Tensor[(n), f32], %c0: Tensor[(), bool]) {"]
    text += [f"%r{k} = if(%c{k}, %x{k}, %c{k}) then (%x{k + 1}: Tensor[(n), f32], %c{k + 1}: Tensor[(), bool]) {{" for k in range(count)]
    text.append(f"%z = neg(%x{count})\nreturn %z")
    text += [f"}} else (%y{k}: Tensor[(n), f32], %d{k}: Tensor[(), bool]) {{\n%q{k} = exp(%y{k})\nreturn %q{k}\n}}\nreturn %r{k}" for k in reversed(range(count))]
    return "\n".join(text) + "\n}\n"


def nested_loops(count):
    text = ["fn @main(%x0: Tensor[(n), f32]) {\n%t0 = constant() {value = i64[] 1}\n%g0 = constant() {value = bool[] true}"]
    for k in range(count):
        text.append(f"%r{k} = loop(%t{k}, %g{k}, %x{k}, %t{k}, %g{k}) {{carried = 1}} body (%i{k + 1}: Tensor[(), i64], %x{k + 1}: Tensor[(n), f32], %t{k + 1}: Tensor[(), i64], %g{k + 1}: Tensor[(), bool]) {{")
    text.append(f"%z = neg(%x{count})\nreturn %g{count}, %z")
    for k in reversed(range(count)):
        text.append("}\n" + (f"return %g{k}, %r{k}" if k else "return %r0"))
    return "\n".join(text) + "\n}\n"


def ifs_in_a_row(count):
    nodes = []
    for i in range(count):
        then = body("t", [node("Neg", [f"v{i}"], [f"a{i}"])], [out(f"a{i}")])
        other = body("e", [node("Sin", [f"v{i}"], [f"b{i}"])], [out(f"b{i}")])
        nodes.append(node("If", ["c"], [f"v{i + 1}"], then_branch=then, else_branch=other))
    return model(nodes, [value("v0"), value("c", [], BOOL)], [out(f"v{count}")])


def calls(count):
    function = helper.make_function("own", "f", ["a"], ["b"], [node("Neg", ["a"], ["t"]), node("Sin", ["t"], ["b"])], [helper.make_opsetid("", OPSET)])
    nodes = [helper.make_node("f", [f"v{i}"], [f"v{i + 1}"], domain="own") for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], functions=[function], domains=["own"])


def functions(count):
    made = [helper.make_function("own", f"f{i}", ["a"], ["b"], [node("Neg", ["a"], ["t"]), node("Sin", ["t"], ["b"])], [helper.make_opsetid("", OPSET)]) for i in range(count)]
    nodes = [helper.make_node(f"f{i}", [f"v{i}"], [f"v{i + 1}"], domain="own") for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], functions=made, domains=["own"])


def function_operands(count):
    function = helper.make_function("own", "f", names("a", count), ["b"], [node("Sum", names("a", count), ["b"])], [helper.make_opsetid("", OPSET)])
    return model([helper.make_node("f", names("x", count), ["y"], domain="own")], [value(x) for x in names("x", count)], [out("y")], functions=[function], domains=["own"])


# --- the graph's own lists

def inputs(count):
    return model([node("Add", ["x0", f"x{count - 1}"], ["y"])], [value(f"x{i}") for i in range(count)], [out("y")])


def outputs(count):
    return model([node("Add", ["x", f"w{i}"], [f"y{i}"]) for i in range(count)], [value("x")], [out(f"y{i}") for i in range(count)], [floats(f"w{i}", i / count) for i in range(count)])


def input_outputs(count):
    return model([node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(count)], [value(f"x{i}") for i in range(count)], [out(f"y{i}") for i in range(count)])


def weights(count):
    nodes = [node("Add", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0", ["n", 4])], [out(f"v{count}")], [floats(f"w{i}", [i / count, 1, -1, 0]) for i in range(count)])


def symbols(count):
    nodes = [node("ReduceSum", [f"x{i}"], [f"s{i}"], keepdims=0) for i in range(count)]
    return model(nodes + [node("Sum", names("s", count), ["y"])], [value(f"x{i}", [f"d{i}"]) for i in range(count)], [out("y")])


def symbols_equated(count):
    """Sums of vectors that must be as long as each other: all symbols become one."""
    nodes = [node("Add", ["x0", "x1"], ["v1"])] + [node("Add", [f"v{i}", f"x{i + 1}"], [f"v{i + 1}"]) for i in range(1, count - 1)]
    return model(nodes, [value(f"x{i}", [f"d{i}"]) for i in range(count)], [out(f"v{count - 1}")])


def long_name(count):
    long = "a" * count
    return model([node("Neg", ["x"], [long]), node("Sin", [long], ["y"])], [value("x", [long])], [out("y")])


def attribute_numbers(count):
    return model([node("Constant", [], ["c"], value_floats=[0.5] * count), node("ReduceSum", ["c"], ["s"], keepdims=0), node("Add", ["x", "s"], ["y"])], [value("x")], [out("y")])


def rank(count):
    return model([node("Neg", ["x"], ["y"])], [value("x", ["n"] + [1] * (count - 1))], [out("y")])


# --- chains and fans

def chain(*kinds, dims=("n",), weights=(), extra=(), **attributes):
    def make(count):
        nodes = [node(kinds[i % len(kinds)], [f"v{i}"] + list(extra), [f"v{i + 1}"], **attributes) for i in range(count)]
        return model(nodes, [value("v0", dims)], [out(f"v{count}")], weights)
    return make


def casts(count):
    nodes = [node("Cast", [f"v{i}"], [f"v{i + 1}"], to=TensorProto.DOUBLE if i % 2 == 0 else FLOAT) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}", FLOAT if count % 2 == 0 else TensorProto.DOUBLE)])


def reshapes(count):
    nodes = [node("Reshape", [f"v{i}", "flat" if i % 2 else "column"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], [ints("flat", [-1]), ints("column", [-1, 1])])


def fan_out(count):
    nodes = [node("Exp", ["x"], ["e"])] + [node("Mul", ["e", f"w{i}"], [f"v{i}"]) for i in range(count)]
    nodes += [node("Add", ["v0", "v1"], ["t1"])] + [node("Add", [f"t{i}", f"v{i + 1}"], [f"t{i + 1}"]) for i in range(1, count - 1)]
    return model(nodes, [value("x")], [out(f"t{count - 1}")], [floats(f"w{i}", i / count) for i in range(count)])


def fan_out_of_kernels(count):
    """One value, read by as many reductions."""
    nodes = [node("Exp", ["x"], ["e"])]
    for i in range(count):
        nodes += [node("Mul", ["e", f"w{i}"], [f"v{i}"]), node("ReduceMax", [f"v{i}"], [f"r{i}"], keepdims=0)]
    return model(nodes + [node("Sum", names("r", count), ["y"])], [value("x")], [out("y")], [floats(f"w{i}", i / count) for i in range(count)])


def duplicates(count):
    nodes = [node("Sin", ["x"], [f"v{i}"]) for i in range(count)]
    return model(nodes + [node("Sum", names("v", count), ["y"])], [value("x")], [out("y")])


def duplicate_chains(count):
    nodes = []
    for i in range(count):
        nodes += [node("Sin", ["x" if i < 2 else f"v{i - 2}"], [f"v{i}"])]
    return model(nodes + [node("Add", [f"v{count - 2}", f"v{count - 1}"], ["y"])], [value("x")], [out("y")])


def dead(count):
    return model([node("Sin", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"]) for i in range(count)] + [node("Neg", ["x"], ["y"])], [value("x")], [out("y")])


def products(count):
    nodes = [node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0", ["n", 4])], [out(f"v{count}")], [floats("w", np.eye(4))])


def convolutions(count):
    nodes = [node("Conv", [f"v{i}", "w"], [f"v{i + 1}"], pads=[1, 1, 1, 1]) for i in range(count)]
    return model(nodes, [value("v0", ["n", 2, "h", "k"])], [out(f"v{count}")], [floats("w", np.zeros((2, 2, 3, 3)) + 0.05)])


def softmaxes(count):
    return chain("Softmax", dims=("n", "m"), axis=-1)(count)


def reductions(count):
    nodes = []
    for i in range(count):
        nodes += [node("ReduceMax", [f"v{i}"], [f"m{i}"], axes=[1], keepdims=1), node("Sub", [f"v{i}", f"m{i}"], [f"v{i + 1}"])]
    return model(nodes, [value("v0", ["n", "m"])], [out(f"v{count}")])


# --- sizes

def sizes_added(count):
    """A size grown by one `count` times, through a tensor: Shape, Gather, Add, ... then ConstantOfShape."""
    nodes = [node("Shape", ["x"], ["s0"])] + [node("Add", [f"s{i}", "one"], [f"s{i + 1}"]) for i in range(count)]
    return model(nodes + [node("ConstantOfShape", [f"s{count}"], ["y"])], [value("x")], [out("y")], [ints("one", [1])])


def sizes_mixed(count):
    """Division, maxima and products by turns, which do not fold into one another."""
    steps, nodes = [("Add", "three"), ("Div", "two"), ("Max", "five"), ("Mul", "two"), ("Min", "many")], [node("Shape", ["x"], ["s0"])]
    for i in range(count):
        kind, other = steps[i % len(steps)]
        nodes.append(node(kind, [f"s{i}", other], [f"s{i + 1}"]))
    weights = [ints("two", [2]), ints("three", [3]), ints("five", [5]), ints("many", [1000])]
    return model(nodes + [node("ConstantOfShape", [f"s{count}"], ["y"])], [value("x")], [out("y")], weights)


def size_chains(count):
    """Each step makes a tensor of the size of the one before, plus one."""
    nodes = []
    for i in range(count):
        nodes += [node("Shape", [f"v{i}"], [f"s{i}"]), node("Gather", [f"s{i}", "zero"], [f"g{i}"]), node("Add", [f"g{i}", "one"], [f"a{i}"]),
                  node("Mod", [f"a{i}", "seven"], [f"b{i}"]), node("ConstantOfShape", [f"b{i}"], [f"v{i + 1}"])]
    return model(nodes, [value("v0")], [out(f"v{count}")], [ints("zero", [0]), ints("one", [1]), ints("seven", [7])])


def size_sum(count):
    """The sum of all sizes of as many inputs: one dim of `count` symbols."""
    return model([node("Concat", names("x", count), ["c"], axis=0), node("Neg", ["c"], ["y"])], [value(f"x{i}", [f"d{i}"]) for i in range(count)], [out("y")])


def running_sums(count):
    """Sums of one, two, three, ... symbols."""
    nodes = [node("Concat", [f"v{i}" if i else "x0", f"x{i + 1}"], [f"v{i + 1}"], axis=0) for i in range(count - 1)]
    return model(nodes, [value(f"x{i}", [f"d{i}"]) for i in range(count)], [out(f"v{count - 1}")])


def size_product(count):
    """An outer product by turns: a dim of a product of `count` symbols."""
    nodes = []
    for i in range(count - 1):
        left = f"v{i}" if i else "x0"
        nodes += [node("Reshape", [left, "column"], [f"c{i}"]), node("Mul", [f"c{i}", f"x{i + 1}"], [f"p{i}"]), node("Reshape", [f"p{i}", "flat"], [f"v{i + 1}"])]
    return model(nodes, [value(f"x{i}", [f"d{i}"]) for i in range(count)], [out(f"v{count - 1}")], [ints("column", [-1, 1]), ints("flat", [-1])])


def long_dim(count):
    parameters = ", ".join(f"%x{i}: Tensor[(a{i}), f32]" for i in range(count))
    sizes = " + ".join(f"a{i}" for i in range(count))
    return f"fn @main({parameters}, %x: Tensor[({sizes}), f32]) {{\n%y = neg(%x)\nreturn %y\n}}\n"


def slices(count):
    nodes = [node("Slice", [f"v{i}", "one", "end", "zero"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], [ints("one", [1]), ints("end", [np.iinfo(np.int64).max]), ints("zero", [0])])


def short_slices(count):
    """Each ends before the last element of the one before."""
    nodes = [node("Slice", [f"v{i}", "one", "end", "zero"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], [ints("one", [1]), ints("end", [-1]), ints("zero", [0])])


def slices_of_one(count):
    nodes = [node("Slice", ["x", f"from{i}", f"to{i}", "zero"], [f"v{i}"]) for i in range(count)] + [node("Concat", names("v", count), ["y"], axis=0)]
    bounds = [t for i in range(count) for t in (ints(f"from{i}", [i]), ints(f"to{i}", [i + 1]))]
    return model(nodes, [value("x", [count, "n"])], [out("y")], bounds + [ints("zero", [0])])


def gathers(count):
    nodes = [node("Gather", ["x", f"at{i}"], [f"v{i}"], axis=0) for i in range(count)] + [node("Sum", names("v", count), ["y"])]
    return model(nodes, [value("x", [count, "n"])], [out("y")], [ints(f"at{i}", i) for i in range(count)])


def nonzeros(count):
    nodes = []
    for i in range(count):
        nodes += [node("NonZero", [f"v{i}"], [f"k{i}"]), node("Reshape", [f"k{i}", "flat"], [f"r{i}"]), node("Cast", [f"r{i}"], [f"v{i + 1}"], to=FLOAT)]
    return model(nodes, [value("v0")], [out(f"v{count}")], [ints("flat", [-1])])


def concats(count):
    nodes = [node("Concat", [f"v{i}", "x"], [f"v{i + 1}"], axis=0) for i in range(count)]
    return model(nodes, [value("v0"), value("x", [1])], [out(f"v{count}")])


def pads(count):
    return chain("Pad", dims=("n",), weights=[ints("by", [1, 0])], extra=["by"])(count)


def pools(count):
    return chain("MaxPool", dims=(1, 1, "n"), kernel_shape=[3], pads=[1, 1])(count)


def halvings(count):
    return chain("MaxPool", dims=(1, 1, "n"), kernel_shape=[1], strides=[2])(count)


def transposes(count):
    return chain("Transpose", dims=("n", "m"), perm=[1, 0])(count)


def unsqueezes(count):
    nodes = [node("Unsqueeze" if i % 2 == 0 else "Squeeze", [f"v{i}", "zero"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], [ints("zero", [0])])


def wheres(count):
    nodes = [node("Less", ["v0", "half"], ["m"])] + [node("Where", ["m", f"v{i}", "half"], [f"v{i + 1}"]) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count}")], [floats("half", 0.5)])


def ladders(count):
    """v(i+2) = v(i+1) + v(i): read as a tree it has 2^count leaves."""
    nodes = [node("Sin", ["v0"], ["v1"])] + [node("Sub", [f"v{i + 1}", f"v{i}"], [f"v{i + 2}"]) for i in range(count)]
    return model(nodes, [value("v0")], [out(f"v{count + 1}")])


SIZE, OF_ONE = 3, ("size_product", "long_name")  # sizes that are multiplied stay 1
MANY, SOME, FEW = 100_000, 20_000, 2_000
CLASSES = {
    "operands_sum": (operands("Sum"), MANY), "operands_max": (operands("Max"), MANY), "operands_min": (operands("Min"), MANY), "operands_mean": (operands("Mean"), MANY),
    "operands_concat": (operands("Concat", axis=0), MANY), "same_operands_sum": (same_operands("Sum"), MANY), "same_operands_concat": (same_operands("Concat", axis=0), MANY),
    "input_operands_sum": (input_operands("Sum"), MANY), "input_operands_concat": (input_operands("Concat", axis=0), MANY), "stranger_operands": (stranger_operands, MANY),
    "split": (split, MANY), "split_all": (split_all, SOME), "split_to_outputs": (split_to_outputs, MANY), "split_joined": (split_joined, MANY),
    "sequence_of": (sequence_of, MANY), "sequence_inserts": (sequence_inserts, SOME), "sequence_split": (sequence_split, MANY), "einsum": (einsum, MANY),
    "if_results": (if_results, SOME), "if_captures": (if_captures, SOME), "loop_carried": (loop_carried, SOME), "scan_results": (scan_results, SOME),
    "nested_ifs": (nested_ifs, FEW), "nested_loops": (nested_loops, FEW), "ifs_in_a_row": (ifs_in_a_row, SOME), "calls": (calls, MANY), "functions": (functions, SOME),
    "function_operands": (function_operands, MANY),
    "inputs": (inputs, MANY), "outputs": (outputs, MANY), "input_outputs": (input_outputs, MANY), "weights": (weights, MANY), "symbols": (symbols, SOME),
    "symbols_equated": (symbols_equated, SOME), "long_name": (long_name, 1_000_000), "attribute_numbers": (attribute_numbers, 1_000_000), "rank": (rank, 32),
    "identities": (chain("Identity"), MANY), "elementwise": (chain("Sin", "Neg"), MANY), "casts": (casts, MANY), "reshapes": (reshapes, MANY), "unsqueezes": (unsqueezes, MANY),
    "transposes": (transposes, SOME), "wheres": (wheres, MANY), "ladders": (ladders, MANY), "fan_out": (fan_out, MANY), "fan_out_of_kernels": (fan_out_of_kernels, FEW),
    "duplicates": (duplicates, MANY), "duplicate_chains": (duplicate_chains, MANY), "dead": (dead, MANY), "products": (products, FEW), "convolutions": (convolutions, FEW),
    "softmaxes": (softmaxes, FEW), "reductions": (reductions, FEW),
    "sizes_added": (sizes_added, MANY), "sizes_mixed": (sizes_mixed, SOME), "size_chains": (size_chains, SOME), "size_sum": (size_sum, SOME), "running_sums": (running_sums, FEW),
    "size_product": (size_product, 100), "long_dim": (long_dim, SOME), "slices": (slices, SOME), "short_slices": (short_slices, SOME), "slices_of_one": (slices_of_one, SOME),
    "gathers": (gathers, SOME), "nonzeros": (nonzeros, FEW), "concats": (concats, FEW), "pads": (pads, FEW), "pools": (pools, FEW), "halvings": (halvings, FEW),
}


def write(folder, name, count):
    """(the path of the model, its open sizes)"""
    os.makedirs(folder, exist_ok=True)
    made = CLASSES[name][0](count)
    if isinstance(made, str):
        path = os.path.join(folder, f"{name}_{count}.dyn")
        with open(path, "w") as file:
            file.write(made)
        return path, dict.fromkeys(sorted(set(re.findall(r"Tensor\[\((\w+)\)", made)) - {"k"}), SIZE)
    path = os.path.join(folder, f"{name}_{count}.onnx")
    onnx.save(made, path)
    dims = sorted({d.dim_param for v in made.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param.isidentifier()})
    return path, dict.fromkeys(dims, 1 if name in OF_ONE else SIZE)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(*write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
