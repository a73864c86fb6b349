#!/usr/bin/env python3
"""What a call from Python takes: ./dev bench python [--programs] [--calls N]

The add of one element beside the same calls from C and beside onnxruntime, by each way to call; then a BERT of the
samples. --programs: also the programs of tests/python/programs.py, those that are installed, on both runtimes."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/python"))

C_CALL = r"""
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "dyn.h"
int main(int argc, char** argv) {
  const char* text = "fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }";
  dyn_option threads = {"threads", "1"};
  dyn_model_options given = {.size = sizeof given, .bytes = text, .byte_count = strlen(text), .name = "add.dyn",
                             .options = &threads, .option_count = 1};
  dyn_options run = {.thread_count = 1};
  dyn_model* model; dyn_module* module; dyn_context* context;
  if (dyn_model_open(&given, &model) || dyn_model_compile(model, &module) || dyn_context_create(module, &run, &context)) return 1;
  float x[1] = {1}; int64_t shape[1] = {1}; double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    struct timespec begin, end; const int calls = 20000;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < calls; ++i) {
      dyn_value *in, *out;
      dyn_value_borrow(context, DYN_F32, 1, shape, x, sizeof x, 0, 0, &in);
      dyn_context_set_input(context, 0, in);
      dyn_value_release(in);
      if (dyn_context_run(context)) return 1;
      dyn_context_get_output(context, 0, &out);
      dyn_value_release(out);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double one = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / calls;
    if (one < best) best = one;
  }
  printf("%f\n", best / 1000);
  return 0;
}
"""

CALLS = r"""
import sys, time
import numpy as np
import dyn
import dyn.compat.onnxruntime as ours
try:
    import onnx, onnxruntime
    from onnx import TensorProto, helper
except ImportError:
    onnx = None
calls, bert = int(sys.argv[1]), sys.argv[2]
def best(call, calls=calls):
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(calls): call()
        times.append((time.perf_counter() - begin) / calls)
    return min(times) * 1e6
def row(name, call, calls=calls): print("%-44s %8.2f us" % (name, best(call, calls)), flush=True)
x, out = np.ones(1, np.float32), np.zeros(1, np.float32)
model = dyn.load(b"fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }", name="add.dyn", threads=1)
row("dyn, model(x)", lambda: model(x))
row("dyn, model(x=x)", lambda: model(x=x))
row("dyn, model(x, out=out)", lambda: model(x, out=out))
ids = np.ones((1, 8), np.int64)
feed = {"input_ids": ids, "attention_mask": ids}
if onnx:
    data = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    for name, runtime in (("dyn.compat.onnxruntime", ours), ("onnxruntime", onnxruntime)):
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        row(name + ", session.run", lambda: session.run(None, {"x": x}))
    session = onnxruntime.InferenceSession(bert, options, providers=["CPUExecutionProvider"])
    row("onnxruntime, bert of the samples, 1 x 8", lambda: session.run(None, feed), calls // 50)
small = dyn.load(bert, threads=1)
row("dyn, bert of the samples, 1 x 8", lambda: small(**feed), calls // 50)
"""


def c_call(build):
    """Microseconds of the same call from C, or None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "call.c"
        source.write_text(C_CALL)
        library = build / "lib"
        done = subprocess.run(["cc", "-O2", source, "-o", source.with_suffix(""), f"-I{SOURCE}/app/library/include",
                               f"-I{SOURCE}/vm/include", f"-L{library}", "-ldyn", f"-Wl,-rpath,{library}"])
        if done.returncode != 0:
            return None
        return float(subprocess.run([source.with_suffix("")], capture_output=True, text=True, check=True).stdout)


def program_rows(environment):
    import programs
    print("\n%-10s %14s %14s %14s %14s  answers" % ("program", "onnxruntime", "dyn", "first, ort", "first, dyn"))
    for name in programs.PROGRAMS:
        if name not in programs.available():
            print("%-10s is not installed: pip install %s" % (name, programs.PROGRAMS[name][1].replace("_", "-")))
            continue
        seen = [json.loads(subprocess.run([sys.executable, *prefix, programs.__file__, name, "5"], env=environment,
                                          capture_output=True, text=True, check=True).stdout)
                for prefix in ([], ["-m", "dyn.compat"])]
        print("%-10s %11.1f ms %11.1f ms %11.0f ms %11.0f ms  %s" % (
            name, *(1e3 * one["seconds"] for one in seen), *(1e3 * one["first_seconds"] for one in seen),
            programs.differs(seen[0]["answers"], seen[1]["answers"]) or "same"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--calls", type=int, default=10000)
    given = parser.parse_args()
    import package_test
    why = package_test.missing()
    if why:
        print("unavailable: %s" % why)
        return 0
    folder = package_test.built(given.build)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    in_c = c_call(given.build.resolve())
    if in_c is not None:
        print("%-44s %8.2f us" % ("add of one element from C", in_c), flush=True)
    subprocess.run([sys.executable, "-c", CALLS, str(given.calls), str(SOURCE / "samples/models/bert/model.onnx")],
                   env=environment, check=True)
    if given.programs:
        program_rows(environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
