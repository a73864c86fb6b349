#!/usr/bin/env python3
"""No line of a C++ source is wider than 110 columns.  check_width.py ROOT

clang-format breaks code there, but leaves comments. Longer may be what has its meaning on one line: an example or a row of a table in a
comment (three or more spaces after its mark), and programs in raw strings. Tables (*.def) are not looked at."""
import pathlib
import re
import subprocess
import sys

COLUMNS = 110
RAW = re.compile(r'R"([^()\\ ]{0,16})\(')
EXAMPLE = re.compile(r"\s*(//|\*|/\*) {3,}\S")


def sources(root):
    listed = subprocess.run([root / "tests/tools/list_sources.sh", root], check=True, capture_output=True, text=True).stdout.split()
    parts = [str(path.relative_to(root)) for folder in ("app", "compiler", "frontends", "vm") for path in (root / folder).rglob("*.inc")]
    return sorted(set(listed + parts))


def too_wide(text):
    """Numbers of the lines that are."""
    end = None  # of the raw string that is open
    for number, line in enumerate(text.splitlines(), 1):
        is_text, rest = end is not None, line
        while rest:
            if end is None:
                begun = RAW.search(rest)
                if not begun:
                    break
                end, rest, is_text = ")" + begun[1] + '"', rest[begun.end():], True
            _, closed, rest = rest.partition(end)
            if not closed:
                break
            end = None
        if len(line) > COLUMNS and not is_text and not EXAMPLE.match(line):
            yield number


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = ["%s:%d" % (source, number) for source in sources(root) for number in too_wide((root / source).read_text(errors="replace"))]
    if not found:
        return 0
    print("\n".join(found))
    print("these lines are wider than %d columns: ./dev format breaks code, comments are broken by hand (docs/style.md)" % COLUMNS)
    return 1


if __name__ == "__main__":
    sys.exit(main())
