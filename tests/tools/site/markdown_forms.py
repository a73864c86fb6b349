"""Markdown as GitHub reads it, for Python-Markdown, which makes the site: links, anchors, lists, tables."""
import re

import check_pages

ITEM = re.compile(r"( *)([-*]|\d+\.) +")


def masked(text):
    """The text with code replaced by as many x."""
    lines = ["x" * len(line) if block else line for _, line, block in check_pages.prose(text)]
    return re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", "x", code[0]), "\n".join(lines))


def links(text):
    """[(begin, end, target)] of all links outside of code, in the order of the text."""
    found = []
    for link in check_pages.LINK.finditer(masked(text)):
        found.append((link.start(2), link.end(2), link[2]))
        for inner in check_pages.LINK.finditer(link[1]):
            found.append((link.start(1) + inner.start(2), link.start(1) + inner.end(2), inner[2]))
    return sorted(found)


def with_links(text, followed):
    for begin, end, target in reversed(links(text)):
        text = text[:begin] + followed(target) + text[end:]
    return text


def anchor(title, separator):
    """As GitHub names a heading (check_pages.anchors)."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", separator)


def as_python_markdown(text):
    """Lists and tables may follow a paragraph without a blank line; each depth of lists is indented by 4; `\\|` in code of a cell is `|`."""
    lines, above = [], ""
    inside = []  # of the open list items, outer first: the column where the text of each begins
    own_paragraph = False  # the lines above belong to an item, but stand behind a blank line
    for _, line, block in check_pages.prose(text):
        indent = len(line) - len(line.lstrip())
        item = None if block else ITEM.match(line)
        if item and above and not inside and item[2] not in ("-", "*", "1."):
            item = None  # a sentence that goes on: "exit code" / "4. A package ..."
        if item:
            if above and (own_paragraph or not inside):
                lines.append("")
            while inside and len(item[1]) < inside[-1]:
                inside.pop()
            line, own_paragraph = "    " * len(inside) + line.lstrip(), False
            inside.append(len(item[0]))
        elif inside and line.strip():
            if not above and not block:
                while inside and indent < inside[-1]:
                    inside.pop()
                own_paragraph = True
            if inside:
                line = "    " * len(inside) + line[min(indent, inside[-1]):]
        if line.startswith("|") and not block:
            if above and not above.startswith("|"):
                lines.append("")
            line = re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), line)
        lines.append(line)
        above = line.strip()
    return "\n".join(lines) + "\n"
