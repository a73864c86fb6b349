#include "tests/simcuda/ptx/access.h"

#include <algorithm>
#include <bit>

#include "tests/simcuda/ptx/launch.h"
#include "tests/simcuda/ptx/traffic.h"

namespace simcuda {
namespace {

bool writes(Use use) { return use == Use::Write || use == Use::Atomic || use == Use::AtomicWrite; }
bool reads(Use use) { return use != Use::Write && use != Use::AtomicWrite; }
bool isAtomic(Use use) { return use >= Use::Atomic; }

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string what(const Access& access) {
  const char* verb = access.use == Use::Atomic ? "atomic access" : writes(access.use) ? "write" : "read";
  return std::string(verb) + " of " + std::to_string(access.bytes) + " bytes";
}

[[noreturn]] void fail(const Warp& w, const Op& op, int lane, FaultCode code, const std::string& text) {
  throw Fault(code, describe(w, op, lane) + ": " + text);
}

std::string windowOf(uint64_t address) {
  switch (address >> 56) {
    case kSharedWindow >> 56:
      return "an address of shared memory as a generic pointer";
    case kLocalWindow >> 56:
      return "an address of local memory as a generic pointer";
    case kParamWindow >> 56:
      return "an address of a parameter as a generic pointer";
    default:
      return "";
  }
}

// Whether a byte of 1 stands for each of 1, 2, 4, 8 or 16 bytes.
bool allWritten(const uint8_t* bytes, unsigned count) {
  auto ones = [&]<class T>(T pattern) {
    T word;
    std::memcpy(&word, bytes, sizeof(T));
    return word == pattern;
  };
  switch (count) {
    case 1:
      return bytes[0];
    case 2:
      return ones(uint16_t{0x0101});
    case 4:
      return ones(uint32_t{0x01010101});
    case 8:
      return ones(uint64_t{0x0101010101010101});
    default:
      return allWritten(bytes, 8) && allWritten(bytes + 8, 8);
  }
}

// One lane's access for the search for races and for what was never written.
class Shadow {
 public:
  Shadow(Warp& w, const Op& op, const Access& access)
      : w_(w), op_(op), access_(access), me_(w.block->accessor(w, 0)), firstThread_(me_.thread) {}

  void global(int lane, Allocation& a, uint64_t address, bool readOnly) {
    uint64_t offset = address - a.begin;
    if (reads(access_.use) && !a.isWritten(offset, access_.bytes)) {
      fail(w_, op_, lane, FaultCode::LaunchFailed,
           "read of " + std::to_string(access_.bytes) + " bytes that nothing has written, " +
               w_.block->launch.memory->describe(address));
    }
    if (writes(access_.use)) a.markWritten(offset, access_.bytes);
    if (readOnly) return;  // nobody writes there, so nobody races
    unsigned grain = a.granule;
    for (uint64_t i = offset / grain; i <= (offset + access_.bytes - 1) / grain; i++) {
      RaceCell& cell = a.cells[i];
      if (access_.use == Use::ReadConstant && cell.writtenIn(me_.launch)) {
        fail(w_, op_, lane, FaultCode::LaunchFailed,
             "a read that goes past the caches of what this launch has written");
      }
      touch(cell, lane, [&] { return w_.block->launch.memory->describe(address); });
    }
  }

  void shared(int lane, uint64_t offset) {
    Block& block = *w_.block;
    uint8_t* written = block.sharedWritten.data() + offset;
    if (reads(access_.use) && !allWritten(written, access_.bytes)) {
      fail(w_, op_, lane, FaultCode::LaunchFailed,
           "read of " + std::to_string(access_.bytes) +
               " bytes of shared memory that nothing has written, at offset " + std::to_string(offset));
    }
    if (writes(access_.use)) std::fill(written, written + access_.bytes, uint8_t{1});
    touchShared(lane, offset);
  }

  void touchShared(int lane, uint64_t offset) {
    Block& block = *w_.block;
    unsigned grain = block.code.sharedGrain;
    for (uint64_t i = offset / grain; i <= (offset + access_.bytes - 1) / grain; i++) {
      touch(block.sharedCells[i], lane, [&] { return "shared memory at offset " + std::to_string(offset); });
    }
  }

 private:
  template <class Where>
  void touch(RaceCell& cell, int lane, Where where) {
    me_.thread = static_cast<uint16_t>(firstThread_ + lane);
    RaceCell::Conflict conflict = writes(access_.use)              ? cell.write(me_, isAtomic(access_.use))
                                  : access_.use == Use::AtomicRead ? cell.atomicRead(me_)
                                                                   : cell.read(me_);
    if (conflict == RaceCell::Conflict::kNone) return;
    bool afterWrite = conflict == RaceCell::Conflict::kAfterWrite;
    const Launch& launch = w_.block->launch;
    fail(w_, op_, lane, FaultCode::LaunchFailed,
         std::string("race: ") + what(access_) + " of " + where() +
             (afterWrite ? ", written by " : ", read by ") +
             describeThread(launch, afterWrite ? cell.writerBlock() : cell.readerBlock(),
                            afterWrite ? cell.writerThread() : cell.readerThread()) +
             "; nothing orders the two");
  }

  Warp& w_;
  const Op& op_;
  const Access& access_;
  Accessor me_;
  uint16_t firstThread_;
};

const dyn_simcuda_buffer* bufferOf(const Launch& launch, uint64_t address, unsigned bytes) {
  for (const dyn_simcuda_buffer& b : launch.buffers) {
    if (address >= b.begin && address + bytes <= b.end) return &b;
  }
  return nullptr;
}

void touchAllocation(Launch& launch, Allocation& a, bool write) {
  if (a.readIn != launch.number && a.writtenIn != launch.number) launch.touched.push_back(&a);
  (write ? a.writtenIn : a.readIn) = launch.number;
  if (launch.checks) a.needCells(launch.code->globalGrain);
}

void global(Warp& w, const Op& op, const Access& access, const Addresses& addresses, uint32_t lanes,
            Bytes& to) {
  Launch& launch = w.block->launch;
  Shadow shadow(w, op, access);
  Allocation* a = nullptr;
  const dyn_simcuda_buffer* buffer = nullptr;
  bool writing = writes(access.use);
  for (; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    uint64_t address = addresses[l];
    if (!a || !a->holds(address, access.bytes)) {
      a = launch.allocationOf(address);
      if (!a || !a->holds(address, access.bytes)) {
        std::string window = windowOf(address);
        fail(w, op, l, FaultCode::IllegalAddress,
             "out of bounds: " + what(access) + " at " + hex(address) + ", " +
                 (window.empty() ? launch.memory->describe(address) : window));
      }
      if (a->device != launch.device) {
        fail(w, op, l, FaultCode::IllegalAddress,
             what(access) + " of memory of device " + std::to_string(a->device));
      }
      if (a->constant && writing) fail(w, op, l, FaultCode::IllegalAddress, "write to a constant");
      touchAllocation(launch, *a, writing);
    }
    if (!launch.buffers.empty() && !a->constant &&
        !(buffer && address >= buffer->begin && address + access.bytes <= buffer->end)) {
      buffer = bufferOf(launch, address, access.bytes);
      if (!buffer) {
        fail(w, op, l, FaultCode::IllegalAddress,
             "out of bounds: " + what(access) + " at " + hex(address) + ", in none of the " +
                 std::to_string(launch.buffers.size()) + " declared buffers; " +
                 launch.memory->describe(address));
      }
    }
    if (buffer && writing && buffer->writable == DYN_SIMCUDA_INPUT) {
      fail(w, op, l, FaultCode::IllegalAddress,
           "write to an input, declared buffer " + std::to_string(buffer - launch.buffers.data()));
    }
    if (address % access.bytes) {
      fail(w, op, l, FaultCode::MisalignedAddress, "misaligned: " + what(access) + " at " + hex(address));
    }
    if (launch.checks)
      shadow.global(l, *a, address, a->constant || (buffer && buffer->writable == DYN_SIMCUDA_INPUT));
    to[l] = a->data + (address - a->begin);
  }
}

void shared(Warp& w, const Op& op, const Access& access, const Addresses& offsets, uint32_t lanes,
            Bytes& to) {
  Block& block = *w.block;
  Shadow shadow(w, op, access);
  for (; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    uint64_t offset = offsets[l];
    if (offset + access.bytes > block.shared.size() || offset > block.shared.size()) {
      fail(w, op, l, FaultCode::IllegalAddress,
           "out of bounds: " + what(access) + " at offset " + hex(offset) + " of shared memory, which has " +
               std::to_string(block.shared.size()) + " bytes");
    }
    if (offset % access.bytes) {
      fail(w, op, l, FaultCode::MisalignedAddress,
           "misaligned: " + what(access) + " at offset " + hex(offset) + " of shared memory");
    }
    if (block.launch.checks) shadow.shared(l, offset);
    to[l] = block.shared.data() + offset;
  }
}

void local(Warp& w, const Op& op, const Access& access, const Addresses& offsets, uint32_t lanes, Bytes& to) {
  uint32_t size = w.block->code.localBytes;
  for (; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    if (offsets[l] > size || offsets[l] + access.bytes > size) {
      fail(w, op, l, FaultCode::IllegalAddress,
           "out of bounds: " + what(access) + " at offset " + hex(offsets[l]) +
               " of local memory, which has " + std::to_string(size) + " bytes");
    }
    if (offsets[l] % access.bytes)
      fail(w, op, l, FaultCode::MisalignedAddress, "misaligned: " + what(access) + " of local memory");
    uint64_t at = static_cast<uint64_t>(l) * size + offsets[l];
    if (w.block->launch.checks) {
      uint8_t* written = w.localWritten.data() + at;
      if (reads(access.use) && !allWritten(written, access.bytes)) {
        fail(w, op, l, FaultCode::LaunchFailed,
             "read of local memory that nothing has written, at offset " + hex(offsets[l]));
      }
      if (writes(access.use)) std::fill(written, written + access.bytes, uint8_t{1});
    }
    to[l] = w.local.data() + at;
  }
}

void parameter(Warp& w, const Op& op, const Access& access, const Addresses& offsets, uint32_t lanes,
               Bytes& to) {
  std::vector<uint8_t>& parameters = w.block->launch.parameters;
  for (; lanes; lanes &= lanes - 1) {
    int l = std::countr_zero(lanes);
    if (writes(access.use)) fail(w, op, l, FaultCode::IllegalAddress, "write to a parameter");
    if (offsets[l] > parameters.size() || offsets[l] + access.bytes > parameters.size()) {
      fail(w, op, l, FaultCode::IllegalAddress,
           "out of bounds: " + what(access) + " at offset " + hex(offsets[l]) + " of the parameters");
    }
    if (offsets[l] % access.bytes)
      fail(w, op, l, FaultCode::MisalignedAddress, "misaligned: " + what(access) + " of a parameter");
    to[l] = parameters.data() + offsets[l];
  }
}

}  // namespace

Addresses addressesOf(const Warp& w, const Op& op, int index) {
  Addresses result;
  if (!op.hasBase) {
    result.fill(static_cast<uint64_t>(op.offset));
  } else if (op.baseIsWide) {
    const uint64_t* base = slots<uint64_t>(w, op.rows[index]);
    for (int l = 0; l < kLanes; l++) result[l] = base[l] + static_cast<uint64_t>(op.offset);
  } else {
    const uint32_t* base = slots<uint32_t>(w, op.rows[index]);
    for (int l = 0; l < kLanes; l++) result[l] = base[l] + static_cast<uint32_t>(op.offset);
  }
  return result;
}

void resolve(Warp& w, const Op& op, const Access& access, const Addresses& addresses, Bytes& to) {
  bool counted = w.block->launch.checks;
  auto& counters = w.block->launch.counters;
  auto inSpace = [&](Space space, const Addresses& at, uint32_t lanes) {
    switch (space) {
      case Space::Global:
      case Space::Const:
        global(w, op, access, at, lanes, to);
        if (counted) countSectors(at, lanes, counters);
        break;
      case Space::Shared:
        shared(w, op, access, at, lanes, to);
        if (counted) countWays(at, lanes, access.bytes, counters);
        break;
      case Space::Local:
        local(w, op, access, at, lanes, to);
        break;
      case Space::Param:
        parameter(w, op, access, at, lanes, to);
        break;
      case Space::Generic:
        break;
    }
  };
  if (access.space != Space::Generic) return inSpace(access.space, addresses, w.mask);
  // Each lane's pointer says in which space it points.
  const std::pair<uint64_t, Space> windows[] = {
      {kSharedWindow, Space::Shared}, {kLocalWindow, Space::Local}, {kParamWindow, Space::Param}};
  uint32_t left = w.mask;
  for (auto& [window, space] : windows) {
    uint32_t lanes = 0;
    Addresses offsets{};
    for (int l = 0; l < kLanes; l++) {
      if ((left >> l & 1) == 0 || addresses[l] >> 56 != window >> 56) continue;
      lanes |= 1u << l;
      offsets[l] = addresses[l] - window;
    }
    if (lanes) inSpace(space, offsets, lanes);
    left &= ~lanes;
  }
  if (left) inSpace(Space::Global, addresses, left);
}

void reserveShared(Warp& w, const Op& op, int lane, uint32_t offset, unsigned bytes) {
  if (!w.block->launch.checks) return;
  Access access{Space::Shared, bytes, Use::Write};
  Shadow(w, op, access).touchShared(lane, offset);
  std::fill_n(w.block->sharedWritten.begin() + offset, bytes, uint8_t{0});
}

}  // namespace simcuda
