"""The blocks of the pages run, in order, and print what the page says; those marked `torch` or `onnx` where these are installed."""
import doctest
import importlib.util
import os
import re
import sys
import unittest

import models

BLOCK = re.compile(r"^```python(?: (torch|onnx))?\n(.*?)^```$", re.M | re.S)
NEEDS = {"": (), "onnx": ("onnx",), "torch": ("torch", "onnx", "onnxscript")}


class Page(unittest.TestCase):
    def blocks_run(self, name, least):
        page = (models.SOURCE / "docs" / name).read_text()
        blocks = [text for mark, text in BLOCK.findall(page) if all(map(importlib.util.find_spec, NEEDS[mark]))]
        self.assertGreaterEqual(len(blocks), least)
        parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/" + name, None, 0)
        said = []
        before = os.getcwd()
        os.chdir(models.SOURCE)
        try:
            result = doctest.DocTestRunner().run(parsed, out=said.append)
        finally:
            os.chdir(before)
        self.assertEqual(result.failed, 0, "".join(said))

    def test_python(self):
        self.blocks_run("python.md", 10)

    def test_onnxruntime(self):
        beside = [name for name in sys.modules if name.split(".")[0] == "onnxruntime"]
        kept = {name: sys.modules.pop(name) for name in beside}  # other tests may have imported the other one
        try:
            self.blocks_run("onnxruntime.md", 1)
        finally:
            sys.modules.update(kept)


if __name__ == "__main__":
    unittest.main()
