"""In an environment with the wheel alone: a model compiles and runs, and each library that the wheel should have comes from it."""
import pathlib
import sys

import numpy as np

import dyn

x = np.ones((2, 5), np.int64)
model = dyn.load(sys.argv[1], cache_dir="none")
assert model(x, x).last_hidden_state.shape == (2, 5, 32)
place = pathlib.Path(dyn.__file__).parent
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for name in ("libdyn", "libLLVM"):
    found = [path for path in loaded if name in pathlib.Path(path).name]
    assert found and all(pathlib.Path(path).is_relative_to(place.parent) for path in found), (name, found)
assert (place / "py.typed").is_file()
model.save("bert.dynpkg")
assert dyn.load("bert.dynpkg")(x, x)[0].shape == (2, 5, 32)
print("the wheel runs:", place)
