// Relations between the dims of a model that a user states: `seq=2*n`, `h=32*k`, `a=b`, `n<=m`,
// `1<=seq<=512`.
//
//   DYN_TRY(std::vector<DimRelation> said, parseDimRelations("1<=seq<=512"));   // 1 <= seq, seq <= 512
//   StatedDims stated(solver, dimOfName);
//   for (const DimRelation& one : said) DYN_CHECK(stated.learn(one, {"user: --dim 1<=seq<=512", {}}));
//
// A name that the model does not have stands for any whole number: `h=32*k` says that h is a multiple of 32,
// and with `w=32*k` beside it that w is as large as h.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/dims/dim_solver.h"

namespace dyn {

struct DimRelation {
  enum class Kind : uint8_t { equal, lessEqual };
  Kind kind = Kind::equal;
  std::string left, right;  // expressions
};

// Does the text compare (`n<=m`), or give a dim an expression (`seq=2*n`)? `seq=59` and `seq=1..8` do not.
bool isDimRelation(std::string_view text);
// Error usageError. `<` and `>` are strict; `=` and `==` are the same.
Result<std::vector<DimRelation>> parseDimRelations(const std::string& text);
// The text with each name replaced; names before `(` are functions.
using ReplaceName = std::function<Result<std::string>(const std::string& name)>;
Result<std::string> withNames(const std::string& text, const ReplaceName& replace);
// The names that its expressions are of, in order of appearance.
std::vector<std::string> namesIn(const DimRelation& relation);
// "batch>=1, seq<=512": one relation behind the other; commas within parentheses are those of functions.
std::vector<std::string> splitRelations(std::string_view text);
// What one `--dim` says of several dims: "batch=1, seq=7". From `=@` on it is the name of a file.
std::vector<std::string> splitDims(std::string_view text);
std::vector<std::string> splitDims(const std::vector<std::string>& texts);
// Sizes and ranges alone, which need no `--dim`: "seq=59", "seq=1..512", "batch=1,seq=7".
bool areSizes(std::string_view text);

class StatedDims {
 public:
  // Error usageError, with a suggestion, for a name that the model does not have.
  using DimOfName = std::function<Result<Dim>(const std::string& name)>;
  StatedDims(DimSolver& solver, DimOfName dimOf) : solver_(solver), dimOf_(std::move(dimOf)) {}
  // Errors: usageError; shapeMismatch when it contradicts what is known, with both reasons.
  Status learn(const DimRelation& relation, const Reason& reason);

 private:
  struct Side;
  // `factor * NAME + offset` of a name that is no dim: the dim that is said to be of that form.
  struct Free {
    Dim dim;
    int64_t factor = 1, offset = 0;
  };
  Result<Side> sideOf(const std::string& text) const;
  Status learnForm(const Side& form, Dim other, const Reason& reason);

  DimSolver& solver_;
  DimOfName dimOf_;
  std::map<std::string, Free> free_;
};

}  // namespace dyn
