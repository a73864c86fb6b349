#include "compiler/driver/packed_weights.h"

#include <algorithm>

#include "compiler/driver/kernel_library.h"
#include "compiler/driver/native_code.h"
#include "compiler/driver/target_choice.h"
#include "compiler/driver/vm_handles.h"
#include "compiler/support/file_origin.h"
#include "compiler/target/panels.h"
#include "vm/isa/program_file.h"
#include "vm/shared/dyn_panels.h"

#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/object/weight_cache.h"
#endif

namespace dyn {

namespace {

struct PackHost {
  const HostTensor& weights;
  const DynGemmFamily* family;
};

const void* resolveWeights(void* user, int32_t) { return static_cast<PackHost*>(user)->weights.bytes(); }
const DynGemmFamily* resolveFamily(void* user) { return static_cast<PackHost*>(user)->family; }

Error packingFault(dyn_status status) {
  const bool memory = status == DYN_OUT_OF_MEMORY || status == DYN_MEMORY_LIMIT;
  return makeError(memory ? DiagnosticId::memoryLimit : DiagnosticId::internalError,
                   std::string("packing weights: ") + dyn_last_message());
}

// Null: the runtime's own, or none is wanted.
const DynGemmFamily* familyOf(const CompiledModel& compiled) {
  return compiled.code ? gemmFamilyOf(*compiled.code) : nullptr;
}

PanelLayout panelsRead(const CompiledModel& compiled) {
  PanelLayout layout = panelsOf(compiled.target);
  if (compiled.lowered.usesGemmFamily && compiled.code) layout.gemm = gemmPanelWidth(compiled.target);
  return layout;
}

// Do this process's own kernels read what the target's do?
bool packsFor(const Target& target) { return toString(panelsOf(target)) == dyn_packed_weights_layout(); }

// Runs one packing. The tensor holds on to the value it was made as.
Result<HostTensor> pack(const CompiledModel& compiled, const Packing& packing) {
  DYN_TRY(LoadableProgram program, packingProgram(compiled.lowered, packing));
  if (!packsFor(compiled.target) || !runsHere(compiled.target))
    program.program.metadata.emplace_back(kPacksKey, toString(panelsRead(compiled)));
  PackHost packHost{program.constants[0], familyOf(compiled)};
  dyn_host host{};
  host.user = &packHost;
  host.resolve_constant = resolveWeights;
  host.resolve_gemm_family = resolveFamily;
  const std::vector<uint8_t> bytes = vm::serializeProgram(program.program);
  dyn_module* module = nullptr;
  if (dyn_status status = dyn_module_load_memory(bytes.data(), bytes.size(), &host, &module);
      status != DYN_OK)
    return packingFault(status);
  const VmModule ownedModule(module);
  dyn_options options{};
  options.thread_count = compiled.threadCount;
  dyn_context* context = nullptr;
  if (dyn_status status = dyn_context_create(module, &options, &context); status != DYN_OK)
    return packingFault(status);
  const VmContext ownedContext(context);
  if (dyn_status status = dyn_context_run_function(context, kPackFunction, nullptr, 0); status != DYN_OK)
    return packingFault(status);
  dyn_value* value = nullptr;
  if (dyn_status status = dyn_context_get_output(context, 0, &value); status != DYN_OK)
    return packingFault(status);
  const std::shared_ptr<dyn_value> owned(value, VmValueRelease());
  program.constants[0].forget();
  const int64_t* shape = dyn_value_shape(value);
  return HostTensor::borrow(static_cast<Dtype>(dyn_value_dtype(value)),
                            std::vector<int64_t>(shape, shape + dyn_value_rank(value)), dyn_value_data(value),
                            owned);
}

// Packed by the runtime itself, not by a library, whose layouts are its own affair.
bool isOwn(const Packing& packing) {
  const auto library = libraryBuiltins();
  return !library || !library(nullptr, packing.builtin.c_str());
}

LoadableProgram asLowered(const LoweredModule& lowered) {
  return {lowered.program, lowered.constants, lowered.onlyPacked};
}

}  // namespace

Result<LoadableProgram> packedForPackage(const CompiledModel& compiled) {
  const LoweredModule& lowered = compiled.lowered;
  if (!namesOneLayout(compiled.target)) return asLowered(lowered);
  std::vector<std::optional<HostTensor>> packed(lowered.packings.size());
  for (size_t i = 0; i < packed.size(); ++i)
    if (isOwn(lowered.packings[i])) {
      DYN_TRY(packed[i], pack(compiled, lowered.packings[i]));
    }
  return withPacked(lowered, packed, toString(panelsRead(compiled)));
}

#ifdef DYN_HAVE_LLVM

namespace {

// Below this, packing takes less time than opening a file.
constexpr int64_t kLeastBytes = 64 << 10;

std::string_view rawOf(const HostTensor& weights) {
  return {reinterpret_cast<const char*>(weights.bytes()), static_cast<size_t>(weights.sizeBytes())};
}

// Is data() where bytes() are, without a copy?
bool isAligned(const HostTensor& weights) {
  const auto alignment = static_cast<uintptr_t>(std::clamp<int64_t>(storageBytes(weights.dtype()), 1, 8));
  return reinterpret_cast<uintptr_t>(weights.bytes()) % alignment == 0;
}

std::string textOf(const HostTensor& weights) {
  std::string text = std::to_string(static_cast<int>(weights.dtype()));
  for (int64_t dim : weights.shape()) text += " " + std::to_string(dim);
  return text;
}

std::string textOf(const Packing& packing) {
  std::string text = packing.builtin + " " + std::to_string(static_cast<int>(packing.dtype));
  for (int32_t number : packing.numbers) text += " " + std::to_string(number);
  return text;
}

// The bytes of a file of the cache as a tensor that keeps it mapped.
HostTensor mapped(MappedFile file, Dtype dtype, std::vector<int64_t> shape) {
  auto owner = std::make_shared<const MappedFile>(std::move(file));
  const char* data = WeightCache::bytesOf(*owner).data();
  return HostTensor::borrow(dtype, std::move(shape), data, std::move(owner));
}

class CachedWeights {
 public:
  explicit CachedWeights(const CompiledModel& compiled)
      : compiled_(compiled),
        cache_({.directory = compiled.cacheDirectory}),
        panels_(toString(panelsRead(compiled))) {}

  bool on() const { return cache_.on() && packsFor(compiled_.target); }

  Result<LoadableProgram> program() {
    const LoweredModule& lowered = compiled_.lowered;
    std::vector<std::optional<HostTensor>> packed(lowered.packings.size());
    for (size_t i = 0; i < packed.size(); ++i) {
      DYN_TRY(packed[i], packedOf(lowered.packings[i]));
    }
    DYN_TRY(LoadableProgram program, withPacked(lowered, packed, panels_));
    for (size_t i = 0; i < program.constants.size(); ++i)
      if (!program.onlyPacked[i]) align(program.constants[i]);
    return program;
  }

 private:
  // What the bytes are, as cheaply as it can be told.
  std::string sourceOf(const HostTensor& weights) const {
    const std::string origin = origins_.of(weights.bytes(), static_cast<size_t>(weights.sizeBytes()));
    return origin.empty() ? "digest " + digestOf(rawOf(weights)) : "file " + origin;
  }

  // None: @init packs it.
  Result<std::optional<HostTensor>> packedOf(const Packing& packing) {
    const HostTensor& weights = compiled_.lowered.constants[static_cast<size_t>(packing.constant)];
    if (weights.sizeBytes() < kLeastBytes || !isOwn(packing)) return std::optional<HostTensor>();
    const std::string key =
        WeightCache::keyOf({panels_, textOf(packing), textOf(weights)}, sourceOf(weights));
    const Dtype dtype = packing.dtype;
    std::optional<MappedFile> file = cache_.find(key);
    if (!file) {
      DYN_TRY(HostTensor fresh, pack(compiled_, packing));
      file = cache_.store(key, rawOf(fresh));
      if (!file) return std::optional<HostTensor>(std::move(fresh));
    } else {
      WeightCache::checkLater(*file, *compiled_.weightCheck);
    }
    const auto count = static_cast<int64_t>(WeightCache::bytesOf(*file).size()) / storageBytes(dtype);
    return std::optional<HostTensor>(mapped(*std::move(file), dtype, {count}));
  }

  // Weights that lie at an odd address of their file are read from a copy.
  void align(HostTensor& weights) {
    if (isAligned(weights) || weights.sizeBytes() < kLeastBytes) return;
    const std::string key = WeightCache::keyOf({"aligned", textOf(weights)}, sourceOf(weights));
    std::optional<MappedFile> file = cache_.find(key);
    if (!file) {
      file = cache_.store(key, rawOf(weights));
      weights.forget();
    } else {
      WeightCache::checkLater(*file, *compiled_.weightCheck);
    }
    if (file) weights = mapped(*std::move(file), weights.dtype(), weights.shape());
  }

  const CompiledModel& compiled_;
  WeightCache cache_;
  const FileOrigins origins_;
  const std::string panels_;
};

}  // namespace

Result<LoadableProgram> packedFromCache(const CompiledModel& compiled) {
  CachedWeights weights(compiled);
  return weights.on() ? weights.program() : asLowered(compiled.lowered);
}

Status checkCachedWeights(const CompiledModel& compiled) { return compiled.weightCheck->wait(); }

#else

Result<LoadableProgram> packedFromCache(const CompiledModel& compiled) { return asLowered(compiled.lowered); }

Status checkCachedWeights(const CompiledModel&) { return {}; }

#endif

}  // namespace dyn
