#include "app/session/handlers/joining_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/engine/run/valid_positions.h"
#include "app/session/explain/compare.h"
#include "app/session/views/view_text.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

constexpr size_t kCompared = 4;            // calls that are run joined and alone
constexpr size_t kTimedGroups = 3;         // of calls, joined and alone
constexpr int64_t kTimedNs = 500'000'000;  // after so long no further group is timed
constexpr double kMostPadding = 1.25;      // positions of joined calls over their own, where all cost

bool mayGoWith(const CallJoint& joint, const std::vector<const CallInputs*>& taken, const CallInputs& next) {
  return taken.empty() || mayJoin(joint, *taken[0], next);
}

}  // namespace

std::string joiningText(const JoiningTimes& times, const SessionOptions& options) {
  if (times.joinedNs <= 0) return "no two of them were to be joined";
  const auto alone = static_cast<double>(times.aloneNs), joined = static_cast<double>(times.joinedNs);
  const std::string both =
      durationText(times.joinedNs) + " a request joined, " + durationText(times.aloneNs) + " alone";
  if (joined <= alone) return fmt::format("joining pays {:.2f}x: {}", alone / joined, both);
  const bool mayLeaveOut = times.computesPadding && options.paddedResults == "exact";
  return fmt::format("joining costs {:.2f}x here: {}; {}leave out --batching", joined / alone, both,
                     mayLeaveOut ? "add --padded-results zero if padded positions are not needed, or " : "");
}

Result<std::vector<const HostTensor*>> JoiningServer::runOne(const CallInputs& inputs) {
  DYN_TRY(const PreparedRun prepared, state_.prepare(inputs));
  result_ = RunResult();
  DYN_CHECK(prepared.runner->run(prepared.inputs, RunRequest(), state_.interruption, result_));
  std::vector<const HostTensor*> results;
  for (const NamedValue& output : result_.outputs)
    if (output.value.isTensor()) results.push_back(&output.value.tensor());
  return results;
}

Result<std::vector<std::vector<HostTensor>>> JoiningServer::run(const std::vector<const CallInputs*>& calls) {
  if (calls.size() == 1) {
    DYN_TRY(const std::vector<const HostTensor*> results, runOne(*calls[0]));
    std::vector<std::vector<HostTensor>> all(1);
    for (const HostTensor* result : results) all[0].push_back(*result);
    return all;
  }
  DYN_TRY(const CallInputs together, joined(*joint_, calls));
  DYN_TRY(const std::vector<const HostTensor*> results, runOne(together));
  return apart(*joint_, calls, results);
}

Status JoiningServer::warmUp(const CallInputs& call) {
  DYN_TRY(const auto answers, run({&call}));
  return answers.empty() ? Status(makeError(DiagnosticId::internalError, "there is no answer")) : Status();
}

void JoiningServer::onlyEqualSizes() {
  joint_->sequence.clear();
  for (std::vector<CallJoint::Axes>* all : {&joint_->inputs, &joint_->outputs})
    for (CallJoint::Axes& axes : *all) axes.sequence.reset();
}

bool JoiningServer::mayFollow(const JoinedGroup& taken, const CallInputs& next) const {
  if (!mayGoWith(*joint_, taken.calls(), next)) return false;
  const JoinedPositions positions = taken.positionsWith(next);
  const auto own = static_cast<double>(positions.own), padded = static_cast<double>(positions.padded);
  if (onlyNear_ && padded > kMostPadding * own) return false;
  return nsPerPosition_ * (onlyNear_ ? padded : own) <= static_cast<double>(mostNs_);
}

Result<std::string> JoiningServer::compareOnce(const std::vector<CallInputs>& calls) {
  std::vector<const CallInputs*> some;
  for (const CallInputs& call : calls)
    if (some.size() < kCompared && mayGoWith(*joint_, some, call)) some.push_back(&call);
  if (some.size() < 2) some.push_back(some[0]);
  DYN_TRY(const auto together, run(some));
  for (size_t c = 0; c < some.size(); ++c) {
    DYN_TRY(const auto alone, run({some[c]}));
    for (size_t i = 0; i < alone[0].size(); ++i) {
      const std::string difference =
          compareValues(Value(together[c][i]), Value(alone[0][i]), Tolerance{1e-3, 1e-5, true});
      if (difference.empty()) continue;
      if (joint_->sequence.empty())
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: calls of this model cannot be joined: result " + std::to_string(i) +
                             " of a call differs from that of the call alone: " + difference);
      const std::string sequence = joint_->sequence;
      onlyEqualSizes();
      return "those of different " + sequence + " differ from each alone (result " + std::to_string(i) +
             ": " + difference + ")";
    }
  }
  return std::to_string(some.size()) + " of them gave the same as each alone";
}

// By the masks of these calls; where a program has no graph, or leaves out nothing, all costs.
Result<bool> JoiningServer::computesPadding(const std::vector<const CallInputs*>& calls) {
  if (joint_->sequence.empty()) return false;
  DYN_TRY(const CallInputs together, joined(*joint_, calls));
  DYN_TRY(const PreparedRun prepared, state_.prepare(together));
  DYN_TRY(const std::vector<int64_t> kept, keptPositions(*prepared.model, prepared.inputs));
  return kept.empty();
}

Result<int64_t> JoiningServer::leastNs(const std::vector<const CallInputs*>& calls) {
  constexpr int kRuns = 3;  // after one that makes room
  int64_t least = INT64_MAX;
  for (int i = 0; i <= kRuns; ++i) {
    const int64_t begin = steadyNs();
    DYN_TRY([[maybe_unused]] const auto answers, run(calls));
    const int64_t ns = steadyNs() - begin;
    if (i > 0) least = std::min(least, ns);
  }
  return least;
}

Result<JoiningTimes> JoiningServer::timeJoining(const std::vector<const CallInputs*>& calls, size_t most,
                                                int64_t mostNs) {
  JoiningTimes times;
  DYN_TRY(times.computesPadding, computesPadding({calls.begin(), calls.begin() + 1}));
  onlyNear_ = times.computesPadding;
  const int64_t begin = steadyNs();
  int64_t joinedNs = 0, aloneNs = 0, timed = 0;
  double positions = 0;
  std::vector<bool> taken(calls.size(), false);
  for (size_t first = 0, groups = 0; first < calls.size() && groups < kTimedGroups; ++first) {
    if (groups > 0 && steadyNs() - begin > kTimedNs) break;
    if (taken[first]) continue;
    // As those that wait are taken.
    JoinedGroup group(*joint_);
    for (size_t i = first; i < calls.size() && group.calls().size() < most; ++i) {
      if (taken[i] || (i > first && !mayFollow(group, *calls[i]))) continue;
      taken[i] = true;
      group.add(*calls[i]);
    }
    while (calls.size() == 1 && group.calls().size() < most) group.add(*calls[0]);
    if (group.calls().size() < 2) continue;
    ++groups;
    DYN_TRY(const int64_t together, leastNs(group.calls()));
    joinedNs += together;
    for (const CallInputs* call : group.calls()) {
      DYN_TRY(const int64_t alone, leastNs({call}));
      aloneNs += alone;
    }
    timed += static_cast<int64_t>(group.calls().size());
    const JoinedPositions size = group.positions();
    positions += static_cast<double>(onlyNear_ ? size.padded : size.own);
  }
  if (timed == 0) return times;
  times.joinedNs = joinedNs / timed;
  times.aloneNs = aloneNs / timed;
  nsPerPosition_ = static_cast<double>(joinedNs) / std::max(positions, 1.0);
  mostNs_ = mostNs;
  return times;
}

}  // namespace dyn
