#include "vm/isa/package.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "vm/isa/checksum.h"
#include "vm/isa/package_signature.h"
#include "vm/isa/program_file.h"

namespace dyn::vm {
namespace {

constexpr char kPackageMagic[8] = {'D', 'Y', 'N', 'P', 'A', 'C', 'K', '1'};
constexpr char kTrailerMagic[8] = {'D', 'Y', 'N', 'A', 'P', 'P', 'N', 'D'};
constexpr uint64_t kTrailerBytes = 16;
constexpr uint32_t kPackageVersion = 1;
constexpr uint64_t kPackageHeaderBytes = 64, kRowBytes = 128, kNameBytes = 64, kPageBytes = 4096,
                   kLineBytes = 64;
constexpr uint32_t kMaximumSections = 1024;
constexpr char kZeros[kPageBytes] = {};

void put32(uint8_t* at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> (8 * i));
}
void put64(uint8_t* at, uint64_t value) {
  put32(at, static_cast<uint32_t>(value));
  put32(at + 4, static_cast<uint32_t>(value >> 32));
}
uint32_t get32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 |
         static_cast<uint32_t>(at[2]) << 16 | static_cast<uint32_t>(at[3]) << 24;
}
uint64_t toPage(uint64_t offset) { return (offset + kPageBytes - 1) / kPageBytes * kPageBytes; }
uint64_t get64(const uint8_t* at) { return get32(at) | static_cast<uint64_t>(get32(at + 4)) << 32; }

std::string tableBytes(const std::vector<PackageSection>& sections) {
  std::string table(sections.size() * kRowBytes, '\0');
  for (size_t i = 0; i < sections.size(); ++i) {
    auto* at = reinterpret_cast<uint8_t*>(table.data()) + i * kRowBytes;
    memcpy(at, sections[i].name.data(), sections[i].name.size());
    put64(at + 64, sections[i].offset);
    put64(at + 72, sections[i].sizeBytes);
    put64(at + 80, sections[i].checksum);
    put32(at + 88, static_cast<uint32_t>(sections[i].kind));
  }
  return table;
}

// What a section holds, one after the other.
struct Contents {
  std::vector<std::string_view> pieces;
  uint64_t sizeBytes = 0;

  void add(std::string_view bytes) {
    pieces.push_back(bytes);
    sizeBytes += bytes.size();
  }
  uint64_t checksum() const {
    Checksum sum(sizeBytes);
    for (std::string_view piece : pieces) sum.add(piece.data(), piece.size());
    return sum.value();
  }
};

// Weights where they lie, with zeros between them. Null: they overlap, or leave more room than a page.
std::optional<Contents> constantContents(const Program& program, std::span<const void* const> data) {
  Contents contents;
  for (size_t i = 0; i < data.size(); ++i) {
    const ConstantRow& constant = program.constants[i];
    if (constant.sizeBytes == 0) continue;
    if (constant.offset < contents.sizeBytes || constant.offset - contents.sizeBytes > kPageBytes)
      return std::nullopt;
    contents.add({kZeros, constant.offset - contents.sizeBytes});
    contents.add({static_cast<const char*>(data[i]), constant.sizeBytes});
  }
  return contents;
}

}  // namespace

uint64_t layOutConstants(Program& program) {
  uint64_t offset = 0;
  for (ConstantRow& constant : program.constants) {
    const uint64_t alignment = constant.sizeBytes >= kPageBytes ? kPageBytes : kLineBytes;
    constant.offset = (offset + alignment - 1) / alignment * alignment;
    offset = constant.offset + constant.sizeBytes;
  }
  return (offset + kLineBytes - 1) / kLineBytes * kLineBytes;
}

Status makePackage(const Program& program, std::span<const void* const> constantData,
                   std::span<const ObjectSection> objects, PackageBytes& package, const PackageSigner& signer,
                   std::span<const ObjectSection> others) {
  if (constantData.size() != program.constants.size())
    return failure(DYN_INVALID_ARGUMENT, "one data pointer per constant is needed");
  const std::vector<uint8_t> code = serializeProgram(program);
  package.program.assign(code.begin(), code.end());
  std::optional<Contents> constants = constantContents(program, constantData);
  if (!constants) return failure(DYN_INVALID_ARGUMENT, "constants that are not laid out");
  package.constantsBytes = constants->sizeBytes;

  std::vector<PackageSection> sections;
  std::vector<Contents> contents;
  auto add = [&](SectionKind kind, const std::string& name, Contents held) {
    sections.push_back({kind, name, 0, held.sizeBytes, held.checksum()});
    contents.push_back(std::move(held));
  };
  add(SectionKind::program, "program", {{package.program}, package.program.size()});
  add(SectionKind::constants, "constants", *std::move(constants));
  for (const ObjectSection& object : objects)
    add(SectionKind::object, object.name, {{object.bytes}, object.bytes.size()});
  for (const ObjectSection& other : others)
    add(SectionKind::other, other.name, {{other.bytes}, other.bytes.size()});
  if (signer) {
    std::vector<std::string> rows(sections.size());
    std::vector<std::string_view> pieces;
    for (size_t i = 0; i < sections.size(); ++i) {
      pieces.push_back(rows[i] = signedRow(sections[i]));
      pieces.insert(pieces.end(), contents[i].pieces.begin(), contents[i].pieces.end());
    }
    if (Status status = signer(pieces, package.signature); !status.ok()) return status;
    add(SectionKind::other, std::string(kSignatureSection), {{package.signature}, package.signature.size()});
  }
  uint64_t offset = kPackageHeaderBytes + sections.size() * kRowBytes;
  for (PackageSection& section : sections) {
    if (section.name.size() >= kNameBytes)
      return failure(DYN_INVALID_ARGUMENT, "section name too long: " + section.name);
    section.offset = toPage(offset);
    offset = section.offset + section.sizeBytes;
  }
  const std::string table = tableBytes(sections);
  uint8_t header[kPackageHeaderBytes] = {};
  memcpy(header, kPackageMagic, sizeof kPackageMagic);
  put32(header + 8, kPackageVersion);
  put32(header + 12, static_cast<uint32_t>(sections.size()));
  put64(header + 16, offset);
  put64(header + 24, checksumBytes(table.data(), table.size()));
  package.head.assign(reinterpret_cast<const char*>(header), sizeof header);
  package.head += table;

  package.pieces = {package.head};
  uint64_t written = package.head.size();
  for (size_t i = 0; i < sections.size(); ++i) {
    package.pieces.emplace_back(kZeros, sections[i].offset - written);
    package.pieces.insert(package.pieces.end(), contents[i].pieces.begin(), contents[i].pieces.end());
    written = sections[i].offset + sections[i].sizeBytes;
  }
  return okStatus();
}

PackagePlace placeOfPackage(const void* bytes, uint64_t sizeBytes) {
  const PackagePlace whole{0, sizeBytes};
  const auto* data = static_cast<const uint8_t*>(bytes);
  if (sizeBytes < kTrailerBytes || memcmp(data + sizeBytes - kTrailerBytes, kTrailerMagic, 8) != 0)
    return whole;
  const uint64_t offset = get64(data + sizeBytes - 8);
  if (offset % kPageBytes != 0 || offset > sizeBytes - kTrailerBytes) return whole;
  return {offset, sizeBytes - kTrailerBytes - offset};
}

std::string packageTrailer(uint64_t offset) {
  uint8_t trailer[kTrailerBytes];
  memcpy(trailer, kTrailerMagic, 8);
  put64(trailer + 8, offset);
  return std::string(reinterpret_cast<const char*>(trailer), sizeof trailer);
}

Status readPackageTable(const void* bytes, uint64_t sizeBytes, std::vector<PackageSection>& sections) {
  const auto* data = static_cast<const uint8_t*>(bytes);
  if (sizeBytes < kPackageHeaderBytes || memcmp(data, kPackageMagic, sizeof kPackageMagic) != 0)
    return failure(DYN_BAD_PROGRAM, "not a Dyn package (magic bytes missing)");
  if (get32(data + 8) != kPackageVersion)
    return failure(DYN_BAD_PROGRAM, "package format " + std::to_string(get32(data + 8)) +
                                        ", this runtime reads " + std::to_string(kPackageVersion));
  const uint32_t count = get32(data + 12);
  if (get64(data + 16) != sizeBytes)
    return failure(DYN_BAD_PROGRAM, "the package is cut off or has bytes behind it");
  if (count > kMaximumSections || count * kRowBytes > sizeBytes - kPackageHeaderBytes)
    return failure(DYN_BAD_PROGRAM, "the section table has a bad length");
  for (size_t i = 32; i < kPackageHeaderBytes; ++i)
    if (data[i] != 0) return failure(DYN_BAD_PROGRAM, "the header is damaged");
  const uint8_t* table = data + kPackageHeaderBytes;
  if (checksumBytes(table, count * kRowBytes) != get64(data + 24))
    return failure(DYN_BAD_PROGRAM, "the section table is damaged (checksum)");
  sections.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* at = table + i * kRowBytes;
    PackageSection section;
    section.name.assign(reinterpret_cast<const char*>(at),
                        strnlen(reinterpret_cast<const char*>(at), kNameBytes));
    section.offset = get64(at + 64);
    section.sizeBytes = get64(at + 72);
    section.checksum = get64(at + 80);
    section.kind = static_cast<SectionKind>(
        std::min<uint32_t>(get32(at + 88), static_cast<uint32_t>(SectionKind::other)));
    if (section.offset % kPageBytes != 0 || section.offset > sizeBytes ||
        section.sizeBytes > sizeBytes - section.offset)
      return failure(DYN_BAD_PROGRAM, "section " + section.name + " lies outside the package");
    sections.push_back(std::move(section));
  }
  return okStatus();
}

Status checkSection(const void* bytes, const PackageSection& section) {
  if (checksumBytes(static_cast<const uint8_t*>(bytes) + section.offset, section.sizeBytes) ==
      section.checksum)
    return okStatus();
  return failure(DYN_BAD_PROGRAM, "section " + section.name + " is damaged (checksum)");
}

}  // namespace dyn::vm
