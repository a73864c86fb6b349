"""Small decoders with random weights as ONNX files, in the forms that exporters write."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LAYERS, POSITIONS = 32, 2, 2, 256


class Graph:
    """Nodes and weights of a model, added one by one."""

    def __init__(self, seed: int):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0

    def add(self, kind, *inputs, out=None, **attributes):
        self.count += 1
        name = out or f"v{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value, dtype=numpy.int64):
        self.count += 1
        self.weights.append(numpy_helper.from_array(numpy.asarray(value, dtype), f"c{self.count}"))
        return f"c{self.count}"

    def weight(self, *shape, scale=1.0):
        return self.constant(self.random.standard_normal(shape) * scale, numpy.float32)


def attention(graph, x, layer, past, bias):
    """One layer of attention over the past and the new positions; past: names of the two caches, or None."""
    qkv = graph.add("MatMul", x, graph.weight(WIDTH, 3 * WIDTH, scale=WIDTH ** -0.5))
    graph.nodes.append(helper.make_node("Split", [qkv], [f"q{layer}", f"k{layer}", f"v{layer}_"], axis=2, num_outputs=3))
    heads = []
    for name in (f"q{layer}", f"k{layer}", f"v{layer}_"):
        split = graph.add("Reshape", name, graph.constant([0, 0, HEADS, WIDTH // HEADS]))
        heads.append(graph.add("Transpose", split, perm=[0, 2, 1, 3]))
    q, k, v = heads
    if past:
        k = graph.add("Concat", past[0], k, axis=2, out=past[2])
        v = graph.add("Concat", past[1], v, axis=2, out=past[3])
    scores = graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = graph.add("Add", graph.add("Mul", scores, graph.constant((WIDTH // HEADS) ** -0.5, numpy.float32)), bias)
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v)
    mixed = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), graph.constant([0, 0, WIDTH]))
    return graph.add("MatMul", mixed, graph.weight(WIDTH, WIDTH, scale=WIDTH ** -0.5))


def causal_bias(graph, ids, past, mask):
    """[., 1, seq, total]: 0 where a position is seen, else -10000: of later positions, and of those that the mask leaves out."""
    length = graph.add("Gather", graph.add("Shape", ids), graph.constant(1))
    zero, one = graph.constant(0), graph.constant(1)
    begin = graph.add("Gather", graph.add("Shape", past), graph.constant(2)) if past else zero
    end = graph.add("Add", begin, length)
    rows = graph.add("Unsqueeze", graph.add("Range", begin, end, one), graph.constant([1]))
    columns = graph.add("Unsqueeze", graph.add("Range", zero, end, one), graph.constant([0]))
    low = graph.constant(-10000, numpy.float32)
    bias = graph.add("Where", graph.add("LessOrEqual", columns, rows), graph.constant(0, numpy.float32), low)
    bias = graph.add("Unsqueeze", bias, graph.constant([0, 1]))
    if mask:
        seen = graph.add("Unsqueeze", graph.add("Cast", mask, to=TensorProto.FLOAT), graph.constant([1, 2]))
        bias = graph.add("Add", bias, graph.add("Mul", graph.add("Sub", graph.constant(1, numpy.float32), seen), low))
    return bias


def decoder(vocabulary: int, caches: bool = True, mask: bool = True, names: str = "past_key_values.{}.{}", seed: int = 3) -> onnx.ModelProto:
    """A transformer like GPT-2: input_ids (attention_mask, position_ids, caches) to logits (and caches)."""
    graph = Graph(seed)
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "seq"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "seq", vocabulary])]
    pasts = []
    for layer in range(LAYERS if caches else 0):
        pasts.append([names.format(layer, "key"), names.format(layer, "value")])
        pasts[-1] += [name.replace("past_key_values", "present").replace("past", "present") for name in pasts[-1]]
    total = "past + seq" if caches else "seq"
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", total]))
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "seq"]))
        positions = "position_ids"
    else:
        length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.constant(1))
        begin = graph.add("Gather", graph.add("Shape", pasts[0][0]), graph.constant(2)) if caches else graph.constant(0)
        positions = graph.add("Range", begin, graph.add("Add", begin, length), graph.constant(1))
    for past in pasts:
        inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", HEADS, "past", WIDTH // HEADS]) for name in past[:2]]
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", HEADS, "past + seq", WIDTH // HEADS]) for name in past[2:]]
    table = graph.weight(vocabulary, WIDTH)
    x = graph.add("Add", graph.add("Gather", table, "input_ids"), graph.add("Gather", graph.weight(POSITIONS, WIDTH, scale=0.5), positions))
    bias = causal_bias(graph, "input_ids", pasts[0][0] if caches else None, "attention_mask" if mask else None)

    def normed(value):
        ones, zeros = graph.constant(numpy.ones(WIDTH), numpy.float32), graph.constant(numpy.zeros(WIDTH), numpy.float32)
        return graph.add("LayerNormalization", value, ones, zeros, axis=-1)
    for layer in range(LAYERS):
        x = graph.add("Add", x, attention(graph, normed(x), layer, pasts[layer] if caches else None, bias))
        wide = graph.add("Tanh", graph.add("MatMul", normed(x), graph.weight(WIDTH, 4 * WIDTH, scale=WIDTH ** -0.5)))
        x = graph.add("Add", x, graph.add("MatMul", wide, graph.weight(4 * WIDTH, WIDTH, scale=0.5 * WIDTH ** -0.5)))
    graph.add("MatMul", normed(x), graph.weight(WIDTH, vocabulary), out="logits")
    made = helper.make_graph(graph.nodes, "decoder", inputs, outputs, graph.weights)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    return model
