#include "app/runner/describe.h"

#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

// Sizes that are numbers are numbers.
Json shapeJson(const std::vector<std::string>& shape) {
  Json list = Json::array();
  for (const std::string& size : shape) {
    const bool number = !size.empty() && size.find_first_not_of("0123456789") == std::string::npos;
    list.push_back(number ? Json(std::stoll(size)) : Json(size));
  }
  return list;
}

Json portsJson(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports)
    list.push_back({{"name", port.info.name},
                    {"type", port.info.type},
                    {"dtype", port.info.dtype},
                    {"shape", shapeJson(port.info.shape)}});
  return list;
}

std::string metadataOf(const dyn_module* module, const char* key) {
  const char* text = dyn_module_metadata(module, key);
  return text ? text : "";
}

Json saidOf(const std::string& dim, const FactsOfText& said) {
  Json list = Json::array();
  if (!said.facts.context().hasSymbol(dim)) return list;
  for (const Fact& fact : said.facts.factsAbout(said.facts.context().symbol(dim).symbol()))
    list.push_back(fact.toString());
  return list;
}

// As `inspect --dims` tells it of the model; a package without it has the
// names of its dims, and what was said of them.
Json factsOf(const dyn_module* module, const Signature& signature) {
  Json facts = Json::parse(metadataOf(module, "facts"), nullptr, false);
  if (facts.is_object() && facts.contains("dims") && facts.contains("checks")) return facts;
  facts = {{"dims", Json::array()}, {"checks", Json::array()}};
  const CallDims call(signature);
  for (const std::string& name : call.names())
    facts["dims"].push_back({{"symbol", name}, {"origin", ""}, {"facts", saidOf(name, *signature.facts)}});
  return facts;
}

std::string textOf(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::string dimsText(const Json& facts) {
  std::string text;
  for (const Json& row : facts["dims"]) {
    const std::string origin = textOf(row.value("origin", Json()));
    text += "dim     " + textOf(row.value("symbol", Json())) + (origin.empty() ? "" : "  " + origin) + "\n";
    for (const Json& fact : row.value("facts", Json::array())) text += "        " + textOf(fact) + "\n";
  }
  for (const Json& check : facts["checks"]) text += "check   " + textOf(check) + "\n";
  return text;
}

// Of a call with these sizes.
Result<int64_t> peakOf(dyn_module* module, const Signature& signature, const std::vector<std::string>& texts,
                       const EngineOptions& options, Interruption& interruption, DimValues& dims) {
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(texts));
  CallDims call(signature);
  for (const DimSpec& spec : specs) {
    if (!spec.value)
      return makeError(DiagnosticId::usageError, "--dim " + spec.text + ": one size is wanted here");
    DYN_CHECK(call.bind(spec.name, *spec.value));
  }
  dims = call.values();
  DYN_TRY(Runner runner, Runner::create(module, nullptr, signature, options));
  return runner.predictPeak(dims, Runner::Warmth::first, interruption);
}

}  // namespace

Result<Description> describe(dyn_module* module, const Signature& signature,
                             const std::vector<std::string>& dims, const EngineOptions& options,
                             Interruption& interruption) {
  const Json facts = factsOf(module, signature);
  const std::string bound = metadataOf(module, "ram_bound_bytes"), code = metadataOf(module, "code");
  Description made;
  made.fields = {{"inputs", portsJson(signature.inputs)},
                 {"outputs", portsJson(signature.outputs)},
                 {"dims", facts["dims"]},
                 {"checks", facts["checks"]},
                 {"ram_bound_bytes", bound.empty() ? Json() : Json(std::stoll(bound))},
                 {"code", code}};
  for (const Port& port : signature.inputs)
    made.text += "input   " + visibleLine(port.info.name) + "  " + port.info.type + "\n";
  for (const Port& port : signature.outputs)
    made.text += "output  " + visibleLine(port.info.name) + "  " + port.info.type + "\n";
  made.text +=
      dimsText(facts) + "RAM     " +
      (bound.empty() ? "no bound that is known" : "at most " + bound + " bytes of tensors with one thread") +
      "\n";
  if (!dims.empty()) {
    DimValues values;
    DYN_TRY(const int64_t peak, peakOf(module, signature, dims, options, interruption, values));
    made.fields["of_dims"] = values;
    made.fields["predicted_peak_bytes"] = peak;
    made.text += "        " + std::to_string(peak) + " bytes";
    for (const auto& [name, value] : values)
      made.text += (name == values.begin()->first ? " with " : ", ") + name + " = " + std::to_string(value);
    made.text += "\n";
  }
  made.text += "code    " + (code.empty() ? "bytecode" : code) + "\n";
  return made;
}

}  // namespace dyn
