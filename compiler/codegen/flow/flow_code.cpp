#include "compiler/codegen/flow/flow_code.h"

#include <memory>
#include <string>

#include "compiler/codegen/flow/flow_emitter.h"
#include "compiler/codegen/object/cache_folder.h"
#include "llvm/IR/Constants.h"
#include "vm/include/abi/dyn_flow.h"
#include "vm/isa/flow_digest.h"

namespace dyn {
namespace {

// A job has pieces of at least so many words.
constexpr uint32_t kWordsPerJob = 5000;
// A long function is one of as many words as instructions go into a piece; a long loop has a quarter of that.
constexpr uint32_t kLongLoopsPerLongFunction = 4;

std::string digestOfCode(const vm::Function& function) {
  std::string bytes;
  for (uint32_t count :
       {function.scalarCount, function.objectCount, function.parameterCount, function.resultCount})
    bytes += std::to_string(count) + " ";
  bytes.append(reinterpret_cast<const char*>(function.code.data()), function.code.size() * sizeof(int32_t));
  return digestOf(bytes);
}

// What is known of a function before its code is made.
struct Known {
  Known(const vm::Program& program, uint32_t function, uint32_t instructionsPerPiece)
      : graph(program, function, instructionsPerPiece),
        objects(program, function, graph),
        digest(digestOfCode(program.functions[function])) {}
  FlowFunction graph;
  FlowObjects objects;
  std::string digest;  // of the bytecode
};

struct Part {
  IrPasses passes = IrPasses::registers;
  std::vector<std::shared_ptr<const Known>> functions;
  std::vector<std::pair<size_t, size_t>> pieces;  // function here, piece in it
};

// What the code of a part is made of.
std::string keyOf(const Part& part, const FlowSettings& settings) {
  std::string key = "flow " + std::to_string(DYN_FLOW_VERSION) + " " +
                    std::to_string(static_cast<int>(settings.calls)) + " " +
                    std::to_string(settings.instructionsPerPiece) + "\n";
  for (const auto& function : part.functions) key += function->digest;
  for (const auto& [function, number] : part.pieces) {
    const FlowPiece& piece = part.functions[function]->graph.pieces()[number];
    key += "\n" + std::to_string(function);
    for (uint32_t word : {piece.function, piece.begin, piece.end}) key += " " + std::to_string(word);
  }
  return key;
}

Result<KernelModule> emitPart(const Part& part, const vm::Program& program, const MachineDescription& machine,
                              FlowCalls calls) {
  DYN_TRY(KernelModule module, makeKernelModule("flow", machine));
  for (const auto& [function, piece] : part.pieces) {
    const Known& known = *part.functions[function];
    emitFlowPiece(module, program, known.graph, known.objects, known.graph.pieces()[piece], calls);
  }
  return module;
}

Result<KernelModule> emitTable(const std::vector<std::pair<FlowPiece, uint32_t>>& pieces, uint64_t digest,
                               const MachineDescription& machine) {
  DYN_TRY(KernelModule module, makeKernelModule("flow table", machine));
  llvm::Module& llvmModule = *module.contents().module;
  llvm::LLVMContext& context = module.contents().context();
  auto* i32 = llvm::Type::getInt32Ty(context);
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* codeType = llvm::FunctionType::get(i32, {pointer, i32}, false);
  auto* rowType = llvm::StructType::get(i32, i32, i32, pointer);
  const auto number = [&](uint32_t value) { return llvm::ConstantInt::get(i32, value); };
  std::vector<llvm::Constant*> rows;
  for (const auto& [piece, views] : pieces)
    rows.push_back(
        llvm::ConstantStruct::get(rowType, number(piece.function), number(piece.begin), number(views),
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

// Long code without short loops takes longer to compile well than it will ever save: it launches dozens of
// kernels between two instructions that run again. Images of a batch, one after the other, are a long loop;
// steps of a recurrence are not. Other functions than main may be called in a loop, and programs without an
// operating system are to be small, too.
IrPasses passesFor(const vm::Program& program, uint32_t function, const FlowFunction& graph,
                   const FlowSettings& settings) {
  const bool isQuick = settings.calls == FlowCalls::table &&
                       static_cast<int32_t>(function) == program.mainFunction &&
                       program.functions[function].code.size() >= settings.instructionsPerPiece &&
                       !graph.jumpsBackWithin(settings.instructionsPerPiece / kLongLoopsPerLongFunction);
  return isQuick ? IrPasses::quick : IrPasses::registers;
}

}  // namespace

std::vector<KernelJob> flowJobs(const vm::Program& program, const MachineDescription& machine,
                                const FlowSettings& settings) {
  std::vector<std::pair<FlowPiece, uint32_t>> all;  // with its function's places for views
  std::vector<Part> parts(1);
  uint32_t words = 0;
  for (uint32_t f = 0; f < program.functions.size(); ++f) {
    if (static_cast<int32_t>(f) == program.initFunction) continue;
    const auto function = std::make_shared<const Known>(program, f, settings.instructionsPerPiece);
    const IrPasses passes = passesFor(program, f, function->graph, settings);
    for (size_t p = 0; p < function->graph.pieces().size(); ++p) {
      const FlowPiece& piece = function->graph.pieces()[p];
      if (words > kWordsPerJob || parts.back().passes != passes) {
        if (words > 0) parts.emplace_back();
        parts.back().passes = passes;
        words = 0;
      }
      words += piece.end - piece.begin;
      Part& part = parts.back();
      if (part.functions.empty() || part.functions.back() != function) part.functions.push_back(function);
      part.pieces.emplace_back(part.functions.size() - 1, p);
      all.emplace_back(piece, function->objects.viewCount());
    }
  }
  std::vector<KernelJob> jobs;
  for (Part& part : parts) {
    KernelJob job;
    job.name = "host code";
    job.key = keyOf(part, settings);
    job.passes = part.passes;
    job.build = [part = std::move(part), &program, &machine, calls = settings.calls] {
      return emitPart(part, program, machine, calls);
    };
    jobs.push_back(std::move(job));
  }
  KernelJob table;
  table.name = "table of the host code";
  table.build = [all = std::move(all), digest = vm::flowDigest(program), &machine] {
    return emitTable(all, digest, machine);
  };
  jobs.push_back(std::move(table));
  return jobs;
}

}  // namespace dyn
