// Operators that only move elements, one in the other, beside the reference: wherever fusion stops, the
// elements are the same.
#include "tests/support/nested_maps.h"

#include "tests/support/share.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

void expectSameMaps(const std::vector<std::string>& names, int count) {
  std::string what;
  for (const std::string& name : names) what += name + " ";
  SCOPED_TRACE(what);
  std::vector<std::vector<HostTensor>> inputs;
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>{3, 5}, {2, 9}, {5, 1}})
    inputs.push_back({test::randomTensor(Dtype::f32, {1, 4, h, w}, 1),
                      test::randomTensor(Dtype::boolean, {1, 4, h, w}, 2),
                      test::randomTensor(Dtype::f32, {1, h, w, 2}, 3)});
  test::expectSame(test::nestedMaps(names, count), inputs, {}, 1e-3);
}

TEST(NestedMaps, eachAlone) {
  for (const test::MapStep& step : test::mapSteps()) expectSameMaps({step.name}, 9);
}

TEST(NestedMaps, inPairs) {
  const test::Share share(64);
  SCOPED_TRACE(share.text());
  size_t number = 0;
  for (const test::MapStep& a : test::mapSteps())
    for (const test::MapStep& b : test::mapSteps())
      if (a.name < b.name && share.has(number++)) expectSameMaps({a.name, b.name}, 10);
}

}  // namespace
}  // namespace dyn
