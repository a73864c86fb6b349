#include "app/tokenizer/token_model.h"

#include <cstdio>

namespace dyn::tokenizer {

void TokenTable::add(const std::string& token, int64_t id) {
  ids_[token] = id;
  tokens_[id] = token;
}

std::optional<int64_t> TokenTable::idOf(const std::string& token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* TokenTable::tokenOf(int64_t id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second;
}

Result<TokenTable> TokenTable::read(const FilePart& part) {
  const Json* vocabulary = part.find("vocab");
  if (!vocabulary || !vocabulary->is_object()) return part.malformed("vocab is not tokens with their ids");
  TokenTable table;
  for (const auto& [token, id] : vocabulary->items()) {
    if (!id.is_number_integer()) return part.malformed("the id of token '" + token + "' is no whole number");
    table.add(token, id.get<int64_t>());
  }
  return table;
}

std::optional<std::vector<int64_t>> TokenModel::idsOfBytes(std::string_view bytes) const {
  std::vector<int64_t> ids;
  for (const char c : bytes) {
    char token[8];
    std::snprintf(token, sizeof token, "<0x%02X>", static_cast<unsigned char>(c));
    const std::optional<int64_t> id = table_.idOf(token);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

namespace {

// Files of before the field `type` have the fields of one kind alone.
std::string kindOf(const FilePart& part) {
  if (!part.type().empty()) return part.type();
  if (part.find("merges")) return "BPE";
  if (const Json* vocabulary = part.find("vocab"); vocabulary && vocabulary->is_array()) return "Unigram";
  return part.find("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

Result<std::unique_ptr<TokenModel>> readTokenModel(const Json& json) {
  const FilePart part{json, "model"};
  if (!json.is_object()) return part.malformed("it is no object");
  const std::string kind = kindOf(part);
  if (kind == "BPE") return readBytePairs(part);
  if (kind == "WordPiece") return readWordPieces(part);
  if (kind == "WordLevel") return readWords(part);
  if (kind == "Unigram") return readUnigram(part);
  return part.unsupported("");
}

}  // namespace dyn::tokenizer
