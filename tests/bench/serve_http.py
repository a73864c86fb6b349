#!/usr/bin/env python3
"""Requests over HTTP to Dyn beside onnxruntime, both behind MLServer: ./dev bench serve-http [--rounds N] [--seconds S]

The two servers take turns, and only one has requests at a time. The load is of locust: users that ask a BERT of the
samples again and again with texts of different lengths, in JSON, which MLServer knows on its own. Both answer by
MLServer's own codecs, so the difference is that of the runtimes. Needs mlserver, locust and onnxruntime."""
import argparse
import csv
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
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
        self.client.post("/v2/models/bert/infer", json={"inputs": inputs})
'''


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


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
    end = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/v2/models/bert/ready" % port).close()
            return process, port
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the server of %s does not come up" % implementation)
            time.sleep(0.05)


def asked(folder, port, users, seconds):
    """locust's row of all requests."""
    (folder / "users.py").write_text(USERS)
    done = subprocess.run([sys.executable, "-m", "locust", "-f", "users.py", "--headless", "-u", str(users), "-r", str(users),
                           "-t", "%ds" % seconds, "--host", "http://127.0.0.1:%d" % port, "--csv", "said", "--only-summary"],
                          cwd=folder, capture_output=True, text=True)
    with open(folder / "said_stats.csv") as file:
        [row] = [row for row in csv.DictReader(file) if row["Name"] == "Aggregated"]
    if done.returncode != 0 or int(row["Failure Count"]):
        raise SystemExit("%s requests failed:\n%s" % (row["Failure Count"], done.stderr[-2000:]))
    return float(row["Requests/s"]), float(row["50%"]), float(row["99%"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--package", type=pathlib.Path, help="the folder of a built package dyn (else it is built)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--users", type=int, default=8)
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
        try:
            with open(folder / "log", "w") as log:
                for name, runtime in (("dyn", "dyn.serving.mlserver.DynRuntime"), ("onnxruntime", "rt.OnnxRuntime")):
                    servers[name] = started(folder / name, runtime, environment, log)
            print("%d users; load %s" % (given.users, os.getloadavg()[0]))
            print("%-6s %-12s %12s %10s %10s %7s" % ("round", "runtime", "requests/s", "p50 ms", "p99 ms", "ratio"))
            for turn in range(given.rounds):
                said = {}
                for name in sorted(servers, reverse=turn % 2 == 1):  # who begins alternates
                    said[name] = asked(folder, servers[name][1], given.users, given.seconds)
                ratio = said["dyn"][0] / said["onnxruntime"][0]
                for name, row in said.items():
                    print("%-6d %-12s %12.1f %10.1f %10.1f %7s" % (turn, name, *row, "%.2f" % ratio if name == "dyn" else ""),
                          flush=True)
        finally:
            for process, _ in servers.values():
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
