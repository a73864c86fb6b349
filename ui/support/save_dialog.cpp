#include "ui/support/save_dialog.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QRegularExpression>

namespace dyn::ui {

QString chooseSaveFile(QWidget* parent, const QString& title, const QString& proposal, const QString& filter,
                       const QString& open) {
  static const QRegularExpression firstEnding("\\*(\\.\\w+)");
  const QString ending = firstEnding.match(filter).captured(1);
  QFileDialog dialog(parent, title, QFileInfo(proposal).path(), filter);
  dialog.setObjectName("saveDialog");
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  // It is asked below: the dialog of a desktop asks for the name without the ending.
  dialog.setOption(QFileDialog::DontConfirmOverwrite);
  dialog.selectFile(QFileInfo(proposal).fileName());
  while (dialog.exec() == QDialog::Accepted && !dialog.selectedFiles().isEmpty()) {
    QString file = dialog.selectedFiles().first();
    if (QFileInfo(file).suffix().isEmpty()) file += ending;
    const QFileInfo target(file);
    if (!target.exists()) return file;
    if (!open.isEmpty() && target.canonicalFilePath() == QFileInfo(open).canonicalFilePath()) {
      QMessageBox::warning(parent, title,
                           target.fileName() + " is the model that is open: choose another name.");
      continue;
    }
    const QString question = target.fileName() + " is already there. Overwrite it?";
    const auto answer =
        QMessageBox::question(parent, title, question, QMessageBox::Yes | QMessageBox::No, QMessageBox::No);
    if (answer == QMessageBox::Yes) return file;
  }
  return {};
}

}  // namespace dyn::ui
