// The C API of padded inputs: sequences of different lengths for a program that takes them padded.
#include <numeric>

#include "vm/core/api/c_api.h"
#include "vm/core/object/contract.h"
#include "vm/core/object/padded_batch.h"
#include "vm/include/dyn_ragged.h"
#include "vm/isa/padded_ports.h"

using dyn::LengthsKnown;
using dyn::SequenceOrder;
using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

std::string quoted(const ContractValue& input) { return "\"" + input.name + "\""; }

// The input that says how long the sequences of `input` are.
Status findLengths(const dyn_context& context, size_t input, const char* name, size_t* found) {
  const auto& inputs = context.module->program().inputs;
  const std::string who = quoted(inputs[input]);
  if (name) {
    const std::optional<size_t> other = inputNamed(context, name);
    if (!other) return failure(DYN_INVALID_ARGUMENT, "there is no input \"" + std::string(name) + "\"");
    if (!sequencesBy(inputs[input], inputs[*other], LengthsKnown::named))
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
    if (!sequencesBy(inputs[input], inputs[i], LengthsKnown::given)) continue;
    list += (count++ > 0 ? ", " : "") + quoted(inputs[i]);
    *found = i;
  }
  if (count == 1) return okStatus();
  return failure(DYN_INVALID_ARGUMENT,
                 count == 0 ? "input " + who + " " + contractTypeText(inputs[input].type) +
                                  " takes no sequences: no input says how long each is"
                            : "any of " + list + " could say how long the sequences of " + who + " are");
}

const Tensor& tensorOf(const dyn_value* value) { return *static_cast<const Tensor*>(value->object); }

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
    sequences.batchSecond = sequencesBy(padded, by, LengthsKnown::named) == SequenceOrder::batchSecond;
    const Tensor& given = tensorOf(parts.lengths);
    sequences.lengths.assign(given.as<int64_t>(), given.as<int64_t>() + given.elementCount);
    return longestOf(padded, padded.type.dims[sequences.batchSecond ? 0 : 1], sequences.lengths, &longest);
  });
  if (checked != DYN_OK) return checked;
  const ContractValue& by = context->module->program().inputs[sequences.lengthsInput];
  const Tensor& rows = tensorOf(parts.rows);
  PaddedElements padded, of;
  const dyn_status filled = guarded([&]() -> Status {
    of = lengthsElements(by, sequences.lengths, longest);
    return padRows({rows.data, rows.dtype, {rows.shape() + 1, rows.shape() + rows.rank}}, sequences.lengths,
                   longest, sequences.batchSecond, &padded);
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
    for (size_t i = 0; i < context->padded.size() && !sequences; ++i)
      if (context->padded[i] && hasSequencesOf(output, program.inputs[i])) sequences = &*context->padded[i];
    if (sequences) return okStatus();
    return failure(DYN_UNSUPPORTED, "unsupported: output " + quoted(output) + " " +
                                        contractTypeText(output.type) +
                                        " has the sequences of no input that was set as padded");
  });
  if (checked != DYN_OK) return checked;
  dyn_value* whole = nullptr;
  if (const dyn_status got = dyn_context_get_output(context, index, &whole); got != DYN_OK) return got;
  PaddedElements rows;
  const dyn_status taken = guarded([&]() -> Status {
    if (tensorOf(whole).dtype == DataType::string) return invalid("strings are not padded");
    const std::vector<int64_t>& lengths = sequences->lengths;
    const int64_t* shape = dyn_value_shape(whole);
    rows.shape.assign(shape + 1, shape + dyn_value_rank(whole));
    rows.shape[0] = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    uint64_t rowBytes = sizeBytes(tensorOf(whole).dtype);
    for (size_t axis = 1; axis < rows.shape.size(); ++axis)
      rowBytes *= static_cast<uint64_t>(rows.shape[axis]);
    rows.bytes.resize(static_cast<size_t>(rows.shape[0]) * rowBytes);
    unpadRows(static_cast<const std::byte*>(dyn_value_data(whole)), rowBytes, lengths,
              shape[sequences->batchSecond ? 0 : 1], sequences->batchSecond, rows.bytes.data());
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
