// Text can be read on every fill, and times of kernels stand once.
#include <gtest/gtest.h>

#include <QApplication>
#include <cmath>
#include <map>

#include "app/session/views/graph_views.h"
#include "app/session/views/view.h"
#include "ui/graph/graph_canvas.h"
#include "ui/support/theme.h"
#include "ui/views/memory/plan_canvas.h"
#include "ui/views/run/timeline_canvas.h"

namespace dyn::ui {
namespace {

std::string name(const QColor& color) { return color.name().toStdString(); }

void expectLegible(const QColor& text, const QColor& fill, const std::string& where) {
  EXPECT_GE(contrastOf(text, fill), kLegible) << where << ": " << name(text) << " on " << name(fill);
}

void expectText(const QColor& fill, const std::string& where) {
  expectLegible(legibleOn(fill), fill, where);
  expectLegible(quietOn(fill), fill, where + ", quiet");
}

TEST(Colors, contrastIsThatOfWcag) {
  EXPECT_NEAR(contrastOf(Qt::black, Qt::white), 21, 0.01);
  EXPECT_NEAR(contrastOf(QColor(119, 119, 119), Qt::white), 4.48, 0.01);
  EXPECT_EQ(contrastOf(Qt::red, Qt::red), 1);
}

TEST(Colors, textIsLegibleOnAnyFill) {
  for (int red = 0; red < 256; red += 15)
    for (int green = 0; green < 256; green += 15)
      for (int blue = 0; blue < 256; blue += 15) expectText(QColor(red, green, blue), "any");
}

TEST(Colors, textIsLegibleOnEveryFillThatIsUsed) {
  for (const bool dark : {false, true}) {
    const std::string theme = dark ? "dark " : "light ";
    for (const QString& opClass : boxClasses()) {
      const BoxColors colors = classColors(opClass, dark);
      expectLegible(colors.text, colors.fill, theme + opClass.toStdString());
      expectLegible(colors.quiet, colors.fill, theme + opClass.toStdString() + ", quiet");
    }
    expectLegible(frameTitleColor(dark), themeColors(dark).base, theme + "frame");
    expectLegible(noteInk(), noteFill(), theme + "note");
    for (int step = 0; step <= 50; ++step) {
      expectText(heatColor(step / 50.0), theme + "heat");
      expectText(ratioColor(std::exp2(step / 12.5 - 2), dark), theme + "ratio");
    }
    for (const BoxChange change : {BoxChange::added, BoxChange::removed, BoxChange::changed})
      expectText(changeFill(change, dark), theme + "change");
    for (const BoxSide side : {BoxSide::host, BoxSide::device})
      expectText(sideColor(side, dark), theme + "side");
    for (const char* kind : {"kernel", "worker", "device", "iteration", "builtin", "copy", "allocation", "x"})
      for (const char* name : {"gemm", "softmax", "gather", "loop", "check", "add", "?"})
        expectText(timelineColor(kind, name, dark), theme + "timeline");
    for (size_t buffer = 0; buffer < 6; ++buffer)
      for (const Category category : kCategories)
        expectText(bufferColor(category, buffer, false, dark), theme + "plan");
    const QPalette palette = dark ? darkPalette() : lightPalette();
    for (const QPalette::ColorRole text : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                                           QPalette::PlaceholderText, QPalette::Link})
      for (const QPalette::ColorRole paper :
           {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button})
        expectLegible(palette.color(text), palette.color(paper), theme + std::to_string(text));
    expectLegible(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight),
                  theme + "chosen");
  }
}

// What is drawn, with the paleness of small letters: at every scale the text of a box can be read, or there
// is none.
TEST(Colors, textIsLegibleAtEveryScale) {
  constexpr int kSteps = 10;
  for (const bool dark : {false, true}) {
    QApplication::setPalette(dark ? darkPalette() : lightPalette());
    auto view = std::make_shared<GraphView>();
    std::vector<NodeTime> times;
    for (int i = 0; i <= kSteps; ++i) {
      GraphNode node;
      node.id = static_cast<NodeId>(i) + 1;
      node.op = node.label = "MWMW";
      node.place = "m: " + std::to_string(i);
      view->nodes.push_back(node);
      if (i > 0) times.push_back({node.place, {}, i * 1000});
    }
    GraphCanvas canvas;
    canvas.setPalette(QApplication::palette());
    canvas.resize(900, 600);
    canvas.setGraph(view, false);
    for (const bool hot : {false, true}) {
      canvas.setTimes(hot ? times : std::vector<NodeTime>());
      for (const double scale : {0.1, 0.2, 0.26, 0.3, 0.4, 0.55, 0.69, 0.7, 0.85, 1.0, 1.5})
        for (const SceneBox& box : canvas.scene().boxes) {
          canvas.showAt(scale, box.rect.center());
          const QImage image = canvas.grab().toImage();
          const QRectF at(canvas.onScreen(box.rect.topLeft()), canvas.onScreen(box.rect.bottomRight()));
          const QRect inner = at.adjusted(4, 3, -4, -3).toRect();
          if (inner.width() < 8 || inner.height() < 3) continue;
          const QColor fill = image.pixelColor(QPoint(inner.left(), inner.center().y()));
          double most = 1;
          for (int y = inner.top(); y <= inner.bottom(); ++y)
            for (int x = inner.left(); x <= inner.right(); ++x)
              most = std::max(most, contrastOf(image.pixelColor(x, y), fill));
          const std::string where = std::string(dark ? "dark" : "light") + (hot ? ", heat " : " ") +
                                    std::to_string(scale) + ", box " + box.title.toStdString();
          if (scale >= kTextScale)
            EXPECT_GE(most, kLegible) << where;
          else
            EXPECT_LT(most, 1.2) << where << ": no text";
        }
    }
  }
  applyTheme(Theme::system);
}

// Two operations that one kernel computes, one that another does, and memory for them.
Shared<GraphView> graph(int step) {
  auto view = std::make_shared<GraphView>();
  view->step = step;
  const auto add = [&](const char* op, const char* place, bool managesMemory = false) {
    GraphNode node;
    node.id = view->nodes.size() + 1;
    node.op = op;
    node.text = op;
    node.place = place;
    node.managesMemory = managesMemory;
    view->nodes.push_back(node);
  };
  add("alloc", "m: b", true);
  add("a", "m: a");
  add("b", "m: b");
  add("c", "m: c");
  add("kill", "m: b", true);
  return view;
}

TEST(Times, ofAKernelStandOnceAndAddUpToTheRun) {
  GraphCanvas canvas;
  canvas.resize(800, 600);
  canvas.setGraph(graph(0), false);
  canvas.setTimes({{"m: b", {"m: a", "m: b"}, 700}, {"m: c", {}, 300}});
  std::map<std::string, int64_t> shown;
  int64_t sum = 0;
  for (size_t box = 0; box < canvas.scene().boxes.size(); ++box) {
    const int64_t time = canvas.timeOfBox(static_cast<int>(box));
    shown[canvas.scene().boxes[box].title.toStdString()] = time;
    sum += time;
  }
  EXPECT_EQ(sum, 1000);
  EXPECT_EQ(shown["b"], 700);
  EXPECT_EQ(shown["a"], 0) << "it is computed with b";
  EXPECT_EQ(shown["c"], 300);
  EXPECT_EQ(shown["alloc"] + shown["kill"], 0) << "they compute nothing";
  EXPECT_EQ(canvas.timeOfNode(1), 700);
  EXPECT_EQ(canvas.computedWith(1), std::vector<int>{2});
}

// Where steps are compared there is no heat, so that red means one thing.
TEST(Times, differenceAndHeatDoNotMix) {
  for (const bool dark : {false, true}) {
    QApplication::setPalette(dark ? darkPalette() : lightPalette());
    GraphCanvas canvas;
    canvas.setPalette(QApplication::palette());
    canvas.resize(800, 600);
    canvas.setGraph(graph(1), false);
    const Shared<GraphView> before = graph(0);
    const_cast<GraphView&>(*before).nodes.pop_back();
    canvas.setCompared(before);
    const QImage cold = canvas.grab().toImage();
    canvas.setTimes({{"m: b", {"m: a", "m: b"}, 700}, {"m: c", {}, 300}});
    EXPECT_EQ(canvas.grab().toImage(), cold);
    canvas.setCompared(nullptr);
    EXPECT_NE(canvas.grab().toImage(), cold);
  }
  applyTheme(Theme::system);
}

}  // namespace
}  // namespace dyn::ui
