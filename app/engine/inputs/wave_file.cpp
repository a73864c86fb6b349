#include "app/engine/inputs/wave_file.h"

#include <cstring>

#include "app/pictures/little_endian.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

enum Encoding : uint64_t { kPcm = 1, kFloat = 3, kExtensible = 0xFFFE };

template <typename Real, typename Bits>
float realOf(uint64_t bits) {
  const Bits narrow = static_cast<Bits>(bits);
  Real value;
  std::memcpy(&value, &narrow, sizeof value);
  return static_cast<float>(value);
}

float sampleOf(std::string_view bytes, size_t at, size_t width, uint64_t encoding) {
  const uint64_t bits = littleEndian(bytes, at, width);
  if (encoding == kFloat) return width == 4 ? realOf<float, uint32_t>(bits) : realOf<double, uint64_t>(bits);
  if (width == 1) return (static_cast<float>(bits) - 128.f) / 128.f;  // alone without a sign
  const int64_t half = int64_t{1} << (8 * width - 1);
  const int64_t value = static_cast<int64_t>(bits) - (static_cast<int64_t>(bits) >= half ? 2 * half : 0);
  return static_cast<float>(static_cast<double>(value) / static_cast<double>(half));
}

}  // namespace

Result<Wave> readWave(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  const std::string_view bytes = file.bytes();
  const auto damaged = [&](const char* what) {
    return makeError(DiagnosticId::fileFormat, path + ": " + what);
  };
  if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE")
    return damaged("no WAV file");
  Wave wave;
  uint64_t encoding = 0;
  size_t width = 0;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view name = bytes.substr(at, 4);
    size_t size = static_cast<size_t>(littleEndian(bytes, at + 4, 4));
    at += 8;
    if (name == "fmt ") {
      if (size < 16 || size > bytes.size() - at) return damaged("the format chunk is damaged");
      encoding = littleEndian(bytes, at, 2);
      wave.channels = static_cast<int>(littleEndian(bytes, at + 2, 2));
      wave.rate = static_cast<int64_t>(littleEndian(bytes, at + 4, 4));
      const uint64_t bits = littleEndian(bytes, at + 14, 2);
      if (encoding == kExtensible && size >= 26) encoding = littleEndian(bytes, at + 24, 2);
      width = static_cast<size_t>(bits / 8);
      const bool known = bits % 8 == 0 && (encoding == kPcm     ? width >= 1 && width <= 4
                                           : encoding == kFloat ? width == 4 || width == 8
                                                                : false);
      if (!known)
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: " + path + ": encoding " + std::to_string(encoding) + " of " +
                             std::to_string(bits) + " bits; PCM of 8 to 32 bits and floats can be read");
      if (wave.channels == 0) return damaged("no channels");
    } else if (name == "data") {
      if (width == 0) return damaged("its data come before their format");
      size = std::min(size, bytes.size() - at);  // of a stream whose length was not known when it began
      const size_t moment = width * static_cast<size_t>(wave.channels), count = size / moment;
      wave.samples.reserve(count * static_cast<size_t>(wave.channels));
      for (size_t i = 0; i < count * static_cast<size_t>(wave.channels); ++i)
        wave.samples.push_back(sampleOf(bytes, at + i * width, width, encoding));
      return wave;
    }
    if (size > bytes.size() - at) break;
    at += size + size % 2;
  }
  return damaged("no sound in it");
}

}  // namespace dyn
