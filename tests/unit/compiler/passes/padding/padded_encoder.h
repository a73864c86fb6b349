// Encoders over padded batches in text, masks of all kinds for them, and the program with pass
// `pack_sequences` beside the padded one.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {

// A layer of an encoder in text: %x [b, s, 8] becomes %NAME; %bias or %mask [b, 1, 1, s] hides keys.
struct Layer {
  std::string name, input, masked;
};

inline std::string textOf(const Layer& layer) {
  std::string text = R"(
  %N_q = transpose(reshape(matmul(%I, %wq), %split)) {perm = [0, 2, 1, 3]}
  %N_k = transpose(reshape(matmul(%I, %wk), %split)) {perm = [0, 2, 3, 1]}
  %N_v = transpose(reshape(matmul(%I, %wv), %split)) {perm = [0, 2, 1, 3]}
  %N_s = mul(matmul(%N_q, %N_k), f32[] 0.5)
  %N_m = MASKED
  %N_p = softmax(%N_m) {axis = -1}
  %N_z = transpose(matmul(%N_p, %N_v)) {perm = [0, 2, 1, 3]}
  %N_j = reshape(%N_z, %join)
  %N_a = layer_norm(add(%I, matmul(%N_j, %wo)), %g, %h)
  %N = layer_norm(add(%N_a, matmul(relu(matmul(%N_a, %up)), %down)), %g, %h)
)";
  for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
           {"MASKED", layer.masked}, {"%N", "%" + layer.name}, {"%I", "%" + layer.input}})
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  return text;
}

// `prologue` makes %e [b, s, 8] and what hides keys, `epilogue` returns something of %y.
inline std::string encoder(const std::string& parameters, const std::string& prologue,
                           const std::string& masked, const std::string& epilogue) {
  std::string text =
      "fn @main(" + parameters +
      R"(, %wq: Tensor[(8, 8), f32], %wk: Tensor[(8, 8), f32], %wv: Tensor[(8, 8), f32], %wo: Tensor[(8, 8), f32], %up: Tensor[(8, 12), f32], %down: Tensor[(12, 8), f32], %g: Tensor[(8), f32], %h: Tensor[(8), f32]) {
  %split = constant() {value = i64[4] [0, 0, 2, 4]}
  %join = constant() {value = i64[3] [0, 0, 8]}
)";
  text += prologue + textOf({"first", "e", masked}) + textOf({"y", "first", masked});
  return text + epilogue + "\n}";
}

inline const std::string kInputs = "%x: Tensor[(b, s, 8), f32], %attention: Tensor[(b, s), i64]";
inline const std::string kBias = R"(
  %e = tanh(%x)
  %u = unsqueeze(cast(%attention) {to = f32}, i64[2] [1, 2])
  %bias = mul(sub(f32[] 1, %u), f32[] -3.4e38)
)";
inline const std::string kFirstPosition =
    "  %c = slice(%y, i64[1] [0], i64[1] [1], i64[1] [1])\n  return tanh(%c)";

inline std::vector<HostTensor> weights() {
  std::vector<HostTensor> all;
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 12}, {12, 8}, {8}, {8}})
    all.push_back(randomTensor(Dtype::f32, shape, static_cast<uint32_t>(all.size()) + 10));
  return all;
}

inline std::vector<HostTensor> inputsFor(HostTensor x, HostTensor mask) {
  std::vector<HostTensor> inputs{std::move(x), std::move(mask)};
  for (HostTensor& w : weights()) inputs.push_back(std::move(w));
  return inputs;
}

// Masks of all kinds: all ones, prefixes, holes, rows of nothing.
inline std::vector<HostTensor> masksOf(int64_t b, int64_t s) {
  std::vector<HostTensor> masks;
  for (int kind = 0; kind < 4; ++kind) {
    HostTensor mask = *HostTensor::create(Dtype::i64, {b, s});
    std::mt19937 random(static_cast<uint32_t>(100 * kind + 10 * b + s));
    for (int64_t i = 0; i < b; ++i) {
      const int64_t length = s == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(s + 1));
      for (int64_t j = 0; j < s; ++j) {
        const bool hole = random() % 2 != 0;
        mask.setInt(i * s + j, kind == 0   ? 1
                               : kind == 1 ? j < length
                               : kind == 2 ? hole
                                           : i % 2 != 0 && hole);
      }
    }
    masks.push_back(std::move(mask));
  }
  return masks;
}

inline CompileOptions without(const std::string& pass) {
  CompileOptions options;
  options.passes = "-" + pass;
  return options;
}
inline CompileOptions unseen() { return {}; }  // the default
inline CompileOptions zeros() {
  CompileOptions options;
  options.paddedResults = "zero";
  return options;
}

inline std::unique_ptr<Compiled> compiledOf(const std::string& text, const CompileOptions& options,
                                            int threads = 1) {
  static std::vector<std::unique_ptr<IrContext>> contexts;
  contexts.push_back(std::make_unique<IrContext>());
  Result<Module> parsed = parseText(*contexts.back(), text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString() << text;
  if (!parsed.ok()) return nullptr;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options, threads);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

inline int64_t packedIn(const Compiled& program) {
  int64_t count = 0;
  for (const Op* op : program.model->trace.find("pack_sequences")->after.main()->ops)
    count += op->def->name == "packed_attention" ? 1 : 0;
  return count;
}

inline std::string remarksOf(const Compiled& program) {
  std::string all;
  for (const std::string& remark : program.model->trace.find("pack_sequences")->remarks) all += remark + "\n";
  return all;
}

inline constexpr std::array<std::array<int64_t, 2>, 9> kSizes = {
    {{1, 1}, {1, 7}, {3, 5}, {5, 1}, {2, 37}, {7, 13}, {0, 3}, {3, 0}, {0, 0}}};

// The program and the padded one give the same at all sizes and masks; `packed`: of so many attentions.
inline void expectAsPadded(const std::string& text, const CompileOptions& options, int64_t packed,
                           double tolerance = 1e-5) {
  const auto program = compiledOf(text, options), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(program && padded);
  EXPECT_EQ(packedIn(*program), packed) << remarksOf(*program);
  for (const auto& [b, s] : kSizes)
    for (const HostTensor& mask : masksOf(b, s)) {
      const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {b, s, 8}, 3), mask);
      Result<std::vector<HostTensor>> actual = program->run(inputs), expected = padded->run(inputs);
      const std::string what = "b = " + std::to_string(b) + ", s = " + std::to_string(s);
      ASSERT_EQ(actual.ok(), expected.ok()) << what << (actual.ok() ? "" : actual.error().toString());
      if (!actual.ok()) continue;
      for (size_t i = 0; i < actual->size(); ++i) expectClose((*actual)[i], (*expected)[i], what, tolerance);
    }
}

// Causal attention as decoders have it, beside the mask of keys and in one with it; the mean over the mask is
// the result.
inline const std::string kPlaces = R"(
  %e = tanh(%x)
  %held = cast(%attention) {to = bool}
  %keys = unsqueeze(%held, i64[2] [1, 2])
  %size = gather(shape(%x), i64[] 1)
  %range = range(i64[] 0, %size, i64[] 1)
  %row = unsqueeze(%range, i64[3] [0, 1, 3])
  %column = unsqueeze(%range, i64[3] [0, 1, 2])
  %before = less_equal(%column, %row)
  %factor = unsqueeze(cast(%held) {to = f32}, i64[1] [2])
)";

// The hidden state at kept positions is that of the padded program, for any mask.
inline void expectKeptAsPadded(const std::string& prologue, const std::string& masked, int64_t packed = 2) {
  const std::string text = encoder(kInputs, prologue, masked, "  return %y");
  const auto zero = compiledOf(text, zeros()), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(zero && padded);
  ASSERT_EQ(packedIn(*zero), packed) << remarksOf(*zero);
  for (const auto& [b, s] : kSizes)
    for (const HostTensor& mask : masksOf(b, s)) {
      const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {b, s, 8}, 3), mask);
      Result<std::vector<HostTensor>> actual = zero->run(inputs), expected = padded->run(inputs);
      ASSERT_TRUE(actual.ok() && expected.ok()) << (actual.ok() ? "" : actual.error().toString());
      HostTensor& wanted = (*expected)[0];
      for (int64_t i = 0; i < b * s; ++i)
        for (int64_t d = 0; d < 8 && mask.intAt(i) == 0; ++d) wanted.setReal(i * 8 + d, 0);
      expectClose((*actual)[0], wanted, "b = " + std::to_string(b) + ", s = " + std::to_string(s), 1e-5);
    }
}

}  // namespace dyn::test
