// How the complex transform of one length is done, with its tables: sums of x[j] exp(-2 pi i j k / n) in n log n operations for every n.
//
//   columns       the stages of Stockham's scheme over a block [n, width]: transforms side by side. For lengths whose primes are at most 31.
//   a row         n = first * second: transforms of the columns of [first, second], a turn of each element, then transforms of the columns of the
//                 transpose, so that a single transform fills vectors, too (Bailey's four steps).
//   other primes  a convolution with a chirp, by two transforms of a length without such primes that is at least 2n - 1 (Bluestein).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vm/kernels/fourier/fourier_kernels.h"

namespace dyn::vm::kernels {

// What follows from the length alone.
struct FourierShape {
  int64_t length = 1;
  bool isSmooth = true;  // no prime above 31
  int64_t first = 1, second = 1;
  std::vector<int64_t> wholeRadices, firstRadices, secondRadices;  // whole: empty where columns are not done
  int64_t convolution = 0;                                         // its length; 0: none

  FourierShape(int64_t length, int64_t lanes);
  bool doesColumns() const { return isSmooth && length <= kMostColumnRows; }
  static constexpr int64_t kMostColumnRows = 2048;
};

template <typename T>
class FourierPlan {
 public:
  // Elements of the tables, and of what row() works in.
  static int64_t tableElements(const FourierShape& shape, int64_t lanes);
  static int64_t rowElements(const FourierShape& shape, int64_t lanes);

  // `tables` and `scratch` (for this call only) hold as many elements. Tables are rounded from f64.
  FourierPlan(FourierShape shape, const FourierKernels<T>& kernels, T* tables, T* scratch);

  const FourierShape& shape() const { return shape_; }
  const FourierKernels<T>& kernels() const { return kernels_; }
  // The transforms of a block, as FourierKernels::columns; the shape does columns.
  T* columns(int64_t width, T* from, T* other) const;
  // One transform, in place: real[length], imaginary[length].
  void row(T* real, T* imaginary, T* scratch) const;

 private:
  using Stages = std::vector<FourierStage<T>>;
  Stages makeStages(const std::vector<int64_t>& radices, int64_t length, T*& tables) const;
  void makeTurns(T*& tables);
  void makeChirp(T*& tables, T* scratch);
  void smoothRow(T* real, T* imaginary, T* scratch) const;
  void chirpRow(T* real, T* imaginary, T* scratch) const;

  FourierShape shape_;
  const FourierKernels<T>& kernels_;
  Stages wholeStages_, firstStages_, secondStages_;
  const T *cosines_ = nullptr, *sines_ = nullptr;               // of the turns: [first, padded second]
  const T *chirpReal_ = nullptr, *chirpImaginary_ = nullptr;    // [padded length]
  const T *answerReal_ = nullptr, *answerImaginary_ = nullptr;  // of the convolution: [convolution]
  std::unique_ptr<const FourierPlan> inner_;                    // of the convolution
};

// exp(-2 pi i k / n) for k from 0 to n, as cosine and sine of the angle.
class FourierRoots {
 public:
  explicit FourierRoots(int64_t length);
  struct Turn {
    double cosine, sine;
  };
  Turn operator()(int64_t k) const;

 private:
  static Turn turn(int64_t k, int64_t length);
  static constexpr int64_t kFine = 4096;
  int64_t length_;
  std::vector<Turn> fine_, coarse_;  // of a long one, their products
};

extern template class FourierPlan<float>;
extern template class FourierPlan<double>;

}  // namespace dyn::vm::kernels
