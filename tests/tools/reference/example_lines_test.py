#!/usr/bin/env python3
"""example_lines.py: a statement on each line, wide ones broken, nothing but white space changed."""
import unittest

from example_lines import example_lines

TYPE = "type Shape { Dot(Tensor[(2), f32]), Pair(Tensor[(2), f32], Tensor[(2), f32]) }"


class ExampleLines(unittest.TestCase):
    def test_statements(self):
        text = 'fn @main(%x: Tensor[(n), f32]) { %a, %b = split(%x) {axis = 0, what = "{ } return"} check() {lhs = dims(n)} %y = add(%a, %b) return %y }'
        self.assertEqual(example_lines(text), [
            "fn @main(%x: Tensor[(n), f32]) {", '  %a, %b = split(%x) {axis = 0, what = "{ } return"} check() {lhs = dims(n)}', "  %y = add(%a, %b)", "  return %y", "}"])

    def test_bodies(self):
        text = TYPE + "\nfn @main(%c: Tensor[(), bool]) {\n %y = if(%c) then (%p: Tensor[(n), f32]) { return %p } else (%q: Tensor[(n), f32]) { return %q }\n return %y }"
        self.assertEqual(example_lines(text), [
            TYPE, "fn @main(%c: Tensor[(), bool]) {", "  %y = if(%c) then (%p: Tensor[(n), f32]) {", "    return %p", "  } else (%q: Tensor[(n), f32]) {",
            "    return %q", "  }", "  return %y", "}"])

    def test_wide_lines_are_broken(self):
        text = "fn @main(%x: Tensor[(n), f32]) { %y = concat(" + ", ".join("%long_name_" + str(i) for i in range(20)) + ") {axis = 0} return %y }"
        lines = example_lines(text)
        self.assertTrue(all(len(line) <= 110 for line in lines))
        self.assertEqual("".join("".join(lines).split()), "".join(text.split()))


if __name__ == "__main__":
    unittest.main()
