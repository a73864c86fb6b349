"""What a notebook shows: whole HTML in which no name of a model is markup."""
import html.parser
import json
import os
import re
import tempfile
import unittest

import dyn

import models

VOID = {"br", "img"}


class Reader(html.parser.HTMLParser):
    """Tags, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def shown(one):
    return Reader(one._repr_html_())


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = dyn.load(models.BERT)

    def test_model(self):
        text = shown(self.model).text
        for word in ("input_ids", "attention_mask", "last_hidden_state", "batch", "seq"):
            self.assertIn(word, text)

    def test_explanation(self):
        why = self.model.why("last_hidden_state.1")
        page = shown(why)
        self.assertEqual(page.tags.count("li"), len(why.chain))
        self.assertIn("seq", page.text)

    def test_plan(self):
        plan = self.model.plan(batch=2, seq=7)
        page = shown(plan)
        self.assertIn("KiB predicted", page.text)
        placed = [one for one in plan.buffers if one.offset_bytes is not None and one.size_bytes]
        self.assertGreater(len(placed), 3)
        self.assertEqual(page.tags.count("rect"), len(placed))
        self.assertNotIn("svg", shown(self.model.plan()).tags, "without sizes there are no blocks")

    def test_profile(self):
        profile = self.model.profile(batch=1, seq=8)
        page = shown(profile)
        self.assertIn(profile.kernels[0].name, page.text)
        self.assertIn("%", page.text)

    def test_passes(self):
        page = shown(self.model.passes)
        for one in self.model.passes:
            self.assertIn(one.name, page.text)
        self.assertIn("fuse", shown(self.model.passes["fuse"].diff).text)

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            report = self.model.report(os.path.join(folder, "bert.html"), run=False, batch=2, seq=7)
            with open(report.path, encoding="utf-8") as file:
                written = file.read()
            self.assertIn("last_hidden_state", written)
            page = shown(report)
        self.assertEqual(page.tags.count("iframe"), 1)
        self.assertNotIn("script", page.tags, "scripts are the frame's own")

    def test_graph(self):
        graph = self.model.graph
        [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', graph.page, re.S)
        data = json.loads(data)
        self.assertEqual([step["name"] for step in data["graph"]["steps"]], [one.name for one in self.model.passes])
        self.assertEqual(data["kernel_texts"], [])
        page = shown(graph)
        self.assertEqual((page.tags.count("iframe"), page.tags.count("script")), (1, 0))
        self.assertNotIn("id=\"data\"", repr(graph))

    def test_names_are_no_markup(self):
        name = "<script>alert(1)</script>"
        model = models.text('fn @main(%x: Tensor[(n), f32]) { %y = relu(%x) return %y }')
        model._inputs = (model.inputs[0]._replace(name=name),)
        page = shown(model)
        self.assertNotIn("script", page.tags)
        self.assertIn(name, page.text)


if __name__ == "__main__":
    unittest.main()
