#include "app/session/views/text/picture_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace dyn {
namespace {

constexpr int kMostPixelRows = 48;   // pixels: 24 lines of half blocks
constexpr int kMostEnlarged = 4;     // a small matrix is drawn as large as that
constexpr int kFewestMapsInRow = 4;  // maps are thinned until so many fit
constexpr std::string_view kKittyStart = "\033_G", kSixelStart = "\033P";
constexpr uint32_t kNotANumber = 0xE0342FFF;

uint32_t colour(double red, double green, double blue) {
  const auto byte = [](double part) {
    return static_cast<uint32_t>(std::lround(std::clamp(part, 0.0, 255.0)));
  };
  return byte(red) << 24 | byte(green) << 16 | byte(blue) << 8 | 0xFF;
}

// From dark violet over green to yellow: the lightness grows evenly, so that it reads without colours too.
uint32_t colourOf(double value, double from, double to) {
  if (std::isnan(value)) return kNotANumber;
  static constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  // Halves keep the width of a range that is wider than a double.
  const double half = to / 2 - from / 2;
  const double share = half > 0 ? std::clamp((value / 2 - from / 2) / half, 0.0, 1.0) : 0;
  const double place = share * (kStops.size() - 1);
  const size_t left = std::min(static_cast<size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(left);
  const auto mixed = [&](size_t c) { return kStops[left][c] * (1 - part) + kStops[left + 1][c] * part; };
  return colour(mixed(0), mixed(1), mixed(2));
}

Raster rasterOfPicture(const TensorView& view) {
  Raster raster(view.pictureRows, view.pictureColumns);
  const int channels = view.pictureChannels;
  for (size_t i = 0; i < raster.pixels.size(); ++i) {
    const uint8_t* pixel = view.picture.data() + i * static_cast<size_t>(channels);
    const bool grey = channels < 3;
    raster.pixels[i] = colour(pixel[0], pixel[grey ? 0 : 1], pixel[grey ? 0 : 2]);
  }
  return raster;
}

template <typename Number>
Raster rasterOfValues(std::span<const Number> values, int rows, int columns, double from, double to) {
  Raster raster(rows, columns);
  for (size_t i = 0; i < raster.pixels.size(); ++i)
    raster.pixels[i] = colourOf(static_cast<double>(values[i]), from, to);
  return raster;
}

// Each pixel the mean of `factor` x `factor` of them, fewer at the edges.
Raster thinned(const Raster& raster, int factor) {
  if (factor <= 1) return raster;
  Raster small((raster.rows + factor - 1) / factor, (raster.columns + factor - 1) / factor);
  for (int r = 0; r < small.rows; ++r)
    for (int c = 0; c < small.columns; ++c) {
      std::array<double, 3> sum{};
      int count = 0;
      for (int y = r * factor; y < std::min(raster.rows, (r + 1) * factor); ++y)
        for (int x = c * factor; x < std::min(raster.columns, (c + 1) * factor); ++x, ++count)
          for (int k = 0; k < 3; ++k) sum[static_cast<size_t>(k)] += raster.at(y, x) >> (24 - 8 * k) & 0xFF;
      small.at(r, c) = colour(sum[0] / count, sum[1] / count, sum[2] / count);
    }
  return small;
}

Raster enlarged(const Raster& raster, int factor) {
  if (factor <= 1) return raster;
  Raster large(raster.rows * factor, raster.columns * factor);
  for (int r = 0; r < large.rows; ++r)
    for (int c = 0; c < large.columns; ++c) large.at(r, c) = raster.at(r / factor, c / factor);
  return large;
}

int factorFor(int size, int most) { return std::max(1, (size + most - 1) / std::max(1, most)); }

Raster fitted(const Raster& raster, int columns) {
  const int down = std::max(factorFor(raster.columns, columns), factorFor(raster.rows, kMostPixelRows));
  if (down > 1) return thinned(raster, down);
  return enlarged(raster, std::min({kMostEnlarged, columns / raster.columns, kMostPixelRows / raster.rows}));
}

struct Drawn {
  Raster raster;
  std::string caption;
};

std::string colourRange(double from, double to) {
  if (from > to) return "no finite number";
  return fmt::format("{:.4g} violet to {:.4g} yellow", from, to);
}

// As many as fit, beside and below each other, with a pixel between them.
Drawn drawnMaps(const TensorView& view, int columns) {
  const size_t cells = static_cast<size_t>(view.mapRows) * static_cast<size_t>(view.mapColumns);
  const int held = static_cast<int>(view.maps.size() / cells);
  double from = INFINITY, to = -INFINITY;
  for (const float x : view.maps)
    if (std::isfinite(x)) {
      from = std::min<double>(from, x);
      to = std::max<double>(to, x);
    }
  const int down = std::max(factorFor(view.mapColumns, columns / std::min(held, kFewestMapsInRow) - 1),
                            factorFor(view.mapRows, kMostPixelRows / 2));
  const int height = (view.mapRows + down - 1) / down, width = (view.mapColumns + down - 1) / down;
  const int inRow = std::min(held, std::max(1, (columns + 1) / (width + 1)));
  const int rows = std::clamp(kMostPixelRows / (height + 1), 1, (held + inRow - 1) / inRow);
  const int shown = std::min(held, rows * inRow);
  Raster raster(rows * (height + 1) - 1, inRow * (width + 1) - 1);
  for (int m = 0; m < shown; ++m) {
    const auto map = std::span(view.maps).subspan(static_cast<size_t>(m) * cells, cells);
    const Raster one = thinned(rasterOfValues(map, view.mapRows, view.mapColumns, from, to), down);
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c)
        raster.at(m / inRow * (height + 1) + r, m % inRow * (width + 1) + c) = one.at(r, c);
  }
  const size_t axis = view.shape.size() - 3;
  return {std::move(raster), fmt::format("axis {}: {} to {} of {}, each {} x {}; {}", axis, view.firstMap,
                                         view.firstMap + shown - 1, view.mapsCount, view.sliceRows,
                                         view.sliceColumns, colourRange(from, to))};
}

// Three channels are colours whatever the type; one or four may as well be heads or features, unless they are
// bytes.
bool isPicture(const TensorView& view) {
  return !view.picture.empty() && view.shape.size() > 2 && (view.pictureChannels == 3 || view.dtype == "u8");
}

std::optional<Drawn> drawn(const TensorView& view, int columns) {
  if (isPicture(view))
    return Drawn{fitted(rasterOfPicture(view), columns),
                 fmt::format("{} as a picture: {:.4g} black to {:.4g} white", view.pictureAxes,
                             view.pictureFrom, view.pictureTo)};
  if (view.mapsCount > 1 && !view.maps.empty() && view.mapRows > 1) return drawnMaps(view, columns);
  if (view.gridRows < 2 || view.gridColumns < 2) return std::nullopt;
  double from = INFINITY, to = -INFINITY;
  for (const double x : view.grid)
    if (std::isfinite(x)) {
      from = std::min(from, x);
      to = std::max(to, x);
    }
  const Raster slice = rasterOfValues(std::span(view.grid), view.gridRows, view.gridColumns, from, to);
  return Drawn{fitted(slice, columns),
               fmt::format("{} x {}; {}", view.sliceRows, view.sliceColumns, colourRange(from, to))};
}

// The nearest of the 6 x 6 x 6 colours, or of the greys, that terminals of 256 colours have.
int paletteIndex(uint32_t pixel) {
  const int red = pixel >> 24 & 0xFF, green = pixel >> 16 & 0xFF, blue = pixel >> 8 & 0xFF;
  const auto step = [](int part) { return part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40; };
  if (std::max({red, green, blue}) - std::min({red, green, blue}) < 8)
    return red < 4 ? 16 : red > 246 ? 231 : 232 + std::min(23, (red - 3) / 10);
  return 16 + 36 * step(red) + 6 * step(green) + step(blue);
}

std::string ink(uint32_t pixel, bool trueColor, bool foreground) {
  const int layer = foreground ? 38 : 48;
  if (!trueColor) return fmt::format("{};5;{}", layer, paletteIndex(pixel));
  return fmt::format("{};2;{};{};{}", layer, pixel >> 24 & 0xFF, pixel >> 16 & 0xFF, pixel >> 8 & 0xFF);
}

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace

Raster::Raster(int rows, int columns)
    : rows(rows), columns(columns), pixels(static_cast<size_t>(rows) * static_cast<size_t>(columns), 0) {}

uint32_t& Raster::at(int row, int column) {
  return pixels[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)];
}

uint32_t Raster::at(int row, int column) const { return const_cast<Raster*>(this)->at(row, column); }

bool hasPixels(std::string_view text) {
  return text.find(kKittyStart) != std::string_view::npos || text.find(kSixelStart) != std::string_view::npos;
}

std::string halfBlocks(const Raster& raster, bool trueColor) {
  std::string text;
  for (int r = 0; r < raster.rows; r += 2) {
    std::string before;
    for (int c = 0; c < raster.columns; ++c) {
      const uint32_t above = raster.at(r, c);
      const uint32_t below = r + 1 < raster.rows ? raster.at(r + 1, c) : 0;
      const bool hasAbove = above & 0xFF, hasBelow = below & 0xFF;
      std::string inks = "0";
      if (hasAbove) inks += ";" + ink(above, trueColor, true);
      if (hasBelow) inks += ";" + ink(below, trueColor, !hasAbove);
      if (inks != before) text += "\033[" + inks + "m";
      before = inks;
      text += hasAbove ? "▀" : hasBelow ? "▄" : " ";
    }
    text += "\033[0m\n";
  }
  return text;
}

std::string kittyPicture(const Raster& raster) {
  std::string bytes;
  for (const uint32_t pixel : raster.pixels)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(pixel >> shift & 0xFF);
  const std::string data = base64(bytes);
  constexpr size_t kChunk = 4096;
  std::string text;
  for (size_t at = 0; at < data.size(); at += kChunk) {
    // As many cells as half blocks would take.
    const std::string head = at > 0 ? ""
                                    : fmt::format("a=T,q=2,f=32,s={},v={},c={},r={},", raster.columns,
                                                  raster.rows, raster.columns, (raster.rows + 1) / 2);
    text += fmt::format("{}{}m={};{}\033\\", kKittyStart, head, at + kChunk < data.size() ? 1 : 0,
                        data.substr(at, kChunk));
  }
  return text + "\n";
}

std::string sixelPicture(const Raster& raster) {
  constexpr int kBand = 6;  // rows of pixels that one row of sixels holds
  const auto levelsOf = [](uint32_t pixel) {
    const auto level = [&](int shift) { return static_cast<int>((pixel >> shift & 0xFF) * 5 + 127) / 255; };
    return 36 * level(24) + 6 * level(16) + level(8);
  };
  std::string text = fmt::format("{}0;1;0q\"1;1;{};{}", kSixelStart, raster.columns, raster.rows);
  for (int i = 0; i < 216; ++i)
    text += fmt::format("#{};2;{};{};{}", i, i / 36 * 20, i / 6 % 6 * 20, i % 6 * 20);
  for (int top = 0; top < raster.rows; top += kBand) {
    const int bottom = std::min(raster.rows, top + kBand);
    std::array<bool, 216> used{};
    for (int r = top; r < bottom; ++r)
      for (int c = 0; c < raster.columns; ++c)
        if (raster.at(r, c) & 0xFF) used[static_cast<size_t>(levelsOf(raster.at(r, c)))] = true;
    for (int i = 0; i < 216; ++i) {
      if (!used[static_cast<size_t>(i)]) continue;
      text += fmt::format("#{}", i);
      for (int c = 0; c < raster.columns;) {
        const auto sixelAt = [&](int column) {
          int bits = 0;
          for (int r = top; r < bottom; ++r)
            if ((raster.at(r, column) & 0xFF) && levelsOf(raster.at(r, column)) == i) bits |= 1 << (r - top);
          return static_cast<char>('?' + bits);
        };
        const char sixel = sixelAt(c);
        int end = c + 1;
        while (end < raster.columns && sixelAt(end) == sixel) ++end;
        text += end - c > 3 ? fmt::format("!{}{}", end - c, sixel)
                            : std::string(static_cast<size_t>(end - c), sixel);
        c = end;
      }
      text += '$';
    }
    text += '-';
  }
  return text + "\033\\\n";
}

std::string pictureText(const TensorView& view, const TextOptions& options) {
  using Pictures = TextOptions::Pictures;
  if (options.pictures == Pictures::off) return "";
  const std::optional<Drawn> made = drawn(view, std::min(options.width, 120));
  if (!made) return "";
  // A pixel of a sixel is one of the screen.
  constexpr int kScreenPixels = 8;
  const std::string picture = options.pictures == Pictures::kitty ? kittyPicture(made->raster)
                              : options.pictures == Pictures::sixel
                                  ? sixelPicture(enlarged(made->raster, kScreenPixels))
                                  : halfBlocks(made->raster, options.trueColor);
  return picture + made->caption + "\n";
}

}  // namespace dyn
