#include "tests/simcuda/driver/driver.h"

#include <cctype>
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

// "3:700", or "3" alone.
static void numbered(const std::string& text, uint64_t& number, int& code) {
  number = std::strtoull(text.c_str(), nullptr, 0);
  if (const size_t colon = text.find(':'); colon != std::string::npos)
    code = std::atoi(text.c_str() + colon + 1);
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
  o.blocks = number("CUDA_LAUNCH_BLOCKING", 0) != 0;
  o.devices = static_cast<int>(number("DYN_SIMCUDA_DEVICES", 1));
  o.arch = static_cast<int>(number("DYN_SIMCUDA_ARCH", 80));
  if (const char* fail = std::getenv("DYN_SIMCUDA_FAIL")) {
    std::string text = fail;
    if (!text.empty() && !std::isdigit(static_cast<unsigned char>(text[0]))) {
      o.failCall = text.substr(0, text.find(':'));
      text.erase(0, std::min(text.size(), o.failCall.size() + 1));
    }
    numbered(text, o.failAt, o.failCode);
  }
  if (const char* fault = std::getenv("DYN_SIMCUDA_FAULT")) numbered(fault, o.faultAt, o.faultCode);
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
  queue.onFault = [this](int device, const Fault& fault) {
    stop(devices[device], fault);
    return device != currentDevice;
  };
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

void Driver::stop(Device& device, const Fault& fault) {
  queue.drop(device.index);
  device.sticky = static_cast<Status>(fault.code);
  trace("fault " + std::to_string(device.sticky));
}

bool Driver::skips(const std::string& name) {
  if (name + ":" + std::to_string(++callsByName[name]) != options.skip) return false;
  trace("skipped " + options.skip);
  return true;
}

bool Driver::fails(const std::string& name) {
  if (options.failCall.empty()) return calls == options.failAt;
  return name == options.failCall && ++callsOfFailing == options.failAt;
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
