// Packages (.dynpkg): one file with the serialized program, the constants (page-aligned, meant to be mapped)
// and object code.
//
// Layout, little endian: 64-byte header (magic "DYNPACK1", u32 version, u32 section count, u64 file bytes,
// u64 checksum of the section table), the table (128 bytes a row), then the sections, each at a multiple of
// 4096. Object sections hold ELF shared objects and are named after what they need: "x86_64",
//       "x86_64:avx2+fma", "aarch64".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vm/base/status.h"
#include "vm/isa/program.h"

namespace dyn::vm {

enum class SectionKind : uint32_t { program = 0, constants = 1, object = 2, other = 3 };

struct PackageSection {
  SectionKind kind = SectionKind::other;
  std::string name;  // at most 63 bytes
  uint64_t offset = 0, sizeBytes = 0, checksum = 0;
};

struct ObjectSection {
  std::string name;
  std::string_view bytes;
};

// Sets the offset of each constant so that it starts at a multiple of 64, and at a page from the size of a
// page on; returns the size of the constant section.
uint64_t layOutConstants(Program& program);

// A package in memory: the pieces of its file, one after the other. The bytes of constants and objects are
// their owners'.
struct PackageBytes {
  std::vector<std::string_view> pieces;
  std::string head, program, signature;
  uint64_t constantsBytes = 0;  // of their section
};

// Makes the contents of the section "signature.ed25519" from all that is signed (package_signature.h).
using PackageSigner =
    std::function<Status(const std::vector<std::string_view>& pieces, std::string& signature)>;

// constantData[i] is the data of constant i, which is not copied; the program's offsets must come from
// layOutConstants. Equal input gives equal bytes. `signer` may be empty; `others` are of other kinds.
Status makePackage(const Program& program, std::span<const void* const> constantData,
                   std::span<const ObjectSection> objects, PackageBytes& package,
                   const PackageSigner& signer = {}, std::span<const ObjectSection> others = {});

// Where the package of a file lies: in all of it, or behind a program, at a page, with a trailer at the end.
struct PackagePlace {
  uint64_t offset = 0, sizeBytes = 0;
};
PackagePlace placeOfPackage(const void* bytes, uint64_t sizeBytes);
// What ends a file whose package begins at `offset`.
std::string packageTrailer(uint64_t offset);

// Reads header and table of a mapped file: bounds, alignment, version, checksum of the table.
Status readPackageTable(const void* bytes, uint64_t sizeBytes, std::vector<PackageSection>& sections);
// Compares a section's data with its checksum.
Status checkSection(const void* bytes, const PackageSection& section);

}  // namespace dyn::vm
