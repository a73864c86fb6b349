#!/usr/bin/env python3
"""markdown_forms.py: what it does to links, lists, tables and headings."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from markdown_forms import anchor, as_python_markdown, links, with_links  # noqa: E402


class MarkdownForms(unittest.TestCase):
    def test_links(self):
        text = "[a](one.md) `[b](two.md)` [![c](three.png)](four.md#here)\n```\n[d](five.md)\n```\n[a label\nof two lines](six.h)\n"
        self.assertEqual([target for _, _, target in links(text)], ["one.md", "three.png", "four.md#here", "six.h"])
        self.assertEqual(with_links(text, lambda target: target.upper()),
                         "[a](ONE.MD) `[b](two.md)` [![c](THREE.PNG)](FOUR.MD#HERE)\n```\n[d](five.md)\n```\n[a label\nof two lines](SIX.H)\n")

    def test_anchors_are_those_of_github(self):
        self.assertEqual(anchor("Padded batches: --padded-results", "-"), "padded-batches---padded-results")
        self.assertEqual(anchor("Loops: loop", "-"), "loops-loop")

    def test_a_list_follows_a_paragraph(self):
        self.assertEqual(as_python_markdown("Two:\n- one\n  goes on\n  - inner\n- two\n"), "Two:\n\n- one\n    goes on\n    - inner\n- two\n")
        self.assertEqual(as_python_markdown("1. one\n   - inner\n2. two\n"), "1. one\n    - inner\n2. two\n")

    def test_a_paragraph_of_an_item(self):
        self.assertEqual(as_python_markdown("- one:\n  1. inner\n     goes on\n\n  Of one.\n- two\n\nText\n- three\n"),
                         "- one:\n    1. inner\n        goes on\n\n    Of one.\n\n- two\n\nText\n\n- three\n")
        self.assertEqual(as_python_markdown("- one\n  ```\n  code\n    more\n  ```\n"), "- one\n    ```\n    code\n      more\n    ```\n")

    def test_a_number_in_a_sentence_is_no_list(self):
        text = "ends with exit code\n4. A package\n- says so\n"
        self.assertEqual(as_python_markdown(text), "ends with exit code\n4. A package\n\n- says so\n")

    def test_tables(self):
        self.assertEqual(as_python_markdown("Text\n| `a\\|b` | c\\|d |\n|---|---|\n"), "Text\n\n| `a|b` | c\\|d |\n|---|---|\n")

    def test_blocks_stay(self):
        text = "Text\n```\n- no list\n| no | table |\n```\n"
        self.assertEqual(as_python_markdown(text), text)


if __name__ == "__main__":
    unittest.main()
