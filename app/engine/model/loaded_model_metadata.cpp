// What is said of a model's dims, for files that are made of the model.
#include <algorithm>
#include <limits>
#include <set>

#include "app/engine/model/loaded_model.h"
#include "compiler/dims/size_multiples.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/read/dim_metadata.h"
#endif

namespace dyn {

namespace {

// The dims that stand alone in inputs, by which a reader of the new file finds them.
class DimsOfInputs {
 public:
  DimsOfInputs(const DimContext& dims, const LoadedModel::NamedTypes& inputs) : dims_(dims) {
    for (const auto& [input, type] : inputs) {
      if (!type || !type.isTensor()) continue;
      for (size_t axis = 0; axis < type.dims().size(); ++axis)
        if (const Dim dim = type.dims()[axis]; dim.isSymbol())
          axes_.emplace(dim.symbol(), input + "." + std::to_string(axis));
    }
  }
  // "": it has no such dim, or none that expressions can name.
  std::string nameOf(SymbolId symbol) const {
    const auto axis = axes_.find(symbol);
    if (axis == axes_.end()) return "";
    if (!dims_.isAnonymous(symbol)) return dims_.symbolName(symbol);
    const std::string& name = axis->second;
    const bool isName = std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
                        });
    return isName ? name : "";
  }

 private:
  const DimContext& dims_;
  std::map<SymbolId, std::string> axes_;
};

// Ranges that are said of one dim hold all.
struct SaidRange {
  int64_t low = 0, high = std::numeric_limits<int64_t>::max(), multiple = 1;

  void add(const DimSpec& spec) {
    low = std::max(low, spec.low.value_or(0));
    high = std::min(high, spec.high.value_or(high));
    multiple = commonMultiple(multiple, spec.multiple);
  }
  std::string text() const {
    std::string text = std::to_string(low) + "..";
    if (high != std::numeric_limits<int64_t>::max()) text += std::to_string(high);
    return multiple > 1 ? text + ":" + std::to_string(multiple) : text;
  }
};

}  // namespace

// Relations alone: ranges are facts of the dims themselves, which a writer of the module sees.
std::vector<std::string> LoadedModel::statedInText() const {
  std::vector<std::string> texts;
  size_t freeCount = 0;
  const auto freeName = [&] {
    std::string name;
    do name = "k" + std::to_string(freeCount++);
    while (ir_->dims().hasSymbol(name));
    return name;
  };
  for (const Fact& fact : textFacts_) {
    const std::string dim = fact.a.toString();
    switch (fact.kind) {
      case FactKind::equal:
      case FactKind::equalProduct:
        texts.push_back(dim + "=" + fact.b.toString());
        break;
      case FactKind::range:
        if (fact.a.isSymbol()) break;
        if (fact.low) texts.push_back(dim + ">=" + std::to_string(*fact.low));
        if (fact.high) texts.push_back(dim + "<=" + std::to_string(*fact.high));
        break;
      case FactKind::multipleOf:
        if (!fact.a.isSymbol()) texts.push_back(dim + "=" + std::to_string(fact.multiple) + "*" + freeName());
        break;
      case FactKind::likely:
        break;
    }
  }
  return texts;
}

std::map<std::string, std::string, std::less<>> LoadedModel::dimMetadata(
    [[maybe_unused]] const NamedTypes& inputs) const {
  std::map<std::string, std::string, std::less<>> entries;
#ifdef DYN_HAVE_ONNX
  const DimsOfInputs known(ir_->dims(), inputs);
  std::set<SymbolId> own;
  for (const Parameter& parameter : imported_.main()->parameters)
    if (parameter.type)
      for (SymbolId symbol : symbolsOf(parameter.type)) own.insert(symbol);
  // As the new file calls it; an error where it has no such dim. `*isDim`: it is neither a number nor free.
  const auto nameThere = [&](const std::string& name, bool* isDim) -> Result<std::string> {
    if (const auto fixed = fixedDims_.find(name); fixed != fixedDims_.end())
      return std::to_string(fixed->second);
    const Result<Dim> dim = declaredDim(name);
    if (!dim.ok() && name.find('.') == std::string::npos) return name;
    // A new dim may have the name that stood for any number before.
    const std::string there = dim.ok() && own.count(dim->symbol()) != 0 ? known.nameOf(dim->symbol()) : "";
    if (there.empty()) return makeError(DiagnosticId::usageError, name);
    *isDim = true;
    return there;
  };
  std::vector<DimSpec> stated;
  for (const std::string& text : statedInText())
    if (Result<DimSpec> spec = parseDimSpec(text); spec.ok()) stated.push_back(std::move(*spec));
  for (DimSpec& spec : statedDims()) stated.push_back(std::move(spec));
  std::set<std::string> written;
  std::map<std::string, SaidRange> ranges;
  for (const DimSpec& spec : stated) {
    bool isDim = false;
    if (!spec.relations.empty()) {
      if (spec.axisName && isNamed(*spec.axisName)) continue;  // the file's own name of that axis by now
      const Result<std::string> text =
          withNames(spec.text, [&](const std::string& name) { return nameThere(name, &isDim); });
      if (!text.ok() || !isDim || !written.insert(*text).second) continue;
      std::string& all = entries[std::string(onnx::kRelationsKey)];
      all += (all.empty() ? "" : ", ") + *text;
    } else if (!spec.axisName && (spec.low || spec.high || spec.multiple > 1)) {
      const Result<std::string> name = nameThere(spec.name, &isDim);
      if (name.ok() && isDim) ranges[*name].add(spec);
    }
  }
  for (const auto& [name, range] : ranges) entries[std::string(onnx::kRangeKey) + name] = range.text();
#endif
  return entries;
}

std::string LoadedModel::dimRelations([[maybe_unused]] const Module& made) const {
#ifdef DYN_HAVE_ONNX
  NamedTypes inputs;
  for (size_t i = 0; i < info_.inputs.size() && i < made.main()->parameters.size(); ++i)
    inputs.emplace_back(info_.inputs[i].name, made.main()->parameters[i].type);
  auto said = dimMetadata(inputs);
  return said[std::string(onnx::kRelationsKey)];
#else
  return "";
#endif
}

}  // namespace dyn
