// The steps of a decoder over one batch of sequences: tokens in, the scores of the next ones out. It holds
// the caches between the steps.
//
//   DYN_TRY(auto steps, DecoderSteps::begin(program, ports, {.padding = {0}, .room = 100}));
//   DYN_TRY(auto scores, steps->run({{15, 7, 3}}, interruption));  // the prompt
//   DYN_TRY(scores, steps->run({{21}}, interruption));             // one token more
//
// Caches are growing tensors (dyn_value_growing) where the program appends to them: nothing of the past is
// copied. Where it needs dense ones, each step makes new ones. One thread.
#pragma once

#include <memory>
#include <vector>

#include "app/engine/generate/decoder_ports.h"
#include "app/engine/run/runner.h"

namespace dyn {

// A decoder's program. What it points to outlives the steps.
struct DecoderProgram {
  dyn_module* module = nullptr;
  const Module* types = nullptr;  // may be null
  const Signature* signature = nullptr;
  const EngineOptions* options = nullptr;
};

struct DecoderBatch {
  // Tokens of the prompts by which each row is shorter than the longest: that many positions in front of it
  // are left out by the mask.
  std::vector<int64_t> padding;
  int64_t room = 0;  // tokens that a sequence may come to
};

// The values of the first step, by which a program is prepared: `tokens` of each row.
Result<CallInputs> firstInputs(const Signature& signature, const DecoderPorts& ports,
                               const std::vector<std::vector<int64_t>>& tokens);

class DecoderSteps {
 public:
  static Result<std::unique_ptr<DecoderSteps>> begin(const DecoderProgram& program, const DecoderPorts& ports,
                                                     DecoderBatch batch);
  // `tokens` [rows][n]: those that follow; n is the same for all rows, padding (any id) included. Returns the
  // scores [rows][vocabulary] behind the last.
  Result<std::vector<std::vector<float>>> run(const std::vector<std::vector<int64_t>>& tokens,
                                              Interruption& interruption);
  // Do caches grow in place? Known after the first step.
  bool growsInPlace() const { return growsInPlace_; }

 private:
  DecoderSteps(const DecoderProgram& program, const DecoderPorts& ports, DecoderBatch batch);
  Status makeCaches();
  Result<std::vector<std::vector<float>>> runOnce(const std::vector<std::vector<int64_t>>& tokens,
                                                  Interruption& interruption);
  Status setInputs(const std::vector<std::vector<int64_t>>& tokens);
  Status setInput(size_t input, const HostTensor& value);
  Result<std::vector<std::vector<float>>> takeResults();

  DecoderProgram program_;
  DecoderPorts ports_;
  DecoderBatch batch_;
  VmContext context_;
  std::vector<VmValue> caches_;
  std::vector<std::vector<int64_t>> all_;  // tokens so far, where there are no caches
  int64_t pastLength_ = 0;                 // positions in the caches
  bool growsInPlace_ = true;
};

}  // namespace dyn
