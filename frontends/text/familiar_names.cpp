#include "frontends/text/familiar_names.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace dyn::text {

namespace {

constexpr FamiliarName kNames[] = {
    {"sum", "reduce_sum"},
    {"reducesum", "reduce_sum"},
    {"mean", "reduce_mean"},
    {"reducemean", "reduce_mean"},
    {"prod", "reduce_prod"},
    {"amax", "reduce_max"},
    {"amin", "reduce_min"},
    {"logsumexp", "reduce_log_sum_exp"},
    {"norm", "reduce_l2"},
    {"dot", "matmul"},
    {"mm", "matmul"},
    {"bmm", "matmul"},
    {"gemm", "matmul"},
    {"linear", "matmul"},
    {"cat", "concat"},
    {"concatenate", "concat"},
    {"permute", "transpose"},
    {"swapaxes", "transpose"},
    {"view", "reshape"},
    {"flatten", "reshape"},
    {"ravel", "reshape"},
    {"broadcast_to", "expand"},
    {"expand_dims", "unsqueeze"},
    {"arange", "range"},
    {"full", "constant_of_shape"},
    {"clamp", "clip"},
    {"power", "pow"},
    {"absolute", "abs"},
    {"negative", "neg"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"subtract", "sub"},
    {"eq", "equal"},
    {"gt", "greater"},
    {"lt", "less"},
    {"take", "gather"},
    {"index_select", "gather"},
    {"embedding", "gather"},
    {"conv1d", "conv"},
    {"conv2d", "conv"},
    {"conv3d", "conv"},
    {"nms", "non_max_suppression"},
    {"astype", "cast"},
    {"layernorm", "layer_norm"},
    {"layernormalization", "layer_norm"},
    {"batchnorm", "batch_norm"},
    {"batchnormalization", "batch_norm"},
};

}  // namespace

std::span<const FamiliarName> familiarNames() { return kNames; }

std::string_view ourName(std::string_view theirs) {
  std::string lower(theirs);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const FamiliarName& name) { return name.theirs == lower; });
  return found == std::end(kNames) ? std::string_view() : found->ours;
}

}  // namespace dyn::text
