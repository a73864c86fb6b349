#include "compiler/kernel/versions.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "compiler/kernel/staged_rows.h"

namespace dyn {

using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

namespace {

constexpr size_t kMostGuards = 8;

// All statements, each before its children; they nest as deep as a kernel has axes.
void forEachStatement(const StmtRef& stmt, const std::function<void(const Stmt&)>& visit) {
  visit(*stmt);
  for (const StmtRef& child : stmt->children) forEachStatement(child, visit);
}

// The same statements with other expressions and extents.
StmtRef rebuilt(const StmtRef& stmt, const std::function<Expr(Expr)>& expression,
                const std::function<Expr(Expr)>& extent) {
  auto copy = std::make_shared<Stmt>(*stmt);
  for (StmtRef& child : copy->children) child = rebuilt(child, expression, extent);
  for (Expr* e : {&copy->value, &copy->condition})
    if (!e->isNull()) *e = expression(*e);
  for (Expr& e : copy->index) e = expression(e);
  if (!copy->extent.isNull()) copy->extent = extent(copy->extent);
  for (Expr& e : copy->extents) e = extent(e);
  return copy;
}

// Variables that vector loops count.
std::unordered_set<uint32_t> vectorVariables(const loop::Kernel& kernel) {
  std::unordered_set<uint32_t> variables;
  forEachStatement(kernel.body, [&](const Stmt& s) {
    if (s.loopKind != LoopKind::vector) return;
    if (s.kind == StmtKind::loop) variables.insert(s.variable.id());
    if (s.kind == StmtKind::accumulate && !s.variables.empty()) variables.insert(s.variables.back().id());
  });
  return variables;
}

// Of select(d == 1, 0, i) with i counted by a vector loop: d.
Dim heldFixed(Expr e, const std::unordered_set<uint32_t>& variables) {
  if (e.kind() != ExprKind::select) return {};
  const Expr condition = e.operands()[0], zero = e.operands()[1];
  if (condition.kind() != ExprKind::binary || condition.binaryOp() != loop::BinaryOp::equal ||
      condition.operands()[0].kind() != ExprKind::dim ||
      condition.operands()[1].kind() != ExprKind::intConstant || condition.operands()[1].intValue() != 1 ||
      zero.kind() != ExprKind::intConstant || zero.intValue() != 0)
    return {};
  const Expr position = e.operands()[2];
  for (const Expr& part : loop::postorder(std::span<const Expr>(&position, 1)))
    if (variables.count(part.id())) return condition.operands()[0].dimValue();
  return {};
}

void addWithoutBroadcast(const loop::Kernel& kernel, std::vector<KernelVersion>& versions) {
  const std::unordered_set<uint32_t> variables = vectorVariables(kernel);
  KernelVersion version{kernel, {}};
  std::vector<Expr> roots;
  forEachStatement(kernel.body, [&](const Stmt& s) {
    for (const Expr& e : loop::expressionsOf(s)) roots.push_back(e);
  });
  for (const Expr& e : loop::postorder(roots)) {
    const Dim dim = heldFixed(e, variables);
    if (!dim) continue;
    if (std::none_of(version.guards.begin(), version.guards.end(),
                     [&](const VersionGuard& g) { return g.dim == dim; }))
      version.guards.push_back({dim, VersionGuard::Relation::differs, 1});
  }
  if (version.guards.empty() || version.guards.size() > kMostGuards) return;
  std::function<Expr(Expr)> moving = [&](Expr root) {
    return kernel.context->substitute(
        root, [&](Expr e) { return heldFixed(e, variables) ? moving(e.operands()[2]) : Expr(); });
  };
  version.kernel.name += ".no_broadcast";
  version.kernel.body = rebuilt(kernel.body, moving, [](Expr extent) { return extent; });
  versions.push_back(std::move(version));
}

// The extent that all vector loops have; null when there are several, or it is no dim.
Dim vectorExtent(const loop::Kernel& kernel) {
  Dim common;
  bool one = true;
  forEachStatement(kernel.body, [&](const Stmt& s) {
    if (s.loopKind != LoopKind::vector || (s.kind != StmtKind::loop && s.kind != StmtKind::accumulate))
      return;
    if (s.kind == StmtKind::accumulate && s.extents.empty()) return;
    const Expr extent = s.kind == StmtKind::loop ? s.extent : s.extents.back();
    if (extent.kind() != ExprKind::dim || (common && common != extent.dimValue()))
      one = false;
    else
      common = extent.dimValue();
  });
  return one ? common : Dim();
}

void addResidues(const loop::Kernel& kernel, const std::vector<VersionGuard>& guards, int residues,
                 std::vector<KernelVersion>& versions) {
  const Dim extent = vectorExtent(kernel);
  if (!extent) return;
  DimContext& dims = kernel.context->dims();
  const Dim tile = dims.constant(kVersionTile), residue = mod(extent, tile);
  if (residue.constant()) return;
  for (int r = 0; r < residues; ++r) {
    KernelVersion version{kernel, guards};
    version.guards.push_back({residue, VersionGuard::Relation::equal, r});
    version.kernel.name += ".mod" + std::to_string(kVersionTile) + "_" + std::to_string(r);
    const Dim known = floorDiv(extent, tile) * kVersionTile + r;
    version.kernel.body = rebuilt(
        kernel.body, [](Expr e) { return e; },
        [&](Expr e) {
          return e.kind() == ExprKind::dim && e.dimValue() == extent ? kernel.context->dim(known) : e;
        });
    versions.push_back(std::move(version));
  }
}

bool sumsIn(const loop::Kernel& kernel) {
  bool found = false;
  forEachStatement(kernel.body, [&](const Stmt& s) {
    found |= s.kind == StmtKind::accumulate && s.reduceOp == loop::ReduceOp::sum;
  });
  return found;
}

size_t accumulationsIn(const loop::Kernel& kernel) {
  size_t count = 0;
  forEachStatement(kernel.body, [&](const Stmt& s) { count += s.kind == StmtKind::accumulate; });
  return count;
}

// Elements of a row that stands in a lane. To turn over squares of eight bytes takes as long as to reduce a
// longer row by itself once: to sum it, or, which takes longer, to find its extreme.
int64_t longestRow(const loop::Kernel& rows) {
  if (rows.scratch.empty()) return kShortRow;
  const bool anyOfEight = std::any_of(rows.scratch.begin(), rows.scratch.end(),
                                      [](const loop::Buffer* b) { return storageBytes(b->dtype) == 8; });
  if (!anyOfEight || accumulationsIn(rows) > 1) return kStagedRow;
  return sumsIn(rows) ? kStagedRow / 2 : kStagedRow * 3 / 4;
}

}  // namespace

Result<VersionPolicy> parseVersionPolicy(std::string_view text) {
  if (text == "auto") return VersionPolicy{};
  if (text == "generic")
    return VersionPolicy{.withoutBroadcast = false,
                         .rowsInLanes = false,
                         .splitReductions = false,
                         .unitInnermost = false,
                         .shortLanes = false};
  for (int residues = 1; residues <= kVersionTile; ++residues)
    if (text == "residues" + std::to_string(residues))
      return VersionPolicy{
          .rowsInLanes = false, .unitInnermost = false, .shortLanes = false, .residues = residues};
  return makeError(DiagnosticId::usageError, "loop has no version '" + std::string(text) + "'")
      .note("there are auto, generic and residues1 to residues" + std::to_string(kVersionTile));
}

const char* toString(VersionGuard::Relation relation) {
  switch (relation) {
    case VersionGuard::Relation::equal:
      return "==";
    case VersionGuard::Relation::differs:
      return "!=";
    case VersionGuard::Relation::atMost:
      return "<=";
    case VersionGuard::Relation::above:
      return ">";
  }
  return "";
}

std::string guardsText(const std::vector<VersionGuard>& guards) {
  std::string text;
  for (const VersionGuard& guard : guards)
    text += (text.empty() ? ", if " : " and ") + guard.dim.toString() + " " + toString(guard.relation) + " " +
            std::to_string(guard.value);
  return text;
}

std::vector<KernelVersion> kernelVersionsOf(const loop::Kernel& kernel,
                                            const std::optional<RowsInLanes>& rows,
                                            const std::optional<ShortLanes>& lanes,
                                            const std::optional<UnitInnermost>& unit,
                                            const VersionPolicy& policy) {
  std::vector<KernelVersion> moving, all;
  if (rows && policy.rowsInLanes) {
    const std::optional<int64_t> length = rows->rowLength.constant();
    const int64_t longest = longestRow(rows->kernel);
    if (!length || *length <= longest) {
      KernelVersion version{rows->kernel, {}};
      version.kernel.name += ".rows_in_lanes";
      if (!length) version.guards.push_back({rows->rowLength, VersionGuard::Relation::atMost, longest});
      all.push_back(std::move(version));
    }
  }
  if (lanes && policy.shortLanes && accumulationsIn(lanes->kernel) > 1) {
    const std::optional<int64_t> length = lanes->length.constant();
    if (!length || (*length > 1 && *length <= kShortLanes)) {
      KernelVersion version{lanes->kernel, {}};
      version.kernel.name += ".short_lanes";
      if (!length) version.guards.push_back({lanes->length, VersionGuard::Relation::atMost, kShortLanes});
      all.push_back(std::move(version));
    }
  }
  if (unit && policy.unitInnermost) {
    KernelVersion version{unit->kernel, {{unit->size, VersionGuard::Relation::equal, 1}}};
    version.kernel.name += ".unit";
    all.push_back(std::move(version));
  }
  if (policy.withoutBroadcast) addWithoutBroadcast(kernel, moving);
  // The residues of the version without broadcast come before it, those of the kernel itself behind.
  for (const KernelVersion& version : moving)
    addResidues(version.kernel, version.guards, policy.residues, all);
  for (KernelVersion& version : moving) all.push_back(std::move(version));
  addResidues(kernel, {}, policy.residues, all);
  for (KernelVersion& version : all)
    version.kernel.description = kernel.description + guardsText(version.guards);
  return all;
}

}  // namespace dyn
