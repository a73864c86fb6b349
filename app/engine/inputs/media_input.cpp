#include "app/engine/inputs/media_input.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "app/engine/inputs/vocabulary.h"
#include "app/engine/inputs/wave_file.h"
#include "app/pictures/picture.h"

namespace dyn {

namespace {

Error wrongOption(const std::string& option, const char* options) {
  return makeError(DiagnosticId::usageError, "'" + option + "' is not an option of this input").note(options);
}

template <typename Number>
std::optional<Number> mediaNumberOf(std::string_view text) {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "a/b/c"; empty where one is no number.
std::vector<double> mediaListOf(std::string_view text) {
  std::vector<double> list;
  for (;;) {
    const size_t end = std::min(text.find('/'), text.size());
    const std::optional<double> number = mediaNumberOf<double>(text.substr(0, end));
    if (!number) return {};
    list.push_back(*number);
    if (end == text.size()) return list;
    text.remove_prefix(end + 1);
  }
}

// The file and the options behind it. Commas in front of the ending are of the name.
struct MediaWords {
  std::string path;
  std::vector<std::string> options;
};

MediaWords mediaWordsOf(const std::string& spec) {
  MediaWords words;
  size_t end = spec.find(',', std::min(spec.find('.'), spec.size()));
  while (end != std::string::npos && !isMediaName(spec.substr(0, end))) end = spec.find(',', end + 1);
  words.path = spec.substr(0, end);
  while (end != std::string::npos) {
    const size_t begin = end + 1;
    end = spec.find(',', begin);
    words.options.push_back(spec.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return words;
}

// The size of an axis, where the model or a --dim says it.
std::optional<int64_t> mediaSizeOf(const Port& port, size_t axis, const DimValues& known) {
  const std::string& text = port.info.shape[axis];
  if (const std::optional<int64_t> number = mediaNumberOf<int64_t>(text)) return number;
  const auto found = known.find(text);
  if (found != known.end()) return found->second;
  return std::nullopt;
}

struct PictureOptions {
  bool resize = false, bgr = false;
  std::optional<bool> channelsLast;
  int64_t height = 0, width = 0;  // of resize=HxW
  double scale = 255;
  std::vector<double> mean{0}, deviation{1};
};

constexpr const char* kPictureOptions =
    "a picture takes resize, resize=HxW, scale=N, mean=R/G/B, std=R/G/B, bgr, nchw, nhwc";

Result<PictureOptions> pictureOptions(const std::vector<std::string>& words) {
  PictureOptions options;
  for (const std::string& word : words) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals),
                      text = equals < word.size() ? word.substr(equals + 1) : "";
    bool good = true;
    if (name == "resize") {
      options.resize = true;
      if (!text.empty()) {
        const size_t cross = std::min(text.find('x'), text.size());
        const auto height = mediaNumberOf<int64_t>(text.substr(0, cross));
        const auto width = mediaNumberOf<int64_t>(cross < text.size() ? text.substr(cross + 1) : "");
        good = height && width && *height > 0 && *width > 0 && *height <= kMostPixels / *width;
        if (good) options.height = *height, options.width = *width;
      }
    } else if (name == "scale") {
      options.scale = mediaNumberOf<double>(text).value_or(0);
      good = options.scale != 0;
    } else if (name == "mean" || name == "std") {
      std::vector<double>& list = name == "mean" ? options.mean : options.deviation;
      list = mediaListOf(text);
      good = !list.empty() && (name == "mean" || std::count(list.begin(), list.end(), 0.0) == 0);
    } else if (word == "bgr") {
      options.bgr = true;
    } else if (word == "nchw" || word == "nhwc") {
      options.channelsLast = word == "nhwc";
    } else {
      good = false;
    }
    if (!good) return wrongOption(word, kPictureOptions);
  }
  return options;
}

// Which axis holds what; -1: there is none.
struct PictureAxes {
  int batch = -1, channels = -1, rows = 0, columns = 1;
};

Result<PictureAxes> axesOf(const Port& port, const PictureOptions& options) {
  const int rank = port.rankIsOpen ? 4 : static_cast<int>(port.info.shape.size());
  if (rank < 2 || rank > 4)
    return makeError(DiagnosticId::inputMismatch,
                     "input " + port.info.name + " is " + port.info.type + ": a picture has 2, 3 or 4 axes");
  if (rank == 2) return PictureAxes{-1, -1, 0, 1};
  const auto holdsChannels = [&](int axis) {
    if (port.rankIsOpen) return false;
    const std::string& size = port.info.shape[static_cast<size_t>(axis)];
    return size == "1" || size == "3" || size == "4";
  };
  const int batch = rank == 4 ? 0 : -1, first = batch + 1, last = rank - 1;
  const bool behind = options.channelsLast.value_or(!holdsChannels(first) && holdsChannels(last));
  return behind ? PictureAxes{batch, last, first, first + 1}
                : PictureAxes{batch, first, first + 1, first + 2};
}

Result<Value> pictureValue(const Port& port, const MediaWords& words, const DimValues& known,
                           std::string* note) {
  DYN_TRY(PictureOptions options, pictureOptions(words.options));
  DYN_TRY(const PictureAxes axes, axesOf(port, options));
  const bool real = isReal(port.dtype);
  if (!real && !isInteger(port.dtype))
    return makeError(DiagnosticId::inputMismatch,
                     "input " + port.info.name + " is " + port.info.type + ": no picture can be that");
  if (port.dtype == Dtype::i8)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a picture for input " + port.info.name +
                         " of i8: the model's scale and zero point are not known")
        .note("give an @file.npy");
  DYN_TRY(Picture picture, readPicture(words.path));
  *note =
      words.path + ": " + std::to_string(picture.width) + " x " + std::to_string(picture.height) + " pixels";
  int channels = axes.channels < 0 ? 1 : 3;
  if (axes.channels >= 0 && !port.rankIsOpen) {
    const auto size = mediaSizeOf(port, static_cast<size_t>(axes.channels), known);
    if (size && *size != 1 && *size != 3 && *size != 4)
      return makeError(
          DiagnosticId::inputMismatch,
          "input " + port.info.name + " has " + std::to_string(*size) + " channels: a picture has 1, 3 or 4");
    channels = static_cast<int>(size.value_or(3));
  }
  if (options.resize) {
    const auto size = [&](int axis, int64_t given, int64_t own) {
      if (given > 0) return given;
      return port.rankIsOpen ? own : mediaSizeOf(port, static_cast<size_t>(axis), known).value_or(own);
    };
    const int64_t height = size(axes.rows, options.height, picture.height),
                  width = size(axes.columns, options.width, picture.width);
    if (height <= 0 || width <= 0 || height > kMostPixels / width)
      return makeError(DiagnosticId::inputMismatch, "a picture cannot have " + std::to_string(height) +
                                                        " x " + std::to_string(width) + " pixels");
    picture = resized(picture, height, width);
    *note += ", resized to " + std::to_string(width) + " x " + std::to_string(height);
  } else if (!port.rankIsOpen) {
    const auto height = mediaSizeOf(port, static_cast<size_t>(axes.rows), known),
               width = mediaSizeOf(port, static_cast<size_t>(axes.columns), known);
    if ((height && *height != picture.height) || (width && *width != picture.width))
      return makeError(DiagnosticId::inputMismatch, words.path + " has " + std::to_string(picture.width) +
                                                        " x " + std::to_string(picture.height) +
                                                        " pixels, input " + port.info.name + " is " +
                                                        port.info.type)
          .note("write " + words.path + ",resize to give it the size of the input");
  }
  picture = withChannels(std::move(picture), channels);
  for (const std::vector<double>* list : {&options.mean, &options.deviation})
    if (list->size() != 1 && list->size() != static_cast<size_t>(channels))
      return makeError(DiagnosticId::usageError, "mean and std are one number, or one for each of " +
                                                     std::to_string(channels) + " channels");
  const int rank = (axes.channels < 0 ? 2 : 3) + (axes.batch < 0 ? 0 : 1);
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1), strides(4, 0);  // of row, column, channel
  const auto place = [&](int axis, int64_t size) {
    if (axis >= 0) shape[static_cast<size_t>(axis)] = size;
  };
  place(axes.rows, picture.height);
  place(axes.columns, picture.width);
  place(axes.channels, channels);
  const auto strideOf = [&](int axis) {
    int64_t stride = axis < 0 ? 0 : 1;
    for (int after = axis + 1; axis >= 0 && after < rank; ++after)
      stride *= shape[static_cast<size_t>(after)];
    return stride;
  };
  const int64_t down = strideOf(axes.rows), across = strideOf(axes.columns), deep = strideOf(axes.channels);
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, shape));
  for (int c = 0; c < channels; ++c) {
    const auto of = [&](const std::vector<double>& list) {
      return list.size() == 1 ? list[0] : list[static_cast<size_t>(c)];
    };
    const double mean = of(options.mean), deviation = of(options.deviation);
    const int from = options.bgr && channels >= 3 && c < 3 ? 2 - c : c;
    for (int64_t y = 0; y < picture.height; ++y)
      for (int64_t x = 0; x < picture.width; ++x) {
        const uint8_t byte = picture.bytes[static_cast<size_t>((y * picture.width + x) * channels + from)];
        const int64_t at = y * down + x * across + c * deep;
        if (real)
          tensor.setReal(at, (byte / options.scale - mean) / deviation);
        else
          tensor.setInt(at, byte);
      }
  }
  const char* order = channels == 1 ? "grey" : options.bgr ? "blue first" : "red first";
  *note += std::string(", ") + order +
           (axes.channels < 0           ? ""
            : axes.channels < axes.rows ? ", channels in front"
                                        : ", channels last");
  return Value(std::move(tensor));
}

Result<Value> soundValue(const Port& port, const MediaWords& words, const DimValues& known,
                         std::string* note) {
  DYN_TRY(Wave wave, readWave(words.path));
  for (const std::string& option : words.options) {
    const auto rate = option.rfind("rate=", 0) == 0 ? mediaNumberOf<int64_t>(option.substr(5)) : std::nullopt;
    if (!rate) return wrongOption(option, "a sound takes rate=N");
    if (*rate != wave.rate)
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: " + words.path + " has " + std::to_string(wave.rate) +
                           " samples a second, not " + std::to_string(*rate) + "; it is not resampled");
  }
  const size_t rank = port.rankIsOpen ? 1 : port.info.shape.size();
  if (!isReal(port.dtype) || rank == 0)
    return makeError(DiagnosticId::inputMismatch,
                     "input " + port.info.name + " is " + port.info.type + ": no sound can be that");
  std::vector<int64_t> shape(rank, 1);
  const std::optional<int64_t> before =
      rank >= 2 ? mediaSizeOf(port, rank - 2, known) : std::optional<int64_t>();
  const bool apart = before && *before == wave.channels;
  shape.back() = wave.length();
  if (apart) shape[rank - 2] = wave.channels;
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, shape));
  const int64_t n = wave.channels;
  for (int64_t i = 0; i < wave.length(); ++i) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) {
      const double x = wave.samples[static_cast<size_t>(i * n + c)];
      sum += x;
      if (apart) tensor.setReal(c * wave.length() + i, x);
    }
    if (!apart) tensor.setReal(i, sum / static_cast<double>(n));
  }
  *note = words.path + ": " + std::to_string(wave.length()) + " samples, " + std::to_string(wave.rate) +
          " a second" +
          (n == 1  ? ""
           : apart ? ", " + std::to_string(n) + " channels"
                   : ", " + std::to_string(n) + " channels mixed to one");
  return Value(std::move(tensor));
}

// What has its name from the package `tokenizers`: "bert/tokenizer.json".
bool isTokenizerName(const std::string& path) { return path.ends_with("tokenizer.json"); }

struct TextIds {
  std::vector<int64_t> ids;
  const char* kind = "";  // what they are numbers of
};

Result<TextIds> idsOfText(const std::string& path, std::string_view text, const TokenReader& tokens) {
  if (isTokenizerName(path)) {
    if (!tokens)
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: " + path + ": this build has no Oniguruma and utf8proc to read it with");
    DYN_TRY(std::vector<int64_t> ids, tokens(path, text));
    return TextIds{std::move(ids), "tokens"};
  }
  DYN_TRY(const Vocabulary words, Vocabulary::read(path));
  DYN_TRY(std::vector<int64_t> ids, words.idsOf(text));
  return TextIds{std::move(ids), words.isBytePairs() ? "byte pairs" : "word pieces"};
}

// "VOCABULARY:TEXT"
Result<Value> textValue(const Port& port, const std::string& spec, std::string* note,
                        const TokenReader& tokens) {
  const size_t colon = spec.find(':');
  if (colon == std::string::npos)
    return makeError(DiagnosticId::usageError, "text:" + spec + " names no vocabulary")
        .note("write text:tokenizer.json:the words, or text:vocab.txt:the words");
  const std::string path = spec.substr(0, colon);
  DYN_TRY(const TextIds text, idsOfText(path, std::string_view(spec).substr(colon + 1), tokens));
  const std::vector<int64_t>& ids = text.ids;
  const size_t rank = port.rankIsOpen ? 2 : port.info.shape.size();
  if (!isInteger(port.dtype) || rank == 0)
    return makeError(DiagnosticId::inputMismatch,
                     "input " + port.info.name + " is " + port.info.type + ": no text can be that");
  std::vector<int64_t> shape(rank, 1);
  shape.back() = static_cast<int64_t>(ids.size());
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, shape));
  for (size_t i = 0; i < ids.size(); ++i) tensor.setInt(static_cast<int64_t>(i), ids[i]);
  *note = std::to_string(ids.size()) + " " + text.kind + " of " + path;
  return Value(std::move(tensor));
}

bool isSoundName(const std::string& path) {
  std::string ending = path.substr(path.size() - std::min<size_t>(4, path.size()));
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".wav";
}

}  // namespace

bool isMediaName(const std::string& path) { return isPictureName(path) || isSoundName(path); }

Result<std::optional<Value>> readMedia(const Port& port, const std::string& spec, const DimValues& known,
                                       std::string* note, const TokenReader& tokens) {
  const bool text = spec.rfind("text:", 0) == 0;
  const MediaWords words = spec.rfind('@', 0) == 0 ? mediaWordsOf(spec.substr(1)) : MediaWords{};
  if (!text && !isMediaName(words.path)) return std::optional<Value>();
  if (port.info.kind != "tensor")
    return makeError(DiagnosticId::inputMismatch, "input " + port.info.name + " is a " + port.info.kind +
                                                      ": it must be given as @file.pb");
  Result<Value> value = text                        ? textValue(port, spec.substr(5), note, tokens)
                        : isPictureName(words.path) ? pictureValue(port, words, known, note)
                                                    : soundValue(port, words, known, note);
  if (!value.ok()) return value.takeError();
  return std::optional<Value>(*std::move(value));
}

}  // namespace dyn
