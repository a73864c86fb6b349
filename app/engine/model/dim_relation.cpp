#include "app/engine/model/dim_relation.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "app/engine/model/signature.h"
#include "compiler/dims/dim_order.h"

namespace dyn {
// An expression of the model's dims, or `factor * name + offset` of a name that the model does not have.
struct StatedDims::Side {
  Dim dim;
  std::string freeName;
  int64_t factor = 1, offset = 0;
  Error unknown = makeError(DiagnosticId::usageError, "");  // why the name is no dim
};

Result<StatedDims::Side> StatedDims::sideOf(const std::string& text) const {
  Side side;
  const Result<std::string> written = withNames(text, [&](const std::string& name) -> Result<std::string> {
    Result<Dim> dim = dimOf_(name);
    if (dim.ok()) return "(" + dim->toString() + ")";
    // A name close to one of the model's is a slip of the pen.
    if (hasNearDim(dim.error()) || (!side.freeName.empty() && side.freeName != name)) return dim.takeError();
    side.freeName = name;
    side.unknown = dim.takeError();
    return name;
  });
  if (!written.ok()) return Error(written.error());
  if (side.freeName.empty()) {
    DYN_TRY(side.dim, parseDim(solver_.context(), *written));
    return side;
  }
  DimContext scratch;
  DYN_TRY(const Dim form, parseDim(scratch, text));
  const Dim name = scratch.symbol(side.freeName);
  DimBinding zero, one;
  zero.set(name, 0);
  one.set(name, 1);
  // Of one symbol alone: two values tell a linear form.
  if (symbolsOf(form).size() != 1) return side.unknown;
  const Result<int64_t> atZero = evaluate(form, zero), atOne = evaluate(form, one);
  if (!atZero.ok() || !atOne.ok()) return side.unknown;
  side.offset = *atZero;
  side.factor = *atOne - *atZero;
  if (side.factor < 1 || form != side.factor * name + side.offset) return side.unknown;
  return side;
}

Status StatedDims::learnForm(const Side& form, Dim other, const Reason& reason) {
  const auto known = free_.find(form.freeName);
  if (known == free_.end() && form.factor == 1) return form.unknown;
  free_.emplace(form.freeName, Free{other, form.factor, form.offset});
  if (form.factor > 1) DYN_CHECK(solver_.addMultipleOf(other - form.offset, form.factor, reason));
  if (known == free_.end()) return {};
  // Both forms are of one number: (other - offset) / factor.
  const Free& before = known->second;
  const int64_t common = std::gcd(before.factor, form.factor);
  return solver_.addEqual((before.factor / common) * (other - form.offset),
                          (form.factor / common) * (before.dim - before.offset), reason);
}

Status StatedDims::learn(const DimRelation& relation, const Reason& reason) {
  DYN_TRY(const Side left, sideOf(relation.left));
  DYN_TRY(const Side right, sideOf(relation.right));
  if (left.dim && right.dim)
    return relation.kind == DimRelation::Kind::equal ? solver_.addEqual(left.dim, right.dim, reason)
                                                     : addLessEqual(solver_, left.dim, right.dim, reason);
  const Side& form = left.dim ? right : left;
  const Side& other = left.dim ? left : right;
  if (!other.dim || relation.kind != DimRelation::Kind::equal) return form.unknown;
  return learnForm(form, other.dim, reason);
}

}  // namespace dyn
