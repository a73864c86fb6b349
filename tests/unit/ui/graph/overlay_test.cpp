// An overlay of a file on the graph, in the table of layers and in the Inspector; faults; on and off.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QMimeData>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTreeWidget>
#include <QTreeWidgetItemIterator>

#include "app/engine/run/run_result.h"
#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"
#include "ui/graph/graph_overlay.h"
#include "ui/support/theme.h"
#include "ui/support/why_grey.h"
#include "ui/views/run/places_panel.h"

namespace dyn::ui {
namespace {

constexpr const char* kOverlaid = R"(fn @main(%x: Tensor[(n, 96), f32], %w: Tensor[(96, 64), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  return %y
}
)";

class OverlayTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1280, 900);
    window_.show();
    window_.activateWindow();
    write("m.dyn", kOverlaid);
    window_.open(folder_.filePath("m.dyn"));
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  void write(const char* name, const char* text) {
    QFile file(folder_.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
  }
  // As a person does it with the mouse.
  void drop(const char* name) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(folder_.filePath(name))});
    QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    ASSERT_TRUE(enter.isAccepted());
    QDropEvent event(QPointF(400, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &event);
    settle();
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  int nodeNamed(const char* name) const {
    const auto& nodes = window_.canvas()->graph()->nodes;
    for (size_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].name == name && nodes[n].kind == NodeKind::operation) return static_cast<int>(n);
    return -1;
  }
  // The colour of the node's box, beside its text.
  QColor fillOf(const char* name) const {
    const GraphCanvas& canvas = *window_.canvas();
    const int box = canvas.scene().boxOfNode[static_cast<size_t>(nodeNamed(name))];
    const QRectF rect = canvas.scene().boxes[static_cast<size_t>(box)].rect;
    const QPoint at = canvas.onScreen(QPointF(rect.left() + 6, rect.center().y())).toPoint();
    return window_.canvas()->grab().toImage().pixelColor(at);
  }
  QAction* show() const { return window_.findChild<QAction*>("showOverlay"); }
  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(OverlayTest, NumbersColourTheGraphAndAreSwitchedOff) {
  EXPECT_FALSE(show()->isEnabled());
  EXPECT_NE(whyGrey(show()), "");
  const QColor before = fillOf("s");
  write("error.json", R"({"name": "error", "unit": "dB", "results": {"h": 1, "s": 5, "gone": 9}})");
  drop("error.json");
  ASSERT_EQ(window_.lastError().toStdString(), "");
  ASSERT_TRUE(show()->isEnabled() && show()->isChecked());
  EXPECT_EQ(show()->text().toStdString(), "Overlay error");
  EXPECT_EQ(fillOf("s"), overlayColor(1));
  EXPECT_EQ(fillOf("h"), overlayColor(0));
  EXPECT_EQ(window_.canvas()->overlayOnGraph().unmatched, std::vector<std::string>{"gone"});
  window_.canvas()->select(nodeNamed("s"));
  settle();
  EXPECT_TRUE(window_.findChild<QTextBrowser*>("details")->toPlainText().contains("5 dB"));
  show()->trigger();
  settle();
  EXPECT_EQ(fillOf("s"), before) << "off: as it was";
  EXPECT_FALSE(window_.findChild<QTextBrowser*>("details")->toPlainText().contains("5 dB"));
  show()->trigger();
  settle();
  EXPECT_EQ(fillOf("s"), overlayColor(1));
}

TEST_F(OverlayTest, TextsHaveAColourEach) {
  write("bits.json", R"({"h": "int8", "s": "f32", "y": "int8"})");
  drop("bits.json");
  EXPECT_EQ(fillOf("h"), fillOf("y"));
  EXPECT_NE(fillOf("h"), fillOf("s"));
}

TEST_F(OverlayTest, ItStaysFromStepToStepAndGoesWithTheModel) {
  write("o.json", R"({"h": 1, "s": 5})");
  drop("o.json");
  for (size_t step = 0; step < window_.passes()->rows.size(); ++step) {
    window_.showStep(static_cast<int>(step));
    settle();
    if (nodeNamed("s") < 0) continue;
    const OverlayEntry* entry = window_.canvas()->overlayOfNode(nodeNamed("s"));
    ASSERT_NE(entry, nullptr) << window_.passes()->rows[step].name;
    EXPECT_EQ(entry->number, 5);
  }
  write("other.dyn", "fn @main(%a: Tensor[(k), f32]) {\n  %h = exp(%a)\n  return %h\n}\n");
  window_.open(folder_.filePath("other.dyn"));
  settle();
  EXPECT_FALSE(show()->isEnabled());
  EXPECT_EQ(window_.canvas()->overlayOfNode(nodeNamed("h")), nullptr);
}

TEST_F(OverlayTest, ABadFileSaysWhereAndKeepsTheOneBefore) {
  write("o.json", R"({"h": 1, "s": 5})");
  drop("o.json");
  write("bad.json", "{\"h\": 1,\n \"s\": [5]}");
  drop("bad.json");
  EXPECT_TRUE(window_.lastError().contains("bad.json:2:2")) << window_.lastError().toStdString();
  EXPECT_TRUE(window_.lastError().contains("'s' has a list")) << window_.lastError().toStdString();
  EXPECT_EQ(fillOf("s"), overlayColor(1)) << "the overlay before is still there";
}

TEST_F(OverlayTest, TheTableOfLayersHasAColumnOfIt) {
  window_.setDim("n", 7);
  window_.run();
  settle();
  if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
  QTreeWidget* tree = window_.findChild<PlacesPanel*>()->tree();
  EXPECT_TRUE(tree->isColumnHidden(7));
  write("o.json", R"({"name": "error", "unit": "dB", "results": {"s": 5}})");
  drop("o.json");
  EXPECT_FALSE(tree->isColumnHidden(7));
  EXPECT_EQ(tree->headerItem()->text(7).toStdString(), "error, dB");
  QStringList values;
  for (QTreeWidgetItemIterator at(tree); *at; ++at)
    if (!(*at)->text(7).isEmpty()) values << (*at)->text(7);
  EXPECT_TRUE(values.contains("5")) << "the product's row, and those above it";
  show()->trigger();
  settle();
  EXPECT_TRUE(tree->isColumnHidden(7));
}

// Text on the fills, in both themes.
TEST(OverlayColours, AreLegible) {
  for (const bool dark : {false, true}) {
    for (int i = 0; i <= 20; ++i) {
      const QColor fill = overlayColor(i / 20.0);
      EXPECT_GE(contrastOf(legibleOn(fill), fill), kLegible) << i;
    }
    for (int text = 0; text <= kMostOverlayTexts; ++text) {
      const QColor fill = overlayTextColor(text, dark);
      EXPECT_GE(contrastOf(legibleOn(fill), fill), kLegible) << text;
    }
  }
}

}  // namespace
}  // namespace dyn::ui
