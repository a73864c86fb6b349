// code.h — a kernel decoded: what the lanes run, and how large its rows, shared and local memory are.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simcuda/ptx/op.h"
#include "tests/simcuda/ptx/program.h"

namespace simcuda {

// Generic addresses of what lies in no device memory: a window for each space.
constexpr uint64_t kSharedWindow = 0x5aull << 56, kLocalWindow = 0x5bull << 56, kParamWindow = 0x5cull << 56;

struct ConstantRow {
  Row row;
  bool wide;
  uint64_t bits;
};
struct SpecialRow {
  Row row;
  bool wide;
  std::string name;
};

struct KernelCode {
  std::string name;
  std::vector<Op> ops;
  uint32_t rowBytes = 0;
  std::vector<Row> registerRows;  // by the registers of `text`
  std::vector<ConstantRow> constants;
  std::vector<SpecialRow> specials;
  std::vector<std::vector<uint32_t>> tables;  // targets of brx.idx
  uint32_t parameterBytes = 0;
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  // offset and bytes of each
  uint32_t sharedBytes = 0;                               // static; dynamic memory begins after it
  uint32_t localBytes = 0;                                // of one thread
  unsigned globalGrain = 4, sharedGrain = 4;              // the narrowest access, at most 4
  std::array<uint32_t, 3> maxThreads{}, requiredThreads{};
  const KernelText* text = nullptr;
  const ModuleText* module = nullptr;
};

// Where variables of the module lie in device memory, by name.
using GlobalAddresses = std::map<std::string, uint64_t>;

// Throws LoadError. What is returned points into both texts.
std::unique_ptr<KernelCode> decodeKernel(const ModuleText& module, const KernelText& kernel,
                                         const GlobalAddresses& globals);

}  // namespace simcuda
