// Sizes stay short where operations repeat: broadcast again, windows parted and joined.
#include <algorithm>

#include "compiler/infer/infer.h"
#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

// What `value` is said to be, to the end of its line.
std::string typeOf(const Program& p, const std::string& value) {
  const std::string text = p.text(), name = "%" + value + " = ";
  const size_t line = text.find(name), type = text.find(" : ", line);
  return text.substr(type + 3, text.find('\n', type) - type - 3);
}

TEST(ShortSizes, ASumWithOneOfItsTermsAgainKeepsItsSize) {
  Program p = inferText(R"(
    fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32]) {
      %x = add(%a, %b)
      %y = mul(%x, %a)
      %z = sub(%b, %y)
      %w = add(%z, %x)
      return %w
    })");
  for (const char* value : {"y", "z", "w"}) EXPECT_EQ(typeOf(p, value), typeOf(p, "x"));
  for (int64_t n : {0, 1, 2, 7})
    for (int64_t m : {0, 1, 2, 7}) {
      if (n != m && n != 1 && m != 1) continue;
      const int64_t expected = n == 1 ? m : n;
      EXPECT_EQ(shapeOf(run(p, {real({n}), real({m})})), (std::vector<int64_t>{expected})) << n << " " << m;
    }
  EXPECT_EQ(runTextError(p, {real({7}), real({2})}).id, DiagnosticId::shapeCheckFailed);
}

TEST(ShortSizes, EachSizeOfAChainOnceInAnyOrder) {
  Program p = inferText(R"(
    fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32], %c: Tensor[(k), f32]) {
      %x = add(add(%a, %b), %c)
      %y = add(%a, add(%c, %b))
      %z = mul(%x, %y)
      return %z
    })");
  EXPECT_EQ(typeOf(p, "x"), typeOf(p, "y"));
  EXPECT_EQ(typeOf(p, "x"), typeOf(p, "z"));
  for (int64_t n : {0, 1, 5})
    for (int64_t m : {0, 1, 5})
      for (int64_t k : {0, 1, 5}) {
        const std::vector<int64_t> sizes{n, m, k};
        const bool none = std::count(sizes.begin(), sizes.end(), 0) > 0;
        if (none && std::count(sizes.begin(), sizes.end(), 5) > 0) {
          EXPECT_EQ(runTextError(p, {real({n}), real({m}), real({k})}).id, DiagnosticId::shapeCheckFailed);
          continue;
        }
        const int64_t expected = none ? 0 : std::max({n, m, k});
        EXPECT_EQ(shapeOf(run(p, {real({n}), real({m}), real({k})})), (std::vector<int64_t>{expected}))
            << n << " " << m << " " << k;
      }
}

// Forty blocks that each add the first input again: as long a size as one block has.
TEST(ShortSizes, GrowNotWithTheNumberOfBlocks) {
  std::string text =
      "fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32], %c: Tensor[(k), f32]) {\n%y0 = add(%a, %b)\n";
  for (int i = 0; i < 40; ++i) {
    const std::string last = "%y" + std::to_string(i);
    text +=
        "%y" + std::to_string(i + 1) + " = add(mul(" + last + ", %c), tanh(" + (i % 2 ? "%a" : "%b") + "))\n";
  }
  Program p = inferText(text + "return %y40 }");
  EXPECT_EQ(typeOf(p, "y40"), typeOf(p, "y1"));
  EXPECT_EQ(shapeOf(run(p, {real({1}), real({3}), real({1})})), (std::vector<int64_t>{3}));
}

// Images that are padded by amounts of the run are parted into windows of 7 x 7, and joined again: the batch
// stays the batch, though nothing says that an amount is not negative.
TEST(ShortSizes, WindowsOfAPaddedImageAreJoinedToItsBatch) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, h, w, 4), f32], %below: Tensor[(1), i64], %right: Tensor[(1), i64]) {
      %amounts = concat(i64[5] [0, 0, 0, 0, 0], %below, %right, i64[1] [0]) {axis = 0}
      %p = pad(%x, %amounts)
      %sizes = shape(%p)
      %b = gather(%sizes, i64[1] [0]) {axis = 0}
      %h = gather(%sizes, i64[1] [1]) {axis = 0}
      %w = gather(%sizes, i64[1] [2]) {axis = 0}
      %rows = div(%h, i64[1] [7])
      %columns = div(%w, i64[1] [7])
      %parted = reshape(%p, concat(%b, %rows, i64[1] [7], %columns, i64[1] [7], i64[1] [4]) {axis = 0})
      %turned = transpose(%parted) {perm = [0, 1, 3, 2, 4, 5]}
      %windows = reshape(%turned, i64[4] [-1, 7, 7, 4])
      %grid = reshape(%windows, concat(i64[1] [-1], %rows, %columns, i64[3] [7, 7, 4]) {axis = 0})
      %back = transpose(%grid) {perm = [0, 1, 3, 2, 4, 5]}
      %y = reshape(%back, concat(i64[1] [-1], %h, %w, i64[1] [4]) {axis = 0})
      %z = add(%y, %p)
      return %z
    })");
  EXPECT_EQ(typeOf(p, "z"), typeOf(p, "p")) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({3, 12, 7, 4}), vec({2}), vec({7})})), (std::vector<int64_t>{3, 14, 14, 4}));
}

// The same with the padding worked out by the program, and the batch from the number of windows, as the
// attention of image models is exported.
TEST(ShortSizes, WindowsThatAreCountedGiveTheBatch) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, h, w, 4), f32]) {
      %sizes = shape(%x)
      %h = gather(%sizes, i64[1] [1]) {axis = 0}
      %w = gather(%sizes, i64[1] [2]) {axis = 0}
      %below = mod(sub(i64[1] [7], mod(%h, i64[1] [7])), i64[1] [7])
      %right = mod(sub(i64[1] [7], mod(%w, i64[1] [7])), i64[1] [7])
      %p = pad(%x, concat(i64[5] [0, 0, 0, 0, 0], %below, %right, i64[1] [0]) {axis = 0})
      %H = add(%h, %below)
      %W = add(%w, %right)
      %b = gather(%sizes, i64[1] [0]) {axis = 0}
      %rows = div(%H, i64[1] [7])
      %columns = div(%W, i64[1] [7])
      %parted = reshape(%p, concat(%b, %rows, i64[1] [7], %columns, i64[3] [7, 4, 1]) {axis = 0})
      %turned = transpose(%parted) {perm = [0, 1, 3, 2, 4, 5, 6]}
      %windows = reshape(%turned, i64[4] [-1, 7, 7, 4])
      %many = gather(shape(%windows), i64[1] [0]) {axis = 0}
      %batch = div(%many, div(div(mul(%H, %W), i64[1] [7]), i64[1] [7]))
      %grid = reshape(%windows, concat(%batch, %rows, %columns, i64[3] [7, 7, -1]) {axis = 0})
      %back = transpose(%grid) {perm = [0, 1, 3, 2, 4, 5]}
      %y = reshape(%back, concat(%batch, %H, %W, i64[1] [-1]) {axis = 0})
      return %y, %p
    })");
  EXPECT_EQ(typeOf(p, "y"), typeOf(p, "p")) << p.text();
  EXPECT_EQ(p.text().find("?"), std::string::npos) << p.text();
  for (int64_t h : {1, 7, 12}) {
    const auto results = run(p, {real({3, h, 8, 4})});
    EXPECT_EQ(shapeOf(results, 0), (std::vector<int64_t>{3, (h + 6) / 7 * 7, 14, 4}));
    EXPECT_EQ(shapeOf(results, 1), shapeOf(results, 0));
  }
}

// A quotient is exact whatever the divisor is, where the dividend has it as a factor; else it is known only
// of divisors that are not 0.
TEST(ShortSizes, ProductsAreDividedByTheirFactors) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, m, k), f32]) {
      %sizes = shape(%x)
      %n = gather(%sizes, i64[1] [0]) {axis = 0}
      %m = gather(%sizes, i64[1] [1]) {axis = 0}
      %k = gather(%sizes, i64[1] [2]) {axis = 0}
      %nm = mul(mul(%n, %m), i64[1] [6])
      %a = expand(f32[] 0.0, div(%nm, mul(%m, i64[1] [3])))
      %b = expand(f32[] 0.0, div(add(%nm, mul(%m, %k)), %m))
      %c = expand(f32[] 0.0, div(%nm, %k))
      return %a, %b, %c
    })");
  EXPECT_EQ(typeOf(p, "a"), "Tensor[(2*n), f32]");
  EXPECT_EQ(typeOf(p, "b"), "Tensor[(k + 6*n), f32]");
  const auto results = run(p, {real({2, 5, 7})});
  EXPECT_EQ(shapeOf(results, 0), (std::vector<int64_t>{4}));
  EXPECT_EQ(shapeOf(results, 1), (std::vector<int64_t>{19}));
  EXPECT_EQ(shapeOf(results, 2), (std::vector<int64_t>{60 / 7}));
  EXPECT_THAT(runTextError(p, {real({2, 5, 0})}).message, ::testing::HasSubstr("division by zero"));
}

}  // namespace
}  // namespace dyn::test
