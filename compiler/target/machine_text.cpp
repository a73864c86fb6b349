// Text form of MachineDescription: one table of keys serves the printer and the parser.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <variant>

#include "compiler/target/machine.h"

namespace dyn {
namespace {

constexpr std::string_view kMachineHeader = "dyn-machine 1";

using M = MachineDescription;
using Member = std::variant<std::string M::*, int32_t M::*, int64_t M::*, bool M::*, double M::*>;

struct Field {
  std::string_view key;
  Member member;
};

const Field kFields[] = {
    {"name", &M::name},
    {"triple", &M::triple},
    {"cpu", &M::cpu},
    {"features", &M::features},
    {"abi", &M::abi},
    {"vectorBits", &M::vectorBits},
    {"vectorRegisters", &M::vectorRegisters},
    {"fma", &M::fma},
    {"maskedMemory", &M::maskedMemory},
    {"avx512", &M::avx512},
    {"avx512Bf16", &M::avx512Bf16},
    {"avx512Vnni", &M::avx512Vnni},
    {"amxTile", &M::amxTile},
    {"amxBf16", &M::amxBf16},
    {"amxInt8", &M::amxInt8},
    {"fmaPerCycle", &M::fmaPerCycle},
    {"fmaLatency", &M::fmaLatency},
    {"coreCount", &M::coreCount},
    {"lineBytes", &M::lineBytes},
    {"l1Bytes", &M::l1Bytes},
    {"l2Bytes", &M::l2Bytes},
    {"l3Bytes", &M::l3Bytes},
    {"l1ReadGBs", &M::l1ReadGBs},
    {"l2ReadGBs", &M::l2ReadGBs},
    {"l3ReadGBs", &M::l3ReadGBs},
    {"memoryReadGBs", &M::memoryReadGBs},
};

std::string printValue(const std::string& v) { return v; }
std::string printValue(int32_t v) { return std::to_string(v); }
std::string printValue(int64_t v) { return std::to_string(v); }
std::string printValue(bool v) { return v ? "yes" : "no"; }
std::string printValue(double v) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;  // shortest form that reads back the same
  return std::string(buffer, end);
}

bool parseValue(std::string_view text, std::string& v) {
  v = std::string(text);
  return true;
}
template <typename Number>
bool parseNumber(std::string_view text, Number& v) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() && v >= 0;
}
bool parseValue(std::string_view text, int32_t& v) { return parseNumber(text, v); }
bool parseValue(std::string_view text, int64_t& v) { return parseNumber(text, v); }
bool parseValue(std::string_view text, double& v) { return parseNumber(text, v) && std::isfinite(v); }
bool parseValue(std::string_view text, bool& v) {
  v = text == "yes";
  return v || text == "no";
}

std::string_view trimmedLine(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

}  // namespace

std::string printMachine(const MachineDescription& machine) {
  std::string text(kMachineHeader);
  text += '\n';
  for (const Field& field : kFields) {
    text += field.key;
    text += " = ";
    text += std::visit([&](auto member) { return printValue(machine.*member); }, field.member);
    text += '\n';
  }
  return text;
}

Result<MachineDescription> parseMachine(std::string_view text, std::string_view fileName) {
  MachineDescription machine;
  SourceLocation place;
  place.file = fileName;
  auto fail = [&](std::string message) -> Error {
    return makeError(DiagnosticId::fileFormat, std::move(message), place);
  };
  bool sawFirst = false;
  while (!text.empty()) {
    size_t newline = text.find('\n');
    std::string_view line = trimmedLine(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
    ++place.line;
    if (!sawFirst) {
      if (line != kMachineHeader)
        return fail("a machine description starts with '" + std::string(kMachineHeader) + "'");
      sawFirst = true;
      continue;
    }
    if (line.empty() || line.front() == '#') continue;
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) return fail("expected 'key = value'");
    std::string_view key = trimmedLine(line.substr(0, equals)), value = trimmedLine(line.substr(equals + 1));
    auto field =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.key == key; });
    if (field == std::end(kFields)) return fail("unknown key '" + std::string(key) + "'");
    bool good = std::visit([&](auto member) { return parseValue(value, machine.*member); }, field->member);
    if (!good) return fail("bad value '" + std::string(value) + "' of '" + std::string(key) + "'");
  }
  if (!sawFirst) return fail("a machine description starts with '" + std::string(kMachineHeader) + "'");
  if (machine.triple.empty() || machine.cpu.empty()) return fail("'triple' and 'cpu' are required");
  if (machine.vectorBits != 128 && machine.vectorBits != 256 && machine.vectorBits != 512)
    return fail("vectorBits is 128, 256 or 512, not " + std::to_string(machine.vectorBits));
  if (machine.vectorRegisters < 8 || machine.vectorRegisters > 64)
    return fail("vectorRegisters is 8 to 64, not " + std::to_string(machine.vectorRegisters));
  if (machine.coreCount < 1) return fail("coreCount is at least 1");
  return machine;
}

}  // namespace dyn
