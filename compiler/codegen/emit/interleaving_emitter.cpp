// Vector loops whose lanes lie a few elements apart, where what lies between belongs to other statements of
// the same iteration:
//
//   for e < n vector { y[e, 0] = a[e]; y[e, 1] = b[e]; y[e, 2] = c[e] }     interleaved in registers, stored as it lies
//   for e < n vector { y[0, e] = x[e, 0]; y[1, e] = x[e, 1] }               read as it lies, taken apart in registers
//
// One by one each store would write every third element, each load read every second one: so many times as
// much memory would be touched, by masks or element by element.
#include <algorithm>
#include <map>

#include "compiler/codegen/emit/kernel_emitter.h"
#include "llvm/Analysis/VectorUtils.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;

namespace {

constexpr int64_t kMostInterleaved = 4;  // statements

std::optional<int64_t> constantSize(Expr extent) {
  if (extent.kind() == ExprKind::intConstant) return extent.intValue();
  return extent.kind() == ExprKind::dim ? extent.dimValue().constant() : std::nullopt;
}

// A place as a sum of something and a constant.
std::pair<Expr, int64_t> withoutConstant(Expr place, loop::LoopContext& loops) {
  if (place.kind() == ExprKind::intConstant) return {loops.integer(0), place.intValue()};
  if (place.kind() == ExprKind::binary && place.binaryOp() == loop::BinaryOp::add)
    for (const int side : {0, 1})
      if (place.operands()[side].kind() == ExprKind::intConstant)
        return {place.operands()[1 - side], place.operands()[side].intValue()};
  return {place, 0};
}

// Loads of inputs that the statements of a loop evaluate in each iteration.
void addLoads(Expr root, std::vector<Expr>& loads) {
  std::vector<Expr> work{root};
  std::unordered_map<uint32_t, bool> seen;
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (!seen.try_emplace(e.id(), true).second) continue;
    if (e.kind() == ExprKind::load && e.buffer()->role == loop::BufferRole::input && !e.operands().empty())
      loads.push_back(e);
    const size_t count = e.kind() == ExprKind::select ? 1 : e.operands().size();
    for (size_t i = 0; i < count; ++i) work.push_back(e.operands()[i]);
  }
}

// Elements as integers: those of two bytes are arithmetic types that few machines shuffle.
llvm::Type* asMoved(llvm::Type* element) {
  return llvm::Type::getIntNTy(element->getContext(), element->getPrimitiveSizeInBits());
}

}  // namespace

Result<size_t> KernelEmitter::interleavedStores(std::span<const loop::StmtRef> list) {
  if (lanes_ == 1 || mask_ || device_ || list.size() < 2 || !hasVectors()) return size_t{0};
  const Stmt& first = *list[0];
  if (first.kind != StmtKind::store || first.index.size() < 2 ||
      first.index.back().kind() != ExprKind::intConstant)
    return size_t{0};
  const int64_t count = constantSize(first.buffer->shape.back()).value_or(0);
  if (count < 2 || count > kMostInterleaved || list.size() < static_cast<size_t>(count)) return size_t{0};
  const std::span<const loop::StmtRef> together = list.first(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k) {
    const Stmt& s = *together[static_cast<size_t>(k)];
    if (s.kind != StmtKind::store || s.buffer != first.buffer ||
        s.index.back().kind() != ExprKind::intConstant || s.index.back().intValue() != k ||
        !std::equal(s.index.begin(), s.index.end() - 1, first.index.begin(),
                    [](Expr a, Expr b) { return a.same(b); }) ||
        readsBack(s.value))
      return size_t{0};
  }
  llvm::Type* element = memoryType(context_, first.buffer->dtype);
  if (!element) return size_t{0};
  DYN_TRY(LaneValue at, address(first.buffer, first.index));
  if (!at.hasStride(count)) return size_t{0};
  auto* moved = llvm::FixedVectorType::get(asMoved(element), lanes_);
  std::vector<Value*> parts;
  const llvm::DebugLoc around = b_.getCurrentDebugLocation();
  for (const loop::StmtRef& s : together) {
    atLineOf(*s);
    noteCertainLoads(*s);
    Result<LaneValue> computed = value(s->value);
    certainLoads_.clear();
    DYN_TRY(LaneValue v, std::move(computed));
    parts.push_back(b_.CreateBitCast(ops_.toMemory(vector(v), first.buffer->dtype), moved));
  }
  Value* whole = llvm::concatenateVectors(b_, parts);
  Value* stored =
      b_.CreateShuffleVector(whole, llvm::createInterleaveMask(lanes_, static_cast<unsigned>(count)));
  b_.CreateAlignedStore(stored, b_.CreateGEP(element, buffers_.at(first.buffer), at.value),
                        llvm::Align(static_cast<uint64_t>(storageBytes(first.buffer->dtype))));
  b_.SetCurrentDebugLocation(around);
  return static_cast<size_t>(count);
}

Status KernelEmitter::noteWideLoads(const Stmt& loop) {
  if (lanes_ == 1 || mask_ || device_ || !hasVectors()) return {};
  std::vector<Expr> loads;
  std::vector<const Stmt*> work{&loop};
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    if (s != &loop && s->kind != StmtKind::block && s->kind != StmtKind::store) return {};
    for (const loop::StmtRef& child : s->children) work.push_back(child.get());
    if (s->kind == StmtKind::store) addLoads(s->value, loads);
  }
  // Of each place without its constant the constants.
  struct Places {
    const loop::Buffer* buffer = nullptr;
    std::vector<Expr> index;
    std::vector<int64_t> constants;
  };
  std::vector<Places> all;
  for (Expr load : loads) {
    std::vector<Expr> index(load.operands().begin(), load.operands().end());
    const auto [rest, constant] = withoutConstant(index.back(), *kernel_.context);
    index.back() = rest;
    const auto known = std::find_if(all.begin(), all.end(), [&](const Places& p) {
      return p.buffer == load.buffer() && std::equal(p.index.begin(), p.index.end(), index.begin(),
                                                     index.end(), [](Expr a, Expr b) { return a.same(b); });
    });
    Places& places = known == all.end() ? all.emplace_back(Places{load.buffer(), index, {}}) : *known;
    if (std::find(places.constants.begin(), places.constants.end(), constant) == places.constants.end())
      places.constants.push_back(constant);
  }
  for (Places& places : all) {
    const auto [low, high] = std::minmax_element(places.constants.begin(), places.constants.end());
    const int64_t stride = *high - *low + 1;  // then both ends of what is read are read by some load
    llvm::Type* element = memoryType(context_, places.buffer->dtype);
    if (stride < 2 || stride > kMostInterleaved || !element) continue;
    std::vector<Expr> index = places.index;
    index.back() = index.back() + kernel_.context->integer(*low);
    DYN_TRY(LaneValue at, address(places.buffer, index));
    if (!at.hasStride(stride)) continue;
    auto* type = llvm::FixedVectorType::get(asMoved(element), lanes_ * static_cast<unsigned>(stride));
    Value* wide =
        b_.CreateAlignedLoad(type, b_.CreateGEP(element, buffers_.at(places.buffer), at.value),
                             llvm::Align(static_cast<uint64_t>(storageBytes(places.buffer->dtype))));
    wideLoads_.push_back({places.buffer, std::move(places.index), *low, stride, wide});
  }
  return {};
}

// From what is read for several loads at once; null where the load is none of those.
Value* KernelEmitter::loadFromWide(Expr load) {
  if (wideLoads_.empty() || mask_ || load.operands().empty()) return nullptr;
  const auto [rest, constant] = withoutConstant(load.operands().back(), *kernel_.context);
  for (const WideLoad& wide : wideLoads_) {
    const int64_t place = constant - wide.low;
    if (wide.buffer != load.buffer() || !wide.index.back().same(rest) || place < 0 || place >= wide.stride ||
        wide.index.size() != load.operands().size() ||
        !std::equal(wide.index.begin(), wide.index.end() - 1, load.operands().begin(),
                    [](Expr a, Expr b) { return a.same(b); }))
      continue;
    std::vector<int> chosen;
    for (unsigned lane = 0; lane < lanes_; ++lane)
      chosen.push_back(static_cast<int>(lane * wide.stride + place));
    auto* type = llvm::FixedVectorType::get(memoryType(context_, load.buffer()->dtype), lanes_);
    return b_.CreateBitCast(b_.CreateShuffleVector(wide.elements, chosen), type);
  }
  return nullptr;
}

}  // namespace dyn
