// UndoStack: what :undo goes back to. It holds the last changes only: fewer where they keep models, programs
// or large values alive.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "app/session/bound_values.h"
#include "app/session/session.h"

namespace dyn {

class LoadedModel;
class Runner;
class Specialisations;
struct SmallProgram;

// What a command may change, without the bound values. Copies share everything large.
struct SessionSnapshot {
  std::shared_ptr<LoadedModel> model;
  std::shared_ptr<Runner> runner;
  std::shared_ptr<Specialisations> specialisations;  // of the model; null before one is needed
  std::shared_ptr<SmallProgram> small;               // of the model; null before a limit asks for it
  SessionOptions options;
  std::map<std::string, std::string> display;
  int currentStep = 0;
};

struct UndoStep {
  SessionSnapshot before;
  uint64_t valuesMark = 0;
  std::string line;  // the command that is undone
};

class UndoStack {
 public:
  static constexpr size_t kMostSteps = 100;
  static constexpr size_t kMostPrograms = 4;  // models and runners that are not in use any more
  static constexpr int64_t kMostValueBytes = int64_t{256} << 20;

  bool empty() const { return steps_.empty(); }
  size_t size() const { return steps_.size(); }
  // Forgets the oldest steps where there are too many.
  void push(UndoStep step, BoundValues& values);
  UndoStep pop();  // precondition: !empty()

 private:
  void trim(BoundValues& values);

  std::deque<UndoStep> steps_;
};

}  // namespace dyn
