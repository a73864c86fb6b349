#include "app/engine/generate/end_tokens.h"

#include <nlohmann/json.hpp>

#include "compiler/support/json_nesting.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

nlohmann::json jsonBeside(const std::string& path, const std::string& name) {
  if (path.empty()) return {};
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const Result<MappedFile> file = MappedFile::open(folder + name);
  if (!file.ok() || nestsDeeperThan(file->bytes(), kMostJsonNesting)) return {};
  nlohmann::json json = nlohmann::json::parse(file->bytes(), nullptr, false);
  return json.is_object() ? json : nlohmann::json();
}

}  // namespace

EndTokens endTokensBeside(const std::string& model, const std::string& tokenizer) {
  EndTokens found;
  for (const char* name : {"generation_config.json", "config.json"}) {
    const nlohmann::json json = jsonBeside(model, name);
    const nlohmann::json ids = json.is_object() ? json.value("eos_token_id", nlohmann::json()) : json;
    if (ids.is_number_integer()) found.ids.push_back(ids.get<int64_t>());
    if (ids.is_array())
      for (const nlohmann::json& id : ids)
        if (id.is_number_integer()) found.ids.push_back(id.get<int64_t>());
    if (found.ids.empty()) continue;
    found.file = name;
    return found;
  }
  const nlohmann::json json = jsonBeside(tokenizer, "tokenizer_config.json");
  nlohmann::json token = json.is_object() ? json.value("eos_token", nlohmann::json()) : json;
  if (token.is_object()) token = token.value("content", nlohmann::json());
  if (token.is_string()) {
    found.token = token.get<std::string>();
    found.file = "tokenizer_config.json";
  }
  return found;
}

}  // namespace dyn
