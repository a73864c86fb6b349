// A system without threads to give: pthread_create fails while `refusesThreads` says so. One file of a test
// program includes this.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace dyn::test {

// How many threads are given before none is.
inline std::atomic<int> givenThreads{0};
inline std::atomic<bool> refusesThreads{false};

// Refuses threads from here to its end, but for the first ones.
struct RefusedThreads {
  explicit RefusedThreads(int given = 0) {
    givenThreads = given;
    refusesThreads = true;
  }
  ~RefusedThreads() { refusesThreads = false; }
};

// Sanitizers have one of their own, which must not be replaced.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCanRefuseThreads = false;
#else
inline constexpr bool kCanRefuseThreads = true;
#endif

}  // namespace dyn::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In the place of the system's, which fails where a process has as many threads as it may.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const bool refuses = dyn::test::refusesThreads && dyn::test::givenThreads-- <= 0;
  return refuses ? EAGAIN : next(thread, attributes, run, argument);
}
#endif
