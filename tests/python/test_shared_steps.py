"""A generator that serves: prompts of any task join its steps; who leaves ends a sequence."""
import asyncio
import time
import unittest

import dyn
import test_generate
from dyn._shared_steps import SharedSteps

PROMPTS = test_generate.PROMPTS


async def collected(tokens):
    return [token async for token in tokens]


class Shared(unittest.TestCase):
    def made(self, model, **how):
        steps = SharedSteps(model, **how)
        self.addCleanup(steps.shut_down)
        return steps

    def idle(self, steps):
        end = time.monotonic() + 20
        while (said := steps.statistics).running_count + said.waiting_count:
            self.assertLess(time.monotonic(), end, said)
            time.sleep(0.01)

    def test_sequences_of_tasks_share_steps_and_give_what_they_give_alone(self):
        model = test_generate.gpt2()
        wanted = [one.ids for one in model.generate(PROMPTS, max_new_tokens=40)]
        drawn = [model.generate(prompt, max_new_tokens=9, temperature=0.9, seed=4)[0].ids for prompt in PROMPTS]
        steps = self.made(model)
        self.assertEqual(steps.sharing, "along batch")

        async def ask():
            made = await asyncio.gather(*(collected(steps.submit(prompt, max_new_tokens=40)) for prompt in PROMPTS * 3))
            return made, [await collected(steps.submit(prompt, max_new_tokens=9, temperature=0.9, seed=4)) for prompt in PROMPTS]
        together, alone = asyncio.run(ask())
        self.assertEqual([[token.id for token in one] for one in together], wanted * 3)
        self.assertEqual([[token.id for token in one] for one in alone], drawn)
        self.assertEqual([token.end for token in together[0]], [""] * 39 + ["length"])
        said = steps.statistics
        self.assertGreater(said.rows_count, 2 * said.steps_count)
        self.assertEqual(said.ended_count, 4 * len(PROMPTS))

    def test_a_prompt_that_comes_later_joins_at_once_and_long_ones_in_chunks(self):
        model = test_generate.models.text(test_generate.MASKED_DECODER, threads=1, cache_dir="none")
        long = [i % 7 for i in range(60)]
        wanted = [model.generate(prompt, max_new_tokens=count)[0].ids for prompt, count in (([5, 6, 7], 4000), ([1, 2], 60), (long, 60))]
        for chunk, runs in ((0, 1), (16, 4)):
            steps = self.made(model, prefill_chunk=chunk)

            async def ask():
                first = steps.submit([5, 6, 7], max_new_tokens=4000)
                begun = [await first.__anext__()]
                second, later = steps.submit([1, 2], max_new_tokens=60), asyncio.create_task(collected(first))
                told = [await second.__anext__()]
                self.assertFalse(later.done(), "it waited for the first to end")
                third = asyncio.create_task(collected(steps.submit(long, max_new_tokens=60)))
                return begun + await later, told + await collected(second), await third
            self.assertEqual([[token.id for token in one] for one in asyncio.run(ask())], wanted)
            said = steps.statistics
            self.assertEqual(said.rows_count, 4000 + 2 * 60 + runs - 1, "a row a token, and one a chunk")

    def test_texts(self):
        steps = self.made(test_generate.gpt2(), tokenizer=test_generate.TOKENIZER)
        with self.assertRaises(RuntimeError):
            steps.submit("One")  # no loop is there to tell the tokens to
        self.assertEqual(steps.statistics.submitted_count, 0)

        async def ask():
            return await collected(steps.submit("One", max_new_tokens=7))
        made = asyncio.run(ask())
        self.assertEqual("".join(token.text for token in made), test_generate.gpt2().generate(
            "One", tokenizer=test_generate.TOKENIZER, max_new_tokens=7)[0].text)

    def test_who_leaves_ends_a_sequence(self):
        steps = self.made(test_generate.endless())

        async def leave():
            stays = steps.submit([1], max_new_tokens=10**6)
            left = steps.submit([2], max_new_tokens=10**6)
            await anext(left)
            await left.aclose()
            await left.aclose()
            self.assertEqual(await collected(left), [])
            cancelled = asyncio.create_task(collected(steps.submit([3], max_new_tokens=10**6)))
            await asyncio.sleep(0.1)
            cancelled.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await cancelled
            end = time.monotonic() + 20
            while steps.statistics.running_count > 1:  # the steps of the one that stays go on
                self.assertLess(time.monotonic(), end)
                await anext(stays)
            self.assertEqual((await anext(stays)).end, "")
            self.assertLess(steps.waiting_s(), 5)
        asyncio.run(leave())
        steps.shut_down()  # the loop of the one that stayed is closed
        self.assertEqual(steps.statistics.running_count, 0)

    def test_a_sequence_fails_alone(self):
        steps = self.made(test_generate.gpt2())

        async def ask():
            good = [collected(steps.submit(prompt, max_new_tokens=5)) for prompt in PROMPTS]
            return await asyncio.gather(*good, collected(steps.submit([10**6])), return_exceptions=True)
        *good, bad = asyncio.run(ask())
        self.assertIsInstance(bad, dyn.Error)
        self.assertEqual([len(one) for one in good], [5] * len(PROMPTS))
        self.idle(steps)

    def test_refusals(self):
        steps = self.made(test_generate.endless(), max_queue=2, max_batch=1)

        async def ask():
            for options, part in (({"speed": 3}, "no option speed"), ({"max_batch": 2}, "max_batch is set"),
                                  ({"tokenizer": "t.json"}, "tokenizer is set"), ({"max_new_tokens": "9"}, "no whole number")):
                with self.assertRaisesRegex(dyn.UsageError, part):
                    steps.submit([1], **options)
            with self.assertRaisesRegex(dyn.Unsupported, "logits_processor"):
                steps.submit([1], logits_processor=lambda tokens, scores: scores)
            with self.assertRaisesRegex(dyn.UsageError, "text or a list of ids"):
                steps.submit(None)
            held = [steps.submit([1], max_new_tokens=10**6) for _ in range(2)]
            with self.assertRaisesRegex(dyn.QueueFull, "max_queue is 2"):
                steps.submit([1])
            await held[0].aclose()
            await anext(held[1])
            steps.shut_down()
            self.assertEqual((await collected(held[1]))[-1].end, "cancelled")
            with self.assertRaises(dyn.ShutDown):
                steps.submit([1])
        asyncio.run(ask())
        with self.assertRaises(dyn.Unsupported):
            SharedSteps(test_generate.models.double())
        with self.assertRaisesRegex(dyn.UsageError, "max_queue"):
            SharedSteps(test_generate.endless(), max_queue=0)


if __name__ == "__main__":
    unittest.main()
