// commands.h — what is asked of a device is deferred: a command runs when something waits for it, in a random
// legal order by seed.
//
// Order is kept as vector clocks: a command knows all that must be done before it, of each stream how far.
// Two commands that touch the same bytes, one of them writing, with no order between them are a race, however
// they happened to run.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simcuda/ptx/launch.h"

namespace simcuda {

struct Range {
  uint64_t begin, end;
  bool write;
};

// What a command does; kept by graphs, which do it again. It touches no host memory but what it is about.
struct Recipe {
  std::string name;                         // for reports: "launch softmax"
  std::function<void()> atIssue;            // when the program asks for it; may be empty
  std::function<std::vector<Range>()> run;  // what it touched; throws Fault
};

using Clock = std::map<int, uint64_t>;  // of each stream, by number: how many of its commands are done before

struct Command {
  std::string name;
  std::function<std::vector<Range>()> run;
  int stream = 0, device = 0;
  uint64_t position = 0;  // in its stream, from 1
  Clock before;           // its own stream and position included
  std::vector<std::shared_ptr<Command>> after;
  bool done = false;
  uint64_t endNs = 0;  // of simulated time
  std::vector<Range> touched;
};
using CommandPtr = std::shared_ptr<Command>;

struct Capture;

struct Stream {
  int number = 0;
  int device = 0;
  bool blocking = true;  // takes turns with the stream 0
  uint64_t count = 0;
  CommandPtr last;
  std::shared_ptr<Capture> capture;  // what is asked of it becomes a graph
  std::vector<size_t> captureAfter;  // nodes of that, which the next one follows
};

struct Event {
  int number = 0;
  CommandPtr recorded;
  std::shared_ptr<Capture> capture;  // it was recorded while a graph was captured
  std::vector<size_t> nodes;
};

struct GraphNode {
  Recipe recipe;
  int branch = 0;  // 0: the stream where the capture began; others run beside it
  std::vector<size_t> after;
};
struct Graph {
  std::vector<GraphNode> nodes;
};
struct Capture {
  Graph graph;
  Stream* origin = nullptr;
  std::map<Stream*, int> branches;
};
struct GraphExec {
  Graph graph;
  std::vector<std::unique_ptr<Stream>> branches;  // the streams beside the one it is launched in
};

// All commands of a process.
class CommandQueue {
 public:
  explicit CommandQueue(uint64_t seed, bool checks)
      : random_(seed), random_order_(seed != 0), checks_(checks) {}

  // Issues a command; `after` beside what the stream has.
  CommandPtr add(Stream& stream, const Recipe& recipe, std::vector<CommandPtr> after = {});
  void launch(Stream& stream, GraphExec& graph);
  // Runs what must be done for it to be done, and what happens to run beside that. The host then knows of it.
  // Throws Fault.
  void wait(const CommandPtr& command);
  void waitAll();
  // Runs one command that it waits for, or none: what a program that asks again and again gets.
  void advance(const CommandPtr& command);

  Stream& legacy(int device);
  void known(Stream* stream) { streams_.insert(stream); }
  void forget(Stream* stream) { streams_.erase(stream); }
  int nextStreamNumber() { return ++numbers_; }
  void drop(int device);  // after a fault nothing runs there any more
  // Told of each fault of a command. False: it is thrown on; else it is the matter of another device, and who
  // waits goes on.
  std::function<bool(int device, const Fault& fault)> onFault;
  void spend(uint64_t ns) { nowNs_ += ns; }

 private:
  void run(const CommandPtr& command);
  void findRaces(const Command& command);
  std::vector<CommandPtr> needed(const CommandPtr& command) const;
  static bool isReady(const Command& command);
  void forgetKnown();

  Random random_;
  bool random_order_, checks_;
  uint64_t nowNs_ = 0;
  int numbers_ = 0;
  Clock host_;
  std::vector<CommandPtr> pending_, history_;  // history: done, but some other may have no order to it
  std::map<int, std::unique_ptr<Stream>> legacy_;
  std::set<Stream*> streams_;
};

}  // namespace simcuda
