"""What the generators of docs/reference share: asking dynrepl, writing Markdown, comparing or writing a page."""
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

COLUMNS = 110


def answers(program, commands, folder=None):
    """The JSON answer to each command of one run of the shell in a folder."""
    told = subprocess.run([program, "--json"] + [word for c in commands for word in ("-e", c)], check=True, capture_output=True,
                          text=True, cwd=folder)
    results = json.loads(told.stdout)["results"]
    assert len(results) == len(commands), "%d answers to %d commands" % (len(results), len(commands))
    return results


def sentence(text):
    """A summary of a table as a sentence: with a full stop, and with a capital letter unless it begins with a formula."""
    text = text.strip() if text.rstrip().endswith(("..", ". ", ".")) else text.strip() + "."
    return text[0].upper() + text[1:] if re.match(r"(a (?!and |to )[a-z]{2,}|[a-z]{2,} [A-Za-z(])", text) else text


def escaped(text):
    """Plain text as Markdown. Code in `...` stays as it is."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"[\\*<\[]|(?<!\w)_|_(?!\w)", lambda mark: "\\" + mark[0], parts[i])
    return "`".join(parts)


def paragraph(text, indent=""):
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows] + [""]


def finish(path, lines, test):
    """Compares the page with the lines, or writes it where DYN_UPDATE is set. The exit code."""
    path, made = pathlib.Path(path), "\n".join(lines).rstrip("\n") + "\n"
    if os.environ.get("DYN_UPDATE"):
        path.write_text(made)
        return 0
    kept = path.read_text() if path.is_file() else ""
    if kept == made:
        return 0
    sys.stdout.writelines(difflib.unified_diff(kept.splitlines(True), made.splitlines(True), str(path), "the tables"))
    print("%s differs from the tables that it is made from. Run: DYN_UPDATE=1 ./dev test %s" % (path, test))
    return 1
