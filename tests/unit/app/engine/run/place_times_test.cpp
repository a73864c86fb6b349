#include "app/engine/run/place_times.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TimelineEvent traced(const char* kind, const char* name, const char* place, int64_t beginNs,
                     int64_t durationNs) {
  TimelineEvent event;
  event.kind = kind;
  event.name = name;
  event.place = place;
  event.beginNs = beginNs;
  event.durationNs = durationNs;
  return event;
}

// Constants are made once, then main runs three times; it calls a function of its own.
TraceEvents threeRepetitions() {
  TraceEvents trace;
  trace.events = {traced("function", "init", "", 0, 90), traced("copy", "constant", "m.dyn:1", 10, 70)};
  const int64_t matmul[] = {40, 50, 60}, relu[] = {5, 5, 9};
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t begin = 100 + 100 * i;
    trace.events.push_back(traced("kernel", "matmul", "m.dyn:2", begin + 1, matmul[i]));
    trace.events.push_back(traced("kernel", "relu", "m.dyn:3", begin + 71, relu[i] - 2));
    trace.events.push_back(traced("allocation", "allocate", "m.dyn:3", begin + 81, 2));
    trace.events.push_back(traced("function", "body", "", begin + 70, 15));
    trace.events.push_back(traced("function", "main", "", begin, 90 + i));
  }
  return trace;
}

TEST(PlaceTimes, EachCallOfMainIsARepetition) {
  const std::vector<PlaceTime> places = placeTimes(threeRepetitions());
  ASSERT_EQ(places.size(), 2u) << "constants are of no repetition";
  EXPECT_EQ(places[0].place, "m.dyn:2");
  EXPECT_EQ(places[0].time.count, 3);
  EXPECT_EQ(places[0].time.medianNs, 50);
  EXPECT_EQ(places[0].time.spreadNs, 20);
  EXPECT_EQ(places[1].time.medianNs, 5) << "all that was done at the place";
  EXPECT_EQ(places[1].time.spreadNs, 4);
  EXPECT_EQ(repetitionTimes(threeRepetitions()), (std::vector<int64_t>{90, 91, 92}));
}

TEST(PlaceTimes, TheLastRepetitionOfACutTraceIsLeftOut) {
  TraceEvents trace = threeRepetitions();
  trace.isCut = true;
  const std::vector<PlaceTime> places = placeTimes(trace);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].time.count, 2);
  EXPECT_EQ(places[0].time.medianNs, 40);
  EXPECT_EQ(repetitionTimes(trace).size(), 2u);
}

TEST(PlaceTimes, ATraceWithoutFunctionsIsOneRepetition) {
  TraceEvents trace;
  trace.events = {traced("kernel", "a", "p", 10, 5), traced("kernel", "a", "p", 20, 7)};
  const std::vector<PlaceTime> places = placeTimes(trace);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].time.count, 1);
  EXPECT_EQ(places[0].time.medianNs, 12);
  EXPECT_EQ(repetitionTimes(trace), (std::vector<int64_t>{17}));
  EXPECT_TRUE(placeTimes({}).empty());
  EXPECT_TRUE(repetitionTimes({}).empty());
}

}  // namespace
}  // namespace dyn
