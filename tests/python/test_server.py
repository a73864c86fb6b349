"""dyn.Server: requests of threads and tasks, joined or not, with deadlines, priorities and cancellation."""
import asyncio
import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref

import numpy as np

import dyn
import models

# Trips of a loop take as long as one likes.
LOOP = """fn @main(%x: Tensor[(n), f32], %trips: Tensor[(), i64]) {
  %y = loop(%trips, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {
    %b = add(%a, %a)
    %c = mul(%b, 0.5)
    return true, %c
  }
  return %y
}"""
LONG, SHORT = np.array(10**9), np.array(1)

ENDED = """
import numpy as np
import dyn, test_server
served = dyn.Server().add(test_server.loop())
running = served.submit([np.ones(1000, np.float32), test_server.LONG])
waiting = served.submit([np.ones(1000, np.float32), test_server.LONG])
print("asked", flush=True)
"""


def loop():
    return models.text(LOOP, threads=1)


def wait_until(holds):
    end = time.monotonic() + 30
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in 30 s")
        time.sleep(0.001)


class Requests(unittest.TestCase):
    def test_same_as_a_call(self):
        bert = dyn.load(models.BERT, threads=1)
        with dyn.Server() as server:
            served = server.add(bert)
            for batch, seq in models.SHAPES:
                ids, mask = models.bert_inputs(batch, seq)
                y = served.submit({"input_ids": ids, "attention_mask": mask}).result()
                np.testing.assert_array_equal(y.last_hidden_state, bert(ids, mask)[0])
                np.testing.assert_array_equal(served(ids, attention_mask=mask)[0], y[0])
            self.assertFalse(y[0].flags.writeable)
        self.assertEqual(server.statistics.completed_count, 6)

    def test_joined(self):
        """64 requests of different lengths from 8 threads, joined: the answers of each alone, to rounding."""
        bert = dyn.load(models.BERT, threads=1)
        with dyn.Server(batching="on", max_batch=8, max_wait_s=0.05) as server:
            served = server.add(bert)
            self.assertIn("batch", served.joining)
            given = [models.bert_inputs(1, 3 + i % 5, seed=i) for i in range(64)]
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                made = list(pool.map(lambda one: served.submit(list(one)).result()[0], given))
            for one, y in zip(given, made):
                np.testing.assert_allclose(y, bert(*one)[0], atol=1e-5)
            now = server.statistics
        self.assertEqual((now.submitted_count, now.completed_count, now.ran_requests_count), (64, 64, 64))
        self.assertGreater(now.joined_runs_count, 0)
        self.assertLess(now.runs_count, 64)
        self.assertGreater(now.p99_ns, now.p50_ns - 1)
        self.assertIn('dyn_requests_total{answer="results"} 64', server.metrics())

    def test_package_runs_one_by_one(self):
        import pickle
        with dyn.Server() as server:
            served = server.add(pickle.loads(pickle.dumps(models.double())))
            self.assertTrue(served.joining.startswith("one by one: "), served.joining)
        with self.assertRaises(dyn.Error):
            dyn.Server(batching="on").add(pickle.loads(pickle.dumps(models.double())))

    def test_strings_and_lists(self):
        same = models.text("fn @main(%x: Tensor[(n), string]) { %y = concat(%x, %x) {axis = 0} return %y }")
        with dyn.Server() as server:
            self.assertEqual(server.add(same)(np.array(["a", "bc"]))[0].tolist(), ["a", "bc", "a", "bc"])

    def test_an_output_that_is_an_input(self):
        same = models.text("fn @main(%x: Tensor[(n), f32]) { return %x }")
        x = np.float32([1, 2])
        with dyn.Server() as server:
            y = server.add(same)(x)[0]
            x[:] = 0
            self.assertEqual(y.tolist(), [1, 2])

    def test_await(self):
        async def several(served):
            many = [served.submit([np.full((1, n), n, np.float32)]) for n in range(1, 20)]
            return await asyncio.gather(*many), await served.submit([np.ones((2, 2), np.float32)])
        with dyn.Server() as server:
            made, last = asyncio.run(several(server.add(models.double())))
        self.assertEqual([y[0][0, 0] for y in made], [2 * n for n in range(1, 20)])
        self.assertEqual(last[0].shape, (2, 2))


    def test_nobody_holds_it(self):
        """It ends, and the thread that tells answers, too."""
        server = dyn.Server()
        gone, teller = weakref.ref(server), server._teller
        self.assertEqual(server.add(models.double())(np.ones((1, 2), np.float32))[0].tolist(), [[2, 2]])
        del server
        gc.collect()
        teller.join(30)
        self.assertFalse(teller.is_alive())
        self.assertIsNone(gone())


class Order(unittest.TestCase):
    """One worker that is held up: what waits is answered in the order of the policy."""

    def setUp(self):
        self.server = dyn.Server(batching="off", max_queue=8)
        self.served = self.server.add(loop())
        self.x = np.ones(1000, np.float32)
        self.held = self.served.submit([self.x, LONG])
        wait_until(lambda: self.server.statistics.running_count == 1)
        self.addCleanup(self.server.shut_down, "cancel")

    def let_go(self):
        self.assertTrue(self.held.cancel())
        with self.assertRaises(concurrent.futures.CancelledError):
            self.held.result(30)

    def test_priority_and_clients(self):
        order = []
        for name, how in (("a", {"client": 1}), ("b", {"client": 1}), ("c", {"client": 2}), ("high", {"priority": 1})):
            request = self.served.submit([self.x, SHORT], **how)
            request.add_done_callback(lambda _, name=name: order.append(name))
            last = request
        self.let_go()
        self.server.shut_down()
        self.assertTrue(last.done())
        self.assertEqual(order, ["high", "a", "c", "b"])

    def test_deadline(self):
        with self.assertRaises(dyn.DeadlinePassed) as caught:
            self.served.submit([self.x, SHORT], deadline_s=0)
        self.assertIsInstance(caught.exception, TimeoutError)
        late, early = (self.served.submit([self.x, SHORT], deadline_s=wait) for wait in (1e-3, 600))
        time.sleep(0.01)
        self.let_go()
        with self.assertRaises(dyn.DeadlinePassed):
            late.result(30)
        np.testing.assert_array_equal(early.result(30)[0], self.x)
        self.assertEqual(self.server.statistics.expired_count, 2)

    def test_queue_full(self):
        taken = [self.served.submit([self.x, SHORT]) for _ in range(8)]
        with self.assertRaises(dyn.QueueFull):
            self.served.submit([self.x, SHORT])
        self.let_go()
        self.assertEqual(len([one.result(30) for one in taken]), 8)
        self.assertEqual(self.server.statistics.queue_full_count, 1)

    def test_admission(self):
        with self.assertRaisesRegex(dyn.UsageError, "admission is none of all, deadline: 'some'"):
            dyn.Server(admission="some")
        self.assertEqual(self.served.admission, "all: the policy refuses none by its deadline")
        with dyn.Server(admission="deadline") as server:
            served = server.add(loop())
            self.assertEqual(served.admission, "all: there is no formula of the time in a package")
            served.submit([self.x, SHORT], deadline_s=30).result(30)
            self.assertEqual(server.statistics.infeasible_count, 0)
        self.assertTrue(issubclass(dyn.DeadlineInfeasible, dyn.DeadlinePassed))

    def test_cancel(self):
        waiting = self.served.submit([self.x, SHORT])
        self.assertTrue(waiting.cancel())
        with self.assertRaises(concurrent.futures.CancelledError):
            waiting.result(30)
        self.assertTrue(waiting.cancelled())
        other = self.served.submit([self.x, SHORT])
        self.let_go()
        done, still = concurrent.futures.wait([other, waiting, self.held], 30)
        self.assertEqual((len(done), len(still)), (3, 0))
        self.assertFalse(other.cancel())

    def test_a_task_that_is_cancelled(self):
        async def ask():
            await asyncio.wait_for(self.served.submit([self.x, SHORT]), 0.01)
        with self.assertRaises(TimeoutError):
            asyncio.run(ask())
        wait_until(lambda: self.server.statistics.cancelled_count == 1)
        self.let_go()

    def test_shut_down(self):
        waiting = self.served.submit([self.x, SHORT])
        self.server.shut_down("cancel")
        with self.assertRaises(dyn.ShutDown):
            waiting.result(0)
        with self.assertRaises(concurrent.futures.CancelledError):
            self.held.result(0)
        with self.assertRaises(dyn.ShutDown):
            self.served.submit([self.x, SHORT])
        self.server.shut_down()

    def test_drain(self):
        waiting = [self.served.submit([self.x, SHORT]) for _ in range(5)]
        threading.Timer(0.05, self.held.cancel).start()
        self.server.shut_down("drain")
        self.assertEqual([one.result(0)[0].size for one in waiting], [1000] * 5)

    def test_ctrl_c(self):
        """It ends a drain that waits for a long run."""
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.server.shut_down("drain")
        self.assertLess(time.monotonic() - begun, 10)



class Faults(unittest.TestCase):
    def setUp(self):
        self.server = dyn.Server(memory_limit_bytes=4 << 20)
        self.addCleanup(self.server.shut_down)

    def test_inputs(self):
        served = self.server.add(models.double())
        for given in ([], [np.ones((2, 2))], [np.ones(2, np.float32)], {"z": np.ones((2, 2), np.float32)}):
            with self.assertRaises(dyn.InputError):
                served.submit(given)
        with self.assertRaises(dyn.UsageError):
            served.submit("no inputs")

    def test_of_a_run(self):
        """The one at fault fails alone."""
        served = self.server.add(dyn.load(models.BERT, threads=1))
        good, bad = models.bert_inputs(1, 5), models.bert_inputs(1, 600)  # at most 512
        requests = [served.submit(list(one)) for one in (good, bad, good)]
        with self.assertRaisesRegex(dyn.Error, "512"):
            requests[1].result(30)
        for i in (0, 2):
            self.assertEqual(requests[i].result(30)[0].shape, (1, 5, 32))

    def test_memory(self):
        served = self.server.add(models.double())
        with self.assertRaises(dyn.MemoryLimitError):
            served(np.ones((2000, 1000), np.float32))
        self.assertEqual(served(np.ones((10, 10), np.float32))[0].sum(), 200)
        self.assertEqual(self.server.statistics.memory_refused_count, 1)

    def test_policy(self):
        for wrong in ({"batching": "sometimes"}, {"workers": 0}, {"max_queue": -1}, {"max_wait_s": -1.0}):
            with self.assertRaises(dyn.UsageError):
                dyn.Server(**wrong)
        with self.assertRaises(dyn.UsageError):
            self.server.shut_down("later")

    def test_exit_with_requests_under_way(self):
        done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "asked\n", ""))

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer keeps what is freed")
    def test_memory_is_flat(self):
        served = self.server.add(models.double())
        x = np.ones((50, 50), np.float32)

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        for _ in range(1000):
            served(x)
        before = resident()
        for _ in range(10000):
            served(x)
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
