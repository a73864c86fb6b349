#include "compiler/ir/tensor.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "compiler/dims/dim.h"
#include "compiler/ir/tensor_text.h"

namespace dyn {
namespace {

constexpr size_t kAlignment = 64;

std::optional<int64_t> countOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
  }
  if (empty) return 0;
  for (int64_t extent : shape) {
    auto next = checkedMul(count, extent);
    if (!next) return std::nullopt;
    count = *next;
  }
  return count;
}

struct Buffer {
  std::shared_ptr<const void> owner;
  std::byte* data = nullptr;
};

// Large tensors lie in huge pages where the system has them: a page fault for each 4 KB costs more than the
// bytes.
#if defined(__linux__)
constexpr size_t kHugePageBytes = size_t{2} << 20;

Buffer allocatePages(size_t sizeBytes) {
  const size_t whole = sizeBytes + kHugePageBytes;
  void* base = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return {};
  const uintptr_t address = reinterpret_cast<uintptr_t>(base);
  Buffer buffer;
  buffer.owner =
      std::shared_ptr<const void>(base, [whole](const void* p) { munmap(const_cast<void*>(p), whole); });
  buffer.data = static_cast<std::byte*>(base) + (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  (void)madvise(buffer.data, sizeBytes, MADV_HUGEPAGE);  // a hint: failure costs speed only
  return buffer;
}
#endif

// Untouched pages of large tensors cost nothing; the start is moved up to the alignment kernels expect.
Buffer allocateZeroed(int64_t sizeBytes) {
  if (sizeBytes < 0 || sizeBytes > std::numeric_limits<int64_t>::max() - static_cast<int64_t>(kAlignment))
    return {};
#if defined(__linux__)
  if (sizeBytes >= static_cast<int64_t>(2 * kHugePageBytes))
    return allocatePages(static_cast<size_t>(sizeBytes));
#endif
  void* base = std::calloc(static_cast<size_t>(sizeBytes) + kAlignment, 1);
  if (base == nullptr) return {};
  Buffer buffer;
  buffer.owner = std::shared_ptr<const void>(base, [](const void* p) { std::free(const_cast<void*>(p)); });
  const uintptr_t address = reinterpret_cast<uintptr_t>(base);
  buffer.data = static_cast<std::byte*>(base) + (kAlignment - address % kAlignment) % kAlignment;
  return buffer;
}

uint64_t loadBits(const std::byte* data, int64_t flat, int64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, data + flat * bytes, static_cast<size_t>(bytes));
  return bits;
}

// Toward zero; NaN is 0; beyond 64 bits the nearest bound.
int64_t truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return value < 0x1p64 ? static_cast<int64_t>(static_cast<uint64_t>(value)) : INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return static_cast<int64_t>(value);
}

// Sign- or zero-extended to the width of one storage byte.
uint8_t narrowed(Dtype dtype, int64_t value) {
  const uint8_t raw = static_cast<uint8_t>(value);
  switch (dtype) {
    case Dtype::i4:
      return static_cast<uint8_t>(static_cast<int8_t>(raw << 4) >> 4);
    case Dtype::u4:
      return raw & 15;
    case Dtype::i2:
      return static_cast<uint8_t>(static_cast<int8_t>(raw << 6) >> 6);
    case Dtype::u2:
      return raw & 3;
    default:
      return raw;
  }
}

template <typename Number>
void appendNumber(std::string* text, Number value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  text->append(buffer, end);
}

void appendRealElement(std::string* text, Dtype dtype, double value) {
  if (std::isnan(value)) {
    *text += "nan";
  } else if (std::isinf(value)) {
    *text += value < 0 ? "-inf" : "inf";
  } else if (dtype == Dtype::f64 || dtype == Dtype::c128) {
    appendNumber(text, value);
  } else {
    appendNumber(text, static_cast<float>(value));
  }
}

void appendHex(std::string* text, uint64_t bits) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
  *text += "0x";
  text->append(buffer, end);
}

}  // namespace

Result<HostTensor> HostTensor::create(Dtype dtype, std::vector<int64_t> shape) {
  for (int64_t extent : shape) {
    if (extent < 0) {
      return makeError(DiagnosticId::dimDomain,
                       "a tensor cannot have the negative size " + std::to_string(extent));
    }
  }
  const auto count = countOf(shape);
  const auto bytes = count ? checkedMul(*count, storageBytes(dtype)) : std::nullopt;
  if (!bytes) return makeError(DiagnosticId::dimOverflow, "the size of a tensor does not fit in 64 bits");
  if (dtype == Dtype::string) {
    // Each string is an object of its own: refuse what surely cannot be held.
    if (*count > int64_t{1} << 32) {
      return makeError(DiagnosticId::memoryLimit,
                       "a tensor of " + std::to_string(*count) + " strings is too large");
    }
    return strings(std::move(shape), std::vector<std::string>(static_cast<size_t>(*count)));
  }
  Buffer buffer = allocateZeroed(*bytes);
  if (buffer.data == nullptr) {
    return makeError(DiagnosticId::memoryLimit,
                     "a tensor of " + std::to_string(*bytes) + " bytes cannot be allocated");
  }
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.count_ = *count;
  tensor.valid_ = true;
  tensor.data_ = buffer.data;
  tensor.owner_ = std::move(buffer.owner);
  tensor.writable_ = true;
  return tensor;
}

struct HostTensor::Borrowed {
  Forget forget;
  bool misaligned = false;
  std::once_flag once;
  Buffer aligned;
  std::atomic<const std::byte*> ready = nullptr;  // the copy: elements are read one by one
};

HostTensor HostTensor::borrow(Dtype dtype, std::vector<int64_t> shape, const void* data,
                              std::shared_ptr<const void> owner, Forget forget) {
  HostTensor tensor;
  const auto count = countOf(shape);
  if (!count || dtype == Dtype::string) return tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.count_ = *count;
  tensor.valid_ = true;
  tensor.data_ = static_cast<std::byte*>(const_cast<void*>(data));
  tensor.owner_ = std::move(owner);
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(storageBytes(dtype), 8));
  const bool misaligned = reinterpret_cast<uintptr_t>(data) % alignment != 0;
  if (forget || misaligned) {
    tensor.borrowed_ = std::make_shared<Borrowed>();
    tensor.borrowed_->forget = std::move(forget);
    tensor.borrowed_->misaligned = misaligned;
  }
  return tensor;
}

const std::byte* HostTensor::alignedData() const {
  if (!borrowed_->misaligned) return data_;
  if (const std::byte* copied = borrowed_->ready.load(std::memory_order_acquire)) return copied;
  std::call_once(borrowed_->once, [this] {
    Buffer copy = allocateZeroed(sizeBytes());
    if (copy.data == nullptr) throw std::bad_alloc();
    std::memcpy(copy.data, data_, static_cast<size_t>(sizeBytes()));
    borrowed_->aligned = std::move(copy);
    borrowed_->ready.store(borrowed_->aligned.data, std::memory_order_release);
    forget();  // not once in the file's memory and once here
  });
  return borrowed_->aligned.data;
}

void HostTensor::forget() const {
  if (borrowed_ && borrowed_->forget)
    borrowed_->forget({reinterpret_cast<const char*>(data_), static_cast<size_t>(sizeBytes())});
}

HostTensor HostTensor::strings(std::vector<int64_t> shape, std::vector<std::string> values) {
  HostTensor tensor;
  const auto count = countOf(shape);
  if (!count || *count != static_cast<int64_t>(values.size())) return tensor;
  tensor.dtype_ = Dtype::string;
  tensor.shape_ = std::move(shape);
  tensor.count_ = *count;
  tensor.valid_ = true;
  tensor.strings_ = std::make_shared<std::vector<std::string>>(std::move(values));
  return tensor;
}

HostTensor HostTensor::scalar(Dtype dtype, double value) {
  auto tensor = create(dtype, {});
  if (!tensor.ok()) return {};
  tensor->setReal(0, value);
  return std::move(*tensor);
}

HostTensor HostTensor::scalarInt(Dtype dtype, int64_t value) {
  auto tensor = create(dtype, {});
  if (!tensor.ok()) return {};
  tensor->setInt(0, value);
  return std::move(*tensor);
}

HostTensor HostTensor::vectorInt(Dtype dtype, std::span<const int64_t> values) {
  auto tensor = create(dtype, {static_cast<int64_t>(values.size())});
  if (!tensor.ok()) return {};
  for (size_t i = 0; i < values.size(); ++i) tensor->setInt(static_cast<int64_t>(i), values[i]);
  return std::move(*tensor);
}

HostTensor HostTensor::vectorReal(Dtype dtype, std::span<const double> values) {
  auto tensor = create(dtype, {static_cast<int64_t>(values.size())});
  if (!tensor.ok()) return {};
  for (size_t i = 0; i < values.size(); ++i) tensor->setReal(static_cast<int64_t>(i), values[i]);
  return std::move(*tensor);
}

std::byte* HostTensor::mutableData() {
  if (!valid_ || strings_) return nullptr;
  if (writable_ && owner_.use_count() == 1) return data_;
  Buffer buffer = allocateZeroed(sizeBytes());
  if (buffer.data == nullptr) return nullptr;
  if (count_ > 0) std::memcpy(buffer.data, data_, static_cast<size_t>(sizeBytes()));
  data_ = buffer.data;
  owner_ = std::move(buffer.owner);
  borrowed_ = nullptr;
  writable_ = true;
  return data_;
}

std::vector<std::string>& HostTensor::mutableStringValues() {
  if (!strings_) {
    strings_ = std::make_shared<std::vector<std::string>>();
  } else if (strings_.use_count() != 1) {
    strings_ = std::make_shared<std::vector<std::string>>(*strings_);
  }
  return *strings_;
}

int64_t HostTensor::intAt(int64_t flat) const {
  switch (dtype_) {
    case Dtype::boolean:
      return as<uint8_t>()[flat] != 0;
    case Dtype::i8:
    case Dtype::i4:
    case Dtype::i2:
      return as<int8_t>()[flat];
    case Dtype::u8:
    case Dtype::u4:
    case Dtype::u2:
      return as<uint8_t>()[flat];
    case Dtype::i16:
      return as<int16_t>()[flat];
    case Dtype::u16:
      return as<uint16_t>()[flat];
    case Dtype::i32:
      return as<int32_t>()[flat];
    case Dtype::u32:
      return as<uint32_t>()[flat];
    case Dtype::i64:
    case Dtype::u64:
      return as<int64_t>()[flat];
    default:
      return truncated(realAt(flat));
  }
}

double HostTensor::realAt(int64_t flat) const {
  switch (dtype_) {
    case Dtype::f32:
      return as<float>()[flat];
    case Dtype::f64:
      return as<double>()[flat];
    case Dtype::u64:
      return static_cast<double>(as<uint64_t>()[flat]);
    case Dtype::c64:
      return as<float>()[2 * flat];
    case Dtype::c128:
      return as<double>()[2 * flat];
    case Dtype::string:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      break;
  }
  if (isReal(dtype_)) return decodeReal(dtype_, loadBits(data_, flat, storageBytes(dtype_)));
  return static_cast<double>(intAt(flat));
}

void HostTensor::setInt(int64_t flat, int64_t value) {
  switch (dtypeClass(dtype_)) {
    case DtypeClass::boolean:
      if (auto* p = mutableAs<uint8_t>()) p[flat] = value != 0;
      return;
    case DtypeClass::integer:
    case DtypeClass::natural: {
      std::byte* p = mutableData();
      if (p == nullptr) return;
      const int64_t bytes = storageBytes(dtype_);
      if (bytes == 1) value = narrowed(dtype_, value);
      std::memcpy(p + flat * bytes, &value, static_cast<size_t>(bytes));
      return;
    }
    default:
      setReal(flat, static_cast<double>(value));
      return;
  }
}

void HostTensor::setReal(int64_t flat, double value) {
  switch (dtypeClass(dtype_)) {
    case DtypeClass::boolean:
      setInt(flat, value != 0);
      return;
    case DtypeClass::integer:
    case DtypeClass::natural:
      setInt(flat, truncated(value));
      return;
    case DtypeClass::real: {
      std::byte* p = mutableData();
      if (p == nullptr) return;
      const uint64_t bits = encodeReal(dtype_, value);
      const int64_t bytes = storageBytes(dtype_);
      std::memcpy(p + flat * bytes, &bits, static_cast<size_t>(bytes));
      return;
    }
    case DtypeClass::complex:
      if (dtype_ == Dtype::c64) {
        if (auto* p = mutableAs<float>()) p[2 * flat] = static_cast<float>(value), p[2 * flat + 1] = 0;
      } else if (auto* p = mutableAs<double>()) {
        p[2 * flat] = value, p[2 * flat + 1] = 0;
      }
      return;
    case DtypeClass::text:
      return;
  }
}

HostTensor HostTensor::reshaped(std::vector<int64_t> shape) const {
  HostTensor result = *this;
  const auto count = countOf(shape);
  if (!count || *count != count_) return {};
  result.shape_ = std::move(shape);
  return result;
}

bool HostTensor::identical(const HostTensor& other) const {
  if (valid_ != other.valid_) return false;
  if (!valid_) return true;
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  if (strings_ || other.strings_)
    return strings_ == other.strings_ || (strings_ && other.strings_ && *strings_ == *other.strings_);
  return count_ == 0 || data_ == other.data_ ||
         std::memcmp(data_, other.data_, static_cast<size_t>(sizeBytes())) == 0;
}

void appendQuoted(std::string* text, std::string_view value) {
  *text += '"';
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *text += '\\';
      *text += c;
    } else if (c == '\n') {
      *text += "\\n";
    } else if (c == '\t') {
      *text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      static constexpr char kHex[] = "0123456789abcdef";
      *text += "\\x";
      *text += kHex[byte >> 4];
      *text += kHex[byte & 15];
    } else {
      *text += c;
    }
  }
  *text += '"';
}

void appendElement(std::string* text, const HostTensor& tensor, int64_t flat) {
  switch (dtypeClass(tensor.dtype())) {
    case DtypeClass::boolean:
      *text += tensor.intAt(flat) ? "true" : "false";
      return;
    case DtypeClass::integer:
      appendNumber(text, tensor.intAt(flat));
      return;
    case DtypeClass::natural:
      appendNumber(text, static_cast<uint64_t>(tensor.intAt(flat)));
      return;
    case DtypeClass::real: {
      // A NaN that is not the usual one keeps its bits: real elements may be written as 0x....
      const uint64_t bits = loadBits(tensor.bytes(), flat, storageBytes(tensor.dtype()));
      const double value = tensor.realAt(flat);
      if (std::isnan(value) && bits != encodeReal(tensor.dtype(), std::numeric_limits<double>::quiet_NaN())) {
        appendHex(text, bits);
      } else {
        appendRealElement(text, tensor.dtype(), value);
      }
      return;
    }
    case DtypeClass::complex: {
      const bool wide = tensor.dtype() == Dtype::c128;
      *text += '(';
      appendRealElement(text, tensor.dtype(),
                        wide ? tensor.as<double>()[2 * flat] : tensor.as<float>()[2 * flat]);
      *text += ", ";
      appendRealElement(text, tensor.dtype(),
                        wide ? tensor.as<double>()[2 * flat + 1] : tensor.as<float>()[2 * flat + 1]);
      *text += ')';
      return;
    }
    case DtypeClass::text:
      appendQuoted(text, tensor.stringValues()[static_cast<size_t>(flat)]);
      return;
  }
}

void appendElements(std::string* text, const HostTensor& tensor, int64_t maxElements) {
  constexpr int64_t kEdge = 3;
  const std::vector<int64_t>& shape = tensor.shape();
  if (shape.empty()) return appendElement(text, tensor, 0);
  if (tensor.elementCount() == 0) {
    *text += "[]";
    return;
  }
  const bool elide = tensor.elementCount() > maxElements;
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0);
  size_t opened = 0;  // brackets open now
  for (bool more = true; more;) {
    for (; opened < rank; ++opened) *text += '[';
    int64_t flat = 0;
    for (size_t axis = 0; axis < rank; ++axis) flat = flat * shape[axis] + index[axis];
    appendElement(text, tensor, flat);
    // Step like an odometer, closing a bracket for each axis that ends.
    more = false;
    for (size_t axis = rank; axis-- > 0;) {
      ++index[axis];
      if (elide && shape[axis] > 2 * kEdge && index[axis] == kEdge) {
        index[axis] = shape[axis] - kEdge;
        *text += ", \u2026";
      }
      if (index[axis] < shape[axis]) {
        *text += ", ";
        more = true;
        break;
      }
      index[axis] = 0;
      *text += ']';
      --opened;
    }
  }
}

std::string tensorHead(const HostTensor& tensor) {
  std::string text(toString(tensor.dtype()));
  text += '[';
  for (size_t i = 0; i < tensor.shape().size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(tensor.shape()[i]);
  }
  return text + "]";
}

std::string toString(const HostTensor& tensor, int64_t maxElements) {
  if (!tensor.valid()) return "(no tensor)";
  std::string text = tensorHead(tensor) + " = ";
  appendElements(&text, tensor, maxElements);
  return text;
}

}  // namespace dyn
