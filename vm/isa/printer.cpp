// Program → text; see assembler.h for the form.
#include <optional>

#include "vm/base/dtype.h"
#include "vm/isa/assembler.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm {
namespace {

std::string inQuotes(const std::string& text) {
  static const char* kHex = "0123456789abcdef";
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string dataTypeText(int32_t dtype) {
  return dtype >= 0 && static_cast<uint32_t>(dtype) < kDataTypeCount ? std::string(kDataTypes[dtype].text)
                                                                     : "dtype" + std::to_string(dtype);
}

std::string wordText(OperandKind kind, int32_t word) {
  switch (kind) {
    case OperandKind::scalarRead:
    case OperandKind::scalarWrite:
      return "r" + std::to_string(word);
    case OperandKind::objectRead:
    case OperandKind::objectWrite:
      return "v" + std::to_string(word);
    case OperandKind::label:
      return "L" + std::to_string(word);
    case OperandKind::number:
    case OperandKind::immediate:
      return std::to_string(word);
    case OperandKind::dataType:
      return dataTypeText(word);
    default:
      return static_cast<char>(kind) + std::to_string(word);
  }
}

std::string nameComment(const Program& program, OperandKind kind, int32_t word) {
  const auto index = static_cast<size_t>(word);
  auto named = [&](const auto& table, auto name) {
    return index < table.size() ? name(table[index]) : std::string();
  };
  switch (kind) {
    case OperandKind::function:
      return named(program.functions, [](const Function& f) { return f.name; });
    case OperandKind::kernel:
      return named(program.kernels, [](const KernelRow& k) { return k.name; });
    case OperandKind::builtin:
      return named(program.builtins, [](const std::string& b) { return b; });
    case OperandKind::constant:
      return named(program.constants, [](const ConstantRow& c) { return c.name; });
    case OperandKind::string:
      return named(program.strings, [](const std::string& s) { return s; });
    default:
      return {};
  }
}

std::string instructionText(const Program& program, const InstructionReader& reader) {
  const InstructionRow& instruction = row(reader.opcode());
  std::string result(instruction.text), comment;
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    const Operand operand = instruction.operands[i];
    const DecodedOperand& decoded = reader.operand(i);
    if (operand.kind == OperandKind::immediate) {
      result += " " + std::to_string(decoded.immediate());
    } else if (operand.list) {
      result += " [";
      for (uint32_t item = 0; item < decoded.count; ++item)
        result += (item ? " " : "") + wordText(operand.kind, decoded.words[item]);
      result += "]";
    } else {
      result += " " + wordText(operand.kind, decoded.words[0]);
      const std::string name = nameComment(program, operand.kind, decoded.words[0]);
      if (!name.empty()) comment += (comment.empty() ? "" : ", ") + inQuotes(name);
    }
  }
  return comment.empty() ? result : result + " ; " + comment;
}

// Contract types nest at most 32 deep (program_file.cpp), so this recursion is bounded.
std::string typeText(const ContractType& type) {
  static const char* kKinds[] = {"tensor", "tuple", "list", "optional", "closure", "data"};
  std::string result = kKinds[static_cast<size_t>(type.kind)];
  if (type.kind == ContractKind::tensor) {
    result += " " + dataTypeText(type.dtype) + " [";
    for (size_t i = 0; i < type.dims.size(); ++i) {
      const ContractDim& dim = type.dims[i];
      if (i > 0) result += ", ";
      if (dim.value >= 0) {
        result += std::to_string(dim.value);
        continue;
      }
      result += inQuotes(dim.text);
      if (dim.low != 0 || dim.high != INT64_MAX || dim.multiple != 1)
        result += " " + std::to_string(dim.low) + ".." + std::to_string(dim.high) + ":" +
                  std::to_string(dim.multiple);
    }
    return result + "]";
  }
  result += " (";
  for (size_t i = 0; i < type.elements.size(); ++i) result += (i ? ", " : "") + typeText(type.elements[i]);
  return result + ")";
}

void printFunction(const Program& program, const Function& function, std::string& out) {
  out += "function " + inQuotes(function.name) + " parameters " + std::to_string(function.parameterCount) +
         " results " + std::to_string(function.resultCount) + " scalars " +
         std::to_string(function.scalarCount) + " objects " + std::to_string(function.objectCount) + "\n";
  std::vector<bool> targets(function.code.size() + 1, false);
  InstructionReader scan(function.code);
  while (!scan.atEnd() && scan.next()) {
    const InstructionRow& instruction = row(scan.opcode());
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      if (instruction.operands[i].kind == OperandKind::label &&
          static_cast<uint32_t>(scan.operand(i).words[0]) < targets.size())
        targets[static_cast<size_t>(scan.operand(i).words[0])] = true;
  }
  InstructionReader reader(function.code);
  size_t place = 0;
  std::optional<PlaceRow> printed;
  while (!reader.atEnd()) {
    const uint32_t position = reader.position();
    // The last one that holds from here, if that is news: rows of a file may say the same twice.
    std::optional<PlaceRow> row = printed;
    for (; place < function.places.size() && function.places[place].codePosition <= position; ++place)
      row = function.places[place];
    if (row && !(printed && printed->string == row->string && printed->checks == row->checks)) {
      out += "place " + std::to_string(row->string);
      if (row->checks >= 0) out += " checks " + std::to_string(row->checks);
      if (row->string < program.strings.size()) out += " ; " + inQuotes(program.strings[row->string]);
      out += "\n";
      printed = row;
    }
    if (targets[position]) out += "L" + std::to_string(position) + ":\n";
    if (!reader.next()) {
      out += "  ; " + reader.problem() + "\n";
      break;
    }
    out += "  " + instructionText(program, reader) + "\n";
  }
}

}  // namespace

std::string printInstruction(const Program& program, uint32_t function, uint32_t position) {
  const std::vector<int32_t>& code = program.functions[function].code;
  InstructionReader reader(code);
  reader.moveTo(position);
  if (reader.atEnd() || !reader.next()) return "?";
  return instructionText(program, reader);
}

std::string printProgram(const Program& program) {
  std::string out = "program\n";
  for (const auto& [key, value] : program.metadata)
    out += "meta " + inQuotes(key) + " " + inQuotes(value) + "\n";
  for (size_t i = 0; i < program.strings.size(); ++i)
    out += "string " + inQuotes(program.strings[i]) + " ; m" + std::to_string(i) + "\n";
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const KernelRow& kernel = program.kernels[i];
    out += "kernel " + inQuotes(kernel.name) + " symbol " + inQuotes(kernel.symbol) + " buffers " +
           std::to_string(kernel.bufferCount) + " outputs " + std::to_string(kernel.outputCount) +
           " scalars " + std::to_string(kernel.scalarCount) + " scratch " +
           std::to_string(kernel.scratchBytes) + " " + inQuotes(kernel.description) + " ; k" +
           std::to_string(i) + "\n";
  }
  for (size_t i = 0; i < program.builtins.size(); ++i)
    out += "builtin " + inQuotes(program.builtins[i]) + " ; b" + std::to_string(i) + "\n";
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const ConstantRow& constant = program.constants[i];
    out += "constant " + inQuotes(constant.name) + " " + dataTypeText(constant.dtype) + " [";
    for (size_t axis = 0; axis < constant.shape.size(); ++axis)
      out += (axis ? ", " : "") + std::to_string(constant.shape[axis]);
    out += "] offset " + std::to_string(constant.offset) + " ; c" + std::to_string(i) + ", " +
           std::to_string(constant.sizeBytes) + " bytes\n";
  }
  if (program.globalCount > 0) out += "globals " + std::to_string(program.globalCount) + "\n";
  for (const ContractValue& value : program.inputs)
    out += "input " + inQuotes(value.name) + " " + typeText(value.type) + "\n";
  for (const ContractValue& value : program.outputs)
    out += "output " + inQuotes(value.name) + " " + typeText(value.type) + "\n";
  for (const Function& function : program.functions) printFunction(program, function, out);
  auto entry = [&](const char* word, int32_t index) {
    if (index >= 0 && static_cast<size_t>(index) < program.functions.size())
      out += std::string(word) + " f" + std::to_string(index) + "\n";
  };
  entry("main", program.mainFunction);
  entry("init", program.initFunction);
  return out;
}

}  // namespace dyn::vm
