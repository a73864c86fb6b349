// The versions of contractions with constant weights that a program may be made with: what prepack chooses
// among, what tuning measures and what the user may name. An operation is known by a key that says all a
// measurement depends on, bar the sizes of the other operand:
//
//   conv f32 w=64x3x7x7 s=2x2 d=1x1 g=1        matmul f32 k=768 n=3072
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ops/contraction/contraction_version.h"

namespace dyn::passes {

enum class ContractionKind : uint8_t { convolution, product };
const char* toString(ContractionKind kind);  // "conv", "matmul": the name a policy has

struct Contraction {
  ContractionKind kind = ContractionKind::product;
  std::string key;
  contraction::ConvolutionWindow window;  // of convolutions
  int64_t depth = 0, columns = 0;         // of products
  bool fitsLibrary = false;               // oneDNN can do it, where a build has it
  contraction::Version chosen;            // attribute way or schedule
};

// `op` is conv_packed or gemm_packed, whose packed operand is of `packed`; nullopt for any other operation.
std::optional<Contraction> contractionOf(const Op& op, Dtype packed);
// What it can be made with by Dyn's own kernels, Automatic first. Products may also be made with several of
// them, by the number of rows (contraction::Dispatch), and what fits a library with that, for all rows.
std::vector<contraction::Version> versionsOf(const Contraction& contraction);
bool isVersionOf(const Contraction& contraction, const contraction::Version& version);
std::optional<contraction::Version> parseVersion(ContractionKind kind, std::string_view text);

// The kind of contractions with that key; nullopt: it is no key.
std::optional<ContractionKind> kindOfKey(std::string_view key);

// Error usageError when there is no such version of "conv" or "matmul", or another operator is named.
Status checkPolicy(const std::string& kind, const std::string& version);

}  // namespace dyn::passes
