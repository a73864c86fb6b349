#!/usr/bin/env python3
"""The files of a library can be compiled as one: no name that is local to a file stands in another one.  check_unity.py FOLDER ROOT

FOLDER holds one list of files per library, written by dyn_unity (cmake/DynSettings.cmake). The compiler refuses two types or values of one
name only where they meet in a group, and never two functions that take different things: a call may then reach the other file's function.
So each name is asked for in the whole library, and beside what the headers of its other files declare. Read are the lines that begin in the first column, as clang-format leaves them: names in
unnamed namespaces, static ones, and macros that are not taken back by #undef."""
import pathlib
import re
import sys

MACRO = re.compile(r"#\s*define (\w+)")
UNDEF = re.compile(r"#\s*undef (\w+)")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?)\s+(\w+)\s*(?:final )?(?:[:{]|$)")
ALIAS = re.compile(r"using (\w+) =")
FUNCTION = re.compile(r"(?:[^=(]*?[\s&*>])?(\w+)\(")
VALUE = re.compile(r".*?[\s&*>](\w+)(?:\[[^\]]*\])*\s*(?:=|\{|;)")
# What begins a line without declaring a name that is local to the file.
OTHERS = ("using ", "namespace", "friend ", "extern ", "static_assert", "DYN_", "TEST", "INSTANTIATE_", "MATCHER", "Q_")


def local_names(text):
    """name -> number of the line that declares it first."""
    names, unnamed, opened = {}, False, 0
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if macro := MACRO.match(line):
            names.setdefault(macro[1], number)
        elif undef := UNDEF.match(line):
            names.pop(undef[1], None)
        elif line.startswith("namespace {"):
            opened, unnamed = number, True
        elif re.match(r"\}\s*// namespace$", line) or unnamed and line == "}" and number == opened + 2:
            unnamed = False
        elif (unnamed or line.startswith("static ")) and line[:1].isalpha() or line.startswith("[[") and unnamed:
            for name in names_of(lines, number - 1):
                names.setdefault(name, number)
    return names


def names_of(lines, at):
    """What the declaration that begins there declares: one name, or all of `const int a = 1, b = 2;` and `enum { a, b };`."""
    name = name_of(lines[at])
    names = [name] if name else []
    several = re.match(r"(?:static |inline )?const(?:expr|init)? ", lines[at]) and VALUE.match(lines[at]) and not FUNCTION.match(lines[at])
    if several or re.match(r"enum (?!class)", lines[at]):
        last = next((k for k in range(at, len(lines)) if re.search(r";\s*(//.*)?$", lines[k])), at)
        whole = re.sub(r"//.*|\"(?:\\.|[^\"])*\"", "", "\n".join(lines[at:last + 1]))
        if several:
            while whole != (flat := re.sub(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|<[^<>;]*>", "", whole)):
                whole = flat
            names += re.findall(r",\s*\**(\w+)\s*(?==|,|;)", whole)
        else:
            names += re.findall(r"[{,]\s*(\w+)", whole)
    return names


def name_of(line):
    line = re.sub(r"\[\[.*?\]\] ?|__attribute__\(\(.*?\)\)+ ?|alignas\(.*?\) ?", "", line)
    line = re.sub(r"^template <.*?>\s*(?=\w)", "", line)
    if line.startswith(OTHERS) or not line:
        return None
    found = ALIAS.match(line) or TYPE.match(line)
    if found:
        return found[1]
    if re.match(r"(struct|class|union|enum|template)\b[^=({]*;?$", line):
        return None  # declares what another line defines
    if re.match(r"[^(=]*\w::~?\w+\(", line):
        return None  # a member's definition
    found = FUNCTION.match(line) or VALUE.match(line)
    return found[1] if found else None


def hidden_names(local, code, root):
    """A local function or constant hides that of a header from the other files of its group, which may then get it: (name, place, other file)."""
    for name, (file, line) in sorted(local.items()):
        call = re.compile(r"(?<![.\w:])(?<!->)%s\b" % name + ("" if re.match("k[A-Z]", name) else r"(?=\(|<)"))
        headers = Headers.declaring(root).get(name, set())
        for other in code:
            if headers and other != file and call.search(code[other]) and headers & Headers.included(root, other):
                yield name, "%s:%d" % (file, line), other
                break


class Headers:
    """Our headers: which functions and constants they declare, and which of them a file includes, by way of others too."""
    DECLARED = re.compile(r"^(?!using|struct|class|enum|namespace|[ /#}])[^\n;{}=(]*?[\s&*>](\w+)(?:\(|(?:\[\w*\])? =|\{|;)", re.M)
    declared, known = None, {}

    @classmethod
    def declaring(cls, root):
        if cls.declared is None:
            cls.declared = {}
            for header in root.glob("[a-z]*/**/*.h"):
                if header.relative_to(root).parts[0] in ("app", "compiler", "frontends", "tests", "ui", "vm"):
                    for name in cls.DECLARED.findall(header.read_text()):
                        cls.declared.setdefault(name, set()).add(header)
        return cls.declared

    @classmethod
    def included(cls, root, file):
        file = pathlib.Path(file)
        if file not in cls.known:
            cls.known[file] = set()
            below = {file}
            for path in re.findall(r'#include "([^"]+)"', file.read_text()):
                if (root / path).exists():
                    below |= cls.included(root, root / path)
            cls.known[file] = below
        return cls.known[file]


def main():
    bad = 0
    root = pathlib.Path(sys.argv[2]).resolve()
    lists = sorted(pathlib.Path(sys.argv[1]).glob("*.txt"))
    if not lists:
        print("%s holds no lists of files" % sys.argv[1])
        return 1
    for library in lists:
        places, code = {}, {}
        for file in library.read_text().split():
            text = pathlib.Path(file).read_text()
            code[file] = re.sub(r'//.*|"(?:\\.|[^"\\])*"', "", text)
            for name, line in local_names(text).items():
                places.setdefault(name, []).append((file, line))
        for name, where in sorted(places.items()):
            if len(where) > 1:
                bad += 1
                print("%s: %s is declared in %s" % (library.stem, name, ", ".join("%s:%d" % place for place in where)))
        for name, place, other in hidden_names({name: where[0] for name, where in places.items()}, code, root):
            bad += 1
            print("%s: %s of %s has the name of what a header declares for %s" % (library.stem, name, place, other))
    if bad:
        print("files of a library are compiled several at a time: give what is local to a file a name of its own")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
