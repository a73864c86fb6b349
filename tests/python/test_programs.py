"""Programs of other people's packages give the same answers on Dyn as on onnxruntime. Those that are not installed are
not run: pip install magika rapidocr-onnxruntime ddddocr nudenet silero-vad into the environment of the tests."""
import json
import subprocess
import sys
import unittest

import programs

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


class Programs(unittest.TestCase):
    def answers(self, *command):
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["answers"]

    @unittest.skipIf(onnxruntime is None or not programs.available(), "needs onnxruntime and a program's package")
    def test_same_answers(self):
        for name in programs.available():
            with self.subTest(name):
                wanted = self.answers(programs.__file__, name)
                given = self.answers("-m", "dyn.compat", programs.__file__, name)
                self.assertIsNone(programs.differs(wanted, given))


if __name__ == "__main__":
    unittest.main()
