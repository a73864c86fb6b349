// Entry points: device and pinned memory, copies, fills.
#include <cstdlib>
#include <cstring>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

namespace {

std::string on(const Stream& s) { return " stream " + std::to_string(s.number); }

Status allocate(Driver& d, CUdeviceptr* address, size_t bytes, const char* name, Allocation** made) {
  if (!address || bytes == 0) return d.fail(kInvalidValue, std::string(name) + ": of 0 bytes");
  Allocation* a = d.memory->allocate(bytes, currentDevice);
  if (!a) {
    return d.fail(kOutOfMemory, std::string(name) + ": " + std::to_string(bytes) + " bytes, " +
                                    std::to_string(d.memory->used(currentDevice)) + " of " +
                                    std::to_string(d.memory->capacity()) + " are in use");
  }
  *address = a->begin;
  *made = a;
  return kSuccess;
}

// The bytes of a device address when a command runs: what was there when it was issued may be gone.
Allocation& alive(Driver& d, uint64_t address, size_t bytes, const std::string& name) {
  Allocation* a = d.memory->find(address);
  if (!a || !a->holds(address, bytes))
    throw Fault(FaultCode::IllegalAddress, name + ": " + d.memory->describe(address));
  return *a;
}

Status copyIn(Driver& d, Stream& s, CUdeviceptr to, const void* from, size_t bytes, const char* call) {
  if (bytes == 0) return kSuccess;
  if (!d.range(to, bytes, call)) return kInvalidValue;
  bool pinned = d.isPinned(from, bytes);
  std::string name = "copy host to device " + std::to_string(bytes) + " bytes";
  d.trace(name + (pinned ? " pinned" : " pageable") + on(s));
  // Pinned memory is read when the copy runs, other memory at the call. What a graph copies it reads each
  // time.
  std::shared_ptr<std::vector<uint8_t>> staged;
  if (!pinned && !s.capture) {
    auto* bytesFrom = static_cast<const uint8_t*>(from);
    staged = std::make_shared<std::vector<uint8_t>>(bytesFrom, bytesFrom + bytes);
  }
  return d.issue(s, {name, nullptr, [=, &d]() -> std::vector<Range> {
                       Allocation& a = alive(d, to, bytes, name);
                       std::memcpy(a.data + (to - a.begin), staged ? staged->data() : from, bytes);
                       a.setWritten(to - a.begin, bytes, true);
                       return {{to, to + bytes, true}};
                     }});
}

// The target is spoilt at the call: who does not wait reads 0xfe.
Status copyOut(Driver& d, Stream& s, void* to, CUdeviceptr from, size_t bytes, const char* call, bool waits) {
  if (bytes == 0) return kSuccess;
  if (!d.range(from, bytes, call)) return kInvalidValue;
  bool pinned = d.isPinned(to, bytes);
  std::string name = "copy device to host " + std::to_string(bytes) + " bytes";
  d.trace(name + (pinned ? " pinned" : " pageable") + on(s));
  CommandPtr command;
  Status status = d.issue(s,
                          {name, [=] { std::memset(to, 0xfe, bytes); },
                           [=, &d]() -> std::vector<Range> {
                             Allocation& a = alive(d, from, bytes, name);
                             std::memcpy(to, a.data + (from - a.begin), bytes);
                             return {{from, from + bytes, false}};
                           }},
                          &command);
  if (command && (waits || !pinned)) d.queue.wait(command);
  return status;
}

Status fill(Driver& d, Stream& s, CUdeviceptr to, uint32_t value, size_t count, unsigned width,
            const char* call) {
  size_t bytes = count * width;
  if (bytes == 0) return kSuccess;
  if (to % width) return d.fail(kInvalidValue, std::string(call) + ": the address is misaligned");
  if (!d.range(to, bytes, call)) return kInvalidValue;
  std::string name = "fill " + std::to_string(bytes) + " bytes";
  d.trace(name + on(s));
  return d.issue(s, {name, nullptr, [=, &d]() -> std::vector<Range> {
                       Allocation& a = alive(d, to, bytes, name);
                       uint8_t* at = a.data + (to - a.begin);
                       for (size_t i = 0; i < count; i++) std::memcpy(at + i * width, &value, width);
                       a.setWritten(to - a.begin, bytes, true);
                       return {{to, to + bytes, true}};
                     }});
}

// Runs the body with the stream of a handle.
template <class F>
int onStream(const char* name, void* handle, F body) {
  return enter(name, Needs::Context, [&](Driver& d) {
    Stream* s = d.stream(handle);
    if (!s) return d.fail(kInvalidHandle, std::string(name) + ": that is not a stream");
    return body(d, *s);
  });
}

}  // namespace

SIMCUDA_ENTRY cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return enter("cuMemAlloc_v2", Needs::Context, [&](Driver& d) {
    Allocation* a = nullptr;
    Status status = allocate(d, address, bytes, "cuMemAlloc", &a);
    if (a) d.trace("allocate #" + std::to_string(a->number) + " " + std::to_string(bytes) + " bytes");
    return status;
  });
}

SIMCUDA_ENTRY cuMemFree_v2(CUdeviceptr address) {
  return enter("cuMemFree_v2", Needs::Context, [&](Driver& d) {
    if (address == 0) return kSuccess;
    Allocation* a = d.memory->find(address);
    if (!a || a->begin != address) return d.fail(kInvalidValue, "cuMemFree: " + d.memory->describe(address));
    d.trace("free #" + std::to_string(a->number));
    d.queue.waitAll();
    d.memory->free(address);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuMemAllocAsync(CUdeviceptr* address, size_t bytes, void* stream) {
  return onStream("cuMemAllocAsync", stream, [&](Driver& d, Stream& s) {
    if (s.capture) return d.fail(kCaptureUnsupported, "cuMemAllocAsync: unsupported in a graph");
    Allocation* a = nullptr;
    Status status = allocate(d, address, bytes, "cuMemAllocAsync", &a);
    if (!a) return status;
    d.trace("allocate #" + std::to_string(a->number) + " " + std::to_string(bytes) + " bytes" + on(s));
    uint64_t begin = a->begin;
    return d.issue(s, {"allocate #" + std::to_string(a->number), nullptr, [=]() -> std::vector<Range> {
                         return {{begin, begin + bytes, true}};
                       }});
  });
}

SIMCUDA_ENTRY cuMemFreeAsync(CUdeviceptr address, void* stream) {
  return onStream("cuMemFreeAsync", stream, [&](Driver& d, Stream& s) {
    if (address == 0) return kSuccess;
    if (s.capture) return d.fail(kCaptureUnsupported, "cuMemFreeAsync: unsupported in a graph");
    Allocation* a = d.memory->find(address);
    if (!a || a->begin != address)
      return d.fail(kInvalidValue, "cuMemFreeAsync: " + d.memory->describe(address));
    std::string name = "free #" + std::to_string(a->number);
    d.trace(name + on(s));
    uint64_t bytes = a->bytes;
    return d.issue(s, {name, nullptr, [=, &d]() -> std::vector<Range> {
                         if (!d.memory->free(address))
                           throw Fault(FaultCode::IllegalAddress, name + ": it was freed before");
                         return {{address, address + bytes, true}};
                       }});
  });
}

SIMCUDA_ENTRY cuMemGetInfo_v2(size_t* free, size_t* total) {
  return enter("cuMemGetInfo_v2", Needs::Context, [&](Driver& d) {
    *total = d.memory->capacity();
    *free = *total - d.memory->used(currentDevice);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuMemHostAlloc(void** host, size_t bytes, unsigned) {
  return enter("cuMemHostAlloc", Needs::Context, [&](Driver& d) {
    if (!host || bytes == 0) return d.fail(kInvalidValue, "cuMemHostAlloc: of 0 bytes");
    void* at = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!at) return kOutOfMemory;
    std::memset(at, 0xcb, bytes);
    d.pinned[static_cast<char*>(at)] = bytes;
    d.trace("allocate pinned " + std::to_string(bytes) + " bytes");
    *host = at;
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuMemFreeHost(void* host) {
  return enter("cuMemFreeHost", Needs::Context, [&](Driver& d) {
    auto it = d.pinned.find(static_cast<char*>(host));
    if (it == d.pinned.end()) return d.fail(kInvalidValue, "cuMemFreeHost: cuMemHostAlloc did not give it");
    d.trace("free pinned");
    d.queue.waitAll();
    std::free(host);
    d.pinned.erase(it);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return onStream("cuMemcpyHtoD_v2", nullptr, [&](Driver& d, Stream& s) {
    Status status = copyIn(d, s, to, from, bytes, "cuMemcpyHtoD");
    // From pinned memory the call returns when the bytes are there; else when they are staged, as the
    // driver's manual says.
    if (status == kSuccess && d.isPinned(from, bytes)) d.queue.wait(s.last);
    return status;
  });
}

SIMCUDA_ENTRY cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return onStream("cuMemcpyDtoH_v2", nullptr,
                  [&](Driver& d, Stream& s) { return copyOut(d, s, to, from, bytes, "cuMemcpyDtoH", true); });
}

SIMCUDA_ENTRY cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, void* stream) {
  return onStream("cuMemcpyHtoDAsync_v2", stream,
                  [&](Driver& d, Stream& s) { return copyIn(d, s, to, from, bytes, "cuMemcpyHtoDAsync"); });
}

SIMCUDA_ENTRY cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, void* stream) {
  return onStream("cuMemcpyDtoHAsync_v2", stream, [&](Driver& d, Stream& s) {
    return copyOut(d, s, to, from, bytes, "cuMemcpyDtoHAsync", false);
  });
}

SIMCUDA_ENTRY cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void* stream) {
  return onStream("cuMemcpyDtoDAsync_v2", stream, [&](Driver& d, Stream& s) {
    if (bytes == 0) return kSuccess;
    if (!d.range(to, bytes, "cuMemcpyDtoDAsync") || !d.range(from, bytes, "cuMemcpyDtoDAsync"))
      return kInvalidValue;
    std::string name = "copy device to device " + std::to_string(bytes) + " bytes";
    d.trace(name + on(s));
    return d.issue(s, {name, nullptr, [=, &d]() -> std::vector<Range> {
                         Allocation &a = alive(d, to, bytes, name), &b = alive(d, from, bytes, name);
                         std::memmove(a.data + (to - a.begin), b.data + (from - b.begin), bytes);
                         // What was never written stays so where it is copied to.
                         for (size_t i = 0; i < bytes; i++)
                           a.setWritten(to - a.begin + i, 1, b.isWritten(from - b.begin + i, 1));
                         return {{to, to + bytes, true}, {from, from + bytes, false}};
                       }});
  });
}

SIMCUDA_ENTRY cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, void* stream) {
  return onStream("cuMemsetD8Async", stream,
                  [&](Driver& d, Stream& s) { return fill(d, s, to, value, count, 1, "cuMemsetD8Async"); });
}

SIMCUDA_ENTRY cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, void* stream) {
  return onStream("cuMemsetD32Async", stream,
                  [&](Driver& d, Stream& s) { return fill(d, s, to, value, count, 4, "cuMemsetD32Async"); });
}
