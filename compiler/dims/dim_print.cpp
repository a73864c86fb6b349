#include "compiler/dims/dim_node.h"
#include "compiler/dims/dim_numbers.h"

namespace dyn {
namespace {

constexpr size_t kMaxText = 64 * 1024;

// A piece of text, or a node still to be written.
struct Piece {
  std::string text;
  const DimNode* node = nullptr;
};

const char* functionName(DimKind kind) {
  switch (kind) {
    case DimKind::floorDiv:
      return "floordiv(";
    case DimKind::ceilDiv:
      return "ceildiv(";
    case DimKind::mod:
      return "mod(";
    case DimKind::min:
      return "min(";
    default:
      return "max(";
  }
}

// The smallest number has no magnitude: it is written as a positive-looking term in parentheses.
bool minus(int64_t value) { return value < 0 && value != INT64_MIN; }
std::string magnitude(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807 - 1)";
  return std::to_string(value < 0 ? -value : value);
}

// |coefficient| * atom * atom...; the sign is the caller's.
void appendTerm(std::vector<Piece>& out, const DimNode* term) {
  if (term->degree == 0) {
    out.push_back({magnitude(term->value)});
    return;
  }
  bool first = term->value == 1 || term->value == -1;
  if (!first) out.push_back({magnitude(term->value)});
  auto appendAtom = [&](const DimNode* atom) {
    if (!first) out.push_back({"*"});
    first = false;
    bool grouped = atom->kind == DimKind::add;
    if (grouped) out.push_back({"group("});
    out.push_back({"", atom});
    if (grouped) out.push_back({")"});
  };
  if (term->monomial->kind != DimKind::mul) return appendAtom(term->monomial);
  for (Dim atom : term->monomial->operands) appendAtom(DimBuilder::node(atom));
}

// Positive terms first, then negative ones, so that no sum starts with a minus that could be avoided.
void appendSum(std::vector<Piece>& out, const DimNode* sum) {
  std::vector<const DimNode*> order;
  const DimNode* constant = nullptr;
  for (int negative = 0; negative < 2; ++negative)
    for (Dim d : sum->operands) {
      const DimNode* n = DimBuilder::node(d);
      if (n->kind == DimKind::constant)
        constant = n;
      else if (minus(n->value) == (negative == 1))
        order.push_back(n);
    }
  if (constant)
    order.insert(!minus(constant->value) && minus(order[0]->value) ? order.begin() : order.end(), constant);
  for (size_t i = 0; i < order.size(); ++i) {
    bool negative = minus(order[i]->value);
    if (i > 0)
      out.push_back({negative ? " - " : " + "});
    else if (negative)
      out.push_back({"-"});
    appendTerm(out, order[i]);
  }
}

void expand(std::vector<Piece>& out, const DimNode* n) {
  switch (n->kind) {
    case DimKind::invalid:
      out.push_back({"<invalid>"});
      return;
    case DimKind::constant:
      if (minus(n->value)) out.push_back({"-"});
      out.push_back({magnitude(n->value)});
      return;
    case DimKind::symbol:
      out.push_back({n->context->symbolName(n->symbol)});
      return;
    case DimKind::add:
      appendSum(out, n);
      return;
    case DimKind::mul:
      if (minus(n->value)) out.push_back({"-"});
      appendTerm(out, n);
      return;
    default:
      break;
  }
  std::vector<Dim> operands(n->operands);
  if (n->kind == DimKind::min || n->kind == DimKind::max)
    operands = flattenChoice(n->kind, DimBuilder::dim(n));
  out.push_back({functionName(n->kind)});
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i) out.push_back({", "});
    out.push_back({"", DimBuilder::node(operands[i])});
  }
  out.push_back({")"});
}

}  // namespace

std::string Dim::toString() const { return shortText(*this, kMaxText); }

std::string shortText(Dim dim, size_t mostBytes) {
  if (!dim) return "<null>";
  std::string text;
  std::vector<Piece> stack{{"", DimBuilder::node(dim)}}, pieces;
  while (!stack.empty()) {
    Piece piece = std::move(stack.back());
    stack.pop_back();
    if (!piece.node) {
      text += piece.text;
      if (text.size() > mostBytes) return text.substr(0, mostBytes) + "...";
      continue;
    }
    pieces.clear();
    expand(pieces, piece.node);
    for (size_t i = pieces.size(); i-- > 0;) stack.push_back(std::move(pieces[i]));
  }
  return text;
}

}  // namespace dyn
