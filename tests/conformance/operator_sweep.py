#!/usr/bin/env python3
"""Every ONNX operator that Dyn reads, beside onnxruntime: its rows (sweep_rows.py) as models of one node with named dims, each run at several shapes.

    operator_sweep.py walk --table map_table.cpp                     every operator of the table has a row, recorded cases, or a reason to have none
    operator_sweep.py run --dynrepl BIN --folder DIR [OP...]         writes models with what onnxruntime gives for them, and runs `dynrepl verify` on them

`run` needs numpy, onnx and onnxruntime. What onnxruntime has no kernel for (some element types) or refuses at a shape (mostly
dims of 0) is left out, and listed. Exit 1: an operator is missing or results differ.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import traceback
import zlib

import sweep_rows

# Of the opsets that Dyn reads, the newest that onnxruntime reads too.
NEWEST_OPSET = 26
HERE = pathlib.Path(__file__).resolve().parent


def walk(table):
    """Names of operators that nothing compares."""
    recorded = (HERE / "make_contrib_cases.py").read_text()
    swept = {(row["domain"], row["op"]) for row in sweep_rows.TABLE}
    missing, known = [], set()
    for name, rest in re.findall(r'^    (?:\w+\()?\{"(\w+)", (.*)\}\)?,$', pathlib.Path(table).read_text(), re.M):
        domain = "com.microsoft" if "kContrib" in rest else next(iter(re.findall(r'"(ai\.onnx[\w.]*)"', rest)), "")
        full = f"com.microsoft::{name}" if domain == "com.microsoft" else name
        known.add(full)
        if (domain, name) in swept or full in sweep_rows.WITHOUT:
            continue
        if domain == "com.microsoft" and f'"{name}"' in recorded:
            continue
        missing.append(full)
    rows = {("com.microsoft::" if domain == "com.microsoft" else "") + name for domain, name in swept}
    stale = sorted((rows | set(sweep_rows.WITHOUT)) - known)
    return missing, stale, len(known)


class Maker:
    """Models and inputs of rows. Needs numpy, onnx, onnxruntime, which may be missing where only the walk is wanted."""

    def __init__(self):
        import numpy
        import onnx
        import onnxruntime
        self.np, self.onnx, self.ort = numpy, onnx, onnxruntime
        self.refused, self.runs = [], 0

    def dtype(self, name):
        return self.np.dtype({"f16": "float16", "f32": "float32", "f64": "float64", "bool": "bool", "string": "object"}.get(name)
                             or name.replace("i", "int").replace("u", "uint"))

    def code(self, name):
        return self.onnx.TensorProto.STRING if name == "string" else self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype(name))

    def parse(self, row, dtype):
        """[(name, element type, dims | constant)]: dims are a list of names and numbers."""
        for text in row["inputs"].split():
            if text == "-":
                yield "", "", None
            elif "=" in text:
                name, value = text.split("=")
                kind = "i64"
                if ":" in value:
                    kind, value = value.split(":")
                yield name, "", self.np.array(json.loads(value), self.dtype(dtype if kind == "T" else kind))
            else:
                name, kind, dims = re.fullmatch(r"(\w+):(\w+)\[(.*)\]", text).groups()
                yield name, dtype if kind == "T" else kind, [int(d) if d.isdigit() else d for d in dims.split(",") if d]

    def model(self, row, inputs, attributes):
        helper = self.onnx.helper
        domain = row["domain"]
        outputs = [f"out{i}" for i in range(row["outputs"])]
        node = helper.make_node(row["op"], [i[0] for i in inputs], outputs, name="node", domain=domain, **attributes)
        given = [helper.make_tensor_value_info(n, self.code(k), d) for n, k, d in inputs if k]
        weights = [self.onnx.numpy_helper.from_array(d, n) for n, k, d in inputs if n and not k]
        results = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph([node], row["op"], given, results, weights)
        opsets = [helper.make_opsetid("", row["opset"])] + ([helper.make_opsetid(domain, 4 if domain == "ai.onnx.ml" else 1)] if domain else [])
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if row["opset"] < 20 else 10)

    def bound(self, text, sizes):
        negative = text.startswith("-") and not text[1:].isdigit()
        name, _, less = text[negative:].partition("-") if not re.fullmatch(r"-?\d+", text) else (text, "", "")
        value = sizes[name] if name in sizes else int(name)
        return (-value if negative else value) - (int(less) if less else 0)

    def tensor(self, row, name, kind, shape, sizes, random):
        np = self.np
        if kind == "string":
            # onnxruntime parts an empty text in no pieces, the standard's reference in one; it knows the letters of the machine's locales.
            texts = ["b" if row["op"] == "StringSplit" else "", "a", "aa", "A,b", "b c", " d  e ", ",x,,y",
                     "ete" if row["op"] == "StringNormalizer" else "\u00e9t\u00e9"]
            return np.array([texts[i] for i in random.integers(0, len(texts), int(np.prod(shape)))], object).reshape(shape)
        dtype = self.dtype(kind)
        fill = row["fills"].get(name)
        if fill:
            low, high = (self.bound(text, sizes) for text in fill.split())
            if dtype.kind == "f":
                return random.uniform(low, high, shape).astype(dtype)
            return random.integers(low, max(low, high) + 1, shape).astype(dtype)
        if dtype.kind == "f":
            return random.standard_normal(shape).astype(dtype)
        high = 2 if dtype.kind == "b" else 100 if dtype.itemsize == 1 and row["op"] in ("QLinearConv", "QLinearMatMul") else 6
        return random.integers(-3 if dtype.kind == "i" else 0, high, shape).astype(dtype)

    def size_sets(self, row, names, random):
        primes = [5, 7, 3, 2, 11]
        wishes = [[1] * len(names), [3] * len(names), [primes[k % 5] for k in range(len(names))], [0] * len(names),
                  [0 if k == 0 else primes[k % 5] for k in range(len(names))], [1 if k % 2 == 0 else 5 for k in range(len(names))],
                  list(random.integers(1, 9, len(names)))]
        for wish in wishes if names else wishes[:1]:
            sizes = dict(zip(names, (int(w) for w in wish)))
            for name, allowed in row["dims"].items():
                if name in sizes and sizes[name] not in allowed:
                    sizes[name] = allowed[sizes[name] % len(allowed)]
            yield sizes

    def write_rows(self, folder, rows):
        for index, row in rows:
            plan = [(row, dtype, row["attributes"][0], "") for dtype in row["dtypes"] or [""]]
            first = (row["dtypes"] or [""])[0]
            plan += [(row, first, attributes, f"_{k}") for k, attributes in enumerate(row["attributes"][1:], 1)]
            for version in self.versions(row):
                plan += [(dict(row, opset=version), first, attributes, f"_v{version}_{k}") for k, attributes in enumerate(row["attributes"])
                         if self.has_form(row, version, attributes)]
            if vectors(row["inputs"]) != row["inputs"]:
                plan.append((dict(row, inputs=vectors(row["inputs"])), first, row["attributes"][0], "_vectors"))
            for other, dtype, attributes, suffix in plan:
                self.write(folder / str(tolerance(row, dtype)), other, dtype, attributes, f"{row['op']}_{index}_{dtype}{suffix}")
        return {"refused": self.refused, "runs": self.runs}

    def versions(self, row):
        """The other versions of the operator that Dyn and onnxruntime know."""
        if row["domain"] or not row["everyVersion"]:
            return []
        known = [s.since_version for s in self.onnx.defs.get_all_schemas_with_history()
                 if s.domain == "" and s.name == row["op"] and not s.deprecated and s.since_version <= NEWEST_OPSET]
        at = max((v for v in known if v <= row["opset"]), default=0)
        return sorted(v for v in known if v != at)

    def has_form(self, row, version, attributes):
        """Is the row's form that of this version, too? Where inputs were attributes before, older versions have rows of their own."""
        schema = self.onnx.defs.get_schema(row["op"], version, "")
        count = len(row["inputs"].split())
        return (schema.min_input <= count <= schema.max_input and row["outputs"] <= schema.max_output
                and all(name in schema.attributes for name in attributes))

    def write(self, folder, row, dtype, attributes, title):
        inputs = list(self.parse(row, dtype))
        model = self.model(row, inputs, attributes)
        options = self.ort.SessionOptions()
        options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        try:
            session = self.ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:  # NotImplemented, InvalidGraph, Fail: classes that onnxruntime does not export
            self.refused.append(f"{title}: {str(error).splitlines()[0][:160]}")
            return
        given = [(n, k, d) for n, k, d in inputs if k]
        names = sorted({d for _, _, dims in given for d in dims if isinstance(d, str)})
        random = self.np.random.default_rng(zlib.crc32(title.encode()))
        sets = []
        for sizes in self.size_sets(row, names, random):
            feeds = {n: self.tensor(row, n, k, [sizes.get(d, d) for d in dims], sizes, random) for n, k, dims in given}
            try:
                sets.append((feeds, session.run(None, feeds)))
            except Exception:  # as above: mostly a dim of 0
                continue
        if not sets:
            self.refused.append(f"{title}: no shape runs")
            return
        self.runs += len(sets)
        place = folder / title
        place.mkdir(parents=True)
        (place / "model.onnx").write_bytes(model.SerializeToString())
        for index, (feeds, results) in enumerate(sets):
            data = place / f"test_data_set_{index}"
            data.mkdir()
            for i, (name, _, _) in enumerate(given):
                (data / f"input_{i}.pb").write_bytes(self.onnx.numpy_helper.from_array(feeds[name], name).SerializeToString())
            for i, result in enumerate(results):
                array = self.np.asarray(result)
                (data / f"output_{i}.pb").write_bytes(self.onnx.numpy_helper.from_array(array, f"out{i}").SerializeToString())


def vectors(inputs):
    """The inputs with scalars as vectors of one element, as many writers of files have them."""
    inputs = re.sub(r"(?<=:\w\w\w)\[\](?= |$)|(?<=:T)\[\](?= |$)", "[1]", inputs)
    return re.sub(r"=((?:\w+:)?)(-?[\d.]+)(?= |$)", r"=\1[\2]", inputs)


def apart(works, folder, jobs=2):
    """Runs each in a process of its own, as onnxruntime may die of a shape; the numbers of those that did."""
    died, running = [], {}

    def wait():
        pid, status = os.wait()
        index = running.pop(pid)
        if status != 0:
            died.append(index)

    for index, work in enumerate(works):
        if len(running) == jobs:
            wait()
        pid = os.fork()
        if pid == 0:
            try:
                (folder / f"{index}.json").write_text(json.dumps(work()))
                os._exit(0)
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
                os._exit(1)
        running[pid] = index
    while running:
        wait()
    return died


def tolerance(row, dtype):
    return 2e-2 if dtype == "f16" or "f16" in row["inputs"] else row["rtol"]


def run(dynrepl, folder, only):
    maker = Maker()
    folder = pathlib.Path(folder)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    rows = [(index, row) for index, row in enumerate(sweep_rows.TABLE) if not only or row["op"] in only]
    parts = [rows[i::16] for i in range(16) if rows[i::16]]
    died = apart([lambda part=part: maker.write_rows(folder, part) for part in parts], folder)
    notes = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    runs = sum(note["runs"] for note in notes)
    refused = [text for note in notes for text in note["refused"]]
    total, failed = 0, len(died)
    for part in died:
        print(f"onnxruntime died in one of {', '.join(row['op'] for _, row in parts[part])}")
    shown = set()
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        rtol = float(place.name)
        command = [dynrepl, "--cache-dir", "none", "verify", str(place), "--rtol", str(rtol), "--atol", str(rtol / 2), "--jobs", "2", "--json"]
        document = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)
        if "cases" not in document:
            print(document)
            return 1
        total += len(document["cases"])
        shown |= {case["name"].split("_")[0] for case in document["cases"]}
        for case in document["cases"]:
            if case["status"] != "passed":
                failed += 1
                print(f"{case['name']}: {case['status']}: {case.get('reason', '')}")
    for op in sorted({row["op"] for _, row in rows} - shown):
        failed += 1
        print(f"{op}: onnxruntime runs none of its rows: they show nothing")
    print(f"{total} models, {runs} runs, {failed} differ; onnxruntime refuses {len(refused)} models, in refused.txt")
    (folder / "refused.txt").write_text("\n".join(refused) + "\n")
    return 1 if failed or total == 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("walk")
    verb.add_argument("--table", required=True)
    verb = verbs.add_parser("run")
    verb.add_argument("--dynrepl", required=True)
    verb.add_argument("--folder", required=True)
    verb.add_argument("only", nargs="*")
    given = parser.parse_args()
    if given.verb == "run":
        return run(given.dynrepl, given.folder, given.only)
    missing, stale, count = walk(given.table)
    for name in missing:
        print(f"{name} is read, but nothing compares it with onnxruntime: add a row to tests/conformance/sweep_rows.py")
    for name in stale:
        print(f"{name} has a row or a reason in tests/conformance/sweep_rows.py, but is not read")
    print(f"{count} operators, {len(missing)} without a row")
    return 1 if missing or stale or count < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
