#include "tests/simcuda/driver/driver.h"

#include <cstdlib>

namespace simcuda {

thread_local int currentDevice = -1;
thread_local std::vector<dyn_simcuda_buffer> nextBuffers;

std::unique_ptr<Driver>& theDriver() {
  static std::unique_ptr<Driver> driver;
  return driver;
}

std::mutex& theLock() {
  static std::mutex lock;
  return lock;
}

Options Options::fromEnvironment() {
  Options o;
  auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
  };
  o.seed = number("DYN_SIMCUDA_SEED", o.seed);
  o.checks = number("DYN_SIMCUDA_CHECKS", 1) != 0;
  o.memory = number("DYN_SIMCUDA_MEMORY", o.memory);
  o.devices = static_cast<int>(number("DYN_SIMCUDA_DEVICES", 1));
  o.arch = static_cast<int>(number("DYN_SIMCUDA_ARCH", 80));
  o.failAt = number("DYN_SIMCUDA_FAIL", 0);
  const char* fail = std::getenv("DYN_SIMCUDA_FAIL");
  const char* colon = fail ? std::strchr(fail, ':') : nullptr;
  if (colon) o.failCode = std::atoi(colon + 1);
  if (const char* call = std::getenv("DYN_SIMCUDA_SKIP")) o.skip = call;
  if (const char* file = std::getenv("DYN_SIMCUDA_TRACE")) o.trace = file;
  return o;
}

Driver::Driver(Options given)
    : options(std::move(given)),
      memory(std::make_unique<DeviceMemory>(options.memory)),
      queue(options.seed, options.checks),
      devices(options.devices) {
  for (size_t i = 0; i < devices.size(); i++) devices[i].index = static_cast<int>(i);
  if (!options.trace.empty()) traceFile_ = std::fopen(options.trace.c_str(), "w");
}

Driver::~Driver() {
  if (traceFile_) std::fclose(traceFile_);
  for (auto& [begin, bytes] : pinned) std::free(const_cast<char*>(begin));
}

void Driver::trace(const std::string& line) {
  if (!traceFile_) return;
  std::fprintf(traceFile_, "%s\n", line.c_str());
  std::fflush(traceFile_);
}

bool Driver::skips(const std::string& name) {
  if (name + ":" + std::to_string(++callsByName[name]) != options.skip) return false;
  trace("skipped " + options.skip);
  return true;
}

Device* Driver::current() {
  if (currentDevice < 0 || currentDevice >= static_cast<int>(devices.size())) return nullptr;
  Device& device = devices[currentDevice];
  return device.retained > 0 ? &device : nullptr;
}

Stream* Driver::stream(void* handle) {
  if (handle == nullptr || handle == reinterpret_cast<void*>(1)) return &queue.legacy(currentDevice);
  auto it = streams.find(handle);
  return it == streams.end() ? nullptr : it->second.get();
}

Event* Driver::event(void* handle) {
  auto it = events.find(handle);
  return it == events.end() ? nullptr : it->second.get();
}

Status Driver::issue(Stream& stream, const Recipe& recipe, CommandPtr* command) {
  if (stream.capture) {
    Capture& capture = *stream.capture;
    capture.graph.nodes.push_back({recipe, capture.branches.at(&stream), stream.captureAfter});
    stream.captureAfter = {capture.graph.nodes.size() - 1};
    return kSuccess;
  }
  CommandPtr added = queue.add(stream, recipe);
  if (command) *command = added;
  return kSuccess;
}

bool Driver::isPinned(const void* host, size_t bytes) const {
  auto at = static_cast<const char*>(host);
  auto it = pinned.upper_bound(at);
  if (it == pinned.begin()) return false;
  --it;
  return at + bytes <= it->first + it->second;
}

Allocation* Driver::range(uint64_t address, uint64_t bytes, const char* what) {
  Allocation* a = memory->find(address);
  if (a && a->holds(address, bytes)) return a;
  lastFault = std::string(what) + " of " + std::to_string(bytes) + " bytes: " + memory->describe(address) +
              (a ? ", and ends beyond it" : "");
  return nullptr;
}

}  // namespace simcuda
