#include "app/engine/inputs/batch_lengths.h"

#include <algorithm>
#include <charconv>

#include "app/engine/inputs/ragged_port.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

Error badLengths(const std::string& text, const std::string& why) {
  return makeError(DiagnosticId::usageError, "--lengths " + text + ": " + why)
      .note("write --lengths NAME=@file, one number a line, or --lengths NAME=3,1,2");
}

std::optional<int64_t> lengthNumberOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Result<const Port*> portNamed(const Signature& signature, const std::string& name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Port& port : signature.inputs) {
    if (port.info.name == name) return &port;
    names.push_back(port.info.name);
    list += (list.empty() ? "" : ", ") + port.info.name;
  }
  const std::string near = suggestion(name, names);
  return makeError(DiagnosticId::inputMissing, "the model has no input '" + name + "'")
      .note(near.empty() ? "its inputs: " + list : "did you mean " + near + "?");
}

Status checkPort(const Port& port) {
  const size_t rank = port.info.shape.size();
  const bool tensor = port.info.kind == "tensor" && !port.rankIsOpen;
  const DtypeClass kind = dtypeClass(port.dtype);
  const bool whole = kind == DtypeClass::integer || kind == DtypeClass::natural;
  if (tensor && rank == 1 && whole) return {};
  if (tensor && rank == 2 && (whole || kind == DtypeClass::boolean || kind == DtypeClass::real)) return {};
  return makeError(DiagnosticId::usageError, "--lengths " + port.info.name + ": it is " + port.info.type +
                                                 ", neither lengths [batch] nor a mask [batch, sequence]");
}

// The size of an axis: a number of the model, or one that is given.
std::optional<int64_t> sizeOf(const std::string& dim, const std::vector<DimSpec>& dims) {
  if (const std::optional<int64_t> number = lengthNumberOf(dim)) return number;
  for (const DimSpec& spec : dims)
    if (spec.name == dim && spec.value) return spec.value;
  return std::nullopt;
}

DimSpec valueOf(const std::string& name, int64_t value) {
  DimSpec spec;
  spec.name = name;
  spec.value = value;
  spec.text = name + "=" + std::to_string(value);
  return spec;
}

bool isListed(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// Sizes that stand beside the batch in other inputs and are not known: the sequence, where it is one.
std::vector<std::string> openBeside(const Signature& signature, const std::string& batch,
                                    const std::vector<DimSpec>& dims) {
  std::vector<std::string> open;
  for (const Port& port : signature.inputs) {
    if (port.info.kind != "tensor" || !isListed(port.info.shape, batch)) continue;
    for (const std::string& dim : port.info.shape)
      if (dim != batch && !sizeOf(dim, dims) && !isListed(open, dim)) open.push_back(dim);
  }
  return open;
}

Result<HostTensor> prefixMask(Dtype dtype, const std::vector<int64_t>& lengths, int64_t sequence) {
  const auto batch = static_cast<int64_t>(lengths.size());
  DYN_TRY(HostTensor mask, HostTensor::create(dtype, {batch, sequence}));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < sequence; ++s) {
      const bool held = s < lengths[static_cast<size_t>(b)];
      if (isReal(dtype))
        mask.setReal(b * sequence + s, held ? 1 : 0);
      else
        mask.setInt(b * sequence + s, held ? 1 : 0);
    }
  return mask;
}

Result<HostTensor> vectorOf(Dtype dtype, const std::vector<int64_t>& lengths) {
  DYN_TRY(HostTensor vector, HostTensor::create(dtype, {static_cast<int64_t>(lengths.size())}));
  for (size_t i = 0; i < lengths.size(); ++i) vector.setInt(static_cast<int64_t>(i), lengths[i]);
  return vector;
}

}  // namespace

Result<BatchLengths> parseBatchLengths(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return badLengths(text, "there is no NAME=");
  BatchLengths result;
  result.name = text.substr(0, equals);
  std::string_view rest = std::string_view(text).substr(equals + 1);
  if (!rest.empty() && rest[0] == '@') {
    DYN_TRY(DimSpec file, parseDimSpec(text));
    result.lengths = std::move(file.sequence);
    return result;
  }
  for (;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::optional<int64_t> length = lengthNumberOf(rest.substr(0, comma));
    if (!length || *length < 0)
      return badLengths(text, "'" + std::string(rest.substr(0, comma)) + "' is not a length");
    result.lengths.push_back(*length);
    if (comma == rest.size()) return result;
    rest.remove_prefix(comma + 1);
  }
}

namespace {

// The input of that name; of a ragged one that which holds its lengths.
Result<const Port*> lengthsPort(const Signature& signature, const std::string& name) {
  DYN_TRY(const Port* port, portNamed(signature, name));
  return port->length.empty() ? port : portNamed(signature, lengthsNameOf(*port));
}

}  // namespace

Result<std::optional<int64_t>> batchGiven(const Signature& signature, const BatchLengths& lengths,
                                          const std::vector<DimSpec>& dims) {
  DYN_TRY(const Port* port, lengthsPort(signature, lengths.name));
  DYN_CHECK(checkPort(*port));
  return sizeOf(port->info.shape[0], dims);
}

Result<LengthsOfCall> lengthsOfCall(const Signature& signature, const BatchLengths& lengths,
                                    const std::vector<DimSpec>& dims) {
  DYN_TRY(const Port* port, lengthsPort(signature, lengths.name));
  DYN_CHECK(checkPort(*port));
  LengthsOfCall call;
  call.name = port->info.name;
  std::vector<int64_t> taken = lengths.lengths;
  const std::string& batchName = port->info.shape[0];
  const auto count = static_cast<int64_t>(taken.size());
  if (const std::optional<int64_t> batch = sizeOf(batchName, dims)) {
    if (*batch > count)
      return makeError(DiagnosticId::usageError, "--lengths " + lengths.name + ": there are " +
                                                     std::to_string(count) + " lengths for a batch of " +
                                                     std::to_string(*batch));
    if (*batch < count)
      call.note = "input " + lengths.name + ": the first " + std::to_string(*batch) + " of " +
                  std::to_string(count) + " lengths";
    taken.resize(static_cast<size_t>(*batch));
  } else {
    call.dims.push_back(valueOf(batchName, count));
  }
  int64_t longest = 0;
  for (int64_t length : taken) longest = std::max(longest, length);
  if (port->info.shape.size() == 2) {
    const std::string& sequenceName = port->info.shape[1];
    const std::optional<int64_t> given = sizeOf(sequenceName, dims);
    if (given && *given < longest)
      return makeError(DiagnosticId::usageError, "--lengths " + lengths.name + ": a length is " +
                                                     std::to_string(longest) + ", the sequence " +
                                                     std::to_string(*given));
    if (!given) call.dims.push_back(valueOf(sequenceName, longest));
    DYN_TRY(call.value, prefixMask(port->dtype, taken, given.value_or(longest)));
    return call;
  }
  if (raggedPortOf(signature, *port)) {
    int64_t sum = 0;
    for (int64_t length : taken)
      if (__builtin_add_overflow(sum, length, &sum))
        return makeError(DiagnosticId::dimOverflow, "--lengths " + lengths.name + ": their sum overflows");
    call.dims.push_back(valueOf(port->info.name + ".sum", sum));
    DYN_TRY(call.value, vectorOf(port->dtype, taken));
    return call;
  }
  const std::vector<std::string> open = openBeside(signature, batchName, dims);
  if (open.size() > 1) {
    std::string list;
    for (const std::string& dim : open) list += (list.empty() ? "" : ", ") + dim;
    return makeError(DiagnosticId::usageError, "--lengths " + lengths.name + ": of " + list +
                                                   " any could be the sequence; give all but one by --dim");
  }
  if (open.size() == 1) call.dims.push_back(valueOf(open[0], longest));
  DYN_TRY(call.value, vectorOf(port->dtype, taken));
  return call;
}

std::vector<BatchLengths> batchesOf(const BatchLengths& lengths, int64_t batch) {
  std::vector<BatchLengths> batches;
  const auto size = static_cast<size_t>(batch);
  for (size_t at = 0; size > 0 && at + size <= lengths.lengths.size(); at += size) {
    const auto begin = lengths.lengths.begin() + static_cast<std::ptrdiff_t>(at);
    batches.push_back({lengths.name, {begin, begin + static_cast<std::ptrdiff_t>(size)}});
  }
  return batches;
}

std::string toText(const BatchLengths& lengths) {
  std::string text = lengths.name + "=";
  for (size_t i = 0; i < lengths.lengths.size(); ++i)
    text += (i ? "," : "") + std::to_string(lengths.lengths[i]);
  return text;
}

}  // namespace dyn
