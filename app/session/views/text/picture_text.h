// Pictures in a terminal: a tensor as pixels, by coloured half blocks or by what the terminal has for
// pictures.
//
//   std::string drawn = pictureText(view, options);   // "" where the terminal shows none, or nothing has two axes
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/views/value_views.h"
#include "app/session/views/view_text.h"

namespace dyn {

// Rows of pixels, 0xRRGGBBAA; an alpha of 0 is the terminal's background.
struct Raster {
  int rows = 0, columns = 0;
  std::vector<uint32_t> pixels;

  Raster(int rows, int columns);
  uint32_t& at(int row, int column);
  uint32_t at(int row, int column) const;
};

// The picture, the maps beside each other, or the slice; with a line below that says which.
std::string pictureText(const TensorView& view, const TextOptions& options);

// Is a picture of kitty's or of sixels in the text?
bool hasPixels(std::string_view text);

// Each ends in a newline.
std::string halfBlocks(const Raster& raster, bool trueColor);  // a line of text for two rows of pixels
std::string kittyPicture(const Raster& raster);                // kitty's graphics protocol
std::string sixelPicture(const Raster& raster);                // 216 colours

}  // namespace dyn
