#!/usr/bin/env python3
"""Requests of different prompts and lengths to a decoder: tokens per second, and the time to the first token of a request.

    ./dev bench generate [MODEL.onnx] [--requests N] [--max-batch N] [--max-new N] [--prefix N] [--prompt-lookup N] [--threads N] [--repeat N]
        [--json]

Four ways, in turn: `dynrepl generate` one by one and with --max-batch, onnxruntime one by one and in padded batches, whose rows all run until the last
has ended. All requests are there from the beginning. Texts end at some tokens, so their lengths differ. Without MODEL a transformer with random weights
is made (--width, --layers, --vocabulary). --prefix: so many tokens, with which all prompts begin. --prompt-lookup: one by one
with drafts of so many tokens, too; how many a step accepts depends on the texts. The tokens must be the same; a difference ends the
program with 3. Needs numpy, onnx and onnxruntime.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import measuring
import peers

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "generate"))
import decoder_models  # noqa: E402

LONGEST_PROMPT = 48


def made_model(arguments, folder):
    import onnx
    decoder_models.WIDTH, decoder_models.LAYERS = arguments.width, arguments.layers
    decoder_models.HEADS, decoder_models.POSITIONS = arguments.width // 64, arguments.prefix + LONGEST_PROMPT + arguments.max_new + 1
    path = os.path.join(folder, "decoder.onnx")
    onnx.save(decoder_models.decoder(arguments.vocabulary, scales_keys=True), path)
    return path


class Theirs:
    """A loop over onnxruntime with caches, the shorter prompts padded in front."""

    def __init__(self, path, threads):
        self.session = peers.peer_session(path, threads)
        self.inputs = self.session.get_inputs()
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.caches = {value.name: value.name.replace("past_key_values", "present") for value in self.inputs if "past" in value.name}
        unknown = [value.name for value in self.inputs if value.name not in ("input_ids", "attention_mask", "position_ids", *self.caches)]
        if unknown or not {"attention_mask", "position_ids"} <= {value.name for value in self.inputs}:
            sys.exit("generate: padded batches of onnxruntime need a model of input_ids, attention_mask, position_ids and past_key_values.*")

    def run(self, prompts, stops, most):
        """The new tokens of each prompt, and the time to the first of each."""
        begin = time.perf_counter()
        rows, longest = len(prompts), max(map(len, prompts))
        ids = np.array([[prompt[0]] * (longest - len(prompt)) + prompt for prompt in prompts], np.int64)
        mask = np.array([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts], np.int64)
        caches = {}
        for value in self.inputs:
            if value.name in self.caches:
                caches[value.name] = np.zeros([rows if i == 0 else size if isinstance(size, int) else 0 for i, size in enumerate(value.shape)], np.float32)
        found, first = [[] for _ in prompts], 0
        while True:
            positions = np.maximum(mask.cumsum(1) - 1, 0)[:, -ids.shape[1]:]
            feeds = {"input_ids": ids, "attention_mask": mask, "position_ids": positions, **caches}
            made = dict(zip(self.outputs, self.session.run(None, feeds)))
            caches = {past: made[present] for past, present in self.caches.items()}
            tokens = made["logits"][:, -1].argmax(1)
            first = first or time.perf_counter() - begin
            for row, token in zip(found, tokens):
                if len(row) < most and not (row and row[-1] in stops):
                    row.append(int(token))
            if all(len(row) == most or row[-1] in stops for row in found):
                return found, [first] * rows
            ids, mask = tokens[:, None], np.concatenate([mask, np.ones((rows, 1), np.int64)], 1)


def theirs(peer, prompts, stops, most, batch):
    begin = time.perf_counter()
    tokens, firsts = [], []
    for at in range(0, len(prompts), batch):
        waited = time.perf_counter() - begin
        found, first = peer.run(prompts[at:at + batch], stops, most)
        tokens += found
        firsts += [waited + seconds for seconds in first]
    return tokens, firsts, time.perf_counter() - begin


def ours(arguments, path, prompts, stops, batch, *more):
    command = [os.path.join(arguments.build, "bin", "dynrepl"), "generate", path, "--json", "--max-new", str(arguments.max_new), "--max-batch", str(batch),
               "--threads", str(arguments.threads), *more]
    command += [word for prompt in prompts for word in ("--prompt", "ids:" + ",".join(map(str, prompt)))]
    command += [word for stop in sorted(stops) for word in ("--stop", str(stop))]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"generate: {ran.stderr or ran.stdout}")
    if "one by one" in ran.stderr:
        print(ran.stderr.strip(), file=sys.stderr)
    made = json.loads(ran.stdout)
    if made["draft_tokens_count"]:
        print(f"{made['accepted_tokens_count']} of {made['draft_tokens_count']} draft tokens accepted, {made['steps_count']} steps", file=sys.stderr)
    return [row["ids"] for row in made["sequences"]], [row["first_token_ns"] / 1e9 for row in made["sequences"]], made["total_ns"] / 1e9


def stops_for(texts):
    """Tokens at which texts end, so that their lengths are spread."""
    stops = set()
    for i, text in enumerate(texts[::3]):
        stops.add(text[(i + 1) * len(text) // (len(texts[::3]) + 1)])
    return stops


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--max-batch", type=int, default=16)
    parser.add_argument("--max-new", type=int, default=64)
    parser.add_argument("--prefix", type=int, default=0)
    parser.add_argument("--prompt-lookup", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="each way, in turn; the fastest counts")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=16000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", default="build/release", help="folder of the build")
    arguments = parser.parse_args()
    try:
        import onnxruntime
    except ImportError:
        sys.exit("generate: skipped: onnxruntime is not installed (pip install onnxruntime)")
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.model or made_model(arguments, folder)
        peer = Theirs(path, arguments.threads)
        vocabulary = next(output for output in peer.session.get_outputs() if output.name == "logits").shape[-1]
        random = np.random.default_rng(1)
        prompts = [random.integers(0, vocabulary, random.integers(4, LONGEST_PROMPT + 1)).tolist() for _ in range(arguments.requests)]
        common = random.integers(0, vocabulary, arguments.prefix).tolist()
        prompts = [common + prompt for prompt in prompts]
        stops = stops_for(theirs(peer, prompts, set(), arguments.max_new, 1)[0])
        ways = {"Dyn, one by one": lambda: ours(arguments, path, prompts, stops, 1),
                f"Dyn, up to {arguments.max_batch}": lambda: ours(arguments, path, prompts, stops, arguments.max_batch),
                "onnxruntime, one by one": lambda: theirs(peer, prompts, stops, arguments.max_new, 1),
                f"onnxruntime, padded, {arguments.max_batch}": lambda: theirs(peer, prompts, stops, arguments.max_new, arguments.max_batch)}
        if arguments.prompt_lookup:
            ways["Dyn, one by one, drafts"] = lambda: ours(arguments, path, prompts, stops, 1, "--prompt-lookup", str(arguments.prompt_lookup))
        best = {}
        for _ in range(arguments.repeat):
            for name, run in ways.items():
                made = run()
                if name not in best or made[2] < best[name][2]:
                    best[name] = made
    wanted = best["onnxruntime, one by one"][0]
    count = sum(map(len, wanted))
    rows = [{"way": name, "tokens_per_second": count / seconds, "first_token_seconds": float(np.mean(firsts)), "last_first_token_seconds": max(firsts),
             "same": tokens == wanted} for name, (tokens, firsts, seconds) in best.items()]
    if arguments.json:
        print(json.dumps(rows))
    else:
        print(f"{arguments.model or 'random transformer'}, {len(prompts)} requests of {min(map(len, prompts))} to {max(map(len, prompts))} tokens, "
              f"{min(map(len, wanted))} to {max(map(len, wanted))} new ones, {count} in all, {arguments.threads} thread(s), {measuring.cpu_name()}, "
              f"onnxruntime {onnxruntime.__version__}")
        for row in rows:
            print(f"{row['way']:28}{row['tokens_per_second']:>9.1f} tokens/s   first token after {row['first_token_seconds'] * 1000:8.1f} ms "
                  f"(the last: {row['last_first_token_seconds'] * 1000:.1f}){'' if row['same'] else '   DIFFERS'}")
    return 0 if all(row["same"] for row in rows) else 3


if __name__ == "__main__":
    sys.exit(main())
