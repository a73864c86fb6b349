// The sizes panel: sliders, what a run would take, the plot and its limit; and the chain behind a dim as a
// tree.
#include <gtest/gtest.h>

#include <QApplication>
#include <QCheckBox>
#include <QFile>
#include <QLineEdit>
#include <QMouseEvent>
#include <QSlider>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>

#include "tests/support/idle_window.h"
#include "ui/views/run/cockpit_panel.h"
#include "ui/views/why_tree_view.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

constexpr const char* kProduct = R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(m, 5), f32]) {
  %a = relu(%x)
  %b = tanh(%a)
  %c = relu(%b)
  %d = tanh(%c)
  %e = relu(%d)
  %y = matmul(%e, %w)
  return %y
}
)";

void mouseOnCockpit(QWidget* widget, QEvent::Type type, QPointF at) {
  const bool move = type == QEvent::MouseMove;
  QMouseEvent event(type, at, widget->mapToGlobal(at), move ? Qt::NoButton : Qt::LeftButton,
                    type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(widget, &event);
}

void pause(int milliseconds) {
  QEventLoop loop;
  QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
  loop.exec();
}

class CockpitPanelTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.setDim("n", 10);
    window_.setDim("k", 6);
    window_.setDim("m", 6);
    window_.resize(1280, 900);
    window_.show();
    QFile file(directory_.filePath("product.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kProduct);
    file.close();
    window_.open(file.fileName());
    waitIdle(window_);
    ASSERT_EQ(window_.lastError().toStdString(), "");
    ASSERT_TRUE(window_.showPanel("Sizes"));
    QApplication::processEvents();
    waitIdle(window_);
    panel_ = window_.findChild<CockpitPanel*>();
    ASSERT_NE(panel_, nullptr);
  }
  bool canPredict() const { return panel_->summary().contains("expected time"); }
  void set(const char* box, int value) {
    window_.findChild<QSpinBox*>(box)->setValue(value);
    pause(300);
    waitIdle(window_);
  }
  // The machine is measured once for all of these.
  static SessionOptions options() {
    static const QTemporaryDir cache;
    SessionOptions options;
    options.cacheDirectory = cache.path().toStdString();
    return options;
  }
  QTemporaryDir directory_;
  MainWindow window_{options()};
  CockpitPanel* panel_ = nullptr;
};

TEST_F(CockpitPanelTest, ASliderIsTheBoxOfTheRunPanel) {
  window_.findChild<QSlider*>("slider_n")->setValue(33);
  EXPECT_EQ(window_.dimValues().at("n"), 33);
  window_.setDim("n", 44);
  EXPECT_EQ(window_.findChild<QSpinBox*>("size_n")->value(), 44);
  EXPECT_EQ(window_.findChild<QSlider*>("slider_n")->value(), 44);
}

TEST_F(CockpitPanelTest, SizesThatCanNotBeRunSayWhyAndTheLinkAsks) {
  if (!canPredict()) GTEST_SKIP() << "this build generates no code";
  set("size_k", 7);
  EXPECT_TRUE(panel_->summary().contains("No run with these sizes")) << panel_->summary().toStdString();
  EXPECT_TRUE(panel_->summary().contains("check0 fails")) << panel_->summary().toStdString();
  Q_EMIT window_.findChild<QTextBrowser*>("forecast")->anchorClicked(QUrl("why:check0"));
  waitIdle(window_);
  EXPECT_TRUE(QString(window_.stateJson()).contains("why check0?")) << window_.stateJson().toStdString();
  set("size_k", 6);
  EXPECT_TRUE(panel_->summary().contains("expected time"));
}

TEST_F(CockpitPanelTest, TheLimitIsDraggedAndTheSessionAnswers) {
  if (!canPredict()) GTEST_SKIP() << "this build generates no code";
  SweepPlot* plot = panel_->plot();
  ASSERT_TRUE(plot->limitBytes().has_value());
  const qint64 before = *plot->limitBytes();
  QString answer;
  const QPointF handle = plot->limitHandle();
  mouseOnCockpit(plot, QEvent::MouseButtonPress, handle);
  mouseOnCockpit(plot, QEvent::MouseMove, handle + QPointF(0, 20));
  mouseOnCockpit(plot, QEvent::MouseButtonRelease, handle + QPointF(0, 20));
  waitIdle(window_);
  EXPECT_LT(*plot->limitBytes(), before);
  EXPECT_EQ(window_.lastError().toStdString(), "");
  EXPECT_TRUE(plot->answer().contains("largest n within")) << plot->answer().toStdString();
  // Beside the line a click chooses a size.
  mouseOnCockpit(plot, QEvent::MouseButtonPress, QPointF(plot->width() / 2.0, plot->limitHandle().y() + 30));
  EXPECT_EQ(window_.dimValues().at("n"), plot->sizeAt(plot->width() / 2.0));
}

TEST_F(CockpitPanelTest, TheLimitIsTypedAndCountsTheWeights) {
  if (!canPredict()) GTEST_SKIP() << "this build generates no code";
  auto* field = window_.findChild<QLineEdit*>("limitField");
  ASSERT_NE(field, nullptr);
  const auto enter = [&](const QString& text) {
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, text);
    QTest::keyClick(field, Qt::Key_Return);
    waitIdle(window_);
    return panel_->plot()->answer().toStdString();
  };
  EXPECT_TRUE(QString::fromStdString(enter("64 KB")).contains("largest n within 64.0 KiB")) << enter("64 KB");
  EXPECT_NE(enter("nonsense").find("nonsense"), std::string::npos);
  // The weights of this model are its inputs: there is nothing to count.
  EXPECT_FALSE(window_.findChild<QCheckBox*>("limitWithWeights")->isVisible());
  QFile file(directory_.filePath("weighty.dyn"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("fn @main(%x: Tensor[(n, 4), f32]) {\n  %w = constant() {value = f32[4, 4] ");
  file.write("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}\n  %y = matmul(%x, %w)\n  return %y\n}\n");
  file.close();
  window_.open(file.fileName());
  waitIdle(window_);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  auto* withWeights = window_.findChild<QCheckBox*>("limitWithWeights");
  ASSERT_TRUE(withWeights->isVisible());
  EXPECT_NE(enter("60").find("the weights alone take 64 B"), std::string::npos) << enter("60");
  EXPECT_NE(enter("10 KB").find("with 64 B of weights"), std::string::npos) << enter("10 KB");
  QTest::mouseClick(withWeights, Qt::LeftButton, {}, QPoint(8, withWeights->height() / 2));
  waitIdle(window_);
  EXPECT_FALSE(panel_->plot()->answer().contains("of weights")) << panel_->plot()->answer().toStdString();
}

TEST_F(CockpitPanelTest, TheChainBehindADimOpensAndClosesAndLeadsToItsOperations) {
  window_.askWhy("y.0");
  waitIdle(window_);
  auto* tree = window_.findChild<WhyTreeView*>("whyTree");
  ASSERT_EQ(tree->topLevelItemCount(), 2);
  QTreeWidgetItem* folded = tree->topLevelItem(0);
  EXPECT_EQ(folded->text(0).toStdString(), "y.0 = x.0 through 6 operations that keep it");
  EXPECT_EQ(folded->childCount(), 6);
  EXPECT_FALSE(folded->isExpanded());
  tree->setCurrentItem(folded);
  waitIdle(window_);
  const int node = window_.canvas()->selectedNode();
  ASSERT_GE(node, 0);
  EXPECT_EQ(window_.canvas()->graph()->nodes[static_cast<size_t>(node)].op, "matmul");
}

}  // namespace
}  // namespace dyn::ui
