// ld and st of all spaces and types, one to four values at once.
#include <algorithm>
#include <bit>
#include <map>

#include "tests/simcuda/ptx/access.h"
#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

constexpr int kAddress = 4;  // the row of an address, behind those of the values

template <class T>
void load(Warp& w, const Op& op) {
  Bytes from;
  resolve(w, op, {op.space, static_cast<unsigned>(sizeof(T) * op.count), static_cast<Use>(op.variant)},
          addressesOf(w, op, kAddress), from);
  for (int k = 0; k < op.count; k++) {
    bool wide = op.target >> k & 1;
    for (uint32_t lanes = w.mask; lanes; lanes &= lanes - 1) {
      int l = std::countr_zero(lanes);
      T value;
      std::memcpy(&value, from[l] + k * sizeof(T), sizeof(T));
      if (wide) {
        slots<int64_t>(w, op.rows[k])[l] = static_cast<int64_t>(value);
      } else {
        slots<int32_t>(w, op.rows[k])[l] = static_cast<int32_t>(value);
      }
    }
  }
}

template <class T>
void store(Warp& w, const Op& op) {
  Bytes to;
  resolve(w, op, {op.space, static_cast<unsigned>(sizeof(T) * op.count), static_cast<Use>(op.variant)},
          addressesOf(w, op, kAddress), to);
  for (uint32_t lanes = w.mask; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    for (int k = 0; k < op.count; k++) {
      bool wide = op.target >> k & 1;
      auto value =
          static_cast<T>(wide ? slots<uint64_t>(w, op.rows[k])[l] : slots<uint32_t>(w, op.rows[k])[l]);
      std::memcpy(to[l] + k * sizeof(T), &value, sizeof(T));
    }
  }
}

Body bodyOf(MemoryType type, bool loads) {
  if (!loads)
    return type.bytes == 1   ? store<uint8_t>
           : type.bytes == 2 ? store<uint16_t>
           : type.bytes == 4 ? store<uint32_t>
                             : store<uint64_t>;
  if (type.isSigned)
    return type.bytes == 1   ? load<int8_t>
           : type.bytes == 2 ? load<int16_t>
           : type.bytes == 4 ? load<int32_t>
                             : load<int64_t>;
  return type.bytes == 1   ? load<uint8_t>
         : type.bytes == 2 ? load<uint16_t>
         : type.bytes == 4 ? load<uint32_t>
                           : load<uint64_t>;
}

const std::map<std::string, Space> kSpaces = {{"global", Space::Global}, {"shared", Space::Shared},
                                              {"local", Space::Local},   {"param", Space::Param},
                                              {"const", Space::Const},   {"shared::cta", Space::Shared}};

// What only says how caches shall behave.
bool isCacheHint(const std::string& part) {
  static const char* const kHints[] = {"ca", "cg",   "cs",  "lu",  "cv",  "wb",
                                       "wt", "weak", "cta", "gpu", "sys", "cluster"};
  return std::find(std::begin(kHints), std::end(kHints), part) != std::end(kHints) ||
         part.rfind("L1::", 0) == 0 || part.rfind("L2::", 0) == 0;
}

// ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];
void decodeAccess(Decoder& d, const Instruction& i, Op& op, bool loads) {
  d.expectOperands(i, 2);
  auto parts = Decoder::parts(i.opcode);
  MemoryType type = memoryType(parts.back());
  if (type.bytes == 0) d.fail("unknown type");
  op.count = 1;
  Use use = loads ? Use::Read : Use::Write;
  for (size_t k = 1; k + 1 < parts.size(); k++) {
    const std::string& part = parts[k];
    if (auto space = kSpaces.find(part); space != kSpaces.end()) {
      op.space = space->second;
    } else if (part == "v2" || part == "v4") {
      op.count = static_cast<uint8_t>(part[1] - '0');
    } else if (part == "nc" && loads) {
      use = Use::ReadConstant;
    } else if (part == "volatile" || part == "relaxed" || part == (loads ? "acquire" : "release")) {
      use = loads ? Use::AtomicRead : Use::AtomicWrite;
    } else if (!isCacheHint(part)) {
      d.fail("unknown opcode (." + part + ")");
    }
  }
  op.bytes = type.bytes;
  op.variant = static_cast<uint8_t>(use);
  op.run = bodyOf(type, loads);
  const Operand &values = i.operands[loads ? 0 : 1], &address = i.operands[loads ? 1 : 0];
  d.address(address, op, kAddress);
  bool several = values.kind == Operand::Kind::Vector;
  if (several != (op.count > 1) || (several && values.parts.size() != op.count))
    d.fail("other than " + std::to_string(op.count) + " values");
  for (int k = 0; k < op.count; k++) {
    const Operand& value = several ? values.parts[k] : values;
    Width width = type.bytes == 8 ? Width::Bits64 : Width::Bits32;
    if (value.kind == Operand::Kind::Nothing && loads) {
      op.rows[k] = d.scratch(type.bytes == 8);
    } else if (value.kind == Operand::Kind::Register || loads) {
      op.rows[k] = d.anyRegister(value, width);
      unsigned bytes = width == Width::Bits64   ? 8
                       : width == Width::Bits32 ? 4
                       : width == Width::Bits16 ? 2
                                                : 0;
      if (bytes < type.bytes) d.fail("a register is narrower than the access");
    } else {
      op.rows[k] = d.operand(value, type.bytes == 8 ? 'd' : 'w');
    }
    if (width == Width::Bits64) op.target |= 1u << k;
  }
  unsigned access = op.bytes;
  if (op.space == Space::Global || op.space == Space::Generic)
    d.code.globalGrain = std::min(d.code.globalGrain, access);
  if (op.space == Space::Shared || op.space == Space::Generic)
    d.code.sharedGrain = std::min(d.code.sharedGrain, access);
}

}  // namespace

void addMemoryOps(OpTable& t) {
  t.add("ld.*", [](Decoder& d, const Instruction& i, Op& op) { decodeAccess(d, i, op, true); });
  t.add("ldu.*", [](Decoder& d, const Instruction& i, Op& op) { decodeAccess(d, i, op, true); });
  t.add("st.*", [](Decoder& d, const Instruction& i, Op& op) { decodeAccess(d, i, op, false); });
}

}  // namespace simcuda
