#!/usr/bin/env python3
"""GreedySearch and BeamSearch of com.microsoft over small random decoders, beside onnxruntime.

    search_models.py DYNREPL FOLDER

Decoders in the forms of onnxruntime's tools: GPT-2 (Attention with a cache), and T5 behind its encoder, which may
take the first step itself. Needs numpy, onnx, onnxruntime.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

VOCAB, HIDDEN, HEADS, LAYERS = 23, 16, 2, 2
PAD, END = VOCAB - 2, VOCAB - 1
INPUTS = {
    "GreedySearch": ["input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"],
    "BeamSearch": ["input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty", "repetition_penalty",
                   "vocab_mask", "prefix_vocab_mask", "attention_mask"],
}


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def decoder(seed, shared, name):
    """One step: ids, places and mask [rows, ...] and a cache for each layer give logits and longer caches."""
    draws, weights = np.random.default_rng(seed), []

    def weight(label, *shape, scale):
        weights.append(numpy_helper.from_array((draws.standard_normal(shape) * scale).astype(np.float32), label))

    weight("words", VOCAB, HIDDEN, scale=1.0)
    weight("places", 64, HIDDEN, scale=0.3)
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["word"]), helper.make_node("Gather", ["places", "position_ids"], ["place"]),
             helper.make_node("Add", ["word", "place"], ["x0"])]
    caches, longer = [], []
    for k in range(LAYERS):
        weight(f"w{k}", HIDDEN, 3 * HIDDEN, scale=HIDDEN ** -0.5)
        weight(f"b{k}", 3 * HIDDEN, scale=0.1)
        nodes += [helper.make_node("Attention", [f"x{k}", f"w{k}", f"b{k}", "attention_mask", f"past_{k}"], [f"a{k}", f"present_{k}"],
                                   domain="com.microsoft", num_heads=HEADS, unidirectional=1),
                  helper.make_node("Add", [f"x{k}", f"a{k}"], [f"x{k + 1}"])]
        caches.append(value(f"past_{k}", TensorProto.FLOAT, [2, "rows", HEADS, "past", HIDDEN // HEADS]))
        longer.append(value(f"present_{k}", TensorProto.FLOAT, [2, "rows", HEADS, "total", HIDDEN // HEADS]))
    weight("head", HIDDEN, VOCAB, scale=HIDDEN ** -0.5)
    nodes.append(helper.make_node("MatMul", [f"x{LAYERS}", "head"], ["logits"]))
    first = [value(n, TensorProto.INT32, ["rows", s]) for n, s in (("input_ids", "seq"), ("position_ids", "seq"), ("attention_mask", "total"))]
    own = [w for w in weights if not (shared and w.name in ("words", "head"))]
    graph = helper.make_graph(nodes, name, first + caches, [value("logits", TensorProto.FLOAT, ["rows", "seq", VOCAB])] + longer, own)
    return graph, [w for w in weights if w not in own]


class Part:
    """Nodes and weights of one graph of an encoder with its decoder."""
    SIZE = HIDDEN // HEADS

    def __init__(self, seed):
        self.draws, self.nodes = np.random.default_rng(seed), []
        self.weights = [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in
                        (("apart", [0, 0, HEADS, self.SIZE]), ("together", [0, 0, HIDDEN]), ("axes", [1, 2]), ("one", [0]))]

    def weight(self, label, *shape, scale=HIDDEN ** -0.5):
        self.weights.append(numpy_helper.from_array((self.draws.standard_normal(shape) * scale).astype(np.float32), label))
        return label

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def heads(self, x, name):
        """[b, s, hidden] as [b, heads, s, size], by a product of its own."""
        product = self.node("MatMul", [x, self.weight(f"{name}_w", HIDDEN, HIDDEN)], f"{name}_p")
        return self.node("Transpose", [self.node("Reshape", [product, "apart"], f"{name}_r")], name, perm=[0, 2, 1, 3])

    def attend(self, query, keys, values, name, mask=None):
        turned = self.node("Transpose", [keys], f"{name}_t", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [query, turned], f"{name}_s")
        if mask:
            scores = self.node("Add", [scores, mask], f"{name}_m")
        mixed = self.node("MatMul", [self.node("Softmax", [scores], f"{name}_a"), values], f"{name}_v")
        return self.node("Reshape", [self.node("Transpose", [mixed], f"{name}_b", perm=[0, 2, 1, 3]), "together"], f"{name}_o")

    def embed(self, ids, name):
        return self.node("Gather", [self.weight("words", VOCAB, HIDDEN, scale=1.0), ids], name)

    def layers(self, x, mask, read):
        """A step of the decoder: self-attention over a cache, attention to what the encoder read."""
        for k in range(LAYERS):
            for part in ("key", "value"):
                new = self.heads(x, f"self_{part}_{k}")
                self.node("Concat", [f"past_{part}_self_{k}", new], f"present_{part}_self_{k}", axis=2)
            own = self.attend(self.heads(x, f"self_query_{k}"), f"present_key_self_{k}", f"present_value_self_{k}", f"own_{k}")
            x = self.node("Add", [x, own], f"x{k}")
            other = self.attend(self.heads(x, f"cross_query_{k}"), *read[2 * k:2 * k + 2], f"other_{k}", mask)
            x = self.node("Add", [x, other], f"y{k}")
        self.node("MatMul", [x, self.weight("head", HIDDEN, VOCAB)], "logits")

    def mask(self):
        """encoder_attention_mask [b, s] as something to add to scores [b, heads, 1, s]."""
        self.weights.append(numpy_helper.from_array(np.array([1e4], np.float32), "much"))
        real = self.node("Cast", ["encoder_attention_mask"], "mask_f", to=TensorProto.FLOAT)
        less = self.node("Sub", [self.node("Mul", [real, "much"], "mask_s"), "much"], "mask_l")
        return self.node("Unsqueeze", [less, "axes"], "mask_added")

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, self.weights)


def cache_values(prefix, of, length):
    return [value(f"{prefix}_{part}_{of}_{k}", TensorProto.FLOAT, ["rows", HEADS, length, Part.SIZE]) for k in range(LAYERS) for part in ("key", "value")]


def encoder_and_decoder(seed, form):
    """form: "caches" (the encoder gives what the decoder attends to), "first step" (and the first logits); behind
    either ", whole text": the decoder gets the text so far, not the last word alone."""
    ints = [value("encoder_input_ids", TensorProto.INT32, ["batch", "seq"]), value("encoder_attention_mask", TensorProto.INT32, ["batch", "seq"])]
    logits = value("logits", TensorProto.FLOAT, ["rows", 1, VOCAB])
    hidden = value("encoder_hidden_states", TensorProto.FLOAT, ["rows", "seq", HIDDEN])
    first, whole = form.startswith("first step"), form.endswith("whole text")
    reader = Part(seed)
    x = reader.embed("encoder_input_ids", "read")
    mixed = reader.attend(reader.heads(x, "q"), reader.heads(x, "k"), reader.heads(x, "v"), "all", reader.mask())
    reader.node("Add", [x, mixed], "encoder_hidden_states")
    for k in range(LAYERS):
        for part in ("key", "value"):
            reader.heads("encoder_hidden_states", f"present_{part}_cross_{k}")
    outputs = cache_values("present", "cross", "seq")
    if first:
        # The same decoder, without a past: its weights are drawn again from the seed.
        step = Part(seed + 100)
        for entry in cache_values("past", "self", 0):
            step.weights.append(numpy_helper.from_array(np.zeros((1, HEADS, 0, Part.SIZE), np.float32), "empty_" + entry.name))
            shape = step.node("Shape", ["decoder_input_ids"], "n_" + entry.name, start=0, end=1)
            step.weights.append(numpy_helper.from_array(np.array([HEADS, 0, Part.SIZE], np.int64), "s_" + entry.name))
            step.node("Expand", ["empty_" + entry.name, step.node("Concat", [shape, "s_" + entry.name], "e_" + entry.name, axis=0)], entry.name)
        step.layers(step.embed("decoder_input_ids", "x"), "mask_added", [entry.name for entry in outputs])
        rename = {w.name: "first_" + w.name for w in step.weights}
        for weight in step.weights:
            weight.name = rename[weight.name]
        for node in step.nodes:
            node.input[:] = [rename.get(name, name) for name in node.input]
        reader.nodes += step.nodes
        reader.weights += step.weights
        ints.append(value("decoder_input_ids", TensorProto.INT32, ["batch", 1]))
        outputs = [logits, hidden] + cache_values("present", "self", 1) + outputs
    writer = Part(seed + 100)
    reads = cache_values("past", "cross", "seq")
    word = "input_ids"
    if whole:
        writer.weights += [numpy_helper.from_array(np.array([v], np.int64), n) for n, v in (("last", -1), ("end", 2 ** 31), ("axis", 1))]
        word = writer.node("Slice", ["input_ids", "last", "end", "axis"], "word")
    writer.layers(writer.embed(word, "x"), writer.mask(), [entry.name for entry in reads])
    inputs = [value("input_ids", TensorProto.INT32, ["rows", "written" if whole else 1]), value("encoder_attention_mask", TensorProto.INT32, ["rows", "seq"])]
    inputs += ([hidden] if first else []) + cache_values("past", "self", "past") + reads
    return reader.graph("encoder", ints, outputs), writer.graph("decoder", inputs, [logits] + cache_values("present", "self", "total"))


def model(kind, feeds, seed, shared=False, first_step=False, encoder=None, **attributes):
    graph, around = decoder(seed, shared, "decoder")
    attributes["model_type"] = 0
    if encoder:
        attributes["encoder"], graph = encoder_and_decoder(seed, encoder)
        attributes.update(model_type=1, decoder_start_token_id=1)
    if first_step:
        attributes["init_decoder"] = decoder(seed, shared, "first")[0]
    names = [name if name in feeds else "" for name in INPUTS[kind]]
    while not names[-1]:
        names.pop()
    outputs = [value("sequences", TensorProto.INT32, None)]
    if kind == "BeamSearch":
        outputs.append(value("sequences_scores", TensorProto.FLOAT, None))
    inputs = [value(name, helper.np_dtype_to_tensor_dtype(feed.dtype), [None] * feed.ndim) for name, feed in feeds.items()]
    node = helper.make_node(kind, names, [o.name for o in outputs], domain="com.microsoft", decoder=graph, pad_token_id=PAD,
                            eos_token_id=END, **attributes)
    return helper.make_model(helper.make_graph([node], "search", inputs, outputs, around),
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


def rows(kind):
    """(feeds, attributes of the node): each input, attribute and size at least once."""
    draws = np.random.default_rng(1 if kind == "BeamSearch" else 0)
    padded = np.array([[PAD, PAD, 3, 4], [1, 2, 3, 5]], np.int32)

    def feeds(batch, length, most, least=0, repetition=1.0, beams=3, returned=2, penalty=1.0, **more):
        numbers = {"max_length": np.int32(most), "min_length": np.int32(least), "repetition_penalty": np.float32(repetition)}
        if kind == "BeamSearch":
            numbers.update(num_beams=np.int32(beams), num_return_sequences=np.int32(returned), length_penalty=np.float32(penalty))
        ids = draws.integers(0, PAD, (batch, length)).astype(np.int32)
        return {"input_ids": ids, **{k: np.array(v) for k, v in numbers.items()}, **more}

    yield feeds(3, 4, 11), {}
    yield feeds(1, 1, 2), {}
    yield feeds(2, 7, 20, least=12, repetition=1.3), {}
    yield feeds(2, 2, 13), {"no_repeat_ngram_size": 1}
    yield feeds(2, 5, 17), {"no_repeat_ngram_size": 2}
    yield feeds(2, 2, 13, penalty=0.0), {"no_repeat_ngram_size": 3, "shared": True}
    yield feeds(2, 5, 12), {"first_step": True}
    yield feeds(2, 3, 9, vocab_mask=(draws.random(VOCAB) > 0.3).astype(np.int32),
                prefix_vocab_mask=(draws.random((2, VOCAB)) > 0.4).astype(np.int32)), {}
    yield {**feeds(2, 4, 12), "input_ids": padded}, {}
    yield {**feeds(2, 4, 12), "input_ids": padded, "attention_mask": np.array([[0, 1, 1, 1], [1, 1, 1, 1]], np.int32)}, {}
    if kind == "BeamSearch":
        for form in ("caches", "first step", "caches, whole text", "first step, whole text"):
            yield feeds(2, 5, 12), {"encoder": form}
            yield feeds(1, 1, 3, beams=4, returned=4), {"encoder": form, "early_stopping": 1}
            yield {**feeds(2, 4, 9, least=4, repetition=1.2), "input_ids": padded}, {"encoder": form, "no_repeat_ngram_size": 2}
            mask = np.array([[1, 0, 1, 1], [1, 1, 1, 0]], np.int32)
            yield feeds(2, 4, 14, penalty=2.0, attention_mask=mask), {"encoder": form}
        for beams, returned in ((1, 1), (2, 1), (3, 3), (5, 2)):
            for early in (0, 1):
                yield feeds(3, 4, 14, beams=beams, returned=returned, penalty=2.0 * early), {"early_stopping": early}


def run(dynrepl, folder, built, feeds):
    file = folder / "model.onnx"
    onnx.save(built, file)
    arguments = []
    for name, feed in feeds.items():
        np.save(folder / f"{name}.npy", feed)
        arguments += ["--input", f"{name}=@{folder / name}.npy"]
    ran = subprocess.run([dynrepl, "run", str(file), *arguments, "--output-dir", str(folder), "--cache-dir", "none"], capture_output=True, text=True)
    if ran.returncode != 0:
        return f"exit {ran.returncode}: {ran.stderr[-400:]}"
    return [np.load(folder / f"{output.name}.npy") for output in built.graph.output]


def equal(kind, got, wanted, length):
    if kind == "BeamSearch":
        return np.array_equal(got[0], wanted[0]) and np.allclose(got[1], wanted[1], atol=1e-5)
    # onnxruntime leaves unwritten what is behind the end of all texts; here that is padding.
    ended = next((t for t in range(length, got[0].shape[1]) if (got[0][:, t:] == PAD).all()), got[0].shape[1])
    return np.array_equal(got[0][:, :ended], wanted[0][:, :ended])


def main():
    dynrepl, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    onnxruntime.set_default_logger_severity(4)
    count, wrong = 0, []
    for kind in INPUTS:
        for index, (feeds, attributes) in enumerate(rows(kind)):
            for seed in (0, 3):
                built = model(kind, feeds, seed, **attributes)
                wanted = onnxruntime.InferenceSession(built.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
                got = run(dynrepl, folder, built, feeds)
                count += 1
                if isinstance(got, str) or not equal(kind, got, wanted, feeds["input_ids"].shape[1]):
                    wrong.append(f"{kind} {index}, seed {seed}: {got}, onnxruntime {wanted}")
    print(f"{count} searches, {len(wrong)} differ")
    for line in wrong:
        print(" ", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
