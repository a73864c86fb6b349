// A session that tests give lines to, and the folder of its files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "app/session/session.h"
#include "tests/support/temporary_folder.h"

namespace dyn::test {

class SessionFixture : public testing::Test {
 protected:
  std::shared_ptr<const Outcome> line(const std::string& text) {
    Result<Command> command = parseCommand(text);
    EXPECT_TRUE(command.ok()) << text;
    return session_.execute(command.ok() ? *command : Command::of(CommandId::help));
  }
  std::shared_ptr<const Outcome> loadText(const std::string& text, const std::string& arguments = "") {
    return line(":load " + folder_.write("m.dyn", text) + " " + arguments);
  }
  // False where the build has no code generation.
  bool canRun() { return line("1 + 2")->ok(); }

  TemporaryFolder folder_;
  Session session_{SessionOptions{.threadCount = 1}};
};

}  // namespace dyn::test
