#!/usr/bin/env python3
"""docs/reference/passes.md from the table of passes.  passes_page.py DYNREPL ROOT: compares, exit 1 where the page
differs; DYN_UPDATE=1 writes it.

Order, summary and options are the fields of each `PassDef` in compiler/passes, as are the properties, which no
command prints. Before and after come from tests/golden/passes. The pipeline is what dynrepl says of a small model."""
import pathlib
import re
import sys

from generated_page import answers, escaped, finish, paragraph, sentence, table

MODEL = "samples/01_any_shape/mlp.dyn"
MOST_LINES, MOST_COLUMNS = 40, 110  # of a golden file that the page shows
FLAGS = {"required": "It cannot be left out.", "onRequest": "Not in every pipeline: an option of the compiler or `+%s` adds it.",
         "makesBuiltins": "It makes calls of hand-written kernels; targets without them leave it out."}
FIELDS = {"name", "summary", "requiredProperties", "providedProperties", "forbiddenProperties", "options", "run"} | set(FLAGS)
STRING = r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*'


def string(text):
    return "".join(part.replace('\\"', '"') for part in re.findall(r'"((?:[^"\\]|\\.)*)"', text))


class Pass:
    def __init__(self, root, name, folder):
        self.name, self.file = name, "compiler/passes/%s/%s.cpp" % (folder, name)
        source = (root / self.file).read_text()
        body = re.search(r"^PassDef %sPass\(\) \{\n  return \{(.*?)\};\n\}" % name, source, re.S | re.M)[1]
        # A brace within a string would end a list early, so strings go first.
        strings = []
        body = re.sub(STRING, lambda s: strings.append(string(s[0])) or "#%d" % (len(strings) - 1), body)
        fields = dict(re.findall(r"\.(\w+)\s*=\s*(\{.*?\}(?=\s*[,}]\s*(?:\.|$))|[^,{}]+)", body + "}", re.S))
        assert set(fields) <= FIELDS and {"name", "summary", "run"} <= set(fields), "%s: fields of PassDef: %s" % (self.file, sorted(fields))
        assert strings[int(fields["name"][1:])] == name
        self.summary = strings[int(fields["summary"].strip()[1:])]
        self.properties = {kind: re.findall(r"Property::(\w+)", fields.get(kind + "Properties", "")) for kind in ("required", "provided", "forbidden")}
        self.flags = [flag for flag in FLAGS if fields.get(flag, "false").strip() == "true"]
        self.options = [(strings[int(a)], strings[int(b)]) for a, b in re.findall(r"\{#(\d+),\s*#(\d+)\}", fields.get("options", ""))]
        array = re.match(r"\{(k\w+), ", fields.get("options", ""))
        if array:
            rows = re.search(r"PassOptionSpec %s\[\] = \{(.*?)\};" % array[1], source, re.S)[1]
            self.options = [(string(a), string(b)) for a, b in re.findall(r"\{(%s),\s*(%s)\}" % (STRING, STRING), rows)]
        assert bool(self.options) == bool(re.sub(r"[\s{}]", "", fields.get("options", ""))), self.file + ": options are not understood"

    def page(self, root, number):
        lines = ["### %d. `%s`" % (number, self.name), "", escaped(sentence(self.summary)), ""]
        told = ["%s: %s." % (word, ", ".join("`%s`" % p for p in self.properties[kind]))
                for word, kind in (("Requires", "required"), ("provides", "provided"), ("forbids", "forbidden")) if self.properties[kind]]
        text = " ".join(part[0].upper() + part[1:] for part in told)
        text += "".join(" " + (FLAGS[flag] % self.name if "%s" in FLAGS[flag] else FLAGS[flag]) for flag in self.flags)
        lines += paragraph(text + " Source: [%s.cpp](../../%s)." % (self.name, self.file)) + [""]
        if self.options:
            lines += table(["Option", "Meaning"], [["`%s`" % name, escaped(doc)] for name, doc in self.options])
        golden = root / "tests/golden/passes" / (self.name + ".dyn.txt")
        if golden.is_file():
            lines += shown(golden.read_text(), golden.relative_to(root), self.name)
        return lines


def shown(text, path, name):
    """Before and after, or a link where that is long."""
    parts = text.split("\n----\n")
    before = [line for line in parts[0].splitlines() if not line.startswith("# ")]
    after = parts[1].strip("\n").splitlines() if len(parts) == 2 else []
    link = "[%s](../../%s)" % (path.name, path)
    if len(parts) != 2 or len(before) + len(after) > MOST_LINES or max(map(len, before + after)) > MOST_COLUMNS:
        return ["Before and after: " + link + ".", ""]
    return ["Before:", "", "```dyn"] + before + ["```", "", "After (%s):" % link, "", "```dyn"] + after + ["```", ""]


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    rows = re.findall(r"^DYN_PASS\((\w+), (\w+)\)", (root / "compiler/passes/passes.def").read_text(), re.M)
    passes = [Pass(root, *row) for row in rows]
    listed = answers(pathlib.Path(program).resolve(), [":load " + MODEL, ":passes"], root)[1]
    ran = [row["name"] for row in listed["passes"] if row["kind"] == "pass"]
    order = [p.name for p in passes if p.name in ran]
    assert ran == order, "dynrepl runs the passes in another order: %s" % ran
    left = [p.name for p in passes if p.name not in ran]
    lines = ["# Passes", ""] + paragraph(
        "Generated from the table of passes: `DYN_UPDATE=1 ./dev test docs.passes` writes this page. A pass is a function from module to "
        "module. The passes run in the order of this page. `:passes` shows what each did to a model, `:diff` and `:step` show how, "
        "`:ir NAME` prints the module after one. `--passes -NAME` leaves a pass out, `--passes +NAME` adds one.") + [""]
    lines += paragraph("A pass requires, provides and forbids *properties* of the module; a list of passes in a wrong order is refused.") + [""]
    lines += table(["Property", "What is true of the module"], properties(root))
    lines += ["The pipeline of a model without options, as `:passes --json` prints it:", "", "```"]
    lines += paragraph(listed["pipeline"].replace(",", ", ")) + ["```", ""]
    lines += paragraph("Not in it: " + ", ".join("`%s`" % name for name in left) + ".") + [""]
    lines += table(["Pass", "Summary", "Folder"], [["[`%s`](#%d-%s)" % (p.name, i, p.name), escaped(p.summary), folder]
                                            for i, (p, (_, folder)) in enumerate(zip(passes, rows), 1)])
    lines += ["## The passes", ""]
    for number, one in enumerate(passes, 1):
        lines += one.page(root, number)
    return finish(root / "docs/reference/passes.md", lines, "docs.passes")


def properties(root):
    body = re.search(r"enum class Property : uint8_t \{\n(.*?)\};", (root / "compiler/pass/properties.h").read_text(), re.S)[1]
    return [["`%s`" % name, sentence(escaped(text))] for name, text in re.findall(r"^  (\w+),\s+// (.*)$", body, re.M)]


sys.exit(main())
