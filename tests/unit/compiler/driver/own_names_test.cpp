// Inputs whose sizes all have names of their own: any of them may be 1 and repeat, which one program serves.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::opsAfter;
using test::randomTensor;
using test::withType;

// Shapes of two operands that go together, the innermost axis first of all.
const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> kPairs = {
    {{2, 3, 19}, {2, 3, 19}}, {{2, 3, 19}, {2, 3, 1}}, {{2, 3, 1}, {2, 3, 19}}, {{2, 3, 19}, {1, 1, 1}},
    {{1, 1, 1}, {2, 3, 19}},  {{2, 3, 64}, {2, 1, 1}}, {{2, 1, 64}, {1, 3, 1}}, {{1, 3, 1}, {2, 1, 8}},
    {{1, 1, 1}, {1, 1, 1}},   {{2, 3, 0}, {2, 3, 1}},  {{2, 0, 5}, {1, 1, 5}},  {{2, 3, 7}, {1, 3, 1}}};

TEST(OwnNames, elementwise) {
  for (const char* dtype : {"f32", "f64", "f16", "i8", "i64", "bool"})
    for (const char* op : {"add", "less", "where"}) {
      const bool isBoolean = std::string(dtype) == "bool", chooses = std::string(op) == "where";
      if (isBoolean && !chooses) continue;
      SCOPED_TRACE(std::string(op) + " " + dtype);
      const Dtype type = *parseDtype(dtype);
      std::vector<std::vector<HostTensor>> sets;
      for (const auto& [a, b] : kPairs) {
        sets.push_back({randomTensor(type, a, 1), randomTensor(type, b, 2)});
        if (chooses) sets.back().insert(sets.back().begin(), randomTensor(Dtype::boolean, a, 3));
      }
      const std::string parameters = "%a: Tensor[(a, b, c), TYPE], %b: Tensor[(d, e, f), TYPE]";
      const std::string text = chooses ? "fn @main(%c: Tensor[(p, q, r), bool], " + parameters +
                                             ") { %y = where(%c, %a, %b) return %y }"
                                       : "fn @main(" + parameters + ") { %y = " + op + "(%a, %b) return %y }";
      expectSame(withType(text, dtype), sets);
    }
}

TEST(OwnNames, severalInOneKernel) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& [a, b] : kPairs)
    sets.push_back(
        {randomTensor(Dtype::f32, a, 1), randomTensor(Dtype::f32, b, 2), randomTensor(Dtype::f32, b, 3)});
  expectSame(
      "fn @main(%x: Tensor[(a, b, c), f32], %s: Tensor[(d, e, f), f32], %t: Tensor[(g, h, i), f32]) { "
      "%m = mul(%x, %s) %p = add(%m, %t) %y = relu(%p) return %y }",
      sets);
}

// An exponent of one element is looked at, wherever it is found to be one.
TEST(OwnNames, powers) {
  for (const char* exponent : {"f32", "i64"}) {
    std::vector<std::vector<HostTensor>> sets;
    for (const auto& [a, b] : kPairs) {
      sets.push_back({randomTensor(Dtype::f32, a, 1), randomTensor(*parseDtype(exponent), b, 2)});
      for (double e : {2.0, 3.0, 0.0, -1.0}) {
        HostTensor same = *HostTensor::create(*parseDtype(exponent), b);
        for (int64_t i = 0; i < same.elementCount(); ++i)
          isReal(same.dtype()) ? same.setReal(i, e) : same.setInt(i, static_cast<int64_t>(e));
        sets.push_back({randomTensor(Dtype::f32, a, 1), same});
      }
    }
    expectSame("fn @main(%a: Tensor[(a, b, c), f32], %b: Tensor[(d, e, f), " + std::string(exponent) +
                   "]) { %y = pow(%a, %b) return %y }",
               sets, {}, 1e-3);
  }
}

TEST(OwnNames, reductions) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& [a, b] : kPairs)
    sets.push_back({randomTensor(Dtype::f32, a, 1), randomTensor(Dtype::f32, b, 2)});
  for (const char* axis : {"0", "1", "2"})
    expectSame(
        "fn @main(%a: Tensor[(a, b, c), f32], %b: Tensor[(d, e, f), f32]) { %p = mul(%a, %b) "
        "%x = constant() {value = i64[1] [" +
            std::string(axis) + "]} %y = reduce_sum(%p, %x) return %y }",
        sets);
}

// As where the names are the same: products.
TEST(OwnNames, einsums) {
  struct Case {
    const char* equation;
    const char *a, *b;
    std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes;
  };
  const Case cases[] = {{"bhqd,bhkd->bhqk",
                         "B, H, Q, D",
                         "B2, H2, K, D2",
                         {{{2, 3, 5, 8}, {2, 3, 7, 8}},
                          {{2, 3, 5, 8}, {1, 3, 7, 8}},
                          {{1, 3, 5, 8}, {2, 3, 7, 8}},
                          {{2, 3, 5, 8}, {2, 1, 7, 8}},
                          {{2, 3, 5, 8}, {2, 3, 7, 1}},
                          {{2, 3, 5, 1}, {1, 1, 7, 8}},
                          {{0, 3, 5, 8}, {1, 3, 7, 8}},
                          {{2, 3, 5, 0}, {2, 3, 7, 1}},
                          {{1, 1, 1, 1}, {1, 1, 1, 1}}}},
                        {"bqe,ehd->bqhd",
                         "B, Q, E",
                         "16, 2, 4",
                         {{{2, 3, 16}, {16, 2, 4}}, {{2, 3, 1}, {16, 2, 4}}, {{1, 1, 16}, {16, 2, 4}}}},
                        {"bij,bjk->bik",
                         "B, I, J",
                         "1, J2, K",
                         {{{2, 3, 5}, {1, 5, 4}}, {{2, 3, 1}, {1, 5, 4}}, {{2, 3, 5}, {1, 1, 4}}}},
                        {"ij,jk->ik",
                         "I, J",
                         "J2, K",
                         {{{3, 5}, {5, 4}}, {{3, 1}, {5, 4}}, {{3, 5}, {1, 4}}, {{1, 1}, {1, 1}}}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.equation);
    std::vector<std::vector<HostTensor>> sets;
    for (const auto& [a, b] : c.shapes)
      sets.push_back({randomTensor(Dtype::f32, a, 1), randomTensor(Dtype::f32, b, 2)});
    const std::string text = "fn @main(%a: Tensor[(" + std::string(c.a) + "), f32], %b: Tensor[(" + c.b +
                             "), f32]) { %y = einsum(%a, %b) {equation = \"" + c.equation + "\"} return %y }";
    expectSame(text, sets);
    EXPECT_EQ(opsAfter(text, "einsum_to_matmul", [](const Op& op) { return op.def->name == "einsum"; }), 0);
  }
}

}  // namespace
}  // namespace dyn
