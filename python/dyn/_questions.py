"""What a model says of itself: each answer of a command of the shell, as an object of _answers.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import Diagnostic
from ._values import Dim

if TYPE_CHECKING:
    import os

    from ._answers import Commands, Explanation, Graph, Kernel, Limit, Passes, Plan, Prediction, Profile, Report
    from ._progress import Handle


class Questions:
    """The part of a Model that answers; it runs nothing but profile()."""

    _handle: Handle

    def command(self, line: str) -> dict[str, Any]:
        """Any command of the shell but load and reload; its answer is what `dynrepl --json` prints."""
        import json
        with self._handle.progress:
            answer: dict[str, Any] = json.loads(self._handle.command(line, as_text=False))
        return answer

    def text(self, line: str) -> str:
        """The same as the shell prints it."""
        with self._handle.progress:
            return self._handle.command(line, as_text=True)

    @property
    def commands(self) -> Commands:
        """Every command of the shell as a method."""
        from ._answers import Commands
        return Commands(self)

    @property
    def dims(self) -> dict[str, Dim]:
        """The sizes known only at run time, by name."""
        rows = self.command("dims")["dims"]
        return {row["symbol"]: Dim(row["symbol"], row["low"], row["high"], row["multiple"], row["origin"])
                for row in rows}

    def why(self, question: str) -> Explanation:
        """"out.1" (an axis of a value), "seq" (a dim), "check0" (a check), "a.0=b.0" (a relation); of a run with
        "--dim seq=7" and "--input x=@x.npy" behind it "out.1", "out[2,5]", "out[nan]" and "failure"."""
        from ._answers import Explanation
        row = self.command(f"why {question}")
        if "causes" in row:
            row = row["causes"]
            lines = [one["text"] for one in row["culprits"] + row["changes"]] + row["notes"]
            return Explanation(row["question"], row["answer"], tuple(lines), tuple(step["text"] for step in row["steps"]),
                               self.text(f"why {question}").rstrip("\n"))
        row = row["why"]
        return Explanation(row["question"], row["answer"], tuple(row["lines"]), tuple(row["chain"]),
                           self.text(f"why {question}").rstrip("\n"))

    def predict(self, /, **dims: int) -> Prediction:
        """What a call with these dims will be, without running it: predict(batch=4, seq=128)."""
        from ._answers import Check, Prediction
        shapes, peak, refused, checks = self._handle.predict([(name, int(size)) for name, size in dims.items()])
        names = [row[0] for row in self._handle.ports(input=False)]
        sizes = [None if shape is None else tuple(None if size < 0 else size for size in shape) for shape in shapes]
        return Prediction(dict(zip(names, sizes)), None if peak < 0 else peak, refused,
                          tuple(Check(*check) for check in checks))

    def plan(self, /, **dims: int) -> Plan:
        """The memory plan; with dims also in bytes: plan(batch=4, seq=128)."""
        from ._answers import Buffer, Plan, line_of, row_of
        line = line_of("plan", (), {"dim": dims})
        row = self.command(line)["plan"]
        return row_of(Plan, {**row, "buffers": [row_of(Buffer, one) for one in row["buffers"]]},
                    text=self.text(line).rstrip("\n"))

    def limit(self, memory: str | int, /, **dims: int) -> dict[str, Limit]:
        """By dim that is not given: its largest value for which a run fits: limit("512MB", batch=2)["seq"]."""
        from ._answers import Limit, line_of, row_of
        row = self.command(line_of("limit", (memory,), {"dim": dims}))["limit"]
        return {one["symbol"]: row_of(Limit, one) for one in row["largest"]}

    @property
    def passes(self) -> Passes:
        """The steps of the compilation."""
        from ._answers import Passes
        return Passes(self, self.command("passes")["passes"])

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the program."""
        from ._answers import Kernel, row_of
        return tuple(row_of(Kernel, row) for row in self.command("kernels")["kernels"])

    def profile(self, trace: str | os.PathLike[str] | None = None, /, **dims: int) -> Profile:
        """Runs once on random inputs of these dims and measures each place of the program. trace: a file for a
        Chrome trace."""
        from ._answers import KernelTime, Profile, line_of, row_of
        line = line_of("profile", () if trace is None else (trace,), {"dim": dims})
        row = self.command(line)
        rows = sorted((row_of(KernelTime, one) for one in row["kernels"]), key=lambda one: -one.total_ns)
        text = "\n".join(f"{one.total_ns / 1000:10.1f} us {one.share:6.1%}  {one.name}  {one.place}" for one in rows)
        return row_of(Profile, {**row, "kernels": rows}, run_ns=row["runs"][0]["ns"], text=text)

    def report(self, path: str | os.PathLike[str], /, *, run: bool = True, **dims: int) -> Report:
        """Writes one HTML page about the model, at these dims: report("bert.html", batch=1, seq=128). run: with the
        profile of a run on random inputs."""
        import os

        from ._answers import Report, line_of
        row = self.command(line_of("report", (), {"o": os.fspath(path), "dim": dims, "no_run": not run}))
        return Report(row["files"][0]["path"], row["files"][0]["bytes"], row["no_run"] or "")

    @property
    def graph(self) -> Graph:
        """The graph through the passes as a picture for a notebook."""
        import tempfile

        from ._answers import Graph
        from ._notebook import graph_page
        with tempfile.TemporaryDirectory() as folder:
            report = self.report(f"{folder}/graph.html", run=False)
            with open(report.path, encoding="utf-8") as file:
                return Graph(graph_page(file.read()))

    def check(self, assertion: str | None = None) -> tuple[Diagnostic, ...]:
        """All problems of the model's file, not only the first; empty: none. assertion: also the sizes within it for
        which the model fails (errors), and what cannot be proved of them (warnings): check("batch>=1, seq<=512")."""
        from ._answers import line_of
        row = self.command("check" if assertion is None else line_of("check", (), {"assert": assertion}))
        found = [(severity, one) for severity, key in (("error", "problems"), ("warning", "warnings"))
                 for one in row[key]]
        found += [("error" if one["proved_to_fail"] else "warning", one) for one in row.get("findings", ())]
        return tuple(Diagnostic(severity, one["id"], one["message"], one.get("place", ""), one.get("file", ""),
                                one.get("node", ""), one.get("line", 0), one.get("column", 0),
                                tuple(one.get("notes", ())), one.get("op", "")) for severity, one in found)
