#include "app/engine/generate/row_sharing.h"

#include "app/engine/serving/joined_calls.h"

namespace dyn {

namespace {

// Where the file gives the mask's length a name of its own: here it is that of the past and the new tokens.
std::optional<DimSum> lengthOfMask(const Signature& signature, const DecoderPorts& ports) {
  const auto dimOf = [&](size_t input, size_t axis) { return signature.inputs[input].info.shape[axis]; };
  if (!ports.mask) return std::nullopt;
  DimSum sum{dimOf(*ports.mask, ports.hasBatch ? 1 : 0), {dimOf(ports.ids, ports.hasBatch ? 1 : 0)}};
  for (const CachePort& cache : ports.caches)
    if (cache.kind == CacheKind::growing && sum.terms.size() == 1)
      sum.terms.push_back(dimOf(cache.input, cache.axis));
  return sum;
}

}  // namespace

std::string whyRowsRunAlone(LoadedModel& model, const DecoderPorts& ports) {
  if (ports.batch.empty()) return "its batch is not open";
  if (!model.hasModule()) return "a package does not say that rows of a batch are independent";
  const Result<CallJoint> joint = callJoint(model, "", "", lengthOfMask(model.signature(), ports));
  if (!joint.ok()) return joint.error().message;
  return joint->batch == ports.batch ? "" : "rows along " + ports.batch + " are not proved independent";
}

}  // namespace dyn
