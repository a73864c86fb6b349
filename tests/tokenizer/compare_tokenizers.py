#!/usr/bin/env python3
"""Is what app/tokenizer makes of a tokenizer.json equal to what the package tokenizers makes of it?

Ids with and without special tokens, and decoded text, of lines of five kinds by five vocabularies that are trained here, and by other
normalizers, pre-tokenizers, post-processors and decoders over them. Then every code point by the parts that look at single ones.
With --golden DIR it writes small vocabularies with their cases, which a unit test reads.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

if importlib.util.find_spec("tokenizers") is None:
    print("skipped: there is no package tokenizers")
    sys.exit(77)

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from text_kinds import KINDS, lines_of
from vocabularies import VOCABULARIES, variants


def answers(program, tokenizer, lines):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(tokenizer.to_str())
        file.flush()
        ran = subprocess.run([program, file.name], input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True)
    if ran.returncode != 0:
        return None, ran.stderr.strip()
    return [json.loads(line) for line in ran.stdout.splitlines()], ""


def expected(tokenizer, line):
    ids = tokenizer.encode(line).ids
    return {"bare": tokenizer.encode(line, add_special_tokens=False).ids, "ids": ids,
            "decoded": tokenizer.decode(ids), "whole": tokenizer.decode(ids, skip_special_tokens=False)}


def differences(program, name, tokenizer, lines, mutes=()):
    found, fault = answers(program, tokenizer, lines)
    if found is None:
        return [f"{name}: {fault}"]
    faults = []
    for line, one in zip(lines, found):
        wanted = expected(tokenizer, line)
        if all(one.get(key) == value for key, value in wanted.items()) and one.get("streamed") == wanted["decoded"]:
            continue
        wanted["streamed"] = wanted["decoded"]
        key = next((key for key, value in wanted.items() if one.get(key) != value), "?")
        faults.append(f"{name}: {line!r}: {key} is {one.get(key, one)!r}, expected {wanted[key]!r}")
    return faults


def every_point(program):
    """Each code point between two letters, by parts that look at its properties."""
    points = [point for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000]
    lines = ["".join(f"a{chr(point)}b\n" for point in points[begin:begin + 64]) for begin in range(0, len(points), 64)]
    letters = sorted({chr(byte) for byte in range(256)})
    made = Tokenizer(models.BPE(vocab={f"<0x{byte:02X}>": byte for byte in range(256)}, merges=[], byte_fallback=True))
    parts = {name: getattr(normalizers, name)() for name in ("BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "Strip")}
    faults = {}
    for name, normalizer in parts.items():
        made.normalizer, made.pre_tokenizer = normalizer, None
        faults[name] = point_faults(program, made, lines)
    made.normalizer = None
    splits = {name: getattr(pre_tokenizers, name)() for name in ("Whitespace", "WhitespaceSplit", "Punctuation", "Digits", "BertPreTokenizer", "ByteLevel")}
    for name, split in splits.items():
        # The ends of pieces are seen by the byte 0 that each begins with.
        made.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.Metaspace(replacement="\0", prepend_scheme="always", split=False)])
        faults[name] = point_faults(program, made, lines)
    return faults


def point_faults(program, tokenizer, lines):
    found, fault = answers(program, tokenizer, lines)
    if found is None:
        return [fault]
    faults = []
    for line, one in zip(lines, found):
        if one.get("bare") == tokenizer.encode(line, add_special_tokens=False).ids:
            continue
        parts = [part + "\n" for part in line.split("\n") if part]
        for part, single in zip(parts, answers(program, tokenizer, parts)[0]):
            if single["bare"] != tokenizer.encode(part, add_special_tokens=False).ids:
                faults.append("U+%04X" % ord(part[1]))
    return faults


def write_golden(folder):
    folder.mkdir(parents=True, exist_ok=True)
    training = [line for kind in ("code", "languages") for line in lines_of(kind, 60, 7)]
    for name, train in VOCABULARIES.items():
        tokenizer = train(training, 330 if name in ("word_pieces", "unigram") else 400)
        lines = [line for kind in KINDS for line in lines_of(kind, 4, 11)]
        cases = [dict(text=line, **expected(tokenizer, line)) for line in lines]
        text = json.dumps({"tokenizer": json.loads(tokenizer.to_str()), "cases": cases}, ensure_ascii=True, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text.replace('{"text"', '\n{"text"') + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, help="tokenize_lines")
    parser.add_argument("--lines", type=int, default=1000, help="of each kind")
    parser.add_argument("--golden", type=pathlib.Path)
    parser.add_argument("--points", action="store_true", help="every code point, too")
    arguments = parser.parse_args()
    if arguments.golden:
        write_golden(arguments.golden)
        return 0
    training = [line for kind in KINDS for line in lines_of(kind, 1500, 1)]
    trained = {name: train(training, 2000) for name, train in VOCABULARIES.items()}
    lines = [line for kind in KINDS for line in lines_of(kind, arguments.lines, 2)]
    faults, count = [], 0
    for name, tokenizer in trained.items():
        faults += differences(arguments.program, name, tokenizer, lines)
        count += len(lines)
    few = [line for kind in KINDS for line in lines_of(kind, arguments.lines // 5, 3)]
    for name, tokenizer in variants({**trained, "lines": training}):
        faults += differences(arguments.program, name, tokenizer, few)
        count += len(few)
    for fault in faults[:40]:
        print(fault)
    print(f"{count} lines, {len(faults)} differ")
    if arguments.points:
        for name, points in every_point(arguments.program).items():
            print(f"{name}: {len(points)} code points differ", *points[:12])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
