#include "app/engine/inputs/input_spec.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <random>
#include <span>

#include "app/engine/inputs/assumed_inputs.h"
#include "app/engine/inputs/npy_text.h"
#include "app/engine/inputs/padded_sequences.h"
#include "app/engine/inputs/ragged_port.h"
#include "app/engine/inputs/test_value.h"
#include "compiler/reference/random_tensor.h"
#include "compiler/support/npy.h"
#include "compiler/support/suggestion.h"
#include "frontends/text/parser.h"

namespace dyn {

namespace {

constexpr uint64_t kSmallIntegers =
    2;  // 0 and 1 are valid as mask, token, type, index and trip count of almost any model

std::optional<Dtype> dtypeOf(NpyKind kind, unsigned bytes) {
  switch (kind) {
    case NpyKind::boolean:
      return Dtype::boolean;
    case NpyKind::integer:
      return parseDtype("i" + std::to_string(bytes * 8));
    case NpyKind::natural:
      return parseDtype("u" + std::to_string(bytes * 8));
    case NpyKind::real:
      return parseDtype("f" + std::to_string(bytes * 8));
    case NpyKind::complex:
      return parseDtype("c" + std::to_string(bytes * 8));
    case NpyKind::text:
    case NpyKind::bytes:
      break;
  }
  return std::nullopt;
}

// Literals are i64, f32 or bool; integers also stand for reals and the reverse where nothing is lost.
Result<HostTensor> convertLiteral(const HostTensor& literal, Dtype dtype, const std::string& name) {
  if (literal.dtype() == dtype || dtypeClass(literal.dtype()) == DtypeClass::text) return literal;
  const bool realLiteral = isReal(literal.dtype());
  if (realLiteral && !isReal(dtype))
    return makeError(DiagnosticId::inputMismatch,
                     "input " + name + " is " + std::string(toString(dtype)) + ", the literal has reals");
  DYN_TRY(HostTensor tensor, HostTensor::create(dtype, literal.shape()));
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (isInteger(dtype) || dtypeClass(dtype) == DtypeClass::boolean) {
      tensor.setInt(i, literal.intAt(i));
      if (tensor.intAt(i) != literal.intAt(i))
        return makeError(DiagnosticId::inputMismatch, "input " + name + ": " +
                                                          std::to_string(literal.intAt(i)) +
                                                          " does not fit in " + std::string(toString(dtype)));
    } else {
      tensor.setReal(i, literal.realAt(i));
    }
  }
  return tensor;
}

// Is it the name of a file, be there one or not?
bool namesFile(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(','));
  if (::access(name.c_str(), F_OK) == 0 || name.find('/') != std::string::npos) return true;
  static constexpr std::string_view kEndings[] = {".npy", ".pb", ".png", ".jpg", ".jpeg", ".wav"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// Null: a kind of filling, which needs the shape first.
Result<std::optional<Value>> readSpec(const Port& port, const std::string& spec, const InputSources& sources,
                                      const DimValues& known, std::string* note) {
  if (sources.media) {
    DYN_TRY(std::optional<Value> value, sources.media(port, spec, known, note));
    if (value) return value;
  }
  if (!spec.empty() && spec[0] == '@') {
    const std::string path = spec.substr(1);
    const bool npy = path.size() >= 4 && path.substr(path.size() - 4) == ".npy";
    if (!npy) {
      DYN_TRY(Value value, readTestValue(path, port));
      return std::optional<Value>(std::move(value));
    }
    DYN_TRY(HostTensor tensor, readNpyTensor(path));
    return std::optional<Value>(Value(std::move(tensor)));
  }
  const std::string word = spec.substr(0, spec.find(':'));
  if (word == "random" || spec == "zeros" || spec == "ones" || spec == "range") {
    if (port.info.kind != "tensor")
      return makeError(DiagnosticId::inputMismatch, "input " + port.info.name + " is of the kind " +
                                                        port.info.kind + ": it must be given as @file.pb");
    return std::optional<Value>();
  }
  if (sources.bound)
    if (const Value* value = sources.bound(spec)) return std::optional<Value>(*value);
  Result<HostTensor> literal = text::parseTensor(spec);
  if (!literal.ok()) {
    const std::string_view known[] = {"random", "zeros", "ones", "range"};
    const std::string near = namesFile(spec) ? "@" + spec : suggestion(spec, known);
    Error fault =
        makeError(DiagnosticId::usageError, "--input " + port.info.name + "=" + spec + " is not a value");
    if (!near.empty()) fault = std::move(fault).note("did you mean " + near + "?");
    return std::move(fault).note(
        "write @file.npy, @file.pb, @picture.png, @sound.wav, text:tokenizer.json:WORDS, random[:SEED], "
        "zeros, ones, range or a literal [1, 2, 3]");
  }
  const bool ofOptional =
      port.type && port.type.kind() == TypeKind::optional && port.type.element().isTensor();
  const Dtype dtype = ofOptional ? port.type.element().dtype() : port.dtype;
  DYN_TRY(HostTensor converted, convertLiteral(*literal, dtype, port.info.name));
  return std::optional<Value>(Value(std::move(converted)));
}

Result<Value> filledValue(const Port& port, const std::string& spec, std::vector<int64_t> shape,
                          uint64_t seed) {
  Result<HostTensor> made = HostTensor();
  if (spec == "zeros") {
    made = filledTensor(port.dtype, std::move(shape), 0);
  } else if (spec == "ones") {
    made = filledTensor(port.dtype, std::move(shape), 1);
  } else if (spec == "range") {
    made = rangeTensor(port.dtype, std::move(shape));
  } else {
    const size_t colon = spec.find(':');
    if (colon != std::string::npos) {
      const std::string_view digits = std::string_view(spec).substr(colon + 1);
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
      if (error != std::errc() || end != digits.data() + digits.size())
        return makeError(DiagnosticId::usageError,
                         "--input " + port.info.name + "=" + spec + ": the seed is not a number");
    }
    made = randomTensor(port.dtype, std::move(shape), RandomSource(seed, port.info.name), kSmallIntegers);
  }
  if (!made.ok()) return made.takeError();
  return Value(*std::move(made));
}

}  // namespace

Result<HostTensor> readNpyTensor(const std::string& path) {
  DYN_TRY(NpyArray array, readNpy(path));
  if (array.kind == NpyKind::text || array.kind == NpyKind::bytes) return stringsOf(array, path);
  std::optional<Dtype> dtype = dtypeOf(array.kind, array.elementBytes);
  if (!dtype) return makeError(DiagnosticId::unsupportedDtype, path + ": the element type is not supported");
  DYN_TRY(HostTensor tensor, HostTensor::create(*dtype, array.shape));
  if (!array.data.empty()) std::memcpy(tensor.mutableData(), array.data.data(), array.data.size());
  return tensor;
}

Status writeNpyTensor(const std::string& path, const HostTensor& tensor) {
  NpyArray array;
  array.shape = tensor.shape();
  HostTensor plain = tensor;
  switch (dtypeClass(tensor.dtype())) {
    case DtypeClass::boolean:
      array.kind = NpyKind::boolean;
      break;
    case DtypeClass::integer:
      array.kind = NpyKind::integer;
      break;
    case DtypeClass::natural:
      array.kind = NpyKind::natural;
      break;
    case DtypeClass::complex:
      array.kind = NpyKind::complex;
      break;
    case DtypeClass::text: {
      DYN_TRY(const NpyArray texts, arrayOfStrings(tensor, path));
      return writeNpy(path, texts);
    }
    case DtypeClass::real: {
      array.kind = NpyKind::real;
      // NumPy has no bfloat16 and no 8-bit floats: they are written as f32, which holds them exactly.
      const bool known =
          tensor.dtype() == Dtype::f16 || tensor.dtype() == Dtype::f32 || tensor.dtype() == Dtype::f64;
      if (!known) {
        DYN_TRY(plain, HostTensor::create(Dtype::f32, tensor.shape()));
        for (int64_t i = 0; i < tensor.elementCount(); ++i) plain.setReal(i, tensor.realAt(i));
      }
      break;
    }
  }
  array.elementBytes = static_cast<unsigned>(storageBytes(plain.dtype()));
  array.data.assign(plain.data(), plain.data() + plain.sizeBytes());
  return writeNpy(path, array);
}

bool takeAsScalar(const Port& port, Value* value) {
  if (port.info.kind != "tensor" || port.rankIsOpen || !port.info.shape.empty() || !value->isTensor())
    return false;
  const HostTensor& tensor = value->tensor();
  if (tensor.rank() == 0 || tensor.elementCount() != 1) return false;
  *value = Value(tensor.reshaped({}));
  return true;
}

namespace {

// The value of an input that has a default.
Result<HostTensor> overrideOf(const Port& port, const std::string& spec, const CallDims& known, uint64_t seed,
                              const InputSources& sources) {
  std::string note;
  DYN_TRY(std::optional<Value> value, readSpec(port, spec, sources, known.values(), &note));
  if (!value) {
    DYN_TRY(std::vector<int64_t> shape, known.shapeOf(port));
    DYN_TRY(value, filledValue(port, spec, std::move(shape), seed));
  }
  (void)takeAsScalar(port, &*value);
  const Type type = port.type;
  bool fits = value->isTensor() && type.isTensor() && value->tensor().dtype() == type.dtype() &&
              value->tensor().rank() == type.rank();
  for (int axis = 0; fits && axis < type.rank(); ++axis) {
    const std::optional<int64_t> size = type.dims()[static_cast<size_t>(axis)].constant();
    fits = !size || *size == value->tensor().shape()[static_cast<size_t>(axis)];
  }
  if (!fits)
    return makeError(DiagnosticId::inputMismatch,
                     "input " + port.info.name + " does not fit: the model takes " + port.info.type);
  return value->tensor();
}

std::string listOf(const Signature& signature, std::vector<std::string_view>* names) {
  std::string list;
  for (const std::vector<Port>* ports : {&signature.inputs, &signature.defaults}) {
    for (const Port& port : *ports) {
      names->push_back(port.info.name);
      list += (list.empty() ? "" : ", ") + port.info.name;
    }
  }
  return list;
}

}  // namespace

namespace {

// A file for each sequence: the rows, and the lengths of another input.
Status takeSequences(const Signature& signature, size_t index, const std::string& spec, CallDims& known,
                     std::vector<std::optional<Value>>& given) {
  const Port& port = signature.inputs[index];
  const Port* lengths = inputNamed(signature, lengthsNameOf(port));
  if (!lengths)
    return makeError(DiagnosticId::inputMissing, "the model has no input '" + lengthsNameOf(port) +
                                                     "' for the lengths of " + port.info.name);
  DYN_TRY(Sequences read, readSequences(port, spec));
  std::optional<Value>& told = given[static_cast<size_t>(lengths - signature.inputs.data())];
  if (told && !told->identical(Value(read.lengths)))
    return makeError(DiagnosticId::inputMismatch, "the sequences of input " + port.info.name +
                                                      " have other lengths than input " + lengths->info.name +
                                                      " says");
  DYN_CHECK(known.learn(port, read.rows.shape()));
  DYN_CHECK(known.learn(*lengths, read.lengths.shape()));
  given[index] = Value(std::move(read.rows));
  told = Value(std::move(read.lengths));
  return {};
}

// The same for a model that takes them padded.
Status takePadded(const Signature& signature, size_t index, const std::vector<std::string>& fills,
                  CallDims& known, std::vector<std::optional<Value>>& given) {
  const Port& port = signature.inputs[index];
  const auto indexOf = [&](const Port& other) {
    return static_cast<size_t>(&other - signature.inputs.data());
  };
  DYN_TRY(PaddedSequences read, readPaddedSequences(signature, port, fills[index], [&](const Port& other) {
            return fills[indexOf(other)].empty();
          }));
  std::optional<Value>& told = given[indexOf(*read.lengths)];
  if (told && !told->identical(Value(read.lengthsValue)))
    return makeError(DiagnosticId::inputMismatch, "the sequences of input " + port.info.name +
                                                      " have other lengths than input " +
                                                      read.lengths->info.name + " says");
  DYN_CHECK(known.learn(port, read.value.shape()));
  DYN_CHECK(known.learn(*read.lengths, read.lengthsValue.shape()));
  given[index] = Value(std::move(read.value));
  told = Value(std::move(read.lengthsValue));
  return {};
}

// So many lengths with this sum.
Result<HostTensor> randomLengths(int64_t count, int64_t sum, uint64_t seed) {
  DYN_TRY(HostTensor lengths, HostTensor::create(Dtype::i64, {count}));
  std::mt19937_64 random(seed);
  const std::span<int64_t> ends(lengths.mutableAs<int64_t>(), static_cast<size_t>(count));  // at first
  for (int64_t& end : ends) end = static_cast<int64_t>(random() % (static_cast<uint64_t>(sum) + 1));
  if (!ends.empty()) ends.back() = sum;
  std::sort(ends.begin(), ends.end());
  std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
  return lengths;
}

// Lengths have to sum up to the rows. Those given say how many rows there are. Where neither is given, but
// how many sequences and rows there are, lengths are random, and `notes` says so.
Status learnLengths(const Signature& signature, std::vector<std::optional<Value>>& given,
                    const std::vector<std::string>& fills, uint64_t seed, CallDims& known,
                    std::vector<std::string>& notes) {
  for (const Port& port : signature.inputs) {
    const Port* lengths = port.length.empty() ? nullptr : inputNamed(signature, lengthsNameOf(port));
    if (!lengths) continue;
    const auto at = static_cast<size_t>(lengths - signature.inputs.data());
    const bool rowsGiven = given[static_cast<size_t>(&port - signature.inputs.data())].has_value();
    if (given[at] && given[at]->isTensor()) {
      int64_t sum = 0;
      for (int64_t i = 0; i < given[at]->tensor().elementCount(); ++i)
        if (__builtin_add_overflow(sum, given[at]->tensor().intAt(i), &sum)) sum = -1;
      if (sum >= 0 && !rowsGiven) DYN_CHECK(known.bind(lengths->info.name + ".sum", sum));
    }
    if (given[at] || !fills[at].empty()) continue;
    const DimValues values = known.values();
    const auto sum = values.find(lengths->info.name + ".sum");
    const Result<std::vector<int64_t>> shape = known.shapeOf(*lengths);
    if (!rowsGiven && sum != values.end() && shape.ok() && ((*shape)[0] > 0 || sum->second == 0)) {
      DYN_TRY(HostTensor random, randomLengths((*shape)[0], sum->second, seed));
      given[at] = Value(std::move(random));
      notes.push_back("input " + lengths->info.name + ": random lengths that sum up to " +
                      std::to_string(sum->second) + " (seed " + std::to_string(seed) + ")");
      continue;
    }
    return makeError(DiagnosticId::inputMissing, "the lengths of input " + port.info.name + ", input " +
                                                     lengths->info.name + ", must be given")
        .note("give --lengths " + port.info.name + "=3,1,2, or a file for each sequence: --input " +
              port.info.name + "=@a.npy,@b.npy; or how many there are in all, for random ones: --dim " +
              lengths->info.name + ".sum=N");
  }
  return {};
}

}  // namespace

Result<CallInputs> makeInputs(const Signature& signature, const std::vector<DimSpec>& dims,
                              const std::vector<std::string>& specs, uint64_t seed,
                              const InputSources& sources) {
  CallInputs call;
  CallDims known(signature);
  for (const DimSpec& spec : dims) {
    if (spec.axisName)
      return makeError(DiagnosticId::usageError,
                       "--dim " + spec.text + ": an axis is named where the model is loaded")
          .note(":load MODEL --dim " + spec.text);
    if (!spec.relations.empty()) return lateRelation(spec, signature);
    if (!spec.value)
      return makeError(DiagnosticId::usageError,
                       "--dim " + spec.text + ": a run needs one value, not a range");
    DYN_CHECK(known.bind(spec.name, *spec.value));
  }
  std::vector<std::string> fills(signature.inputs.size(), "");
  std::vector<std::optional<Value>> given(signature.inputs.size());
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const auto made = sources.given.find(signature.inputs[i].info.name);
    if (made == sources.given.end()) continue;
    given[i] = made->second;
    DYN_CHECK(known.learn(signature.inputs[i], made->second.tensor().shape()));
  }
  for (const std::string& text : specs) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    size_t index = 0;
    while (index < signature.inputs.size() && signature.inputs[index].info.name != name) ++index;
    const auto defaulted = std::find_if(signature.defaults.begin(), signature.defaults.end(),
                                        [&](const Port& port) { return port.info.name == name; });
    if (defaulted != signature.defaults.end()) {
      DYN_TRY(HostTensor value, overrideOf(*defaulted, text.substr(equals + 1), known, seed, sources));
      call.overrides.emplace_back(name, std::move(value));
      continue;
    }
    if (index == signature.inputs.size()) {
      std::vector<std::string_view> names;
      const std::string list = listOf(signature, &names);
      const std::string near = suggestion(name, names);
      return makeError(DiagnosticId::inputMissing, "the model has no input '" + name + "'")
          .note(near.empty() ? "its inputs: " + list : "did you mean " + near + "?");
    }
    const Port& port = signature.inputs[index];
    if (sources.given.count(name) != 0)
      return makeError(DiagnosticId::usageError, "input " + name + " is given twice");
    fills[index] = text.substr(equals + 1);
    if (!port.length.empty() && isListOfSequences(fills[index])) {
      DYN_CHECK(takeSequences(signature, index, fills[index], known, given));
      continue;
    }
    if (port.info.kind == "tensor" && isListOfTensors(fills[index])) {
      DYN_CHECK(takePadded(signature, index, fills, known, given));
      continue;
    }
    std::string note;
    const std::optional<Value> told = std::move(given[index]);  // by sequences of another input
    DYN_TRY(given[index], readSpec(port, fills[index], sources, known.values(), &note));
    if (told && given[index] && !told->identical(*given[index]))
      return makeError(DiagnosticId::inputMismatch,
                       "input " + name + " has other lengths than the sequences that are given");
    if (!note.empty()) call.notes.push_back("input " + name + ": " + note);
    if (given[index] && given[index]->isTensor() && port.info.kind == "optional")
      given[index] = Value::some(*std::move(given[index]));
    if (given[index] && takeAsScalar(port, &*given[index])) call.scalars.push_back(name);
    if (given[index] && given[index]->isTensor() && port.info.kind == "tensor") {
      const HostTensor& tensor = given[index]->tensor();
      if (tensor.dtype() != port.dtype)
        return makeError(DiagnosticId::inputMismatch, "input " + name + " is " +
                                                          std::string(toString(tensor.dtype())) +
                                                          ", the model takes " + port.info.type);
      DYN_CHECK(known.learn(port, tensor.shape()));
    }
  }
  DYN_CHECK(learnLengths(signature, given, fills, seed, known, call.notes));
  const std::vector<std::string> deduced = known.deduce();
  call.notes.insert(call.notes.end(), deduced.begin(), deduced.end());
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const Port& port = signature.inputs[i];
    if (!given[i]) {
      if (fills[i].empty()) {
        if (port.info.kind == "optional") {
          given[i] = Value::nothing();
          call.values.push_back(*given[i]);
          continue;
        }
        if (port.info.kind != "tensor")
          return makeError(DiagnosticId::inputMissing, "input " + port.info.name + " is of the kind " +
                                                           port.info.kind + " and must be given");
        DYN_TRY(std::optional<AssumedInput> assumed, assumedInput(signature, port, known));
        if (assumed) {
          call.values.emplace_back(std::move(assumed->value));
          call.notes.push_back(std::move(assumed->note));
          continue;
        }
        fills[i] = "random";
        call.random.push_back(port.info.name);
      }
      DYN_TRY(std::vector<int64_t> shape, known.shapeOf(port));
      DYN_TRY(given[i], filledValue(port, fills[i], std::move(shape), seed));
    }
    call.values.push_back(*given[i]);
  }
  call.dims = known.values();
  return call;
}

std::vector<std::string> notesOf(const CallInputs& inputs, uint64_t seed) {
  std::vector<std::string> notes;
  if (!inputs.random.empty()) {
    std::string list;
    for (const std::string& name : inputs.random) list += (list.empty() ? "" : ", ") + name;
    const bool one = inputs.random.size() == 1;
    notes.push_back((one ? "input " : "inputs ") + list + (one ? " is" : " are") + " random (seed " +
                    std::to_string(seed) + ")");
  }
  notes.insert(notes.end(), inputs.notes.begin(), inputs.notes.end());
  for (const std::string& name : inputs.scalars)
    notes.push_back("input " + name + " is a scalar; the one element given is taken for it");
  return notes;
}

}  // namespace dyn
