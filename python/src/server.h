// A dyn_server for Python: requests with numbers, and one call that waits for the next answers.
#ifndef DYN_PYTHON_SERVER_H
#define DYN_PYTHON_SERVER_H

#include <cstdint>
#include <memory>
#include <string>

#include "dyn_server.h"
#include "model.h"
#include "program.h"
#include "python_objects.h"

namespace dynpython {

class Answers;

// A request that was taken. Its answer comes by Server::answers.
class Request {
 public:
  explicit Request(dyn_request* request) : request_(request) {}
  ~Request() { dyn_request_release(request_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  // A run under way ends later.
  void cancel();

 private:
  dyn_request* request_;
};

class Server {
 public:
  // Of dyn_server_policy; 0: its default.
  Server(int32_t batching, int32_t maxBatch, int64_t maxWaitNs, int64_t maxBatchTimeNs,
         int64_t memoryLimitBytes, int32_t maxQueue, int32_t workers, const ThreadPool* pool,
         int32_t admission);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The model's number in the server.
  int32_t add(Model& model);
  std::string joining(int32_t model);
  std::string admission(int32_t model);
  // inputs: in the forms of values.h, made by `program`, a program of the same model. number: of the request,
  // the caller's to choose.
  Request* submit(int32_t model, Program& program, nb::list inputs, uint64_t number, uint64_t client,
                  int32_t priority, int64_t deadlineNs);
  // Waits without the interpreter's lock for answers that no call had yet: [(number, status, its text,
  // message, outputs)], outputs as Program::run gives them. Empty: the server was shut down, and all answers
  // were given.
  nb::list answers();
  // Of dyn_shutdown. Ctrl-C while it waits ends runs under way.
  void shutDown(int32_t how);
  nb::dict statistics();
  std::string metrics();

 private:
  dyn_server* server_ = nullptr;
  std::shared_ptr<Answers> answers_;
  bool isShutDown_ = false;
};

}  // namespace dynpython

#endif
