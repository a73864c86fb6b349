#include "vm/core/load/package_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "vm/core/load/object_loader.h"
#include "vm/core/module/processor.h"
#include "vm/core/run/module_init.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

namespace dyn::vm {
namespace {

// Weak: a statically linked program has none and is not to be given it.
#pragma weak dlsym

// Larger ones are mapped and not read: dyn_package_check() reads them.
constexpr uint64_t kEagerConstantBytes = uint64_t{64} << 20;

class PackageResource : public ModuleResource {
 public:
  ~PackageResource() override {
    if (mapping) munmap(mapping, sizeBytes);
    if (host.release) host.release(host.user);
  }
  void* mapping = nullptr;
  uint64_t sizeBytes = 0;
  PackagePlace package;  // in the mapping
  const char* packageBytes() const { return static_cast<const char*>(mapping) + package.offset; }
  std::unique_ptr<LoadedObject> code;  // null: none runs here
  dyn_host host = {};
  std::vector<std::pair<uint64_t, uint64_t>> constants;  // offset in the mapping, size
};

// The module's view of the host: object code first.
DynKernelFunction resolveKernel(void* user, const char* symbol) {
  auto& resource = *static_cast<PackageResource*>(user);
  if (void* address = resource.code ? resource.code->findCode(symbol) : nullptr)
    return reinterpret_cast<DynKernelFunction>(address);
  return resource.host.resolve_kernel ? resource.host.resolve_kernel(resource.host.user, symbol) : nullptr;
}

const dyn_builtin* resolveBuiltin(void* user, const char* name) {
  const dyn_host& host = static_cast<PackageResource*>(user)->host;
  return host.resolve_builtin ? host.resolve_builtin(host.user, name) : nullptr;
}

// Whole pages only: the edges belong to others too.
void forgetConstant(void* user, int32_t index) {
  auto& resource = *static_cast<PackageResource*>(user);
  const auto [offset, size] = resource.constants[static_cast<size_t>(index)];
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = (offset + page - 1) / page * page, last = (offset + size) / page * page;
  if (last > first) madvise(static_cast<char*>(resource.mapping) + first, last - first, MADV_DONTNEED);
}

Status mapFile(const std::string& path, PackageResource& resource) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return failure(DYN_IO_ERROR, "cannot open " + path + ": " + strerror(errno));
  struct stat info = {};
  Status status = okStatus();
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    status = failure(DYN_IO_ERROR, path + " is not a regular file");
  } else if (info.st_size == 0) {
    status = failure(DYN_BAD_PROGRAM, path + " is empty");
  } else {
    resource.sizeBytes = static_cast<uint64_t>(info.st_size);
    void* mapping = mmap(nullptr, resource.sizeBytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED)
      status = failure(DYN_IO_ERROR, "cannot map " + path + ": " + strerror(errno));
    else
      resource.mapping = mapping;
    if (status.ok()) resource.package = placeOfPackage(mapping, resource.sizeBytes);
  }
  close(file);
  return status;
}

// What the objects are for, and why none of them was taken.
Status noCodeForThisMachine(const std::vector<PackageSection>& sections) {
  std::string names, lacking;
  for (const PackageSection& section : sections) {
    if (section.kind != SectionKind::object) continue;
    names += (names.empty() ? "" : ", ") + section.name;
    const bool near = section.name.compare(0, kArchitecture.size(), kArchitecture) == 0;
    if (near && lacking.empty()) lacking = ", this processor lacks " + lackingFor(section.name);
  }
  return failure(DYN_UNSUPPORTED, "the package was built for another machine (" + names + ")" + lacking +
                                      ": compile the model for this one (" + std::string(kArchitecture) +
                                      ")");
}

Status kernelsAreCode(size_t count) {
  return failure(DYN_UNSUPPORTED, "unsupported: without native code: the package's " + std::to_string(count) +
                                      (count == 1 ? " kernel is" : " kernels are") +
                                      " there as machine code alone. Compile the model itself here, or take "
                                      "a package that is signed by a key you trust");
}

// What code generation calls is known to the loader; what it may call one day is asked for here.
void* functionOfTheProcess(const char* name) { return dlsym ? dlsym(RTLD_DEFAULT, name) : nullptr; }

Status badTable(const char* what) {
  return failure(DYN_BAD_PROGRAM, std::string("object code cannot be loaded: ") + what +
                                      " lies outside of it or is not aligned");
}

// Tables of the object that the runtime reads: all that they point at is in it.
Status takeFamily(const LoadedObject& code, const DynGemmFamily*& family) {
  family = static_cast<const DynGemmFamily*>(code.find(DYN_GEMM_FAMILY_SYMBOL));
  if (!family) return okStatus();
  constexpr int32_t kMostRows = 1 << 10;
  if (!code.holds(family) || family->maxRows <= 0 || family->maxRows > kMostRows ||
      !code.holds(family->microKernels, static_cast<uint64_t>(family->maxRows)))
    return badTable("its table of matrix kernels");
  for (int32_t row = 0; row < family->maxRows; ++row)
    if (!code.isCode(reinterpret_cast<const void*>(family->microKernels[row])))
      return badTable("a matrix kernel");
  return okStatus();
}

Status takeFlow(const LoadedObject& code, const DynFlowProgram*& flow) {
  flow = static_cast<const DynFlowProgram*>(code.find(DYN_FLOW_PROGRAM_SYMBOL));
  if (!flow) return okStatus();
  if (!code.holds(flow) || !code.holds(flow->pieces, flow->pieceCount))
    return badTable("its table of host code");
  for (uint32_t i = 0; i < flow->pieceCount; ++i)
    if (!code.isCode(reinterpret_cast<const void*>(flow->pieces[i].code)))
      return badTable("a piece of the host code");
  return okStatus();
}

void setMetadata(Program& program, std::string_view key, const std::string& value) {
  auto at = std::lower_bound(program.metadata.begin(), program.metadata.end(), key,
                             [](const auto& row, std::string_view wanted) { return row.first < wanted; });
  if (at != program.metadata.end() && at->first == key)
    at->second = value;
  else
    program.metadata.emplace(at, std::string(key), value);
}

}  // namespace

Status checkPackage(const std::string& path) {
  PackageResource resource;
  if (Status status = mapFile(path, resource); !status.ok()) return status;
  std::vector<PackageSection> sections;
  if (Status status = readPackageTable(resource.packageBytes(), resource.package.sizeBytes, sections);
      !status.ok())
    return status;
  for (const PackageSection& section : sections)
    if (Status status = checkSection(resource.packageBytes(), section); !status.ok()) return status;
  return okStatus();
}

Status loadPackage(const std::string& path, const dyn_host& host, const PackageOptions& how,
                   std::shared_ptr<Module>& module) {
  HostOwner owner(host);
  auto resource = std::make_unique<PackageResource>();
  resource->host = host;
  owner.taken();  // by the resource
  if (Status status = mapFile(path, *resource); !status.ok()) return status;
  std::vector<PackageSection> sections;
  if (Status status = readPackageTable(resource->packageBytes(), resource->package.sizeBytes, sections);
      !status.ok())
    return status;
  if (how.key)
    if (Status status = verifySignature(resource->packageBytes(), sections, *how.key); !status.ok())
      return status;

  Program program;
  Module::Options options;
  options.host = host;
  options.host.release = nullptr;  // the resource calls it
  options.host.user = resource.get();
  options.host.resolve_kernel = resolveKernel;
  options.host.resolve_builtin = resolveBuiltin;
  options.host.resolve_constant = nullptr;
  options.host.resolve_gemm_family = nullptr;
  options.host.forget_constant = nullptr;
  options.host.resolve_host_code = nullptr;
  const PackageSection* best = nullptr;
  bool hasProgram = false;
  for (const PackageSection& section : sections) {
    const char* bytes = resource->packageBytes() + section.offset;
    const bool check = section.kind != SectionKind::constants || section.sizeBytes < kEagerConstantBytes;
    if (check)
      if (Status status = checkSection(resource->packageBytes(), section); !status.ok()) return status;
    if (section.kind == SectionKind::program) {
      if (Status status = parseProgram(bytes, section.sizeBytes, program); !status.ok()) return status;
      hasProgram = true;
    } else if (section.kind == SectionKind::constants) {
      options.constantSection = bytes;
      options.constantSectionBytes = section.sizeBytes;
    } else if (section.kind == SectionKind::object && codeFitness(section.name) >= 0 &&
               (!best || codeFitness(section.name) > codeFitness(best->name))) {
      best = &section;
    }
  }
  if (!hasProgram) return failure(DYN_BAD_PROGRAM, "the package has no program");
  if (how.code == NativeCode::leftOut) {
    if (!program.kernels.empty() && !host.resolve_kernel) return kernelsAreCode(program.kernels.size());
    best = nullptr;
  }
  const bool hasObjects = std::any_of(sections.begin(), sections.end(), [](const PackageSection& section) {
    return section.kind == SectionKind::object;
  });
  if (hasObjects && !best && !program.kernels.empty() && !host.resolve_kernel)
    return noCodeForThisMachine(sections);
  if (best) {
    if (Status status = LoadedObject::load(resource->packageBytes() + best->offset, best->sizeBytes,
                                           resource->code, functionOfTheProcess);
        !status.ok())
      return status;
    setMetadata(program, kCodeKey, best->name);
    if (Status status = takeFamily(*resource->code, options.gemmFamily); !status.ok()) return status;
    if (Status status = takeFlow(*resource->code, options.flow); !status.ok()) return status;
  }
  if (!options.gemmFamily && host.resolve_gemm_family)
    options.gemmFamily = host.resolve_gemm_family(host.user);
  if (options.constantSection) {
    const auto section = static_cast<uint64_t>(static_cast<const char*>(options.constantSection) -
                                               static_cast<const char*>(resource->mapping));
    for (const ConstantRow& row : program.constants)
      resource->constants.emplace_back(section + row.offset, row.sizeBytes);
    options.host.forget_constant = forgetConstant;
  }
  options.resource = std::move(resource);
  options.device = how.code == NativeCode::taken ? how.device : "cpu";  // code of a GPU is code, too
  options.fallback = Fallback::host;
  return loadModule(std::move(program), std::move(options), module);
}

}  // namespace dyn::vm
