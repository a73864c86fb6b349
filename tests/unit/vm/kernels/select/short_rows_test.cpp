// Short rows (select/short_rows.h) have the places that RowOrder finds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "vm/kernels/select/short_rows.h"

namespace dyn::vm::kernels {
namespace {

template <typename T>
T element(std::mt19937& random, bool isOdd) {
  if constexpr (std::is_class_v<T>) {
    T half;
    half.bits = static_cast<uint16_t>(isOdd ? random() : 0x3c00 + random() % 4);
    return half;
  } else if constexpr (std::is_floating_point_v<T>) {
    const T odd[] = {std::numeric_limits<T>::quiet_NaN(),
                     -std::numeric_limits<T>::quiet_NaN(),
                     std::numeric_limits<T>::infinity(),
                     -std::numeric_limits<T>::infinity(),
                     T(0),
                     -T(0)};
    return isOdd && random() % 2 ? odd[random() % 6] : static_cast<T>(static_cast<int>(random() % 7) - 3);
  } else {
    return isOdd ? static_cast<T>(random()) : static_cast<T>(random() % 4);
  }
}

template <typename T>
void expectPlaces() {
  std::mt19937 random(11);
  for (int64_t size : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257})
    for (int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 63, 64}) {
      if (count > size || !ShortRows<T>::takes(size, count)) continue;
      for (const bool descending : {false, true})
        for (const int64_t stride : {1, 3})
          for (const bool isOdd : {false, true}) {
            std::vector<T> row(static_cast<size_t>(size * stride));
            for (T& x : row) x = element<T>(random, isOdd);
            ShortRows<T> rows(count, descending);
            const int64_t* places = rows.first(row.data(), size, stride);
            visitItems<T>(size, [&]<typename Item>() {
              RowOrder<T, Item> order(descending);
              const std::vector<Item>& items = order.first(row.data(), size, stride, count);
              for (int64_t k = 0; k < count; ++k)
                ASSERT_EQ(places[k], ItemOf<Item>::index(items[static_cast<size_t>(k)]))
                    << size << " elements " << stride << " apart, " << count << " of them, place " << k;
            });
          }
    }
}

TEST(ShortRows, PlacesAreThoseOfRowOrder) {
  expectPlaces<float>();
  expectPlaces<double>();
  expectPlaces<int8_t>();
  expectPlaces<uint8_t>();
  expectPlaces<int16_t>();
  expectPlaces<uint16_t>();
  expectPlaces<int32_t>();
  expectPlaces<uint32_t>();
  expectPlaces<int64_t>();
  expectPlaces<uint64_t>();
  expectPlaces<HalfElement<DataType::f16>>();
  expectPlaces<HalfElement<DataType::bf16>>();
}

// Four rows in lanes give what each alone does, with a NaN in none, some or all of them.
template <typename T>
void expectPlacesTogether() {
  std::mt19937 random(7);
  for (int64_t size : {1, 2, 3, 5, 7, 8, 17, 63, 255, 256})
    for (const bool descending : {false, true})
      for (int round = 0; round < 40; ++round) {
        constexpr int64_t kRows = FirstOfRow<T>::kTogether;
        std::vector<T> rows(static_cast<size_t>(size * kRows));
        for (size_t i = 0; i < rows.size(); ++i)
          rows[i] = element<T>(random, random() % 4 == 0 && round % 8 > static_cast<int>(i) / size);
        const FirstOfRow<T> first(descending);
        int64_t places[kRows];
        first.placesTogether(rows.data(), size, places);
        for (int64_t row = 0; row < kRows; ++row) {
          ShortRows<T> alone(1, descending);
          ASSERT_EQ(places[row], *alone.first(rows.data() + row * size, size, 1))
              << "row " << row << " of " << size << " elements, round " << round;
        }
      }
}

TEST(ShortRows, RowsOfRealsTogether) {
  expectPlacesTogether<float>();
  expectPlacesTogether<double>();
}

// Digits or comparisons: the order is that of a stable sort.
TEST(RowOrder, RowsOfAFewHundred) {
  std::mt19937 random(5);
  for (int64_t size : {100, 127, 128, 200, 512, 1000, 1025})
    for (int64_t count : {size / 3, size / 2, size - 1, size}) {
      std::vector<float> row(static_cast<size_t>(size));
      for (float& x : row) x = element<float>(random, true);
      std::vector<int64_t> expected(static_cast<size_t>(size));
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i);
      std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
        return RankOf<float>::of(row[static_cast<size_t>(a)]) <
               RankOf<float>::of(row[static_cast<size_t>(b)]);
      });
      RowOrder<float, PackedPlace> order(false);
      const auto& items = order.first(row.data(), size, 1, count);
      ASSERT_EQ(items.size(), static_cast<size_t>(count));
      for (size_t k = 0; k < items.size(); ++k)
        ASSERT_EQ(ItemOf<PackedPlace>::index(items[k]), expected[k])
            << size << ", " << count << ", place " << k;
    }
}

}  // namespace
}  // namespace dyn::vm::kernels
