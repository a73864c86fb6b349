#include "ui/shell/help_window.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QTextBlock>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "ui/support/icons.h"
#include "ui/support/theme.h"
#include "ui/support/theme_text.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"

namespace dyn::ui {

QString docsFolder() {
  const QString program = QCoreApplication::applicationDirPath();
  for (const QString& folder : {program + "/../share/dyn/docs", program + "/../../../docs"})
    if (QFileInfo::exists(folder + "/glossary.md")) return QFileInfo(folder).canonicalFilePath();
  return {};
}

namespace {

constexpr const char* kNoPageBefore = "No page was shown before.";

QString plainText(const QAction& action) { return action.text().remove('&').toHtmlEscaped(); }

// Entries of menus in menus stand under the name of the outermost.
void addEntries(const QMenu& menu, QString& rows) {
  for (const QAction* action : menu.actions()) {
    if (action->menu()) addEntries(*action->menu(), rows);
    if (action->isSeparator() || action->menu() || action->shortcut().isEmpty()) continue;
    rows +=
        htmlRow(action->shortcut().toString(QKeySequence::NativeText).toHtmlEscaped(), plainText(*action));
  }
}

}  // namespace

QString shortcutsPage(const QMenuBar& bar) {
  QString text = htmlTitle("Keyboard shortcuts");
  for (const QAction* top : bar.actions()) {
    QString rows;
    if (top->menu()) addEntries(*top->menu(), rows);
    if (!rows.isEmpty()) text += htmlSection(plainText(*top)) + "<table>" + rows + "</table>";
  }
  // Keys of views, which are in no menu.
  text += htmlSection("On the graph") + "<table>" +
          htmlRow("arrows", "to the next operation along the data") +
          htmlRow("Space", "open or close the chosen group") + htmlRow("wheel, + and -", "larger, smaller") +
          "</table>" + htmlSection("On the timeline") + "<table>" + htmlRow("W, S", "zoom in and out") +
          htmlRow("A, D", "move left and right") + htmlRow("F", "all of the run") +
          htmlRow("Shift and dragging", "choose a part of the run") + "</table>";
  return text;
}

HelpWindow::HelpWindow(QWidget* parent)
    : QDialog(parent), page_(new QTextBrowser), back_(new QPushButton("Back")) {
  followTheme(page_);
  setObjectName("help");
  resize(820, 640);
  page_->setObjectName("helpPage");
  page_->setAccessibleName("Documentation");
  page_->setOpenLinks(false);
  page_->document()->setDocumentMargin(kSpace);
  back_->setObjectName("helpBack");
  back_->setIcon(icon("actions/back"));
  back_->setShortcut(QKeySequence::Back);
  back_->setAutoDefault(false);
  auto* contents = new QPushButton("Contents");
  contents->setObjectName("helpContents");
  contents->setAutoDefault(false);
  enableUnless(contents, docsFolder().isEmpty() ? "The documentation is not installed." : "");
  auto* row = new QHBoxLayout;
  row->addWidget(back_);
  row->addWidget(contents);
  row->addStretch(1);
  auto* column = new QVBoxLayout(this);
  column->addLayout(row);
  column->addWidget(page_, 1);
  connect(back_, &QPushButton::clicked, this, &HelpWindow::goBack);
  connect(contents, &QPushButton::clicked, this, [this] { showPage("index.md"); });
  connect(page_, &QTextBrowser::anchorClicked, this, &HelpWindow::follow);
}

void HelpWindow::showText(const QString& title, const QString& html) {
  before_.clear();
  shown_.clear();
  enableUnless(back_, kNoPageBefore);
  setWindowTitle(title);
  page_->setHtml(html);
  show();
  raise();
  page_->setFocus();
}

bool HelpWindow::showPage(const QString& file) {
  QFile page(docsFolder() + "/" + file);
  if (docsFolder().isEmpty() || !page.open(QIODevice::ReadOnly)) return false;
  if (!shown_.isEmpty() && shown_ != file) before_ << shown_;
  shown_ = file;
  enableUnless(back_, before_.isEmpty() ? kNoPageBefore : "");
  page_->document()->setBaseUrl(QUrl::fromLocalFile(page.fileName()));
  page_->setMarkdown(QString::fromUtf8(page.readAll()));
  const QString title = page_->document()->firstBlock().text();
  setWindowTitle(title.isEmpty() ? file : title);
  show();
  raise();
  page_->setFocus();
  return true;
}

// Pages are shown here; addresses go to the browser; sources of the program are not there everywhere.
void HelpWindow::follow(const QUrl& link) {
  if (link.scheme().startsWith("http")) {
    QDesktopServices::openUrl(link);
    return;
  }
  const QString anchor = link.fragment();
  if (!link.path().isEmpty()) {
    const QString target = QDir::cleanPath(QFileInfo(shown_).path() + "/" + link.path());
    if (!target.endsWith(".md") || !showPage(target)) {
      setWindowTitle(target + " is no page of the documentation");
      return;
    }
  }
  if (anchor.isEmpty()) return;
  // Headings have no anchors of their own in Qt: the one of these words.
  const QString words = QString(anchor).replace('-', ' ');
  for (QTextBlock block = page_->document()->begin(); block.isValid(); block = block.next()) {
    if (block.blockFormat().headingLevel() == 0) continue;
    QString heading = block.text().toLower();
    for (qsizetype i = heading.size(); i-- > 0;)
      if (!heading[i].isLetterOrNumber() && heading[i] != ' ') heading.remove(i, 1);
    if (heading != words) continue;
    page_->setTextCursor(QTextCursor(block));
    page_->ensureCursorVisible();
    return;
  }
}

void HelpWindow::goBack() {
  if (before_.isEmpty()) return;
  const QString file = before_.takeLast();
  shown_.clear();
  showPage(file);
}

}  // namespace dyn::ui
