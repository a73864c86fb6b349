#!/usr/bin/env python3
"""docs/commands.md from the help of dynrepl.  commands_page.py DYNREPL PAGE: compares, exit 1 where the page differs;
DYN_UPDATE=1 writes it."""
import difflib
import os
import re
import subprocess
import sys


def say(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def options_of(text):
    """[(option, meaning)] of one command's help; a text that continues on the next line is joined."""
    rows = []
    for line in text.split("\nOptions:\n", 1)[1].split("\n\n", 1)[0].splitlines():
        match = re.match(r" {2}(\S+(?: \S+)*?)(?: {2,}(.*))?$", line)
        if match and not line.startswith("   "):
            rows.append([re.sub(r":[A-Z]+( in \[.*\])?$", "", match[1]), match[2] or ""])
        elif rows:
            rows[-1][1] = (rows[-1][1] + " " + line.strip()).strip()
    return [row for row in rows if not row[0].startswith(("-h,", "--help"))]


def table(rows):
    lines = ["| Option | Meaning |", "|---|---|"]
    for option, meaning in rows:
        lines.append("| `%s` | %s |" % (option.replace("|", "\\|"), meaning.replace("|", "\\|")))
    return lines + [""]


def page(program):
    whole = say(program, "--help")
    common = options_of(whole)
    names = {option for option, _ in common}
    commands = re.findall(r"^ {2}([\w-]+) {2,}(.+)$", whole.split("\nCommands:\n")[1].split("\n\n")[0], re.M)
    lines = [
        "# Commands", "",
        "Generated from `dynrepl --help` and `:help`: `DYN_UPDATE=1 ./dev test docs.commands` writes this page.",
        "`./dev run` builds `dynrepl` and calls it.", "",
        "## Batch: `dynrepl COMMAND`", "", "Options of every command:", "",
    ] + table(common)
    for name, summary in commands:
        text = say(program, name, "--help")
        usage = re.search(r"Usage: dynrepl (.*)", text)[1].strip()
        lines += ["### `dynrepl %s`" % usage, "", summary[0].upper() + summary[1:] + ".", ""]
        own = [row for row in options_of(text) if row[0] not in names]
        if own:
            lines += table(own)
    lines += ["## Shell: `:COMMAND`", "",
              "Also commands of scripts (`dynrepl script FILE`, `dynrepl -e 'CMD; CMD'`) and of the window. A unique prefix of a name is enough.", "",
              "```"]
    for name in re.findall(r"^:(\w+) {2,}", say(program, "-e", ":help all"), re.M):
        lines += say(program, "-e", ":help " + name).rstrip().splitlines()
    return "\n".join(lines + ["```", ""])


def main():
    program, path = sys.argv[1:]
    made = page(program)
    if os.environ.get("DYN_UPDATE"):
        with open(path, "w") as file:
            file.write(made)
        return 0
    with open(path) as file:
        kept = file.read()
    if kept == made:
        return 0
    sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), made.splitlines(True), path, "dynrepl"))
    print("%s differs from the help of dynrepl. Run: DYN_UPDATE=1 ./dev test docs.commands" % path)
    return 1


sys.exit(main())
