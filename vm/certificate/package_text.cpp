#include "vm/certificate/package_text.h"

#include <cstring>

namespace dyn::certificate {

namespace {

constexpr size_t kHeaderBytes = 64, kRowBytes = 128, kNameBytes = 64, kProgramHeaderBytes = 32;
constexpr int kContractDepth = 32;

void readType(ByteReader& in, PortText& port, int depth) {
  const uint64_t kind = in.fixed(1);
  const auto dtype = static_cast<uint8_t>(in.fixed(1));
  if (depth == 0) port.isTensor = kind == 0, port.dtype = dtype;
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left) {
    DimText dim;
    dim.value = static_cast<int64_t>(in.fixed(8));
    dim.text = in.text();
    in.skip(24);  // bounds that the program checks itself
    if (depth == 0) port.dims.push_back(std::move(dim));
  }
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed() && depth < kContractDepth; --left)
    readType(in, port, depth + 1);
}

void readPorts(ByteReader& in, std::vector<PortText>& ports) {
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left) {
    PortText& port = ports.emplace_back();
    port.name = in.text();
    readType(in, port, 0);
  }
}

void readFunction(ByteReader& in, FunctionText& function) {
  function.name = in.text();
  function.scalarCount = static_cast<uint32_t>(in.fixed(4));
  function.objectCount = static_cast<uint32_t>(in.fixed(4));
  function.parameterCount = static_cast<uint32_t>(in.fixed(4));
  function.resultCount = static_cast<uint32_t>(in.fixed(4));
  function.code.resize(in.count(in.fixed(4)));
  for (int32_t& word : function.code) word = static_cast<int32_t>(in.fixed(4));
  in.skip(12 * in.count(in.fixed(4)));  // places
}

}  // namespace

uint64_t ByteReader::fixed(size_t sizeBytes) {
  if (failed_ || bytes_.size() - at_ < sizeBytes) {
    failed_ = true;
    return 0;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < sizeBytes; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_[at_ + i])) << (8 * i);
  at_ += sizeBytes;
  return value;
}

uint64_t ByteReader::number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = fixed(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  failed_ = true;
  return 0;
}

int64_t ByteReader::signedNumber() {
  const uint64_t value = number();
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

uint64_t ByteReader::count(uint64_t value) {
  if (value <= bytes_.size() - at_) return value;
  failed_ = true;
  return 0;
}

std::string ByteReader::text() {
  const uint64_t size = count(fixed(4));
  if (failed_) return {};
  std::string result(bytes_.substr(at_, size));
  at_ += size;
  return result;
}

void ByteReader::skip(size_t sizeBytes) {
  if (bytes_.size() - at_ < sizeBytes) failed_ = true;
  if (!failed_) at_ += sizeBytes;
}

std::string readProgram(std::string_view bytes, ProgramText& program) {
  if (bytes.size() < kProgramHeaderBytes || memcmp(bytes.data(), "DYNBYTES", 8) != 0)
    return "the program section is no program";
  ByteReader in(bytes.substr(8));
  if (in.fixed(4) != 3) return "the program has a format that this checker doesn't know";
  in.skip(kProgramHeaderBytes - 12);
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left)
    readFunction(in, program.functions.emplace_back());
  program.mainFunction = static_cast<int32_t>(in.fixed(4));
  program.initFunction = static_cast<int32_t>(in.fixed(4));
  program.globalCount = static_cast<uint32_t>(in.fixed(4));
  const size_t kernelsBegin = in.position();
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left) {
    KernelText& kernel = program.kernels.emplace_back();
    kernel.name = in.text();
    in.text();
    kernel.bufferCount = static_cast<uint32_t>(in.fixed(4));
    kernel.outputCount = static_cast<uint32_t>(in.fixed(4));
    kernel.scalarCount = static_cast<uint32_t>(in.fixed(4));
    in.skip(8);  // scratch memory
    in.text();
  }
  program.kernelDigest = digestOf(in.since(kernelsBegin));
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left)
    program.builtins.push_back(in.text());
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left) {
    ConstantText& constant = program.constants.emplace_back();
    constant.dtype = static_cast<uint8_t>(in.fixed(1));
    constant.shape.resize(in.count(in.fixed(4)));
    for (int64_t& dim : constant.shape) dim = static_cast<int64_t>(in.fixed(8));
    in.skip(16);
    in.text();
  }
  for (uint64_t left = in.count(in.fixed(4)); left > 0 && !in.failed(); --left) in.text();
  readPorts(in, program.inputs);
  readPorts(in, program.outputs);
  const auto functionCount = static_cast<int64_t>(program.functions.size());
  if (in.failed()) return "a table of the program has a bad length";
  if (program.mainFunction >= functionCount || program.initFunction >= functionCount)
    return "the program names a function that is not there";
  if (program.globalCount > (1u << 20)) return "the program has too many globals";
  for (const FunctionText& function : program.functions)
    if (function.scalarCount > (1u << 20) || function.objectCount > (1u << 20))
      return "function @" + function.name + " has too many registers";
  return {};
}

std::string readPackage(std::string_view bytes, PackageText& package) {
  // A package may lie behind a program; a trailer says where.
  if (bytes.size() >= 16 && memcmp(bytes.data() + bytes.size() - 16, "DYNAPPND", 8) == 0) {
    const uint64_t offset = ByteReader(bytes.substr(bytes.size() - 8)).fixed(8);
    if (offset <= bytes.size() - 16) bytes = bytes.substr(offset, bytes.size() - 16 - offset);
  }
  if (bytes.size() < kHeaderBytes || memcmp(bytes.data(), "DYNPACK1", 8) != 0)
    return "not a Dyn package (magic bytes missing)";
  ByteReader header(bytes.substr(8));
  if (header.fixed(4) != 1) return "the package has a format that this checker doesn't know";
  const uint64_t count = header.fixed(4);
  if (header.fixed(8) != bytes.size()) return "the package is cut off or has bytes behind it";
  if (count > (bytes.size() - kHeaderBytes) / kRowBytes) return "the section table has a bad length";
  bool hasProgram = false;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view row = bytes.substr(kHeaderBytes + i * kRowBytes, kRowBytes);
    ByteReader in(row.substr(kNameBytes));
    const uint64_t offset = in.fixed(8), size = in.fixed(8), digest = in.fixed(8), kind = in.fixed(4);
    if (offset > bytes.size() || size > bytes.size() - offset) return "a section lies outside the package";
    SectionText section{std::string(row.substr(0, strnlen(row.data(), kNameBytes))), kind == 2,
                        bytes.substr(offset, size)};
    const bool isRead = kind == 0 || section.name == kCertificateSection;
    if (isRead && digestOf(section.bytes) != digest)
      return "section " + section.name + " is damaged (checksum)";
    if (kind == 0) {
      if (hasProgram) return "the package has two programs";
      if (std::string problem = readProgram(section.bytes, package.program); !problem.empty()) return problem;
      hasProgram = true;
    }
    package.sections.push_back(std::move(section));
  }
  return hasProgram ? "" : "the package has no program";
}

uint64_t digestOf(std::string_view bytes) {
  uint64_t state = 0xcbf29ce484222325ull ^ bytes.size();
  ByteReader in(bytes);
  for (size_t words = bytes.size() / 8; words > 0; --words) {
    state = (state ^ in.fixed(8)) * 0x9E3779B185EBCA87ull;
    state = state << 29 | state >> 35;
  }
  while (!in.atEnd()) state = (state ^ in.fixed(1)) * 0x9E3779B185EBCA87ull;
  state ^= state >> 32;
  state *= 0xD6E8FEB86659FD93ull;
  return state ^ state >> 32;
}

}  // namespace dyn::certificate
