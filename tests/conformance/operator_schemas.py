#!/usr/bin/env python3
"""The table of ONNX's operators (frontends/onnx/import/operator_schemas.def) beside the standard's own list.

    operator_schemas.py check --table FILE      exit 1 where they differ; needs the package onnx
    operator_schemas.py rows  --newest 27       the rows, for a new operator set
"""
import argparse
import re
import sys

DOMAINS = ["", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"]
LETTERS = {"FLOAT": "r", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "R", "INTS": "I", "STRINGS": "S",
           "TENSORS": "T", "GRAPHS": "G", "TYPE_PROTO": "y", "SPARSE_TENSOR": "p"}
MANY = 1 << 30


def count(number):
    return -1 if number > MANY else number


def row(schema):
    if schema.deprecated:
        return f'ONNX_DEPRECATED("{schema.domain}", "{schema.name}", {schema.since_version})'
    attributes = " ".join(f"{name}:{LETTERS[a.type.name]}{'!' if a.required else ''}"
                          for name, a in sorted(schema.attributes.items()))
    counts = ", ".join(str(count(n)) for n in (schema.min_input, schema.max_input, schema.min_output, schema.max_output))
    return f'ONNX_OPERATOR("{schema.domain}", "{schema.name}", {schema.since_version}, {counts}, "{attributes}")'


def rows(newest):
    """Versions that differ from the one before in nothing that the table says are left out."""
    from onnx import defs
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain in DOMAINS and (s.domain or s.since_version <= newest)]
    schemas.sort(key=lambda s: (s.domain, s.name, s.since_version))
    result, before = [], None
    for schema in schemas:
        text = row(schema)
        shape = re.sub(r'", \d+', '",', text, count=1)
        if shape != before:
            result.append(text)
        before = shape
    return result


def check(path):
    source = open(path).read()
    newest = int(re.search(r"operator set (\d+)", source).group(1))
    wanted = rows(newest)
    found = [re.sub(r'"\s+"', "", re.sub(r"\s+", " ", line)) for line in
             re.findall(r'^ONNX_(?:OPERATOR|DEPRECATED)\(".*?\)$', source, re.S | re.M)]
    for line in sorted(set(wanted) ^ set(found)):
        print(("missing: " if line in wanted else "not in the standard: ") + line)
    print(f"{len(found)} rows")
    return 0 if wanted == found else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["check", "rows"])
    parser.add_argument("--table")
    parser.add_argument("--newest", type=int, default=27)
    options = parser.parse_args()
    if options.what == "check":
        return check(options.table)
    print("\n".join(rows(options.newest)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
