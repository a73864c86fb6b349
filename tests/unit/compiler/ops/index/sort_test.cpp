// topk, unique, nonzero, compress, non-maximum suppression and lists: values by hand.
#include <cmath>

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {

namespace {

using testing::ElementsAre;
using Shapes = std::vector<int64_t>;

TEST(Topk, LargestSmallestTies) {
  OpCase test("topk", {reals({2, 4}, {3, 1, 3, 2, NAN, 5, 4, 5}), vec({2})});
  test.results = 2;
  const std::vector<Value> results = checkOp(test);
  EXPECT_THAT(elements(results, 1), ElementsAre(0, 2, 0, 1));
  test.attributes.set("largest", int64_t{0});
  test.attributes.set("axis", int64_t{0});
  test.operands[1] = scalar(1);
  EXPECT_THAT(elements(checkOp(test), 0), ElementsAre(3, 1, 3, 2));
  test.operands[1] = vec({3});
  EXPECT_EQ(runError(test).id, DiagnosticId::shapeCheckFailed);
  test.operands[1] = vec({0});
  EXPECT_EQ(shapeOf(checkOp(test)), (Shapes{0, 4}));
}

TEST(Unique, FlatAndAlongAnAxis) {
  OpCase test("unique", {reals({6}, {2, 1, 1, 3, 4, 3})});
  test.results = 4;
  std::vector<Value> results = checkOp(test);
  EXPECT_THAT(elements(results), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(elements(results, 1), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(elements(results, 2), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(elements(results, 3), ElementsAre(2, 1, 2, 1));
  test.attributes.set("sorted", int64_t{0});
  results = checkOp(test);
  EXPECT_THAT(elements(results), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(elements(results, 1), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(elements(results, 2), ElementsAre(0, 1, 1, 2, 3, 2));
  OpCase rows("unique", {reals({3, 2}, {1, 0, 1, 0, 2, 3})}, {{"axis", int64_t{0}}});
  EXPECT_THAT(elements(checkOp(rows)), ElementsAre(1, 0, 2, 3));
  EXPECT_EQ(shapeOf(checkOp({"unique", {real({0})}})), Shapes{0});
}

TEST(Nonzero, Columns) {
  EXPECT_THAT(elements(checkOp({"nonzero", {reals({2, 2}, {1, 0, 1, 1})}})), ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_EQ(shapeOf(checkOp({"nonzero", {reals({2, 0, 3}, {})}})), (Shapes{3, 0}));
}

TEST(Compress, FlatAndAlongAnAxis) {
  const HostTensor x = reals({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(elements(checkOp({"compress", {x, vec({0, 1, 1}, Dtype::boolean)}, {{"axis", int64_t{0}}}})),
              ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(elements(checkOp({"compress", {x, vec({0, 1, 0, 0, 1}, Dtype::boolean)}})), ElementsAre(2, 5));
  EXPECT_EQ(inferError({"compress", {x, vec({1, 1, 1}, Dtype::boolean)}, {{"axis", int64_t{1}}}}).id,
            DiagnosticId::shapeMismatch);
}

TEST(NonMaxSuppression, KeepsTheBest) {
  const HostTensor boxes = reals({1, 6, 4}, {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                             0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101});
  const HostTensor scores = reals({1, 1, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3});
  const HostTensor overlap = reals({1}, {0.5}), least = reals({1}, {0});
  EXPECT_THAT(elements(checkOp({"non_max_suppression", {boxes, scores, vec({3}), overlap, least}})),
              ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
  EXPECT_THAT(
      elements(checkOp({"non_max_suppression", {boxes, scores, vec({3}), overlap, reals({1}, {0.4})}})),
      ElementsAre(0, 0, 3, 0, 0, 0));
  EXPECT_EQ(shapeOf(checkOp({"non_max_suppression", {boxes, scores}})), (Shapes{0, 3}));
}

// The size of the pieces is known where the sizes tell it: then it stands in the type of the list.
TEST(Sequence, PiecesOfOneSizeHaveThatSizeInTheirType) {
  const auto pieces = [](std::string_view axis, std::string_view sizes) {
    const Program p = inferText("fn @main(%x: Tensor[(" + std::string(axis) +
                                "), f32]) { %s = constant() {value = " + std::string(sizes) +
                                "} %l = split_to_sequence(%x, %s) {axis = 0} return %l }");
    return p.inferred.module.main()->resultTypes[0].element().dims()[0].constant();
  };
  EXPECT_EQ(pieces("n", "i64[3] [2, 2, 2]"), 2);
  EXPECT_EQ(pieces("n", "i64[2] [0, 0]"), 0);
  EXPECT_EQ(pieces("n", "i64[3] [2, 2, 1]"), std::nullopt);
  EXPECT_EQ(pieces("n", "i64[0] []"), std::nullopt);
  EXPECT_EQ(pieces("n", "i64[2] [-1, -1]"), std::nullopt);
  EXPECT_EQ(pieces("n", "i64[] 1"), 1);
  EXPECT_EQ(pieces("n", "i64[] 2"), std::nullopt) << "the last piece may be smaller";
  EXPECT_EQ(pieces("7", "i64[] 2"), std::nullopt);
  EXPECT_EQ(pieces("6", "i64[] 2"), 2);
}

TEST(Sequence, SplitAndJoin) {
  const Program p = inferText(
      "fn @main(%x: Tensor[(n, 3), f32], %s: Tensor[(), i64]) { %l = split_to_sequence(%x, %s) {axis = 0} "
      "%y = concat_from_sequence(%l) {axis = 0} %r = split_to_sequence(%x) {keepdims = 0} "
      "%z = stack_from_sequence(%r) {axis = 1} return %y, %z }");
  const HostTensor x = real({5, 3});
  const std::vector<Value> results = run(p, {x, scalar(2)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].identical(Value(x)));
  EXPECT_EQ(shapeOf(results, 1), (Shapes{3, 5}));
  EXPECT_EQ(results[1].tensor().realAt(1), x.realAt(3));
}

}  // namespace
}  // namespace dyn::test
