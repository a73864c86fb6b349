#include "compiler/support/diagnostic.h"

#include "compiler/support/excerpt.h"

namespace dyn {

const std::vector<DiagnosticRow>& diagnosticTable() {
  static const std::vector<DiagnosticRow> rows = {
#define DYN_DIAGNOSTIC(name, id, kind, summary) {DiagnosticId::name, #name, id, FaultKind::kind, summary},
#include "compiler/support/diagnostics.def"
#undef DYN_DIAGNOSTIC
  };
  return rows;
}

const DiagnosticRow& diagnosticRow(DiagnosticId id) { return diagnosticTable()[static_cast<size_t>(id)]; }

int exitCode(DiagnosticId id) {
  if (id == DiagnosticId::resultsDiffer || id == DiagnosticId::slowerThanBaseline) return 3;
  switch (diagnosticRow(id).kind) {
    case FaultKind::user:
    case FaultKind::limit:
      return 1;
    case FaultKind::usage:
      return 2;
    case FaultKind::unsupported:
      return 4;
    case FaultKind::internal:
      return 70;
    case FaultKind::timeout:
      return 124;
    case FaultKind::cancelled:
      return 130;
  }
  return 70;
}

std::string SourceLocation::toString() const {
  std::string text = file;
  if (line != 0) text += (text.empty() ? "line " : ":") + std::to_string(line);
  if (line != 0 && column != 0) text += ":" + std::to_string(column);
  if (byteOffset != 0) text += (text.empty() ? "byte " : ": byte ") + std::to_string(byteOffset);
  if (!node.empty()) text += (text.empty() ? "node " : ": node ") + node;
  return text;
}

std::string Diagnostic::toString() const {
  static constexpr const char* kSeverity[] = {"error", "warning", "note"};
  std::string text = std::string(kSeverity[static_cast<int>(severity)]) + "[" +
                     std::string(diagnosticRow(id).code) + "]: " + message;
  if (place.known()) text += "\n  at " + place.toString();
  for (const std::string& note : notes) text += (isExcerpt(note) ? "\n  " : "\n  note: ") + note;
  return text;
}

}  // namespace dyn
