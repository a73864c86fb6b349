#!/usr/bin/env python3
"""expressions.py DYNREPL: infix operators, indices and slices of the text language against NumPy, at sizes 0, 1
and primes. The sizes are symbols of the module, so that each expression is compiled once for all of them."""
import pathlib
import subprocess
import sys
import tempfile

import numpy

SIZES = [(n, m) for n in (0, 1, 2, 7, 13) for m in (0, 1, 5)]
# What stands in the module, and in Python where that differs. x, y: reals; i, j: integers, j without zeros.
ALWAYS = [
    "x // y", "x % y", "x // 2.5", "x % 2.5", "x // 0.1", "7.5 // y", "-x // 3", "x % -3.0", "x ** 2", "-x ** 2",
    "2.0 ** x", "i // j", "i % j", "i // 3", "i % 3", "i // -3", "i % -7", "-i // 2", "i ** 2", "2 ** 3 ** 2 + i",
    "i - j % 3 * 2 // 2", "x > y", "i >= j", "i == j", "i != j", "x + 1 < y * 2",
    ("x > 1 and y < 1", "(x > 1) & (y < 1)"), ("x > 1 or not y < 1", "(x > 1) | ~(y < 1)"), ("!(i == j)", "~(i == j)"),
    "x[1:3]", "x[-2:]", "x[:-1]", "x[::2]", "x[::-1]", "x[5:1:-2]", "x[100:]", "x[:, 1:]", "x[:, ::-1]", "x[..., -2:]",
    "x[1:, :-1]", "x[-3:-1, ::3]", "x[: len(x) // 2]", "x[len(x) // 2 :]", "x[:, : k]", "x[k:, k:]", "x[k : k + 2]",
    "x[x > 0.5]", "i[i % 2 == 0]", "x[:1][:, 1:] * 2", ("i64(x)", "x.astype('int64')"), ("cast(i, f32)", "i.astype('float32')"),
    "len(i)", "x[1_0:]",
]
OF_ROWS = ["x[0]", "x[-1]", "x[0, :]", "i[0, ::-1]", "x[0][1:]", "x[-1, 1:]", "x[1:][:, ...] + x[0]", "x[[0, -1]]", "x[[0, 0], :]"]
OF_COLUMNS = ["x[:, 0]", "x[:, -1]", "x[..., 0]", "x[1:, 0]", "x[:, [0, -1]]", "i[:, 0] % 3"]
OF_ELEMENTS = ["x[0, 0]", "x[-1, -1]", "x[0][0]", "x[len(x) - 1, 0]", "x[k, 0]", "x[..., 0][0]"]


def module(expressions):
    lines = ["fn @main(x: Tensor[(n, m), f32], y: Tensor[(n, m), f32], i: Tensor[(n, m), i64], j: Tensor[(n, m), i64], k: Tensor[(), i64]) {"]
    lines += ["  out%d = %s" % (at, dyn) for at, (dyn, _) in enumerate(expressions)]
    return "\n".join(lines + ["  return " + ", ".join("out%d" % at for at in range(len(expressions))), "}", ""])


def arguments(n, m):
    source = numpy.random.default_rng(17 * n + m)
    x, y = (source.normal(scale=4, size=(n, m)).astype("float32") for _ in range(2))
    i, j = (source.integers(-20, 20, size=(n, m)) for _ in range(2))
    x[::3] = numpy.round(x[::3])  # whole quotients, and remainders of 0
    y[::2] = numpy.round(y[::2] * 2) / 2
    return {"x": x, "y": y, "i": i, "j": numpy.where(j == 0, 3, j), "k": numpy.int64(0)}


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    faults, checks = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for group, expressions, fits in (("always", ALWAYS, lambda n, m: True), ("rows", OF_ROWS, lambda n, m: n > 0),
                                         ("columns", OF_COLUMNS, lambda n, m: m > 0),
                                         ("elements", OF_ELEMENTS, lambda n, m: n > 0 and m > 0)):
            pairs = [e if isinstance(e, tuple) else (e, e) for e in expressions]
            (folder / (group + ".dyn")).write_text(module(pairs))
            script = [":load %s.dyn" % group]
            sizes = [(n, m) for n, m in SIZES if fits(n, m)]
            for n, m in sizes:
                run = folder / ("%s_%d_%d" % (group, n, m))
                run.mkdir()
                for key, value in arguments(n, m).items():
                    numpy.save(run / (key + ".npy"), value)
                script.append(":run --output-dir %s --dim n=%d --dim m=%d " % (run, n, m) +
                              " ".join("--input %s=@%s/%s.npy" % (key, run, key) for key in "xyijk"))
            (folder / "s.dyns").write_text("\n".join(script) + "\n")
            done = subprocess.run([program, "script", "s.dyns"], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stdout[-2000:] + done.stderr)
            for n, m in sizes:
                values = arguments(n, m)
                for at, (dyn, python) in enumerate(pairs):
                    with numpy.errstate(all="ignore"):
                        wanted = eval(python, {}, dict(values))  # the expressions above
                    found = numpy.load(folder / ("%s_%d_%d" % (group, n, m)) / ("out%d.npy" % at))
                    checks += 1
                    same = found.shape == numpy.shape(wanted) and (
                        numpy.array_equal(found, wanted, equal_nan=True) if found.dtype.kind != "f" or "**" not in dyn
                        else numpy.allclose(found, wanted, rtol=1e-5, equal_nan=True))
                    if not same:
                        faults.append("%s at n=%d m=%d: %s, expected %s" % (dyn, n, m, found, wanted))
    for fault in faults[:20]:
        print(fault)
    print("%d of %d values as NumPy has them" % (checks - len(faults), checks))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
