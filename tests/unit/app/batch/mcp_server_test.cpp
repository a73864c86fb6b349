#include "app/batch/mcp_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/refused_threads.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kModel =
    "fn @main(%x: Tensor[(n, m), f32]) { %y = concat(%x, %x) {axis = 0} return %y }";

// A server, and what it has sent.
class McpServerTest : public test::SessionFixture {
 protected:
  using Json = McpServer::Json;

  void start(McpOptions options = {}) {
    server_.reset();
    sent_.clear();
    server_ = std::make_unique<McpServer>(session_, options, [this](const std::string& line) {
      EXPECT_THAT(line, Not(HasSubstr("\n")));
      const std::lock_guard<std::mutex> lock(mutex_);
      sent_.push_back(Json::parse(line));
    });
  }
  // The answer to one request.
  Json ask(const std::string& method, const Json& params = Json::object()) {
    const int id = ++last_;
    server_->receive(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump());
    server_->drain();
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Json& message : sent_)
      if (message.contains("id") && message["id"] == id) return message;
    return nullptr;
  }
  Json use(const std::string& tool, const Json& arguments = Json::object()) {
    return ask("tools/call", {{"name", tool}, {"arguments", arguments}})["result"];
  }
  std::string textOf(const Json& result) { return result["content"][0]["text"]; }
  std::string model() { return folder_.write("m.dyn", kModel); }

  std::mutex mutex_;
  std::vector<Json> sent_;
  std::unique_ptr<McpServer> server_;
  int last_ = 0;
};

TEST_F(McpServerTest, AnswersACallThatNoThreadIsToBeHadFor) {
  if (!test::kCanRefuseThreads) GTEST_SKIP() << "the sanitizer makes the threads";
  start();
  {
    const test::RefusedThreads none;
    const Json refused = use("load", {{"model", model()}});
    EXPECT_EQ(refused["isError"], true);
    EXPECT_THAT(textOf(refused), HasSubstr("no thread can be started: "));
    EXPECT_EQ(ask("ping")["result"], Json::object());
  }
  EXPECT_EQ(use("load", {{"model", model()}})["isError"], false);
}

TEST_F(McpServerTest, AgreesOnAVersion) {
  start();
  EXPECT_EQ(ask("initialize", {{"protocolVersion", "2024-11-05"}})["result"]["protocolVersion"],
            "2024-11-05");
  const Json result = ask("initialize", {{"protocolVersion", "1900-01-01"}})["result"];
  EXPECT_EQ(result["protocolVersion"], "2025-11-25");
  EXPECT_TRUE(result["capabilities"].contains("tools"));
  EXPECT_EQ(ask("ping")["result"], Json::object());
}

TEST_F(McpServerTest, EveryCommandIsAToolThatSaysWhatItTakes) {
  start({.writes = true});
  const Json tools = ask("tools/list")["result"]["tools"];
  EXPECT_EQ(tools.size(), commandTable().size() - 2);  // all but quit and source
  for (const Json& tool : tools) {
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_FALSE(tool["description"].get<std::string>().empty());
  }
}

TEST_F(McpServerTest, WithoutLeaveNoToolWrites) {
  start();
  const Json tools = ask("tools/list")["result"]["tools"];
  for (const Json& tool : tools) {
    const std::string name = tool["name"];
    EXPECT_TRUE(tool["annotations"]["readOnlyHint"]) << name;
    const CommandSpec& spec = commandSpec(*findCommand(name));
    for (const auto& [argument, schema] : tool["inputSchema"]["properties"].items()) {
      const ArgumentKind kind = spec.find(argument)->kind;
      EXPECT_NE(kind, ArgumentKind::output) << name << " " << argument;
      EXPECT_NE(kind, ArgumentKind::folder) << name << " " << argument;
      EXPECT_NE(kind, ArgumentKind::records) << name << " " << argument;
    }
  }
  use("load", {{"model", model()}});
  const std::string file = folder_ / "out.txt";
  EXPECT_THAT(textOf(use("ir", {{"o", file}})), HasSubstr("--allow-writes"));
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
  EXPECT_EQ(ask("tools/call", {{"name", "save"}, {"arguments", Json::object()}})["error"]["code"], -32602);
  EXPECT_EQ(ask("tools/call", {{"name", "note"}, {"arguments", Json::object()}})["error"]["code"], -32602);
  EXPECT_THAT(textOf(use("set", {{"name", "native-code"}, {"value", "on"}})), HasSubstr("is the user's"));
  EXPECT_FALSE(use("set")["isError"]);

  start({.writes = true});
  EXPECT_FALSE(use("ir", {{"o", file}})["isError"]);
  EXPECT_EQ(::access(file.c_str(), F_OK), 0);
}

TEST_F(McpServerTest, AnswersAsTheShellDoes) {
  start();
  EXPECT_FALSE(use("load", {{"model", model()}})["isError"]);
  const Json why = use("why", {{"a", "y.0"}});
  EXPECT_FALSE(why["isError"]);
  EXPECT_THAT(textOf(why), HasSubstr("concat"));
  EXPECT_TRUE(why.contains("structuredContent"));
  const Json run = use("run", {{"dim", {"n=3", "m=2"}}, {"repeat", 2}});
  EXPECT_FALSE(run["isError"]) << run;
  EXPECT_THAT(run["structuredContent"].dump(), HasSubstr("\"y\""));
}

TEST_F(McpServerTest, WhatIsWrongIsSaidToTheModel) {
  start();
  EXPECT_TRUE(use("load", {{"model", "/nowhere.onnx"}})["isError"]);
  EXPECT_THAT(textOf(use("load", {{"model", "/nowhere.onnx"}})), HasSubstr("/nowhere.onnx"));
  EXPECT_THAT(textOf(use("load", {{"modle", "x"}})), HasSubstr("modle"));
  EXPECT_THAT(textOf(use("load", {{"model", {"a", "b"}}})), HasSubstr("one value"));
  EXPECT_THAT(textOf(use("load", {{"model", "m"}, {"static", "yes"}})), HasSubstr("true or false"));
  EXPECT_THAT(textOf(use("run", {{"repeat", "many"}})), HasSubstr("repeat"));
  EXPECT_TRUE(use("load")["isError"]);  // a model is required
}

TEST_F(McpServerTest, BadMessagesGetTheProtocolsErrors) {
  start();
  const auto codeOf = [&](const std::string& line) {
    sent_.clear();
    server_->receive(line);
    return sent_.size() == 1 ? sent_[0]["error"]["code"].get<int>() : 0;
  };
  EXPECT_EQ(codeOf("{"), -32700);
  EXPECT_EQ(codeOf("\xff\xfe"), -32700);
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(codeOf(deep), -32700);
  EXPECT_EQ(
      codeOf(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": )" + deep + "}}"),
      -32700);
  EXPECT_EQ(codeOf("[]"), -32600);
  EXPECT_EQ(codeOf("3"), -32600);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "1.0", "id": 1, "method": "ping"})"), -32600);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": {}, "method": "ping"})"), -32600);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": 1, "method": 7})"), -32600);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []})"), -32600);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})"), -32601);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})"), -32602);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "quit"}})"),
            -32602);
  EXPECT_EQ(codeOf(""), 0);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})"), 0);
  EXPECT_EQ(codeOf(R"({"jsonrpc": "2.0", "id": 9, "result": {}})"), 0);
}

TEST_F(McpServerTest, ACallEndsAtItsLimitAndTheNextOneWorks) {
  start({.callSeconds = 0.3});
  use("load", {{"model", model()}});
  const Json late = use("bench", {{"dim", {"n=2000", "m=2000"}}, {"seconds", 3600}});
  EXPECT_TRUE(late["isError"]);
  EXPECT_THAT(textOf(late), HasSubstr("--call-limit"));
  EXPECT_FALSE(use("info")["isError"]);
}

TEST_F(McpServerTest, ACancelledCallGetsNoAnswer) {
  start();
  use("load", {{"model", model()}});
  sent_.clear();
  const auto send = [&](int id, const char* tool, const Json& arguments) {
    server_->receive(Json{{"jsonrpc", "2.0"},
                          {"id", id},
                          {"method", "tools/call"},
                          {"params", {{"name", tool}, {"arguments", arguments}}}}
                         .dump());
  };
  send(101, "bench", {{"dim", {"n=2000", "m=2000"}}, {"seconds", 3600}});
  send(102, "info", Json::object());
  send(103, "info", Json::object());
  for (int id : {103, 101})
    server_->receive(
        Json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}}
            .dump());
  server_->drain();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0]["id"], 102);
}

TEST_F(McpServerTest, LongTextsAreCutAndSaySo) {
  start();
  std::string text = "fn @main(%x0: Tensor[(n), f32]) {\n";
  for (int i = 0; i < 3000; ++i)
    text += "  %x" + std::to_string(i + 1) + " = relu(%x" + std::to_string(i) + ")\n";
  use("load", {{"model", folder_.write("long.dyn", text + "  return %x3000\n}\n")}});
  const Json ir = use("ir", {{"pass", "import"}});
  EXPECT_LT(textOf(ir).size(), 70'000u);
  EXPECT_THAT(textOf(ir), HasSubstr("bytes are left out"));
}

}  // namespace
}  // namespace dyn
