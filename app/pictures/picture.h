// Pictures as bytes: PNG (libpng), JPEG (libjpeg), BMP, PPM and PGM.
//
//   DYN_TRY(Picture picture, readPicture("cat.png"));    // rows from the top, 1 to 4 bytes a pixel
//   DYN_TRY(Picture picture, decodePicture(bytes, "input"));
//
// What a build without libpng or libjpeg cannot read is unsupportedFeature and names the package; a damaged
// file is fileFormat. Sixteen bits a channel are read as eight. Memory is bounded by kMostPixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

inline constexpr int64_t kMostPixels = int64_t{1} << 27;

struct Picture {
  int64_t width = 0, height = 0;
  int channels = 3;  // 1: grey, 2: grey and alpha, 3: red, green, blue, 4: and alpha
  std::vector<uint8_t> bytes;
};

Result<Picture> readPicture(const std::string& path);
// Of the bytes of a file; `name` is that of errors.
Result<Picture> decodePicture(std::string_view bytes, const std::string& name);
// The same without pixels: width, height and channels, by the head of the file.
Result<Picture> sizeOfPicture(std::string_view bytes, const std::string& name);
// Does the name end as one of these files does?
bool isPictureName(const std::string& path);

// Another size, each pixel the mean of those it covers, weighted by a triangle.
Picture resized(const Picture& picture, int64_t height, int64_t width);
// With so many channels (1, 3 or 4): grey is the luma of red, green and blue, alpha is opaque where there is
// none, and dropped where it is not asked for.
Picture withChannels(Picture picture, int channels);

}  // namespace dyn
