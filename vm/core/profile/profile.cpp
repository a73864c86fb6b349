#include "vm/core/profile/profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <new>

#include "vm/base/clock.h"
#include "vm/core/module/module.h"
#include "vm/core/profile/json_text.h"
#include "vm/core/profile/profile_spans.h"

namespace dyn::vm {
namespace {

const char* kindText(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::function:
      return "function";
    case ProfileKind::kernel:
      return "kernel";
    case ProfileKind::builtin:
      return "builtin";
    case ProfileKind::allocation:
      return "allocation";
    case ProfileKind::copy:
      return "copy";
    case ProfileKind::constant:
      return "constant";
  }
  return "event";
}

std::string nameOf(const ProfileEvent& event, const Module& module) {
  const Program& program = module.program();
  const auto index = static_cast<size_t>(event.index);
  switch (event.kind) {
    case ProfileKind::function:
      return program.functions[event.function].name;
    case ProfileKind::kernel:
      return program.kernels[index].name;
    case ProfileKind::builtin:
      return program.builtins[index];
    case ProfileKind::allocation:
      return "allocate";
    case ProfileKind::copy:
      return "copy between devices";
    case ProfileKind::constant:
      return "constant " + program.constants[index].name;
  }
  return "event";
}

std::string microseconds(uint64_t ns) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%llu.%03llu", static_cast<unsigned long long>(ns / 1000),
           static_cast<unsigned long long>(ns % 1000));
  return buffer;
}

std::string threadName(size_t thread, const std::string& name) {
  return "{\"ph\":\"M\",\"pid\":1,\"tid\":" + std::to_string(thread) +
         ",\"name\":\"thread_name\",\"args\":{\"name\":" + quoted(name) + "}}";
}

// An event up to its arguments.
std::string spanText(size_t thread, const std::string& name, const char* kind, uint64_t beginNs,
                     uint64_t endNs) {
  return "{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(thread) + ",\"name\":" + quoted(name) +
         ",\"cat\":\"" + kind + "\",\"ts\":" + microseconds(beginNs) +
         ",\"dur\":" + microseconds(endNs - beginNs);
}

std::string csvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

}  // namespace

struct Profile::Row {
  const char* kind;
  std::string name, place;
  uint64_t count = 0, totalNs = 0, minNs = UINT64_MAX, maxNs = 0, bytes = 0;
};

void Profile::begin(const Program& program, uint64_t nowNs) {
  events_.clear();
  shapes_.clear();
  values_.clear();
  versions_.clear();
  onDevices_.clear();
  levels_.begin(program);
  dropped_ = 0;
  startNs_ = nowNs;
}

void Profile::record(ProfileEvent event, const ProfileOperands& operands) {
  if (events_.size() >= kMaximumEvents || shapes_.size() + operands.shapes.size() > UINT32_MAX ||
      values_.size() + operands.scalars.size() + operands.numbers.size() > UINT32_MAX) {
    ++dropped_;
    return;
  }
  event.shapesBegin = static_cast<uint32_t>(shapes_.size());
  event.shapesSize = static_cast<uint32_t>(operands.shapes.size());
  event.valuesBegin = static_cast<uint32_t>(values_.size());
  event.scalarsCount = static_cast<uint32_t>(operands.scalars.size());
  event.numbersCount = static_cast<uint32_t>(operands.numbers.size());
  event.resultsCount = operands.resultsCount;
  try {
    shapes_ += operands.shapes;
    values_.insert(values_.end(), operands.scalars.begin(), operands.scalars.end());
    values_.insert(values_.end(), operands.numbers.begin(), operands.numbers.end());
    events_.push_back(event);
  } catch (const std::bad_alloc&) {  // a program that runs must not end because somebody watches it
    ++dropped_;
  }
}

void Profile::recordOnDevice(const std::string& device, const std::vector<DeviceSpan>& spans) {
  try {
    if (spans.empty()) return;
    std::vector<DeviceSpan>& known = onDevices_[device];
    const size_t room = kMaximumEvents - std::min(kMaximumEvents, known.size());
    known.insert(known.end(), spans.begin(),
                 spans.begin() + static_cast<std::ptrdiff_t>(std::min(room, spans.size())));
    dropped_ += spans.size() - std::min(room, spans.size());
  } catch (const std::bad_alloc&) {
    dropped_ += spans.size();
  }
}

std::string Profile::listText(uint32_t begin, uint32_t count) const {
  std::string text = "[";
  for (uint32_t i = 0; i < count; ++i) text += (i ? "," : "") + std::to_string(values_[begin + i]);
  return text + "]";
}

void Profile::nameVersion(const std::string& version) {
  try {
    if (!events_.empty() && dropped_ == 0) versions_[events_.size() - 1] = version;
  } catch (const std::bad_alloc&) {  // then the trace does without it
  }
}

std::string Profile::traceJson(const Module& module,
                               const std::vector<std::vector<TaskSpan>>& workers) const {
  std::string text = "{\"traceEvents\":[\n" + threadName(1, "vm");
  for (size_t w = 0; w < workers.size(); ++w)
    if (!workers[w].empty()) text += ",\n" + threadName(w + 2, "worker " + std::to_string(w + 1));
  for (const IterationSpan& span : iterationsOf(events_, module.program()))
    text += ",\n" +
            spanText(1, "iteration " + std::to_string(span.number), "iteration", span.beginNs, span.endNs) +
            ",\"args\":{\"position\":" + quoted(module.positionText(span.function, span.position)) +
            ",\"place\":" + quoted(module.placeOf(span.function, span.position)) +
            ",\"number\":" + std::to_string(span.number) + "}}";
  const LaunchFinder launches(events_);
  for (size_t w = 0; w < workers.size(); ++w)
    for (const TaskSpan& span : workers[w]) {
      if (span.beginNs < startNs_) continue;
      const int64_t launch = launches.at(span.beginNs - startNs_);
      if (launch < 0) continue;
      const ProfileEvent& event = events_[static_cast<size_t>(launch)];
      text +=
          ",\n" +
          spanText(w + 2, nameOf(event, module), "worker", span.beginNs - startNs_, span.endNs - startNs_) +
          ",\"args\":{\"place\":" + quoted(module.placeOf(event.function, event.position)) + "}}";
    }
  size_t thread = workers.size() + 1;
  for (const auto& [device, spans] : onDevices_) {
    text += ",\n" + threadName(++thread, device);
    for (const DeviceSpan& span : spans) {
      if (span.beginNs < startNs_) continue;
      const KernelRow& kernel = module.program().kernels[static_cast<size_t>(span.kernel)];
      text += ",\n" +
              spanText(thread, kernel.name, "device", span.beginNs - startNs_,
                       std::max(span.beginNs, span.endNs) - startNs_) +
              ",\"args\":{\"position\":" + quoted(module.positionText(span.function, span.position)) +
              ",\"place\":" + quoted(module.placeOf(span.function, span.position)) +
              ",\"index\":" + std::to_string(span.kernel) + "}}";
    }
  }
  for (size_t i = 0; i < events_.size(); ++i) {
    const ProfileEvent& event = events_[i];
    text += ",\n" +
            spanText(1, nameOf(event, module), kindText(event.kind), event.beginNs,
                     event.beginNs + event.durationNs) +
            ",\"args\":{\"position\":" + quoted(module.positionText(event.function, event.position)) +
            ",\"place\":" + quoted(module.placeOf(event.function, event.position)) +
            ",\"bytes\":" + std::to_string(event.bytes) + ",\"shapes\":" + quoted(shapesOf(event));
    if (event.kind == ProfileKind::kernel || event.kind == ProfileKind::builtin)
      text += ",\"index\":" + std::to_string(event.index) +
              ",\"scalars\":" + listText(event.valuesBegin, event.scalarsCount) +
              ",\"numbers\":" + listText(event.valuesBegin + event.scalarsCount, event.numbersCount);
    if (event.kind == ProfileKind::builtin)
      text += ",\"results_count\":" + std::to_string(event.resultsCount);
    if (auto version = versions_.find(i); version != versions_.end())
      text += ",\"version\":" + quoted(version->second);
    if (event.kind == ProfileKind::kernel)
      text += ",\"kernel\":" + quoted(module.program().kernels[static_cast<size_t>(event.index)].description);
    text += "}}";
  }
  text += "\n],\"displayTimeUnit\":\"ms\"";
  if (dropped_ > 0) text += ",\"droppedEvents\":" + std::to_string(dropped_);
  if (!levels_.loops().empty()) text += ",\"levels\":" + levels_.json(module);
  return text + "}\n";
}

std::vector<Profile::Row> Profile::table(const Module& module) const {
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const ProfileEvent& event : events_) {
    Row& row = rows[{kindText(event.kind), nameOf(event, module)}];
    if (row.count == 0) {
      row.kind = kindText(event.kind);
      row.name = nameOf(event, module);
      row.place = module.placeOf(event.function, event.position);
    }
    ++row.count;
    row.totalNs += event.durationNs;
    row.minNs = std::min(row.minNs, event.durationNs);
    row.maxNs = std::max(row.maxNs, event.durationNs);
    row.bytes += event.bytes;
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
    return a.totalNs != b.totalNs ? a.totalNs > b.totalNs : a.name < b.name;
  });
  return sorted;
}

std::string Profile::tableJson(const Module& module) const {
  std::string text = "{\"rows\":[";
  const char* separator = "\n";
  for (const Row& row : table(module)) {
    text += separator;
    text += "{\"kind\":\"" + std::string(row.kind) + "\",\"name\":" + quoted(row.name) +
            ",\"place\":" + quoted(row.place) + ",\"count\":" + std::to_string(row.count) +
            ",\"total_ns\":" + std::to_string(row.totalNs) +
            ",\"mean_ns\":" + std::to_string(row.totalNs / row.count) +
            ",\"min_ns\":" + std::to_string(row.minNs) + ",\"max_ns\":" + std::to_string(row.maxNs) +
            ",\"bytes\":" + std::to_string(row.bytes) + "}";
    separator = ",\n";
  }
  return text + "\n],\"dropped_count\":" + std::to_string(dropped_) + "}\n";
}

std::string Profile::tableCsv(const Module& module) const {
  std::string text = "kind,name,count,total_ns,mean_ns,min_ns,max_ns,bytes,place\n";
  for (const Row& row : table(module))
    text += std::string(row.kind) + "," + csvField(row.name) + "," + std::to_string(row.count) + "," +
            std::to_string(row.totalNs) + "," + std::to_string(row.totalNs / row.count) + "," +
            std::to_string(row.minNs) + "," + std::to_string(row.maxNs) + "," + std::to_string(row.bytes) +
            "," + csvField(row.place) + "\n";
  return text;
}

}  // namespace dyn::vm
