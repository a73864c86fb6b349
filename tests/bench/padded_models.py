#!/usr/bin/env python3
"""Exports models over padded batches from public libraries, with random weights, open batch and length, and a mask or lengths among their inputs: what `packing_verdicts.py` reads.

    python3 tests/bench/padded_models.py FOLDER [NAME...]        --list prints the names

A name is ARCHITECTURE.WHAT.EXPORTER: what is returned (`hidden`, `first`: position 0, `mean` over the mask as sentence-transformers writes it, `classes`, `tokens`, `words`: a masked or
causal language model, `decoder`: of a decoder of two words that reads the encoder), and which exporter of PyTorch writes it (`traced`: TorchScript, `captured`: torch.export; `optimised`: traced, then onnxruntime's optimiser of transformers).
Needs torch, transformers, onnx, onnxscript, onnxruntime from PyPI.
"""
import exporting

WORDS = 100
NARROW = dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=128)
WIDE = dict(vocab_size=1000, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, max_position_embeddings=512)
GROUPED = NARROW | dict(num_key_value_heads=2)
GPT = dict(vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=128)
SEQ2SEQ = dict(vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
               decoder_ffn_dim=64, max_position_embeddings=128)
T5 = dict(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
SPEECH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 4, 2), conv_kernel=(10, 3, 2),
              num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, num_feat_extract_layers=3, vocab_size=WORDS)

# name -> (class without suffix, configuration, attention implementation)
ARCHITECTURES = {
    "bert": ("Bert", NARROW, "eager"),
    "bert_sdpa": ("Bert", NARROW, "sdpa"),
    "bert_base": ("Bert", WIDE, "sdpa"),
    "distilbert": ("DistilBert", dict(vocab_size=WORDS, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=128), "eager"),
    "distilbert_sdpa": ("DistilBert", dict(vocab_size=WORDS, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=128), "sdpa"),
    "roberta": ("Roberta", NARROW | dict(pad_token_id=1), "eager"),
    "roberta_sdpa": ("Roberta", NARROW | dict(pad_token_id=1), "sdpa"),
    "xlmr": ("XLMRoberta", NARROW | dict(pad_token_id=1), "sdpa"),
    "camembert": ("Camembert", NARROW | dict(pad_token_id=1), "eager"),
    "albert": ("Albert", NARROW | dict(embedding_size=16), "eager"),
    "albert_sdpa": ("Albert", NARROW | dict(embedding_size=16), "sdpa"),
    "electra": ("Electra", NARROW | dict(embedding_size=16), "eager"),
    "mpnet": ("MPNet", NARROW, "eager"),
    "mobilebert": ("MobileBert", NARROW | dict(embedding_size=32, intra_bottleneck_size=16), "eager"),
    "deberta": ("Deberta", NARROW | dict(relative_attention=True, pos_att_type=["p2c", "c2p"]), "eager"),
    "deberta_v2": ("DebertaV2", NARROW | dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16), "eager"),
    "modernbert": ("ModernBert", NARROW | dict(pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=8), "eager"),
    "modernbert_sdpa": ("ModernBert", NARROW | dict(pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=8), "sdpa"),
    "nomic_like_roformer": ("RoFormer", NARROW | dict(embedding_size=32), "eager"),
    "esm": ("Esm", NARROW | dict(position_embedding_type="rotary", pad_token_id=1, mask_token_id=2), "eager"),
    "t5": ("T5Encoder", T5, "eager"),
    "mt5": ("MT5Encoder", T5 | dict(feed_forward_proj="gated-gelu"), "eager"),
    "bart": ("BartEncoder", SEQ2SEQ, "eager"),
    "bart_sdpa": ("BartEncoder", SEQ2SEQ, "sdpa"),
    "gpt2": ("GPT2", GPT, "eager"),
    "gpt2_sdpa": ("GPT2", GPT, "sdpa"),
    "llama": ("Llama", GROUPED, "eager"),
    "llama_sdpa": ("Llama", GROUPED, "sdpa"),
    "qwen2": ("Qwen2", GROUPED, "sdpa"),
    "qwen3": ("Qwen3", GROUPED | dict(head_dim=8), "eager"),
    "mistral": ("Mistral", GROUPED | dict(sliding_window=4), "eager"),
    "opt": ("OPT", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=128, word_embed_proj_dim=32), "eager"),
    "bloom": ("Bloom", dict(vocab_size=WORDS, hidden_size=32, n_layer=2, n_head=4), "eager"),
    "xlnet": ("XLNet", dict(vocab_size=WORDS, d_model=32, n_layer=2, n_head=4, d_inner=64), "eager"),
    "longformer": ("Longformer", NARROW | dict(attention_window=4, pad_token_id=1, bos_token_id=0, eos_token_id=2), "eager"),
    "bigbird": ("BigBird", NARROW | dict(attention_type="original_full"), "eager"),
    "convbert": ("ConvBert", NARROW | dict(embedding_size=32, conv_kernel_size=3), "eager"),
    "squeezebert": ("SqueezeBert", NARROW | dict(embedding_size=32), "eager"),
    "ibert": ("IBert", NARROW | dict(pad_token_id=1), "eager"),
    "megatron_bert": ("MegatronBert", NARROW, "eager"),
    "data2vec_text": ("Data2VecText", NARROW | dict(pad_token_id=1), "sdpa"),
    "ernie": ("Ernie", NARROW, "sdpa"),
    "luke": ("Luke", NARROW | dict(entity_vocab_size=8, entity_emb_size=16, pad_token_id=1), "eager"),
    "splinter": ("Splinter", NARROW, "eager"),
    "layoutlm": ("LayoutLM", NARROW, "eager"),
    "xlm": ("XLM", dict(vocab_size=WORDS, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=128, pad_index=1), "eager"),
    "flaubert": ("Flaubert", dict(vocab_size=WORDS, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=128, pad_index=1), "eager"),
    "xmod": ("Xmod", NARROW | dict(pad_token_id=1, languages=("en_XX",), default_language="en_XX"), "sdpa"),
    "funnel": ("FunnelBase", dict(vocab_size=WORDS, d_model=32, n_head=4, d_head=8, d_inner=64, block_sizes=[2, 2], num_decoder_layers=1), "eager"),
    "nystromformer": ("Nystromformer", NARROW | dict(segment_means_seq_len=16, num_landmarks=4), "eager"),
    "nomic_bert": ("NomicBert", NARROW | dict(pad_token_id=0), "sdpa"),
    "eurobert": ("EuroBert", GROUPED | dict(pad_token_id=1), "sdpa"),
    "canine": ("Canine", NARROW | dict(num_hash_buckets=64, downsampling_rate=2, upsampling_kernel_size=2, local_transformer_stride=8), "eager"),
    "roc_bert": ("RoCBert", NARROW | dict(enable_shape=False, enable_pronunciation=False), "eager"),
    "umt5": ("UMT5Encoder", T5, "eager"),
    "mbart": ("MBartEncoder", SEQ2SEQ, "sdpa"),
    "pegasus": ("PegasusEncoder", SEQ2SEQ, "sdpa"),
    "m2m100": ("M2M100Encoder", SEQ2SEQ, "sdpa"),
    "marian": ("MarianEncoder", SEQ2SEQ | dict(pad_token_id=0), "sdpa"),
    "clip_text": ("CLIPText", NARROW, "sdpa"),
    "siglip_text": ("SiglipText", NARROW, "sdpa"),
    "clap_text": ("ClapText", NARROW | dict(pad_token_id=1), "eager"),
    "falcon": ("Falcon", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=False), "sdpa"),
    "falcon_alibi": ("Falcon", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True), "eager"),
    "mpt": ("Mpt", dict(vocab_size=WORDS, d_model=32, n_layers=2, n_heads=4, max_seq_len=128, expansion_ratio=2), "eager"),
    "gpt_neo": ("GPTNeo", dict(vocab_size=WORDS, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4, max_position_embeddings=128), "eager"),
    "gpt_neox": ("GPTNeoX", NARROW, "sdpa"),
    "gptj": ("GPTJ", GPT | dict(rotary_dim=4), "eager"),
    "codegen": ("CodeGen", GPT | dict(rotary_dim=4), "eager"),
    "phi": ("Phi", NARROW, "sdpa"),
    "gemma": ("Gemma", GROUPED | dict(head_dim=8), "sdpa"),
    "gemma2": ("Gemma2", GROUPED | dict(head_dim=8, sliding_window=4), "eager"),
    "stablelm": ("StableLm", GROUPED, "sdpa"),
    "starcoder2": ("Starcoder2", GROUPED, "sdpa"),
    "biogpt": ("BioGpt", NARROW, "sdpa"),
    "mamba": ("Mamba", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=4, expand=2), "eager"),
    "rwkv": ("Rwkv", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, intermediate_size=64, context_length=64), "eager"),
    "wav2vec2": ("Wav2Vec2", SPEECH, "eager"),
    "rembert": ("RemBert", NARROW | dict(input_embedding_size=16, output_embedding_size=16), "eager"),
    "longt5": ("LongT5Encoder", T5 | dict(local_radius=3, encoder_attention_type="local"), "eager"),
    "switch": ("SwitchTransformersEncoder", T5 | dict(num_experts=2, num_sparse_encoder_layers=1), "eager"),
    "xlmr_xl": ("XLMRobertaXL", NARROW | dict(pad_token_id=1), "eager"),
    "markuplm": ("MarkupLM", NARROW | dict(pad_token_id=1), "eager"),
    "tapas": ("Tapas", NARROW, "eager"),
    "visual_bert": ("VisualBert", NARROW, "eager"),
    "mra": ("Mra", NARROW | dict(block_per_row=1), "eager"),
    "fnet": ("FNet", NARROW, "eager"),
    "blenderbot": ("BlenderbotEncoder", SEQ2SEQ, "eager"),
    "plbart": ("PLBartEncoder", SEQ2SEQ, "eager"),
    "nllb_moe": ("NllbMoeEncoder", SEQ2SEQ | dict(num_experts=2, encoder_sparse_step=2), "eager"),
    "prophetnet": ("ProphetNetEncoder", dict(vocab_size=WORDS, hidden_size=32, encoder_ffn_dim=64, num_encoder_layers=2, num_encoder_attention_heads=4, decoder_ffn_dim=64,
                                             num_decoder_layers=1, num_decoder_attention_heads=4, max_position_embeddings=128), "eager"),
    "led": ("LEDEncoder", SEQ2SEQ | dict(attention_window=4, max_encoder_position_embeddings=128), "eager"),
    "align_text": ("AlignText", NARROW, "eager"),
    "chinese_clip_text": ("ChineseCLIPText", NARROW, "eager"),
    "groupvit_text": ("GroupViTText", NARROW, "eager"),
    "owlvit_text": ("OwlViTText", NARROW, "eager"),
    "x_clip_text": ("XCLIPText", NARROW, "eager"),
    "flava_text": ("FlavaText", NARROW, "eager"),
    "blip_text": ("BlipText", NARROW | dict(encoder_hidden_size=32), "eager"),
    "siglip2_text": ("Siglip2Text", NARROW, "sdpa"),
    "jina_v3": ("JinaEmbeddingsV3", NARROW | dict(pad_token_id=1), "sdpa"),
    "gpt_bigcode": ("GPTBigCode", GPT, "eager"),
    "cohere": ("Cohere", GROUPED, "sdpa"),
    "olmo": ("Olmo", GROUPED, "eager"),
    "olmo2": ("Olmo2", GROUPED, "sdpa"),
    "granite": ("Granite", GROUPED, "sdpa"),
    "glm": ("Glm", GROUPED | dict(head_dim=8, pad_token_id=0), "sdpa"),
    "phi3": ("Phi3", GROUPED | dict(pad_token_id=0, sliding_window=4), "eager"),
    "persimmon": ("Persimmon", NARROW, "eager"),
    "mixtral": ("Mixtral", GROUPED | dict(num_local_experts=2), "eager"),
    "qwen3_moe": ("Qwen3Moe", GROUPED | dict(head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32), "eager"),
    "gemma3": ("Gemma3Text", GROUPED | dict(head_dim=8, sliding_window=4), "sdpa"),
    "smollm3": ("SmolLM3", GROUPED | dict(pad_token_id=0), "sdpa"),
    "ctrl": ("CTRL", dict(vocab_size=WORDS, n_positions=128, n_embd=32, dff=64, n_layer=2, n_head=4), "eager"),
    "openai_gpt": ("OpenAIGPT", dict(vocab_size=WORDS, n_positions=128, n_embd=32, n_layer=2, n_head=4), "eager"),
    "xglm": ("XGLM", dict(vocab_size=WORDS, d_model=32, ffn_dim=64, num_layers=2, attention_heads=4, max_position_embeddings=128), "eager"),
    "gpt_neox_japanese": ("GPTNeoXJapanese", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_multiple_size=2, max_position_embeddings=128), "eager"),
    "helium": ("Helium", GROUPED | dict(head_dim=8), "sdpa"),
    "nemotron": ("Nemotron", GROUPED, "eager"),
    "exaone4": ("Exaone4", GROUPED | dict(sliding_window=4, sliding_window_pattern=2), "sdpa"),
    "glm4": ("Glm4", GROUPED | dict(head_dim=8, pad_token_id=0), "eager"),
    "diffllama": ("DiffLlama", GROUPED, "eager"),
    "ernie45": ("Ernie4_5", GROUPED | dict(head_dim=8), "sdpa"),
    "modernbert_decoder": ("ModernBertDecoder", NARROW | dict(pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=8), "sdpa"),
    "falcon_mamba": ("FalconMamba", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=4, expand=2), "eager"),
    "recurrent_gemma": ("RecurrentGemma", GROUPED | dict(lru_width=32, attention_window_size=8), "eager"),
    "lfm2": ("Lfm2", GROUPED | dict(layer_types=["conv", "full_attention"], conv_L_cache=3), "eager"),
    "wavlm": ("WavLM", SPEECH, "eager"),
    "data2vec_audio": ("Data2VecAudio", SPEECH | dict(conv_pos_kernel_size=3, num_conv_pos_embeddings=2), "eager"),
    "unispeech_sat": ("UniSpeechSat", SPEECH, "eager"),
    "sew_d": ("SEWD", SPEECH | dict(squeeze_factor=2, position_buckets=16, max_position_embeddings=64), "eager"),
    "wav2vec2_conformer": ("Wav2Vec2Conformer", SPEECH | dict(conv_depthwise_kernel_size=5), "eager"),
    "sew": ("SEW", SPEECH | dict(squeeze_factor=2), "eager"),
    "unispeech": ("UniSpeech", SPEECH, "sdpa"),
    "hubert": ("Hubert", SPEECH, "sdpa"),
}
HEADS = {"classes": "ForSequenceClassification", "tokens": "ForTokenClassification", "words": "ForMaskedLM", "next": "ForCausalLM", "spoken": "ForCTC"}
NAMES = []
for architecture in ("bert", "bert_sdpa"):
    NAMES += [f"{architecture}.{what}.{exporter}" for what in ("hidden", "first", "mean", "classes", "tokens", "words") for exporter in ("traced", "captured")]
NAMES += [f"{name}.{what}.{exporter}" for name in ("distilbert", "distilbert_sdpa", "roberta", "roberta_sdpa", "albert", "electra") for what in ("hidden", "mean", "classes") for exporter in ("traced", "captured")]
NAMES += [f"{name}.{what}.{exporter}" for name in ("xlmr", "camembert", "albert_sdpa", "mpnet", "mobilebert", "deberta", "deberta_v2", "modernbert", "modernbert_sdpa", "nomic_like_roformer", "esm",
                                                   "t5", "mt5", "bart", "bart_sdpa") for what in ("hidden", "mean") for exporter in ("traced", "captured")]
NAMES += [f"{name}.mean.{exporter}" for name in ("xlnet", "longformer", "bigbird", "convbert", "squeezebert", "ibert", "megatron_bert", "data2vec_text", "ernie", "luke", "splinter", "layoutlm", "xlm",
                                                 "flaubert", "xmod", "funnel", "nystromformer", "nomic_bert", "eurobert", "canine", "roc_bert", "umt5", "mbart", "pegasus", "m2m100", "marian", "clip_text",
                                                 "siglip_text", "clap_text", "falcon", "falcon_alibi", "mpt", "gpt_neo", "gpt_neox", "gptj", "codegen", "phi", "gemma", "gemma2", "stablelm", "starcoder2",
                                                 "biogpt", "mamba", "rwkv", "wavlm", "sew", "unispeech", "rembert", "longt5", "switch", "xlmr_xl", "markuplm", "tapas", "visual_bert",
                                                 "mra", "fnet", "blenderbot", "plbart", "nllb_moe", "prophetnet", "led", "align_text", "chinese_clip_text", "groupvit_text",
                                                 "owlvit_text", "x_clip_text", "flava_text", "blip_text", "siglip2_text", "jina_v3", "gpt_bigcode", "cohere", "olmo", "olmo2", "granite", "glm",
                                                 "phi3", "persimmon", "mixtral", "qwen3_moe", "gemma3", "smollm3", "ctrl", "openai_gpt", "xglm", "gpt_neox_japanese", "helium", "nemotron",
                                                 "exaone4", "glm4", "diffllama", "ernie45", "modernbert_decoder", "falcon_mamba", "recurrent_gemma", "lfm2", "data2vec_audio", "unispeech_sat",
                                                 "sew_d", "wav2vec2_conformer") for exporter in ("traced", "captured")]
NAMES += [f"{name}.{what}.{exporter}" for name in ("gpt2", "gpt2_sdpa", "llama", "llama_sdpa", "qwen2", "qwen3", "mistral", "opt", "bloom") for what in ("hidden", "mean", "next") for exporter in ("traced", "captured")]
NAMES += [f"{name}.{what}.{exporter}" for name in ("wav2vec2", "hubert") for what in ("hidden", "mean", "spoken") for exporter in ("traced", "captured")]
NAMES += [f"{name}.{what}.optimised" for name in ("bert", "distilbert", "roberta", "bert_sdpa") for what in ("hidden", "mean", "classes")]
NAMES += [f"{name}.decoder.{exporter}" for name in ("bart", "t5", "mbart", "marian", "m2m100", "pegasus", "plbart", "blenderbot") for exporter in ("traced", "captured")]
NAMES += [f"{kind}.{what}.traced" for kind in ("lstm", "gru", "rnn", "bilstm", "bilstm2") for what in ("hidden", "last", "mean")]
NAMES += [f"encoder_lengths.{what}.{exporter}" for what in ("hidden", "mean") for exporter in ("traced", "captured")]


def pooled(hidden, what, mask):
    if what == "first":
        return hidden[:, 0]
    if what == "mean":
        factor = mask.unsqueeze(-1).expand(hidden.size()).float()
        return (hidden * factor).sum(1) / factor.sum(1).clamp(min=1e-9)
    return hidden


def transformer(architecture, what):
    import torch
    import transformers
    kind, configuration, attention = ARCHITECTURES[architecture]
    base = kind.removesuffix("Encoder").removesuffix("Base")
    config = getattr(transformers, base + "Config")(**configuration)
    config._attn_implementation = attention
    config.use_cache = False
    if what in HEADS:
        model = getattr(transformers, "GPT2LMHeadModel" if base == "GPT2" else base + HEADS[what])(config)
    elif what == "decoder":
        model = getattr(transformers, base + "Model")(config)
    elif kind.endswith("Encoder") and not hasattr(transformers, kind + "Model"):
        model = getattr(transformers, base + "Model")(config).encoder
    else:
        model = getattr(transformers, kind + "Model")(config)
    speech = "conv_stride" in configuration

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model.eval()

        def forward(self, words, mask):
            if what == "decoder":
                return self.model(words, attention_mask=mask, decoder_input_ids=words[:, :2], return_dict=True).last_hidden_state
            result = self.model(words, attention_mask=mask, return_dict=True)
            if what in HEADS:
                return result.logits
            if speech and what == "mean":
                mask = self.model._get_feature_vector_attention_mask(result.last_hidden_state.shape[1], mask)
            return pooled(result.last_hidden_state, what, mask)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    if speech:
        sound_mask = torch.ones(2, 1600, dtype=torch.long)
        sound_mask[1, 1000:] = 0
        return Module(), [("input_values", torch.randn(2, 1600), ("batch", "samples")), ("attention_mask", sound_mask, ("batch", "samples"))]
    return Module(), [("input_ids", torch.randint(3, WORDS, (2, 9)), ("batch", "seq")), ("attention_mask", mask, ("batch", "seq"))]


def recurrent(kind, what):
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(WORDS, 24)
            cls = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}[kind.removeprefix("bi").rstrip("2")]
            self.cells = cls(24, 32, batch_first=True, bidirectional=kind.startswith("bi"), num_layers=2 if kind.endswith("2") else 1)

        def forward(self, words, lengths):
            packed = torch.nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
            y, state = self.cells(packed)
            hidden, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
            if what == "last":  # beside the whole: the exporter wants what is packed to be unpacked
                return state[0][-1] if isinstance(state, tuple) else state[-1], hidden
            return hidden.sum(1) / lengths.unsqueeze(1).float() if what == "mean" else hidden
    return Module().eval(), [("input_ids", torch.randint(3, WORDS, (3, 9)), ("batch", "seq")), ("lengths", torch.tensor([4, 9, 6]), ("batch",))]


def encoder_lengths(what):
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
            self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x, lengths):
            held = torch.arange(x.shape[1])[None] < lengths[:, None]
            return pooled(self.encoder(x, src_key_padding_mask=~held), what, held)
    torch.backends.mha.set_fastpath_enabled(False)
    return Module().eval(), [("x", torch.randn(2, 9, 32), ("batch", "seq")), ("lengths", torch.tensor([9, 5]), ("batch",))]


def export(name, path):
    import torch
    torch.manual_seed(0)
    architecture, what, exporter = name.split(".")
    if architecture in ARCHITECTURES:
        model, ports = transformer(architecture, what)
    elif architecture == "encoder_lengths":
        model, ports = encoder_lengths(what)
    else:
        model, ports = recurrent(architecture, what)
    model = model.eval()
    names, examples = [port[0] for port in ports], tuple(port[1] for port in ports)
    with torch.no_grad():
        if exporter == "captured":
            dims = {size: torch.export.Dim(size, min=2, max=4000) for port in ports for size in port[2]}
            sizes = tuple({axis: dims[size] for axis, size in enumerate(port[2])} for port in ports)
            torch.onnx.export(model, examples, path, input_names=names, output_names=["y"], dynamic_shapes=sizes, dynamo=True, external_data=False, verbose=False)
        else:
            axes = {port[0]: dict(enumerate(port[2])) for port in ports}
            torch.onnx.export(model, examples, path, input_names=names, output_names=["y"], dynamic_axes=axes, opset_version=17, dynamo=False)
    if exporter == "optimised":
        from onnxruntime.transformers import optimizer
        width, heads = 32, 4
        better = optimizer.optimize_model(str(path), model_type="bert", num_heads=heads, hidden_size=width, opt_level=0)
        better.save_model_to_file(str(path))


if __name__ == "__main__":
    exporting.main(__doc__, NAMES, export)
