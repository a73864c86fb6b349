// Waits until a window has nothing under way.
#pragma once

#include <gtest/gtest.h>

#include <QEventLoop>
#include <QTimer>

#include "ui/shell/main_window.h"

namespace dyn::test {

inline void waitIdle(ui::MainWindow& window) {
  if (window.idle()) return;
  QEventLoop loop;
  QObject::connect(&window, &ui::MainWindow::becameIdle, &loop, &QEventLoop::quit);
  QTimer::singleShot(120'000, &loop, &QEventLoop::quit);
  loop.exec();
  ASSERT_TRUE(window.idle()) << "the session did not answer";
}

}  // namespace dyn::test
