// Weights packed for other machines: each element lies where the layout says, whatever this machine's kernels
// read.
#include <gmock/gmock.h>

#include <bit>
#include <map>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/core/module/panels.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/gemm/bf16_gemm.h"

namespace dyn::vm::test {
namespace {

const PanelLayout kLayouts[] = {panelLayoutOf({}), panelLayoutOf({.neon = true}),
                                panelLayoutOf({.avx2 = true}), panelLayoutOf({.avx2 = true, .avx512 = true}),
                                panelLayoutOf({true, true, true, true})};

class ForeignPanels : public BuiltinTest {
 protected:
  // What `row` packs of `weights` for a machine that reads `panels`; null: for this one.
  Tensor* packed(const char* row, Tensor* weights, const Options& options, const PanelLayout* panels) {
    const BuiltinRow* builtin = findBuiltin(row);
    const Status status = call(
        [&](BuiltinCall& packing) {
          packing.panels = panels;
          return builtin->hosted(packing);
        },
        {weights}, options);
    EXPECT_TRUE(status.ok()) << status.toString();
    return result();
  }
};

TEST_F(ForeignPanels, Matrices) {
  for (const PanelLayout& layout : kLayouts)
    for (const auto& [depth, columns] : {std::pair<int64_t, int64_t>{7, 70}, {33, 5}, {1, 1}, {0, 4}})
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(toString(layout));
        Tensor* b =
            floats(transposed ? std::vector<int64_t>{columns, depth} : std::vector<int64_t>{depth, columns});
        const auto at = [&, k = depth, n = columns](int64_t row, int64_t column) {
          return row < k && column < n ? b->as<float>()[transposed ? column * k + row : row * n + column]
                                       : 0.0f;
        };
        const Tensor* plain = packed("gemmpack", b, {.numbers = {transposed ? 1 : 0}}, &layout);
        const int64_t width = layout.gemm, panels = depth == 0 ? 0 : (columns + width - 1) / width;
        ASSERT_EQ(plain->elementCount, panels * width * depth);
        for (int64_t i = 0; i < plain->elementCount; ++i)
          ASSERT_EQ(plain->as<float>()[i], at(i / width % depth, i / width / depth * width + i % width)) << i;
        std::vector<uint16_t> briefs(static_cast<size_t>(b->elementCount));
        for (size_t i = 0; i < briefs.size(); ++i)
          briefs[i] = kernels::roundToBf16(b->as<float>()[static_cast<int64_t>(i)]);
        const std::vector<int64_t> shape(b->shape(), b->shape() + 2);
        const Tensor* narrow = packed("gemmpack", tensor(DataType::bf16, shape, briefs),
                                      {.numbers = {transposed ? 5 : 4}}, &layout);
        ASSERT_EQ(narrow->dtype, DataType::bf16);
        ASSERT_EQ(narrow->elementCount, plain->elementCount);
        for (int64_t i = 0; i < plain->elementCount; ++i)
          ASSERT_EQ(narrow->as<uint16_t>()[i], kernels::roundToBf16(plain->as<float>()[i])) << i;
        const Tensor* halves = packed("gemmpack", b, {.numbers = {transposed ? 3 : 2}}, &layout);
        const int64_t lanes = layout.bf16, words = (depth + 1) / 2, groups = (columns + lanes - 1) / lanes;
        ASSERT_EQ(halves->elementCount, groups * lanes * words * 2);
        for (int64_t i = 0; i < halves->elementCount; ++i) {
          const int64_t word = i / 2 / lanes % words, column = i / 2 / lanes / words * lanes + i / 2 % lanes;
          ASSERT_EQ(halves->as<uint16_t>()[i], kernels::roundToBf16(at(2 * word + i % 2, column))) << i;
        }
      }
}

TEST_F(ForeignPanels, Bytes) {
  for (const PanelLayout& layout : kLayouts)
    for (const auto& [depth, columns] : {std::pair<int64_t, int64_t>{7, 70}, {33, 5}, {1, 1}, {0, 4}}) {
      SCOPED_TRACE(toString(layout));
      std::vector<int8_t> values(static_cast<size_t>(depth * columns));
      for (int8_t& value : values) value = static_cast<int8_t>(random_());
      Tensor* b = tensor(DataType::i8, {depth, columns}, values);
      const Tensor* made = packed("bytepack", b, {.numbers = {0}}, &layout);
      const int64_t width = layout.bytes, group = layout.bytesInWord, words = (depth + group - 1) / group,
                    size = width * (words * group + 4);
      ASSERT_EQ(made->elementCount, (columns + width - 1) / width * size);
      std::vector<int32_t> sums(static_cast<size_t>(made->elementCount / size * width));
      for (int64_t i = 0; i < made->elementCount; ++i) {
        const int64_t panel = i / size, in = i % size;
        if (in >= width * words * group) continue;
        const int64_t row = in / group / width * group + in % group,
                      column = panel * width + in / group % width;
        const int8_t expected =
            row < depth && column < columns ? values[static_cast<size_t>(row * columns + column)] : int8_t{0};
        ASSERT_EQ(made->as<int8_t>()[i], expected) << i;
        sums[static_cast<size_t>(column)] += expected;
      }
      for (size_t column = 0; column < sums.size(); ++column) {
        const auto c = static_cast<int64_t>(column);
        int32_t sum = 0;
        memcpy(&sum, made->as<int8_t>() + c / width * size + width * words * group + c % width * 4, 4);
        EXPECT_EQ(sum, sums[column]) << column;
      }
    }
}

// What is packed of each filter, wherever it lies: [filter][of the filter], in one order for all layouts.
// `behind`: how much of the depth lies in panels of its own, behind the others.
std::vector<std::vector<float>> filtersOf(const Tensor* packed, contraction::Way way,
                                          const PanelLayout& layout, int64_t groups, int64_t filters,
                                          int64_t depth, int64_t behind) {
  std::vector<std::vector<float>> all(static_cast<size_t>(groups * filters));
  const float* at = packed->as<float>();
  if (way == contraction::Way::staged) {
    for (auto& filter : all)
      for (int64_t k = 0; k < depth; ++k) filter.push_back(*at++);
  } else if (way == contraction::Way::rows) {
    const int64_t lanes = layout.narrowFilters;
    for (int64_t first = 0; first < groups; first += lanes)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t lane = 0; lane < lanes; ++lane, ++at)
          if (first + lane < groups) all[static_cast<size_t>(first + lane)].push_back(*at);
  } else {
    for (const int64_t steps : {depth - behind, behind})
      for (int64_t group = 0; group < groups; ++group)
        for (int64_t first = 0; first < filters;) {
          const int64_t left = filters - first,
                        width = left > layout.narrowFilters ? layout.wideFilters : layout.narrowFilters;
          for (int64_t k = 0; k < steps; ++k)
            for (int64_t lane = 0; lane < width; ++lane, ++at)
              if (lane < left)
                all[static_cast<size_t>(group * filters + first + lane)].push_back(*at);
              else
                EXPECT_EQ(*at, 0.0f);
          first += width;
        }
  }
  EXPECT_EQ(at, packed->as<float>() + packed->elementCount);
  return all;
}

TEST_F(ForeignPanels, Filters) {
  using contraction::Way;
  struct Case {
    Way way;
    int64_t groups, filters, channels, depth, behind = 0;
    int32_t stride = 1;
  };
  // Winograd makes 16 or 25 of 9 weights, behind which it keeps the middle one or all.
  for (const Case& c :
       {Case{Way::direct, 2, 37, 5, 45}, Case{Way::direct, 1, 4, 3, 27}, Case{Way::staged, 3, 7, 2, 18},
        Case{Way::rows, 21, 1, 1, 9}, Case{Way::winograd, 1, 45, 6, 6 * 17, 6},
        Case{Way::winograd, 1, 45, 6, 6 * 34, 6 * 9, 2}}) {
    Tensor* weights = floats({c.groups * c.filters, c.channels, 3, 3});
    const Options options{.numbers = {2 + ((1 + static_cast<int32_t>(c.way)) << 3),
                                      static_cast<int32_t>(c.groups), c.stride, c.stride, 1, 1}};
    const PanelLayout here = machinePanels();
    const auto expected = filtersOf(packed("conv_pack", weights, options, nullptr), c.way, here, c.groups,
                                    c.filters, c.depth, c.behind);
    for (const PanelLayout& layout : kLayouts) {
      SCOPED_TRACE(toString(layout) + ", way " + std::to_string(static_cast<int>(c.way)));
      EXPECT_EQ(filtersOf(packed("conv_pack", weights, options, &layout), c.way, layout, c.groups, c.filters,
                          c.depth, c.behind),
                expected);
    }
  }
}

TEST(PanelLayouts, AreReadBackAsWritten) {
  for (const PanelLayout& layout : kLayouts) EXPECT_EQ(parsePanelLayout(toString(layout)), layout);
  for (const char* wrong :
       {"", "gemm 32", "gemm 0, filters 16+8, bf16 16, bytes 16x2",
        "gemm 32, filters 8+16, bf16 16, bytes 16x2", "gemm 16, filters 16+8, bf16 16, bytes 24x2",
        "gemm 16, filters 16+8, bf16 16, bytes 16x3", "gemm 16, filters 16+8, bf16 16, bytes 16x2 ",
        "gemm 4294967312, filters 16+8, bf16 16, bytes 16x2"})
    EXPECT_FALSE(parsePanelLayout(wrong)) << wrong;
}

}  // namespace
}  // namespace dyn::vm::test
