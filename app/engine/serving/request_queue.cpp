#include "app/engine/serving/request_queue.h"

#include <algorithm>
#include <iterator>

namespace dyn {

bool RequestQueue::add(RequestPointer request) {
  if (count_ >= most_) return false;
  const size_t model = request->model;
  if (counts_.size() <= model) counts_.resize(model + 1);
  Lanes& lanes = levels_[request->priority];
  auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& one) {
    return one.model == model && one.client == request->client;
  });
  // What throws here leaves an empty lane or level at most, which the next call drops.
  if (lane == lanes.end()) {
    lane = lanes.emplace(lanes.end());
    lane->model = model;
    lane->client = request->client;
  }
  lane->requests.push_back(std::move(request));
  ServedRequest& added = *lane->requests.back();
  added.place = std::prev(lane->requests.end());
  ++counts_[model];
  longest_ = std::max(longest_, ++count_);
  if (added.deadlineNs != INT64_MAX) ++deadlinesCount_;
  return true;
}

void RequestQueue::move(Lane& lane, Requests::iterator at, Requests& target) {
  --count_;
  --counts_[lane.model];
  if ((*at)->deadlineNs != INT64_MAX) --deadlinesCount_;
  target.splice(target.end(), lane.requests, at);
}

void RequestQueue::dropEmpty() {
  for (auto level = levels_.begin(); level != levels_.end();) {
    level->second.remove_if([](const Lane& lane) { return lane.requests.empty(); });
    level = level->second.empty() ? levels_.erase(level) : std::next(level);
  }
}

void RequestQueue::remove(ServedRequest& request, Requests& removed) {
  for (Lane& lane : levels_[request.priority]) {
    if (lane.model != request.model || lane.client != request.client) continue;
    move(lane, request.place, removed);
    break;
  }
  dropEmpty();
}

void RequestQueue::removeExpired(int64_t nowNs, Requests& removed) {
  if (deadlinesCount_ == 0) return;
  for (auto& [priority, lanes] : levels_)
    for (Lane& lane : lanes)
      for (auto at = lane.requests.begin(); at != lane.requests.end();) {
        const auto here = at++;
        if ((*here)->deadlineNs <= nowNs) move(lane, here, removed);
      }
  dropEmpty();
}

void RequestQueue::removeAll(Requests& removed) {
  for (auto& [priority, lanes] : levels_)
    for (Lane& lane : lanes)
      while (!lane.requests.empty()) move(lane, lane.requests.begin(), removed);
  dropEmpty();
}

int64_t RequestQueue::nextDeadlineNs() const {
  int64_t next = INT64_MAX;
  if (deadlinesCount_ == 0) return next;
  for (const auto& [priority, lanes] : levels_)
    for (const Lane& lane : lanes)
      for (const RequestPointer& request : lane.requests) next = std::min(next, request->deadlineNs);
  return next;
}

void RequestQueue::take(const std::function<Begin(ServedRequest&)>& begins,
                        const std::function<bool(ServedRequest&)>& joins, size_t most, Requests& taken) {
  const ServedRequest* first = nullptr;
  bool isAlone = false;
  for (auto level = levels_.begin(); level != levels_.end() && !first; ++level) {
    Lanes& lanes = level->second;
    for (auto lane = lanes.begin(); lane != lanes.end(); ++lane) {
      if (lane->requests.empty()) continue;
      const Begin answer = begins(*lane->requests.front());
      if (answer == Begin::stop) return;
      if (answer == Begin::later) continue;
      isAlone = answer == Begin::alone;
      first = lane->requests.front().get();
      move(*lane, lane->requests.begin(), taken);
      lanes.splice(lanes.end(), lanes, lane);
      break;
    }
  }
  size_t looks = first && !isAlone ? 8 * most : 0;
  for (auto& [priority, lanes] : levels_) {
    for (Lane& lane : lanes) lane.next = lane.requests.begin();
    for (bool any = looks > 0; any && taken.size() < most;) {  // one of each client, and again
      any = false;
      for (Lane& lane : lanes) {
        if (lane.model != first->model) continue;
        while (lane.next != lane.requests.end() && taken.size() < most && looks > 0) {
          const auto here = lane.next++;
          if (!joins(**here)) {
            --looks;
            continue;
          }
          move(lane, here, taken);
          any = true;
          break;
        }
      }
    }
  }
  dropEmpty();
}

}  // namespace dyn
