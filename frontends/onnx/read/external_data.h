// Tensor data that lie in files beside the model, confined to the model's folder.
//
//   DYN_TRY(ExternalData external, ExternalData::atFolder(model.folder));
//   DYN_TRY(ExternalSlice slice, external.resolve(tensor.externalData, expectedBytes, place));
//
// A model is foreign input; it must not make us read what its author could not. So a location is refused
// (diagnostic onnxExternalData) when it is absolute, has a ".." component, passes a symbolic link in any
// component, ends in a file that is no regular one or has a second hard link, or when offset and length leave
// the file. Nothing outside the folder is opened, and no pipe or device is: the kernel resolves the path with
// openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS); where that call is missing the path
// is walked one component at a time from the folder's descriptor with O_NOFOLLOW. Symbolic links are followed
// where somebody names a folder that they do not leave (allowLinks): the file they end at is then opened
// below that folder in the same way. (CVE-2022-25882,
// CVE-2024-27318, CVE-2024-27319, CVE-2026-27489, CVE-2026-34445, CVE-2026-34446, CVE-2026-34447 are the
// known holes of others.)
//
// A file is mapped once and shared by all its slices. The "checksum" entry is not verified; unknown entries
// are ignored. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/file_handle.h"
#include "compiler/support/mapped_file.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

struct ExternalSlice {
  std::shared_ptr<const MappedFile> file;  // keeps the bytes mapped
  std::string_view bytes;
};

class ExternalData {
 public:
  // How a path is resolved; the tests ask for the second.
  enum class Resolver { kernel, componentwise };

  static Result<ExternalData> atFolder(const std::string& folder, Resolver resolver = Resolver::kernel);

  // Links are followed that stay below `root`, as the cache of Hugging Face lays them
  // (snapshots/X/model.onnx_data -> ../../blobs/...). Error fileError: there is no such folder.
  Status allowLinks(const std::string& root);

  // `entries` are TensorProto.external_data; the slice has exactly expectedBytes.
  Result<ExternalSlice> resolve(std::span<const StringPair> entries, uint64_t expectedBytes,
                                const SourceLocation& place);

 private:
  // A folder that no path leaves.
  struct Below {
    FileHandle handle;
    std::string path;
  };
  ExternalData(Below folder, Resolver resolver) : folder_(std::move(folder)), resolver_(resolver) {}

  Result<std::shared_ptr<const MappedFile>> mapFile(std::string_view location, const SourceLocation& place);
  Result<MappedFile> mapBelow(const Below& folder, const std::vector<std::string>& components,
                              const std::string& shown, const SourceLocation& place);
  // Opens a path of plain components below the folder; -1 and errno when that is refused.
  int openBeneath(const Below& folder, const std::vector<std::string>& components, int flags);
  bool passesLink(const std::vector<std::string>& components);
  // Where the links of this path end, as components below the root; empty: outside, or at nothing.
  std::vector<std::string> linkedBelowRoot(const std::vector<std::string>& components) const;

  Below folder_;
  std::optional<Below> root_;  // of links
  Resolver resolver_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by normalised location
};

}  // namespace dyn::onnx
