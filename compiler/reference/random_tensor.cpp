#include "compiler/reference/random_tensor.h"

namespace dyn {

RandomSource::RandomSource(uint64_t seed, std::string_view stream) : state_(seed) {
  for (const char c : stream) {
    state_ ^= static_cast<unsigned char>(c);
    next();
  }
}

uint64_t RandomSource::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double RandomSource::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double RandomSource::normal() {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum - 6.0;
}

uint64_t RandomSource::below(uint64_t bound) { return bound ? next() % bound : 0; }

Result<HostTensor> randomTensor(Dtype dtype, std::vector<int64_t> shape, RandomSource source,
                                uint64_t integerBound) {
  DYN_TRY(HostTensor tensor, HostTensor::create(dtype, std::move(shape)));
  const DtypeClass cls = dtypeClass(dtype);
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
