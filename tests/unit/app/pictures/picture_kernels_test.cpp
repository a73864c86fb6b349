// The kernels of ImageDecoder, called as programs call them.
#include "app/pictures/picture_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vm/include/dynvm.h"

namespace dyn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Told : DynBuiltinContext {
  std::string text;
  Told() : DynBuiltinContext{} {
    threads = 1;
    DynBuiltinContext::fault = [](const DynBuiltinContext* context, const char* reported) {
      const_cast<Told*>(static_cast<const Told*>(context))->text = reported;
    };
  }
};

class PictureKernelsTest : public testing::Test {
 protected:
  static const DynBuiltinKernel& named(std::string_view name) {
    for (const DynCustomKernel& kernel : pictureKernels())
      if (kernel.name == name) return kernel.kernel;
    ADD_FAILURE() << name;
    return pictureKernels()[0].kernel;
  }
  int32_t call(std::string_view name, std::string bytes, int64_t order, DynTensorView result) {
    const auto size = static_cast<int64_t>(bytes.size());
    const DynTensorView arguments[] = {{bytes.data(), &size, nullptr, size, 1, DYN_U8},
                                       {&order, nullptr, nullptr, 1, 0, DYN_I64}};
    DynBuiltinCall asked = {};
    asked.context = &told_;
    asked.arguments = arguments;
    asked.argumentCount = name == "dyn_picture" ? 2 : 1;
    asked.results = &result;
    asked.resultCount = 1;
    return named(name).run(&asked);
  }
  int32_t sizeOf(const std::string& bytes) {
    const int64_t two = 2;
    return call("dyn_picture_size", bytes, 0, {size_, &two, nullptr, 2, 1, DYN_I64});
  }
  int32_t pixelsOf(const std::string& bytes, PixelOrder order, int64_t height, int64_t width,
                   int64_t channels) {
    const int64_t shape[] = {height, width, channels};
    pixels_.assign(static_cast<size_t>(height * width * channels), 0);
    return call("dyn_picture", bytes, static_cast<int64_t>(order),
                {pixels_.data(), shape, nullptr, height * width * channels, 3, DYN_U8});
  }

  Told told_;
  int64_t size_[2] = {-1, -1};
  std::vector<uint8_t> pixels_;
};

// One row of two pixels.
const std::string kColors = "P6 2 1 255\n\x0A\x14\x1E\xFF\x80\x40", kGrey = "P5 2 1 255\n\x07\xC8";

TEST_F(PictureKernelsTest, TheSizeIsInTheHead) {
  EXPECT_EQ(sizeOf(kColors), DYN_OK);
  EXPECT_THAT(size_, ElementsAre(1, 2));
  EXPECT_EQ(sizeOf("P5 700 31 255\n"), DYN_OK);  // no pixel is read
  EXPECT_THAT(size_, ElementsAre(31, 700));
}

TEST_F(PictureKernelsTest, ChannelsAreInTheOrderThatIsAskedFor) {
  EXPECT_EQ(pixelsOf(kColors, PixelOrder::rgb, 1, 2, 3), DYN_OK);
  EXPECT_THAT(pixels_, ElementsAre(10, 20, 30, 255, 128, 64));
  EXPECT_EQ(pixelsOf(kColors, PixelOrder::bgr, 1, 2, 3), DYN_OK);
  EXPECT_THAT(pixels_, ElementsAre(30, 20, 10, 64, 128, 255));
  EXPECT_EQ(pixelsOf(kColors, PixelOrder::grayscale, 1, 2, 1), DYN_OK);
  EXPECT_THAT(pixels_, ElementsAre(18, 159));  // 0.299 red + 0.587 green + 0.114 blue
  EXPECT_EQ(pixelsOf(kGrey, PixelOrder::bgr, 1, 2, 3), DYN_OK);
  EXPECT_THAT(pixels_, ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST_F(PictureKernelsTest, WhatIsNoPictureIsSaid) {
  EXPECT_EQ(sizeOf("hello, this is no picture"), DYN_BAD_INPUT);
  EXPECT_THAT(told_.text, HasSubstr("no PNG, JPEG, BMP"));
  EXPECT_EQ(sizeOf(""), DYN_BAD_INPUT);
  EXPECT_EQ(sizeOf("P6 0 5 255\n"), DYN_BAD_INPUT);
  EXPECT_THAT(told_.text, HasSubstr("0 x 5"));
  EXPECT_EQ(sizeOf("P6 99999999 99999999 255\n"), DYN_BAD_INPUT);
  EXPECT_EQ(pixelsOf(kColors.substr(0, kColors.size() - 1), PixelOrder::rgb, 1, 2, 3), DYN_BAD_INPUT);
  EXPECT_EQ(pixelsOf(kColors, PixelOrder::rgb, 2, 1, 3), DYN_BAD_INPUT);
  EXPECT_THAT(told_.text, HasSubstr("another size"));
}

TEST_F(PictureKernelsTest, OtherFormatsAreNamed) {
  const struct {
    std::string bytes;
    const char* format;
  } kOthers[] = {{std::string("RIFF\x10\0\0\0WEBPVP8 ", 16), "WebP"},
                 {std::string("II*\0\x08\0\0\0", 8), "TIFF"},
                 {std::string("\0\0\0\x0CjP  \r\n\x87\n", 12), "JPEG 2000"},
                 {"GIF89a", "GIF"}};
  for (const auto& other : kOthers) {
    EXPECT_EQ(sizeOf(other.bytes), DYN_UNSUPPORTED) << other.format;
    EXPECT_THAT(told_.text, HasSubstr(other.format));
  }
}

}  // namespace
}  // namespace dyn
