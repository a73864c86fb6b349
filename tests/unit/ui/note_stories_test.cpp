// A person's notes on operations, by keys and clicks: written below the Inspector, marked in the graph,
// listed, found, saved beside the model (tests/support/window_story.h).
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QContextMenuEvent>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTimer>
#include <algorithm>

#include "app/session/graph/note_file.h"
#include "tests/support/window_story.h"

namespace dyn::ui {
namespace {

class NoteStories : public test::WindowStory {
 protected:
  void SetUp() override {
    test::WindowStory::SetUp();
    if (IsSkipped()) return;
    model_ = folder_.filePath("bert.onnx");
    ASSERT_TRUE(QFile::copy(QString::fromStdString(test::sourceFolder()) + "/samples/models/bert/model.onnx",
                            model_));
    window_.open(model_);
    settle();
    steps_ = 0;
  }
  QString file() const { return QString::fromStdString(noteFileOf(model_.toStdString())); }
  NoteTexts kept() const { return *readNotes(file().toStdString()); }
  QPlainTextEdit* field() const { return named<QPlainTextEdit>("note"); }
  void choose(const char* words) {
    press("Ctrl+F");
    enterHere(words, Qt::Key_Return);
    canvas()->setFocus();
  }
  int marked() const {
    int count = 0;
    const GraphView& graph = *canvas()->graph();
    for (const GraphNode& node : graph.nodes)
      count += canvas()->notes() && canvas()->notes()->of(node) != nullptr;
    return count;
  }
  QTemporaryDir folder_;
  QString model_;
};

TEST_F(NoteStories, writtenMarkedListedAndFound) {
  EXPECT_FALSE(field()->isVisible()) << "no operation is chosen";
  choose("op:softmax");
  ASSERT_EQ(chosen(), "softmax");
  const int node = canvas()->selectedNode();
  const QImage plain = canvas()->grab().toImage();
  press("N");
  ASSERT_TRUE(field()->hasFocus());
  type("too slow, ask Ada");
  press("Ctrl+Return");
  ASSERT_EQ(kept().size(), 1u) << said().toStdString();
  EXPECT_EQ(kept().begin()->second, "too slow, ask Ada");
  EXPECT_EQ(kept().begin()->first, canvas()->graph()->nodes[static_cast<size_t>(node)].sourceNode);
  EXPECT_TRUE(canvas()->hasFocus());
  EXPECT_NE(canvas()->grab().toImage(), plain) << "its box has a mark";
  EXPECT_LE(steps_, 6);
  // Others have none; the list and a click lead back.
  choose("op:erf");
  EXPECT_EQ(field()->toPlainText(), "");
  auto* list = named<QTableWidget>("notes");
  press("Ctrl+Shift+P");
  type(">all notes");
  press("Return");
  ASSERT_TRUE(list->isVisible());
  ASSERT_EQ(list->rowCount(), 1);
  click(list->viewport(), list->visualItemRect(list->item(0, 1)).center());
  EXPECT_EQ(chosen(), "softmax");
  EXPECT_EQ(field()->toPlainText(), "too slow, ask Ada");
  // By words of the note, in the search and in the palette.
  press("Ctrl+F");
  enterHere("ask ada", Qt::Key_Return);
  EXPECT_EQ(canvas()->matchesCount(), 1);
  press("Ctrl+F");
  enterHere("note:nobody", Qt::Key_Return);
  EXPECT_EQ(canvas()->matchesCount(), 0);
  choose("op:erf");
  press("Ctrl+P");
  type("ask Ada");
  press("Return");
  EXPECT_EQ(chosen(), "softmax");
}

TEST_F(NoteStories, theMenuOfABoxAddsOne) {
  choose("op:softmax");
  const int node = canvas()->selectedNode();
  const int box = canvas()->scene().boxOfNode[static_cast<size_t>(node)];
  const QPoint at =
      canvas()->onScreen(canvas()->scene().boxes[static_cast<size_t>(box)].rect.center()).toPoint();
  QTimer::singleShot(50, [] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    for (QAction* action : menu->actions())
      if (action->text().contains("note"))
        return QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(action).center());
    ADD_FAILURE() << "no entry";
    menu->close();
  });
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, canvas()->mapToGlobal(at));
  QApplication::sendEvent(canvas(), &event);
  QTest::qWait(150);
  EXPECT_TRUE(field()->hasFocus());
  // Leaving the field is enough.
  type("mine");
  click(canvas(), at);
  EXPECT_EQ(kept().size(), 1u);
  // An emptied note goes, and the file with the last.
  choose("op:softmax");
  press("N");
  press("Ctrl+A");
  press("Delete");
  press("Escape");
  EXPECT_TRUE(kept().empty());
  EXPECT_FALSE(QFile::exists(file()));
  EXPECT_EQ(marked(), 0);
}

TEST_F(NoteStories, areThereAtTheNextStartAndAfterEveryPass) {
  choose("op:softmax");
  press("N");
  type("first");
  press("Return");
  type("second");
  press("Escape");
  const int before = marked();
  EXPECT_GE(before, 1);
  // After every pass some node stands for it.
  const int last = window_.passes() ? static_cast<int>(window_.passes()->rows.size()) : 0;
  for (int step = canvas()->graph()->step; step < last; step += 3) {
    window_.showStep(step);
    settle();
    EXPECT_TRUE(canvas()->graph()->step != step || marked() >= 1) << canvas()->graph()->stepName;
  }
  press("Ctrl+`");
  type(":set passes -fuse");
  press("Return");
  EXPECT_GE(marked(), 1) << "another pipeline";
  MainWindow next;
  next.resize(1000, 700);
  next.show();
  next.open(model_);
  test::waitIdle(next);
  auto* list = next.findChild<QTableWidget*>("notes");
  ASSERT_EQ(list->rowCount(), 1);
  EXPECT_EQ(list->item(0, 1)->toolTip(), "first\nsecond");
}

TEST_F(NoteStories, theConsoleWritesTheSame) {
  choose("op:softmax");
  const std::string name = canvas()->graph()->nodes[static_cast<size_t>(canvas()->selectedNode())].sourceNode;
  press("Ctrl+`");
  type(":note " + QString::fromStdString(name) + " by the shell");
  press("Return");
  EXPECT_EQ(field()->toPlainText(), "by the shell");
  EXPECT_GE(marked(), 1);
}

// Nothing that was written is lost: it stays in the field with the reason, and is saved as soon as it can be.
TEST_F(NoteStories, whatCannotBeSavedStaysWithItsReason) {
  ASSERT_TRUE(QDir().mkpath(file())) << "a folder is in the way";
  choose("op:softmax");
  press("N");
  type("precious");
  press("Escape");
  const auto* fault = named<QLabel>("noteFault");
  EXPECT_TRUE(fault->isVisible());
  EXPECT_TRUE(fault->text().contains("Not saved")) << fault->text().toStdString();
  EXPECT_FALSE(window_.lastError().isEmpty());
  choose("op:erf");
  EXPECT_EQ(field()->toPlainText(), "");
  choose("op:softmax");
  EXPECT_EQ(field()->toPlainText(), "precious");
  // The window asks before it goes.
  QString asked;
  QTimer answer;
  answer.setInterval(20);
  QObject::connect(&answer, &QTimer::timeout, &answer, [&] {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    if (!box) return;
    answer.stop();
    asked = box->text();
    QTest::keyClick(box, Qt::Key_Escape);
  });
  answer.start();
  EXPECT_FALSE(window_.close());
  EXPECT_TRUE(asked.contains("could not be saved")) << asked.toStdString();
  ASSERT_TRUE(QDir().rmdir(file()));
  EXPECT_TRUE(window_.close());
  EXPECT_EQ(kept().size(), 1u) << "on the way out";
  EXPECT_EQ(kept().begin()->second, "precious");
}

TEST_F(NoteStories, aDamagedFileIsSaidAndKept) {
  QFile damaged(file());
  ASSERT_TRUE(damaged.open(QIODevice::WriteOnly));
  damaged.write("{\"notes\": ");
  damaged.close();
  press("Ctrl+Shift+R");
  EXPECT_TRUE(window_.lastError().contains("not JSON")) << window_.lastError().toStdString();
  choose("op:softmax");
  press("N");
  type("words");
  press("Escape");
  EXPECT_TRUE(named<QLabel>("noteFault")->text().contains("not JSON"));
  ASSERT_TRUE(damaged.open(QIODevice::ReadOnly));
  EXPECT_EQ(damaged.readAll(), "{\"notes\": ");
}

}  // namespace
}  // namespace dyn::ui
