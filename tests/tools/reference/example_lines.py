"""A program of the text language with a statement on each line, for the pages of the reference."""
import re
import textwrap

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\s+|%\w+(?:, *%\w+)* = |[{}()\[\]]|\w+|[^\s\w{}()\[\]"%]+|%', re.S)


def example_lines(text):
    """The lines; code may only differ from the text in white space."""
    lines, line, inner = [], "", []  # inner: the open brackets; "block" for those of bodies
    tokens = TOKEN.findall(text)

    def flush():
        nonlocal line
        if line.strip():
            lines.append(("  " * depth, line.strip()))
        line = ""

    depth = 0
    for i, token in enumerate(tokens):
        after = tokens[i + 1] if i + 1 < len(tokens) else " "
        in_block = not inner or inner[-1] == "block"
        if token == "{" and after.isspace() and not line.lstrip().startswith("type "):
            line += token
            flush()
            inner.append("block")
            depth += 1
        elif token == "}" and inner and inner[-1] == "block":
            flush()
            inner.pop()
            depth -= 1
            line = "}"
        elif token.isspace():
            ends = "\n" in token and not line.rstrip().endswith((",", "}")) and not after.startswith(("else", "case"))
            starts = re.match(r"%\w+(?:, *%\w+)* = $", after) or after in ("return", "fn", "type")
            if in_block and (ends or starts):
                flush()
            elif line:
                line += " "
        else:
            if token in "([{":
                inner.append(token)
            elif token in ")]}":
                inner.pop()
            line += token
    flush()
    made = "\n".join(indent + line for indent, line in lines)
    assert "".join(made.split()) == "".join(text.split()), "example changed: " + text
    return [part for row in made.split("\n") for part in wrapped(row)]


def wrapped(row):
    indent = re.match(" *", row)[0] + "    "
    return textwrap.wrap(row, 106, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
