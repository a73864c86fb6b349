#include "app/engine/model/signature.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/dims/ragged_dim.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/suggestion.h"
#include "vm/shared/dyn_axis_name.h"

namespace dyn {

namespace {

Port portOf(const dyn_module* module, int32_t index, bool input) {
  Port port;
  const char *name = "", *kind = "tensor";
  int32_t dtype = 0, rank = 0;
  (input ? dyn_module_input : dyn_module_output)(module, index, &name, &kind, &dtype, &rank);
  port.info.name = name;
  port.info.kind = kind;
  port.info.type = kind;
  if (port.info.kind != "tensor") return port;
  port.dtype = static_cast<Dtype>(dtype);
  port.info.dtype = std::string(toString(port.dtype));
  for (int32_t axis = 0; axis < rank; ++axis) {
    dyn_contract_dim dim{};
    (input ? dyn_module_input_dim : dyn_module_output_dim)(module, index, axis, &dim);
    port.info.shape.push_back(dim.value >= 0 ? std::to_string(dim.value) : dim.text);
  }
  port.info.type = "Tensor[(";
  for (size_t i = 0; i < port.info.shape.size(); ++i) port.info.type += (i ? ", " : "") + port.info.shape[i];
  port.info.type += "), " + port.info.dtype + "]";
  return port;
}

Error badDim(const std::string& text, const char* why) {
  return makeError(DiagnosticId::usageError, "--dim " + text + ": " + why)
      .note(
          "write --dim NAME=N, NAME=1..512, NAME=1..512:8, NAME=@lengths.txt, NAME=2*OTHER, NAME<=OTHER or "
          "INPUT.AXIS=NEWNAME");
}

bool isIdentifier(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Status readLengths(const std::string& path, DimSpec& spec) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  std::map<int64_t, int64_t> counts;
  std::string_view rest = file.bytes();
  int line = 1;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(" \t\r\n,"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (!word.empty()) {
      std::optional<int64_t> value = wholeNumber(word);
      if (!value || *value < 0)
        return makeError(DiagnosticId::fileFormat,
                         "'" + std::string(word.substr(0, 40)) + "' is not a length",
                         {.file = path, .line = static_cast<uint32_t>(line)});
      ++counts[*value];
      spec.sequence.push_back(*value);
    }
    if (end < rest.size() && rest[end] == '\n') ++line;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (counts.empty())
    return makeError(DiagnosticId::fileFormat, "there are no lengths in the file", {.file = path});
  std::vector<std::pair<int64_t, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (auto& [value, count] : sorted) spec.likely.push_back(value);
  return {};
}

// Values of ragged type are their rows, in the order of the sequences; those with several axes of lengths
// their elements.
void showRows(const Module& module, Port& port) {
  if (!port.type || !port.type.isTensor() || !isRagged(port.type.dims()) || port.type.rank() < 2) return;
  const auto ragged =
      std::count_if(port.type.dims().begin(), port.type.dims().end(), [](Dim d) { return isRagged(d); });
  const bool flat = ragged > 1;
  Dim length = port.type.dims()[1];
  for (size_t i = 2; flat && i < port.type.dims().size(); ++i) length = length * port.type.dims()[i];
  if (!isRagged(length)) return;
  Dim rows = sumOfElements(length);
  if (!rows) rows = module.context->dims().any("the sum of " + length.toString());
  port.length = length.toString();
  Shape dims{rows};
  if (!flat) dims.insert(dims.end(), port.type.dims().begin() + 2, port.type.dims().end());
  const std::string written = port.info.type;
  port.type = module.context->tensorType(std::move(dims), port.type.dtype());
  port.info = valueInfo(port.info.name, port.type);
  port.info.type = written;
}

// The length whose sum over a batch is `2*len.sum + b`: `2*len[b] + 1`; of `8*len.more.sum`, the elements of
// a sequence, 8*len[b]*more[b]; "" where it is no such sum.
std::string lengthOfSum(const Signature& signature, const std::string& sum) {
  constexpr std::string_view kSum = ".sum";
  DimContext dims;
  Result<Dim> parsed = parseDim(dims, sum);
  if (!parsed.ok()) return "";
  // The inputs of lengths of whose product it is a sum; empty: it is none.
  const auto lengthsOf = [&](SymbolId id) {
    std::vector<const Port*> found;
    std::string text = dims.symbolName(id);
    if (!text.ends_with(kSum)) return found;
    text.resize(text.size() - kSum.size());
    while (!text.empty()) {
      // The longest name first: a name may have dots.
      const Port* best = nullptr;
      for (const Port& input : signature.inputs) {
        const std::string& name = input.info.name;
        const bool begins = text == name || text.starts_with(name + ".");
        if (begins && input.info.shape.size() == 1 && input.dtype == Dtype::i64 &&
            (!best || name.size() > best->info.name.size()))
          best = &input;
      }
      if (!best) return std::vector<const Port*>();
      found.push_back(best);
      text.erase(0, best->info.name.size() + 1);
    }
    return found;
  };
  std::string batch;
  for (SymbolId id : symbolsOf(*parsed))
    for (const Port* lengths : lengthsOf(id)) batch = lengths->info.shape[0];
  if (batch.empty()) return "";
  const Dim length = substitute(*parsed, [&](SymbolId id) {
    if (dims.symbolName(id) == batch) return dims.constant(1);
    Dim product;
    for (const Port* lengths : lengthsOf(id)) {
      const Dim one = dims.symbol(lengths->info.name + "[" + batch + "]");
      product = product ? product * one : one;
    }
    return product;
  });
  return sumOfElements(length) == *parsed ? length.toString() : "";
}

// Of a package, which tells rows alone: how long the sequences are that have so many.
void findLengths(Signature& signature) {
  for (std::vector<Port>* ports : {&signature.inputs, &signature.outputs})
    for (Port& port : *ports) {
      if (port.info.shape.empty()) continue;
      const std::string length = lengthOfSum(signature, port.info.shape[0]);
      // Those of an input are an input's.
      if (ports == &signature.outputs || length.find(' ') == std::string::npos) port.length = length;
    }
}

}  // namespace

const char* kindName(TypeKind kind) {
  switch (kind) {
    case TypeKind::tensor:
      return "tensor";
    case TypeKind::tuple:
      return "tuple";
    case TypeKind::list:
      return "list";
    case TypeKind::optional:
      return "optional";
    case TypeKind::function:
      return "closure";
    case TypeKind::data:
      return "data";
  }
  return "?";
}

ValueInfo valueInfo(std::string name, Type type) {
  ValueInfo info;
  info.name = std::move(name);
  if (!type) return info;
  info.kind = kindName(type.kind());
  info.type = type.toString();
  if (type.isTensor()) {
    info.dtype = std::string(toString(type.dtype()));
    for (Dim d : type.dims()) info.shape.push_back(d.toString());
  }
  return info;
}

namespace {

// Of a text: what `return` calls it, or out0, out1, ... for what has no name.
std::string outputName(const Module& module, size_t result) {
  const ValueId id = module.main()->results[result];
  if (module.context->hasName(id)) return module.context->valueName(id);
  std::string name = "out" + std::to_string(result);
  while (module.context->findValue(name) != kNoValue) name += "_";
  return name;
}

}  // namespace

Signature signatureOf(const Module& module, const std::vector<std::string>& inputNames,
                      const std::vector<std::string>& outputNames) {
  Signature signature;
  const Function* main = module.main();
  if (!main) return signature;
  for (size_t i = 0; i < main->parameters.size(); ++i) {
    const Parameter& p = main->parameters[i];
    Port port;
    port.type = p.type;
    port.info = valueInfo(i < inputNames.size() ? inputNames[i] : module.context->valueName(p.id), p.type);
    if (p.type && p.type.isTensor()) port.dtype = p.type.dtype();
    showRows(module, port);
    signature.inputs.push_back(std::move(port));
  }
  for (size_t i = 0; i < main->results.size(); ++i) {
    Port port;
    port.type = i < main->resultTypes.size() ? main->resultTypes[i] : Type();
    port.info = valueInfo(i < outputNames.size() ? outputNames[i] : outputName(module, i), port.type);
    if (port.type && port.type.isTensor()) port.dtype = port.type.dtype();
    showRows(module, port);
    signature.outputs.push_back(std::move(port));
  }
  return signature;
}

Signature signatureOf(const dyn_module* module) {
  Signature signature;
  for (int32_t i = 0; i < dyn_module_input_count(module); ++i)
    signature.inputs.push_back(portOf(module, i, true));
  for (int32_t i = 0; i < dyn_module_output_count(module); ++i)
    signature.outputs.push_back(portOf(module, i, false));
  findLengths(signature);
  const char* said = dyn_module_metadata(module, "dim_facts");
  signature.facts = std::make_shared<const FactsOfText>(said ? said : "");
  signature.deduce = [facts = signature.facts](const DimValues& known,
                                               const std::vector<std::string>& unknown) {
    return deducedDims(facts->facts, known, unknown);
  };
  const char* fixed = dyn_module_metadata(module, "fixed_dims");
  std::string_view rest = fixed ? fixed : "";
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t equals = one.rfind('=');
    if (equals == std::string_view::npos) continue;
    if (std::optional<int64_t> value = wholeNumber(one.substr(equals + 1)))
      signature.fixedDims[std::string(one.substr(0, equals))] = *value;
  }
  return signature;
}

DeducedDims deducedDims(const DimSolver& said, const DimValues& known,
                        const std::vector<std::string>& unknown) {
  const std::string given = "given";
  DimSolver facts = said;
  DimContext& dims = facts.context();
  DeducedDims deduced;
  for (const auto& [name, value] : known)
    if (dims.hasSymbol(name))
      if (const Status added = facts.addRange(dims.symbol(name), value, value, {given, {}}); !added.ok()) {
        deduced.contradiction = added.error().message;
        return deduced;
      }
  for (const std::string& name : unknown) {
    if (!dims.hasSymbol(name)) continue;
    const Dim dim = dims.symbol(name);
    const Interval range = facts.interval(dim);
    if (!range.low || range.low != range.high) continue;
    DeducedDim one{name, *range.low, ""};
    for (const Fact& fact : facts.explainEqual(dim, dims.constant(*range.low)))
      if (fact.reason.text != given) one.reason += (one.reason.empty() ? "" : ", ") + fact.toString();
    deduced.dims.push_back(std::move(one));
  }
  return deduced;
}

CallDims::CallDims(const Signature& signature)
    : context_(std::make_shared<DimContext>()), signature_(signature) {
  for (const Port& port : signature.inputs) {
    std::vector<Dim> dims;
    for (const std::string& text : port.info.shape) {
      Result<Dim> dim = parseDim(*context_, text);
      dims.push_back(dim.ok() ? *dim : context_->any("not an expression"));
    }
    dims_.push_back(std::move(dims));
  }
  for (size_t i = 0; i < dims_.size(); ++i) {
    for (size_t axis = 0; axis < dims_[i].size(); ++axis) {
      for (SymbolId symbol : symbolsOf(dims_[i][axis])) {
        const std::string name = context_->symbolName(symbol);
        if (symbols_.emplace(name, symbol).second) names_.push_back(name);
      }
      const Dim dim = dims_[i][axis];
      if (dim.isSymbol())
        symbols_.emplace(signature.inputs[i].info.name + "." + std::to_string(axis), dim.symbol());
    }
  }
}

namespace {
constexpr std::string_view kNearDim = "did you mean ";
}  // namespace

bool hasNearDim(const Diagnostic& noSuchDim) {
  return !noSuchDim.notes.empty() && noSuchDim.notes.front().starts_with(kNearDim);
}

Error noSuchDim(const std::string& name, const std::vector<std::string>& dims) {
  Error error = makeError(DiagnosticId::usageError, "the model has no dim '" + name + "'");
  const std::vector<std::string_view> known(dims.begin(), dims.end());
  const std::string near = suggestion(name, known);
  if (!near.empty()) return std::move(error).note(std::string(kNearDim) + near + "?");
  std::string list;
  for (const std::string& dim : dims) list += (list.empty() ? "" : ", ") + dim;
  return std::move(error).note(list.empty() ? "its inputs have fixed shapes" : "its dims: " + list);
}

std::map<std::string, SymbolId, std::less<>>::const_iterator CallDims::find(const std::string& name) const {
  auto it = symbols_.find(name);
  if (it == symbols_.end() && context_->hasSymbol(name))
    it = symbols_.find(context_->symbol(name).toString());
  return it;
}

bool CallDims::has(const std::string& name) const {
  return find(name) != symbols_.end() || signature_.fixedDims.contains(name);
}

Status CallDims::bind(const std::string& name, int64_t value) {
  const auto it = find(name);
  const auto fixed = signature_.fixedDims.find(name);
  if (it == symbols_.end() && fixed != signature_.fixedDims.end()) {
    if (fixed->second == value) return {};
    return makeError(DiagnosticId::usageError, "--dim " + name + "=" + std::to_string(value) +
                                                   ": the program is made for " + name + " = " +
                                                   std::to_string(fixed->second))
        .note("load or compile the model without --dim " + name + "=" + std::to_string(fixed->second));
  }
  if (it == symbols_.end()) return noSuchDim(name, names_);
  if (value < 0)
    return makeError(DiagnosticId::usageError,
                     "--dim " + name + "=" + std::to_string(value) + ": a size is not negative");
  const std::string by = "--dim " + name;
  const std::optional<int64_t> before = binding_.get(it->second);
  if (before && *before != value && givenBy_[it->second] != by)
    return makeError(DiagnosticId::usageError, by + "=" + std::to_string(value) + ": " +
                                                   context_->symbolName(it->second) + " is " +
                                                   std::to_string(*before) + " by " + givenBy_[it->second]);
  binding_.set(it->second, value);
  givenBy_[it->second] = by;
  return {};
}

// Is its value known from inputs, and not from what the user says of it?
bool CallDims::isOfOtherAxes(Dim dim) const {
  const std::vector<SymbolId> symbols = symbolsOf(dim);
  return !symbols.empty() && std::all_of(symbols.begin(), symbols.end(), [&](SymbolId symbol) {
    const auto by = givenBy_.find(symbol);
    return by != givenBy_.end() && !by->second.starts_with("--dim ");
  });
}

Status CallDims::learn(const Port& port, const std::vector<int64_t>& shape) {
  if (port.rankIsOpen) return {};
  const std::vector<Dim>& dims = dims_[static_cast<size_t>(&port - signature_.inputs.data())];
  if (dims.size() != shape.size())
    return makeError(DiagnosticId::inputMismatch, "input " + port.info.name + " has rank " +
                                                      std::to_string(shape.size()) + ", the model takes " +
                                                      port.info.type);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].isSymbol() && !binding_.get(dims[axis].symbol())) {
      binding_.set(dims[axis], shape[axis]);
      givenBy_[dims[axis].symbol()] = "dim " + std::to_string(axis) + " of input " + port.info.name;
    }
    Result<int64_t> expected = evaluate(dims[axis], binding_);
    if (!expected.ok() || *expected == shape[axis]) continue;
    Error error =
        makeError(DiagnosticId::inputMismatch,
                  "input " + port.info.name + ": dim " + std::to_string(axis) + " is " +
                      std::to_string(shape[axis]) + ", but " + dims[axis].toString() +
                      (dims[axis].isConstant() ? " is demanded" : " = " + std::to_string(*expected)))
            .note("the model takes " + port.info.type);
    if (dims[axis].isSymbol())
      error = std::move(error).note(dims[axis].toString() + " = " + std::to_string(*expected) + " by " +
                                    givenBy_[dims[axis].symbol()]);
    if (isOfOtherAxes(dims[axis]))
      error = std::move(error).note("if it is a size of its own: " + ownAxisAdvice(port.info.name, axis));
    return error;
  }
  return {};
}

std::vector<std::string> CallDims::deduce() {
  std::vector<std::string> notes, unknown;
  for (const std::string& name : names_)
    if (!binding_.get(symbols_.find(name)->second)) unknown.push_back(name);
  if (unknown.empty() || !signature_.deduce) return notes;
  DeducedDims deduced = signature_.deduce(values(), unknown);
  contradiction_ = std::move(deduced.contradiction);
  for (const DeducedDim& dim : deduced.dims) {
    const SymbolId symbol = symbols_.find(dim.name)->second;
    binding_.set(symbol, dim.value);
    givenBy_[symbol] = dim.reason.empty() ? "the other dims" : dim.reason;
    notes.push_back("dim " + dim.name + " is " + std::to_string(dim.value) +
                    (dim.reason.empty() ? "" : ": " + dim.reason));
  }
  return notes;
}

Result<std::vector<int64_t>> CallDims::shapeOf(const Port& port) const {
  if (port.rankIsOpen)
    return makeError(DiagnosticId::inputMissing,
                     "input " + port.info.name + " is not given, and the model does not say its rank")
        .note("give the input: --input " + port.info.name + "=...");
  const std::vector<Dim>& dims = dims_[static_cast<size_t>(&port - signature_.inputs.data())];
  std::vector<int64_t> shape;
  for (Dim dim : dims) {
    for (SymbolId symbol : symbolsOf(dim)) {
      if (binding_.get(symbol)) continue;
      std::string missing;
      for (const std::string& name : names_)
        if (!binding_.get(symbols_.find(name)->second))
          missing += (missing.empty() ? " --dim " : ",") + name + "=N";
      Error error =
          makeError(DiagnosticId::inputMissing, "input " + port.info.name + " is not given, and its shape " +
                                                    port.info.type + " has dims without a value");
      if (!contradiction_.empty()) return std::move(error).note(contradiction_);
      return std::move(error).note("give the input (--input " + port.info.name +
                                   "=...), or the dims:" + missing);
    }
    DYN_TRY(int64_t value, evaluate(dim, binding_));
    if (value < 0)
      return makeError(DiagnosticId::dimDomain, "input " + port.info.name + ": " + dim.toString() + " = " +
                                                    std::to_string(value) + " is negative");
    shape.push_back(value);
  }
  return shape;
}

DimValues CallDims::values() const {
  DimValues values;
  for (const std::string& name : names_)
    if (std::optional<int64_t> value = binding_.get(symbols_.find(name)->second)) values[name] = *value;
  return values;
}

std::optional<AxisName> axisNameOf(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  const size_t dot = text.rfind('.', equals - 1);
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const std::optional<int64_t> axis = wholeNumber(std::string_view(text).substr(dot + 1, equals - dot - 1));
  const std::string name = text.substr(equals + 1);
  if (!axis || *axis < 0 || !isIdentifier(name)) return std::nullopt;
  return AxisName{text.substr(0, dot), static_cast<size_t>(*axis), name};
}

Error lateRelation(const DimSpec& spec, const Signature& signature) {
  const CallDims dims(signature);
  for (const DimRelation& relation : spec.relations)
    for (const std::string& name : namesIn(relation))
      if (!dims.has(name)) return noSuchDim(name, dims.names());
  const std::string said = "--dim " + spec.text + ": ";
  if (signature.facts)
    return makeError(DiagnosticId::usageError,
                     said + "the dims of a package were declared when it was compiled");
  return makeError(DiagnosticId::usageError, said + "a relation is said where the model is loaded")
      .note(":load MODEL --dim " + spec.text);
}

Result<DimSpec> parseDimSpec(const std::string& text) {
  DimSpec spec;
  spec.text = text;
  if (isDimRelation(text)) {
    spec.name = text;
    spec.axisName = axisNameOf(text);
    Result<std::vector<DimRelation>> relations = parseDimRelations(text);
    if (!relations.ok() && !spec.axisName) return relations.takeError();
    if (relations.ok()) spec.relations = *std::move(relations);
    return spec;
  }
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return badDim(text, "there is no NAME=");
  spec.name = text.substr(0, equals);
  std::string_view value = std::string_view(text).substr(equals + 1);
  if (!value.empty() && value[0] == '@') {
    DYN_CHECK(readLengths(std::string(value.substr(1)), spec));
    return spec;
  }
  const size_t dots = value.find("..");
  if (dots == std::string_view::npos) {
    spec.value = wholeNumber(value);
    if (!spec.value || *spec.value < 0) return badDim(text, "the value is not a size");
    return spec;
  }
  std::string_view high = value.substr(dots + 2);
  const size_t colon = high.find(':');
  if (colon != std::string_view::npos) {
    std::optional<int64_t> multiple = wholeNumber(high.substr(colon + 1));
    if (!multiple || *multiple < 1) return badDim(text, "the number behind the colon is not positive");
    spec.multiple = *multiple;
    high = high.substr(0, colon);
  }
  spec.low = wholeNumber(value.substr(0, dots));
  spec.high = wholeNumber(high);
  if (!spec.low || *spec.low < 0 || (!spec.high && !high.empty()))
    return badDim(text, "the range is not of the form A..B");
  if (spec.high && *spec.high < *spec.low) return badDim(text, "the range is empty");
  return spec;
}

std::vector<DimSpec> axisNamesIn(std::vector<DimSpec> specs) {
  std::erase_if(specs, [](const DimSpec& spec) { return !spec.axisName; });
  return specs;
}

Result<std::vector<DimSpec>> parseDimSpecs(const std::vector<std::string>& texts) {
  std::vector<DimSpec> specs;
  for (const std::string& text : texts) {
    DYN_TRY(DimSpec spec, parseDimSpec(text));
    specs.push_back(std::move(spec));
  }
  return specs;
}

DimValues completeDims(const Signature& signature, const DimValues& given) {
  CallDims call(signature);
  for (const auto& [name, value] : given)
    if (!call.bind(name, value).ok()) return given;  // the run says what does not fit
  (void)call.deduce();
  DimValues all = call.values();
  all.insert(given.begin(), given.end());
  return all;
}

Result<std::vector<std::vector<int64_t>>> shapesFor(const Signature& signature, const DimValues& dims) {
  CallDims call(signature);
  for (const auto& [name, value] : dims) DYN_CHECK(call.bind(name, value));
  std::vector<std::vector<int64_t>> shapes;
  for (const Port& input : signature.inputs) {
    DYN_TRY(std::vector<int64_t> shape, call.shapeOf(input));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace dyn
