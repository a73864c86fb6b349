#include "tests/fuzz/differential/program.h"

#include <algorithm>
#include <set>

namespace dyn::differential {

namespace {

std::string nameOf(int value) { return "v" + std::to_string(value); }

void printBody(const Program& program, const Body& body, const std::string& indent, std::string* text);

void printStatement(const Program& program, const Statement& s, const std::string& indent,
                    std::string* text) {
  *text += indent;
  for (size_t i = 0; i < s.results.size(); ++i) *text += (i ? ", " : "") + nameOf(s.results[i]);
  *text += " = ";
  for (size_t i = 0; i < s.text.size(); ++i) {
    if (s.text[i] != '$') {
      *text += s.text[i];
      continue;
    }
    size_t number = 0;
    while (i + 1 < s.text.size() && s.text[i + 1] >= '0' && s.text[i + 1] <= '9')
      number = number * 10 + static_cast<size_t>(s.text[++i] - '0');
    *text += nameOf(s.operands.at(number));
  }
  for (const Body& body : s.bodies) {
    *text += " " + body.word + " (";
    for (size_t i = 0; i < body.parameters.size(); ++i) *text += (i ? ", " : "") + nameOf(body.parameters[i]);
    *text += ") {\n";
    printBody(program, body, indent + "  ", text);
    *text += indent + "}";
  }
  *text += "\n";
}

void printBody(const Program& program, const Body& body, const std::string& indent, std::string* text) {
  for (const Statement& s : body.statements) printStatement(program, s, indent, text);
  *text += indent + "return ";
  for (size_t i = 0; i < body.results.size(); ++i)
    *text += (i ? ", " : "") + (body.results[i] < 0 ? body.condition : nameOf(body.results[i]));
  *text += "\n";
}

std::string typeText(const ValueInfo& info) {
  if (!info.type.empty()) return info.type;
  std::string text = "Tensor[(";
  for (size_t i = 0; i < info.shape.size(); ++i) text += (i ? ", " : "") + info.shape[i];
  return text + "), " + std::string(toString(info.dtype)) + "]";
}

// Drops what does not lead to `needed`, which it extends by what the rest uses.
void dropDead(Body* body, std::set<int>* needed) {
  for (int result : body->results) needed->insert(result);
  std::vector<Statement> kept;
  for (size_t i = body->statements.size(); i-- > 0;) {
    Statement& s = body->statements[i];
    const bool used =
        std::any_of(s.results.begin(), s.results.end(), [&](int r) { return needed->count(r) > 0; });
    if (!used) continue;
    for (Body& inner : s.bodies) {
      std::set<int> neededInside;
      dropDead(&inner, &neededInside);
    }
    needed->insert(s.operands.begin(), s.operands.end());
    kept.insert(kept.begin(), std::move(s));
  }
  body->statements = std::move(kept);
}

}  // namespace

std::string toText(const Program& program) {
  std::string text;
  for (const std::string& declaration : program.declarations) text += declaration + "\n";
  text += "fn @main(";
  for (size_t i = 0; i < program.inputs.size(); ++i)
    text += (i ? ", " : "") + nameOf(program.inputs[i]) + ": " +
            typeText(program.values[static_cast<size_t>(program.inputs[i])]);
  text += ") {\n";
  printBody(program, program.main, "  ", &text);
  text += "}\n";
  for (const Function& function : program.functions) {
    text += "fn @" + function.name + "(";
    for (size_t i = 0; i < function.body.parameters.size(); ++i)
      text += (i ? ", " : "") + nameOf(function.body.parameters[i]) + ": " + function.parameterTypes[i];
    text += ")" + (function.resultType.empty() ? "" : " -> (" + function.resultType + ")") + " {\n";
    printBody(program, function.body, "  ", &text);
    text += "}\n";
  }
  return text;
}

Program withoutDeadCode(Program program) {
  std::set<int> needed;
  dropDead(&program.main, &needed);
  for (Function& function : program.functions) {
    std::set<int> inside;
    dropDead(&function.body, &inside);
  }
  for (bool changed = true; changed;) {
    const std::string text = toText(program);
    const size_t before = program.functions.size();
    // A function that only its own body names is not called.
    std::erase_if(program.functions, [&](const Function& function) {
      const std::string mark = "@" + function.name;
      Program alone;
      alone.values = program.values;
      alone.functions = {function};
      auto count = [&](const std::string& where) {
        size_t found = 0;
        for (size_t at = where.find(mark); at != std::string::npos; at = where.find(mark, at + 1))
          found += where[at + mark.size()] < '0' || where[at + mark.size()] > '9';
        return found;
      };
      return count(text) == count(toText(alone));
    });
    changed = program.functions.size() != before;
  }
  return program;
}

std::vector<int64_t> shapeOf(const ValueInfo& info, const Sizes& sizes) {
  std::vector<int64_t> shape;
  for (const Size& size : info.shape) {
    const auto symbol = sizes.find(size);
    shape.push_back(symbol != sizes.end() ? symbol->second : std::stoll(size));
  }
  return shape;
}

std::vector<std::string> symbolsOfInputs(const Program& program) {
  std::set<std::string> symbols;
  for (int input : program.inputs)
    for (const Size& size : program.values[static_cast<size_t>(input)].shape)
      if (size[0] < '0' || size[0] > '9') symbols.insert(size);
  return {symbols.begin(), symbols.end()};
}

}  // namespace dyn::differential
