#include "app/library/diagnostics.h"

#include <new>

#include "app/library/include/dyn_server.h"

namespace dyn::library {

namespace {

// The texts of a diagnostic, as long as it can be asked for.
struct Kept {
  Diagnostic diagnostic;
  std::string id, place, file, node, notes;
};

std::vector<Kept>& kept() {
  thread_local std::vector<Kept> list;
  return list;
}

Kept keep(const Diagnostic& from) {
  Kept made{from,
            std::string(diagnosticRow(from.id).code),
            from.place.toString(),
            std::string(from.place.file.view()),
            std::string(from.place.node.view()),
            ""};
  for (const std::string& note : from.notes) made.notes += (made.notes.empty() ? "" : "\n") + note;
  return made;
}

}  // namespace

dyn_status statusOf(DiagnosticId id) {
  switch (id) {
    case DiagnosticId::fileError:
      return DYN_IO_ERROR;
    case DiagnosticId::inputMissing:
    case DiagnosticId::inputMismatch:
      return DYN_BAD_INPUT;
    case DiagnosticId::shapeCheckFailed:
      return DYN_CHECK_FAILED;
    case DiagnosticId::dimOverflow:
    case DiagnosticId::dimDomain:
      return DYN_ARITHMETIC;
    case DiagnosticId::memoryLimit:
      return DYN_MEMORY_LIMIT;
    case DiagnosticId::timeBeyondLimit:
      return DYN_DEADLINE_INFEASIBLE;
    default:
      break;
  }
  switch (diagnosticRow(id).kind) {
    case FaultKind::user:
      return DYN_BAD_PROGRAM;
    case FaultKind::unsupported:
      return DYN_UNSUPPORTED;
    case FaultKind::usage:
      return DYN_INVALID_ARGUMENT;
    case FaultKind::limit:
      return DYN_MEMORY_LIMIT;
    case FaultKind::cancelled:
    case FaultKind::timeout:
      return DYN_CANCELLED;
    case FaultKind::internal:
      return DYN_INTERNAL;
  }
  return DYN_INTERNAL;
}

void forgetDiagnostics() { kept().clear(); }

void noteDiagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& one : diagnostics) kept().push_back(keep(one));
}

dyn_status failed(const Diagnostic& error) {
  kept().insert(kept().begin(), keep(error));
  return statusOf(error.id);
}

dyn_status failed(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown)) return DYN_OUT_OF_MEMORY;
  return failed(makeError(DiagnosticId::internalError, std::string("an exception escaped: ") + thrown.what())
                    .diagnostic());
}

}  // namespace dyn::library

using namespace dyn::library;

extern "C" {

int32_t dyn_library_abi_version(void) { return DYN_LIBRARY_ABI_VERSION; }

int32_t dyn_diagnostic_count(void) { return static_cast<int32_t>(kept().size()); }

dyn_status dyn_diagnostic_get(int32_t index, dyn_diagnostic* diagnostic) {
  if (index < 0 || static_cast<size_t>(index) >= kept().size()) return DYN_INVALID_ARGUMENT;
  const Kept& from = kept()[static_cast<size_t>(index)];
  dyn_diagnostic made{};
  made.severity = static_cast<dyn_severity>(from.diagnostic.severity);
  made.id = from.id.c_str();
  made.message = from.diagnostic.message.c_str();
  made.place = from.place.c_str();
  made.file = from.file.c_str();
  made.node = from.node.c_str();
  made.line = from.diagnostic.place.line;
  made.column = from.diagnostic.place.column;
  made.notes = from.notes.c_str();
  made.op = from.diagnostic.op.c_str();
  return give(made, diagnostic).ok() ? DYN_OK : DYN_INVALID_ARGUMENT;
}

}  // extern "C"
