// Files of cases: JSON lines, each one call of a model.
//
//   {"dims": {"seq": 59}, "inputs": {"ids": "@ids.npy", "x": [1, 2]}, "output_dir": "out/0"}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/command.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

struct RunCase {
  std::vector<std::string> dims, inputs;  // NAME=N, NAME=SPEC
  std::vector<std::string> lengths;       // NAME=3,1,2
  std::string outputDirectory;
  SourceLocation place;  // the line

  // What the command line says for all cases: taken where the case itself says nothing of that name.
  void addDefaults(const std::vector<std::string>& moreDims, const std::vector<std::string>& moreInputs);
  // Adds dims and inputs to a command that takes them.
  void addTo(Command& command) const;
};

// Looked through once before its first case is given: of a file that is broken nothing is run. The cases are
// read one by one, so that a file may have any number of them.
class CaseFile {
 public:
  // Errors: the first fault with its line; a file without a case.
  static Result<CaseFile> open(const std::string& path);
  static Result<CaseFile> of(MappedFile file);

  int64_t count() const { return count_; }
  // The next case, or nothing behind the last.
  Result<std::optional<RunCase>> next();

 private:
  explicit CaseFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  size_t at_ = 0, forgotten_ = 0;  // bytes that were read, and that need no memory any more
  uint32_t line_ = 0;
  int64_t count_ = 0;
};

// All cases of a file, at once.
Result<std::vector<RunCase>> readCases(const std::string& path);

}  // namespace dyn
