#include "compiler/support/result.h"

namespace dyn {

Error::Error(Diagnostic diagnostic) : diagnostic_(new Diagnostic(std::move(diagnostic))) {}

Error::Error(const Error& other)
    : diagnostic_(other.diagnostic_ ? new Diagnostic(*other.diagnostic_) : nullptr) {}

void Error::destroy() { delete diagnostic_; }

Error&& Error::note(std::string text) && {
  diagnostic_->notes.push_back(std::move(text));
  return std::move(*this);
}

Error&& Error::at(SourceLocation place) && {
  if (!diagnostic_->place.known()) diagnostic_->place = std::move(place);
  return std::move(*this);
}

Error makeError(DiagnosticId id, std::string message) {
  Diagnostic diagnostic;
  diagnostic.id = id;
  diagnostic.message = std::move(message);
  return Error(std::move(diagnostic));
}

Error makeError(DiagnosticId id, std::string message, SourceLocation place) {
  return makeError(id, std::move(message)).at(std::move(place));
}

}  // namespace dyn
