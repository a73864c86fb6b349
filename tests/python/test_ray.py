"""Models on a cluster of Ray: two nodes on this machine, of which one is killed."""
import asyncio
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import numpy as np

import dyn
import models
import test_generate
from test_server import LOOP
from test_serving import free_ports

MISSING = [name for name in ("ray", "starlette", "pyarrow") if importlib.util.find_spec(name) is None]
WHY = "there is no package %s: pip install dyn[ray]" % ", ".join(MISSING)
if not MISSING:
    # A replica of a busy machine takes longer to say how many requests it has than Ray waits for.
    os.environ.setdefault("RAY_SERVE_QUEUE_LENGTH_RESPONSE_DEADLINE_S", "2")
    import ray
    import ray.cluster_utils
    from ray import serve

    import dyn.serving.ray

REQUESTS, AT_ONCE = 10_000 if os.environ.get("DYN_TEST_ALL") else 1_000, 64  # ./dev test --all
PROCESSOR = {"num_cpus": 0.1}


def node_options():
    """Two CPUs; of the processes beside a node no more than it wants, as it waits for them 15 s only. Where an installer
    has not compiled the modules of ray (uv does not), that is too short on a busy machine: python -m compileall."""
    return {"num_cpus": 2, "include_dashboard": False, "include_log_monitor": False, "no_monitor": True}


def pss_of(path):
    """{pid: bytes} of the processes that map this file: a page counts by the share of the process."""
    found = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            maps = pathlib.Path("/proc", pid, "smaps").read_text()
        except OSError:
            continue
        inside, total = False, 0
        for line in maps.splitlines():
            if line[0] in "0123456789abcdef" and "-" in line.split()[0]:
                inside = line.endswith(str(path))
            elif inside and line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
        if total:
            found[int(pid)] = total
    return found


@unittest.skipIf(MISSING, WHY)
class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ray.cluster_utils.Cluster(initialize_head=True, head_node_args=node_options())
        cls.addClassCleanup(cls.cluster.shutdown)
        ray.init(address=cls.cluster.address, log_to_driver=False)
        cls.addClassCleanup(ray.shutdown)
        [cls.port] = free_ports(1)
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": cls.port})
        cls.addClassCleanup(serve.shutdown)

    def run_app(self, model, **how):
        how = {"ray_actor_options": PROCESSOR, "health_check_timeout_s": 120, **how}  # the machine may be busy
        handle = serve.run(dyn.serving.ray.deployment(model, **how), name=self.id(), route_prefix="/" + self._testMethodName)
        self.addCleanup(serve.delete, self.id())
        return handle

    def replicas(self):
        """By state."""
        return serve.status().applications[self.id()].deployments["dyn"].replica_states

    def test_answers(self):
        bert = dyn.load(models.BERT, threads=1)
        handle = self.run_app(bert, num_replicas=1)
        for batch, seq in models.SHAPES:
            ids, mask = models.bert_inputs(batch, seq)
            y = dyn.serving.ray.call(handle, {"input_ids": ids, "attention_mask": mask})
            np.testing.assert_array_equal(y["last_hidden_state"], bert(ids, mask)[0])
        y = handle.remote(input_ids=ids, attention_mask=mask).result()
        np.testing.assert_array_equal(y["last_hidden_state"], bert(ids, mask)[0])
        with self.assertRaisesRegex(Exception, "E0304"):  # what the model refuses is not asked again
            dyn.serving.ray.call(handle, {"input_ids": ids})
        said = handle.info.remote().result()
        self.assertEqual(said["statistics"].completed_count, 4)
        self.assertTrue(said["joining"].startswith("one by one: "))

    def test_http(self):
        self.run_app(models.double(), num_replicas=1)

        def post(body):
            asked = urllib.request.Request("http://127.0.0.1:%d/test_http" % self.port, json.dumps(body).encode())
            try:
                with urllib.request.urlopen(asked) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, json.loads(refused.read())
        x = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2.5]}
        self.assertEqual(post({"inputs": [x]}), (200, {"outputs": [
            {"name": "y", "datatype": "FP32", "shape": [1, 2], "data": [2, 5]}]}))
        self.assertEqual(post({"inputs": [x], "outputs": [{"name": "y"}]})[0], 200)
        other = [{"datatype": "INT64"}, {"datatype": ["FP32"]}, {"shape": [3]}, {"shape": 2}, {"shape": None},
                 {"shape": [1] * 70 + [2]}, {"shape": [2**62, 0], "data": []}, {"shape": [2**70, 0], "data": []},
                 {"name": "X"}, {"name": ["x"]}, {"data": "ab"}, {"data": {"a": 1}}, {"data": [1e300, 1]},
                 {"parameters": {"binary_data_size": 8}}]
        for wrong in ({}, [], {"inputs": "x"}, {"inputs": [{}]}, {"inputs": []}, {"inputs": [x, x]},
                      {"inputs": [x], "outputs": [{"name": "z"}]}, {"inputs": [x], "outputs": 3},
                      *({"inputs": [{**x, **one}]} for one in other)):
            status, said = post(wrong)
            self.assertEqual((status, list(said)), (400, ["error"]), said)

    def run_decoder(self, model, **how):
        """(handle, its path over HTTP)."""
        how = {"num_replicas": 1, "ray_actor_options": PROCESSOR, "health_check_timeout_s": 120, **how}
        route = "/" + self._testMethodName
        handle = serve.run(dyn.serving.ray.decoder_deployment(model, **how), name=self.id(), route_prefix=route)
        self.addCleanup(serve.delete, self.id())
        return handle, "http://127.0.0.1:%d%s" % (self.port, route)

    def wait_until_idle(self, handle):
        end = time.monotonic() + 60
        while (said := handle.info.remote().result()["statistics"]).running_count + said.waiting_count:
            self.assertLess(time.monotonic(), end, said)
            time.sleep(0.1)
        return said

    def test_tokens(self):
        """Sequences of one replica share steps; each gives the tokens that it has alone."""
        handle, url = self.run_decoder(test_generate.GPT2, tokenizer=test_generate.TOKENIZER)
        model = test_generate.gpt2()
        prompts = test_generate.PROMPTS * 4
        wanted = [one.ids for one in model.generate(prompts, max_new_tokens=50)]

        async def ask(prompt):
            tokens = handle.options(stream=True).generate.remote(prompt, max_new_tokens=50)
            return [token async for token in tokens]

        async def ask_all():
            return await asyncio.gather(*map(ask, prompts))
        for tokens, ids in zip(asyncio.run(ask_all()), wanted):
            self.assertEqual([token.id for token in tokens], ids)
            self.assertEqual([token.end for token in tokens], [""] * 49 + ["length"])
        said = self.wait_until_idle(handle)
        self.assertEqual(said.rows_count, 50 * len(prompts))
        self.assertGreater(said.rows_count, 2 * said.steps_count)
        text = model.generate("One", max_new_tokens=9, tokenizer=test_generate.TOKENIZER)[0].text
        self.assertEqual("".join(token.text for token in handle.options(stream=True).generate.remote("One", max_new_tokens=9)), text)

        def post(body):
            asked = urllib.request.Request(url, json.dumps(body).encode())
            try:
                with urllib.request.urlopen(asked) as answer:
                    return answer.status, [json.loads(line) for line in answer]
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, [json.loads(refused.read())]
        status, lines = post({"prompt": "One", "max_new_tokens": 9})
        self.assertEqual((status, "".join(line["text"] for line in lines), lines[-1]["end"]), (200, text, "length"))
        for wrong in ([], {}, {"prompt": None}, {"prompt": []}, {"prompt": [1.5]}, {"prompt": [10**6]}, {"prompt": "One", "speed": 3},
                      {"prompt": "One", "max_new_tokens": "9"}, {"prompt": "One", "max_batch": 3}, {"prompt": "One", "self": 1}):
            status, said = post(wrong)
            self.assertEqual((status, list(said[0])), (400, ["error"]), said)
        with self.assertRaisesRegex(Exception, "no option speed"):
            list(handle.options(stream=True).generate.remote("One", speed=3))

    def test_tokens_come_one_by_one_and_who_leaves_ends_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "endless.dyn"
            path.write_text(test_generate.ENDLESS_DECODER)
            handle, url = self.run_decoder(path, load_options={"cache_dir": "none"})
        tokens = handle.options(stream=True).generate.remote([1], max_new_tokens=10**6)
        for _ in range(3):
            self.assertEqual(next(tokens).end, "")
        self.assertEqual(handle.info.remote().result()["statistics"].running_count, 1)
        tokens.cancel()
        self.wait_until_idle(handle)
        asked = urllib.request.Request(url, json.dumps({"prompt": [1], "max_new_tokens": 10**6}).encode())
        with urllib.request.urlopen(asked) as answer:
            self.assertEqual([json.loads(next(answer))["end"] for _ in range(3)], [""] * 3)
            self.assertEqual(handle.info.remote().result()["statistics"].running_count, 1)
        said = self.wait_until_idle(handle)
        self.assertEqual(said.ended_count, 2)
        self.assertLess(said.tokens_count, 10**6)

    def test_decoders_of_packages_run_one_by_one(self):
        model = test_generate.gpt2()
        handle, _ = self.run_decoder(model)
        made = handle.options(stream=True).generate.remote([15, 7, 3], max_new_tokens=5)
        self.assertEqual([token.id for token in made], model.generate([15, 7, 3], max_new_tokens=5)[0].ids)
        self.assertTrue(handle.info.remote().result()["sharing"].startswith("one by one: "))
        with self.assertRaisesRegex(dyn.UsageError, "max_batch 4 wants the path"):
            dyn.serving.ray.decoder_deployment(model, max_batch=4)

    def test_refused_before_anything_is_deployed(self):
        made, decoder = dyn.serving.ray.deployment, dyn.serving.ray.decoder_deployment
        for path in ("/no/such.dynpkg", "/no/such.onnx", models.SOURCE):
            for call in (made, decoder):
                with self.assertRaisesRegex(dyn.FileError, "there is no such file here"):
                    call(path)
        with self.assertRaisesRegex(dyn.FileError, "tokenizer.json"):
            decoder(test_generate.GPT2, tokenizer="/no/tokenizer.json")
        for call, options in ((made, {"workers": 0}), (made, {"max_queue": -1}), (made, {"max_batch": "4"}),
                              (made, {"batching": "sometimes"}), (made, {"load_options": {"threads": "two"}}),
                              (made, {"load_options": {"no_such": 1}}), (decoder, {"max_batch": -1}), (decoder, {"max_queue": 0})):
            with self.assertRaises(dyn.UsageError, msg=options):
                call(models.BERT, **options)
        with self.assertRaises(RuntimeError):
            self.run_decoder(models.BERT)
        said = serve.status().applications[self.id()].deployments["dyn"].message
        self.assertIn("unsupported: the model is no decoder", said)

    def test_joined(self):
        """With the graph at hand requests run together."""
        handle = self.run_app(models.BERT, num_replicas=1, batching="on", max_batch=8, max_wait_s=0.05)
        bert = dyn.load(models.BERT, threads=1)
        given = [models.bert_inputs(1, 3 + i % 5, seed=i) for i in range(32)]

        async def ask():
            return await asyncio.gather(*(dyn.serving.ray.acall(handle, {"input_ids": ids, "attention_mask": mask})
                                          for ids, mask in given))
        for one, y in zip(given, asyncio.run(ask())):
            np.testing.assert_allclose(y["last_hidden_state"], bert(*one)[0], atol=1e-5)
        self.assertGreater(handle.info.remote().result()["statistics"].joined_runs_count, 0)

    def test_scales_and_drains(self):
        """More replicas while requests wait; a deployment that is taken down answers what it has."""
        handle = self.run_app(models.text(LOOP), max_ongoing_requests=64, graceful_shutdown_timeout_s=60, autoscaling_config={
            "min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 2, "upscale_delay_s": 0.5,
            "metrics_interval_s": 0.2, "look_back_period_s": 1})
        x, trips = np.ones(2000, np.float32), np.array(300_000)
        waiting = [handle.ask.remote({"x": x, "trips": trips}) for _ in range(40)]
        end = time.monotonic() + 120
        while sum(self.replicas().values()) < 2:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        serve.delete(self.id())
        for one in waiting:
            np.testing.assert_array_equal(one.result()["y"], x)

    @unittest.skipIf(importlib.util.find_spec("onnx") is None, "there is no package onnx")
    def test_memory(self):
        """Ten replicas take the memory of one."""
        import onnx
        weights = np.random.default_rng(0).standard_normal((2048, 2048), np.float32)
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 2048])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 2048])],
            [onnx.numpy_helper.from_array(weights, "w")])
        model = dyn.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]))
        x = np.ones((1, 2048), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "product.dynpkg"
            model.save(path)
            totals = []
            for count in (1, 10):
                handle = self.run_app(path, num_replicas=count)

                async def ask():
                    return await asyncio.gather(*(dyn.serving.ray.acall(handle, {"x": x}) for _ in range(20 * count)))
                end = time.monotonic() + 120
                while len(found := pss_of(path)) < count or min(found.values()) < sum(found.values()) / count / 2:
                    self.assertLess(time.monotonic(), end)
                    for y in asyncio.run(ask()):
                        np.testing.assert_allclose(y["y"], x @ weights, rtol=1e-3, atol=1e-3)
                totals.append(sum(found.values()))
            print("\n%d MiB package: mapped by 1 replica %.1f MiB, by 10 together %.1f MiB"
                  % (path.stat().st_size >> 20, totals[0] / 2**20, totals[1] / 2**20))
            self.assertGreater(totals[0], weights.nbytes * 0.9)
            self.assertLess(totals[1], 1.3 * totals[0])

    def test_stuck_is_replaced(self):
        """Replicas whose request has no answer, and whose process does nothing, make way for others."""
        handle = self.run_app(models.text(LOOP), num_replicas=1, stuck_after_s=1, health_check_period_s=0.5,
                              health_check_timeout_s=2)
        x, few = np.ones(4, np.float32), np.array(3)

        def pid_of_new(old):
            end = time.monotonic() + 120
            while time.monotonic() < end:
                try:
                    np.testing.assert_array_equal(dyn.serving.ray.call(handle, {"x": x, "trips": few}, attempts=30)["y"], x)
                    if (pid := handle.info.remote().result(timeout_s=5)["pid"]) != old:
                        return pid
                except (ray.exceptions.RayError, TimeoutError):
                    pass
                time.sleep(0.2)
            self.fail("the replica was not replaced")
        first = pid_of_new(None)
        endless = handle.ask.remote({"x": x, "trips": np.array(10**15)})
        with self.assertRaises(ray.exceptions.RayError):
            endless.result(timeout_s=120)
        second = pid_of_new(first)
        os.kill(second, signal.SIGSTOP)
        pid_of_new(second)

    def test_killed(self):
        """A replica, then a node go while requests run: each is answered, and rightly."""
        node = self.cluster.add_node(**node_options())
        self.cluster.wait_for_nodes()
        handle = self.run_app(models.double(), num_replicas=4, ray_actor_options={"num_cpus": 1}, health_check_period_s=1)
        seconds, others = [], []

        async def ask(i, free):
            x = np.full((1 + i % 3, 1 + i % 7), i, np.float32)
            async with free:
                begun = time.perf_counter()
                y = (await dyn.serving.ray.acall(handle, {"x": x}))["y"]
                seconds.append(time.perf_counter() - begun)
            if y.shape != x.shape or not np.array_equal(y, x + x):
                others.append(i)
            if len(seconds) == REQUESTS // 3:
                os.kill((await handle.info.remote())["pid"], signal.SIGKILL)
            if len(seconds) == REQUESTS * 2 // 3:
                await asyncio.to_thread(self.cluster.remove_node, node, allow_graceful=False)

        async def ask_all():
            free = asyncio.Semaphore(AT_ONCE)
            await asyncio.gather(*(ask(i, free) for i in range(REQUESTS)))
        begun = time.monotonic()
        asyncio.run(ask_all())
        p50, p99, longest = np.percentile(seconds, (50, 99, 100)) * 1000
        print("\n%d requests, %d at once, in %.0f s; a replica and a node were killed: p50 %.1f ms, p99 %.1f ms, "
              "longest %.0f ms" % (len(seconds), AT_ONCE, time.monotonic() - begun, p50, p99, longest))
        self.assertEqual((len(seconds), others), (REQUESTS, []))
        end = time.monotonic() + 120  # Ray notices later than the requests do
        while sum(one["Alive"] for one in ray.nodes()) > 1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_data(self):
        """Ragged rows by Ray Data: with the mask of the model together, without it by equal shapes."""
        random = np.random.default_rng(0)
        rows = [{"id": i, "tokens": random.integers(0, 50, 1 + i % 9)} for i in range(50)]
        bert = dyn.load(models.BERT, threads=1)
        made = ray.data.from_items(rows).map_batches(
            dyn.DynPredictor, fn_constructor_args=(dyn.packaged(bert),), compute=ray.data.ActorPoolStrategy(size=2),
            batch_size=16, num_cpus=0.1,
            fn_constructor_kwargs={"columns": {"input_ids": "tokens"}, "outputs": {"last_hidden_state": "hidden"},
                                   "keep": ("id",), "lengths": "attention_mask"}).take_all()
        self.assertEqual(sorted(row["id"] for row in made), list(range(50)))
        for row in made:
            ids = rows[row["id"]]["tokens"][None]
            np.testing.assert_allclose(row["hidden"], bert(ids, np.ones_like(ids))[0][0], atol=1e-5)


    def test_page(self):
        """The blocks of docs/ray.md run as they stand there."""
        page = (models.SOURCE / "docs/ray.md").read_text()
        blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual([kind for kind, _ in blocks], ["python", "sh", "python", "sh", "python"])
        shells = iter((lambda said: self.assertEqual(json.loads(said)["outputs"][0]["shape"], [1, 3, 32]),
                       lambda said: self.assertEqual([json.loads(line)["end"] for line in said.splitlines()],
                                                     [""] * 11 + ["length"])))
        before, names = os.getcwd(), {}
        os.chdir(models.SOURCE)
        self.addCleanup(os.chdir, before)
        self.addCleanup(serve.delete, "default")
        self.addCleanup(serve.delete, "text")
        for kind, text in blocks:
            if kind == "python":
                exec(compile(text, "docs/ray.md", "exec"), names)
            else:
                done = subprocess.run(["sh", "-ec", text.replace(":8000", ":%d" % self.port)], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                next(shells)(done.stdout)


if __name__ == "__main__":
    unittest.main()
