"""Models with other input shapes, without the onnx package: an ONNX file is read and written as protobuf fields."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def as_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, wire type, bytes of the whole field, payload) of a message's fields in order; the payload of a length-delimited one is its content."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at)
        kind, payload = key & 7, b""
        if kind == 0:
            _, at = varint(data, at)
        elif kind == 1:
            at += 8
        elif kind == 5:
            at += 4
        elif kind == 2:
            size, at = varint(data, at)
            payload = data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, kind, data[start:at], payload


def delimited(number, payload):
    return as_varint(number << 3 | 2) + as_varint(len(payload)) + payload


def mapped(data, number, change):
    """The message with each field of that number changed: change(payload) gives the new payload."""
    return b"".join(delimited(number, change(payload)) if found == number and kind == 2 else whole
                    for found, kind, whole, payload in fields(data))


class Opener:
    """Gives every dim of every input of a model a symbol of its own."""
    # ModelProto.graph, GraphProto.input, ValueInfoProto.type; TypeProto.tensor_type, .sequence_type, .optional_type and their .elem_type or .shape;
    # TensorShapeProto.dim; Dimension.dim_param
    GRAPH, INPUT, TYPE, TENSOR, SEQUENCE, OPTIONAL, ELEMENT, SHAPE, DIM, PARAM = 7, 11, 2, 1, 4, 9, 1, 2, 1, 2

    def __init__(self):
        self.count = 0

    def model(self, data):
        return mapped(data, self.GRAPH, lambda graph: mapped(graph, self.INPUT, lambda info: mapped(info, self.TYPE, self.type)))

    def type(self, data):
        data = mapped(data, self.TENSOR, lambda tensor: mapped(tensor, self.SHAPE, lambda shape: mapped(shape, self.DIM, self.dim)))
        for wrapper in (self.SEQUENCE, self.OPTIONAL):
            data = mapped(data, wrapper, lambda inner: mapped(inner, self.ELEMENT, self.type))
        return data

    def dim(self, _):
        self.count += 1
        return delimited(self.PARAM, f"open{self.count}".encode())


def opened(data):
    """The bytes of the model, and how many dims were opened."""
    opener = Opener()
    changed = opener.model(data)
    return changed, opener.count
