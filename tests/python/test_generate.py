"""model.generate: prompts that share steps, tokens as they come, hooks, ends and interruptions."""
import asyncio
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import dyn
import models

GPT2 = models.SOURCE / "samples/models/gpt2/model.onnx"
TOKENIZER = models.SOURCE / "samples/18_generate/tokenizer.json"
PROMPTS = [[15, 7, 3], [1, 2, 3], [200], [4, 5, 6, 7, 8, 9, 10]]

ENDLESS = """
import signal
import test_generate
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
model = test_generate.endless()
model.generate([1], max_new_tokens=3)
try:
    for token in model.generate_stream([[1], [2, 3]], max_new_tokens=10**6):
        if token.sequence == 0:
            print("begun", flush=True)
except KeyboardInterrupt:
    print("ended", flush=True)
    assert len(model.generate([5], max_new_tokens=3)[0].ids) == 3
"""


# Attention over a cache of embeddings of 7 tokens, for any number of positions.
ENDLESS_DECODER = """fn @main(%input_ids: Tensor[(b, s), i64], %past_key_0: Tensor[(b, p, 1), f32]) {
  %e = unsqueeze(cast(%input_ids) {to = f32}, i64[1] [2])
  %present_key_0 = concat(%past_key_0, %e) {axis = 1}
  %w = softmax(matmul(%e, transpose(%present_key_0) {perm = [0, 2, 1]})) {axis = -1}
  %logits = mul(matmul(%w, %present_key_0), f32[1, 1, 7] [[[0.1, -0.2, 0.3, 0.7, -0.5, 0.2, 0.4]]])
  return %logits, %present_key_0
}"""


# The same beside what an encoder made; its input of tokens has a name that says nothing.
READER = """fn @main(%what: Tensor[(b, s), i64], %encoder_hidden_states: Tensor[(b, t, 7), f32],
         %past_key_0: Tensor[(b, p, 1), f32]) {
  %e = unsqueeze(cast(%what) {to = f32}, i64[1] [2])
  %present_key_0 = concat(%past_key_0, %e) {axis = 1}
  %w = softmax(matmul(%e, transpose(%present_key_0) {perm = [0, 2, 1]})) {axis = -1}
  %read = reduce_mean(%encoder_hidden_states, i64[1] [1])
  %logits = add(mul(matmul(%w, %present_key_0), f32[1, 1, 7] [[[0.1, -0.2, 0.3, 0.7, -0.5, 0.2, 0.4]]]), %read)
  return %logits, %present_key_0
}"""


# The same with a mask: sequences of different lengths share steps.
MASKED_DECODER = """fn @main(%input_ids: Tensor[(b, s), i64], %attention_mask: Tensor[(b, t), i64], %past_key_0: Tensor[(b, p, 1), f32]) {
  %e = mul(unsqueeze(cast(%input_ids) {to = f32}, i64[1] [2]), f32[] 0.3)
  %present_key_0 = concat(%past_key_0, %e) {axis = 1}
  %left_out = mul(sub(cast(%attention_mask) {to = f32}, f32[] 1), f32[] 1e9)
  %seen = add(matmul(%e, transpose(%present_key_0) {perm = [0, 2, 1]}), unsqueeze(%left_out, i64[1] [1]))
  %w = softmax(%seen) {axis = -1}
  %logits = mul(add(matmul(%w, %present_key_0), sin(mul(%e, f32[] 9))), f32[1, 1, 7] [[[0.1, -0.2, 0.3, 0.7, -0.5, 0.2, 0.4]]])
  return %logits, %present_key_0
}"""


def endless():
    return models.text(ENDLESS_DECODER, threads=1, cache_dir="none")


def gpt2(**options):
    return dyn.load(GPT2, cache_dir="none", threads=1, **options)


def _scaled(noise):
    """Scores with noise that the tokens say: as good as a draw, and the same beside any others."""
    def hook(tokens, scores):
        scores[210] = -np.inf
        return scores + noise * np.random.default_rng(abs(hash(tuple(map(int, tokens)))) % 2**32).gumbel(size=len(scores))
    return hook


def _ending(hook, length):
    """Token 210 when the sequence is that long."""
    def changed(tokens, scores):
        return np.where(np.arange(len(scores)) == 210, 0, -np.inf) if len(tokens) >= length else hook(tokens, scores)
    return changed


class Generate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gpt2()

    def run_alone(self, prompt, count):
        """The best tokens by calls of the model itself, without caches."""
        ids = list(prompt)
        empty = [np.zeros((1, 2, 0, 16), np.float32)] * 4
        for _ in range(count):
            ids.append(int(self.model(np.array([ids]), *empty)[0][0, -1].argmax()))
        return ids[len(prompt):]

    def test_prompts_that_share_steps_give_what_calls_of_the_model_do(self):
        wanted = [self.run_alone(prompt, 12) for prompt in PROMPTS]
        with self.model.generate_stream(PROMPTS, max_new_tokens=12) as tokens:
            found = [[] for _ in PROMPTS]
            ends = {}
            for token in tokens:
                found[token.sequence].append(token.id)
                ends.setdefault(token.sequence, []).append(token.end)
        self.assertEqual(found, wanted)
        for said in ends.values():
            self.assertEqual(said, [""] * 11 + ["length"])
        self.assertLess(tokens.statistics.steps_count, tokens.statistics.rows_count)
        self.assertEqual([one.ids for one in self.model.generate(PROMPTS, max_new_tokens=12)], wanted)
        self.assertEqual(self.model.generate(np.array(PROMPTS[0]), max_new_tokens=12)[0].ids, wanted[0])
        self.assertEqual(self.model.generate([], max_new_tokens=12), [])

    def test_prompts_that_begin_alike_share_the_caches_of_their_beginning(self):
        alike = [(5 * i) % 211 for i in range(40)]
        prompts = [alike + [(k * i + k) % 211 for i in range(17 + k)] for k in (1, 2, 3)]
        with self.model.generate_stream(prompts, max_new_tokens=5) as tokens:
            found = [[] for _ in prompts]
            for token in tokens:
                found[token.sequence].append(token.id)
        self.assertEqual(found, [self.run_alone(prompt, 5) for prompt in prompts])
        self.assertEqual(tokens.statistics.shared_tokens_count, 2 * 40)

    def test_values_that_are_given_and_ports_that_are_named(self):
        model = models.text(READER, threads=1, cache_dir="none")
        ports = ["ids=what"]
        for favourite in (2, 6):
            source = np.zeros((1, 3, 7), np.float32)
            source[0, :, favourite] = 1000
            found = model.generate([[1, 2], [3]], max_new_tokens=3, inputs={"encoder_hidden_states": source}, ports=ports)
            self.assertEqual([one.ids for one in found], [[favourite] * 3] * 2)
        for inputs, said in (({}, "encoder_hidden_states"), ({"other": source}, "no such input"),
                             ({"encoder_hidden_states": source[0]}, "Tensor[(b, t, 7), f32]"),
                             ({"encoder_hidden_states": source.astype(np.float64)}, "Tensor[(b, t, 7), f32]")):
            with self.assertRaises(dyn.Error) as refused:
                model.generate([1], inputs=inputs, ports=ports)
            self.assertIn(said, str(refused.exception))
        for wrong in ({"inputs": [source]}, {"ports": 3}, {"inputs": {"encoder_hidden_states": ["a"]}}):
            with self.assertRaises(dyn.UsageError):
                model.generate([1], **wrong)
        with self.assertRaises(dyn.Error) as refused:
            model.generate([1], inputs={"encoder_hidden_states": source}, ports=["ids=absent"])
        self.assertIn("absent", str(refused.exception))

    def test_texts_and_draws_are_those_of_the_shell(self):
        options = {"temperature": 0.8, "top_k": 20, "repetition_penalty": 1.2}
        said = self.model.commands.generate(prompt=["text:One", "text:The compiler"], tokenizer=str(TOKENIZER), max_new=9,
                                            temperature=0.8, top_k=20, repetition_penalty=1.2)
        made = self.model.generate(["One", "The compiler"], tokenizer=TOKENIZER, max_new_tokens=9, **options)
        self.assertEqual([(one.ids, one.text) for one in made], [(list(one["ids"]), one["text"]) for one in said["sequences"]])
        other = self.model.generate(["One", "The compiler"], tokenizer=TOKENIZER, max_new_tokens=9, seed=8, **options)
        self.assertNotEqual([one.ids for one in other], [one.ids for one in made])

    def test_sequences_do_not_depend_on_those_that_share_their_steps(self):
        random = np.random.default_rng(11)
        prompts = [list(map(int, random.integers(0, 211, random.integers(1, 24)))) for _ in range(12)]
        options = [{"temperature": float(random.choice([0, 0.9, 2]))} for _ in prompts]
        alone = [self.model.generate([prompts[at]], max_new_tokens=16, logits_processor=_scaled(options[at]["temperature"]))[0].ids
                 for at in range(len(prompts))]
        for _ in range(60):
            chosen = random.permutation(len(prompts))[:random.integers(1, len(prompts) + 1)]
            counts = random.integers(1, 17, len(chosen))
            hooks = [_ending(_scaled(options[at]["temperature"]), len(prompts[at]) + count) for at, count in zip(chosen, counts)]
            found = self.model.generate([prompts[at] for at in chosen], max_new_tokens=16, logits_processor=hooks, stop=210,
                                        max_batch=int(random.integers(1, 9)))
            for at, count, one in zip(chosen, counts, found):
                self.assertEqual(one.ids[:count], alone[at][:count])

    def test_stops(self):
        whole = self.model.generate("One", tokenizer=TOKENIZER, max_new_tokens=20)[0]
        at = whole.ids.index(whole.ids[6])
        stopped = self.model.generate("One", tokenizer=TOKENIZER, max_new_tokens=20, stop=whole.ids[6])[0]
        self.assertEqual((stopped.ids, stopped.end), (whole.ids[:at + 1], "stop token"))
        piece = whole.text[5:8]
        ended = self.model.generate("One", tokenizer=TOKENIZER, max_new_tokens=20, stop=[piece, "never seen"])[0]
        self.assertEqual((ended.text, ended.end), (whole.text[:whole.text.index(piece)], "stop text"))

    def test_hooks_see_and_change_the_scores_of_their_sequence(self):
        seen = []

        def even(tokens, scores):
            seen.append(list(tokens))
            scores[1::2] = -np.inf

        def only(tokens, scores):
            return np.where(np.arange(len(scores)) == 9, 0, -np.inf)

        made = self.model.generate(PROMPTS[:3], max_new_tokens=5, logits_processor=[even, None, only])
        self.assertTrue(all(one % 2 == 0 for one in made[0].ids))
        self.assertEqual(made[1].ids, self.run_alone(PROMPTS[1], 5))
        self.assertEqual(made[2].ids, [9] * 5)
        self.assertEqual(seen, [PROMPTS[0] + made[0].ids[:count] for count in range(5)])

    def test_an_exception_of_a_hook_goes_on(self):
        def fails(tokens, scores):
            raise KeyError("of the hook")

        for call in (lambda: self.model.generate([1], logits_processor=fails),
                     lambda: asyncio.run(self.model.agenerate([1], logits_processor=fails))):
            with self.assertRaisesRegex(KeyError, "of the hook"):
                call()
        with self.assertRaises(ValueError):
            self.model.generate([1], logits_processor=lambda tokens, scores: [1, 2, 3])
        with self.assertRaisesRegex(dyn.Error, "no finite numbers"):
            self.model.generate([1], logits_processor=lambda tokens, scores: scores * np.nan)
        self.assertEqual(len(self.model.generate([1])[0].ids), 32)

    def test_a_task_takes_tokens_and_several_share_the_model(self):
        async def all_of_them():
            first = [token.id async for token in self.model.generate_stream(PROMPTS[0], max_new_tokens=6)]
            rest = await asyncio.gather(*(self.model.agenerate(prompt, max_new_tokens=6) for prompt in PROMPTS[1:]))
            return [first, *(one[0].ids for one in rest)]
        self.assertEqual(asyncio.run(all_of_them()), [self.run_alone(prompt, 6) for prompt in PROMPTS])

    def test_threads_each_have_their_tokens(self):
        wanted = [self.run_alone(prompt, 8) for prompt in PROMPTS]
        found = [None] * len(PROMPTS)

        def work(at):
            for _ in range(5):
                found[at] = self.model.generate(PROMPTS[at], max_new_tokens=8)[0].ids
        threads = [threading.Thread(target=work, args=(at,)) for at in range(len(PROMPTS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, wanted)

    def test_sequences_are_cancelled_and_loops_left(self):
        with self.model.generate_stream([[1], [2, 3]], max_new_tokens=50) as tokens:
            ends = {}
            for token in tokens:
                tokens.cancel(1)
                ends[token.sequence] = token
        self.assertEqual(ends[1], dyn.Token(1, -1, "", "cancelled"))
        self.assertEqual(ends[0].end, "length")
        for token in endless().generate_stream([[1], [2, 3]], max_new_tokens=10**6):
            break

        async def left():
            try:
                await asyncio.wait_for(endless().agenerate([1], max_new_tokens=10**6), 1)
            except asyncio.TimeoutError:
                return True
        self.assertTrue(asyncio.run(left()))

    def test_beams_find_a_likelier_text(self):
        found = self.model.generate(PROMPTS, max_new_tokens=6, beams=4, length_penalty=0)
        for prompt, one in zip(PROMPTS, found):
            self.assertEqual(len(one.ids), 6)
            greedy = self.model.generate(prompt, max_new_tokens=6)[0]
            self.assertEqual(greedy.score, 0.0)
            scores: list = []

            def note(tokens, values, scores=scores, text=greedy.ids):
                values = values.astype(np.float64)
                scores.append(values[text[len(scores)]] - values.max() - np.log(np.exp(values - values.max()).sum()))

            self.model.generate(prompt, max_new_tokens=6, logits_processor=note)
            self.assertGreaterEqual(one.score, sum(scores) - 1e-4)
        early = self.model.generate(PROMPTS[0], max_new_tokens=6, beams=3, early_stopping=True, stop=found[0].ids[1])
        self.assertIn(early[0].end, ("stop token", "length"))

    def test_prompt_lookup_gives_the_same_tokens_in_fewer_steps(self):
        text = [15, 7, 3, 9, 4] * 3
        wanted = self.model.generate(text, max_new_tokens=24)[0]
        with self.model.generate_stream(text, max_new_tokens=24, prompt_lookup=6) as tokens:
            self.assertEqual([token.id for token in tokens], wanted.ids)
            counts = tokens.statistics
        self.assertEqual(counts.steps_count, 24 - counts.accepted_tokens_count)
        self.assertGreater(counts.draft_tokens_count, 0)

    def test_ctrl_c_ends_it(self):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True,
                                   cwd=pathlib.Path(__file__).parent)
        for _ in range(20):
            self.assertEqual(process.stdout.readline(), "begun\n")
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        for line in process.stdout:
            if line.endswith("ended\n"):  # it may come in the middle of a line
                break
        print(f"Ctrl-C: ended after {1e3 * (time.monotonic() - asked):.0f} ms", file=sys.stderr)
        self.assertTrue(line.endswith("ended\n"), line)
        self.assertEqual(process.wait(60), 0)
        process.stdout.close()

    def test_errors(self):
        refusals = [({"speed": 3}, "no option speed"), ({"max_batch": 0}, "max_batch"), ({"top_p": 1.5}, "top_p"),
                    ({"temperature": -1}, "temperature"), ({"max_new_tokens": 0}, "max_new_tokens"),
                    ({"beams": 0}, "beams"), ({"prompt_lookup": 257}, "prompt_lookup"), ({"beams": 2, "temperature": 1.0}, "draws nothing"),
                    ({"logits_processor": [None, None]}, "2 for 1 prompts"), ({"stop": "text"}, "tokenizer")]
        for options, part in refusals:
            with self.assertRaisesRegex(dyn.UsageError, part):
                self.model.generate([1, 2], **options)
        with self.assertRaisesRegex(dyn.UsageError, "tokenizer"):
            self.model.generate("text")
        with self.assertRaisesRegex(dyn.UsageError, "no tokens"):
            self.model.generate([[]])
        with self.assertRaisesRegex(dyn.Error, "prompt 1"):
            self.model.generate([[1], [10**6]])
        with self.assertRaises(dyn.Unsupported):
            models.double().generate([1])


if __name__ == "__main__":
    unittest.main()
