"""Five vocabularies, trained here by the package tokenizers, and what other files ask for beside them."""
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers


def byte_level(lines, size):
    """As GPT-2 and RoBERTa."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<s>", "</s>", "<pad>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    made.add_tokens([AddedToken("wordy", single_word=True)])
    made.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    return made


def byte_fallback(lines, size):
    """As Llama 2."""
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = None
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    letters = sorted({letter for line in lines[:300] for letter in line if ord(letter) < 0x250})
    made.train_from_iterator((" ".join(line.split()) for line in lines), trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)],
        limit_alphabet=len(letters), initial_alphabet=letters, max_token_length=16, show_progress=False))
    made.add_special_tokens([AddedToken("<s>", normalized=False, special=True), AddedToken("</s>", normalized=False, special=True)])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


def word_pieces(lines, size):
    """As BERT."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=400, show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def unigram(lines, size):
    """As T5."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=size, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return made


def split_by_regex(lines, size):
    """As Llama 3 and Qwen: a regular expression, digits, bytes; whole words pass the merges by."""
    made = Tokenizer(models.BPE(ignore_merges=True))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
                             "isolated"),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])])
    return made


VOCABULARIES = {"byte_level": byte_level, "byte_fallback": byte_fallback, "word_pieces": word_pieces, "unigram": unigram, "split_by_regex": split_by_regex}


def variants(trained: dict):
    """Other normalizers, pre-tokenizers and decoders over the trained models."""
    def changed(name, **parts):
        made = Tokenizer.from_str(trained[name].to_str())
        for part, value in parts.items():
            setattr(made, part, value)
        return made

    def with_model(name, change):
        import json
        text = json.loads(trained[name].to_str())
        change(text)
        return Tokenizer.from_str(json.dumps(text))

    pre, norm = pre_tokenizers, normalizers
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        yield f"split {behavior}", changed("byte_level", pre_tokenizer=pre.Sequence([pre.Split(Regex(r"\d|[aeiou]+"), behavior), pre.ByteLevel()]))
        yield f"split {behavior} inverted", changed("byte_level", pre_tokenizer=pre.Sequence([pre.Split(" ", behavior, invert=True), pre.ByteLevel(use_regex=False, add_prefix_space=False)]))
        yield f"punctuation {behavior}", changed("word_pieces", pre_tokenizer=pre.Sequence([pre.WhitespaceSplit(), pre.Punctuation(behavior)]))
    for scheme in ("always", "first", "never"):
        yield f"metaspace {scheme}", changed("unigram", pre_tokenizer=pre.Metaspace(prepend_scheme=scheme), decoder=decoders.Metaspace(prepend_scheme=scheme))
        yield f"metaspace {scheme} whole", changed("unigram", pre_tokenizer=pre.Metaspace(prepend_scheme=scheme, split=False))
    yield "whitespace", changed("word_pieces", pre_tokenizer=pre.Whitespace())
    yield "digits", changed("word_pieces", pre_tokenizer=pre.Sequence([pre.Whitespace(), pre.Digits()]))
    yield "delimiter", changed("word_pieces", pre_tokenizer=pre.CharDelimiterSplit(" "))
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        yield form, changed("unigram", normalizer=getattr(norm, form)())
    yield "accents", changed("unigram", normalizer=norm.Sequence([norm.NFD(), norm.StripAccents(), norm.Lowercase(), norm.Strip()]))
    yield "strip left", changed("byte_fallback", normalizer=norm.Sequence([norm.Strip(right=False), norm.Prepend("x")]))
    yield "bytes", changed("byte_level", normalizer=norm.ByteLevel(), pre_tokenizer=None)
    yield "bert cased", changed("word_pieces", normalizer=norm.BertNormalizer(lowercase=False, handle_chinese_chars=False))
    yield "bert accents", changed("word_pieces", normalizer=norm.BertNormalizer(lowercase=False, strip_accents=True, clean_text=False))
    yield "no decoder", changed("word_pieces", decoder=None)
    yield "bert processing", changed("word_pieces", post_processor=processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))
    yield "unknown apart", with_model("byte_fallback", lambda text: text["model"].update(fuse_unk=False, byte_fallback=False))
    yield "unknown joined", with_model("byte_fallback", lambda text: text["model"].update(byte_fallback=False))
    yield "nothing unknown", with_model("byte_fallback", lambda text: text["model"].update(byte_fallback=False, unk_token=None))
    yield "normalized tokens", with_model("word_pieces", lambda text: text["added_tokens"].extend(
        [{"id": 9001, "content": "Wörter", "single_word": False, "lstrip": False, "rstrip": True, "normalized": True, "special": False},
         {"id": 9002, "content": "Straße", "single_word": True, "lstrip": True, "rstrip": True, "normalized": False, "special": True}]))
    truncated = changed("word_pieces")
    truncated.enable_truncation(9)
    yield "truncated", truncated
    truncated = changed("byte_level")
    truncated.enable_truncation(7, direction="left")
    yield "truncated left", truncated
    suffix = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    suffix.pre_tokenizer, suffix.decoder = pre.Whitespace(), decoders.BPEDecoder()
    suffix.train_from_iterator([text for text in trained["lines"]], trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=150, show_progress=False))
    yield "suffix", suffix
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre.Whitespace()
    words.train_from_iterator(trained["lines"], trainers.WordLevelTrainer(vocab_size=500, special_tokens=["[UNK]"], show_progress=False))
    yield "words", words
