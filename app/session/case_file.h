// Files of cases: JSON lines, each one call of a model.
//
//   {"dims": {"seq": 59}, "inputs": {"ids": "@ids.npy", "x": [1, 2]}, "output_dir": "out/0"}
#pragma once

#include <string>
#include <vector>

#include "app/session/command.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

struct RunCase {
  std::vector<std::string> dims, inputs;  // NAME=N, NAME=SPEC
  std::string outputDirectory;
  SourcePlace place;  // the line

  // What the command line says for all cases: taken where the case itself says nothing of that name.
  void addDefaults(const std::vector<std::string>& moreDims, const std::vector<std::string>& moreInputs);
  // Adds dims and inputs to a command that takes them.
  void addTo(Command& command) const;
};

// All cases, or the first fault with its line: of a file that is broken nothing is run.
Result<std::vector<RunCase>> readCases(const std::string& path);
Result<std::vector<RunCase>> parseCases(const MappedFile& file);

}  // namespace dyn
