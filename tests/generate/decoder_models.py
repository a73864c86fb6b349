"""Small decoders with random weights as ONNX files, in the forms that exporters write.

decoder: a transformer with caches, masks and positions as the exporters of PyTorch and Optimum write them; merged: its two graphs behind one `If`;
grouped: com.microsoft.GroupQueryAttention and MatMulNBits as the builder of onnxruntime-genai writes them; translator: a decoder that reads what an
encoder made; recurrent: states of a fixed size."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LAYERS, POSITIONS = 32, 2, 2, 256


class Graph:
    """Nodes and weights of a model, added one by one. A branch has nodes of its own, and the weights that its twin has."""

    def __init__(self, seed: int, prefix: str = "", scales_keys: bool = False, keys: int = 0):
        self.random = numpy.random.default_rng(seed)
        self.scales_keys, self.keys = scales_keys, keys or HEADS
        self.nodes, self.weights, self.count, self.prefix = [], [], 0, prefix

    def add(self, kind, *inputs, out=None, domain="", **attributes):
        self.count += 1
        name = out or f"{self.prefix}v{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, value, dtype=numpy.int64):
        self.count += 1
        name = f"{self.prefix}c{self.count}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(value, dtype), name))
        return name

    def weight(self, *shape, scale=1.0):
        return self.constant(self.random.standard_normal(shape) * scale, numpy.float32)


def split_heads(graph, x, heads=None):
    return graph.add("Transpose", graph.add("Reshape", x, graph.constant([0, 0, heads or HEADS, WIDTH // HEADS])), perm=[0, 2, 1, 3])


def repeated_heads(graph, x):
    """Each head as often as heads of queries share it, as PyTorch exports it."""
    batch, length = [graph.add("Unsqueeze", size(graph, x, axis), graph.constant([0])) for axis in (0, 2)]
    wide = graph.add("Concat", batch, graph.constant([graph.keys, HEADS // graph.keys]), length, graph.constant([WIDTH // HEADS]), axis=0)
    flat = graph.add("Concat", batch, graph.constant([HEADS]), length, graph.constant([WIDTH // HEADS]), axis=0)
    return graph.add("Reshape", graph.add("Expand", graph.add("Unsqueeze", x, graph.constant([2])), wide), flat)


def join_heads(graph, x):
    return graph.add("Reshape", graph.add("Transpose", x, perm=[0, 2, 1, 3]), graph.constant([0, 0, WIDTH]))


def matrix(graph, rows=None, columns=None, scale=1.0):
    rows, columns = rows or WIDTH, columns or WIDTH
    return graph.weight(rows, columns, scale=scale * rows ** -0.5)


def attend(graph, q, k, v, bias=None):
    """graph.scales_keys: the scale is on queries and keys, as PyTorch exports scaled_dot_product_attention."""
    if graph.keys != HEADS:
        k, v = repeated_heads(graph, k), repeated_heads(graph, v)
    turned = graph.add("Transpose", k, perm=[0, 1, 3, 2])
    if graph.scales_keys:
        root = graph.constant((WIDTH // HEADS) ** -0.25, numpy.float32)
        scores = graph.add("MatMul", graph.add("Mul", q, root), graph.add("Mul", turned, root))
    else:
        scores = graph.add("Mul", graph.add("MatMul", q, turned), graph.constant((WIDTH // HEADS) ** -0.5, numpy.float32))
    if bias:
        scores = graph.add("Add", scores, bias)
    return join_heads(graph, graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v))


def attention(graph, x, past, bias):
    """Attention over the past and the new positions; past: names of two caches and of those that continue them, the first two "" without a past."""
    q, k, v = [split_heads(graph, graph.add("MatMul", x, matrix(graph, columns=heads * (WIDTH // HEADS))), heads)
               for heads in (HEADS, graph.keys, graph.keys)]
    if past and past[0]:
        k, v = graph.add("Concat", past[0], k, axis=2, out=past[2]), graph.add("Concat", past[1], v, axis=2, out=past[3])
    elif past:
        k, v = graph.add("Identity", k, out=past[2]), graph.add("Identity", v, out=past[3])
    return graph.add("MatMul", attend(graph, q, k, v, bias), matrix(graph))


def size(graph, value, axis):
    return graph.add("Gather", graph.add("Shape", value), graph.constant(axis))


def running(graph, begin, end):
    return graph.add("Range", begin, end, graph.constant(1))


def scattered(graph, value, batch, rows, columns):
    """`value` written into zeros at the place of every element, as PyTorch exports an assignment to a slice that is everything."""
    one = graph.constant([1])
    shape = graph.add("Concat", *[graph.add("Reshape", n, one) for n in (batch, graph.constant(1), rows, columns)], axis=0)
    places = []
    for axis, end in enumerate((batch, graph.constant(1), rows, columns)):
        others = [i for i in range(4) if i != axis]
        line = graph.add("Unsqueeze", running(graph, graph.constant(0), end), graph.constant(others))
        places.append(graph.add("Unsqueeze", graph.add("Expand", line, shape), graph.constant([-1])))
    zeros = graph.add("Expand", graph.constant(numpy.zeros((1, 1, 1, 1)), numpy.float32), shape)
    return graph.add("ScatterND", zeros, graph.add("Concat", *places, axis=-1), graph.add("Expand", value, shape))


def causal_bias(graph, past, mask, by_distance=False, by_scatter=False):
    """[., 1, seq, total]: 0 where a position is seen, else -10000: of later positions, and of those that the mask leaves out."""
    length = size(graph, "input_ids", 1)
    begin = size(graph, past, 2) if past else graph.constant(0)
    end = graph.add("Add", begin, length)
    rows = graph.add("Unsqueeze", running(graph, begin, end), graph.constant([1]))
    columns = graph.add("Unsqueeze", running(graph, graph.constant(0), end), graph.constant([0]))
    low = graph.constant(-10000, numpy.float32)
    near = graph.constant(0, numpy.float32)
    if by_distance:
        apart = graph.add("Cast", graph.add("Sub", columns, rows), to=TensorProto.FLOAT)
        near = graph.add("Mul", apart, graph.constant(0.2, numpy.float32))
    bias = graph.add("Where", graph.add("LessOrEqual", columns, rows), near, low)
    bias = graph.add("Unsqueeze", bias, graph.constant([0, 1]))
    if mask:
        seen = graph.add("Unsqueeze", graph.add("Cast", mask, to=TensorProto.FLOAT), graph.constant([1, 2]))
        bias = graph.add("Add", bias, graph.add("Mul", graph.add("Sub", graph.constant(1, numpy.float32), seen), low))
    return scattered(graph, bias, size(graph, "input_ids", 0), length, end) if by_scatter else bias


def normed(graph, value):
    ones, zeros = graph.constant(numpy.ones(WIDTH), numpy.float32), graph.constant(numpy.zeros(WIDTH), numpy.float32)
    return graph.add("LayerNormalization", value, ones, zeros, axis=-1)


def feed_forward(graph, x):
    wide = graph.add("Tanh", graph.add("MatMul", normed(graph, x), matrix(graph, WIDTH, 4 * WIDTH)))
    return graph.add("Add", x, graph.add("MatMul", wide, matrix(graph, 4 * WIDTH, WIDTH)))


def scores(graph, x, vocabulary):
    graph.add("MatMul", normed(graph, x), graph.weight(WIDTH, vocabulary), out="logits")


def real(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def whole(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.INT64, shape)


def finished(graph, inputs, outputs, **domains):
    made = helper.make_graph(graph.nodes, "decoder", inputs, outputs, graph.weights)
    sets = [helper.make_opsetid("", 18)] + [helper.make_opsetid(f"com.{name}", version) for name, version in domains.items()]
    return helper.make_model(made, opset_imports=sets, ir_version=8)


def cache_names(names):
    pasts = []
    for layer in range(LAYERS):
        pasts.append([names.format(layer, "key"), names.format(layer, "value")])
        pasts[-1] += [name.replace("past_key_values", "present").replace("past", "present") for name in pasts[-1]]
    return pasts


def cache_ports(pasts, past="past", present="past + seq", heads=None):
    return ([real(name, "batch", heads or HEADS, past, WIDTH // HEADS) for names in pasts for name in names[:2]],
            [real(name, "batch", heads or HEADS, present, WIDTH // HEADS) for names in pasts for name in names[2:]])


def transformer(graph, vocabulary, pasts, mask, positions, by_distance=False, by_scatter=False):
    """The nodes of a decoder; pasts: of each layer, the first two names "" without a past. positions: "input", "past" (counted from the caches), "" """
    begin = pasts[0][0] if pasts else ""
    x = graph.add("Gather", graph.weight(vocabulary, WIDTH), "input_ids")
    if positions:
        if positions == "past":
            first = size(graph, begin, 2) if begin else graph.constant(0)
            positions = running(graph, first, graph.add("Add", first, size(graph, "input_ids", 1)))
        x = graph.add("Add", x, graph.add("Gather", graph.weight(POSITIONS, WIDTH, scale=0.5), "position_ids" if positions == "input" else positions))
    bias = causal_bias(graph, begin, "attention_mask" if mask else "", by_distance, by_scatter)
    for layer in range(LAYERS):
        x = graph.add("Add", x, attention(graph, normed(graph, x), pasts[layer] if pasts else None, bias))
        x = feed_forward(graph, x)
    scores(graph, x, vocabulary)


def decoder(vocabulary: int, caches: bool = True, mask: bool = True, names: str = "past_key_values.{}.{}", seed: int = 3, positions: str = "",
            by_scatter: bool = False, scales_keys: bool = False, keys: int = 0) -> onnx.ModelProto:
    """A transformer like GPT-2: input_ids (attention_mask, position_ids, caches) to logits (and caches). positions: "input", the default with a
    mask; "past"; "distance" as ALiBi has it. keys: heads of keys and values, which heads of queries share, as Llama has them."""
    graph = Graph(seed, scales_keys=scales_keys, keys=keys or HEADS)
    positions = positions or ("input" if mask else "past")
    pasts = cache_names(names) if caches else []
    inputs, outputs = [whole("input_ids", "batch", "seq")], [real("logits", "batch", "seq", vocabulary)]
    if mask:
        inputs.append(whole("attention_mask", "batch", "past + seq" if caches else "seq"))
    if positions == "input":
        inputs.append(whole("position_ids", "batch", "seq"))
    for ports, more in zip((inputs, outputs), cache_ports(pasts, heads=keys)):
        ports += more
    transformer(graph, vocabulary, pasts, mask, "" if positions == "distance" else positions, positions == "distance", by_scatter)
    model = finished(graph, inputs, outputs)
    onnx.checker.check_model(model)
    return model


def behind_switch(make, inputs, outputs, seed):
    """One model of two graphs: make(graph, isFirst) writes the nodes of the first step, and of the others."""
    branches = []
    for is_first in (True, False):
        graph = Graph(seed, "first." if is_first else "later.", scales_keys=True)
        make(graph, is_first)
        branches.append(helper.make_graph(graph.nodes, "first" if is_first else "later", [], list(outputs), graph.weights))
    names = [port.name for port in outputs]
    node = helper.make_node("If", ["use_cache_branch"], names, then_branch=branches[1], else_branch=branches[0])
    # A branch has values of its own names.
    for branch in branches:
        renamed = {name: branch.name + "." + name for name in names}
        for inner in branch.node:
            inner.input[:] = [renamed.get(name, name) for name in inner.input]
            inner.output[:] = [renamed.get(name, name) for name in inner.output]
        for port in branch.output:
            port.name = renamed[port.name]
    for attribute in node.attribute:
        attribute.g.CopyFrom(branches[1] if attribute.name == "then_branch" else branches[0])
    graph = helper.make_graph([node], "merged", inputs + [helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def merged(vocabulary: int, seed: int = 3) -> onnx.ModelProto:
    """`decoder` as Optimum merges it: the mask's length has a name of its own."""
    pasts = cache_names("past_key_values.{}.{}")
    caches, presents = cache_ports(pasts)

    def make(graph, is_first):
        own = [["", "", *names[2:]] if is_first else names for names in pasts]
        transformer(graph, vocabulary, own, True, "input")
    inputs = [whole("input_ids", "batch", "seq"), whole("attention_mask", "batch", "attention_mask_sequence_length"),
              whole("position_ids", "batch", "seq"), *caches]
    return behind_switch(make, inputs, [real("logits", "batch", "seq", vocabulary), *presents], seed)


def four_bits(graph, x, rows, columns):
    """x times a matrix of 4-bit numbers in blocks of 32."""
    packed = graph.constant(graph.random.integers(0, 256, (columns, rows // 32, 16)), numpy.uint8)
    scales = graph.constant(graph.random.uniform(0.5, 1.5, columns * rows // 32) * 0.3 * rows ** -0.5, numpy.float32)
    return graph.add("MatMulNBits", x, packed, scales, domain="com.microsoft", K=rows, N=columns, bits=4, block_size=32)


def grouped(vocabulary: int, seed: int = 3) -> onnx.ModelProto:
    """As onnxruntime-genai builds it: the caches' width has a name, rows are as long as the mask says, from the first position on."""
    graph = Graph(seed)
    pasts = cache_names("past_key_values.{}.{}")
    total = graph.add("Cast", size(graph, "attention_mask", 1), to=TensorProto.INT32)
    lengths = graph.add("Sub", graph.add("ReduceSum", "attention_mask", graph.constant([1])), graph.constant([1]))
    lengths = graph.add("Cast", lengths, to=TensorProto.INT32)
    angles = numpy.outer(numpy.arange(POSITIONS), 1e4 ** -(numpy.arange(8) / 8))
    cos, sin = graph.constant(numpy.cos(angles), numpy.float32), graph.constant(numpy.sin(angles), numpy.float32)
    x = graph.add("Gather", graph.weight(vocabulary, WIDTH), "input_ids")
    for past in pasts:
        packed = four_bits(graph, normed(graph, x), WIDTH, 3 * WIDTH)
        mixed = graph.add("GroupQueryAttention", packed, "", "", past[0], past[1], lengths, total, cos, sin, domain="com.microsoft", num_heads=HEADS,
                          kv_num_heads=HEADS, do_rotary=1)
        graph.nodes[-1].output.extend(past[2:])
        x = graph.add("Add", x, four_bits(graph, mixed, WIDTH, WIDTH))
        x = feed_forward(graph, x)
    scores(graph, x, vocabulary)
    inputs = [whole("input_ids", "batch", "seq"), whole("attention_mask", "batch", "total")]
    inputs += [real(name, "batch", HEADS, "past", "kv_cache_dim") for names in pasts for name in names[:2]]
    return finished(graph, inputs, [real("logits", "batch", "seq", vocabulary), *cache_ports(pasts, present="total")[1]], microsoft=1)


def translator(vocabulary: int, seed: int = 3) -> onnx.ModelProto:
    """A decoder of two steps as Optimum merges T5's: the first makes cross caches of what the encoder gave, the others read them."""
    kinds = ("decoder.key", "decoder.value", "encoder.key", "encoder.value")
    names = [[f"past_key_values.{layer}.{kind}" for kind in kinds] for layer in range(LAYERS)]
    ports = [real(name, "batch", HEADS, "source" if "encoder" in name else "past", WIDTH // HEADS) for layer in names for name in layer]
    outputs = [real(port.name.replace("past_key_values", "present"), "batch", HEADS, None, WIDTH // HEADS) for port in ports]

    def make(graph, is_first):
        x = graph.add("Gather", graph.weight(vocabulary, WIDTH), "input_ids")
        bias = causal_bias(graph, "" if is_first else names[0][0], "", by_distance=True)
        seen = graph.add("Unsqueeze", graph.add("Cast", "encoder_attention_mask", to=TensorProto.FLOAT), graph.constant([1, 2]))
        unseen = graph.add("Mul", graph.add("Sub", graph.constant(1, numpy.float32), seen), graph.constant(-10000, numpy.float32))
        for layer in names:
            present = [name.replace("past_key_values", "present") for name in layer]
            own = (["", ""] if is_first else layer[:2]) + present[:2]
            x = graph.add("Add", x, attention(graph, normed(graph, x), own, bias))
            q = split_heads(graph, graph.add("MatMul", normed(graph, x), matrix(graph)))
            weights = matrix(graph), matrix(graph)
            if is_first:
                made = [split_heads(graph, graph.add("MatMul", "encoder_hidden_states", weight)) for weight in weights]
            else:
                made = layer[2:]
            cross = [graph.add("Identity", value, out=name) for value, name in zip(made, present[2:])]
            x = graph.add("Add", x, graph.add("MatMul", attend(graph, q, *cross, unseen), matrix(graph)))
            x = feed_forward(graph, x)
        scores(graph, x, vocabulary)
    inputs = [whole("encoder_attention_mask", "batch", "source"), whole("input_ids", "batch", "seq"),
              real("encoder_hidden_states", "batch", "source", WIDTH), *ports]
    return behind_switch(make, inputs, [real("logits", "batch", "seq", vocabulary), *outputs], seed)


def recurrent(vocabulary: int, state: str = "past_state", later: str = "present_state", seed: int = 3) -> onnx.ModelProto:
    """One token in each step, and a state of a fixed size for each layer, as those of RWKV and Mamba."""
    graph = Graph(seed)
    x = graph.add("Gather", graph.weight(vocabulary, WIDTH), "input_ids")
    for layer in range(LAYERS):
        own = graph.add("MatMul", graph.add("Squeeze", normed(graph, x), graph.constant([1])), matrix(graph))
        old = graph.add("MatMul", f"{state}.{layer}", matrix(graph, scale=0.9))
        new = graph.add("Tanh", graph.add("Add", own, old), out=f"{later}.{layer}")
        x = graph.add("Add", x, graph.add("Unsqueeze", new, graph.constant([1])))
    scores(graph, x, vocabulary)
    ports = [[real(f"{name}.{layer}", "batch", WIDTH) for layer in range(LAYERS)] for name in (state, later)]
    model = finished(graph, [whole("input_ids", "batch", 1), *ports[0]], [real("logits", "batch", 1, vocabulary), *ports[1]])
    onnx.checker.check_model(model)
    return model
