#!/usr/bin/env python3
"""docs/reference/options.md from the tables of settings and of common options.  options_page.py DYNREPL ROOT:
compares, exit 1 where the page differs; DYN_UPDATE=1 writes it."""
import pathlib
import re
import subprocess
import sys

from generated_page import answers, escaped, finish, paragraph, sentence, table

# Where the option of the batch tool is spelt otherwise than the setting.
SPELT = {"variants": "variant", "buckets": "bucket", "native-code": "no-native", "graphs": "no-graphs"}
SHELL_ONLY = {"precision", "edge-items", "full"}  # they shape what the shell prints
GROUPS = [("Compilation", "target device passes math padded-results policy variants buckets tuning host-code"),
          ("Running", "threads graphs mem-limit device-mem-limit seed"),
          ("Files", "cache-dir data-root native-code verify-key"), ("Printing", "precision edge-items full")]
HELP_ONLY = {"--help", "--keep-going", "--no-init", "--version", "--help-all", "-e"}


def common_options(program):
    """{option: (spelling with its argument, meaning)} of every command."""
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    rows = []
    for line in text.split("\nOptions:\n", 1)[1].split("\n\n", 1)[0].splitlines():
        match = re.match(r" {2}(-\S+(?: \S+)*?)(?: {2,}(.*))?$", line)
        if match and not line.startswith("   "):
            rows.append([re.sub(r":(?:[A-Z]+(?: in \[.*\])?|\{.*\})$", "", match[1]), match[2] or ""])
        elif rows and line.strip():
            rows[-1][1] = (rows[-1][1] + " " + line.strip()).strip()
    return {re.sub(r"^-\w,", "", spelling).split()[0]: (spelling, meaning) for spelling, meaning in rows}


def told(meaning):
    """A meaning as a sentence, the values that it explains as code: "fp32; bf16: round ..."."""
    return re.sub(r"(^|; )([a-z0-9-]+)(?=: |; |$)", r"\1`\2`", escaped(sentence(meaning)))


def settings(program):
    """{name: (default, meaning)}"""
    text = answers(program, [":set"])[0]
    values = {row["name"]: row["value"] for row in text["settings"]}
    shown = subprocess.run([program, "-e", ":set"], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in shown[1:]:
        name = line.split()[0]
        meaning = re.match(r"\S+ +%s +default  (.*)$" % re.escape(values[name]), line)
        assert meaning, "':set' has a line that is not understood: " + line
        found[name] = (values[name], meaning[1])
    assert found.keys() == values.keys()
    return found


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    known, options = settings(program), common_options(program)
    grouped = [name for _, names in GROUPS for name in names.split()]
    assert sorted(grouped) == sorted(known), "GROUPS and ':set' differ: %s" % sorted(set(grouped) ^ set(known))
    lines = ["# Options", ""] + paragraph(
        "Generated from `:set` and `dynrepl --help`: `DYN_UPDATE=1 ./dev test docs.options` writes this page. An option has one name. "
        "[Commands](../commands.md) have arguments of their own beside these.") + [""]
    lines += table(["Where", "How"], [
        ["shell, scripts, window", "`:set NAME VALUE`; `:set` lists all with their values; `:undo` takes a change back"],
        ["batch", "`dynrepl COMMAND --NAME VALUE`; the column *Batch* has the few that are spelt otherwise"],
        ["C", "`dyn_option {\"NAME\", \"VALUE\"}` in `dyn_model_options`; also `dim` (`seq=1..512`) and `static`"]])
    used = set()
    for title, names in GROUPS:
        lines += ["## " + title, ""]
        rows = []
        for name in names.split():
            default, meaning = known[name]
            option = "--" + SPELT.get(name, name)
            if name in SHELL_ONLY:
                assert option not in options
                batch = "-"
            else:
                used.add(option)
                batch = "`%s`" % re.sub(r" [A-Z]+$", "", options[option][0])
            default = "`~/.cache/dyn`" if name == "cache-dir" else "`%s`" % default
            rows.append(["`%s`" % name, default, batch, told(meaning)])
        lines += table(["Name", "Default", "Batch", "Meaning"], rows)
    lines += ["## Of the batch tool alone", ""] + paragraph(
        "`--place` is `:place` of the shell. The others say how a command prints and when it ends.") + [""]
    lines += table(["Option", "Meaning"], [["`%s`" % spelling, told(meaning)]
                                           for option, (spelling, meaning) in options.items() if option not in used | HELP_ONLY])
    return finish(root / "docs/reference/options.md", lines, "docs.options")


sys.exit(main())
