#include "compiler/ir/printer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/ir/op_def.h"
#include "compiler/ir/tensor_text.h"
#include "compiler/ir/walk.h"

namespace dyn {
namespace {

constexpr uint32_t kMaxIndentLevels = 40;  // deeper nesting is printed, but not further to the right

bool plainName(std::string_view name, bool digitFirst) {
  if (name.empty() || name == "_") return false;
  if (!digitFirst && ((name[0] >= '0' && name[0] <= '9') || name[0] == '.')) return false;
  for (char c : name) {
    const bool word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!word) return false;
  }
  return true;
}

void appendName(std::string* text, std::string_view name, bool digitFirst = false) {
  if (plainName(name, digitFirst)) {
    *text += name;
  } else {
    appendQuoted(text, name);
  }
}

void appendReal(std::string* text, double value) {
  if (std::isnan(value)) {
    *text += "nan";
    return;
  }
  if (std::isinf(value)) {
    *text += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[64];
  const std::string_view digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr - buffer);
  *text += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) *text += ".0";
}

std::string typeText(Type type) { return type ? type.toString() : "_"; }

void appendTypes(std::string* text, std::span<const Type> types) {
  *text += '(';
  for (size_t i = 0; i < types.size(); ++i) {
    if (i) *text += ", ";
    *text += typeText(types[i]);
  }
  *text += ')';
}

std::string shapeText(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ", ";
    text += shape[i] ? shape[i].toString() : "(no dim)";
  }
  return text + ")";
}

bool isReference(const HostTensor& tensor, const PrintOptions& options) {
  return tensor.valid() && options.maxInlineElements >= 0 &&
         tensor.elementCount() > options.maxInlineElements;
}

// A weight is named after the value its operation makes; further tensors of the operation add the attribute's
// name.
std::string weightName(const IrContext& context, const Op& op, std::string_view attribute) {
  std::string name = op.results.empty() ? "" : context.valueName(op.results[0].id);
  if (attribute != "value") name += "." + std::string(attribute);
  return name;
}

class Printer {
 public:
  Printer(const IrContext& context, const PrintOptions& options, std::vector<PrintedLine>* lines)
      : context_(context), options_(options), lines_(lines) {}

  std::string take() { return std::move(text_); }

  void facts(const DimSolver& solver) {
    for (const Fact& fact : solver.facts()) {
      text_ += "dim " + fact.a.toString();
      switch (fact.kind) {
        case FactKind::equal:
          text_ += " == " + fact.b.toString();
          break;
        case FactKind::equalProduct:
          text_ += " == product " + fact.b.toString();
          break;
        case FactKind::range:
          text_ += " in ";
          if (fact.low) text_ += std::to_string(*fact.low);
          text_ += "..";
          if (fact.high) text_ += std::to_string(*fact.high);
          break;
        case FactKind::multipleOf:
          text_ += " multiple " + std::to_string(fact.multiple);
          break;
        case FactKind::likely:
          text_ += " likely ";
          for (size_t i = 0; i < fact.likely.size(); ++i) {
            text_ += (i ? ", " : "") + std::to_string(fact.likely[i]);
          }
          break;
      }
      if (!fact.reason.text.empty()) {
        text_ += " because ";
        appendQuoted(&text_, fact.reason.text);
      }
      newLine();
    }
  }

  void dataType(const DataType& type) {
    text_ += "type ";
    appendName(&text_, type.name);
    text_ += " {";
    for (size_t i = 0; i < type.constructors.size(); ++i) {
      text_ += i ? ", " : " ";
      appendName(&text_, type.constructors[i].name);
      appendTypes(&text_, type.constructors[i].fields);
    }
    text_ += " }";
    newLine();
  }

  // The whole function; bodies are entered with frames of our own, so nesting costs heap, not stack.
  void function(const Function& top) {
    text_ += "fn @";
    appendName(&text_, top.name);
    signature(top);
    std::vector<Frame> stack{{&top}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.op == frame.function->ops.size()) {
        indent(stack.size());
        text_ += "return";
        for (size_t i = 0; i < frame.function->results.size(); ++i) {
          text_ += i ? ", " : " ";
          value(frame.function->results[i]);
        }
        newLine();
        stack.pop_back();
        indent(stack.size());
        text_ += '}';
        if (stack.empty()) newLine();
        continue;
      }
      const Op& op = *frame.function->ops[frame.op];
      if (frame.region == 0) {
        indent(stack.size());
        if (lines_) lines_->push_back({&op, line_});
        opHead(op);
      }
      if (frame.region < op.regions.size()) {
        const Function* body = op.regions[frame.region];
        text_ += " " + regionLabel(op, frame.region) + " ";
        ++frame.region;
        if (body == nullptr) {
          text_ += "(no body)";
          continue;
        }
        signature(*body);
        stack.push_back({body});  // `frame` is dead from here
        continue;
      }
      opTail(op);
      newLine();
      ++frame.op;
      frame.region = 0;
    }
  }

  void opLine(const Op& op) {
    opHead(op);
    for (size_t i = 0; i < op.regions.size(); ++i) text_ += " " + regionLabel(op, i) + " {...}";
    opTail(op);
  }

  void attribute(const AttributeValue& value, const std::string& weight) {
    switch (kindOf(value)) {
      case AttributeKind::integer:
        text_ += std::to_string(std::get<int64_t>(value));
        break;
      case AttributeKind::real:
        appendReal(&text_, std::get<double>(value));
        break;
      case AttributeKind::string:
        appendQuoted(&text_, std::get<std::string>(value));
        break;
      case AttributeKind::integers:
        list(std::get<std::vector<int64_t>>(value), "", [&](int64_t v) { text_ += std::to_string(v); });
        break;
      case AttributeKind::reals:
        list(std::get<std::vector<double>>(value), "reals ", [&](double v) { appendReal(&text_, v); });
        break;
      case AttributeKind::strings:
        list(std::get<std::vector<std::string>>(value), "strings ",
             [&](const std::string& v) { appendQuoted(&text_, v); });
        break;
      case AttributeKind::dtype:
        text_ += toString(std::get<Dtype>(value));
        break;
      case AttributeKind::dims:
        text_ += "dims" + shapeText(std::get<Shape>(value));
        break;
      case AttributeKind::tensor:
        tensor(std::get<HostTensor>(value), weight);
        break;
      case AttributeKind::type:
        text_ += typeText(std::get<Type>(value));
        break;
    }
  }

 private:
  struct Frame {
    const Function* function;
    size_t op = 0;
    size_t region = 0;
  };

  void newLine() {
    text_ += '\n';
    ++line_;
  }
  void indent(size_t level) { text_.append(2 * std::min<size_t>(level, kMaxIndentLevels), ' '); }

  void value(ValueId id) {
    if (id == kNoValue) {
      text_ += '_';
      return;
    }
    text_ += '%';
    appendName(&text_, context_.valueName(id), true);
  }

  void signature(const Function& function) {
    text_ += '(';
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      if (i) text_ += ", ";
      value(function.parameters[i].id);
      if (function.parameters[i].type) text_ += ": " + function.parameters[i].type.toString();
    }
    text_ += ") -> ";
    appendTypes(&text_, function.resultTypes);
    text_ += " {";
    newLine();
  }

  void opHead(const Op& op) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (i) text_ += ", ";
      value(op.results[i].id);
    }
    if (!op.results.empty()) text_ += " = ";
    text_ += op.def ? op.def->name : "(no operator)";
    text_ += '(';
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (i) text_ += ", ";
      value(op.operands[i]);
    }
    text_ += ')';
    bool first = true;
    for (const auto& [name, value] : op.attributes.all()) {
      if (shownByLabels(op, name)) continue;
      text_ += first ? " {" : ", ";
      first = false;
      appendName(&text_, name);
      text_ += " = ";
      attribute(value, weightName(context_, op, name));
    }
    if (!first) text_ += '}';
  }

  // The constructors of a match stand before its bodies.
  static bool shownByLabels(const Op& op, std::string_view attribute) {
    return attribute == "constructors" && op.def && op.def->name == "match" && !op.regions.empty() &&
           op.attributes.strings("constructors").size() == op.regions.size();
  }

  void opTail(const Op& op) {
    bool typed = false;
    for (const ValueDef& result : op.results) typed |= static_cast<bool>(result.type);
    if (typed) {
      text_ += " : ";
      if (op.results.size() == 1) {
        text_ += op.results[0].type.toString();
      } else {
        std::vector<Type> types;
        for (const ValueDef& result : op.results) types.push_back(result.type);
        appendTypes(&text_, types);
      }
    }
    if (options_.places == PrintOptions::Places::print && op.place.known()) {
      std::string place = op.place.toString();
      for (char& c : place) {
        if (c == '\n' || c == '\r') c = ' ';
      }
      text_ += "  # at " + place;
    }
  }

  template <typename Items, typename Append>
  void list(const Items& items, std::string_view emptyPrefix, Append append) {
    if (items.empty()) text_ += emptyPrefix;
    text_ += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) text_ += ", ";
      first = false;
      append(item);
    }
    text_ += ']';
  }

  void tensor(const HostTensor& tensor, const std::string& weight) {
    if (!tensor.valid()) {
      text_ += "(no tensor)";
      return;
    }
    text_ += tensorHead(tensor) + " ";
    if (!isReference(tensor, options_)) {
      appendElements(&text_, tensor, INT64_MAX);
      return;
    }
    text_ += "<weight ";
    appendQuoted(&text_, weight);
    if (options_.checksums == PrintOptions::Checksums::print) {
      char buffer[16];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, context_.checksum(tensor), 16).ptr;
      text_ += ", crc32 0x";
      text_.append(buffer, end);
    }
    text_ += '>';
  }

  const IrContext& context_;
  const PrintOptions& options_;
  std::vector<PrintedLine>* lines_;
  std::string text_;
  uint32_t line_ = 1;
};

}  // namespace

std::string regionLabel(const Op& op, size_t region) {
  const std::string_view name = op.def ? op.def->name : "";
  if (name == "if" && region < 2) return region == 0 ? "then" : "else";
  const std::vector<std::string> constructors = op.attributes.strings("constructors");
  if (name == "match" && constructors.size() == op.regions.size() && region < constructors.size()) {
    std::string label = "case ";
    appendName(&label, constructors[region]);
    return label;
  }
  return op.regions.size() == 1 ? "body" : "region";
}

std::string print(const Module& module, const PrintOptions& options, std::vector<PrintedLine>* lines) {
  if (module.context == nullptr) return "";
  Printer printer(*module.context, options, lines);
  if (options.facts == PrintOptions::Facts::print) printer.facts(module.context->facts());
  for (const auto& type : module.dataTypes) printer.dataType(*type);
  for (const Function* function : module.functions) {
    if (function) printer.function(*function);
  }
  return printer.take();
}

std::string print(const Module& module, const PrintOptions& options) {
  return print(module, options, nullptr);
}

std::string print(const IrContext& context, const Function& function, const PrintOptions& options) {
  Printer printer(context, options, nullptr);
  printer.function(function);
  return printer.take();
}

std::string print(const IrContext& context, const Op& op, const PrintOptions& options) {
  Printer printer(context, options, nullptr);
  printer.opLine(op);
  return printer.take();
}

std::string print(const IrContext& context, const AttributeValue& value, const PrintOptions& options) {
  Printer printer(context, options, nullptr);
  printer.attribute(value, "");
  return printer.take();
}

std::map<std::string, HostTensor> weightsOf(const Module& module, const PrintOptions& options) {
  std::map<std::string, HostTensor> weights;
  forEachOp(module, [&](const Function&, const Op& op) {
    for (const auto& [name, value] : op.attributes.all()) {
      const HostTensor* tensor = std::get_if<HostTensor>(&value);
      if (tensor && isReference(*tensor, options)) {
        weights.emplace(weightName(*module.context, op, name), *tensor);
      }
    }
  });
  return weights;
}

}  // namespace dyn
