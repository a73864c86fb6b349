// What a terminal would draw is read back out of the text, and compared with what was to be drawn.
#include "app/session/views/text/picture_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <limits>

#include "app/session/answers/tensor_view.h"

namespace dyn {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using Pictures = TextOptions::Pictures;

HostTensor countingUp(std::vector<int64_t> shape) {
  HostTensor tensor = *HostTensor::create(Dtype::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, static_cast<double>(i));
  return tensor;
}

TensorView viewOf(const HostTensor& tensor) {
  Result<TensorView> view = tensorView("x", tensor, "");
  EXPECT_TRUE(view.ok());
  return *view;
}

TextOptions drawing(Pictures pictures, int width = 100) {
  TextOptions options;
  options.pictures = pictures;
  options.trueColor = true;
  options.width = width;
  return options;
}

uint32_t pixelOf(uint32_t red, uint32_t green, uint32_t blue) {
  return red << 24 | green << 16 | blue << 8 | 0xFF;
}

// Of true colours.
Raster readHalfBlocks(const std::string& text) {
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> lines(1);
  uint32_t ink = 0, ground = 0;
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "\033[") == 0) {
      const size_t end = text.find('m', i);
      std::vector<uint32_t> codes;
      for (const char* at = text.data() + i + 2; at < text.data() + end;) {
        char* after = nullptr;
        codes.push_back(static_cast<uint32_t>(std::strtoul(at, &after, 10)));
        at = after + 1;
      }
      for (size_t k = 0; k < codes.size(); ++k) {
        if (codes[k] == 0) ink = ground = 0;
        if (codes[k] != 38 && codes[k] != 48) continue;
        EXPECT_EQ(codes.at(k + 1), 2u);
        (codes[k] == 38 ? ink : ground) = pixelOf(codes.at(k + 2), codes.at(k + 3), codes.at(k + 4));
        k += 4;
      }
      i = end + 1;
    } else if (text[i] == '\n') {
      lines.emplace_back();
      ++i;
    } else if (text[i] == ' ') {
      lines.back().emplace_back(0, 0);
      ++i;
    } else {
      const std::string block = text.substr(i, 3);
      EXPECT_TRUE(block == "▀" || block == "▄") << block;
      block == "▀" ? lines.back().emplace_back(ink, ground) : lines.back().emplace_back(0, ink);
      i += 3;
    }
  }
  lines.pop_back();
  Raster raster(static_cast<int>(2 * lines.size()), static_cast<int>(lines.at(0).size()));
  for (size_t r = 0; r < lines.size(); ++r)
    for (size_t c = 0; c < lines[r].size(); ++c) {
      raster.at(static_cast<int>(2 * r), static_cast<int>(c)) = lines[r][c].first;
      raster.at(static_cast<int>(2 * r + 1), static_cast<int>(c)) = lines[r][c].second;
    }
  return raster;
}

Raster colourful(int rows, int columns) {
  Raster raster(rows, columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      if ((r + c) % 5 != 0)
        raster.at(r, c) = pixelOf(static_cast<uint32_t>(r % 6 * 51), static_cast<uint32_t>(c % 6 * 51),
                                  static_cast<uint32_t>((r * c) % 6 * 51));
  return raster;
}

TEST(Pictures, HalfBlocksHoldEachPixel) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {2, 3}, {7, 5}, {48, 100}}) {
    const Raster raster = colourful(rows, columns);
    const Raster read = readHalfBlocks(halfBlocks(raster, true));
    ASSERT_EQ(read.columns, columns);
    ASSERT_EQ(read.rows, (rows + 1) / 2 * 2);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) EXPECT_EQ(read.at(r, c), raster.at(r, c)) << r << ", " << c;
  }
}

TEST(Pictures, OnlyHalfBlocksGoThroughAPager) {
  const Raster raster = colourful(7, 5);
  EXPECT_FALSE(hasPixels(halfBlocks(raster, true)));
  EXPECT_TRUE(hasPixels(kittyPicture(raster)));
  EXPECT_TRUE(hasPixels(sixelPicture(raster)));
}

TEST(Pictures, ATerminalOf256ColoursGetsThose) {
  Raster raster(1, 3);
  raster.pixels = {pixelOf(255, 0, 0), pixelOf(128, 128, 128), pixelOf(0, 95, 255)};
  EXPECT_EQ(halfBlocks(raster, false), "\033[0;38;5;196m▀\033[0;38;5;244m▀\033[0;38;5;27m▀\033[0m\n");
}

TEST(Pictures, KittyGetsEachPixelInChunks) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 5}, {48, 100}}) {
    const Raster raster = colourful(rows, columns);
    const std::string text = kittyPicture(raster);
    EXPECT_THAT(text, HasSubstr("f=32,s=" + std::to_string(columns) + ",v=" + std::to_string(rows) + ","));
    std::string data;
    bool more = true;
    for (size_t at = text.find("\033_G"); at != std::string::npos; at = text.find("\033_G", at + 1)) {
      EXPECT_TRUE(more);
      const size_t begin = text.find(';', at), end = text.find("\033\\", at);
      more = text.substr(begin - 3, 3) == "m=1";
      ASSERT_LE(end - begin - 1, 4096u);
      data += text.substr(begin + 1, end - begin - 1);
    }
    EXPECT_FALSE(more);
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<uint8_t> bytes;
    uint32_t held = 0;
    int bits = 0;
    for (const char c : data) {
      if (c == '=') break;
      held = held << 6 | static_cast<uint32_t>(digits.find(c));
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      bytes.push_back(static_cast<uint8_t>(held >> bits & 0xFF));
    }
    ASSERT_EQ(bytes.size(), 4 * raster.pixels.size());
    for (size_t i = 0; i < raster.pixels.size(); ++i)
      EXPECT_EQ(
          uint32_t{bytes[4 * i]} << 24 | bytes[4 * i + 1] << 16 | bytes[4 * i + 2] << 8 | bytes[4 * i + 3],
          raster.pixels[i]);
  }
}

TEST(Pictures, SixelsHoldEachPixel) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {6, 4}, {13, 50}}) {
    const Raster raster = colourful(rows, columns);  // of the palette's colours
    const std::string text = sixelPicture(raster);
    ASSERT_THAT(text, EndsWith("\033\\\n"));
    Raster read((rows + 5) / 6 * 6, columns);
    std::vector<uint32_t> palette(216, 0);
    uint32_t ink = 0;
    int top = 0, column = 0, times = 1;
    for (size_t i = text.find('q') + 1; text[i] != '\033';) {
      const auto number = [&] {
        uint32_t value = 0;
        while (std::isdigit(static_cast<unsigned char>(text[i])))
          value = 10 * value + static_cast<uint32_t>(text[i++] - '0');
        return value;
      };
      const char c = text[i++];
      if (c == '"') {
        while (text[i] != '#') ++i;
      } else if (c == '#') {
        const uint32_t colour = number();
        if (text[i] != ';') {
          ink = palette.at(colour);
          continue;
        }
        uint32_t parts[4];
        for (uint32_t& part : parts) {
          ++i;
          part = number();
        }
        palette.at(colour) = pixelOf(parts[1] * 255 / 100, parts[2] * 255 / 100, parts[3] * 255 / 100);
      } else if (c == '!') {
        times = static_cast<int>(number());
      } else if (c == '$') {
        column = 0;
      } else if (c == '-') {
        top += 6;
        column = 0;
      } else {
        for (; times > 0; --times, ++column)
          for (int bit = 0; bit < 6; ++bit)
            if ((c - '?') >> bit & 1) read.at(top + bit, column) = ink;
        times = 1;
      }
    }
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < columns; ++k) EXPECT_EQ(read.at(r, k), raster.at(r, k)) << r << ", " << k;
  }
}

TEST(Pictures, AreDrawnWhereTheTerminalHasThemAndTwoAxesAreThere) {
  EXPECT_EQ(pictureText(viewOf(countingUp({4, 4})), TextOptions{}), "");
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{}, {5}, {0}, {1, 7}, {7, 1}, {0, 3}, {3, 0, 2}, {1, 1, 1, 1}})
    EXPECT_EQ(pictureText(viewOf(countingUp(shape)), drawing(Pictures::blocks)), "") << shape.size();
  const std::string small = pictureText(viewOf(countingUp({2, 3})), drawing(Pictures::blocks));
  EXPECT_THAT(small, EndsWith("2 x 3; 0 violet to 5 yellow\n"));
  // Enlarged fourfold: 8 rows of pixels.
  const Raster read = readHalfBlocks(small.substr(0, small.rfind("2 x 3")));
  EXPECT_EQ(read.rows, 8);
  EXPECT_EQ(read.columns, 12);
  EXPECT_EQ(read.at(0, 0), pixelOf(68, 1, 84));
  EXPECT_EQ(read.at(3, 3), pixelOf(68, 1, 84));
  EXPECT_EQ(read.at(7, 11), pixelOf(253, 231, 37));
}

TEST(Pictures, FitTheTerminalWhateverTheShape) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{500, 700},
                                                                             {2, 4000},
                                                                             {4000, 2},
                                                                             {1, 12, 128, 128},
                                                                             {1, 64, 7, 7},
                                                                             {3, 2, 90},
                                                                             {2, 3, 224, 224},
                                                                             {97, 3, 5, 5}})
    for (const int width : {40, 79, 100}) {
      const std::string text = pictureText(viewOf(countingUp(shape)), drawing(Pictures::blocks, width));
      ASSERT_FALSE(text.empty());
      const Raster read = readHalfBlocks(text.substr(0, text.rfind('\n', text.size() - 2) + 1));
      EXPECT_LE(read.columns, width);
      EXPECT_LE(read.rows, 48);
      EXPECT_GE(read.columns * read.rows, 4);
    }
}

TEST(Pictures, ColoursAreOfThreeChannelsAndMapsOfOthers) {
  EXPECT_THAT(pictureText(viewOf(countingUp({1, 3, 4, 4})), drawing(Pictures::blocks)),
              HasSubstr("NCHW as a picture"));
  EXPECT_THAT(pictureText(viewOf(countingUp({1, 4, 5, 6})), drawing(Pictures::blocks)),
              HasSubstr("axis 1: 0 to 3 of 4, each 5 x 6; 0 violet to 119 yellow"));
}

TEST(Pictures, NumbersThatAreNoneHaveAColourOfTheirOwn) {
  HostTensor tensor = countingUp({2, 2});
  tensor.setReal(1, std::numeric_limits<double>::quiet_NaN());
  const std::string text = pictureText(viewOf(tensor), drawing(Pictures::blocks));
  EXPECT_THAT(text, HasSubstr("224;52;47"));
  EXPECT_THAT(text, HasSubstr("0 violet to 3 yellow"));
  for (int64_t i = 0; i < 4; ++i) tensor.setReal(i, std::numeric_limits<double>::infinity());
  EXPECT_THAT(pictureText(viewOf(tensor), drawing(Pictures::blocks)), HasSubstr("no finite number"));
}

// As wide as a double can be, and as narrow.
TEST(Pictures, RangesWithoutAWidth) {
  HostTensor tensor = *HostTensor::create(Dtype::f64, {2, 2});
  const double largest = std::numeric_limits<double>::max(),
               smallest = std::numeric_limits<double>::denorm_min();
  const auto drawn = [&](double from, double to) {
    for (int64_t i = 0; i < 4; ++i) tensor.setReal(i, i < 2 ? from : to);
    const std::string text = pictureText(viewOf(tensor), drawing(Pictures::blocks));
    return readHalfBlocks(text.substr(0, text.rfind("2 x 2")));
  };
  const Raster wide = drawn(-largest, largest);
  EXPECT_EQ(wide.at(0, 0), pixelOf(68, 1, 84));
  EXPECT_EQ(wide.at(wide.rows - 1, wide.columns - 1), pixelOf(253, 231, 37));
  EXPECT_EQ(drawn(0, smallest).at(0, 0), pixelOf(68, 1, 84));
}

}  // namespace
}  // namespace dyn
