// Calls of a model run as one: their inputs are put behind each other along the batch, and the results taken
// apart again.
//
//   ids [1, 5], attention_mask [1, 5]   }   ids [2, 5] with zeros behind the shorter,
//   ids [1, 3], attention_mask [1, 3]   }   attention_mask [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
//   last_hidden_state [2, 5, 768]       →   [1, 5, 768] and [1, 3, 768]
//
// The rows of a batch must stay apart: compiler/passes/analysis/batch_independence.h proves that; of a
// program of many instances (EngineOptions::many) it holds by how the program is made. Calls of different
// lengths are joined where an input says how long each is: a mask of the first two axes, or the lengths. That
// what stands behind the end of a sequence changes nothing is what such an input promises; it is not proved
// here, and whoever joins such calls compares once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/loaded_model.h"

namespace dyn {

// How calls of a model are joined.
struct CallJoint {
  struct Axes {
    std::optional<size_t> batch;     // nothing: all calls must give the same
    std::optional<size_t> sequence;  // filled up with zeros where calls are of different lengths
    int64_t perRow = 1;              // elements along `batch` for each row; 0: other sizes decide
  };
  std::string batch;                  // the dim's name
  std::string sequence;               // "": only calls of equal sizes
  std::vector<Axes> inputs, outputs;  // as in the signature
  void onlyEqualSizes();              // from here on calls of different lengths may not join
};

// The input that says how long sequences are, by its name and shape, and the dim of the longest.
struct SequenceLengths {
  std::optional<Port> port;  // nothing: absent, or several
  std::string sequence;      // ""; the input does not name it
};
// Inputs among `given` do not count.
SequenceLengths sequenceLengthsOf(const Signature& signature, const std::vector<std::string>& given = {});

// A dim that is the sum of others in all calls that are joined: their caller sees to that.
struct DimSum {
  std::string dim;
  std::vector<std::string> terms;
};

// `lengths`: the input that says how long sequences are, and `sequence` the dim of the longest; both "":
// there is none. Error unsupportedFeature: why calls cannot be joined.
Result<CallJoint> callJoint(LoadedModel& model, const std::string& lengths, const std::string& sequence,
                            const std::optional<DimSum>& sum = std::nullopt);

// The positions of calls that are joined: of rows times lengths their own, and with the shorter filled up.
// Calls without a sequence have one position a row.
struct JoinedPositions {
  int64_t own = 0, padded = 0;
};

// Calls that are to be joined, one after the other; each may join the first. The joint outlives it.
class JoinedGroup {
 public:
  explicit JoinedGroup(const CallJoint& joint) : joint_(joint) {}
  void add(const CallInputs& call);
  JoinedPositions positions() const { return {own_, rows_ * longest_}; }
  JoinedPositions positionsWith(const CallInputs& next) const;
  int64_t rowsWith(const CallInputs& next) const;
  const std::vector<const CallInputs*>& calls() const { return calls_; }

 private:
  const CallJoint& joint_;
  std::vector<const CallInputs*> calls_;
  int64_t own_ = 0, rows_ = 0, longest_ = 0;
};

// The dims of the joint as all inputs of a call have them; nothing where the inputs differ, or have not the
// element types and ranks of the signature: such a call fails, and may not be joined.
std::optional<DimValues> dimsOfCall(const CallJoint& joint, const Signature& signature,
                                    const std::vector<Value>& values);

bool mayJoin(const CallJoint& joint, const CallInputs& first, const CallInputs& second);
// The shapes of the inputs that `joined` makes.
std::vector<std::vector<int64_t>> joinedShapes(const CallJoint& joint,
                                               const std::vector<const CallInputs*>& calls);
// Precondition: each of them may join the first.
Result<CallInputs> joined(const CallJoint& joint, const std::vector<const CallInputs*>& calls);
// The results of each call, from those of all. Error internalError where they have not the sizes that follow.
Result<std::vector<std::vector<HostTensor>>> apart(const CallJoint& joint,
                                                   const std::vector<const CallInputs*>& calls,
                                                   const std::vector<const HostTensor*>& results);

}  // namespace dyn
