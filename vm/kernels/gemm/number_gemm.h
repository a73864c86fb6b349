// Products of f64 and integers on packed panels, as the f32 ones: micro-kernels for tiles of rows times one
// panel of B.
//
// Each element of C is one chain of multiply-adds in ascending k, whatever the tile, the blocks and the
// threads: the same bits. Integers wrap.
#pragma once

#include <algorithm>
#include <type_traits>

#include "vm/kernels/gemm/number_kernel.h"
#include "vm/kernels/gemm/turned_copy.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {

const NumberFamilies& numberFamilies();  // of this CPU (gemm_family.cpp)

// One batch: C[m, n] = sum over k of A[m, k] B[k, n]; strides in elements, columns of C side by side.
template <typename T>
struct NumberProduct {
  int64_t rows = 0, columns = 0, depth = 0;
  const T* a = nullptr;
  int64_t strideAM = 0, strideAK = 0;
  const T* b = nullptr;
  int64_t strideBK = 0, strideBN = 0;
  T* c = nullptr;
  int64_t strideCM = 0;
};

template <typename T>
const NumberFamily<T>& numberFamily() {
  const NumberFamilies& families = numberFamilies();
  if constexpr (std::is_same_v<T, double>)
    return families.f64;
  else if constexpr (sizeof(T) == 4)
    return families.i32;
  else
    return families.i64;
}

// Blocks of a product, and where its packed B and the copy of A lie.
template <typename T>
class NumberDriver {
 public:
  NumberDriver(const NumberProduct<T>& product, const NumberFamily<T>& family) : p_(product), f_(family) {}

  int64_t panels() const { return (p_.columns + f_.panelWidth - 1) / f_.panelWidth; }
  int64_t packedElements() const { return panels() * p_.depth * f_.panelWidth; }
  int64_t rowBlocks() const { return (p_.rows + blockRows() - 1) / blockRows(); }
  // A's rows are copied unless they are runs of memory.
  int64_t copyElements() const {
    return p_.strideAK == 1 ? 0 : std::min(p_.rows, blockRows()) * std::min(p_.depth, kDepth);
  }

  void pack(int64_t firstPanel, int64_t lastPanel, T* packed) const {
    const int64_t width = f_.panelWidth;
    for (int64_t panel = firstPanel; panel < lastPanel; ++panel) {
      const int64_t column = panel * width, count = std::min(width, p_.columns - column);
      const T* from = p_.b + column * p_.strideBN;
      T* out = packed + panel * p_.depth * width;
      // Sixteen rows at a time, so that both sides stay in the cache where columns are the runs.
      for (int64_t begin = 0; begin < p_.depth; begin += 16) {
        const int64_t end = std::min(begin + 16, p_.depth);
        if (p_.strideBN == 1) {
          for (int64_t k = begin; k < end; ++k) std::copy_n(from + k * p_.strideBK, count, out + k * width);
        } else {
          for (int64_t i = 0; i < count; ++i)
            for (int64_t k = begin; k < end; ++k)
              out[k * width + i] = from[i * p_.strideBN + k * p_.strideBK];
        }
        for (int64_t k = begin; k < end && count < width; ++k)
          std::fill(out + k * width + count, out + (k + 1) * width, T(0));
      }
    }
  }

  // Row blocks [firstBlock, lastBlock) x panels [firstPanel, lastPanel).
  void run(const FlatCall& call, int64_t firstBlock, int64_t lastBlock, int64_t firstPanel, int64_t lastPanel,
           const T* packed, T* copy) const {
    for (int64_t block = firstBlock; block < lastBlock; ++block) {
      const int64_t row = block * blockRows(), rows = std::min(blockRows(), p_.rows - row);
      for (int64_t k = 0; k < std::max<int64_t>(p_.depth, 1); k += kDepth) {
        if (call.cancelled()) return;
        const int64_t depth = std::min(kDepth, p_.depth - k);
        const T* left = p_.a + row * p_.strideAM + k * p_.strideAK;
        int64_t leading = p_.strideAM;
        if (p_.strideAK != 1) {
          if (p_.strideAM == 1) copyTurned(left, rows, depth, p_.strideAK, copy, depth);
          for (int64_t i = 0; i < rows && p_.strideAM != 1; ++i)
            for (int64_t j = 0; j < depth; ++j) copy[i * depth + j] = left[i * p_.strideAM + j * p_.strideAK];
          left = copy;
          leading = depth;
        }
        for (int64_t panel = firstPanel; panel < lastPanel; ++panel) {
          const int64_t column = panel * f_.panelWidth;
          const T* right = packed + (panel * p_.depth + k) * f_.panelWidth;
          forEachRowTile(f_.maxRows, rows, [&](int64_t first, int64_t height) {
            f_.microKernels[height - 1](depth, left + first * leading, leading, right,
                                        p_.c + (row + first) * p_.strideCM + column, p_.strideCM,
                                        std::min(f_.panelWidth, p_.columns - column), k > 0 ? 1 : 0);
          });
        }
      }
    }
  }

 private:
  static constexpr int64_t kDepth = 256;  // a block of a panel stays in the L1 cache
  int64_t blockRows() const { return f_.maxRows * 8; }

  const NumberProduct<T>& p_;
  const NumberFamily<T>& f_;
};

// How `count` products of the same sizes share the threads, and the scratch memory that takes.
template <typename T>
struct NumberPlan {
  int64_t tasks = 1, copy = 0, pack = 0;  // of scratch memory: a task's copy of A, a packed B
  bool overProducts = false;

  // `steps`: multiply-adds of them all.
  NumberPlan(const CallInputs& call, int64_t count, double steps, const NumberProduct<T>& first) {
    const NumberDriver<T> sizes(first, numberFamily<T>());
    const int64_t threads = call.threadCount();
    constexpr int64_t kUnits = static_cast<int64_t>(sizeof(T) / sizeof(float));
    tasks = worthwhileTasks(call, steps);
    overProducts = count > 1 && (count >= threads || tasks == 1);
    copy = wholeLines(sizes.copyElements() * kUnits);
    pack = wholeLines(sizes.packedElements() * kUnits);
  }
  int64_t shared() const { return overProducts ? 0 : pack; }
  int64_t own() const { return copy + (overProducts ? pack : 0); }
};

// product(i) is the i-th.
template <typename T, typename Product>
Status runNumberProducts(FlatCall& call, int64_t count, double steps, const Product& product) {
  const NumberFamily<T>& family = numberFamily<T>();
  const NumberPlan<T> plan(call, count, steps, product(0));
  const int64_t tasks = plan.tasks, copy = plan.copy;
  Scratch scratch(call, plan.shared(), tasks, plan.own());
  if (!scratch) return scratch.status();
  if (plan.overProducts) {
    call.split(count, tasks, [&](int64_t begin, int64_t end) {
      float* own = scratch.next();
      T* packed = reinterpret_cast<T*>(own + copy);
      const T* packedFrom = nullptr;
      for (int64_t i = begin; i < end; ++i) {
        const NumberProduct<T> p = product(i);
        const NumberDriver<T> driver(p, family);
        if (p.b != packedFrom) driver.pack(0, driver.panels(), packed);
        packedFrom = p.b;
        driver.run(call, 0, driver.rowBlocks(), 0, driver.panels(), packed, reinterpret_cast<T*>(own));
      }
    });
    return okStatus();
  }
  T* packed = reinterpret_cast<T*>(scratch.shared());
  for (int64_t i = 0; i < count; ++i) {
    scratch.rewind();
    const NumberProduct<T> p = product(i);
    const NumberDriver<T> driver(p, family);
    call.split(driver.panels(), tasks, [&](int64_t begin, int64_t end) { driver.pack(begin, end, packed); });
    const bool overRows = driver.rowBlocks() >= tasks;
    call.split(overRows ? driver.rowBlocks() : driver.panels(), tasks, [&](int64_t begin, int64_t end) {
      T* own = reinterpret_cast<T*>(scratch.next());
      if (overRows)
        driver.run(call, begin, end, 0, driver.panels(), packed, own);
      else
        driver.run(call, 0, driver.rowBlocks(), begin, end, packed, own);
    });
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
