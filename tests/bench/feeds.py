"""Inputs for the models that are measured: seeded, of any size, and such that the model may legally be given them."""
import numpy as np


def dim_of(dim, dims):
    """The value of one declared dim: a number, a name in `dims`, or an expression of such names."""
    if isinstance(dim, int):
        return dim
    if dim in dims:
        return dims[dim]
    return int(eval(dim, {"__builtins__": {}}, dict(dims)))  # "past + seq"


def balanced_tree(leaves):
    """Children of the inner nodes of a balanced binary tree: node i < leaves is a leaf, inner nodes follow bottom-up."""
    level, left, right, made = list(range(leaves)), [], [], leaves
    while len(level) > 1:
        up = []
        for i in range(0, len(level) - 1, 2):
            left.append(level[i])
            right.append(level[i + 1])
            up.append(made)
            made += 1
        level = up + level[len(level) // 2 * 2:]
    return left, right


def feed(inputs, dims, seed=0):
    """inputs: [(name, numpy dtype, declared shape)]. Returns {name: array}."""
    random = np.random.default_rng(seed)
    result = {}
    dims = dict(dims)
    names = {name for name, _, _ in inputs}
    if {"left", "right"} <= names:
        left, right = balanced_tree(dims["leaves"])
        dims["inner"] = len(left)
    for name, dtype, declared in inputs:
        shape = [dim_of(d, dims) for d in declared]
        if name in ("left", "right") and "leaves" in dims:
            value = np.array(left if name == "left" else right, dtype)
        elif name == "lengths":
            value = random.integers(1, dims["seq"] + 1, shape).astype(dtype)
            value[: min(1, len(value))] = dims["seq"]
        elif name == "boxes":  # corners, about as large as objects in an image
            first = random.random((*shape[:-1], 2))
            value = np.concatenate([first, first + 0.02 + 0.2 * random.random((*shape[:-1], 2))], -1).astype(dtype)
        elif name == "scores":  # few are high
            value = (random.random(shape) ** 8).astype(dtype)
        elif name == "image":
            value = random.random(shape).astype(dtype)
        elif "mask" in name:
            value = np.ones(shape, dtype)
        elif np.issubdtype(dtype, np.floating):
            value = random.standard_normal(shape).astype(dtype)
        elif dtype == np.bool_:
            value = random.integers(0, 2, shape).astype(dtype)
        else:
            value = random.integers(1, 100, shape).astype(dtype)
        result[name] = value
    return result
