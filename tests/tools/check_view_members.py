#!/usr/bin/env python3
"""No class of the window keeps a raw pointer or a reference to what the session answered.

Views are shared: who keeps one holds a Shared<T>, so that no model can go while something still looks at it.
Painters and builders, which live within one call, are named here with the reason.
"""
import pathlib
import re
import sys

WITHIN_ONE_CALL = {
    "ui/graph/graph_painter.h": "made for one picture",
    "ui/graph/graph_scene.cpp": "the builder of one scene",
    "ui/graph/graph_export.h": "what is written in one call",
}


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    views = set(re.findall(r"^DYN_VIEW\((\w+)\)", (root / "app/session/views/views.def").read_text(), re.M))
    views |= {"GraphScene", "BoxMarks", "GraphNode", "GraphGroup", "TimelineEvent", "KernelRow", "PlaceRow"}
    member = re.compile(r"^\s+(?:const )?(%s)(?: const)?\s*[*&]\s*\w+_?(?: = \w+)?;" % "|".join(sorted(views)))
    faults = []
    for path in sorted((root / "ui").rglob("*.h")) + sorted((root / "ui").rglob("*.cpp")):
        name = str(path.relative_to(root))
        if name in WITHIN_ONE_CALL:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if member.match(line):
                faults.append(f"{name}:{number}: keep a Shared<...>: {line.strip()}")
    for fault in faults:
        print(fault)
    return 1 if faults or not views else 0


if __name__ == "__main__":
    sys.exit(main())
