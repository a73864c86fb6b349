// Views that products and attention read where they lie (pass `views`), against the reference.
#include <gmock/gmock.h>

#include "compiler/ops/op_table.h"
#include "compiler/passes/layout/refused_copies.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::randomTensor;

// A program, and how many of its values are read where they lie.
struct Viewed {
  const char* what;
  std::string text;
  int strided;
};

// Parameters %x [b, s, 24], %y [b, t, 8], %k i64 [1] about the middle.
std::string viewsProgram(const std::string& body) {
  return "fn @main(%x: Tensor[(b, s, 24), f32], %y: Tensor[(b, t, 8), f32], %k: Tensor[(1), i64]) {\n"
         "%i0 = constant() {value = i64[] 0} %i1 = constant() {value = i64[] 1} "
         "%i2 = constant() {value = i64[] -1}\n"
         "%v0 = constant() {value = i64[1] [0]} %v1 = constant() {value = i64[1] [1]} "
         "%v2 = constant() {value = i64[1] [2]} %vm = constant() {value = i64[1] [-1]} "
         "%all = constant() {value = i64[1] [9223372036854775807]} "
         "%back = constant() {value = i64[1] [-9223372036854775807]}\n" +
         body + "}";
}

const std::vector<Viewed>& programs() {
  static const std::vector<Viewed> all = {
      {"parts of a fused projection",
       viewsProgram("%q, %k1, %v1_ = split(%x) {axis = 2} %t = transpose(%k1) {perm = [0, 2, 1]}\n"
                    "%p = matmul(%q, %t) %m = softmax(%p) %z = matmul(%m, %v1_) return %z"),
       3},
      {"heads by reshape, transpose and places of an axis",
       viewsProgram("%n = dims_value() {value = dims(b, s, 3, 2, 4)} %r = reshape(%x, %n)\n"
                    "%a = transpose(%r) {perm = [2, 0, 3, 1, 4]} %q = gather(%a, %i0) %k1 = gather(%a, %i1) "
                    "%w = gather(%a, %i2)\n"
                    "%t = transpose(%k1) {perm = [0, 1, 3, 2]} %p = matmul(%q, %t) %m = softmax(%p) "
                    "%z = matmul(%m, %w) return %z"),
       3},
      {"parts cut into heads",
       viewsProgram("%q, %k1, %w = split(%x) {axis = 2} %n = dims_value() {value = dims(b, s, 2, 4)}\n"
                    "%q4 = reshape(%q, %n) %k4 = reshape(%k1, %n) %w4 = reshape(%w, %n)\n"
                    "%qt = transpose(%q4) {perm = [0, 2, 1, 3]} %kt = transpose(%k4) {perm = [0, 2, 3, 1]} "
                    "%wt = transpose(%w4) {perm = [0, 2, 1, 3]}\n"
                    "%p = matmul(%qt, %kt) %m = softmax(%p) %z = matmul(%m, %wt) return %z"),
       3},
      {"one part is also read by a loop",
       viewsProgram("%q, %k1, %w = split(%x) {axis = 2} %t = transpose(%y) {perm = [0, 2, 1]}\n"
                    "%p = matmul(%q, %t) %r = relu(%k1) return %p, %r"),
       1},
      {"the other parts are cut into heads and joined by a loop",
       viewsProgram("%q, %k1, %w = split(%x) {axis = 2} %n = dims_value() {value = dims(b, s, 2, 4)}\n"
                    "%k4 = reshape(%k1, %n) %w4 = reshape(%w, %n) %t = transpose(%y) {perm = [0, 2, 1]}\n"
                    "%kt = transpose(%k4) {perm = [0, 2, 1, 3]} %wt = transpose(%w4) {perm = [0, 2, 1, 3]}\n"
                    "%j = concat(%kt, %wt) {axis = 2} %p = matmul(%q, %t) return %p, %j"),
       1},
      {"one part is also a result: all are copied",
       viewsProgram("%q, %k1, %w = split(%x) {axis = 2} %t = transpose(%y) {perm = [0, 2, 1]}\n"
                    "%p = matmul(%q, %t) return %p, %w"),
       0},
      {"backward, every second, from the end",
       viewsProgram("%a = slice(%y, %vm, %back, %v1, %vm) %c = transpose(%x) {perm = [0, 2, 1]}\n"
                    "%d = slice(%c, %v0, %all, %v1, %v2) %e = slice(%d, %v2, %all, %v1)\n"
                    "%f = slice(%a, %vm, %back, %v2, %vm) %g = slice(%f, %v0, %all, %v2)\n"
                    "%h = slice(%y, %v0, %all, %v1, %v2) %ht = transpose(%h) {perm = [0, 2, 1]} "
                    "%z = matmul(%g, %ht) %u = matmul(%e, %x) return %z, %u"),
       3},
      {"one matrix for every batch",
       viewsProgram(
           "%n = dims_value() {value = dims(b, s, 24)} "
           "%m = slice(%x, %v0, %v1, %v2) %w = expand(%m, %n) %t = transpose(%w) {perm = [0, 2, 1]}\n"
           "%z = matmul(%x, %t) return %z"),
       1},
      {"a start that only the run knows is copied",
       viewsProgram("%a = slice(%x, %k, %all, %v1) %t = transpose(%y) {perm = [0, 2, 1]} "
                    "%q, %r, %w = split(%a) {axis = 2} %z = matmul(%q, %t) return %z"),
       1},
  };
  return all;
}

int stridedIn(const std::string& text) {
  return static_cast<int>(
      test::opsAfter(text, "views", [](const Op& op) { return op.def == &ops::stridedOp; }));
}

TEST(Views, areReadWhereTheyLie) {
  for (const Viewed& viewed : programs()) {
    SCOPED_TRACE(viewed.what);
    EXPECT_EQ(stridedIn(viewed.text), viewed.strided) << viewed.text;
    std::vector<std::vector<HostTensor>> inputs;
    uint32_t seed = 1;
    for (auto [b, s, t] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {2, 3, 5}, {3, 7, 2}, {0, 3, 5}, {2, 0, 3}, {2, 3, 0}, {1, 17, 13}, {2, 64, 33}}) {
      inputs.push_back({randomTensor(Dtype::f32, {b, s, 24}, seed++),
                        randomTensor(Dtype::f32, {b, t, 8}, seed++),
                        HostTensor::vectorInt(Dtype::i64, {{1}})});
    }
    test::expectSame(viewed.text, inputs);
  }
}

// Products of all element types, whose operands lie transposed, backward and in part.
TEST(Views, ofAllElementTypes) {
  for (const char* dtype : {"f32", "f64", "i32", "i64", "u32", "f16"}) {
    SCOPED_TRACE(dtype);
    const std::string type = dtype;
    const std::string text =
        "fn @main(%a: Tensor[(k, n), " + type + "], %b: Tensor[(m, k), " + type +
        "]) {\n%s = constant() {value = i64[1] [-1]} %e = constant() {value = i64[1] [-9223372036854775807]} "
        "%v0 = constant() {value = i64[1] [0]} %x = transpose(%a) %r = slice(%b, %s, %e, %v0, %s) "
        "%y = transpose(%r) %z = matmul(%x, %y) return %z }";
    const auto element = parseDtype(dtype);
    ASSERT_TRUE(element);
    std::vector<std::vector<HostTensor>> inputs;
    for (auto [k, n, m] :
         std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 5, 7}, {0, 2, 3}, {5, 0, 2}, {37, 41, 43}})
      inputs.push_back({randomTensor(*element, {k, n}, 3), randomTensor(*element, {m, k}, 4)});
    test::expectSame(text, inputs, {}, type == "f16" ? 2e-2 : 1e-4);
  }
}

// "bytes by: reason; by: reason", one a copy.
std::vector<std::string> copiesIn(const std::string& text) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, {});
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  const TraceStep* plan = compiled->trace.find("plan");
  std::vector<std::string> found;
  for (const RefusedCopy& copy : refusedCopies(plan->after)) {
    std::string row = copy.bytes.toString();
    for (const CopyRefusal& refusal : copy.refusals)
      row += std::string(&refusal == &copy.refusals.front() ? " " : "; ") + refusal.by + " " +
             toString(refusal.reason);
    found.push_back(std::move(row));
  }
  return found;
}

TEST(Views, copiesThatAreMadeBecauseOfARefusalHaveNames) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const std::string transposed = "%t = transpose(%y) {perm = [0, 2, 1]} ";
  EXPECT_THAT(copiesIn(viewsProgram(transposed +
                                    "%q, %k1, %w = split(%x) {axis = 2} %z = matmul(%q, %t) %r = relu(%t) "
                                    "return %z, %r")),
              IsEmpty());
  EXPECT_THAT(copiesIn(viewsProgram(transposed + "return %t")),
              ElementsAre("32*b*t a result of @main is handed out with elements side by side"));
  EXPECT_THAT(copiesIn(viewsProgram(transposed + "%i = nonzero(%t) return %i")),
              ElementsAre("32*b*t nonzero reads elements side by side"));
  EXPECT_THAT(copiesIn(viewsProgram(transposed + "%l = list(%t) %n = list_length(%l) return %l")),
              ElementsAre("32*b*t list keeps elements side by side"));
  EXPECT_THAT(copiesIn(viewsProgram("%q, %k1, %w = split(%x) {axis = 2} " + transposed +
                                    "%p = matmul(%q, %t) return %p, %w")),
              ElementsAre("32*b*s matmul_permuted takes strides, and reads the copy that others need",
                          "32*b*s a result of @main is handed out with elements side by side"));
  EXPECT_THAT(
      copiesIn(viewsProgram(transposed + "%n = dims_value() {value = dims(b, 8*t)} %r = reshape(%t, %n) "
                                         "%i = nonzero(%r) return %i")),
      ElementsAre("32*b*t reshape needs an order that strides cannot express"));
  // An index that only the run knows is work, not a copy.
  EXPECT_THAT(copiesIn(viewsProgram("%g = gather(%y, %k) {axis = 0} %i = nonzero(%g) return %i")), IsEmpty());
}

// Each time a body runs, and where a function is called.
TEST(Views, copiesAreMadeForFunctionsAndBodies) {
  using ::testing::ElementsAre;
  EXPECT_THAT(copiesIn("fn @main(%x: Tensor[(n, m), f32]) { %t = transpose(%x) %y = @f(%t) return %y }\n"
                       "fn @f(%x: Tensor[(a, b), f32]) { %s = nonzero(%x) return %s }"),
              ElementsAre("4*m*n @f takes and gives elements side by side"));
}

}  // namespace
}  // namespace dyn
