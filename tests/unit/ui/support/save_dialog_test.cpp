// Where a file is written: what is there is asked about, the open model is never written over.
#include "ui/support/save_dialog.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <deque>

namespace dyn::ui {
namespace {

class SaveDialog : public testing::Test {
 protected:
  void SetUp() override {
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    for (const char* name : {"there.svg", "model.onnx"}) {
      QFile file(folder_.filePath(name));
      ASSERT_TRUE(file.open(QIODevice::WriteOnly));
      file.write("kept");
    }
  }
  // What a person does in one dialog after the other: a name and Enter, the click on a button, or Escape.
  QString choose(std::deque<QString> answers, const QString& filter = "Graphs (*.svg *.pdf)",
                 const QString& open = {}) {
    QTimer person;
    person.setInterval(20);
    int waited = 0;
    QObject::connect(&person, &QTimer::timeout, &person, [&] {
      QWidget* dialog = QApplication::activeModalWidget();
      if (++waited > 500) {
        ADD_FAILURE() << "the dialogs did not end";
        person.stop();
        if (dialog) dialog->close();
        return;
      }
      if (!dialog || !dialog->isVisible()) return;
      const QString answer = answers.empty() ? QString("Escape") : answers.front();
      auto* question = qobject_cast<QMessageBox*>(dialog);
      if (question) {
        asked_ << question->text();
        answers.pop_front();
        for (QAbstractButton* button : question->buttons())
          if (button->text().remove('&') == answer) return QTest::mouseClick(button, Qt::LeftButton);
        ADD_FAILURE() << "no button " << answer.toStdString();
        return QTest::keyClick(question, Qt::Key_Escape);
      }
      if (!answers.empty()) answers.pop_front();
      if (answer == "Escape") return QTest::keyClick(dialog, Qt::Key_Escape);
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      ASSERT_NE(name, nullptr);
      proposed_ = name->text();
      name->setFocus();
      name->selectAll();
      QTest::keyClicks(name, answer);
      QTest::keyClick(name, Qt::Key_Return);
    });
    person.start();
    return chooseSaveFile(nullptr, "Export", folder_.filePath("model-fuse.svg"), filter, open);
  }
  QTemporaryDir folder_;
  QStringList asked_;
  QString proposed_;
};

TEST_F(SaveDialog, aNameWithoutAnEndingGetsIt) {
  EXPECT_EQ(choose({"new"}), folder_.filePath("new.svg"));
  EXPECT_EQ(proposed_, "model-fuse.svg");
  EXPECT_TRUE(asked_.isEmpty());
}

TEST_F(SaveDialog, whatIsThereIsAskedAboutTheEndingIncluded) {
  EXPECT_EQ(choose({"there", "No", "Escape"}), "");
  ASSERT_EQ(asked_.size(), 1);
  EXPECT_TRUE(asked_[0].contains("there.svg")) << asked_[0].toStdString();
  EXPECT_EQ(choose({"there", "Yes"}), folder_.filePath("there.svg"));
  EXPECT_EQ(choose({"there.svg", "No", "other.pdf"}), folder_.filePath("other.pdf"));
}

TEST_F(SaveDialog, theOpenModelIsNeverWrittenOver) {
  const QString model = folder_.filePath("model.onnx");
  EXPECT_EQ(choose({"model", "OK", "Escape"}, "ONNX models (*.onnx)", model), "");
  ASSERT_EQ(asked_.size(), 1);
  EXPECT_TRUE(asked_[0].contains("is the model that is open")) << asked_[0].toStdString();
  EXPECT_EQ(choose({"model", "OK", "copy"}, "ONNX models (*.onnx)", model), folder_.filePath("copy.onnx"));
}

}  // namespace
}  // namespace dyn::ui
