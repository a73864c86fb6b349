// Entry points: streams and events.
#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

namespace {

std::string numbered(const char* what, int number) {
  return std::string(what) + " " + std::to_string(number);
}

template <class F>
int withStream(const char* name, void* handle, F body) {
  return enter(name, Needs::Context, [&](Driver& d) {
    Stream* s = d.stream(handle);
    if (!s) return d.fail(kInvalidHandle, std::string(name) + ": that is not a stream");
    return body(d, *s);
  });
}

template <class F>
int withEvent(const char* name, void* handle, F body) {
  return enter(name, Needs::Context, [&](Driver& d) {
    Event* e = d.event(handle);
    if (!e) return d.fail(kInvalidHandle, std::string(name) + ": that is not an event");
    return body(d, *e);
  });
}

}  // namespace

SIMCUDA_ENTRY cuStreamCreate(void** handle, unsigned flags) {
  return enter("cuStreamCreate", Needs::Context, [&](Driver& d) {
    auto s = std::make_unique<Stream>();
    s->number = d.queue.nextStreamNumber();
    s->device = currentDevice;
    s->blocking = (flags & 1) == 0;
    d.queue.known(s.get());
    *handle = s.get();
    d.trace(numbered("create stream", s->number));
    d.streams[*handle] = std::move(s);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuStreamDestroy_v2(void* handle) {
  return enter("cuStreamDestroy_v2", Needs::Context, [&](Driver& d) {
    auto it = d.streams.find(handle);
    if (it == d.streams.end()) return d.fail(kInvalidHandle, "cuStreamDestroy: that is not a stream");
    if (it->second->capture) return d.fail(kCaptureUnsupported, "cuStreamDestroy: it is capturing");
    d.trace(numbered("destroy stream", it->second->number));
    d.queue.forget(it->second.get());
    d.streams.erase(it);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuStreamSynchronize(void* handle) {
  return withStream("cuStreamSynchronize", handle, [&](Driver& d, Stream& s) {
    if (s.capture) return d.fail(kCaptureUnsupported, "cuStreamSynchronize: the stream is capturing");
    d.trace(numbered("synchronize stream", s.number));
    // The stream 0 has all blocking streams before it.
    if (&s == &d.queue.legacy(s.device)) {
      d.queue.wait(d.queue.add(s, {"synchronize", nullptr, nullptr}));
    } else {
      d.queue.wait(s.last);
    }
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuStreamQuery(void* handle) {
  return withStream("cuStreamQuery", handle, [&](Driver& d, Stream& s) {
    if (s.capture) return d.fail(kCaptureUnsupported, "cuStreamQuery: the stream is capturing");
    if (s.last && !s.last->done) d.queue.advance(s.last);
    if (s.last && !s.last->done) return kNotReady;
    d.queue.wait(s.last);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuStreamWaitEvent(void* handle, void* event, unsigned) {
  return withStream("cuStreamWaitEvent", handle, [&](Driver& d, Stream& s) {
    Event* e = d.event(event);
    if (!e) return d.fail(kInvalidHandle, "cuStreamWaitEvent: that is not an event");
    d.trace("stream " + std::to_string(s.number) + " waits for event " + std::to_string(e->number));
    if (e->capture) {
      // The stream joins the capture that the event was recorded in.
      if (s.capture && s.capture != e->capture)
        return d.fail(kCaptureUnsupported, "cuStreamWaitEvent: of another capture");
      if (!s.capture) {
        s.capture = e->capture;
        s.captureAfter.clear();
        e->capture->branches.emplace(&s, static_cast<int>(e->capture->branches.size()));
      }
      s.captureAfter.insert(s.captureAfter.end(), e->nodes.begin(), e->nodes.end());
      return kSuccess;
    }
    if (s.capture)
      return d.fail(kCaptureUnsupported, "cuStreamWaitEvent: an event from outside of the capture");
    if (e->recorded) d.queue.add(s, {"wait for an event", nullptr, nullptr}, {e->recorded});
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuEventCreate(void** handle, unsigned) {
  return enter("cuEventCreate", Needs::Context, [&](Driver& d) {
    auto e = std::make_unique<Event>();
    e->number = ++d.eventNumber;
    *handle = e.get();
    d.events[*handle] = std::move(e);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuEventDestroy_v2(void* handle) {
  return enter("cuEventDestroy_v2", Needs::Context, [&](Driver& d) {
    if (d.events.erase(handle) == 0) return d.fail(kInvalidHandle, "cuEventDestroy: that is not an event");
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuEventRecord(void* handle, void* stream) {
  return withEvent("cuEventRecord", handle, [&](Driver& d, Event& e) {
    Stream* s = d.stream(stream);
    if (!s) return d.fail(kInvalidHandle, "cuEventRecord: that is not a stream");
    d.trace("record event " + std::to_string(e.number) + " stream " + std::to_string(s->number));
    e.capture = s->capture;
    e.nodes = s->capture ? s->captureAfter : std::vector<size_t>{};
    if (!s->capture) e.recorded = d.queue.add(*s, {"record an event", nullptr, nullptr});
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuEventSynchronize(void* handle) {
  return withEvent("cuEventSynchronize", handle, [&](Driver& d, Event& e) {
    if (e.capture) return d.fail(kCaptureUnsupported, "cuEventSynchronize: it was recorded in a capture");
    d.trace(numbered("synchronize event", e.number));
    d.queue.wait(e.recorded);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuEventQuery(void* handle) {
  return withEvent("cuEventQuery", handle, [&](Driver& d, Event& e) {
    if (e.recorded && !e.recorded->done) d.queue.advance(e.recorded);
    if (e.recorded && !e.recorded->done) return kNotReady;
    d.queue.wait(e.recorded);
    return kSuccess;
  });
}

// Simulated time: a microsecond a command, and what its instructions take.
SIMCUDA_ENTRY cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return withEvent("cuEventElapsedTime", begin, [&](Driver& d, Event& first) {
    Event* last = d.event(end);
    if (!last || !first.recorded || !last->recorded)
      return d.fail(kInvalidHandle, "cuEventElapsedTime: an event that was not recorded");
    if (!first.recorded->done || !last->recorded->done) return kNotReady;
    *milliseconds =
        static_cast<float>(static_cast<int64_t>(last->recorded->endNs - first.recorded->endNs)) * 1e-6f;
    return kSuccess;
  });
}
