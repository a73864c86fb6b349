#include "compiler/reference/random_tensor.h"

namespace dyn {

RandomSource::RandomSource(uint64_t seed, std::string_view stream) : state_(seed) {
  for (const char c : stream) {
    state_ ^= static_cast<unsigned char>(c);
    next();
  }
}

Result<HostTensor> randomTensor(Dtype dtype, std::vector<int64_t> shape, RandomSource source,
                                uint64_t integerBound) {
  DYN_TRY(HostTensor tensor, HostTensor::create(dtype, std::move(shape)));
  const DtypeClass cls = dtypeClass(dtype);
  if (dtype == Dtype::f32) {  // of images: as fast as the numbers come
    auto* elements = tensor.mutableAs<float>();
    for (int64_t i = 0; i < tensor.elementCount(); ++i) elements[i] = static_cast<float>(source.normal());
    return tensor;
  }
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (cls == DtypeClass::boolean) {
      tensor.setInt(i, static_cast<int64_t>(source.below(2)));
    } else if (isInteger(dtype)) {
      tensor.setInt(i, static_cast<int64_t>(source.below(integerBound)));
    } else if (cls != DtypeClass::text) {
      tensor.setReal(i, source.normal());
    }
  }
  return tensor;
}

Result<HostTensor> filledTensor(Dtype dtype, std::vector<int64_t> shape, double value) {
  DYN_TRY(HostTensor tensor, HostTensor::create(dtype, std::move(shape)));
  if (value != 0 && dtypeClass(dtype) != DtypeClass::text)
    for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, value);
  return tensor;
}

Result<HostTensor> rangeTensor(Dtype dtype, std::vector<int64_t> shape) {
  DYN_TRY(HostTensor tensor, HostTensor::create(dtype, std::move(shape)));
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (isInteger(dtype) || dtypeClass(dtype) == DtypeClass::boolean)
      tensor.setInt(i, i);
    else if (dtypeClass(dtype) != DtypeClass::text)
      tensor.setReal(i, static_cast<double>(i));
  }
  return tensor;
}

}  // namespace dyn
