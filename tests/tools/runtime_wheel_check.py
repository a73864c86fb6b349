"""In an environment with the wheel of dyn_runtime and NumPy alone: packages run, their library comes from the wheel, and what needs a
compiler says so: runtime_wheel_check.py DOUBLE.dynpkg BERT.dynpkg MODEL.onnx"""
import pathlib
import sys

import numpy as np

import dyn_runtime as dyn

double = dyn.load(sys.argv[1])
for count in (0, 1, 1000):
    x = np.arange(count, dtype=np.float32)
    np.testing.assert_array_equal(double(x).y, x + x)
bert = dyn.load(pathlib.Path(sys.argv[2]).read_bytes(), threads=1)
for batch, seq in ((1, 7), (3, 59), (8, 128)):
    ids = np.ones((batch, seq), np.int64)
    y = bert(input_ids=ids, attention_mask=ids)
    assert y.last_hidden_state.shape == (batch, seq, 32) and np.isfinite(y[0]).all()
place = pathlib.Path(dyn.__file__).parent
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
found = [path for path in loaded if "libdynvm" in pathlib.Path(path).name]
assert found and all(pathlib.Path(path).is_relative_to(place.parent) for path in found), found
assert not any("libLLVM" in path for path in loaded)
assert (place / "py.typed").is_file()
try:
    dyn.load(sys.argv[3])
    raise SystemExit("it compiled an ONNX file")
except dyn.Unsupported as fault:
    assert "without a compiler" in str(fault), fault
print("the wheel runs:", place)
