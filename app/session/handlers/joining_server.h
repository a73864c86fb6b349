// Calls of a model run alone or joined, and what of the two takes less time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/serving/joined_calls.h"
#include "app/session/session_state.h"

namespace dyn {

struct JoiningTimes {
  int64_t aloneNs = 0, joinedNs = 0;  // of a call; 0: no call is joined
  bool computesPadding = false;       // of joined calls of different lengths
};

// "joining costs 1.42x here: 92.4 us a request joined, 65.1 us alone; leave out --batching".
std::string joiningText(const JoiningTimes& times, const SessionOptions& options);

class JoiningServer {
 public:
  JoiningServer(SessionState& state, std::optional<CallJoint> joint)
      : state_(state), joint_(std::move(joint)) {}

  // The results of each call.
  Result<std::vector<std::vector<HostTensor>>> run(const std::vector<const CallInputs*>& calls);
  // Compiles, and fills caches.
  Status warmUp(const CallInputs& call);
  // Are some calls the same when they are joined? What is to be said. Where those of different lengths
  // differ, only calls of equal sizes are joined from here on; where these do, that is an error.
  Result<std::string> compareOnce(const std::vector<CallInputs>& calls);
  // Runs some of the first calls both ways. From here on lengths that are joined lie near each other where
  // the program computes the padding between them, and a joined run takes no longer than `mostNs`, as far as
  // these times tell.
  Result<JoiningTimes> timeJoining(const std::vector<const CallInputs*>& calls, size_t most, int64_t mostNs);

  // May the call go with those that are taken?
  bool mayFollow(const JoinedGroup& taken, const CallInputs& next) const;
  const std::optional<CallJoint>& joint() const { return joint_; }

 private:
  Result<std::vector<const HostTensor*>> runOne(const CallInputs& inputs);
  void onlyEqualSizes();
  Result<bool> computesPadding(const std::vector<const CallInputs*>& calls);
  Result<int64_t> leastNs(const std::vector<const CallInputs*>& calls);

  SessionState& state_;
  std::optional<CallJoint> joint_;
  bool onlyNear_ = false;
  double nsPerPosition_ = 0;  // of joined runs
  int64_t mostNs_ = INT64_MAX;
  RunResult result_;  // what `runOne` has shown of
};

}  // namespace dyn
