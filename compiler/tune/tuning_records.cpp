#include "compiler/tune/tuning_records.h"

#include <algorithm>

#include "compiler/driver/target_choice.h"

namespace dyn {

double TunedOperation::weightedNs(const TunedCandidate& candidate) const {
  double sum = 0;
  for (size_t i = 0; i < shapes.size(); ++i) sum += shapes[i].weight * candidate.timesNs[i];
  return sum;
}

const TunedShape* TunedOperation::shapeOf(const std::vector<int64_t>& sizes) const {
  auto found =
      std::find_if(shapes.begin(), shapes.end(), [&](const TunedShape& s) { return s.sizes == sizes; });
  return found == shapes.end() ? nullptr : &*found;
}

const TunedOperation* TuningRecords::find(const std::string& key, int threads) const {
  for (const TunedOperation& record : operations)
    if (record.key == key && record.threads == threads) return &record;
  return nullptr;
}

std::string tuningCpu() {
  const Result<Target> host = hostTarget();
  if (!host.ok()) return "unknown";
  const MachineDescription& machine = host->machine;
  return machine.cpu + " " + std::to_string(machine.vectorBits) + " l2=" + std::to_string(machine.l2Bytes) +
         " l3=" + std::to_string(machine.l3Bytes);
}

}  // namespace dyn
