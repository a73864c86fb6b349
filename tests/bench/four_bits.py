#!/usr/bin/env python3
"""A decoder with weights of 4 bits and a cache of keys and values: tokens per second beside onnxruntime and llama.cpp.

    ./dev bench four_bits [--block N ...] [--level N ...] [--steps N] [--prefill N ...] [--past N] [--folder DIR] [--llama]

Makes Llama-like models with random weights (RMS norms, rotary positions, grouped heads, SwiGLU, MatMulNBits of the given blocks and accuracy levels)
in the folder, decodes step by step and runs prompts, Dyn and onnxruntime in turn, one thread, by the time of the processor. --llama: the same sizes as a
gguf of Q4_0 (blocks of 32) through llama.cpp. Needs numpy, onnx and onnxruntime; --llama the packages gguf and xllamacpp.
"""
import argparse
import os
import sys
import tempfile
import time

import numpy as np

import contexts
import measuring
import peers

HIDDEN, INNER, LAYERS, HEADS, GROUPS, WIDTH, WORDS, POSITIONS = 1536, 4096, 4, 12, 4, 128, 8192, 4096
SHAPES = {"q": (HIDDEN, HEADS * WIDTH), "k": (HIDDEN, GROUPS * WIDTH), "v": (HIDDEN, GROUPS * WIDTH), "o": (HEADS * WIDTH, HIDDEN),
          "gate": (HIDDEN, INNER), "up": (HIDDEN, INNER), "down": (INNER, HIDDEN)}


class Maker:
    """The nodes and constants of one ONNX model."""

    def __init__(self, block, level):
        from onnx import helper, numpy_helper
        self.helper, self.numpy_helper = helper, numpy_helper
        self.block, self.level = block, level
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(7)

    def constant(self, name, array):
        self.constants.append(self.numpy_helper.from_array(array, name))
        return name

    def node(self, kind, inputs, outputs, **attributes):
        self.nodes.append(self.helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def product(self, x, name, depth, columns):
        blocks = depth // self.block
        weights = self.constant(f"{name}.weights", self.random.integers(0, 256, (columns, blocks, self.block // 2), dtype=np.uint8))
        scales = self.constant(f"{name}.scales", self.random.uniform(0.5, 1, columns * blocks).astype(np.float32) / np.float32(5 * depth**0.5))
        level = {"accuracy_level": self.level} if self.level else {}
        return self.node("MatMulNBits", [x, weights, scales], [f"{name}.y"], domain="com.microsoft", K=depth, N=columns, bits=4,
                         block_size=self.block, **level)

    def norm(self, x, name):
        scale = self.constant(f"{name}.scale", np.ones(HIDDEN, np.float32))
        return self.node("SimplifiedLayerNormalization", [x, scale], [f"{name}.y"], axis=-1, epsilon=1e-5)

    def layer(self, x, i):
        normed = self.norm(x, f"attention_norm{i}")
        q, k, v = (self.product(normed, f"{part}{i}", *SHAPES[part]) for part in "qkv")
        z = self.node("GroupQueryAttention", [q, k, v, f"past_key_{i}", f"past_value_{i}", "last", "total", "cos", "sin"],
                      [f"z{i}", f"present_key_{i}", f"present_value_{i}"], domain="com.microsoft", num_heads=HEADS, kv_num_heads=GROUPS,
                      do_rotary=1)
        x = self.node("Add", [x, self.product(z, f"o{i}", *SHAPES["o"])], [f"x{i}.attended"])
        normed = self.norm(x, f"inner_norm{i}")
        gate, up = (self.product(normed, f"{part}{i}", *SHAPES[part]) for part in ("gate", "up"))
        swish = self.node("Mul", [gate, self.node("Sigmoid", [gate], [f"sigmoid{i}"])], [f"swish{i}"])
        inner = self.node("Mul", [swish, up], [f"inner{i}"])
        return self.node("Add", [x, self.product(inner, f"down{i}", *SHAPES["down"])], [f"x{i}"])

    def sizes(self):
        one = self.constant("one", np.array(1, np.int64))
        past = self.node("Shape", ["past_key_0"], ["past_size"], start=2, end=3)
        now = self.node("Shape", ["ids"], ["now_size"], start=1, end=2)
        total = self.node("Add", [past, now], ["total_size"])
        self.node("Cast", [self.node("Squeeze", [total], ["total_scalar"])], ["total"], to=6)
        self.node("Cast", [self.node("Sub", [total, one], ["last_size"])], ["last"], to=6)

    def model(self):
        from onnx import TensorProto
        self.sizes()
        angles = np.outer(np.arange(POSITIONS), 10000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH))
        self.constant("cos", np.cos(angles).astype(np.float32))
        self.constant("sin", np.sin(angles).astype(np.float32))
        table = self.constant("table", self.random.standard_normal((WORDS, HIDDEN)).astype(np.float32))
        x = self.node("Gather", [table, "ids"], ["embedded"])
        for i in range(LAYERS):
            x = self.layer(x, i)
        # As a prompt is read: the logits of its last position.
        last = self.node("Slice", [self.norm(x, "norm"), self.constant("begin", np.array([-1])), self.constant("end", np.array([2**62])),
                                   self.constant("axis", np.array([1]))], ["last_row"])
        logits = self.product(last, "head", HIDDEN, WORDS)
        info = self.helper.make_tensor_value_info
        past, present = (lambda n, kind, dim: [info(f"{n}_{p}_{i}", 1, [1, GROUPS, dim, WIDTH]) for i in range(LAYERS) for p in kind], None)
        kinds = ("key", "value")
        graph = self.helper.make_graph(
            self.nodes, "decoder", [info("ids", TensorProto.INT64, [1, "seq"])] + past("past", kinds, "past"),
            [info(logits, 1, [1, 1, WORDS])] + past("present", kinds, "total_size"), self.constants)
        opsets = [self.helper.make_opsetid("", 17), self.helper.make_opsetid("com.microsoft", 1)]
        return self.helper.make_model(graph, opset_imports=opsets, ir_version=9)


def made(folder, block, level):
    import onnx
    path = os.path.join(folder, f"decoder_block{block}_level{level}.onnx")
    if not os.path.exists(path):
        onnx.save(Maker(block, level).model(), path)
    return path


def feed(seq, past):
    random = np.random.default_rng(1)
    cache = lambda: random.standard_normal((1, GROUPS, past, WIDTH)).astype(np.float32)
    values = {"ids": random.integers(0, WORDS, (1, seq))}
    for i in range(LAYERS):
        values |= {f"past_key_{i}": cache(), f"past_value_{i}": cache()}
    return values


def clock(call):
    start = time.process_time_ns()
    call()
    return time.process_time_ns() - start


def row(module, session, inputs, runs):
    """(our seconds, theirs, the distance of the logits); the runs in turn."""
    module.set(inputs)
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    calls = (module.run, lambda: session.run_with_iobinding(binding))
    for call in calls:
        call()
    times = [[clock(call) for call in calls] for _ in range(runs)]
    a, b = module.output(0).astype(np.float64), binding.copy_outputs_to_cpu()[0].astype(np.float64)
    return (*np.median(np.array(times), axis=0) / 1e9, float(np.max(np.abs(a - b)) / np.max(np.abs(b))))


def gguf_file(folder):
    """The same sizes with weights of Q4_0."""
    import gguf
    path = os.path.join(folder, "decoder_q4_0.gguf")
    if os.path.exists(path):
        return path
    random, writer = np.random.default_rng(7), gguf.GGUFWriter(path, "llama")
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_vocab_size(WORDS)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_tokenizer_model("llama")
    words = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)]
    words += [b"w%d" % i for i in range(WORDS - len(words))]
    writer.add_token_list(words)
    writer.add_token_scores([-float(i) for i in range(WORDS)])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * (WORDS - 259))

    def add(name, depth, columns):
        values = random.standard_normal((columns, depth)).astype(np.float32) / np.float32(depth**0.5)
        writer.add_tensor(name, gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q4_0), raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    names = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
    writer.add_tensor("token_embd.weight", random.standard_normal((WORDS, HIDDEN)).astype(np.float32))
    for i in range(LAYERS):
        for part, (depth, columns) in SHAPES.items():
            add(f"blk.{i}.{names[part]}.weight", depth, columns)
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{norm}.weight", np.ones(HIDDEN, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    add("output.weight", HIDDEN, WORDS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def llama(folder, prefills, past, steps):
    """Seconds of the processor: of a step behind `past` tokens, of each prompt."""
    import json
    import xllamacpp
    parameters = xllamacpp.CommonParams()
    parameters.model.path = gguf_file(folder)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.n_ctx, parameters.n_parallel, parameters.warmup = POSITIONS, 1, True
    server, random = xllamacpp.Server(parameters), np.random.default_rng(1)

    def seconds(prompt, steps):
        tokens = [int(t) for t in random.integers(300, WORDS, prompt)]
        asked = {"prompt": tokens, "n_predict": steps, "ignore_eos": True, "cache_prompt": False, "temperature": 0.0}
        start = time.process_time_ns()
        answer = server.handle_completions(asked)
        taken = (time.process_time_ns() - start) / 1e9
        count = (json.loads(answer) if isinstance(answer, str) else answer)["timings"]["predicted_n"]
        if count != steps:
            sys.exit(f"four_bits: llama.cpp made {count} tokens of {steps}")
        return taken

    least = lambda prompt, steps: min(seconds(prompt, steps) for _ in range(5))
    return (least(max(past, 1), steps + 1) - least(max(past, 1), 1)) / steps, [least(n, 1) for n in prefills]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--block", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--level", type=int, nargs="+", default=[0, 1, 4], help="accuracy levels of MatMulNBits")
    parser.add_argument("--prefill", type=int, nargs="*", default=[128, 512])
    parser.add_argument("--past", type=int, default=128)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--folder", help="where models are made, or lie already")
    parser.add_argument("--llama", action="store_true")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        sys.exit("four_bits: skipped: onnx and onnxruntime are not installed (pip install onnx onnxruntime)")
    with tempfile.TemporaryDirectory() as made_here:
        folder = arguments.folder or made_here
        print(f"{measuring.cpu_name()}, onnxruntime {onnxruntime.__version__}, one thread, time of the processor; tokens a second")
        print(f"{'block':>6}{'level':>6}{'':>14}{'dyn':>10}{'peer':>10}{'ratio':>8}{'distance':>10}")
        for block in arguments.block:
            for level in arguments.level:
                path = made(folder, block, level)
                module, session = contexts.load(arguments.build, path, 1), peers.peer_session(path, 1)
                for seq, past, runs in [(1, arguments.past, arguments.steps)] + [(n, 0, 3) for n in arguments.prefill]:
                    ours, theirs, far = row(module, session, feed(seq, past), runs)
                    what = "decode" if seq == 1 else f"prefill {seq}"
                    print(f"{block:>6}{level:>6}{what:>14}{seq / ours:>10.1f}{seq / theirs:>10.1f}{theirs / ours:>8.2f}{far:>10.1g}", flush=True)
        if arguments.llama:
            step, prompts = llama(folder, arguments.prefill, arguments.past, arguments.steps)
            for what, rate in [("decode", 1 / step)] + [(f"prefill {n}", n / s) for n, s in zip(arguments.prefill, prompts)]:
                print(f"{32:>6}{'':>6}{what:>14}{'':>10}{rate:>10.1f}   llama.cpp, Q4_0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
