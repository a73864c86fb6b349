"""The notebook of the samples runs from its first cell to its last, without jupyter."""
import ast
import contextlib
import io
import json
import os
import unittest
import warnings

import models

NOTEBOOK = models.SOURCE / "samples/17_notebook/tour.ipynb"


def run(source, names, place):
    """A cell as a notebook runs it: the value of a last expression is its result."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), names)


class Notebook(unittest.TestCase):
    def setUp(self):
        self.notebook = json.loads(NOTEBOOK.read_text())

    def test_form(self):
        self.assertEqual((self.notebook["nbformat"], self.notebook["nbformat_minor"]), (4, 5))
        cells = self.notebook["cells"]
        self.assertEqual(len({cell["id"] for cell in cells}), len(cells))
        for cell in cells:
            self.assertIn(cell["cell_type"], ("code", "markdown"))
            self.assertTrue("".join(cell["source"]).strip())
            if cell["cell_type"] == "code":  # as committed: nothing of a run
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))

    def test_cells(self):
        names, shown, printed = {"__name__": "__main__"}, {}, {}
        before = os.getcwd()
        os.chdir(NOTEBOOK.parent)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for cell in self.notebook["cells"]:
                    if cell["cell_type"] != "code":
                        continue
                    with contextlib.redirect_stdout(io.StringIO()) as said:
                        value = run("".join(cell["source"]), names, cell["id"])
                    printed[cell["id"]] = said.getvalue()
                    if value is not None:
                        page = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
                        shown[cell["id"]] = page
        finally:
            os.chdir(before)
        everything = "".join(printed.values())
        for text in ("(3, 59, 32)", "seq must be at most 512", "wants i64, got i32", "(1, 2, 12, 16) 0", "KiB"):
            self.assertIn(text, everything)
        self.assertGreaterEqual(sum(page.lstrip().startswith("<") for page in shown.values()), 6)


if __name__ == "__main__":
    unittest.main()
