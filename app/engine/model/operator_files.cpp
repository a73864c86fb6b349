#include "app/engine/model/operator_files.h"

#include <elf.h>

#include "app/engine/model/operator_check.h"
#include "app/engine/model/text_options.h"
#include "app/engine/model/vm_value.h"
#include "app/pictures/picture_kernels.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/read_files.h"
#include "vm/include/dyn_custom_kernels.h"

namespace dyn {
namespace {

// use(path, file) of each.
template <typename Use>
Status forEachFile(const std::string& paths, Use&& use) {
  for (size_t begin = 0; begin < paths.size();) {
    const size_t end = std::min(paths.find(';', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    noteRead(path);
    DYN_TRY(const MappedFile file, MappedFile::open(path));
    DYN_CHECK(use(path, file));
  }
  return {};
}

bool isLibrary(const MappedFile& file) { return file.bytes().starts_with(std::string_view(ELFMAG, SELFMAG)); }

}  // namespace

Result<std::vector<std::shared_ptr<const text::OperatorFile>>> readOperatorFiles(const std::string& paths) {
  std::vector<std::shared_ptr<const text::OperatorFile>> files;
  DYN_CHECK(forEachFile(paths, [&](const std::string& path, const MappedFile& file) -> Status {
    if (isLibrary(file)) return {};
    DYN_TRY(text::OperatorFile read, text::OperatorFile::parse(std::string(file.bytes()), textOptions(path)));
    files.push_back(std::make_shared<const text::OperatorFile>(std::move(read)));
    return {};
  }));
  return files;
}

Status loadKernelLibraries(const std::string& paths, bool nativeCode) {
  // Once: a library of the user may bring others of these names.
  static const std::span<const DynCustomKernel> pictures = pictureKernels();
  static const dyn_status added =
      dyn_custom_kernels_add(pictures.data(), static_cast<int32_t>(pictures.size()));
  if (added != DYN_OK) return vmError(added);
  return forEachFile(paths, [&](const std::string& path, const MappedFile& file) -> Status {
    if (!isLibrary(file)) return {};
    if (!nativeCode)
      return makeError(
          DiagnosticId::unsupportedFeature,
          "unsupported: " + path + ": its kernels are machine code, which --no-native leaves out");
    const dyn_status status = dyn_custom_kernels_load(path.c_str());
    return status == DYN_OK ? Status() : Status(vmError(status));
  });
}

Status checkOperatorFiles(const std::string& paths) {
  DYN_TRY([[maybe_unused]] const auto files, readOperatorFiles(paths));
  return {};
}

}  // namespace dyn
