#!/usr/bin/env python3
"""Requests over HTTP to Dyn beside onnxruntime, both behind MLServer:

    ./dev bench serve-http [--rounds N] [--seconds S] [--users N...]     requests per second and latency over the load
    ./dev bench serve-http --soak MINUTES [--users N]                    `dyn serve` alone: memory, with disturbances

The two servers take turns, and only one has requests at a time. The load is of locust: users that ask a BERT of the
samples again and again with texts of different lengths, in JSON, which MLServer knows on its own. Both answer by
MLServer's own codecs, so the difference is that of the runtimes. The soak replaces the model every five seconds, and
each second clients vanish, trickle a body, send a broken one or one that is too large. It ends with 1 if a request of
locust failed or had another shape, or a bad body was not refused. Needs mlserver, locust and onnxruntime."""
import argparse
import collections
import csv
import importlib.util
import json
import os
import pathlib
import socket
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/python"))

RUNTIME = '''
import asyncio, onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse
class OnnxRuntime(MLModel):
    async def load(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(self.settings.parameters.uri, options, providers=["CPUExecutionProvider"])
        return True
    async def predict(self, payload):
        return await asyncio.to_thread(self._answer, payload)
    def _answer(self, payload):
        results = self._session.run(None, {one.name: NumpyCodec.decode_input(one) for one in payload.inputs})
        names = [port.name for port in self._session.get_outputs()]
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output(n, r) for n, r in zip(names, results)])
'''
USERS = '''
import random
from locust import FastHttpUser, task
class Reader(FastHttpUser):
    @task
    def read(self):
        length = random.choice((8, 16, 40, 64, 100, 128))
        inputs = [{"name": name, "shape": [1, length], "datatype": "INT64", "data": [1] * length}
                  for name in ("input_ids", "attention_mask")]
        with self.client.post("/v2/models/bert/infer", json={"inputs": inputs}, catch_response=True) as answer:
            if answer.status_code == 200 and answer.json()["outputs"][0]["shape"][:2] != [1, length]:
                answer.failure("the answer of another request")
'''


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(process, port, what):
    last = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/v2/models/bert/ready" % port).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > last:
                raise SystemExit("the server of %s does not come up" % what)
            time.sleep(0.05)


def end(process):
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def started(folder, implementation, environment, log):
    """(process, port) of `mlserver start`."""
    folder.mkdir()
    port = free_port()
    (folder / "rt.py").write_text(RUNTIME)
    (folder / "settings.json").write_text(json.dumps({
        "host": "127.0.0.1", "http_port": port, "grpc_port": free_port(), "metrics_port": free_port(), "debug": False,
        "parallel_workers": 0, "gzip_enabled": False}))
    (folder / "model-settings.json").write_text(json.dumps({
        "name": "bert", "implementation": implementation,
        "parameters": {"uri": str(SOURCE / "samples/models/bert/model.onnx")}}))
    process = subprocess.Popen([sys.executable, "-m", "mlserver.cli.main", "start", str(folder)], env=environment, cwd=folder,
                               stdout=log, stderr=log)
    wait_for(process, port, implementation)
    return process, port


def asked(folder, port, users, seconds, may_fail=False):
    """locust's row of all requests: (requests per second, p50 ms, p99 ms, requests, those that failed). A failure ends
    the program unless it may be."""
    (folder / "users.py").write_text(USERS)
    done = subprocess.run([sys.executable, "-m", "locust", "-f", "users.py", "--headless", "-u", str(users), "-r", str(users),
                           "-t", "%ds" % seconds, "--host", "http://127.0.0.1:%d" % port, "--csv", "said", "--only-summary"],
                          cwd=folder, capture_output=True, text=True)
    with open(folder / "said_stats.csv") as file:
        [row] = [row for row in csv.DictReader(file) if row["Name"] == "Aggregated"]
    failed = int(row["Failure Count"])
    if done.returncode != 0 or failed:
        why = "%d requests failed:\n%s" % (failed, done.stderr[-2000:])
        if not failed or not may_fail:
            raise SystemExit(why)
        print(why)
    if int(row["Request Count"]) == 0:
        raise SystemExit("no request was answered in %d s: more --seconds" % seconds)
    return float(row["Requests/s"]), float(row["50%"]), float(row["99%"]), int(row["Request Count"]), failed


def refused(port, body):
    """The status of a bad request."""
    request = urllib.request.Request("http://127.0.0.1:%d/v2/models/bert/infer" % port, body)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def vanish(port, body, sent):
    """A client that is gone after `sent` bytes of its body."""
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(b"POST /v2/models/bert/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:sent])


def disturb(port, repository, package, stop, done):
    """Until `stop`: what a public server has to bear. Counts in `done`; what was not refused is under "faults"."""
    body = json.dumps({"inputs": [{"name": name, "shape": [1, 64], "datatype": "INT64", "data": [1] * 64}
                                  for name in ("input_ids", "attention_mask")]}).encode()
    slow, seconds = [], 0
    while not stop.wait(1):
        seconds += 1
        try:
            disturb_once(port, body, slow, done)
            if seconds % 5 == 0:
                shutil.copy(package, repository / "next")
                os.replace(repository / "next", repository / "bert.dynpkg")
                load = urllib.request.Request("http://127.0.0.1:%d/v2/repository/models/bert/load" % port, b"", method="POST")
                urllib.request.urlopen(load, timeout=60).close()
                done["replaced"] += 1
        except OSError as error:
            print("disturbing: %r" % error, file=sys.stderr)
            done["faults"] += 1
    for one, _ in slow:
        one.close()


def disturb_once(port, body, slow, done):
    """slow: (socket, bytes sent) of the clients that trickle their bodies."""
    for sent in (0, len(body) // 2, len(body), len(body)):
        vanish(port, body, sent)
        done["vanished"] += 1
    for kind, bad, status in (("malformed", body[:-9], 400), ("oversized", b" " * (2 << 20), 413)):
        got = refused(port, bad)
        done[kind] += 1
        done["faults"] += got != status
    one = socket.create_connection(("127.0.0.1", port))
    one.sendall(b"POST /v2/models/bert/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body))
    done["slow"] += 1
    slow.append([one, 0])
    for held in slow:  # ten bytes a second
        held[0].sendall(body[held[1]:held[1] + 10])
        held[1] += 10
    if len(slow) > 20:
        slow.pop(0)[0].close()


def watch(pid, stop, rows, period):
    """(seconds, resident MiB, open files) of the server, each period."""
    begun = time.monotonic()
    while True:
        with open("/proc/%d/status" % pid) as file:
            [resident] = [int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS")]
        rows.append((time.monotonic() - begun, resident, len(os.listdir("/proc/%d/fd" % pid))))
        if stop.wait(period):
            return


def watch_clock(stop, gaps):
    """The times that nothing ran at all, as on a virtual machine that is put aside: requests under way end late or not
    at all then, which says nothing of the server."""
    last = time.monotonic()
    while not stop.wait(0.5):
        now = time.monotonic()
        if now - last > 5:
            gaps.append(now - last)
        last = now


def soaked(folder, environment, users, minutes, log):
    """`dyn serve` under load and disturbances; 1 if a request failed."""
    repository, package = folder / "models", folder / "bert.package"
    repository.mkdir()
    subprocess.run([sys.executable, "-c", "import dyn, sys; dyn.load(sys.argv[1], threads=1).save(sys.argv[2])",
                    str(SOURCE / "samples/models/bert/model.onnx"), str(repository / "bert.dynpkg")], env=environment, check=True)
    shutil.copy(repository / "bert.dynpkg", package)
    ports = [str(free_port()) for _ in range(3)]
    process = subprocess.Popen([sys.executable, "-m", "dyn", "serve", str(repository), "--max-request", "1", "--http-port", ports[0],
                                "--grpc-port", ports[1], "--metrics-port", ports[2]], env=environment, stdout=log, stderr=log)
    stop, done, rows, gaps = threading.Event(), collections.Counter(faults=0), [], []
    port, seconds = int(ports[0]), int(minutes * 60)
    threads = [threading.Thread(target=disturb, args=(port, repository, package, stop, done)),
               threading.Thread(target=watch, args=(process.pid, stop, rows, max(1.0, seconds / 20))),
               threading.Thread(target=watch_clock, args=(stop, gaps))]
    try:
        wait_for(process, port, "dyn serve")
        for one in threads:
            one.start()
        rate, p50, p99, count, failed = asked(folder, port, users, seconds, may_fail=True)
    finally:
        stop.set()
        for one in threads:
            if one.is_alive():
                one.join()
        end(process)
    print("%8s %13s %6s" % ("seconds", "resident MiB", "files"))
    for row in rows:
        print("%8.0f %13.1f %6d" % row)
    print("%d users, %d s, load %s: %d requests, %.1f/s, p50 %.0f ms, p99 %.0f ms, %s failed; beside them %s"
          % (users, seconds, os.getloadavg()[0], count, rate, p50, p99, failed or "none",
             ", ".join("%d %s" % (number, kind) for kind, number in sorted(done.items()))))
    if gaps:
        print("this process itself did not run for %s s" % ", ".join("%.0f" % gap for gap in gaps))
    quarter = max(1, len(rows) // 4)
    print("resident, mean of the second quarter %.1f MiB, of the last %.1f MiB"
          % tuple(sum(row[1] for row in part) / len(part) for part in (rows[quarter:2 * quarter] or rows, rows[-quarter:])))
    return 1 if failed or done["faults"] or process.returncode or not all(done[kind] for kind in ("vanished", "replaced", "slow")) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--package", type=pathlib.Path, help="the folder of a built package dyn (else it is built)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--users", type=int, nargs="+", default=[8])
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    given = parser.parse_args()
    import package_test
    lacks = [name for name in ("mlserver", "locust", "onnxruntime") if importlib.util.find_spec(name) is None]
    why = "pip install %s" % " ".join(lacks) if lacks else None if given.package else package_test.missing()
    if why:
        print("unavailable: %s" % why)
        return 0
    package = given.package or package_test.built(given.build)
    environment = {**os.environ, "PYTHONPATH": str(package.resolve())}
    servers = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if given.soak:
            with open(folder / "log", "w") as log:
                return soaked(folder, environment, given.users[0], given.soak, log)
        try:
            with open(folder / "log", "w") as log:
                for name, runtime in (("dyn", "dyn.serving.mlserver.DynRuntime"), ("onnxruntime", "rt.OnnxRuntime")):
                    servers[name] = started(folder / name, runtime, environment, log)
            print("load %s" % os.getloadavg()[0])
            print("%-6s %-6s %-12s %12s %10s %10s %7s" % ("users", "round", "runtime", "requests/s", "p50 ms", "p99 ms", "ratio"))
            for users in given.users:
                for number in range(given.rounds):
                    said = {}
                    for name in sorted(servers, reverse=number % 2 == 1):  # the one that begins alternates
                        said[name] = asked(folder / name, servers[name][1], users, given.seconds)
                    ratio = said["dyn"][0] / said["onnxruntime"][0]
                    for name, row in said.items():
                        print("%-6d %-6d %-12s %12.1f %10.1f %10.1f %7s"
                              % (users, number, name, *row[:3], "%.2f" % ratio if name == "dyn" else ""), flush=True)
        finally:
            for process, _ in servers.values():
                end(process)
    return 0


if __name__ == "__main__":
    sys.exit(main())
