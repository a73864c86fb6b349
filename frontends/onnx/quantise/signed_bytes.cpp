#include "frontends/onnx/quantise/signed_bytes.h"

#include <algorithm>
#include <cmath>

namespace dyn::onnx {

SignedBytes signedBytes(std::span<const float> elements, std::span<const int64_t> dims, size_t axis,
                        std::span<const float> least) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t channels = dims[axis];
  const auto channelOf = [&](size_t place) {
    return static_cast<size_t>(static_cast<int64_t>(place) / inner % channels);
  };
  SignedBytes made;
  made.numbers.resize(elements.size());
  made.scales.assign(static_cast<size_t>(channels), 0.0f);
  for (size_t i = 0; i < elements.size(); ++i) {
    float& largest = made.scales[channelOf(i)];
    largest = std::max(largest, std::abs(elements[i]));
  }
  for (size_t channel = 0; channel < made.scales.size(); ++channel) {
    float& scale = made.scales[channel];
    scale /= 127.0f;
    if (channel < least.size()) scale = std::max(scale, least[channel]);
    if (scale == 0) scale = 1;  // also of the smallest numbers
  }
  double squares = 0, errors = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const float x = elements[i], scale = made.scales[channelOf(i)];
    const float number = std::clamp(std::nearbyint(x / scale), -127.0f, 127.0f);
    made.numbers[i] = static_cast<int8_t>(number);
    const double error = static_cast<double>(x) - static_cast<double>(number) * scale;
    squares += static_cast<double>(x) * x;
    errors += error * error;
  }
  made.relative = squares > 0 ? std::sqrt(errors / squares) : 0;
  return made;
}

}  // namespace dyn::onnx
