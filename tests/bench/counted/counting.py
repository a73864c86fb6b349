"""Instructions that programs for other processors run, counted by qemu through the plugin count_instructions.c."""
import os
import subprocess
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "count_instructions.c")


class Counter:
    """Needs a C compiler; its files lie in `folder`."""

    def __init__(self, folder):
        self.plugin = os.path.join(folder, "count.so")
        self.out = os.path.join(folder, "count.txt")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", SOURCE, "-o", self.plugin], check=True)

    def options(self):
        """For qemu."""
        return ["-plugin", f"file={self.plugin},out={self.out}"]

    def count(self, words, seconds=120):
        """Of the process that `words` start, whose qemu has options()."""
        if os.path.exists(self.out):
            os.remove(self.out)
        done = subprocess.run(words, capture_output=True, timeout=seconds)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout.decode()[-500:]}{done.stderr.decode()[-500:]}")
        with open(self.out) as file:
            return int(file.read())
