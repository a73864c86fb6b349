#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

const Json* FilePart::find(const char* field) const {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(field);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::string FilePart::type() const {
  const Json* type = find("type");
  return type && type->is_string() ? type->get<std::string>() : "";
}

Error FilePart::malformed(const std::string& what) const {
  return makeError(DiagnosticId::fileFormat, "tokenizer.json: " + title() + ": " + what);
}

Error FilePart::unsupported(const std::string& what) const {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: tokenizer.json: " + title() + (what.empty() ? "" : ": " + what));
}

Result<bool> FilePart::flag(const char* field, bool otherwise) const {
  const Json* found = find(field);
  if (!found) return otherwise;
  if (!found->is_boolean()) return malformed(std::string(field) + " is neither true nor false");
  return found->get<bool>();
}

Result<int64_t> FilePart::integer(const char* field, int64_t otherwise) const {
  const Json* found = find(field);
  if (!found) return otherwise;
  if (!found->is_number_integer()) return malformed(std::string(field) + " is no whole number");
  return found->get<int64_t>();
}

Result<std::string> FilePart::text(const char* field, const std::string& otherwise) const {
  const Json* found = find(field);
  if (!found) return otherwise;
  if (!found->is_string()) return malformed(std::string(field) + " is no text");
  return found->get<std::string>();
}

Result<std::string> FilePart::text(const char* field) const {
  if (!find(field)) return malformed(std::string("it has no ") + field);
  return text(field, "");
}

}  // namespace dyn::tokenizer
