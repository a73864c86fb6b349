#include "vm/embedded/sequence_lists.h"

#include <numeric>

#include "vm/core/object/strided.h"

namespace dyn::vm {

namespace {

Status bad(const std::string& message) { return failure(DYN_BAD_INPUT, message); }

}  // namespace

Status SequenceLists::take(const Program& program, const PaddedList& ports, const dyn_model_list& given) {
  const std::string& name = program.inputs[ports.lengths].name;
  if (given.count < 0) return bad("list " + name + ": the number of sequences is negative");
  List list{ports, {given.lengths, given.lengths + given.count}, false};
  int64_t sum = 0;
  for (int64_t length : list.lengths)
    if (length < 0 || __builtin_add_overflow(sum, length, &sum))
      return bad("list " + name + ": a length is " + std::to_string(length));
  lists_.push_back(std::move(list));
  return okStatus();
}

// The sizes of the padded call: those of lists, all others as they are given.
Status SequenceLists::setSizes(const Program& program, const CallSizes& call, const int64_t* sizes) {
  std::vector<bool> known(call.sizes.size(), false);
  sizes_.assign(call.sizes.size(), 0);
  const auto set = [&](const CallAxis& axis, int64_t value) -> Status {
    if (axis.value >= 0)
      return axis.value == value ? okStatus()
                                 : bad("the list has " + std::to_string(value) +
                                       " sequences, the model takes " + std::to_string(axis.value));
    if (known[axis.size] && sizes_[axis.size] != value)
      return bad("dim " + call.sizes[axis.size].name + " is " + std::to_string(sizes_[axis.size]) +
                 " by one list and " + std::to_string(value) + " by another");
    known[axis.size] = true;
    sizes_[axis.size] = value;
    return okStatus();
  };
  for (List& list : lists_)
    for (size_t input : list.ports.inputs) {
      const ContractValue &padded = program.inputs[input], &by = program.inputs[list.ports.lengths];
      list.batchSecond = sequencesBy(padded, by, LengthsKnown::given) == SequenceOrder::batchSecond;
      const size_t positions = list.batchSecond ? 0 : 1;
      int64_t longest = 0;
      if (Status status = longestOf(padded, padded.type.dims[positions], list.lengths, &longest);
          !status.ok())
        return bad(status.message);
      const auto& axes = call.inputs[input];
      if (axes[positions].value < 0)
        if (Status status = set(axes[positions], longest); !status.ok()) return status;
      if (Status status = set(axes[1 - positions], static_cast<int64_t>(list.lengths.size())); !status.ok())
        return status;
    }
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]) continue;
    if (!sizes) return failure(DYN_INVALID_ARGUMENT, "the dims are null");
    sizes_[i] = sizes[i];
  }
  return okStatus();
}

int64_t SequenceLists::longestIn(const CallSizes& call, const List& list, size_t input) const {
  const CallAxis& axis = call.inputs[input][list.batchSecond ? 0 : 1];
  return axis.value >= 0 ? axis.value : sizes_[axis.size];
}

Status SequenceLists::padInputs(const Program& program, const CallSizes& call, const List& list) {
  const int64_t count = std::accumulate(list.lengths.begin(), list.lengths.end(), int64_t{0});
  for (size_t input : list.ports.inputs) {
    const ContractValue& padded = program.inputs[input];
    SequenceRowsView rows{
        static_cast<const std::byte*>(inputs_[input]), static_cast<DataType>(padded.type.dtype), {}};
    for (size_t axis = 2; axis < call.inputs[input].size(); ++axis) {
      const CallAxis& of = call.inputs[input][axis];
      rows.rowShape.push_back(of.value >= 0 ? of.value : sizes_[of.size]);
      if (rows.rowShape.back() < 0) return bad("input " + padded.name + " has a negative size");
    }
    if (!rows.data && count > 0) return bad("input " + padded.name + " is null");
    PaddedElements& made = made_.emplace_back();
    if (Status status = padRows(rows, list.lengths, longestIn(call, list, input), list.batchSecond, &made);
        !status.ok())
      return status;
    inputs_[input] = made.data();
  }
  made_.push_back(lengthsElements(program.inputs[list.ports.lengths], list.lengths,
                                  longestIn(call, list, list.ports.inputs.front())));
  inputs_[list.ports.lengths] = made_.back().data();
  return okStatus();
}

Status SequenceLists::pad(const Program& program, const CallSizes& call, const dyn_model_list* lists,
                          const int64_t* sizes, const void* const* inputs) {
  for (const PaddedList& ports : paddedLists(program)) {
    const dyn_model_list given = lists ? *lists++ : dyn_model_list{};
    if (!given.lengths) continue;
    if (Status status = take(program, ports, given); !status.ok()) return status;
  }
  if (Status status = setSizes(program, call, sizes); !status.ok()) return status;
  inputs_.assign(inputs, inputs + program.inputs.size());
  byOutput_.assign(program.outputs.size(), nullptr);
  for (const List& list : lists_) {
    if (Status status = padInputs(program, call, list); !status.ok()) return status;
    for (size_t output : list.ports.outputs) byOutput_[output] = &list;
  }
  return okStatus();
}

Status SequenceLists::copyRows(const Tensor* padded, size_t output, const dyn_model_output& to) const {
  const List& list = *byOutput_[output];
  const int64_t* shape = padded->shape();
  uint64_t rowBytes = sizeBytes(padded->dtype);
  for (uint32_t axis = 2; axis < padded->rank; ++axis) rowBytes *= static_cast<uint64_t>(shape[axis]);
  const uint64_t bytes =
      rowBytes * static_cast<uint64_t>(std::accumulate(list.lengths.begin(), list.lengths.end(), int64_t{0}));
  if (bytes > to.bytes)
    return bad("output " + std::to_string(output) + " needs " + std::to_string(bytes) +
               " bytes, there is room for " + std::to_string(to.bytes));
  if (padded->elementCount == 0) return okStatus();
  std::vector<std::byte> dense;
  const std::byte* elements = padded->data;
  if (!elements) {
    dense.resize(padded->sizeBytes());
    copyDense(padded, dense.data());
    elements = dense.data();
  }
  unpadRows(elements, rowBytes, list.lengths, shape[list.batchSecond ? 0 : 1], list.batchSecond,
            static_cast<std::byte*>(to.data));
  return okStatus();
}

}  // namespace dyn::vm
