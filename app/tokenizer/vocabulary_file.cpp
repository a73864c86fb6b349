#include "app/tokenizer/vocabulary_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "compiler/support/mapped_file.h"

namespace dyn::tokenizer {

namespace {

using Json = nlohmann::json;

std::vector<std::string> tokenLinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::string> tokenizerOfWordPieces(const std::string& path, std::string_view bytes) {
  Json vocabulary = Json::object();
  bool isSmall = true;
  int64_t id = 0;
  for (const std::string& line : tokenLinesOf(bytes)) {
    isSmall = isSmall && (line.empty() || line[0] < 'A' || line[0] > 'Z');
    vocabulary[line] = id++;
  }
  if (!vocabulary.contains("[UNK]"))
    return makeError(DiagnosticId::fileFormat, path + " is not a vocabulary: it has no line [UNK]");
  Json added = Json::array();
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (vocabulary.contains(special))
      added.push_back({{"content", special}, {"id", vocabulary[special]}, {"special", true}});
  Json processor;
  if (vocabulary.contains("[CLS]") && vocabulary.contains("[SEP]"))
    processor = {{"type", "BertProcessing"},
                 {"cls", {"[CLS]", vocabulary["[CLS]"]}},
                 {"sep", {"[SEP]", vocabulary["[SEP]"]}}};
  const Json made = {{"added_tokens", added},
                     {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", isSmall}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"post_processor", processor},
                     {"decoder", {{"type", "WordPiece"}}},
                     {"model", {{"type", "WordPiece"}, {"vocab", std::move(vocabulary)}}}};
  return made.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> tokenizerOfPairs(const std::string& path, std::string_view bytes) {
  Json vocabulary = Json::parse(bytes, nullptr, false);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  DYN_TRY(const MappedFile file, MappedFile::open(folder + "merges.txt"));
  Json merges = Json::array();
  for (std::string& line : tokenLinesOf(file.bytes()))
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::move(line));
  Json added = Json::array();
  if (const auto end = vocabulary.find("<|endoftext|>"); end != vocabulary.end())
    added.push_back({{"content", end.key()}, {"id", *end}, {"special", true}});
  const Json made = {
      {"added_tokens", added},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(merges)}}}};
  return made.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

bool isVocabularyFile(const std::string& path, std::string_view bytes) {
  if (path.ends_with(".txt")) return true;
  const Json json = Json::parse(bytes, nullptr, false);
  return json.is_object() && !json.empty() &&
         std::all_of(json.begin(), json.end(), [](const Json& id) { return id.is_number_integer(); });
}

Result<std::string> tokenizerOfVocabulary(const std::string& path, std::string_view bytes) {
  return path.ends_with(".txt") ? tokenizerOfWordPieces(path, bytes) : tokenizerOfPairs(path, bytes);
}

}  // namespace dyn::tokenizer
