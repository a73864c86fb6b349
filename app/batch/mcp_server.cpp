#include "app/batch/mcp_server.h"

#include <algorithm>
#include <array>

#include "app/engine/device/device_name.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/thread_start.h"
#include "app/session/views/code_views.h"
#include "app/session/views/view_json.h"
#include "app/session/views/view_text.h"
#include "compiler/support/json_nesting.h"
#include "compiler/support/utf8.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                          "2024-11-05"};   // newest first
constexpr size_t kMostText = 60'000, kMostJson = 200'000;  // bytes of an answer: what a language model reads
constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
              kInvalidParams = -32602;

constexpr const char* kInstructions =
    "Dyn compiles neural networks with dynamic shapes. First call `load` with the path of an .onnx model, a "
    ".dyn "
    "text module or a .dynpkg package; then ask: `info`, `dims`, `why` (why a dim is dynamic), `plan` "
    "(memory), "
    "`limit` (largest sizes that fit), `check`, `run`, `profile`, `kernels`. `help` explains a command.";

// Not for a client: they end the session, or run lines that are not checked here.
bool isOffered(CommandId id) { return id != CommandId::quit && id != CommandId::source; }

bool isWritten(ArgumentKind kind) {
  return kind == ArgumentKind::output || kind == ArgumentKind::folder || kind == ArgumentKind::records;
}

// Does the command write also when no argument of it is a file to write?
bool alwaysWrites(const CommandSpec& spec) {
  constexpr CommandId kOwnFiles[] = {CommandId::save, CommandId::cache, CommandId::tune, CommandId::note};
  if (std::find(std::begin(kOwnFiles), std::end(kOwnFiles), spec.id) != std::end(kOwnFiles)) return true;
  return std::any_of(spec.arguments.begin(), spec.arguments.end(), [&](const ArgumentSpec& a) {
    return isWritten(a.kind) &&
           (a.required || spec.id == CommandId::exportModel || spec.id == CommandId::report);
  });
}

bool isTool(const CommandSpec& spec, bool writes) {
  return isOffered(spec.id) && (writes || !alwaysWrites(spec));
}

std::string meaningOf(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::file:
      return "path of a file to read";
    case ArgumentKind::output:
    case ArgumentKind::records:
      return "path of a file to write";
    case ArgumentKind::folder:
      return "path of a folder to write into";
    case ArgumentKind::bytes:
      return "a size in bytes, such as 512MB";
    case ArgumentKind::pass:
      return "name or number of a pass; `passes` lists them";
    case ArgumentKind::level:
      return listOfLevels(" or ");
    case ArgumentKind::value:
      return "name of a bound value";
    case ArgumentKind::valuedim:
      return "a dim of a value, such as logits.1, or a dim expression";
    case ArgumentKind::symbol:
      return "name of a dim, such as seq";
    case ArgumentKind::dim:
      return "size of a dim, such as seq=59";
    case ArgumentKind::input:
      return "value of an input: NAME=@file.npy, NAME=text:tokenizer.json:WORDS, NAME=[1,2,3], NAME=zeros";
    case ArgumentKind::kernel:
      return "name or number of a kernel; `kernels` lists them";
    case ArgumentKind::placement:
      return "operator or value, with " + namesOfSides("=", " or ");
    case ArgumentKind::expression:
      return "an expression of the text language";
    case ArgumentKind::setting:
      return "name of a setting; without it all are listed";
    case ArgumentKind::command:
      return "name of a command";
    case ArgumentKind::code:
      return "code of a diagnostic, such as E0203";
    case ArgumentKind::op:
      return "name of an operator";
    default:
      return "";
  }
}

Json schemaOf(const ArgumentSpec& spec) {
  Json one = {{"type", spec.kind == ArgumentKind::flag      ? "boolean"
                       : spec.kind == ArgumentKind::integer ? "integer"
                       : spec.kind == ArgumentKind::number  ? "number"
                                                            : "string"}};
  Json schema = spec.repeated ? Json{{"type", "array"}, {"items", std::move(one)}} : std::move(one);
  if (const std::string meaning = meaningOf(spec.kind); !meaning.empty()) schema["description"] = meaning;
  return schema;
}

Json toolOf(const CommandSpec& spec, bool writes) {
  Json properties = Json::object(), required = Json::array();
  for (const ArgumentSpec& argument : spec.arguments) {
    if (isWritten(argument.kind) && !writes) continue;
    properties[argument.name] = schemaOf(argument);
    if (argument.required) required.push_back(argument.name);
  }
  std::string description(spec.help);
  description += ". As a shell line: :" + std::string(spec.example);
  const bool reads = !writes || std::none_of(spec.arguments.begin(), spec.arguments.end(),
                                             [](const ArgumentSpec& a) { return isWritten(a.kind); });
  return {{"name", spec.name},
          {"description", std::move(description)},
          {"inputSchema",
           {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}}},
          {"annotations", {{"readOnlyHint", reads && !alwaysWrites(spec)}, {"openWorldHint", false}}}};
}

// As a shell would hand it on. Errors: a value that is no number, switch or text.
Result<std::string> textOf(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return makeError(DiagnosticId::usageError, name + " takes a text or a number, not " + value.dump());
}

Status addArgument(Command& command, const ArgumentSpec& spec, const Json& value) {
  if (value.is_null()) return {};
  if (spec.kind == ArgumentKind::flag) {
    if (!value.is_boolean())
      return makeError(DiagnosticId::usageError, spec.name + " is true or false, not " + value.dump());
    if (value.get<bool>()) command.add(spec.name);
    return {};
  }
  const bool many = value.is_array();
  if (many && !spec.repeated)
    return makeError(DiagnosticId::usageError, spec.name + " takes one value, not " + value.dump());
  for (const Json& each : many ? value : Json::array({value})) {
    DYN_TRY(std::string text, textOf(spec.name, each));
    command.add(spec.name, std::move(text));
  }
  return {};
}

// Settings that keep a client from what the user did not ask for.
Status checkSetting(const Command& command) {
  constexpr std::string_view kGuards[] = {"native-code", "verify-key", "data-root", "cache-dir", "mem-limit"};
  const std::string name = command.text("name");
  if (!command.has("value") || std::find(std::begin(kGuards), std::end(kGuards), name) == std::end(kGuards))
    return {};
  return makeError(DiagnosticId::usageError,
                   "the setting " + name + " is the user's: it is given when the server is started");
}

Result<Command> commandOf(const CommandSpec& spec, const Json& arguments, bool writes) {
  Command command = Command::of(spec.id);
  for (const auto& [name, value] : arguments.items()) {
    const ArgumentSpec* argument = spec.find(name);
    if (!argument) return makeError(DiagnosticId::usageError, "there is no argument " + name);
    if (isWritten(argument->kind) && !writes)
      return makeError(DiagnosticId::usageError,
                       name + " writes a file, and this server does not: --allow-writes lets it");
    DYN_CHECK(addArgument(command, *argument, value));
  }
  DYN_CHECK(checkCommand(command));
  if (spec.id == CommandId::set && !writes) DYN_CHECK(checkSetting(command));
  return command;
}

// No longer than an answer may be; what is left out is said.
std::string shortened(std::string text) {
  if (text.size() <= kMostText) return text;
  size_t end = kMostText;
  while (end > 0 && isContinuation(text[end])) --end;  // between characters
  const size_t left = text.size() - end;
  text.resize(end);
  return text + "\n... " + std::to_string(left) + " more bytes are left out: ask for a part of it\n";
}

Json contentOf(std::string text, Json structured, bool isError) {
  Json result = {{"content", Json::array({{{"type", "text"}, {"text", shortened(std::move(text))}}})}};
  if (!structured.empty() && structured.dump().size() <= kMostJson)
    result["structuredContent"] = std::move(structured);
  result["isError"] = isError;
  return result;
}

Json resultOf(const Diagnostic& error) {
  return contentOf(toText(error, TextOptions{}), {{"error", toJson(error)}}, true);
}

Json resultOf(const Outcome& outcome) {
  Json structured = toJson(outcome.view);
  std::string text = toText(outcome.view, TextOptions{});
  for (const Diagnostic& warning : outcome.warnings) text += toText(warning, TextOptions{});
  if (!outcome.error)
    return contentOf(text.empty() ? "done\n" : std::move(text), std::move(structured), false);
  text += toText(*outcome.error, TextOptions{});
  for (const Diagnostic& more : outcome.more) text += toText(more, TextOptions{});
  structured["error"] = toJson(*outcome.error);
  return contentOf(std::move(text), std::move(structured), true);
}

const CommandSpec* toolNamed(const std::string& name, bool writes) {
  for (const CommandSpec& spec : commandTable())
    if (spec.name == name && isTool(spec, writes)) return &spec;
  return nullptr;
}

}  // namespace

McpServer::McpServer(Session& session, McpOptions options, std::function<void(const std::string&)> send)
    : session_(session), options_(options), send_(std::move(send)) {
  session_.setListener([this](const Event& event) { report(event); });
}

McpServer::~McpServer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    for (Call& call : calls_) call.cancelled = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
  session_.setListener({});
}

void McpServer::write(const Json& message) {
  const std::lock_guard<std::mutex> lock(sending_);
  send_(jsonText(message));
}

void McpServer::answer(const Json& id, Json result) {
  write({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

void McpServer::refuse(const Json& id, int code, const std::string& message) {
  write({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

void McpServer::receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  if (nestsDeeperThan(line, kMostJsonNesting))
    return refuse(nullptr, kParseError, "the line is nested deeper than " + std::to_string(kMostJsonNesting));
  const Json message = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded()) return refuse(nullptr, kParseError, "the line is no JSON");
  const auto field = [&](const char* name) {
    return message.is_object() && message.contains(name) ? message[name] : Json();
  };
  const Json id = field("id"), method = field("method"), params = field("params");
  const bool known = id.is_null() || id.is_string() || id.is_number_integer();
  if (field("jsonrpc") != "2.0" || !known || (!params.is_null() && !params.is_object()))
    return refuse(known ? id : Json(), kInvalidRequest, "the message is no request of JSON-RPC 2.0");
  if (!method.is_string()) {
    if (message.contains("result") || message.contains("error")) return;  // nothing was asked of the client
    return refuse(id, kInvalidRequest, "the message has no method");
  }
  const Json given = params.is_null() ? Json::object() : params;
  if (message.contains("id")) return request(method.get<std::string>(), id, given);
  notification(method.get<std::string>(), given);
}

void McpServer::request(const std::string& method, const Json& id, const Json& params) {
  if (method == "ping") return answer(id, Json::object());
  if (method == "initialize") {
    const Json asked = params.value("protocolVersion", Json());
    const bool known = asked.is_string() && std::find(std::begin(kVersions), std::end(kVersions),
                                                      asked.get<std::string>()) != std::end(kVersions);
    return answer(id, {{"protocolVersion", known ? asked : Json(kVersions[0])},
                       {"capabilities", {{"tools", Json::object()}}},
                       {"serverInfo", {{"name", "dyn"}, {"title", "Dyn"}, {"version", DYN_VERSION}}},
                       {"instructions", kInstructions}});
  }
  if (method == "tools/list") {
    Json tools = Json::array();
    for (const CommandSpec& spec : commandTable())
      if (isTool(spec, options_.writes)) tools.push_back(toolOf(spec, options_.writes));
    return answer(id, {{"tools", std::move(tools)}});
  }
  if (method == "tools/call") return call(id, params);
  refuse(id, kMethodNotFound, "there is no method " + method);
}

void McpServer::notification(const std::string& method, const Json& params) {
  if (method != "notifications/cancelled") return;
  const Json id = params.value("requestId", Json());
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Call& call : calls_)
    if (call.id == id) call.cancelled = true;
  changed_.notify_all();
}

void McpServer::call(const Json& id, const Json& params) {
  const Json name = params.value("name", Json());
  const Json arguments = params.value("arguments", Json::object());
  const CommandSpec* spec = name.is_string() ? toolNamed(name.get<std::string>(), options_.writes) : nullptr;
  if (!spec) return refuse(id, kInvalidParams, "there is no tool " + name.dump() + ": tools/list names all");
  if (!arguments.is_object()) return refuse(id, kInvalidParams, "the arguments are no object");
  Result<Command> command = commandOf(*spec, arguments, options_.writes);
  if (!command.ok()) return answer(id, resultOf(command.takeError().diagnostic()));
  const Json meta = params.value("_meta", Json());
  const Status taken =
      enqueue({id, meta.is_object() ? meta.value("progressToken", Json()) : Json(), std::move(*command)});
  if (!taken.ok()) answer(id, resultOf(taken.error()));
}

Status McpServer::enqueue(Call call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!worker_.joinable()) DYN_CHECK(startThread(worker_, [this] { work(); }));
  calls_.push_back(std::move(call));
  changed_.notify_all();
  return {};
}

void McpServer::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return calls_.empty(); });
}

void McpServer::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !calls_.empty(); });
    if (calls_.empty()) return;
    const Call call = calls_.front();
    progress_ = 0;
    lock.unlock();
    const std::shared_ptr<const Outcome> outcome = call.cancelled ? nullptr : run(call);
    lock.lock();
    const bool answered = !calls_.front().cancelled;  // who has cancelled a call waits for no answer
    lock.unlock();
    if (answered && outcome) answer(call.id, resultOf(*outcome));
    lock.lock();
    calls_.pop_front();
    changed_.notify_all();
  }
}

// Null where the client cancelled it.
std::shared_ptr<const Outcome> McpServer::run(const Call& call) {
  constexpr std::chrono::milliseconds kTurn(50);
  const auto start = std::chrono::steady_clock::now();
  const Ticket ticket = session_.submit(call.command);
  bool late = false;
  while (true) {
    if (std::shared_ptr<const Outcome> outcome = session_.waitFor(ticket, kTurn)) {
      if (!late || outcome->ok()) return outcome;
      auto ended = std::make_shared<Outcome>(*outcome);
      ended->error = makeError(DiagnosticId::timeLimit, "the call took longer than its limit").diagnostic();
      ended->error->notes.push_back("--call-limit SECONDS gives calls more time");
      return ended;
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    late = options_.callSeconds > 0 && taken.count() > options_.callSeconds;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (late || calls_.front().cancelled) session_.interrupt();
  }
}

// On the session's thread: progress of the call that runs, to a client that asked for it.
void McpServer::report(const Event& event) {
  if (event.kind != EventKind::progress || event.live) return;
  Json message;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (calls_.empty() || calls_.front().progressToken.is_null()) return;
    if (event.fraction >= 0 && event.fraction <= progress_) return;  // the protocol wants it to grow
    progress_ = event.fraction >= 0 ? event.fraction : progress_;
    message = {{"jsonrpc", "2.0"},
               {"method", "notifications/progress"},
               {"params", {{"progressToken", calls_.front().progressToken}, {"progress", progress_}}}};
    if (event.fraction >= 0) message["params"]["total"] = 1;
    message["params"]["message"] = event.text;
  }
  write(message);
}

}  // namespace dyn
