#include "compiler/codegen/flow/freestanding_table.h"

#include <algorithm>

#include "compiler/codegen/flow/flow_pieces.h"
#include "compiler/codegen/llvm/llvm_module.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "vm/isa/call_sizes.h"

namespace dyn {
namespace {

using llvm::Constant;

// The structures of dyn_freestanding.h, as their machine's C compiler lays them.
class TableEmitter {
 public:
  TableEmitter(KernelModule& module, const vm::Program& program, const std::vector<const void*>& constants,
               const FreestandingTableSettings& settings)
      : module_(*module.contents().module),
        context_(module.contents().context()),
        program_(program),
        constants_(constants),
        settings_(settings),
        pointer_(llvm::PointerType::getUnqual(context_)) {}

  void emit() {
    uint32_t mostBuffers = 1;
    for (const vm::KernelRow& kernel : program_.kernels)
      mostBuffers = std::max(mostBuffers, kernel.bufferCount);
    Constant* whole = structure({external("dyn_flow_program"), address(settings_.table), functions(),
                                 kernels(), constantHeads(), places(), strings(), builtins(), sizes(),
                                 ports(program_.inputs, call_.inputs), ports(program_.outputs, {}),
                                 number(static_cast<uint32_t>(program_.mainFunction)),
                                 number(static_cast<uint32_t>(call_.sizes.size())),
                                 number(static_cast<uint32_t>(program_.inputs.size())),
                                 number(static_cast<uint32_t>(program_.outputs.size())), number(mostBuffers),
                                 number(settings_.alignment), wide(settings_.ramBoundBytes)});
    new llvm::GlobalVariable(module_, whole->getType(), true, llvm::GlobalValue::ExternalLinkage, whole,
                             kFreestandingProgramSymbol);
  }

 private:
  Constant* number(uint32_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value); }
  Constant* wide(uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), value); }
  Constant* byte(uint8_t value) { return llvm::ConstantInt::get(llvm::Type::getInt8Ty(context_), value); }
  Constant* structure(std::initializer_list<Constant*> members) {
    return llvm::ConstantStruct::getAnon(context_, members);
  }
  // DYN_FREESTANDING_POINTER: with what makes it eight bytes.
  std::vector<Constant*> padded(Constant* pointer) {
    if (module_.getDataLayout().getPointerSize() == 8) return {pointer};
    return {pointer, number(0)};
  }
  Constant* external(const std::string& name) {
    return module_.getOrInsertGlobal(name, llvm::Type::getInt8Ty(context_));
  }
  // In this process.
  Constant* address(const void* at) {
    if (!at) return llvm::ConstantPointerNull::get(pointer_);
    return llvm::ConstantExpr::getIntToPtr(wide(reinterpret_cast<uintptr_t>(at)), pointer_);
  }
  Constant* named(Constant* contents, uint64_t alignment = 8) {
    auto* made = new llvm::GlobalVariable(module_, contents->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, contents);
    made->setAlignment(llvm::Align(alignment));
    return made;
  }
  Constant* rows(const std::vector<Constant*>& members) {
    if (members.empty()) return llvm::ConstantPointerNull::get(pointer_);
    return named(
        llvm::ConstantArray::get(llvm::ArrayType::get(members[0]->getType(), members.size()), members));
  }
  Constant* text(const std::string& what) {
    return named(llvm::ConstantDataArray::getString(context_, what), 1);
  }

  Constant* functions() {
    std::vector<Constant*> made;
    uint32_t piece = 0, place = 0;
    for (uint32_t f = 0; f < program_.functions.size(); ++f) {
      const vm::Function& function = program_.functions[f];
      const auto pieces =
          static_cast<uint32_t>(FlowFunction(program_, f, settings_.instructionsPerPiece).pieces().size());
      made.push_back(
          structure({number(function.scalarCount), number(function.objectCount),
                     number(function.parameterCount), number(function.resultCount), number(piece),
                     number(pieces), number(place), number(static_cast<uint32_t>(function.places.size()))}));
      piece += pieces;
      place += static_cast<uint32_t>(function.places.size());
    }
    return rows(made);
  }

  Constant* kernels() {
    std::vector<Constant*> made;
    for (const vm::KernelRow& kernel : program_.kernels)
      made.push_back(
          structure({settings_.kernels ? external(kernel.symbol) : address(nullptr), text(kernel.name),
                     number(kernel.bufferCount), number(kernel.outputCount), wide(kernel.scratchBytes)}));
    return rows(made);
  }

  // DynFreestandingTensor and its sizes.
  Constant* constantHead(const vm::ConstantRow& row, const void* bytes) {
    int64_t elements = 1;
    for (int64_t size : row.shape) elements *= size;
    Constant* data =
        settings_.table
            ? address(bytes)
            : named(llvm::ConstantDataArray::getString(
                        context_, llvm::StringRef(static_cast<const char*>(bytes), row.sizeBytes), false),
                    settings_.alignment);
    if (row.sizeBytes == 0) data = named(wide(0));
    std::vector<Constant*> members = {number(DYN_FREESTANDING_IMMORTAL), byte(DYN_FREESTANDING_TENSOR),
                                      byte(1), byte(row.dtype), byte(static_cast<uint8_t>(row.shape.size()))};
    const auto add = [&](Constant* pointer) {
      for (Constant* member : padded(pointer)) members.push_back(member);
    };
    add(address(nullptr));
    members.push_back(wide(static_cast<uint64_t>(elements)));
    add(data);
    add(data);
    add(address(nullptr));
    for (int64_t size : row.shape) members.push_back(wide(static_cast<uint64_t>(size)));
    return named(llvm::ConstantStruct::getAnon(context_, members));
  }
  Constant* constantHeads() {
    std::vector<Constant*> made;
    for (size_t i = 0; i < program_.constants.size(); ++i)
      made.push_back(constantHead(program_.constants[i], constants_[i]));
    return rows(made);
  }

  Constant* places() {
    std::vector<Constant*> made;
    for (const vm::Function& function : program_.functions)
      for (const vm::PlaceRow& place : function.places)
        made.push_back(structure(
            {number(place.codePosition), number(place.string), number(static_cast<uint32_t>(place.checks))}));
    return rows(made);
  }

  Constant* strings() {
    std::vector<Constant*> made;
    for (const std::string& string : program_.strings) made.push_back(text(string));
    return rows(made);
  }

  Constant* builtin(const std::string& name) {
    static constexpr std::string_view kNames[] = {
#define DYN_FREESTANDING_BUILTIN_NAME(known) #known,
        DYN_FREESTANDING_BUILTINS(DYN_FREESTANDING_BUILTIN_NAME)
#undef DYN_FREESTANDING_BUILTIN_NAME
    };
    if (!settings_.builtins) return external("dyn_freestanding_builtin_" + name);
    const auto place = std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames);
    return address(reinterpret_cast<const void*>(settings_.builtins[place]));
  }
  Constant* builtins() {
    std::vector<Constant*> made;
    for (const std::string& name : program_.builtins) made.push_back(structure({builtin(name), text(name)}));
    return rows(made);
  }

  Constant* sizes() {
    std::vector<Constant*> made;
    for (const vm::CallSize& size : call_.sizes)
      made.push_back(
          structure({text(size.name), wide(static_cast<uint64_t>(size.low)),
                     wide(static_cast<uint64_t>(size.high)), wide(static_cast<uint64_t>(size.multiple))}));
    return rows(made);
  }

  Constant* ports(const std::vector<vm::ContractValue>& values,
                  const std::vector<std::vector<vm::CallAxis>>& axes) {
    std::vector<Constant*> made;
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<Constant*> sizesOf;
      if (i < axes.size())
        for (const vm::CallAxis& axis : axes[i])
          sizesOf.push_back(structure({wide(static_cast<uint64_t>(axis.value)), wide(axis.size)}));
      made.push_back(structure({text(values[i].name), rows(sizesOf), number(values[i].type.dtype),
                                number(static_cast<uint32_t>(values[i].type.dims.size()))}));
    }
    return rows(made);
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const vm::Program& program_;
  const std::vector<const void*>& constants_;
  const FreestandingTableSettings& settings_;
  llvm::PointerType* pointer_;
  const vm::CallSizes call_ = vm::callSizes(program_.inputs);
};

}  // namespace

KernelJob freestandingTableJob(const vm::Program& program, const std::vector<const void*>& constants,
                               const MachineDescription& machine, const FreestandingTableSettings& settings) {
  KernelJob job;
  job.name = "tables of the program";
  job.build = [&program, &constants, &machine, settings]() -> Result<KernelModule> {
    DYN_TRY(KernelModule module, makeKernelModule("freestanding table", machine));
    TableEmitter(module, program, constants, settings).emit();
    return module;
  };
  return job;
}

KernelJob freestandingImageJob(const FreestandingImageData& image, const MachineDescription& machine) {
  KernelJob job;
  job.name = "inputs of the image";
  job.build = [&image, &machine]() -> Result<KernelModule> {
    DYN_TRY(KernelModule module, makeKernelModule("freestanding image", machine));
    llvm::Module& m = *module.contents().module;
    llvm::LLVMContext& context = module.contents().context();
    auto* pointer = llvm::PointerType::getUnqual(context);
    auto* wide = llvm::Type::getInt64Ty(context);
    constexpr uint64_t kAlignment = 64;
    const auto named = [&](Constant* contents, llvm::GlobalValue::LinkageTypes linkage, bool readOnly,
                           const char* name) {
      auto* made = new llvm::GlobalVariable(m, contents->getType(), readOnly, linkage, contents, name);
      made->setAlignment(llvm::Align(kAlignment));
      return made;
    };
    const auto held = [&](Constant* contents) {
      return named(contents, llvm::GlobalValue::PrivateLinkage, true, "");
    };
    std::vector<Constant*> inputs;
    for (const std::string& input : image.inputs)
      inputs.push_back(held(llvm::ConstantDataArray::getString(context, input, false)));
    if (inputs.empty()) inputs.push_back(llvm::ConstantPointerNull::get(pointer));
    std::vector<uint64_t> sizes(image.sizes.begin(), image.sizes.end());
    if (sizes.empty()) sizes.push_back(0);
    auto* memory = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), image.memoryBytes);
    Constant* whole = llvm::ConstantStruct::getAnon(
        {llvm::cast<Constant>(
             m.getOrInsertGlobal(kFreestandingProgramSymbol, llvm::Type::getInt8Ty(context))),
         held(llvm::ConstantDataArray::get(context, sizes)),
         held(llvm::ConstantArray::get(llvm::ArrayType::get(pointer, inputs.size()), inputs)),
         named(llvm::ConstantAggregateZero::get(memory), llvm::GlobalValue::InternalLinkage, false,
               "dyn_freestanding_memory"),
         llvm::ConstantInt::get(wide, image.memoryBytes)});
    auto* table = named(whole, llvm::GlobalValue::ExternalLinkage, true, kFreestandingImageSymbol);
    table->setAlignment(llvm::Align(8));
    return module;
  };
  return job;
}

}  // namespace dyn
