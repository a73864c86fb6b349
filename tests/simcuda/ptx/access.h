// access.h — from the addresses of a warp's lanes to bytes, with all that a chip forbids and all that it lets
// pass but is wrong.
//
// Checked always: the address lies in a live allocation (or in a declared buffer, when there are any) of this
// device, in the space that the instruction names, and is a multiple of the access's size; nothing writes to
// constants and inputs. Checked with `Launch::checks`: what is read was written before, and no other thread's
// access is without order to this one.
#pragma once
#include <array>
#include <cstdint>

#include "tests/simcuda/ptx/op.h"
#include "tests/simcuda/ptx/warp.h"

namespace simcuda {

enum class Use : uint8_t {
  Read,
  ReadConstant,  // ld.global.nc: must not see what this launch writes
  Write,
  Atomic,      // read and written at once
  AtomicRead,  // ld.volatile, ld.relaxed, ld.acquire: needs no order to atomic accesses
  AtomicWrite,
};

struct Access {
  Space space;
  unsigned bytes;  // of the whole access of one lane
  Use use;
};

using Addresses = std::array<uint64_t, kLanes>;
using Bytes = std::array<uint8_t*, kLanes>;

// Addresses of the op's address operand: rows[index] + offset.
Addresses addressesOf(const Warp& w, const Op& op, int index);

// Where the bytes of each lane of the mask are; throws Fault. Counts requests, sectors and ways.
void resolve(Warp& w, const Op& op, const Access& access, const Addresses& addresses, Bytes& to);

// What cp.async does at its issue: the target counts as not written until the wait, and as written by this
// thread for the search for races.
void reserveShared(Warp& w, const Op& op, int lane, uint32_t offset, unsigned bytes);

}  // namespace simcuda
