#!/usr/bin/env python3
"""docs/reference/onnx.md from the tables of the ONNX reader.  onnx_page.py ROOT: compares, exit 1 where the page
differs; DYN_UPDATE=1 writes it."""
import pathlib
import re
import sys

import onnx_tables
from generated_page import finish, paragraph, table

TITLES = {"": "ai.onnx", "ai.onnx.ml": "ai.onnx.ml", "ai.onnx.preview": "ai.onnx.preview", "ai.onnx.preview.training": "ai.onnx.preview.training",
          "com.microsoft": "com.microsoft"}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    read, bodies, versions = onnx_tables.mapped(root), onnx_tables.control(root), onnx_tables.versions(root)
    rows = {(row.domain, row.name): row for row in read + bodies}
    text = (root / onnx_tables.SCHEMAS).read_text()
    newest = re.search(r"up to operator set (\d+)", text)[1]
    lines = ["# ONNX operators", ""] + paragraph(
        "Generated from the tables of the ONNX reader: `DYN_UPDATE=1 ./dev test docs.onnx` writes this page. It lists each operator that "
        "Dyn reads: the operator sets in which its definition changed, and the [operator](operators.md) of the same meaning. "
        "*Several* means that the reader writes the node as several operators; *bodies* that it holds graphs, which become bodies of "
        "`if` and `loop`. Operator sets 1 to %s are known." % newest) + [""] + paragraph(
        "`dynrepl inspect MODEL --check` names everything in a model that cannot be read. `:ir import` shows the operators "
        "that a model became. [Operators that are not there](operators-not-there.md) gives the reasons for the others.") + [""]
    for domain in sorted({row.domain for row in rows.values()}):
        lines += ["## `%s`" % TITLES[domain], ""]
        table_rows = []
        for key in sorted(key for key in rows if key[0] == domain):
            row = rows[key]
            target = "[%s](operators.md#%s)" % (row.target, row.target) if row.target else "bodies" if row in bodies else "several"
            table_rows.append(["`%s`" % row.name] + ([", ".join(map(str, versions[key])) or "of older models"] if domain != "com.microsoft" else []) + [target])
        lines += table(["Operator"] + (["Operator sets"] if domain != "com.microsoft" else []) + ["Becomes"], table_rows)
        missing = sorted(name for d, name in versions if d == domain and (d, name) not in rows)
        if missing:
            lines += paragraph("Not read: " + ", ".join("`%s`" % name for name in missing) + ".") + [""]
    return finish(root / "docs/reference/onnx.md", lines, "docs.onnx")


sys.exit(main())
