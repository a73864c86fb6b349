// What the cells of a recurrence make of the gates of one row. Types only: the kernels are compiled for
// several instruction sets.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// Gate k of unit i lies at i + k times the stride.
struct CellRow {
  const float* inputs;  // what the inputs make
  int64_t inputStride;
  const float* product;  // what the state makes
  int64_t productStride;
  const float* bias;    // of the product, strides as those of the inputs; null: none
  const float* before;  // the state
  float* cell;          // of an LSTM, in place
  float* after;         // the next state
  float* stacked;       // the same once more; null: not wanted
};

// Units [0, count). What becomes of one does not depend on where it stands.
using CellKernel = void (*)(int64_t count, const CellRow& row);

struct CellKernels {
  CellKernel of[5];  // [recurrence::Cell]
  CellKernel reset;  // of gru_reset_first: `after` is the state times the gate r
};

}  // namespace dyn::vm::kernels
