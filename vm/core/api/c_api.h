// What the files of the C API share: its handles, and errors that never leave as exceptions.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "vm/core/module/module.h"
#include "vm/core/run/interpreter.h"

struct dyn_module {
  std::shared_ptr<dyn::vm::Module> module;
  std::mutex mutex;
  std::string disassembly;
};

struct dyn_value {
  std::atomic<uint32_t> references{1};
  dyn::vm::Object* object;
  std::shared_ptr<dyn::vm::Module> module;  // constants that the value shares live there
};

struct dyn_thread_pool {
  std::atomic<uint32_t> references{1};
  std::shared_ptr<dyn::vm::WorkerSet> workers;
};

namespace dyn::vm::api {

// An input that was given as sequences for the program to see padded.
struct PaddedSequences {
  size_t lengthsInput = 0;  // the input that says how long they are
  bool batchSecond = false;
  std::vector<int64_t> lengths;
};

}  // namespace dyn::vm::api

struct dyn_context {
  std::shared_ptr<dyn::vm::Module> module;
  dyn::vm::MemoryPool* pool = nullptr;
  std::unique_ptr<dyn::vm::ThreadPool> threads;
  std::unique_ptr<dyn::vm::Interpreter> interpreter;
  std::vector<dyn::vm::Object*> inputs;
  std::vector<dyn::vm::Object*> raggedLengths;  // by input: what it was given with; null: it was given alone
  std::vector<std::optional<dyn::vm::api::PaddedSequences>> padded;  // by input
  uint64_t runNs = 0;
  std::string text;
  ~dyn_context() {
    for (dyn::vm::Object* input : inputs) dyn::vm::release(input);
    for (dyn::vm::Object* lengths : raggedLengths) dyn::vm::release(lengths);
    interpreter.reset();
    if (pool) pool->releaseOwner();
  }
};

namespace dyn::vm::api {

// What dyn_last_message shows; the status' code.
dyn_status report(const Status& status);
dyn_status reportText(dyn_status code, const char* text);
void clearMessage();

template <typename Body>
dyn_status guarded(Body&& body) {
  clearMessage();
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return reportText(DYN_OUT_OF_MEMORY, "the system gives no memory");
  } catch (const std::length_error&) {  // a table longer than any memory
    return reportText(DYN_OUT_OF_MEMORY, "the system gives no memory");
  } catch (...) {
    return reportText(DYN_INTERNAL, "unexpected failure");
  }
}

inline Status invalid(const char* what) { return failure(DYN_INVALID_ARGUMENT, what); }

// Takes over the count of `object`, also on failure.
Status wrap(const std::shared_ptr<Module>& module, Object* object, dyn_value** value);

// Ragged inputs that share an input of lengths were given with the lengths that it holds.
Status checkRaggedInputs(const dyn_context& context);

// So were inputs that are padded.
Status checkPaddedInputs(const dyn_context& context);

// The input of that name; nothing: absent.
std::optional<size_t> inputNamed(const dyn_context& context, std::string_view name);

// Rows and lengths of a ragged value, which are the caller's.
struct RaggedParts {
  dyn_value* rows = nullptr;
  dyn_value* lengths = nullptr;
  RaggedParts() = default;
  RaggedParts(const RaggedParts&) = delete;
  RaggedParts& operator=(const RaggedParts&) = delete;
  ~RaggedParts() {
    dyn_value_release(rows);
    dyn_value_release(lengths);
  }
};
Status readParts(const dyn_value* value, RaggedParts* parts);

// The objects of the items, borrowed; null items stay null.
Status copyObjects(dyn_value* const* items, int64_t count, std::vector<Object*>& objects);

}  // namespace dyn::vm::api
