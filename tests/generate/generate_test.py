#!/usr/bin/env python3
"""Does `dynrepl generate` write what a loop over onnxruntime does? Greedy tokens of decoders with and without caches, one prompt and several,
one by one and in batches; stops, seeds, errors, and what an interruption leaves."""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import onnx
import onnxruntime

from decoder_models import HEADS, WIDTH, decoder

ARGUMENTS = None
VOCABULARY = 420  # as the golden vocabulary that the prompts are written in


def greedy(model: onnx.ModelProto, prompt: list, count: int) -> list:
    """The best tokens, one after the other, by onnxruntime over the whole prefix: no caches, no padding."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ids = list(prompt)
    for _ in range(count):
        feeds = {"input_ids": numpy.array([ids], numpy.int64)}
        for value in session.get_inputs():
            if value.name == "attention_mask":
                feeds[value.name] = numpy.ones((1, len(ids)), numpy.int64)
            elif value.name == "position_ids":
                feeds[value.name] = numpy.arange(len(ids))[None]
            elif "past" in value.name:
                feeds[value.name] = numpy.zeros((1, HEADS, 0, WIDTH // HEADS), numpy.float32)
        ids.append(int(session.run(["logits"], feeds)[0][0, -1].argmax()))
    return ids[len(prompt):]


class Generate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        golden = json.loads((ARGUMENTS.golden / "byte_level.json").read_text())
        cls.cases = golden["cases"]
        cls.tokenizer = cls.folder / "tokenizer.json"
        cls.tokenizer.write_text(json.dumps(golden["tokenizer"]))
        cls.models = {}
        for name, parts in {"masked": {}, "plain": {"mask": False, "names": "past_{1}_{0}"}, "prefix": {"caches": False},
                            "bare": {"caches": False, "mask": False}}.items():
            cls.models[name] = decoder(VOCABULARY, **parts)
            onnx.save(cls.models[name], cls.folder / f"{name}.onnx")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_generate(self, model, *options, code=0, form="json"):
        command = [ARGUMENTS.dynrepl, "--cache-dir", "none", "generate", self.folder / f"{model}.onnx", *map(str, options)]
        ran = subprocess.run(command + (["--json"] if form == "json" else []), capture_output=True)
        self.assertEqual(ran.returncode, code, ran.stderr.decode())
        return json.loads(ran.stdout) if form == "json" else (ran.stdout.decode(), ran.stderr.decode())

    def ids(self, model, *options):
        return [sequence["ids"] for sequence in self.run_generate(model, *options)["sequences"]]

    def test_greedy_tokens_are_those_of_onnxruntime(self):
        for name, model in self.models.items():
            prompt = [5, 17, 300, 2, 41]
            found = self.run_generate(name, "--prompt", "ids:" + ",".join(map(str, prompt)), "--max-new", 24)
            self.assertEqual(found["sequences"][0]["ids"], greedy(model, prompt, 24), name)
            self.assertEqual(found["caches"], "none" if name in ("prefix", "bare") else "in place", name)
            self.assertEqual(found["steps_count"], 24)

    def test_prompts_in_batches_give_what_each_gives_alone(self):
        prompts = [[5, 17, 300], [9], [1, 2, 3, 4, 5, 6, 7], [11, 12, 13], [400, 3]]
        given = [word for prompt in prompts for word in ("--prompt", "ids:" + ",".join(map(str, prompt)))]
        for name, model in self.models.items():
            wanted = [greedy(model, prompt, 12) for prompt in prompts]
            self.assertEqual(self.ids(name, *given, "--max-new", 12), wanted, name)
            shared = self.run_generate(name, *given, "--max-new", 12, "--max-batch", 8)
            self.assertEqual([sequence["ids"] for sequence in shared["sequences"]], wanted, name)
            # With a mask and positions all five share steps; without, the two of equal length.
            self.assertEqual(shared["steps_count"], 12 if name in ("masked", "prefix") else 48, name)

    def test_text_in_and_text_out(self):
        text = "Die Straße führt"
        found = self.run_generate("masked", "--tokenizer", self.tokenizer, "--prompt", "text:" + text, "--max-new", 30)["sequences"][0]
        self.assertEqual(found["ids"], greedy(self.models["masked"], found["prompt_ids"], 30))
        shown, _ = self.run_generate("masked", "--tokenizer", self.tokenizer, "--prompt", "text:" + text, "--max-new", 30, form="text")
        self.assertEqual(shown, found["text"] + "\n")

    def test_prompts_of_a_file_in_their_order(self):
        file = self.folder / "prompts.txt"
        file.write_text("def f(x):\n\nÄpfel\n")
        options = ("--tokenizer", self.tokenizer, "--prompt", f"@{file}", "--max-new", 9)
        found = self.run_generate("masked", *options)["sequences"]
        self.assertEqual([sequence["prompt"] for sequence in found], ["def f(x):", "Äpfel"])
        for batch in (1, 4):
            shown, _ = self.run_generate("masked", *options, "--max-batch", batch, form="text")
            self.assertEqual(shown, f"[1] def f(x):\n{found[0]['text']}\n[2] Äpfel\n{found[1]['text']}\n")

    def test_stops(self):
        prompt = ("--prompt", "ids:5,17,300,2,41", "--max-new", 24)
        whole = self.ids("masked", *prompt)[0]
        stop = whole[7]
        found = self.run_generate("masked", *prompt, "--stop", stop)["sequences"][0]
        self.assertEqual((found["ids"], found["end"], found["stop"]), (whole[:whole.index(stop) + 1], "stop token", str(stop)))
        text = self.run_generate("masked", *prompt, "--tokenizer", self.tokenizer)["sequences"][0]["text"]
        part = text[len(text) // 2:len(text) // 2 + 3]
        found = self.run_generate("masked", *prompt, "--tokenizer", self.tokenizer, "--stop", part)["sequences"][0]
        self.assertEqual((found["text"], found["end"], found["stop"]), (text[:text.index(part)], "stop text", part))
        config = self.folder / "generation_config.json"
        config.write_text(json.dumps({"eos_token_id": [stop]}))
        try:
            self.assertEqual(self.ids("masked", *prompt)[0], whole[:whole.index(stop) + 1])
        finally:
            config.unlink()

    def test_draws_follow_the_seed(self):
        options = ("--prompt", "ids:5,17", "--prompt", "ids:5,17", "--max-new", 16, "--temperature", 2)
        first, second = self.ids("masked", *options)
        self.assertNotEqual(first, second)  # each prompt has draws of its own
        self.assertEqual(self.ids("masked", *options, "--max-batch", 2), [first, second])
        self.assertNotEqual(self.ids("masked", *options, "--seed", 8)[0], first)
        best = greedy(self.models["masked"], [5, 17], 16)
        self.assertEqual(self.ids("masked", *options, "--top-k", 1), [best, best])
        self.assertEqual(self.ids("masked", *options, "--top-p", 1e-9), [best, best])
        penalised = self.ids("masked", "--prompt", "ids:5,17", "--max-new", 16, "--repetition-penalty", 1e6)[0]
        self.assertEqual(len(set(penalised)), 16)

    def test_what_is_no_decoder_says_what_is_missing(self):
        def fault(model, *options, code=4):
            return self.run_generate(model, "--prompt", "ids:1", *options, code=code)["error"]["message"]
        for name, change, part in (("no_ids", lambda graph: setattr(graph.input[0].type.tensor_type, "elem_type", onnx.TensorProto.FLOAT), "ids"),
                                   ("no_logits", lambda graph: setattr(graph.output[0].type.tensor_type, "elem_type", onnx.TensorProto.INT64), "logits")):
            model = onnx.helper.make_model(onnx.helper.make_graph(
                [onnx.helper.make_node("Identity", ["input_ids"], ["y"])], "g",
                [onnx.helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["batch", "seq"])],
                [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT64, ["batch", "seq"])]), ir_version=8,
                opset_imports=[onnx.helper.make_opsetid("", 18)])
            if name == "no_ids":
                change(model.graph)
                model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
            onnx.save(model, self.folder / f"{name}.onnx")
            self.assertIn("unsupported: the model is no decoder", fault(name))
            self.assertIn(part, fault(name))
        lost = decoder(VOCABULARY)
        del lost.graph.output[-1]
        onnx.save(lost, self.folder / "lost.onnx")
        self.assertIn("no output continues the cache past_key_values.1.value", fault("lost"))
        self.assertIn("needs --tokenizer", self.run_generate("masked", "--prompt", "text:a", code=2)["error"]["message"])

    def test_an_interruption_keeps_what_came(self):
        command = [ARGUMENTS.dynrepl, "--cache-dir", "none", "generate", self.folder / "masked.onnx", "--prompt", "ids:5,17,300,2,41", "--max-new", "200"]
        whole = self.ids("masked", "--prompt", "ids:5,17,300,2,41", "--max-new", 200)[0]
        with subprocess.Popen(command + ["--threads", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as running:
            begin = running.stdout.read(1)
            running.send_signal(signal.SIGINT)
            rest, said = running.communicate(timeout=60)
        shown = (begin + rest).decode()
        self.assertTrue(shown.endswith("\n"))
        ids = [int(word) for word in shown.split()]
        self.assertEqual(ids, whole[:len(ids)])
        if running.returncode != 0:  # it may have been faster than the signal
            self.assertEqual(running.returncode, 130)
            self.assertIn(b"interrupted", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dynrepl", type=pathlib.Path, required=True)
    parser.add_argument("--golden", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
