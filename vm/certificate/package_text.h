// The checker's own reader of packages: sections, the program and its contract, as vm/isa/package.h and
// vm/isa/program_file.h lay them out. It shares nothing with the reader of the runtime.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::certificate {

struct DimText {
  int64_t value = -1;  // at least 0: a constant
  std::string text;    // else an expression
};

struct PortText {
  std::string name;
  bool isTensor = false;
  uint8_t dtype = 0;
  std::vector<DimText> dims;
};

struct FunctionText {
  std::string name;
  uint32_t scalarCount = 0, objectCount = 0, parameterCount = 0, resultCount = 0;
  std::vector<int32_t> code;
};

struct KernelText {
  std::string name;
  uint32_t bufferCount = 0, outputCount = 0, scalarCount = 0;
};

struct ConstantText {
  uint8_t dtype = 0;
  std::vector<int64_t> shape;
};

struct ProgramText {
  std::vector<FunctionText> functions;
  int32_t mainFunction = -1, initFunction = -1;
  uint32_t globalCount = 0;
  std::vector<KernelText> kernels;
  uint64_t kernelDigest = 0;  // of their table
  std::vector<std::string> builtins;
  std::vector<ConstantText> constants;
  std::vector<PortText> inputs, outputs;
};

struct SectionText {
  std::string name;
  bool isObject = false;
  std::string_view bytes;
};

struct PackageText {
  ProgramText program;
  std::vector<SectionText> sections;
};

// Bytes read one after the other; past the end everything is 0 and `failed` is set.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool failed() const { return failed_; }
  bool atEnd() const { return at_ == bytes_.size(); }
  uint64_t fixed(size_t sizeBytes);  // little endian, at most 8
  uint64_t number();                 // 7 bits a byte, the lowest first
  int64_t signedNumber();            // zigzag
  std::string text();                // a size of 4 bytes, then the bytes
  uint64_t count(uint64_t value);    // a count of rows that take a byte or more each: else 0 and failed
  void skip(size_t sizeBytes);
  std::string_view since(size_t position) const { return bytes_.substr(position, at_ - position); }
  size_t position() const { return at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

inline constexpr char kCertificateSection[] = "certificate";

// An error names the table that is bad; "" is success. The views are into `bytes`.
std::string readPackage(std::string_view bytes, PackageText& package);
std::string readProgram(std::string_view bytes, ProgramText& program);
// The checksum that the section table has (Checksum of vm/isa).
uint64_t digestOf(std::string_view bytes);

}  // namespace dyn::certificate
