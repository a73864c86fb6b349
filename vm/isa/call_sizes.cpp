#include "vm/isa/call_sizes.h"

#include <algorithm>
#include <cctype>

namespace dyn::vm {

namespace {

bool isSymbol(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
         });
}

size_t sizeOf(std::vector<CallSize>& sizes, const ContractDim& dim, const std::string& ownName) {
  const bool symbol = isSymbol(dim.text);
  if (symbol)
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i].name == dim.text && sizes[i].expression.empty()) {
        sizes[i].low = std::max(sizes[i].low, dim.low);
        sizes[i].high = std::min(sizes[i].high, dim.high);
        return i;
      }
  sizes.push_back({symbol ? dim.text : ownName,
                   symbol             ? ""
                   : dim.text.empty() ? "?"
                                      : dim.text,
                   dim.low, dim.high, dim.multiple});
  return sizes.size() - 1;
}

}  // namespace

CallSizes callSizes(std::span<const ContractValue> inputs) {
  CallSizes made;
  for (const ContractValue& input : inputs) {
    std::vector<CallAxis> axes;
    if (input.type.kind == ContractKind::tensor)
      for (const ContractDim& dim : input.type.dims) {
        if (dim.value >= 0)
          axes.push_back({dim.value, 0});
        else
          axes.push_back({-1, sizeOf(made.sizes, dim, input.name + "_" + std::to_string(axes.size()))});
      }
    made.inputs.push_back(std::move(axes));
  }
  return made;
}

}  // namespace dyn::vm
