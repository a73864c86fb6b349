#!/usr/bin/env python3
"""torch.compile in Dyn beside eager and inductor: ./dev bench torch [--model NAME]... [--sizes N] [--rounds N] [--threads N]

BERT, GPT-2 (a prefill) and ViT of the package transformers with small random weights, dynamic=True. For each: graphs
that torch.compile made after the first, over all sizes; seconds of the first call; the time of a call as a multiple
of eager's (above 1: slower), the median over rounds in which each runs once; the largest difference to eager. Needs
a Python (DYN_PYTHON) with torch, onnx, onnxscript and transformers."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/python"))

RUN = r"""
import json, statistics, sys, time
import torch, transformers
import dyn.torch
name, count, rounds, threads = sys.argv[1], *map(int, sys.argv[2:5])
torch.set_num_threads(threads)
torch.manual_seed(0)
small = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)
if name == "bert":
    model = transformers.BertModel(transformers.BertConfig(vocab_size=1000, **small))
elif name == "gpt2":
    model = transformers.GPT2Model(transformers.GPT2Config(vocab_size=1000, n_embd=128, n_layer=2, n_head=4, use_cache=False))
else:
    model = transformers.ViTModel(transformers.ViTConfig(image_size=64, patch_size=8, **small))
model.eval()

class First(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model
    def forward(self, x):
        return self.model(x)[0]

module = First().eval()
def feed(size):
    return torch.randn(size, 3, 64, 64) if name == "vit" else torch.randint(0, 1000, (2, 4 + 3 * size))
ways = {"eager": module}
first, graphs, made = {}, {}, []
def counted(way):
    inner = torch._dynamo.lookup_backend(way)
    def compile(graph, inputs):
        graphs[way] += 1
        return inner(graph, inputs)
    return compile
with torch.no_grad():
    for way in ("inductor", "dyn"):
        torch._dynamo.reset()
        graphs[way] = 0
        fast = torch.compile(module, backend=counted(way), dynamic=True)
        begin = time.perf_counter()
        fast(feed(4))
        first[way] = time.perf_counter() - begin
        at_first = graphs[way]
        for size in range(3, 3 + count):
            x = feed(size)
            difference = float((fast(x) - module(x)).abs().max())
            made.append((way, difference))
        graphs[way] -= at_first
        ways[way] = fast
    sizes = (4, 16, 40)[: 3 if name != "vit" else 2]
    ratios = {"inductor": [], "dyn": []}
    for size in sizes:
        x = feed(size)
        for way in ways.values(): way(x)
        for _ in range(rounds):
            times = {}
            for way, call in ways.items():
                begin = time.perf_counter(); call(x); times[way] = time.perf_counter() - begin
            for way in ratios: ratios[way].append(times[way] / times["eager"])
print(json.dumps({way: {"recompilations": graphs[way], "first_s": first[way], "ratio": statistics.median(ratios[way]),
    "difference": max(one for of, one in made if of == way)} for way in ratios} | {"report": str(dyn.torch.report())}))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--model", action="append", choices=("bert", "gpt2", "vit"))
    parser.add_argument("--sizes", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    import package_test
    from measuring import cpu_name
    why = package_test.missing()
    for package in ("torch", "onnx", "onnxscript", "transformers"):
        if not why and subprocess.run([sys.executable, "-c", "import " + package], capture_output=True).returncode:
            why = "%s cannot import %s" % (sys.executable, package)
    if why:
        print("unavailable: %s" % why)
        return 0
    folder = package_test.built(given.build)
    print("%s, threads: %d, load: %.1f" % (cpu_name(), given.threads, os.getloadavg()[0]))
    print("%-6s %-9s %15s %12s %14s %11s" % ("model", "backend", "recompilations", "first call", "time / eager's", "difference"))
    failed = False
    for name in given.model or ("bert", "gpt2", "vit"):
        command = [sys.executable, "-c", RUN, name, str(given.sizes), str(given.rounds), str(given.threads)]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(folder)},
                              capture_output=True, text=True)
        if done.returncode != 0:
            print("%-6s failed: %s" % (name, done.stderr.strip().split("\n")[-1]))
            failed = True
            continue
        rows = json.loads(done.stdout.strip().split("\n")[-1])
        report = rows.pop("report")
        for way, row in rows.items():
            print("%-6s %-9s %15d %10.1f s %14.2f %11.1e" % (name, way, row["recompilations"], row["first_s"],
                                                            row["ratio"], row["difference"]), flush=True)
        print("       " + report.replace("\n", "\n       "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
