// Kernels as a compiler makes them, run for all sizes around their tiles and in several orders of lanes,
// warps and blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/simcuda/tests/api.h"

namespace {

std::vector<float> numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> v(count);
  for (float& x : v) x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256.0f;
  return v;
}

class Kernels : public DriverTest {};

TEST_F(Kernels, elementwise_at_all_sizes) {
  void* f = load(kernelText("elementwise"), "elementwise");
  for (long n : {1, 31, 32, 33, 255, 256, 257, 1000}) {
    auto a = numbers(n, 1), b = numbers(n, 2);
    DevicePointer da = upload(a), db = upload(b), dy = allocate(n * 4);
    ASSERT_EQ(run(f, {2, 128}, da, db, dy, n, 0.5f), 0) << api().fault();
    auto y = download<float>(dy, n);
    for (long i = 0; i < n; i++) {
      float product = a[i] * b[i], v = product + 0.5f;
      ASSERT_EQ(y[i], v > 0 ? v : 0) << i << " of " << n;
    }
  }
}

TEST_F(Kernels, matmul_with_tiles_and_barriers) {
  void* f = load(kernelText("matmul"), "matmul");
  for (int m : {1, 15, 16, 17, 33}) {
    for (int k : {1, 16, 33}) {
      int n = 50 - m;
      auto a = numbers(m * k, 1), b = numbers(k * n, 2);
      DevicePointer da = upload(a), db = upload(b), dc = allocate(m * n * 4);
      Shape shape{(n + 15) / 16u, 16, (m + 15) / 16u, 16};
      ASSERT_EQ(run(f, shape, da, db, dc, m, n, k), 0) << api().fault();
      auto c = download<float>(dc, m * n);
      for (int i = 0; i < m * n; i++) {
        float sum = 0;
        for (int l = 0; l < k; l++) {
          float product = a[i / n * k + l] * b[l * n + i % n];
          sum = sum + product;
        }
        ASSERT_EQ(c[i], sum) << i << " of " << m << " x " << n;
      }
    }
  }
}

TEST_F(Kernels, softmax_of_rows_with_shuffles) {
  void* f = load(kernelText("softmax"), "softmax");
  for (int n : {1, 5, 32, 127, 128, 129, 300}) {
    auto x = numbers(3 * n, 7);
    DevicePointer dx = upload(x), dy = allocate(3 * n * 4);
    ASSERT_EQ(run(f, {3, 128}, dx, dy, n), 0) << api().fault();
    auto y = download<float>(dy, 3 * n);
    for (int row = 0; row < 3; row++) {
      double top = -1e30, sum = 0;
      for (int i = 0; i < n; i++) top = std::max<double>(top, x[row * n + i]);
      for (int i = 0; i < n; i++) sum += std::exp(x[row * n + i] - top);
      for (int i = 0; i < n; i++)
        ASSERT_NEAR(y[row * n + i], std::exp(x[row * n + i] - top) / sum, 2e-6) << n;
    }
  }
}

TEST_F(Kernels, tensor_cores_with_asynchronous_copies) {
  void* f = load(kernelText("mma"), "mma");
  for (int k : {16, 32, 48, 128}) {
    std::mt19937 random(k);
    std::vector<int> a(16 * k), b(8 * k);
    for (int& v : a) v = static_cast<int>(random() % 17) - 8;
    for (int& v : b) v = static_cast<int>(random() % 17) - 8;
    auto bfloats = [](const std::vector<int>& v) {
      std::vector<uint16_t> bits;
      for (int x : v) {
        float value = static_cast<float>(x);
        uint32_t word;
        std::memcpy(&word, &value, 4);
        bits.push_back(static_cast<uint16_t>(word >> 16));
      }
      return bits;
    };
    DevicePointer da = upload(bfloats(a)), db = upload(bfloats(b)), dc = allocate(16 * 8 * 4);
    ASSERT_EQ(run(f, {1, 32}, da, db, dc, k), 0) << api().fault();
    auto c = download<float>(dc, 16 * 8);
    for (int i = 0; i < 16 * 8; i++) {
      int sum = 0;
      for (int l = 0; l < k; l++) sum += a[i / 8 * k + l] * b[i % 8 * k + l];
      ASSERT_EQ(c[i], static_cast<float>(sum)) << i << ", k = " << k;
    }
  }
}

}  // namespace
