// Tensors for people: element type and shape first, then the elements as NumPy lays them out, long axes cut
// to their edges.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/session/views/view_text.h"

namespace dyn {

namespace {

constexpr int64_t kWholeUpTo = 200;           // elements that are shown without cuts
constexpr int64_t kCountedUpTo = 50'000'000;  // larger tensors are not searched for NaN

class TensorWriter {
 public:
  TensorWriter(const HostTensor& tensor, const TextOptions& options) : tensor_(tensor), options_(options) {
    cut_ = !options.full && tensor.elementCount() > kWholeUpTo;
    chooseFormat();
  }

  std::string write() {
    std::string text;
    std::vector<int64_t> index;
    writeAxis(text, 0, 0, 0);
    return text;
  }

 private:
  bool isReal() const { return dtypeClass(tensor_.dtype()) == DtypeClass::real; }

  // Indices of an axis that are shown; -1 stands for the dots.
  std::vector<int64_t> shown(int64_t size) const {
    std::vector<int64_t> list;
    const int64_t edge = options_.edgeItems;
    if (!cut_ || size <= 2 * edge + 1) {
      for (int64_t i = 0; i < size; ++i) list.push_back(i);
      return list;
    }
    for (int64_t i = 0; i < edge; ++i) list.push_back(i);
    list.push_back(-1);
    for (int64_t i = size - edge; i < size; ++i) list.push_back(i);
    return list;
  }

  // Elements that will be printed, to choose one format and width for all.
  void collect(size_t axis, int64_t offset, std::vector<int64_t>& flats) const {
    // Ranks are small (a tensor's rank is bounded by its type): a nest of that depth.
    if (axis == tensor_.shape().size()) {
      flats.push_back(offset);
      return;
    }
    const int64_t size = tensor_.shape()[axis];
    for (int64_t i : shown(size))
      if (i >= 0) collect(axis + 1, offset * size + i, flats);
  }

  void chooseFormat() {
    if (tensor_.elementCount() == 0) return;
    std::vector<int64_t> flats;
    collect(0, 0, flats);
    if (isReal()) {
      double largest = 0, smallest = INFINITY;
      bool whole = true;
      for (int64_t flat : flats) {
        const double value = std::abs(tensor_.realAt(flat));
        if (!std::isfinite(value)) continue;
        largest = std::max(largest, value);
        if (value > 0) smallest = std::min(smallest, value);
        whole = whole && value == std::floor(value);
      }
      scientific_ = largest >= 1e8 ||
                    (smallest < 1e-4 && smallest != INFINITY && largest / smallest > 1e3 && largest < 1e-3);
      decimals_ = whole && largest < 1e8 ? 0 : options_.precision;
      if (!scientific_ && decimals_ > 0) {
        // No more digits than are needed to write all of them exactly.
        int needed = 1;
        for (int64_t flat : flats)
          while (needed < decimals_ && std::isfinite(tensor_.realAt(flat)) &&
                 !exactWith(tensor_.realAt(flat), needed))
            ++needed;
        decimals_ = needed;
      }
    }
    for (int64_t flat : flats) width_ = std::max(width_, element(flat).size());
  }

  static bool exactWith(double value, int decimals) {
    char text[400];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return std::abs(std::strtod(text, nullptr) - value) <= std::abs(value) * 1e-9;
  }

  std::string element(int64_t flat) const {
    char text[400];
    switch (dtypeClass(tensor_.dtype())) {
      case DtypeClass::text:
        return "\"" + tensor_.stringValues()[static_cast<size_t>(flat)] + "\"";
      case DtypeClass::boolean:
        return tensor_.intAt(flat) ? "true" : "false";
      case DtypeClass::natural:
        return std::to_string(static_cast<uint64_t>(tensor_.intAt(flat)));
      case DtypeClass::integer:
        return std::to_string(tensor_.intAt(flat));
      case DtypeClass::complex: {
        const bool narrow = storageBytes(tensor_.dtype()) == 8;
        const double re = narrow ? tensor_.as<float>()[2 * flat] : tensor_.as<double>()[2 * flat];
        const double im = narrow ? tensor_.as<float>()[2 * flat + 1] : tensor_.as<double>()[2 * flat + 1];
        std::snprintf(text, sizeof text, "%.*g%+.*gj", options_.precision, re, options_.precision, im);
        return text;
      }
      case DtypeClass::real:
        break;
    }
    const double value = tensor_.realAt(flat);
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    if (scientific_) {
      std::snprintf(text, sizeof text, "%.*e", options_.precision, value);
    } else if (decimals_ == 0) {
      std::snprintf(text, sizeof text, "%.0f.", value);
    } else {
      std::snprintf(text, sizeof text, "%.*f", decimals_, value);
    }
    return text;
  }

  void writeAxis(std::string& text, size_t axis, int64_t offset, size_t indent) {
    if (axis == tensor_.shape().size()) {
      const std::string one = element(offset);
      text += std::string(width_ > one.size() ? width_ - one.size() : 0, ' ') + one;
      return;
    }
    const int64_t size = tensor_.shape()[axis];
    const bool last = axis + 1 == tensor_.shape().size();
    text += '[';
    size_t column = indent + 1;
    bool first = true;
    for (int64_t i : shown(size)) {
      if (!first) {
        const size_t wide = i < 0 ? 3 : width_;
        if (!last) {
          // As many empty lines as NumPy: one less than the axes inside.
          text += "," + std::string(tensor_.shape().size() - axis - 1, '\n') + std::string(indent + 1, ' ');
        } else if (column + wide + 2 > static_cast<size_t>(options_.width)) {
          text += ",\n" + std::string(indent + 1, ' ');
          column = indent + 1;
        } else {
          text += ", ";
          column += 2;
        }
      }
      first = false;
      if (i < 0) {
        text += "...";
        column += 3;
      } else {
        writeAxis(text, axis + 1, offset * size + i, indent + 1);
        column += width_;
      }
    }
    text += ']';
  }

  const HostTensor& tensor_;
  const TextOptions& options_;
  bool cut_ = false, scientific_ = false;
  int decimals_ = 0;
  size_t width_ = 0;
};

std::string tensorText(const HostTensor& tensor, const TextOptions& options) {
  std::string text = std::string(toString(tensor.dtype())) + "[";
  for (size_t i = 0; i < tensor.shape().size(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.shape()[i]);
  text += "]";
  const bool counted = tensor.rank() > 0 && tensor.elementCount() <= kCountedUpTo;
  if (counted && dtypeClass(tensor.dtype()) == DtypeClass::real) {
    int64_t nans = 0, infinities = 0;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      const double value = tensor.realAt(i);
      nans += std::isnan(value);
      infinities += std::isinf(value);
    }
    if (nans) text += "  " + std::to_string(nans) + " NaN";
    if (infinities) text += "  " + std::to_string(infinities) + " Inf";
  }
  const std::string elements = TensorWriter(tensor, options).write();
  const bool oneLine = elements.find('\n') == std::string::npos &&
                       text.size() + elements.size() + 3 <= static_cast<size_t>(options.width);
  return text + (oneLine ? " " : "\n") + elements;
}

}  // namespace

std::string toText(const Value& value, const std::string& type, const TextOptions& options) {
  if (value.isTensor()) return tensorText(value.tensor(), options);
  std::string text = type.empty() ? std::string(toString(value.kind())) : type;
  // One level of items; what lies deeper is written by the value's own short form.
  if (value.kind() == ValueKind::data) return text + " " + value.toString(16);
  if (value.kind() == ValueKind::optional && value.parts().empty()) return text + " none";
  text += ", " + std::to_string(value.parts().size()) + (value.parts().size() == 1 ? " item" : " items");
  size_t index = 0;
  for (const Value& part : value.parts()) {
    if (!options.full && index == 20)
      return text + "\n  ... " + std::to_string(value.parts().size() - index) + " more";
    const std::string one = part.isTensor() ? tensorText(part.tensor(), options) : part.toString(16);
    text += "\n  " + std::to_string(index++) + ": ";
    for (char c : one) text += c == '\n' ? std::string("\n     ") : std::string(1, c);
  }
  return text;
}

}  // namespace dyn
