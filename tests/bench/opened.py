#!/usr/bin/env python3
"""Models exported at one size that `generalise` opens, beside the true open export of each.

    ./dev bench opened FOLDER [--export] [--only NAME,...] [--sizes N] [--json]

FOLDER holds pairs NAME.fixed.onnx and NAME.open.onnx: the same model exported with numbers, and with names for the dims to be opened. Each pair is opened, and both run at N random sizes by onnxruntime;
results have to be equal within 1e-4 + 1e-3 |x|. A dim that is limited by a table of the model stays below the limit. --export first makes pairs of public architectures with random weights, at batch 1
(needs torch, and transformers or torchvision); those that PyTorch does not export are left out. Needs onnx and onnxruntime.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

BATCH, LENGTH = 1, 24
BASE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 100, "max_position_embeddings": 64}
EAGER = {"attn_implementation": "eager"}
LONGER = {**BASE, "max_position_embeddings": 66}  # positions begin behind the padding's
DECODER = {**BASE, **EAGER, "use_cache": False}
GROUPED = {**DECODER, "num_key_value_heads": 2}
OLD = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64, "use_cache": False}
# Name of the model's and configuration's classes without "Model" and "Config", and the configuration.
TEXTS = {
    "Bert": {**BASE, **EAGER}, "Roberta": {**LONGER, **EAGER}, "Electra": {**BASE, **EAGER, "embedding_size": 32}, "Albert": {**BASE, **EAGER, "embedding_size": 16}, "XLMRoberta": {**LONGER, **EAGER},
    "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 100, "max_position_embeddings": 64, **EAGER}, "MPNet": LONGER, "Ernie": {**BASE, **EAGER},
    "MegatronBert": {**BASE, **EAGER}, "Camembert": {**LONGER, **EAGER}, "ConvBert": {**BASE, "embedding_size": 32}, "SqueezeBert": {**BASE, "embedding_size": 32}, "RemBert": {**BASE, "input_embedding_size": 32},
    "RoFormer": {**BASE, "embedding_size": 32}, "LayoutLM": {**BASE, **EAGER}, "MobileBert": {**BASE, "embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32}, "IBert": LONGER,
    "Data2VecText": {**LONGER, **EAGER}, "Nystromformer": {**BASE, "num_landmarks": 4, "segment_means_seq_len": 16}, "DebertaV2": {**BASE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "XLMRobertaXL": {**LONGER, **EAGER}, "RobertaPreLayerNorm": {**LONGER, **EAGER}, "ModernBert": {**BASE, **EAGER, "pad_token_id": 0, "reference_compile": False}, "Splinter": {**BASE, **EAGER},
    "T5Encoder": {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 100}, "GPT2": {**OLD, **EAGER}, "GPTBigCode": {**OLD, **EAGER},
    "GPTJ": {**OLD, "rotary_dim": 4}, "CodeGen": {**OLD, "rotary_dim": 4, "n_ctx": 64}, "GPTNeoX": DECODER, "OPT": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48, "vocab_size": 100, "max_position_embeddings": 64, "word_embed_proj_dim": 32, "use_cache": False, **EAGER},
    "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "use_cache": False}, "Llama": GROUPED, "Mistral": GROUPED, "Qwen2": GROUPED, "Qwen3": {**GROUPED, "head_dim": 8}, "Gemma": {**GROUPED, "head_dim": 8},
    "Gemma2": {**GROUPED, "head_dim": 8}, "Phi": DECODER, "StableLm": DECODER, "Starcoder2": GROUPED, "Olmo": DECODER, "Cohere": GROUPED, "Persimmon": DECODER, "Falcon": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "use_cache": False, **EAGER},
    "Mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64, "vocab_size": 100, "use_cache": False}, "Granite": GROUPED,
}
PICTURES = ["resnet18", "resnext50_32x4d", "wide_resnet50_2", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "mnasnet0_5", "efficientnet_b0", "efficientnet_v2_s", "regnet_x_400mf",
            "regnet_y_400mf", "convnext_tiny", "densenet121", "googlenet", "vgg11_bn"]


def export_all(folder, only):
    import torch

    torch.manual_seed(0)

    def pair(name, make, arguments, axes):
        if only and name not in only or os.path.exists(os.path.join(folder, name + ".open.onnx")):
            return
        try:
            module = make().eval()
            for kind in ("fixed", "open"):
                path = os.path.join(folder, f"{name}.{kind}.onnx")
                torch.onnx.export(module, arguments, path, input_names=list(axes), output_names=["y"], opset_version=17, dynamo=False, dynamic_axes=axes if kind == "open" else None)
        except Exception as error:  # what an exporter cannot do is not ours to judge
            print(f"{name}: not exported: {str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__}", flush=True)
            for path in glob.glob(os.path.join(folder, name + ".*.onnx")):
                os.remove(path)

    class Text(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask)[0]

    try:
        import transformers

        ids, mask = torch.randint(3, 90, (BATCH, LENGTH)), torch.ones(BATCH, LENGTH, dtype=torch.int64)
        axes = {name: {0: "batch", 1: "seq"} for name in ("ids", "mask")}
        for name, settings in TEXTS.items():
            def text(name=name, settings=settings):
                configuration = getattr(transformers, name.removesuffix("Encoder") + "Config")(**settings)
                return Text(getattr(transformers, name + "Model")(configuration))
            pair(name.lower(), text, (ids, mask), axes)
    except ImportError:
        print("transformers is not there: no texts")
    try:
        import torchvision.models

        axes = {"x": {0: "batch", 2: "height", 3: "width"}}
        for name in PICTURES:
            more = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
            pair(name, lambda: getattr(torchvision.models, name)(weights=None, **more), (torch.randn(1, 3, 64, 64),), axes)
    except ImportError:
        print("torchvision is not there: no pictures")

    class Recurrent(torch.nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.layer, self.last = kind(8, 16, batch_first=True, num_layers=2, bidirectional=True), torch.nn.Linear(32, 4)

        def forward(self, x):
            return self.last(self.layer(x)[0])

    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        pair(kind.__name__.lower(), lambda: Recurrent(kind), (torch.randn(1, 12, 8),), {"x": {0: "batch", 1: "seq"}})
        # The state before the first step has the example's batch.
        pair(kind.__name__.lower() + "_batch3", lambda: Recurrent(kind), (torch.randn(3, 12, 8),), {"x": {0: "batch", 1: "seq"}})

    class Encoder(torch.nn.Module):  # rows of a batch inside; as many as heads and steps
        def __init__(self):
            super().__init__()
            torch.backends.mha.set_fastpath_enabled(False)
            self.layer = torch.nn.TransformerEncoderLayer(16, 8, 32)

        def forward(self, x):
            return self.layer(x)

    pair("encoder_equal", Encoder, (torch.randn(8, 8, 16),), {"x": {0: "seq", 1: "batch"}})


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def input_shapes(path):
    import onnx

    inputs = onnx.load(path, load_external_data=False).graph.input
    return {i.name: ([d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim], i.type.tensor_type.elem_type) for i in inputs}


def random_size(random, name, example, most, trial):
    if name == "batch":
        return (1, 2, 3, 5)[trial % 4]
    if name in ("height", "width"):
        return int(random.integers(max(32, example // 2), 2 * example))
    return (1, most, example, 2)[trial] if trial < 4 else int(random.integers(1, most + 1))


def feed_of(random, shapes, sizes, trial):
    feed = {}
    for name, (shape, element) in shapes.items():
        numbers = [sizes.get(dim, dim) for dim in shape]
        if element == 1:
            feed[name] = random.standard_normal(numbers).astype(np.float32)
        elif "mask" in name:
            feed[name] = np.ones(numbers, np.int64)
            if trial % 2 and numbers[1] > 1:
                feed[name][-1, numbers[1] // 2:] = 0
        else:
            feed[name] = random.integers(3, 90, numbers)
    return feed


def prove(program, fixed, count):
    """What became of one pair: `refused`, or how many sizes were equal, different, and not run."""
    true = fixed.replace(".fixed.", ".open.")
    shapes, example = input_shapes(true), input_shapes(fixed)
    open_dims = {dim: example[name][0][axis] for name, (shape, _) in shapes.items() for axis, dim in enumerate(shape) if isinstance(dim, str)}
    at = [word for name, (shape, _) in shapes.items() for axis, dim in enumerate(shape) if isinstance(dim, str) for word in ("--at", f"{name}.{axis}={dim}")]
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "made.onnx")
        done = subprocess.run([program, "generalise", fixed, *at, "-o", made, "--json"], capture_output=True, text=True)
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            return {"refused": done.stderr.strip()[:200] or f"exit code {done.returncode}"}
        if done.returncode:
            error = answer.get("error", {})
            return {"refused": f"{error.get('place', '').split(': ')[-1]}: {error.get('message', '')}"}
        theirs, ours = session(true), session(made)
    random = np.random.default_rng(0)
    result = {"changes": len(answer["changes"]), "doubtful": sum(change["doubtful"] for change in answer["changes"]), "limits": answer["limits"], "equal": 0, "different": 0, "does_not_run": 0}
    for trial in range(count):
        sizes = {dim: random_size(random, dim, size, min(answer["limits"].get(dim, 3 * size), 3 * size), trial) for dim, size in open_dims.items()}
        feed = feed_of(random, shapes, sizes, trial)
        try:
            wanted = theirs.run(None, feed)
        except Exception:  # longer than the model's own tables
            continue
        try:
            got = ours.run(None, feed)
        except Exception:
            result["does_not_run"] += 1
            continue
        same = all(a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in zip(got, wanted, strict=True))
        result["equal" if same else "different"] += 1
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", default="build/release", help=argparse.SUPPRESS)
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    if options.export:
        os.makedirs(options.folder, exist_ok=True)
        export_all(options.folder, only)
    pairs = sorted(path for path in glob.glob(os.path.join(options.folder, "*.fixed.onnx")) if os.path.exists(path.replace(".fixed.", ".open.")))
    pairs = [path for path in pairs if not only or os.path.basename(path)[: -len(".fixed.onnx")] in only]
    if not pairs:
        sys.exit(f"opened: {options.folder} has no pairs NAME.fixed.onnx, NAME.open.onnx (--export makes some)")
    rows = {}
    for path in pairs:
        name = os.path.basename(path)[: -len(".fixed.onnx")]
        rows[name] = row = prove(os.path.join(options.build, "bin", "dynrepl"), path, options.sizes)
        if not options.json:
            print(f"{name}: " + (f"refused: {row['refused']}" if "refused" in row else f"{row['changes']} changes, {row['doubtful']} doubtful; {row['equal']} sizes equal, {row['different']} different, {row['does_not_run']} do not run"), flush=True)
    opened = [row for row in rows.values() if "refused" not in row]
    wrong = [row for row in opened if row["different"]]
    if options.json:
        print(json.dumps({"schema": 1, "command": "bench opened", "rows": rows}))
    else:
        print(f"{len(opened)} of {len(rows)} opened; {len(wrong)} of them wrong at a size; {sum(row['equal'] for row in opened)} sizes equal, {sum(row['does_not_run'] for row in opened)} do not run")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
