// Words of a text to the numbers that a model takes, by the vocabulary it was trained with.
//
//   DYN_TRY(Vocabulary words, Vocabulary::read("vocab.txt"));
//   std::vector<int64_t> ids = words.idsOf("Shapes are open.");      // [CLS] shapes are open . [SEP]
//
// Two kinds of files:
// - vocab.txt, a piece a line: WordPiece as BERT has it. Words are split at blanks and punctuation, each into
//   the longest pieces there are (inner ones begin with ##), [UNK] where there are none; [CLS] and [SEP] are
//   put around where the file has them. Without an A to Z at the front of a piece the vocabulary is without
//   capitals: the text is made small, and accents of Latin letters fall.
// - vocab.json with merges.txt beside it: byte pairs as GPT-2 has them, nothing put around.
// Letters beyond Latin, Greek and Cyrillic are not made small, accents in a code point of their own fall, and
// of others than ASCII only blanks and general punctuation part words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

class Vocabulary {
 public:
  static Result<Vocabulary> read(const std::string& path);
  Result<std::vector<int64_t>> idsOf(std::string_view text) const;
  bool isBytePairs() const { return bytePairs_; }

 private:
  Status readPieces(const std::string& path);
  Status readPairs(const std::string& path);
  void addWord(const std::string& word, std::vector<int64_t>& ids) const;
  Status addPairs(const std::string& word, std::vector<int64_t>& ids) const;
  int64_t idOf(const std::string& piece) const;  // -1: none

  std::unordered_map<std::string, int64_t> ids_;
  std::unordered_map<std::string, size_t> merges_;  // "a b" -> rank
  bool bytePairs_ = false, small_ = true;
};

}  // namespace dyn
