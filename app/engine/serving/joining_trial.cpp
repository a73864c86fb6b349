#include "app/engine/serving/joining_trial.h"

#include <algorithm>

#include "compiler/support/clock.h"

namespace dyn {

namespace {

constexpr size_t kCompared = ServedProgram::kCompared;
constexpr size_t kTimedGroups = 3;         // of requests, joined and alone
constexpr int64_t kTimedNs = 500'000'000;  // after so long no further group is timed

using Calls = std::vector<std::unique_ptr<ServedCall>>;

class Trial {
 public:
  Trial(ServedProgram& program, const std::vector<const std::vector<VmValue>*>& requests, size_t most)
      : program_(program), most_(most) {
    for (const std::vector<VmValue>* inputs : requests) calls_.push_back(program.call(shared(*inputs)));
    // One request is joined with itself.
    while (requests.size() == 1 && calls_.size() < std::max(most, kCompared))
      calls_.push_back(program.call(shared(*requests[0])));
  }

  Result<JoiningTimes> run() {
    DYN_CHECK(compare());
    return time();
  }

 private:
  Status runOnce(const Gathering& gathering) {
    program_.run(0, gathering);
    for (const ServedCall* call : gathering.calls())
      if (call->answer.kind != AnswerKind::results) return vmError(call->answer.status, call->answer.message);
    return {};
  }

  // The program compares by itself when calls are joined for the first time.
  Status compare() {
    if (calls_.size() < 2 || most_ < 2) return {};
    const std::unique_ptr<Gathering> some =
        program_.gather(*calls_[0], {kCompared, kCompared, -1, JoiningTrial::answers});
    for (size_t c = 1; c < calls_.size() && some->calls().size() < kCompared; ++c) {
      if (!program_.joins(*calls_[c])) continue;
      const bool known = std::any_of(some->calls().begin(), some->calls().end(), [&](const ServedCall* call) {
        return call->tensors && call->tensors->dims == calls_[c]->tensors->dims;
      });
      const bool isLast = c + 1 == calls_.size() && some->calls().size() < 2;
      if (!known || isLast) some->add(*calls_[c]);
    }
    return runOnce(*some);
  }

  Result<int64_t> leastNs(const Gathering& gathering) {
    constexpr int kRuns = 3;  // after one that makes room
    int64_t least = INT64_MAX;
    for (int i = 0; i <= kRuns; ++i) {
      const int64_t begin = steadyNs();
      DYN_CHECK(runOnce(gathering));
      if (i > 0) least = std::min(least, steadyNs() - begin);
    }
    return least;
  }

  // Groups are made as from requests that wait.
  Result<JoiningTimes> time() {
    JoiningTimes times;
    const int64_t begin = steadyNs();
    int64_t joinedNs = 0, aloneNs = 0, timed = 0;
    std::vector<bool> taken(calls_.size(), false);
    for (size_t first = 0, groups = 0; first < calls_.size() && groups < kTimedGroups; ++first) {
      if (groups > 0 && steadyNs() - begin > kTimedNs) break;
      if (taken[first]) continue;
      const std::unique_ptr<Gathering> group =
          program_.gather(*calls_[first], {most_, most_, -1, JoiningTrial::costs});
      for (size_t c = first + 1; c < calls_.size(); ++c)
        if (!taken[c] && group->add(*calls_[c])) taken[c] = true;
      if (group->calls().size() < 2) continue;
      ++groups;
      DYN_TRY(const int64_t together, leastNs(*group));
      joinedNs += together;
      for (ServedCall* call : group->calls()) {
        DYN_TRY(const int64_t alone, leastNs(*program_.gather(*call, {})));
        aloneNs += alone;
      }
      timed += static_cast<int64_t>(group->calls().size());
    }
    if (timed == 0) return times;
    times.joinedNs = joinedNs / timed;
    times.aloneNs = aloneNs / timed;
    return times;
  }

  ServedProgram& program_;
  size_t most_;
  Calls calls_;
};

}  // namespace

Result<JoiningTimes> tryJoining(ServedProgram& program,
                                const std::vector<const std::vector<VmValue>*>& requests, size_t most) {
  return Trial(program, requests, most).run();
}

}  // namespace dyn
