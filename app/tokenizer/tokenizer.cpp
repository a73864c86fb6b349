#include "app/tokenizer/tokenizer.h"

#include <algorithm>

#include "app/tokenizer/added_tokens.h"
#include "app/tokenizer/normalizers.h"
#include "app/tokenizer/post_processors.h"
#include "app/tokenizer/pre_tokenizers.h"
#include "app/tokenizer/token_decoders.h"
#include "app/tokenizer/token_model.h"
#include "app/tokenizer/unicode_text.h"
#include "app/tokenizer/vocabulary_file.h"
#include "compiler/support/json_nesting.h"
#include "compiler/support/mapped_file.h"

namespace dyn::tokenizer {

namespace {

struct Truncation {
  int64_t length = 0;
  bool keepsEnd = false;
};

Result<std::optional<Truncation>> readTruncation(const Json& json) {
  if (json.is_null()) return std::optional<Truncation>();
  const FilePart part{json, "truncation"};
  Truncation made;
  DYN_TRY(made.length, part.integer("max_length", -1));
  if (made.length < 0) return part.malformed("it has no max_length");
  DYN_TRY(const std::string direction, part.text("direction", "Right"));
  if (direction != "Right" && direction != "Left") return part.unsupported("direction " + direction);
  made.keepsEnd = direction == "Left";
  return std::optional<Truncation>(made);
}

void truncate(const Truncation& truncation, size_t specialsCount, std::vector<int64_t>& ids) {
  const auto length =
      static_cast<size_t>(std::max<int64_t>(0, truncation.length - static_cast<int64_t>(specialsCount)));
  if (ids.size() <= length) return;
  if (truncation.keepsEnd)
    ids.erase(ids.begin(), ids.end() - static_cast<ptrdiff_t>(length));
  else
    ids.resize(length);
}

}  // namespace

struct Tokenizer::Parts {
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  std::unique_ptr<TokenModel> model;
  std::optional<Truncation> truncation;
  PostProcessor postProcessor;
  TokenDecoder decoder;
};

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::read(const std::string& path) {
  DYN_TRY(const MappedFile file, MappedFile::open(path));
  if (!isVocabularyFile(path, file.bytes())) {
    Result<Tokenizer> made = parse(file.bytes());
    if (!made.ok()) return made.takeError().note("file " + path);
    return made;
  }
  DYN_TRY(const std::string json, tokenizerOfVocabulary(path, file.bytes()));
  return parse(json);
}

Result<Tokenizer> Tokenizer::parse(std::string_view text) {
  if (nestsDeeperThan(text, kMostJsonNesting))
    return makeError(DiagnosticId::fileFormat,
                     "tokenizer.json: it is nested deeper than " + std::to_string(kMostJsonNesting));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return makeError(DiagnosticId::fileFormat, "tokenizer.json: it is no JSON object");
  const auto field = [&](const char* name) { return json.value(name, Json()); };
  auto parts = std::make_unique<Parts>();
  DYN_TRY(parts->normalizer, readNormalizer(field("normalizer")));
  DYN_TRY(parts->added, AddedTokens::read(field("added_tokens"), parts->normalizer));
  DYN_TRY(parts->preTokenizer, readPreTokenizer(field("pre_tokenizer")));
  DYN_TRY(parts->model, readTokenModel(field("model")));
  DYN_TRY(parts->truncation, readTruncation(field("truncation")));
  DYN_TRY(parts->postProcessor, readPostProcessor(field("post_processor")));
  DYN_TRY(parts->decoder, readTokenDecoder(field("decoder")));
  return Tokenizer(std::move(parts));
}

Result<std::vector<int64_t>> Tokenizer::encode(std::string_view text, SpecialTokens specials) const {
  DYN_TRY(std::vector<TextPiece> pieces, parts_->added.extract(validText(text), parts_->normalizer));
  DYN_CHECK(parts_->preTokenizer(pieces));
  std::vector<int64_t> ids;
  for (const TextPiece& piece : pieces) {
    if (piece.id)
      ids.push_back(*piece.id);
    else
      DYN_CHECK(parts_->model->encode(piece.text, ids));
  }
  std::vector<int64_t> around;
  if (specials == SpecialTokens::added) parts_->postProcessor(around);
  if (parts_->truncation) truncate(*parts_->truncation, around.size(), ids);
  if (specials == SpecialTokens::added) parts_->postProcessor(ids);
  return ids;
}

Result<std::string> Tokenizer::decode(std::span<const int64_t> ids, SpecialTokens specials) const {
  std::vector<std::string> tokens;
  for (const int64_t id : ids) {
    if (const AddedToken* added = parts_->added.find(id)) {
      if (!added->isSpecial || specials == SpecialTokens::added) tokens.push_back(added->normalized);
    } else if (const std::string* token = parts_->model->table().tokenOf(id)) {
      tokens.push_back(*token);
    }
  }
  DYN_CHECK(parts_->decoder(tokens));
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::optional<int64_t> Tokenizer::idOf(const std::string& token) const {
  if (const AddedToken* added = parts_->added.find(token)) return added->id;
  return parts_->model->table().idOf(token);
}

std::string Tokenizer::tokenOf(int64_t id) const {
  if (const AddedToken* added = parts_->added.find(id)) return added->content;
  const std::string* token = parts_->model->table().tokenOf(id);
  return token ? *token : "";
}

}  // namespace dyn::tokenizer
