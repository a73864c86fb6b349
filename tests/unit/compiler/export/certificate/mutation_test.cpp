// Certificates against damaged programs: every mutated plan, offset or size that is unsafe at some sizes is
// refused. What is unsafe is judged by a run at sizes, without anything of the checker: it computes the host
// code with numbers, keeps the bytes of each tensor that a register holds, and compares them.
//
// A tenth of the mutations; DYN_ALL_MUTATIONS=1: all 10,000.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "compiler/driver/compile.h"
#include "compiler/export/certificate/certificate_writer.h"
#include "tests/support/text_module.h"
#include "vm/certificate/certificate.h"
#include "vm/isa/instruction_reader.h"
#include "vm/isa/program_file.h"
#include "vm/isa/verifier.h"

namespace dyn {
namespace {

using certificate::CertificateStatus;
using vm::Opcode;

const char* const kPrograms[] = {
    R"(fn @main(%x: Tensor[(n, 64), f32], %w: Tensor[(64, 64), f32]) {
  %a = matmul(%x, %w)
  %b = softmax(%a) {axis = -1}
  %c = matmul(%b, %w)
  %d = softmax(%c) {axis = -1}
  %e = matmul(%d, %w)
  %y = add(%e, %a)
  return %y
})",
    R"(fn @main(%x: Tensor[(n, 4), f32], %w1: Tensor[(4, 8), f32], %b1: Tensor[(8), f32], %w2: Tensor[(8, 3), f32]) {
  %p = matmul(%x, %w1)
  %q = add(%p, %b1)
  %h = relu(%q)
  %s = matmul(%h, %w2)
  %y = softmax(%s) {axis = -1}
  return %y
})"};

struct Certified {
  vm::Program program;
  std::string certificate;
  std::vector<loop::Kernel> kernels;
  std::unique_ptr<IrContext> ir;
};

std::string bytesOf(const vm::Program& program) {
  const std::vector<uint8_t> bytes = vm::serializeProgram(program);
  return {bytes.begin(), bytes.end()};
}

Certified certified(const char* text) {
  Certified made;
  made.ir = std::make_unique<IrContext>();
  Result<Module> module = test::parseText(*made.ir, text);
  EXPECT_TRUE(module.ok()) << module.error().message;
  Result<CompiledModel> compiled = compileModel(*module, {});
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  made.program = compiled->lowered.program;
  made.kernels = compiled->lowered.kernels;
  Result<std::string> certificate = makeCertificate(bytesOf(made.program), made.kernels, {});
  EXPECT_TRUE(certificate.ok()) << certificate.error().message;
  made.certificate = *certificate;
  return made;
}

// --- the judge: host code with numbers
struct Tensor {
  int storage = -1;
  int64_t begin = 0, bytes = 0;
  int64_t elements = 0;
  std::vector<int64_t> shape;
};
enum class Run : uint8_t { safe, unsafe, faulted };

int64_t bytesOfElement(int32_t dtype) { return storageBytes(static_cast<Dtype>(dtype)); }

// Whether a launch stays in its buffers: each has the elements that the kernel's shapes say at these scalars.
bool launchFits(const loop::Kernel& kernel, const std::vector<int64_t>& scalars, int64_t units,
                const std::vector<Tensor>& buffers) {
  DimBinding binding;
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    if (kernel.scalars[i].isSymbol()) binding.set(kernel.scalars[i], scalars[i]);
  const auto valueOf = [&](const loop::Expr& e) -> std::optional<int64_t> {
    if (e.kind() == loop::ExprKind::intConstant) return e.intValue();
    if (e.kind() != loop::ExprKind::dim) return std::nullopt;
    Result<int64_t> value = evaluate(e.dimValue(), binding);
    return value.ok() ? std::optional(*value) : std::nullopt;
  };
  const std::optional<int64_t> most = valueOf(kernel.unitCount);
  if (most && units > *most) return false;
  if (units <= 0) return true;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    int64_t elements = 1;
    bool isKnown = true;
    for (const loop::Expr& extent : kernel.buffers[i]->shape) {
      const std::optional<int64_t> value = valueOf(extent);
      isKnown = isKnown && value;
      elements *= value.value_or(0);
    }
    if (isKnown && elements > buffers[i].elements) return false;
  }
  return true;
}

Run runAt(const Certified& of, const vm::Program& program, const std::map<std::string, int64_t>& sizes) {
  const vm::Function& main = program.functions[static_cast<size_t>(program.mainFunction)];
  std::vector<int64_t> r(main.scalarCount);
  std::vector<std::optional<Tensor>> v(main.objectCount);
  std::vector<int64_t> storages;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    Tensor input;
    input.elements = 1;
    for (const vm::ContractDim& dim : program.inputs[i].type.dims) {
      const auto named = sizes.find(dim.text);
      input.shape.push_back(dim.value >= 0 ? dim.value : named == sizes.end() ? 1 : named->second);
      input.elements *= input.shape.back();
    }
    v[i] = input;
  }
  vm::InstructionReader reader(main.code);
  for (int steps = 0; steps < 20000; ++steps) {
    if (!reader.next()) return Run::faulted;
    const auto word = [&](uint32_t i) { return static_cast<size_t>(reader.operand(i).words[0]); };
    const auto list = [&](uint32_t operand) {
      std::vector<int64_t> values;
      for (uint32_t i = 0; i < reader.operand(operand).count; ++i)
        values.push_back(r[static_cast<size_t>(reader.operand(operand).words[i])]);
      return values;
    };
    // False: the runtime refuses it.
    const auto shaped = [&](Tensor& tensor, const std::vector<int64_t>& shape, int32_t dtype) {
      tensor.shape = shape;
      tensor.elements = 1;
      for (const int64_t dim : shape)
        if (dim < 0 || __builtin_mul_overflow(tensor.elements, dim, &tensor.elements)) return false;
      return !__builtin_mul_overflow(tensor.elements, bytesOfElement(dtype), &tensor.bytes);
    };
    switch (reader.opcode()) {
      case Opcode::constInt:
        r[word(0)] = reader.operand(1).immediate();
        break;
      case Opcode::move:
        r[word(0)] = r[word(1)];
        break;
      case Opcode::add:
        if (__builtin_add_overflow(r[word(1)], r[word(2)], &r[word(0)])) return Run::faulted;
        break;
      case Opcode::sub:
        if (__builtin_sub_overflow(r[word(1)], r[word(2)], &r[word(0)])) return Run::faulted;
        break;
      case Opcode::mul:
        if (__builtin_mul_overflow(r[word(1)], r[word(2)], &r[word(0)])) return Run::faulted;
        break;
      case Opcode::floorDiv: {
        const int64_t a = r[word(1)], k = r[word(2)];
        if (k == 0) return Run::faulted;
        r[word(0)] = a / k - (a % k != 0 && (a < 0) != (k < 0) ? 1 : 0);
        break;
      }
      case Opcode::minimum:
        r[word(0)] = std::min(r[word(1)], r[word(2)]);
        break;
      case Opcode::maximum:
        r[word(0)] = std::max(r[word(1)], r[word(2)]);
        break;
      case Opcode::lessEqual:
        r[word(0)] = r[word(1)] <= r[word(2)] ? 1 : 0;
        break;
      case Opcode::less:
        r[word(0)] = r[word(1)] < r[word(2)] ? 1 : 0;
        break;
      case Opcode::checkTensor:
        break;
      case Opcode::dim:
        if (!v[word(1)] || word(2) >= v[word(1)]->shape.size()) return Run::faulted;
        r[word(0)] = v[word(1)]->shape[word(2)];
        break;
      case Opcode::checkEqual:
        if (r[word(0)] != r[word(1)]) return Run::faulted;
        break;
      case Opcode::checkLessEqual:
        if (r[word(0)] > r[word(1)]) return Run::faulted;
        break;
      case Opcode::jump:
        reader.moveTo(static_cast<uint32_t>(word(0)));
        break;
      case Opcode::jumpIf:
        if (r[word(0)] != 0) reader.moveTo(static_cast<uint32_t>(word(1)));
        break;
      case Opcode::jumpIfNot:
        if (r[word(0)] == 0) reader.moveTo(static_cast<uint32_t>(word(1)));
        break;
      case Opcode::allocStorage: {
        if (r[word(1)] < 0) return Run::faulted;
        Tensor whole;
        whole.storage = static_cast<int>(storages.size());
        whole.elements = -1;  // no tensor
        storages.push_back(r[word(1)]);
        v[word(0)] = whole;
        break;
      }
      case Opcode::allocTensor: {
        if (!v[word(1)] || v[word(1)]->elements >= 0) return Run::faulted;
        Tensor tensor;
        tensor.storage = v[word(1)]->storage;
        tensor.begin = r[word(2)];
        if (!shaped(tensor, list(4), reader.operand(3).words[0])) return Run::faulted;
        // The runtime refuses what doesn't fit.
        if (tensor.begin < 0 || tensor.bytes > storages[static_cast<size_t>(tensor.storage)] - tensor.begin)
          return Run::unsafe;
        for (size_t i = 0; i < v.size(); ++i) {
          const std::optional<Tensor>& other = v[i];
          if (!other || i == word(0) || other->storage != tensor.storage || other->elements < 0) continue;
          if (other->bytes > 0 && tensor.bytes > 0 && other->begin < tensor.begin + tensor.bytes &&
              tensor.begin < other->begin + other->bytes)
            return Run::unsafe;
        }
        v[word(0)] = tensor;
        break;
      }
      case Opcode::newTensor: {
        Tensor tensor;
        if (!shaped(tensor, list(3), reader.operand(1).words[0])) return Run::faulted;
        tensor.storage = static_cast<int>(storages.size());
        storages.push_back(tensor.bytes);
        v[word(0)] = tensor;
        break;
      }
      case Opcode::reshapeTensor: {
        if (!v[word(1)]) return Run::faulted;
        Tensor tensor = *v[word(1)];
        int64_t elements = 1;
        tensor.shape = list(2);
        for (const int64_t dim : tensor.shape) elements *= dim;
        if (elements != tensor.elements) return Run::faulted;
        v[word(0)] = tensor;
        break;
      }
      case Opcode::moveObject:
        v[word(0)] = v[word(1)];
        break;
      case Opcode::kill:
        v[word(0)].reset();
        break;
      case Opcode::launch: {
        std::vector<Tensor> buffers;
        for (uint32_t i = 0; i < reader.operand(3).count; ++i) {
          const auto& held = v[static_cast<size_t>(reader.operand(3).words[i])];
          if (!held || held->elements < 0) return Run::faulted;
          buffers.push_back(*held);
        }
        if (!launchFits(of.kernels[word(0)], list(4), r[word(1)], buffers)) return Run::unsafe;
        break;
      }
      case Opcode::callBuiltinInto:
        break;
      case Opcode::ret:
        return Run::safe;
      default:
        ADD_FAILURE() << "the judge doesn't know " << vm::row(reader.opcode()).text;
        return Run::faulted;
    }
  }
  return Run::faulted;
}

bool isUnsafe(const Certified& of, const vm::Program& program) {
  static constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 16, 61, 128, 1021, 40009};
  for (const int64_t n : kSizes)
    if (runAt(of, program, {{"n", n}}) == Run::unsafe) return true;
  return false;
}

// Changes one thing of the host code; false: nothing was there to change.
bool mutate(vm::Program& program, std::mt19937& random) {
  vm::Function& main = program.functions[static_cast<size_t>(program.mainFunction)];
  std::vector<uint32_t> starts;
  vm::InstructionReader reader(main.code);
  while (!reader.atEnd()) {
    starts.push_back(reader.position());
    if (!reader.next()) return false;
  }
  reader.moveTo(starts[random() % starts.size()]);
  if (!reader.next()) return false;
  const auto word = [&](uint32_t operand, uint32_t item) -> int32_t& {
    return main.code[static_cast<size_t>(reader.operand(operand).words - main.code.data()) + item];
  };
  const auto other = [&](uint32_t count) { return static_cast<int32_t>(random() % count); };
  switch (reader.opcode()) {
    case Opcode::constInt: {
      static constexpr int32_t kChanges[] = {-64, -8, -4, -1, 1, 4, 8, 64};
      int32_t& low = word(1, 0);
      low = random() % 3 == 0 ? low / 2 : low + kChanges[random() % 8];
      return low >= 0;  // the high word stays
    }
    case Opcode::add:
    case Opcode::mul:
    case Opcode::floorDiv:
    case Opcode::maximum:
    case Opcode::minimum:
      word(1 + random() % 2, 0) = other(main.scalarCount);
      return true;
    case Opcode::allocStorage:
      word(1, 0) = other(main.scalarCount);
      return true;
    case Opcode::allocTensor:
      if (random() % 2 == 0)
        word(2, 0) = other(main.scalarCount);
      else if (reader.operand(4).count > 0)
        word(4, other(reader.operand(4).count)) = other(main.scalarCount);
      return true;
    case Opcode::newTensor:
      if (reader.operand(3).count == 0) return false;
      word(3, other(reader.operand(3).count)) = other(main.scalarCount);
      return true;
    case Opcode::kill:
      word(0, 0) = other(main.objectCount);
      return true;
    case Opcode::launch:
      if (random() % 3 == 0)
        word(1, 0) = other(main.scalarCount);
      else if (random() % 2 == 0 && reader.operand(4).count > 0)
        word(4, other(reader.operand(4).count)) = other(main.scalarCount);
      else
        word(3, other(reader.operand(3).count)) = other(main.objectCount);
      return true;
    default:
      return false;
  }
}

TEST(Certificates, EveryUnsafeMutationIsRefused) {
  const int wanted = std::getenv("DYN_ALL_MUTATIONS") ? 10000 : 1000;
  std::mt19937 random(45);
  int unsafe = 0, refused = 0, count = 0;
  std::vector<Certified> programs;
  for (const char* text : kPrograms) {
    programs.push_back(certified(text));
    const certificate::Report report =
        certificate::checkProgram(bytesOf(programs.back().program), programs.back().certificate, {});
    ASSERT_EQ(report.status, CertificateStatus::certified)
        << report.why
        << (report.walk.open.empty() ? "" : report.walk.open[0].place + report.walk.open[0].what);
    ASSERT_FALSE(isUnsafe(programs.back(), programs.back().program));
  }
  while (count < wanted) {
    const Certified& of = programs[random() % programs.size()];
    vm::Program program = of.program;
    if (!mutate(program, random) ||
        program.functions[static_cast<size_t>(program.mainFunction)].code ==
            of.program.functions[static_cast<size_t>(of.program.mainFunction)].code)
      continue;
    if (!vm::verifyProgram(program).ok()) continue;
    ++count;
    const bool isBad = isUnsafe(of, program);
    const certificate::Report report = certificate::checkProgram(bytesOf(program), of.certificate, {});
    unsafe += isBad ? 1 : 0;
    refused += report.status == CertificateStatus::refused ? 1 : 0;
    ASSERT_FALSE(isBad && report.status != CertificateStatus::refused)
        << "mutation " << count << " is unsafe and is not refused";
  }
  EXPECT_GT(unsafe, wanted / 10);
  std::cout << count << " mutations, " << unsafe << " unsafe, " << refused << " refused\n";
}

// A certificate is data to be checked: no damage to it is taken for a proof, and none breaks the checker.
TEST(Certificates, ADamagedCertificateIsNoBetterThanNone) {
  std::mt19937 random(46);
  const Certified of = certified(kPrograms[0]);
  const std::string program = bytesOf(of.program);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = of.certificate;
    damaged[8 + random() % (damaged.size() - 8)] = static_cast<char>(random());
    if (random() % 8 == 0) damaged.resize(random() % damaged.size());
    (void)certificate::checkProgram(program, damaged, {});
    std::string other = program;
    other[32 + random() % (other.size() - 32)] ^= static_cast<char>(1 << random() % 8);
    (void)certificate::checkProgram(other, of.certificate, {});
  }
  EXPECT_EQ(certificate::checkProgram(program, of.certificate, {}).status, CertificateStatus::certified);
  const uint64_t digest = 1;
  EXPECT_EQ(certificate::checkProgram(program, of.certificate, {&digest, 1}).status,
            CertificateStatus::refused);
}

}  // namespace
}  // namespace dyn
