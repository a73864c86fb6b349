// dyn.hpp: dyn.h, dyn_server.h and dynvm.h for C++17 and later: handles release themselves, failures are exceptions. Header only.
//
//   dynapi::Model model("bert.onnx", {{"threads", "2"}});
//   dynapi::Module module = model.compile();
//   dynapi::Context context(module);
//   context.set("input_ids", dynapi::Value::tensor(context, DYN_I64, {1, 59}, ids.data()));
//   context.run();
//   for (int64_t size : context.output(0).shape()) ...
//
// Threads and lifetimes are those of the C headers.
#ifndef DYN_HPP
#define DYN_HPP

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dyn_server.h"

namespace dynapi {

// A failed call: its status, and the first thing that the library said.
class Failure : public std::runtime_error {
 public:
  Failure(dyn_status status, const std::string& text, std::string id = "", std::string place = "")
      : std::runtime_error(text), status_(status), id_(std::move(id)), place_(std::move(place)) {}
  dyn_status status() const { return status_; }
  const std::string& id() const { return id_; }        // "E0203"; "" of a run
  const std::string& place() const { return place_; }  // "model.onnx: node /MatMul"; "" where there is none

 private:
  dyn_status status_;
  std::string id_, place_;
};

namespace detail {

// Of a call of dyn.h.
inline void check(dyn_status status) {
  if (status == DYN_OK) return;
  dyn_diagnostic said{};
  said.size = sizeof said;
  if (dyn_diagnostic_get(0, &said) != DYN_OK) throw Failure(status, dyn_status_text(status));
  const std::string place = said.place;
  throw Failure(status, (place.empty() ? "" : place + ": ") + said.message, said.id, place);
}

// Of a call of dynvm.h.
inline void checkRun(dyn_status status) {
  if (status != DYN_OK) throw Failure(status, dyn_last_message());
}

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* handle) const {
    release(handle);
  }
};

}  // namespace detail

using Options = std::vector<std::pair<std::string, std::string>>;
using Dims = std::vector<std::pair<std::string, int64_t>>;

class Module {
 public:
  explicit Module(dyn_module* owned) : handle_(owned) {}
  // A package.
  static Module load(const std::string& path) {
    dyn_module* module = nullptr;
    detail::checkRun(dyn_module_load_file(path.c_str(), nullptr, &module));
    return Module(module);
  }
  dyn_module* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_module, detail::Release<dyn_module_release>> handle_;
};

// Threads that contexts share: options.thread_pool = pool.get(). Contexts and servers keep them.
class ThreadPool {
 public:
  // threadCount: with the thread that calls a run.
  explicit ThreadPool(int32_t threadCount) {
    dyn_thread_pool* pool = nullptr;
    detail::checkRun(dyn_thread_pool_create(threadCount, &pool));
    handle_.reset(pool);
  }
  int32_t threadCount() const { return dyn_thread_pool_thread_count(get()); }
  dyn_thread_pool* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_thread_pool, detail::Release<dyn_thread_pool_release>> handle_;
};

class Context;

class Value {
 public:
  explicit Value(dyn_value* owned) : handle_(owned) {}
  // A copy of `data`, dense and row-major; null: zeros.
  static inline Value tensor(const Context& context, int32_t dtype, const std::vector<int64_t>& shape,
                             const void* data);
  std::vector<int64_t> shape() const {
    const int64_t* sizes = dyn_value_shape(get());
    return sizes ? std::vector<int64_t>(sizes, sizes + dyn_value_rank(get())) : std::vector<int64_t>();
  }
  int32_t dtype() const { return dyn_value_dtype(get()); }
  // Null where the elements do not lie side by side.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(dyn_value_data(get()));
  }
  dyn_value* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_value, detail::Release<dyn_value_release>> handle_;
};

class Context {
 public:
  explicit Context(const Module& module, const dyn_options& options = {}) {
    dyn_context* context = nullptr;
    detail::checkRun(dyn_context_create(module.get(), &options, &context));
    handle_.reset(context);
  }
  void set(const std::string& input, const Value& value) {
    detail::checkRun(dyn_context_set_input_name(get(), input.c_str(), value.get()));
  }
  void run() { detail::checkRun(dyn_context_run(get())); }
  void cancel() { dyn_context_cancel(get()); }  // any thread
  Value output(int32_t index) const {
    dyn_value* value = nullptr;
    detail::checkRun(dyn_context_get_output(get(), index, &value));
    return Value(value);
  }
  dyn_context* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_context, detail::Release<dyn_context_release>> handle_;
};

inline Value Value::tensor(const Context& context, int32_t dtype, const std::vector<int64_t>& shape,
                           const void* data) {
  size_t bytes = dyn_dtype_size_bytes(dtype);
  for (int64_t size : shape) bytes *= static_cast<size_t>(size);
  dyn_value* value = nullptr;
  detail::checkRun(dyn_value_tensor(context.get(), dtype, static_cast<int32_t>(shape.size()), shape.data(),
                                    data, bytes, &value));
  return Value(value);
}

// What a run of given sizes will be.
class Prediction {
 public:
  explicit Prediction(dyn_prediction* owned) : handle_(owned) {}
  int64_t peakBytes() const { return dyn_prediction_peak_bytes(get()); }
  std::string refused() const { return dyn_prediction_refused(get()); }
  std::vector<int64_t> outputShape(int32_t index) const {
    const int64_t* sizes = dyn_prediction_output_shape(get(), index);
    return sizes ? std::vector<int64_t>(sizes, sizes + dyn_prediction_output_rank(get(), index))
                 : std::vector<int64_t>();
  }
  dyn_prediction* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_prediction, detail::Release<dyn_prediction_release>> handle_;
};

class Model {
 public:
  explicit Model(const std::string& path, const Options& options = {}) {
    const std::vector<dyn_option> list = asC(options);
    dyn_model_options given{};
    given.size = sizeof given;
    given.path = path.c_str();
    given.options = list.data();
    given.option_count = list.size();
    open(given);
  }
  // With callbacks, or from bytes.
  explicit Model(const dyn_model_options& options) { open(options); }

  Module compile() {
    dyn_module* module = nullptr;
    detail::check(dyn_model_compile(get(), &module));
    return Module(module);
  }
  void exportTo(const std::string& kind, const std::string& path, const Options& options = {}) {
    const std::vector<dyn_option> list = asC(options);
    detail::check(dyn_model_export(get(), kind.c_str(), path.c_str(), list.data(), list.size()));
  }
  // What a command of the shell answers: as JSON, and as text for people.
  std::string command(const std::string& line) {
    const char* json = nullptr;
    detail::check(dyn_model_command(get(), line.c_str(), &json));
    return json;
  }
  std::string commandText(const std::string& line) {
    const char* text = nullptr;
    detail::check(dyn_model_command_text(get(), line.c_str(), &text));
    return text;
  }
  Prediction predict(const Dims& dims) {
    std::vector<dyn_dim> list;
    for (const auto& [name, value] : dims) list.push_back({name.c_str(), value});
    dyn_prediction* prediction = nullptr;
    detail::check(dyn_model_predict(get(), list.data(), list.size(), &prediction));
    return Prediction(prediction);
  }
  void cancel() { dyn_model_cancel(get()); }  // any thread
  dyn_model* get() const { return handle_.get(); }

 private:
  static std::vector<dyn_option> asC(const Options& options) {
    std::vector<dyn_option> list;
    for (const auto& [name, value] : options) list.push_back({name.c_str(), value.c_str()});
    return list;
  }
  void open(const dyn_model_options& options) {
    dyn_model* model = nullptr;
    detail::check(dyn_model_open(&options, &model));
    handle_.reset(model);
  }
  std::unique_ptr<dyn_model, detail::Release<dyn_model_release>> handle_;
};

// A request that a Server has taken. Releasing it does not cancel it.
class Request {
 public:
  explicit Request(dyn_request* owned) : handle_(owned) {}
  // Waits for the answer; throws where that is not results.
  void wait() const {
    const dyn_status status = dyn_request_wait(get(), -1);
    if (status != DYN_OK) throw Failure(status, dyn_request_message(get()));
  }
  bool isAnswered() const { return dyn_request_wait(get(), 0) != DYN_NOT_ANSWERED; }
  // Waits first.
  Value output(int32_t index) const {
    wait();
    dyn_value* value = nullptr;
    detail::check(dyn_request_output(get(), index, &value));
    return Value(value);
  }
  void cancel() { dyn_request_cancel(get()); }
  dyn_request* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_request, detail::Release<dyn_request_release>> handle_;
};

struct RequestOptions {
  uint64_t client = 0;
  int32_t priority = 0;
  int64_t deadlineNs = 0;  // from now; 0: none
};

// Requests from any thread, which run together where they wait together.
class Server {
 public:
  explicit Server(dyn_server_policy policy = {}) {
    policy.size = sizeof policy;
    dyn_server* server = nullptr;
    detail::check(dyn_server_create(&policy, &server));
    handle_.reset(server);
  }
  // The model's number here; the model itself is not needed any more.
  int32_t add(const Model& model) {
    int32_t index = -1;
    detail::check(dyn_server_add_model(get(), model.get(), &index));
    return index;
  }
  std::string joining(int32_t model) const {
    const char* text = nullptr;
    detail::check(dyn_server_joining(get(), model, &text));
    return text;
  }
  std::string admission(int32_t model) const {
    const char* text = nullptr;
    detail::check(dyn_server_admission(get(), model, &text));
    return text;
  }
  // A copy of `data`, dense and row-major.
  Value tensor(int32_t model, int32_t dtype, const std::vector<int64_t>& shape, const void* data) const {
    size_t bytes = dyn_dtype_size_bytes(dtype);
    for (int64_t size : shape) bytes *= static_cast<size_t>(size);
    dyn_value* value = nullptr;
    detail::check(dyn_server_tensor(get(), model, dtype, static_cast<int32_t>(shape.size()), shape.data(),
                                    data, bytes, &value));
    return Value(value);
  }
  // Throws where the request is refused: DYN_QUEUE_FULL, DYN_DEADLINE_PASSED, DYN_SHUT_DOWN.
  Request submit(int32_t model, const std::vector<Value>& inputs, const RequestOptions& options = {}) const {
    std::vector<dyn_value*> values;
    for (const Value& input : inputs) values.push_back(input.get());
    dyn_server_request asked{};
    asked.size = sizeof asked;
    asked.model = model;
    asked.inputs = values.data();
    asked.input_count = static_cast<int32_t>(values.size());
    asked.client = options.client;
    asked.priority = options.priority;
    asked.deadline_ns = options.deadlineNs;
    dyn_request* request = nullptr;
    detail::check(dyn_server_submit(get(), &asked, &request));
    return Request(request);
  }
  void shutDown(dyn_shutdown how) { detail::check(dyn_server_shut_down(get(), how)); }
  dyn_server_statistics statistics() const {
    dyn_server_statistics made{};
    made.size = sizeof made;
    detail::check(dyn_server_get_statistics(get(), &made));
    return made;
  }
  std::string metrics() const {  // for Prometheus
    const char* text = nullptr;
    detail::check(dyn_server_metrics(get(), &text));
    return text;
  }
  dyn_server* get() const { return handle_.get(); }

 private:
  std::unique_ptr<dyn_server, detail::Release<dyn_server_release>> handle_;
};

}  // namespace dynapi

#endif
