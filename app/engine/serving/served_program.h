// A program that a server runs: requests joined along a batch whose rows are independent, or one by one.
//
//   DYN_TRY(auto program, ServedProgram::of(model, module, options, policy, sequenceLengthsOf(signature)));
//
// Requests of different lengths are joined where an input says how long each is. That the padding reaches no
// result is what such an input promises; it is not proved. So the first joined run of such requests is
// compared with runs of some of them alone, and where these differ, only requests of equal sizes are joined.
// A joined run that fails is run again request by request: each has the answer that it has alone.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "app/engine/latency/latency_formula.h"
#include "app/engine/run/runner.h"
#include "app/engine/serving/joined_calls.h"
#include "app/engine/serving/joining_costs.h"
#include "app/engine/serving/served_model.h"
#include "app/engine/serving/serving_policy.h"

namespace dyn {

class ServedProgram : public ServedModel {
 public:
  static constexpr size_t kCompared = 4;  // calls that are run joined and alone
  // `module` is the program of the model, which is not used after this. Errors: with Batching::always why
  // requests cannot be joined.
  static Result<std::shared_ptr<ServedProgram>> of(LoadedModel& model, std::shared_ptr<dyn_module> module,
                                                   const EngineOptions& options, const ServingPolicy& policy,
                                                   const SequenceLengths& lengths);
  Status prepare(size_t workerCount, int64_t memoryLimitBytes) override;
  std::unique_ptr<ServedCall> call(std::vector<VmValue> inputs) override;
  bool joins(ServedCall& call) override;
  std::unique_ptr<Gathering> gather(ServedCall& first, const GatheringLimits& limits) override;
  void run(size_t worker, const Gathering& gathering) override;
  void cancel(size_t worker) override;
  std::optional<PredictedTime> predictedTime(const ServedCall& call) const override;
  // What predictedTime() goes by. Before the program is a server's.
  void setLatency(LatencyFormula formula);
  // "time = ...", or "all: " and why no request is refused by its deadline.
  const std::string& admissionText() const { return admissionText_; }
  void setAdmissionText(std::string text) { admissionText_ = std::move(text); }

  const Signature& signature() const { return signature_; }
  // Makes values of inputs. Any thread.
  Result<VmValue> withContext(const std::function<Result<VmValue>(dyn_context*)>& make);
  // How requests are joined from here on; null: one by one.
  std::shared_ptr<const CallJoint> joint() const;
  // "along batch, of different seq by attention_mask", or why requests run one by one.
  std::string joiningText() const;
  std::string whyNotJoined() const;
  // What the comparison of joined runs with runs alone has shown; "": there was none yet.
  std::string comparedText() const;
  bool computesPadding() const { return computesPadding_; }

 private:
  friend class ProgramGathering;
  struct Worker {
    VmContext context;
    int64_t runsCount = 0;
  };
  ServedProgram() = default;
  void look(const CallJoint& joint, ServedCall& call) const;
  bool mayFollow(const CallJoint& joint, const JoinedGroup& taken, const CallInputs& next,
                 JoiningTrial trial) const;
  Result<int64_t> peakOf(const std::vector<std::vector<int64_t>>& shapes);
  int64_t peakBytes(const std::vector<ServedCall*>& calls, const CallJoint* joint);
  dyn_status worker(size_t index, Worker*& worker);  // null where its context cannot be made
  ServedAnswer runValues(size_t worker, const std::vector<VmValue>& inputs);
  void runAlone(size_t worker, ServedCall& call);
  bool runJoined(size_t worker, const CallJoint& joint, const std::vector<ServedCall*>& calls);
  bool comparesEqual(size_t worker, const CallJoint& joint, const std::vector<ServedCall*>& calls,
                     const std::vector<std::vector<HostTensor>>& parts);
  Status checkOnce();

  std::shared_ptr<dyn_module> module_;
  Signature signature_;
  EngineOptions options_;
  Batching batching_ = Batching::whereItPays;
  int64_t maxBatchTimeNs_ = 0, maxRows_ = INT64_MAX;
  size_t maxBatch_ = 1;
  std::shared_ptr<dyn_thread_pool> threads_;  // that runs share; null: each context has its own
  bool computesPadding_ = false;              // between joined calls of different lengths
  bool trims_ = false;                        // memory has a limit: none is kept between runs
  std::optional<LatencyFormula> latency_;
  std::string admissionText_ = "all: there is no formula of the time in a package";
  std::string lengths_;  // the input that says how long sequences are

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const CallJoint> joint_;
  std::string whyNotJoined_, comparedText_;
  bool comparedEqual_ = false, comparedMixed_ = false;  // sizes of the calls
  JoiningCosts costs_;
  std::function<Status()> check_;  // of the model's weights, after the first run
  std::mutex contextsMutex_;       // guards the next two; a worker's context is its own while it runs
  std::vector<Worker> workers_;
  VmContext values_;
  std::mutex peaksMutex_;  // guards what follows
  std::optional<Runner> dryRunner_;
  std::map<std::vector<std::vector<int64_t>>, int64_t> peaks_;  // by the shapes of the inputs; -1: unknown
};

}  // namespace dyn
