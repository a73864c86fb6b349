"""The package's types, as a checker sees them."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

import models


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "needs mypy")
class Types(unittest.TestCase):
    def test_strict(self):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(models.SOURCE) / "python"
            done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", python / "pyproject.toml", "--strict",
                                   "--cache-dir", folder, python / "dyn"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
