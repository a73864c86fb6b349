#include "ui/support/inbox.h"

#include <QMetaObject>
#include <new>
#include <system_error>

namespace dyn::ui {

void Inbox::post(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  QMetaObject::invokeMethod(this, "takeOne", Qt::QueuedConnection);
}

// One at a time: what keys and mouse do comes in between.
void Inbox::takeOne() {
  std::function<void()> work;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty()) return;
    work = std::move(waiting_.front());
    waiting_.pop_front();
  }
  work();
}

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// Under the lock. False: the system gives no thread.
bool Worker::start() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Worker::post(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (start()) {
      waiting_.push_back(std::move(work));
      changed_.notify_one();
      return;
    }
  }
  work();
}

void Worker::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace dyn::ui
