"""What `import dyn` brings along, beside NumPy."""
import subprocess
import sys
import unittest

SEEN = """
import resource, sys
import numpy
before = set(sys.modules)
begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
import dyn
seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin
print(seconds, *sorted(name for name in set(sys.modules) - before if name.partition(".")[0] != "dyn"))
"""


class Import(unittest.TestCase):
    def test_is_little(self):
        best = 1e9
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, check=True)
            seconds, *modules = done.stdout.split()
            best = min(best, float(seconds))
        self.assertLessEqual(set(modules), {"__future__", "atexit", "threading"})
        self.assertLess(best, 0.06)  # of the processor, of which libdyn.so and LLVM take most


if __name__ == "__main__":
    unittest.main()
