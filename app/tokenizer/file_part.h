// A part of a tokenizer.json: an object with a `type`, and the errors of such parts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "compiler/support/result.h"

namespace dyn::tokenizer {

using Json = nlohmann::json;

// A part and what it is a part of: "normalizer Replace".
struct FilePart {
  const Json& json;
  std::string role;  // "normalizer", "pre_tokenizer", "model", "post_processor", "decoder"

  std::string type() const;  // "" without
  std::string title() const { return type().empty() ? role : role + " " + type(); }
  // Null where there is none.
  const Json* find(const char* field) const;
  // What is missing, or null, is `otherwise`; what is of another kind is an error.
  Result<bool> flag(const char* field, bool otherwise) const;
  Result<int64_t> integer(const char* field, int64_t otherwise) const;
  Result<std::string> text(const char* field, const std::string& otherwise) const;
  // What is missing is an error.
  Result<std::string> text(const char* field) const;

  Error malformed(const std::string& what) const;
  Error unsupported(const std::string& what) const;
};

// Parts in parts (Sequence) are read to this depth.
constexpr int kDeepestPart = 16;

}  // namespace dyn::tokenizer
