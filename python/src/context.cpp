#include "context.h"

#include "arrays.h"
#include "dyn_cores.h"
#include "dyn_trees.h"
#include "fault.h"
#include "interruption.h"
#include "unlocked.h"

namespace dynpython {

namespace {

void check(dyn_status status) {
  if (status != DYN_OK) throw runFault(status);
}

std::vector<dyn_value*> handles(const std::vector<Value*>& values) {
  std::vector<dyn_value*> all;
  for (const Value* value : values) all.push_back(value->get());
  return all;
}

// The elements of a dense array of this dtype and length; length -1: of any.
template <typename T>
const T* elements(nb::handle object, int32_t dtype, int64_t length, const char* what) {
  const Array& array = arrayAt(object);
  if (!array.isDense() || array.rank != 1 || !hasDtype(array, dtype))
    throw Fault(DYN_BAD_INPUT,
                std::string(what) + ": wants a dense array of rank 1 and " + dyn_dtype_text(dtype));
  if (length >= 0 && array.shape[0] != length)
    throw Fault(DYN_BAD_INPUT, std::string(what) + ": wants " + std::to_string(length) + " elements, got " +
                                   std::to_string(array.shape[0]));
  return reinterpret_cast<const T*>(array.data);
}

}  // namespace

Context::Context(Program& program, bool interpret, bool dryRun) : program_(program) {
  dyn_options options = program.options();
  options.interpret = interpret;
  options.dry_run = dryRun;
  check(dyn_context_create(program.module(), &options, &context_));
}

Context::~Context() {
  const HasLock hasLock;  // inputs go
  dyn_context_release(context_);
}

dyn_context* Context::idle() const {
  if (isRunning_) throw Fault(DYN_INVALID_ARGUMENT, "the context runs in another thread");
  return context_;
}

void Context::set(int32_t index, nb::handle form) {
  giveBack();
  std::vector<Lent> lent;
  const Held value = program_.valueIn(idle(), form, lent);
  setInput(index, value.get(), std::move(lent));
}

void Context::setInput(int32_t index, dyn_value* value, std::vector<Lent> lent) {
  check(dyn_context_set_input(idle(), index, value));
  const auto at = static_cast<size_t>(index);
  if (at >= inputs_.size()) inputs_.resize(at + 1);
  inputs_[at] = std::move(lent);
}

void Context::setValue(int32_t index, const Value& value) { setInput(index, value.get(), value.lent()); }

void Context::setForest(const std::string& name, nb::handle constructors, nb::handle starts,
                        nb::handle children, const std::vector<Value*>& fields) {
  const std::vector<dyn_value*> tables = handles(fields);
  dyn_forest forest{};
  forest.constructors = elements<int32_t>(constructors, DYN_I32, -1, "constructors");
  forest.node_count = arrayAt(constructors).shape[0];
  forest.child_starts = elements<int64_t>(starts, DYN_I64, forest.node_count + 1, "starts");
  if (forest.child_starts[forest.node_count] < 0) throw Fault(DYN_BAD_INPUT, "starts: one is negative");
  forest.children = elements<int64_t>(children, DYN_I64, forest.child_starts[forest.node_count], "children");
  forest.fields = tables.data();
  forest.field_count = static_cast<int64_t>(tables.size());
  check(dyn_context_set_forest_input(idle(), name.c_str(), &forest));
}

void Context::handOn(int32_t output, int32_t input) {
  dyn_value* value = nullptr;
  check(dyn_context_get_output(idle(), output, &value));
  const Held held(value);
  setInput(input, value, lent_);
}

void Context::run() {
  idle();
  lent_.clear();
  for (const std::vector<Lent>& lent : inputs_) lent_.insert(lent_.end(), lent.begin(), lent.end());
  dyn_status status = DYN_OK;
  {
    const Interruption interruption(context_);
    isRunning_ = true;
    const Unlocked unlocked;
    status = dyn_context_run(context_);
  }
  isRunning_ = false;
  if (status == DYN_CANCELLED && PyErr_CheckSignals() != 0) throw nb::python_error();
  check(status);
}

nb::object Context::output(int32_t index) {
  dyn_value* value = nullptr;
  check(dyn_context_get_output(idle(), index, &value));
  return finished(program_.objectIn(Held(value), index, lent_));
}

Value* Context::value(nb::handle form) {
  giveBack();
  std::vector<Lent> lent;
  Held made = program_.valueIn(idle(), form, lent);
  return new Value(std::move(made), std::move(lent));
}

Value* Context::compound(bool isList, int32_t tag, const std::vector<Value*>& items) {
  const std::vector<dyn_value*> all = handles(items);
  std::vector<Lent> lent;
  for (const Value* item : items) lent.insert(lent.end(), item->lent().begin(), item->lent().end());
  dyn_value* value = nullptr;
  check(dyn_value_compound(idle(), isList ? DYN_KIND_LIST : DYN_KIND_TUPLE, tag, all.data(),
                           static_cast<int64_t>(all.size()), &value));
  return new Value(Held(value), std::move(lent));
}

nb::dict Context::statistics() const {
  dyn_statistics of{};
  check(dyn_context_statistics(idle(), &of));
  nb::dict row;
  row["peak_bytes"] = of.peak_bytes;
  row["held_bytes"] = of.held_bytes;
  row["in_use_bytes"] = of.in_use_bytes;
  row["allocations_count"] = of.allocations_count;
  row["launches_count"] = of.launches_count;
  row["instructions_count"] = of.instructions_count;
  row["run_ns"] = of.run_ns;
  return row;
}

void Context::profile(bool enabled) { check(dyn_context_profile(idle(), enabled)); }

std::string Context::profileText(const std::string& format) {
  const char* text = dyn_context_profile_text(idle(), format.c_str());
  if (!text) throw Fault(DYN_INVALID_ARGUMENT, dyn_last_message());
  return text;
}

void Context::simulateThreads(bool enabled) { check(dyn_context_simulate_threads(idle(), enabled)); }

}  // namespace dynpython
