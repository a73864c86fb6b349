#include "compiler/codegen/flow/flow_code.h"

#include <memory>

#include "compiler/codegen/flow/flow_emitter.h"
#include "llvm/IR/Constants.h"
#include "vm/include/dyn_flow.h"
#include "vm/isa/flow_digest.h"

namespace dyn {
namespace {

// A piece of code is about this many instructions, and a job has pieces for at least as many.
constexpr uint32_t kInstructionsPerPiece = 1000;
constexpr uint32_t kWordsPerJob = 5000;

struct Part {
  std::vector<std::shared_ptr<const FlowFunction>> functions;
  std::vector<std::pair<size_t, size_t>> pieces;  // function here, piece in it
};

Result<KernelModule> emitPart(const Part& part, const vm::Program& program, const MachineDescription& machine,
                              FlowCalls calls) {
  DYN_TRY(KernelModule module, makeKernelModule("flow", machine));
  for (const auto& [function, piece] : part.pieces)
    emitFlowPiece(module, program, *part.functions[function], part.functions[function]->pieces()[piece],
                  calls);
  return module;
}

Result<KernelModule> emitTable(const std::vector<FlowPiece>& pieces, uint64_t digest,
                               const MachineDescription& machine) {
  DYN_TRY(KernelModule module, makeKernelModule("flow table", machine));
  llvm::Module& llvmModule = *module.contents().module;
  llvm::LLVMContext& context = module.contents().context();
  auto* i32 = llvm::Type::getInt32Ty(context);
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* codeType = llvm::FunctionType::get(i32, {pointer, i32}, false);
  auto* rowType = llvm::StructType::get(i32, i32, pointer);
  const auto number = [&](uint32_t value) { return llvm::ConstantInt::get(i32, value); };
  std::vector<llvm::Constant*> rows;
  for (const FlowPiece& piece : pieces)
    rows.push_back(
        llvm::ConstantStruct::get(rowType, number(piece.function), number(piece.begin),
                                  llvm::Function::Create(codeType, llvm::GlobalValue::ExternalLinkage,
                                                         flowPieceSymbol(piece), llvmModule)));
  auto* rowsType = llvm::ArrayType::get(rowType, rows.size());
  auto* table = new llvm::GlobalVariable(llvmModule, rowsType, true, llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(rowsType, rows));
  llvm::Constant* program =
      llvm::ConstantStruct::getAnon({number(DYN_FLOW_VERSION), number(static_cast<uint32_t>(rows.size())),
                                     llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), digest), table});
  new llvm::GlobalVariable(llvmModule, program->getType(), true, llvm::GlobalValue::ExternalLinkage, program,
                           DYN_FLOW_PROGRAM_SYMBOL);
  return module;
}

}  // namespace

std::vector<KernelJob> flowJobs(const vm::Program& program, const MachineDescription& machine,
                                FlowCalls calls) {
  std::vector<FlowPiece> all;
  std::vector<Part> parts(1);
  uint32_t words = 0;
  for (uint32_t f = 0; f < program.functions.size(); ++f) {
    if (static_cast<int32_t>(f) == program.initFunction) continue;
    const auto function = std::make_shared<const FlowFunction>(program, f, kInstructionsPerPiece);
    for (size_t p = 0; p < function->pieces().size(); ++p) {
      const FlowPiece& piece = function->pieces()[p];
      if (words > kWordsPerJob) {
        parts.emplace_back();
        words = 0;
      }
      words += piece.end - piece.begin;
      Part& part = parts.back();
      if (part.functions.empty() || part.functions.back() != function) part.functions.push_back(function);
      part.pieces.emplace_back(part.functions.size() - 1, p);
      all.push_back(piece);
    }
  }
  std::vector<KernelJob> jobs;
  for (Part& part : parts) {
    KernelJob job;
    job.name = "host program";
    job.passes = IrPasses::registers;
    job.build = [part = std::move(part), &program, &machine, calls] {
      return emitPart(part, program, machine, calls);
    };
    jobs.push_back(std::move(job));
  }
  KernelJob table;
  table.name = "table of the host program";
  table.build = [all = std::move(all), digest = vm::flowDigest(program), &machine] {
    return emitTable(all, digest, machine);
  };
  jobs.push_back(std::move(table));
  return jobs;
}

}  // namespace dyn
