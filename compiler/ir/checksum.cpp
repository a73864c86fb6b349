#include "compiler/ir/checksum.h"

#include <array>
#include <cstring>

namespace dyn {
namespace {

// Eight tables: eight bytes a step ("slicing by 8").
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0xedb88320u : 0u);
    tables[0][i] = crc;
  }
  for (size_t t = 1; t < 8; ++t) {
    for (size_t i = 0; i < 256; ++i)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255];
  }
  return tables;
}();

}  // namespace

uint32_t crc32(const void* data, size_t sizeBytes, uint32_t previous) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint32_t crc = ~previous;
  for (; sizeBytes >= 8; sizeBytes -= 8, bytes += 8) {
    uint32_t low, high;
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = kTables[7][low & 255] ^ kTables[6][(low >> 8) & 255] ^ kTables[5][(low >> 16) & 255] ^
          kTables[4][low >> 24] ^ kTables[3][high & 255] ^ kTables[2][(high >> 8) & 255] ^
          kTables[1][(high >> 16) & 255] ^ kTables[0][high >> 24];
  }
  for (; sizeBytes > 0; --sizeBytes, ++bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ *bytes) & 255];
  return ~crc;
}

uint32_t crc32(const HostTensor& tensor) {
  if (!tensor.valid()) return 0;
  if (tensor.dtype() != Dtype::string) return crc32(tensor.bytes(), static_cast<size_t>(tensor.sizeBytes()));
  uint32_t crc = 0;
  for (const std::string& value : tensor.stringValues()) crc = crc32(value.c_str(), value.size() + 1, crc);
  return crc;
}

}  // namespace dyn
