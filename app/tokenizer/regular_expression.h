// A regular expression of a tokenizer's file, by the library Oniguruma: the one that these files are written
// for. Threads: any number may search with one expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/support/result.h"

namespace dyn::tokenizer {

struct Match {
  size_t begin = 0, end = 0;  // bytes
};

class RegularExpression {
 public:
  static Result<RegularExpression> compile(const std::string& pattern);
  // From left to right, none over another; an empty one does not stand right behind another.
  // Errors: a search that takes too long.
  Result<std::vector<Match>> findAll(std::string_view text) const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace dyn::tokenizer
