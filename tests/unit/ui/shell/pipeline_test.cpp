// The pipeline is edited as text, and the model is compiled anew.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

#include "app/session/views/graph_views.h"
#include "app/session/views/pass_views.h"
#include "tests/support/idle_window.h"
#include "ui/shell/main_window.h"
#include "ui/views/pipeline_edit.h"

namespace dyn::ui {
namespace {

class PipelineWindow : public testing::Test {
 protected:
  void SetUp() override {
    QFile file(directory_.filePath("model.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(
        "fn @main(%x: Tensor[(n, m), f32]) {\n  %h = relu(%x) * 2.0\n  %y = softmax(%h, axis = -1)\n"
        "  return tanh(%y)\n}\n");
    file.close();
    window_.resize(1400, 900);
    window_.show();
    window_.activateWindow();
    window_.open(file.fileName());
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
    text_ = window_.findChild<QLineEdit*>("pipeline");
    edit_ = window_.findChild<PipelineEdit*>();
    ASSERT_TRUE(text_ && edit_);
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  void enter(const char* edits) {
    text_->setFocus();
    text_->selectAll();
    QTest::keyClicks(text_, edits);
    QTest::keyClick(text_, Qt::Key_Return);
    settle();
  }
  int stepOf(const char* pass) const {
    for (const PassRow& row : window_.passes()->rows)
      if (row.name == pass) return row.index;
    return -1;
  }
  // A kernel's group holds so many operations.
  size_t groupsCount() const {
    size_t count = 0;
    for (const GraphNode& node : window_.canvas()->graph()->nodes) count += node.op == "fused";
    return count;
  }

  QTemporaryDir directory_;
  MainWindow window_;
  QLineEdit* text_ = nullptr;
  PipelineEdit* edit_ = nullptr;
};

TEST_F(PipelineWindow, aPassIsLeftOutAndComesBack) {
  ASSERT_GE(stepOf("fuse"), 0);
  window_.showStep(stepOf("simplify"));
  settle();
  enter("-fuse");
  EXPECT_EQ(edit_->fault().toStdString(), "");
  EXPECT_EQ(stepOf("fuse"), -1);
  EXPECT_EQ(window_.passes()->edits, "-fuse");
  EXPECT_EQ(window_.canvas()->graph()->stepName, "simplify") << "what is looked at stays";
  window_.run();
  settle();
  EXPECT_EQ(window_.lastError().toStdString(), "");
  enter("standard");
  EXPECT_GE(stepOf("fuse"), 0);
  EXPECT_EQ(text_->text(), "");
}

TEST_F(PipelineWindow, optionsAreSet) {
  const auto lastGroups = [&] {
    window_.showStep(stepOf("fuse"));
    settle();
    return groupsCount();
  };
  const size_t before = lastGroups();
  enter("+fuse{max=1}");
  EXPECT_EQ(edit_->fault().toStdString(), "");
  EXPECT_LT(lastGroups(), before) << "what is one operation is not a group";
}

TEST_F(PipelineWindow, whatIsWrongIsSaidAndChangesNothing) {
  enter("-nothing");
  EXPECT_TRUE(edit_->fault().contains("unknown pass 'nothing'")) << edit_->fault().toStdString();
  EXPECT_TRUE(edit_->fault().contains("fuse")) << "the passes there are";
  EXPECT_GE(stepOf("fuse"), 0);
  enter("+fuse{size=3}");
  EXPECT_TRUE(edit_->fault().contains("has no option")) << edit_->fault().toStdString();
  enter("-bufferize");
  EXPECT_NE(edit_->fault(), "") << "a required pass";
}

TEST_F(PipelineWindow, aPassOffersItsEdits) {
  QMenu menu;
  edit_->addActions(menu, window_.passes()->rows[static_cast<size_t>(stepOf("fuse"))]);
  ASSERT_GE(menu.actions().size(), 2);
  menu.actions().at(1)->trigger();
  EXPECT_TRUE(text_->text().startsWith("+fuse{")) << text_->text().toStdString();
  EXPECT_EQ(text_->cursorPosition(), text_->text().size() - 1) << "where the value is to be written";
  menu.actions().at(0)->trigger();
  settle();
  QMenu place;
  edit_->addActions(place, window_.passes()->rows[static_cast<size_t>(stepOf("bufferize"))]);
  EXPECT_FALSE(place.actions().at(0)->isEnabled()) << "lowering needs it";
}

}  // namespace
}  // namespace dyn::ui
