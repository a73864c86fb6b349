// A compiled model. Any number of threads may run it at once: each run has a context of its own.
#ifndef DYN_PYTHON_PROGRAM_H
#define DYN_PYTHON_PROGRAM_H

#include <atomic>
#include <mutex>
#include <vector>

#include "dynvm.h"
#include "python_objects.h"
#include "values.h"

namespace dynpython {

class Lease;

class Program {
 public:
  // Takes the module over, and keeps the thread pool.
  Program(dyn_module* module, const dyn_options& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Inputs and outputs in the order of the model; inputs in the forms of values.h, outputs as the caller
  // gets them. targets: empty, or an array or None for each output; an output is written to its array, and
  // that array comes back. The interpreter's lock is released while the program runs. Ctrl-C ends a run of
  // the main thread.
  nb::list run(nb::list inputs, nb::list targets);
  // The same where each input is an array of the dtype and rank of its port; else None, and nothing ran.
  nb::object runPlain(nb::tuple inputs);
  // A run where an input may be sequences of different lengths instead of the padded tensor that the program
  // has: (rows, dtype, [lengths]), the rows of all sequences behind each other. names: of the inputs, in
  // order; None as an input: it follows from the sequences, as a mask does. lengthsInput: the name of the
  // input that holds the lengths or the mask; "": the only one. Outputs with a padded axis come back in the
  // same form.
  nb::list runSequences(nb::list inputs, const std::vector<std::string>& names,
                        const std::string& lengthsInput);
  // An array with a copy of another, which has room for that many rows along `axis`: a program that appends
  // rows to such an input shares its memory with its output (dyn_value_growing).
  nb::object growing(nb::handle array, int32_t dtype, int32_t axis, int64_t room);
  // Inputs of a run that another makes, in the forms of values.h; lent: their memory.
  std::vector<Held> valuesOf(nb::list inputs, std::vector<Lent>& lent);
  // The same for another context of the module, and what its output is for Python.
  Held valueIn(dyn_context* context, nb::handle form, std::vector<Lent>& lent) {
    return valueOf(context, form, copies_, lent);
  }
  nb::object objectIn(Held output, int32_t index, const std::vector<Lent>& lent) {
    return objectOf(std::move(output), optionalOutputs_.at(static_cast<size_t>(index)), lent, copies_);
  }
  dyn_module* module() const { return module_; }
  const dyn_options& options() const { return options_; }
  // By output of the model: is it an optional?
  const std::vector<bool>& optionalOutputs() const { return optionalOutputs_; }
  // Ends the runs under way with DYN_CANCELLED. Any thread.
  void cancel();
  int64_t copies() const { return copies_.load(std::memory_order_relaxed); }

 private:
  friend class Lease;
  struct Wanted {
    int32_t dtype, rank;  // -1: not a tensor of one dtype and rank
  };
  void start(Lease& lease);
  nb::list results(Lease& lease, nb::list targets, const std::vector<Lent>& lent);

  std::vector<Wanted> inputs_;
  std::vector<bool> optionalOutputs_;
  dyn_module* module_;
  dyn_options options_;
  std::mutex mutex_;  // guards the contexts; never held while the interpreter's lock is waited for
  std::vector<dyn_context*> idle_, running_;
  std::atomic<int64_t> copies_{0};
};

}  // namespace dynpython

#endif
