// Faults of the window that a user reported, by what they did.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>

#include "tests/support/idle_window.h"

namespace dyn::ui {
namespace {

class ReportedFaults : public testing::Test {
 protected:
  void open(const char* text) {
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    window_.resize(1280, 900);
    window_.show();
    window_.open(folder_.filePath("m.dyn"));
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  QTemporaryDir folder_;
  MainWindow window_;
};

constexpr const char* kChain = R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(5, k), f32]) {
  %a = matmul(%x, %w)
  %b = matmul(%a, %w)
  %c = matmul(%b, %w)
  return %c
}
)";

// The forecast named the same kernel four times with 3 % each.
TEST_F(ReportedFaults, aForecastHasNoTwoEqualRows) {
  open(kChain);
  window_.setDim("n", 8);
  window_.setDim("k", 5);
  ASSERT_TRUE(window_.showPanel("Sizes"));
  QTest::qWait(300);
  settle();
  const QString said = window_.findChild<QTextBrowser*>("forecast")->toPlainText();
  if (!said.contains("expected time")) GTEST_SKIP() << "this build generates no code";
  const QStringList lines = said.split('\n', Qt::SkipEmptyParts);
  QStringList kernels;
  for (const QString& line : lines)
    if (line.contains(QString::fromUtf8(" × "))) kernels << line;
  ASSERT_FALSE(kernels.isEmpty()) << said.toStdString();
  EXPECT_EQ(kernels.removeDuplicates(), 0) << said.toStdString();
}

// All rows of these trees read the same: their ends were cut off.
TEST_F(ReportedFaults, treesLeaveOutTheMiddleOfNames) {
  open(kChain);
  for (const char* name : {"outline", "found", "whyTree"}) {
    auto* tree = window_.findChild<QTreeView*>(name);
    ASSERT_NE(tree, nullptr) << name;
    EXPECT_EQ(tree->textElideMode(), Qt::ElideMiddle) << name;
  }
}

// A box of a check said nothing but "check".
TEST_F(ReportedFaults, aCheckSaysWhatItChecks) {
  open(kChain);
  int checks = 0;
  const GraphCanvas& canvas = *window_.canvas();
  for (const SceneBox& box : canvas.scene().boxes) {
    if (box.node < 0 || canvas.graph()->nodes[static_cast<size_t>(box.node)].op != "check") continue;
    ++checks;
    EXPECT_FALSE(box.subtitle.isEmpty()) << box.title.toStdString();
  }
  EXPECT_GT(checks, 0);
}

}  // namespace
}  // namespace dyn::ui
