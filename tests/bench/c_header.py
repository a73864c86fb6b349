"""Structures of a C header as ctypes has them, read from the header itself: a field that is added there is here, too.

  structure("dyn_options")                # of vm/include/dynvm.h
  python3 c_header.py walk CC             # every structure as large as the C compiler says"""
import ctypes as c
import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = pathlib.Path(__file__).resolve().parents[2] / "vm/include/dynvm.h"
TYPES = {"int32_t": c.c_int32, "uint32_t": c.c_uint32, "int64_t": c.c_int64, "uint64_t": c.c_uint64, "size_t": c.c_size_t, "double": c.c_double}


def fields(body):
    """[(name, ctypes type)] of what stands between the braces of a structure."""
    found = []
    for declaration in re.sub(r"/\*.*?\*/", " ", body, flags=re.S).split(";"):
        declaration = " ".join(declaration.split())
        if not declaration:
            continue
        pointer = re.match(r".*?\(\*(\w+)\)\(.*\)$", declaration) or re.match(r".*\*\s*(\w+)$", declaration)
        if pointer:
            text = re.match(r"const char\* \w+$", declaration)
            found.append((pointer[1], c.c_char_p if text else c.c_void_p))
            continue
        kind, names = declaration.split(" ", 1)
        found += [(name.strip(), TYPES[kind]) for name in names.split(",")]
    return found


def structure(name, header=HEADER):
    body = re.search(r"typedef struct " + name + r" \{(.*?)\n\} " + name + ";", header.read_text(), re.S)
    if not body:
        raise KeyError(f"{header} has no structure {name}")
    return type(name, (c.Structure,), {"_fields_": fields(body[1])})


def walk(compiler):
    names = ["dyn_options", "dyn_statistics", "dyn_contract_dim"]
    lines = "".join(f'printf("%zu\\n", sizeof({name}));' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "sizes.c", pathlib.Path(folder) / "sizes"
        source.write_text(f'#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{ {lines} return 0; }}\n')
        subprocess.run([compiler, "-I", str(HEADER.parents[2]), str(source), "-o", str(program)], check=True)
        sizes = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split()
    wrong = [f"{name}: {c.sizeof(structure(name))} bytes here, {size} in C" for name, size in zip(names, sizes) if c.sizeof(structure(name)) != int(size)]
    print("\n".join(wrong) or f"{len(names)} structures are as in C")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(walk(sys.argv[2]))
