#!/usr/bin/env python3
"""docs/reference/options.md from the tables of settings and of common options.  options_page.py DYNREPL ROOT:
compares, exit 1 where the page differs; DYN_UPDATE=1 writes it."""
import pathlib
import re
import subprocess
import sys

from generated_page import answers, escaped, finish, paragraph, sentence, table

def common_options(program):
    """[(spelling with its argument, meaning)] of the options of every command."""
    text = subprocess.run([program, "run", "--help"], check=True, capture_output=True, text=True).stdout
    rows = []
    for line in text.split("\nOptions of every command:\n", 1)[1].split("\n\n", 1)[0].splitlines():
        match = re.match(r" {2}(-\S+(?: \S+)*?)(?: {2,}(.*))?$", line)
        if match and not line.startswith("   "):
            rows.append([re.sub(r":(?:[A-Z]+(?: in \[.*\])?|\{.*\})$", "", match[1]), match[2] or ""])
        elif rows and line.strip():
            rows[-1][1] = (rows[-1][1] + " " + line.strip()).strip()
    return rows


def told(meaning):
    """A meaning as a sentence, the values that it explains as code: "fp32; bf16: round ..."."""
    return re.sub(r"(^|; )([a-z0-9-]+)(?=: |; |$)", r"\1`\2`", escaped(sentence(meaning)))


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    settings = answers(program, [":set"])[0]["settings"]
    lines = ["# Options", ""] + paragraph(
        "Generated from `:set` and `dynrepl --help`: `DYN_UPDATE=1 ./dev test docs.options` writes this page. An option has one name. "
        "[Commands](../commands.md) have arguments of their own beside these.") + [""]
    lines += table(["Where", "How"], [
        ["shell, scripts, window", "`:set NAME VALUE`; `:set` lists all with their values; `:undo` takes a change back"],
        ["batch", "`dynrepl COMMAND --NAME VALUE`; the column *Batch* has the few that are spelt otherwise"],
        ["C", "`dyn_option {\"NAME\", \"VALUE\"}` in `dyn_model_options`; also `dim` (`seq=1..512`) and `static`"]])
    for section in dict.fromkeys(row["section"] for row in settings):
        lines += ["## " + section.capitalize(), ""]
        lines += table(["Name", "Default", "Batch", "Meaning"],
                       [["`%s`" % row["name"], "`~/.cache/dyn`" if row["name"] == "cache-dir" else "`%s`" % row["value"],
                         "`%s`" % row["option"] if row["option"] else "-", told(row["help"])]
                        for row in settings if row["section"] == section])
    lines += ["## Of the batch tool alone", ""] + paragraph(
        "`--place` is `:place` of the shell. The others say how a command prints and when it ends.") + [""]
    of_sessions = {row["option"] for row in settings}
    lines += table(["Option", "Meaning"], [["`%s`" % spelling, told(meaning)] for spelling, meaning in common_options(program)
                                           if re.sub(r"^-\w,", "", spelling).split()[0] not in of_sessions])
    return finish(root / "docs/reference/options.md", lines, "docs.options")


sys.exit(main())
