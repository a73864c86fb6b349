// Faults of the window that a user reported, by what they did: with keys, mouse clicks and what is typed.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QStatusBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <functional>
#include <map>
#include <set>

#include "tests/support/idle_window.h"
#include "tests/support/paths.h"
#include "ui/views/run/rows_panel.h"

namespace dyn::ui {
namespace {

class ReportedFaults : public testing::Test {
 protected:
  void open(const QByteArray& text, const QString& name = "m.dyn") {
    const QString path = folder_.filePath(name);
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    openFile(path);
  }
  void openFile(const QString& path) {
    window_.resize(1280, 900);
    window_.show();
    window_.activateWindow();
    window_.open(path);
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers with = {}) {
    QWidget* focused = QApplication::focusWidget();
    QTest::keyClick(focused ? focused : &window_, key, with);
  }
  GraphCanvas& canvas() { return *window_.canvas(); }
  // The rooms that names at ports are given.
  static std::vector<QRectF> portTexts(const GraphScene& scene) {
    std::vector<QRectF> texts;
    for (const SceneEdge& edge : scene.edges)
      if (const QRectF text = portTextRect(edge, scene.boxes[static_cast<size_t>(edge.to)].rect);
          !text.isEmpty())
        texts.push_back(text);
    return texts;
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
TEST_F(ReportedFaults, rowsOfTreesReadDifferently) {
  openFile(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx"));
  for (const char* name : {"outline", "found", "whyTree"}) {
    auto* tree = window_.findChild<QTreeView*>(name);
    ASSERT_NE(tree, nullptr) << name;
    EXPECT_EQ(tree->textElideMode(), Qt::ElideMiddle) << name;
    EXPECT_FALSE(tree->wordWrap()) << name << ": of lines that are wrapped the first alone is seen";
  }
  auto* inspector = window_.findChild<QTextBrowser*>("details");
  ASSERT_TRUE(inspector->find("Outputs") && inspector->find("seq"));
  QTest::mouseClick(inspector->viewport(), Qt::LeftButton, {},
                    inspector->cursorRect().center() - QPoint(8, 0));
  settle();
  auto* tree = window_.findChild<QTreeView*>("whyTree");
  ASSERT_TRUE(tree->isVisible());
  std::map<QString, QStringList> seen;  // as they are drawn: the whole lines
  const std::function<void(const QModelIndex&, int)> walk = [&](const QModelIndex& parent, int depth) {
    for (int row = 0; row < tree->model()->rowCount(parent); ++row) {
      const QModelIndex index = tree->model()->index(row, 0, parent);
      const int width = tree->viewport()->width() - (depth + 1) * tree->indentation();
      seen[tree->fontMetrics().elidedText(index.data().toString(), Qt::ElideMiddle, width)]
          << index.data(Qt::ToolTipRole).toString();
      walk(index, depth + 1);
    }
  };
  walk({}, 0);
  EXPECT_GT(seen.size(), 5u);
  for (auto& [drawn, lines] : seen) {
    lines.removeDuplicates();
    EXPECT_LE(lines.size(), 2) << drawn.toStdString() << " stands for\n" << lines.join('\n').toStdString();
  }
}

// A box of a check said nothing but "check".
TEST_F(ReportedFaults, aCheckSaysWhatItChecks) {
  open(kChain);
  int checks = 0;
  for (const SceneBox& box : canvas().scene().boxes) {
    if (box.node < 0 || canvas().graph()->nodes[static_cast<size_t>(box.node)].op != "check") continue;
    ++checks;
    EXPECT_FALSE(box.subtitle.isEmpty()) << box.title.toStdString();
  }
  EXPECT_GT(checks, 0);
}

// The first run of a model said nothing but how long it took so far, and no box grew warm.
TEST_F(ReportedFaults, theWarmUpIsNamedAndShowsWhereItIs) {
  QByteArray text = "fn @main(%x: Tensor[(n, n), f32]) {\n  %v0 = matmul(%x, %x)\n";
  for (int i = 1; i < 12; ++i) text += QString("  %v%1 = matmul(%v%2, %x)\n").arg(i).arg(i - 1).toUtf8();
  open(text + "  return %v11\n}\n");
  auto* size = window_.findChild<QWidget*>("dim_n");
  ASSERT_NE(size, nullptr);
  window_.setDim("n", 1200);
  settle();
  QStringList said;
  bool isWarm = false;  // a box, before anything was measured
  QTimer look;
  look.setInterval(5);
  QObject::connect(&look, &QTimer::timeout, &look, [&] {
    for (const QLabel* label : window_.statusBar()->findChildren<QLabel*>())
      if (label->text().startsWith("warming up") && !said.contains(label->text())) said << label->text();
    if (said.isEmpty() || window_.lastRun()) return;
    for (size_t box = 0; box < canvas().scene().boxes.size(); ++box)
      isWarm |= canvas().timeOfBox(static_cast<int>(box)) > 0;
  });
  look.start();
  canvas().setFocus();
  press(Qt::Key_R, Qt::ControlModifier);
  settle();
  ASSERT_NE(window_.lastRun(), nullptr);
  ASSERT_FALSE(said.isEmpty());
  EXPECT_FALSE(said.filter("operation").isEmpty()) << said.join('\n').toStdString();
  EXPECT_TRUE(isWarm);
}

// The same sizes by the same pipeline took 25.5 MiB in one run and 27.0 in the next.
TEST_F(ReportedFaults, thePeakIsTheSameInEachRun) {
  openFile(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx"));
  auto* pipeline = window_.findChild<QLineEdit*>("pipeline");
  ASSERT_NE(pipeline, nullptr);
  ASSERT_TRUE(window_.showPanel("IR"));
  pipeline->setFocus();
  QTest::keyClicks(pipeline, "-fuse");
  QTest::keyClick(pipeline, Qt::Key_Return);
  settle();
  std::set<int64_t> peaks;
  for (int run = 0; run < 3; ++run) {
    press(Qt::Key_R, Qt::ControlModifier);
    settle();
    ASSERT_NE(window_.lastRun(), nullptr);
    peaks.insert(window_.lastRun()->peakBytes);
    ASSERT_TRUE(window_.lastRun()->predictedPeakBytes);
    peaks.insert(*window_.lastRun()->predictedPeakBytes);
  }
  EXPECT_EQ(peaks.size(), 1u) << *peaks.begin() << " to " << *peaks.rbegin();
}

// Values that come in from far away wrote their names over each other.
TEST_F(ReportedFaults, namesOfPortsKeepToTheirBoxes) {
  // A value that so many boxes of one group take comes in by ports. Each group has two chains, side by side.
  QByteArray text =
      "fn @main(%x: Tensor[(n), f32]) {\n  %a_value_of_the_first_layer_with_a_long_name = relu(%x)\n";
  QString before = "%x";
  for (int block = 0; block < 4; ++block) {
    QString left = before, right = before;
    for (int i = 0; i < 6; ++i)
      for (auto [end, op, side] : {std::tuple(&left, "add", "l"), std::tuple(&right, "mul", "r")}) {
        const QString name = QString("%%1%2_%3").arg(side).arg(block).arg(i);
        text += QString("  %1 = %2(%3, %a_value_of_the_first_layer_with_a_long_name)\n")
                    .arg(name, QString(op), *end)
                    .toUtf8();
        *end = name;
      }
    before = QString("%j%1").arg(block);
    text += QString("  %1 = sub(%2, %3)\n").arg(before, left, right).toUtf8();
  }
  open(text + "  return " + before.toUtf8() + "\n}\n");
  canvas().setFocus();
  press(Qt::Key_E, Qt::ControlModifier);
  settle();
  const std::vector<QRectF> texts = portTexts(canvas().scene());
  ASSERT_GE(texts.size(), 3u);
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t j = i + 1; j < texts.size(); ++j)
      EXPECT_FALSE(texts[i].intersects(texts[j])) << i << ", " << j;
    for (const SceneBox& box : canvas().scene().boxes)
      EXPECT_TRUE(box.frame || !box.rect.intersects(texts[i])) << box.title.toStdString();
  }
}

// Below the boxes of an open group there was a strip of nothing.
TEST_F(ReportedFaults, groupsEndWhereTheirBoxesEnd) {
  openFile(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx"));
  canvas().setFocus();
  press(Qt::Key_E, Qt::ControlModifier);
  settle();
  const GraphScene& scene = canvas().scene();
  int frames = 0;
  for (const SceneBox& frame : scene.boxes) {
    if (!frame.frame) continue;
    double lowest = frame.rect.top();
    for (const SceneBox& box : scene.boxes)
      if (&box != &frame && frame.rect.contains(box.rect)) lowest = std::max(lowest, box.rect.bottom());
    if (lowest == frame.rect.top()) continue;
    ++frames;
    // Lines that stay in it may run below the boxes.
    for (const SceneEdge& edge : scene.edges)
      if (!edge.tunnelled && frame.rect.contains(scene.boxes[static_cast<size_t>(edge.from)].rect) &&
          frame.rect.contains(scene.boxes[static_cast<size_t>(edge.to)].rect))
        for (const QPointF& p : edge.points) lowest = std::max(lowest, p.y());
    EXPECT_LE(frame.rect.bottom() - lowest, 36) << frame.title.toStdString();
  }
  EXPECT_GT(frames, 5);
}

// 24 values of a past stood in one row, so that no letter could be read.
TEST_F(ReportedFaults, aDecoderWithManyCachesCanBeRead) {
  QByteArray inputs, body, results;
  for (int i = 0; i < 24; ++i) {
    const QString n = QString::number(i), before = i == 0 ? "x" : "h" + QString::number(i - 1);
    inputs += ", %past_" + n.toUtf8() + ": Tensor[(batch, past, 8), f32]";
    body += QString(
                "  %present_%1 = concat(%past_%1, %%2, axis = 1)\n"
                "  %s%1 = reduce_sum(%present_%1, i64[1] [1])\n  %h%1 = add(%%2, %s%1)\n")
                .arg(n, before)
                .toUtf8();
    results += ", %present_" + n.toUtf8();
  }
  open("fn @main(%x: Tensor[(batch, seq, 8), f32]" + inputs + ") {\n" + body + "  return %h23" + results +
       "\n}\n");
  canvas().setFocus();
  press(Qt::Key_Space);
  const QPointF one = canvas().onScreen({0, 0}), other = canvas().onScreen({1, 0});
  EXPECT_GE(other.x() - one.x(), kWholeScale) << "titles and types are drawn";
  QStringList titles;
  for (const SceneBox& box : canvas().scene().boxes) titles << box.title + ": " + box.subtitle;
  EXPECT_TRUE(titles.contains(QString::fromUtf8("past_0 … past_23: 24 × f32 [batch, past, 8]")))
      << titles.join('\n').toStdString();
  // Each of them is found there.
  press(Qt::Key_F, Qt::ControlModifier);
  QTest::keyClicks(QApplication::focusWidget(), "past_17");
  press(Qt::Key_Return);
  settle();
  ASSERT_GE(canvas().selectedNode(), 0);
  EXPECT_EQ(canvas().graph()->nodes[static_cast<size_t>(canvas().selectedNode())].name, "past_17");
}

// After a run over trees their panel said: "Run a model over trees ...".
TEST_F(ReportedFaults, aRunOverTreesShowsItsLevelsOrWhyThereAreNone) {
  const auto structureOf = [&](const char* sample) {
    openFile(QString::fromStdString(test::sourceFolder() + sample));
    canvas().setFocus();
    press(Qt::Key_R, Qt::ControlModifier);
    settle();
    EXPECT_NE(window_.lastRun(), nullptr) << window_.lastError().toStdString();
    EXPECT_TRUE(window_.showPanel("Structure"));
    settle();
    auto* rows = window_.findChild<RowsPanel*>();
    return rows->summary() + "\n" + rows->canvas()->message();
  };
  const QString levels = structureOf("/samples/models/treelstm/model.onnx");
  EXPECT_TRUE(levels.contains(QRegularExpression("\\d+ nodes? in \\d+ levels?"))) << levels.toStdString();
  const QString none = structureOf("/samples/08_tree_lstm/tree_lstm.dyn");
  EXPECT_TRUE(none.contains("had no loop over levels")) << none.toStdString();
  EXPECT_TRUE(none.contains("@encode")) << "which recursion, and why: " << none.toStdString();
}

// The working directory and "graph.svg" were proposed.
TEST_F(ReportedFaults, anExportIsProposedBesideTheModel) {
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  open(kChain, "models/chain.dyn");
  canvas().setFocus();
  press(Qt::Key_J);
  settle();
  const QString pass = QString::fromStdString(canvas().graph()->stepName);
  QString folder, name;
  QTimer person;
  person.setInterval(20);
  QObject::connect(&person, &QTimer::timeout, &person, [&] {
    if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) {
      for (QAction* action : menu->actions())
        if (action->text().remove('&').startsWith("Export graph")) {
          const QPoint at = menu->actionGeometry(action).center();
          // By a timer of its own: the dialog that it opens ends after the look at it.
          QTimer::singleShot(0, menu, [menu, at] { QTest::mouseClick(menu, Qt::LeftButton, {}, at); });
        }
      return;
    }
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (!dialog || !dialog->isVisible()) return;
    folder = dialog->directory().absolutePath();
    name = dialog->findChild<QLineEdit*>("fileNameEdit")->text();
    person.stop();
    QTest::keyClick(dialog, Qt::Key_Escape);
  });
  person.start();
  QMenuBar* bar = window_.menuBar();
  QTest::mouseClick(bar, Qt::LeftButton, {}, bar->actionGeometry(bar->actions().first()).center());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !name.isEmpty(); }, 10000));
  EXPECT_EQ(QDir(folder), QDir(folder_.filePath("models")));
  EXPECT_EQ(name.toStdString(), ("chain-" + pass + ".svg").toStdString());
}

// Headers read "Inpu", "Registe", "Stops a": the columns were made before the letters were known.
TEST_F(ReportedFaults, noHeaderIsCut) {
  open(kChain);
  window_.setDim("n", 8);
  window_.setDim("k", 5);
  canvas().setFocus();
  press(Qt::Key_R, Qt::ControlModifier);
  settle();
  std::set<QString> seen;
  for (const WindowMode mode : kWindowModes) {
    auto* button = window_.findChild<QToolButton*>(QString("mode") + specOf(mode).name);
    ASSERT_NE(button, nullptr);
    QTest::mouseClick(button, Qt::LeftButton);
    settle();
    for (const QString& panel : specOf(mode).panels) {
      ASSERT_TRUE(window_.showPanel(panel));
      settle();
      for (const QTableWidget* table : window_.findChildren<QTableWidget*>()) {
        if (!table->isVisible() || table->horizontalHeader()->isHidden()) continue;
        seen.insert(table->objectName());
        const QFontMetrics letters = table->horizontalHeader()->fontMetrics();
        for (int column = 0; column < table->columnCount(); ++column) {
          const QTableWidgetItem* header = table->horizontalHeaderItem(column);
          if (table->isColumnHidden(column) || !header) continue;
          EXPECT_GE(table->columnWidth(column), letters.horizontalAdvance(header->text()) + 12)
              << table->objectName().toStdString() << ": " << header->text().toStdString();
        }
      }
    }
  }
  for (const char* name : {"passes", "dims", "inputs", "kernels", "runs", "registers", "breakpoints"})
    EXPECT_TRUE(seen.count(name)) << name;
}

}  // namespace
}  // namespace dyn::ui
