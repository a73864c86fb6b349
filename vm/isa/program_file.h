// Serialized programs: Program ↔ bytes. The constants' data is not part of it (ConstantRow says where it
// lies).
//
// Layout, little endian: magic "DYNBYTES", u32 format version, u32 zero, u64 payload bytes, u64 checksum of
// the payload, payload. Reading trusts nothing: every length is compared with the bytes that are left before
// anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vm/base/status.h"
#include "vm/isa/program.h"

namespace dyn::vm {

inline constexpr uint32_t kProgramFormatVersion = 3;

// Equal programs give equal bytes.
std::vector<uint8_t> serializeProgram(const Program& program);

// DYN_BAD_PROGRAM names what is wrong: magic, version, size, checksum, or the table with a bad length. The
// result is parsed, not verified (verifier.h).
Status parseProgram(const void* bytes, size_t sizeBytes, Program& program);

// 64-bit checksum used by programs and packages (FNV-1a over 8-byte words, then bytes, with a final mix).
uint64_t checksumBytes(const void* bytes, size_t sizeBytes);

}  // namespace dyn::vm
