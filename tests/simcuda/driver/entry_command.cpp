// Commands of libraries beside the driver (simcuda.h): they run in the order of their streams, and may touch
// what was declared.
#include <memory>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

namespace {

struct Work {
  std::string name;
  std::vector<dyn_simcuda_buffer> touched, declared;
  dyn_simcuda_command_t command;
  ~Work() { command.release(command.state); }
};

// The one that runs now; the lock is held meanwhile.
const Work* running = nullptr;
std::string refusal;
uint64_t commandsRun = 0;

bool lies(const dyn_simcuda_buffer& range, const dyn_simcuda_buffer& in) {
  return range.begin >= in.begin && range.end <= in.end &&
         (range.writable == DYN_SIMCUDA_INPUT ? in.writable != DYN_SIMCUDA_OUTPUT
                                              : in.writable != DYN_SIMCUDA_INPUT);
}

// What is to be written was not yet.
void beginOutputs(Driver& d, const Work& work) {
  for (const dyn_simcuda_buffer& range : work.touched) {
    Allocation* a = d.memory->find(range.begin);
    if (!a || !a->holds(range.begin, range.end - range.begin))
      throw Fault(FaultCode::IllegalAddress, work.name + ": " + d.memory->describe(range.begin));
    bool allowed = work.declared.empty();
    for (const dyn_simcuda_buffer& buffer : work.declared) allowed |= lies(range, buffer);
    if (!allowed)
      throw Fault(FaultCode::IllegalAddress, work.name + ": " + std::to_string(range.end - range.begin) +
                                                 " bytes that no declared buffer of that use holds");
    if (range.writable == DYN_SIMCUDA_OUTPUT)
      a->setWritten(range.begin - a->begin, range.end - range.begin, false);
  }
}

std::vector<Range> runWork(Driver& d, const Work& work) {
  beginOutputs(d, work);
  running = &work;
  refusal.clear();
  ++commandsRun;
  const char* wrong = work.command.run(work.command.state);
  running = nullptr;
  if (!refusal.empty()) throw Fault(FaultCode::IllegalAddress, work.name + ": " + refusal);
  if (wrong) throw Fault(FaultCode::LaunchFailed, work.name + ": " + wrong);
  std::vector<Range> ranges;
  for (const dyn_simcuda_buffer& range : work.touched)
    ranges.push_back({range.begin, range.end, range.writable != DYN_SIMCUDA_INPUT});
  return ranges;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int dyn_simcuda_command(
    void* stream, const dyn_simcuda_command_t* command) {
  auto work = std::make_shared<Work>();
  work->name = command->name;
  work->touched.assign(command->touched, command->touched + command->count);
  work->command = *command;
  work->declared = std::move(nextBuffers);
  nextBuffers.clear();
  return enter(command->call, Needs::Context, [&](Driver& d) {
    Stream* s = d.stream(stream);
    if (!s) return d.fail(kInvalidHandle, work->name + ": that is not a stream");
    d.trace(work->name + " stream " + std::to_string(s->number));
    CommandPtr issued;
    const Status status =
        d.issue(*s, {work->name, nullptr, [&d, work] { return runWork(d, *work); }}, &issued);
    if (d.options.blocks && issued) d.queue.wait(issued);
    return status;
  });
}

extern "C" __attribute__((visibility("default"))) uint64_t dyn_simcuda_commands_run() {
  std::lock_guard<std::mutex> lock(theLock());
  return commandsRun;
}

extern "C" __attribute__((visibility("default"))) void* dyn_simcuda_bytes(uint64_t address, uint64_t bytes,
                                                                          int writes) {
  if (!running || !refusal.empty()) return nullptr;
  const auto refuse = [&](const std::string& why) {
    refusal = why;
    return nullptr;
  };
  const uint32_t use = writes ? DYN_SIMCUDA_OUTPUT : DYN_SIMCUDA_INPUT;
  bool known = false;
  for (const dyn_simcuda_buffer& buffer : running->touched)
    known |= lies({address, address + bytes, use}, buffer);
  Allocation* a = theDriver()->memory->find(address);
  if (!known || !a || !a->holds(address, bytes))
    return refuse(std::to_string(bytes) + " bytes beyond what it said that it would touch");
  const uint64_t offset = address - a->begin;
  if (writes) {
    a->setWritten(offset, bytes, true);
  } else {
    for (uint64_t i = 0; i < bytes; ++i)
      if (!a->isWritten(offset + i, 1)) return refuse("it reads what nothing has written");
  }
  return a->data + offset;
}
