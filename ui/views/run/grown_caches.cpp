#include "ui/views/run/grown_caches.h"

#include <algorithm>

#include "app/engine/generate/decoder_ports.h"
#include "app/engine/model/formula.h"

namespace dyn::ui {

namespace {

struct Growth {
  const ValueInfo* past = nullptr;
  const ValueInfo* present = nullptr;
  size_t axis = 0;
};

// The one axis in which both differ.
std::optional<Growth> growthOf(const ValueInfo& past, const ValueInfo& present) {
  if (past.dtype != present.dtype || past.shape.size() != present.shape.size()) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t a = 0; a < past.shape.size(); ++a) {
    if (past.shape[a] == present.shape[a]) continue;
    if (axis) return std::nullopt;
    axis = a;
  }
  if (!axis) return std::nullopt;
  return Growth{&past, &present, *axis};
}

// "f32" → 4, "bool" → 1
int64_t elementBytesOf(const std::string& dtype) {
  const size_t at = dtype.find_first_of("0123456789");
  return at == std::string::npos ? 1 : std::max(1, std::atoi(dtype.c_str() + at) / 8);
}

std::optional<int64_t> bytesOf(const ValueInfo& value, const DimValues& dims) {
  int64_t bytes = elementBytesOf(value.dtype);
  for (const std::string& dim : value.shape) {
    const std::optional<int64_t> size = formulaValue(dim, dims);
    if (!size || *size < 0 || __builtin_mul_overflow(bytes, *size, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::optional<GrownCaches::Run> runOf(const Growth& growth, const RunRecord& record) {
  const auto before = formulaValue(growth.past->shape[growth.axis], record.dims),
             after = formulaValue(growth.present->shape[growth.axis], record.dims);
  const auto bytesBefore = bytesOf(*growth.past, record.dims),
             bytesAfter = bytesOf(*growth.present, record.dims);
  if (!before || !after || !bytesBefore || !bytesAfter || *after < *before) return std::nullopt;
  return GrownCaches::Run{record.number, *before, *after, *bytesBefore, *bytesAfter, sizesText(record)};
}

}  // namespace

std::vector<GrownCaches> grownCaches(const ModelInfo& model, const std::vector<RunRecord>& runs) {
  std::vector<Port> outputs(model.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].info = model.outputs[i];
  std::vector<std::vector<Growth>> kinds;  // of one shape each
  for (const ValueInfo& input : model.inputs) {
    const std::optional<size_t> present = presentOf(input.name, outputs);
    const std::optional<Growth> growth = present ? growthOf(input, model.outputs[*present]) : std::nullopt;
    if (!growth) continue;
    const auto alike = std::find_if(kinds.begin(), kinds.end(), [&](const std::vector<Growth>& kind) {
      return kind.front().past->shape == growth->past->shape && kind.front().past->dtype == input.dtype &&
             kind.front().present->shape == growth->present->shape;
    });
    alike == kinds.end() ? kinds.push_back({*growth}) : alike->push_back(*growth);
  }
  std::vector<GrownCaches> all;
  for (const std::vector<Growth>& kind : kinds) {
    GrownCaches caches;
    const QString first = QString::fromStdString(kind.front().past->name),
                  last = QString::fromStdString(kind.back().past->name);
    caches.name = kind.size() == 1 ? first : first + QString::fromUtf8(" … ") + last;
    caches.count = static_cast<int64_t>(kind.size());
    caches.from = kind.front().past->shape[kind.front().axis];
    caches.to = kind.front().present->shape[kind.front().axis];
    for (const RunRecord& record : runs) {
      if (record.model != model.path) continue;
      std::optional<GrownCaches::Run> run = runOf(kind.front(), record);
      if (!run) continue;
      run->bytesBefore *= caches.count;
      run->bytesAfter *= caches.count;
      caches.runs.push_back(*std::move(run));
    }
    if (!caches.runs.empty()) all.push_back(std::move(caches));
  }
  return all;
}

}  // namespace dyn::ui
