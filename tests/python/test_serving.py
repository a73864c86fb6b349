"""Models behind MLServer, asked by Triton's client as it is."""
import concurrent.futures
import contextlib
import gzip
import http.client
import importlib.util
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import numpy as np

import dyn
import models

MISSING = [name for name in ("mlserver", "tritonclient") if importlib.util.find_spec(name) is None]
WHY = "there is no package %s" % ", ".join(MISSING)
if not MISSING:
    import tritonclient.grpc
    import tritonclient.http

TYPES = {"bool": "BOOL", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64", "i8": "INT8", "i16": "INT16",
         "i32": "INT32", "i64": "INT64", "f16": "FP16", "f32": "FP32", "f64": "FP64"}
SAME = "fn @main(%%x: Tensor[(n, m), %s]) { %%y = concat(%%x, %%x) {axis = 0} return %%y }"
LOOP = """fn @main(%x: Tensor[(n), f32], %trips: Tensor[(), i64]) {
  %y = loop(%trips, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {
    %b = add(%a, %a)
    %c = mul(%b, 0.5)
    return true, %c
  }
  return %y
}"""

KSERVE = """
import asyncio, sys
import kserve, numpy
import dyn, models
base, grpc_base, path = sys.argv[1:]
ids, mask = models.bert_inputs(1, 7)
wanted = dyn.load(path, threads=1)(ids, mask)[0]

def request(binary):
    inputs = [kserve.InferInput(name=name, shape=[1, 7], datatype="INT64") for name in ("input_ids", "attention_mask")]
    for one, array in zip(inputs, (ids, mask)):
        one.set_data_from_numpy(array, binary_data=binary)
    return kserve.InferRequest(model_name="bert", infer_inputs=inputs)

async def ask():
    rest, grpc = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2")), kserve.InferenceGRPCClient(url=grpc_base)
    assert await rest.is_server_ready(base) and await rest.is_server_live(base)
    assert await rest.is_model_ready(base, "bert") and await grpc.is_model_ready("bert")
    made = [await rest.infer(base, request(binary), model_name="bert") for binary in (False, True)]
    made.append(await grpc.infer(request(True)))
    for one in made:
        numpy.testing.assert_array_equal(one.outputs[0].as_numpy(), wanted)
    await rest.close()
    await grpc.close()
asyncio.run(ask())
print("three answers")
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Server:
    """`dyn serve` in a process of its own."""

    def __init__(self, *words):
        self.http, self.grpc, self.metrics = free_ports(3)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dyn", "serve", *map(str, words), "--http-port", str(self.http), "--grpc-port",
             str(self.grpc), "--metrics-port", str(self.metrics)], stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                self.get("/v2/health/ready")
                socket.create_connection(("127.0.0.1", self.grpc)).close()
                self.get("/metrics", self.metrics)
                return
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the server does not come up:\n" + self.said())
            time.sleep(0.02)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def get(self, path, port=None):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port or self.http, path)) as answer:
            return answer.read().decode()

    def post(self, path, body, headers=()):
        """(status, JSON)"""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = urllib.request.Request("http://127.0.0.1:%d%s" % (self.http, path), body,
                                       {"Content-Type": "application/json", **dict(headers)})
        try:
            with urllib.request.urlopen(asked) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read())

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(60)
        said = self.said()
        self.log.close()
        return code, said


@contextlib.contextmanager
def clients(server):
    """(name, module of tritonclient, client) of both protocols."""
    with tritonclient.http.InferenceServerClient("127.0.0.1:%d" % server.http, concurrency=8) as http, \
            tritonclient.grpc.InferenceServerClient("127.0.0.1:%d" % server.grpc) as grpc:
        yield ("http", tritonclient.http, http), ("grpc", tritonclient.grpc, grpc)


def tensor(module, name, array, datatype, **how):
    made = module.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, **how)
    return made


def bert_tensors(module, ids, mask):
    return [tensor(module, "input_ids", ids, "INT64"), tensor(module, "attention_mask", mask, "INT64")]


@unittest.skipIf(MISSING, WHY)
class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name in TYPES:
            (cls.folder / ("two_%s.dyn" % name)).write_text(SAME % name)
        (cls.folder / "two_string.dyn").write_text(SAME % "string")
        (cls.folder / "loop.dyn").write_text(LOOP)
        (cls.folder / "pair.dyn").write_text(
            "fn @main(%x: Tensor[(n), f32]) { %a = add(%x, %x) %b = mul(%x, %x) return %a, %b }")
        cls.bert = dyn.load(models.BERT, threads=1)
        cls.bert.save(cls.folder / "bert.dynpkg")
        cls.server = Server(cls.folder)
        cls.addClassCleanup(cls.server.end)

    def test_metadata(self):
        said = json.loads(self.server.get("/v2/models/bert"))
        self.assertEqual(said["inputs"][0], {"name": "input_ids", "datatype": "INT64", "shape": [-1, -1],
                                             "parameters": {"dims": "batch, seq"}})
        self.assertEqual(said["outputs"][0]["shape"], [-1, -1, 32])
        with clients(self.server) as both:
            for name, module, client in both:
                with self.subTest(name):
                    self.assertTrue(client.is_server_live() and client.is_model_ready("bert"))
                    self.assertFalse(name == "http" and client.is_model_ready("nobody"))
        answer = self.server.get("/v2")
        self.assertIn("binary_tensor_data", answer)

    def test_types(self):
        random = np.random.default_rng(1)
        with clients(self.server) as both:
            for dtype, datatype in TYPES.items():
                bits = random.integers(0, 256, (5, 8 * 8), np.uint8)
                numpy = dyn._dtypes.PLAIN[dyn._dtypes.NAMES.index(dtype)]
                array = bits > 99 if dtype == "bool" else bits.view(numpy)
                if array.dtype.kind == "f":
                    array = np.where(np.isfinite(array), array, numpy.type(7))
                    array[0, :3] = np.nan, -0.0, numpy.type(0.1)
                want = np.concatenate([array, array])
                for name, module, client in both:
                    ways = [{}] if name == "grpc" or dtype == "f16" else [{}, {"binary_data": False}]
                    for how in ways:
                        with self.subTest(dtype, protocol=name, **how):
                            asked = [module.InferRequestedOutput("y", **how)] if how else None
                            got = client.infer("two_" + dtype, [tensor(module, "x", array, datatype, **how)],
                                               outputs=asked).as_numpy("y")
                            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                            if how:  # a NaN of JSON is any NaN
                                np.testing.assert_array_equal(got, want)
                            else:
                                self.assertEqual(got.tobytes(), want.tobytes())

    def test_empty(self):
        with clients(self.server) as both:
            for name, module, client in both:
                with self.subTest(name):
                    got = client.infer("two_f32", [tensor(module, "x", np.empty((0, 3), np.float32), "FP32")])
                    self.assertEqual(got.as_numpy("y").shape, (0, 3))

    def test_strings(self):
        array = np.array([["", "naïve"], ["日本", "x" * 1000]], object)
        want = [text.encode() for text in array.ravel()] * 2
        with clients(self.server) as both:
            for name, module, client in both:
                for how in ({}, {"binary_data": False}) if name == "http" else ({},):
                    with self.subTest(name, **how):
                        got = client.infer("two_string", [tensor(module, "x", array, "BYTES", **how)],
                                           outputs=[module.InferRequestedOutput("y", **how)]).as_numpy("y")
                        self.assertEqual([one if isinstance(one, bytes) else one.encode() for one in got.ravel()], want)

    def test_infinity(self):
        body = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [3e38]}]}
        self.assertEqual(self.server.post("/v2/models/two_f32/infer", body)[0], 200)
        body["inputs"][0]["shape"], body["inputs"][0]["data"] = [1], [3e38]
        status, said = self.server.post("/v2/models/pair/infer", body)
        self.assertEqual(status, 400)
        self.assertIn("has an infinity, which JSON cannot carry", said["error"])
        with clients(self.server) as both:
            for _, module, client in both:
                got = client.infer("pair", [tensor(module, "x", np.float32([3e38]), "FP32")])
                self.assertEqual(got.as_numpy(client.infer("pair", [tensor(module, "x", np.float32([1]), "FP32")])
                                              and "a").tolist(), [np.inf])

    def test_named_outputs(self):
        x = np.float32([1.5, -2, 3])
        with clients(self.server) as both:
            for name, module, client in both:
                with self.subTest(name):
                    got = client.infer("pair", [tensor(module, "x", x, "FP32")],
                                       outputs=[module.InferRequestedOutput("b")], request_id="seven")
                    self.assertEqual(got.as_numpy("b").tolist(), (x * x).tolist())
                    self.assertIsNone(got.as_numpy("a"))
                    said = got.get_response()
                    self.assertEqual(said["id"] if name == "http" else said.id, "seven")
                    with self.assertRaisesRegex(tritonclient.utils.InferenceServerException,
                                                "there is no output 'c'; outputs: a, b"):
                        client.infer("pair", [tensor(module, "x", x, "FP32")],
                                     outputs=[module.InferRequestedOutput("c")])

    def test_compressed(self):
        module = tritonclient.http
        with clients(self.server) as ((_, _, client), _):
            for way in ("gzip", "deflate"):
                got = client.infer("pair", [tensor(module, "x", np.float32([4]), "FP32")],
                                   request_compression_algorithm=way, response_compression_algorithm="gzip")
                self.assertEqual(got.as_numpy("b").tolist(), [16])

    def test_refused(self):
        ids, mask = models.bert_inputs(2, 9)
        long = models.bert_inputs(1, 600)
        cases = (
            ("missing", lambda m: [tensor(m, "input_ids", ids, "INT64")], r"\[E0304\] missing: input 'attention_mask'"),
            ("extra", lambda m: bert_tensors(m, ids, mask) + [tensor(m, "z", ids, "INT64")],
             r"\[E0304\] there is no input 'z'; inputs: input_ids, attention_mask"),
            ("twice", lambda m: [tensor(m, "input_ids", ids, "INT64")] * 2, r"\[E0304\] input 'input_ids' is given twice"),
            ("dtype", lambda m: [tensor(m, "input_ids", ids.astype(np.int32), "INT32"), *bert_tensors(m, ids, mask)[1:]],
             r"\[E0305\] input 'input_ids': wants i64, got i32"),
            ("rank", lambda m: [tensor(m, "input_ids", ids[0], "INT64"), *bert_tensors(m, ids, mask)[1:]],
             r"\[E0305\] input 'input_ids': wants rank 2, got rank 1"),
            ("size", lambda m: bert_tensors(m, ids, mask[:, :3]), "seq"),
            ("limit", lambda m: bert_tensors(m, *long), "seq must be at most 512"),
        )
        with clients(self.server) as both:
            for name, module, client in both:
                for case, made, says in cases:
                    with self.subTest(name, case=case):
                        with self.assertRaisesRegex(tritonclient.utils.InferenceServerException, says) as caught:
                            client.infer("bert", made(module))
                        self.assertIn(caught.exception.status(), ("400", "StatusCode.INVALID_ARGUMENT"))
                with self.subTest(name, case="model"):
                    with self.assertRaisesRegex(tritonclient.utils.InferenceServerException, "Model nobody.* not found") as caught:
                        client.infer("nobody", bert_tensors(module, ids, mask))
                    self.assertIn(caught.exception.status(), ("404", "StatusCode.NOT_FOUND"))

    def test_bad_bodies(self):
        def one(**changes):
            return {"inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2], **changes}]}
        def raw(extra, size, **changes):
            head = json.dumps(one(data=None, parameters={"binary_data_size": size}, **changes)).encode()
            return head + extra, {"Inference-Header-Content-Length": str(len(head))}
        head, given = raw(b"\0" * 8, 8)
        cases = [
            (b"", {}), (b"{", {}), (b"[]", {}), (b"{}", {}), (b"\xff\xfe", {}), (b'{"inputs": 3}', {}),
            (b'{"inputs": [3]}', {}), (b'{"inputs": []}', {}), (b"[" * 100000, {}), (one(name=3), {}),
            (one(shape="2"), {}), (one(shape=[3]), {}), (one(shape=[-2]), {}), (one(shape=[2**70]), {}),
            (one(shape=[1] * 70 + [2]), {}), (one(shape=[2**62, 0], data=[]), {}), (one(shape=[2**70, 0], data=[]), {}),
            (one(shape=[True, 2]), {}), (one(datatype="FP33"), {}), (one(datatype=None), {}), (one(data=[1, "2"]), {}),
            (one(data=[1, [2]]), {}), (one(data={}), {}), (one(data=[1e300, 0]), {}), (one(parameters=3), {}),
            (one(parameters={"shared_memory_region": "here"}), {}), (one(parameters={"content_type": "base64"}), {}),
            ({"id": 3, **one()}, {}), ({"outputs": [3], **one()}, {}), ({"outputs": 3, **one()}, {}),
            ({"parameters": 3, **one()}, {}), raw(b"\0" * 7, 7), raw(b"\0" * 7, 8), raw(b"\0" * 9, 8), raw(b"", -1),
            raw(b"\0" * 8, "8"), raw(b"\0" * 8, 8, datatype="BYTES", shape=[2, 2]), raw(b"\xff" * 8, 8, datatype="BYTES"),
            (head, {"Inference-Header-Content-Length": "-1"}), (head, {"Inference-Header-Content-Length": "999999"}),
            (head, {"Inference-Header-Content-Length": "x"}), (b"no gzip", {"Content-Encoding": "gzip"}),
            (gzip.compress(json.dumps(one()).encode())[:-9], {"Content-Encoding": "gzip"}), (b"x", {"Content-Encoding": "br"}),
        ]
        for i, (body, headers) in enumerate(cases):
            with self.subTest(i, body=body[:80] if isinstance(body, bytes) else body, headers=headers):
                status, said = self.server.post("/v2/models/pair/infer", body, headers)
                self.assertEqual(status, 400, said)
                self.assertRegex(said["error"], r"\[E\d{4}\]")
        for datatype, data in (("INT64", [1.5, 2]), ("UINT8", [300, 1]), ("INT8", [-129, 0]), ("BOOL", [1, 0]),
                               ("UINT64", [-1, 2]), ("INT64", [2**63, 1]), ("INT32", [None, 1])):
            status, said = self.server.post("/v2/models/two_f32/infer", one(datatype=datatype, data=data, shape=[1, 2]))
            self.assertEqual((status, "[E0305] input 'x': " in said["error"]), (400, True), said)
        self.assertEqual(self.server.post("/v2/models/pair/infer", b"x" * (257 << 20))[0], 413)
        self.assertEqual(self.server.post("/v2/models/pair/infer", gzip.compress(b" " * (257 << 20)),
                                          {"Content-Encoding": "gzip"})[0], 413)
        self.assertEqual(self.server.post("/v2/models/pair/infer", one())[0], 200)

    def test_bad_grpc(self):
        from tritonclient.grpc import service_pb2 as pb
        with clients(self.server) as (_, (_, _, client)):
            ask = client._client_stub.ModelInfer
            for change in (lambda r: r.raw_input_contents.append(b"123"), lambda r: r.raw_input_contents.append(b"1234"),
                           lambda r: r.raw_input_contents.extend([b"12345678"] * 2),
                           lambda r: r.inputs[0].contents.int_contents.extend([1, 2]),
                           lambda r: setattr(r.inputs[0], "datatype", "FP33"),
                           lambda r: setattr(r.inputs[0], "datatype", "FP16"),
                           lambda r: r.inputs[0].shape.append(-1)):
                request = pb.ModelInferRequest(model_name="pair")
                request.inputs.add(name="x", datatype="FP32", shape=[2])
                change(request)
                with self.assertRaises(Exception) as caught:
                    ask(request)
                self.assertEqual(str(caught.exception.code()), "StatusCode.INVALID_ARGUMENT", caught.exception)
                self.assertRegex(caught.exception.details(), r"\[E0305\]")
            request = pb.ModelInferRequest(model_name="pair")
            request.inputs.add(name="x", datatype="FP32", shape=[2]).contents.fp32_contents.extend([1, 2])
            self.assertEqual(list(ask(request).outputs[1].contents.fp32_contents), [1, 4])

    def test_many_at_once(self):
        asked = [models.bert_inputs(1 + i % 3, 3 + 5 * (i % 7), seed=i) for i in range(24)]
        wanted = [self.bert(*given)[0] for given in asked]

        def work(index):
            with clients(self.server) as both:
                _, module, client = both[index % 2]
                return all(np.array_equal(client.infer("bert", bert_tensors(module, *asked[i])).as_numpy(
                    "last_hidden_state"), wanted[i]) for i in (*range(index, 24), *range(index)))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(work, range(8))), [True] * 8)

    def test_loop_stays_free(self):
        """Long runs keep no other request waiting, and a client that leaves ends nothing."""
        x = np.ones(1000, np.float32)
        body = {"inputs": [{"name": "x", "shape": [1000], "datatype": "FP32", "data": x.tolist()},
                           {"name": "trips", "shape": [], "datatype": "INT64", "data": [1000000]}]}
        text = json.dumps(body).encode()
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", self.server.http)) as leaving:
                leaving.sendall(b"POST /v2/models/loop/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
                begun = time.monotonic()
                self.server.get("/v2/models/bert")
                self.assertLess(time.monotonic() - begun, 5)
        with socket.create_connection(("127.0.0.1", self.server.http)) as leaving:  # within its body
            leaving.sendall(b"POST /v2/models/loop/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 999\r\n\r\n{")
        with clients(self.server) as (_, (_, module, client)):
            call = client.async_infer("loop", [tensor(module, "x", x, "FP32"),
                                               tensor(module, "trips", np.array(1000000), "INT64")], lambda result, error: None)
            call.cancel()
        body["inputs"][1]["data"] = [3]
        status, said = self.server.post("/v2/models/loop/infer", body)
        self.assertEqual((status, said["outputs"][0]["data"]), (200, x.tolist()))

    def test_vanishing_clients(self):
        """A hundred clients leave at different places of a request; none of their connections stays open."""
        text = json.dumps({"inputs": [{"name": "x", "shape": [1000], "datatype": "FP32", "data": [1.0] * 1000},
                                      {"name": "trips", "shape": [], "datatype": "INT64", "data": [1000]}]}).encode()
        head = b"POST /v2/models/loop/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(text)
        whole = head + text

        def files():
            return len(os.listdir("/proc/%d/fd" % self.server.process.pid))
        before = files()
        for turn in range(100):
            with socket.create_connection(("127.0.0.1", self.server.http)) as leaving:
                leaving.sendall(whole[:(0, 10, len(head), len(head) + len(text) // 2, len(whole))[turn % 5]])
                if turn % 10 == 9:  # within the answer
                    leaving.recv(1)
        end = time.monotonic() + 60
        while files() > before + 2:  # two may be those of other clients of this test
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        status, said = self.server.post("/v2/models/loop/infer", text)
        self.assertEqual((status, said["outputs"][0]["data"]), (200, [1.0] * 1000))

    def test_health(self):
        for name in ("live", "ready"):
            self.assertEqual(json.loads(self.server.get("/v2/health/" + name)), {name: True})

    @unittest.skipIf(importlib.util.find_spec("kserve") is None, "there is no package kserve")
    def test_client_of_kserve(self):
        """In a process of its own: its protobuf messages have the names of those of Triton's client."""
        done = subprocess.run([sys.executable, "-c", KSERVE, "http://127.0.0.1:%d" % self.server.http,
                               "127.0.0.1:%d" % self.server.grpc, models.BERT], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "three answers\n"), done.stderr)

    def test_idle_connections_stay(self):
        """A proxy may send its next request after it has been idle for longer than uvicorn's own 5 s."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.http)) as client:
            client.request("GET", "/v2/health/ready")
            client.getresponse().read()
            held = client.sock
            time.sleep(7)
            client.request("GET", "/v2/health/ready")
            self.assertEqual((client.getresponse().status, client.sock), (200, held))

    def test_slow_bodies(self):
        """Bodies that trickle keep nobody else waiting, and are answered when they are complete."""
        text = json.dumps({"inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2]}]}).encode()
        whole = (b"POST /v2/models/pair/infer HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                 % len(text) + text)
        with contextlib.ExitStack() as all_of_them:
            slow = [all_of_them.enter_context(socket.create_connection(("127.0.0.1", self.server.http))) for _ in range(50)]
            for at in range(0, len(whole), 20):
                for one in slow:
                    one.sendall(whole[at:at + 20])
                if at + 20 < len(whole):
                    self.assertEqual(self.server.post("/v2/models/pair/infer", text)[0], 200)
            for one in slow:
                with one.makefile("rb") as answer:
                    said = answer.read()
                self.assertTrue(said.startswith(b"HTTP/1.1 200 "), said)
                made = json.loads(said.split(b"\r\n\r\n", 1)[1])
                self.assertEqual([output["data"] for output in made["outputs"]], [[2, 4], [1, 4]])

    def test_metrics(self):
        def runs():
            found = dict(re.findall(r'^(dyn_\w+_total)\{model="two_i8",version=""\} (\S+)$',
                                    self.server.get("/metrics", self.server.metrics), re.M))
            return [float(found.get("dyn_%s_total" % name, 0)) for name in ("runs", "rows", "run_seconds")]
        before = runs()
        body = {"inputs": [{"name": "x", "shape": [5, 1], "datatype": "INT8", "data": [1] * 5}]}
        for _ in range(3):
            self.server.post("/v2/models/two_i8/infer", body)
        after = runs()
        self.assertEqual([after[0] - before[0], after[1] - before[1]], [3, 15])
        self.assertGreater(after[2], before[2])
        self.assertIn("model_infer_request_success", self.server.get("/metrics", self.server.metrics))


@unittest.skipIf(MISSING, WHY)
class Repository(unittest.TestCase):
    def test_load_and_unload_under_way(self):
        """A model is replaced again and again, by the repository's API: each answer is that of one of its two files."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "m").mkdir()
            packages = []
            for i in (2, 3):
                packages.append(folder / ("%d.package" % i))
                made = models.text("fn @main(%%x: Tensor[(n), f32]) { %%y = mul(%%x, %d.0) return %%y }" % i)
                made.save(folder / "made.dynpkg")
                os.replace(folder / "made.dynpkg", packages[-1])
            def put(i):
                (folder / "next").write_bytes(packages[i].read_bytes())
                os.replace(folder / "next", folder / "m/model.dynpkg")
            put(0)
            (folder / "m/model-settings.json").write_text(json.dumps({
                "name": "m", "implementation": "dyn.serving.mlserver.DynRuntime",
                "parameters": {"uri": "./model.dynpkg", "extra": {"threads": 1, "mem_limit": "1GB", "concurrency": 2}}}))
            server = Server(folder)
            try:
                stop, away, answers, failed = threading.Event(), threading.Event(), [0] * 4, []
                def ask(index):
                    with clients(server) as both:
                        _, module, client = both[index % 2]
                        while not stop.is_set():
                            x = np.arange(1 + answers[index] % 50, dtype=np.float32)
                            try:
                                got = client.infer("m", [tensor(module, "x", x, "FP32")]).as_numpy("y")
                                if not (np.array_equal(got, x * 2) or np.array_equal(got, x * 3)):
                                    failed.append(got)
                            except Exception as error:
                                if not (away.is_set() and re.search("not found|not ready", str(error))):
                                    failed.append(error)
                            answers[index] += 1
                threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
                for one in threads:
                    one.start()
                with clients(server) as both:
                    for turn in range(12):
                        put(turn % 2)
                        both[turn % 2][2].load_model("m")
                        time.sleep(0.05)
                    put(1)
                    both[0][2].load_model("m")
                    away.set()  # from here on a request may find no model, but never another answer
                    for turn in range(6):
                        both[turn % 2][2].unload_model("m")
                        both[turn % 2][2].load_model("m")
                        time.sleep(0.05)
                stop.set()
                for one in threads:
                    one.join()
                self.assertEqual(failed, [])
                self.assertGreater(min(answers), 5)
                with clients(server) as both:
                    for name, module, client in both:
                        x = np.float32([1, 2])
                        self.assertEqual(client.infer("m", [tensor(module, "x", x, "FP32")]).as_numpy("y").tolist(), [3, 6])
                        client.unload_model("m")
                        with self.assertRaisesRegex(tritonclient.utils.InferenceServerException, "not found"):
                            client.infer("m", [tensor(module, "x", x, "FP32")])
                        client.load_model("m")
                        self.assertEqual(client.infer("m", [tensor(module, "x", x, "FP32")]).as_numpy("y").tolist(), [3, 6])
                    # A damaged file is refused, and the model serves on.
                    (folder / "next").write_bytes(b"DYN no package")
                    os.replace(folder / "next", folder / "m/model.dynpkg")
                    for name, module, client in both:
                        with self.assertRaises(tritonclient.utils.InferenceServerException) as caught:
                            client.load_model("m")
                        self.assertIn(caught.exception.status(), ("400", "StatusCode.INVALID_ARGUMENT"))
                        self.assertEqual(client.infer("m", [tensor(module, "x", x, "FP32")]).as_numpy("y").tolist(), [3, 6])
            finally:
                server.end()

    def test_memory_limit(self):
        """A size that the limit refuses is refused; others run on."""
        server = Server(models.BERT, "--set", "mem_limit=4MB")
        self.addCleanup(server.end)
        with clients(server) as both:
            for name, module, client in both:
                for batch, fits in ((1, True), (64, False), (2, True)):
                    with self.subTest(name, batch=batch):
                        given = bert_tensors(module, *models.bert_inputs(batch, 128))
                        if fits:
                            self.assertEqual(client.infer("model", given).as_numpy("last_hidden_state").shape,
                                             (batch, 128, 32))
                        else:
                            with self.assertRaisesRegex(tritonclient.utils.InferenceServerException, "memory") as caught:
                                client.infer("model", given)
                            self.assertIn(caught.exception.status(), ("400", "StatusCode.INVALID_ARGUMENT"))

    def test_drains(self):
        """Requests that it has are answered; then it ends with 0."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "loop.dyn").write_text(LOOP)
            for how in (signal.SIGINT, signal.SIGTERM):
                server = Server(pathlib.Path(folder) / "loop.dyn", "--dim", "n=1..5000")
                x = np.ones(2000, np.float32)
                begun = threading.Event()
                def ask(protocol):
                    with clients(server) as both:
                        _, module, client = both[protocol]
                        given = [tensor(module, "x", x, "FP32"), tensor(module, "trips", np.array(2000000), "INT64")]
                        begun.set()
                        return client.infer("loop", given).as_numpy("y")
                with concurrent.futures.ThreadPoolExecutor(2) as pool:
                    calls = [pool.submit(ask, i) for i in (0, 1)]
                    begun.wait()
                    time.sleep(0.3)
                    self.assertFalse(any(call.done() for call in calls))
                    code, said = server.end(how)
                    self.assertEqual(code, 0, said)
                    for call in calls:
                        self.assertTrue(np.array_equal(call.result(), x))


@unittest.skipIf(MISSING, WHY)
class Page(unittest.TestCase):
    """docs/serving-http.md and samples/16_serve."""

    def test_blocks(self):
        page = (models.SOURCE / "docs/serving-http.md").read_text()
        blocks = [(kind, text) for kind, text in re.findall(r"^```(python|sh|json)\n(.*?)^```$", page, re.M | re.S)]
        self.assertEqual([kind for kind, _ in blocks], ["sh", "sh", "python", "json", "sh", "sh"])
        self.assertEqual(blocks[0][1], "dyn serve samples/models/bert/model.onnx\n")
        server = Server(models.BERT)
        self.addCleanup(server.end)
        def placed(text):
            return text.replace(":8080", ":%d" % server.http).replace(":8082", ":%d" % server.metrics)
        for kind, text in blocks[1:]:
            with self.subTest(text):
                if kind == "sh":
                    done = subprocess.run(["sh", "-ec", placed(text)], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                elif kind == "python":
                    exec(compile(placed(text), "docs/serving-http.md", "exec"), {})
        self.assertIn("dyn_run_seconds_total{", done.stdout)
        said = server.post("/v2/models/model/infer", {"inputs": [
            {"name": "input_ids", "shape": [1, 1], "datatype": "INT64", "data": [1]}]})[1]
        self.assertIn(json.dumps(said), page)
        with tempfile.TemporaryDirectory() as folder:  # the repository of the page
            (pathlib.Path(folder) / "model-settings.json").write_text(blocks[3][1])
            dyn.load(models.BERT).save(pathlib.Path(folder) / "bert.dynpkg")
            other = Server(folder)
            self.addCleanup(other.end)
            self.assertEqual(json.loads(other.get("/v2/models/bert/versions/1"))["name"], "bert")
        helped = subprocess.run([sys.executable, "-m", "dyn", "serve", "--help"], capture_output=True, text=True).stdout
        for option in set(re.findall(r"--[a-z-]+", helped)) - {"--help"}:
            self.assertIn(option, page)

    @unittest.skipIf(importlib.util.find_spec("yaml") is None, "there is no package yaml")
    def test_manifest(self):
        import yaml
        folder = models.SOURCE / "samples/16_serve"
        made = yaml.safe_load((folder / "inference_service.yaml").read_text())
        self.assertEqual((made["apiVersion"], made["kind"]), ("serving.kserve.io/v1beta1", "InferenceService"))
        [container] = made["spec"]["predictor"]["containers"]
        self.assertEqual(container["name"], "kserve-container")
        image = (folder / "Dockerfile").read_text()
        entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", image, re.M)[1])
        with tempfile.TemporaryDirectory() as models_folder:  # its words serve
            dyn.load(models.BERT).save(pathlib.Path(models_folder) / "bert.dynpkg")
            server = Server(*[models_folder if word == "/models" else word for word in entry[2:] + container["args"]])
            self.addCleanup(server.end)
            for probe in ("readinessProbe", "livenessProbe"):
                server.get(container[probe]["httpGet"]["path"])
        self.assertEqual(container["ports"][0]["containerPort"], 8080)
        for line in (folder / "Dockerfile").read_text(), container["securityContext"]:
            self.assertTrue("USER 10001" in line or line["runAsNonRoot"])

    def test_read_only(self):
        """It writes nothing where it runs."""
        with tempfile.TemporaryDirectory() as folder:
            before, here = os.getcwd(), pathlib.Path(folder)
            os.chdir(here)
            try:
                Server(models.BERT).end()
            finally:
                os.chdir(before)
            self.assertEqual(list(here.iterdir()), [])

    def test_mlserver_alone(self):
        """`mlserver start` with the page's settings: JSON, and gRPC with both forms of contents."""
        with tempfile.TemporaryDirectory() as folder:
            here, (http, grpc, metrics) = pathlib.Path(folder), free_ports(3)
            dyn.load(models.BERT).save(here / "bert.dynpkg")
            (here / "model-settings.json").write_text(json.dumps({
                "name": "bert", "implementation": "dyn.serving.mlserver.DynRuntime", "parameters": {"uri": "./bert.dynpkg"}}))
            (here / "settings.json").write_text(json.dumps({
                "http_port": http, "grpc_port": grpc, "metrics_port": metrics, "parallel_workers": 0, "host": "127.0.0.1"}))
            with open(here / "log", "w") as log:
                process = subprocess.Popen([sys.executable, "-m", "mlserver.cli.main", "start", folder], stdout=log,
                                           stderr=subprocess.STDOUT, cwd=folder)
            try:
                server = Server.__new__(Server)
                server.http, server.grpc = http, grpc
                end = time.monotonic() + 120
                while True:
                    with contextlib.suppress(OSError):
                        server.get("/v2/models/bert/ready")
                        break
                    self.assertLess(time.monotonic(), end, (here / "log").read_text())
                    time.sleep(0.05)
                ids, mask = models.bert_inputs(2, 9)
                want = dyn.load(here / "bert.dynpkg", threads=1)(ids, mask)[0]
                body = {"inputs": [{"name": name, "shape": [2, 9], "datatype": "INT64", "data": array.tolist()}
                                   for name, array in (("input_ids", ids), ("attention_mask", mask))]}
                status, said = server.post("/v2/models/bert/infer", body)
                self.assertEqual(status, 200, said)
                got = np.array(said["outputs"][0]["data"], np.float32).reshape(said["outputs"][0]["shape"])
                self.assertTrue(np.array_equal(got, want))
                del body["inputs"][1]
                self.assertEqual(server.post("/v2/models/bert/infer", body)[0], 400)
                with clients(server) as (_, (_, module, client)):
                    got = client.infer("bert", bert_tensors(module, ids, mask)).as_numpy("last_hidden_state")
                    self.assertTrue(np.array_equal(got, want))
            finally:
                process.kill()
                process.wait()


class Command(unittest.TestCase):
    def dyn(self, *words, **how):
        done = subprocess.run([sys.executable, *how.get("python", ()), "-m", "dyn", *map(str, words)], capture_output=True,
                              text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def test_alone(self):
        code, said = self.dyn()
        self.assertEqual((code, "dyn serve MODEL..." in said), (0, True), said)
        self.assertEqual(self.dyn("nothing")[0], 2)

    def test_missing_file(self):
        self.assertEqual(self.dyn("serve", "nobody.onnx"), (2, "dyn serve: there is no file or folder nobody.onnx\n"))
        self.assertEqual(self.dyn("serve", __file__)[0], 2)

    def test_without_mlserver(self):
        code = "import sys; sys.modules['mlserver'] = None; sys.argv = ['dyn', 'serve', %r]\n" \
               "import importlib.util as u; find = u.find_spec\n" \
               "u.find_spec = lambda name, *more: None if name == 'mlserver' else find(name, *more)\n" \
               "import dyn.__main__; sys.exit(dyn.__main__.main())" % str(models.BERT)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (3, "dyn serve: the package mlserver is missing: pip install dyn[mlserver]\n"))

    @unittest.skipIf(MISSING, WHY)
    def test_refused(self):
        http, grpc, metrics = free_ports(3)
        ports = ["--http-port", http, "--grpc-port", grpc, "--metrics-port", metrics]
        for port, option in ((http, "--http-port"), (grpc, "--grpc-port")):
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", port))
                taken.listen()
                code, said = self.dyn("serve", models.BERT, *ports)
                self.assertEqual((code, said), (1, "dyn serve: port %d of 127.0.0.1 is taken: give another %s\n" % (port, option)))
        with tempfile.TemporaryDirectory() as folder:
            code, said = self.dyn("serve", folder, *ports)
            self.assertEqual((code, said), (1, "dyn serve: there is no model in %s\n" % folder))
            broken = pathlib.Path(folder) / "broken.onnx"
            broken.write_bytes(b"no model")
            code, said = self.dyn("serve", broken, *ports)
            self.assertEqual(code, 1)
            self.assertRegex(said, r"(?m)^dyn serve: broken: \[E\d{4}\]")
            self.assertNotIn("Traceback", said)
            listed = pathlib.Path(folder) / "listed.dyn"
            listed.write_text("fn @main(%x: List[Tensor[(n), f32]]) { return %x }")
            code, said = self.dyn("serve", listed, *ports)
            self.assertEqual(code, 1)
            code, said = self.dyn("serve", models.BERT, "--set", "no_such=1", *ports)
            self.assertEqual((code, "no-such" in said), (1, True), said)


if __name__ == "__main__":
    unittest.main()
