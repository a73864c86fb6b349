#!/usr/bin/env python3
"""What a command costs after many others: its time and the memory that stays behind, for the shell, for `run --cases`, a script and the C API, and in the window.

    ./dev bench sessions [--commands 100000] [--only cases,run,why,...] [--json]

Each row: microseconds of a command in all, in the first and in the last eighth, the ratio of these two, and resident bytes that each command of the last three
quarters left behind. The shell keeps its last 10,000 lines, so that under 40,000 commands some bytes of a line are left by each. Commands that compile
(expressions) are fewer. Needs numpy for the C API.
"""
import argparse
import json
import os
import subprocess
import tempfile
import threading
import time

PARTS = 8
MODEL = """fn @squared(%a: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
  %b = mul(%a, %a)
  return %b
}
fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4, m), f32]) {
  %h = matmul(%x, %w)
  %s = softmax(%h) {axis = 1}
  %k = nonzero(%h)
  return %s, %k
}
"""
WEIGHTS = """fn @main(%x: Tensor[(n, 4), f32]) {
  %w = constant() {value = f32[4, 4] [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]}
  %h = matmul(%x, %w)
  %y = relu(%h)
  return %y
}
"""
RUN = ":run --dim n={size} --dim m=3"
# name: the line of command i, what its answer has exactly once, how many of the commands (they compile), what says that it failed instead
SHELL = {
    "run": (RUN, b"s = f32", 1, False),
    "why": (":why s.{axis}", b"what is ", 1, False),
    "why, new": (":why {i}*n+{axis}", b"what is ", 1, False),
    "why, two dims": (":why {i}*n m", b"*n = m?", 0.1, False),
    "bind": ("x = [1.0, {i}.0]", b"x = ", 0.1, False),
    "expression": ("[1.0, 2.0] + {i}.0", b"f32[2]", 0.1, False),
    "function": ("@squared([1.0, {i}.0])", b"f32[2]", 0.1, False),
    "type": (":type @squared([1.0, {i}.0])", b"Tensor[(2)", 1, False),
    "set": (":set seed {i}", b"seed", 1, False),
    "bench": (":bench --dim n={size} --dim m=3 --seconds 0.0001", b"GFLOP/s", 0.1, False),
    "tune": (":tune --dim n={size} --seconds 0.0001", b"records: ", 0.01, False),
    "error": ("y{i}", b"error[", 1, True),
}


def resident(process):
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Watch:
    """Times and memory at each eighth of the commands."""

    def __init__(self, process, count):
        self.process, self.step, self.rows, self.last = process, count // PARTS, [], 0
        self.start = self.begin = time.monotonic()

    def see(self, done):
        if done < (len(self.rows) + 1) * self.step:
            return
        now = time.monotonic()
        self.rows.append((done, (now - self.begin) / (done - self.last) * 1e6, resident(self.process)))
        self.last, self.begin = done, now

    def row(self):
        quarter, last = self.rows[PARTS // 4 - 1], self.rows[-1]
        return {"commands_count": last[0], "mean_us": (self.begin - self.start) / last[0] * 1e6, "first_us": self.rows[0][1], "last_us": last[1],
                "bytes_per_command": (last[2] - quarter[2]) / (last[0] - quarter[0])}


def watch(command, mark, count, of_errors=False, **options):
    """Runs a program and counts what it writes: `mark` stands once in the answer of each command."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        seen, other = (process.stderr, process.stdout) if of_errors else (process.stdout, process.stderr)
        threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(other.fileno(), 1 << 16), b"")], daemon=True).start()
        watching, done, tail = Watch(process.pid, count), 0, b""
        while data := os.read(seen.fileno(), 1 << 16):
            data = tail + data
            done += data.count(mark)
            tail = data[max(0, len(data) - len(mark) + 1):]
            if done < count:  # the process may be gone by the last
                watching.see(done)
        if done < count:
            raise SystemExit(f"{' '.join(command)}: {done} answers to {count} commands")
        return watching.row() if len(watching.rows) > PARTS // 4 else None


def shell(build, folder, name, count):
    line, mark, share, fails = SHELL[name]
    count = max(PARTS * 8, int(count * share))
    script = os.path.join(folder, "commands.dyns")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f":load {folder}/{'weights' if name == 'tune' else 'model'}.dyn\n")
        for i in range(count + 1):  # one more: the last answer may meet a process that is gone
            file.write(line.format(i=i + 2, size=i % 40 + 1, axis=i % 2) + "\n")
    program = f"{build}/bin/dynrepl"
    options = {"env": os.environ | {"XDG_CACHE_HOME": folder}}  # what tuning finds is not for others
    if fails:
        return watch([program, "script", script, "--keep-going"], mark, count, of_errors=True, **options)
    with open(script, "rb") as lines:
        return watch([program], mark, count, stdin=lines, **options)


def script(build, folder, count):
    """A script of as many lines, each read when its turn comes."""
    path = os.path.join(folder, "long.dyns")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f":load {folder}/model.dyn\n")
        for i in range(count + 1):
            file.write(f":why s.{i % 2}\n")
    return watch([f"{build}/bin/dynrepl", "script", path], b"what is ", count)


def cases(build, folder, count, form):
    path = os.path.join(folder, "cases.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count + 1):
            file.write(json.dumps({"dims": {"n": i % 40 + 1, "m": i % 7 + 1}, "inputs": {"x": "ones", "w": "ones"}}) + "\n")
    return watch([f"{build}/bin/dynrepl", "run", f"{folder}/main.dyn", "--cases", path, "--quiet", *form], b'"runs"' if form else b"case ", count)


def c_api(build, folder, count):
    import numpy as np

    import contexts
    module = contexts.load(build, f"{folder}/main.dyn")
    watching = Watch(os.getpid(), count)
    feeds = [{"x": np.ones((n, 4), np.float32), "w": np.ones((4, 3), np.float32)} for n in range(1, 40)]
    for i in range(count):
        module.set(feeds[i % len(feeds)])
        module.run()
        module.output(0)
        if i % 10 == 0:  # and what goes wrong: an input that does not fit
            try:
                module.set({"x": feeds[0]["x"], "w": np.ones((5, 3), np.float32)})
                module.run()
            except contexts.Error:
                pass
        watching.see(i + 1)
    return watching.row()


def window(build, folder, count):
    """Two windows, one with four times the commands: the difference is what they cost."""
    peaks, times, counts = [], [], [max(64, count // 4), max(256, count)]
    for many in counts:
        script = os.path.join(folder, "window.dyns")
        with open(script, "w", encoding="utf-8") as file:
            for i in range(many):
                file.write([":profile --dim n=3 --dim m=3", ":graph fuse", ":why s.0", ":ir infer", ":why s.1 w.0", ":diff fuse"][i % 6] + "\n")
        begin = time.monotonic()
        process = subprocess.Popen([f"{build}/bin/dynstudio", "--headless", "--state", f"{folder}/state.json", "--script", script, f"{folder}/main.dyn"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"})
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"dynstudio ended with {status}")
        peaks.append(usage.ru_maxrss * 1024)
        times.append(time.monotonic() - begin)
    more = counts[1] - counts[0]
    return {"commands_count": counts[1], "mean_us": times[1] / counts[1] * 1e6, "first_us": times[0] / counts[0] * 1e6, "last_us": (times[1] - times[0]) / more * 1e6,
            "bytes_per_command": (peaks[1] - peaks[0]) / more}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--only", default="", metavar="NAME,...")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    build, count = os.path.abspath(arguments.build), arguments.commands
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("model", MODEL), ("weights", WEIGHTS), ("main", MODEL[MODEL.index("fn @main"):])):
            with open(os.path.join(folder, name + ".dyn"), "w", encoding="utf-8") as file:
                file.write(text)
        tasks = {"cases, JSON": lambda: cases(build, folder, count, ["--json"]), "cases, text": lambda: cases(build, folder, count, []),
                 "C API": lambda: c_api(build, folder, count), "script": lambda: script(build, folder, count), "window": lambda: window(build, folder, count // 25)}
        for name in SHELL:
            tasks[name] = lambda name=name: shell(build, folder, name, count)
        wanted = [name.strip() for name in arguments.only.split(",")] if arguments.only else []
        results = {}
        for name, task in tasks.items():
            if wanted and not any(name.startswith(one) for one in wanted):
                continue
            results[name] = task()
            if not arguments.json:
                row = results[name]
                if len(results) == 1:
                    print(f"{'':16}{'commands':>10}{'mean us':>12}{'first us':>12}{'last us':>12}{'ratio':>8}{'bytes':>10}")
                print(f"{name:16}{row['commands_count']:>10}{row['mean_us']:>12.1f}{row['first_us']:>12.1f}{row['last_us']:>12.1f}{row['last_us'] / row['first_us']:>8.2f}"
                      f"{row['bytes_per_command']:>10.1f}", flush=True)
        if arguments.json:
            print(json.dumps(results))


if __name__ == "__main__":
    main()
