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

from decoder_models import HEADS, LAYERS, WIDTH, decoder, grouped, merged, recurrent, translator

ARGUMENTS = None
VOCABULARY = 420  # as the golden vocabulary that the prompts are written in


def scores_behind(session: onnxruntime.InferenceSession, ids: list, given: dict) -> numpy.ndarray:
    """Of the next token, from the whole text: no caches, no padding. `given`: other inputs."""
    feeds = {"input_ids": numpy.array([ids], numpy.int64), **given}
    for value in session.get_inputs():
        if value.name == "attention_mask":
            feeds[value.name] = numpy.ones((1, len(ids)), numpy.int64)
        elif value.name == "position_ids":
            feeds[value.name] = numpy.arange(len(ids))[None]
        elif value.name == "use_cache_branch":
            feeds[value.name] = numpy.array([False])
        elif "past" in value.name:
            source = given["encoder_hidden_states"].shape[1] if "encoder" in value.name else 0
            feeds[value.name] = numpy.zeros((1, value.shape[1], source, WIDTH // HEADS), numpy.float32)
    return session.run(["logits"], feeds)[0][0, -1]


def greedy(model: onnx.ModelProto, prompt: list, count: int, **given) -> list:
    """The best tokens, one after the other, by onnxruntime. `given`: other inputs."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(scores_behind(session, ids, given).argmax()))
    return ids[len(prompt):]


def greedy_states(model: onnx.ModelProto, prompt: list, count: int, first: float = 0) -> list:
    """The same of a model with states, token by token."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()][1:]
    states = [numpy.full((1, WIDTH), first, numpy.float32)] * LAYERS
    ids = list(prompt)
    for at in range(len(prompt) + count - 1):
        logits, *states = session.run(None, {"input_ids": numpy.array([[ids[at]]], numpy.int64), **dict(zip(names, states))})
        if at + 1 >= len(ids):
            ids.append(int(logits[0, -1].argmax()))
    return ids[len(prompt):]


def searched(model: onnx.ModelProto, prompt: list, count: int, beams: int, stop: int = -1, **given) -> tuple:
    """The tokens that a beam search finds, and their score, by onnxruntime over whole texts. Ends when no beam is better than the worst of
    the finished texts."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def log_probabilities(ids):
        scores = scores_behind(session, prompt + ids, given).astype(numpy.float64)
        return scores - scores.max() - numpy.log(numpy.exp(scores - scores.max()).sum())

    running, finished = [([], 0.0)], []
    while running:
        found = sorted(((ids + [token], score + more) for ids, score in running for token, more in enumerate(log_probabilities(ids))),
                       key=lambda one: -one[1])[:2 * beams]
        ends = [ids[-1] == stop or len(ids) == count for ids, _ in found]
        finished += [(ids, score / len(ids)) for (ids, score), end in zip(found[:beams], ends) if end]
        finished = sorted(finished, key=lambda one: -one[1])[:beams]
        running = [one for one, end in zip(found, ends) if not end][:beams]
        if len(finished) == beams and running and running[0][1] / len(running[0][0]) <= finished[-1][1]:
            break
    return finished[0]


def prompt_options(prompts):
    return [word for prompt in prompts for word in ("--prompt", "ids:" + ",".join(map(str, prompt)))]


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
                            "bare": {"caches": False, "mask": False}, "scatter": {"by_scatter": True}, "scaled": {"scales_keys": True},
                            "distance": {"positions": "distance"}, "absolute": {"positions": "past"},
                            "shared": {"keys": 1, "scales_keys": True}}.items():
            cls.models[name] = decoder(VOCABULARY, **parts)
        for make in (merged, grouped):
            cls.models[make.__name__] = make(VOCABULARY)
        cls.others = {"translator": translator(VOCABULARY), "recurrent": recurrent(VOCABULARY), "named": recurrent(VOCABULARY, "h", "g")}
        for name, model in {**cls.models, **cls.others}.items():
            onnx.save(model, cls.folder / f"{name}.onnx")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_generate(self, model, *options, code=0, form="json"):
        command = [ARGUMENTS.dynrepl, "--cache-dir", "none", "generate", self.folder / (f"{model}.onnx" if isinstance(model, str) else model),
                   *map(str, options)]
        ran = subprocess.run(command + (["--json"] if form == "json" else []), capture_output=True)
        self.assertEqual(ran.returncode, code, ran.stderr.decode())
        return json.loads(ran.stdout) if form == "json" else (ran.stdout.decode(), ran.stderr.decode())

    def ids(self, model, *options):
        return [sequence["ids"] for sequence in self.run_generate(model, *options)["sequences"]]

    def test_greedy_tokens_are_those_of_onnxruntime(self):
        caches = {"prefix": "none", "bare": "none"}
        for name, model in self.models.items():
            prompt = [5, 17, 300, 2, 41]
            found = self.run_generate(name, *prompt_options([prompt]), "--max-new", 24)
            self.assertEqual(found["sequences"][0]["ids"], greedy(model, prompt, 24), name)
            self.assertEqual(found["caches"], caches.get(name, "in place"), name)
            self.assertEqual((found["steps_count"], found["rows_count"]), (24, 24), name)

    def test_packages_generate_as_their_models(self):
        for name in ("masked", "shared", "grouped"):
            package = self.folder / f"{name}.dynpkg"
            subprocess.run([ARGUMENTS.dynrepl, "--cache-dir", "none", "compile", self.folder / f"{name}.onnx", "-o", package, "--quiet"],
                           check=True, capture_output=True)
            prompts = [[5, 17, 300], [9]]
            found = self.run_generate(package, *prompt_options(prompts), "--max-new", 12)
            self.assertEqual([one["ids"] for one in found["sequences"]], [greedy(self.models[name], prompt, 12) for prompt in prompts], name)
            self.assertIn("index", self.run_generate(package, "--prompt", f"ids:{VOCABULARY}", code=1)["error"]["message"])

    def test_prompts_in_batches_give_what_each_gives_alone(self):
        prompts = [[5, 17, 300], [9], [1, 2, 3, 4, 5, 6, 7], [11, 12, 13], [400, 3]]
        # Four runs of prompts, of two the lengths are equal, and eleven steps of all. Where positions are counted from the caches, padding
        # moves them: a sequence joins where the others have come to its length.
        steps = {"plain": 31, "absolute": 31, "bare": 31}
        for name, model in self.models.items():
            wanted = [greedy(model, prompt, 12) for prompt in prompts]
            self.assertEqual(self.ids(name, *prompt_options(prompts), "--max-new", 12), wanted, name)
            shared = self.run_generate(name, *prompt_options(prompts), "--max-new", 12, "--max-batch", 8)
            self.assertEqual([sequence["ids"] for sequence in shared["sequences"]], wanted, name)
            self.assertEqual((shared["steps_count"], shared["rows_count"]), (steps.get(name, 4 + 11), 60), name)

    def test_prompts_that_begin_alike_share_the_caches_of_their_beginning(self):
        alike = [(7 * i) % 400 for i in range(24)]
        ends = [[(11 * i + k) % 400 for i in range(count)] for k, count in ((3, 20), (5, 16), (8, 20), (2, 31))]
        prompts = [alike + ends[0], [9, 8], alike + ends[1], alike[:18] + ends[2], alike + ends[3]]
        # All 24 of two prompts, 18 of another; one that is without caches, or whose batch shows no rows, shares nothing.
        for name, model in self.models.items():
            wanted = [greedy(model, prompt, 6) for prompt in prompts]
            for batch in (1, 3, 8):
                found = self.run_generate(name, *prompt_options(prompts), "--max-new", 6, "--max-batch", batch)
                self.assertEqual([sequence["ids"] for sequence in found["sequences"]], wanted, (name, batch))
                self.assertEqual(found["shared_tokens_count"], 0 if found["caches"] == "none" else 24 + 18 + 24, (name, batch))
        states = self.run_generate("recurrent", *prompt_options(prompts), "--max-new", 2)
        self.assertEqual(states["shared_tokens_count"], 0)
        # At least 16 tokens of a prompt run in any case, and shorter beginnings are not kept.
        found = self.run_generate("masked", *prompt_options([alike + [1], alike + [2], alike[:15] + ends[0]]), "--max-new", 2)
        self.assertEqual(found["shared_tokens_count"], 0)

    def test_sequences_that_end_leave_and_others_take_their_places(self):
        prompts = [[5, 17, 300], [9], [1, 2, 3, 4, 5, 6, 7], [11, 12, 13], [400, 3], [7, 7], [8, 9, 10]]
        for name in ("masked", "distance", "grouped", "prefix", "merged"):
            alone = [greedy(self.models[name], prompt, 14) for prompt in prompts]
            stops = {alone[0][3], alone[2][9], alone[4][1]}
            wanted = [ids[:min([ids.index(stop) for stop in stops if stop in ids], default=13) + 1] for ids in alone]
            self.assertLess(sum(map(len, wanted)), 14 * len(prompts) - 20)
            for batch in (1, 3, 8):
                options = [word for stop in sorted(stops) for word in ("--stop", stop)]
                found = self.run_generate(name, *prompt_options(prompts), *options, "--max-new", 14, "--max-batch", batch)
                self.assertEqual([sequence["ids"] for sequence in found["sequences"]], wanted, (name, batch))
                # One row of a step for each token: none for sequences that have ended.
                self.assertEqual(found["rows_count"], sum(map(len, wanted)), (name, batch))

    def test_states_and_what_they_begin_with(self):
        prompts = [[5, 17, 300], [9], [1, 2, 3, 4]]
        for name in ("recurrent", "named"):
            wanted = [greedy_states(self.others[name], prompt, 12) for prompt in prompts]
            for batch in (1, 8):
                found = self.run_generate(name, *prompt_options(prompts), "--max-new", 12, "--max-batch", batch)
                self.assertEqual([sequence["ids"] for sequence in found["sequences"]], wanted, (name, batch))
                self.assertEqual(found["caches"], "states")
        first = self.folder / "first.npy"
        numpy.save(first, numpy.full((1, WIDTH), 0.7, numpy.float32))
        given = [word for layer in range(LAYERS) for word in ("--input", f"past_state.{layer}=@{first}")]
        self.assertEqual(self.ids("recurrent", *prompt_options(prompts[:1]), *given, "--max-new", 12),
                         [greedy_states(self.others["recurrent"], prompts[0], 12, 0.7)])

    def test_what_an_encoder_made_is_given(self):
        source = numpy.random.default_rng(5).standard_normal((1, 9, WIDTH)).astype(numpy.float32)
        numpy.save(self.folder / "source.npy", source)
        given = ("--input", f"encoder_hidden_states=@{self.folder / 'source.npy'}")
        ones = numpy.ones((1, 9), numpy.int64)
        wanted = greedy(self.others["translator"], [0], 20, encoder_hidden_states=source, encoder_attention_mask=ones)
        self.assertGreater(len(set(wanted)), 3)
        self.assertEqual(self.ids("translator", "--prompt", "ids:0", *given, "--max-new", 20), [wanted])
        ones[0, 4:] = 0
        numpy.save(self.folder / "mask.npy", ones)
        masked = greedy(self.others["translator"], [0], 20, encoder_hidden_states=source, encoder_attention_mask=ones)
        self.assertNotEqual(masked, wanted)
        mask = ("--input", f"encoder_attention_mask=@{self.folder / 'mask.npy'}")
        self.assertEqual(self.ids("translator", "--prompt", "ids:0", *given, *mask, "--max-new", 20), [masked])
        missing = self.run_generate("translator", "--prompt", "ids:0", code=4)["error"]["message"]
        self.assertIn("encoder_hidden_states", missing)

    def test_ports_are_chosen_where_names_do_not_say_them(self):
        model = onnx.ModelProto()
        model.CopyFrom(self.models["masked"])
        names = {"input_ids": "tokens", "attention_mask": "seen", "position_ids": "places", "logits": "next"}
        names.update({value.name: value.name.replace("past_key_values.", "k") for value in model.graph.input if "past" in value.name})
        names.update({value.name: value.name.replace("present.", "u") for value in model.graph.output if "present" in value.name})
        for value in (*model.graph.input, *model.graph.output):
            value.name = names.get(value.name, value.name)
        for node in model.graph.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        onnx.save(model, self.folder / "renamed.onnx")
        prompt = prompt_options([[5, 17, 300]])
        self.assertIn("none is called input_ids", self.run_generate("renamed", *prompt, code=4)["error"]["message"])
        roles = ("--port", "ids=tokens", "--port", "mask=seen", "--port", "positions=places", "--port", "logits=next")
        wanted = self.ids("masked", *prompt)
        self.assertEqual(self.ids("renamed", *prompt, *roles), wanted)  # caches: by their order
        caches = [word for layer in range(LAYERS) for kind in ("key", "value") for word in ("--port", f"cache=k{layer}.{kind}:u{layer}.{kind}:2")]
        self.assertEqual(self.ids("renamed", *prompt, *roles, *caches), wanted)
        for option, part in (("speed=tokens", "no such role"), ("ids=nothing", "no input or output nothing"), ("cache=k0.key:u0.key", "a pair"),
                             ("cache=k0.key:u0.key:9", "no axis 9"), ("ids", "names no port")):
            fault = self.run_generate("renamed", *prompt, *roles, "--port", option, code=2)["error"]["message"]
            self.assertIn(part, fault)

    def test_why_cache_says_what_each_port_is_for(self):
        def lines(model):
            command = [ARGUMENTS.dynrepl, "--cache-dir", "none", "inspect", self.folder / f"{model}.onnx", "--why", "cache", "-q"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout
        said = lines("grouped")
        self.assertIn("4 caches, 0 states, 0 cross caches", said)
        self.assertIn("along axis 2 (by their names; the axis whose size changes)", said)
        said = lines("translator")
        self.assertIn("4 caches, 0 states, 4 cross caches", said)
        self.assertIn("as long as another input", said)
        self.assertIn("0 caches, 2 states", lines("recurrent"))
        self.assertIn("by their order; no axis grows", lines("named"))
        self.assertIn("each step runs over the whole text", lines("bare"))

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

    def test_beams_find_what_a_search_over_onnxruntime_finds(self):
        prompts = [[5, 17, 300, 2, 41], [9], [33, 4, 4]]
        for name, model in self.models.items():
            stop = searched(model, prompts[0], 6, 3)[0][2]  # a token that a search meets
            for prompt, options in ((prompts[0], {}), (prompts[1], {}), (prompts[2], {}), (prompts[0], {"stop": stop})):
                given = [word for key, value in options.items() for word in (f"--{key}", value)]
                found = self.run_generate(name, *prompt_options([prompt]), "--max-new", 6, "--beams", 3, *given)["sequences"][0]
                ids, score = searched(model, prompt, 6, 3, **options)
                self.assertEqual(found["ids"], ids, (name, prompt, options))
                self.assertAlmostEqual(found["score"], score, 4)
        self.assertEqual(self.run_generate("masked", *prompt_options(prompts), "--max-new", 6, "--beams", 3)["sequences"][1]["ids"],
                         searched(self.models["masked"], prompts[1], 6, 3)[0])

    def test_beams_of_an_encoder_that_gives_its_states_once(self):
        source = numpy.random.default_rng(3).standard_normal((1, 5, WIDTH)).astype(numpy.float32)
        numpy.save(self.folder / "beam_source.npy", source)
        found = self.run_generate("translator", "--prompt", "ids:3", "--max-new", 6, "--beams", 4, "--input",
                                  f"encoder_hidden_states=@{self.folder / 'beam_source.npy'}")["sequences"][0]
        self.assertEqual(found["ids"], searched(self.others["translator"], [3], 6, 4, encoder_hidden_states=source,
                                                encoder_attention_mask=numpy.ones((1, 5), numpy.int64))[0])

    def test_beams_where_rows_see_each_other(self):
        batch = self.folder / "one.onnx"  # a batch of 1 alone
        model = decoder(VOCABULARY)
        for value in [*model.graph.input, *model.graph.output]:
            if value.type.tensor_type.shape.dim[0].dim_param == "batch":
                value.type.tensor_type.shape.dim[0].dim_value = 1
        onnx.save(model, batch)
        said = self.run_generate(batch, "--prompt", "ids:5,17", "--max-new", 5, "--beams", 3, form="text")[1]
        self.assertIn("beams run one by one", said)
        found = self.run_generate(batch, "--prompt", "ids:5,17", "--max-new", 5, "--beams", 3)["sequences"][0]
        self.assertEqual(found["ids"], searched(self.models["masked"], [5, 17], 5, 3)[0])

    def test_prompt_lookup_gives_the_same_tokens_in_fewer_steps(self):
        for name in self.models:
            for prompt in ([5, 17, 300, 2, 41], [9], [4, 5, 6, 4, 5]):
                for more in ((), ("--temperature", 0.3, "--seed", 4), ("--stop", 5), ("--repetition-penalty", 1.3)):
                    options = (*prompt_options([prompt]), "--max-new", 40, *more)
                    plain = self.run_generate(name, *options)
                    found = self.run_generate(name, *options, "--prompt-lookup", 6)
                    self.assertEqual(found["sequences"][0]["ids"], plain["sequences"][0]["ids"], (name, prompt, more))
                    self.assertLessEqual(found["accepted_tokens_count"], found["draft_tokens_count"])
                    self.assertEqual(found["steps_count"], plain["steps_count"] - found["accepted_tokens_count"], (name, prompt, more))
                    self.assertEqual(plain["draft_tokens_count"], 0)
        text = [7, 8, 9, 10, 11, 12] * 4
        accepted = self.run_generate("masked", *prompt_options([text]), "--max-new", 60, "--prompt-lookup", 8)["accepted_tokens_count"]
        self.assertGreater(accepted, 0)

    def test_prompt_lookup_leaves_models_that_take_one_token_a_step(self):
        options = ("--prompt", "ids:4,5,6,4,5", "--max-new", 30)
        found = self.run_generate("recurrent", *options, "--prompt-lookup", 6)
        self.assertEqual(found["sequences"][0]["ids"], self.ids("recurrent", *options)[0])
        self.assertEqual(found["draft_tokens_count"], 0)

    def test_prompts_in_chunks_give_the_same_tokens(self):
        prompts = [[5, 17], [9, 8, 7], [(11 * i) % VOCABULARY for i in range(50)], [3] * 21]
        for name in ("masked", "scaled", "shared", "grouped", "merged"):
            texts = self.ids(name, *prompt_options(prompts), "--max-new", 20)
            # The first text ends early, so that the long prompts come while the second goes on.
            stop = next(token for token in texts[0][3:] if not any(token in text for text in (texts[0][:3], *texts[1:])))
            options = (*prompt_options(prompts), "--max-new", 20, "--max-batch", 2, "--stop", stop)
            plain, found = self.run_generate(name, *options), self.run_generate(name, *options, "--prefill-chunk", 8)
            self.assertEqual([one["ids"] for one in found["sequences"]], [texts[0][:texts[0].index(stop) + 1], *texts[1:]], name)
            self.assertEqual(found["rows_count"] - plain["rows_count"], 6 + 2, "50 tokens are 7 chunks, 21 are 3")

    def test_what_beams_refuse(self):
        def fault(*options):
            return self.run_generate("masked", "--prompt", "ids:1", *options, code=2)["error"]["message"]
        self.assertIn("not both", fault("--beams", 2, "--temperature", 1))
        self.assertIn("not both", fault("--beams", 2, "--top-p", 0.5))
        self.assertIn("--length-penalty needs --beams", fault("--length-penalty", 2))
        self.assertIn("--early-stopping needs --beams", fault("--early-stopping"))
        self.assertIn("--beams", fault("--beams", 0))
        self.assertIn("not both", fault("--beams", 2, "--prompt-lookup", 3))
        self.assertIn("--prompt-lookup", fault("--prompt-lookup", 0))
        self.assertIn("finite", fault("--beams", 2, "--length-penalty", "inf"))

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

    def test_scores_of_no_position_are_a_fault_of_the_model(self):
        # How many positions have scores is decided by the tokens.
        node, number = onnx.helper.make_node, onnx.TensorProto
        graph = onnx.helper.make_graph(
            [node("Cast", ["input_ids"], ["reals"], to=number.FLOAT), node("Unsqueeze", ["reals", "last"], ["column"]),
             node("Expand", ["column", "sizes"], ["rows"]), node("ReduceMax", ["input_ids", "first"], ["largest"], keepdims=0),
             node("Greater", ["largest", "three"], ["taken"]), node("Compress", ["rows", "taken"], ["logits"], axis=1)], "g",
            [onnx.helper.make_tensor_value_info("input_ids", number.INT64, ["batch", "seq"])],
            [onnx.helper.make_tensor_value_info("logits", number.FLOAT, ["batch", "kept", 7])],
            [onnx.numpy_helper.from_array(numpy.array(value, numpy.int64), name)
             for name, value in (("last", [2]), ("first", [0]), ("sizes", [1, 1, 7]), ("three", 3))])
        onnx.save(onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 18)]), self.folder / "empty_scores.onnx")
        fault = self.run_generate("empty_scores", "--prompt", "ids:1,2", code=1)["error"]
        self.assertEqual((fault["id"], fault["message"]), ("E0303", "the model gave scores of shape (1, 0, 7) for 1 prompt"))

    def test_tokens_that_the_model_does_not_know_fail_alone(self):
        unknown = f"token {VOCABULARY} at position 2 of the prompt: the model has tokens 0 to {VOCABULARY - 1}"
        prompts = [[5, 17, 300], [9, 1, VOCABULARY], [11, 12, 13], [VOCABULARY + 5]]
        for name in ("masked", "prefix", "merged", "grouped"):
            fault = self.run_generate(name, *prompt_options([prompts[1]]), code=1)["error"]
            self.assertEqual((fault["id"], fault["message"]), ("E0305", unknown), name)
            for batch in (1, 4):
                made = self.run_generate(name, *prompt_options(prompts), "--max-new", 6, "--max-batch", batch, code=1)
                self.assertEqual(made["error"]["message"], "prompt 2: " + unknown, name)
                self.assertIn(f"prompt 4: token {VOCABULARY + 5} at position 0", made["error"]["notes"][0])
                self.assertEqual([one["end"] for one in made["sequences"]], ["length", "failed"] * 2)
                self.assertEqual(made["sequences"][1]["error"], unknown)
                for at in (0, 2):
                    self.assertEqual(made["sequences"][at]["ids"], greedy(self.models[name], prompts[at], 6), name)
        shown, said = self.run_generate("masked", *prompt_options(prompts[:2]), "--max-new", 6, code=1, form="text")
        self.assertEqual(shown, f"[1] 5 17 300\n{' '.join(map(str, greedy(self.models['masked'], prompts[0], 6)))}\n[2] 9 1 {VOCABULARY}\n\n")
        self.assertIn(f"prompt 2: {unknown}", said)
        self.assertIn(f"--stop {VOCABULARY}: the model gives tokens 0 to {VOCABULARY - 1}",
                      self.run_generate("masked", "--prompt", "ids:1", "--stop", VOCABULARY, code=2)["error"]["message"])

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
