#!/usr/bin/env python3
"""Everything that must be seen on a machine with a GPU, in one command, with a report.

    ./dev gpu [--output FILE] [--quick]                    what a person types; it builds first
    gpu_report.py --build build/release [--driver LIBRARY] [--quick] [--output FILE] [--no-bench]

On the driver that is found (or LIBRARY): the sample models against their recorded outputs (also with products by cuBLASLt), at twelve shapes beside onnxruntime, all programs of the
operator sweep, 300 random programs, the conformance test of the device table; the bits of results beside those of the simulated GPU; compute-sanitizer
on the models, where it is found; ./dev bench gpu. What is not there is a line "unavailable: ...". The report is a section for tests/bench/RESULTS.md: it
goes to FILE, or takes its place there.
Exit: 0 all well; 3 something differs; 4 there is no driver ("unavailable: ...").
"""
import argparse
import datetime
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN, END = "<!-- gpu: written by ./dev gpu -->", "<!-- end of gpu -->"
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
# Of each model sizes that a simulated GPU runs in a second.
RUNS = {
    "bert": ["batch=2", "seq=11"],
    "lstm_loop": ["seq=4", "batch=3"],
    "early_exit": ["seq=5"],
    "gpt2": ["batch=1", "seq=3", "past=5"],
    "switch": ["tokens=5"],
    "ssd": ["h=32", "w=32"],
}


class Run:
    def __init__(self, options):
        self.options = options
        self.bin = os.path.join(options.build, "bin")
        self.rows, self.failed, self.notes = [], False, []
        self.models = sorted(
            name for name in os.listdir(os.path.join(ROOT, "samples", "models")) if os.path.isdir(os.path.join(ROOT, "samples", "models", name, "test_data_set_0")))
        if options.quick:
            self.models = [m for m in self.models if m in ("lstm_loop", "early_exit")]

    def environment(self, driver=None):
        environment = dict(os.environ, DYN_TEST_ALL="0" if self.options.quick else "1")
        environment.pop("DYN_CUDA_DRIVER", None)
        if driver or self.options.driver:
            environment["DYN_CUDA_DRIVER"] = driver or self.options.driver
        return environment

    def call(self, command, driver=None, seconds=3600):
        try:
            done = subprocess.run(command, env=self.environment(driver), capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return 124, f"no end after {seconds} s"
        return done.returncode, done.stdout + done.stderr

    def dynrepl(self, *arguments, device="cuda", driver=None):
        return self.call([os.path.join(self.bin, "dynrepl"), "--cache-dir", "none", "--device", device, *arguments], driver)

    def model(self, name):
        return os.path.join(ROOT, "samples", "models", name, "model.onnx")

    def row(self, what, result, failed=False):
        self.rows.append((what, result))
        self.failed |= failed
        print(f"{what}: {result}", flush=True)

    def available(self):
        """"" or why not, from the product itself."""
        code, text = self.dynrepl("run", self.model("lstm_loop"), "--dim", "seq=1", "--dim", "batch=1", "--quiet")
        if code == 0:
            return ""
        line = next((l for l in text.splitlines() if "unavailable" in l), "")
        return line[line.find("unavailable"):] if line else f"unavailable: {text.strip()[-300:] or f'exit {code}'}"

    def counted(self, what, command, seconds=3600):
        """A program that says by itself whether all is well."""
        if not os.path.exists(command[0]):
            return self.row(what, f"unavailable: {os.path.basename(command[0])} is not built")
        code, text = self.call(command, seconds=seconds)
        if code == 77:
            return self.row(what, next((l for l in text.splitlines() if "unavailable" in l or "skipped" in l), "unavailable"))
        last = (text.strip().splitlines() or [""])[-1]
        self.row(what, "all well" if code == 0 else f"FAILED ({code}): {last[:200]}", code != 0)
        if code != 0:
            self.notes.append(f"{what}:\n{text.strip()[-2000:]}")

    def samples(self, what, *options):
        wrong = []
        for name in self.models:
            code, text = self.dynrepl("verify", os.path.dirname(self.model(name)), "--rtol", "1e-4", "--atol", "1e-5", *options)
            if code == 4 and options and "unavailable: version" in text:
                return self.row(what, next(l for l in text.splitlines() if "unavailable" in l).strip())
            if code != 0:
                wrong.append(name)
                self.notes.append(f"{name}:\n{text.strip()[-800:]}")
        self.row(what, f"{len(self.models) - len(wrong)} of {len(self.models)}" + (f"; not {', '.join(wrong)}" if wrong else ""), bool(wrong))

    def bits(self):
        """The same runs on the simulated GPU. Approximate instructions and tensor cores may differ in the last bits; everything else may not."""
        simulated = os.path.join(self.options.build, "simcuda", "libcuda.so.1")
        if not os.path.exists(simulated):
            return self.row("bits beside the simulated GPU", "unavailable: simcuda is not built")
        equal, other = [], []
        with tempfile.TemporaryDirectory() as work:
            for name, sizes in RUNS.items():
                if self.options.quick and name not in self.models:
                    continue
                dims = [word for size in sizes for word in ("--dim", size)]
                folders = [os.path.join(work, f"{name}.{side}") for side in ("real", "simulated")]
                codes = [self.dynrepl("run", self.model(name), *dims, "--quiet", "--output-dir", folder, driver=driver)[0] for folder, driver in zip(folders, (None, simulated))]
                if any(codes):
                    other.append(f"{name} ends with {codes}")
                    continue
                files = sorted(os.listdir(folders[0]))
                same = files and files == sorted(os.listdir(folders[1])) and not filecmp.cmpfiles(*folders, files, shallow=False)[1]
                (equal if same else other).append(name if same else f"{name}: {self.distance(folders, files)}")
        self.row("bits beside the simulated GPU", f"equal: {', '.join(equal) or 'none'}" + (f"; other: {'; '.join(other)}" if other else ""), bool(other))

    @staticmethod
    def distance(folders, files):
        try:
            import numpy
        except ImportError:
            return "other bits"
        worst = 0.0
        for file in files:
            a, b = (numpy.load(os.path.join(folder, file)) for folder in folders)
            if a.shape != b.shape or a.dtype.kind not in "fc":
                return f"{file} is another"
            scale = float(numpy.sqrt(numpy.mean(b.astype(float) ** 2))) or 1.0
            worst = max(worst, float(numpy.abs(a.astype(float) - b.astype(float)).max()) / scale if a.size else 0.0)
        return f"off by {worst:.2g} of the root mean square"

    def sanitizers(self):
        tool = shutil.which("compute-sanitizer") or next((p for p in ("/usr/local/cuda/bin/compute-sanitizer",) if os.access(p, os.X_OK)), None)
        if not tool:
            return self.row("compute-sanitizer", "unavailable: it is not installed")
        for which in SANITIZERS:
            wrong = []
            for name, sizes in RUNS.items():
                if name not in self.models:
                    continue
                dims = [word for size in sizes for word in ("--dim", size)]
                command = [tool, "--tool", which, "--error-exitcode", "9", os.path.join(self.bin, "dynrepl"), "--cache-dir", "none", "--device", "cuda", "run", self.model(name), *dims, "--quiet"]
                code, text = self.call(command)
                if code != 0:
                    wrong.append(name)
                    self.notes.append(f"{which}, {name}:\n{text.strip()[-800:]}")
            self.row(f"compute-sanitizer {which}", "clean" if not wrong else f"FAILED: {', '.join(wrong)}", bool(wrong))

    def bench(self):
        command = [sys.executable, os.path.join(ROOT, "tests", "bench", "gpu.py"), "--build", self.options.build] + (["--quick"] if self.options.quick else [])
        code, text = self.call(command + (["--driver", self.options.driver] if self.options.driver else []))
        if code != 0:
            self.row("bench gpu", f"FAILED ({code}): {text.strip()[-200:]}", True)
            return ""
        print(text)
        return text

    def all(self):
        self.samples("sample models against their records")
        self.samples("the same with products by cuBLASLt", "--policy", "matmul=cublaslt", "--tuning", "none")
        binary = lambda name: os.path.join(self.bin, name)  # noqa: E731
        if not self.options.quick:
            self.counted("twelve shapes of each beside onnxruntime", [os.path.join(ROOT, "tests", "tools", "with_python.sh"), "--needs", "numpy,onnx,onnxruntime",
                os.path.join(ROOT, "tests", "device", "shapes_test.sh"), binary("dynrepl"), ROOT, "cuda"])
        few = ["--gtest_filter=Shares/DeviceSweep.asInterpreted/0"] if self.options.quick else ["--gtest_filter=*DeviceSweep*:OnDevice*"]
        self.counted("programs of the operator sweep", [binary("test_driver"), *few])
        self.counted("random programs", [binary("differential"), "--passes", "cuda", "--count", "10" if self.options.quick else "300", "--output", os.path.join(self.options.build, "differential-failures")])
        self.counted("conformance of the device table", [binary("test_vm"), "--gtest_filter=AllRows/Device.*/cuda"])
        self.bits()
        self.sanitizers()
        return "" if self.options.no_bench else self.bench()


def device_name(driver):
    if driver:
        return f"driver {os.path.basename(os.path.dirname(os.path.abspath(driver)))}/{os.path.basename(driver)}" + (" (simulated: times mean nothing)" if "simcuda" in driver else "")
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout
        return text.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "an unnamed GPU"


def section(run, bench, device):
    lines = [BEGIN, f"## {datetime.date.today().isoformat()}, GPU (`./dev gpu`), {device}", "", "| check | result |", "|---|---|"]
    lines += [f"| {what} | {result.replace('|', '/')} |" for what, result in run.rows]
    if bench.strip():
        lines += ["", bench.strip()]
    return "\n".join(lines + [END]) + "\n"


def place(text, file):
    """Into the file: where the last report stands, or before its first section."""
    old = ""
    if os.path.exists(file):
        with open(file, encoding="utf-8") as opened:
            old = opened.read()
    if BEGIN in old and END in old:
        first, rest = old.index(BEGIN), old.index(END) + len(END)
        new = old[:first] + text.rstrip("\n") + old[rest:]
    elif "\n## " in old:
        first = old.index("\n## ") + 1
        new = old[:first] + text + "\n" + old[first:]
    else:
        new = old + text
    with open(file + ".new", "w", encoding="utf-8") as opened:
        opened.write(new)
    os.replace(file + ".new", file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="", help="a library instead of the system's driver")
    parser.add_argument("--quick", action="store_true", help="two models, ten programs")
    parser.add_argument("--no-bench", action="store_true")
    parser.add_argument("--output", default=os.path.join(ROOT, "tests", "bench", "RESULTS.md"))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    run = Run(options)
    why = run.available()
    if why:
        print(why)
        return 4
    bench = run.all()
    place(section(run, bench, device_name(options.driver)), options.output)
    for note in run.notes:
        print(f"\n{note}")
    print(f"report: {options.output}")
    return 3 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
