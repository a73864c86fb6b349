#!/usr/bin/env python3
"""Writes the models of one node whose instructions instruction_counts.sh counts, and rows.txt beside them: what `./dev bench operators --all` found slow
once, at sizes that take a few milliseconds under callgrind. The language of inputs is that of tests/conformance/sweep_rows.py. Needs numpy and onnx.
"""
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# name: operator, inputs, attributes, dims
MODELS = {
    "transpose": ("Transpose", "x:f32[n,m]", {}, "n=200,m=300"),
    "channels_last": ("Transpose", "x:f32[n,3,h,w]", {"perm": [0, 2, 3, 1]}, "n=1,h=60,w=80"),
    "tile": ("Tile", "x:f32[n,m] r=[3,2]", {}, "n=40,m=100"),
    "pad_reflect": ("Pad", "x:f32[n,c,h,w] p=[0,0,1,1,0,0,1,1]", {"mode": "reflect"}, "n=1,c=8,h=28,w=28"),
    "concat_last": ("Concat", "a:f32[n,m] b:f32[n,k]", {"axis": 1}, "n=100,m=50,k=70"),
    "concat_interleaved": ("Concat", "a:f32[n,m,1] b:f32[n,m,1]", {"axis": 2}, "n=50,m=60"),
    "space_to_depth": ("SpaceToDepth", "x:f32[n,4,h,w]", {"blocksize": 2}, "n=1,h=40,w=40"),
    "einsum_scores": ("Einsum", "a:f32[b,h,s,d] c:f32[b,h,s,d]", {"equation": "bhid,bhjd->bhij"}, "b=1,h=4,s=32,d=32"),
    "resize_linear": ("Resize", "x:f32[n,c,h,w] - s=f32:[1,1,2,2]", {"mode": "linear"}, "n=1,c=4,h=28,w=28"),
    "resize_nearest": ("Resize", "x:f32[n,c,h,w] - s=f32:[1,1,2,2]", {"mode": "nearest"}, "n=1,c=4,h=28,w=28"),
    "tile_short": ("Tile", "x:f32[n,3] r=[5,7]", {}, "n=300"),
    "transpose_unit": ("Transpose", "x:f32[n,c,h,w]", {"perm": [3, 2, 1, 0]}, "n=1,c=16,h=20,w=20"),
    "reduce_columns": ("ReduceSum", "x:f32[n,m] a=[0]", {"keepdims": 0}, "n=100,m=200"),
    "mean_variance": ("MeanVarianceNormalization", "x:f32[n,c,h,w]", {}, "n=4,c=8,h=10,w=10"),
    "quantize": ("QuantizeLinear", "x:f32[n,m] s=f32:0.1 z=i8:3", {}, "n=50,m=100"),
    "dynamic_quantize": ("DynamicQuantizeLinear", "x:f32[n,m]", {}, "n=50,m=100"),
    "vector_by_rows": ("Gemm", "a:f32[n,k] b:f32[m,k]", {"transB": 1}, "n=1,k=128,m=200"),
    "transposed_small": ("ConvTranspose", "x:f32[n,32,h,w] k:f32[32,16,3,3]", {"strides": [2, 2]}, "n=1,h=5,w=5"),
    "transposed_step_one": ("ConvTranspose", "x:f32[n,16,h,w] k:f32[16,8,3,3]", {}, "n=1,h=20,w=20"),
    "col2im_strided": ("Col2Im", "x:f32[n,72,m] i=[21,21] k=[3,3]", {"strides": [2, 2]}, "n=1,m=100"),
    "max_pool_small": ("MaxPool", "x:f32[n,c,h,w]", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, "n=1,c=8,h=14,w=14"),
    "strided_conv_small": ("Conv", "x:f32[n,32,h,w] k:f32[32,32,3,3]", {"strides": [2, 2], "pads": [1, 1, 1, 1]}, "n=1,h=10,w=10"),
}


def main():
    folder = HERE.parents[1] / "conformance"
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("conformance_sweep", folder / "operator_sweep.py")
    sweep = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sweep)
    maker = sweep.Maker()
    for name, (op, inputs, attributes, _) in MODELS.items():
        row = {"op": op, "outputs": 3 if op == "DynamicQuantizeLinear" else 1, "domain": "", "opset": 21}
        model = maker.model(row, list(maker.parse(row | {"inputs": inputs}, "f32")), attributes)
        (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())
    (HERE / "rows.txt").write_text("".join(f"{name} {dims}\n" for name, (*_, dims) in MODELS.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
