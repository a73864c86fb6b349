// Products and convolutions as oneDNN does them, each made ready once for a shape and a number of threads and
// then kept for the whole process.
//
// Activations lie row-major in Dyn. Where the library wants them otherwise they are reordered into scratch
// memory of the call and back. Weights are packed once, at load, before any shape is known: in the layout
// that the library chooses for a shape of middle size. A shape for which it has nothing good on that layout
// has the weights reordered at each call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vm/core/object/memory_pool.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/onednn/onednn_api.h"

namespace dyn::vm::onednn {

// rows x depth times depth x columns, all above 0.
struct Product {
  int64_t rows = 0, depth = 0, columns = 0;
};

// Where the packed weights lie. api() is there; no size is 0. Of no tensor: the library can not do it.
Layout packedLayout(const Product& product);                   // whatever its rows
Layout packedLayout(const kernels::Convolution& convolution);  // whatever its positions
// How [depth, columns] weights lie (transposed: [columns, depth]), and [groups * filters, channels,
// kernel...].
Layout givenLayout(const Product& product, bool transposed);
Layout givenLayout(const kernels::Convolution& convolution);

// Elements of f32 that hold a tensor of this layout.
inline int64_t elementCount(const Layout& layout) { return (layout.sizeBytes() + 3) / 4; }

// A primitive, and what must be reordered for it. Immutable: any number of threads may run it.
class Prepared {
 public:
  struct Sides {
    Layout x, weights, bias, y;  // as they are given; bias may be of no tensor
  };
  // x and y as the primitive is to see them; `anyWeights`: of the weights' shape, the primitive's choice.
  // `describe` makes a description of x, weights and y. Null: it can not be done.
  template <typename Describe>
  static std::shared_ptr<const Prepared> make(Sides given, const Layout& x, const Layout& anyWeights,
                                              const Layout& y, const Describe& describe);

  const std::string& implementation() const { return implementation_; }
  int64_t packedElements() const { return elementCount(given_.weights); }
  int64_t scratchElements() const;
  // All borrowed; `scratch` of scratchElements(), 64-byte aligned.
  Status run(const float* x, const float* weights, const float* bias, float* y, float* scratch) const;

 private:
  struct Reorder {
    Primitive primitive;  // null: nothing is reordered
    Layout scratch;
  };
  bool prepare(const Description& description);
  static Reorder reorder(const Layout& from, const Layout& to, bool& done);

  Sides given_, wanted_;
  Primitive primitive_;
  Layout scratch_;
  Reorder x_, weights_, y_;
  std::string implementation_;
};

// The one for this product or convolution with so many threads; null: the library can not do it. Thread-safe.
std::shared_ptr<const Prepared> prepared(const Product& product, int64_t threads);
std::shared_ptr<const Prepared> prepared(const kernels::Convolution& convolution, bool biased,
                                         int64_t threads);

// Reorders weights for good: from `given` to `packed`, with so many threads. Error DYN_UNSUPPORTED: the
// library can not.
Status pack(const Layout& given, const float* from, const Layout& packed, float* to, MemoryPool* pool,
            int64_t threads);

}  // namespace dyn::vm::onednn
