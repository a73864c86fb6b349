// McpServer: a session as a server of the Model Context Protocol, which programs that use language models
// speak. Each command of the one list (commands.def) is a tool: its arguments are the tool's input schema,
// its view comes back as text and as JSON.
//
//   McpServer server(session, {.callSeconds = 60}, [](const std::string& line) { print(line + "\n"); });
//   while (std::getline(std::cin, line)) server.receive(line);
//   server.drain();
//
// Messages are those of JSON-RPC 2.0, one a line. Calls run one after the other on a thread of the server;
// the client may ask and cancel meanwhile. `send` is called by one thread at a time.
// Unless `writes` is set no tool writes a file that the client names, and settings that protect the user
// (native code of packages, keys, folders) stay as they are.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "app/session/session.h"

namespace dyn {

struct McpOptions {
  bool writes = false;      // offer tools and arguments that write files
  double callSeconds = 60;  // a call ends with an error then; 0: never
};

class McpServer {
 public:
  using Json = nlohmann::ordered_json;

  // Takes the session's listener.
  McpServer(Session& session, McpOptions options, std::function<void(const std::string&)> send);
  ~McpServer();  // ends the call that runs, drops those that wait
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  // One message of the client; answers come by `send`, of calls later. A call for which the system gives no
  // thread is answered with that error.
  void receive(std::string_view line);
  // Returns when all calls are answered.
  void drain();

 private:
  struct Call {
    Json id, progressToken;  // null: none
    Command command;
    bool cancelled = false;
  };

  void answer(const Json& id, Json result);
  void refuse(const Json& id, int code, const std::string& message);
  void write(const Json& message);
  void request(const std::string& method, const Json& id, const Json& params);
  void notification(const std::string& method, const Json& params);
  void call(const Json& id, const Json& params);
  Status enqueue(Call call);
  void work();
  std::shared_ptr<const Outcome> run(const Call& call);
  void report(const Event& event);

  Session& session_;
  const McpOptions options_;
  const std::function<void(const std::string&)> send_;
  std::mutex sending_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Call> calls_;  // the first one runs
  double progress_ = 0;     // of the first one; grows
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace dyn
