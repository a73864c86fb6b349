/* How the weights of a convolution of bytes stand that reads images with their channels last, for compiler
 * and runtime alike. What a window holds lies in runs of bytes that follow one another: its rows where the
 * places of a row do, else its places. A filter's weights are those runs, each filled up to whole words with
 * zeros: [filters, count, padded], which pack_bytes packs. C++, header only. */
#ifndef DYN_BYTE_WINDOW_H
#define DYN_BYTE_WINDOW_H

#include <cstdint>

namespace dyn {

struct ByteRuns {
  static constexpr int64_t kWord = 4;

  int64_t rows, columns;  // of runs
  int64_t length;         // bytes in each
  int64_t padded;         // with what fills words

  static ByteRuns of(int64_t kernelRows, int64_t kernelColumns, int64_t dilationColumns, int64_t channels) {
    const bool wholeRows = dilationColumns == 1 && kernelColumns > 0;
    const int64_t length = wholeRows ? kernelColumns * channels : channels;
    return {kernelRows, wholeRows ? 1 : kernelColumns, length, (length + kWord - 1) / kWord * kWord};
  }
  int64_t count() const { return rows * columns; }
  int64_t depth() const { return count() * padded; }
};

}  // namespace dyn

#endif
