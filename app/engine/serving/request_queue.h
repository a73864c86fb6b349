// Requests that wait: those of higher priority first, and of equal priority one client after the other.
//
//   RequestQueue queue(1000);
//   queue.add(request);                                  // false: it is full
//   queue.take(begins, joins, 16, taken);                // the next one, and others that join it
//
// A client that sends a hundred requests at once delays another client's by one request. Clients of two
// models are two. A request that does not join keeps its place. Nothing here looks at a clock or takes a
// lock, and only `add` needs memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "app/engine/serving/served_model.h"

namespace dyn {

struct ServedRequest;
using RequestPointer = std::shared_ptr<ServedRequest>;

class RequestQueue {
 public:
  using Requests = std::list<RequestPointer>;
  explicit RequestQueue(size_t mostWaiting) : most_(mostWaiting) {}

  bool add(RequestPointer request);
  // Moves a request that waits behind `removed`.
  void remove(ServedRequest& request, Requests& removed);
  // Moves those whose deadline is not after `nowNs`.
  void removeExpired(int64_t nowNs, Requests& removed);
  void removeAll(Requests& removed);

  enum class Begin : uint8_t { yes, alone, later, stop };
  // `begins` is asked of the first request of each client until it says yes, or alone, which no other joins,
  // or stop: then nothing is taken.
  // `joins` is asked of further requests of the same model, until `most` are taken, or 8 * `most` were
  // refused: a long queue costs no more than that. Neither may throw.
  void take(const std::function<Begin(ServedRequest&)>& begins,
            const std::function<bool(ServedRequest&)>& joins, size_t most, Requests& taken);

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  size_t countOf(size_t model) const { return model < counts_.size() ? counts_[model] : 0; }
  size_t longestCount() const { return longest_; }
  // Of all that wait; INT64_MAX: none has one.
  int64_t nextDeadlineNs() const;

 private:
  struct Lane {  // of one client of one model
    size_t model = 0;
    uint64_t client = 0;
    Requests requests;
    Requests::iterator next;  // while others are taken
  };
  using Lanes = std::list<Lane>;  // the one whose turn it is stands first
  void move(Lane& lane, Requests::iterator at, Requests& target);
  void dropEmpty();

  size_t most_, count_ = 0, longest_ = 0, deadlinesCount_ = 0;
  std::vector<size_t> counts_;                              // by model
  std::map<int32_t, Lanes, std::greater<int32_t>> levels_;  // by priority
};

struct ServedRequest {
  size_t model = 0;
  uint64_t client = 0;
  int32_t priority = 0;                          // higher ones run first
  int64_t deadlineNs = INT64_MAX;                // by the server's clock
  std::unique_ptr<ServedCall> call;              // with the answer
  std::function<void(ServedRequest&)> answered;  // called once, on any thread; it may not throw

  // The server's.
  enum class State : uint8_t { fresh, waiting, running, answered } state = State::fresh;
  int64_t arrivalNs = 0;
  size_t worker = 0;  // that runs it
  std::list<RequestPointer>::iterator place;
};

}  // namespace dyn
