#include "program.h"

#include <algorithm>
#include <string>

#include "arrays.h"
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
    const HasLock hasLock;  // inputs go
    for (int32_t i = 0; i < inputCount_; ++i) dyn_context_set_input(context, i, nullptr);
    for (const int32_t index : boundOutputs_) dyn_context_bind_output(context, index, nullptr, 0);
    const std::lock_guard<std::mutex> lock(program_.mutex_);
    std::erase(program_.running_, context);
    program_.idle_.push_back(context);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void setSequences(const std::string& name, dyn_value* value, const std::string& lengths) {
    if (const dyn_status status = dyn_context_set_padded_input(context, name.c_str(), value,
                                                               lengths.empty() ? nullptr : lengths.c_str()))
      throw runFault(status);
  }
  // One input left as it is.
  void skipInput() { ++inputCount_; }
  // The next input.
  void setInput(dyn_value* value) {
    if (const dyn_status status = dyn_context_set_input(context, inputCount_, value)) throw runFault(status);
    ++inputCount_;
  }
  void bindOutput(int32_t index, void* memory, size_t sizeBytes) {
    if (const dyn_status status = dyn_context_bind_output(context, index, memory, sizeBytes))
      throw runFault(status);
    boundOutputs_.push_back(index);
  }
  // Is the result of the run what its array says?
  void checkOutput(int32_t index, const Array& array) {
    dyn_value* taken = nullptr;
    if (const dyn_status status = dyn_context_take_output(context, index, &taken)) throw runFault(status);
    const Held value(taken);
    if (!taken || dyn_value_rank(taken) != array.rank ||
        !std::equal(array.shape, array.shape + array.rank, dyn_value_shape(taken)))
      throw Fault(DYN_BAD_INPUT, "out: the array of output " + std::to_string(index) +
                                     " has another shape than " + shapeText(taken) + ", which the run gave");
  }

  dyn_context* context = nullptr;

 private:
  static std::string shapeText(dyn_value* value) {
    std::string text = "[";
    for (int32_t i = 0; i < dyn_value_rank(value); ++i)
      text += (i ? ", " : "") + std::to_string(dyn_value_shape(value)[i]);
    return text + "]";
  }

  Program& program_;
  int32_t inputCount_ = 0;
  std::vector<int32_t> boundOutputs_;
};

Program::Program(dyn_module* module, const dyn_options& options) : module_(module), options_(options) {
  dyn_thread_pool_retain(options_.thread_pool);
  for (int32_t i = 0; i < dyn_module_input_count(module); ++i) {
    const char *name = nullptr, *kind = nullptr;
    Wanted wanted{-1, -1};
    dyn_module_input(module, i, &name, &kind, &wanted.dtype, &wanted.rank);
    if (!kind || std::string_view(kind) != "tensor" || !hasNumpyType(wanted.dtype)) wanted = {-1, -1};
    inputs_.push_back(wanted);
  }
  for (int32_t i = 0; i < dyn_module_output_count(module); ++i) {
    const char *name = nullptr, *kind = nullptr;
    int32_t dtype = -1, rank = -1;
    dyn_module_output(module, i, &name, &kind, &dtype, &rank);
    optionalOutputs_.push_back(kind && std::string_view(kind) == "optional");
  }
}

Program::~Program() {
  for (dyn_context* context : idle_) dyn_context_release(context);
  dyn_module_release(module_);
  dyn_thread_pool_release(options_.thread_pool);
  giveBack();
}

void Program::cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (dyn_context* context : running_) dyn_context_cancel(context);
}

void Program::start(Lease& lease) {
  dyn_status status = DYN_OK;
  {
    const Interruption interruption(lease.context);
    const Unlocked unlocked;
    status = dyn_context_run(lease.context);
  }
  if (status == DYN_CANCELLED && PyErr_CheckSignals() != 0) throw nb::python_error();
  if (status != DYN_OK) throw runFault(status);
}

nb::list Program::results(Lease& lease, nb::list targets, const std::vector<Lent>& lent) {
  nb::list outputs;
  for (int32_t i = 0; i < dyn_context_result_count(lease.context); ++i) {
    if (static_cast<size_t>(i) < targets.size() && !targets[static_cast<size_t>(i)].is_none()) {
      outputs.append(targets[static_cast<size_t>(i)]);
      continue;
    }
    dyn_value* value = nullptr;
    if (const dyn_status status = dyn_context_take_output(lease.context, i, &value)) throw runFault(status);
    outputs.append(
        finished(objectOf(Held(value), optionalOutputs_.at(static_cast<size_t>(i)), lent, copies_)));
  }
  return outputs;
}

nb::object Program::growing(nb::handle object, int32_t dtype, int32_t axis, int64_t room) {
  giveBack();
  const Lease lease(*this);
  const Array& array = arrayAt(object);
  if (!array.isDense()) throw Fault(DYN_BAD_INPUT, "the array is not dense");
  dyn_value* value = nullptr;
  if (const dyn_status status =
          dyn_value_growing(lease.context, dtype, array.rank, reinterpret_cast<const int64_t*>(array.shape),
                            axis, room, array.data, sizeBytesOf(array), &value))
    throw runFault(status);
  return arrayOf(value, dtype, false);
}

nb::object Program::runPlain(nb::tuple inputs) {
  giveBack();
  if (inputs.size() != inputs_.size()) return nb::none();
  Lease lease(*this);
  std::vector<Lent> lent;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].rank < 0) return nb::none();
    const std::optional<Held> value =
        plainValueOf(lease.context, inputs[i], inputs_[i].dtype, inputs_[i].rank, copies_, lent);
    if (!value) return nb::none();
    lease.setInput(value->get());
  }
  start(lease);
  return results(lease, nb::list(), lent);
}

nb::list Program::run(nb::list inputs, nb::list targets) {
  giveBack();
  Lease lease(*this);
  std::vector<Lent> lent;
  for (nb::handle input : inputs) {
    const Held value = valueOf(lease.context, input, copies_, lent);
    lease.setInput(value.get());
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].is_none()) continue;
    const Array& target = arrayAt(targets[i]);
    const size_t sizeBytes = sizeBytesOf(target);
    if (overlaps(target.data, sizeBytes, lent))
      throw Fault(DYN_BAD_INPUT,
                  "out: the array of output " + std::to_string(i) + " shares memory with an input");
    lease.bindOutput(static_cast<int32_t>(i), target.data, sizeBytes);
  }
  start(lease);
  for (size_t i = 0; i < targets.size(); ++i)
    if (!targets[i].is_none()) lease.checkOutput(static_cast<int32_t>(i), arrayAt(targets[i]));
  return results(lease, targets, lent);
}

std::vector<Held> Program::valuesOf(nb::list inputs, std::vector<Lent>& lent) {
  giveBack();
  const Lease lease(*this);
  std::vector<Held> values;
  for (nb::handle input : inputs) values.push_back(valueOf(lease.context, input, copies_, lent));
  return values;
}

nb::list Program::runSequences(nb::list inputs, const std::vector<std::string>& names,
                               const std::string& lengthsInput) {
  giveBack();
  Lease lease(*this);
  std::vector<Lent> lent;
  std::vector<std::pair<size_t, Held>>
      sequences;  // set behind the others: a mask given beside them is replaced
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_none()) {
      lease.skipInput();
    } else if (std::optional<Held> ragged = raggedOf(lease.context, inputs[i])) {
      sequences.emplace_back(i, std::move(*ragged));
      lease.skipInput();
    } else {
      lease.setInput(valueOf(lease.context, inputs[i], copies_, lent).get());
    }
  }
  for (const auto& [index, value] : sequences) lease.setSequences(names.at(index), value.get(), lengthsInput);
  start(lease);
  nb::list outputs;
  for (int32_t i = 0; i < dyn_context_result_count(lease.context); ++i) {
    dyn_value* value = nullptr;
    if (dyn_context_get_padded_output(lease.context, i, &value) == DYN_OK && value) {
      outputs.append(sequencesObject(Held(value), lent, copies_));
      continue;
    }
    if (const dyn_status status = dyn_context_take_output(lease.context, i, &value)) throw runFault(status);
    outputs.append(objectOf(Held(value), optionalOutputs_.at(static_cast<size_t>(i)), lent, copies_));
  }
  return outputs;
}

}  // namespace dynpython
