// Profile: what a profiled run did, event by event, and its two printed forms: Chrome trace JSON and a table
// per name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vm/base/thread_pool.h"
#include "vm/core/device/device_times.h"
#include "vm/core/profile/node_levels.h"

namespace dyn::vm {

class Module;

enum class ProfileKind : uint8_t { function, kernel, builtin, allocation, copy, constant };

struct ProfileEvent {
  ProfileKind kind;
  uint32_t function, position;   // of the instruction; for ProfileKind::function the function entered
  int32_t index;                 // kernel, builtin or constant row; -1
  uint64_t beginNs, durationNs;  // since the profile began
  uint64_t bytes;                // of all tensors touched
  uint32_t shapesBegin = 0, shapesSize = 0;  // in Profile::shapes
  uint32_t valuesBegin = 0;                  // scalars, then numbers
  uint32_t scalarsCount = 0, numbersCount = 0, resultsCount = 0;
};

// What an instruction was given besides the event's own fields.
struct ProfileOperands {
  std::string shapes;  // of the objects: "f32[2,3] f32[3]"
  // Values of the scalar registers it reads: of a launch its units and steps, then the kernel's scalars.
  std::vector<int64_t> scalars;
  std::vector<int64_t> numbers;  // of a builtin, the first kMaximumNumbers
  uint32_t resultsCount = 0;     // of a builtin: so many of `shapes`, at the front
  static constexpr size_t kMaximumNumbers = 32;
};

class Profile {
 public:
  // Recording stops at this many events; the rest is counted in droppedCount.
  static constexpr size_t kMaximumEvents = 1'000'000;

  void begin(const Program& program, uint64_t nowNs);  // empties
  uint64_t startNs() const { return startNs_; }
  void record(ProfileEvent event, const ProfileOperands& operands);
  // Of the event recorded last: which of a builtin's versions ran, and the values that decided it.
  void nameVersion(const std::string& version);

  const std::vector<ProfileEvent>& events() const { return events_; }
  std::string shapesOf(const ProfileEvent& event) const {
    return shapes_.substr(event.shapesBegin, event.shapesSize);
  }
  uint64_t droppedCount() const { return dropped_; }
  NodeLevels& levels() { return levels_; }
  // When launches ran on a device: a thread of its own in the trace.
  void recordOnDevice(const std::string& device, const std::vector<DeviceSpan>& spans);

  // {"traceEvents":[{"ph":"X",...}],"displayTimeUnit":"ms"}: microseconds, nested on each thread. The first
  // thread has all events and the iterations of loops ("iteration"), each worker what it did of a launch
  // ("worker"), each device what ran there ("device"). Behind the events, as "levels", what NodeLevels has.
  std::string traceJson(const Module& module, const std::vector<std::vector<TaskSpan>>& workers) const;
  // Rows by total time: kind, name, count, total/mean/min/max ns, bytes, first place.
  std::string tableJson(const Module& module) const;
  std::string tableCsv(const Module& module) const;

 private:
  struct Row;
  std::vector<Row> table(const Module& module) const;
  std::string listText(uint32_t begin, uint32_t count) const;  // of values_, as JSON
  std::vector<ProfileEvent> events_;
  std::string shapes_;
  std::vector<int64_t> values_;
  std::map<size_t, std::string> versions_;  // by event
  std::map<std::string, std::vector<DeviceSpan>> onDevices_;
  NodeLevels levels_;
  uint64_t startNs_ = 0, dropped_ = 0;
};

}  // namespace dyn::vm
