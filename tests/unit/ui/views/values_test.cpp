// Values inside of a run: from the Inspector to a value's numbers, its maps beside each other, one of them
// alone; sizes that only a run knows with their names.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>

#include "app/engine/run/run_result.h"
#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"
#include "ui/views/values/maps_view.h"
#include "ui/views/values/tensor_panel.h"

namespace dyn::ui {
namespace {

// 96 feature maps of 12 x 10; what is positive is counted.
constexpr const char* kFeatures = R"(fn @main(%x: Tensor[(n, 96, 12, 10), f32]) {
  %features = relu(%x)
  %places = nonzero(%features)
  return %places
}
)";

class ValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1280, 900);
    window_.show();
    window_.activateWindow();
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kFeatures);
    file.close();
    window_.setDim("n", 2);
    window_.open(file.fileName());
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  void select(const char* op) {
    const auto& nodes = window_.canvas()->graph()->nodes;
    for (size_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].op == op) window_.canvas()->revealId(nodes[n].id);
    settle();
  }
  void clickLink(QTextBrowser* browser, const QString& text) {
    browser->moveCursor(QTextCursor::Start);
    ASSERT_TRUE(browser->find(text)) << text.toStdString() << " in " << browser->toPlainText().toStdString();
    QTest::mouseClick(browser->viewport(), Qt::LeftButton, {}, browser->cursorRect().center() - QPoint(8, 0));
    settle();
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  template <typename T>
  T* named(const char* name) const {
    return window_.findChild<T*>(name);
  }
  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(ValuesTest, FromTheInspectorToItsMapsAndOneOfThem) {
  window_.run();
  settle();
  if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
  select("relu");
  clickLink(named<QTextBrowser>("details"), "look at its values");
  auto* panel = window_.findChild<TensorPanel*>();
  EXPECT_TRUE(panel->isVisible());
  EXPECT_TRUE(panel->statistics().contains("features")) << panel->statistics().toStdString();
  auto* as = named<QComboBox>("tensorAs");
  as->setFocus();
  QTest::keyClick(as, Qt::Key_Down);
  settle();
  auto* maps = window_.findChild<MapsView*>();
  ASSERT_TRUE(maps->isVisible());
  EXPECT_EQ(maps->count(), 64);
  EXPECT_EQ(maps->caption().toStdString(),
            "maps 0 to 63 of 96 (axis 1), each 12 x 10; the slice 0,64 shows those from 64 on");
  // All have room, and none lies on another.
  for (int a = 0; a < maps->count(); ++a) {
    EXPECT_TRUE(QRectF(maps->rect()).contains(maps->rectOf(a))) << a;
    if (a == 0) continue;
    EXPECT_FALSE(maps->rectOf(a).intersects(maps->rectOf(a - 1))) << a;
  }
  QTest::mouseClick(maps, Qt::LeftButton, {}, maps->rectOf(5).center().toPoint());
  settle();
  EXPECT_EQ(named<QLineEdit>("tensorSlice")->text(), "0,5");
  EXPECT_TRUE(window_.findChild<HeatMap*>()->isVisible()) << "the map alone, with its numbers";
  // Those that were left out.
  auto* slice = named<QLineEdit>("tensorSlice");
  slice->setFocus();
  slice->selectAll();
  QTest::keyClicks(slice, "1,64");
  QTest::keyClick(slice, Qt::Key_Return);
  settle();
  EXPECT_EQ(maps->count(), 32);
  EXPECT_EQ(maps->caption().toStdString(), "maps 64 to 95 of 96 (axis 1), each 12 x 10");
}

TEST_F(ValuesTest, WhatHasNoMapsSaysSo) {
  select("nonzero");
  clickLink(named<QTextBrowser>("details"), "look at its values");
  named<QComboBox>("tensorAs")->setCurrentIndex(1);
  settle();
  auto* maps = window_.findChild<MapsView*>();
  EXPECT_EQ(maps->count(), 0);
  EXPECT_EQ(maps->caption(), "");
}

TEST_F(ValuesTest, SizesOfARunHaveNames) {
  select("nonzero");
  const QString details = named<QTextBrowser>("details")->toPlainText();
  EXPECT_TRUE(details.contains("elements not 0")) << details.toStdString();
  EXPECT_TRUE(named<QTextBrowser>("overview")->toPlainText().contains("(elements not 0)"))
      << named<QTextBrowser>("overview")->toPlainText().toStdString();
  auto* dims = named<QTableWidget>("dims");
  bool isThere = false;
  for (int r = 0; r < dims->rowCount(); ++r)
    isThere = isThere || dims->item(r, 0)->text().contains("elements not 0");
  EXPECT_TRUE(isThere);
  // The name is no part of the question.
  window_.showPanel("Sizes");
  window_.setMode(WindowMode::sizes);
  settle();
  const QRect row = dims->visualItemRect(dims->item(dims->rowCount() - 1, 0));
  QTest::mouseClick(dims->viewport(), Qt::LeftButton, {}, row.center());
  settle();
  EXPECT_TRUE(named<QTextBrowser>("whyAnswer")->toPlainText().contains("nonzero counts"))
      << named<QTextBrowser>("whyAnswer")->toPlainText().toStdString();
}

}  // namespace
}  // namespace dyn::ui
