"""The blocks of docs/python.md run, in order, and print what the page says."""
import doctest
import os
import re
import unittest

import models

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


class Page(unittest.TestCase):
    def test_blocks(self):
        page = (models.SOURCE / "docs/python.md").read_text()
        blocks = BLOCK.findall(page)
        self.assertGreaterEqual(len(blocks), 5)
        parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/python.md", None, 0)
        said = []
        before = os.getcwd()
        os.chdir(models.SOURCE)
        try:
            result = doctest.DocTestRunner().run(parsed, out=said.append)
        finally:
            os.chdir(before)
        self.assertEqual(result.failed, 0, "".join(said))


if __name__ == "__main__":
    unittest.main()
