"""Models as functions of Spark's columns, on a local Spark of two threads."""
import importlib.util
import json
import os
import re
import shutil
import sys
import unittest

import numpy as np

import dyn
import models


def java():
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") or (home and shutil.which("java", path=os.path.join(home, "bin")))


MISSING = [name for name in ("pyspark", "pyarrow", "pandas") if importlib.util.find_spec(name) is None]
WHY = "there is no package %s: pip install dyn[spark]" % ", ".join(MISSING) if MISSING else "there is no java"
if not MISSING:
    import pyarrow as pa

    import dyn.spark


@unittest.skipIf(MISSING, WHY)
class Arrow(unittest.TestCase):
    """Columns as arrays and back."""

    def lies_in(self, array, column):
        buffers = [one for one in column.buffers() if one]
        begin = array.__array_interface__["data"][0]
        return any(one.address <= begin < one.address + one.size for one in buffers)

    def test_no_copy(self):
        for column, shape in ((pa.array([1.0, 2.0, 3.0], pa.float32()), (3,)),
                              (pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int64())), (3, 2)),
                              (pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)), (2, 2)),
                              (pa.array([[[1, 2]], [[3, 4]]], pa.list_(pa.list_(pa.int64()))), (2, 1, 2))):
            for part in (column, column.slice(1)):
                array = dyn.spark.numpy_of(part, "x")
                self.assertEqual(array.shape, (len(part), *shape[1:]))
                self.assertEqual(array.tolist(), part.to_pylist())
                self.assertTrue(self.lies_in(array, column))
        ragged = dyn.spark.numpy_of(pa.array([[1, 2], [3], []], pa.list_(pa.int64())), "x")
        self.assertEqual([row.tolist() for row in ragged], [[1, 2], [3], []])

    def test_back(self):
        ragged = np.empty(2, object)
        ragged[:] = [np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]
        for column in (np.float32([1, 2]), np.arange(12).reshape(3, 2, 2), np.zeros((2, 0)), ragged):
            self.assertEqual(dyn.spark.arrow_of(column).to_pylist(), [row.tolist() for row in column])

    def test_nulls(self):
        with self.assertRaisesRegex(dyn.InputError, "1 nulls"):
            dyn.spark.numpy_of(pa.array([1, None]), "x")


@unittest.skipIf(MISSING or not java(), WHY)
class Local(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from pyspark.sql import SparkSession
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
        cls.spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                     .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.shuffle.partitions", "2")
                     .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"]).getOrCreate())
        cls.spark.sparkContext.setLogLevel("ERROR")
        cls.addClassCleanup(cls.spark.stop)

    def test_ragged_rows(self):
        bert = dyn.load(models.BERT, threads=1)
        random = np.random.default_rng(0)
        rows = [(i, random.integers(0, 50, 1 + i % 9).tolist()) for i in range(200)]
        table = self.spark.createDataFrame(rows, "id long, tokens array<long>").repartition(4)
        hidden = dyn.spark.predict_udf(bert, return_type="array<array<float>>", lengths="attention_mask", batch_size=16)
        made = table.select("id", hidden("tokens").alias("hidden")).collect()
        self.assertEqual(sorted(row.id for row in made), list(range(200)))
        for row in made:
            ids = np.array([rows[row.id][1]])
            np.testing.assert_allclose(np.float32(row.hidden), bert(ids, np.ones_like(ids))[0][0], atol=1e-5)

    def test_numbers_and_structs(self):
        pair = models.text("fn @main(%x: Tensor[(n), f32], %z: Tensor[(n), f32]) "
                           "{ %a = add(%x, %z) %b = mul(%x, %z) return %a, %b }")
        table = self.spark.createDataFrame([(float(i), float(i + 1)) for i in range(10)], "x float, z float")
        both = dyn.spark.predict_udf(pair, return_type="struct<a: float, b: float>")
        made = table.select("x", both("x", "z").alias("y")).collect()
        self.assertEqual([(row.y.a, row.y.b) for row in made], [(2 * row.x + 1, row.x * (row.x + 1)) for row in made])
        one = dyn.spark.predict_udf(pair, return_type="float", output="b")
        self.assertEqual([row[0] for row in table.select(one("x", "z")).collect()], [row.y.b for row in made])

    def test_tensor_shapes(self):
        double = models.text("fn @main(%x: Tensor[(n, 2, 3), f32]) { %y = add(%x, %x) return %y }")
        table = self.spark.createDataFrame([([float(i)] * 6,) for i in range(5)], "x array<float>")
        made = table.select(dyn.spark.predict_udf(double, return_type="array<array<float>>",
                                                  input_tensor_shapes=[[2, 3]])("x")).collect()
        self.assertEqual([row[0] for row in made], [[[2.0 * i] * 3] * 2 for i in range(5)])

    def test_errors(self):
        double = models.text("fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }")
        table = self.spark.createDataFrame([(1,)], "x long")
        with self.assertRaisesRegex(Exception, "wants f32, got i64"):
            table.select(dyn.spark.predict_udf(double, return_type="float")("x")).collect()
        holes = self.spark.createDataFrame([(1.0,), (None,)], "x float")
        with self.assertRaisesRegex(Exception, "input 'x': its column has 1 nulls"):
            holes.coalesce(1).select(dyn.spark.predict_udf(double, return_type="float")("x")).collect()
        with self.assertRaisesRegex(Exception, "2 columns are given, the model has the inputs x"):
            table.select(dyn.spark.predict_udf(double, return_type="float")("x", "x")).collect()
        with self.assertRaisesRegex(Exception, "there is no output 'z'; outputs: y"):
            holes.dropna().select(dyn.spark.predict_udf(double, return_type="float", output="z")("x")).collect()
        with self.assertRaises(dyn.UsageError):
            dyn.spark.predict_udf(double, return_type="float", batch_size=0)

    def test_page(self):
        """The block of docs/spark.md runs as it stands there."""
        [block] = re.findall(r"^```python\n(.*?)^```$", (models.SOURCE / "docs/spark.md").read_text(), re.M | re.S)
        before = os.getcwd()
        os.chdir(models.SOURCE)
        self.addCleanup(os.chdir, before)
        exec(compile(block, "docs/spark.md", "exec"), {})

    def test_batches(self):
        """A partition comes in several batches of Arrow, of which a run takes a part; a partition may be empty."""
        bert = dyn.load(models.BERT, threads=1)
        random = np.random.default_rng(1)
        hidden = dyn.spark.predict_udf(bert, return_type="array<array<float>>", lengths="attention_mask", batch_size=5)
        self.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
        self.addCleanup(self.spark.conf.unset, "spark.sql.execution.arrow.maxRecordsPerBatch")
        for count in (0, 1, 31):
            rows = [(i, random.integers(0, 50, 1 + int(random.integers(13))).tolist()) for i in range(count)]
            table = self.spark.createDataFrame(rows, "id long, tokens array<long>").repartition(3, "id")
            made = table.select("id", hidden("tokens").alias("hidden")).collect()
            self.assertEqual(sorted(row.id for row in made), list(range(count)))
            for row in made:
                ids = np.array([rows[row.id][1]])
                np.testing.assert_allclose(np.float32(row.hidden), bert(ids, np.ones_like(ids))[0][0], atol=1e-5)

    def test_loaded_once(self):
        """By each process of an executor: over all tasks of two jobs a process has one model of the function."""
        double = models.text("fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) return %y }")
        table = self.spark.createDataFrame([(float(i),) for i in range(100)], "x float").repartition(20)
        doubled = dyn.spark.predict_udf(double, return_type="float", batch_size=1)
        from pyspark.sql.functions import udf

        @udf("string")
        def loaded(_):
            return json.dumps([os.getpid(), {key: id(one) for key, one in dyn.spark._predictors.items()}])
        found = {}
        for _ in range(2):
            self.assertEqual(sorted(row[0] for row in table.select(doubled("x")).collect()), [2.0 * i for i in range(100)])
            for row in table.select(loaded("x")).collect():
                process, models_there = json.loads(row[0])
                for key, one in models_there.items():
                    found.setdefault((process, key), set()).add(one)
        self.assertTrue(found)
        self.assertEqual({len(ones) for ones in found.values()}, {1})
        self.assertLess(len({process for process, _ in found}), 20)  # far fewer processes than tasks


if __name__ == "__main__":
    unittest.main()
