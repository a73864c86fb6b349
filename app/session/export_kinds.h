// The rows of export_kinds.def: what :export can write, and what each kind takes and needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/command.h"

namespace dyn {

enum class ExportKindId : uint8_t {
#define DYN_EXPORT_KIND(id, name, memory, options, help) id,
#include "app/session/export_kinds.def"
#undef DYN_EXPORT_KIND
};

// What a kind needs of the memory of runs.
enum class ExportMemory : uint8_t { unbounded, ofSizes, withoutHeap };

struct ExportKind {
  ExportKindId id;
  std::string_view name;
  ExportMemory memory;
  std::string_view options;  // "interpret no-heap"
  std::string_view help;

  bool takes(std::string_view option) const;
};

// In the order of export_kinds.def.
const std::vector<ExportKind>& exportKinds();
// The row that --kind of an export names. Errors: usageError for a kind that is not there or a signature of
// what is no package, unsupportedFeature for an option that the kind does not take.
Result<const ExportKind*> exportKindOf(const Command& command);
}  // namespace dyn
