// Runs of a model whose inputs stay set: a call costs what the runtime's own costs, and results are made when
// they are asked for.
#ifndef DYN_PYTHON_CONTEXT_H
#define DYN_PYTHON_CONTEXT_H

#include <string>
#include <vector>

#include "dynvm.h"
#include "program.h"
#include "python_objects.h"
#include "values.h"

namespace dynpython {

// A value that a context made; it may become an input of it.
class Value {
 public:
  Value(Held held, std::vector<Lent> lent) : held_(std::move(held)), lent_(std::move(lent)) {}
  dyn_value* get() const { return held_.get(); }
  const std::vector<Lent>& lent() const { return lent_; }

 private:
  Held held_;
  std::vector<Lent> lent_;
};

// Belongs to one thread at a time, but for cancel(): while it runs, calls of others are errors.
class Context {
 public:
  // Of a program that outlives it. interpret, dryRun: as in dyn_options.
  Context(Program& program, bool interpret, bool dryRun);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Inputs in the forms of values.h; their arrays are kept while they are set.
  void set(int32_t index, nb::handle form);
  void setValue(int32_t index, const Value& value);
  // A forest (dyn_trees.h); its arrays are copied, its tables shared.
  void setForest(const std::string& name, nb::handle constructors, nb::handle starts, nb::handle children,
                 const std::vector<Value*>& fields);
  // An output of the last run becomes an input; nothing is copied.
  void handOn(int32_t output, int32_t input);

  // The interpreter's lock is released meanwhile. Ctrl-C ends a run of the main thread.
  void run();
  void cancel() { dyn_context_cancel(context_); }

  int32_t resultCount() const { return dyn_context_result_count(idle()); }
  // Results of the last run, in the forms of values.h. They are read-only: the context has them, too.
  nb::object output(int32_t index);

  Value* value(nb::handle form);
  // Of a list (isList) or of a data type, whose constructor has this number.
  Value* compound(bool isList, int32_t tag, const std::vector<Value*>& items);

  nb::dict statistics() const;
  void profile(bool enabled);
  std::string profileText(const std::string& format);
  void simulateThreads(bool enabled);

 private:
  dyn_context* idle() const;
  void setInput(int32_t index, dyn_value* value, std::vector<Lent> lent);

  Program& program_;
  dyn_context* context_ = nullptr;
  bool isRunning_ = false;                 // changed and read with the interpreter's lock
  std::vector<std::vector<Lent>> inputs_;  // by input that is set: the caller's memory that it lies in
  std::vector<Lent> lent_;                 // of all inputs of the last run
};

}  // namespace dynpython

#endif
