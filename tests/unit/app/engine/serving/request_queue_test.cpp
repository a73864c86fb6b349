// Who is next, who joins, and who keeps waiting.
#include "app/engine/serving/request_queue.h"

#include <gmock/gmock.h>

namespace dyn {
namespace {

using testing::ElementsAre;
using Begin = RequestQueue::Begin;

class RequestQueueTest : public testing::Test {
 protected:
  // Its deadline is its name.
  RequestPointer add(RequestQueue& queue, int64_t name, uint64_t client = 0, size_t model = 0,
                     int32_t priority = 0) {
    auto request = std::make_shared<ServedRequest>();
    request->deadlineNs = name;
    request->client = client;
    request->model = model;
    request->priority = priority;
    EXPECT_TRUE(queue.add(request));
    return request;
  }
  static std::vector<int64_t> names(const RequestQueue::Requests& requests) {
    std::vector<int64_t> all;
    for (const RequestPointer& request : requests) all.push_back(request->deadlineNs);
    return all;
  }
  std::vector<int64_t> take(
      RequestQueue& queue, size_t most,
      const std::function<bool(ServedRequest&)>& joins = [](ServedRequest&) { return true; },
      const std::function<Begin(ServedRequest&)>& begins = [](ServedRequest&) { return Begin::yes; }) {
    RequestQueue::Requests taken;
    queue.take(begins, joins, most, taken);
    return names(taken);
  }
};

TEST_F(RequestQueueTest, TheFirstAndThoseThatJoin) {
  RequestQueue queue(5);
  for (int64_t name = 0; name < 5; ++name) add(queue, name);
  EXPECT_FALSE(queue.add(std::make_shared<ServedRequest>()));
  EXPECT_EQ(queue.longestCount(), 5u);
  const auto even = [](const ServedRequest& next) { return next.deadlineNs % 2 == 0; };
  EXPECT_THAT(take(queue, 2, even), ElementsAre(0, 2));
  EXPECT_THAT(take(queue, 9, even), ElementsAre(1, 4));
  EXPECT_THAT(take(queue, 9, even), ElementsAre(3));
  EXPECT_TRUE(queue.empty());
  EXPECT_THAT(take(queue, 9), ElementsAre());
}

TEST_F(RequestQueueTest, ClientsTakeTurns) {
  RequestQueue queue(100);
  for (int64_t name = 10; name < 14; ++name) add(queue, name, 1);
  for (int64_t name = 20; name < 22; ++name) add(queue, name, 2);
  std::vector<int64_t> order;
  while (!queue.empty()) order.push_back(take(queue, 1)[0]);
  EXPECT_THAT(order, ElementsAre(10, 20, 11, 21, 12, 13));
  for (int64_t name = 10; name < 14; ++name) add(queue, name, 1);
  for (int64_t name = 20; name < 22; ++name) add(queue, name, 2);
  EXPECT_THAT(take(queue, 4), ElementsAre(10, 20, 11, 21));
}

TEST_F(RequestQueueTest, ModelsTakeTurnsAndDoNotMix) {
  RequestQueue queue(100);
  for (int64_t name = 10; name < 13; ++name) add(queue, name, 0, 0);
  for (int64_t name = 20; name < 23; ++name) add(queue, name, 0, 1);
  EXPECT_EQ(queue.countOf(0), 3u);
  EXPECT_THAT(take(queue, 2), ElementsAre(10, 11));
  EXPECT_THAT(take(queue, 2), ElementsAre(20, 21));
  EXPECT_THAT(take(queue, 2), ElementsAre(12));
  EXPECT_EQ(queue.countOf(0), 0u);
  EXPECT_EQ(queue.countOf(1), 1u);
}

TEST_F(RequestQueueTest, HigherPriorityFirstAndLowerOnesJoin) {
  RequestQueue queue(100);
  add(queue, 1);
  add(queue, 2, 0, 0, 5);
  add(queue, 3, 0, 0, -5);
  EXPECT_THAT(take(queue, 2), ElementsAre(2, 1));
  EXPECT_THAT(take(queue, 2), ElementsAre(3));
}

TEST_F(RequestQueueTest, WhoIsNotReadyLetsOthersPassUnlessTheyMustNot) {
  RequestQueue queue(100);
  add(queue, 1, 0, 0);
  add(queue, 2, 0, 1);
  const auto all = [](ServedRequest&) { return true; };
  const auto second = [](const ServedRequest& first) { return first.model == 1 ? Begin::yes : Begin::later; };
  EXPECT_THAT(take(queue, 1, all, second), ElementsAre(2));
  EXPECT_THAT(take(queue, 1, all, [](ServedRequest&) { return Begin::stop; }), ElementsAre());
  EXPECT_EQ(queue.count(), 1u);
  add(queue, 3, 0, 0);
  EXPECT_THAT(take(queue, 9, all, [](ServedRequest&) { return Begin::alone; }), ElementsAre(1));
}

TEST_F(RequestQueueTest, ALongQueueIsNotLookedThrough) {
  RequestQueue queue(1000);
  for (int64_t name = 0; name < 1000; ++name) add(queue, name);
  int64_t asked = 0;
  const auto none = [&](ServedRequest&) { return ++asked, false; };
  EXPECT_THAT(take(queue, 4, none), ElementsAre(0));
  EXPECT_EQ(asked, 32);
  EXPECT_EQ(queue.count(), 999u);
}

TEST_F(RequestQueueTest, RemovedOnesLeaveNoTrace) {
  RequestQueue queue(3);
  const RequestPointer first = add(queue, 100);
  add(queue, 200, 7);
  add(queue, 300, 7);
  EXPECT_EQ(queue.nextDeadlineNs(), 100);
  RequestQueue::Requests removed;
  queue.remove(*first, removed);
  EXPECT_THAT(names(removed), ElementsAre(100));
  queue.removeExpired(199, removed);
  EXPECT_EQ(removed.size(), 1u);
  queue.removeExpired(200, removed);
  EXPECT_THAT(names(removed), ElementsAre(100, 200));
  EXPECT_EQ(queue.nextDeadlineNs(), 300);
  queue.removeAll(removed);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.nextDeadlineNs(), INT64_MAX);
  EXPECT_EQ(queue.countOf(0), 0u);
}

}  // namespace
}  // namespace dyn
