// atom and red: a value in global or shared memory is read and replaced at once, lane by lane.
#include <algorithm>
#include <bit>

#include "tests/simcuda/ptx/access.h"
#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

// Rows: result, operand, second operand of cas, address.
constexpr int kAddress = 3;

template <auto F, class T, bool kReturns>
void atomic(Warp& w, const Op& op) {
  Bytes at;
  resolve(w, op, {op.space, sizeof(T), Use::Atomic}, addressesOf(w, op, kAddress), at);
  w.block->launch.counters.atomics += std::popcount(w.mask);
  Values<T> x = rowOf<T>(w, op.rows[1]), y = rowOf<T>(w, op.rows[2]);
  for (uint32_t lanes = w.mask; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    T old;
    std::memcpy(&old, at[l], sizeof(T));
    T fresh = F(old, x[l], y[l]);
    std::memcpy(at[l], &fresh, sizeof(T));
    if (kReturns) slots<T>(w, op.rows[0])[l] = InRow<T>::store(old);
  }
}

struct Operation {
  Body returning, plain;
  unsigned bytes;
  int operands;
};
using Table = std::unordered_map<std::string, Operation>;

template <auto F, class T>
void add(Table& table, const std::string& name, int operands = 1) {
  table[name] = {atomic<F, T, true>, atomic<F, T, false>, sizeof(T), operands};
}

template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>;

template <class T>
void addArithmetic(Table& table) {
  std::string type = "." + typeName<T>();
  using U = typename Wrapping<T>::type;
  add<[](T old, T x, T) { return static_cast<T>(static_cast<U>(old) + static_cast<U>(x)); }, T>(table,
                                                                                                "add" + type);
  if constexpr (std::is_integral_v<T>) {
    add<[](T old, T x, T) { return std::min(old, x); }, T>(table, "min" + type);
    add<[](T old, T x, T) { return std::max(old, x); }, T>(table, "max" + type);
  }
}

template <class T>
void addBits(Table& table) {
  std::string type = ".b" + std::to_string(8 * sizeof(T));
  add<[](T old, T x, T) { return old & x; }, T>(table, "and" + type);
  add<[](T old, T x, T) { return old | x; }, T>(table, "or" + type);
  add<[](T old, T x, T) { return old ^ x; }, T>(table, "xor" + type);
  add<[](T, T x, T) { return x; }, T>(table, "exch" + type);
  add<[](T old, T x, T y) { return old == x ? y : old; }, T>(table, "cas" + type, 2);
}

const Table& operations() {
  static const Table table = [] {
    Table t;
    addArithmetic<int32_t>(t);
    addArithmetic<uint32_t>(t);
    addArithmetic<int64_t>(t);
    addArithmetic<uint64_t>(t);
    addArithmetic<float>(t);
    addArithmetic<double>(t);
    addBits<uint32_t>(t);
    addBits<uint64_t>(t);
    using W = uint32_t;
    add<([](W old, W x, W) { return old >= x ? 0 : old + 1; }), W>(t, "inc.u32");
    add<([](W old, W x, W) { return old == 0 || old > x ? x : old - 1; }), W>(t, "dec.u32");
    add<[](uint16_t old, uint16_t x, uint16_t y) { return old == x ? y : old; }, uint16_t>(t, "cas.b16", 2);
    return t;
  }();
  return table;
}

// atom.global.cas.b32 %r1, [%rd1], %r2, %r3;     red.global.add.f32 [%rd1], %f1;
void decodeAtomic(Decoder& d, const Instruction& i, Op& op) {
  auto parts = Decoder::parts(i.opcode);
  bool returns = parts[0] == "atom";
  if (parts.size() < 3) d.fail("unknown opcode");
  std::string name = parts[parts.size() - 2] + "." + parts.back();
  auto found = operations().find(name);
  if (found == operations().end()) d.fail("unknown opcode (" + name + ")");
  for (size_t k = 1; k + 2 < parts.size(); k++) {
    static const char* const kOrders[] = {"relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys"};
    if (parts[k] == "global") {
      op.space = Space::Global;
    } else if (parts[k] == "shared") {
      op.space = Space::Shared;
    } else if (std::find(std::begin(kOrders), std::end(kOrders), parts[k]) == std::end(kOrders)) {
      d.fail("unknown opcode (." + parts[k] + ")");
    }
  }
  const Operation& operation = found->second;
  d.expectOperands(i, returns + 1u + operation.operands);
  op.run = returns ? operation.returning : operation.plain;
  char letter = operation.bytes == 8 ? 'd' : operation.bytes == 4 ? 'w' : 'h';
  if (returns)
    op.rows[0] = i.operands[0].kind == Operand::Kind::Nothing ? d.scratch(letter == 'd')
                                                              : d.destination(i.operands[0], letter);
  d.address(i.operands[returns], op, kAddress);
  op.rows[1] = op.rows[2] = d.operand(i.operands[returns + 1], letter);
  if (operation.operands == 2) op.rows[2] = d.operand(i.operands[returns + 2], letter);
  if (op.space != Space::Shared) d.code.globalGrain = std::min(d.code.globalGrain, operation.bytes);
  if (op.space != Space::Global) d.code.sharedGrain = std::min(d.code.sharedGrain, operation.bytes);
}

}  // namespace

void addAtomicOps(OpTable& t) {
  t.add("atom.*", decodeAtomic);
  t.add("red.*", decodeAtomic);
}

}  // namespace simcuda
