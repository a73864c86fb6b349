// Sound from .wav files: PCM of 8, 16, 24 or 32 bits and floats of 32 or 64, as numbers from -1 to 1.
//
//   DYN_TRY(Wave wave, readWave("word.wav"));   // wave.samples: channels of a moment side by side
//
// Other encodings are unsupportedFeature, a damaged file is fileFormat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

struct Wave {
  int64_t rate = 0;  // moments a second
  int channels = 1;
  std::vector<float> samples;
  int64_t length() const { return static_cast<int64_t>(samples.size()) / channels; }
};

Result<Wave> readWave(const std::string& path);

}  // namespace dyn
