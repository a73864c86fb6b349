// SequenceLists: a call of an exported library with sequences of different lengths, as the call of the padded
// program that it stands for.
//
//   lists {[3, 1]}, inputs {rows of 4 ids, null}   →   sizes {batch 2, seq 3}, inputs {ids [2, 3], mask [2, 3]}
#pragma once

#include <vector>

#include "vm/core/object/object.h"
#include "vm/core/object/padded_batch.h"
#include "vm/embedded/model.h"
#include "vm/isa/call_sizes.h"
#include "vm/isa/padded_ports.h"

namespace dyn::vm {

class SequenceLists {
 public:
  // Errors: DYN_BAD_INPUT for lengths and inputs that are wrong, or go not together.
  Status pad(const Program& program, const CallSizes& call, const dyn_model_list* lists, const int64_t* sizes,
             const void* const* inputs);

  // Of the padded call; they live as long as this.
  const int64_t* sizes() const { return sizes_.data(); }
  const void* const* inputs() const { return inputs_.data(); }

  // Is an output rows of sequences?
  bool hasRows(size_t output) const { return output < byOutput_.size() && byOutput_[output] != nullptr; }
  // Those rows, of the padded result of a run.
  Status copyRows(const Tensor* padded, size_t output, const dyn_model_output& to) const;

 private:
  struct List {
    PaddedList ports;
    std::vector<int64_t> lengths;
    bool batchSecond = false;
  };
  Status take(const Program& program, const PaddedList& ports, const dyn_model_list& given);
  Status setSizes(const Program& program, const CallSizes& call, const int64_t* sizes);
  Status padInputs(const Program& program, const CallSizes& call, const List& list);
  int64_t longestIn(const CallSizes& call, const List& list, size_t input) const;

  std::vector<List> lists_;
  std::vector<int64_t> sizes_;
  std::vector<const void*> inputs_;
  std::vector<PaddedElements> made_;
  std::vector<const List*> byOutput_;
};

}  // namespace dyn::vm
