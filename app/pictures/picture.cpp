#include "app/pictures/picture.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "app/pictures/little_endian.h"
#include "compiler/support/mapped_file.h"

#ifdef DYN_HAVE_PNG
#include <png.h>
#endif
#ifdef DYN_HAVE_JPEG
#include <jpeglib.h>
#endif

namespace dyn {

namespace {

// The bytes of a file, and what is asked of them.
struct EncodedPicture {
  std::string_view bytes;
  const std::string& name;
  bool onlySize = false;
};

Error damaged(const std::string& path, const std::string& what) {
  return makeError(DiagnosticId::fileFormat, path + ": " + what);
}

bool fitsInMemory(int64_t width, int64_t height) {
  return width > 0 && height > 0 && width <= kMostPixels && height <= kMostPixels / width;
}

Result<Picture> emptyPicture(const EncodedPicture& file, int64_t width, int64_t height, int channels) {
  if (!fitsInMemory(width, height))
    return damaged(file.name,
                   "a picture of " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  Picture picture{width, height, channels, {}};
  if (!file.onlySize) picture.bytes.resize(static_cast<size_t>(width * height * channels));
  return picture;
}

#ifdef DYN_HAVE_PNG
Result<Picture> readPng(const EncodedPicture& file) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  const auto fault = [&] {
    const std::string message = image.message;
    png_image_free(&image);
    return damaged(file.name, "no PNG that can be read: " + message);
  };
  if (!png_image_begin_read_from_memory(&image, file.bytes.data(), file.bytes.size())) return fault();
  const bool colors = image.format & PNG_FORMAT_FLAG_COLOR, alpha = image.format & PNG_FORMAT_FLAG_ALPHA;
  image.format =
      colors ? (alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB) : (alpha ? PNG_FORMAT_GA : PNG_FORMAT_GRAY);
  Result<Picture> picture = emptyPicture(file, image.width, image.height, (colors ? 3 : 1) + (alpha ? 1 : 0));
  if (!picture.ok() || file.onlySize) {
    png_image_free(&image);
    return picture;
  }
  if (!png_image_finish_read(&image, nullptr, picture->bytes.data(), 0, nullptr)) return fault();
  return picture;
}
#else
Result<Picture> readPng(const EncodedPicture& file) {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: " + file.name + ": this build is without libpng");
}
#endif

#ifdef DYN_HAVE_JPEG
// libjpeg leaves a fault by a jump: nothing with a destructor lives in the functions that it may jump out of.
struct JpegFault {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void leave(j_common_ptr common) {
  auto* fault = reinterpret_cast<JpegFault*>(common->err);
  common->err->format_message(common, fault->message);
  std::longjmp(fault->back, 1);
}

bool jpegHeader(jpeg_decompress_struct* jpeg, JpegFault* fault, const unsigned char* bytes, size_t size) {
  if (setjmp(fault->back)) return false;
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, bytes, static_cast<unsigned long>(size));
  jpeg_read_header(jpeg, TRUE);
  if (jpeg->out_color_space != JCS_GRAYSCALE) jpeg->out_color_space = JCS_RGB;
  jpeg_calc_output_dimensions(jpeg);
  return true;
}

bool jpegRows(jpeg_decompress_struct* jpeg, JpegFault* fault, uint8_t* to, size_t rowBytes) {
  if (setjmp(fault->back)) return false;
  jpeg_start_decompress(jpeg);
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = to + jpeg->output_scanline * rowBytes;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_decompress(jpeg);
  return true;
}

Result<Picture> readJpeg(const EncodedPicture& file) {
  jpeg_decompress_struct jpeg;
  std::memset(&jpeg, 0, sizeof jpeg);
  JpegFault fault;
  jpeg.err = jpeg_std_error(&fault.base);
  fault.base.error_exit = leave;
  fault.base.output_message = [](j_common_ptr) {};  // warnings are counted
  fault.message[0] = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.bytes.data());
  Result<Picture> picture = damaged(file.name, "no JPEG that can be read");
  if (jpegHeader(&jpeg, &fault, bytes, file.bytes.size())) {
    const int channels = jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3;
    picture = emptyPicture(file, jpeg.output_width, jpeg.output_height, channels);
    if (picture.ok() && !file.onlySize &&
        (!jpegRows(&jpeg, &fault, picture->bytes.data(),
                   static_cast<size_t>(picture->width) * static_cast<size_t>(channels)) ||
         fault.base.num_warnings > 0))
      picture = damaged(file.name, "a damaged JPEG");
  }
  if (!picture.ok() && fault.message[0] != 0) {
    Error error{picture.error()};
    picture = std::move(error).note(fault.message);
  }
  jpeg_destroy_decompress(&jpeg);
  return picture;
}
#else
Result<Picture> readJpeg(const EncodedPicture& file) {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: " + file.name + ": this build is without libjpeg");
}
#endif

// 24 and 32 bits a pixel, not compressed; a negative height says that rows begin at the top.
Result<Picture> readBmp(const EncodedPicture& file) {
  const std::string_view bytes = file.bytes;
  if (bytes.size() < 54) return damaged(file.name, "a BMP of " + std::to_string(bytes.size()) + " bytes");
  const auto number = [&](size_t at, size_t count) {
    return static_cast<uint32_t>(littleEndian(bytes, at, count));
  };
  const uint32_t begin = number(10, 4), bits = number(28, 2), packed = number(30, 4);
  const int64_t width = static_cast<int32_t>(number(18, 4));
  const int64_t rows = static_cast<int32_t>(number(22, 4)), height = std::abs(rows);
  if ((bits != 24 && bits != 32) || (packed != 0 && packed != 3))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: " + file.name + ": a BMP of other than 24 or 32 bits, or compressed");
  DYN_TRY(Picture picture, emptyPicture(file, width, height, 3));
  if (file.onlySize) return picture;
  const int64_t pixel = bits / 8, stride = (width * pixel + 3) / 4 * 4;
  if (static_cast<int64_t>(bytes.size()) < begin + stride * height)
    return damaged(file.name, "the BMP ends before its last row");
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < 3; ++c)  // blue first in the file
        picture.bytes[static_cast<size_t>((y * width + x) * 3 + c)] = static_cast<uint8_t>(
            bytes[static_cast<size_t>(begin + (rows < 0 ? y : height - 1 - y) * stride + x * pixel + 2 - c)]);
  return picture;
}

// "P6 640 480 255" and a byte of blank space; comments run from # to the end of their line.
Result<Picture> readPnm(const EncodedPicture& file) {
  const std::string_view bytes = file.bytes;
  size_t at = 2;
  int64_t numbers[3] = {0, 0, 0};
  for (int64_t& number : numbers) {
    while (at < bytes.size() && (std::isspace(static_cast<unsigned char>(bytes[at])) || bytes[at] == '#')) {
      if (bytes[at] == '#')
        while (at < bytes.size() && bytes[at] != '\n') ++at;
      else
        ++at;
    }
    while (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9' && number < kMostPixels)
      number = number * 10 + (bytes[at++] - '0');
  }
  ++at;
  if (numbers[2] != 255) return damaged(file.name, "a PPM or PGM of other than 255 steps");
  DYN_TRY(Picture picture, emptyPicture(file, numbers[0], numbers[1], bytes[1] == '6' ? 3 : 1));
  if (file.onlySize) return picture;
  if (at > bytes.size() || bytes.size() - at < picture.bytes.size())
    return damaged(file.name, "it ends before its last row");
  std::memcpy(picture.bytes.data(), bytes.data() + at, picture.bytes.size());
  return picture;
}

// Weights of one axis: of `to` places the pixels of `from` that each stands for.
struct Reach {
  int64_t begin = 0;
  std::vector<double> weights;
};

std::vector<Reach> reachesOf(int64_t from, int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to), width = std::max(1.0, step);
  std::vector<Reach> reaches;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * step;
    Reach reach;
    reach.begin = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - width)));
    const int64_t end = std::min(from, static_cast<int64_t>(std::ceil(center + width)));
    double sum = 0;
    for (int64_t k = reach.begin; k < end; ++k) {
      const double away = std::abs(static_cast<double>(k) + 0.5 - center) / width;
      reach.weights.push_back(std::max(0.0, 1 - away));
      sum += reach.weights.back();
    }
    for (double& weight : reach.weights) weight /= sum;
    reaches.push_back(std::move(reach));
  }
  return reaches;
}

std::string imageEndingOf(const std::string& path) {
  const size_t dot = path.rfind('.');
  std::string ending = dot == std::string::npos ? "" : path.substr(dot);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

// Formats that this build does not read, by what their files begin with.
const char* otherFormat(std::string_view bytes) {
  const auto has = [&](size_t at, std::string_view text) {
    return bytes.size() >= at && bytes.substr(at).starts_with(text);
  };
  if (has(0, "RIFF") && has(8, "WEBP")) return "WebP";
  if (has(0, {"II*\0", 4}) || has(0, {"MM\0*", 4})) return "TIFF";
  if (has(4, "jP  ") || has(0, "\xFF\x4F\xFF\x51")) return "JPEG 2000";
  return has(0, "GIF8") ? "GIF" : nullptr;
}

// By their first bytes: names lie.
Result<Picture> decode(const EncodedPicture& file) {
  const std::string_view bytes = file.bytes;
  if (bytes.substr(0, 4) == "\x89PNG") return readPng(file);
  if (bytes.substr(0, 2) == "\xFF\xD8") return readJpeg(file);
  if (bytes.substr(0, 2) == "BM") return readBmp(file);
  if (bytes.substr(0, 2) == "P6" || bytes.substr(0, 2) == "P5") return readPnm(file);
  if (const char* format = otherFormat(bytes))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: " + file.name + ": a picture in " + format);
  return damaged(file.name, "no PNG, JPEG, BMP, PPM (P6) or PGM (P5)");
}

}  // namespace

bool isPictureName(const std::string& path) {
  const std::string ending = imageEndingOf(path);
  for (const char* known : {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm"})
    if (ending == known) return true;
  return false;
}

Result<Picture> readPicture(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  return decodePicture(file.bytes(), path);
}

Result<Picture> decodePicture(std::string_view bytes, const std::string& name) {
  return decode({bytes, name, false});
}

Result<Picture> sizeOfPicture(std::string_view bytes, const std::string& name) {
  return decode({bytes, name, true});
}

Picture resized(const Picture& picture, int64_t height, int64_t width) {
  if (height == picture.height && width == picture.width) return picture;
  const int64_t n = picture.channels;
  const std::vector<Reach> across = reachesOf(picture.width, width), down = reachesOf(picture.height, height);
  std::vector<float> rows(static_cast<size_t>(picture.height * width * n));  // as wide as the result
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < n; ++c) {
        const Reach& reach = across[static_cast<size_t>(x)];
        double sum = 0;
        for (size_t k = 0; k < reach.weights.size(); ++k)
          sum += reach.weights[k] * picture.bytes[static_cast<size_t>(
                                        (y * picture.width + reach.begin + static_cast<int64_t>(k)) * n + c)];
        rows[static_cast<size_t>((y * width + x) * n + c)] = static_cast<float>(sum);
      }
  Picture result{width, height, picture.channels, {}};
  result.bytes.resize(static_cast<size_t>(height * width * n));
  for (int64_t y = 0; y < height; ++y) {
    const Reach& reach = down[static_cast<size_t>(y)];
    for (int64_t x = 0; x < width * n; ++x) {
      double sum = 0;
      for (size_t k = 0; k < reach.weights.size(); ++k)
        sum += reach.weights[k] *
               rows[static_cast<size_t>((reach.begin + static_cast<int64_t>(k)) * width * n + x)];
      result.bytes[static_cast<size_t>(y * width * n + x)] =
          static_cast<uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
    }
  }
  return result;
}

Picture withChannels(Picture picture, int channels) {
  if (picture.channels == channels) return picture;
  Picture result{picture.width, picture.height, channels, {}};
  const size_t count = static_cast<size_t>(picture.width * picture.height),
               from = static_cast<size_t>(picture.channels), to = static_cast<size_t>(channels);
  result.bytes.resize(count * to);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* pixel = picture.bytes.data() + i * from;
    uint8_t* out = result.bytes.data() + i * to;
    const bool grey = from < 3;
    if (to == 1)
      out[0] =
          grey ? pixel[0]
               : static_cast<uint8_t>(std::lround(0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]));
    else
      for (size_t c = 0; c < 3; ++c) out[c] = pixel[grey ? 0 : c];
    if (to == 4) out[3] = from % 2 == 0 ? pixel[from - 1] : 255;
  }
  return result;
}

}  // namespace dyn
