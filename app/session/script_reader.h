// The commands of a script one after the other, each read when its turn comes: a script of a million lines
// costs its text and no more.
//
//   ScriptReader reader(text, path);
//   DYN_CHECK(reader.check());
//   while (std::optional<ScriptLine> line = reader.next()) run(*line);
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/session/command.h"
#include "compiler/support/result.h"

namespace dyn {

class ScriptReader {
 public:
  // The text must outlive the reader: a copy of the file, which may change while its commands run.
  ScriptReader(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}
  // Looks ahead to the end: a script is not begun that cannot be read. Error textSyntax for a bracket or
  // quote that is never closed.
  Status check() const;
  // Null at the end, also inside of a bracket that is never closed.
  std::optional<ScriptLine> next();
  // After the last one: is a bracket or quote of a command still open?
  bool isOpen() const { return !current_.text.empty(); }

 private:
  std::string_view rest_;
  std::string file_;
  uint32_t number_ = 0;
  ScriptLine current_;  // what is read of a command that goes on
};

}  // namespace dyn
