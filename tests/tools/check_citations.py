#!/usr/bin/env python3
"""Files that our sources speak of are there, and hold what is said of them.  check_citations.py ROOT

1. A comment that cites a file of ours cites one that exists.
2. A link of a page (*.md), and a path that it writes as `vm/core/run/interpreter.cpp`, leads somewhere.
3. Below a comment that is a file's name (`// pool_ops.cpp`), each row `DYN_X(name)` of a table is something that file, beside or below the table, has."""
import pathlib
import re
import subprocess
import sys

CITED = re.compile(r"(?<![\w./*{$-])([a-z][\w/]*\.(?:cpp|h|def|inc|sh|py|md))\b(?!\()")
COMMENT = re.compile(r"(?://|^\s*\*|/\*)(.*)")
SECTION = re.compile(r"// (\w+\.cpp)(?:: .*)?$")
ROW = re.compile(r"DYN_\w+\((\w+)\)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:app|cmake|compiler|docs|frontends|samples|tests|ui|vm)/[\w/.]+)`")
OTHERS = {"a.cpp", "a.h", "b.h", "x.h", "unistd.h"}  # of examples, and of the system


def sources(root):
    listed = subprocess.run([root / "tests/tools/list_sources.sh", root], check=True, capture_output=True, text=True).stdout
    tables = [str(path.relative_to(root)) for folder in ("app", "compiler", "frontends", "vm") for ending in ("def", "inc")
              for path in (root / folder).rglob("*." + ending)]
    return sorted(set(listed.split() + tables))


def known_files(root):
    """Each file by all ends of its path, as comments shorten it."""
    files = [str(path.relative_to(root)) for folder in root.iterdir() if folder.name not in ("build", ".git")
             for path in ([folder] if folder.is_file() else folder.rglob("*.*"))]
    return {"/".join(file.split("/")[k:]) for file in files for k in range(file.count("/") + 1)}


def pages(root):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=root, capture_output=True, text=True)
    return [page for page in listed.stdout.split() if (root / page).is_file()]


def lost_ways(root):
    for page in pages(root):
        for number, line in enumerate((root / page).read_text().splitlines(), 1):
            for place in [(root / page).parent / link for link in LINK.findall(line)] + [root / path for path in PATH.findall(line)]:
                if not place.exists():
                    yield "%s:%d leads to %s, which is not there" % (page, number, place.relative_to(root))


def problems(root):
    yield from lost_ways(root)
    known = known_files(root)
    for source in sources(root):
        section = None
        for number, line in enumerate((root / source).read_text(errors="replace").splitlines(), 1):
            place = "%s:%d" % (source, number)
            comment = COMMENT.search(line)
            for cited in CITED.findall(comment[1]) if comment else []:
                if cited not in known and cited not in OTHERS:
                    yield "%s cites %s, which is not there" % (place, cited)
            heading, row = SECTION.match(line), ROW.match(line)
            below = sorted((root / source).parent.rglob(heading[1])) if heading else []
            if below:
                section = below[0]
            elif row and section and not re.search(r"\b(?:map)?%s(?:Op)?\b" % row[1], section.read_text()):
                yield "%s: %s stands below %s, which does not have it" % (place, row[1], section.name)


def main():
    found = list(problems(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) if found else "every file that is cited is there")
    return 1 if found else 0


sys.exit(main())
