#include "tests/unit/vm/kernels/tile/tile_trap.h"

#if defined(__x86_64__)
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>

#include "vm/kernels/tile/tile_model.h"

namespace dyn::vm::test {
namespace {

using kernels::TileModel;

struct sigaction before;
std::atomic<long> count{0};

// Registers by their numbers in instructions.
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// An instruction with a VEX prefix of three bytes (Intel's manual, volume 2, 2.3 and 2.1.5).
struct Instruction {
  bool known = false;
  int prefix = 0, opcode = 0;               // prefix: 0 none, 1 66, 2 F3, 3 F2
  int mode = 0, reg = 0, rm = 0, vvvv = 0;  // mode 3: both are registers
  const uint8_t* memory = nullptr;          // else
  int64_t index = 0;                        // the value of the index register: a tile's pitch
  int64_t length = 0;
};

Instruction decode(const uint8_t* at, const greg_t* values) {
  Instruction in;
  const uint8_t* byte = at;
  if (*byte++ != 0xc4) return in;
  const uint8_t first = *byte++, second = *byte++;
  const int moreReg = first & 0x80 ? 0 : 8, moreIndex = first & 0x40 ? 0 : 8, moreBase = first & 0x20 ? 0 : 8;
  const bool map0f38 = (first & 0x1f) == 2, plain = (second & 0x84) == 0;  // W0, 128
  in.vvvv = ~(second >> 3) & 15;
  in.prefix = second & 3;
  in.opcode = *byte++;
  if (!map0f38 || !plain) return in;
  const uint8_t modrm = *byte++;
  in.mode = modrm >> 6;
  in.reg = (modrm >> 3 & 7) + moreReg;
  in.rm = modrm & 7;
  in.known = true;
  if (in.mode == 3) {
    in.rm += moreBase;
    in.length = byte - at;
    return in;
  }
  int64_t address = 0;
  bool hasBase = true;
  if (in.rm == 4) {
    const uint8_t sib = *byte++;
    const int index = (sib >> 3 & 7) + moreIndex, base = sib & 7;
    hasBase = !(in.mode == 0 && base == 5);
    if (index != 4) in.index = values[kRegisters[index]] << (sib >> 6);
    if (hasBase) address = values[kRegisters[base + moreBase]];
  } else {
    hasBase = !(in.mode == 0 && in.rm == 5);
    if (hasBase) address = values[kRegisters[in.rm + moreBase]];
  }
  const bool toInstruction = !hasBase && in.rm == 5;
  if (in.mode == 1) {
    address += static_cast<int8_t>(*byte++);
  } else if (in.mode == 2 || !hasBase) {
    int32_t distance;
    memcpy(&distance, byte, sizeof distance);
    byte += sizeof distance;
    address += distance;
  }
  in.length = byte - at;
  if (toInstruction) address += reinterpret_cast<int64_t>(byte);
  in.memory = reinterpret_cast<const uint8_t*>(address);
  return in;
}

// False: none of tiles.
bool answer(const Instruction& in) {
  constexpr int kNone = 0, k66 = 1, kF3 = 2, kF2 = 3;
  if (!in.known) return false;
  const int key = in.opcode << 2 | in.prefix;
  if (in.mode == 3) {
    if (key == (0x49 << 2 | kNone) && in.reg == 0 && in.rm == 0) return TileModel::release(), true;
    if (key == (0x49 << 2 | kF2) && in.rm == 0) return TileModel::zero(in.reg), true;
    if (key == (0x5c << 2 | kF3)) return TileModel::multiplyPairs(in.reg, in.rm, in.vvvv), true;
    if (key == (0x5e << 2 | k66)) return TileModel::multiplyQuads(in.reg, in.rm, in.vvvv), true;
    return false;
  }
  if (key == (0x49 << 2 | kNone) && in.reg == 0) {
    kernels::TileConfig config;
    memcpy(&config, in.memory + in.index, sizeof config);
    return TileModel::configure(config), true;
  }
  if (in.rm != 4) return false;  // tiles are in memory by base and index alone
  if (key == (0x4b << 2 | kF2)) return TileModel::load(in.reg, in.memory, in.index), true;
  if (key == (0x4b << 2 | kF3))
    return TileModel::store(in.reg, const_cast<uint8_t*>(in.memory), in.index), true;
  return false;
}

void onIllegalInstruction(int, siginfo_t*, void* context) {
  greg_t* values = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Instruction in = decode(reinterpret_cast<const uint8_t*>(values[REG_RIP]), values);
  if (!answer(in)) {
    sigaction(SIGILL, &before, nullptr);  // comes again, as it would without the trap
    return;
  }
  values[REG_RIP] += in.length;
  ++count;
}

}  // namespace

TileTrap::TileTrap() {
  struct sigaction action = {};
  action.sa_sigaction = onIllegalInstruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
}
TileTrap::~TileTrap() { sigaction(SIGILL, &before, nullptr); }
long TileTrap::answered() { return count; }

}  // namespace dyn::vm::test
#endif
