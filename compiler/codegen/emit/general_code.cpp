#include "compiler/codegen/emit/general_code.h"

#include <bit>

#include "compiler/codegen/llvm/llvm_module.h"
#include "compiler/codegen/object/object_cache.h"

namespace dyn {

namespace {

constexpr size_t kBytesOfScalar = 8;

bool isPrefix(const std::vector<loop::GivenScalar>& given) {
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i] != loop::GivenScalar{i, 1}) return false;
  return true;
}

std::string place(size_t scalar, const char* base) {
  return std::to_string(scalar * kBytesOfScalar) + "(" + base + ")";
}

// Scalars are the second argument of a kernel (rsi), sizes the sixth of the general one (r9).
void addCall(std::string& code, const std::string& general, const KernelOfSizes& kernel) {
  const std::string sizes = ".L" + kernel.symbol + "_sizes";
  code += ".section .rodata\n.p2align 3\n" + sizes + ":\n";
  for (const int64_t size : kernel.sizes) code += ".quad " + std::to_string(size) + "\n";
  code += ".text\n.p2align 4\n.globl " + kernel.symbol + "\n.type " + kernel.symbol + ",@function\n" +
          kernel.symbol + ":\n";
  if (isPrefix(kernel.given)) {
    code += "leaq " + sizes + "(%rip), %r9\njmp " + general + "\n";
  } else {
    // An odd number of words: the stack is at a multiple of 16 bytes where a function is called.
    const std::string bytes = std::to_string((kernel.given.size() | 1) * kBytesOfScalar);
    code += "subq $" + bytes + ", %rsp\n";
    for (size_t i = 0; i < kernel.given.size(); ++i) {
      const auto& [from, multiple] = kernel.given[i];
      code += "movq " + place(from, "%rsi") + ", %rax\n";
      if (multiple != 1)
        code += "sarq $" + std::to_string(std::countr_zero(static_cast<uint64_t>(multiple))) + ", %rax\n";
      code += "movq %rax, " + place(i, "%rsp") + "\n";
    }
    code += "movq %rsp, %rsi\nleaq " + sizes + "(%rip), %r9\ncallq " + general + "\naddq $" + bytes +
            ", %rsp\nretq\n";
  }
  code += ".size " + kernel.symbol + ", . - " + kernel.symbol + "\n";
}

}  // namespace

GeneralCode generalCodeOf(const std::string& key, const MachineDescription& machine) {
  constexpr size_t kDigits = 32;
  const std::string digest = makeObjectKey({"general", key}).hex.substr(0, kDigits);
  return {"general " + std::to_string(machine.vectorBits) + " " + digest, "dyn_general_" + digest};
}

KernelJob generalCodeJob(const loop::Kernel& general, size_t openSizes, const GeneralCode& code,
                         const MachineDescription& machine) {
  KernelJob job;
  job.name = general.name;
  job.key = code.key;
  job.build = [&general, &machine, openSizes, symbol = code.symbol] {
    return emitGeneralCode(general, openSizes, symbol, machine);
  };
  return job;
}

std::string keyOfSizes(const std::vector<KernelOfSizes>& kernels) {
  std::string key;
  for (const KernelOfSizes& kernel : kernels) {
    key += kernel.symbol + " of";
    for (const loop::GivenScalar& scalar : kernel.given)
      key += " " + std::to_string(scalar.place) + "/" + std::to_string(scalar.multiple);
    key += " with";
    for (int64_t size : kernel.sizes) key += " " + std::to_string(size);
    key += "\n";
  }
  return key;
}

KernelJob generalCallsJob(std::vector<GeneralCalls> calls, const MachineDescription& machine) {
  KernelJob job;
  job.name = "calls of general kernels";
  job.key = "calls\n";
  for (const GeneralCalls& one : calls) job.key += one.symbol + "\n" + keyOfSizes(one.kernels);
  job.build = [calls = std::move(calls), &machine]() -> Result<KernelModule> {
    DYN_TRY(KernelModule module, makeKernelModule("calls", machine));
    std::string code;
    for (const GeneralCalls& one : calls) {
      code += ".hidden " + one.symbol + "\n";
      for (const KernelOfSizes& kernel : one.kernels) addCall(code, one.symbol, kernel);
    }
    module.contents().module->setModuleInlineAsm(code);
    return module;
  };
  return job;
}

}  // namespace dyn
