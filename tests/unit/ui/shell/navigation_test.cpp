// From operation to operation: search, tracing, keys, back and forward, the outline, steps side by side.
#include "ui/shell/navigation.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QTemporaryDir>

#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

constexpr const char* kNavigatedModel = R"(
fn @main(%x: Tensor[(batch, seq, 4), f32], %w: Tensor[(4, 4), f32]) {
  %h = matmul(%x, %w)
  %r = relu(%h)
  %e = exp(%x)
  %s = add(%r, %e)
  %y = softmax(%s, axis = -1)
  %z = tanh(%e)
  return %y, %z
}
)";

class NavigationTest : public testing::Test {
 protected:
  void SetUp() override {
    const QString name = folder_.filePath("m.dyn");
    QFile file(name);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kNavigatedModel);
    file.close();
    window_.resize(1400, 900);
    window_.show();
    window_.open(name);
    waitIdle(window_);
    navigation_ = window_.findChild<Navigation*>();
    ASSERT_NE(navigation_, nullptr);
  }
  void choose(const char* name) {
    bool found = false;
    for (const GraphNode& node : canvas()->graph()->nodes)
      found |= node.name == name && node.kind == NodeKind::operation && canvas()->revealId(node.id);
    EXPECT_TRUE(found) << name;
  }
  std::string chosen() const {
    const int node = canvas()->selectedNode();
    return node < 0 ? "" : canvas()->graph()->nodes[static_cast<size_t>(node)].name;
  }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QKeyEvent event(QEvent::KeyPress, key, modifiers);
    QApplication::sendEvent(canvas(), &event);
  }
  GraphCanvas* canvas() const { return window_.canvas(); }
  QTemporaryDir folder_;
  MainWindow window_;
  Navigation* navigation_ = nullptr;
};

TEST_F(NavigationTest, searchesByFactsAndSaysWhichOneIsShown) {
  auto* box = window_.findChild<QLineEdit*>("search");
  box->setText("dim:seq -op:matmul /^(relu|exp|tanh)/");
  EXPECT_EQ(canvas()->matchesCount(), 3);
  auto* found = window_.findChild<Outline*>("found");
  EXPECT_EQ(found->model()->rowCount(), 3);
  canvas()->nextMatch();
  EXPECT_EQ(chosen(), "r");
  canvas()->nextMatch();
  EXPECT_EQ(chosen(), "e");
  canvas()->nextMatch(-1);
  EXPECT_EQ(chosen(), "r");
  bool said = false;
  for (const QLabel* label : window_.findChildren<QLabel*>()) said |= label->text() == "1 of 3 matches";
  EXPECT_TRUE(said);
  canvas()->nextMatch(-1);
  EXPECT_EQ(chosen(), "z") << "round the beginning";
  // A row of the list leads there.
  found->setCurrentIndex(found->model()->index(1, 0));
  EXPECT_EQ(chosen(), "e");
  EXPECT_NE(canvas()->search("/(/"), "") << "what is wrong with the pattern is said";
}

TEST_F(NavigationTest, tracesWhatAValueIsMadeOf) {
  QString said;
  QObject::connect(navigation_, &Navigation::said, [&](const QString& text) { said = text; });
  choose("s");
  navigation_->traceInputs();
  EXPECT_EQ(said.toStdString(), "made of 5 values");
  EXPECT_TRUE(canvas()->isTracing());
  choose("e");
  navigation_->traceOutputs(1);
  EXPECT_EQ(said.toStdString(), "goes into 2 operations");
  navigation_->clearTrace();
  EXPECT_FALSE(canvas()->isTracing());
  choose("h");
  choose("y");
  navigation_->showPath();
  EXPECT_EQ(said.toStdString(), "3 steps from one to the other");
  choose("z");
  navigation_->showPath();
  EXPECT_EQ(said.toStdString(), "no data flows from one to the other");
}

TEST_F(NavigationTest, goesBackAndForward) {
  for (const char* name : {"h", "r", "s"}) choose(name);
  navigation_->back();
  navigation_->back();
  EXPECT_EQ(chosen(), "h");
  navigation_->back();
  EXPECT_EQ(chosen(), "h");
  navigation_->forward();
  EXPECT_EQ(chosen(), "r");
  choose("z");
  navigation_->forward();
  EXPECT_EQ(chosen(), "z") << "nothing lies ahead of a new choice";
  navigation_->back();
  EXPECT_EQ(chosen(), "r");
}

TEST_F(NavigationTest, arrowsFollowTheData) {
  choose("h");
  press(Qt::Key_Down);
  EXPECT_EQ(chosen(), "r");
  press(Qt::Key_Down);
  EXPECT_EQ(chosen(), "s");
  press(Qt::Key_Up);
  EXPECT_TRUE(chosen() == "r" || chosen() == "e") << chosen();
  choose("h");
  press(Qt::Key_Up);
  EXPECT_TRUE(chosen() == "x" || chosen() == "w") << chosen();
}

TEST_F(NavigationTest, theOutlineLeadsBothWays) {
  auto* outline = window_.findChild<Outline*>("outline");
  ASSERT_NE(outline, nullptr);
  choose("y");
  ASSERT_TRUE(outline->currentIndex().isValid());
  EXPECT_EQ(outline->currentIndex().siblingAtColumn(1).data().toString(), "y");
  EXPECT_EQ(outline->currentIndex().siblingAtColumn(2).data().toString(), "f32 [batch, seq, 4]");
  const QModelIndex before = outline->indexAbove(outline->currentIndex());
  outline->setCurrentIndex(before);
  EXPECT_EQ(chosen(), before.siblingAtColumn(1).data().toString().toStdString());
  EXPECT_FALSE(outline->accessibleName().isEmpty());
}

TEST_F(NavigationTest, theChosenOperationStaysWhereItIs) {
  choose("s");
  const auto place = [&] {
    const GraphCanvas& c = *canvas();
    const int box = c.scene().boxOfNode[static_cast<size_t>(c.selectedNode())];
    return c.onScreen(c.scene().boxes[static_cast<size_t>(box)].rect.center());
  };
  const QPointF before = place();
  auto* slider = window_.findChild<QSlider*>("passSlider");
  for (int step = 0; step <= slider->maximum(); ++step) {
    slider->setValue(step);
    waitIdle(window_);
    ASSERT_NE(canvas()->graph(), nullptr);
    EXPECT_EQ(canvas()->graph()->step, step);
    if (canvas()->selectedNode() < 0) break;  // a pass took it away
    const QPointF moved = place() - before;
    EXPECT_LT(std::abs(moved.x()) + std::abs(moved.y()), 1) << "step " << step;
  }
  EXPECT_GT(canvas()->graph()->step, 3);
}

TEST_F(NavigationTest, stepsAreCompared) {
  const int last = static_cast<int>(window_.passes()->rows.size()) - 1;
  EXPECT_EQ(canvas()->changesCount(BoxChange::added), 0);
  window_.compareWith(last);
  waitIdle(window_);
  const int gone = canvas()->changesCount(BoxChange::removed) + canvas()->changesCount(BoxChange::changed);
  EXPECT_GT(gone, 0) << "of the typed graph something is gone or other in the plan";
  EXPECT_EQ(canvas()->changesCount(BoxChange::added), 0);
  window_.showStep(last);
  waitIdle(window_);
  window_.compareWith(0);
  waitIdle(window_);
  EXPECT_GT(canvas()->changesCount(BoxChange::added), 0);
  EXPECT_EQ(canvas()->changesCount(BoxChange::removed), 0);
  window_.compareWith(last);
  waitIdle(window_);
  EXPECT_EQ(canvas()->changesCount(BoxChange::added) + canvas()->changesCount(BoxChange::changed), 0)
      << "with itself";
}

}  // namespace
}  // namespace dyn::ui
