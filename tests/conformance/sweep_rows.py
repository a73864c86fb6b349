"""The rows of operator_sweep.py: for each ONNX operator the nodes that show it.

    row("Softmax", "x:T[n,m]", "f32 f64 f16", [{}, {"axis": 0}])

A node of that operator over input x of element type T and dims n, m, for each type, then with `axis = 0` for the first of them. Inputs are parted by
spaces, `-` is one left out; "c=[1,-1]" is a constant i64 vector, "c=3" a constant i64 scalar, "c=f32:[1,1.5]" one of another type. `fills` has the range
of an input's elements ("-n", "n-1" are dims), `dims` the sizes of a dim, `outputs` their number, `rtol` what may be lost.

Every row runs in the other versions of its operator as well, where they have the same form (those that have not: old(...)), and once more with its scalars
as vectors of one element, which onnxruntime takes in many places.
"""
REALS = "f32 f64 f16"
INTS = "i32 i64 i8 u8"
NUMBERS = "f32 f64 f16 i32 i64 i8 u8"
ALL = "f32 f64 f16 i32 i64 u8 bool"
TABLE = []


def some(names):
    """Dims of at least one element, where onnxruntime makes something else of none than the standard says, or dies of it."""
    return {name: [1, 2, 3, 5, 7] for name in names}



def row(op, inputs, dtypes="", attributes=None, *, fills=None, dims=None, outputs=1, rtol=1e-4, opset=21, domain="", everyVersion=True):
    TABLE.append({"op": op, "inputs": inputs, "dtypes": dtypes.split(), "attributes": attributes or [{}], "fills": fills or {}, "dims": dims or {},
                  "outputs": outputs, "rtol": rtol, "opset": opset, "domain": domain, "everyVersion": everyVersion})


def old(op, inputs, dtypes, attributes, opsets, **more):
    """The form that an operator had in older operator sets."""
    for opset in opsets:
        row(op, inputs, dtypes, attributes, opset=opset, everyVersion=False, **more)


# Operators without a row, and why.
WITHOUT = {
    "Constant": "weights of the other rows",
    "Dropout": "the identity when it does not train; draws random numbers when it does",
    **{op: "draws random numbers: RandomDraws looks at how they are distributed" for op in
       ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")},
    "BitCast": "newer than the operator sets of onnxruntime",
    "CumProd": "newer than the operator sets of onnxruntime",
    "CausalConvWithState": "newer than the operator sets of onnxruntime",
    "LinearAttention": "newer than the operator sets of onnxruntime",
    "SwiGLU": "newer than the operator sets of onnxruntime",
    "Optional": "its result is not a tensor; the suite of ONNX has it",
    "OptionalGetElement": "its operand is not a tensor; the suite of ONNX has it",
    "OptionalHasElement": "its operand is not a tensor; the suite of ONNX has it",
    "SequenceAt": "its operand is not a tensor; the suite of ONNX has it",
    "SequenceConstruct": "its result is not a tensor; the suite of ONNX has it",
    "SequenceEmpty": "its result is not a tensor; the suite of ONNX has it",
    "SequenceErase": "its operand is not a tensor; the suite of ONNX has it",
    "SequenceInsert": "its operand is not a tensor; the suite of ONNX has it",
    "SequenceLength": "its operand is not a tensor; the suite of ONNX has it",
    "ConcatFromSequence": "its operand is not a tensor; the suite of ONNX has it",
    "SplitToSequence": "its result is not a tensor; the suite of ONNX has it",
    "Scatter": "ScatterElements under its older name",
    "ImageDecoder": "its operand is the bytes of a picture; the suite of ONNX has it",
    "TreeEnsemble": "newer than the operator sets of the sweep; the suite of ONNX has it",
    "Upsample": "Resize under its older name",
    "com.microsoft::BiasAdd": "onnxruntime has it for GPUs only",
    "com.microsoft::BiasSplitGelu": "onnxruntime has it for GPUs only",
    "com.microsoft::FusedMatMulActivation": "onnxruntime has it for GPUs only",
    "com.microsoft::LayerNormalization": "LayerNormalization of the standard, as older exporters wrote it",
    "ZipMap": "its result is not a tensor: tests/conformance/map_models.py",
    "DictVectorizer": "its operand is not a tensor: tests/conformance/map_models.py",
    "CastMap": "its operand is not a tensor: tests/conformance/map_models.py",
    "com.microsoft::SparseToDenseMatMul": "its operand is a sparse weight: tests/unit/frontends/onnx/map has it",
    "Adagrad": "onnxruntime trains in another package",
    "Adam": "onnxruntime trains in another package",
    "Momentum": "onnxruntime trains in another package",
}

for op in ("Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Reciprocal Round Sigmoid Sin Sinh Softplus Softsign "
           "Sqrt Tan Tanh").split():
    row(op, "x:T[n,m]", REALS, fills={"x": "1 3"} if op == "Acosh" else {"x": "-1 1"} if op in ("Acos", "Asin", "Atanh") else {})
for op in "Abs Neg Sign".split():
    row(op, "x:T[n,m]", "f32 f64 f16 i32 i64 i8")
row("Relu", "x:T[n,m]", "f32 f64 f16 i32 i8")
row("Identity", "x:T[n,m]", ALL)
row("Celu", "x:f32[n,m]", "", [{}, {"alpha": 0.4}])
row("Elu", "x:T[n,m]", REALS, [{}, {"alpha": 0.4}])
row("LeakyRelu", "x:T[n,m]", REALS, [{}, {"alpha": 0.4}])
row("Selu", "x:T[n,m]", REALS, [{}, {"alpha": 1.5, "gamma": 0.5}])
row("HardSigmoid", "x:T[n,m]", REALS, [{}, {"alpha": 0.7, "beta": 0.1}])
row("ThresholdedRelu", "x:T[n,m]", REALS, [{}, {"alpha": 0.3}])
row("Shrink", "x:T[n,m]", REALS, [{}, {"lambd": 0.3, "bias": 0.1}])
row("Gelu", "x:T[n,m]", REALS, [{}, {"approximate": "tanh"}])
row("Swish", "x:T[n,m]", REALS, [{}, {"alpha": 0.5}], opset=24)
row("IsNaN", "x:T[n,m]", REALS)
row("IsInf", "x:T[n,m]", "f32 f64", [{}, {"detect_negative": 0}])
row("Not", "x:bool[n,m]")
row("BitwiseNot", "x:T[n,m]", INTS)
PAIRS = ["a:T[n,m] b:T[n,m]", "a:T[n,m] b:T[m]", "a:T[] b:T[n,m]", "a:T[n,1] b:T[1,m]", "a:T[n,m] b:T[k,l]"]
for op, dtypes, fills in [
        ("Add", NUMBERS, {}), ("Sub", NUMBERS, {}), ("Mul", NUMBERS, {}), ("Div", NUMBERS, {"b": "1 5"}), ("Pow", "f32 f64 i32 i64", {"a": "1 4", "b": "0 3"}),
        ("Equal", ALL, {}), ("Less", NUMBERS, {}), ("LessOrEqual", NUMBERS, {}), ("Greater", NUMBERS, {}), ("GreaterOrEqual", NUMBERS, {}),
        ("And", "bool", {}), ("Or", "bool", {}), ("Xor", "bool", {}), ("BitwiseAnd", INTS, {}), ("BitwiseOr", INTS, {}), ("BitwiseXor", INTS, {}),
        ("Max", NUMBERS, {}), ("Min", NUMBERS, {}), ("Mean", REALS, {}), ("Sum", REALS, {}), ("PRelu", "f32 f64 i32", {})]:
    for i, inputs in enumerate(PAIRS if op != "PRelu" else PAIRS[:2]):
        row(op, inputs, dtypes if i == 0 else dtypes.split()[0], fills=fills, dims={"k": [1, 2, 3], "l": [1, 3]})
for op in "Max Min Mean Sum".split():
    row(op, "a:T[n,m] b:T[m] c:T[n,1]", "f32 f64")
row("Mod", "a:T[n,m] b:T[m]", "i32 i64 i8 u8", [{}, {"fmod": 1}], fills={"b": "1 5"})
row("Mod", "a:T[n,m] b:T[m]", "f32 f64", [{"fmod": 1}], fills={"b": "1 5"})
row("BitShift", "a:T[n,m] b:T[m]", "u8 u32 u64", [{"direction": "LEFT"}, {"direction": "RIGHT"}], fills={"b": "0 5"})
row("Where", "c:bool[n,1] a:T[n,m] b:T[m]", ALL)
row("Clip", "x:T[n,m] low:T[] high:T[]", "f32 f64 f16 i32 i64 i8", fills={"low": "-2 0", "high": "1 2"})
row("Clip", "x:f32[n,m] - high:f32[]")
for to in (1, 11, 10, 6, 7, 3, 2, 9):
    row("Cast", "x:T[n,m]", ALL, [{"to": to}], fills={"x": "0 5"})
row("CastLike", "x:T[n,m] y:i32[1]", ALL, fills={"x": "0 5"})

row("Shape", "x:T[n,m,3]", "f32 i64", [{}, {"start": 1}, {"start": -2, "end": -1}])
row("Size", "x:f32[n,m,3]")
row("Reshape", "x:T[n,4] s=[-1,2]", ALL)
row("Reshape", "x:f32[n,m] s=[0,-1,1]")
row("Flatten", "x:T[n,m,3]", ALL, [{}, {"axis": 0}, {"axis": 2}, {"axis": 3}, {"axis": -1}])
row("Squeeze", "x:T[n,1,m] a=[1]", ALL)
row("Unsqueeze", "x:T[n,m] a=[0,-1]", ALL)
row("Transpose", "x:T[a,b,c]", ALL, [{}, {"perm": [0, 2, 1]}, {"perm": [2, 0, 1]}])
row("Expand", "x:T[n,1] s:i64[2]", ALL, fills={"s": "1 4"})
row("Slice", "x:T[n,m] s:i64[2] e:i64[2]", ALL, fills={"s": "-7 7", "e": "-7 7"})
row("Slice", "x:f32[n,m] s:i64[1] e:i64[1] a=[-1] t=[-2]", fills={"s": "-3 9", "e": "-9 3"})
row("Concat", "a:T[n,m] b:T[k,m]", ALL, [{"axis": 0}, {"axis": -2}])
row("Split", "x:T[n,6]", ALL, [{"axis": 1, "num_outputs": 3}], outputs=3)
row("Split", "x:f32[n,m] s=[1,2]", "", [{"axis": 0}], outputs=2, dims={"n": [3]})
row("Split", "x:f32[n,7]", "", [{"axis": -1, "num_outputs": 2}], outputs=2)
row("Gather", "x:T[n,m] i:i64[k,2]", ALL, [{}, {"axis": -1}], fills={"i": "-1 0"})
row("Gather", "x:f32[n,m] i:i32[]", fills={"i": "-n n-1"})
row("GatherND", "x:T[n,m,2] i:i64[k,2]", ALL, fills={"i": "-1 0"})
row("GatherND", "x:f32[b,n,2] i:i64[b,k,1]", "", [{"batch_dims": 1}], fills={"i": "-n n-1"})
row("GatherElements", "x:T[n,m] i:i64[k,m]", ALL, fills={"i": "-n n-1"})
row("ScatterElements", "x:T[n,m] i:i64[k,m] u:T[k,m]", ALL, fills={"i": "-n n-1"}, dims={"k": [1]})
row("ScatterElements", "x:T[n,m] i:i64[n,k] u:T[n,k]", "f32 f64 i32 i64",
    [{"axis": 1, "reduction": r} for r in ("add", "mul", "max", "min")], fills={"i": "-m m-1"}, dims={"k": [1, 2]})
row("ScatterND", "x:T[n,m] i:i64[k,1] u:T[k,m]", ALL, fills={"i": "-n n-1"}, dims={"k": [1]})
row("ScatterND", "x:T[n,m] i:i64[k,2] u:T[k]", "f32 f64 i32 i64", [{"reduction": r} for r in ("add", "mul", "max", "min")], fills={"i": "0 0"})
row("TensorScatter", "x:T[b,n,3] u:T[b,k,3] p:i64[b]", "f32 f16", [{}, {"mode": "circular"}], fills={"p": "0 2"}, dims={"n": [5, 7], "k": [1, 2]}, opset=24)
row("Range", "a:T[] b:T[] d:T[]", "i16 i32 i64 f32 f64", fills={"a": "-3 3", "b": "4 9", "d": "1 2"})
row("ConstantOfShape", "s:i64[3]", fills={"s": "0 3"})
row("OneHot", "i:i64[n,m] d:i64[] v:T[2]", "f32 i64", [{}, {"axis": 0}, {"axis": 1}], fills={"i": "-7 7", "d": "1 6"})
row("EyeLike", "x:T[n,m]", "f32 f64 i32 i64", [{}, {"k": 1}, {"k": -2}, {"dtype": 6}])
row("Trilu", "x:T[b,n,m]", "f32 f64 i64", [{}, {"upper": 0}])
row("Trilu", "x:f32[n,m] k:i64[]", "", [{}, {"upper": 0}], fills={"k": "-4 4"})
row("Tile", "x:T[n,m] r:i64[2]", "f32 f64 i32 i64 u8 bool", fills={"r": "0 3"})
row("Pad", "x:T[n,m] p:i64[4]", "f32 f64 i32 i64 u8 bool", fills={"p": "-1 2"}, dims={"n": [2, 3, 5], "m": [2, 3, 7]})
row("Pad", "x:f32[n,m] p:i64[4]", "", [{"mode": m} for m in ("edge", "reflect", "wrap")], fills={"p": "0 2"}, dims={"n": [3, 5, 7], "m": [3, 4, 7]})
row("Pad", "x:f32[n,m] p:i64[2] v:f32[] a=[1]", fills={"p": "0 2"})
row("Pad", "x:T[n,m,w,3] p=[0,1,2,0,0,2,1,0]", "f32 u8", [{}, {"mode": "edge"}, {"mode": "reflect"}, {"mode": "wrap"}], dims={"n": [1, 2], "m": [3, 5], "w": [3, 7, 19]})
row("CenterCropPad", "x:T[n,m] s:i64[2]", "f32 i64", fills={"s": "1 9"})
row("DepthToSpace", "x:T[n,8,h,w]", "f32 f64 u8", [{"blocksize": 2}, {"blocksize": 2, "mode": "CRD"}])
row("SpaceToDepth", "x:T[n,3,4,6]", "f32 f64", [{"blocksize": 2}])
row("ReverseSequence", "x:T[t,b,2] l:i64[b]", ALL, fills={"l": "1 t"}, dims={"t": [1, 2, 5]})
for op, name in (("HannWindow", 0), ("HammingWindow", 0), ("BlackmanWindow", 0)):
    row(op, "s:T[]", "i64 i32", [{}, {"periodic": 0}], fills={"s": "2 9"})

for op in "ReduceSum ReduceProd ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split():
    opset = 18
    fills = {"x": "1 3"} if op == "ReduceLogSum" else {}
    dims = some("nmabc") if op == "ReduceMean" else {}
    row(op, "x:T[n,m] a=[1]", "f32 f64 i32 i64" if "Log" not in op else "f32 f64", [{}, {"keepdims": 0}], opset=opset, fills=fills, dims=dims)
    row(op, "x:f32[a,b,c] a_=[2,0]", "", [{}, {"keepdims": 0}], opset=opset, fills=fills, dims=dims)
    row(op, "x:f32[n,m]", "", [{}, {"keepdims": 0}, {"noop_with_empty_axes": 1}], opset=opset, fills=fills, dims=dims)
for op in "ArgMax ArgMin".split():
    row(op, "x:T[n,m]", "f32 f64 i32 u8", [{}, {"axis": -1, "keepdims": 0}, {"axis": 1, "select_last_index": 1}], dims=some("nm"))
row("CumSum", "x:T[n,m] a:i64[]", "f32 f64 i32 i64", [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}], fills={"a": "-2 1"})
for op in "Softmax LogSoftmax Hardmax".split():
    row(op, "x:T[a,b,c]", REALS if op == "Softmax" else "f32 f64", [{}, {"axis": 0}, {"axis": 1}])
    row(op, "x:f32[a,b,c]", "", [{}, {"axis": 0}, {"axis": 2}], opset=11)
row("LpNormalization", "x:T[n,m]", "f32 f64", [{}, {"axis": 0}, {"p": 1}])
row("LayerNormalization", "x:T[n,m] s:T[m] b:T[m]", "f32 f64 f16", [{}, {"epsilon": 0.5}])
row("LayerNormalization", "x:f32[n,3,m] s:f32[3,m]", "", [{"axis": 1}])
row("LayerNormalization", "x:f32[n,m] s:f32[m]", "", [{}], outputs=3)
row("RMSNormalization", "x:T[n,m] s:T[m]", "f32 f64 f16", [{}, {"epsilon": 0.5}], opset=23)
row("SimplifiedLayerNormalization", "x:f32[n,m] s:f32[m]", "", [{"axis": -1, "epsilon": 1e-5}], opset=17)
row("BatchNormalization", "x:T[n,c,h,w] s:T[c] b:T[c] m:T[c] v:T[c]", "f32 f64 f16", [{}, {"epsilon": 0.5}], fills={"v": "1 3"})
row("InstanceNormalization", "x:f32[n,c,h,w] s:f32[c] b:f32[c]", "", [{}, {"epsilon": 0.5}], rtol=1e-3, dims={"h": [2, 3, 5]})
row("GroupNormalization", "x:f32[n,4,h,w] s:f32[4] b:f32[4]", "", [{"num_groups": 2}, {"num_groups": 1}], rtol=1e-3, dims={"h": [2, 3, 5]})
row("LRN", "x:f32[n,c,h,w]", "", [{"size": 3}, {"size": 1}, {"size": 5, "alpha": 0.5, "beta": 0.5, "bias": 2.0}])
row("MeanVarianceNormalization", "x:f32[n,3,h,w]", "", [{}, {"axes": [0, 1, 2, 3]}], rtol=1e-3, dims={"h": [2, 3, 5], "n": [1, 2]})

for inputs in ("a:T[n,k] b:T[k,m]", "a:T[k] b:T[k,m]", "a:T[n,k] b:T[k]", "a:T[k] b:T[k]", "a:T[b,n,k] b_:T[k,m]", "a:T[b,1,n,k] b_:T[c,k,m]"):
    row("MatMul", inputs, "f32 f64 f16 i32 i64" if inputs.startswith("a:T[n,k] b:T[k,m]") else "f32", dims={"c": [1, 2, 3]})
row("Gemm", "a:T[n,k] b:T[k,m]", "f32 f64 f16", [{}, {"alpha": 0.5}])
row("Gemm", "a:f32[k,n] b:f32[m,k] c:f32[m]", "", [{"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}], dims=some("k"))
row("Gemm", "a:f32[n,k] b:f32[k,m] c:f32[n,1]")
row("Gemm", "a:f32[n,k] b:f32[k,m] c:f32[]")
row("MatMulInteger", "a:u8[n,k] b:T[k,m] z:u8[]", "u8 i8", dims=some("k"))
row("MatMulInteger", "a:u8[n,k] b:i8[k,m] z:u8[] w:i8[m]", dims=some("k"))
for inputs, equation in (("a:T[i,j] b:T[j,k]", "ij,jk->ik"), ("a:T[i,j] b:T[i,j]", "ij,ij->"), ("a:T[b,i,j] b_:T[b,k,j]", "bij,bkj->bik"),
                         ("a:T[b,c,i,j] b_:T[j,k]", "...ij,jk->...ik"), ("a:T[i,i] b:T[i]", "ii,i->i")):
    row("Einsum", inputs, "f32 f64 i64", [{"equation": equation}], dims=some("bcijk"))
row("Det", "x:f32[n,k,k]", dims={"k": [1, 2, 3, 5]})

WIDE = {"h": [3, 4, 5, 7, 8, 11], "w": [3, 5, 4, 9, 13], "n": [1, 2, 3]}
row("Conv", "x:T[n,2,h,w] k:T[3,2,3,3]", "f32",
    [{}, {"pads": [1, 1, 1, 1]}, {"strides": [2, 2], "pads": [0, 1, 1, 0]}, {"dilations": [1, 2], "pads": [0, 2, 0, 2]}, {"auto_pad": "SAME_UPPER"},
     {"auto_pad": "SAME_LOWER", "strides": [2, 3]}, {"auto_pad": "VALID"}], dims=WIDE)
row("Conv", "x:f32[n,4,h,w] k:f32[6,2,2,2] b:f32[6]", "", [{"group": 2}], dims=WIDE)
row("Conv", "x:f32[n,5,h,w] k:f32[5,1,3,3] b:f32[5]", "", [{"group": 5, "pads": [1, 1, 1, 1]}], dims=WIDE)
row("Conv", "x:f32[n,2,h] k:f32[3,2,3]", "", [{"pads": [1, 1]}], dims=WIDE)
row("Conv", "x:f32[n,2,4,h,w] k:f32[3,2,2,2,2]", dims=WIDE)
row("ConvTranspose", "x:f32[n,2,h,w] k:f32[2,3,3,3]", "",
    [{}, {"strides": [2, 2]}, {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, {"dilations": [2, 1]},
     {"auto_pad": "SAME_UPPER", "strides": [2, 2]}], dims=WIDE)
row("ConvTranspose", "x:f32[n,4,h] k:f32[4,3,2] b:f32[6]", "", [{"group": 2, "strides": [3]}], dims=WIDE)
row("ConvInteger", "x:u8[n,2,h,w] k:T[3,2,3,3] z:u8[]", "u8 i8", [{}, {"pads": [1, 1, 1, 1], "strides": [2, 2]}], dims=WIDE)
row("QLinearConv", "x:u8[n,2,h,w] xs=f32:0.02 xz=u8:12 k:T[3,2,3,3] ks=f32:0.03 kz=T:3 ys=f32:0.05 yz=u8:7", "u8 i8", dims=WIDE)
row("QLinearMatMul", "a:u8[n,k] as=f32:0.02 az=u8:12 b:T[k,m] bs=f32:0.03 bz=T:3 ys=f32:0.05 yz=u8:7", "u8 i8", dims=some("k"))
row("Col2Im", "x:f32[n,8,12] i=[5,4] k=[2,2]")
row("DeformConv", "x:f32[n,2,4,5] k:f32[3,2,2,2] o:f32[n,8,3,4]", opset=19)
row("DeformConv", "x:f32[n,4,h,5] k:f32[6,2,3,3] o:f32[n,36,h,5] b:f32[6] m:f32[n,18,h,5]", "", [{"group": 2, "offset_group": 2, "pads": [1, 1, 1, 1]}],
    dims=some("h"), opset=19)
row("AveragePool", "x:T[n,c,h,w]", "f32", [dict(a, **b) for b in ({}, {"count_include_pad": 1}) for a in (
    {"kernel_shape": [2, 2]}, {"kernel_shape": [3, 2], "strides": [2, 1]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, {"kernel_shape": [2, 2], "dilations": [2, 1]},
    {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER"})], dims=WIDE)
row("MaxPool", "x:T[n,c,h,w]", "f32 f64 f16 i8 u8",
    [{"kernel_shape": [2, 2]}, {"kernel_shape": [3, 2], "strides": [2, 1]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
     {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, {"kernel_shape": [2, 2], "dilations": [2, 1]},
     {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER"}], dims=WIDE)
row("MaxPool", "x:f32[n,c,h,w]", "", [{"kernel_shape": [2, 2]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "storage_order": 1}], outputs=2, dims=WIDE)
LONG_ROWS = {"n": [1, 2], "c": [16, 17, 33], "h": [4, 9], "w": [62, 63, 64, 65, 131]}  # planes in lanes, and row by row
for op in ("MaxPool", "AveragePool"):
    row(op, "x:f32[n,c,h,w]", "", [{"kernel_shape": [2, 2], "strides": [2, 2]}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
                                   {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]}], dims=LONG_ROWS)
row("LpPool", "x:f32[n,c,h,w]", "", [{"kernel_shape": [2, 2]}, {"kernel_shape": [2, 2], "p": 1}, {"kernel_shape": [3, 2], "strides": [2, 1]},
                                   {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}], dims=WIDE)
row("GlobalAveragePool", "x:T[n,c,h,w]", "f32", dims=WIDE)
row("GlobalMaxPool", "x:T[n,c,h,w]", "f32", dims=WIDE)
row("GlobalLpPool", "x:T[n,c,h,w]", "f32", [{}, {"p": 1}], dims=WIDE)
row("MaxUnpool", "x:f32[1,1,2,3] i:i64[1,1,2,3]", "", [{"kernel_shape": [2, 2], "strides": [2, 2]}], fills={"i": "0 23"})

row("TopK", "x:T[n,m] k:i64[1]", "f32 f64 i32 i64", [{}, {"largest": 0}, {"axis": 0}], fills={"k": "1 3"}, outputs=2, dims={"n": [3, 5, 7], "m": [3, 7, 11]})
row("Unique", "x:T[n,m]", "f32 f64 i64 i8", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1, "sorted": 0}], fills={"x": "0 2"}, outputs=4, dims=some("nm"))
row("NonZero", "x:T[n,m]", "f32 i32 i64 u8 bool", fills={"x": "0 1"})
row("Compress", "x:T[n,m] c:bool[n]", ALL, [{"axis": 0}])
row("Compress", "x:f32[n,m] c:bool[k]", "", [{}], dims={"k": [1, 2], "n": [2, 3, 5], "m": [1, 2, 5]})
row("Compress", "x:T[n,m] c:bool[n,m]", "f32 i64", [{}])
row("Compress", "x:f32[n,m] c:bool[k,1]", "", [{"axis": 1}], dims={"k": [1, 2], "n": [1, 3], "m": [2, 5]})
row("NonMaxSuppression", "b:f32[c,n,4] s:f32[c,k,n] m:i64[1] i:f32[1] t:f32[1]", "", [{}, {"center_point_box": 1}],
    fills={"m": "0 4", "i": "0 1", "b": "0 3"}, dims={"c": [1, 2]})
row("MaxRoiPool", "x:f32[n,c,h,w] r:f32[k,5]", "",
    [{"pooled_shape": [2, 3]}, {"pooled_shape": [1, 1], "spatial_scale": 0.5}, {"pooled_shape": [4, 2], "spatial_scale": 2.5}], fills={"r": "0 n-1"}, dims=WIDE)
row("RoiAlign", "x:T[n,c,h,w] r:T[k,4] b:i64[k]", "f32 f64",
    [{"output_height": 2, "output_width": 3}, {"mode": "max", "sampling_ratio": 1}, {"sampling_ratio": 2, "spatial_scale": 0.5},
     {"coordinate_transformation_mode": "output_half_pixel"}], fills={"b": "0 n-1", "r": "0 4"}, dims=WIDE)
IMAGE = {"h": [1, 2, 3, 5, 7], "w": [1, 3, 4, 7]}
RESIZE = [{"mode": "nearest"}, {"mode": "linear"}, {"mode": "cubic"}, {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
          {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
          {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
          {"mode": "nearest", "nearest_mode": "floor"}, {"mode": "nearest", "nearest_mode": "ceil"},
          {"mode": "linear", "antialias": 1}, {"mode": "cubic", "antialias": 1}]
row("Resize", "x:T[1,1,h,w] - - s=[1,1,4,5]", "f32 u8 i8", RESIZE, dims=IMAGE, rtol=1e-3)
# From 7 to 4 element 2 lies at 3.5, in f32 a little before it: onnxruntime takes it up in operator set 18 and down since 19, as we do in both.
row("Resize", "x:T[1,1,h,w] - - s=[1,1,4,5]", "f32 u8 i8",
    [{"mode": "nearest", "nearest_mode": "round_prefer_ceil", "coordinate_transformation_mode": "asymmetric"}], dims={"h": [1, 2, 3, 5], "w": [1, 3, 4, 7]})
row("Resize", "x:T[1,2,h,w] - s=f32:[1,1,1.5,0.75]", "f32 f16", [{"mode": "nearest"}, {"mode": "linear"}], dims={"h": [2, 3, 5], "w": [3, 4, 7]}, rtol=1e-3)
row("GridSample", "x:T[n,c,h,w] g:T[n,a,b,2]", "f32 f64",
    [{}, {"mode": "nearest"}, {"mode": "cubic"}, {"mode": "cubic", "padding_mode": "border"}, {"padding_mode": "border"}, {"padding_mode": "reflection", "align_corners": 1}], dims=IMAGE, rtol=1e-3)
row("AffineGrid", "t:T[n,2,3] s=[3,2,4,5]", "f32 f64", [{}, {"align_corners": 1}], dims={"n": [3]})
row("DFT", "x:T[b,n,1]", "f32 f64", [{}, {"onesided": 1}, {"inverse": 0}], dims={"n": [1, 2, 3, 5, 8]}, opset=20)
row("DFT", "x:T[b,n,2] - a=-2", "f32 f64", [{}, {"inverse": 1}], dims={"n": [1, 2, 3, 5, 8]}, opset=20)
row("STFT", "x:f32[n,16,1] s=4 w=f32:[0.1,0.5,0.9,1,0.7,0.4,0.2,0.1]", "", [{}, {"onesided": 0}])
row("MelWeightMatrix", "b=8 l=16 r=8000 low=f32:0.0 high=f32:4000.0")
row("MelWeightMatrix", "b=20 l=16 r=8000 low=f32:100.0 high=f32:3000.0")  # sides of no width
row("MelWeightMatrix", "b=6 l=32 r=8000 low=f32:4000.0 high=f32:3500.0")  # and edges that go back

row("QuantizeLinear", "x:f32[n,m] s:f32[] z:T[]", "u8 i8 u16 i16", fills={"s": "1 3", "z": "0 3"})
row("QuantizeLinear", "x:f32[n,m] s:f32[m] z:T[m]", "u8 i8", fills={"s": "1 3", "z": "0 3"})
row("QuantizeLinear", "x:f32[4,m] s:f32[2,m] z:T[2,m]", "u8 i8", [{"axis": 0, "block_size": 2}], fills={"s": "1 3", "z": "0 3"}, dims=some("m"))
row("DequantizeLinear", "x:T[n,m] s:f32[m] z:T[m]", "u8 i8 u16 i16", fills={"s": "1 3"})
row("DequantizeLinear", "x:T[4,m] s:f32[2,m] z:T[2,m]", "u8 i8", [{"axis": 0, "block_size": 2}], fills={"s": "1 3"}, dims=some("m"))
row("DynamicQuantizeLinear", "x:f32[n,m]", outputs=3)

SEQUENCES = {"t": [1, 2, 5], "n": [1, 2, 3]}
for op, gates, states in (("LSTM", 4, "h:f32[1,n,5] c:f32[1,n,5]"), ("GRU", 3, "h:f32[1,n,5]"), ("RNN", 1, "h:f32[1,n,5]")):
    outputs = 3 if op == "LSTM" else 2
    base = f"x:f32[t,n,3] w:f32[1,{gates * 5},3] r:f32[1,{gates * 5},5]"
    row(op, base, "", [{"hidden_size": 5}, {"hidden_size": 5, "direction": "reverse"}], outputs=outputs, dims=SEQUENCES)
    row(op, f"{base} b:f32[1,{gates * 10}] l:i32[n] {states}", "", [{"hidden_size": 5}, {"hidden_size": 5, "clip": 0.5}], outputs=outputs, dims=SEQUENCES,
        fills={"l": "1 t"})
    row(op, f"x:f32[t,n,3] w:f32[2,{gates * 5},3] r:f32[2,{gates * 5},5] b:f32[2,{gates * 10}]", "", [{"hidden_size": 5, "direction": "bidirectional"}],
        outputs=outputs, dims=SEQUENCES)
row("GRU", "x:f32[t,n,3] w:f32[1,15,3] r:f32[1,15,5] b:f32[1,30]", "", [{"hidden_size": 5, "linear_before_reset": 1}], outputs=2, dims=SEQUENCES)
row("LSTM", "x:f32[t,n,3] w:f32[1,20,3] r:f32[1,20,5] b:f32[1,40] - h:f32[1,n,5] c:f32[1,n,5] p:f32[1,15]", "", [{"hidden_size": 5}], outputs=3,
    dims=SEQUENCES)
# The order of its weights' axes is [directions, inputs, 4 * hidden].
DYNAMIC = "x:f32[t,n,3] w:T[1,3,20] r:T[1,5,20] b:f32[1,40] - h:f32[1,n,5] c:f32[1,n,5] - ws=f32:[0.01] wz=T:[0] rs=f32:[0.02] rz=T:[0]"
row("DynamicQuantizeLSTM", DYNAMIC, "i8", [{"hidden_size": 5}], outputs=3, dims=SEQUENCES, domain="com.microsoft", rtol=1e-2)
row("DynamicQuantizeLSTM", DYNAMIC.replace("wz=T:[0]", "wz=T:[4]").replace("rz=T:[0]", "rz=T:[2]"), "u8", [{"hidden_size": 5, "direction": "reverse"}],
    outputs=3, dims=SEQUENCES, domain="com.microsoft", rtol=1e-2)
BOTH = DYNAMIC.replace("[1,", "[2,").replace(":[0]", ":[0,0]").replace(":[0.01]", ":[0.01,0.02]").replace(":[0.02]", ":[0.02,0.03]")
row("DynamicQuantizeLSTM", BOTH, "i8", [{"hidden_size": 5, "direction": "bidirectional"}], outputs=3, dims=SEQUENCES,
    domain="com.microsoft", rtol=1e-2)

row("DequantizeLinear", "x:T[n,m] s:f32[] z:T[]", "u8 i8", domain="com.microsoft", fills={"s": "1 3"})
row("QuantizeLinear", "x:f32[n,m] s:f32[] z:T[]", "u8 i8", domain="com.microsoft", fills={"s": "1 3", "z": "0 3"})
row("TransposeMatMul", "a:f32[b,k,n] b_:f32[b,k,m]", "", [{"transA": 1, "alpha": 0.5}], domain="com.microsoft")
row("QLinearConv", "x:u8[n,2,h,w] xs=f32:0.02 xz=u8:12 k:T[3,2,3,3] ks=f32:0.03 kz=T:3 ys=f32:0.05 yz=u8:7", "u8 i8", dims=WIDE, domain="com.microsoft")
row("QLinearSoftmax", "x:u8[n,m] s=f32:0.1 z=u8:3 ys=f32:0.01 yz=u8:0", "", [{"opset": 13, "axis": -1}], dims=some("nm"), domain="com.microsoft")
row("Trilu", "x:T[b,n,m] k:i64[]", "f32 f64 i64", [{}, {"upper": 0}], fills={"k": "-4 4"}, domain="com.microsoft")

row("Attention", "q:T[b,2,s,4] k:T[b,2,t,4] v:T[b,2,t,6]", "f32 f16", [{}, {"is_causal": 1}, {"scale": 0.3}], opset=23, dims={"s": [1, 2, 5], "t": [1, 3, 5]})
row("Attention", "q:f32[b,2,s,4] k:f32[b,2,t,4] v:f32[b,2,t,6] m:T[s,t]", "f32 bool i32 i64 u8", opset=23, dims={"s": [1, 2, 5], "t": [1, 3, 5]})
ATTENTION = {"s": [1, 2, 5], "t": [1, 3, 7], "p": [0, 1, 6]}
row("Attention", "q:f32[b,4,s,8] k:f32[b,2,t,8] v:f32[b,2,t,8] m:f32[s,t]", "",
    [{"softcap": 3.0, "qk_matmul_output_mode": mode} for mode in range(4)], outputs=4, opset=23, dims=ATTENTION)
row("Attention", "q:f32[b,4,s,8] k:f32[b,2,s,8] v:f32[b,2,s,8] - p:f32[b,2,p,8] w:f32[b,2,p,8]", "", [{"is_causal": 1}], outputs=3, opset=23, dims=ATTENTION)
row("Attention", "q:f32[b,s,32] k:f32[b,t,16] v:f32[b,t,16] m:bool[b,1,s,t]", "", [{"q_num_heads": 4, "kv_num_heads": 2}], opset=23, dims=ATTENTION)
row("Attention", "q:f32[b,4,s,8] k:f32[b,2,t,8] v:f32[b,2,t,8] - - - n:i64[b]", "", [{}, {"is_causal": 1}], fills={"n": "1 t"}, opset=24, dims={"b": [1, 2], **ATTENTION})
row("RotaryEmbedding", "x:f32[b,4,s,8] c:f32[9,2] d:f32[9,2] p:i64[b,s]", "", [{"rotary_embedding_dim": 4}], fills={"p": "0 8"}, opset=23, dims=some("bs"))
row("RotaryEmbedding", "x:f32[b,s,32] c:f32[b,s,4] d:f32[b,s,4]", "", [{"num_heads": 4, "interleaved": 1}], opset=23, dims=some("bs"))
row("RMSNormalization", "x:f32[b,n,m] s:f32[n,m]", "", [{"axis": 1}], opset=23, dims=some("bnm"))
row("RMSNormalization", "x:f32[b,n,m] s:f32[m]", "", [{"axis": 1, "epsilon": 0.1}], opset=23, dims=some("bnm"))
row("RotaryEmbedding", "x:T[b,2,s,4] c:T[b,s,2] n:T[b,s,2]", "f32 f16", [{}, {"interleaved": 1}], opset=23)
row("NegativeLogLikelihoodLoss", "x:f32[n,5,d] t:i64[n,d]", "", [{"reduction": r} for r in ("mean", "sum", "none")], fills={"t": "0 4"}, dims=some("nd"))
row("SoftmaxCrossEntropyLoss", "x:f32[n,5,d] t:i64[n,d]", "", [{"reduction": r} for r in ("mean", "sum", "none")], fills={"t": "0 4"}, dims=some("nd"))
row("StringConcat", "x:string[n,m] y:string[m]")
row("StringSplit", "x:string[n]", "", [{}, {"delimiter": ","}, {"delimiter": ",", "maxsplit": 1}], outputs=2)
row("StringNormalizer", "x:string[n]", "", [{"case_change_action": "UPPER", "locale": "C"}, {"case_change_action": "LOWER", "stopwords": ["a", "b c"], "locale": "C"}], dims={"n": [1, 2, 5]})
row("RegexFullMatch", "x:string[n,m]", "", [{"pattern": "a+"}, {"pattern": ".*,.*"}])
row("TfIdfVectorizer", "x:T[n]", "i32 i64", [
    {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1, "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2],
     "pool_int64s": [2, 3, 2, 3]}])
row("LabelEncoder", "x:i64[n,m]", "", [{"keys_int64s": [1, 2, 4], "values_floats": [0.5, 1.5, -1.0], "default_float": 9.0}], domain="ai.onnx.ml")
row("Binarizer", "x:f32[n,m]", "", [{"threshold": 0.2}], domain="ai.onnx.ml")
row("ArrayFeatureExtractor", "x:T[n,m] i:i64[k]", "f32 i64", fills={"i": "0 0"}, domain="ai.onnx.ml")
row("ArrayFeatureExtractor", 'c=string:["a","b","c"] i:i64[k]', "", fills={"i": "0 2"}, domain="ai.onnx.ml")
row("ArrayFeatureExtractor", 'c=string:[["a","b","c"]] i:i64[k]', "", fills={"i": "0 2"}, domain="ai.onnx.ml")
row("Gather", 'c=string:["a","b","c"] i:T[n,m]', "i64 i32", fills={"i": "-3 2"})
# Strings are moved by their numbers.
# onnxruntime copies the first string of a slice only: slices of one here.
row("Gather", "x:string[n,m] i:i64[k]", "", [{"axis": 1}], fills={"i": "0 m-1"}, dims=some("nm"))
row("GatherElements", "x:string[n,m] i:i64[n,m]", "", [{}, {"axis": 1}], fills={"i": "0 0"}, dims=some("nm"))
row("GatherND", "x:string[n,m] i:i64[k,1]", "", fills={"i": "0 0"}, dims=some("nm"))
row("ScatterElements", "x:string[n,m] i:i64[1,m] u:string[1,m]", "", [{}, {"axis": 0}], fills={"i": "0 n-1"}, dims=some("nm"), opset=11)
row("ScatterND", "x:string[n,m] i:i64[1,1] u:string[1,m]", "", fills={"i": "0 n-1"}, dims=some("nm"), opset=11)
row("Where", "c:bool[n,m] a:string[n,m] b:string[m]", opset=16)
row("Concat", "a:string[n,m] b:string[k,m]", "", [{"axis": 0}])
row("Concat", "a:string[n,m] b:string[n,k] c:string[n,2]", "", [{"axis": -1}])
row("Slice", "x:string[n,m] s:i64[1] e:i64[1] a=[1] t=[-2]", fills={"s": "-3 9", "e": "-9 3"})
row("Split", "x:string[n,6]", "", [{"axis": 1, "num_outputs": 3}], outputs=3)
row("Transpose", "x:string[a,b,c]", "", [{}, {"perm": [0, 2, 1]}])
row("Expand", "x:string[n,1] s=[1,3]")
row("Tile", "x:string[n,m] r=[2,3]", opset=13)
row("Reshape", "x:string[n,4] s=[2,-1]")
row("Squeeze", "x:string[n,1,m] a=[1]")
row("Unsqueeze", "x:string[n,m] a=[0,-1]")
row("Compress", "x:string[n,m] c:bool[n]", "", [{"axis": 0}])
row("ReverseSequence", "x:string[4,m] l=[4,1,2,3]", "", [{"batch_axis": 0, "time_axis": 1}], dims={"m": [4, 5, 7]})
row("Unique", "x:string[n]", "", [{}, {"sorted": 0}], outputs=4)
row("OneHot", "i:i64[n,m] d=5 v:string[2]", "", [{}, {"axis": 0}], fills={"i": "-5 4"})
row("Cast", "x:string[n]", "", [{"to": 8}])
row("Cast", "x:T[n]", "i64 i32 u8", [{"to": 8}])
row("Identity", "x:string[n,m]")
row("CategoryMapper", "x:i64[n,m]", "", [{"cats_int64s": [1, 2, 4], "cats_strings": ["a", "b", "c"]}], domain="ai.onnx.ml")
row("CategoryMapper", "x:string[n,m]", "", [{"cats_int64s": [1, 2, 4], "cats_strings": ["a", "b", "a,b"], "default_int64": 9}], domain="ai.onnx.ml")
row("FeatureVectorizer", "x:T[n,3] y:T[n,2]", "f32 f64 i32 i64", [{"inputdimensions": [3, 2]}], domain="ai.onnx.ml", dims=some("n"))
row("Imputer", "x:f32[n,3]", "", [{"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": 1.0}, {"imputed_value_floats": [7.0], "replaced_value_float": float("nan")}],
    domain="ai.onnx.ml", fills={"x": "0 2"})
row("Imputer", "x:i64[n,3]", "", [{"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 1}, {"imputed_value_int64s": [7], "replaced_value_int64": 1}],
    domain="ai.onnx.ml", fills={"x": "0 3"})
TRANSFORMS = [{"post_transform": name} for name in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")]
TWO = {"coefficients": [0.5, -1.0, 2.0], "intercepts": [0.3]}
THREE = {"coefficients": [0.5, -1.0, 2.0, 1.0, 0.1, -0.7, -0.2, 0.3, 0.4], "intercepts": [0.3, -0.1, 0.2]}
row("LinearClassifier", "x:T[n,3]", "f32 f64 i32 i64", [{**TWO, **how, "classlabels_ints": [5, 7]} for how in TRANSFORMS], outputs=2, domain="ai.onnx.ml", dims=some("n"))
row("LinearClassifier", "x:f32[n,3]", "", [{**THREE, **how, "classlabels_ints": [5, 7, 1]} for how in TRANSFORMS], outputs=2, domain="ai.onnx.ml", dims=some("n"))
row("LinearClassifier", "x:f32[n,3]", "", [{**THREE, "classlabels_strings": ["a", "b", "c"]}], outputs=2, domain="ai.onnx.ml", dims=some("n"))
row("LinearRegressor", "x:f32[n,3]", "", [TWO, {**TWO, "post_transform": "LOGISTIC"}, *({**THREE, **how, "targets": 3} for how in TRANSFORMS)], domain="ai.onnx.ml", dims=some("n"))
row("Normalizer", "x:T[n,m]", "f32 f64 i32 i64", [{"norm": norm} for norm in ("MAX", "L1", "L2")], domain="ai.onnx.ml", dims=some("nm"))
row("Normalizer", "x:f32[m]", "", [{"norm": norm} for norm in ("MAX", "L1", "L2")], domain="ai.onnx.ml", dims=some("m"))
row("OneHotEncoder", "x:T[n,m]", "i64 i32 f32 f64", [{"cats_int64s": [1, 0, 2]}, {"cats_int64s": [3, 2, 1, 0], "zeros": 0}], domain="ai.onnx.ml", fills={"x": "0 3"})
row("OneHotEncoder", "x:string[n]", "", [{"cats_strings": ["b", "a"]}], domain="ai.onnx.ml")
VECTORS = {"n_supports": 2, "coefficients": [0.5, -1.5], "support_vectors": [1.0, 0.2, -0.3, -0.5, 0.7, 0.1], "rho": [0.25]}
row("SVMRegressor", "x:f32[n,3]", "", [{**VECTORS, "kernel_type": kind, "kernel_params": [0.6, 0.4, 3.0], **more}
                                       for kind in ("LINEAR", "POLY", "RBF", "SIGMOID") for more in ({}, {"one_class": 1})], domain="ai.onnx.ml", dims=some("n"), rtol=1e-3)
row("SVMRegressor", "x:f32[n,3]", "", [{"coefficients": [0.5, -1.0, 2.0], "rho": [0.3]}], domain="ai.onnx.ml", dims=some("n"))
MACHINE = {"coefficients": [0.5, -1.5, 0.25, 1.0, -0.5], "support_vectors": [1.0, 0.2, -0.3, -0.5, 0.7, 0.1, 0.3, -0.9, 0.6, 0.2, 0.2, -1.1, -0.4, 0.8, 0.9],
           "kernel_params": [0.6, 0.4, 3.0]}
TWO = {**MACHINE, "vectors_per_class": [2, 3], "rho": [0.1], "classlabels_ints": [4, 9]}
THREE = {**MACHINE, "coefficients": [0.5, -1.5, 0.25, 1.0, -0.5, -0.75, 0.3, 1.25, -0.2, 0.6], "vectors_per_class": [2, 1, 2], "rho": [0.1, -0.2, 0.05], "classlabels_strings": ["b", "a", "c"]}
PROBABLE = {"prob_a": [-1.5, -0.8, -1.1], "prob_b": [0.1, -0.2, 0.05]}
for machine, chances in ((TWO, {k: v[:1] for k, v in PROBABLE.items()}), (THREE, PROBABLE)):
    row("SVMClassifier", "x:T[n,3]", "f32 f64 i64", [{**machine, "kernel_type": kind, **more} for kind in ("RBF", "LINEAR", "POLY", "SIGMOID") for more in ({}, chances)]
        + [{**machine, "kernel_type": "RBF", "post_transform": transform, **more} for transform in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO") for more in ({}, chances)],
        domain="ai.onnx.ml", outputs=2, dims=some("n"), rtol=1e-3)
for weights in ([0.5, -1.0, 2.0, -0.3, 0.8, 0.1], [0.5, 1.0, 2.0, 0.3, 0.8, 0.1]):
    row("SVMClassifier", "x:f32[n,3]", "", [{"coefficients": weights, "rho": [0.2], "classlabels_ints": [4, 9], "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], **more}
                                           for more in ({}, {"prob_a": [1.0], "prob_b": [0.0]}, {"post_transform": "SOFTMAX"})], domain="ai.onnx.ml", outputs=2, dims=some("n"))
row("SVMClassifier", "x:f32[n,2]", "", [{"coefficients": [0.5, -1.0, 2.0, -0.3, 0.8, 0.1], "rho": [0.2], "classlabels_strings": ["x", "y", "z"], "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}], domain="ai.onnx.ml", outputs=2, dims=some("n"))
row("Scaler", "x:T[n,3]", "f32 f64 i32 i64", [{"offset": [1.0, 2.0, 0.5], "scale": [0.5, 2.0, -1.0]}, {"offset": [1.0], "scale": [0.5]}], domain="ai.onnx.ml", dims=some("n"))


def trees(prefix, weights, modes=("BRANCH_LEQ", "BRANCH_LEQ"), missing=0):
    """Two trees of two splits: weights has (tree, leaf 0 to 2, target, weight)."""
    nodes = {"nodes_treeids": [0] * 5 + [1] * 5, "nodes_nodeids": [0, 1, 2, 3, 4] * 2, "nodes_featureids": [0, 2, 0, 0, 0, 1, 0, 0, 0, 0],
             "nodes_values": [0.25, 1.0, 0.0, 0.0, 0.0, -0.5, 0.75, 0.0, 0.0, 0.0], "nodes_modes": [*modes, "LEAF", "LEAF", "LEAF"] * 2,
             "nodes_truenodeids": [1, 3, 0, 0, 0] * 2, "nodes_falsenodeids": [2, 4, 0, 0, 0] * 2, "nodes_missing_value_tracks_true": [missing] * 10}
    return nodes | {f"{prefix}_treeids": [w[0] for w in weights], f"{prefix}_nodeids": [w[1] + 2 for w in weights], f"{prefix}_ids": [w[2] for w in weights],
                    f"{prefix}_weights": [float(w[3]) for w in weights]}


LEAVES = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
ONE = [(*leaf, 0, 0.3 * i + 0.05) for i, leaf in enumerate(LEAVES)]
EACH = [(*leaf, target, 0.3 * i - 0.5 * target) for i, leaf in enumerate(LEAVES) for target in range(3)]
APART = [(tree, leaf, tree, 0.3 * leaf - 0.2) for tree, leaf in LEAVES]
SOME = [(*leaf, i % 3, 0.4 - 0.3 * i) for i, leaf in enumerate(LEAVES)]
row("TreeEnsembleRegressor", "x:T[n,3]", "f32 f64 i32 i64", [
    {**trees("target", weights), "n_targets": targets, "aggregate_function": how, **more} for weights, targets in ((ONE, 1), (EACH, 3), (APART, 2), (SOME, 3))
    for how, more in (("SUM", {}), ("AVERAGE", {"base_values": [0.5] * targets} if weights is not SOME else {}), ("MIN", {}), ("MAX", {}))], domain="ai.onnx.ml", dims=some("n"), opset=21)
row("TreeEnsembleRegressor", "x:f32[n,3]", "", [
    {**trees("target", EACH, modes, missing), "n_targets": 3} for modes in (("BRANCH_LT", "BRANCH_GTE"), ("BRANCH_GT", "BRANCH_GT"), ("BRANCH_EQ", "BRANCH_NEQ")) for missing in (0, 1)],
    domain="ai.onnx.ml", dims=some("n"))
row("TreeEnsembleRegressor", "x:f32[n,3]", "", [{**trees("target", EACH), "n_targets": 3, **how} for how in TRANSFORMS], domain="ai.onnx.ml", dims=some("n"))
row("TreeEnsembleClassifier", "x:T[n,3]", "f32 f64 i32 i64", [
    {**trees("class", weights), "classlabels_int64s": [4, 6, 8][:classes], **how} for weights, classes in ((ONE, 2), (EACH, 3), (APART, 3), (SOME, 3)) for how in TRANSFORMS],
    outputs=2, domain="ai.onnx.ml", dims=some("n"))
row("TreeEnsembleClassifier", "x:f32[n,3]", "", [
    {**trees("class", [(*w[:2], to, w[3] - less) for w in ONE]), "classlabels_strings": ["a", "b"], **how, **more}
    for to, more in ((0, {}), (1, {}), (0, {"base_values": [0.3]})) for less in (0, 0.6) for how in TRANSFORMS], outputs=2, domain="ai.onnx.ml", dims=some("n"))
row("TreeEnsembleClassifier", "x:f32[n,3]", "", [{**trees("class", EACH), "classlabels_strings": ["a", "b", "c"], "base_values": [0.1, 0.9, 0.2]}], outputs=2,
    domain="ai.onnx.ml", dims=some("n"))

# Operators in the form they had. onnxruntime knows versions from 7 on.
old("Clip", "x:f32[n,m]", "", [{}, {"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 0.7}], (6, 10))
for op in "ReduceSum ReduceProd ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split():
    old(op, "x:T[n,m,k]", "f32 f64 i32" if op not in ("ReduceProd", "ReduceLogSumExp") else "f32 f64", [{}, {"axes": [1]}, {"axes": [0, 2], "keepdims": 0}],
        (7, 11, 12), fills={"x": "1 3"}, dims=some("nmk"))
    old(op, "x:f32[n,m]", "", [{"axes": [-1]}], (11, 12 if op == "ReduceSum" else 17), fills={"x": "1 3"}, dims=some("nm"))
old("Slice", "x:T[n,m]", "f32 i32", [{"starts": [1], "ends": [-1]}, {"starts": [0, -3], "ends": [100, 100], "axes": [0, 1]},
                                     {"starts": [-2], "ends": [2147483647], "axes": [1]}], (7, 9))
old("Split", "x:T[n,6]", "f32 i32", [{"axis": 1}, {"axis": 1, "split": [1, 2, 3]}], (7, 11), outputs=3)
old("Split", "x:f32[n,6]", "", [{"axis": -1}], (11,), outputs=3)
old("Pad", "x:f32[n,m]", "", [{"pads": [1, 0, 2, 1]}, {"pads": [1, 0, 2, 1], "value": 1.5}, {"pads": [1, 0, 1, 1], "mode": "edge"},
                              {"pads": [1, 0, 1, 1], "mode": "reflect"}, {"pads": [-1, 0, 1, -1]}], (7, 10), dims={"n": [3, 4, 5], "m": [3, 5]})
old("TopK", "x:f32[n,m]", "", [{"k": 2}, {"k": 1, "axis": 0}], (7, 9), outputs=2, dims={"n": [3, 5], "m": [3, 7]})
old("Squeeze", "x:T[n,1,m]", "f32 i32", [{"axes": [1]}], (7, 11))
old("Unsqueeze", "x:T[n,m]", "f32 i32", [{"axes": [0, 2]}], (7, 11))
old("DFT", "x:T[b,n,1]", "f32 f64", [{}, {"axis": 1}, {"onesided": 1}, {"axis": 0}], (17,), dims={"b": [3, 5], "n": [1, 2, 3, 5, 8]})
old("GridSample", "x:f32[n,c,h,w] g:f32[n,a,b,2]", "", [{"mode": "bicubic"}, {"mode": "bilinear"}], (16,), rtol=1e-3, dims=IMAGE)
old("GroupNormalization", "x:f32[n,4,h,w] s:f32[2] b:f32[2]", "", [{"num_groups": 2}], (18,), rtol=1e-3, dims={"h": [2, 3]})
old("BatchNormalization", "x:f32[n,2,3] s:f32[2,3] b:f32[2,3] m:f32[2,3] v:f32[2,3]", "", [{"spatial": 0}], (7,), fills={"v": "1 3"})
old("Scatter", "x:T[n,m] i:i64[k,m] u:T[k,m]", "f32 i32", [{}], (9, 10), fills={"i": "0 n-1"}, dims={"k": [1]})
for name, dtypes in (("i64", "f32 f64 i32 i64"), ("f32", "f64 i32 i64"), ("i32", "f32 i64")):
    old("Pow", f"a:T[n,m] b:{name}[m]", dtypes, [{}], (12, 13, 15), fills={"a": "1 9", "b": "0 3"})
SMALLER = {"h": [2, 3, 5, 7, 8], "w": [3, 4, 7, 9]}
for scales in ("1,1,0.5,0.5", "1,1,0.6,0.6", "1,1,0.7,1.7", "1,1,2,3", "1,1,0.3,1", "1,1,1.3,0.9"):
    old("Resize", f"x:T[1,2,h,w] s=f32:[{scales}]", "f32 u8 i32", [{}], (10,), dims=SMALLER)
    old("Resize", f"x:f32[1,2,h,w] s=f32:[{scales}]", "", [{"mode": "linear"}], (10,), dims=SMALLER)
    for mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"):
        old("Resize", f"x:T[1,2,h,w] r=f32:[] s=f32:[{scales}]", "f32 u8",
            [{"coordinate_transformation_mode": mode, "nearest_mode": n} for n in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")],
            (11, 12), dims=SMALLER)
        old("Resize", f"x:f32[1,2,h,w] r=f32:[] s=f32:[{scales}]", "", [{"mode": m, "coordinate_transformation_mode": mode} for m in ("linear", "cubic")],
            (11, 13), dims=SMALLER, rtol=1e-3)
for sizes in ("1,2,4,5", "1,2,1,1", "1,2,3,9"):
    for mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"):
        old("Resize", f"x:f32[1,2,h,w] r=f32:[] s=f32:[] z=[{sizes}]", "",
            [{"mode": m, "coordinate_transformation_mode": mode} for m in ("nearest", "linear", "cubic")], (11,), dims=SMALLER, rtol=1e-3)
old("Upsample", "x:T[1,2,h,w] s=f32:[1,1,2,1.5]", "f32 u8", [{}], (9,), dims=IMAGE)
old("Upsample", "x:f32[1,2,h,w] s=f32:[1,1,2,1.5]", "", [{"mode": "linear"}], (9,), dims=IMAGE)
old("Upsample", "x:f32[1,2,h,w]", "", [{"scales": [1.0, 1.0, 2.0, 3.0]}, {"scales": [1.0, 1.0, 2.0, 1.5], "mode": "linear"}, {"scales": [1.0, 1.0, 1.5, 1.5]}],
    (7, 8), dims=SMALLER)

# Attributes are real, tensors need not be.
row("Shrink", "x:T[n,m]", "i32 i64 i8 i16", [{"lambd": 1.5, "bias": 1.5}, {"lambd": 0.5, "bias": 0.25}, {"lambd": 1.0}], fills={"x": "-7 7"})
row("Binarizer", "x:T[n,m]", "i32 i64", [{"threshold": 0.5}, {"threshold": -0.5}], domain="ai.onnx.ml")
# Images smaller than the window.
SMALL = {"n": [1, 2], "c": [1, 3], "h": [1, 2, 3, 4, 5], "w": [1, 2, 3, 5]}
for op in "MaxPool AveragePool LpPool".split():
    row(op, "x:f32[n,c,h,w]", "", [{"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, {"kernel_shape": [3, 3], "strides": [3, 3], "ceil_mode": 1},
                                   {"kernel_shape": [3, 2], "strides": [3, 2], "ceil_mode": 1, "pads": [1, 0, 0, 1]}], dims=SMALL, opset=19)
# Scalars along their one element.
for op in "ReduceSum ReduceMax ReduceL2 ReduceMean".split():
    row(op, "x:f32[] a=[0]", "", [{}, {"keepdims": 0}], opset=18)
    row(op, "x:f32[] a=[-1]", "", [{}, {"keepdims": 0}], opset=18)
    row(op, "x:f32[] a:i64[1]", "", [{}, {"keepdims": 0}], fills={"a": "-1 0"}, opset=18)
# One number or one for each place of the axis: the size says which.
EITHER = {"m": [3], "k": [1, 3]}
row("QuantizeLinear", "x:f32[n,m] s:f32[k] z:T[k]", "u8 i8", fills={"s": "1 3", "z": "0 3"}, dims=EITHER)
row("DequantizeLinear", "x:T[n,m] s:f32[k] z:T[k]", "u8 i8", fills={"s": "1 3", "z": "0 3"}, dims=EITHER)
row("QuantizeLinear", "x:f32[n,m] s:f32[]", "", [{"output_dtype": 0}, {"output_dtype": 3}], fills={"s": "1 3"})
row("MatMulInteger", "a:u8[n,k] b:i8[k,m] z:u8[] w:i8[l]", dims={"k": [1, 2, 5], "m": [3], "l": [1, 3]})

# Words and tokens.
TOKENS = {"mark": 0, "pad_value": "#", "mincharnum": 1}
for inputs in ("x:string[n]", "x:string[n,m]"):
    row("Tokenizer", inputs, "", [{**TOKENS, **more} for more in (
        {"separators": [","]}, {"separators": [""]}, {"tokenexp": "."}, {"separators": [" ", ","], "mark": 1}, {"separators": ["[ ,]+"], "mincharnum": 2},
        {"tokenexp": "[a-z]+"}, {"tokenexp": "[a-zA-Z]+,|a", "mark": 1}, {"tokenexp": "a|aa|b c"}, {"tokenexp": "[^a]+", "mincharnum": 3}, {"tokenexp": "\\w+\\b"})],
        domain="com.microsoft", dims=some("nm"))

# onnxruntime's own forms of what others say.
MS = {"domain": "com.microsoft"}
row("ExpandDims", "x:f32[n,m] c=i32:1", **MS)
row("ExpandDims", "x:f32[n,m] c=i32:-1", **MS)
row("Range", "a:T[] b:T[] c:T[]", "f32 f64 i32 i64 i16", fills={"a": "0 3", "b": "4 9", "c": "1 2"}, **MS)
row("Range", "a:i64[] b:i64[]", fills={"a": "0 3", "b": "4 9"}, **MS)
row("Unique", "x:f32[n]", fills={"x": "0 3"}, outputs=3, **MS)
row("GatherND", "x:f32[n,m] i:i64[k,1]", fills={"i": "0 n-1"}, dims=some("nm"), **MS)
row("Pad", "x:f32[n,m] p=[1,0,2,1] v=f32:[0.5]", "", [{}, {"mode": "reflect"}, {"mode": "edge"}], dims={"n": [3, 5], "m": [3, 5]}, **MS)
row("Pad", "x:f32[n,m] p=[[1,0,2,1]]", dims=some("nm"), **MS)
row("GridSample", "x:f32[n,2,5,4] g:f32[n,h,w,2]", "", [{}, {"mode": "nearest"}, {"mode": "bicubic", "align_corners": 1}, {"padding_mode": "border"}], fills={"g": "-1 1"}, dims=some("nhw"), **MS)
row("CDist", "a:T[n,k] b:T[m,k]", "f32 f64", [{"metric": "euclidean"}, {"metric": "sqeuclidean"}], dims=some("nmk"), rtol=1e-3, **MS)
row("Inverse", "x:T[n,k,k]", "f32 f64", fills={"x": "1 9"}, dims={"n": [1, 3], "k": [1, 2, 3, 5]}, rtol=1e-2, **MS)
row("MatMulInteger16", "a:i16[n,k] b:i16[k,m]", **MS)
row("NhwcMaxPool", "x:T[n,h,w,3]", "i8 u8", [{"kernel_shape": [2, 3]}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}], dims={"n": [1, 2], "h": [5, 7], "w": [5, 7]}, **MS)
row("ConvTransposeWithDynamicPads", "x:f32[n,2,h,w] k:f32[2,3,3,3] p=[1,0,0,1] b:f32[3]", "", [{}, {"strides": [2, 2]}], dims={"n": [1, 2], "h": [3, 5], "w": [3, 5]}, **MS)
row("ScaledSiLU", "x:f32[n,m]", "", [{}, {"alpha": 1.7}], **MS)
row("GatedAdd", "x:f32[n,m] y:f32[n,m] g:f32[n,1]", **MS)
row("GatedRMSNorm", "x:f32[n,m,12] s:f32[4] g:f32[n,m,12]", "", [{}, {"activation": "sigmoid", "epsilon": 0.01}], **MS)
row("BranchwiseRMSNorm", "x:f32[n,3,4] s:f32[4]", **MS)
row("BranchwiseRMSNorm", "x:f32[n,12] s:f32[12]", "", [{"num_branches": 3}], **MS)
row("UnfoldTensor", "x:f32[n,m]", "", [{"size": 2}, {"size": 2, "step": 2, "dim": 0}], dims={"n": [3, 5, 7], "m": [3, 5, 7]}, **MS)
row("LinearAttentionGate", "a:f32[n,m,4] b:f32[4] c:f32[4] d:f32[n,m,4]", outputs=2, **MS)
row("HyperConnectionPreMix", "x:f32[n,3,m] g:f32[n,3]", "", [{}, {"reduction_scale": 0.5}], dims=some("nm"), **MS)
row("HyperConnectionPreMix", "x:f32[n,12] g:f32[n,12]", "", [{"num_branches": 3}], dims=some("n"), **MS)
row("HyperConnectionPostMix", "x:f32[n,3,m] y:f32[n,m] p:f32[n,3] s:f32[n,3,3]", dims=some("nm"), **MS)
row("HyperConnectionPostMix", "x:f32[n,12] y:f32[n,4] p:f32[n,3]", "", [{"num_branches": 3}], dims=some("n"), **MS)
row("NGramRepeatBlock", "i:i64[n,s] x:f32[n,m]", "", [{"ngram_size": k} for k in (1, 2, 3)], fills={"i": "0 3"}, dims={"n": [1, 2, 5], "s": [3, 5, 7], "m": [4, 5, 7]}, **MS)
row("MatMulBnb4", "a:f32[n,32] b:u8[128] s:f32[16]", "", [{"K": 32, "N": 8, "block_size": 16, "quant_type": kind} for kind in (0, 1)], fills={"b": "0 255"}, dims=some("n"), rtol=1e-3, **MS)
row("GatherBlockQuantized", "c:u8[5,16] i:i64[n,m] s:f32[5,2] z:u8[5,1]", "", [{"block_size": 16, "bits": 4}], fills={"c": "0 255", "z": "0 255", "i": "-5 4"}, **MS)
row("GatherBlockQuantized", "c:u8[5,32] i:i64[n,m] s:f32[5,2]", "", [{"block_size": 16, "bits": 8}], fills={"c": "0 255", "i": "-5 4"}, **MS)
row("CausalConvWithState", "x:f32[n,3,m] w:f32[3,1,4] b:f32[3] p:f32[n,3,3]", "", [{}, {"activation": "silu"}], outputs=2, dims=some("nm"), **MS)
row("LinearAttention", "q:f32[n,t,8] k:f32[n,t,8] v:f32[n,t,8] s:f32[n,2,4,4] d:f32[n,t,2] b:f32[n,t,2]", "", [{"q_num_heads": 2, "kv_num_heads": 2}], fills={"d": "-1 0", "b": "0 1"}, outputs=2, dims=some("nt"), **MS)
row("MoE", "x:f32[n,8] r:f32[n,4] a:f32[4,12,8] b:f32[4,12] c:f32[4,8,6] d:f32[4,8]", "",
    [{"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "normalize_routing_weights": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0}], dims=some("n"), rtol=1e-3, **MS)
row("MoE", "x:f32[n,m,8] r:f32[k,4] a:f32[4,6,8] b:f32[4,6] c:f32[4,8,6] d:f32[4,8]", "", [{"k": 2, "activation_type": act, "normalize_routing_weights": 1} for act in ("relu", "gelu", "silu", "identity")],
    dims={"n": [3], "m": [1], "k": [3]}, rtol=1e-3, **MS)
row("MoE", "x:f32[n,8] r:f32[n,4] a:f32[4,6,8] - c:f32[4,8,6]", "", [{"k": k, "activation_type": "relu", "normalize_routing_weights": on} for k in (1, 2, 4) for on in (0, 1)], fills={"r": "0 1"}, dims=some("n"), rtol=1e-3, **MS)
for bits in (4, 8):
    row("QMoE", f"x:f32[n,32] r:f32[n,4] a:u8[4,32,{4 * bits}] s:f32[4,32] b:f32[4,32] c:u8[4,32,{2 * bits}] t:f32[4,32] d:f32[4,32]", "",
        [{"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "normalize_routing_weights": on, "expert_weight_bits": bits} for on in (1, 0)], fills={"a": "0 255", "c": "0 255", "s": "0 1", "t": "0 1"}, dims=some("n"), rtol=1e-2, **MS)
row("Affine", "x:f32[n,m]", "", [{"alpha": 1.5, "beta": 0.5}], opset=8, everyVersion=False)
row("Scale", "x:f32[n,m]", "", [{"scale": 1.5}], opset=8, everyVersion=False)
row("ScaledTanh", "x:f32[n,m]", "", [{"alpha": 1.5, "beta": 0.5}], opset=8, everyVersion=False)
row("ParametricSoftplus", "x:f32[n,m]", "", [{"alpha": 1.5, "beta": 0.5}], opset=8, everyVersion=False)
row("ImageScaler", "x:f32[n,3,h,w]", "", [{"scale": 1.5, "bias": [0.5, 1.0, -1.0]}], opset=8, everyVersion=False)
row("Crop", "x:f32[n,3,h,w]", "", [{"border": [1, 0, 1, 2]}, {"border": [1, 0, 1, 2], "scale": [2, 3]}], dims={"h": [5, 7], "w": [5, 7]}, opset=8, everyVersion=False)
row("DynamicSlice", "x:f32[n,m] s=[0,1] e=[2,9]", dims=some("nm"), opset=8, everyVersion=False)
row("CropAndResize", "x:f32[n,2,h,w] r:f32[k,4] i:i32[k] c=i32:[3,2]", "", [{}, {"mode": "nearest"}, {"extrapolation_value": 7.0}], fills={"r": "0 1", "i": "0 n-1"}, dims={"n": [1, 2], "h": [5, 7], "w": [5, 7]}, **MS)
for layout in (0, 1):
    row("MRotaryEmbedding", "x:f32[b,s,24] p:i64[3,b,s] c:f32[9,6] d:f32[9,6]", "", [{"mrope_section": [2, 2, 2], "mrope_layout": layout, "num_heads": 2}, {"mrope_section": [2, 2, 2], "mrope_layout": layout, "num_heads": 2, "interleaved": 1}],
        fills={"p": "0 8"}, dims=some("bs"), **MS)
row("MRotaryEmbedding", "x:f32[b,2,s,16] p:i64[3,b,s] c:f32[9,6] d:f32[9,6]", "", [{"mrope_section": [3, 2, 1], "num_heads": 2, "rotary_embedding_dim": 12}], fills={"p": "0 8"}, dims=some("bs"), **MS)
row("DecoderMaskedMultiHeadAttention", "q:f32[b,1,8] k:f32[b,2,s,4] v:f32[b,2,s,4]", "", [{"num_heads": 2}], dims=some("bs"), **MS)
row("DecoderMaskedMultiHeadAttention", "q:f32[b,1,8] k:f32[b,1,8] v:f32[b,1,8] - - p:f32[b,2,7,4] o:f32[b,2,7,4] n=i32:[3] - - i:f32[24]", "", [{"num_heads": 2, "past_present_share_buffer": 1}], outputs=3, dims=some("b"), **MS)
