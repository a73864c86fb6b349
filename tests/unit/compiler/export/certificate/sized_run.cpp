#include "tests/unit/compiler/export/certificate/sized_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "compiler/ir/dtype.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::test {

namespace {

using vm::Opcode;

constexpr int kMostSteps = 20000;
constexpr int64_t kMostBytes = 1 << 14, kMostUnits = 64;  // of a launch that is run

struct Thing {
  bool isStorage = false, isDense = true;
  int storage = -1;  // -1: the caller's
  int64_t begin = 0, bytes = 0, elements = 1;
  std::vector<int64_t> shape;
};

std::optional<int64_t> valueOf(const loop::Expr& e, const DimBinding& binding) {
  if (e.kind() == loop::ExprKind::intConstant) return e.intValue();
  if (e.kind() != loop::ExprKind::dim) return std::nullopt;
  const Result<int64_t> value = evaluate(e.dimValue(), binding);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

class Machine {
 public:
  Machine(const vm::Program& program, SizedRunner& runner, const std::map<std::string, int64_t>& sizes)
      : program_(program),
        runner_(runner),
        sizes_(sizes),
        main_(program.functions[static_cast<size_t>(program.mainFunction)]),
        reader_(main_.code),
        r_(main_.scalarCount),
        v_(main_.objectCount) {}

  SizedRun run() {
    for (size_t i = 0; i < program_.inputs.size(); ++i) v_[i] = input(program_.inputs[i].type);
    for (int steps = 0; steps < kMostSteps; ++steps) {
      if (!reader_.next()) break;
      if (reader_.opcode() == Opcode::ret) {
        compareWithContract();
        return said_;
      }
      if (!control() && !arithmetic() && !object()) break;
    }
    said_.isFaulted = true;
    return said_;
  }

 private:
  size_t word(uint32_t operand) const { return static_cast<size_t>(reader_.operand(operand).words[0]); }
  int64_t& scalar(uint32_t operand) { return r_[word(operand)]; }
  std::optional<Thing>& held(uint32_t operand) { return v_[word(operand)]; }
  std::vector<int64_t> list(uint32_t operand) const {
    std::vector<int64_t> values;
    for (uint32_t i = 0; i < reader_.operand(operand).count; ++i)
      values.push_back(r_[static_cast<size_t>(reader_.operand(operand).words[i])]);
    return values;
  }
  bool isTensor(uint32_t operand) { return held(operand) && !held(operand)->isStorage; }

  // Nothing: the runtime refuses the shape.
  static std::optional<Thing> tensor(const std::vector<int64_t>& shape, size_t dtype) {
    Thing made;
    made.shape = shape;
    for (const int64_t dim : shape)
      if (dim < 0 || __builtin_mul_overflow(made.elements, dim, &made.elements)) return std::nullopt;
    if (__builtin_mul_overflow(made.elements, storageBytes(static_cast<Dtype>(dtype)), &made.bytes))
      return std::nullopt;
    return made;
  }
  std::optional<Thing> input(const vm::ContractType& type) const {
    std::vector<int64_t> shape;
    for (const vm::ContractDim& dim : type.dims) shape.push_back(sizeOf(dim).value_or(1));
    return tensor(shape, static_cast<size_t>(type.dtype));
  }
  std::optional<int64_t> sizeOf(const vm::ContractDim& dim) const {
    const auto named = sizes_.find(dim.text);
    if (dim.value >= 0) return dim.value;
    return named == sizes_.end() ? std::nullopt : std::optional(named->second);
  }

  // False: another group, or the run ends here.
  bool control() {
    switch (reader_.opcode()) {
      case Opcode::jump:
        reader_.moveTo(static_cast<uint32_t>(word(0)));
        return true;
      case Opcode::jumpIf:
      case Opcode::jumpIfNot:
        if ((scalar(0) != 0) == (reader_.opcode() == Opcode::jumpIf))
          reader_.moveTo(static_cast<uint32_t>(word(1)));
        return true;
      case Opcode::checkTensor:
        return isTensor(0);
      case Opcode::checkEqual:
        return scalar(0) == scalar(1);
      case Opcode::checkLessEqual:
        return scalar(0) <= scalar(1);
      case Opcode::check:
        return scalar(0) != 0;
      default:
        return false;
    }
  }

  bool arithmetic() {
    const auto floorOf = [](int64_t a, int64_t k) {
      return a / k - (a % k != 0 && (a < 0) != (k < 0) ? 1 : 0);
    };
    switch (reader_.opcode()) {
      case Opcode::constInt:
        scalar(0) = reader_.operand(1).immediate();
        return true;
      case Opcode::move:
        scalar(0) = scalar(1);
        return true;
      case Opcode::add:
        return !__builtin_add_overflow(scalar(1), scalar(2), &scalar(0));
      case Opcode::sub:
        return !__builtin_sub_overflow(scalar(1), scalar(2), &scalar(0));
      case Opcode::mul:
        return !__builtin_mul_overflow(scalar(1), scalar(2), &scalar(0));
      case Opcode::addImmediate:
        return !__builtin_add_overflow(scalar(1), reader_.operand(2).immediate(), &scalar(0));
      case Opcode::mulImmediate:
        return !__builtin_mul_overflow(scalar(1), reader_.operand(2).immediate(), &scalar(0));
      case Opcode::floorDiv:
      case Opcode::ceilDiv:
      case Opcode::mod: {
        const int64_t a = scalar(1), k = scalar(2);
        if (k == 0 || a == INT64_MIN) return false;
        scalar(0) = reader_.opcode() == Opcode::floorDiv  ? floorOf(a, k)
                    : reader_.opcode() == Opcode::ceilDiv ? -floorOf(-a, k)
                                                          : a - k * floorOf(a, k);
        return true;
      }
      case Opcode::minimum:
        scalar(0) = std::min(scalar(1), scalar(2));
        return true;
      case Opcode::maximum:
        scalar(0) = std::max(scalar(1), scalar(2));
        return true;
      case Opcode::equal:
        scalar(0) = scalar(1) == scalar(2) ? 1 : 0;
        return true;
      case Opcode::less:
        scalar(0) = scalar(1) < scalar(2) ? 1 : 0;
        return true;
      case Opcode::lessEqual:
        scalar(0) = scalar(1) <= scalar(2) ? 1 : 0;
        return true;
      case Opcode::logicalAnd:
        scalar(0) = scalar(1) != 0 && scalar(2) != 0 ? 1 : 0;
        return true;
      case Opcode::logicalNot:
        scalar(0) = scalar(1) == 0 ? 1 : 0;
        return true;
      case Opcode::dim:
        if (!isTensor(1) || word(2) >= held(1)->shape.size()) return false;
        scalar(0) = held(1)->shape[word(2)];
        return true;
      default:
        return false;
    }
  }

  bool object() {
    switch (reader_.opcode()) {
      case Opcode::allocStorage: {
        if (scalar(1) < 0) return false;
        Thing whole;
        whole.isStorage = true;
        whole.storage = static_cast<int>(storages_.size());
        storages_.push_back(scalar(1));
        held(0) = whole;
        return true;
      }
      case Opcode::allocTensor:
        return place();
      case Opcode::newTensor:
      case Opcode::fromScalars:
      case Opcode::fromScalar: {
        const bool isNew = reader_.opcode() == Opcode::newTensor;
        std::vector<int64_t> shape;
        if (isNew) shape = list(3);
        if (reader_.opcode() == Opcode::fromScalars) shape = {reader_.operand(2).count};
        std::optional<Thing> made = tensor(shape, word(1));
        if (!made) return false;
        made->storage = static_cast<int>(storages_.size());
        storages_.push_back(made->bytes);
        held(0) = made;
        return true;
      }
      case Opcode::reshapeTensor: {
        if (!isTensor(1)) return false;
        std::optional<Thing> made = tensor(list(2), 0);
        if (!made || made->elements != held(1)->elements) return false;
        Thing view = *held(1);
        view.shape = made->shape;
        held(0) = view;
        return true;
      }
      case Opcode::stridedView:
        return view();
      case Opcode::loadConstant: {
        const vm::ConstantRow& constant = program_.constants[word(1)];
        held(0) = tensor(constant.shape, static_cast<size_t>(constant.dtype));
        return held(0).has_value();
      }
      case Opcode::moveObject:
        held(0) = std::optional(held(1));
        return true;
      case Opcode::kill:
        held(0).reset();
        return true;
      case Opcode::launch:
        return launch();
      case Opcode::callBuiltinInto:
      case Opcode::checkTensor:
        return reader_.opcode() == Opcode::callBuiltinInto;
      case Opcode::checkEqual:
      case Opcode::checkLessEqual:
      case Opcode::check:
      case Opcode::fatal:
        return false;
      default:
        if (!isArithmetic()) said_.unknown = vm::row(reader_.opcode()).text;
        return false;
    }
  }
  bool isArithmetic() const {
    return vm::row(reader_.opcode()).operands[0].kind == vm::OperandKind::scalarWrite;
  }

  // A kernel refuses a view that is not dense, so elements that lie apart are of no use to it.
  bool view() {
    if (!isTensor(1)) return false;
    const std::vector<int64_t> shape = list(3), strides = list(4);
    const std::optional<Thing> made = tensor(shape, 0);
    if (!made) return false;
    int64_t first = scalar(2), last = scalar(2), dense = made->elements;
    Thing whole = *held(1);
    for (size_t i = 0; i < shape.size() && made->elements > 0; ++i) {
      int64_t reach = 0;
      if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach)) return false;
      if (__builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) return false;
      dense /= shape[i];
      whole.isDense = whole.isDense && (shape[i] == 1 || strides[i] == dense);
    }
    if (made->elements > 0 && (first < 0 || last >= whole.elements)) return false;
    const int64_t elementBytes = whole.elements > 0 ? whole.bytes / whole.elements : 0;
    whole.shape = shape;
    whole.elements = made->elements;
    whole.bytes = made->elements * elementBytes;
    held(0) = whole;
    return true;
  }

  bool place() {
    if (!held(1) || !held(1)->isStorage) return false;
    std::optional<Thing> made = tensor(list(4), word(3));
    if (!made) return false;
    made->storage = held(1)->storage;
    made->begin = scalar(2);
    // The runtime refuses what doesn't fit.
    if (made->begin < 0 || made->bytes > storages_[static_cast<size_t>(made->storage)] - made->begin) {
      said_.isMisfit = true;
      return false;
    }
    for (size_t i = 0; i < v_.size(); ++i) {
      const std::optional<Thing>& other = v_[i];
      if (!other || i == word(0) || other->isStorage || other->storage != made->storage) continue;
      if (std::max(other->begin, made->begin) <
          std::min(other->begin + other->bytes, made->begin + made->bytes))
        said_.isUnsafe = true;
    }
    held(0) = made;
    return true;
  }

  bool launch() {
    std::vector<int64_t> bytes;
    for (uint32_t i = 0; i < reader_.operand(3).count; ++i) {
      const std::optional<Thing>& each = v_[static_cast<size_t>(reader_.operand(3).words[i])];
      if (!each || each->isStorage || !each->isDense) return false;
      bytes.push_back(each->bytes);
    }
    if (scalar(1) < 0) return false;
    if (!runner_.staysInside(word(0), list(4), scalar(1), bytes)) said_.isUnsafe = true;
    return true;
  }

  void compareWithContract() {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const vm::ContractType& type = program_.outputs[i].type;
      const std::optional<Thing>& result = v_[static_cast<size_t>(reader_.operand(0).words[i])];
      if (!result || result->isStorage) {
        said_.isMisshapen = true;
        continue;
      }
      for (size_t axis = 0; axis < type.dims.size(); ++axis)
        if (const std::optional<int64_t> size = sizeOf(type.dims[axis]))
          said_.isMisshapen =
              said_.isMisshapen || axis >= result->shape.size() || result->shape[axis] != *size;
    }
  }

  const vm::Program& program_;
  SizedRunner& runner_;
  const std::map<std::string, int64_t>& sizes_;
  const vm::Function& main_;
  vm::InstructionReader reader_;
  std::vector<int64_t> r_;
  std::vector<std::optional<Thing>> v_;
  std::vector<int64_t> storages_;
  SizedRun said_;
};

}  // namespace

SizedRunner::SizedRunner(std::span<const loop::Kernel> kernels) : kernels_(kernels) {
  for (const loop::Kernel& kernel : kernels) {
    Result<loop::KernelInterpreter> code = loop::KernelInterpreter::compile(kernel);
    EXPECT_TRUE(code.ok()) << code.error().message;
    code_.push_back(*code);
  }
}

SizedRun SizedRunner::run(const vm::Program& program, const std::map<std::string, int64_t>& sizes) {
  return Machine(program, *this, sizes).run();
}

// Each buffer needs the bytes of the shape that the kernel gives it, and no index may leave that shape.
bool SizedRunner::staysInside(size_t index, const std::vector<int64_t>& scalars, int64_t units,
                              const std::vector<int64_t>& bytes) {
  if (units <= 0) return true;
  const loop::Kernel& kernel = kernels_[index];
  DimBinding binding;
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    if (kernel.scalars[i].isSymbol()) binding.set(kernel.scalars[i], scalars[i]);
  std::vector<int64_t> needed;
  for (const loop::Buffer* buffer : kernel.buffers) {
    int64_t& most = needed.emplace_back(storageBytes(buffer->dtype));
    for (const loop::Expr& extent : buffer->shape) {
      const std::optional<int64_t> value = valueOf(extent, binding);
      if (!value || *value < 0 || __builtin_mul_overflow(most, *value, &most)) return true;  // not judged
    }
    if (most > bytes[needed.size() - 1]) return false;
  }
  if (*std::max_element(needed.begin(), needed.end()) > kMostBytes) return true;
  const auto [ran, isNew] = ran_.try_emplace({index, scalars, units}, true);
  if (!isNew) return ran->second;
  std::vector<std::vector<char>> memory;
  std::vector<void*> data;
  for (const int64_t each : needed) data.push_back(memory.emplace_back(static_cast<size_t>(each)).data());
  // The first units, and the last: what a changed number of them adds is at the end.
  const int64_t first = std::min(units, kMostUnits), last = std::max(first, units - kMostUnits);
  ran->second = code_[index].run(data, scalars, 0, first).ok() &&
                (last >= units || code_[index].run(data, scalars, last, units).ok());
  return ran->second;
}

}  // namespace dyn::test
