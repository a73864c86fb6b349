// HelpWindow: documentation beside the window: pages of docs/ with their links, and the keys of all menus.
#pragma once

#include <QDialog>
#include <QStringList>

class QMenuBar;
class QPushButton;
class QTextBrowser;

namespace dyn::ui {

// Of the installed program, or of the sources that the program's build folder is in; "" if absent.
QString docsFolder();

// All entries of the menus with their keys, as a page.
QString shortcutsPage(const QMenuBar& bar);

class HelpWindow : public QDialog {
  Q_OBJECT
 public:
  explicit HelpWindow(QWidget* parent);
  void showText(const QString& title, const QString& html);
  // "glossary.md", below the folder of the documentation. False: it is not there.
  bool showPage(const QString& file);
  QTextBrowser* page() const { return page_; }

 private:
  void follow(const QUrl& link);
  void goBack();

  QTextBrowser* page_;
  QPushButton* back_;
  QString shown_;       // file; "" of a text
  QStringList before_;  // files, the last one shown last
};

}  // namespace dyn::ui
