// LevelWeights: what the iterations of a loop over levels of nodes read again and again: the weights of its
// products, and constants.
//
//   iteration 1: gemm reads panels of 4096 bytes, add a bias of 160     the same memory at
//   iteration 2: gemm reads panels of 4096 bytes, add a bias of 160     each iteration: 4256 bytes
//   iteration 1: gemm reads a matrix made in the loop                   written in the loop: no weights
//
// What a loop gathers rows of (states of nodes, their inputs) is no weights: a level reads a part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace dyn::vm {

struct Object;

// Whether arguments behind the first are the weights of a product.
bool multipliesByWeights(const std::string& builtin);

class LevelWeights {
 public:
  static constexpr size_t kMaximumParts = 100'000;  // of more the rest is not followed

  struct Sum {
    int64_t bytes = 0, count = 0;
  };
  // An instruction of iteration `iteration` (from 0), with the tensors that it reads and writes.
  // `weightsBegin`: from which argument on they may be weights though they are no constants of the module.
  void add(uint64_t iteration, std::span<Object* const> written, std::span<Object* const> read,
           size_t weightsBegin);
  // Of what each of so many iterations read, and none wrote.
  Sum sum(uint64_t iterationCount) const;

 private:
  struct Part {
    int64_t bytes = 0;
    uint64_t lastIteration = 0, iterationCount = 0;
  };
  std::map<const std::byte*, Part> parts_;       // by their first element
  std::map<const std::byte*, int64_t> written_;  // bytes
};

}  // namespace dyn::vm
