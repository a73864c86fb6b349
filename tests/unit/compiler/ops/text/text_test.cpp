// Strings, lookup, tfidf: the reference; the runtime's builtins are tested in tests/unit/vm/kernels and by the ONNX suite.
#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor texts(std::vector<int64_t> shape, std::vector<std::string> values) {
  return HostTensor::strings(std::move(shape), std::move(values));
}
std::vector<std::string> textsOf(const std::vector<Value>& results) {
  return results.empty() ? std::vector<std::string>() : results[0].tensor().stringValues();
}

TEST(StringConcat, Broadcasts) {
  OpCase test("string_concat", {texts({2, 1}, {"a", "b"}), texts({2}, {"x", ""})});
  EXPECT_THAT(textsOf(checkOp(test)), ElementsAre("ax", "a", "bx", "b"));
}

TEST(StringSplit, ByDelimiterAndBySpace) {
  OpCase commas("string_split", {texts({2}, {"a,,b", "c"})}, {{"delimiter", std::string(",")}});
  commas.results = 2;
  auto pieces = checkOp(commas);
  EXPECT_THAT(textsOf(pieces), ElementsAre("a", "", "b", "c", "", ""));
  EXPECT_THAT(elements(pieces, 1), ElementsAre(3, 1));
  OpCase spaces("string_split", {texts({2}, {"  a b  c ", " "})}, {{"maxsplit", int64_t{1}}});
  spaces.results = 2;
  pieces = checkOp(spaces);
  EXPECT_THAT(textsOf(pieces), ElementsAre("a", "b  c ", "", ""));
  EXPECT_THAT(elements(pieces, 1), ElementsAre(2, 0));
}

TEST(StringNormalize, StopWordsAndCase) {
  const HostTensor days = texts({3}, {"Monday", "tuesday", "ärgern"});
  OpCase byCase("string_normalize", {days},
                {{"case", std::string("upper")},
                 {"is_case_sensitive", int64_t{1}},
                 {"stopwords", std::vector<std::string>{"monday"}}});
  EXPECT_THAT(textsOf(checkOp(byCase)), ElementsAre("MONDAY", "TUESDAY", "ÄRGERN"));
  OpCase anyCase("string_normalize", {days},
                 {{"stopwords", std::vector<std::string>{"MONDAY", "tuesday", "Ärgern"}}});
  EXPECT_THAT(textsOf(checkOp(anyCase)), ElementsAre(""));
}

TEST(RegexFullMatch, FromBeginToEnd) {
  OpCase test("regex_full_match", {texts({3}, {"aab", "ab ", "b"})}, {{"pattern", std::string("a*b")}});
  EXPECT_THAT(elements(checkOp(test)), ElementsAre(1, 0, 1));
}

TEST(Lookup, KeysOfEachType) {
  OpCase words("lookup", {texts({3}, {"a", "c", "b"})},
               {{"keys", texts({2}, {"a", "b"})}, {"values", vec({1, 2})}, {"default", scalar(9)}});
  EXPECT_THAT(elements(checkOp(words)), ElementsAre(1, 9, 2));
  OpCase numbers("lookup", {reals({2}, {0.5, NAN})},
                 {{"keys", reals({2}, {0.5, NAN})},
                  {"values", texts({2}, {"half", "none"})},
                  {"default", texts({}, {"?"})}});
  EXPECT_THAT(textsOf(checkOp(numbers)), ElementsAre("half", "none"));
  OpCase wrong("lookup", {vec({1})}, {{"keys", vec({1, 2})}, {"values", vec({1})}, {"default", scalar(0)}});
  EXPECT_THAT(inferError(wrong).message, HasSubstr("one value for each key"));
}

TEST(Tfidf, SkipsAndWeights) {
  Attributes attributes = {{"mode", std::string("tf")},
                           {"min_gram_length", int64_t{1}},
                           {"max_gram_length", int64_t{2}},
                           {"max_skip_count", int64_t{1}},
                           {"ngram_counts", std::vector<int64_t>{0, 1}},
                           {"ngram_indexes", std::vector<int64_t>{1, 0}},
                           {"pool", vec({7, 1, 2})}};
  // [1, 2] stands once side by side and once with one element between.
  EXPECT_THAT(elements(checkOp(OpCase("tfidf", {vec({1, 2, 2, 7})}, attributes))), ElementsAre(2, 1));
  attributes.set("mode", std::string("tfidf"));
  attributes.set("weights", std::vector<double>{0.5, 3});
  EXPECT_THAT(
      elements(checkOp(OpCase("tfidf", {vec({1, 2, 2, 7, 7, 0, 0, 0}).reshaped({2, 4})}, attributes))),
      ElementsAre(1, 3, 0, 3));
}

}  // namespace
}  // namespace dyn::test
