// mcp: the session as a server of the Model Context Protocol, on standard input and output.
#include <atomic>
#include <iostream>

#include "app/batch/mcp_server.h"
#include "app/batch/verbs.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

int verb_mcp(const BatchContext& context) {
  const BatchRequest& request = context.request;
  const bool writes = request.has("allow-writes");
  if (!writes) {
    // A package that a client names must not run its machine code.
    const std::shared_ptr<const Outcome> outcome =
        context.execute(Command::of(CommandId::set).add("name", "native-code").add("value", "off"));
    if (!outcome->ok()) return context.fail(*outcome);
  }
  Status written;  // of the last line; behind the server's lock until drain()
  std::atomic<bool> reads{true};
  McpServer server(*context.session, {writes, request.real("call-limit", 60)}, [&](const std::string& line) {
    if (reads) written = writeStandard(1, line + "\n");
    reads = written.ok();
  });
  std::string line;
  while (reads && std::getline(std::cin, line)) server.receive(line);
  server.drain();
  return written.ok() ? 0 : context.fail(written.error());
}

}  // namespace dyn
