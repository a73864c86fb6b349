#!/usr/bin/env python3
"""Runs the fenced blocks of pages and compares what they print.  doc_blocks.py BIN_FOLDER ROOT PAGE...

    ```dyn    a module; its first line, `# NAME.dyn: ...`, names the file that it is written to
    ```sh     commands, each of which must succeed
    ```text   a transcript where a line starts with a prompt, else text: `dyn> ` a command of the shell, `$ ` a
              command of bash (`# exit 4` at its end: that is its exit code); below it stands what it prints

Each page has a folder of its own that looks like the repository's, with samples, vm and build/release, and one
session of the shell, which begins when the modules are written and other commands have run. `./dev run` and
`./dev demo` are those programs, built already; other verbs of `./dev` must be there. What depends on the machine: a
line `...` stands for any lines but errors, a line that ends in ` ...` for all that begin so, `~120` for a number
between its half and its double. Times, and the blanks that align columns, may differ. DYN_UPDATE=1 writes what was
printed into the blocks that differ."""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)$")
TIME = re.compile(r"\b\d+(\.\d+)? ?(ns|us|ms|s)\b")
DEV = """#!/bin/bash
case "$1" in
  run) shift; exec dynrepl "$@" ;;
  demo) exec "%(root)s/tests/tools/demo.sh" "%(programs)s" ;;
esac
"%(root)s/dev" help | grep -q "^  $1 " || { echo "there is no ./dev $1"; exit 1; }
"""
MARK = "7309%06d"  # an expression that prints itself
MARKED = re.compile(r"^i64\[\] 7309\d{6}$")
SCRIPT = re.compile(r"^\S*session\.dyns:\d+:(?:(\d+:))? ")  # of a script, where the prompt says something else


class Block:
    def __init__(self, language, line):
        self.language, self.line, self.text = language, line, []


def blocks(page):
    found, inside = [], None
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if inside is None and line.startswith("```"):
            if not fence:
                raise SystemExit("line %d: a fence takes one word: %s" % (number, line))
            inside = Block(fence[1], number)
        elif inside is not None and line == "```":
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.text.append(line)
    if inside is not None:
        raise SystemExit("line %d: this block does not end" % inside.line)
    return found


def entries(lines):
    """[(prompt, command, output)] of a transcript; none where no line has a prompt."""
    found = []
    for line in lines:
        prompt = next((p for p in ("dyn> ", "$ ") if line.startswith(p)), None)
        if prompt:
            found.append((prompt, line[len(prompt):], []))
        elif found:
            found[-1][2].append(line)
    return found


def plain(line):
    return re.sub(r"\s+", " ", TIME.sub("<time>", line)).strip()


ABOUT = re.compile(r"(~\d+(?:\.\d+)?)")


def same(expected, printed):
    """Whether a line is as the page has it."""
    expected, printed = plain(expected), plain(printed)
    begins = expected.endswith(" ...")
    parts = ABOUT.split(expected[:-4] if begins else expected)
    pattern = "".join(r"(\d+(?:\.\d+)?)" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    found = re.fullmatch(pattern + (".*" if begins else ""), printed)
    about = [float(part[1:]) for part in parts[1::2]]
    return bool(found) and all(a / 2 <= float(b) <= a * 2 for a, b in zip(about, found.groups()))


def matches(expected, printed):
    """Whether the lines are these, `...` being any lines but errors."""
    if not expected:
        return not printed
    if expected[0].strip() == "...":
        errors = (i for i, line in enumerate(printed) if "error[" in line)
        return any(matches(expected[1:], printed[i:]) for i in range(next(errors, len(printed)) + 1))
    return bool(printed) and same(expected[0], printed[0]) and matches(expected[1:], printed[1:])


class Runner:
    def __init__(self, programs, root):
        self.root = root
        self.folder = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.folder.name)
        (self.work / "samples").symlink_to(root / "samples")
        (self.work / "vm").symlink_to(root / "vm")
        (self.work / "dev").write_text(DEV % {"root": root, "programs": programs})
        (self.work / "dev").chmod(0o755)
        (self.work / "build").mkdir()
        (self.work / "build/release").symlink_to(programs.parent)
        self.environment = dict(os.environ, PATH="%s:%s" % (programs, os.environ["PATH"]), HOME=self.folder.name,
                                XDG_CACHE_HOME=self.folder.name + "/cache", TERM="dumb", PAGER="cat")
        self.environment.pop("DYN_PAGER", None)

    def call(self, arguments, **options):
        return subprocess.run(arguments, cwd=self.work, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, **options)

    def bash(self, command):
        code = re.search(r"# exit (\d+)$", command)
        said = self.call(["bash", "-c", command])
        if said.returncode != (int(code[1]) if code else 0):
            raise AssertionError("exit code %d of: %s\n%s" % (said.returncode, command, said.stdout))
        return said.stdout.splitlines()

    def session(self, commands):
        """What each command of one session prints."""
        script = self.work / "session.dyns"
        script.write_text("".join("%s\n%s\n" % (command, MARK % i) for i, command in enumerate(commands)))
        said = self.call(["dynrepl", "--color", "never", "--quiet", "script", "--keep-going", script.name])
        outputs = [[]]
        for line in said.stdout.splitlines():
            if MARKED.match(line):
                outputs.append([])
            elif not re.match(r"  note: in \S*session\.dyns:\d+$", line):
                outputs[-1].append(SCRIPT.sub(lambda at: "<prompt>:1:%s " % at[1] if at[1] else "", line))
        if len(outputs) != len(commands) + 1:
            raise AssertionError("the session ended early:\n%s" % said.stdout)
        return outputs[:-1]

    def answers(self, found):
        """[(block, [(entry, printed)], fault or None)] of the page."""
        for block in found:
            if block.language == "dyn":
                name = re.match(r"# (\w+\.dyn)\b", block.text[0])
                if not name:
                    yield block, [], "the first line of a module names its file: # NAME.dyn: ..."
                    continue
                (self.work / name[1]).write_text("\n".join(block.text) + "\n")
        prompted = {"dyn> ": [], "$ ": []}
        for block in found:
            if block.language == "sh":
                prompted["$ "] += [(block, ("$ ", line, None)) for line in block.text]
            elif block.language == "text":
                for entry in entries(block.text):
                    prompted[entry[0]].append((block, entry))
        printed = {}
        for block, entry in prompted["$ "]:
            try:
                printed[id(entry)] = self.bash(entry[1])
            except (AssertionError, subprocess.TimeoutExpired) as e:
                yield block, [], str(e)
        if prompted["dyn> "]:
            try:
                for (_, entry), said in zip(prompted["dyn> "], self.session([e[1] for _, e in prompted["dyn> "]])):
                    printed[id(entry)] = said
            except (AssertionError, subprocess.TimeoutExpired) as e:
                yield prompted["dyn> "][0][0], [], str(e)
        for block in found:
            mine = [entry for all in prompted.values() for of, entry in all if of is block and id(entry) in printed]
            yield block, [(entry, printed[id(entry)]) for entry in mine], None


def unused(found):
    """Modules of the page that no command names."""
    commands = [command for block in found if block.language == "text" for _, command, _ in entries(block.text)]
    for block in found:
        file = re.match(r"# (\w+\.dyn)\b", block.text[0]) if block.language == "dyn" else None
        if file and not any(file[1] in command for command in commands):
            yield block, file[1]


def updated(block, answers):
    """The lines of the block, with what was printed where that is something else."""
    printed = {(entry[1], tuple(entry[2])): said for entry, said in answers if not matches(entry[2], said)}
    lines = []
    for prompt, command, expected in entries(block.text):
        lines += [prompt + command] + printed.get((command, tuple(expected)), expected)
    return lines


def check(path, name, runner):
    """(how many commands ran, how many faults) of a page."""
    text = path.read_text()
    found, lines = blocks(text), text.splitlines()
    faults = ["%s:%d: no command of this page runs %s" % (name, block.line, file) for block, file in unused(found)]
    ran, updates = 0, []
    for block, answers, fault in runner.answers(found):
        if fault:
            faults.append("%s:%d: %s" % (name, block.line, fault))
        ran += len(answers)
        different = [(entry, said) for entry, said in answers if entry[2] is not None and not matches(entry[2], said)]
        for (_, command, expected), said in different:
            change = difflib.unified_diff(expected, said, "the page", "printed", lineterm="", n=1)
            faults.append("%s:%d: %s\n%s" % (name, block.line, command, "\n".join(change)))
        if different:
            updates.append((block, updated(block, answers)))
    if ran == 0:
        faults.append("%s: no block of this page is run" % name)
    if updates and os.environ.get("DYN_UPDATE") == "1":
        for block, new in reversed(updates):
            lines[block.line:block.line + len(block.text)] = new
        path.write_text("\n".join(lines) + "\n")
    print("\n".join(faults) if faults else "%s: %d commands" % (name, ran))
    return ran, len(faults)


def main():
    programs, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    return 1 if sum(check(root / name, name, Runner(programs, root))[1] for name in sys.argv[3:]) else 0


if __name__ == "__main__":
    sys.exit(main())
