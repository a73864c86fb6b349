#include "app/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/tokenizer/token_stream.h"
#include "app/tokenizer/unicode_text.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace dyn::tokenizer {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// A tokenizer of single letters, with other parts.
Json letters(Json parts = Json::object()) {
  Json vocabulary = {{"<unk>", 0}, {" ", 1}};
  for (char letter = 'a'; letter <= 'z'; ++letter) vocabulary[std::string(1, letter)] = vocabulary.size();
  Json made = {
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}, {"unk_token", "<unk>"}}}};
  made.update(parts);
  return made;
}

std::string faultOf(const Json& json) {
  const Result<Tokenizer> made = Tokenizer::parse(json.dump());
  EXPECT_FALSE(made.ok());
  return made.ok() ? "" : made.error().message;
}

// Cases that the package tokenizers made (tests/tokenizer/compare_tokenizers.py --golden).
TEST(Tokenizer, GoldenCasesOfFiveVocabularies) {
  int casesCount = 0, filesCount = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::sourceFolder() + "/tests/tokenizer/golden")) {
    std::ifstream stream(entry.path());
    const Json file = Json::parse(stream);
    const Result<Tokenizer> tokenizer = Tokenizer::parse(file["tokenizer"].dump());
    ASSERT_TRUE(tokenizer.ok()) << entry.path() << tokenizer.error().message;
    ++filesCount;
    for (const Json& one : file["cases"]) {
      const std::string text = one["text"];
      const auto bare = tokenizer->encode(text, SpecialTokens::none);
      const auto ids = tokenizer->encode(text, SpecialTokens::added);
      ASSERT_TRUE(bare.ok() && ids.ok()) << text;
      EXPECT_EQ(*bare, one["bare"].get<std::vector<int64_t>>()) << entry.path() << ": " << text;
      EXPECT_EQ(*ids, one["ids"].get<std::vector<int64_t>>()) << entry.path() << ": " << text;
      EXPECT_EQ(*tokenizer->decode(*ids, SpecialTokens::none), one["decoded"]) << entry.path();
      EXPECT_EQ(*tokenizer->decode(*ids, SpecialTokens::added), one["whole"]) << entry.path();
      TokenStream tokens(*tokenizer, {});
      std::string streamed;
      for (const int64_t id : *ids) streamed += *tokens.add(id);
      EXPECT_EQ(streamed + *tokens.finish(), one["decoded"]) << entry.path();
      ++casesCount;
    }
  }
  EXPECT_EQ(filesCount, 5);
  EXPECT_GE(casesCount, 50);
}

TEST(Tokenizer, WhatIsNotThereNamesItself) {
  EXPECT_EQ(faultOf(letters({{"pre_tokenizer", {{"type", "UnicodeScripts"}}}})),
            "unsupported: tokenizer.json: pre_tokenizer UnicodeScripts");
  EXPECT_EQ(faultOf(letters({{"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Odd"}}}}}}})),
            "unsupported: tokenizer.json: normalizer Odd");
  EXPECT_EQ(faultOf(letters({{"decoder", {{"type", "CTC"}}}})), "unsupported: tokenizer.json: decoder CTC");
  EXPECT_EQ(faultOf(letters({{"post_processor", {{"type", "Odd"}}}})),
            "unsupported: tokenizer.json: post_processor Odd");
  EXPECT_EQ(faultOf({{"model", {{"type", "Odd"}}}}), "unsupported: tokenizer.json: model Odd");
  Json dropout = letters();
  dropout["model"]["dropout"] = 0.1;
  EXPECT_THAT(faultOf(dropout), HasSubstr("unsupported: tokenizer.json: model BPE: dropout"));
  Json deep = {{"type", "NFC"}};
  for (int i = 0; i < 40; ++i) deep = {{"type", "Sequence"}, {"normalizers", {deep}}};
  EXPECT_THAT(faultOf(letters({{"normalizer", deep}})), HasSubstr("unsupported"));
}

TEST(Tokenizer, DamagedFilesSayWhatIsWrong) {
  EXPECT_THAT(Tokenizer::parse("[1").error().message, HasSubstr("no JSON object"));
  const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(Tokenizer::parse("{\"normalizer\": " + nested + "}").error().message, HasSubstr("deeper than"));
  EXPECT_THAT(faultOf(Json::object()), HasSubstr("model"));
  EXPECT_THAT(faultOf(letters({{"normalizer", {{"type", "Replace"}, {"pattern", 3}}}})),
              HasSubstr("pattern"));
  EXPECT_THAT(faultOf(letters({{"normalizer", {{"type", "Prepend"}}}})), HasSubstr("prepend"));
  EXPECT_THAT(faultOf(letters({{"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}}}})),
              HasSubstr("regular expression (a"));
  EXPECT_THAT(faultOf(letters({{"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "AAA="}}}})),
              HasSubstr("map"));
  EXPECT_THAT(faultOf(letters({{"added_tokens", {{{"content", "x"}}}}})), HasSubstr("has no id"));
  for (const Json& id : {Json(), Json(3), Json::array({"A"})}) {
    const Json piece = {{"Sequence", {{"id", id}}}};
    const Json processor = {{"type", "TemplateProcessing"}, {"single", Json::array({piece})}};
    EXPECT_THAT(faultOf(letters({{"post_processor", processor}})), HasSubstr("has no id")) << id;
  }
  Json merges = letters();
  merges["model"]["merges"] = {"a b"};
  EXPECT_THAT(faultOf(merges), HasSubstr("'ab', which vocab lacks"));
  merges["model"]["merges"] = {"ab"};
  EXPECT_THAT(faultOf(merges), HasSubstr("is not a pair"));
}

TEST(Tokenizer, ARegularExpressionThatTakesTooLongIsAnError) {
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", "(a|a)*(a|a)*(a|a)*c"}}}, {"behavior", "Isolated"}};
  const Result<Tokenizer> made = Tokenizer::parse(letters({{"pre_tokenizer", split}}).dump());
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto ids = made->encode(std::string(200, 'a') + "bc", SpecialTokens::none);
  ASSERT_FALSE(ids.ok());
  EXPECT_THAT(ids.error().message, HasSubstr("regular expression"));
}

TEST(Tokenizer, BytesThatAreNoTextBecomeTheReplacementCharacter) {
  const Result<Tokenizer> made = Tokenizer::parse(letters().dump());
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made->encode("a\xFF\xE2\x96z", SpecialTokens::none), (std::vector<int64_t>{2, 0, 0, 27}));
}

TEST(Tokenizer, ALongTextTakesLittleTime) {
  Json json = letters();
  json["model"]["vocab"]["aa"] = 28;
  json["model"]["vocab"]["aaaa"] = 29;
  json["model"]["merges"] = {"a a", "aa aa"};
  const Result<Tokenizer> made = Tokenizer::parse(json.dump());
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto ids = made->encode(std::string(400003, 'a'), SpecialTokens::none);
  ASSERT_TRUE(ids.ok());
  ASSERT_EQ(ids->size(), 100002U);
  EXPECT_EQ(ids->front(), 29);
  EXPECT_EQ(ids->at(100000), 28);
  EXPECT_EQ(ids->back(), 2);
}

TEST(Tokenizer, VocabulariesOfBertAndGpt2AreReadWithoutTokenizerJson) {
  const test::TemporaryFolder folder;
  const std::string pieces =
      folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nshapes\nare\nopen\n##ed\n.\n");
  const Result<Tokenizer> bert = Tokenizer::read(pieces);
  ASSERT_TRUE(bert.ok()) << bert.error().message;
  EXPECT_EQ(*bert->encode("Shapes are opened. x", SpecialTokens::added),
            (std::vector<int64_t>{2, 4, 5, 6, 7, 8, 1, 3}));
  folder.write("merges.txt", "#version: 0.2\na b\n\xC4\xA0 ab\n");
  const std::string pairs = folder.write("vocab.json",
                                         "{\"a\": 0, \"b\": 1, \"ab\": 2, \"\xC4\xA0\": 3, \"\xC4\xA0"
                                         "ab\": 4, \"<|endoftext|>\": 5}");
  const Result<Tokenizer> gpt2 = Tokenizer::read(pairs);
  ASSERT_TRUE(gpt2.ok()) << gpt2.error().message;
  const auto ids = gpt2->encode("ab ab ba<|endoftext|>", SpecialTokens::added);
  EXPECT_EQ(*ids, (std::vector<int64_t>{2, 4, 3, 1, 0, 5}));
  EXPECT_EQ(*gpt2->decode(*ids, SpecialTokens::none), "ab ab ba");
  EXPECT_FALSE(Tokenizer::read(folder.write("other.txt", "a\nb\n")).ok());
}

TEST(TokenStream, ACharacterComesWhenItsBytesAreThere) {
  Json vocabulary = {{"a", 0}};
  for (int byte = 0; byte < 256; ++byte) {
    char token[8];
    std::snprintf(token, sizeof token, "<0x%02X>", byte);
    vocabulary[token] = byte + 1;
  }
  const Json json = {
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}, {"byte_fallback", true}}},
      {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}}};
  const Result<Tokenizer> made = Tokenizer::parse(json.dump());
  ASSERT_TRUE(made.ok()) << made.error().message;
  TokenStream stream(*made, {0});
  EXPECT_EQ(*stream.add(0xF0 + 1), "");
  EXPECT_EQ(*stream.add(0x9F + 1), "");
  EXPECT_EQ(*stream.add(0x98 + 1), "");
  EXPECT_EQ(*stream.add(0x80 + 1), "\xF0\x9F\x98\x80");
  EXPECT_EQ(*stream.add(0), "a");
  std::string emoji;
  for (int i = 0; i < 20; ++i)
    for (const int byte : {0xF0, 0x9F, 0x98, 0x80 + i}) emoji += *stream.add(byte + 1);
  EXPECT_EQ(emoji.size(), 80U);
  EXPECT_EQ(validText(emoji), emoji);
  EXPECT_EQ(*stream.add(0xE2 + 1), "");
  EXPECT_EQ(*stream.finish(), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace dyn::tokenizer
