"""Several threads on one model, and Ctrl-C."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import dyn
import models

LOOP = """fn @main(%x: Tensor[(n), f32], %trips: Tensor[(), i64]) {
  %y = loop(%trips, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {
    %b = add(%a, %a)
    return true, %b
  }
  return %y
}"""
# An endless loop, or one command after another: either is ended by SIGINT alone.
ENDLESS = """
import signal, sys
import numpy as np
import models, test_threads
model = models.text(test_threads.LOOP)
model(np.ones(4, np.float32), np.int64(3))
try:
    print("ready", flush=True)
    if sys.argv[1] == "run":
        model(np.ones(4, np.float32), np.int64(2**62))
    else:
        while True: model.command("dims")
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    [y] = model(np.ones(4, np.float32), np.int64(3))
    print("ended", y.tolist(), flush=True)
"""


# The interpreter ends while other threads run, and may be about to come back from a run.
LEAVING = """
import sys, threading
import numpy as np
import models
model = models.text('fn @main(%x: Tensor[(n), f32]) { return add(%x, %x) }', threads=1)
x = np.ones(int(sys.argv[1]), np.float32)
begun = threading.Semaphore(0)
def work():
    while True:
        model(x)
        begun.release()
for _ in range(3): threading.Thread(target=work, daemon=True).start()
for _ in range(9): begun.acquire()
"""


class Threads(unittest.TestCase):
    def test_one_model(self):
        model = dyn.load(models.BERT, threads=1)
        asked = [models.bert_inputs(1 + i % 3, 3 + 5 * (i % 7), seed=i) for i in range(24)]
        wanted = [dyn.load(models.BERT, threads=1)(*given)[0] for given in asked]

        def work(index):
            return [np.array_equal(model(*asked[(index + i) % 24])[0], wanted[(index + i) % 24]) for i in range(24)]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for same in pool.map(work, range(8)):
                self.assertTrue(all(same))

    def test_a_pool_that_models_share(self):
        asked = [models.bert_inputs(1 + i % 3, 3 + 5 * (i % 7), seed=i) for i in range(12)]
        wanted = [dyn.load(models.BERT, threads=1)(*given)[0] for given in asked]
        pool = dyn.ThreadPool(4)
        self.assertEqual((pool.threads, repr(pool)), (4, "ThreadPool(4)"))
        loaded = [dyn.load(models.BERT, threads=pool) for _ in range(3)]
        server = dyn.Server(threads=pool, workers=3, batching="off")
        served = server.add(loaded[0])
        before = set(os.listdir("/proc/self/task"))
        del pool  # the models keep it

        def work(index):
            model = served if index % 4 == 3 else loaded[index % 4]
            return [np.array_equal(model(*asked[(index + i) % 12])[0], wanted[(index + i) % 12]) for i in range(12)]

        with concurrent.futures.ThreadPoolExecutor(8) as callers, server:
            for same in callers.map(work, range(8)):
                self.assertTrue(all(same))
            self.assertLessEqual(len(set(os.listdir("/proc/self/task")) - before), 8 + 3)
        self.assertEqual(loaded[1].command("set threads")["settings"][0]["value"], "4")
        with self.assertRaisesRegex(dyn.UsageError, "a int is no ThreadPool"):
            dyn.Server(threads=4)
        for count in (-1, 2000):
            with self.assertRaises(dyn.UsageError):
                dyn.ThreadPool(count)

    def test_questions_beside_runs(self):
        model = dyn.load(models.BERT, threads=1)
        given = models.bert_inputs(2, 9)
        wanted = model(*given)[0]

        def work(index):
            if index % 2:
                return model.predict(batch=2, seq=index).shapes == {"last_hidden_state": (2, index, 32)}
            return np.array_equal(model(*given)[0], wanted)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(work, range(40))))


    def test_cancel(self):
        model = models.text(LOOP)
        model(np.ones(4, np.float32), np.int64(3))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            endless = [pool.submit(model, np.ones(4, np.float32), np.int64(2**62)) for _ in range(2)]
            while not all(one.done() for one in endless):  # comes here: the runs do not hold the interpreter
                model.cancel()
                time.sleep(0.01)
        for one in endless:
            self.assertIsInstance(one.exception(), dyn.Cancelled)
        self.assertEqual(model(np.ones(1, np.float32), np.int64(3))[0].tolist(), [8])

    def test_exit_beside_runs(self):
        for size in ("1", "100000"):
            for _ in range(5):
                done = subprocess.run([sys.executable, "-c", LEAVING, size], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class Interrupt(unittest.TestCase):
    def interrupted(self, what):
        child = subprocess.Popen([sys.executable, "-c", ENDLESS, what], stdout=subprocess.PIPE, text=True)
        with child:
            self.assertEqual(child.stdout.readline(), "ready\n")
            while child.poll() is None:  # one that comes before the run begins ends nothing
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(1)
                except subprocess.TimeoutExpired:
                    pass
            self.assertEqual((child.stdout.read(), child.returncode), ("ended [8.0, 8.0, 8.0, 8.0]\n", 0))

    def test_run(self):
        self.interrupted("run")

    def test_commands(self):
        self.interrupted("command")


if __name__ == "__main__":
    unittest.main()
