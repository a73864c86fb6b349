#!/usr/bin/env python3
"""No operator is named outside its family, where a trait of its row would do.  check_operator_names.py ROOT

What passes, lowering and views need to know of an operator stands in its row (compiler/ir/op_traits.h). Named are only:
1. the words of the IR itself (WORDS), anywhere in the compiler and the session;
2. what a rewriting pass matches as a pattern or makes: the files of REWRITES, with the operators of each;
3. anything, where the operators are defined, imported and tested (HOMES).
A list that got shorter is an error too: what is allowed is what is there."""
import pathlib
import re
import sys

HOMES = ("compiler/ops/", "compiler/infer/", "compiler/reference/", "frontends/", "tests/")
WORDS = set("""constant dims_value dim_value fused into strided device_copy alloc arena kill check bind_dims
               if loop match call invoke closure variant""".split())
REWRITES = {
    "app/engine/generalise/generalise.cpp": "gather matmul split unsqueeze",
    "app/engine/generalise/generaliser.cpp":
        "cast check_values concat expand gather gather_nd range reduce_prod reshape resize scatter_elements "
        "scatter_nd shape slice squeeze unsqueeze",
    "app/engine/generalise/generaliser_constants.cpp":
        "add cast div expand less_equal logical_not mul slice where",
    "app/engine/generalise/generaliser_ends.cpp": "cast",
    "app/engine/generalise/generaliser_lookup.cpp":
        "add average_pool cast concat expand gather identity max_pool mul scatter_elements "
        "scatter_nd slice unsqueeze",
    "app/engine/generalise/generaliser_numbers.cpp":
        "abs add argmax cast clip div einsum expand matmul max min mod mul neg pow range reduce_mean "
        "reduce_sum reshape squeeze sub topk transpose unsqueeze where",
    "app/engine/generalise/generaliser_second.cpp": "check_values reshape",
    "app/engine/generalise/generaliser_trace.cpp":
        "cast concat constant_of_shape conv cumsum expand eye_like gather gather_elements gather_nd "
        "layer_norm log_softmax matmul range reshape resize scatter_elements scatter_nd shape slice "
        "softmax split squeeze tile transpose trilu unsqueeze",
    "app/engine/generate/token_table.cpp": "cast gather",
    "app/session/answers/run_checks.cpp": "add cast expand gather identity range reshape squeeze tile transpose unsqueeze",
    # The rules by which elements of results come from elements of operands.
    "app/session/causes/cause_walk.cpp":
        "clip compress equal greater greater_equal less less_equal list list_append list_erase "
        "list_insert non_max_suppression nonzero range range_real shape size unique",
    "app/session/causes/element_sources.cpp":
        "append argmax argmin batch_norm center_crop_pad compress concat depth_to_space dequantize_linear "
        "expand gather gather_elements gather_nd hardmax identity layer_norm log_softmax lp_normalization "
        "matmul nonzero pad quantize_linear reduce_l1 reduce_l2 reduce_log_sum reduce_log_sum_exp "
        "reduce_max reduce_mean reduce_min reduce_prod reduce_sum reduce_sum_square reshape "
        "reverse_sequence rms_norm scatter_elements scatter_nd slice softmax space_to_depth split squeeze "
        "tile topk transpose trilu unsqueeze where",
    "app/session/causes/why_run.cpp":
        "gather_nd scatter_elements scatter_nd",
    # What the host code does: functions with their rows.
    "compiler/lower/data_lowering.cpp": "*",
    "compiler/lower/dim_lowering.cpp": "*",
    "compiler/lower/memory_lowering.cpp": "*",
    "compiler/lower/byte_rescale.cpp": "add cast conv_integer_packed dequantize_linear mul quantize_linear relu round",
    "compiler/passes/quantisation/byte_tables.cpp": "batch_norm cast dequantize_linear gather quantize_linear",
    "compiler/passes/fusion/fuse.cpp": "cast concat gather pad",
    "compiler/passes/quantisation/clone_dequantize.cpp": "dequantize_linear",
    "compiler/passes/padding/moved_positions.cpp": "gather range reshape",
    "compiler/passes/padding/canonicalise.cpp": "add div mul neg pad reshape slice softmax sub",
    "compiler/passes/rewrite/pointwise_product.cpp": "add matmul reshape unsqueeze",
    "compiler/passes/padding/positions.cpp": "conv",
    "compiler/passes/analysis/op_work.cpp": "recurrence",
    "compiler/passes/layout/fold_transposes.cpp": "matmul matmul_permuted transpose",
    "compiler/passes/memory/append.cpp": "append concat matmul matmul_permuted pad tensor_scatter",
    "compiler/passes/fusion/attention.cpp": "matmul matmul_permuted softmax",
    "compiler/passes/simplify/einsum_to_matmul.cpp": "einsum expand matmul transpose",
    "compiler/passes/layout/views.cpp": "reshape slice split",
    "compiler/passes/quantisation/few_bits.cpp": "cast dequantize_linear div gather matmul matmul_nbits mul range sub transpose",
    "compiler/passes/simplify/regrouped_rows.cpp": "expand matmul softmax transpose",
    "compiler/passes/simplify/scaled_rows.cpp": "add batch_norm mul",
    "compiler/passes/simplify/scaled_factors.cpp": "matmul mul",
    "compiler/passes/simplify/whole_scatter.cpp": "scatter_nd",
    "compiler/passes/simplify/moved_windows.cpp": "add cast deform_columns deform_conv matmul",
    "compiler/passes/rewrite/op_series.cpp": "reshape",
    "compiler/passes/layout/contraction_versions.cpp": "conv_packed gemm_packed",
    "compiler/passes/simplify/fold.cpp": "cast conv conv_transpose dequantize_linear matmul matmul_integer size transpose",
    "compiler/passes/layout/layout.cpp": "add conv_integer_packed conv_packed matmul mul pack_bytes pack_conv slice transpose",
    "compiler/passes/layout/layout_regions.cpp": "average_pool batch_norm concat conv conv_integer conv_transpose gather max_pool "
                                          "reduce_max reduce_mean reduce_min reduce_sum",
    "compiler/passes/layout/fold_pads.cpp": "conv pad",
    "compiler/passes/layout/prepack.cpp": "cast conv conv_integer conv_packed gemm_packed matmul matmul_integer "
                                   "matmul_integer_packed pack_b pack_bytes pack_conv transpose",
    "compiler/passes/quantisation/quantise.cpp": "add cast conv conv_integer dequantize_linear div dynamic_quantize_linear equal "
                                    "matmul matmul_integer max max_pool min mul quantize_linear reduce_max reduce_min relu "
                                    "round sub transpose unsqueeze where",
    "compiler/passes/quantisation/saturation.cpp": "clip quantize_linear relu",
    "compiler/passes/analysis/batch_rows.cpp": "conv_integer_packed conv_packed gemm_packed",
    "compiler/passes/tiling/batch_slices.cpp": "concat_from_sequence list list_append reshape",
    "compiler/passes/tiling/row_loop.cpp": "concat_from_sequence list list_append reshape",
    "compiler/passes/tiling/row_members.cpp": "average_pool conv_packed gemm_packed max_pool",
    "compiler/passes/tiling/slice_regions.cpp": "conv_integer_packed",
    # The rules by which operations on one instance become operations on many; an operator without one runs for each.
    "compiler/passes/many/axis_rules.cpp": "argmax argmin clip concat cumprod cumsum dequantize_linear hardmax layer_norm "
                                           "log_softmax lookup lp_normalization matmul_nbits one_hot quantize_linear reduce_l1 "
                                           "reduce_l2 reduce_log_sum reduce_log_sum_exp reduce_max reduce_mean reduce_min "
                                           "reduce_prod reduce_sum reduce_sum_square rms_norm softmax split topk trilu",
    "compiler/passes/many/branch_rule.cpp": "add concat cumsum expand gather logical_not min nonzero reshape shape sub where",
    "compiler/passes/many/image_rules.cpp": "average_pool batch_norm concat conv conv_integer conv_transpose depth_to_space "
                                            "grid_sample group_norm instance_norm lp_pool lrn max_pool reshape shape "
                                            "space_to_depth",
    "compiler/passes/many/index_rules.cpp": "concat expand gather gather_elements gather_nd range scatter_elements scatter_nd "
                                            "shape unsqueeze",
    "compiler/passes/many/instance_loop.cpp": "list_append list_at",
    "compiler/passes/many/loop_of_active.cpp": "add concat expand greater identity less list_append list_at list_length "
                                               "logical_and logical_not max range reduce_min reshape scatter_nd shape slice "
                                               "unsqueeze where",
    "compiler/passes/many/loop_rule.cpp": "transpose",
    "compiler/passes/many/many_body.cpp": "concat expand list reshape shape unsqueeze",
    "compiler/passes/many/many_module.cpp": "reshape",
    "compiler/passes/many/product_rules.cpp": "concat det einsum inverse matmul reshape shape squeeze unsqueeze",
    "compiler/passes/many/shape_rules.cpp": "concat expand eye_like pad reduce_prod reshape shape size slice squeeze tile "
                                            "transpose unsqueeze",
    "compiler/passes/many/vectorize.cpp": "list_length",
    "compiler/passes/recursion/batched_iterations.cpp": "concat expand gather gather_nd layer_norm log_softmax matmul mul reduce_l2 reduce_max "
                                         "reduce_mean reduce_min reduce_prod reduce_sum reshape rms_norm shape slice softmax split "
                                         "squeeze transpose unsqueeze",
    "compiler/passes/recursion/level_places.cpp": "add gather range slice sub",
    "compiler/passes/recursion/loop_levels.cpp": "cast gather levels max range reshape scatter_nd shape sub",
    "compiler/passes/recursion/recursion_levels.cpp": "add concat constant_of_shape gather list node_tables reshape scatter_nd shape sub",
    "compiler/passes/analysis/batch_independence.cpp": "cumprod cumsum matmul_nbits topk",
    "compiler/passes/recursion/forest_calls.cpp": "gather list_at list_length",
    "compiler/passes/recursion/node_loop.cpp": "gather scatter_nd",
    "compiler/passes/simplify/simplify.cpp": "add cast constant_of_shape div expand identity mul reshape squeeze sub transpose unsqueeze",
    "compiler/passes/padding/masked_attention.cpp": "add cast div equal is_nan matmul max mul reduce_max softmax where",
    "compiler/passes/padding/position_needs.cpp": "cast concat equal expand logical_not matmul mul transpose where",
    "compiler/passes/padding/split_heads.cpp": "matmul reshape softmax transpose",
    "compiler/passes/padding/pack_sequences.cpp": "softmax",
    "compiler/passes/padding/packed_recurrence.cpp": "add cast concat cumsum expand gather greater less mul range reduce_sum reshape scatter_nd "
        "slice sub topk transpose unsqueeze",
    "compiler/passes/padding/sequence_packer.cpp": "add cast conv cumsum equal expand gather gather_elements greater less logical_and "
                                    "logical_not logical_or mul nonzero packed_attention pad range reduce_sum reshape slice "
                                    "sub transpose unsqueeze where",
    "compiler/passes/padding/padded_recurrence.cpp": "cast gather less slice sub where",
    "compiler/passes/fusion/recurrent.cpp": "recurrence",
    "compiler/passes/fusion/recurrent_cell.cpp": "add gather gemm_packed less matmul mul relu sigmoid split sub tanh where",
    "compiler/passes/variants/variants.cpp": "pad slice",
    # The rows of its table are operators whose results hold elements of their operands.
    "compiler/passes/simplify/strings.cpp": "cast center_crop_pad compress concat depth_to_space expand gather gather_elements gather_nd identity lookup one_hot pad range "
                                   "reshape resize reverse_sequence scatter_elements scatter_nd slice space_to_depth split string_cast string_pick string_ranks tensor_scatter tile transpose trilu unique where",
    "compiler/passes/simplify/widen.cpp": "cast conv conv_transpose matmul transpose",
    "compiler/passes/ragged/ragged.cpp": "concat check_values identity logical_not packed_attention squeeze unsqueeze",
    "compiler/passes/ragged/ragged_across.cpp": "add check_values concat constant_of_shape div exp gather less_equal min mul range "
        "reduce_max reduce_mean reduce_min reduce_sum scatter_nd slice softmax squeeze sub unsqueeze where",
    "compiler/passes/ragged/ragged_apart.cpp": "add expand identity range reshape scatter_nd slice squeeze",
    "compiler/passes/ragged/ragged_attention.cpp": "add cast div greater greater_equal less less_equal logical_not matmul mul range softmax where",
    "compiler/passes/rewrite/op_maker.cpp": "cast gather reshape transpose",
    "compiler/passes/ragged/ragged_prelude.cpp": "add check_values concat cumsum div less_equal max min mod mul neg range reduce_sum sub "
        "unsqueeze",
    "compiler/passes/ragged/ragged_recurrence.cpp": "identity",
    "compiler/passes/ragged/ragged_windows.cpp": "add average_pool conv div less less_equal logical_and lp_pool max_pool pad slice sub "
        "where",
    "compiler/tune/trial_module.cpp": "conv matmul relu",  # makes the models it measures
}
NAMED = re.compile(r"\bops::(\w+?)Op\b")
COMPARED = re.compile(r"def(?:->|\.)name\s*(?:[!=]=|\.(?:substr|find|compare|starts_with))|(?:count|find|contains)\([^()]*def(?:->|\.)name\)")
# Below the table of operators there are only names: the words of the IR.
NAMES_ONLY = {"compiler/ir/printer.cpp"}


def main(root):
    faults, used = [], {path: set() for path in REWRITES}
    for folder in ("app", "compiler", "ui", "vm"):
        for path in sorted((root / folder).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix not in (".cpp", ".h", ".inc") or name.startswith(HOMES):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                if COMPARED.search(code) and name not in NAMES_ONLY:
                    faults.append(f"{name}:{number}: an operator is known by its name: give its row a trait (compiler/ir/op_traits.h)")
                for op in NAMED.findall(code):
                    allowed = REWRITES.get(name, "")
                    if op in WORDS or allowed == "*":
                        continue
                    if op in allowed.split():
                        used[name].add(op)
                    else:
                        faults.append(f"{name}:{number}: names the operator {op}: ask for a trait of its row "
                                      "(compiler/ir/op_traits.h), or add it to REWRITES where a pass matches or makes it")
    for path, allowed in REWRITES.items():
        if not (root / path).exists():
            faults.append(f"{path}: is in REWRITES and not there")
        elif allowed != "*":
            for op in sorted(set(allowed.split()) - used[path]):
                faults.append(f"{path}: does not name {op} any more: take it from REWRITES")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
