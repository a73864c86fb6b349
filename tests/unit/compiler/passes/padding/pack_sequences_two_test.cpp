// Two padded batches in one program, each with a mask of its own: queries and documents. Both are computed
// without padding, with the results of the padded run.
#include <gmock/gmock.h>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

// A layer of attention over %I [n, s, 8] under %MASK [n, s], and the mean of what is kept: %N [n, 8].
std::string unpadTwoEncoder(std::string name, std::string input, std::string mask) {
  std::string text = R"(
  %N_bias = mul(sub(f32[] 1, unsqueeze(cast(%MASK) {to = f32}, i64[2] [1, 2])), f32[] -10000)
  %N_q = transpose(reshape(matmul(%I, %w), %split)) {perm = [0, 2, 1, 3]}
  %N_k = transpose(reshape(matmul(%I, %u), %split)) {perm = [0, 2, 3, 1]}
  %N_v = transpose(reshape(tanh(matmul(%I, %w)), %split)) {perm = [0, 2, 1, 3]}
  %N_p = softmax(add(mul(matmul(%N_q, %N_k), f32[] 0.5), %N_bias)) {axis = -1}
  %N_z = transpose(matmul(%N_p, %N_v)) {perm = [0, 2, 1, 3]}
  %N_y = layer_norm(add(%I, matmul(reshape(%N_z, %join), %u)), %g, %g)
  %N_kept = unsqueeze(cast(%MASK) {to = f32}, i64[1] [2])
  %N_sum = reduce_sum(mul(%N_y, %N_kept), i64[1] [1]) {keepdims = 0}
  %N = div(%N_sum, max(reduce_sum(%N_kept, i64[1] [1]) {keepdims = 0}, f32[] 1))
)";
  for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
           {"%N", "%" + name}, {"%I", "%" + input}, {"%MASK", "%" + mask}})
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  return text;
}

std::string unpadTwoProgram() {
  return R"(fn @main(%x: Tensor[(b, s, 8), f32], %xm: Tensor[(b, s), i64], %y: Tensor[(c, t, 8), f32], %ym: Tensor[(c, t), i64], %w: Tensor[(8, 8), f32], %u: Tensor[(8, 8), f32], %g: Tensor[(8), f32]) {
  %split = constant() {value = i64[4] [0, 0, 2, 4]}
  %join = constant() {value = i64[3] [0, 0, 8]}
)" + unpadTwoEncoder("query", "x", "xm") +
         unpadTwoEncoder("document", "y", "ym") +
         "  return matmul(%query, transpose(%document) {perm = [1, 0]})\n}";
}

HostTensor maskOf(const std::vector<int64_t>& lengths, int64_t longest) {
  const auto batch = static_cast<int64_t>(lengths.size());
  HostTensor mask = *HostTensor::create(Dtype::i64, {batch, longest});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < longest; ++s) mask.setInt(b * longest + s, s < lengths[static_cast<size_t>(b)]);
  return mask;
}

TEST(PackSequencesTwo, EachBatchUnderItsOwnMask) {
  CompileOptions unpadded;
  unpadded.paddedResults = "exact";
  IrContext context;
  Result<Module> parsed = parseText(context, unpadTwoProgram());
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, unpadded);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const auto& counters = compiled->trace.find("pack_sequences")->counters;
  EXPECT_EQ(counters.at("attentions"), 2);
  // As the reference says of the padded program.
  std::vector<std::vector<HostTensor>> sets;
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> batches = {
      {{3, 1, 5}, {7, 2}}, {{1}, {1, 1, 4}}, {{4, 4}, {6}}, {{2, 0, 3}, {1, 0}}, {{}, {3}}};
  for (const auto& [first, second] : batches) {
    const int64_t s = 5, t = 7;
    sets.push_back({randomTensor(Dtype::f32, {static_cast<int64_t>(first.size()), s, 8}, 1), maskOf(first, s),
                    randomTensor(Dtype::f32, {static_cast<int64_t>(second.size()), t, 8}, 2),
                    maskOf(second, t), randomTensor(Dtype::f32, {8, 8}, 3),
                    randomTensor(Dtype::f32, {8, 8}, 4), randomTensor(Dtype::f32, {8}, 5)});
  }
  expectSame(unpadTwoProgram(), sets, unpadded);
}

}  // namespace
}  // namespace dyn::test
