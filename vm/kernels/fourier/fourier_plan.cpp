// The plans of Fourier transforms: factors, tables, and how a row goes through them.
#include "vm/kernels/fourier/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kMostRadix = 31;
constexpr int64_t kBlockBytes = 64 * 1024;

int64_t padded(int64_t count, int64_t lanes) { return (count + lanes - 1) / lanes * lanes; }

// The radices of a length; empty where a prime is too large. Twos go by threes, as a radix of 8 saves passes over the memory.
std::vector<int64_t> radicesOf(int64_t length) {
  int64_t twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  std::vector<int64_t> radices;
  if (twos % 3 == 1 && twos > 1)
    radices = {4, 4}, twos -= 4;
  else if (twos % 3 != 0)
    radices = {int64_t{1} << twos % 3}, twos -= twos % 3;
  for (; twos > 0; twos -= 3) radices.push_back(8);
  for (int64_t prime = 3; prime <= kMostRadix && length > 1; prime += 2)
    for (; length % prime == 0; length /= prime) radices.push_back(prime);
  if (length > 1) return {};
  std::sort(radices.begin(), radices.end());
  return radices;
}

bool isSmoothLength(int64_t length) {
  for (int64_t prime : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    while (length % prime == 0) length /= prime;
  return length == 1;
}

// About how many operations an element goes through in transforms of this length; long ones wait for memory at every stage.
double stepsOf(int64_t length) {
  const double steps = 1 + std::log2(static_cast<double>(length));
  return length <= FourierShape::kMostColumnRows ? steps : 3 * steps;
}

// The smallest 64 * 2^a * 3^b * 5^c that is not below `least`.
int64_t convolutionLength(int64_t least) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int64_t fives = 64; fives < 2 * least + 64; fives *= 5)
    for (int64_t threes = fives; threes < 2 * least + 64; threes *= 3) {
      int64_t length = threes;
      while (length < least) length *= 2;
      best = std::min(best, length);
    }
  return best;
}

// The columns that go through the stages at a time: as many as stay in the cache.
template <typename T>
int64_t blockOf(int64_t length, int64_t width, int64_t lanes) {
  const int64_t fits = kBlockBytes / (2 * static_cast<int64_t>(sizeof(T)) * length) / lanes * lanes;
  return std::clamp(fits, lanes, padded(width, lanes));
}

template <typename T>
int64_t workElements(const FourierShape& s, int64_t lanes) {
  return 4 * std::max(s.first * blockOf<T>(s.first, s.second, lanes),
                      s.second * blockOf<T>(s.second, s.first, lanes));
}

int64_t stageElements(const std::vector<int64_t>& radices, int64_t length) {
  int64_t elements = 0;
  for (int64_t radix : radices) {
    length /= radix;
    elements += 2 * length * (radix - 1) + 2 * radix;
  }
  return elements;
}

}  // namespace

FourierRoots::FourierRoots(int64_t length) : length_(length) {
  if (length <= kFine) return;
  for (int64_t k = 0; k < kFine; ++k) fine_.push_back(turn(k, length));
  for (int64_t k = 0; k <= length / kFine; ++k) coarse_.push_back(turn(k * kFine, length));
}

// By the octant: the quarters of a turn are exact, and what is symmetric has equal bits.
FourierRoots::Turn FourierRoots::turn(int64_t k, int64_t length) {
  const int64_t eighths = 8 * k / length;
  const int64_t rest = (eighths & 1) != 0 ? (eighths + 1) * length - 8 * k : 8 * k - eighths * length;
  const double angle = 2 * std::numbers::pi * (static_cast<double>(rest) / static_cast<double>(8 * length));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (eighths & 7) {
    case 0:
      return {c, s};
    case 1:
      return {s, c};
    case 2:
      return {-s, c};
    case 3:
      return {-c, s};
    case 4:
      return {-c, -s};
    case 5:
      return {-s, -c};
    case 6:
      return {s, -c};
    default:
      return {c, -s};
  }
}

FourierRoots::Turn FourierRoots::operator()(int64_t k) const {
  if (fine_.empty()) return turn(k, length_);
  const Turn a = coarse_[static_cast<size_t>(k / kFine)], b = fine_[static_cast<size_t>(k % kFine)];
  return {a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}

FourierShape::FourierShape(int64_t n, int64_t lanes) : length(n), isSmooth(isSmoothLength(n)) {
  if (!isSmooth) {
    convolution = convolutionLength(2 * n - 1);
    return;
  }
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](int64_t a, int64_t b) {
    const double cost = static_cast<double>(padded(b, lanes) * a) * stepsOf(a) +
                        static_cast<double>(padded(a, lanes) * b) * stepsOf(b);
    if (cost >= least) return;
    least = cost;
    first = a;
    second = b;
  };
  for (int64_t a = 1; a * a <= n; ++a) {
    if (n % a != 0) continue;
    consider(a, n / a);
    consider(n / a, a);
  }
  firstRadices = radicesOf(first);
  secondRadices = radicesOf(second);
  if (doesColumns()) wholeRadices = radicesOf(n);
}

template <typename T>
int64_t FourierPlan<T>::tableElements(const FourierShape& s, int64_t lanes) {
  if (!s.isSmooth)
    return 2 * padded(s.length, lanes) + 2 * s.convolution +
           tableElements(FourierShape(s.convolution, lanes), lanes);
  return stageElements(s.wholeRadices, s.length) + stageElements(s.firstRadices, s.first) +
         stageElements(s.secondRadices, s.second) + 2 * s.first * padded(s.second, lanes);
}

template <typename T>
int64_t FourierPlan<T>::rowElements(const FourierShape& s, int64_t lanes) {
  if (!s.isSmooth) return 2 * s.convolution + rowElements(FourierShape(s.convolution, lanes), lanes);
  return 2 * s.second * padded(s.first, lanes) + workElements<T>(s, lanes);
}

template <typename T>
FourierPlan<T>::FourierPlan(FourierShape shape, const FourierKernels<T>& kernels, T* tables, T* scratch)
    : shape_(std::move(shape)), kernels_(kernels) {
  if (!shape_.isSmooth) {
    makeChirp(tables, scratch);
    return;
  }
  wholeStages_ = makeStages(shape_.wholeRadices, shape_.length, tables);
  firstStages_ = makeStages(shape_.firstRadices, shape_.first, tables);
  secondStages_ = makeStages(shape_.secondRadices, shape_.second, tables);
  makeTurns(tables);
}

template <typename T>
typename FourierPlan<T>::Stages FourierPlan<T>::makeStages(const std::vector<int64_t>& radices,
                                                           int64_t length, T*& tables) const {
  Stages stages;
  for (int64_t radix : radices) {
    const FourierRoots roots(length), ofRadix(radix);
    const int64_t rest = length / radix;
    stages.push_back({radix, rest, tables, tables + 2 * rest * (radix - 1)});
    const auto put = [&](FourierRoots::Turn turn, double sign) {
      *tables++ = static_cast<T>(turn.cosine);
      *tables++ = static_cast<T>(sign * turn.sine);
    };
    for (int64_t p = 0; p < rest; ++p)
      for (int64_t k = 1; k < radix; ++k) put(roots(p * k), -1);
    for (int64_t k = 0; k < radix; ++k) put(ofRadix(k), 1);
    length = rest;
  }
  return stages;
}

template <typename T>
void FourierPlan<T>::makeTurns(T*& tables) {
  const int64_t width = padded(shape_.second, kernels_.lanes);
  const FourierRoots roots(shape_.length);
  T *cosines = tables, *sines = tables + shape_.first * width;
  tables = sines + shape_.first * width;
  for (int64_t k = 0; k < shape_.first; ++k)
    for (int64_t j = 0; j < width; ++j) {
      const FourierRoots::Turn turn = roots(j < shape_.second ? k * j : 0);
      cosines[k * width + j] = static_cast<T>(turn.cosine);
      sines[k * width + j] = static_cast<T>(-turn.sine);
    }
  cosines_ = cosines;
  sines_ = sines;
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: with c[j] = exp(-pi i j^2 / n) the transform is c[k] times the convolution of c[j] x[j] with 1 / c.
template <typename T>
void FourierPlan<T>::makeChirp(T*& tables, T* scratch) {
  const int64_t n = shape_.length, size = shape_.convolution, width = padded(n, kernels_.lanes);
  T *real = tables, *imaginary = real + width, *answerReal = imaginary + width,
    *answerImaginary = answerReal + size;
  tables = answerImaginary + size;
  inner_ = std::make_unique<const FourierPlan>(FourierShape(size, kernels_.lanes), kernels_, tables, scratch);
  std::fill_n(real, 2 * width + 2 * size, T(0));
  const FourierRoots roots(2 * n);
  int64_t square = 0;  // of j, modulo 2n
  for (int64_t j = 0; j < n; ++j) {
    const FourierRoots::Turn turn = roots(square);
    real[j] = static_cast<T>(turn.cosine);
    imaginary[j] = static_cast<T>(-turn.sine);
    const double scale = 1 / static_cast<double>(size);
    for (int64_t at : {j, (size - j) % size}) {
      answerReal[at] = static_cast<T>(turn.cosine * scale);
      answerImaginary[at] = static_cast<T>(turn.sine * scale);
    }
    square = (square + 2 * j + 1) % (2 * n);
  }
  inner_->row(answerReal, answerImaginary, scratch);
  chirpReal_ = real;
  chirpImaginary_ = imaginary;
  answerReal_ = answerReal;
  answerImaginary_ = answerImaginary;
}

template <typename T>
T* FourierPlan<T>::columns(int64_t width, T* from, T* other) const {
  return kernels_.columns(wholeStages_.data(), static_cast<int64_t>(wholeStages_.size()), shape_.length,
                          width, from, other);
}

template <typename T>
void FourierPlan<T>::row(T* real, T* imaginary, T* scratch) const {
  if (shape_.isSmooth)
    smoothRow(real, imaginary, scratch);
  else
    chirpRow(real, imaginary, scratch);
}

namespace {

// Columns begin .. begin + count of a matrix [length, ...], to a block [length, width]; what is beyond is 0.
template <typename T>
void takeColumns(int64_t length, int64_t begin, int64_t count, const T* from, int64_t leading, T* block,
                 int64_t width) {
  for (int64_t i = 0; i < length; ++i) {
    memcpy(block + i * width, from + i * leading + begin, static_cast<size_t>(count) * sizeof(T));
    std::fill(block + i * width + count, block + (i + 1) * width, T(0));
  }
}

}  // namespace

template <typename T>
void FourierPlan<T>::smoothRow(T* real, T* imaginary, T* scratch) const {
  const int64_t first = shape_.first, second = shape_.second, lanes = kernels_.lanes;
  const int64_t turnWidth = padded(second, lanes), leading = padded(first, lanes);
  T *middleReal = scratch, *middleImaginary = scratch + second * leading,
    *work = middleImaginary + second * leading;
  const auto transformed = [&](const Stages& stages, int64_t length, int64_t width, T* block) {
    return kernels_.columns(stages.data(), static_cast<int64_t>(stages.size()), length, width, block,
                            block + 2 * length * width);
  };
  const int64_t block = blockOf<T>(first, second, lanes);
  for (int64_t begin = 0; begin < second; begin += block) {
    const int64_t count = std::min(block, second - begin), width = padded(count, lanes), part = first * width;
    takeColumns(first, begin, count, real, second, work, width);
    takeColumns(first, begin, count, imaginary, second, work + part, width);
    T* done = transformed(firstStages_, first, width, work);
    for (int64_t k = 1; k < first; ++k)
      kernels_.multiply(width, cosines_ + k * turnWidth + begin, sines_ + k * turnWidth + begin,
                        done + k * width, done + part + k * width);
    kernels_.transpose(first, count, done, width, middleReal + begin * leading, leading);
    kernels_.transpose(first, count, done + part, width, middleImaginary + begin * leading, leading);
  }
  const int64_t blockBack = blockOf<T>(second, first, lanes);
  for (int64_t begin = 0; begin < first; begin += blockBack) {
    const int64_t count = std::min(blockBack, first - begin), width = padded(count, lanes),
                  part = second * width;
    takeColumns(second, begin, width, middleReal, leading, work, width);
    takeColumns(second, begin, width, middleImaginary, leading, work + part, width);
    const T* done = transformed(secondStages_, second, width, work);
    for (int64_t k = 0; k < second; ++k) {
      memcpy(real + k * first + begin, done + k * width, static_cast<size_t>(count) * sizeof(T));
      memcpy(imaginary + k * first + begin, done + part + k * width, static_cast<size_t>(count) * sizeof(T));
    }
  }
}

template <typename T>
void FourierPlan<T>::chirpRow(T* real, T* imaginary, T* scratch) const {
  const int64_t n = shape_.length, size = shape_.convolution, width = padded(n, kernels_.lanes);
  T *a = scratch, *b = scratch + size, *more = b + size;
  const size_t bytes = static_cast<size_t>(n) * sizeof(T);
  memcpy(a, real, bytes);
  memcpy(b, imaginary, bytes);
  std::fill(a + n, a + size, T(0));
  std::fill(b + n, b + size, T(0));
  kernels_.multiply(width, chirpReal_, chirpImaginary_, a, b);
  inner_->row(a, b, more);
  kernels_.multiply(size, answerReal_, answerImaginary_, a, b);
  inner_->row(b, a, more);  // parts exchanged: the inverse
  kernels_.multiply(width, chirpReal_, chirpImaginary_, a, b);
  memcpy(real, a, bytes);
  memcpy(imaginary, b, bytes);
}

template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace dyn::vm::kernels
