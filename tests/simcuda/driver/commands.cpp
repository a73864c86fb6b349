#include "tests/simcuda/driver/commands.h"

#include <algorithm>

namespace simcuda {
namespace {

void join(Clock& clock, const Clock& other) {
  for (auto& [stream, position] : other) clock[stream] = std::max(clock[stream], position);
}

bool includes(const Clock& clock, const Command& command) {
  auto it = clock.find(command.stream);
  return it != clock.end() && it->second >= command.position;
}

std::string named(const Command& c) { return c.name + " (stream " + std::to_string(c.stream) + ")"; }

}  // namespace

Stream& CommandQueue::legacy(int device) {
  auto& stream = legacy_[device];
  if (!stream) {
    stream = std::make_unique<Stream>();
    stream->number = -device;  // 0 of the first device
    stream->device = device;
  }
  return *stream;
}

CommandPtr CommandQueue::add(Stream& stream, const Recipe& recipe, std::vector<CommandPtr> after) {
  auto command = std::make_shared<Command>();
  command->name = recipe.name;
  command->run = recipe.run;
  command->stream = stream.number;
  command->device = stream.device;
  command->position = ++stream.count;
  command->before = host_;
  if (stream.last) after.push_back(stream.last);
  Stream& zero = legacy(stream.device);
  if (&stream == &zero) {
    for (Stream* other : streams_) {
      if (other->device == stream.device && other->blocking && other->last) after.push_back(other->last);
    }
  } else if (stream.blocking && zero.last) {
    after.push_back(zero.last);
  }
  for (const CommandPtr& earlier : after) join(command->before, earlier->before);
  command->before[stream.number] = command->position;
  command->after = std::move(after);
  stream.last = command;
  pending_.push_back(command);
  if (recipe.atIssue) recipe.atIssue();
  return command;
}

void CommandQueue::launch(Stream& stream, GraphExec& exec) {
  std::vector<CommandPtr> made;
  CommandPtr begin = add(stream, {"graph launch", nullptr, nullptr});
  for (const GraphNode& node : exec.graph.nodes) {
    std::vector<CommandPtr> after{begin};
    for (size_t i : node.after) after.push_back(made[i]);
    made.push_back(
        add(node.branch == 0 ? stream : *exec.branches[node.branch - 1], node.recipe, std::move(after)));
  }
  add(stream, {"end of a graph", nullptr, nullptr}, made);
}

bool CommandQueue::isReady(const Command& command) {
  return std::all_of(command.after.begin(), command.after.end(), [](const CommandPtr& c) { return c->done; });
}

std::vector<CommandPtr> CommandQueue::needed(const CommandPtr& command) const {
  std::vector<CommandPtr> result;
  std::set<const Command*> seen;
  std::vector<CommandPtr> open{command};
  while (!open.empty()) {
    CommandPtr c = open.back();
    open.pop_back();
    if (c->done || !seen.insert(c.get()).second) continue;
    result.push_back(c);
    open.insert(open.end(), c->after.begin(), c->after.end());
  }
  return result;
}

void CommandQueue::advance(const CommandPtr& command) {
  std::vector<CommandPtr> candidates = random_order_ ? pending_ : needed(command);
  std::erase_if(candidates, [](const CommandPtr& c) { return c->done || !isReady(*c); });
  if (candidates.empty()) return;
  // In the plain order the one that was issued first of its stream, the lowest stream first.
  size_t chosen = 0;
  if (random_order_) {
    chosen = random_.below(static_cast<uint32_t>(candidates.size()));
  } else {
    for (size_t i = 1; i < candidates.size(); i++) {
      if (candidates[i]->stream < candidates[chosen]->stream) chosen = i;
    }
  }
  run(candidates[chosen]);
}

void CommandQueue::wait(const CommandPtr& command) {
  if (!command) return;
  while (!command->done) advance(command);
  join(host_, command->before);
  forgetKnown();
}

void CommandQueue::waitAll() {
  while (!pending_.empty()) advance(pending_.front());
  for (Stream* stream : streams_) {
    if (stream->last) join(host_, stream->last->before);
  }
  for (auto& [device, stream] : legacy_) {
    if (stream->last) join(host_, stream->last->before);
  }
  for (const CommandPtr& c : history_) join(host_, c->before);
  forgetKnown();
}

void CommandQueue::run(const CommandPtr& command) {
  std::erase(pending_, command);
  command->done = true;
  nowNs_ += 1000;
  try {
    if (command->run) command->touched = command->run();
    command->endNs = nowNs_;
    if (checks_) findRaces(*command);
  } catch (const Fault& fault) {
    drop(command->device);
    if (!onFault || !onFault(command->device, fault)) throw;
    return;
  }
  command->after.clear();
  command->run = nullptr;
  history_.push_back(command);
}

void CommandQueue::drop(int device) {
  const auto isThere = [device](const CommandPtr& c) { return c->device == device; };
  for (const CommandPtr& c : pending_) {
    if (!isThere(c)) continue;
    c->after.clear();
    c->done = true;  // those of other devices that wait for it go on
  }
  std::erase_if(pending_, isThere);
  std::erase_if(history_, isThere);
}

void CommandQueue::findRaces(const Command& command) {
  for (const CommandPtr& other : history_) {
    if (includes(command.before, *other) || includes(other->before, command)) continue;
    for (const Range& a : other->touched) {
      for (const Range& b : command.touched) {
        if (a.begin >= b.end || b.begin >= a.end || !(a.write || b.write)) continue;
        throw Fault(FaultCode::LaunchFailed,
                    "stream race: " + named(*other) + " and " + named(command) + " touch the same " +
                        std::to_string(std::min(a.end, b.end) - std::max(a.begin, b.begin)) +
                        " bytes, and nothing orders them");
      }
    }
  }
}

// What the host knows to be done comes before all that it issues from now on; what is pending may have been
// issued before.
void CommandQueue::forgetKnown() {
  std::erase_if(history_, [&](const CommandPtr& c) {
    return includes(host_, *c) && std::all_of(pending_.begin(), pending_.end(),
                                              [&](const CommandPtr& p) { return includes(p->before, *c); });
  });
}

}  // namespace simcuda
