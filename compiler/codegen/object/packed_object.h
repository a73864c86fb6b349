// Object code in fewer bytes, for programs that carry thousands of objects: zlib of LLVM, where it has that.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "compiler/codegen/object/object_compiler.h"

namespace dyn {

// As long as the object itself where this LLVM cannot make it shorter.
std::string packObject(const ObjectCode& object);
// Can this process read what packObject made of an object of `size` bytes?
bool canUnpack(std::span<const unsigned char> packed, size_t size);
// Error internalError for bytes that packObject did not make of an object of that size.
Result<ObjectCode> unpackObject(std::span<const unsigned char> packed, size_t size);

}  // namespace dyn
