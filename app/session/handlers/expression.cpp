#include "app/session/handlers/expression.h"

#include <algorithm>
#include <cctype>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/text_options.h"
#include "app/engine/run/run_result.h"
#include "app/session/handlers/named_value.h"
#include "compiler/infer/infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/random_tensor.h"
#include "frontends/text/parser.h"

namespace dyn {

namespace {

constexpr uint64_t kPromptIntegers = 10;

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::string trimmedExpression(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// "x", "a, b" before a single `=`; the position behind the `=`, or npos when it is no assignment.
size_t parseTargets(const std::string& line, std::vector<std::string>& targets) {
  size_t at = 0;
  auto skip = [&] {
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at]))) ++at;
  };
  for (;;) {
    skip();
    if (at < line.size() && line[at] == '%') ++at;
    const size_t begin = at;
    while (at < line.size() && isWordChar(line[at])) ++at;
    if (at == begin || std::isdigit(static_cast<unsigned char>(line[begin]))) return std::string::npos;
    targets.push_back(line.substr(begin, at - begin));
    skip();
    if (at < line.size() && line[at] == ',') {
      ++at;
      continue;
    }
    if (at < line.size() && line[at] == '=' && (at + 1 == line.size() || line[at + 1] != '=')) return at + 1;
    return std::string::npos;
  }
}

// Position behind the bracket that closes the one at `open`; npos when there is none.
size_t closing(const std::string& text, size_t open) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i + 1;
  }
  return std::string::npos;
}

std::vector<std::string> splitArguments(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (char c : text) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmedExpression(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmedExpression(part).empty() || !parts.empty()) parts.push_back(trimmedExpression(part));
  return parts;
}

std::optional<std::vector<int64_t>> shapeLiteral(const std::string& text) {
  Result<HostTensor> tensor = text::parseTensor(text);
  if (!tensor.ok() || text.empty() || text[0] != '[') return std::nullopt;
  if (tensor->rank() != 1 || (!isInteger(tensor->dtype()) && tensor->elementCount() > 0)) return std::nullopt;
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < tensor->elementCount(); ++i) shape.push_back(tensor->intAt(i));
  return shape;
}

// Nullopt: these are not a constructor's arguments.
Result<std::optional<HostTensor>> construct(const std::string& name,
                                            const std::vector<std::string>& arguments, uint64_t seed,
                                            const std::string& stream) {
  if (name == "load") {
    if (arguments.size() != 1 || arguments[0].size() < 2 || arguments[0][0] != '"')
      return std::optional<HostTensor>();
    DYN_TRY(HostTensor tensor, readNpyTensor(arguments[0].substr(1, arguments[0].size() - 2)));
    return std::optional<HostTensor>(std::move(tensor));
  }
  if (name == "range" && arguments.size() == 1) {
    Result<HostTensor> count = text::parseTensor(arguments[0]);
    if (!count.ok() || count->rank() != 0 || !isInteger(count->dtype()) || count->intAt(0) < 0)
      return std::optional<HostTensor>();
    DYN_TRY(HostTensor tensor, rangeTensor(Dtype::i64, {count->intAt(0)}));
    return std::optional<HostTensor>(std::move(tensor));
  }
  if (arguments.size() < 2 || arguments.size() > 3) return std::optional<HostTensor>();
  std::optional<Dtype> dtype = parseDtype(arguments[0]);
  std::optional<std::vector<int64_t>> shape = shapeLiteral(arguments[1]);
  if (!dtype || !shape) return std::optional<HostTensor>();
  Result<HostTensor> made = HostTensor();
  if (name == "random") {
    RandomSource source(seed, stream);
    if (arguments.size() == 3) {
      Result<HostTensor> own = text::parseTensor(arguments[2]);
      if (!own.ok() || own->rank() != 0 || !isInteger(own->dtype())) return std::optional<HostTensor>();
      source = RandomSource(static_cast<uint64_t>(own->intAt(0)));
    }
    made = randomTensor(*dtype, *shape, source, kPromptIntegers);
  } else if (name == "range") {
    made = rangeTensor(*dtype, *shape);
  } else {
    made = filledTensor(*dtype, *shape, name == "ones" ? 1 : 0);
  }
  if (!made.ok()) return made.takeError();
  return std::optional<HostTensor>(std::move(made).value());
}

Result<Type> expressionTypeOf(IrContext& ir, const BoundValue& bound, const Module* library) {
  if (bound.value.isTensor())
    return ir.tensorType(std::span<const int64_t>(bound.value.tensor().shape()),
                         bound.value.tensor().dtype());
  return text::parseType(ir, bound.type, library);
}

// Diagnostics show the line as it was written.
Error restored(Error error, const PreparedExpression& expression) {
  auto replace = [&](std::string& text) {
    for (const auto& [padded, written] : expression.written)
      for (size_t at = text.find(padded); at != std::string::npos;
           at = text.find(padded, at + written.size()))
        text.replace(at, padded.size(), written);
  };
  replace(error.diagnostic().message);
  for (std::string& note : error.diagnostic().notes) replace(note);
  return error;
}

}  // namespace

std::string typeText(const Value& value) {
  if (!value.isTensor()) return toString(value.kind());
  std::string text = "Tensor[(";
  const std::vector<int64_t>& shape = value.tensor().shape();
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "), " + std::string(toString(value.tensor().dtype())) + "]";
}

namespace {

// Does it call @main?
bool namesMain(const std::string& text) {
  constexpr std::string_view kMain = "@main";
  for (size_t at = text.find(kMain); at != std::string::npos; at = text.find(kMain, at + 1))
    if (at + kMain.size() == text.size() || !isWordChar(text[at + kMain.size()])) return true;
  return false;
}

}  // namespace

bool isFunctionName(const std::string& name) { return !name.empty() && name[0] == '@'; }

std::optional<FunctionText> functionText(const std::string& line) {
  const auto blanks = [&](size_t at) { return std::min(line.find_first_not_of(" \t\r\n", at), line.size()); };
  const auto word = [&](size_t at) {
    while (at < line.size() && isWordChar(line[at])) ++at;
    return at;
  };
  const auto isFn = [&](size_t at) { return word(at) == at + 2 && line.compare(at, 2, "fn") == 0; };
  std::vector<std::string> targets;
  const size_t behind = parseTargets(line, targets);
  FunctionText function;
  size_t open = std::string::npos;
  if (behind != std::string::npos) {
    const size_t fn = blanks(behind);
    if (targets.size() != 1 || !isFn(fn)) return std::nullopt;
    function.name = targets[0];
    open = blanks(fn + 2);
  } else {
    const size_t fn = blanks(0);
    if (!isFn(fn)) return std::nullopt;
    size_t name = blanks(fn + 2);
    if (name < line.size() && line[name] == '@') ++name;
    function.name = line.substr(name, word(name) - name);
    open = blanks(word(name));
  }
  if (open >= line.size() || line[open] != '(' || function.name.empty()) return std::nullopt;
  function.text = "fn @" + function.name;
  function.text.resize(std::max(function.text.size(), open), ' ');
  function.text += line.substr(open);
  return function;
}

namespace {

// The functions of the prompt, in the place of those of the library that have their names.
Status addFunctions(const SessionState& state, IrContext& ir, Module& library) {
  text::ParseOptions options = textOptions("<prompt>");
  for (const auto& [name, bound] : state.values) {
    if (!isFunctionName(name)) continue;
    options.file = name;
    DYN_TRY(const Module made, text::parseModule(ir, bound.value.tensor().stringValues()[0], options));
    for (const Function* function : made.functions) {
      std::erase_if(library.functions, [&](const Function* other) { return other->name == function->name; });
      library.functions.push_back(function);
    }
  }
  return {};
}

}  // namespace

Status defineFunction(SessionState& state, const FunctionText& function) {
  if (function.name == "main")
    return makeError(DiagnosticId::textName, "@main is the function of a model: take another name");
  IrContext ir;
  DYN_TRY([[maybe_unused]] const Module read, text::parseModule(ir, function.text, textOptions("<prompt>")));
  HostTensor kept = HostTensor::strings({}, {function.text});
  const size_t open = function.text.find('(');
  std::string head = function.text.substr(open, function.text.find('{') - open);
  state.values.bind("@" + function.name, {Value(std::move(kept)), "fn " + trimmedExpression(head)});
  return {};
}

Result<PreparedExpression> prepareExpression(const std::string& line, uint64_t seed) {
  PreparedExpression expression;
  std::string text = trimmedExpression(line);
  if (!text.empty() && text.back() == ';') {
    expression.quiet = true;
    text = trimmedExpression(text.substr(0, text.size() - 1));
  }
  const size_t behind = parseTargets(text, expression.targets);
  // Columns of diagnostics count from the begin of the line.
  if (behind == std::string::npos) {
    expression.targets.clear();
  } else {
    text = std::string(behind, ' ') + text.substr(behind);
  }
  if (trimmedExpression(text).empty()) return makeError(DiagnosticId::textSyntax, "an expression is missing");
  expression.source = trimmedExpression(text);
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted || !std::isalpha(static_cast<unsigned char>(text[at])) ||
        (at > 0 && (isWordChar(text[at - 1]) || text[at - 1] == '%' || text[at - 1] == '@')))
      continue;
    size_t end = at;
    while (end < text.size() && isWordChar(text[end])) ++end;
    const std::string name = text.substr(at, end - at);
    const bool constructor =
        name == "random" || name == "zeros" || name == "ones" || name == "range" || name == "load";
    if (!constructor || end == text.size() || text[end] != '(') {
      at = end - 1;
      continue;
    }
    const size_t close = closing(text, end);
    if (close == std::string::npos) break;  // the parser says so
    const std::string placeholder = "_" + std::to_string(expression.constants.size() + 1);
    const std::string stream = (expression.targets.empty() ? "" : expression.targets[0]) + placeholder;
    DYN_TRY(std::optional<HostTensor> made,
            construct(name, splitArguments(text.substr(end + 1, close - end - 2)), seed, stream));
    if (!made) {
      if (!findOp(name))
        return makeError(DiagnosticId::textSyntax,
                         name + " takes an element type and a shape: " + name + "(f32, [2, 3])")
            .at({.file = "<prompt>", .line = 1, .column = static_cast<uint32_t>(at + 1)});
      at = end;
      continue;
    }
    const std::string written = text.substr(at, close - at);
    std::string padded = placeholder;
    padded.resize(std::max(padded.size(), written.size()), ' ');
    text.replace(at, close - at, padded);
    expression.written[padded] = written;
    expression.constants[placeholder] = {Value(*std::move(made)), ""};
    at += padded.size() - 1;
  }
  expression.text = std::move(text);
  return expression;
}

Result<EvaluatedExpression> evaluateExpression(SessionState& state, const PreparedExpression& expression,
                                               EvaluationGoal goal) {
  EvaluatedExpression result;
  std::map<std::string, BoundValue> used;  // what was asked for
  const auto meaning = [&](const std::string& name) -> const BoundValue* {
    const auto made = expression.constants.find(name);
    if (made != expression.constants.end()) return &made->second;
    if (const auto known = used.find(name); known != used.end()) return &known->second;
    std::optional<BoundValue> found = namedValue(state, name);
    return found ? &used.emplace(name, *std::move(found)).first->second : nullptr;
  };
  // A name on its own needs no program.
  std::string alone = trimmedExpression(expression.text);
  if (!alone.empty() && alone[0] == '%') alone = alone.substr(1);
  if (const BoundValue* named = meaning(alone)) {
    const Value& value = named->value;
    result.types.push_back(value.isTensor() ? typeText(value) : named->type);
    if (goal == EvaluationGoal::values) result.values.push_back(value);
    return result;
  }
  // Functions and data types of the model need a copy of it; all else gets a fresh context.
  const Module* library = nullptr;
  std::shared_ptr<IrContext> ir;
  std::optional<ScratchProgram> whole;  // with @main, which may be large
  const bool hasFunctions =
      state.now.model && state.now.model->hasModule() && state.now.model->problems().empty();
  const bool callsMain = namesMain(expression.text);
  if (callsMain && !hasFunctions)
    return makeError(DiagnosticId::textName, "@main is the function of a model, and none is loaded");
  if (hasFunctions && expression.text.find('@') != std::string::npos) {
    if (callsMain) whole.emplace(state.now.model->imported());
    const ScratchCopy& copy = (whole ? *whole : state.now.model->library()).copy();
    library = &copy.module;
    ir = copy.ir;
  } else {
    ir = std::make_shared<IrContext>();
  }
  Module functions;
  if (std::any_of(state.values.begin(), state.values.end(),
                  [](const auto& entry) { return isFunctionName(entry.first); })) {
    if (library) functions = *library;
    functions.context = ir.get();
    DYN_CHECK(addFunctions(state, *ir, functions));
    library = &functions;
  }
  text::Environment environment;
  environment.library = library;
  environment.typeOf = [&](const std::string& name) {
    const BoundValue* bound = meaning(name);
    if (!bound) return Type();
    const Result<Type> type = expressionTypeOf(*ir, *bound, library);
    return type.ok() ? *type : Type();
  };
  environment.names = [&] {
    std::vector<std::string> names = namesOfValues(state);
    for (const auto& [name, bound] : expression.constants) names.push_back(name);
    return names;
  };
  const text::ParseOptions options = textOptions("<prompt>");
  Result<text::ParsedExpression> parsed = text::parseExpression(*ir, expression.text, environment, options);
  if (!parsed.ok()) return restored(parsed.takeError(), expression);
  if (goal == EvaluationGoal::types) {
    Result<InferredModule> typed = inferTypes(parsed->module);
    if (!typed.ok()) return restored(typed.takeError(), expression);
    for (Type type : typed->module.main()->resultTypes) result.types.push_back(type ? type.toString() : "_");
    return result;
  }
  std::unique_ptr<LoadedModel> model = LoadedModel::fromModule(ir, parsed->module, parsed->parameters,
                                                               state.now.options, state.interruption.flag());
  Result<dyn_module*> program = model->program();
  if (!program.ok()) return restored(program.takeError(), expression);
  DYN_TRY(Runner runner, Runner::create(*program, &model->imported(), model->signature(), state.now.options));
  CallInputs inputs;
  for (const std::string& name : parsed->parameters) inputs.values.push_back(meaning(name)->value);
  RunResult run;
  Status status = runner.run(inputs, RunRequest{}, state.interruption, run);
  if (!status.ok()) return restored(status.takeError(), expression);
  for (NamedValue& output : run.outputs) {
    result.types.push_back(output.type);
    result.values.push_back(std::move(output.value));
  }
  return result;
}

}  // namespace dyn
