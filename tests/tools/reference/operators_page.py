#!/usr/bin/env python3
"""docs/reference/operators.md from the table of operators.  operators_page.py DYNREPL ROOT: compares, exit 1 where
the page differs; DYN_UPDATE=1 writes it."""
import collections
import pathlib
import re
import sys

import onnx_tables
from example_lines import example_lines
from generated_page import answers, escaped, finish, paragraph, sentence, table

KINDS = "integer|real|string|integers|reals|strings|dtype|dims|tensor|type"  # toString(AttributeKind)
ATTRIBUTE = re.compile(r"  (\w+): (%s)(, required)?(?:; (.*?))?(?: \(([^()]*(?:\([^()]*\)[^()]*)*)\))?$" % KINDS)
TITLES = {"contraction": "Products and convolutions", "control": "Control flow and values", "elementwise": "Element by element", "image": "Images",
          "index": "Indices, sorting and trees", "reduce": "Reductions and normalisation", "shape": "Shapes and data movement", "text": "Text"}
MADE_BY_PASSES = "Made by passes"  # memory, and what ops.def does not list


def described(doc):
    """What stands below the summary: a signature as code, and what follows it."""
    parts = re.split(r"(; |\. (?=[A-Z])|(?<!\.)\.$)", doc, maxsplit=1)
    if "->" not in parts[0] or "`" in parts[0] or len(parts[0]) > 100:
        return escaped(sentence(doc))
    more = sentence("".join(parts[2:])) if parts[2:] and parts[2] else ""
    return "`%s`%s" % (parts[0], (". " if more[0].isupper() else "; ") + escaped(more) if more else ".")


class Operator:
    def __init__(self, text):
        head, *lines = text.rstrip("\n").split("\n")
        self.name, self.summary = head.split(": ", 1)
        self.doc = self.kernel = self.note = ""
        self.attributes, self.operands, self.example = [], [], []
        while lines:
            line = lines.pop(0)
            if line.startswith("  example: "):
                self.example = [line[len("  example: "):]]
                while lines and not lines[0].startswith("  compiled: "):
                    self.example.append(lines.pop(0))
            elif line.startswith("  compiled: "):
                self.note = line[len("  compiled: "):]
            elif line.startswith("  hand-written kernel: "):
                self.kernel = line.split(": ")[1].split(" ")[0]
            elif ATTRIBUTE.match(line):
                self.attributes.append(ATTRIBUTE.match(line).groups())
            elif re.match(r"  elements of operand \d+: ", line):
                self.operands.append(re.match(r"  elements of operand (\d+): (.*)", line).groups())
            else:
                assert not self.doc, "':ops %s' has a line that is not understood: %s" % (self.name, line)
                self.doc = line.strip()

    def page(self, onnx):
        lines = ["### `%s`" % self.name, ""] + paragraph(escaped(sentence(self.summary))) + [""]
        if self.doc:
            lines += paragraph(described(self.doc)) + [""]
        rows = [["`%s`" % name, kind + (required or ""), escaped(doc or ""), escaped(allowed or "")]
                for name, kind, required, doc, allowed in self.attributes]
        if rows:
            lines += table(["Attribute", "Kind", "Meaning", "Legal values"], rows)
        if self.operands:
            lines += table(["Operand", "Its elements"], [[number, escaped(rule)] for number, rule in self.operands])
        if self.note:
            lines += paragraph("Compiled: " + escaped(sentence(self.note))) + [""]
        facts = ["hand-written kernel `%s`" % self.kernel] if self.kernel else []
        if onnx:
            facts.append("ONNX " + ", ".join("`%s`" % (row.domain + "." + row.name if row.domain else row.name) for row in onnx))
        if facts:
            text = "; ".join(facts)
            lines += paragraph(text[0].upper() + text[1:] + ".") + [""]
        return lines + ["```dyn"] + example_lines("\n".join(self.example)) + ["```", ""]


def families(root, names):
    """{title: [operator]} in the order of ops.def: the folder of the file that stands above an operator there."""
    folders = {path.name: path.parent.name for path in (root / "compiler/ops").rglob("*.cpp")}
    found, title = collections.OrderedDict(), ""
    for comment, name in re.findall(r"^// (\w+\.cpp)|^DYN_OP\((\w+)\)", (root / "compiler/ops/ops.def").read_text(), re.M):
        if comment:
            title = MADE_BY_PASSES if comment == "memory_ops.cpp" else TITLES[folders[comment]]
        else:
            found.setdefault(title, []).append(name)
    listed = sum(found.values(), [])
    assert set(listed) <= set(names), "ops.def and ':ops' differ"
    found[MADE_BY_PASSES] += [name for name in names if name not in listed]
    found.move_to_end(MADE_BY_PASSES)
    return found


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    listed = answers(program, [":ops"])[0]["text"]
    names = [line.split()[0] for line in listed.splitlines()]
    operators = {name: Operator(answer["text"]) for name, answer in zip(names, answers(program, [":ops " + name for name in names]))}
    onnx = collections.defaultdict(list)
    for row in onnx_tables.mapped(root):
        onnx[row.target].append(row)
    groups = families(root, names)
    lines = ["# Operators", ""] + paragraph(
        "Generated from the table of operators, which `:ops` and `:ops NAME` print too: `DYN_UPDATE=1 ./dev test docs.operators` writes this "
        "page. A test runs each example. The signature gives operands and results: `[m, k] x [k, n] -> [m, n]`; `...` stands for any number of "
        "axes or values. [The text language](../language.md) explains the examples, [ONNX operators](onnx.md) how ONNX models map to these "
        "%d operators." % len(names)) + [""]
    for title, members in groups.items():
        lines += paragraph("- [%s](#%s): " % (title, re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")) +
                           ", ".join("[%s](#%s)" % (name, name) for name in members), "  ")
    for title, members in groups.items():
        lines += ["", "## " + title, ""]
        for name in members:
            lines += operators[name].page(onnx[name])
        lines.pop()
    return finish(root / "docs/reference/operators.md", lines, "docs.operators")


sys.exit(main())
