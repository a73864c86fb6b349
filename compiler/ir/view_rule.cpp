#include "compiler/ir/view_rule.h"

namespace dyn {

StridedPlace densePlace(DimContext& dims, const Shape& shape) {
  StridedPlace place{dims.constant(0), Shape(shape.size())};
  Dim stride = dims.constant(1);
  for (size_t axis = shape.size(); axis-- > 0;) {
    place.strides[axis] = stride;
    stride = stride * shape[axis];
  }
  return place;
}

}  // namespace dyn
