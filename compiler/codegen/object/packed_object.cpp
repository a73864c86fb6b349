#include "compiler/codegen/object/packed_object.h"

#include "compiler/codegen/llvm/llvm_failure.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Compression.h"

namespace dyn {

namespace zlib = llvm::compression::zlib;

std::string packObject(const ObjectCode& object) {
  if (!zlib::isAvailable()) return object.bytes;
  llvm::SmallVector<uint8_t, 0> packed;
  zlib::compress(llvm::arrayRefFromStringRef(object.bytes), packed, zlib::BestSizeCompression);
  return packed.size() < object.bytes.size() ? std::string(packed.begin(), packed.end()) : object.bytes;
}

bool canUnpack(std::span<const unsigned char> packed, size_t size) {
  return packed.size() == size || zlib::isAvailable();
}

Result<ObjectCode> unpackObject(std::span<const unsigned char> packed, size_t size) {
  if (packed.size() == size) return ObjectCode{std::string(packed.begin(), packed.end())};
  llvm::SmallVector<uint8_t, 0> bytes;
  if (llvm::Error error =
          zlib::decompress(llvm::ArrayRef<uint8_t>(packed.data(), packed.size()), bytes, size))
    return fromLlvm(std::move(error), "unpacking code that was compiled beforehand");
  if (bytes.size() != size)
    return makeError(DiagnosticId::internalError, "code that was compiled beforehand has another length");
  return ObjectCode{std::string(bytes.begin(), bytes.end())};
}

}  // namespace dyn
