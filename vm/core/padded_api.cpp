// The C API of padded inputs: sequences of different lengths for a program that takes them padded.
#include <algorithm>
#include <cstring>

#include "vm/base/checked.h"
#include "vm/core/c_api.h"
#include "vm/core/contract.h"
#include "vm/include/dyn_ragged.h"
#include "vm/shared/dyn_padded_batch.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

std::string quoted(const ContractValue& input) { return "\"" + input.name + "\""; }

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

enum class Order { batchFirst, batchSecond };

// How the sequences of `input` lie if `other` says how long they are; nothing: it does not.
std::optional<Order> orderBy(const ContractValue& input, const ContractValue& other, bool named) {
  if (&other == &input || !isTensor(input, 2) || !isTensor(other, 1)) return std::nullopt;
  const std::vector<ContractDim>&dims = input.type.dims, &of = other.type.dims;
  const DataClass kind = kDataTypes[other.type.dtype].dataClass;
  if (of.size() == 2)
    return kind != DataClass::text && kind != DataClass::complex && sameDim(of[0], dims[0]) &&
                   sameDim(of[1], dims[1]) && (named || dyn::isCalledMask(other.name))
               ? std::optional(Order::batchFirst)
               : std::nullopt;
  if (of.size() != 1 || (kind != DataClass::integer && kind != DataClass::natural)) return std::nullopt;
  if (sameDim(of[0], dims[0])) return Order::batchFirst;
  return sameDim(of[0], dims[1]) ? std::optional(Order::batchSecond) : std::nullopt;
}

// The input that says how long the sequences of `input` are.
Status findLengths(const dyn_context& context, size_t input, const char* name, size_t* found) {
  const auto& inputs = context.module->program().inputs;
  const std::string who = quoted(inputs[input]);
  if (name) {
    const std::optional<size_t> other = inputNamed(context, name);
    if (!other) return failure(DYN_INVALID_ARGUMENT, "there is no input \"" + std::string(name) + "\"");
    if (!orderBy(inputs[input], inputs[*other], true))
      return failure(DYN_INVALID_ARGUMENT, "input " + quoted(inputs[*other]) + " " +
                                               contractTypeText(inputs[*other].type) +
                                               " does not say how long the sequences of " + who + " " +
                                               contractTypeText(inputs[input].type) + " are");
    *found = *other;
    return okStatus();
  }
  std::string list;
  size_t count = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!orderBy(inputs[input], inputs[i], false)) continue;
    list += (count++ > 0 ? ", " : "") + quoted(inputs[i]);
    *found = i;
  }
  if (count == 1) return okStatus();
  return failure(DYN_INVALID_ARGUMENT,
                 count == 0 ? "input " + who + " " + contractTypeText(inputs[input].type) +
                                  " takes no sequences: no input says how long each is"
                            : "any of " + list + " could say how long the sequences of " + who + " are");
}

void writeOne(DataType dtype, std::byte* to) {
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
    case DataType::f64:
      return put(1.0);
    case DataType::f32:
      return put(1.0f);
    case DataType::f16:
      return put(uint16_t{0x3c00});
    case DataType::bf16:
      return put(uint16_t{0x3f80});
    default:
      *to = std::byte{1};  // whole numbers and boolean
  }
}

// Lengths as whole numbers of the input's type, or a mask of as many positions as `longest`.
std::vector<std::byte> lengthsValue(const ContractValue& input, const std::vector<int64_t>& lengths,
                                    int64_t longest) {
  const auto dtype = static_cast<DataType>(input.type.dtype);
  const size_t size = sizeBytes(dtype);
  const bool mask = input.type.dims.size() == 2;
  std::vector<std::byte> bytes(lengths.size() * (mask ? static_cast<size_t>(longest) : 1) * size);
  std::byte* to = bytes.data();
  for (int64_t length : lengths) {
    if (mask) {
      for (int64_t i = 0; i < longest; ++i, to += size)
        if (i < length) writeOne(dtype, to);
    } else {
      std::memcpy(to, &length, size);  // the low bytes
      to += size;
    }
  }
  return bytes;
}

// As long as the longest, and as the program wants it; an error says which sequence has no room.
Status longestOf(const ContractValue& input, const ContractDim& dim, const std::vector<int64_t>& lengths,
                 int64_t* longest) {
  const auto most = std::max_element(lengths.begin(), lengths.end());
  *longest = most == lengths.end() ? 0 : *most;
  const int64_t room = dim.value >= 0 ? dim.value : dim.high;
  if (*longest > room)
    return failure(DYN_INVALID_ARGUMENT, "input " + quoted(input) + ": sequence " +
                                             std::to_string(most - lengths.begin()) + " has " +
                                             std::to_string(*longest) + " positions, there is room for " +
                                             std::to_string(room));
  if (dim.value >= 0) {
    *longest = dim.value;
  } else {
    *longest = std::max(*longest, dim.low);
    *longest = std::min(room, (*longest + dim.multiple - 1) / dim.multiple * dim.multiple);
  }
  return okStatus();
}

const Tensor& tensorOf(const dyn_value* value) { return *static_cast<const Tensor*>(value->object); }

auto lengthsOf(const PaddedSequences& sequences) {
  return [&](int64_t s) { return sequences.lengths[static_cast<size_t>(s)]; };
}

struct Elements {
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  const void* data() const { return bytes.empty() ? nullptr : bytes.data(); }
};

// [batch, longest, ...] of rows behind each other.
Status padRows(const Tensor& rows, const PaddedSequences& sequences, int64_t longest, Elements* padded) {
  const auto batch = static_cast<int64_t>(sequences.lengths.size());
  padded->shape = {batch, longest};
  if (sequences.batchSecond) std::swap(padded->shape[0], padded->shape[1]);
  padded->shape.insert(padded->shape.end(), rows.shape() + 1, rows.shape() + rows.rank);
  int64_t size = sizeBytes(rows.dtype);
  for (int64_t d : padded->shape)
    if (!checkedMul(size, d, size)) return failure(DYN_OUT_OF_MEMORY, "the system gives no memory");
  padded->bytes.resize(static_cast<size_t>(size));
  const int64_t count = rows.shape()[0];
  const auto rowBytes = static_cast<size_t>(count == 0 ? 0 : rows.sizeBytes() / static_cast<uint64_t>(count));
  const std::byte* from = rows.data;
  if (rowBytes == 0) return okStatus();
  dyn::forEachPaddedRow(batch, longest, sequences.batchSecond, lengthsOf(sequences), [&](int64_t row) {
    std::memcpy(padded->bytes.data() + static_cast<size_t>(row) * rowBytes, from, rowBytes);
    from += rowBytes;
  });
  return okStatus();
}

// The rows of a padded tensor that its sequences have, behind each other.
void unpadRows(const dyn_value* padded, const PaddedSequences& sequences, Elements* rows) {
  const int64_t* shape = dyn_value_shape(padded);
  const int32_t rank = dyn_value_rank(padded);
  const auto batch = static_cast<int64_t>(sequences.lengths.size());
  const int64_t longest = shape[sequences.batchSecond ? 0 : 1];
  rows->shape.assign(shape + 1, shape + rank);
  rows->shape[0] = 0;
  size_t rowBytes = sizeBytes(tensorOf(padded).dtype);
  for (int32_t axis = 2; axis < rank; ++axis) rowBytes *= static_cast<size_t>(shape[axis]);
  const auto* data = static_cast<const std::byte*>(dyn_value_data(padded));
  dyn::forEachPaddedRow(batch, longest, sequences.batchSecond, lengthsOf(sequences), [&](int64_t at) {
    ++rows->shape[0];
    if (rowBytes == 0) return;
    const std::byte* row = data + static_cast<size_t>(at) * rowBytes;
    rows->bytes.insert(rows->bytes.end(), row, row + rowBytes);
  });
}

}  // namespace

namespace dyn::vm::api {

Status checkPaddedInputs(const dyn_context& context) {
  const auto& inputs = context.module->program().inputs;
  for (size_t i = 0; i < context.padded.size(); ++i)
    for (size_t k = i + 1; k < context.padded.size() && context.padded[i]; ++k)
      if (context.padded[k] && context.padded[k]->lengthsInput == context.padded[i]->lengthsInput &&
          context.padded[k]->lengths != context.padded[i]->lengths)
        return failure(DYN_BAD_INPUT, "inputs " + quoted(inputs[i]) + " and " + quoted(inputs[k]) +
                                          " were given sequences of other lengths than each other");
  return okStatus();
}

}  // namespace dyn::vm::api

extern "C" {

dyn_status dyn_context_set_padded_input(dyn_context* context, const char* name, dyn_value* value,
                                        const char* lengths) {
  RaggedParts parts;
  PaddedSequences sequences;
  size_t index = 0;
  int64_t longest = 0;
  const dyn_status checked = guarded([&]() -> Status {
    if (!context || !name) return invalid("context or name is null");
    const std::optional<size_t> input = inputNamed(*context, name);
    if (!input) return failure(DYN_INVALID_ARGUMENT, "there is no input \"" + std::string(name) + "\"");
    index = *input;
    if (Status status = readParts(value, &parts); !status.ok()) return status;
    const ContractValue& padded = context->module->program().inputs[index];
    if (tensorOf(parts.rows).dtype == DataType::string) return invalid("strings are not padded");
    if (Status status = findLengths(*context, index, lengths, &sequences.lengthsInput); !status.ok())
      return status;
    const ContractValue& by = context->module->program().inputs[sequences.lengthsInput];
    sequences.batchSecond = orderBy(padded, by, true) == Order::batchSecond;
    const Tensor& given = tensorOf(parts.lengths);
    sequences.lengths.assign(given.as<int64_t>(), given.as<int64_t>() + given.elementCount);
    return longestOf(padded, padded.type.dims[sequences.batchSecond ? 0 : 1], sequences.lengths, &longest);
  });
  if (checked != DYN_OK) return checked;
  const ContractValue& by = context->module->program().inputs[sequences.lengthsInput];
  const Tensor& rows = tensorOf(parts.rows);
  Elements padded, of;
  const dyn_status filled = guarded([&]() -> Status {
    of.shape = {static_cast<int64_t>(sequences.lengths.size()), longest};
    of.shape.resize(by.type.dims.size());
    of.bytes = lengthsValue(by, sequences.lengths, longest);
    return padRows(rows, sequences, longest, &padded);
  });
  if (filled != DYN_OK) return filled;
  RaggedParts values;
  dyn_status made = dyn_value_tensor(context, static_cast<int32_t>(rows.dtype), rows.rank + 1,
                                     padded.shape.data(), padded.data(), padded.bytes.size(), &values.rows);
  if (made == DYN_OK)
    made = dyn_value_tensor(context, by.type.dtype, static_cast<int32_t>(of.shape.size()), of.shape.data(),
                            of.data(), of.bytes.size(), &values.lengths);
  if (made != DYN_OK) return made;
  const dyn_status fits =
      guarded([&]() -> Status { return checkContractValue(by, "input", values.lengths->object); });
  if (fits != DYN_OK) return fits;
  if (const dyn_status set = dyn_context_set_input_name(context, name, values.rows); set != DYN_OK)
    return set;
  if (const dyn_status set = dyn_context_set_input_name(context, by.name.c_str(), values.lengths);
      set != DYN_OK)
    return set;
  return guarded([&]() -> Status {
    if (context->padded.size() <= index) context->padded.resize(index + 1);
    context->padded[index] = std::move(sequences);
    return okStatus();
  });
}

dyn_status dyn_context_get_padded_output(dyn_context* context, int32_t index, dyn_value** value) {
  if (value) *value = nullptr;
  const PaddedSequences* sequences = nullptr;
  const dyn_status checked = guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    const Program& program = context->module->program();
    if (index < 0 || static_cast<size_t>(index) >= program.outputs.size()) return invalid("no such output");
    const ContractValue& output = program.outputs[static_cast<size_t>(index)];
    for (size_t i = 0; i < context->padded.size() && !sequences && isTensor(output, 2); ++i)
      if (context->padded[i] && isDimOf(output.type.dims[0], program.inputs[i].type.dims[0]) &&
          isDimOf(output.type.dims[1], program.inputs[i].type.dims[1]))
        sequences = &*context->padded[i];
    if (sequences) return okStatus();
    return failure(DYN_UNSUPPORTED, "unsupported: output " + quoted(output) + " " +
                                        contractTypeText(output.type) +
                                        " has the sequences of no input that was set as padded");
  });
  if (checked != DYN_OK) return checked;
  dyn_value* whole = nullptr;
  if (const dyn_status got = dyn_context_get_output(context, index, &whole); got != DYN_OK) return got;
  Elements rows;
  const dyn_status taken = guarded([&]() -> Status {
    if (tensorOf(whole).dtype == DataType::string) return invalid("strings are not padded");
    unpadRows(whole, *sequences, &rows);
    return okStatus();
  });
  const int32_t dtype = dyn_value_dtype(whole);
  dyn_value_release(whole);
  if (taken != DYN_OK) return taken;
  return dyn_value_ragged(context, dtype, static_cast<int32_t>(rows.shape.size()), rows.shape.data(),
                          rows.data(), rows.bytes.size(), sequences->lengths.data(),
                          static_cast<int64_t>(sequences->lengths.size()), value);
}

}  // extern "C"
