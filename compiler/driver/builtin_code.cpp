#include "compiler/driver/builtin_code.h"

#include "vm/include/dyn_builtin_info.h"

#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/object/running_code.h"
#endif

namespace dyn {

namespace {

Result<DynBuiltinInfo> infoOf(std::string_view name) {
  DynBuiltinInfo info{};
  if (!dyn_builtin_info(std::string(name).c_str(), &info))
    return makeError(DiagnosticId::textName, "there is no hand-written kernel '" + std::string(name) + "'");
  return info;
}

// At most so many letters a line.
std::string wrapped(std::string_view text, std::string_view comment) {
  constexpr size_t kWidth = 100;
  std::string lines, line;
  const auto end = [&] {
    if (!line.empty()) lines += std::string(comment) + line + "\n";
    line.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find(' ', at), text.size());
    if (line.size() + (next - at) > kWidth) end();
    line += " " + std::string(text.substr(at, next - at));
    at = next + 1;
  }
  end();
  return lines;
}

}  // namespace

Result<std::string> builtinCard(std::string_view name, std::string_view comment) {
  DYN_TRY(const DynBuiltinInfo info, infoOf(name));
  std::string card = std::string(comment) + " hand-written kernel of the runtime: " + std::string(name) +
                     " (source: vm/kernels, its row in builtins.def)\n" + wrapped(info.meaning, comment);
  if (info.matrix_kernels)
    card += std::string(comment) + " its innermost loops are the machine's matrix kernels\n";
  return card;
}

bool runsOnMatrixKernels(std::string_view name) {
  const Result<DynBuiltinInfo> info = infoOf(name);
  return info.ok() && info->matrix_kernels != 0;
}

#ifdef DYN_HAVE_LLVM

Result<std::vector<std::string>> builtinAssembly(const CompiledModel& compiled,
                                                 const std::vector<std::string>& names) {
  constexpr size_t kMostInstructions = 4000;
  std::vector<const void*> codes;
  for (const std::string& name : names) {
    DYN_TRY(const DynBuiltinInfo info, infoOf(name));
    codes.push_back(info.code);
  }
  return textsOfRunningCode(compiled.target.machine, codes, kMostInstructions);
}

Result<std::string> matrixKernelsAssembly(const CompiledModel& compiled) {
  DYN_TRY(KernelEngine engine, KernelEngine::create(compiled.target.machine));
  std::string text;
  for (const KernelJob& job : gemmKernelJobs(engine.machine())) {
    DYN_TRY(const std::string one, engine.assembly(job));
    text = one + text;  // a few rows in each, ascending
  }
  return text;
}

#else

Result<std::vector<std::string>> builtinAssembly(const CompiledModel&, const std::vector<std::string>&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no disassembler");
}
Result<std::string> matrixKernelsAssembly(const CompiledModel&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}

#endif

}  // namespace dyn
