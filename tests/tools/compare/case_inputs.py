"""Shapes and inputs for sweeps over a model: which sizes its dims take, and values that the model can make sense of.

A row of feeds.json (the pattern is matched against the model's name; the first that matches counts):
  "dims":   {NAME: {"least": 0, "most": 64, "multiple": 1, "values": [...]}}   what a size may be; `{"is": "leaves - 1"}`: follows from others, at least 0
  "shapes": {INPUT: [NAME or number, ...]}   where the model's own names of dims are missing or say too little
  "note": why a size is left out
  "most_elements": N                         no case has a larger product of its sizes
  "inputs": {INPUT or pattern: RULE}         RULES below; not named: normal reals, integers 0 and 1
"""
import fnmatch
import zlib

import numpy as np
import onnx

PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131]


# ---- values. Each rule: (random source, shape, dtype, dims, plan, input's name, words of the rule) -> array
def normal(random, shape, dtype, *_):
    return random.standard_normal(shape).astype(dtype)


def uniform(random, shape, dtype, dims, plan, name, low, high):
    return random.uniform(float(low), float(high), shape).astype(dtype)


def shifted(random, shape, dtype, dims, plan, name, scale):
    """Normal, plus an offset of that scale which all rows share: rows of one case resemble each other."""
    return (random.standard_normal(shape) + random.standard_normal(shape[-1:]) * float(scale)).astype(dtype)


def page(random, shape, dtype, *_):
    """[batch, channels, height, width]: dark strokes in rows on a light ground, as a scanned page has them; -1 to 1."""
    image = np.full(shape, 0.95)
    batch, _, height, width = shape
    for b in range(batch):
        top = int(random.integers(2, 8))
        while top + 10 < height:
            tall, x = int(random.integers(8, 22)), 8
            while x + 12 < width:
                wide = int(random.integers(2, 6))
                if random.random() < 0.8:
                    image[b, :, top : top + tall, x : x + wide] = random.uniform(-1, -0.7)
                    image[b, :, top + tall // 2 : top + tall // 2 + 2, x : x + 9] = -0.9
                x += wide + int(random.integers(4, 9))
            top += tall + int(random.integers(6, 20))
    return (image + random.normal(0, 0.02, shape)).astype(dtype)


def integers(random, shape, dtype, dims, plan, name, low="0", high="2"):
    return random.integers(int(low), int(high), shape).astype(dtype)


def token(random, shape, dtype, dims, plan, name):
    """Row numbers of the table that is gathered with this input."""
    return random.integers(0, plan.table_rows(name), shape).astype(dtype)


def mask(random, shape, dtype, *_):
    """Ones, then zeros; each row keeps at least one."""
    rows, length = shape
    kept = random.integers(1, max(length, 1) + 1, rows)
    if rows:
        kept[0] = length
    return (np.arange(length)[None, :] < kept[:, None]).astype(dtype)


def lengths(random, shape, dtype, dims, plan, name, dim):
    values = random.integers(0, dims[dim] + 1, shape).astype(dtype)
    values[:1] = dims[dim]
    return values


def below(random, shape, dtype, dims, plan, name, size):
    """[nodes, ...]: of each node others before it, or `size` where one is lacking."""
    number = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return np.where(random.random(shape) < 0.4, dims[size], (random.random(shape) * np.maximum(number, 1)).astype(np.int64)).astype(dtype) if shape[0] else np.zeros(shape, dtype)


def child(random, shape, dtype, dims, plan, name, side):
    """left or right child of each inner node of a random binary tree over `leaves`: leaves first, children before parents."""
    tree = np.random.default_rng(plan.seed * 1000 + dims["leaves"])  # both sides draw the same tree
    spans, found, following = list(range(dims["leaves"])), [], dims["leaves"]
    while len(spans) > 1:
        at = int(tree.integers(0, len(spans) - 1))
        found.append(spans[at] if side == "left" else spans[at + 1])
        spans[at : at + 2] = [following]
        following += 1
    return np.array(found, dtype).reshape(shape)


def choose(random, shape, dtype, dims, plan, name, dim, *pairs):
    """A value that goes with the size of a dim: `choose window 576:16000 288:8000`."""
    return np.full(shape, int(dict(p.split(":") for p in pairs)[str(dims[dim])]), dtype)


RULES = {rule.__name__: rule for rule in (normal, uniform, shifted, page, integers, token, mask, lengths, child, below, choose)}


# ---- sizes
class Plan:
    def __init__(self, model, row, seed):
        self.graph, self.row, self.seed = model.graph, row, seed
        weights = {t.name for t in self.graph.initializer}
        self.ports = [i for i in self.graph.input if i.name not in weights]
        self.shapes = {i.name: self._shape(i) for i in self.ports}
        limits = row.get("dims", {})
        symbols = [d for shape in self.shapes.values() for d in shape if isinstance(d, str)]
        self.step = {s: limit.get("multiple", min(limit.get("values", [1]))) for s in symbols for limit in [limits.get(s, {})]}
        self.free = {s: self._sizes(limits.get(s, {})) for s in dict.fromkeys(symbols) if "is" not in limits.get(s, {})}
        self.derived = {s: limits[s]["is"] for s in dict.fromkeys(symbols) if "is" in limits.get(s, {})}

    def _shape(self, port):
        given = self.row.get("shapes", {}).get(port.name)
        if given is not None:
            return given
        dims = port.type.tensor_type.shape.dim
        fixed = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in dims]
        return [n if n is not None else d.dim_param or f"{port.name}.{axis}" for axis, (n, d) in enumerate(zip(fixed, dims))]

    @staticmethod
    def _sizes(limit):
        if "values" in limit:
            return sorted(limit["values"])
        step = limit.get("multiple", 1)
        return list(range(-(-limit.get("least", 0) // step) * step, limit.get("most", 64) + 1, step))

    def table_rows(self, name):
        """How many rows the weight has that the model gathers with this input (maybe after a cast)."""
        aliases, rows = {name}, []
        sizes = {t.name: t.dims[0] for t in self.graph.initializer if t.dims}
        for node in self.graph.node:
            if node.op_type == "Cast" and node.input[0] in aliases:
                aliases.add(node.output[0])
            elif node.op_type == "Gather" and node.input[1] in aliases and node.input[0] in sizes:
                rows.append(sizes[node.input[0]])
        if not rows:
            raise SystemExit(f"no weight is gathered with {name}: say its values in the file of feeds")
        return min(rows)

    def cases(self, count):
        """`count` different choices of sizes; the order is the order of interest."""
        if not self.free:
            return [self._complete({})] * count  # only the values differ
        random = np.random.default_rng(self.seed)
        found = {}
        for wanted in [*self._corners(), *(self._random(random) for _ in range(count * 50))]:
            sizes = self._fit({s: min(self.free[s], key=lambda size: abs(size - n * self.step[s])) for s, n in wanted.items()})
            found.setdefault(tuple(sizes.values()), sizes)
            if len(found) == count:
                break
        chosen = [self._complete(s) for s in found.values()]
        return chosen + [chosen[i % len(chosen)] for i in range(count - len(chosen))]  # few sizes: again, with other values

    def _corners(self):
        """Wanted sizes in units of each symbol's step; what it may not be becomes the nearest that it may."""
        names = list(self.free)
        primes = lambda shift, step: {s: PRIMES[shift + step * i] for i, s in enumerate(names)}
        yield {s: 1 for s in names}
        yield {s: 0 for s in names}
        for name in names:
            yield {**primes(1, 1), name: 0}
            yield {**primes(2, 1), name: 1}
            yield {**{s: 1 for s in names}, name: self._most(name)}
        for size in (2, 3, 7, 16, 31):
            yield {s: size for s in names}
        for shift in (0, 3, 5):
            yield primes(shift, 2)
            yield dict(zip(names, reversed(primes(shift, 2).values())))
        yield {s: self._most(s) for s in names}

    def _most(self, name):
        return max(self.free[name]) // self.step[name]

    def _random(self, random):
        return {s: int(round(np.exp(random.uniform(0, np.log(self._most(s) + 1))))) for s in self.free}

    def _fit(self, sizes):
        """Smaller sizes until the product is allowed: the largest share goes first."""
        most = self.row.get("most_elements", 1 << 16)
        while np.prod(list(sizes.values()), dtype=np.int64) > most:
            name = max(sizes, key=lambda s: sizes[s] / max(self.free[s]))
            smaller = [n for n in self.free[name] if n < sizes[name]]
            sizes[name] = min(smaller, key=lambda n: abs(n - sizes[name] / 2))
        return sizes

    def _complete(self, sizes):
        return {**sizes, **{s: max(0, eval(rule, {"__builtins__": {}}, sizes)) for s, rule in self.derived.items()}}  # the table is ours

    def symbols(self, dims):
        """The sizes of a case by the names that the model itself has for them."""
        named = {}
        for port in self.ports:
            for dim, mine in zip(port.type.tensor_type.shape.dim, self.shapes[port.name]):
                if dim.dim_param:
                    named[dim.dim_param] = dims[mine] if isinstance(mine, str) else mine
        return named

    # ---- inputs of a case
    def inputs(self, index, dims):
        return {port.name: self._value(port, index, dims) for port in self.ports}

    def _value(self, port, index, dims):
        dtype = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = tuple(dims[d] if isinstance(d, str) else d for d in self.shapes[port.name])
        rules = self.row.get("inputs", {})
        text = next((rule for pattern, rule in rules.items() if fnmatch.fnmatch(port.name, pattern)), "normal" if dtype.kind == "f" else "integers")
        word, *arguments = text.split()
        random = np.random.default_rng([self.seed, index, zlib.crc32(port.name.encode())])
        return np.ascontiguousarray(RULES[word](random, shape, dtype, dims, self, port.name, *arguments)).reshape(shape)
