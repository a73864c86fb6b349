// mov, also of several registers into one and back, and cvta: addresses of one space as generic ones.
#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

template <class T>
constexpr auto kCopy = [](T v) { return v; };

constexpr auto kBits = [](Width w) { return w == Width::Bits64 ? 64u : w == Width::Bits32 ? 32u : 16u; };

// mov.b64 %rd1, {%r1, %r2}     the first is the lowest
void join(Warp& w, const Op& op) {
  unsigned bits = op.variant;
  auto part = [&](int k, int l) -> uint64_t {
    return bits == 32 ? rowOf<uint32_t>(w, op.rows[k + 1])[l] : rowOf<uint16_t>(w, op.rows[k + 1])[l];
  };
  auto whole = [&](int l) {
    uint64_t v = 0;
    for (int k = 0; k < op.count; k++) v |= part(k, l) << (bits * k);
    return v;
  };
  if (bits * op.count == 64) {
    put<uint64_t>(w, op.rows[0], whole);
  } else {
    put<uint32_t>(w, op.rows[0], [&](int l) { return static_cast<uint32_t>(whole(l)); });
  }
}

// mov.b64 {%r1, _}, %rd1
void split(Warp& w, const Op& op) {
  unsigned bits = op.variant;
  uint64_t whole[kLanes];
  for (int l = 0; l < kLanes; l++) {
    whole[l] = bits * op.count == 64 ? rowOf<uint64_t>(w, op.rows[4])[l] : rowOf<uint32_t>(w, op.rows[4])[l];
  }
  for (int k = 0; k < op.count; k++) {
    if (op.target >> k & 1) continue;  // `_`
    if (bits == 32) {
      put<uint32_t>(w, op.rows[k], [&](int l) { return static_cast<uint32_t>(whole[l] >> (32 * k)); });
    } else {
      put<uint16_t>(w, op.rows[k], [&](int l) { return static_cast<uint16_t>(whole[l] >> (16 * k)); });
    }
  }
}

void decodeParts(Decoder& d, const Operand& vector, const Operand& whole, bool joins, Op& op) {
  char letter = 'h';
  for (const Operand& part : vector.parts) {
    if (part.kind == Operand::Kind::Register && d.widthOf(part) == Width::Bits32) letter = 'w';
  }
  op.variant = letter == 'w' ? 32 : 16;
  op.count = static_cast<uint8_t>(vector.parts.size());
  unsigned bits = op.variant * op.count;
  if (bits != 32 && bits != 64) d.fail("the parts make no whole of 32 or 64 bits");
  char wholeLetter = bits == 64 ? 'd' : 'w';
  op.run = joins ? join : split;
  op.rows[joins ? 0 : 4] = joins ? d.destination(whole, wholeLetter) : d.operand(whole, wholeLetter);
  for (int k = 0; k < op.count; k++) {
    if (!joins && vector.parts[k].kind == Operand::Kind::Nothing) {
      op.target |= 1u << k;
    } else {
      op.rows[joins ? k + 1 : k] =
          joins ? d.operand(vector.parts[k], letter) : d.destination(vector.parts[k], letter);
    }
  }
}

void addMove(OpTable& t, const std::string& type, char letter, Body body) {
  t.add("mov." + type, [letter, body](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 2);
    const Operand &to = i.operands[0], &from = i.operands[1];
    if (to.kind == Operand::Kind::Vector) return decodeParts(d, to, from, false, op);
    if (from.kind == Operand::Kind::Vector) return decodeParts(d, from, to, true, op);
    op.run = body;
    op.rows[0] = d.destination(to, letter);
    op.rows[1] = d.operand(from, letter);
  });
}

template <uint64_t kWindow>
void addAddress(OpTable& t, const std::string& space) {
  define<[](uint64_t v) { return v + kWindow; }, uint64_t, uint64_t>(t, "cvta." + space + ".u64");
  define<[](uint64_t v) { return v - kWindow; }, uint64_t, uint64_t>(t, "cvta.to." + space + ".u64");
  if (kWindow) {
    define<([](uint64_t v) { return (v >> 56) == (kWindow >> 56); }), bool, uint64_t>(t, "isspacep." + space);
  } else {
    define<([](uint64_t v) { return (v >> 56) == 0; }), bool, uint64_t>(t, "isspacep." + space);
  }
}

}  // namespace

void addMoveOps(OpTable& t) {
  for (const char* type : {"b16", "u16", "s16"})
    addMove(t, type, 'h', applyToLanes<kCopy<uint16_t>, uint16_t, uint16_t>);
  for (const char* type : {"b32", "u32", "s32", "f32"})
    addMove(t, type, 'w', applyToLanes<kCopy<uint32_t>, uint32_t, uint32_t>);
  for (const char* type : {"b64", "u64", "s64", "f64"})
    addMove(t, type, 'd', applyToLanes<kCopy<uint64_t>, uint64_t, uint64_t>);
  addMove(t, "pred", 'p', applyToLanes<kCopy<bool>, bool, bool>);
  addAddress<0>(t, "global");
  addAddress<0>(t, "const");
  addAddress<kSharedWindow>(t, "shared");
  addAddress<kLocalWindow>(t, "local");
  addAddress<kParamWindow>(t, "param");
}

}  // namespace simcuda
