// Random transformers over padded batches, as text: what hides the padding, what happens between, and what
// becomes a result is chosen by a seed. The same seed gives the same program everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace dyn::ragged {

enum class MaskInput : uint8_t { ones, lengths };  // i64 [b, s] of 0 and 1, or i64 [b]

struct Encoder {
  std::string text;
  MaskInput mask = MaskInput::ones;
  bool isHidden = false;   // it returns a hidden state [b, s, 8], whole
  bool seesFirst = false;  // a result is that of the first position, whether the mask holds there or not
  bool isWhole = false;    // nothing in it looks across positions but attention
};

Encoder encoderOf(uint64_t seed);

// A batch to run it with. Lengths of 0 and 1 are among them.
struct Batch {
  int64_t batch = 0, sequence = 0;
  std::vector<bool> held;  // [b, s]: what the mask keeps
  bool holds(int64_t b, int64_t s) const { return held[static_cast<size_t>(b * sequence + s)]; }
};
std::vector<Batch> batchesFor(const Encoder& encoder, uint64_t seed);

enum class Padding : uint8_t { random, notANumber };  // of %x where the mask hides it

std::vector<HostTensor> inputsFor(const Encoder& encoder, const Batch& batch, uint64_t seed, Padding padding);

}  // namespace dyn::ragged
