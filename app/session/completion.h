// CompletionIndex: the words that Tab and menus offer. The session's thread keeps it up to date after each
// command, at the cost of what the command changed; any thread may ask, and never waits for a command that
// runs.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/session.h"

namespace dyn {

class LoadedModel;
struct SessionState;

struct CompletionWords {
  std::set<std::string> values;
  std::vector<std::string> passes, symbols, valueDims, kernels, settings, inputs, outputs, ops;
};

class CompletionIndex {
 public:
  void refresh(SessionState& state);
  Completion complete(std::string_view line, size_t cursor) const;

 private:
  // What the words of the model were made of, of the session's thread: they are made anew when one of these
  // is another.
  std::weak_ptr<LoadedModel> model_;
  size_t stepsCount_ = 0;
  bool compiled_ = false, fresh_ = false;

  mutable std::mutex mutex_;  // guards all below
  CompletionWords words_;
};

}  // namespace dyn
