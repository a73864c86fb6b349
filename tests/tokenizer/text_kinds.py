"""Lines of five kinds of text, the same in every run: what tokenizers are trained on and compared by."""
import json
import pathlib
import random

LATIN = "Die Straße führt über schöne Brücken, durch Täler und Wälder; wer Äpfel mag, ißt sie im Herbst – „gewiß“ sagte Jürgen.".split()
CHINESE = "形状是开放的，网络一次编译，就能处理任何长度。今天天气很好，我们去公园散步吧！数据表明：性能提高了百分之三十。"
ARABIC = "الشبكة العصبية تُترجَم مرة واحدة وتعمل مع كل الأطوال والأحجام؛ السلام عليكم ورحمة الله".split()
OTHERS = "Ёлка Привет мир Ελληνικά ΚΌΣΜΟΣ İstanbul naïve café résumé हिन्दी भाषा ไทย 한국어 조합 ﬁne ﬂow Å Ⅷ ½ ① ａｂｃ ＡＢＣ ǆ ß ẞ".split()
EMOJI = ["😀", "🎉", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "✨", "🤖", "𝒜𝓁𝑔", "¯\\_(ツ)_/¯"]
BLANKS = [" ", "  ", "    ", "\t", "\t\t", "\u00a0", "\u3000", "\u2009", "\r", "\u200b", "\u0085"]
SPECIAL = ["<s>", "</s>", "<pad>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "<unk>", "[UNK]", "<|endoftext|>", " <mask> ", "wordy"]


def code(source, random):
    return random.choice(source)


def languages(source, random):
    words = []
    for _ in range(random.randint(1, 12)):
        kind = random.randrange(5)
        if kind == 0:
            words += random.sample(LATIN, random.randint(1, 4))
        elif kind == 1:
            begin = random.randrange(len(CHINESE) - 8)
            words.append(CHINESE[begin:begin + random.randint(1, 8)])
        elif kind == 2:
            words.append(random.choice(ARABIC))
        elif kind == 3:
            words.append(random.choice(OTHERS))
        else:
            words.append(random.choice(EMOJI))
    return random.choice(["", " "]) + random.choice([" ", " ", ""]).join(words)


def numbers(source, random):
    kinds = [lambda: str(random.randrange(10 ** random.randint(1, 20))), lambda: f"{random.uniform(-1e6, 1e6):.{random.randint(0, 9)}g}",
             lambda: hex(random.randrange(1 << 32)), lambda: f"{random.randrange(24):02}:{random.randrange(60):02}",
             lambda: f"{random.randrange(10**9):,}", lambda: "".join(chr(0x660 + random.randrange(10)) for _ in range(4)),
             lambda: random.choice("²³½¼①⑳Ⅳ〇")]
    return random.choice([" ", "", ", ", "-"]).join(random.choice(kinds)() for _ in range(random.randint(1, 9)))


def blanks(source, random):
    parts = []
    for _ in range(random.randint(1, 8)):
        parts.append(random.choice(BLANKS) * random.randint(1, 6))
        parts.append(random.choice(["a", "word", "I'll", "don't", "x=1;", "▁", "", "##ing", "Wörter", random.choice(SPECIAL)]))
    return "".join(parts)


def noise(source, random):
    return bytes(random.randrange(256) for _ in range(random.randint(1, 60))).decode("utf-8", "replace")


KINDS = {"code": code, "languages": languages, "numbers": numbers, "blanks": blanks, "noise": noise}


def lines_of(kind: str, count: int, seed: int) -> list:
    generator = random.Random(f"{kind} {seed}")
    source = [line for line in pathlib.Path(json.__file__).with_name("decoder.py").read_text().splitlines() if line]
    return [KINDS[kind](source, generator) for _ in range(count)]
