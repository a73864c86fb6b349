#include "app/engine/generate/cache_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/model/vm_value.h"
#include "tests/support/compiled.h"
#include "tests/support/text_module.h"

namespace dyn {
namespace {

using testing::ElementsAre;

class CacheRows : public testing::Test {
 protected:
  void SetUp() override {
    IrContext ir;
    const Result<Module> module =
        test::parseText(ir, "fn @main(%x: Tensor[(n), f32]) { %y = neg(%x) return %y }");
    ASSERT_TRUE(module.ok());
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
    if (!compiled.ok()) GTEST_SKIP() << compiled.error().toString();
    compiled_ = std::move(*compiled);
    context_ = compiled_->context.get();
  }

  // [rows, 2, span, 2] with the element's own number, growing along axis 2 in a room of 7.
  VmValue cache(int64_t rows, int64_t span) {
    const std::vector<int64_t> shape{rows, 2, span, 2};
    std::vector<float> elements(static_cast<size_t>(rows * span * 4));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
    dyn_value* made = nullptr;
    EXPECT_EQ(dyn_value_growing(context_, static_cast<int32_t>(Dtype::f32), 4, shape.data(), 2, 7,
                                elements.data(), elements.size() * sizeof(float), &made),
              DYN_OK);
    return VmValue(made);
  }

  static std::vector<float> elementsOf(const HostTensor& tensor) {
    return {tensor.as<float>(), tensor.as<float>() + tensor.elementCount()};
  }

  std::unique_ptr<test::Compiled> compiled_;
  dyn_context* context_ = nullptr;
};

TEST_F(CacheRows, ARowKeepsItsOwnPositions) {
  const VmValue from = cache(2, 3);
  // Row 1 has two positions behind one of padding.
  const Result<HostTensor> made = cacheOfRows({{from.get(), 1, 1, 2, 0}}, {0, 2}, 2);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->shape(), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(elementsOf(*made), ElementsAre(14, 15, 16, 17, 20, 21, 22, 23));
}

// As of a model that crops its caches to a window.
TEST_F(CacheRows, ACacheWithFewerPositionsThanItsRowIsRefused) {
  const VmValue from = cache(2, 3);
  const Result<HostTensor> made = cacheOfRows({{from.get(), 1, 1, 3, 0}}, {0, 2}, 3);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, testing::HasSubstr("it has 3 where a sequence has 4"));
}

TEST_F(CacheRows, RowsOfTwoCachesArePaddedWithZerosOrNoise) {
  const VmValue one = cache(1, 1), other = cache(1, 2);
  const std::vector<CacheRow> rows{{one.get(), 0, 0, 1, 1}, {other.get(), 0, 0, 2, 0}};
  Result<HostTensor> made = cacheOfRows(rows, {0, 2}, 2);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(elementsOf(*made), ElementsAre(0, 0, 0, 1, 0, 0, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7));
  made = cacheOfRows({rows[0]}, {0, 2}, 2, [](int64_t) { return 9.0; });
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(elementsOf(*made), ElementsAre(9, 9, 0, 1, 9, 9, 2, 3));
}

TEST_F(CacheRows, StatesHaveNoPositionsAndSharedOnesNoRows) {
  const VmValue from = cache(2, 1);
  Result<HostTensor> made = cacheOfRows({{from.get(), 1, 0, 5, 0}, {from.get(), 0, 0, 6, 0}}, {0, {}}, 6);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(elementsOf(*made), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));
  made = cacheOfRows({{from.get(), 1, 0, 5, 0}, {from.get(), 0, 0, 6, 0}}, {}, 6);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->shape(), ElementsAre(2, 2, 1, 2));
}

}  // namespace
}  // namespace dyn
