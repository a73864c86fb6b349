#include "app/session/export_kinds.h"

namespace dyn {

namespace {

// "a, b and c"
std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " and ";
    text += words[i];
  }
  return text;
}

// The kinds that take the option.
std::vector<std::string_view> takersOf(std::string_view option) {
  std::vector<std::string_view> names;
  for (const ExportKind& kind : exportKinds())
    if (kind.takes(option)) names.push_back(kind.name);
  return names;
}

}  // namespace

bool ExportKind::takes(std::string_view option) const {
  return (" " + std::string(options) + " ").find(" " + std::string(option) + " ") != std::string::npos;
}

const std::vector<ExportKind>& exportKinds() {
  static const std::vector<ExportKind> table = {
#define DYN_EXPORT_KIND(id, name, memory, options, help) \
  {ExportKindId::id, name, ExportMemory::memory, options, help},
#include "app/session/export_kinds.def"
#undef DYN_EXPORT_KIND
  };
  return table;
}

Result<const ExportKind*> exportKindOf(const Command& command) {
  const std::string name = command.text("kind");
  const ExportKind* kind = nullptr;
  std::vector<std::string_view> names;
  for (const ExportKind& known : exportKinds()) {
    names.push_back(known.name);
    if (known.name == name) kind = &known;
  }
  if (!kind)
    return makeError(DiagnosticId::usageError, "there is no kind '" + name + "' of exports")
        .note("there are " + listed(names));
  for (const auto& [option, values] : command.arguments) {
    const std::vector<std::string_view> takers = takersOf(option);
    if (takers.empty() || kind->takes(option)) continue;
    if (option == "sign")
      return makeError(DiagnosticId::usageError,
                       "--sign is for packages; other exports are checked when they are installed");
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: --" + option + " with --kind " + name +
                                                           ": it is of --kind " + listed(takers));
  }
  if (command.has("no-heap") && command.has("interpret"))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: --no-heap with --interpret: its runtime runs machine code only");
  return kind;
}

}  // namespace dyn
