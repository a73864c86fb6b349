#include "compiler/dims/dim.h"

#include <cassert>

#include "compiler/dims/dim_node.h"

namespace dyn {
namespace {

bool wordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::string cleanName(std::string_view name) {
  std::string clean;
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name[0] == '.') clean = "_";
  for (char c : name) clean += wordCharacter(c) ? c : '_';
  return clean;
}

// The two words of `len[b]`; empty where it is no such name.
std::pair<std::string_view, std::string_view> raggedWords(std::string_view name) {
  const size_t open = name.find('[');
  if (open == std::string_view::npos || name.back() != ']') return {};
  const std::string_view lengths = name.substr(0, open),
                         batch = name.substr(open + 1, name.size() - open - 2);
  if (cleanName(lengths) != lengths || cleanName(batch) != batch) return {};
  return {lengths, batch};
}

}  // namespace

DimKind Dim::kind() const {
  assert(node_ && "a null Dim has no kind");
  return node_->kind;
}
std::optional<int64_t> Dim::constant() const {
  if (kind() != DimKind::constant) return std::nullopt;
  return node_->value;
}
SymbolId Dim::symbol() const {
  assert(isSymbol() && "only a symbol has a symbol id");
  return node_->symbol;
}
std::span<const Dim> Dim::operands() const { return node_->operands; }
uint32_t Dim::id() const { return node_->id; }
DimContext& Dim::context() const { return *node_->context; }

DimContext::DimContext() : impl_(std::make_unique<Impl>()) {
  impl_->nodes.emplace_back();
  impl_->nodes.back().context = this;
  impl_->nodes.back().monomial = &impl_->nodes.back();
  impl_->invalid = &impl_->nodes.back();
  DimBuilder builder(*this);
  impl_->one = builder.constant(1);
}
DimContext::~DimContext() = default;

Dim DimContext::constant(int64_t value) { return Dim(DimBuilder(*this).constant(value)); }
Dim DimContext::invalid() { return Dim(impl_->invalid); }

Dim DimContext::symbol(std::string_view name) {
  if (auto known = impl_->byName.find(std::string(name)); known != impl_->byName.end())
    return Dim(impl_->symbols[known->second].node);
  std::string written(name);
  if (const auto [lengths, batch] = raggedWords(name); !batch.empty()) {
    const SymbolId over = symbol(batch).symbol();
    const SymbolId id = DimBuilder(*this).addSymbol(
        written, false, 0,
        "differs along " + std::string(batch) + ": the elements of " + std::string(lengths));
    impl_->symbols[id].batch = over;
    return Dim(impl_->symbols[id].node);
  }
  std::string clean = cleanName(name);
  std::string reason = "named in the program";
  if (clean != written) {
    if (auto known = impl_->byAlias.find(written); known != impl_->byAlias.end())
      return Dim(impl_->symbols[known->second].node);
    const std::string base = clean;
    for (int suffix = 2; impl_->byName.count(clean); ++suffix) clean = base + "_" + std::to_string(suffix);
    reason += " as '" + written + "'";
  }
  SymbolId id = DimBuilder(*this).addSymbol(clean, false, 0, std::move(reason));
  if (clean != written) impl_->byAlias.emplace(std::move(written), id);
  return Dim(impl_->symbols[id].node);
}

bool DimContext::hasSymbol(std::string_view name) const {
  std::string key(name);
  return impl_->byName.count(key) || impl_->byAlias.count(key);
}

Dim DimContext::any(std::string reason) {
  if (reason.empty()) reason = "nothing is known about it";
  while (impl_->byName.count("?" + std::to_string(impl_->nextNumber))) ++impl_->nextNumber;
  uint64_t number = impl_->nextNumber++;
  SymbolId id = DimBuilder(*this).addSymbol("?" + std::to_string(number), true, number, std::move(reason));
  return Dim(impl_->symbols[id].node);
}

uint32_t DimContext::symbolCount() const { return static_cast<uint32_t>(impl_->symbols.size()); }
Dim DimContext::symbolById(SymbolId id) const {
  assert(id < impl_->symbols.size() && "no such symbol");
  return Dim(impl_->symbols[id].node);
}
std::string DimContext::symbolName(SymbolId id) const { return impl_->symbols.at(id).name; }
bool DimContext::isAnonymous(SymbolId id) const { return impl_->symbols.at(id).anonymous; }
const std::string& DimContext::symbolReason(SymbolId id) const { return impl_->symbols.at(id).reason; }
void DimContext::setSymbolReason(SymbolId id, std::string reason) {
  if (!reason.empty()) impl_->symbols.at(id).reason = std::move(reason);
}

Dim operator+(Dim a, Dim b) {
  DimBuilder builder(a.context());
  return builder.build(builder.add(DimBuilder::poly(a), DimBuilder::poly(b), 1));
}
Dim operator-(Dim a, Dim b) {
  DimBuilder builder(a.context());
  return builder.build(builder.add(DimBuilder::poly(a), DimBuilder::poly(b), -1));
}
Dim operator*(Dim a, Dim b) {
  DimBuilder builder(a.context());
  return builder.build(builder.multiply(DimBuilder::poly(a), DimBuilder::poly(b)));
}
Dim operator+(Dim a, int64_t b) { return a + a.context().constant(b); }
Dim operator-(Dim a, int64_t b) { return a - a.context().constant(b); }
Dim operator*(Dim a, int64_t b) { return a * a.context().constant(b); }
Dim operator*(int64_t a, Dim b) { return b * a; }
Dim floorDiv(Dim a, Dim b) { return DimBuilder(a.context()).floorDiv(a, b); }
Dim ceilDiv(Dim a, Dim b) { return DimBuilder(a.context()).ceilDiv(a, b); }
Dim mod(Dim a, Dim b) { return DimBuilder(a.context()).mod(a, b); }
Dim min(Dim a, Dim b) { return DimBuilder(a.context()).choose(DimKind::min, a, b); }
Dim max(Dim a, Dim b) { return DimBuilder(a.context()).choose(DimKind::max, a, b); }

std::string toString(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].toString();
  return text + ")";
}

Dim elementCount(DimContext& context, const Shape& shape) {
  Dim count = context.constant(1);
  for (Dim d : shape) count = count * d;
  return count;
}

}  // namespace dyn
