#include "compiler/ops/rules/packed_numbers.h"

#include <cstring>

namespace dyn {

void packText(std::vector<int32_t>* numbers, std::string_view text) {
  numbers->push_back(static_cast<int32_t>(text.size()));
  const size_t start = numbers->size();
  numbers->resize(start + (text.size() + 3) / 4, 0);
  if (!text.empty()) std::memcpy(numbers->data() + start, text.data(), text.size());
}

std::vector<int32_t> packedTensor(const HostTensor& tensor) {
  std::vector<int32_t> numbers{static_cast<int32_t>(tensor.dtype()),
                               static_cast<int32_t>(tensor.elementCount())};
  if (tensor.dtype() == Dtype::string) {
    for (const std::string& text : tensor.stringValues()) packText(&numbers, text);
  } else {
    packText(&numbers,
             {reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.sizeBytes())});
  }
  return numbers;
}

}  // namespace dyn
