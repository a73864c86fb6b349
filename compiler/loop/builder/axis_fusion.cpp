#include "compiler/loop/builder/axis_fusion.h"

#include <algorithm>

namespace dyn::loop {

namespace {

Dim dimOf(Expr e) {
  if (e.kind() == ExprKind::dim) return e.dimValue();
  if (e.kind() == ExprKind::intConstant) return e.context().dims().constant(e.intValue());
  return {};
}

struct Access {
  const Buffer* buffer;
  std::vector<Expr> index;
};

class AxisFusion {
 public:
  AxisFusion(LoopContext& c, const DimSolver& solver, std::vector<Axis>& axes,
             std::vector<PendingStore>& stores)
      : c_(c), solver_(solver), axes_(axes), stores_(stores) {}

  void run(std::vector<const Buffer*>* buffers) {
    std::vector<Expr> roots;
    for (const PendingStore& s : stores_) {
      roots.push_back(s.value);
      roots.insert(roots.end(), s.index.begin(), s.index.end());
      accesses_.push_back({s.buffer, s.index});
    }
    nodes_ = postorder(roots);
    for (Expr e : nodes_)
      if (e.kind() == ExprKind::load)
        accesses_.push_back({e.buffer(), {e.operands().begin(), e.operands().end()}});
    for (Expr e : nodes_)
      if (e.kind() == ExprKind::call && e.function()->array) arrays_.push_back(e.function()->array);
    // joined[a]: axis a continues in axis a + 1. Positions of joints in each buffer's shape.
    std::vector<bool> joined(axes_.size(), false);
    for (size_t a = 0; a + 1 < axes_.size(); ++a) joined[a] = join(a);
    if (std::find(joined.begin(), joined.end(), true) == joined.end()) return;
    rebuildAxes(joined);
    rebuildBuffers(buffers);
    rebuildStores();
  }

 private:
  bool usedOutsideAccesses(Expr v) const {
    for (const PendingStore& s : stores_)
      if (s.value.same(v)) return true;
    for (Expr e : nodes_) {
      if (e.kind() == ExprKind::load) continue;
      for (Expr o : e.operands())
        if (o.same(v)) return true;
    }
    return false;
  }

  static size_t countIn(const std::vector<Expr>& index, Expr v) {
    return static_cast<size_t>(std::count_if(index.begin(), index.end(), [&](Expr e) { return e.same(v); }));
  }

  bool join(size_t a) {
    const Expr outer = axes_[a].variable, inner = axes_[a + 1].variable;
    if (usedOutsideAccesses(outer) || usedOutsideAccesses(inner)) return false;
    std::unordered_map<const Buffer*, size_t> place;
    for (const Access& access : accesses_) {
      const size_t outerUses = countIn(access.index, outer), innerUses = countIn(access.index, inner);
      if (outerUses == 0 && innerUses == 0) continue;
      if (outerUses != 1 || innerUses != 1) return false;
      const auto p = static_cast<size_t>(
          std::find_if(access.index.begin(), access.index.end(), [&](Expr e) { return e.same(outer); }) -
          access.index.begin());
      if (p + 1 >= access.index.size() || !access.index[p + 1].same(inner)) return false;
      const Dim size = dimOf(access.buffer->shape[p + 1]);
      if (!size || !dimOf(access.buffer->shape[p]) || solver_.equal(size, axes_[a + 1].extent) != Answer::yes)
        return false;
      auto [known, fresh] = place.try_emplace(access.buffer, p);
      if (!fresh && known->second != p) return false;
    }
    // Every access of such a buffer must have the joint, and no function may read it by its old axes.
    for (const Access& access : accesses_)
      if (place.contains(access.buffer) && countIn(access.index, outer) == 0) return false;
    for (const Buffer* array : arrays_)
      if (place.contains(array)) return false;
    for (const auto& [buffer, p] : place) joints_[buffer].push_back(p);
    return true;
  }

  void rebuildAxes(const std::vector<bool>& joined) {
    std::vector<Axis> fused;
    for (size_t a = 0; a < axes_.size(); ++a) {
      size_t last = a;
      Dim extent = axes_[a].extent;
      while (joined[last]) extent = extent * axes_[++last].extent;
      if (last == a) {
        fused.push_back(axes_[a]);
      } else {
        const Expr v = c_.variable("i");
        c_.bound(v, c_.dim(extent));
        fused.push_back({v, extent});
        for (size_t k = a; k <= last; ++k) replacement_[axes_[k].variable.id()] = v;
      }
      a = last;
    }
    axes_ = std::move(fused);
  }

  void rebuildBuffers(std::vector<const Buffer*>* buffers) {
    for (const Buffer*& b : *buffers) {
      auto joints = joints_.find(b);
      if (joints == joints_.end()) continue;
      std::vector<Expr> shape;
      for (size_t axis = 0; axis < b->shape.size(); ++axis) {
        if (isJoint(b, axis))
          shape.back() = shape.back() * b->shape[axis];
        else
          shape.push_back(b->shape[axis]);
      }
      const Buffer* fused = c_.view(b, std::move(shape));
      fused_[b] = fused;
      b = fused;
    }
  }

  // Does this axis of the buffer continue the one before it?
  bool isJoint(const Buffer* b, size_t axis) const {
    const auto& list = joints_.at(b);
    return axis > 0 && std::find(list.begin(), list.end(), axis - 1) != list.end();
  }

  std::vector<Expr> newIndex(const Buffer* b, const std::vector<Expr>& index) const {
    if (!fused_.contains(b)) return index;
    std::vector<Expr> out;
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (!isJoint(b, axis)) out.push_back(index[axis]);
    return out;
  }

  void rebuildStores() {
    std::unordered_map<uint32_t, Expr> done;
    for (Expr e : nodes_) {
      if (auto v = replacement_.find(e.id()); v != replacement_.end()) {
        done[e.id()] = v->second;
        continue;
      }
      std::vector<Expr> operands;
      for (Expr o : e.operands()) operands.push_back(done.at(o.id()));
      if (e.kind() == ExprKind::load && fused_.contains(e.buffer()))
        done[e.id()] = c_.load(fused_.at(e.buffer()), newIndex(e.buffer(), operands));
      else
        done[e.id()] = operands.empty() ? e : c_.withOperands(e, operands);
    }
    for (PendingStore& s : stores_) {
      for (Expr& e : s.index) e = done.at(e.id());
      s.index = newIndex(s.buffer, s.index);
      if (fused_.contains(s.buffer)) s.buffer = fused_.at(s.buffer);
      s.value = done.at(s.value.id());
    }
  }

  LoopContext& c_;
  const DimSolver& solver_;
  std::vector<Axis>& axes_;
  std::vector<PendingStore>& stores_;
  std::vector<Expr> nodes_;
  std::vector<Access> accesses_;
  std::vector<const Buffer*> arrays_;
  std::unordered_map<const Buffer*, std::vector<size_t>> joints_;
  std::unordered_map<uint32_t, Expr> replacement_;
  std::unordered_map<const Buffer*, const Buffer*> fused_;
};

}  // namespace

void fuseAxes(LoopContext& context, const DimSolver& solver, std::vector<Axis>* axes,
              std::vector<PendingStore>* stores, std::vector<const Buffer*>* buffers) {
  AxisFusion(context, solver, *axes, *stores).run(buffers);
}

}  // namespace dyn::loop
