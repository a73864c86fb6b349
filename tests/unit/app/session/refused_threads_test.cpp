// What is left to do where the system gives no thread: it is said, nothing ends the process, and the next
// time goes well.
#include "tests/support/refused_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/run/live_run.h"
#include "app/engine/run/thread_start.h"
#include "app/engine/serving/server.h"
#include "app/session/session.h"
#include "app/session/watchdog.h"

namespace dyn {
namespace {

using testing::HasSubstr;

class WithoutThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::kCanRefuseThreads) GTEST_SKIP() << "the sanitizer makes the threads";
  }
};

TEST_F(WithoutThreads, AThreadThatCannotBeStartedIsAnError) {
  std::thread thread;
  bool hasRun = false;
  const test::RefusedThreads none;
  const Status refused = startThread(thread, [&] { hasRun = true; });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no thread can be started: Resource temporarily unavailable");
  EXPECT_FALSE(thread.joinable());
  EXPECT_FALSE(hasRun);
}

// A session has three threads. Each number of them that is given leaves nothing that hangs.
TEST_F(WithoutThreads, CommandsOfASessionFailUntilThereAreThreads) {
  for (int given = 0; given < 3; ++given) {
    std::vector<Ticket> finished;
    std::unique_ptr<Session> session;
    {
      const test::RefusedThreads none(given);
      session = std::make_unique<Session>(SessionOptions{.threadCount = 1});
      test::givenThreads = 0;
      session->setListener([&](const Event& event) {
        if (event.kind == EventKind::finished) finished.push_back(event.ticket);
      });
      const auto outcome = session->execute(Command::of(CommandId::set));
      ASSERT_TRUE(outcome->error.has_value()) << given;
      EXPECT_EQ(outcome->command.id, CommandId::set);
      EXPECT_THAT(outcome->error->message, HasSubstr("no thread can be started: "));
      EXPECT_EQ(finished, std::vector<Ticket>{outcome->ticket});
      EXPECT_FALSE(session->busy());
      const Status visited = session->visit([](SessionState&) { return Status(); });
      ASSERT_FALSE(visited.ok());
      EXPECT_THAT(visited.error().message, HasSubstr("no thread can be started: "));
    }
    EXPECT_TRUE(session->execute(Command::of(CommandId::set))->ok()) << given;
    EXPECT_TRUE(session->visit([](SessionState&) { return Status(); }).ok());
  }
}

TEST_F(WithoutThreads, ASessionThatNeverHadThreadsEnds) {
  for (int given = 0; given < 3; ++given) {
    const test::RefusedThreads none(given);
    const Session session(SessionOptions{.threadCount = 1});
  }
}

TEST_F(WithoutThreads, AServerDoesNotStart) {
  for (int given = 0; given < 2; ++given) {
    const test::RefusedThreads none(given);
    const auto server = Server::start({.workers = 2});
    ASSERT_FALSE(server.ok());
    EXPECT_THAT(server.error().message, HasSubstr("no thread can be started: "));
  }
}

TEST_F(WithoutThreads, ACommandThatCannotBeWatchedDoesNotRun) {
  const test::RefusedThreads none;
  const auto watchdog = Watchdog::start({}, {});
  ASSERT_FALSE(watchdog.ok());
  EXPECT_THAT(watchdog.error().message, HasSubstr("no thread can be started: "));
}

TEST_F(WithoutThreads, ARunGoesOnUnwatched) {
  const test::RefusedThreads none;
  LiveWatch watch(nullptr, 1, [](const LiveRun&) { FAIL() << "nobody looks"; });
  watch.runDone();
}

}  // namespace
}  // namespace dyn
