// CRC-32 (the one of zip and PNG: polynomial 0xEDB88320, initial and final value inverted).
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/tensor.h"

namespace dyn {

// `previous` continues a sum over parts: crc32(b, n, crc32(a, m)).
uint32_t crc32(const void* data, size_t sizeBytes, uint32_t previous = 0);
// Of the storage bytes; strings: of each string with its terminating zero.
uint32_t crc32(const HostTensor& tensor);

}  // namespace dyn
