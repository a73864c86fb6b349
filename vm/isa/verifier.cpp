#include "vm/isa/verifier.h"

#include "vm/base/checked.h"
#include "vm/base/dtype.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm {
namespace {

class FunctionVerifier {
 public:
  FunctionVerifier(const Program& program, uint32_t index)
      : program_(program),
        function_(program.functions[index]),
        isInit_(static_cast<int32_t>(index) == program.initFunction) {}

  Status run() {
    if (Status status = checkHeader(); !status.ok()) return status;
    const auto size = static_cast<uint32_t>(function_.code.size());
    std::vector<bool> starts(size, false);
    Opcode last = Opcode::ret;
    InstructionReader reader(function_.code);
    while (!reader.atEnd()) {
      starts[reader.position()] = true;
      position_ = reader.position();
      if (!reader.next()) return problem(reader.problem());
      if (Status status = checkInstruction(reader); !status.ok()) return status;
      last = reader.opcode();
    }
    if (!endsBlock(last)) return problem("the code runs off the end of the function");
    for (const auto& [from, target] : jumps_) {
      position_ = from;
      if (target < 0 || static_cast<uint32_t>(target) >= size || !starts[static_cast<uint32_t>(target)])
        return problem("jump to " + std::to_string(target) +
                       ", which is not an instruction of this function");
    }
    return okStatus();
  }

 private:
  Status problem(const std::string& what) const {
    return failure(DYN_BAD_PROGRAM, what, function_.name + "@" + std::to_string(position_));
  }

  Status checkHeader() const {
    if (function_.scalarCount > kMaximumRegisters || function_.objectCount > kMaximumRegisters)
      return problem("more than " + std::to_string(kMaximumRegisters) + " registers");
    if (function_.parameterCount > function_.objectCount)
      return problem("more parameters than object registers");
    if (function_.resultCount > kMaximumListLength) return problem("too many results");
    if (function_.code.empty()) return problem("the function has no code");
    if (function_.code.size() > INT32_MAX) return problem("the function is too long");
    for (size_t i = 0; i < function_.places.size(); ++i) {
      const PlaceRow& place = function_.places[i];
      if (place.string >= program_.strings.size())
        return problem("place row names a string that is not there");
      if (place.checks < -1 || place.checks >= static_cast<int64_t>(program_.strings.size()))
        return problem("place row names checks that are not there");
      if (i > 0 && place.codePosition <= function_.places[i - 1].codePosition)
        return problem("place rows are not ascending");
    }
    return okStatus();
  }

  Status checkWord(OperandKind kind, int32_t word) {
    // A negative index becomes a huge unsigned one, so that one comparison covers both ends.
    const auto index = static_cast<uint32_t>(word);
    auto inTable = [&](size_t size, const char* what) {
      return index < size ? okStatus()
                          : problem(std::string(what) + " " + std::to_string(word) + " is not there");
    };
    switch (kind) {
      case OperandKind::scalarRead:
      case OperandKind::scalarWrite:
        return inTable(function_.scalarCount, "scalar register");
      case OperandKind::objectRead:
      case OperandKind::objectWrite:
        return inTable(function_.objectCount, "object register");
      case OperandKind::function:
        return inTable(program_.functions.size(), "function");
      case OperandKind::kernel:
        return inTable(program_.kernels.size(), "kernel");
      case OperandKind::builtin:
        return inTable(program_.builtins.size(), "builtin");
      case OperandKind::constant:
        return inTable(program_.constants.size(), "constant");
      case OperandKind::global:
        return inTable(program_.globalCount, "global");
      case OperandKind::string:
        return inTable(program_.strings.size(), "string");
      case OperandKind::dataType:
        return inTable(kDataTypeCount, "dtype");
      case OperandKind::label:
        jumps_.push_back({position_, word});
        return okStatus();
      case OperandKind::immediate:
      case OperandKind::number:
        return okStatus();
    }
    return problem("unknown operand kind");
  }

  Status arity(const char* what, size_t expected, size_t got) const {
    if (expected == got) return okStatus();
    return problem(std::string(what) + ": expected " + std::to_string(expected) + ", got " +
                   std::to_string(got));
  }

  Status checkInstruction(const InstructionReader& reader) {
    const InstructionRow& instruction = row(reader.opcode());
    if (isInit_ && goesElsewhere(reader.opcode()))
      return problem("init runs at load, where nothing can end it: it may not jump or call");
    for (uint32_t i = 0; i < instruction.operandCount; ++i) {
      const Operand operand = instruction.operands[i];
      const DecodedOperand& decoded = reader.operand(i);
      if (operand.kind == OperandKind::immediate) continue;
      for (uint32_t item = 0; item < decoded.count; ++item) {
        Status status = checkWord(operand.kind, decoded.words[item]);
        if (!status.ok()) return status;
      }
    }
    return checkMeaning(reader);
  }

  Status checkShape(const DecodedOperand& shape) const {
    if (shape.count <= kMaximumRank) return okStatus();
    return problem("rank " + std::to_string(shape.count) + " is above " + std::to_string(kMaximumRank));
  }
  Status checkDevice(int32_t device) const {
    if (static_cast<uint32_t>(device) < kMaximumDevices) return okStatus();
    return problem("device " + std::to_string(device) + " has no number that a device may have");
  }
  Status checkScalarType(int32_t dtype) const {
    const auto type = static_cast<DataType>(dtype);
    if (type == DataType::i64 || type == DataType::i32 || type == DataType::boolean) return okStatus();
    return problem("dtype must be i64, i32 or bool, not " + std::string(text(type)));
  }

  // What the operand kinds alone do not say.
  Status checkMeaning(const InstructionReader& reader) const {
    const auto word = [&](uint32_t i) { return reader.operand(i).words[0]; };
    const auto function = [&](uint32_t i) -> const Function& {
      return program_.functions[static_cast<size_t>(word(i))];
    };
    switch (reader.opcode()) {
      case Opcode::dim:
      case Opcode::checkTensor: {
        const int32_t limit = word(2);
        if (limit < 0 || static_cast<uint32_t>(limit) > kMaximumRank)
          return problem("axis or rank out of range");
        return okStatus();
      }
      case Opcode::fromScalars:
      case Opcode::fromScalar:
        return checkScalarType(word(1));
      case Opcode::allocStorage:
        return checkDevice(word(2));
      case Opcode::allocTensor:
        return checkShape(reader.operand(4));
      case Opcode::newTensor: {
        if (Status status = checkDevice(word(2)); !status.ok()) return status;
        return checkShape(reader.operand(3));
      }
      case Opcode::reuseTensor: {
        if (Status status = checkDevice(word(3)); !status.ok()) return status;
        return checkShape(reader.operand(4));
      }
      case Opcode::reshapeTensor:
        return checkShape(reader.operand(2));
      case Opcode::stridedView: {
        if (Status status = checkShape(reader.operand(3)); !status.ok()) return status;
        return arity("strides", reader.operand(3).count, reader.operand(4).count);
      }
      case Opcode::deviceCopy: {
        if (Status status = checkDevice(word(2)); !status.ok()) return status;
        return checkDevice(word(3));
      }
      case Opcode::branch:
        if (word(0) >= 2 && word(0) <= kMaximumBranches && word(1) >= 0 && word(1) < word(0))
          return okStatus();
        return problem("branch " + std::to_string(word(1)) + " of " + std::to_string(word(0)));
      case Opcode::getField:
        return word(2) >= 0 ? okStatus() : problem("negative field");
      case Opcode::storeGlobal:
        return isInit_ ? okStatus() : problem("storeglobal outside the init function");
      case Opcode::makeClosure:
        if (reader.operand(2).count <= function(1).parameterCount) return okStatus();
        return problem("the closure captures more than " + function(1).name + " takes");
      case Opcode::invoke: {
        if (Status status = arity("results", function(1).resultCount, reader.operand(0).count); !status.ok())
          return status;
        return arity("arguments", function(1).parameterCount, reader.operand(2).count);
      }
      case Opcode::tailInvoke: {
        if (Status status = arity("results", function_.resultCount, function(0).resultCount); !status.ok())
          return status;
        return arity("arguments", function(0).parameterCount, reader.operand(1).count);
      }
      case Opcode::ret:
        return arity("results", function_.resultCount, reader.operand(0).count);
      case Opcode::launch: {
        const KernelRow& kernel = program_.kernels[static_cast<size_t>(word(0))];
        if (Status status = arity("kernel buffers", kernel.bufferCount, reader.operand(3).count);
            !status.ok())
          return status;
        return arity("kernel scalars", kernel.scalarCount, reader.operand(4).count);
      }
      default:
        return okStatus();
    }
  }

  const Program& program_;
  const Function& function_;
  bool isInit_;
  uint32_t position_ = 0;
  std::vector<std::pair<uint32_t, int32_t>> jumps_;
};

Status verifyConstants(const Program& program) {
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const ConstantRow& constant = program.constants[i];
    const std::string place = "constant " + std::to_string(i);
    if (constant.dtype >= kDataTypeCount) return failure(DYN_BAD_PROGRAM, "dtype out of range", place);
    if (constant.shape.size() > kMaximumRank) return failure(DYN_BAD_PROGRAM, "rank too high", place);
    int64_t count = 0, size = 0, end = 0;
    if (!checkedElementCount(constant.shape.data(), static_cast<uint32_t>(constant.shape.size()), count) ||
        !checkedMul(count, kDataTypes[constant.dtype].sizeBytes, size) ||
        static_cast<uint64_t>(size) != constant.sizeBytes)
      return failure(DYN_BAD_PROGRAM, "size does not match dtype and shape", place);
    if (constant.offset > INT64_MAX || !checkedAdd(static_cast<int64_t>(constant.offset), size, end) ||
        constant.offset % 64 != 0)
      return failure(DYN_BAD_PROGRAM, "offset out of range or not a multiple of 64", place);
  }
  return okStatus();
}

}  // namespace

Status verifyProgram(const Program& program) {
  const auto functionCount = static_cast<int64_t>(program.functions.size());
  if (program.mainFunction < -1 || program.mainFunction >= functionCount)
    return failure(DYN_BAD_PROGRAM, "main function is not there");
  if (program.initFunction < -1 || program.initFunction >= functionCount)
    return failure(DYN_BAD_PROGRAM, "init function is not there");
  if (program.globalCount > kMaximumListLength) return failure(DYN_BAD_PROGRAM, "too many globals");
  if (program.mainFunction >= 0) {
    const Function& main = program.functions[static_cast<size_t>(program.mainFunction)];
    if (main.parameterCount != program.inputs.size() || main.resultCount != program.outputs.size())
      return failure(DYN_BAD_PROGRAM, "the contract has " + std::to_string(program.inputs.size()) +
                                          " inputs and " + std::to_string(program.outputs.size()) +
                                          " outputs, main takes " + std::to_string(main.parameterCount) +
                                          " and gives " + std::to_string(main.resultCount));
  }
  if (program.initFunction >= 0) {
    const Function& init = program.functions[static_cast<size_t>(program.initFunction)];
    if (init.parameterCount != 0 || init.resultCount != 0)
      return failure(DYN_BAD_PROGRAM, "init must take and give nothing");
  }
  for (const KernelRow& kernel : program.kernels) {
    if (kernel.outputCount > kernel.bufferCount)
      return failure(DYN_BAD_PROGRAM, "kernel " + kernel.name + ": more outputs than buffers");
    if (kernel.scratchBytes > kMaximumScratchBytes)
      return failure(DYN_BAD_PROGRAM, "kernel " + kernel.name + ": " + std::to_string(kernel.scratchBytes) +
                                          " bytes of scratch memory");
    if (kernel.bufferCount > kMaximumKernelOperands || kernel.scalarCount > kMaximumKernelOperands)
      return failure(DYN_BAD_PROGRAM, "kernel " + kernel.name + ": more than " +
                                          std::to_string(kMaximumKernelOperands) + " buffers or scalars");
  }
  if (Status status = verifyConstants(program); !status.ok()) return status;
  for (uint32_t i = 0; i < program.functions.size(); ++i)
    if (Status status = FunctionVerifier(program, i).run(); !status.ok()) return status;
  return okStatus();
}

}  // namespace dyn::vm
