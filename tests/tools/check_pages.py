#!/usr/bin/env python3
"""Pages that a reader can use.  check_pages.py ROOT

Links: each link to a file of the repository, in every page, leads to one that is there, and to a heading that it
has. Pages below docs/ are linked in docs/index.md. Width: README.md has at most 105 lines, no line above 120
columns and no cell of a table above 80; lines of the pages below docs/ end at 110 columns. Longer may be a row
of a table, a line without a blank to break at, and pages that are generated (GENERATED). Outside of blocks no
line ends in ' ...': there it is the rest of a line that a tool has cut."""
import pathlib
import re
import subprocess
import sys

LINES, COLUMNS, CELL, PAGE_COLUMNS = 105, 120, 80, 110
GENERATED = {"docs/commands.md"}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\(([^()\s]+(?:\([^()\s]*\))?)\)")


def pages(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return sorted(name for name in set(listed.stdout.split("\n")) if name and (root / name).is_file())
    return sorted(str(p.relative_to(root)) for p in root.rglob("*.md") if "build" not in p.relative_to(root).parts)


def prose(text):
    """[(number, line, whether it is of a block)]"""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        yield number, line, inside or fence
        inside ^= fence


def anchors(text):
    """Those that GitHub makes of the headings."""
    found = {}
    for _, line, block in prose(text):
        if block or not re.match(r"#{1,6} ", line):
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
        name = re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        if count:
            found["%s-%d" % (name, count)] = 1
    return set(found)


def links(text):
    """[(number of the line, target)]; a label may go on in the next line."""
    shown = "\n".join("" if block else line for _, line, block in prose(text))
    shown = re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", "x", code[0]), shown)
    for link in LINK.finditer(shown):
        number = shown.count("\n", 0, link.start()) + 1
        yield number, link[2]
        for inner in LINK.finditer(link[1]):
            yield number, inner[2]


def broken(root, names):
    texts = {name: (root / name).read_text() for name in names}
    for name, text in texts.items():
        for number, target in links(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (root / name).parent / path if path else root / name
            if not file.exists():
                yield "%s:%d: there is no file %s" % (name, number, path)
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
                yield "%s:%d: %s has no heading #%s" % (name, number, path or "this page", anchor)


def unlinked(root, names):
    index = root / "docs/index.md"
    if not index.is_file():
        return
    linked = {((index.parent / target.partition("#")[0]).resolve()) for _, target in links(index.read_text())}
    for name in names:
        if name.startswith("docs/") and name != "docs/index.md" and (root / name).resolve() not in linked:
            yield "docs/index.md: it has no link to %s" % name


def cells(line):
    """The text of each, links by their label alone."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line.strip().strip("|"))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", shown)]


def cut(root, names):
    for name in names:
        for number, line, block in prose((root / name).read_text()):
            if not block and line.endswith(" ..."):
                yield "%s:%d: the end of the line is cut" % (name, number)


def too_wide(root, names):
    for name in names:
        text = (root / name).read_text()
        if name == "README.md":
            if len(text.splitlines()) > LINES:
                yield "README.md: it has %d lines, more than %d" % (len(text.splitlines()), LINES)
            for number, line, block in prose(text):
                table = line.startswith("|") and not block
                if table and any(len(cell) > CELL for cell in cells(line)):
                    yield "README.md:%d: a cell is wider than %d columns" % (number, CELL)
                if len(line) > COLUMNS and not table and " " in re.sub(r"!\[[^\]]*\]\([^)]*\)", "", line):
                    yield "README.md:%d: wider than %d columns" % (number, COLUMNS)
        elif name.startswith("docs/") and name not in GENERATED:
            for number, line, block in prose(text):
                breaks = " " in re.sub(r"`[^`]*`|!?\[[^\]]*\]\([^)]*\)|^ *(- |#+ )", "", line).strip()
                if len(line) > PAGE_COLUMNS and (block or (breaks and not line.startswith("|"))):
                    yield "%s:%d: wider than %d columns" % (name, number, PAGE_COLUMNS)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    names = pages(root)
    if not names:
        print("there are no pages below %s" % root)
        return 1
    found = list(broken(root, names)) + list(unlinked(root, names)) + list(cut(root, names)) + list(too_wide(root, names))
    print("\n".join(found) if found else "%d pages" % len(names))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
