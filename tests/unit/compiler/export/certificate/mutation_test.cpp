// Certificates against damaged programs: every mutated plan, offset, size, bound or launch that is unsafe at
// some sizes is refused. What is unsafe is judged by runs at sizes (sized_run.h), without the checker.
//
// A part of the mutations; DYN_ALL_MUTATIONS=1: all 10,000.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "compiler/driver/compile.h"
#include "compiler/export/certificate/certificate_writer.h"
#include "tests/support/text_module.h"
#include "tests/unit/compiler/export/certificate/sized_run.h"
#include "vm/certificate/certificate.h"
#include "vm/isa/instruction_reader.h"
#include "vm/isa/program_file.h"
#include "vm/isa/verifier.h"

namespace dyn {
namespace {

using certificate::CertificateStatus;
using vm::OperandKind;

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
})",
    R"(fn @main(%x: Tensor[(n, m), f32], %z: Tensor[(m, n), f32]) {
  %a = softmax(%x) {axis = -1}
  %t = transpose(%a) {perm = [1, 0]}
  %b = matmul(%a, %z)
  %c = softmax(%b) {axis = -1}
  %d = matmul(%t, %c)
  %y = add(%d, %z)
  return %y, %c
})",
    R"(fn @main(%x: Tensor[(n, m), f32], %z: Tensor[(m, n), f32]) {
  %t = transpose(%x) {perm = [1, 0]}
  %a = softmax(%t) {axis = -1}
  %b = add(%a, %z)
  %c = softmax(%b) {axis = 0}
  %y = mul(%c, %t)
  return %y, %b
})",
    R"(fn @main(%x: Tensor[(n, 2*n + 1), f32]) {
  %a = softmax(%x) {axis = -1}
  %b = softmax(%a) {axis = 0}
  %s = reduce_sum(%b, i64[1] [1])
  %y = add(%a, %s)
  return %y
})"};

struct Certified {
  std::unique_ptr<IrContext> ir;
  vm::Program program;
  std::vector<loop::Kernel> kernels;
  std::string certificate;
  std::unique_ptr<test::SizedRunner> runner;

  const std::vector<int32_t>& code() const {
    return program.functions[static_cast<size_t>(program.mainFunction)].code;
  }
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
  Result<Certificate> certificate = makeCertificate(bytesOf(made.program), made.kernels, {});
  EXPECT_TRUE(certificate.ok()) << certificate.error().message;
  made.certificate = certificate->bytes;
  made.runner = std::make_unique<test::SizedRunner>(made.kernels);
  return made;
}

// All that goes wrong at some sizes.
test::SizedRun runsOf(const Certified& of, const vm::Program& program) {
  static constexpr int64_t kSizes[][2] = {{0, 3}, {1, 1}, {2, 5}, {3, 0}, {7, 2}, {61, 17}, {1021, 9}};
  test::SizedRun all;
  for (const auto& [n, m] : kSizes) {
    const test::SizedRun one = of.runner->run(program, {{"n", n}, {"m", m}});
    all.isUnsafe |= one.isUnsafe;
    all.isMisfit |= one.isMisfit;
    all.isMisshapen |= one.isMisshapen;
    EXPECT_EQ(one.unknown, "");
  }
  return all;
}

// "program 4, word 57: 12, was 3".
std::string changeText(const std::vector<Certified>& programs, const Certified& of,
                       const vm::Program& program) {
  const std::vector<int32_t>& code = program.functions[static_cast<size_t>(program.mainFunction)].code;
  size_t at = 0;
  while (at + 1 < code.size() && code[at] == of.code()[at]) ++at;
  return "program " + std::to_string(&of - programs.data()) + ", word " + std::to_string(at) + ": " +
         std::to_string(code[at]) + ", was " + std::to_string(of.code()[at]);
}

// Changes one operand of one instruction: another register, number, place to jump to, kernel or constant.
bool mutate(vm::Program& program, std::mt19937& random) {
  vm::Function& main = program.functions[static_cast<size_t>(program.mainFunction)];
  std::vector<uint32_t> starts;
  vm::InstructionReader reader(main.code);
  while (!reader.atEnd()) {
    starts.push_back(reader.position());
    if (!reader.next()) return false;
  }
  reader.moveTo(starts[random() % starts.size()]);
  if (!reader.next() || vm::row(reader.opcode()).operandCount == 0) return false;
  const uint32_t which = random() % vm::row(reader.opcode()).operandCount;
  const vm::DecodedOperand& operand = reader.operand(which);
  if (operand.count == 0) return false;
  const auto other = [&](size_t count) {
    return static_cast<int32_t>(random() % std::max<size_t>(count, 1));
  };
  int32_t& word = main.code[static_cast<size_t>(operand.words - main.code.data()) + random() % operand.count];
  static constexpr int32_t kChanges[] = {-64, -8, -4, -1, 1, 4, 8, 64};
  switch (vm::row(reader.opcode()).operands[which].kind) {
    case OperandKind::scalarRead:
    case OperandKind::scalarWrite:
      word = other(main.scalarCount);
      return true;
    case OperandKind::objectRead:
    case OperandKind::objectWrite:
      word = other(main.objectCount);
      return true;
    case OperandKind::immediate: {
      int32_t& low = main.code[static_cast<size_t>(operand.words - main.code.data())];
      low = random() % 3 == 0 ? low / 2 : low + kChanges[random() % 8];
      return low >= 0;  // the high word stays
    }
    case OperandKind::label:
      word = static_cast<int32_t>(starts[random() % starts.size()]);
      return true;
    case OperandKind::kernel:
      word = other(program.kernels.size());
      return true;
    case OperandKind::constant:
      word = other(program.constants.size());
      return true;
    case OperandKind::dataType:
      word = other(16);
      return true;
    default:
      return false;
  }
}

TEST(Certificates, EveryUnsafeMutationIsRefused) {
  const int wanted = std::getenv("DYN_ALL_MUTATIONS") ? 10000 : 3000;
  std::mt19937 random(45);
  int count = 0, unsafe = 0, misfit = 0, misshapen = 0, refused = 0;
  std::vector<Certified> programs;
  for (const char* text : kPrograms) {
    programs.push_back(certified(text));
    const Certified& of = programs.back();
    const certificate::Report report = certificate::checkProgram(bytesOf(of.program), of.certificate, {});
    for (const certificate::OpenObligation& open : report.walk.open)
      ADD_FAILURE() << open.place << " " << open.what;
    ASSERT_EQ(report.status, CertificateStatus::certified) << report.why;
    const test::SizedRun runs = runsOf(of, of.program);
    ASSERT_FALSE(runs.isUnsafe || runs.isMisfit || runs.isMisshapen);
  }
  while (count < wanted) {
    const Certified& of = programs[random() % programs.size()];
    vm::Program program = of.program;
    if (!mutate(program, random) || !vm::verifyProgram(program).ok()) continue;
    if (program.functions[static_cast<size_t>(program.mainFunction)].code == of.code()) continue;
    ++count;
    const test::SizedRun runs = runsOf(of, program);
    const certificate::Report report = certificate::checkProgram(bytesOf(program), of.certificate, {});
    unsafe += runs.isUnsafe ? 1 : 0;
    misfit += runs.isMisfit ? 1 : 0;
    misshapen += runs.isMisshapen ? 1 : 0;
    refused += report.status == CertificateStatus::refused ? 1 : 0;
    // `run --certified` refuses it, and `verify-package` does not call it certified.
    EXPECT_FALSE(runs.isUnsafe && certificate::whyNotSafe(report).empty())
        << changeText(programs, of, program);
    EXPECT_FALSE((runs.isUnsafe || runs.isMisfit || runs.isMisshapen) &&
                 report.status == CertificateStatus::certified)
        << changeText(programs, of, program);
  }
  EXPECT_GT(unsafe, wanted / 20);
  EXPECT_GT(misfit + misshapen, wanted / 100);
  std::cout << count << " mutations: " << unsafe << " unsafe, " << misfit << " too large for their storage, "
            << misshapen << " of another shape; " << refused << " refused\n";
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

// A certificate is of one table of kernels: their machine code is found by its names.
TEST(Certificates, AnotherKernelUnderTheSameNumberIsRefused) {
  const Certified of = certified(kPrograms[0]);
  for (const bool isSymbol : {true, false}) {
    vm::Program other = of.program;
    ASSERT_FALSE(other.kernels.empty());
    if (isSymbol)
      other.kernels[0].symbol += "x";
    else
      other.kernels[0].scratchBytes += 64;
    EXPECT_EQ(certificate::checkProgram(bytesOf(other), of.certificate, {}).status,
              CertificateStatus::refused);
  }
}

}  // namespace
}  // namespace dyn
