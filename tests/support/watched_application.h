// WatchedApplication: notes which event held the thread of the window for how long, in time of the processor:
// what other programs do meanwhile does not count.
#pragma once

#include <time.h>

#include <QApplication>
#include <QEvent>
#include <QWidget>
#include <string>

namespace dyn::test {

inline double threadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class WatchedApplication : public QApplication {
 public:
  using QApplication::QApplication;
  static WatchedApplication& of() { return *static_cast<WatchedApplication*>(instance()); }
  bool notify(QObject* receiver, QEvent* event) override {
    const std::string name = depth_ == 0 ? nameOf(receiver, event) : std::string();
    const double begin = threadMilliseconds();
    ++depth_;
    const bool answer = QApplication::notify(receiver, event);
    const double time = threadMilliseconds() - begin;
    if (--depth_ == 0 && time > longest_) {
      longest_ = time;
      longestName_ = name;
    }
    return answer;
  }
  void begin() { longest_ = 0; }
  double longest() const { return longest_; }
  const std::string& longestName() const { return longestName_; }

 private:
  static std::string nameOf(const QObject* receiver, const QEvent* event) {
    return std::string(receiver->metaObject()->className()) + " " + receiver->objectName().toStdString() +
           ", event " + std::to_string(event->type());
  }
  int depth_ = 0;
  double longest_ = 0;
  std::string longestName_;
};

}  // namespace dyn::test
