#!/usr/bin/env python3
"""Writes tokenizer.json: as many tokens as samples/models/gpt2 has scores for, trained on the pages of docs/ by the package tokenizers."""
import pathlib

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
VOCABULARY = 211

made = Tokenizer(models.BPE(unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
made.decoder = decoders.Metaspace(prepend_scheme="first")
pages = sorted((HERE.parents[1] / "docs").glob("*.md"))
made.train_from_iterator((page.read_text() for page in pages), trainers.BpeTrainer(
    vocab_size=VOCABULARY, special_tokens=["<unk>", "</s>"], limit_alphabet=90, show_progress=False))
made.save(str(HERE / "tokenizer.json"))
