// Object files made without a compiler or an assembler: bytes, tables of addresses of symbols, and the
// archive around an object. 64-bit little-endian ELF for x86-64, AArch64 and RISC-V.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// What the processor is, as the header of another object of the program says it.
struct ElfMachine {
  uint16_t machine = 0;
  uint32_t flags = 0;
};
// Errors: unsupportedFeature for what is no such object.
Result<ElfMachine> elfMachineOf(std::string_view object);

// A word of the table: a number, or the address of a symbol of another object, of a place in `strings` or of
// the bytes.
struct ElfWord {
  enum class Kind : uint8_t { number, symbol, string, bytes } kind = Kind::number;
  uint64_t number = 0;  // of a string: its offset
  std::string symbol;
};

// One object: `bytes` (read only, at a page), `strings` (read only) and a table of 64-bit words that has the
// name `tableName`, as the only symbol that others see.
struct ElfTable {
  ElfMachine machine;
  std::vector<std::string_view> bytes;  // pieces, one behind the other
  std::string strings;
  std::string tableName;
  std::vector<ElfWord> words;
};
// The pieces of the file: those of `bytes` among them, the others in `owned`.
std::vector<std::string_view> writeElfTable(const ElfTable& table, std::vector<std::string>& owned);

// An archive (.a) of one object with the index that linkers read; `symbols` are those the object defines.
// `head` becomes what stands before the object's bytes; they are padded to an even size by the caller.
std::string archiveHead(const std::string& memberName, uint64_t objectBytes,
                        const std::vector<std::string>& symbols);

}  // namespace dyn
