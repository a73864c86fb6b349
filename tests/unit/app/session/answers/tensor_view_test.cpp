// A tensor to be looked at: which element a cell shows, and the maps that are kept of many.
#include "app/session/answers/tensor_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dyn {
namespace {

HostTensor counted(std::vector<int64_t> shape) {
  HostTensor tensor = *HostTensor::create(Dtype::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, static_cast<double>(i));
  return tensor;
}

TEST(TensorViewOf, ACellOfManyElementsNamesTheOneThatItShows) {
  HostTensor tensor = counted({2, 512, 300});
  tensor.setReal(512 * 300 + 17 * 300 + 5, -1e9);
  const Result<TensorView> view = tensorView("t", tensor, "1");
  ASSERT_TRUE(view.ok());
  ASSERT_EQ(view->gridRows, 256);
  ASSERT_EQ(view->gridElements.size(), view->grid.size());
  const size_t cell = static_cast<size_t>(17 * 256 / 512) * 256 + 5 * 256 / 300;
  EXPECT_EQ(view->grid[cell], -1e9);
  EXPECT_EQ(view->gridElements[cell], 17 * 300 + 5);
  for (size_t i = 0; i < view->grid.size(); ++i)
    EXPECT_EQ(view->grid[i], tensor.realAt(512 * 300 + view->gridElements[i])) << i;
}

TEST(TensorViewOf, ANumberThatIsNoneHidesTheOthersOfItsCell) {
  HostTensor tensor = counted({512, 512});
  tensor.setReal(1, std::nan(""));
  const Result<TensorView> view = tensorView("t", tensor, "");
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(std::isnan(view->grid[0]));
  EXPECT_EQ(view->gridElements[0], 1);
}

TEST(TensorViewOf, MapsAreThoseAroundTheSlice) {
  const HostTensor tensor = counted({2, 100, 3, 130});
  const Result<TensorView> first = tensorView("t", tensor, "");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->mapsCount, 100);
  EXPECT_EQ(first->firstMap, 0);
  EXPECT_EQ(first->mapRows, 3);
  EXPECT_EQ(first->mapColumns, 64);
  EXPECT_EQ(first->maps.size(), size_t{64 * 3 * 64});
  const Result<TensorView> second = tensorView("t", tensor, "1,70");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->firstMap, 64);
  EXPECT_EQ(second->maps.size(), size_t{36 * 3 * 64}) << "the rest";
  // The last cell of the last map has the last element, the greatest.
  EXPECT_EQ(second->maps.back(), static_cast<float>(tensor.elementCount() - 1));
  EXPECT_EQ(tensorView("t", counted({4, 5}), "")->mapsCount, 0);
}

TEST(TensorViewOf, APictureOfARangeThatIsWiderThanADouble) {
  HostTensor tensor = *HostTensor::create(Dtype::f64, {3, 4, 4});
  const double largest = std::numeric_limits<double>::max();
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, i % 2 ? largest : -largest);
  const Result<TensorView> view = tensorView("t", tensor, "");
  ASSERT_TRUE(view.ok());
  ASSERT_FALSE(view->picture.empty());
  EXPECT_EQ(view->picture[0], 0);
  EXPECT_EQ(view->picture[3], 255) << "of the second column";
}

}  // namespace
}  // namespace dyn
