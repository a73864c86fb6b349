#!/usr/bin/env python3
"""The rows of `./dev bench operators --all`: for each operator the nodes that are timed beside onnxruntime.

    row("Transpose", "x:T[n,c,h,w]", "f32 u8", [{"perm": [0, 2, 3, 1]}], sizes=IMAGES)

The language of inputs is that of tests/conformance/sweep_rows.py. A row is timed for each element type, then with each further list of attributes for the
first of them, at each of `sizes`: small, in the second cache, in memory (inputs and outputs together). All dims that are names stay open in the model; what
is written as "c=[...]" is a weight, as models have it. `fills` are ranges of elements as there ("-n", "n-1" are dims).
`shows` names the operators of compiler/ops/ops.def that it shows, where that is not the ONNX name in snake case.

    operator_rows.py walk ops.def        every operator of the table has a row or a reason to have none
"""
import re
import sys

TABLE = []
SIZE_NAMES = ("small", "cache", "memory")

PLANES = [{"n": 16, "m": 64}, {"n": 256, "m": 512}, {"n": 4096, "m": 1536}]
# Where an element takes long: the largest size would take a minute and say nothing of memory.
SLOW_PLANES = [{"n": 16, "m": 64}, {"n": 128, "m": 512}, {"n": 1024, "m": 1024}]
IMAGES = [{"n": 1, "c": 8, "h": 14, "w": 14}, {"n": 1, "c": 64, "h": 56, "w": 56}, {"n": 8, "c": 64, "h": 112, "w": 112}]
SLOW_IMAGES = [{"n": 1, "c": 8, "h": 14, "w": 14}, {"n": 1, "c": 32, "h": 56, "w": 56}, {"n": 2, "c": 64, "h": 112, "w": 112}]
CUBES = [{"a": 4, "b": 16, "c": 16}, {"a": 16, "b": 128, "c": 64}, {"a": 64, "b": 512, "c": 192}]
HEADS = [{"b": 1, "h": 2, "s": 16, "d": 32}, {"b": 1, "h": 12, "s": 128, "d": 64}, {"b": 8, "h": 12, "s": 512, "d": 64}]
PRODUCTS = [{"n": 16, "k": 64, "m": 32}, {"n": 128, "k": 256, "m": 256}, {"n": 512, "k": 1024, "m": 1024}]
REALS = "f32 f64 f16"


def row(op, inputs, dtypes="", attributes=None, *, sizes=None, fills=None, outputs=1, opset=21, domain="", shows=None):
    TABLE.append({"op": op, "inputs": inputs, "dtypes": dtypes.split(), "attributes": attributes or [{}], "sizes": sizes or PLANES, "fills": fills or {},
                  "outputs": outputs, "opset": opset, "domain": domain, "shows": shows.split() if shows else [snake(op)]})


def snake(name):
    text = ""
    for i, letter in enumerate(name):
        if letter.isupper() and i and (name[i - 1].islower() or name[i - 1].isdigit()):
            text += "_"
        text += letter.lower()
    return text


# Operators of compiler/ops/ops.def without a row, and why.
WITHOUT = {name: why for names, why in {
    "custom_call": "kernels of the user: what they cost is theirs",
    "if loop match call closure invoke check check_values bind_dims variant": "control: what they cost is what is inside (./dev bench vm)",
    "constant dims_value dim_value tuple tuple_get construct": "no work at run time",
    "list list_of list_append list_insert list_at list_length list_erase optional_some optional_none optional_get optional_has": "hand values on",
    "pack_b pack_conv pack_bytes": "done once for weights, when a program is loaded",
    "gemm_packed conv_packed matmul_integer_packed conv_integer_packed matmul_permuted packed_attention recurrence deform_columns levels node_tables": "passes make it of other operators, whose rows show it",
    "fused into alloc arena kill append strided": "made by passes",
    "cumprod bitcast": "newer than the operator sets of onnxruntime",
    "spmm": "no operator of ONNX",
    "identity squeeze unsqueeze": "views; a model of one of them alone copies as Flatten does",
    "inverse": "vm/kernels/gemm/linear_algebra.cpp; models have it for 3 x 3, never in a hot place",
    "pairwise_coupling": "the end of SVMClassifier, a few dozen numbers a row",
    "walk_trees": "what TreeEnsembleRegressor and TreeEnsembleClassifier become; these are ensembles of models, no rows of attributes",
    "det": "vm/kernels/gemm/linear_algebra.cpp; models have it for 3 x 3, never in a hot place",
    "split_to_sequence concat_from_sequence stack_from_sequence": "results or operands are no tensors; they copy as split and concat do",
    "string_concat string_split string_normalize string_pick string_ranks string_cast tokenize regex_full_match tfidf": "strings: tests/bench compares numbers",
    "shape size": "no work at run time",
}.items() for name in names.split()}

# Rows that stay below 0.8, each with its reason: a pattern of the title that is printed.
REASONS = {
    r"^Resize .* mode=nearest .*nearest_mode=floor .*\[1,1,2,2\]": "onnxruntime has a loop of its own for twice the size; ours copies the row it made, too",
    r"^Trilu .* memory|^EyeLike .* memory|^S(plit|lice) .* memory": "memory's rate with stores that go through the cache, as a plain memcpy of that size does not",
    r"^(Concat axis=2 .a:f32.n,m,1|Transpose .*\(x:T\[n,3,h,w).* (cache|memory)": "every second or third number is stored by a mask: lines are read before they are written",
    r"^Split axis=2": "every third number, which is gathered",
    r"^(LSTM|GRU) .* (small|cache)$": "weights are inputs here and read as they lie in each step; what a step allocates and launches takes a third of it",
    r"^MelWeightMatrix": "made once in a model: each element by both sides of its triangle, also those outside of it",
    r"^Reduce\w+ .*a=\[[01]\]\) memory": "columns: 256 bytes of each row at a time, far apart in memory, which no prefetcher foresees",
    r"^MaxRoiPool": "each cell reads all rows of its region's image, and all columns of what is left, under a mask",
    r"^Transpose (u8|f32 perm=\[0, 2, 3, 1\] \(x:T\[b).* memory": "squares of 16: parts of lines are stored, so that the lines are read first",
    r"^ConvTranspose .* small$": "what each tap gives is added in a frame of phases, which are put together at the end",
    r"^DeformConv .* small": "what each element of a window weighs is computed for every channel; two launches, and few of them",
    r"^TopK sorted=0 .* small": "sorted all the same",
    r"^QLinearGlobalAveragePool": "summed as f32; onnxruntime sums bytes as integers",
    r"^Attention .* small": "two products of 16 x 16: seven launches of a tenth of a microsecond and more",
    r"^Scatter(Elements|ND) .*(reduction|axis=1)": "one element or short row after the other, by index, each tested: as onnxruntime does, at about its rate",
}

ELEMENTWISE = {"Not": "logical_not", "BitwiseNot": "bit_not", "IsNaN": "is_nan", "IsInf": "is_inf", "And": "logical_and", "Or": "logical_or",
               "Xor": "logical_xor", "BitwiseAnd": "bit_and", "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor", "LessOrEqual": "less_equal",
               "GreaterOrEqual": "greater_equal", "PRelu": "prelu"}
CHEAP = "Abs Ceil Floor HardSwish Neg Reciprocal Relu Round Sign Softsign Sqrt"
for op in CHEAP.split():
    row(op, "x:T[n,m]", "f32 f64 f16")
for op in "Abs Neg Sign".split():
    row(op, "x:T[n,m]", "i32 i64")
for op in "Erf Exp Log Sigmoid Sin Cos Softplus Tanh".split():
    row(op, "x:T[n,m]", REALS, fills={"x": "1 3"} if op == "Log" else {})
for op in "Acos Acosh Asin Asinh Atan Atanh Cosh Mish Sinh Tan".split():
    row(op, "x:T[n,m]", REALS, sizes=SLOW_PLANES, fills={"x": "1 3"} if op == "Acosh" else {"x": "-1 1"} if op in ("Acos", "Asin", "Atanh") else {})
for op, attributes in (("Celu", {"alpha": 0.4}), ("Elu", {}), ("LeakyRelu", {}), ("Selu", {}), ("HardSigmoid", {}), ("ThresholdedRelu", {})):
    row(op, "x:T[n,m]", "f32 f16" if op in ("Elu", "LeakyRelu") else "f32", [attributes])
row("Shrink", "x:f32[n,m]", "", [{"lambd": 0.3}], shows="where")
row("Gelu", "x:T[n,m]", REALS, [{}, {"approximate": "tanh"}])
row("Swish", "x:f32[n,m]", opset=24, shows="sigmoid mul")
row("IsNaN", "x:T[n,m]", REALS, shows="is_nan")
row("IsInf", "x:T[n,m]", "f32 f64", shows="is_inf")
row("Not", "x:bool[n,m]", shows="logical_not")
row("BitwiseNot", "x:T[n,m]", "i32 u8", shows="bit_not")
ARITHMETIC = "f32 f64 f16 i32 i64"
for op, dtypes, fills in [("Add", ARITHMETIC, {}), ("Sub", "f32 i64", {}), ("Mul", ARITHMETIC, {}), ("Div", "f32 f64 i32 i64", {"b": "1 5"}),
                          ("Equal", "f32 i64 bool", {}), ("Less", "f32 i64", {}), ("LessOrEqual", "f32", {}), ("Greater", "f32 f64 i32", {}),
                          ("GreaterOrEqual", "f32", {}), ("And", "bool", {}), ("Or", "bool", {}), ("Xor", "bool", {}), ("BitwiseAnd", "i32 u8", {}),
                          ("BitwiseOr", "i64", {}), ("BitwiseXor", "i32", {}), ("Max", "f32 f64 i64", {}), ("Min", "f32 f16 i32", {})]:
    row(op, "a:T[n,m] b:T[n,m]", dtypes, fills=fills, shows=ELEMENTWISE.get(op))
for op in "Add Mul Div Greater".split():
    fills = {"b": "1 5"}
    row(op, "a:T[n,m] b:T[m]", "f32", fills=fills)
    row(op, "a:T[n,m] b:T[n,1]", "f32", fills=fills)
    row(op, "a:T[n,m] b:T[]", "f32 i64" if op != "Greater" else "f32", fills=fills)
row("Div", "a:T[n,m] b:T[m]", "i64", fills={"b": "1 5"}, sizes=[{"n": 500, "m": 5}, {"n": 3000, "m": 17}, {"n": 30000, "m": 63}])
row("Add", "a:f32[n,c,h,w] b:f32[c,1,1]", sizes=IMAGES)
row("Add", "a:f32[n,1] b:f32[1,m]")
row("PRelu", "a:f32[n,c,h,w] b:f32[c,1,1]", sizes=IMAGES, shows="prelu")
for op in ("Mean", "Sum"):
    row(op, "a:f32[n,m] b:f32[m] c:f32[n,1]", shows="add")
row("Pow", "a:T[n,m] b=T:2", "f32 f64 f16 i64", shows="pow")
for exponent in ("3", "0.5", "-1", "2.5"):
    row("Pow", f"a:T[n,m] b=T:{exponent}", "f32 f64", fills={"a": "1 4"}, shows="pow")
row("Pow", "a:T[n,m] b:T[n,m]", "f32 f64 i32 i64", sizes=SLOW_PLANES, fills={"a": "1 4", "b": "0 3"}, shows="pow")
row("Mod", "a:T[n,m] b:T[]", "i32 i64", fills={"b": "3 5"})
row("Mod", "a:T[n,m] b:T[n,m]", "i32 i64", [{}, {"fmod": 1}], fills={"b": "1 5"})
row("Mod", "a:T[n,m] b:T[m]", "f32 f64", [{"fmod": 1}], sizes=SLOW_PLANES, fills={"b": "1 5"})
row("BitShift", "a:T[n,m] b:T[m]", "u8 u32", [{"direction": "LEFT"}], fills={"b": "0 5"})
row("Where", "c:bool[n,m] a:T[n,m] b:T[n,m]", "f32 i64 u8")
row("Where", "c:bool[n,1] a:T[n,m] b:T[]", "f32 i64")
row("Where", "c:bool[m] a:T[n,m] b:T[n,m]", "f32")
row("Clip", "x:T[n,m] low=T:-1 high=T:1", "f32 f64 f16 i64")
for to, dtypes in ((1, "f64 f16 i32 i64 u8 bool"), (11, "f32 i64"), (10, "f32"), (6, "f32 i64"), (7, "f32 i32 bool"), (2, "f32"), (9, "f32 i64")):
    row("Cast", "x:T[n,m]", dtypes, [{"to": to}], fills={"x": "0 5"})

# Copies.
COPIES = "f32 f64 f16 u8"
row("Flatten", "x:T[n,m,3]", "f32", [{"axis": 2}], shows="reshape")
row("Transpose", "x:T[n,m]", COPIES, [{}])
NARROW = [{"n": 64, "m": 3}, {"n": 3000, "m": 3}, {"n": 1500, "m": 17}]
row("Transpose", "x:T[n,m]", "f32 f64 i64", sizes=NARROW[:2] + [{"n": 3, "m": 3000}])
row("Transpose", "x:T[n,c,h,w]", COPIES, [{"perm": [0, 2, 3, 1]}, {"perm": [0, 3, 1, 2]}, {"perm": [0, 1, 3, 2]}, {"perm": [1, 0, 2, 3]},
                                          {"perm": [3, 2, 1, 0]}, {"perm": [2, 3, 0, 1]}], sizes=IMAGES)
row("Transpose", "x:T[n,h,w,3]", "f32 u8", [{"perm": [0, 3, 1, 2]}], sizes=[{"n": 1, "h": 16, "w": 20}, {"n": 1, "h": 224, "w": 224}, {"n": 16, "h": 320, "w": 480}])
row("Transpose", "x:T[n,3,h,w]", "f32 u8", [{"perm": [0, 2, 3, 1]}], sizes=[{"n": 1, "h": 16, "w": 20}, {"n": 1, "h": 224, "w": 224}, {"n": 16, "h": 320, "w": 480}])
row("Transpose", "x:T[b,h,s,d]", "f32 f16", [{"perm": [0, 2, 1, 3]}, {"perm": [0, 1, 3, 2]}, {"perm": [0, 2, 3, 1]}], sizes=HEADS)
row("Transpose", "x:T[a,b,c]", "f32 i64", [{}, {"perm": [0, 2, 1]}, {"perm": [2, 0, 1]}, {"perm": [1, 2, 0]}, {"perm": [1, 0, 2]}], sizes=CUBES)
row("Tile", "x:T[n,m] r=[3,2]", "f32 i64 u8", sizes=[{"n": 8, "m": 32}, {"n": 128, "m": 256}, {"n": 1024, "m": 1024}])
row("Tile", "x:T[n,1,m] r=[1,8,1]", "f32", sizes=[{"n": 8, "m": 32}, {"n": 64, "m": 256}, {"n": 1024, "m": 1024}])
row("Tile", "x:T[n,3] r=[5,7]", "f32 u8", sizes=[{"n": 8}, {"n": 2000}, {"n": 80000}])
row("Tile", "x:T[n,1] r=[1,64]", "f32", sizes=[{"n": 8}, {"n": 2000}, {"n": 80000}])
row("Expand", "x:T[n,1,m] s=[1,8,1]", "f32 i64 bool", sizes=[{"n": 8, "m": 32}, {"n": 64, "m": 256}, {"n": 1024, "m": 1024}])
row("Expand", "x:T[n,1] s=[1,64]", "f32", sizes=[{"n": 8}, {"n": 2000}, {"n": 80000}])
row("Expand", "x:T[b,h,1,s,d] s=[1,1,4,1,1]", "f32 f16", sizes=HEADS)
row("Slice", "x:T[n,m] s=[1,3] e=[-1,-2]", COPIES)
row("Slice", "x:T[n,m] s=[0] e=[99999] a=[1] t=[2]", "f32 u8")
row("Slice", "x:T[n,m] s=[-1] e=[-99999] a=[1] t=[-1]", "f32 u8")
row("Slice", "x:T[n,m] s=[-1] e=[-99999] a=[0] t=[-1]", "f32")
row("Slice", "x:T[n,m] s=[0] e=[99999] a=[0] t=[2]", "f32")
row("Slice", "x:T[n,m] s=[5] e=[12] a=[1]", "f32")
row("Slice", "x:T[n,c,h,w] s=[1,1] e=[-1,-1] a=[2,3]", "f32", sizes=IMAGES)
row("Slice", "x:T[n,c,h,w] s=[0,0] e=[99999,99999] a=[2,3] t=[2,2]", "f32", sizes=IMAGES)
row("Concat", "a:T[n,m] b:T[n,m]", COPIES, [{"axis": 0}, {"axis": 1}])
row("Concat", "a:T[n,m] b:T[n,3]", "f32", [{"axis": 1}])
row("Concat", "a:f32[n,m,1] b:f32[n,m,1]", "", [{"axis": 2}])
row("Concat", "a:f32[n,c,h,w] b:f32[n,c,h,w] d:f32[n,c,h,w]", "", [{"axis": 1}, {"axis": 3}], sizes=IMAGES)
row("Concat", "a:T[n,h,w,3] b:T[n,h,w,3]", "f32 u8", [{"axis": 2}], sizes=[{"n": 1, "h": 16, "w": 20}, {"n": 1, "h": 112, "w": 112}, {"n": 16, "h": 320, "w": 480}])
row("Slice", "x:f32[n,h,w,c] s=[4,4] e=[-4,-4] a=[1,2]", sizes=[{"n": 1, "h": 16, "w": 20, "c": 3}, {"n": 1, "h": 112, "w": 112, "c": 3}, {"n": 16, "h": 320, "w": 480, "c": 3}])
row("Concat", "a:f32[b,h,s,d] c:f32[b,h,1,d]", "", [{"axis": 2}], sizes=HEADS)
row("Split", "x:T[n,m]", "f32 u8", [{"axis": 1, "num_outputs": 2}, {"axis": 0, "num_outputs": 2}], outputs=2)
row("Split", "x:f32[n,m,6]", "", [{"axis": 2, "num_outputs": 3}], outputs=3, sizes=[{"n": 4, "m": 16}, {"n": 64, "m": 256}, {"n": 1024, "m": 1024}])
row("Split", "x:f32[n,c,h,w]", "", [{"axis": 1, "num_outputs": 2}], outputs=2, sizes=IMAGES)
row("Gather", "x:T[n,m] i:i64[k]", COPIES, [{}], fills={"i": "0 n-1"}, sizes=[{"n": 16, "m": 64, "k": 16}, {"n": 512, "m": 256, "k": 256}, {"n": 16384, "m": 768, "k": 8192}])
row("Gather", "x:T[n,m] i:i64[k]", "f32 u8", [{"axis": 1}], fills={"i": "0 m-1"}, sizes=[{"n": 16, "m": 64, "k": 16}, {"n": 256, "m": 512, "k": 256}, {"n": 4096, "m": 1536, "k": 512}])
row("Gather", "x:f32[n,m] i:i64[]", "", [{"axis": 1}], fills={"i": "0 5"})
row("Gather", "x:f32[n] i:i64[k]", "", fills={"i": "0 n-1"}, sizes=[{"n": 64, "k": 256}, {"n": 4096, "k": 100000}, {"n": 1000000, "k": 4000000}])
row("GatherND", "x:T[n,m] i:i64[k,1]", "f32 i64", fills={"i": "0 n-1"}, sizes=[{"n": 16, "m": 64, "k": 16}, {"n": 512, "m": 256, "k": 256}, {"n": 16384, "m": 768, "k": 8192}])
row("GatherND", "x:T[n,m] i:i64[k,2]", "f32", fills={"i": "0 n-1"}, sizes=[{"n": 16, "m": 64, "k": 64}, {"n": 256, "m": 512, "k": 10000}, {"n": 1024, "m": 1536, "k": 1000000}])
row("GatherElements", "x:T[n,m] i:i64[n,m]", "f32 i64", [{"axis": 0}, {"axis": 1}], fills={"i": "0 15"})
row("ScatterElements", "x:T[n,m] i:i64[k,m] u:T[k,m]", "f32", fills={"i": "0 n-1"}, sizes=[{"n": 16, "m": 64, "k": 4}, {"n": 256, "m": 512, "k": 64}, {"n": 4096, "m": 1536, "k": 512}])
row("ScatterElements", "x:f32[n,m] i:i64[n,k] u:f32[n,k]", "", [{"axis": 1}, {"axis": 1, "reduction": "add"}, {"axis": 1, "reduction": "max"}], fills={"i": "0 m-1"},
    sizes=[{"n": 16, "m": 64, "k": 4}, {"n": 256, "m": 512, "k": 64}, {"n": 4096, "m": 1536, "k": 256}])
row("ScatterND", "x:T[n,m] i:i64[k,1] u:T[k,m]", "f32 i64", [{}, {"reduction": "add"}], fills={"i": "0 n-1"},
    sizes=[{"n": 16, "m": 64, "k": 4}, {"n": 256, "m": 512, "k": 64}, {"n": 4096, "m": 1536, "k": 1024}], shows="scatter_nd")
row("ScatterND", "x:f32[n,m] i:i64[k,2] u:f32[k]", "", fills={"i": "0 15"}, sizes=[{"n": 16, "m": 64, "k": 64}, {"n": 256, "m": 512, "k": 10000}, {"n": 1024, "m": 1536, "k": 100000}],
    shows="scatter_nd")
row("TensorScatter", "x:T[b,h,s,d] u:T[b,h,4,d] p:i64[b]", "f32", fills={"p": "0 3"}, sizes=HEADS, opset=24)
row("Range", "a:T[] b:T[] d:T[]", "i64 f32 i32 f64", fills={"a": "0 0", "b": "n n", "d": "1 1"}, sizes=[{"n": 256}, {"n": 100000}, {"n": 4000000}], shows="range range_real")
row("ConstantOfShape", "s:i64[2]", fills={"s": "n n"}, sizes=[{"n": 32}, {"n": 400}, {"n": 2500}])
row("OneHot", "i:i64[n] d=64 v=f32:[0,1]", "", [{}, {"axis": 0}], fills={"i": "0 63"}, sizes=[{"n": 16}, {"n": 2000}, {"n": 100000}])
row("OneHot", "i:i64[n] d=[1000] v=f32:[0,1]", "", fills={"i": "0 999"}, sizes=[{"n": 4}, {"n": 128}, {"n": 8000}])
row("EyeLike", "x:f32[n,m]", "", [{}, {"k": 1}])
row("Trilu", "x:T[n,m]", "f32 i64", [{}, {"upper": 0}])
row("Trilu", "x:T[b,h,s,s]", "f32", [{"upper": 0}], sizes=[{"b": 1, "h": 2, "s": 16}, {"b": 1, "h": 2, "s": 256}, {"b": 4, "h": 6, "s": 512}])
row("Pad", "x:T[n,m] p=[1,2,3,4]", COPIES, [{}, {"mode": "edge"}, {"mode": "reflect"}, {"mode": "wrap"}])
row("Pad", "x:T[n,c,h,w] p=[0,0,1,1,0,0,1,1]", "f32 u8", [{}, {"mode": "edge"}, {"mode": "reflect"}], sizes=IMAGES)
row("Pad", "x:T[n,h,w,3] p=[0,3,3,0,0,3,3,0]", "f32 u8", [{"mode": "reflect"}, {}, {"mode": "edge"}, {"mode": "wrap"}],
    sizes=[{"n": 1, "h": 16, "w": 20}, {"n": 1, "h": 112, "w": 112}, {"n": 16, "h": 320, "w": 480}])
row("Pad", "x:f32[n,h,w,c] p=[0,1,1,0,0,1,1,0]", "", [{"mode": "reflect"}, {}], sizes=IMAGES)
row("Pad", "x:T[a,n,m] p=[0,1,0,0,1,0]", "f32 u8", [{}, {"mode": "reflect"}], sizes=[{"a": 7, "n": 16, "m": 11}, {"a": 31, "n": 100, "m": 11}, {"a": 500, "n": 400, "m": 11}])
row("Slice", "x:T[a,n,m] s=[2] e=[-2] ax=[1]", "f32 u8", sizes=[{"a": 7, "n": 16, "m": 11}, {"a": 31, "n": 100, "m": 11}, {"a": 500, "n": 400, "m": 11}])
row("Concat", "a:T[a,n,m] b:T[a,n,m]", "f32", [{"axis": 1}], sizes=[{"a": 7, "n": 16, "m": 11}, {"a": 31, "n": 100, "m": 11}, {"a": 500, "n": 400, "m": 11}])
row("Split", "x:f32[n,m,6]", "", [{"axis": 1, "num_outputs": 2}], outputs=2, sizes=[{"n": 4, "m": 16}, {"n": 64, "m": 256}, {"n": 1024, "m": 1024}])
row("Pad", "x:f32[n,m] p=[0,1,0,1] v=f32:1.5")
row("CenterCropPad", "x:f32[n,m] s=[300,300]")
row("DepthToSpace", "x:T[n,64,h,w]", "f32 u8", [{"blocksize": 2}, {"blocksize": 2, "mode": "CRD"}, {"blocksize": 4}],
    sizes=[{"n": 1, "h": 4, "w": 4}, {"n": 1, "h": 40, "w": 40}, {"n": 8, "h": 112, "w": 112}])
row("SpaceToDepth", "x:T[n,16,h,w]", "f32 u8", [{"blocksize": 2}, {"blocksize": 4}],
    sizes=[{"n": 1, "h": 8, "w": 8}, {"n": 1, "h": 80, "w": 80}, {"n": 8, "h": 224, "w": 224}])
row("ReverseSequence", "x:T[t,b,m] l:i64[b]", "f32", [{}, {"time_axis": 1, "batch_axis": 0}], fills={"l": "1 8"},
    sizes=[{"t": 8, "b": 8, "m": 16}, {"t": 32, "b": 32, "m": 128}, {"t": 128, "b": 128, "m": 384}])
for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    row(op, "s:i64[]", fills={"s": "n n"}, sizes=[{"n": 256}, {"n": 4096}, {"n": 200000}], shows="range")

# Reductions and rows.
for op in "ReduceSum ReduceProd ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split():
    fills = {"x": "1 3"} if op == "ReduceLogSum" else {}
    many = op in ("ReduceSum", "ReduceMean", "ReduceMax")
    row(op, "x:T[n,m] a=[1]", "f32 f64 f16 i64" if many else "f32", [{"keepdims": 0}], opset=18, fills=fills)
    row(op, "x:T[n,m] a=[0]", "f32", [{"keepdims": 0}], opset=18, fills=fills)
    if many:
        row(op, "x:f32[n,m]", "", [{"keepdims": 0}], opset=18)
        row(op, "x:f32[n,c,h,w] a=[2,3]", "", [{}], sizes=IMAGES, opset=18)
        row(op, "x:f32[n,c,h,w] a=[1]", "", [{}], sizes=IMAGES, opset=18)
        row(op, "x:f32[n,c,h,w] a=[0,2,3]", "", [{}], sizes=IMAGES, opset=18)
for op in ("ArgMax", "ArgMin"):
    row(op, "x:T[n,m]", "f32 i32", [{"axis": -1}, {"axis": 0}], shows=op.lower())
# Short rows, and few elements behind an axis in the middle.
MIDDLE = [{"n": 20, "m": 7, "k": 3}, {"n": 50, "m": 40, "k": 3}, {"n": 500, "m": 17, "k": 3}]
for op in ("ArgMax", "ArgMin"):
    row(op, "x:T[n,m]", "f64 f32", [{"axis": 1}], sizes=NARROW, shows=op.lower())
row("ArgMax", "x:T[n,m,k]", "f32 f64", [{"axis": 1}], sizes=MIDDLE, shows="argmax")
for op in ("ReduceSum", "ReduceMax"):
    row(op, "x:T[n,m] a=[1]", "f64 f16 i64", [{"keepdims": 0}], sizes=NARROW, opset=18)
    row(op, "x:T[n,m,k] a=[1]", "f32 f64", [{"keepdims": 0}], sizes=MIDDLE, opset=18)
for op in ("Softmax", "LogSoftmax"):
    row(op, "x:T[n,m,k]", "f32 f64", [{"axis": 1}], sizes=MIDDLE)
row("CumSum", "x:T[n,m] a=1", "f32 f64 i64", [{}, {"exclusive": 1}, {"reverse": 1}], shows="cumsum")
row("CumSum", "x:T[n,m] a=0", "f32 i64", shows="cumsum")
for op in "Softmax LogSoftmax".split():
    row(op, "x:T[n,m]", REALS if op == "Softmax" else "f32 f64", [{}, {"axis": 0}])
    row(op, "x:f32[b,h,s,s]", "", [{}], sizes=[{"b": 1, "h": 2, "s": 16}, {"b": 1, "h": 4, "s": 128}, {"b": 4, "h": 12, "s": 384}])
row("Softmax", "x:f32[n,c,h,w]", "", [{"axis": 1}], sizes=IMAGES)
row("Hardmax", "x:f32[n,m]")
row("LpNormalization", "x:f32[n,m]", "", [{}, {"axis": 0}, {"p": 1}])
row("LayerNormalization", "x:T[n,m] s:T[m] b:T[m]", REALS, shows="layer_norm")
row("RMSNormalization", "x:T[n,m] s:T[m]", "f32", opset=23, shows="rms_norm")
row("BatchNormalization", "x:T[n,c,h,w] s:T[c] b:T[c] m:T[c] v:T[c]", "f32 f64", fills={"v": "1 3"}, sizes=IMAGES, shows="batch_norm")
row("BatchNormalization", "x:T[n,c] s:T[c] b:T[c] m:T[c] v:T[c]", "f32 f64", fills={"v": "1 3"},
    sizes=[{"n": 64, "c": 37}, {"n": 500, "c": 37}, {"n": 700, "c": 1024}], shows="batch_norm")
row("InstanceNormalization", "x:f32[n,c,h,w] s:f32[c] b:f32[c]", sizes=IMAGES, shows="instance_norm")
row("GroupNormalization", "x:f32[n,c,h,w] s:f32[c] b:f32[c]", "", [{"num_groups": 4}], sizes=IMAGES, shows="group_norm")
row("LRN", "x:f32[n,c,h,w]", "", [{"size": 5}], sizes=SLOW_IMAGES, shows="lrn")
row("MeanVarianceNormalization", "x:f32[n,c,h,w]", sizes=IMAGES)

# Products.
row("MatMul", "a:T[n,k] b:T[k,m]", "f32 f64 f16 i32 i64", sizes=PRODUCTS, shows="matmul")
row("MatMul", "a:T[b,h,s,d] c:T[b,h,d,s]", "f32 f64", sizes=HEADS[:2] + [{"b": 2, "h": 12, "s": 256, "d": 64}], shows="matmul")
FEW_COLUMNS = [{"n": 64, "k": 8, "m": 5}, {"n": 5000, "k": 3, "m": 3}, {"n": 30000, "k": 64, "m": 3}]
row("MatMul", "a:T[n,k] b:T[k,m]", "f32 f64 i32 i64", sizes=FEW_COLUMNS, shows="matmul")
row("Gemm", "a:T[n,k] b:T[k,m] c:T[m]", "f32 f64", sizes=FEW_COLUMNS, shows="matmul")
row("MatMul", "a:f32[k] b:f32[k,m]", sizes=PRODUCTS, shows="matmul")
row("MatMul", "a:f32[n,k] b:f32[k]", sizes=PRODUCTS, shows="matmul")
row("Gemm", "a:T[n,k] b:T[m,k] c:T[m]", "f32 f64", [{"transB": 1}], sizes=PRODUCTS, shows="matmul")
row("Gemm", "a:T[k,n] b:T[k,m]", "f32", [{"transA": 1}], sizes=PRODUCTS, shows="matmul")
row("MatMulInteger", "a:u8[n,k] b:T[k,m] z:u8[]", "u8 i8", sizes=PRODUCTS, shows="matmul_integer")
row("MatMulInteger", "a:u8[h,n,k] b:T[h,k,m]", "i8 u8", sizes=[{"h": 12, "n": 1, "k": 64, "m": 128}, {"h": 12, "n": 4, "k": 64, "m": 200}, {"h": 96, "n": 8, "k": 64, "m": 512}],
    shows="matmul_integer")
row("QLinearMatMul", "a:u8[n,k] as=f32:0.02 az=u8:12 b:T[k,m] bs=f32:0.03 bz=T:3 ys=f32:0.05 yz=u8:7", "u8 i8", sizes=PRODUCTS, shows="matmul_integer")
BATCHES = HEADS[:2] + [{"b": 2, "h": 12, "s": 256, "d": 64}]
for inputs, equation, sizes in (("a:T[n,k] b:T[k,m]", "ij,jk->ik", PRODUCTS), ("a:T[n,k] b:T[m,k]", "ij,kj->ik", PRODUCTS),
                                ("a:T[b,h,s,d] c:T[b,h,s,d]", "bhid,bhjd->bhij", BATCHES), ("a:T[b,s,h,d] c:T[b,s,h,d]", "bihd,bjhd->bhij", BATCHES),
                                ("a:T[b,h,s,s] c:T[b,s,h,d]", "bhij,bjhd->bihd", BATCHES), ("a:T[b,s,h,d] w:T[h,d,m]", "bshd,hdm->bsm", [dict(s, m=s["h"] * s["d"]) for s in BATCHES]),
                                ("a:T[b,s,m] w:T[m,h,d]", "bsm,mhd->bshd", [dict(s, m=s["h"] * s["d"]) for s in BATCHES]),
                                ("a:T[n,m] b:T[n,m]", "ij,ij->", PLANES), ("a:T[n,m] b:T[n,m]", "ij,ij->i", PLANES), ("a:T[n] b:T[m]", "i,j->ij", PLANES),
                                ("a:T[n,m]", "ij->ji", PLANES), ("a:T[n,m]", "ij->i", PLANES), ("a:T[n,n]", "ii->i", [{"n": 32}, {"n": 300}, {"n": 2500}]),
                                ("a:T[n,n]", "ii->", [{"n": 32}, {"n": 300}, {"n": 2500}]),
                                ("a:T[b,h,s,d] b_:T[d,m]", "...ij,jk->...ik", [dict(s, m=64) for s in BATCHES]),
                                ("a:T[n,k] b:T[k,m] c:T[m,k]", "ij,jk,kl->il", PRODUCTS), ("a:T[n,k] b:T[n,m] c:T[k,m]", "bi,bj,ij->b", [{"n": 8, "k": 16, "m": 16}, {"n": 64, "k": 64, "m": 64}, {"n": 256, "k": 256, "m": 256}]),
                                ("a:T[b,h,s,d] c:T[h,d]", "bhsd,hd->bhs", HEADS), ("a:T[b,h,s,d] c:T[s,s,d]", "bhrd,rkd->bhrk", BATCHES)):
    row("Einsum", inputs, "f32 f64" if equation in ("ij,jk->ik", "bhid,bhjd->bhij", "ij->i") else "f32", [{"equation": equation}], sizes=sizes)

# Convolutions and pools.
CONVOLUTIONS = [{"n": 1, "h": 14, "w": 14}, {"n": 1, "h": 56, "w": 56}, {"n": 4, "h": 112, "w": 112}]
row("Conv", "x:f32[n,32,h,w] k:f32[32,32,3,3] b:f32[32]", "", [{"pads": [1, 1, 1, 1]}, {"strides": [2, 2], "pads": [1, 1, 1, 1]}, {"pads": [2, 2, 2, 2], "dilations": [2, 2]}],
    sizes=CONVOLUTIONS)
row("Conv", "x:f32[n,64,h,w] k:f32[64,64,1,1]", sizes=CONVOLUTIONS)
for size, pad in ((3, 1), (5, 2)):
    row("Conv", f"x:f32[n,64,h,w] k:f32[64,1,{size},{size}] b:f32[64]", "", [{"group": 64, "pads": [pad] * 4}, {"group": 64, "pads": [pad] * 4, "strides": [2, 2]}],
        sizes=CONVOLUTIONS)
row("Conv", "x:f32[n,64,h,w] k:f32[64,16,3,3]", "", [{"group": 4, "pads": [1, 1, 1, 1]}], sizes=CONVOLUTIONS)
row("Conv", "x:f32[n,32,h] k:f32[64,32,3]", "", [{"pads": [1, 1]}], sizes=[{"n": 1, "h": 64}, {"n": 1, "h": 1024}, {"n": 4, "h": 16384}])
row("Conv", "x:f32[n,8,h,w,16] k:f32[8,8,3,3,3]", "", [{"pads": [1] * 6}], sizes=[{"n": 1, "h": 6, "w": 6}, {"n": 1, "h": 24, "w": 24}, {"n": 1, "h": 56, "w": 56}])
row("ConvTranspose", "x:f32[n,32,h,w] k:f32[32,16,3,3]", "", [{"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, {}], sizes=CONVOLUTIONS)
row("ConvInteger", "x:u8[n,32,h,w] k:u8[32,32,3,3] z:u8[]", "", [{"pads": [1, 1, 1, 1]}], sizes=CONVOLUTIONS)
row("QLinearConv", "x:u8[n,32,h,w] xs=f32:0.02 xz=u8:12 k:T[32,32,3,3] ks=f32:0.03 kz=T:0 ys=f32:0.05 yz=u8:7", "u8 i8", [{"pads": [1, 1, 1, 1]}], sizes=CONVOLUTIONS,
    shows="conv_integer")
for kernel, group in (("32,1,3,3", 32), ("64,1,3,3", 32), ("32,8,3,3", 4)):  # a filter a channel, two, groups of eight
    row("QLinearConv", f"x:u8[n,32,h,w] xs=f32:0.02 xz=u8:12 k:i8[{kernel}] ks=f32:0.03 kz=i8:0 ys=f32:0.05 yz=u8:7", "", [{"pads": [1, 1, 1, 1], "group": group}], sizes=CONVOLUTIONS,
        shows="conv_integer")
row("Col2Im", "x:f32[n,72,m] i=[32,32] k=[3,3]", sizes=[{"n": 1, "m": 900}, {"n": 8, "m": 900}, {"n": 64, "m": 900}], shows="col2im")
row("DeformConv", "x:f32[n,8,h,w] k:f32[8,8,3,3] o:f32[n,18,h,w]", "", [{"pads": [1, 1, 1, 1]}], opset=19, sizes=[{"n": 1, "h": 8, "w": 8}, {"n": 1, "h": 32, "w": 32}, {"n": 1, "h": 96, "w": 96}])
POOLS = [{"kernel_shape": [2, 2], "strides": [2, 2]}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}]
row("MaxPool", "x:T[n,c,h,w]", "f32 f64 u8", POOLS, sizes=IMAGES)
row("MaxPool", "x:f32[n,c,h,w]", "", POOLS[:1], outputs=2, sizes=IMAGES)
VOLUMES = [{"n": 2, "c": 8, "d": 8, "h": 15, "w": 17}, {"n": 1, "c": 8, "d": 16, "h": 32, "w": 32}, {"n": 2, "c": 32, "d": 16, "h": 64, "w": 64}]
row("MaxPool", "x:f32[n,c,d,h,w]", "", [{"kernel_shape": [2] * 3, "strides": [2] * 3}, {"kernel_shape": [3] * 3, "strides": [2] * 3, "pads": [1] * 6}], sizes=VOLUMES)
row("AveragePool", "x:f32[n,c,d,h,w]", "", [{"kernel_shape": [2] * 3, "strides": [2] * 3}], sizes=VOLUMES)
row("AveragePool", "x:f32[n,c,h,w]", "", POOLS + [dict(POOLS[1], count_include_pad=1)], sizes=IMAGES)
row("LpPool", "x:f32[n,c,h,w]", "", POOLS[:2], sizes=IMAGES)
for op, shows in (("GlobalAveragePool", "reduce_mean"), ("GlobalMaxPool", "reduce_max"), ("GlobalLpPool", "reduce_l2")):
    row(op, "x:f32[n,c,h,w]", sizes=IMAGES, shows=shows)
row("MaxUnpool", "x:f32[n,c,h,w] i:i64[n,c,h,w]", "", [{"kernel_shape": [2, 2], "strides": [2, 2]}], fills={"i": "0 63"}, sizes=SLOW_IMAGES, shows="scatter_elements")

# Selection.
for k in (1, 10, 100):
    row("TopK", f"x:T[n,m] k=[{k}]", "f32 i64" if k == 10 else "f32", outputs=2, sizes=[{"n": 16, "m": 128}, {"n": 16, "m": 4096}, {"n": 64, "m": 50257}], shows="topk")
row("TopK", "x:T[n,m] k=[1]", "f32 f64 i64 u8", outputs=2, sizes=[{"n": 500, "m": 5}, {"n": 3000, "m": 17}, {"n": 30000, "m": 63}], shows="topk")
row("TopK", "x:T[n,m] k=[10]", "f64 i64 i32 u8", [{"axis": 0}], outputs=2, sizes=[{"n": 128, "m": 16}, {"n": 1024, "m": 64}, {"n": 4096, "m": 512}], shows="topk")
row("TopK", "x:f32[n,m] k=[10]", "", [{"axis": 0}, {"largest": 0}, {"sorted": 0}], outputs=2, sizes=[{"n": 128, "m": 16}, {"n": 1024, "m": 64}, {"n": 4096, "m": 512}], shows="topk")
row("Unique", "x:T[n]", "f32 i64", [{}, {"sorted": 0}], outputs=4, fills={"x": "0 99"}, sizes=[{"n": 64}, {"n": 4096}, {"n": 200000}])
row("NonZero", "x:T[n,m]", "f32 i64 bool", fills={"x": "0 1"}, sizes=SLOW_PLANES, shows="nonzero")
row("Compress", "x:T[n,m] c:bool[n]", "f32 u8", [{"axis": 0}])
row("Compress", "x:T[n,m] c:bool[m]", "f32", [{"axis": 1}])
row("Compress", "x:T[n] c:bool[n]", "f32", sizes=[{"n": 256}, {"n": 100000}, {"n": 4000000}])
row("NonMaxSuppression", "b:f32[1,n,4] s:f32[1,k,n] m=[100] i=f32:[0.5] t=f32:[0.1]", fills={"b": "0 100", "s": "0 1"},
    sizes=[{"n": 32, "k": 1}, {"n": 1000, "k": 4}, {"n": 8000, "k": 20}])
row("MaxRoiPool", "x:f32[1,c,h,w] r:f32[k,5]", "", [{"pooled_shape": [7, 7], "spatial_scale": 8.0}], fills={"r": "0 0"},
    sizes=[{"c": 8, "h": 14, "w": 14, "k": 4}, {"c": 64, "h": 28, "w": 28, "k": 16}], shows="reduce_max")
row("RoiAlign", "x:f32[1,c,h,w] r:f32[k,4] b:i64[k]", "", [{"output_height": 7, "output_width": 7, "sampling_ratio": 2}, {"output_height": 7, "output_width": 7, "mode": "max", "sampling_ratio": 2}],
    fills={"b": "0 0", "r": "0 12"}, sizes=[{"c": 8, "h": 14, "w": 14, "k": 4}, {"c": 64, "h": 28, "w": 28, "k": 32}, {"c": 256, "h": 56, "w": 56, "k": 100}])
RESIZES = [{"n": 1, "c": 3, "h": 16, "w": 16}, {"n": 1, "c": 32, "h": 28, "w": 28}, {"n": 1, "c": 64, "h": 112, "w": 112}]
row("Resize", "x:T[n,c,h,w] - s=f32:[1,1,2,2]", "f32 u8",
    [{"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, {"mode": "nearest"}, {"mode": "linear"},
     {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, {"mode": "cubic"},
     {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}], sizes=RESIZES)
row("Resize", "x:u8[n,c,h,w] - s=f32:[1,1,2,2]", "", [{"mode": "linear"}], sizes=RESIZES)
row("Resize", "x:T[n,c,h,w] - s=f32:[1,1,0.5,0.5]", "f32", [{"mode": "linear"}, {"mode": "nearest"}, {"mode": "cubic"}, {"mode": "linear", "antialias": 1}, {"mode": "cubic", "antialias": 1}], sizes=RESIZES)
row("Resize", "x:T[n,c,h,w] - s=f32:[1,1,1.75,1.25]", "f32 u8", [{"mode": "linear"}, {"mode": "nearest"}], sizes=RESIZES)
row("Resize", "x:T[n,h,w,3] - s=f32:[1,2,2,1]", "f32 u8", [{"mode": "linear"}, {"mode": "nearest"}], sizes=[{"n": 1, "h": 16, "w": 16}, {"n": 1, "h": 64, "w": 64}, {"n": 1, "h": 480, "w": 640}])
row("Resize", "x:f32[n,c,m] - s=f32:[1,1,2]", "", [{"mode": "linear"}, {"mode": "nearest"}, {"mode": "cubic"}], sizes=[{"n": 1, "c": 8, "m": 64}, {"n": 1, "c": 64, "m": 1000}, {"n": 4, "c": 256, "m": 2000}])
row("Resize", "x:f32[n,c,d,h,w] - s=f32:[1,1,2,2,2]", "", [{"mode": "linear"}, {"mode": "nearest"}],
    sizes=[{"n": 1, "c": 2, "d": 6, "h": 6, "w": 6}, {"n": 1, "c": 8, "d": 12, "h": 12, "w": 12}, {"n": 1, "c": 16, "d": 32, "h": 32, "w": 32}])
row("GridSample", "x:f32[n,c,h,w] g:f32[n,h,w,2]", "", [{}, {"mode": "nearest"}, {"mode": "cubic"}, {"padding_mode": "border"}], fills={"g": "-1 1"},
    sizes=[{"n": 1, "c": 3, "h": 16, "w": 16}, {"n": 1, "c": 16, "h": 56, "w": 56}, {"n": 1, "c": 32, "h": 112, "w": 112}])
row("AffineGrid", "t:f32[n,2,3] s=[2,3,128,128]", "", sizes=[{"n": 2}])
for length in (256, 400, 512, 1000, 1024, 1009):
    row("DFT", f"x:T[b,{length},1]", "f32 f64" if length == 256 else "f32", [{"onesided": 1}], opset=20, sizes=[{"b": 1}, {"b": 64}], shows="dft")
row("DFT", "x:f32[b,512,2] - a=-2", "", [{}, {"inverse": 1}], opset=20, sizes=[{"b": 1}, {"b": 64}], shows="dft")
row("STFT", "x:f32[b,n,1] s=160 w=f32:[" + ",".join(["0.5"] * 400) + "]", sizes=[{"b": 1, "n": 4000}, {"b": 1, "n": 48000}], shows="dft")
row("MelWeightMatrix", "b=64 l:i64[] r=16000 low=f32:0.0 high=f32:8000.0", fills={"l": "400 400"}, sizes=[{}], shows="where")

# Quantisation.
row("QuantizeLinear", "x:f32[n,m] s:f32[] z:T[]", "u8 i8 u16", fills={"s": "1 3", "z": "0 3"})
row("QuantizeLinear", "x:f32[n,m] s:f32[m] z:T[m]", "u8 i8", fills={"s": "1 3", "z": "0 3"})
row("DequantizeLinear", "x:T[n,m] s:f32[] z:T[]", "u8 i8", fills={"s": "1 3"})
row("DequantizeLinear", "x:T[n,m] s:f32[m] z:T[m]", "u8 i8", fills={"s": "1 3"})
row("DynamicQuantizeLinear", "x:f32[n,m]", outputs=3)
for op in ("QLinearAdd", "QLinearMul"):
    row(op, "a:T[n,m] as=f32:0.02 az=T:12 b:T[n,m] bs=f32:0.03 bz=T:3 ys=f32:0.05 yz=T:7", "u8 i8", domain="com.microsoft", shows="quantize_linear")
row("QLinearSigmoid", "x:T[n,m] xs=f32:0.02 xz=T:12 ys=f32:0.004 yz=T:0", "u8 i8", domain="com.microsoft", shows="quantize_linear")
row("QLinearLeakyRelu", "x:T[n,m] xs=f32:0.02 xz=T:12 ys=f32:0.02 yz=T:9", "u8", [{"alpha": 0.1}], domain="com.microsoft", shows="quantize_linear")
row("QLinearGlobalAveragePool", "x:u8[n,c,h,w] xs=f32:0.02 xz=u8:12 ys=f32:0.02 yz=u8:9", sizes=IMAGES, domain="com.microsoft", shows="reduce_mean")
row("MatMulNBits", "x:f32[n,256] w:u8[256,8,16] s:f32[2048]", "", [{"K": 256, "N": 256, "bits": 4, "block_size": 32}], domain="com.microsoft",
    sizes=[{"n": 1}, {"n": 16}, {"n": 256}], shows="matmul_nbits")

# Recurrent: loops around products. Weights are small, as trained ones are: errors would grow from step to step.
SEQUENCES = [{"t": 8, "n": 1}, {"t": 64, "n": 1}, {"t": 128, "n": 32}]
for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    row(op, f"x:f32[t,n,64] w:f32[1,{gates * 128},64] r:f32[1,{gates * 128},128]", "", [{"hidden_size": 128}], outputs=2, sizes=SEQUENCES, fills={"w": "-0.1 0.1", "r": "-0.1 0.1"}, shows="matmul")

# Attention.
row("Attention", "q:f32[b,h,s,d] k:f32[b,h,s,d] v:f32[b,h,s,d]", "", [{}, {"is_causal": 1}], sizes=BATCHES, opset=23, shows="softmax")
row("RotaryEmbedding", "x:f32[b,h,s,d] c:f32[b,s,k] n:f32[b,s,k]", sizes=[dict(s, k=s["d"] // 2) for s in HEADS], opset=23, shows="concat")

# Tables of classical models.
row("LabelEncoder", "x:i64[n]", "", [{"keys_int64s": list(range(0, 2000, 2)), "values_int64s": list(range(1000))}], sizes=[{"n": 64}, {"n": 10000}, {"n": 1000000}], domain="ai.onnx.ml",
    fills={"x": "0 1999"}, shows="lookup")


def walk(table):
    """Operators that no row shows and no reason excuses; rows and reasons that are of no operator, or excuse what a row shows."""
    with open(table) as text:
        names = set(re.findall(r"^DYN_OP\((\w+)\)", text.read(), re.M))
    shown = {name for row in TABLE for name in row["shows"]}
    return sorted(names - shown - set(WITHOUT)), sorted(((shown | set(WITHOUT)) - names) | (shown & set(WITHOUT)))


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "walk":
        sys.exit(__doc__)
    missing, stale = walk(sys.argv[2])
    for name in missing:
        print(f"{name} is in the table of operators, but nothing times it beside onnxruntime: add a row to tests/bench/operator_rows.py")
    for name in stale:
        print(f"{name} has a row or a reason in tests/bench/operator_rows.py, but is no operator, or has both")
    return 1 if missing or stale or not TABLE else 0


if __name__ == "__main__":
    sys.exit(main())
