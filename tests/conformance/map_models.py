#!/usr/bin/env python3
"""Models whose inputs or outputs are maps, beside onnxruntime: ZipMap, DictVectorizer, CastMap.

    map_models.py DYNREPL FOLDER

A map is two values for Dyn: of an input NAME.keys and NAME.values, of an output NAME and NAME.keys; `run --json` shows an output as a list of maps, too.
Needs numpy, onnx, onnxruntime.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

ML = "ai.onnx.ml"
F, I, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]


def map_type(key, value):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, None))


def zip_map(labels, keys):
    """A classifier of three classes, with the probabilities under their labels."""
    classifier = helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain=ML, coefficients=[0.5, -1.0, 0.25, 1.5, -0.75, 0.1],
                                  intercepts=[0.1, -0.2, 0.3], post_transform="SOFTMAX", **{("classlabels_strings" if keys == S else "classlabels_ints"): labels})
    node = helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, **{("classlabels_strings" if keys == S else "classlabels_int64s"): labels})
    outputs = [helper.make_value_info("maps", helper.make_sequence_type_proto(map_type(keys, F))), helper.make_tensor_value_info("label", keys, ["n"])]
    return helper.make_graph([classifier, node], "zip", [helper.make_tensor_value_info("x", F, ["n", 2])], outputs)


def one_map(op, key, value, result, **attributes):
    return helper.make_graph([helper.make_node(op, ["x"], ["y"], domain=ML, **attributes)], op, [helper.make_value_info("x", map_type(key, value))],
                             [helper.make_tensor_value_info("y", result, None)])


MODELS = {
    "zip_strings": (zip_map(["a", "b c", "d"], S), [{"x": np.ones((n, 2), np.float32) * n} for n in (0, 1, 3, 7)]),
    "zip_integers": (zip_map([7, -3, 12], I), [{"x": np.arange(2 * n, dtype=np.float32).reshape(n, 2)} for n in (0, 1, 5)]),
    "words": (one_map("DictVectorizer", S, F, F, string_vocabulary=["b", "a", "c"]), [{"x": {"a": 1.5, "z": 9.0}}, {"x": {"c": 2.0, "b": -1.0, "a": 0.5}}, {"x": {"q": 1.0}}]),
    "numbers": (one_map("DictVectorizer", I, F, F, int64_vocabulary=[5, 2]), [{"x": {2: 1.5, 3: 9.0}}, {"x": {5: 2.0}}]),
    "dense": (one_map("CastMap", I, F, F, map_form="DENSE", cast_to="TO_FLOAT"), [{"x": {9: 1.5, 3: 9.0, 4: -2.0}}]),
    "dense_integers": (one_map("CastMap", I, F, I, map_form="DENSE", cast_to="TO_INT64"), [{"x": {9: 1.5, 3: 9.0, 4: -2.0}}]),
    "sparse": (one_map("CastMap", I, F, F, map_form="SPARSE", cast_to="TO_FLOAT", max_map=6), [{"x": {5: 1.5, 3: 9.0}}, {"x": {0: 7.0}}]),
}


def feeds_of(feed):
    """Maps as two tensors."""
    for name, value in feed.items():
        if isinstance(value, dict):
            texts = isinstance(next(iter(value)), str)
            yield f"{name}.keys", np.array(list(value), "U") if texts else np.array(list(value), np.int64)
            values = list(value.values())
            yield f"{name}.values", np.array(values, "U") if isinstance(values[0], str) else np.array(values, np.float32)
        else:
            yield name, value


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    return np.allclose(a, b, 1e-5, 1e-6) if b.dtype.kind == "f" else [str(v) for v in a.ravel()] == [str(v) for v in b.ravel()]


def differences(dynrepl, folder, name, graph, feed, index):
    model = folder / f"{name}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=8), model)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    wanted = dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))
    place = folder / f"{name}_{index}"
    place.mkdir(exist_ok=True)
    command = [dynrepl, "run", str(model), "--json", "--cache-dir", "none", "--output-dir", str(place)]
    for key, value in feeds_of(feed):
        np.save(place / f"{key}.in.npy", value)
        command += ["--input", f"{key}=@{place / f'{key}.in.npy'}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        yield f"{name}: exit {ran.returncode}: {ran.stderr[-400:]}"
        return
    outputs = {o["name"]: o for o in json.loads(ran.stdout)["outputs"]}
    for key, value in wanted.items():
        if isinstance(value, list):
            maps = outputs[key]["maps"]
            other = [{str(k): v for k, v in row.items()} for row in value]
            if [sorted(row) for row in maps] != [sorted(row) for row in other] or not all(
                    same([row[k] for k in there], list(there.values())) for row, there in zip(maps, other)):
                yield f"{name}: {maps[:2]}, onnxruntime {value[:2]}"
        elif not same(np.load(outputs[key]["file"]), value):
            yield f"{name}: {key} is {np.load(outputs[key]['file'])}, onnxruntime {value}"


def main():
    dynrepl, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    wrong, ran = [], 0
    for name, (graph, feeds) in MODELS.items():
        for index, feed in enumerate(feeds):
            ran += 1
            wrong += differences(dynrepl, folder, name, graph, feed, index)
    print(f"{ran} runs of {len(MODELS)} models with maps, {len(wrong)} differ")
    for line in wrong:
        print(" ", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
