#!/usr/bin/env python3
"""Former words are gone from what a user meets.  check_words.py ROOT [WORDS]

WORDS (words.txt beside this file) lists patterns and the field's words. Refused are the patterns in public headers, in help texts (strings of
the sources in HELP), in messages (strings with a blank, in all sources of MESSAGES) and in pages, but for docs/glossary.md, which explains
them. The table itself is checked, too: each pattern matches its example, and each of the field's words stands in the glossary."""
import pathlib
import re
import sys

TEXTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "samples/README.md", "vm/README.md", "docs/*.md", "docs/*/*.md", "docs/man/*", "vm/include/*")
GLOSSARY = "docs/glossary.md"
# Of these only strings. A name behind a bar ("--host-code | --flow") is a former one.
HELP = ("app/session/command_line.def", "app/batch/arguments.cpp", "app/runner/arguments.cpp", "app/session/commands.def",
        "app/session/option_table.cpp", "app/session/handlers/handlers_values.cpp", "compiler/support/diagnostics.def")
MESSAGES = ("vm", "compiler", "frontends", "app", "ui", "python/src")
SOURCES = {".h", ".cpp", ".c", ".def"}
FORMER = re.compile(r" \| -[\w-]+$")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def table(path):
    """[(pattern, the field's word, example)]"""
    rows = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, word, example = line.split("\t")
            gap = pattern.replace(" ", r"(?:\s|\*|//)+")
            rows.append((re.compile(r"(?<!\w)(?:%s)(?![\w-])" % gap, re.I), word, example))
    return rows


def faults_of_table(rows, glossary):
    words = {cell.strip() for line in glossary.splitlines() if line.startswith("|") for cell in line.split("|")[1:2]}
    words |= {re.sub(r" \(.*\)", "", word) for word in words}
    for pattern, word, example in rows:
        if not pattern.search(example):
            yield "words.txt: the pattern for %s does not match its example '%s'" % (word, example)
        if not word.startswith("(") and word not in words:
            yield "words.txt: %s does not have '%s' in a first column" % (GLOSSARY, word)


def help_of(text, words=False):
    """The text with everything but strings blanked, line by line. words: strings with a blank alone, no names."""
    lines = []
    for line in text.splitlines():
        strings = [] if line.lstrip().startswith("//") else [FORMER.sub("", text) for text in STRING.findall(line)]
        lines.append(" ; ".join(text for text in strings if not words or " " in text.strip()))
    return "\n".join(lines)


def found_in(name, text, rows):
    for pattern, word, _ in rows:
        for match in pattern.finditer(text):
            yield "%s:%d: '%s': %s" % (name, text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), word)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    rows = table(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).with_name("words.txt"))
    found = list(faults_of_table(rows, (root / GLOSSARY).read_text()))
    texts = sorted({path for pattern in TEXTS for path in root.glob(pattern) if path.is_file()} - {root / GLOSSARY})
    for path in texts:
        found += found_in(path.relative_to(root), path.read_text(), rows)
    for name in HELP:
        found += found_in(name, help_of((root / name).read_text()), rows)
    messages = sorted(path for top in MESSAGES for path in (root / top).rglob("*") if path.suffix in SOURCES)
    for path in messages:
        if str(path.relative_to(root)) not in HELP:
            found += found_in(path.relative_to(root), help_of(path.read_text(), True), rows)
    if len(texts) < 2:
        found.append("no pages and headers below %s" % root)
    if not found:
        print("%d words, %d files" % (len(rows), len(texts) + len(HELP) + len(messages)))
        return 0
    print("\n".join(found))
    print("these are former words; the field's word stands behind each (%s)" % GLOSSARY)
    return 1


if __name__ == "__main__":
    sys.exit(main())
