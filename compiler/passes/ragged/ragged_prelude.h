// The prelude of a ragged program: what follows from the lengths of its sequences, made once for each pattern
// of lengths and shared by all operations and layers.
//
//   pattern len[b]: [3, 0, 2]     lengths  [3, 0, 2]            rows: len.sum = 5
//                                 offsets  [0, 3, 3, 5]         where each sequence begins
//                                 sequence [0, 0, 0, 2, 2]      of each row
//                                 position [0, 1, 2, 0, 1]      of each row in its sequence
//
// Tables that nobody asks for are not made: products, norms, elementwise operations and attention want no
// more than the lengths, which are O(batch) bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/dims/ragged_dim.h"
#include "compiler/passes/rewrite/op_maker.h"

namespace dyn::passes {

class RaggedPrelude {
 public:
  // `batch`: of all lengths; `lengths`: the parameters of the function, by name; `place`: of the function.
  // What it is given outlives it.
  RaggedPrelude(IrContext& ir, OpMaker& maker, Dim batch, std::map<std::string, ValueId> lengths,
                SourceLocation place);

  // Checks the lengths that `symbol` names: they are as the program says, none is negative, and they sum up
  // to the rows.
  void checkLengths(Dim symbol);
  // The number of rows of a pattern; the first time the solver is told what is known of it. Of a pattern
  // whose sum does not follow from that of the lengths, `floordiv(len[b], 2)`, it is a dim that the run
  // finds, and none of its elements may be negative.
  Dim rows(Dim pattern);
  ValueId lengths(Dim pattern);
  ValueId ends(Dim pattern);    // where each sequence ends: offsets[1..]
  ValueId begins(Dim pattern);  // where each begins: offsets[..b]
  ValueId offsets(Dim pattern);
  ValueId sequence(Dim pattern);
  ValueId position(Dim pattern);
  // Patterns of which anything was made.
  int64_t count() const { return static_cast<int64_t>(patterns_.size()); }

 private:
  // While it lives, what is made stands at the prelude, for messages and profiles.
  class Standing {
   public:
    Standing(RaggedPrelude& prelude, Dim pattern);
    ~Standing() { maker_.standAt(std::move(before_)); }
    Standing(const Standing&) = delete;
    Standing& operator=(const Standing&) = delete;

   private:
    OpMaker& maker_;
    SourceLocation before_;
  };
  struct Pattern {
    ValueId lengths = kNoValue, ends = kNoValue, begins = kNoValue, offsets = kNoValue;
    ValueId row = kNoValue, sequence = kNoValue, position = kNoValue;
  };
  ValueId valueOf(Dim d);
  ValueId quotient(ValueId a, ValueId b);
  Dim sumOfOthers(Dim pattern);
  Dim sumByTerms(Dim d);
  ValueId row(Dim pattern);

  IrContext& ir_;
  OpMaker& maker_;
  const Dim batch_;
  std::map<std::string, ValueId> parameters_;
  SourceLocation place_;
  std::map<std::string, Dim> rows_;          // by the text of the length
  std::map<std::string, Dim> found_;         // sums that the run finds, by the text of what is summed
  std::map<std::string, Pattern> patterns_;  // by the text of the length
};

}  // namespace dyn::passes
