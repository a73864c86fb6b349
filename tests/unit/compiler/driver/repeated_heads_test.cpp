// Attention whose heads share keys, in the forms that exporters write: what is repeated is never made, and
// the results are those of the program as it stands.
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

struct SharedHeads {
  bool repeatsFirst = false;  // heads r * g + k instead of g * r + k
  int keys = 0;               // how they are transposed
  int mask = 0;               // none, of all heads, of each head, of no batch
  bool replacesNan = false;   // between softmax and product
  bool valuesDiffer = false;  // values have all heads
  bool isTurned = false;      // the result with positions first
  bool isScaled = false;      // both factors of the scores
  const char* dtype = "f32";
};

// 3 heads share each of 2 keys.
std::string repeated(const std::string& name, const std::string& of, bool repeatsFirst) {
  const std::string axis = repeatsFirst ? "1" : "2", wide = repeatsFirst ? "b, 3, 2, m, 4" : "b, 2, 3, m, 4";
  return "  %" + name + "_axis = constant() {value = i64[1] [" + axis + "]}\n  %" + name +
         "_u = unsqueeze(%" + of + ", %" + name + "_axis)\n  %" + name + "_w = dims_value() {value = dims(" +
         wide + ")}\n  %" + name + "_e = expand(%" + name + "_u, %" + name + "_w)\n  %" + name +
         "_s = dims_value() {value = dims(b, 6, m, 4)}\n  %" + name + " = reshape(%" + name + "_e, %" + name +
         "_s)\n";
}

std::string sharedHeadsText(const SharedHeads& form) {
  const char* const masks[] = {"b, 1, n, m", "b, 1, n, m", "b, 6, n, m", "n, m"};
  std::string text =
      "fn @main(%q: Tensor[(b, 6, n, 4), TYPE], %k: Tensor[(b, 2, m, 4), TYPE], %v: Tensor[(b, " +
      std::string(form.valuesDiffer ? "6" : "2") + ", m, 4), TYPE], %mask: Tensor[(" + masks[form.mask] +
      "), TYPE]) {\n" + repeated("kr", "k", form.repeatsFirst);
  std::string keys = "%kr", attributes = " {transpose_b = 1}";
  if (form.keys == 1) text += "  %kt = transpose(%kr) {perm = [0, 1, 3, 2]}\n";
  if (form.keys == 2)
    text +=
        "  %flat = dims_value() {value = dims(6*b, m, 4)}\n  %kf = reshape(%kr, %flat)\n"
        "  %kft = transpose(%kf) {perm = [0, 2, 1]}\n  %back = dims_value() {value = dims(b, 6, 4, m)}\n"
        "  %kt = reshape(%kft, %back)\n";
  if (form.keys != 0) keys = "%kt", attributes = "";
  std::string queries = "%q";
  if (form.isScaled) {
    text += "  %half = constant() {value = TYPE[] 0.5}\n  %qs = mul(%q, %half)\n  %ks = mul(" + keys +
            ", %half)\n";
    queries = "%qs", keys = "%ks";
  }
  text += "  %s = matmul(" + queries + ", " + keys + ")" + attributes + "\n";
  if (form.mask != 0) text += "  %l = add(%s, %mask)\n";
  text += std::string("  %p = softmax(") + (form.mask != 0 ? "%l" : "%s") + ") {axis = -1}\n";
  if (form.replacesNan)
    text += "  %zero = constant() {value = TYPE[] 0}\n  %no = is_nan(%p)\n  %pn = where(%no, %zero, %p)\n";
  if (!form.valuesDiffer) text += repeated("vr", "v", form.repeatsFirst);
  text += std::string("  %y = matmul(") + (form.replacesNan ? "%pn" : "%p") + ", " +
          (form.valuesDiffer ? "%v" : "%vr") + ")\n";
  if (form.isTurned) text += "  %t = transpose(%y) {perm = [0, 2, 1, 3]}\n";
  return withType(text + "  return " + (form.isTurned ? "%t" : "%y") + "\n}\n", form.dtype);
}

std::vector<std::vector<HostTensor>> sharedHeadsInputs(const SharedHeads& form) {
  std::vector<std::vector<HostTensor>> sets;
  const Dtype dtype = *parseDtype(form.dtype);
  for (const auto& [b, n, m] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {2, 3, 5}, {3, 1, 17}, {1, 13, 2}, {0, 2, 3}, {2, 0, 3}, {1, 2, 0}}) {
    std::vector<int64_t> mask = {b, form.mask == 2 ? 6 : 1, n, m};
    if (form.mask == 3) mask = {n, m};
    sets.push_back({randomTensor(dtype, {b, 6, n, 4}, 1), randomTensor(dtype, {b, 2, m, 4}, 2),
                    randomTensor(dtype, {b, form.valuesDiffer ? 6 : 2, m, 4}, 3),
                    randomTensor(dtype, mask, 4)});
  }
  return sets;
}

TEST(RepeatedHeads, ResultsAreThoseOfTheProgram) {
  for (int each = 0; each < 2 * 3 * 4 * 4; ++each) {
    SharedHeads form;
    form.repeatsFirst = each % 2 != 0;
    form.keys = each / 2 % 3;
    form.mask = each / 6 % 4;
    form.replacesNan = each / 24 % 2 != 0;
    form.isTurned = each / 48 % 2 != 0;
    form.isScaled = each % 5 == 0;
    form.valuesDiffer = each % 7 == 0;
    form.dtype = each % 11 == 0 ? "f64" : "f32";
    const std::string text = sharedHeadsText(form);
    SCOPED_TRACE(text);
    expectSame(text, sharedHeadsInputs(form));
    if (testing::Test::HasFailure()) return;
  }
}

bool repeats(const Op& op) { return op.def == &ops::expandOp && op.results[0].type.rank() == 5; }

TEST(RepeatedHeads, WhatIsRepeatedIsNotMade) {
  for (int keys = 0; keys < 3; ++keys)
    for (int mask = 0; mask < 4; ++mask) {
      SharedHeads form;
      form.keys = keys;
      form.mask = mask;
      form.replacesNan = form.isTurned = true;
      EXPECT_EQ(opsAfter(sharedHeadsText(form), "dce", repeats), 0) << sharedHeadsText(form);
    }
  SharedHeads form;  // values with all heads: keys are shared nevertheless
  form.valuesDiffer = true;
  EXPECT_EQ(opsAfter(sharedHeadsText(form), "dce", repeats), 0);
}

// Other products of what is repeated.
TEST(RepeatedHeads, RowsThatAreRepeatedStay) {
  expectSame(
      R"(fn @main(%q: Tensor[(b, 3, n, 4), f32], %k: Tensor[(b, 3, m, 4), f32]) {
  %axis = constant() {value = i64[1] [3]}
  %u = unsqueeze(%k, %axis)
  %wide = dims_value() {value = dims(b, 3, m, 2, 4)}
  %e = expand(%u, %wide)
  %long = dims_value() {value = dims(b, 3, 2*m, 4)}
  %r = reshape(%e, %long)
  %y = matmul(%q, %r) {transpose_b = 1}
  return %y
})",
      {{randomTensor(Dtype::f32, {2, 3, 5, 4}, 1), randomTensor(Dtype::f32, {2, 3, 7, 4}, 2)},
       {randomTensor(Dtype::f32, {1, 3, 1, 4}, 1), randomTensor(Dtype::f32, {1, 3, 1, 4}, 2)}});
}

// One head for all, and a batch that is repeated: the product broadcasts.
TEST(RepeatedHeads, BatchesThatAreRepeatedAreBroadcast) {
  const std::string text = R"(fn @main(%q: Tensor[(b, h, n, 4), f32], %k: Tensor[(1, 1, m, 4), f32]) {
  %wide = dims_value() {value = dims(b, h, m, 4)}
  %e = expand(%k, %wide)
  %t = transpose(%e) {perm = [0, 1, 3, 2]}
  %y = matmul(%q, %t)
  %z = matmul(%e, %y) {transpose_a = 1, transpose_b = 1}
  return %y, %z
})";
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& [b, h, n, m] : std::vector<std::array<int64_t, 4>>{
           {1, 1, 1, 1}, {2, 3, 5, 7}, {0, 2, 3, 1}, {2, 1, 0, 3}, {3, 2, 1, 0}})
    sets.push_back({randomTensor(Dtype::f32, {b, h, n, 4}, 1), randomTensor(Dtype::f32, {1, 1, m, 4}, 2)});
  expectSame(text, sets);
  const auto expands = [](const Op& op) { return op.def == &ops::expandOp; };
  EXPECT_EQ(opsAfter(text, "dce", expands), 0);
}

}  // namespace
}  // namespace dyn::test
