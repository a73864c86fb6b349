#!/usr/bin/env python3
"""Runs models through dynrepl and through onnxruntime on the same inputs of many shapes, and compares.

    ./dev compare MODEL...                                     what a person types; it builds dynrepl first
    compare_with_onnxruntime.py --dynrepl BIN MODEL... [--count 36] [--seed 1] [--rtol 1e-4] [--feeds FILE.json] [--only K] [--json FILE]

MODEL is a .onnx file, or a folder with a model.onnx. Per model: one artefact, one process, at least 30 shapes (0 where the model allows it, 1, primes,
equal values for different symbols, each symbol's maximum, then random ones), inputs that are valid for the model (feeds.json says of which values; what
is not named there is normal reals, 0 or 1 for integers). Needs Python with numpy, onnx and onnxruntime.

A case passes when all outputs have the same dtype and shape, integers are equal, and |dyn - peer| <= rtol * |peer| + atol, where
atol = rtol / 5 * the root mean square of that output: an element near zero is a difference of terms of the size of its neighbours and carries their
rounding errors (one product over 768 terms in single precision is off by up to 5e-6 of that mean, and a deep model chains dozens).
Where that fails, the model is run in double precision:
  rounding      both are within ten tolerances of that result, and Dyn's root mean square error is at most five times the peer's: passes
  unstable      a model that selects (the best boxes, an expert, an early exit) may select otherwise for the last bit of a score: the peer's own
                result changes as much when each input moves by at most a millionth: passes
  wrong         anything else
Where onnxruntime refuses (mostly a dim of 0) and Dyn does not, Dyn is right when the result has no elements and the shapes that the model declares,
else the ONNX reference evaluator in double precision says (`peer refuses`); `undecided`: that cannot run it either.
No kernel may be compiled after load.
Exit: 0 all passed, 1 dynrepl did not run, 3 results differ.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

import case_inputs
import exact_reference
import peer


MOST_ROUNDING = 10  # tolerances; what is further from the exact result is no rounding
MOST_SPREAD = 5  # times the peer's root mean square error
NEIGHBOURS = 12  # inputs close by that are tried before a difference is called one
NEARNESS = 1e-6  # how close, relatively: ten roundings, which a few layers add up to


def single(value):
    return value.astype(np.float32) if value.dtype == np.float64 else value


def like(exact, values):
    """Reals of `exact` in the precision of `values`."""
    return [e.astype(v.dtype) if e.dtype.kind == "f" and v.dtype.kind == "f" else e for e, v in zip(exact, values)]


def model_file(path):
    return os.path.join(path, "model.onnx") if os.path.isdir(path) else path


def model_name(path):
    """bert-real.onnx -> bert-real; silero_if/model.onnx -> silero_if."""
    path = os.path.abspath(model_file(path))
    stem = os.path.basename(path)[: -len(".onnx")]
    return os.path.basename(os.path.dirname(path)) if stem == "model" else stem


class Difference:
    """How far `got` is from `expected`: worst is the largest |got - expected| / allowed, problem a sentence or ""."""

    def __init__(self, name, got, expected, rtol):
        self.problem, self.worst = "", 0.0
        if got.dtype != expected.dtype or got.shape != expected.shape:
            self.worst = np.inf
            self.problem = f"{name}: {got.dtype}{list(got.shape)}, expected {expected.dtype}{list(expected.shape)}"
            return
        if got.size == 0:
            return
        if got.dtype.kind not in "fc":
            wrong = int(np.count_nonzero(got != expected))
            if wrong:
                self.worst, self.problem = np.inf, f"{name}: {wrong} of {got.size} elements differ"
            return
        wide, target = got.astype(np.float64), expected.astype(np.float64)
        same = (wide == target) | (np.isnan(wide) & np.isnan(target))
        finite = np.isfinite(wide) & np.isfinite(target)
        if not np.all(same | finite):
            self.worst, self.problem = np.inf, f"{name}: {int(np.count_nonzero(~(same | finite)))} elements are not finite in one only"
            return
        if not np.any(finite):
            return
        wide, target = wide[finite], target[finite]
        allowed = rtol * np.abs(target) + rtol / 5 * np.sqrt(np.mean(target * target)) + 1e-30
        ratio = np.abs(wide - target) / allowed
        self.worst = float(ratio.max())
        if self.worst > 1:
            at = int(ratio.argmax())
            self.problem = f"{name}: {int(np.count_nonzero(ratio > 1))} of {got.size} elements differ, the worst {wide[at]:.7g}, expected {target[at]:.7g}"


def spread(got, exact):
    """Root mean square of what is off, over all reals, each output in units of its own root mean square."""
    parts = [(((g.astype(np.float64) - e) / (np.sqrt(np.mean(e.astype(np.float64) ** 2)) + 1e-30)) ** 2).ravel() for g, e in zip(got, exact) if e.dtype.kind == "f" and e.size]
    return float(np.sqrt(np.mean(np.concatenate(parts)))) if parts else 0.0


def compare(names, got, expected, rtol):
    """(largest ratio of any output, first problem)."""
    differences = [Difference(n, g, e, rtol) for n, g, e in zip(names, got, expected)]
    worst = max((d.worst for d in differences), default=0.0)
    return worst, next((d.problem for d in differences if d.problem), "")


class Comparison:
    def __init__(self, options, path):
        self.options, self.path = options, model_file(path)
        self.name = model_name(path)
        self.model = onnx.load(self.path, load_external_data=False)
        self.counts = {k: 0 for k in ("same", "rounding", "peer refuses", "both refuse", "undecided", "unstable", "wrong", "failed")}
        self.problems, self.worst = [], 0.0
        self.double_path = ""
        self.load_seconds = self.peak_bytes = self.after_load = 0

    def run(self, feeds):
        rows = [row for pattern, row in feeds.items() if fnmatch.fnmatch(self.name, pattern)]
        plan = case_inputs.Plan(self.model, rows[0] if rows else {}, self.options.seed)
        self.cases = plan.cases(self.options.count)
        with tempfile.TemporaryDirectory(prefix="dyn_compare_", dir=self.options.work) as folder:
            document = self.run_dyn(plan, folder)
            if document is None:
                return
            self.peer = peer.Peer(self.path, self.options.threads)
            self.outputs = self.peer.outputs
            for index, (dims, dyn) in enumerate(zip(self.cases, document["cases"])):
                if self.options.only is None or index == self.options.only:
                    self.judge(index, dims, plan, dyn, folder)
            self.peer.close()

    def run_dyn(self, plan, folder):
        with open(os.path.join(folder, "cases.jsonl"), "w") as lines:
            for index, dims in enumerate(self.cases):
                os.makedirs(os.path.join(folder, f"in{index}"))
                specs = {}
                for number, (name, value) in enumerate(plan.inputs(index, dims).items()):
                    file = os.path.join(folder, f"in{index}", f"{number}.npy")
                    np.save(file, value)
                    specs[name] = "@" + file
                lines.write(json.dumps({"inputs": specs, "output_dir": os.path.join(folder, f"out{index}")}) + "\n")
        command = [self.options.dynrepl, "run", self.path, "--cases", os.path.join(folder, "cases.jsonl"), "--json", "--quiet"]
        with open(os.path.join(folder, "stdout"), "w+") as out, open(os.path.join(folder, "stderr"), "w+") as err:
            process = subprocess.Popen(command + self.options.dyn_option, stdout=out, stderr=err)
            while process.poll() is None:
                self.peak_bytes = max(self.peak_bytes, memory_peak(process.pid))
                time.sleep(0.02)
            out.seek(0), err.seek(0)
            text, complaint = out.read(), err.read()
        try:
            document = json.loads(text)
        except json.JSONDecodeError:
            document = {}
        if len(document.get("cases", [])) != len(self.cases):
            why = document.get("error", {}).get("message") or complaint.strip()[-300:] or f"exit {process.returncode}"
            self.problems.append(f"dynrepl did not run the cases: {why}")
            self.counts["failed"] = len(self.cases)
            return None
        self.load_seconds = document.get("load_ns", 0) / 1e9
        self.after_load = document["kernels_compiled_after_load_count"]
        if self.after_load:
            self.problems.append(f"{self.after_load} kernels were compiled after load")
        return document

    def judge(self, index, dims, plan, dyn, folder):
        inputs = plan.inputs(index, dims)
        expected, refusal = self.peer.run(inputs)
        if "error" in dyn:
            if expected is None:
                return self.note("both refuse", index, dims, f"{dyn['error']['message']} (peer: {refusal[:100]})", self.options.verbose)
            return self.note("failed", index, dims, dyn["error"]["message"])
        files = {o["name"]: o["file"] for o in dyn["outputs"]}
        got = [np.load(os.path.join(folder, files[name])) for name in self.outputs]
        if expected is not None:
            worst, problem = compare(self.outputs, got, expected, self.options.rtol)
            self.worst = max(self.worst, worst if np.isfinite(worst) else 0.0)
            if not problem:
                return self.note("same", index, dims, "", False)
        if expected is None and self.is_empty_as_declared(plan.symbols(dims), got):
            return self.note("peer refuses", index, dims, refusal[:160], self.options.verbose)
        if expected is None:
            return self.judge_alone(index, dims, inputs, got, refusal)
        exact, reason = self.dyn_in_double(inputs, folder)
        mine = theirs = np.inf
        note = f"{problem}; not run in double precision: {reason}"
        if exact is not None:
            mine, theirs = compare(self.outputs, got, exact, self.options.rtol)[0], compare(self.outputs, expected, exact, self.options.rtol)[0]
            note = f"{problem}; in units of the tolerance Dyn is {mine:.3g} from its result in double precision, the peer {theirs:.3g}"
        if max(mine, theirs) <= MOST_ROUNDING and spread(got, exact) <= MOST_SPREAD * spread(expected, exact):
            return self.note("rounding", index, dims, note, self.options.verbose)
        if self.is_unstable(inputs, expected, worst):
            return self.note("unstable", index, dims, note, self.options.verbose)
        self.note("wrong", index, dims, note)

    def judge_alone(self, index, dims, inputs, got, refusal):
        exact, reason = exact_reference.evaluate(self.path, inputs)
        if exact is None:
            return self.note("undecided", index, dims, f"{refusal[:160]}; {reason[:160]}", self.options.verbose)
        problem = compare(self.outputs, got, like(exact, got), self.options.rtol)[1]
        self.note("wrong" if problem else "peer refuses", index, dims, problem or refusal[:160], bool(problem) or self.options.verbose)

    def dyn_in_double(self, inputs, folder):
        """The outputs of the model with all reals in double precision, or None and why not. A fault that both precisions share shows as the peer
        being far from it."""
        if not self.double_path:
            self.double_path = os.path.join(folder, "double.onnx")
            onnx.save(exact_reference.widen(onnx.load(self.path)), self.double_path, save_as_external_data=True, location="double.data")
        place = tempfile.mkdtemp(dir=folder)
        command = [self.options.dynrepl, "run", self.double_path, "--quiet", "--json", "--output-dir", place]
        for number, (name, value) in enumerate(inputs.items()):
            np.save(f"{place}/in{number}.npy", exact_reference.wide(value))
            command += ["--input", f"{name}=@{place}/in{number}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        document = json.loads(done.stdout)
        if "error" in document:
            return None, document["error"]["message"]  # an operator may be there for one precision only
        files = {o["name"]: o["file"] for o in document["outputs"]}
        return [single(np.load(files[n])) for n in self.outputs], ""

    def is_unstable(self, inputs, expected, worst):
        """The peer's own result moves as far as `worst` for inputs that differ by some roundings."""
        for trial in range(NEIGHBOURS):
            random = np.random.default_rng(trial)
            near = {n: (v * (1 + NEARNESS * random.uniform(-1, 1, v.shape))).astype(v.dtype) if v.dtype.kind == "f" else v for n, v in inputs.items()}
            moved, _ = self.peer.run(near)
            if moved is not None and compare(self.outputs, moved, expected, self.options.rtol)[0] >= min(worst, 100):
                return True
        return False

    def is_empty_as_declared(self, sizes, got):
        """No output has elements, and all shapes are what the model declares: there is no more to be right about."""
        for port, value in zip(self.model.graph.output, got):
            dims = port.type.tensor_type.shape.dim
            if value.size or value.ndim != len(dims):
                return False
            for size, dim in zip(value.shape, dims):
                declared = sizes.get(dim.dim_param) if dim.dim_param else dim.dim_value if dim.HasField("dim_value") else size
                if declared is not None and size != declared:
                    return False
        return True

    def note(self, verdict, index, dims, text, shown=True):
        self.counts[verdict] += 1
        if shown:
            self.problems.append(f"{verdict}: case {index} {' '.join(f'{k}={v}' for k, v in dims.items())}: {text}")

    def passed(self):
        return self.after_load == 0 and self.counts["wrong"] + self.counts["failed"] == 0

    def row(self):
        c = self.counts
        return (f"{self.name:16} {len(self.cases):5} {c['same']:5} {c['rounding']:8} {c['peer refuses']:7} {c['both refuse']:7} {c['undecided']:9} {c['unstable']:8} {c['wrong']:5} {c['failed']:6}"
                f" {self.after_load:8} {self.worst:9.3f} {self.load_seconds:7.2f} {self.peak_bytes / 1e6:8.0f} {weights_bytes(self.path) / 1e6:8.0f}")


def memory_peak(process):
    """High-water mark of a process, so far. (What wait4() says counts the process it was forked from as well.)"""
    try:
        with open(f"/proc/{process}/status") as status:
            return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def weights_bytes(path):
    """Size of the model's file and of its external data."""
    return sum(os.path.getsize(p) for p in (path, path + ".data") if os.path.exists(p))


HEAD = (f"{'model':16} {'cases':>5} {'same':>5} {'rounding':>8} {'peer0':>7} {'both0':>7} {'undecided':>9} {'unstable':>8} {'wrong':>5} {'failed':>6}"
        f" {'compiled':>8} {'worst/tol':>9} {'load s':>7} {'peak MB':>8} {'file MB':>8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--dynrepl", required=True)
    parser.add_argument("--count", type=int, default=36, help="shapes per model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rtol", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2, help="of onnxruntime")
    parser.add_argument("--feeds", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "feeds.json"))
    parser.add_argument("--only", type=int, help="judge this case alone")
    parser.add_argument("--work", help="folder for inputs and outputs, which are removed in the end (default: the system's)")
    parser.add_argument("--json", help="write the counts there")
    parser.add_argument("--dyn-option", action="append", default=[], help="passed to dynrepl, such as --dyn-option=--passes=-fuse")
    parser.add_argument("--verbose", action="store_true", help="say also what the peer refuses")
    options = parser.parse_args()
    with open(options.feeds) as file:
        feeds = json.load(file)
    print(HEAD, flush=True)
    done = []
    for path in options.models:
        comparison = Comparison(options, path)
        comparison.run(feeds)
        print(comparison.row(), flush=True)
        for problem in comparison.problems:
            print(f"  {problem}", flush=True)
        done.append(comparison)
    total = sum(len(c.cases) for c in done)
    good = sum(c.passed() for c in done)
    print(f"{good} of {len(done)} models right, {total} cases: " + ", ".join(f"{sum(c.counts[k] for c in done)} {k}" for k in done[0].counts))
    if options.json:
        with open(options.json, "w") as file:
            json.dump([{"model": c.name, "counts": c.counts, "problems": c.problems, "load_s": c.load_seconds, "peak_bytes": c.peak_bytes} for c in done], file, indent=1)
    if any(c.problems and c.problems[0].startswith("dynrepl did not run") for c in done):
        return 1
    return 0 if good == len(done) else 3


if __name__ == "__main__":
    sys.exit(main())
