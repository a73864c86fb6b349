#include "vm/isa/program_file.h"

#include <algorithm>
#include <cstring>

#include "vm/base/dtype.h"
#include "vm/isa/isa.h"

namespace dyn::vm {
namespace {

constexpr char kProgramMagic[8] = {'D', 'Y', 'N', 'B', 'Y', 'T', 'E', 'S'};
constexpr size_t kHeaderBytes = 32;

class Writer {
 public:
  std::vector<uint8_t> bytes;
  void u8(uint8_t value) { bytes.push_back(value); }
  void u32(uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void u64(uint64_t value) {
    u32(static_cast<uint32_t>(value));
    u32(static_cast<uint32_t>(value >> 32));
  }
  void i64(int64_t value) { u64(static_cast<uint64_t>(value)); }
  void text(const std::string& value) {
    u32(static_cast<uint32_t>(value.size()));
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
};

class Reader {
 public:
  Reader(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
  bool failed() const { return failed_; }
  bool atEnd() const { return at_ == end_; }
  void fail() { failed_ = true; }

  uint8_t u8() { return take(1) ? at_[-1] : 0; }
  uint32_t u32() {
    if (!take(4)) return 0;
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(at_[i - 4]) << (8 * i);
    return value;
  }
  uint64_t u64() {
    const uint64_t low = u32();
    return low | static_cast<uint64_t>(u32()) << 32;
  }
  int64_t i64() { return static_cast<int64_t>(u64()); }
  // Number of rows that follow, each of at least `leastBytes`: never more than the bytes left justify.
  uint32_t count(size_t leastBytes) {
    const uint32_t value = u32();
    if (value > static_cast<size_t>(end_ - at_) / leastBytes) {
      failed_ = true;
      return 0;
    }
    return value;
  }
  std::string text() {
    const uint32_t size = count(1);
    if (!take(size)) return {};
    return std::string(reinterpret_cast<const char*>(at_ - size), size);
  }

 private:
  bool take(size_t size) {
    if (failed_ || static_cast<size_t>(end_ - at_) < size) {
      failed_ = true;
      return false;
    }
    at_ += size;
    return true;
  }
  const uint8_t *at_, *end_;
  bool failed_ = false;
};

// Contract types nest at most kMaximumContractDepth deep (the reader refuses more), so this recursion is
// bounded.
void writeType(Writer& writer, const ContractType& type, uint32_t depth = 0) {
  writer.u8(static_cast<uint8_t>(type.kind));
  writer.u8(type.dtype);
  writer.u32(static_cast<uint32_t>(type.dims.size()));
  for (const ContractDim& dim : type.dims) {
    writer.i64(dim.value);
    writer.text(dim.text);
    writer.i64(dim.low);
    writer.i64(dim.high);
    writer.i64(dim.multiple);
  }
  const bool tooDeep = depth + 1 >= kMaximumContractDepth;
  writer.u32(tooDeep ? 0 : static_cast<uint32_t>(type.elements.size()));
  if (tooDeep) return;
  for (const ContractType& element : type.elements) writeType(writer, element, depth + 1);
}

void readType(Reader& reader, ContractType& type, uint32_t depth = 0) {
  const uint8_t kind = reader.u8();
  if (kind > static_cast<uint8_t>(ContractKind::data) || depth >= kMaximumContractDepth) return reader.fail();
  type.kind = static_cast<ContractKind>(kind);
  type.dtype = reader.u8();
  if (type.dtype >= kDataTypeCount) return reader.fail();
  type.dims.resize(reader.count(36));
  for (ContractDim& dim : type.dims) {
    dim.value = reader.i64();
    dim.text = reader.text();
    dim.low = reader.i64();
    dim.high = reader.i64();
    dim.multiple = reader.i64();
  }
  const uint32_t count = reader.count(10);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i)
    readType(reader, type.elements.emplace_back(), depth + 1);
}

void writeContract(Writer& writer, const std::vector<ContractValue>& values) {
  writer.u32(static_cast<uint32_t>(values.size()));
  for (const ContractValue& value : values) {
    writer.text(value.name);
    writeType(writer, value.type);
  }
}

void readContract(Reader& reader, std::vector<ContractValue>& values) {
  const uint32_t count = reader.count(14);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) {
    ContractValue& value = values.emplace_back();
    value.name = reader.text();
    readType(reader, value.type);
  }
}

void writeFunction(Writer& writer, const Function& function) {
  writer.text(function.name);
  writer.u32(function.scalarCount);
  writer.u32(function.objectCount);
  writer.u32(function.parameterCount);
  writer.u32(function.resultCount);
  writer.u32(static_cast<uint32_t>(function.code.size()));
  for (int32_t word : function.code) writer.u32(static_cast<uint32_t>(word));
  writer.u32(static_cast<uint32_t>(function.places.size()));
  for (const PlaceRow& place : function.places) {
    writer.u32(place.codePosition);
    writer.u32(place.string);
    writer.u32(static_cast<uint32_t>(place.checks));
  }
}

void readFunction(Reader& reader, Function& function) {
  function.name = reader.text();
  function.scalarCount = reader.u32();
  function.objectCount = reader.u32();
  function.parameterCount = reader.u32();
  function.resultCount = reader.u32();
  function.code.resize(reader.count(4));
  for (int32_t& word : function.code) word = static_cast<int32_t>(reader.u32());
  function.places.resize(reader.count(12));
  for (PlaceRow& place : function.places) {
    place.codePosition = reader.u32();
    place.string = reader.u32();
    place.checks = static_cast<int32_t>(reader.u32());
  }
}

void writeTexts(Writer& writer, const std::vector<std::string>& texts) {
  writer.u32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.text(text);
}

void readTexts(Reader& reader, std::vector<std::string>& texts) {
  const uint32_t count = reader.count(4);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) texts.push_back(reader.text());
}

void writeKernels(Writer& writer, const std::vector<KernelRow>& kernels) {
  writer.u32(static_cast<uint32_t>(kernels.size()));
  for (const KernelRow& kernel : kernels) {
    writer.text(kernel.name);
    writer.text(kernel.symbol);
    writer.u32(kernel.bufferCount);
    writer.u32(kernel.outputCount);
    writer.u32(kernel.scalarCount);
    writer.u64(kernel.scratchBytes);
    writer.text(kernel.description);
  }
}

void readKernels(Reader& reader, std::vector<KernelRow>& kernels) {
  const uint32_t count = reader.count(32);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) {
    KernelRow& kernel = kernels.emplace_back();
    kernel.name = reader.text();
    kernel.symbol = reader.text();
    kernel.bufferCount = reader.u32();
    kernel.outputCount = reader.u32();
    kernel.scalarCount = reader.u32();
    kernel.scratchBytes = reader.u64();
    kernel.description = reader.text();
  }
}

void writeConstants(Writer& writer, const std::vector<ConstantRow>& constants) {
  writer.u32(static_cast<uint32_t>(constants.size()));
  for (const ConstantRow& constant : constants) {
    writer.u8(constant.dtype);
    writer.u32(static_cast<uint32_t>(constant.shape.size()));
    for (int64_t dim : constant.shape) writer.i64(dim);
    writer.u64(constant.offset);
    writer.u64(constant.sizeBytes);
    writer.text(constant.name);
  }
}

void readConstants(Reader& reader, std::vector<ConstantRow>& constants) {
  const uint32_t count = reader.count(25);
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) {
    ConstantRow& constant = constants.emplace_back();
    constant.dtype = reader.u8();
    constant.shape.resize(reader.count(8));
    for (int64_t& dim : constant.shape) dim = reader.i64();
    constant.offset = reader.u64();
    constant.sizeBytes = reader.u64();
    constant.name = reader.text();
  }
}

}  // namespace

std::vector<uint8_t> serializeProgram(const Program& program) {
  Writer payload;
  payload.u32(static_cast<uint32_t>(program.functions.size()));
  for (const Function& function : program.functions) writeFunction(payload, function);
  payload.u32(static_cast<uint32_t>(program.mainFunction));
  payload.u32(static_cast<uint32_t>(program.initFunction));
  payload.u32(program.globalCount);
  writeKernels(payload, program.kernels);
  writeTexts(payload, program.builtins);
  writeConstants(payload, program.constants);
  writeTexts(payload, program.strings);
  writeContract(payload, program.inputs);
  writeContract(payload, program.outputs);
  payload.u32(static_cast<uint32_t>(program.metadata.size()));
  for (const auto& [key, value] : program.metadata) {
    payload.text(key);
    payload.text(value);
  }
  Writer file;
  file.bytes.assign(std::begin(kProgramMagic), std::end(kProgramMagic));
  file.u32(kProgramFormatVersion);
  file.u32(0);
  file.u64(payload.bytes.size());
  file.u64(checksumBytes(payload.bytes.data(), payload.bytes.size()));
  file.bytes.insert(file.bytes.end(), payload.bytes.begin(), payload.bytes.end());
  return std::move(file.bytes);
}

Status parseProgram(const void* bytes, size_t sizeBytes, Program& program) {
  program = Program();
  const auto* data = static_cast<const uint8_t*>(bytes);
  if (sizeBytes < kHeaderBytes || memcmp(data, kProgramMagic, sizeof kProgramMagic) != 0)
    return failure(DYN_BAD_PROGRAM, "not a Dyn program (magic bytes missing)");
  Reader header(data + sizeof kProgramMagic, kHeaderBytes - sizeof kProgramMagic);
  const uint32_t version = header.u32(), zero = header.u32();
  if (version != kProgramFormatVersion || zero != 0)
    return failure(DYN_BAD_PROGRAM, "program format " + std::to_string(version) + ", this runtime reads " +
                                        std::to_string(kProgramFormatVersion));
  const uint64_t payloadBytes = header.u64(), checksum = header.u64();
  if (payloadBytes != sizeBytes - kHeaderBytes)
    return failure(DYN_BAD_PROGRAM, "the program is cut off or has bytes behind it: " +
                                        std::to_string(sizeBytes - kHeaderBytes) +
                                        " payload bytes, header says " + std::to_string(payloadBytes));
  if (checksumBytes(data + kHeaderBytes, payloadBytes) != checksum)
    return failure(DYN_BAD_PROGRAM, "the checksum does not match: the program is damaged");

  Reader reader(data + kHeaderBytes, payloadBytes);
  const uint32_t functionCount = reader.count(28);
  for (uint32_t i = 0; i < functionCount && !reader.failed(); ++i)
    readFunction(reader, program.functions.emplace_back());
  program.mainFunction = static_cast<int32_t>(reader.u32());
  program.initFunction = static_cast<int32_t>(reader.u32());
  program.globalCount = reader.u32();
  readKernels(reader, program.kernels);
  readTexts(reader, program.builtins);
  readConstants(reader, program.constants);
  readTexts(reader, program.strings);
  readContract(reader, program.inputs);
  readContract(reader, program.outputs);
  const uint32_t metadataCount = reader.count(8);
  for (uint32_t i = 0; i < metadataCount && !reader.failed(); ++i) {
    std::string key = reader.text();
    std::string value = reader.text();
    program.metadata.emplace_back(std::move(key), std::move(value));
  }
  if (reader.failed() || !reader.atEnd()) {
    program = Program();
    return failure(DYN_BAD_PROGRAM, "a table of the program has a bad length");
  }
  return okStatus();
}

}  // namespace dyn::vm
