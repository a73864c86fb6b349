// Work handed from thread to thread: to the window's thread, and to one beside it.
#pragma once

#include <QObject>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace dyn::ui {

// What other threads want done on the thread the inbox belongs to, in order, from its event loop. Nothing is
// done any more once it is destroyed; who posts must know that it lives.
class Inbox : public QObject {
  Q_OBJECT
 public:
  void post(std::function<void()> work);

 private:
  Q_INVOKABLE void takeOne();

  std::mutex mutex_;
  std::deque<std::function<void()>> waiting_;
};

// One thread that does what it is given, in order. Its end waits for what it is doing; the rest is dropped.
// Where the system gives no thread, post() does the work itself.
class Worker {
 public:
  Worker() = default;
  ~Worker();
  void post(std::function<void()> work);

 private:
  bool start();
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace dyn::ui
