#!/usr/bin/env python3
"""Public image networks beside onnxruntime: classifiers and a segmenter as they are exported, batch normalisation folded, random weights, every size open.

    ./dev bench zoo [NAME...] [--threads N] [--seconds S] [--cpu] [--save FOLDER] [--against BUILD] [--quantised FORM] [--passes TEXT] [--profile]

Each network is made here (the layers and widths of the papers and of torchvision), compiled once and run at batch 1 and 4 with 224 x 224 and 160 x 256, in turn with
onnxruntime and, with --against, with another build of ours. Outputs are compared first. Printed per row: the medians in ms and those of the ratios of neighbouring runs; then
geometric means. --cpu counts the time of the processor instead of the clock's, of one thread: for machines busy with other work. --quantised qdq or operator: in bytes, as onnxruntime's
quantiser makes them of three random images (u8 activations, i8 weights with a scale for each channel). --save keeps the ONNX files; --profile adds the time of every kernel; --passes
compiles with these (`-layout`; the other build without). Needs numpy, onnx and onnxruntime.
"""
import argparse
import os
import sys
import tempfile
import time

import numpy as np

import contexts
import feeds
import measuring
import peers

SHAPES = [(1, 224, 224), (1, 160, 256), (4, 224, 224), (4, 160, 256)]


class Net:
    """An ONNX graph in the making. Layers take and give names of values; `channels` knows the width of each."""

    def __init__(self, seed=0):
        from onnx import helper, numpy_helper
        self.helper, self.numpy_helper = helper, numpy_helper
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.channels = [], [], {"image": 3}

    def constant(self, array):
        name = f"w{len(self.initializers)}"
        self.initializers.append(self.numpy_helper.from_array(array, name))
        return name

    def node(self, op, inputs, channels, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.helper.make_node(op, inputs, names, **attributes))
        for name in names:
            self.channels[name] = channels
        return names[0] if outputs == 1 else names

    def conv(self, x, filters, kernel=1, stride=1, group=1, act=None, pad=None):
        channels = self.channels[x]
        shape = (filters, channels // group, kernel, kernel)
        weights = self.random.standard_normal(shape) * np.sqrt((2.0 if act else 1.0) / np.prod(shape[1:]))
        y = self.node("Conv", [x, self.constant(weights.astype(np.float32)), self.constant((0.1 * self.random.standard_normal(filters)).astype(np.float32))], filters,
                      kernel_shape=[kernel] * 2, strides=[stride] * 2, group=group, pads=[kernel // 2 if pad is None else pad] * 4)
        return self.act(y, act)

    def act(self, x, kind):
        channels = self.channels[x]
        if kind == "relu":
            return self.node("Relu", [x], channels)
        if kind == "relu6":
            return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))], channels)
        if kind == "silu":
            return self.node("Mul", [x, self.node("Sigmoid", [x], channels)], channels)
        if kind == "hardswish":
            return self.node("HardSwish", [x], channels)
        return x

    def norm(self, x):
        channels = self.channels[x]
        parts = [self.random.uniform(0.5, 1, channels), 0.1 * self.random.standard_normal(channels), 0.1 * self.random.standard_normal(channels),
                 self.random.uniform(0.5, 1, channels)]
        return self.node("BatchNormalization", [x, *(self.constant(p.astype(np.float32)) for p in parts)], channels)

    def add(self, a, b):
        return self.node("Add", [a, b], self.channels[a])

    def concat(self, parts):
        return self.node("Concat", parts, sum(self.channels[p] for p in parts), axis=1)

    def pool(self, x, kind, kernel, stride, pad=0, ceil=0):
        return self.node(kind + "Pool", [x], self.channels[x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil)

    def squeeze_excite(self, x, squeezed, act, gate):
        mean = self.node("GlobalAveragePool", [x], self.channels[x])
        scale = self.conv(self.conv(mean, squeezed, act=act), self.channels[x])
        scale = self.node(gate, [scale], self.channels[x], **({"alpha": 1 / 6} if gate == "HardSigmoid" else {}))
        return self.node("Mul", [x, scale], self.channels[x])

    def dense(self, x, outputs, act=None):
        weights = self.random.standard_normal((outputs, self.channels[x])) / np.sqrt(self.channels[x])
        return self.act(self.node("Gemm", [x, self.constant(weights.astype(np.float32)), self.constant(np.zeros(outputs, np.float32))], outputs, transB=1), act)

    def pooled(self, x):
        return self.node("Flatten", [self.node("GlobalAveragePool", [x], self.channels[x])], self.channels[x], axis=1)

    def save(self, y, path):
        import onnx
        tensor = self.helper.make_tensor_value_info
        rename = self.helper.make_node("Identity", [y], ["result"])
        graph = self.helper.make_graph([*self.nodes, rename], "net", [tensor("image", onnx.TensorProto.FLOAT, ["batch", 3, "height", "width"])],
                                       [tensor("result", onnx.TensorProto.FLOAT, None)], self.initializers)
        onnx.save(self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", 17)], ir_version=8), path)


def mobilenet_v2(n):
    x = n.conv("image", 32, 3, 2, act="relu6")
    for expand, width, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            step, inside, y = stride if i == 0 else 1, n.channels[x] * expand, x
            if expand > 1:
                y = n.conv(y, inside, act="relu6")
            y = n.conv(n.conv(y, inside, 3, step, group=inside, act="relu6"), width)
            x = n.add(x, y) if step == 1 and n.channels[x] == width else y
    return n.dense(n.pooled(n.conv(x, 1280, act="relu6")), 1000)


def mobilenet_v3_large(n):
    x = n.conv("image", 16, 3, 2, act="hardswish")
    for kernel, inside, width, excite, act, stride in (
            (3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1), (5, 72, 40, 24, "relu", 2), (5, 120, 40, 32, "relu", 1), (5, 120, 40, 32, "relu", 1),
            (3, 240, 80, 0, "hardswish", 2), (3, 200, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1), (3, 480, 112, 120, "hardswish", 1),
            (3, 672, 112, 168, "hardswish", 1), (5, 672, 160, 168, "hardswish", 2), (5, 960, 160, 240, "hardswish", 1), (5, 960, 160, 240, "hardswish", 1)):
        y = n.conv(x, inside, act=act) if inside != n.channels[x] else x
        y = n.conv(y, inside, kernel, stride, group=inside, act=act)
        if excite:
            y = n.squeeze_excite(y, excite, "relu", "HardSigmoid")
        y = n.conv(y, width)
        x = n.add(x, y) if stride == 1 and n.channels[x] == width else y
    return n.dense(n.dense(n.pooled(n.conv(x, 960, act="hardswish")), 1280, "hardswish"), 1000)


def efficientnet_b0(n):
    x = n.conv("image", 32, 3, 2, act="silu")
    for expand, kernel, stride, width, count in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)):
        for i in range(count):
            step, inside, y = stride if i == 0 else 1, n.channels[x] * expand, x
            if expand > 1:
                y = n.conv(y, inside, act="silu")
            y = n.conv(y, inside, kernel, step, group=inside, act="silu")
            y = n.conv(n.squeeze_excite(y, max(1, n.channels[x] // 4), "silu", "Sigmoid"), width)
            x = n.add(x, y) if step == 1 and n.channels[x] == width else y
    return n.dense(n.pooled(n.conv(x, 1280, act="silu")), 1000)


def shuffle(n, x):
    """Channels of the two halves in turn, as exports with open sizes do it."""
    channels = n.channels[x]
    shape = n.node("Shape", [x], 0)
    at = lambda first, last: n.node("Slice", [shape, n.constant(np.array([first])), n.constant(np.array([last]))], 0)
    batch, size = at(0, 1), at(2, 4)
    inner = n.node("Concat", [batch, n.constant(np.array([2, channels // 2])), size], 0, axis=0)
    outer = n.node("Concat", [batch, n.constant(np.array([channels])), size], 0, axis=0)
    return n.node("Reshape", [n.node("Transpose", [n.node("Reshape", [x, inner], 0)], 0, perm=[0, 2, 1, 3, 4]), outer], channels)


def shufflenet_v2(n):
    x = n.pool(n.conv("image", 24, 3, 2, act="relu"), "Max", 3, 2, 1)
    for width, count in ((116, 4), (232, 8), (464, 4)):
        half = width // 2
        for i in range(count):
            if i == 0:
                left = n.conv(n.conv(x, n.channels[x], 3, 2, group=n.channels[x]), half, act="relu")
                right = n.conv(n.conv(n.conv(x, half, act="relu"), half, 3, 2, group=half), half, act="relu")
            else:
                left, right = n.node("Split", [x, n.constant(np.array([half, half]))], half, 2, axis=1)
                right = n.conv(n.conv(n.conv(right, half, act="relu"), half, 3, group=half), half, act="relu")
            x = shuffle(n, n.concat([left, right]))
    return n.dense(n.pooled(n.conv(x, 1024, act="relu")), 1000)


def squeezenet(n):
    x = n.pool(n.conv("image", 64, 3, 2, act="relu", pad=0), "Max", 3, 2, ceil=1)
    for squeezed, width, pooled in ((16, 64, 0), (16, 64, 1), (32, 128, 0), (32, 128, 1), (48, 192, 0), (48, 192, 0), (64, 256, 0), (64, 256, 0)):
        s = n.conv(x, squeezed, act="relu")
        x = n.concat([n.conv(s, width, act="relu"), n.conv(s, width, 3, act="relu")])
        if pooled:
            x = n.pool(x, "Max", 3, 2, ceil=1)
    return n.pooled(n.conv(x, 1000, act="relu"))


def densenet_121(n):
    x = n.pool(n.conv("image", 64, 7, 2, act="relu"), "Max", 3, 2, 1)
    for index, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            y = n.conv(n.act(n.norm(x), "relu"), 128, act="relu")
            x = n.concat([x, n.conv(y, 32, 3)])
        x = n.act(n.norm(x), "relu")
        if index < 3:
            x = n.pool(n.conv(x, n.channels[x] // 2), "Average", 2, 2)
    return n.dense(n.pooled(x), 1000)


def resnet(n, counts, bottleneck):
    x = n.pool(n.conv("image", 64, 7, 2, act="relu"), "Max", 3, 2, 1)
    for index, count in enumerate(counts):
        width = 64 << index
        for i in range(count):
            stride = 2 if i == 0 and index > 0 else 1
            if bottleneck:
                y = n.conv(n.conv(n.conv(x, width, act="relu"), width, 3, stride, act="relu"), 4 * width)
            else:
                y = n.conv(n.conv(x, width, 3, stride, act="relu"), width, 3)
            if n.channels[x] != n.channels[y]:
                x = n.conv(x, n.channels[y], 1, stride)
            x = n.act(n.add(x, y), "relu")
    return n.dense(n.pooled(x), 1000)


def unet(n):
    """Four levels from 32 channels, with transposed convolutions upward."""
    x, kept = "image", []
    for width in (32, 64, 128):
        x = n.conv(n.conv(x, width, 3, act="relu"), width, 3, act="relu")
        kept.append(x)
        x = n.pool(x, "Max", 2, 2)
    x = n.conv(n.conv(x, 256, 3, act="relu"), 256, 3, act="relu")
    for skip in reversed(kept):
        width, channels = n.channels[skip], n.channels[x]
        weights = (n.random.standard_normal((channels, width, 2, 2)) / np.sqrt(channels)).astype(np.float32)
        x = n.node("ConvTranspose", [x, n.constant(weights), n.constant(np.zeros(width, np.float32))], width, kernel_shape=[2, 2], strides=[2, 2])
        x = n.concat([skip, x])
        x = n.conv(n.conv(x, width, 3, act="relu"), width, 3, act="relu")
    return n.conv(x, 2)


NETS = {"mobilenet_v2": mobilenet_v2, "mobilenet_v3_large": mobilenet_v3_large, "efficientnet_b0": efficientnet_b0, "shufflenet_v2": shufflenet_v2,
        "squeezenet": squeezenet, "densenet_121": densenet_121, "resnet_18": lambda n: resnet(n, (2, 2, 2, 2), False), "resnet_50": lambda n: resnet(n, (3, 4, 6, 3), True),
        "unet": unet}


def quantise(path, form):
    """Replaces the model by its quantised form."""
    from onnxruntime import quantization
    random = np.random.default_rng(1)

    class Images(quantization.CalibrationDataReader):
        def __init__(self):
            self.images = iter([{"image": random.random((1, 3, 64, 64), np.float32)} for _ in range(3)])

        def get_next(self):
            return next(self.images, None)

    forms = {"qdq": quantization.QuantFormat.QDQ, "operator": quantization.QuantFormat.QOperator}
    quantization.quantize_static(path, path + ".bytes", Images(), quant_format=forms[form], per_channel=True,
                                 activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    os.replace(path + ".bytes", path)


def measure(runners, seconds, now):
    """Times in ms of runs in turn: {name: array}. `now` in ns."""
    times = {name: [] for name in runners}
    for run in runners.values():
        run()
    end = time.monotonic() + seconds
    while len(next(iter(times.values()))) < 5 or time.monotonic() < end:
        for name, run in runners.items():
            start = now()
            there = run()  # the time that another process took
            times[name].append((now() - start if there is None else there) / 1e6)
    return {name: np.array(t) for name, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETS)}; default: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="per row")
    parser.add_argument("--save", metavar="FOLDER", help="keep the models there")
    parser.add_argument("--against", metavar="BUILD", help="folder of another build of ours, run in turn")
    parser.add_argument("--passes", metavar="TEXT", help="of our build: -layout")
    parser.add_argument("--quantised", choices=("qdq", "operator"))
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="time of the processor, of one thread")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NETS):
        parser.error(f"no network is called {', '.join(sorted(unknown))}")
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        sys.exit("zoo: skipped: onnx or onnxruntime is not installed (./dev setup test)")
    if arguments.cpu and arguments.threads != 1:
        parser.error("--cpu counts the time of one thread")
    clock = "thread_time_ns" if arguments.cpu else "perf_counter_ns"
    now = getattr(time, clock)
    builds = ["dyn", "before"] if arguments.against else ["dyn"]
    print(f"{arguments.threads} thread(s), {measuring.cpu_name()}, onnxruntime {onnxruntime.__version__}")
    print(f"{'network':20}{'shape':>14}" + "".join(f"{name:>10}" for name in (*builds, "peer")) + f"{'peer/dyn':>10}" + ("" if len(builds) == 1 else f"{'before/dyn':>12}") + "   error")
    ratios, gains, wrong = [], [], 0
    most = 0.1 if arguments.quantised else 1e-3  # a few steps of 256 in the result, each perhaps rounded the other way
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or NETS:
            path = os.path.join(arguments.save or folder, f"{name}.onnx")
            net = Net()
            net.save(NETS[name](net), path)
            if arguments.quantised:
                quantise(path, arguments.quantised)
            session = peers.peer_session(path, arguments.threads)
            options = ["--passes=" + arguments.passes] if arguments.passes else []
            modules = {"dyn": contexts.load(arguments.build, path, arguments.threads, options)}
            if arguments.against:
                modules["before"] = contexts.Elsewhere(arguments.against, path, arguments.threads, clock)
            for batch, height, width in SHAPES:
                inputs = feeds.feed(next(iter(modules.values())).inputs, {"batch": batch, "height": height, "width": width})
                for module in modules.values():
                    module.set(inputs)
                    module.run()
                # Sums of hundreds of layers: the largest distance beside the largest result.
                (theirs,), (ours,) = session.run(None, inputs), modules["dyn"].outputs()
                error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))) if ours.shape == theirs.shape else float("inf")
                wrong += not error < most
                binding = session.io_binding()
                binding.bind_cpu_input("image", inputs["image"])
                binding.bind_output("result")
                runners = {build: module.run for build, module in modules.items()} | {"peer": lambda: session.run_with_iobinding(binding)}
                times = measure(runners, arguments.seconds, now)
                ratio = lambda other: float(np.median(times[other] / times["dyn"]))
                ratios.append(ratio("peer"))
                line = f"{name:20}{batch:>6}x{height}x{width}" + "".join(f"{np.median(t):10.2f}" for t in times.values()) + f"{ratios[-1]:10.2f}"
                if "before" in times:
                    gains.append(ratio("before"))
                    line += f"{gains[-1]:12.2f}"
                print(f"{line}   {error:.1g}{'' if error < most else '  DIFFERS'}", flush=True)
                if arguments.profile:
                    print(modules["dyn"].profile_head(rows=40))
    mean = lambda values: float(np.exp(np.mean(np.log(values))))
    print(f"geometric mean of {len(ratios)}: peer/dyn {mean(ratios):.3f}, least {min(ratios):.2f}" + (f"; before/dyn {mean(gains):.3f}, least {min(gains):.2f}" if gains else ""))
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
