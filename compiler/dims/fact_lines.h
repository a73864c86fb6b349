// Facts as lines of a text, for programs that travel without their module: what was said of its dims.
//
//   factLines(solver.facts())  →  "equal\tm\t2*n\tuser: --dim m=2*n\nrange\tn\t1..64\tuser: --dim n=1..64\n"
//   FactsOfText known(text);
//   known.facts.equal(known.dims.symbol("m"), ...)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/dims/dim_solver.h"

namespace dyn {

// Likely values are left out. In reasons, tabs and ends of lines become blanks.
std::string factLines(const std::vector<Fact>& facts);

// A line that is none, or contradicts those before it, is passed over: the text may come from anywhere.
struct FactsOfText {
  explicit FactsOfText(std::string_view lines);
  DimContext dims;
  DimSolver facts{dims};
};

}  // namespace dyn
