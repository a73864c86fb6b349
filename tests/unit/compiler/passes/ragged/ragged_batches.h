// Batches of sequences of different lengths for tests: their rows and lengths, and programs over them.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {

// Lengths of 0 and 1, primes, batches of nothing.
inline const std::vector<std::vector<int64_t>> kBatches = {
    {3, 0, 2}, {1}, {0}, {}, {0, 0}, {1, 1, 1, 1}, {5, 1, 0, 7, 2}, {37, 2}, {0, 4}, {13, 0, 0, 1, 0}};

inline HostTensor lengthsOf(const std::vector<int64_t>& lengths) {
  return HostTensor::vectorInt(Dtype::i64, lengths);
}

inline int64_t rowsOf(const std::vector<int64_t>& lengths) {
  int64_t rows = 0;
  for (int64_t length : lengths) rows += length;
  return rows;
}

inline HostTensor rows(const std::vector<int64_t>& lengths, std::vector<int64_t> shape, uint32_t seed,
                       Dtype dtype = Dtype::f32) {
  shape.insert(shape.begin(), rowsOf(lengths));
  return randomTensor(dtype, shape, seed);
}

// What the compiler says of it; "": it compiles.
inline std::string refusalOf(const std::string& text) {
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  if (!parsed.ok()) return parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, {});
  return compiled.ok() ? "" : compiled.error().toString();
}

// A counter of the pass `ragged`; 0 where it does not speak of it.
inline int64_t counterOf(const std::string& text, const std::string& name) {
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, {});
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  if (!compiled.ok()) return -1;
  const auto& counters = compiled->trace.find("ragged")->counters;
  return counters.count(name) ? counters.at(name) : 0;
}

}  // namespace dyn::test
