// Diagnostics: what went wrong, where, and what to do, with a stable id from one table (diagnostics.def).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/source_place.h"

namespace dyn {

enum class DiagnosticId {
#define DYN_DIAGNOSTIC(name, id, kind, summary) name,
#include "compiler/support/diagnostics.def"
#undef DYN_DIAGNOSTIC
};

// Whose fault it is; it decides the exit code of batch commands (exitCode below).
enum class FaultKind { user, unsupported, usage, limit, cancelled, timeout, internal };

enum class Severity { error, warning, note };

struct DiagnosticRow {
  DiagnosticId id;
  std::string_view name;  // "shapeMismatch"
  std::string_view code;  // "E0203"
  FaultKind kind;
  std::string_view summary;  // one sentence
};

// All rows, in table order.
const std::vector<DiagnosticRow>& diagnosticTable();
const DiagnosticRow& diagnosticRow(DiagnosticId id);
// 0 ok · 1 failed · 2 usage · 3 differ · 4 unsupported · 70 internal · 124 time limit · 130 interrupted.
int exitCode(DiagnosticId id);

struct Diagnostic {
  DiagnosticId id = DiagnosticId::internalError;
  Severity severity = Severity::error;
  std::string message;  // one sentence, names values: "dim 1: 2 vs 3"
  SourceLocation place;
  std::vector<std::string> notes;  // what was known, what to do
  std::string op;                  // operator concerned, if any: "Conv"

  // "error[E0203]: message\n  at model.onnx: node X\n  note: ..."
  std::string toString() const;
};

}  // namespace dyn
