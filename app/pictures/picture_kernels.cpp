#include "app/pictures/picture_kernels.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "app/pictures/picture.h"

namespace dyn {

namespace {

std::string_view encoded(const DynBuiltinCall& call) {
  const DynTensorView& bytes = call.arguments[0];
  return {static_cast<const char*>(bytes.data), static_cast<size_t>(bytes.elements)};
}

int32_t report(const DynBuiltinCall& call, const Diagnostic& said) {
  std::string text = said.message;
  for (const std::string& note : said.notes) text += ": " + note;
  const bool isUnsupported = said.id == DiagnosticId::unsupportedFeature;
  return dyn_custom_fault(&call, isUnsupported ? DYN_UNSUPPORTED : DYN_BAD_INPUT, text.c_str());
}

bool isBytes(const DynTensorView& tensor) { return tensor.dtype == DYN_U8 && tensor.rank == 1; }

// A kernel does not throw.
template <typename Body>
int32_t guarded(const DynBuiltinCall* call, Body&& body) {
  if (call->argumentCount == 0 || call->resultCount != 1 || !isBytes(call->arguments[0]))
    return dyn_custom_fault(call, DYN_BAD_INPUT, "a picture is a vector of bytes");
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return DYN_OUT_OF_MEMORY;
  }
}

int32_t pictureSize(const DynBuiltinCall* call) {
  return guarded(call, [&]() -> int32_t {
    const DynTensorView& sizes = call->results[0];
    if (sizes.dtype != DYN_I64 || sizes.elements != 2)
      return dyn_custom_fault(call, DYN_BAD_INPUT, "the size of a picture is two numbers");
    const Result<Picture> picture = sizeOfPicture(encoded(*call), "the input");
    if (!picture.ok()) return report(*call, picture.error());
    static_cast<int64_t*>(sizes.data)[0] = picture->height;
    static_cast<int64_t*>(sizes.data)[1] = picture->width;
    return DYN_OK;
  });
}

int32_t pixels(const DynBuiltinCall* call) {
  return guarded(call, [&]() -> int32_t {
    const DynTensorView& result = call->results[0];
    if (call->argumentCount != 2 || call->arguments[1].dtype != DYN_I64 || call->arguments[1].elements != 1)
      return dyn_custom_fault(call, DYN_BAD_INPUT, "the order of channels is one number");
    const auto order = static_cast<PixelOrder>(*static_cast<const int64_t*>(call->arguments[1].data));
    Result<Picture> read = decodePicture(encoded(*call), "the input");
    if (!read.ok()) return report(*call, read.error());
    Picture picture = withChannels(*std::move(read), order == PixelOrder::grayscale ? 1 : 3);
    if (result.dtype != DYN_U8 || result.rank != 3 || result.shape[0] != picture.height ||
        result.shape[1] != picture.width || result.shape[2] != picture.channels)
      return dyn_custom_fault(call, DYN_BAD_INPUT, "the result is of another size than the picture");
    if (order == PixelOrder::bgr)
      for (size_t i = 0; i + 2 < picture.bytes.size(); i += 3)
        std::swap(picture.bytes[i], picture.bytes[i + 2]);
    std::memcpy(result.data, picture.bytes.data(), picture.bytes.size());
    return DYN_OK;
  });
}

}  // namespace

std::span<const DynCustomKernel> pictureKernels() {
  static const DynCustomKernel kernels[] = {{"dyn_picture_size", {nullptr, pictureSize}},
                                            {"dyn_picture", {nullptr, pixels}}};
  return kernels;
}

}  // namespace dyn
