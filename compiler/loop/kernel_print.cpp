// Text of kernels; kernel_parse.cpp reads it back.
#include <algorithm>

#include "compiler/loop/kernel_lines.h"

namespace dyn::loop {

namespace {

const char* kindSuffix(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "";
    case LoopKind::vector:
      return " vector";
    case LoopKind::unroll:
      return " unroll";
    case LoopKind::tile:
      return " tile";
  }
  return "";
}

std::string joined(const std::vector<Expr>& list) {
  std::string text;
  for (Expr e : list) text += (text.empty() ? "" : ", ") + e.toString();
  return text;
}

std::string typeText(const Buffer& buffer) {
  return std::string(dyn::toString(buffer.dtype)) + "[" + joined(buffer.shape) + "]";
}

std::string boundText(Expr variable, Expr extent) { return variable.name() + " < " + extent.toString(); }

std::string functionText(const UninterpretedFunction& f) {
  std::string text = "function " + f.name + "(" + std::to_string(f.arity) + ") = ";
  switch (f.backing) {
    case FunctionBacking::dimExpression:
      text += "dim(" + f.dim.toString() + ")";
      break;
    case FunctionBacking::array:
      text += "array " + f.array->name;
      break;
    case FunctionBacking::pointerArray:
      text += "pointers " + f.array->name;
      break;
  }
  if (f.facts.low) text += " low " + f.facts.low.toString();
  if (f.facts.high) text += " high " + f.facts.high.toString();
  if (f.facts.monotone) text += " monotone";
  if (f.facts.injective) text += " injective";
  if (f.facts.multipleOf != 1) text += " multiple " + std::to_string(f.facts.multipleOf);
  if (f.facts.inverseOf) text += " inverse " + f.facts.inverseOf->name;
  if (f.facts.prefixSumOf) text += " prefixSum " + f.facts.prefixSumOf->name;
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

struct Frame {
  const Stmt* stmt = nullptr;  // null: the text
  int depth = 0;
  std::string text;
};

// `lines`: null where nobody asks.
void printBody(const StmtRef& body, int depth, std::string* out, StmtLines* lines) {
  size_t counted = 0;
  uint32_t line = 1;
  std::vector<Frame> stack;
  const auto pushBody = [&](const std::vector<StmtRef>& children, int childDepth) {
    for (size_t i = children.size(); i-- > 0;)
      if (children[i]) stack.push_back({children[i].get(), childDepth});
  };
  if (body) stack.push_back({body.get(), depth});
  while (!stack.empty()) {
    const Frame frame = std::move(stack.back());
    stack.pop_back();
    const std::string indent(static_cast<size_t>(frame.depth) * 2, ' ');
    if (!frame.stmt) {
      *out += indent + frame.text + "\n";
      continue;
    }
    const Stmt& s = *frame.stmt;
    if (lines && s.kind != StmtKind::block) {
      line += static_cast<uint32_t>(
          std::count(out->begin() + static_cast<std::ptrdiff_t>(counted), out->end(), '\n'));
      counted = out->size();
      lines->emplace(&s, line);
    }
    switch (s.kind) {
      case StmtKind::block:
        pushBody(s.children, frame.depth);
        break;
      case StmtKind::loop:
        *out += indent + "for " + boundText(s.variable, s.extent) + kindSuffix(s.loopKind) + " {\n";
        stack.push_back({nullptr, frame.depth, "}"});
        pushBody(s.children, frame.depth + 1);
        break;
      case StmtKind::store:
        *out += indent + s.buffer->name + "[" + joined(s.index) + "] = " + s.value.toString() + "\n";
        break;
      case StmtKind::let:
        *out += indent + "let " + s.variable.name() + ": " + std::string(dyn::toString(s.variable.dtype())) +
                " = " + s.value.toString() + "\n";
        break;
      case StmtKind::accumulate: {
        *out += indent + "accumulate " + s.variable.name() + ": " +
                std::string(dyn::toString(s.variable.dtype())) + " = " + toString(s.reduceOp) + " over ";
        for (size_t k = 0; k < s.variables.size(); ++k)
          *out += (k ? ", " : "") + boundText(s.variables[k], s.extents[k]);
        *out += std::string(kindSuffix(s.loopKind)) + " {\n";
        stack.push_back({nullptr, frame.depth, "}"});
        stack.push_back({nullptr, frame.depth + 1, s.value.toString()});
        pushBody(s.children, frame.depth + 1);
        break;
      }
      case StmtKind::branch:
        *out += indent + "if " + s.condition.toString() + " {\n";
        stack.push_back({nullptr, frame.depth, "}"});
        pushBody(s.children, frame.depth + 1);
        break;
      case StmtKind::check:
        *out += indent + "check " + s.condition.toString() + " fault " + std::to_string(s.fault) +
                (s.subject.isNull() ? "" : " of " + s.subject.toString()) + "\n";
        break;
    }
  }
}

std::string printKernel(const Kernel& kernel, StmtLines* lines) {
  std::string out = "kernel @" + kernel.name + "(";
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& b = *kernel.buffers[i];
    out += std::string(i ? ", " : "") + (b.role == BufferRole::output ? "out " : "in ") + b.name + ": " +
           typeText(b);
  }
  out += ") scalars (";
  for (size_t i = 0; i < kernel.scalars.size(); ++i) out += (i ? "; " : "") + kernel.scalars[i].toString();
  out += ") units " + boundText(kernel.unit, kernel.unitCount);
  if (kernel.stepsPerKernel) out += " steps (" + kernel.stepsPerKernel.toString() + ")";
  if (!kernel.description.empty()) out += " about " + quoted(kernel.description);
  out += " {\n";
  for (const UninterpretedFunction* f : kernel.functions) out += "  " + functionText(*f) + "\n";
  for (const Buffer* b : kernel.scratch) out += "  scratch " + b->name + ": " + typeText(*b) + "\n";
  printBody(kernel.body, 1, &out, lines);
  return out + "}\n";
}

}  // namespace

std::string print(const Kernel& kernel) { return printKernel(kernel, nullptr); }
std::string print(const Kernel& kernel, StmtLines& lines) { return printKernel(kernel, &lines); }

}  // namespace dyn::loop
