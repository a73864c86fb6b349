// op.h — a decoded instruction, and the table that says how each spelling of an opcode is decoded.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tests/simcuda/ptx/program.h"
#include "tests/simcuda/ptx/warp.h"

namespace simcuda {

// How the scheduler of lanes treats an instruction (schedule.cpp).
enum class OpKind : uint8_t {
  Plain,         // its body, and on
  Branch,        // to `target`
  BranchTable,   // to targets of a table by a row
  End,           // ret, exit
  WarpSync,      // waits for the lanes it names, then its body for all of them at once
  BlockBarrier,  // waits for all threads of the block
};

using Body = void (*)(Warp&, const Op&);

struct Op {
  Body run = nullptr;
  OpKind kind = OpKind::Plain;
  bool guarded = false, guardNegated = false;
  bool needsAll =
      false;  // WarpSync: lanes that have ended are missed (mma, bar.warp.sync), not passed over (shfl)
  bool secondRow = false;   // there is a second result (the predicate of shfl)
  bool hasMembers = false;  // WarpSync: the lanes it waits for are a row; else all
  Row members = 0;
  Row guard = 0;
  Row rows[16] = {};  // results first, then operands, in the order of the text
  uint8_t count = 0;  // registers of a vector: ld.v4, ldmatrix.x4
  Space space = Space::Generic;
  uint8_t bytes = 0;     // of one element in memory
  uint8_t variant = 0;   // what a body tells its spellings apart by
  int64_t offset = 0;    // of an address
  bool hasBase = false;  // an address that begins at a register, the first operand row
  bool baseIsWide = false;
  uint32_t target = 0;  // Branch: index; BranchTable: of the table
  const Instruction* text = nullptr;
};

struct Decoder;  // decode.h

// What decodes a spelling: a body with the widths of its operands, or a function of its own.
struct OpRow {
  Body body = nullptr;
  std::string widths;  // one letter an operand, results first: p predicate, h 16 bits, w 32, d 64
  std::function<void(Decoder&, const Instruction&, Op&)> decode;
};

// All spellings that are known; what is in none of them does not load.
class OpTable {
 public:
  // `widths` of add.f64: "ddd".
  void add(const std::string& spelling, const std::string& widths, Body body) {
    rows_[spelling] = {body, widths, nullptr};
  }
  void add(const std::string& spelling, std::function<void(Decoder&, const Instruction&, Op&)> decode) {
    rows_[spelling] = {nullptr, "", std::move(decode)};
  }
  const OpRow* find(const std::string& spelling) const {
    auto it = rows_.find(spelling);
    return it == rows_.end() ? nullptr : &it->second;
  }
  size_t size() const { return rows_.size(); }

  // Made once; the bodies' files below each add theirs.
  static const OpTable& get();

 private:
  std::unordered_map<std::string, OpRow> rows_;
};

void addIntegerOps(OpTable&);
void addBitOps(OpTable&);
void addFloatOps(OpTable&);
void addApproximateOps(OpTable&);
void addSmallFloatOps(OpTable&);
void addCompareOps(OpTable&);
void addConvertOps(OpTable&);
void addMoveOps(OpTable&);
void addMemoryOps(OpTable&);
void addAtomicOps(OpTable&);
void addCopyOps(OpTable&);
void addControlOps(OpTable&);
void addWarpOps(OpTable&);
void addMatrixOps(OpTable&);

// Letter of an operand of type T in `widths`, and its name in an opcode.
template <class T>
constexpr char widthLetter() {
  if constexpr (std::is_same_v<T, bool>) return 'p';
  return sizeof(T) == 8 ? 'd' : sizeof(T) == 4 ? 'w' : 'h';
}
template <class... T>
std::string widthLetters() {
  return {widthLetter<T>()...};
}
template <class T>
std::string typeName() {
  if constexpr (std::is_same_v<T, Half>) {
    return "f16";
  } else if constexpr (std::is_same_v<T, Bfloat>) {
    return "bf16";
  } else {
    return (std::is_floating_point_v<T> ? "f"
            : std::is_signed_v<T>       ? "s"
                                        : "u") +
           std::to_string(8 * sizeof(T));
  }
}

}  // namespace simcuda
