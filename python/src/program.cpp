#include "program.h"

#include "fault.h"
#include "interruption.h"
#include "unlocked.h"
#include "values.h"

namespace dynpython {

// A context for one run. What is left in it afterwards is no input of the next run.
class Lease {
 public:
  explicit Lease(Program& program) : program_(program) {
    const std::lock_guard<std::mutex> lock(program.mutex_);
    if (!program.idle_.empty()) {
      context = program.idle_.back();
      program.idle_.pop_back();
    } else if (const dyn_status status = dyn_context_create(program.module_, &program.options_, &context)) {
      throw runFault(status);
    }
    program.running_.push_back(context);
  }
  ~Lease() {
    for (int32_t i = 0; i < inputCount; ++i) dyn_context_set_input(context, i, nullptr);
    const std::lock_guard<std::mutex> lock(program_.mutex_);
    std::erase(program_.running_, context);
    program_.idle_.push_back(context);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  dyn_context* context = nullptr;
  int32_t inputCount = 0;

 private:
  Program& program_;
};

Program::~Program() {
  for (dyn_context* context : idle_) dyn_context_release(context);
  dyn_module_release(module_);
  giveBack();
}

void Program::cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (dyn_context* context : running_) dyn_context_cancel(context);
}

nb::list Program::run(nb::list inputs) {
  giveBack();
  Lease lease(*this);
  std::vector<Lent> lent;
  for (nb::handle input : inputs) {
    const Held value = valueOf(lease.context, input, copies_, lent);
    if (const dyn_status status = dyn_context_set_input(lease.context, lease.inputCount, value.get()))
      throw runFault(status);
    ++lease.inputCount;
  }
  dyn_status status = DYN_OK;
  {
    const Interruption interruption(lease.context);
    const Unlocked unlocked;
    status = dyn_context_run(lease.context);
  }
  if (status == DYN_CANCELLED && PyErr_CheckSignals() != 0) throw nb::python_error();
  if (status != DYN_OK) throw runFault(status);
  nb::list outputs;
  for (int32_t i = 0; i < dyn_context_result_count(lease.context); ++i) {
    dyn_value* value = nullptr;
    if ((status = dyn_context_get_output(lease.context, i, &value)) != DYN_OK) throw runFault(status);
    outputs.append(objectOf(Held(value), lent, copies_));
  }
  return outputs;
}

}  // namespace dynpython
