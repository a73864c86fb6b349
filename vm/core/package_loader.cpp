#include "vm/core/package_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "vm/core/c_api.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

namespace dyn::vm {
namespace {

constexpr uint64_t kEagerConstantBytes = uint64_t{64} << 20;

class PackageResource : public ModuleResource {
 public:
  ~PackageResource() override {
    if (library) dlclose(library);
    if (objectFile >= 0) close(objectFile);
    if (mapping) munmap(mapping, sizeBytes);
    if (host.release) host.release(host.user);
  }
  void* mapping = nullptr;
  uint64_t sizeBytes = 0;
  PackagePlace package;  // in the mapping
  const char* packageBytes() const { return static_cast<const char*>(mapping) + package.offset; }
  void* library = nullptr;
  int objectFile = -1;  // open as long as the library: dlopen takes an equal path for the same library
  dyn_host host = {};
  std::vector<std::pair<uint64_t, uint64_t>> constants;  // offset in the mapping, size
};

// The module's view of the host: object code first.
DynKernelFunction resolveKernel(void* user, const char* symbol) {
  auto& resource = *static_cast<PackageResource*>(user);
  if (resource.library)
    if (void* address = dlsym(resource.library, symbol)) return reinterpret_cast<DynKernelFunction>(address);
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

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#elif defined(__riscv)
constexpr std::string_view kArchitecture = "riscv64";
#else
constexpr std::string_view kArchitecture = "unknown";
#endif

bool processorHas(std::string_view feature) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (feature == "avx2") return __builtin_cpu_supports("avx2");
  if (feature == "fma") return __builtin_cpu_supports("fma");
  if (feature == "avx512f") return __builtin_cpu_supports("avx512f");
  if (feature == "avx512bw") return __builtin_cpu_supports("avx512bw");
  if (feature == "avx512vl") return __builtin_cpu_supports("avx512vl");
  if (feature == "avx512dq") return __builtin_cpu_supports("avx512dq");
  if (feature == "avx512vnni") return __builtin_cpu_supports("avx512vnni");
  if (feature == "avx512bf16") return __builtin_cpu_supports("avx512bf16");
#endif
  (void)feature;
  return false;
}

// Number of features an object needs, or -1 when it does not run here. "x86_64:avx2+fma" → 2
int32_t fitness(std::string_view name) {
  const size_t colon = name.find(':');
  if (name.substr(0, colon) != kArchitecture) return -1;
  int32_t count = 0;
  for (size_t at = colon; at != std::string_view::npos; ++count) {
    const size_t next = name.find('+', at + 1);
    if (!processorHas(name.substr(at + 1, next == std::string_view::npos ? next : next - at - 1))) return -1;
    at = next;
  }
  return count;
}

// What the objects are for, and why none of them was taken.
Status noCodeForThisMachine(const std::vector<PackageSection>& sections) {
  std::string names;
  for (const PackageSection& section : sections)
    if (section.kind == SectionKind::object) names += (names.empty() ? "" : ", ") + section.name;
  return failure(DYN_UNSUPPORTED, "the package was built for another machine (" + names +
                                      "): compile the model for this one (" + std::string(kArchitecture) +
                                      ")");
}

Status linkObject(PackageResource& resource, const PackageSection& section) {
  const int file = memfd_create("dyn-object", MFD_CLOEXEC);
  if (file < 0)
    return failure(DYN_IO_ERROR, std::string("cannot make room for object code: ") + strerror(errno));
  resource.objectFile = file;
  const char* bytes = resource.packageBytes() + section.offset;
  uint64_t done = 0;
  while (done < section.sizeBytes) {
    const ssize_t written = write(file, bytes + done, section.sizeBytes - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<uint64_t>(written);
  }
  if (done < section.sizeBytes)
    return failure(DYN_IO_ERROR, std::string("cannot copy object code: ") + strerror(errno));
  resource.library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!resource.library)
    return failure(DYN_BAD_PROGRAM, "object code " + section.name + " cannot be linked: " + dlerror());
  return okStatus();
}

}  // namespace

Status loadPackage(const std::string& path, const dyn_host& host, std::shared_ptr<Module>& module) {
  HostOwner owner(host);
  auto resource = std::make_unique<PackageResource>();
  resource->host = host;
  owner.taken();  // by the resource
  if (Status status = mapFile(path, *resource); !status.ok()) return status;
  std::vector<PackageSection> sections;
  if (Status status = readPackageTable(resource->packageBytes(), resource->package.sizeBytes, sections);
      !status.ok())
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
  options.host.resolve_flow = nullptr;
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
    } else if (section.kind == SectionKind::object && fitness(section.name) >= 0 &&
               (!best || fitness(section.name) > fitness(best->name))) {
      best = &section;
    }
  }
  if (!hasProgram) return failure(DYN_BAD_PROGRAM, "the package has no program");
  const bool hasObjects = std::any_of(sections.begin(), sections.end(), [](const PackageSection& section) {
    return section.kind == SectionKind::object;
  });
  if (hasObjects && !best && !program.kernels.empty() && !host.resolve_kernel)
    return noCodeForThisMachine(sections);
  if (best)
    if (Status status = linkObject(*resource, *best); !status.ok()) return status;
  if (resource->library) {
    options.gemmFamily = static_cast<const DynGemmFamily*>(dlsym(resource->library, DYN_GEMM_FAMILY_SYMBOL));
    options.flow = static_cast<const DynFlowProgram*>(dlsym(resource->library, DYN_FLOW_PROGRAM_SYMBOL));
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
  return Module::load(std::move(program), std::move(options), module);
}

}  // namespace dyn::vm

using namespace dyn::vm;
using namespace dyn::vm::api;

// Apart from the rest of the C interface: who brings a model in memory needs no files and no dynamic linker.
extern "C" dyn_status dyn_module_load_file(const char* path, const dyn_host* host, dyn_module** module) {
  return guarded([&]() -> Status {
    if (!path || !module) return invalid("path or module is null");
    *module = nullptr;
    const dyn_host given = host ? *host : dyn_host{};
    HostOwner owner(given);
    auto made = std::make_unique<dyn_module>();
    const std::string name = path;
    owner.taken();
    if (Status status = loadPackage(name, given, made->module); !status.ok()) return status;
    *module = made.release();
    return okStatus();
  });
}
