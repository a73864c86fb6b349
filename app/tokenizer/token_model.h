// The model of a tokenizer.json: the pieces of a vocabulary that a piece of text consists of.
//
// Threads: any number may use one model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

// Tokens and their ids, both ways.
class TokenTable {
 public:
  static Result<TokenTable> read(const FilePart& part);  // {"token": id} in the field `vocab`
  void add(const std::string& token, int64_t id);
  std::optional<int64_t> idOf(const std::string& token) const;
  const std::string* tokenOf(int64_t id) const;  // null: none
  size_t size() const { return ids_.size(); }

 private:
  std::unordered_map<std::string, int64_t> ids_;
  std::unordered_map<int64_t, std::string> tokens_;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the ids of the piece.
  virtual Status encode(const std::string& piece, std::vector<int64_t>& ids) const = 0;
  const TokenTable& table() const { return table_; }

 protected:
  TokenTable table_;
  // The ids of the tokens <0x00> to <0xFF> that these bytes are. Nothing where one is missing.
  std::optional<std::vector<int64_t>> idsOfBytes(std::string_view bytes) const;
};

Result<std::unique_ptr<TokenModel>> readBytePairs(const FilePart& part);   // BPE
Result<std::unique_ptr<TokenModel>> readWordPieces(const FilePart& part);  // WordPiece
Result<std::unique_ptr<TokenModel>> readWords(const FilePart& part);       // WordLevel
Result<std::unique_ptr<TokenModel>> readUnigram(const FilePart& part);

// Of the field `model`.
Result<std::unique_ptr<TokenModel>> readTokenModel(const Json& json);

}  // namespace dyn::tokenizer
