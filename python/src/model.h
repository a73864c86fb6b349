// A dyn_model for Python: one call at a time, each without the interpreter's lock.
#ifndef DYN_PYTHON_MODEL_H
#define DYN_PYTHON_MODEL_H

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dyn.h"
#include "fault.h"
#include "python_objects.h"

namespace dynpython {

class Program;
class ThreadPool;

// Of a call of dyn.h or dyn_server.h that this thread just made.
Fault modelFault(dyn_status status);

using Options = std::vector<std::pair<std::string, std::string>>;

class Model {
 public:
  // Of a path, or of bytes with a name whose ending says what they are. listener(text, fraction) is called in
  // a call's own thread, some time after the event; fraction: None of a log line, -1 where nobody knows.
  Model(const std::optional<std::string>& path, const std::optional<nb::bytes>& bytes,
        const std::string& name, const Options& options, nb::object listener);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // What was said beside errors when the model was read.
  nb::list warnings() const { return listOf(warnings_); }
  // [(name, kind, type, dtype, rank, [(value, text, low, high, multiple)])]
  nb::list ports(bool input);
  // threads and bytes: of the runs, 0: the runtime's default. pool: whose threads they are, or null.
  Program* compile(int32_t threads, uint64_t memoryLimitBytes, const ThreadPool* pool);
  std::string command(const std::string& line, bool asText);
  // Ends the call under way. Any thread.
  void cancel() { dyn_model_cancel(model_); }
  // Of a call of another header that takes the model: in turn with those above.
  void call(const std::function<dyn_status(dyn_model*)>& work) {
    inTurn([&] { return work(model_); });
  }
  void exportTo(const std::string& kind, const std::string& path, const Options& options);
  void save(const std::string& path, const Options& options);
  // ([shape or None], peak bytes or -1, why there is no peak, [(name, text, fails)])
  nb::tuple predict(const std::vector<std::pair<std::string, int64_t>>& dims);

 private:
  // `work` in turn, on a thread where diagnostics are read, too.
  void inTurn(const std::function<dyn_status()>& work);

  struct Event {
    std::string text;
    std::optional<double> fraction;
  };
  void note(Event event);  // on a thread of the model
  void tellEvents();

  nb::object listener_;
  std::mutex eventsMutex_;
  std::vector<Event> events_;  // not told yet
  std::mutex turn_;
  dyn_model* model_ = nullptr;
  std::vector<Said> warnings_;
};

}  // namespace dynpython

#endif
