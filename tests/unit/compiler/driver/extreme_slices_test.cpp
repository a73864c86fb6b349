// Slices by the largest and smallest numbers there are, as constants and as inputs, beside the reference;
// sizes that are divided by such.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

constexpr int64_t kExtremeSlicesBounds[] = {
    INT64_MIN, INT64_MIN + 1,      -(int64_t{1} << 61), -9,       -2, -1, 0, 1, 2,
    9,         (int64_t{1} << 61), INT64_MAX - 1,       INT64_MAX};

std::vector<std::vector<HostTensor>> lengths(const std::vector<HostTensor>& more = {}) {
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t n : {0, 1, 2, 7}) {
    sets.push_back({randomTensor(Dtype::f32, {n, 3}, 1)});
    sets.back().insert(sets.back().end(), more.begin(), more.end());
  }
  return sets;
}

std::string extremeSlicesNumber(int64_t value) {
  return "constant() {value = i64[1] [" + std::to_string(value) + "]}";
}

TEST(ExtremeSlices, constants) {
  std::string results, body;
  size_t count = 0;
  for (int64_t step : {INT64_MIN, INT64_MIN + 1, -(int64_t{1} << 62), int64_t{-2}, int64_t{2},
                       int64_t{1} << 61, int64_t{1} << 62, INT64_MAX})
    for (int64_t start : kExtremeSlicesBounds) {
      const std::string at = std::to_string(count++);
      const int64_t end = step > 0 ? INT64_MAX : INT64_MIN;
      body += "%s" + at + " = " + extremeSlicesNumber(start) + " %e" + at + " = " + extremeSlicesNumber(end) +
              " %t" + at + " = " + extremeSlicesNumber(step) + " %y" + at + " = slice(%x, %s" + at + ", %e" +
              at + ", %a, %t" + at + ")\n";
      results += (results.empty() ? "%y" : ", %y") + at;
    }
  expectSame("fn @main(%x: Tensor[(n, 3), f32]) {\n%a = " + extremeSlicesNumber(0) + "\n" + body + "return " +
                 results + "\n}",
             lengths());
}

// Every second axis is one that a product reads by its stride.
TEST(ExtremeSlices, readByProducts) {
  for (int64_t step : {INT64_MIN, int64_t{1} << 40, INT64_MAX})
    expectSame("fn @main(%x: Tensor[(n, 3), f32], %w: Tensor[(3, 5), f32]) {\n%a = " +
                   extremeSlicesNumber(0) + " %s = " + extremeSlicesNumber(step > 0 ? 0 : -1) +
                   " %e = " + extremeSlicesNumber(step > 0 ? INT64_MAX : INT64_MIN) +
                   " %t = " + extremeSlicesNumber(step) +
                   "\n%p = slice(%x, %s, %e, %a, %t) %y = matmul(%p, %w) return %y }",
               lengths({randomTensor(Dtype::f32, {3, 5}, 2)}));
}

TEST(ExtremeSlices, inputs) {
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t start : kExtremeSlicesBounds)
    for (int64_t end : kExtremeSlicesBounds)
      for (std::vector<HostTensor> set : lengths()) {
        set.push_back(HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{start}));
        set.push_back(HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{end}));
        sets.push_back(std::move(set));
      }
  for (int64_t step : {int64_t{1}, int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    expectSame("fn @main(%x: Tensor[(n, 3), f32], %s: Tensor[(1), i64], %e: Tensor[(1), i64]) {\n%a = " +
                   extremeSlicesNumber(0) + " %t = " + extremeSlicesNumber(step) +
                   "\n%y = slice(%x, %s, %e, %a, %t) return %y }",
               sets);
}

TEST(ExtremeSlices, stepsAsInputs) {
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t step : kExtremeSlicesBounds)
    for (std::vector<HostTensor> set : lengths()) {
      if (step == 0) continue;
      for (int64_t bound : {step > 0 ? int64_t{0} : INT64_MAX, step > 0 ? INT64_MAX : INT64_MIN, step})
        set.push_back(HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{bound}));
      sets.push_back(std::move(set));
    }
  expectSame(
      "fn @main(%x: Tensor[(n, 3), f32], %s: Tensor[(1), i64], %e: Tensor[(1), i64], %t: Tensor[(1), i64]) "
      "{\n%a = " +
          extremeSlicesNumber(0) + "\n%y = slice(%x, %s, %e, %a, %t) return %y }",
      sets);
}

TEST(ExtremeSlices, rangesByLargeSteps) {
  for (int64_t step : {int64_t{1} << 61, INT64_MAX, -(int64_t{1} << 61), INT64_MIN + 1})
    expectSame(
        "fn @main(%n: Tensor[(), i64]) { %z = constant() {value = i64[] 0} %d = constant() {value = i64[] " +
            std::to_string(step) + "} %y = range(%z, %n, %d) return %y }",
        {{HostTensor::scalarInt(Dtype::i64, 5)},
         {HostTensor::scalarInt(Dtype::i64, -5)},
         {HostTensor::scalarInt(Dtype::i64, 0)},
         {HostTensor::scalarInt(Dtype::i64, INT64_MAX)},
         {HostTensor::scalarInt(Dtype::i64, INT64_MIN + 1)}});
}

// A start cut from a vector at a place that is a value: the other vectors tell how many starts there are, and
// a run where there are more or fewer ends. So are the elements of vectors read in TensorFlow's exports.
TEST(SlicesByCutVectors, TheLengthIsThatOfTheOtherVectors) {
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t at : {-4, -1, 0, 1, 2, 3})
    for (int64_t count : {0, 1, 2})
      sets.push_back({randomTensor(Dtype::f32, {5, 3}, 1),
                      HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{2, -3, 0}),
                      HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{at}),
                      HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{at + count})});
  const std::string head =
      "fn @main(%x: Tensor[(n, 3), f32], %v: Tensor[(m), i64], %i: Tensor[(1), i64], %j: Tensor[(1), i64]) "
      "{\n%a = constant() {value = i64[1] [0]} %one = constant() {value = i64[1] [1]} %c = slice(%v, %i, "
      "%j)\n";
  expectSame(head + "%d = add(%c, %one) %y = slice(%x, %c, %d, %a) return %y }", sets);
  expectSame(head + "%y = slice(%x, %c, %one) return %y }", sets);
  expectSame(head + "%y = slice(%x, %a, %c) return %y }", sets);
  expectSame(head +
                 "%z = constant() {value = i64[1] [9]} %e = slice(%one, %i, %j) "
                 "%y = slice(%x, %a, %z, %one, %e) return %y }",
             sets);
}

}  // namespace
}  // namespace dyn
