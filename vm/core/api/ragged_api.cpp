// The C API of ragged tensors: rows and lengths that go together.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "vm/base/checked.h"
#include "vm/core/api/c_api.h"
#include "vm/include/dyn_ragged.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

constexpr std::string_view kSum = ".sum";

// "len" of a first dim `len.sum`; "" of another.
std::string lengthsName(const ContractType& type) {
  if (type.kind != ContractKind::tensor || type.dims.empty() || type.dims[0].value >= 0) return "";
  const std::string& text = type.dims[0].text;
  return text.size() > kSum.size() && text.ends_with(kSum) ? text.substr(0, text.size() - kSum.size()) : "";
}

const Tensor* lengthsIn(const Object* object) {
  if (!object || object->kind != ObjectKind::tensor) return nullptr;
  const Tensor* tensor = static_cast<const Tensor*>(object);
  return tensor->dtype == DataType::i64 && tensor->rank == 1 ? tensor : nullptr;
}

bool sameLengths(const Tensor& a, const Tensor& b) {
  return a.elementCount == b.elementCount &&
         (a.elementCount == 0 || std::memcmp(a.data, b.data, static_cast<size_t>(a.sizeBytes())) == 0);
}

Status checkLengths(const int64_t* lengths, int64_t count, int64_t rows) {
  int64_t left = rows;
  for (int64_t i = 0; i < count; ++i) {
    if (lengths[i] < 0 || lengths[i] > left)
      return failure(DYN_INVALID_ARGUMENT, "length " + std::to_string(i) + " is " +
                                               std::to_string(lengths[i]) + ", of " + std::to_string(rows) +
                                               " rows there are " + std::to_string(left) + " left");
    left -= lengths[i];
  }
  if (left != 0)
    return failure(DYN_INVALID_ARGUMENT, "the lengths sum up to " + std::to_string(rows - left) +
                                             ", there are " + std::to_string(rows) + " rows");
  return okStatus();
}

// A sum of products of numbers and names, `2*len.sum + b`; nothing where the text says anything else.
struct Term {
  int64_t factor = 1;
  std::vector<std::string_view> names;
};
std::optional<Term> termOf(std::string_view word, int64_t sign) {
  Term term{sign, {}};
  while (true) {
    const std::string_view part = word.substr(0, word.find('*'));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (part.empty() || part.find_first_of("(),?") != std::string_view::npos) return std::nullopt;
    if (error == std::errc() && end == part.data() + part.size()) {
      if (!checkedMul(term.factor, number, term.factor)) return std::nullopt;
    } else {
      term.names.push_back(part);
    }
    if (part.size() == word.size()) return term;
    word.remove_prefix(part.size() + 1);
  }
}
std::optional<std::vector<Term>> termsOf(std::string_view text) {
  std::vector<Term> terms;
  int64_t sign = 1;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word == "+" || word == "-") {
      sign = word == "-" ? -1 : 1;
      continue;
    }
    std::optional<Term> term = termOf(word, sign);
    if (!term) return std::nullopt;
    terms.push_back(std::move(*term));
    sign = 1;
  }
  return terms;
}

// The inputs of lengths of whose product, over the batch, a name is the sum: `len.more.sum`. Empty: of none.
std::vector<size_t> lengthsInName(const dyn_context& context, std::string_view name) {
  std::vector<size_t> found;
  if (!name.ends_with(kSum)) return found;
  name.remove_suffix(kSum.size());
  const auto& inputs = context.module->program().inputs;
  while (!name.empty()) {
    // The longest first: a name may have dots.
    std::optional<size_t> best;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& one = inputs[i].name;
      const bool begins = name.starts_with(one) && (name.size() == one.size() || name[one.size()] == '.');
      if (begins && lengthsIn(context.inputs[i]) && (!best || one.size() > inputs[*best].name.size()))
        best = i;
    }
    if (!best) return {};
    found.push_back(*best);
    name.remove_prefix(std::min(name.size(), inputs[*best].name.size() + 1));
  }
  return found;
}

// What a dim of that name is, by the shapes of the last run's inputs.
std::optional<int64_t> sizeNamed(const dyn_context& context, std::string_view name) {
  const auto& inputs = context.module->program().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Object* given = context.inputs[i];
    if (!given || given->kind != ObjectKind::tensor) continue;
    for (size_t axis = 0; axis < inputs[i].type.dims.size(); ++axis)
      if (inputs[i].type.dims[axis].value < 0 && inputs[i].type.dims[axis].text == name)
        return static_cast<const Tensor*>(given)->shape()[axis];
  }
  return std::nullopt;
}

// How many rows, or elements, each sequence has of as many as the dim says, by the inputs of the last run:
// `2*len.sum + b` are those of 2*len[b] + 1. Nothing where they are no such.
std::optional<std::vector<int64_t>> lengthsOfRows(const dyn_context& context, std::string_view rows) {
  const std::optional<std::vector<Term>> terms = termsOf(rows);
  if (!terms) return std::nullopt;
  std::string_view batch;
  std::optional<size_t> count;
  for (const Term& term : *terms)
    for (std::string_view name : term.names)
      for (size_t input : lengthsInName(context, name)) {
        batch = context.module->program().inputs[input].type.dims[0].text;
        const auto size = static_cast<size_t>(lengthsIn(context.inputs[input])->elementCount);
        if (count && *count != size) return std::nullopt;
        count = size;
      }
  if (!count) return std::nullopt;
  std::vector<int64_t> lengths(*count, 0);
  for (const Term& term : *terms) {
    std::vector<int64_t> product(*count, term.factor);
    bool ofBatch = false;
    for (std::string_view name : term.names) {
      const std::vector<size_t> inputs = lengthsInName(context, name);
      const std::optional<int64_t> size = inputs.empty() ? sizeNamed(context, name) : std::nullopt;
      // Once for each sequence.
      const bool once = !ofBatch && (!inputs.empty() || name == batch);
      ofBatch |= once;
      if (!once && (!size || !inputs.empty())) return std::nullopt;
      for (size_t i = 0; i < product.size(); ++i) {
        for (size_t input : inputs)
          if (!checkedMul(product[i], lengthsIn(context.inputs[input])->as<int64_t>()[i], product[i]))
            return std::nullopt;
        if (!once && !checkedMul(product[i], *size, product[i])) return std::nullopt;
      }
    }
    if (!ofBatch) return std::nullopt;
    for (size_t i = 0; i < lengths.size(); ++i)
      if (!checkedAdd(lengths[i], product[i], lengths[i])) return std::nullopt;
  }
  return lengths;
}

}  // namespace

namespace dyn::vm::api {

std::optional<size_t> inputNamed(const dyn_context& context, std::string_view name) {
  const auto& inputs = context.module->program().inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == name) return i;
  return std::nullopt;
}

Status readParts(const dyn_value* value, RaggedParts* parts) {
  if (!value || dyn_value_kind(value) != DYN_KIND_TUPLE || dyn_value_item_count(value) != 2 ||
      dyn_value_item(value, 0, &parts->rows) != DYN_OK ||
      dyn_value_item(value, 1, &parts->lengths) != DYN_OK || !parts->rows ||
      dyn_value_rank(parts->rows) < 1 || !parts->lengths || !lengthsIn(parts->lengths->object))
    return invalid("the value is no ragged tensor: see dyn_value_ragged");
  return okStatus();
}

Status checkRaggedInputs(const dyn_context& context) {
  for (size_t i = 0; i < context.raggedLengths.size(); ++i) {
    const Tensor* given = lengthsIn(context.raggedLengths[i]);
    if (!given || !context.inputs[i]) continue;
    const Program& program = context.module->program();
    const std::string name = lengthsName(program.inputs[i].type);
    const std::optional<size_t> input = inputNamed(context, name);
    const Tensor* used = input ? lengthsIn(context.inputs[*input]) : nullptr;
    if (used && !sameLengths(*given, *used))
      return failure(DYN_BAD_INPUT,
                     "input " + program.inputs[i].name + " has other lengths than input " + name + " holds");
  }
  return okStatus();
}

}  // namespace dyn::vm::api

extern "C" {

dyn_status dyn_value_ragged(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                            const void* data, size_t size_bytes, const int64_t* lengths,
                            int64_t sequence_count, dyn_value** value) {
  if (value) *value = nullptr;
  const dyn_status checked = guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    if (rank < 1 || !shape) return invalid("a ragged tensor has rows: its rank is 1 or more");
    if (sequence_count < 0 || (sequence_count > 0 && !lengths)) return invalid("there are no lengths");
    return checkLengths(lengths, sequence_count, shape[0]);
  });
  if (checked != DYN_OK) return checked;
  RaggedParts parts;
  dyn_status made = dyn_value_tensor(context, dtype, rank, shape, data, size_bytes, &parts.rows);
  if (made == DYN_OK)
    made = dyn_value_tensor(context, DYN_I64, 1, &sequence_count, sequence_count > 0 ? lengths : nullptr,
                            static_cast<size_t>(sequence_count) * sizeof(int64_t), &parts.lengths);
  if (made != DYN_OK) return made;
  dyn_value* items[2] = {parts.rows, parts.lengths};
  return dyn_value_compound(context, DYN_KIND_TUPLE, 0, items, 2, value);
}

dyn_status dyn_value_ragged_parts(const dyn_value* value, dyn_value** rows, const int64_t** lengths,
                                  int64_t* sequence_count) {
  return guarded([&]() -> Status {
    if (!rows || !lengths || !sequence_count) return invalid("a result is null");
    *rows = nullptr;
    *lengths = nullptr;
    *sequence_count = 0;
    RaggedParts parts;
    if (Status status = readParts(value, &parts); !status.ok()) return status;
    const Tensor* tensor = lengthsIn(parts.lengths->object);
    *lengths = reinterpret_cast<const int64_t*>(tensor->data);  // the value holds the tensor
    *sequence_count = tensor->elementCount;
    std::swap(*rows, parts.rows);
    return okStatus();
  });
}

dyn_status dyn_context_set_ragged_input(dyn_context* context, const char* name, dyn_value* value) {
  RaggedParts parts;
  std::string lengths;
  size_t index = 0;
  const dyn_status checked = guarded([&]() -> Status {
    if (!context || !name) return invalid("context or name is null");
    const std::optional<size_t> input = inputNamed(*context, name);
    lengths = input ? lengthsName(context->module->program().inputs[*input].type) : "";
    if (lengths.empty() || !inputNamed(*context, lengths))
      return failure(DYN_INVALID_ARGUMENT, "there is no ragged input \"" + std::string(name) + "\"");
    index = *input;
    return readParts(value, &parts);
  });
  if (checked != DYN_OK) return checked;
  if (const dyn_status set = dyn_context_set_input_name(context, name, parts.rows); set != DYN_OK) return set;
  if (const dyn_status set = dyn_context_set_input_name(context, lengths.c_str(), parts.lengths);
      set != DYN_OK)
    return set;
  return guarded([&]() -> Status {
    std::vector<Object*>& known = context->raggedLengths;
    if (known.size() <= index) known.resize(index + 1, nullptr);
    retain(parts.lengths->object);
    release(known[index]);
    known[index] = parts.lengths->object;
    return okStatus();
  });
}

dyn_status dyn_context_get_ragged_output(dyn_context* context, int32_t index, dyn_value** value) {
  if (value) *value = nullptr;
  RaggedParts parts;
  std::optional<std::vector<int64_t>> lengths;
  const dyn_status checked = guarded([&]() -> Status {
    if (!context || !value) return invalid("context or value is null");
    const auto& outputs = context->module->program().outputs;
    if (index < 0 || static_cast<size_t>(index) >= outputs.size()) return invalid("no such output");
    const auto& output = outputs[static_cast<size_t>(index)];
    const bool tensor = output.type.kind == ContractKind::tensor && !output.type.dims.empty();
    if (tensor && output.type.dims[0].value < 0) lengths = lengthsOfRows(*context, output.type.dims[0].text);
    if (lengths) return okStatus();
    return failure(DYN_UNSUPPORTED, "unsupported: output " + output.name + " has rows of no input's lengths");
  });
  if (checked != DYN_OK) return checked;
  const auto count = static_cast<int64_t>(lengths->size());
  const dyn_status made = dyn_value_tensor(context, DYN_I64, 1, &count, count > 0 ? lengths->data() : nullptr,
                                           lengths->size() * sizeof(int64_t), &parts.lengths);
  if (made != DYN_OK) return made;
  if (const dyn_status got = dyn_context_get_output(context, index, &parts.rows); got != DYN_OK) return got;
  dyn_value* items[2] = {parts.rows, parts.lengths};
  return dyn_value_compound(context, DYN_KIND_TUPLE, 0, items, 2, value);
}

dyn_status dyn_context_rehearse_elements(dyn_context* context, int32_t input, const void* data,
                                         size_t size_bytes) {
  return guarded([&]() -> Status {
    if (!context || (!data && size_bytes > 0)) return invalid("context or data is null");
    if (!context->pool->rehearsal()) return invalid("the context is no rehearsal");
    const bool is = input >= 0 && static_cast<size_t>(input) < context->inputs.size();
    const Object* given = is ? context->inputs[static_cast<size_t>(input)] : nullptr;
    if (!given || given->kind != ObjectKind::tensor) return invalid("no such input has been set");
    const auto* tensor = static_cast<const Tensor*>(given);
    if (tensor->dtype == DataType::string || tensor->sizeBytes() != size_bytes)
      return invalid("these are not the input's elements");
    context->interpreter->tellElements(tensor, data);
    return okStatus();
  });
}

}  // extern "C"
