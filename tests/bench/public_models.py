#!/usr/bin/env python3
"""Exports public architectures with random weights as ONNX files with open sizes: what `./dev bench exported FOLDER` measures and compares.

    python3 tests/bench/public_models.py FOLDER [NAME...] [--wider TIMES]        --list prints the names

Image networks have their real widths; texts and sounds two narrow layers, as there the kinds of operations are what differs (`--wider 8`: 256 wide instead of 32). A model that the exporter refuses is reported and
passed over. Needs torch, torchvision, timm, transformers, onnx, onnxscript from PyPI (5 GB), half an hour and 6 GB for all.
"""
import exporting

WORDS = 100
NARROW = dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
DECODER = NARROW | dict(max_position_embeddings=128)
GROUPED = DECODER | dict(num_key_value_heads=2)
GPT = dict(vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=128)
SEQ2SEQ = dict(vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
               decoder_ffn_dim=64, max_position_embeddings=128)
SPEECH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 4, 2), conv_kernel=(10, 3, 2),
              num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, num_feat_extract_layers=3)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=64, patch_size=8)
PYRAMID = dict(depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32])

# Of transformers: name -> class without its suffix, configuration, inputs.
TRANSFORMERS = {
    "deberta": ("DebertaV2", NARROW | dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16), "text"),
    "mobilebert": ("MobileBert", NARROW | dict(embedding_size=32, intra_bottleneck_size=16), "text"),
    "squeezebert": ("SqueezeBert", NARROW | dict(embedding_size=32, q_groups=2, k_groups=2, v_groups=2, post_attention_groups=1, intermediate_groups=2, output_groups=2), "text"),
    "convbert": ("ConvBert", NARROW | dict(embedding_size=32, conv_kernel_size=3), "text"),
    "funnel": ("Funnel", dict(vocab_size=WORDS, d_model=32, n_head=4, d_head=8, d_inner=64, block_sizes=[1, 1]), "text"),
    "roformer": ("RoFormer", NARROW | dict(embedding_size=32, max_position_embeddings=128), "text"),
    "xlnet": ("XLNet", dict(vocab_size=WORDS, d_model=32, n_layer=2, n_head=4, d_inner=64), "text"),
    "modernbert": ("ModernBert", NARROW | dict(pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2, local_attention=8), "text"),
    "esm": ("Esm", NARROW | dict(position_embedding_type="rotary", pad_token_id=1, mask_token_id=2, max_position_embeddings=128), "text"),
    "rembert": ("RemBert", NARROW | dict(input_embedding_size=16, output_embedding_size=16), "text"),
    "falcon": ("FalconForCausalLM", NARROW | dict(alibi=False, multi_query=True), "text"),
    "gptj": ("GPTJForCausalLM", GPT | dict(rotary_dim=4), "text"),
    "codegen": ("CodeGenForCausalLM", GPT | dict(rotary_dim=4), "text"),
    "starcoder2": ("Starcoder2ForCausalLM", GROUPED | dict(sliding_window=4), "text"),
    "stablelm": ("StableLmForCausalLM", DECODER, "text"),
    "olmo2": ("Olmo2ForCausalLM", DECODER, "text"),
    "granite": ("GraniteForCausalLM", DECODER, "text"),
    "gemma3": ("Gemma3ForCausalLM", GROUPED | dict(head_dim=8, sliding_window=4), "text"),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | dict(head_dim=8), "text"),
    "mamba": ("MambaForCausalLM", dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=8), "words"),
    "xglm": ("XGLMForCausalLM", dict(vocab_size=WORDS, d_model=32, num_layers=2, attention_heads=4, ffn_dim=64, max_position_embeddings=128), "text"),
    "bart": ("Bart", SEQ2SEQ, "pair"),
    "pegasus": ("Pegasus", SEQ2SEQ, "pair"),
    "m2m": ("M2M100", SEQ2SEQ, "pair"),
    "hubert": ("Hubert", SPEECH, "sound"),
    "sew": ("SEW", SPEECH | dict(squeeze_factor=2), "sound"),
    "wavlm": ("WavLM", SPEECH, "sound"),
    "unispeech": ("UniSpeechSat", SPEECH, "sound"),
    "data2vec_audio": ("Data2VecAudio", SPEECH | dict(conv_pos_kernel_size=5), "sound"),
    "conformer": ("Wav2Vec2Conformer", SPEECH | dict(position_embeddings_type="relative"), "sound"),
    "dinov2": ("Dinov2", VISION, "picture"),
    "beit": ("Beit", VISION | dict(use_relative_position_bias=True), "picture"),
    "yolos": ("YolosForObjectDetection", VISION | dict(image_size=[64, 64], num_detection_tokens=7), "picture"),
    "videomae": ("VideoMAE", VISION | dict(num_frames=4), "film"),
    "timesformer": ("Timesformer", VISION | dict(num_frames=4), "film"),
    "segformer": ("SegformerForSemanticSegmentation", PYRAMID | dict(num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16), "image"),
    "glpn": ("GLPNForDepthEstimation", PYRAMID | dict(num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16), "image"),
    "poolformer": ("PoolFormer", PYRAMID, "image"),
    "convnextv2": ("ConvNextV2", dict(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1]), "image"),
    "swin2sr": ("Swin2SRForImageSuperResolution", dict(image_size=16, embed_dim=16, depths=[2], num_heads=[2], window_size=4), "image"),
}
WIDTHS = set("""hidden_size intermediate_size n_embd d_model encoder_ffn_dim decoder_ffn_dim embedding_size d_inner d_head head_dim conv_dim hidden_sizes embed_dim
                input_embedding_size output_embedding_size intra_bottleneck_size decoder_hidden_size max_position_embeddings n_positions""".split())


def widen(times):
    for name, (kind, configuration, inputs) in TRANSFORMERS.items():
        wider = {key: value if key not in WIDTHS else value * times if isinstance(value, int) else type(value)(size * times for size in value)
                 for key, value in configuration.items()}
        TRANSFORMERS[name] = (kind, wider, inputs)


TORCHVISION = ("mnasnet0_5 shufflenet_v2_x1_0 googlenet inception_v3 efficientnet_v2_s convnext_tiny swin_v2_t lraspp_mobilenet_v3_large fcn_resnet50 "
               "mobilenet_v2 mobilenet_v3_small resnet18 resnet50 resnext50_32x4d densenet121 squeezenet1_1 regnet_y_400mf regnet_x_400mf deeplabv3_mobilenet_v3_large").split()
VIDEOS = "r3d_18 mc3_18 r2plus1d_18".split()
DETECTORS = ("retinanet_resnet50_fpn fcos_resnet50_fpn maskrcnn_resnet50_fpn keypointrcnn_resnet50_fpn fasterrcnn_mobilenet_v3_large_320_fpn "
             "ssdlite320_mobilenet_v3_large").split()
TIMM = ("edgenext_xx_small xcit_nano_12_p16_224 hrnet_w18_small res2net50_26w_4s dla34 eca_nfnet_l0 ghostnet_100 repvgg_a2 mobilenetv4_conv_small mobileone_s0 fastvit_t8 "
        "resnest14d selecsls42b skresnet18 cspresnet50 vovnet39a lambda_resnet26t inception_next_tiny starnet_s1 regnety_002 efficientvit_b0 mambaout_femto sequencer2d_s "
        "hgnet_tiny rexnet_100 tinynet_e").split()
NAMES = [*TRANSFORMERS, *TORCHVISION, *VIDEOS, *DETECTORS, *TIMM]


def inputs_of(kind):
    """(name, example, {axis: name of the size}) of each input."""
    import torch
    words = lambda length: torch.randint(3, WORDS, (2, length))
    text = [("input_ids", words(9), {0: "batch", 1: "seq"}), ("attention_mask", torch.ones(2, 9, dtype=torch.long), {0: "batch", 1: "seq"})]
    return {
        "text": text,
        "words": text[:1],
        "pair": text + [("decoder_input_ids", words(5), {0: "batch", 1: "decoded"})],
        "sound": [("input_values", torch.randn(2, 4000), {0: "batch", 1: "samples"})],
        "picture": [("pixel_values", torch.randn(2, 3, 64, 64), {0: "batch"})],
        "film": [("pixel_values", torch.randn(2, 4, 3, 64, 64), {0: "batch"})],
        "image": [("pixel_values", torch.randn(2, 3, 64, 64), {0: "batch", 2: "h", 3: "w"})],
        "photo": [("image", torch.rand(3, 160, 192), {1: "h", 2: "w"})],
        "clip": [("clip", torch.randn(1, 3, 8, 64, 64), {0: "batch", 2: "frames", 3: "h", 4: "w"})],
    }[kind]


def tensors_of(result):
    """The tensors of what a model returns, at most three."""
    import torch
    if isinstance(result, torch.Tensor):
        return (result,)
    values = result.values() if hasattr(result, "values") else result
    return tuple(value for value in values if isinstance(value, torch.Tensor))[:3]


def plain(model, call):
    """`model` as a module with tensors in and out; call(model, tensors) -> result."""
    import torch

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model.eval()

        def forward(self, *tensors):
            return tensors_of(call(self.model, tensors))
    return Plain().eval()


def transformer(name):
    import transformers
    kind, configuration, inputs = TRANSFORMERS[name]
    base = kind.split("For")[0]
    config_class = {"Gemma3": "Gemma3Text"}.get(base, base) + "Config"
    model_class = getattr(transformers, kind if "For" in kind else kind + "Model")
    for attention in ("sdpa", "eager"):
        config = getattr(transformers, config_class)(**configuration)
        config._attn_implementation = attention
        try:
            model = model_class(config)
            break
        except (ValueError, AttributeError):
            if attention == "eager":
                raise
    model.config.use_cache = False
    ports = inputs_of(inputs)
    return plain(model, lambda m, tensors: m(**dict(zip([port[0] for port in ports], tensors)), return_dict=True)), ports


def model_of(name):
    if name in TRANSFORMERS:
        return transformer(name)
    if name in TIMM:
        import timm
        return plain(timm.create_model(name, pretrained=False), lambda m, tensors: m(*tensors)), inputs_of("image")
    import torchvision
    if name in DETECTORS:
        sizes = {} if "ssdlite" in name else dict(min_size=160, max_size=256)
        model = torchvision.models.get_model(name, weights=None, weights_backbone=None, **sizes)
        return plain(model, lambda m, tensors: m([tensors[0]])[0]), inputs_of("photo")
    more = dict(init_weights=False) if name in ("googlenet", "inception_v3") else {}
    if name.startswith(("lraspp", "fcn", "deeplab")):
        more = dict(weights_backbone=None)
    ports = inputs_of("clip" if name in VIDEOS else "image")
    if name == "inception_v3":
        import torch
        ports = [(ports[0][0], torch.randn(2, 3, 128, 128), ports[0][2])]
    return plain(torchvision.models.get_model(name, weights=None, **more), lambda m, tensors: m(*tensors)), ports


def export(name, path):
    """By the exporter that traces, else by the one that captures graphs; the reason where neither can."""
    import torch
    reasons = []
    for captures in (False, True):
        try:
            torch.manual_seed(0)
            model, ports = model_of(name)
            names, examples = [port[0] for port in ports], tuple(port[1] for port in ports)
            with torch.no_grad():
                if captures:
                    sizes = {port[0]: {axis: torch.export.Dim(size) for axis, size in port[2].items()} for port in ports}
                    torch.onnx.export(model, examples, path, input_names=names, dynamic_shapes=(tuple(sizes.values()),), dynamo=True, external_data=False, verbose=False)
                else:
                    torch.onnx.export(model, examples, path, input_names=names, dynamic_axes={port[0]: port[2] for port in ports}, opset_version=17, dynamo=False)
            return ""
        except TimeoutError:
            raise
        except Exception as fault:
            path.unlink(missing_ok=True)
            reasons.append(exporting.reason_of(fault, 120))
    return " | ".join(reasons)


if __name__ == "__main__":
    exporting.main(__doc__, NAMES, export, [("--wider", dict(type=int, default=1, help="as many times as wide, where networks are narrow"), widen)])
