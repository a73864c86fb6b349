// Does joining requests pay? By the times of earlier runs, joined and alone, for each number of requests that
// wait. It depends on model, machine and load: rows may share the work of a run, or cost the padding of the
// shorter ones.
//
//   if (costs.join(waiting)) ... runs them joined; costs.ranJoined(waiting, positions, ns);
//   else                     ... runs one;         costs.ranAlone(positions, ns);
//
// The other way is tried now and then: about one request in 64. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dyn {

class JoiningCosts {
 public:
  // Are runs joined when so many requests wait?
  bool join(size_t waiting);
  // `positions`: those of the requests, without the padding between them; at least 1.
  void ranAlone(int64_t positions, int64_t ns);
  void ranJoined(size_t waiting, int64_t requests, int64_t positions, int64_t ns);
  // 0: none of them has run.
  double joinedNsPerPosition() const { return latestJoined_; }

 private:
  // The latest runs; their median counts, as any run may be held up by others of the machine.
  struct Times {
    std::array<double, 9> nsPerPosition{};
    int64_t count = 0;  // of all runs
    void add(double ns);
    double median() const;
  };
  static size_t classOf(size_t waiting);
  static constexpr size_t kClasses = 6;  // 2, 3 to 4, 5 to 8, ...
  Times alone_;
  std::array<Times, kClasses> joined_;
  double latestJoined_ = 0;
  int64_t aloneSinceTrial_ = 0, joinedSinceTrial_ = 0;  // requests
};

}  // namespace dyn
