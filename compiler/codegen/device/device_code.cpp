#include "compiler/codegen/device/device_code.h"

#include "compiler/codegen/device/device_attention.h"
#include "compiler/codegen/device/device_library.h"
#include "compiler/codegen/device/device_narrow.h"
#include "compiler/codegen/device/device_products.h"
#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/llvm_module.h"
#include "compiler/codegen/object/object_compiler.h"

namespace dyn {
namespace {

using loop::Stmt;
using loop::StmtKind;

bool sharesScratch(const loop::Kernel& kernel) {
  return std::any_of(kernel.scratch.begin(), kernel.scratch.end(),
                     [](const loop::Buffer* scratch) { return !isCell(*scratch); });
}
bool hasRunningSums(const Stmt& root) {
  if (root.kind == StmtKind::loop && root.loopKind == loop::LoopKind::serial && root.children.size() == 1)
    for (const loop::StmtRef& child : root.children[0]->children)
      if (child->kind == StmtKind::store && isCell(*child->buffer)) return true;
  return std::any_of(root.children.begin(), root.children.end(),
                     [](const loop::StmtRef& child) { return hasRunningSums(*child); });
}
// Is there anything that the threads of a block would share?
bool sharesWork(const Stmt& root, size_t& vectorLoops, bool& reduces) {
  for (const loop::StmtRef& child : root.children) sharesWork(*child, vectorLoops, reduces);
  if (root.kind == StmtKind::loop && root.loopKind == loop::LoopKind::vector) ++vectorLoops;
  if (root.kind == StmtKind::accumulate && root.loopKind == loop::LoopKind::vector) reduces = true;
  return reduces || vectorLoops > 1;
}

// The least GPU with tensor cores that take bf16 and tf32.
const MachineDescription& tensorMachine() {
  static const MachineDescription kMachine = [] {
    MachineDescription machine = deviceMachine();
    machine.cpu = "sm_80";
    return machine;
  }();
  return kMachine;
}

enum class Indices : uint8_t { wide, narrow };

Result<std::string> textOf(const loop::Kernel& kernel, const std::string& symbol, DeviceMapping mapping,
                           DeviceKernel& made, DeviceUnit unit = DeviceUnit::none,
                           Indices indices = Indices::wide) {
  const bool byTensor = mapping == DeviceMapping::tensor || mapping == DeviceMapping::tensorAttention;
  const MachineDescription& machine = byTensor ? tensorMachine() : deviceMachine();
  DYN_TRY(KernelModule module, makeKernelModule(symbol, machine));
  KernelEmitter emitter(module, kernel, symbol);
  loop::StmtLines lines;  // of the kernel's text: what faults and debuggers name
  loop::print(kernel, lines);
  emitter.noteLines(lines);
  DYN_CHECK(emitter.emitOnDevice(mapping, unit));
  made.mayFault = emitter.mayFaultOnDevice();
  if (mapping == DeviceMapping::thread) made.perUnit = !emitter.dealsElements();
  if (indices == Indices::narrow) narrowIndices(*module.contents().module->getFunction(symbol));
  DYN_TRY(ObjectCompiler compiler, ObjectCompiler::create(machine));
  // The loops of products hold much that is the same in each iteration.
  const bool isProduct = mapping == DeviceMapping::tile || mapping == DeviceMapping::square || byTensor;
  return compiler.assembly(module, {.passes = isProduct ? IrPasses::o2 : IrPasses::registers});
}

// `kept`: what both factors are in memory, if they are alike.
DeviceUnit unitOf(Dtype kept, DeviceMath math) {
  if (kept == Dtype::f16) return DeviceUnit::f16;
  if (kept == Dtype::bf16) return DeviceUnit::bf16;
  return math == DeviceMath::bf16   ? DeviceUnit::bf16
         : math == DeviceMath::tf32 ? DeviceUnit::tf32
                                    : DeviceUnit::none;
}

DeviceUnit unitOf(const TiledProduct& product, DeviceMath math) {
  const Dtype rows = narrowestOf(product.rowPart), columns = narrowestOf(product.columnPart);
  return unitOf(rows == columns ? rows : Dtype::f32, math);
}

// Both products by one unit: shares are rounded to what it multiplies, or by --math.
DeviceUnit unitOf(const TiledAttention& attention, DeviceMath math) {
  const Dtype kept = attention.roundsTo;
  for (const loop::Expr& part : {attention.queryPart, attention.keyPart, attention.valuePart})
    if (narrowestOf(part) != kept) return unitOf(Dtype::f32, math);
  return unitOf(kept, math);
}

bool isUnsupported(const Diagnostic& error) { return error.id == DiagnosticId::unsupportedFeature; }

}  // namespace

const MachineDescription& deviceMachine() {
  static const MachineDescription kMachine = [] {
    MachineDescription machine;
    machine.name = "cuda";
    machine.triple = "nvptx64-nvidia-cuda";
    machine.cpu = "sm_75";
    machine.features = "+ptx70";
    machine.vectorBits = 32;
    machine.fma = true;
    return machine;
  }();
  return kMachine;
}

DeviceMath deviceMathOf(std::string_view name) {
  return name == "bf16" ? DeviceMath::bf16 : name == "tf32" ? DeviceMath::tf32 : DeviceMath::fp32;
}

std::string_view toString(DeviceMath math) {
  return math == DeviceMath::bf16 ? "bf16" : math == DeviceMath::tf32 ? "tf32" : "fp32";
}

Result<DeviceKernel> emitDeviceKernel(const loop::Kernel& kernel, const std::string& symbol,
                                      DeviceMath math) {
  DeviceKernel made;
  size_t vectorLoops = 0;
  bool reduces = false;
  const bool shares =
      sharesWork(*kernel.body, vectorLoops, reduces) || sharesScratch(kernel) || hasRunningSums(*kernel.body);
  std::vector<std::string> texts;
  std::optional<Error> why;
  const auto add = [&](DeviceMapping mapping, const std::string& name) -> Status {
    Result<std::string> text = textOf(kernel, name, mapping, made);
    if (!text.ok() && !isUnsupported(text.error())) return text.takeError();
    if (!text.ok()) {
      why = text.takeError();
      return {};
    }
    made.thread |= mapping == DeviceMapping::thread;
    made.block |= mapping == DeviceMapping::block;
    texts.push_back(std::move(*text));
    if (mapping != DeviceMapping::thread && mapping != DeviceMapping::block) return {};
    DYN_TRY(std::string narrow,
            textOf(kernel, name + kNarrowSuffix, mapping, made, DeviceUnit::none, Indices::narrow));
    made.narrow = true;
    texts.push_back(std::move(narrow));
    return {};
  };
  if (const std::optional<TiledAttention> attention = tiledAttentionOf(kernel)) {
    made.sizes = sizesAtLaunch(kernel, *attention);
    made.attention = !made.sizes.empty();
    if (made.attention) DYN_CHECK(add(DeviceMapping::attention, symbol + kAttentionSuffix));
    if (made.attention && !why) {
      made.ptx = std::move(texts[0]);
      if (const DeviceUnit unit = unitOf(*attention, math); unit != DeviceUnit::none) {
        DYN_TRY(made.tensorPtx, textOf(kernel, symbol + kAttentionSuffix + kTensorSuffix,
                                       DeviceMapping::tensorAttention, made, unit));
      }
      return made;
    }
    made = {};
  }
  if (!sharesScratch(kernel)) DYN_CHECK(add(DeviceMapping::thread, symbol));
  // Where a thread may end with a fault no others may wait for it.
  if (shares && !made.mayFault) {
    bool mayFault = false;
    std::swap(mayFault, made.mayFault);
    DYN_CHECK(add(DeviceMapping::block, symbol + kBlockSuffix));
    made.mayFault = mayFault;
  }
  const std::optional<TiledProduct> product = made.mayFault ? std::nullopt : tiledProductOf(kernel);
  if (product) made.sizes = sizesAtLaunch(kernel, *product);
  if (!made.sizes.empty()) {
    LibraryProduct library = libraryProductOf(kernel, *product, math);
    made.library = std::move(library.form);
    made.noLibrary = std::move(library.why);
    DYN_CHECK(add(DeviceMapping::tile, symbol + kTileSuffix));
    DYN_CHECK(add(DeviceMapping::square, symbol + kSquareSuffix));
    if (const DeviceUnit unit = unitOf(*product, math); unit != DeviceUnit::none) {
      DYN_TRY(made.tensorPtx, textOf(kernel, symbol + kTensorSuffix, DeviceMapping::tensor, made, unit));
    }
  }
  if (!made.thread && !made.block) return std::move(*why);
  made.ptx = joinPtx(texts);
  return made;
}

namespace {

// Without the lines that name the file of the debug lines: all modules have the same, a module names it once.
std::string withoutFile(std::string text) {
  for (const std::string_view line : {"\t.file\t1 ", "\t.section\t.debug_loc"})
    for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at))
      text.erase(at, text.find('\n', at) - at + 1);
  return text;
}

}  // namespace

// One module has one head: lines up to that of the address size.
std::string joinPtx(std::span<const std::string> modules) {
  constexpr std::string_view kLastOfHead = ".address_size";
  std::string joined;
  for (const std::string& text : modules) {
    size_t from = 0;
    if (!joined.empty())
      if (const size_t head = text.find(kLastOfHead); head != std::string::npos) from = text.find('\n', head);
    if (from == std::string::npos) continue;
    joined += joined.empty() ? text : withoutFile(text.substr(from));
  }
  return joined;
}

}  // namespace dyn
