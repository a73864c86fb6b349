#include "vm/isa/padded_ports.h"

#include <algorithm>

#include "vm/base/dtype.h"

namespace dyn::vm {

namespace {

bool isTensor(const ContractValue& value, size_t leastRank) {
  return value.type.kind == ContractKind::tensor && value.type.dims.size() >= leastRank;
}

bool sameDim(const ContractDim& a, const ContractDim& b) {
  return a.value >= 0 ? a.value == b.value : b.value < 0 && a.text == b.text;
}

// Of an output: sizes of at least 0 that are counted down from another are said to be so.
bool isDimOf(const ContractDim& output, const ContractDim& input) {
  return sameDim(output, input) || (input.value < 0 && output.text == "max(0, " + input.text + ")");
}

PortShape portShape(const ContractValue& value) {
  PortShape shape;
  shape.name = value.name;
  const DataClass kind = kDataTypes[value.type.dtype].dataClass;
  if (kind == DataClass::integer || kind == DataClass::natural) shape.elements = PortElements::whole;
  if (kind == DataClass::text || kind == DataClass::complex) shape.elements = PortElements::other;
  for (const ContractDim& dim : value.type.dims)
    shape.dims.push_back(dim.value >= 0 ? std::to_string(dim.value) : dim.text);
  return shape;
}

}  // namespace

std::optional<SequenceOrder> sequencesBy(const ContractValue& input, const ContractValue& other,
                                         LengthsKnown known) {
  if (&other == &input || !isTensor(input, 2) || !isTensor(other, 1)) return std::nullopt;
  return dyn::sequencesBy(portShape(input), portShape(other), known);
}

bool hasSequencesOf(const ContractValue& output, const ContractValue& input) {
  return isTensor(output, 2) && isTensor(input, 2) && isDimOf(output.type.dims[0], input.type.dims[0]) &&
         isDimOf(output.type.dims[1], input.type.dims[1]);
}

std::vector<PaddedList> paddedLists(const Program& program) {
  const std::vector<ContractValue>& inputs = program.inputs;
  std::vector<PaddedList> lists;
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t found = inputs.size(), count = 0;
    for (size_t k = 0; k < inputs.size(); ++k)
      if (sequencesBy(inputs[i], inputs[k], LengthsKnown::given)) {
        found = k;
        ++count;
      }
    if (count != 1) continue;
    const auto list =
        std::find_if(lists.begin(), lists.end(), [&](const PaddedList& l) { return l.lengths == found; });
    (list == lists.end() ? lists.emplace_back(PaddedList{found, {}, {}}) : *list).inputs.push_back(i);
  }
  // What says how long others are is no sequence itself.
  for (PaddedList& list : lists)
    std::erase_if(list.inputs, [&](size_t i) {
      return std::any_of(lists.begin(), lists.end(), [&](const PaddedList& l) { return l.lengths == i; });
    });
  std::erase_if(lists, [](const PaddedList& list) { return list.inputs.empty(); });
  std::sort(lists.begin(), lists.end(), [](const auto& a, const auto& b) { return a.lengths < b.lengths; });
  for (size_t i = 0; i < program.outputs.size(); ++i)
    for (PaddedList& list : lists)
      if (std::any_of(list.inputs.begin(), list.inputs.end(),
                      [&](size_t k) { return hasSequencesOf(program.outputs[i], inputs[k]); })) {
        list.outputs.push_back(i);
        break;
      }
  return lists;
}

}  // namespace dyn::vm
