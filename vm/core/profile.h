// Profile: what a profiled run did, event by event, and its two printed forms: Chrome trace JSON and a table per name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dyn::vm {

class Module;

enum class ProfileKind : uint8_t { function, kernel, builtin, allocation, copy, constant };

struct ProfileEvent {
  ProfileKind kind;
  uint32_t function, position;       // of the instruction; for ProfileKind::function the function entered
  int32_t index;                     // kernel, builtin or constant row; -1
  uint64_t beginNs, durationNs;      // since the profile began
  uint64_t bytes;                    // of all tensors touched
  uint32_t shapesBegin, shapesSize;  // in Profile::shapes
};

class Profile {
 public:
  // Recording stops at this many events; the rest is counted in droppedCount.
  static constexpr size_t kMaximumEvents = 1'000'000;

  void begin();  // empties
  uint64_t startNs() const { return startNs_; }
  void record(ProfileEvent event, const std::string& shapes);
  // Of the event recorded last: which of a builtin's versions ran, and the values that decided it.
  void nameVersion(const std::string& version);

  const std::vector<ProfileEvent>& events() const { return events_; }
  std::string shapesOf(const ProfileEvent& event) const {
    return shapes_.substr(event.shapesBegin, event.shapesSize);
  }
  uint64_t droppedCount() const { return dropped_; }

  // {"traceEvents":[{"ph":"X",...}],"displayTimeUnit":"ms"}: microseconds, nested on one thread.
  std::string traceJson(const Module& module) const;
  // Rows by total time: kind, name, count, total/mean/min/max ns, bytes, first place.
  std::string tableJson(const Module& module) const;
  std::string tableCsv(const Module& module) const;

 private:
  struct Row;
  std::vector<Row> table(const Module& module) const;
  std::vector<ProfileEvent> events_;
  std::string shapes_;
  std::map<size_t, std::string> versions_;  // by event
  uint64_t startNs_ = 0, dropped_ = 0;
};

}  // namespace dyn::vm
