#include "ui/support/theme_text.h"

#include <QApplication>
#include <QEvent>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBrowser>
#include <map>

#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

// The page with each colour of the one theme's words as it is in the other.
QString inTheme(const QString& page, const ThemeColors& from, const ThemeColors& to) {
  const std::map<QString, QString> names = {{from.text.name(), to.text.name()},
                                            {from.quiet.name(), to.quiet.name()},
                                            {from.bright.name(), to.bright.name()},
                                            {from.link.name(), to.link.name()},
                                            {from.accent.name(), to.accent.name()}};
  static const QRegularExpression color("#[0-9a-f]{6}");
  QString result;
  qsizetype end = 0;
  for (auto at = color.globalMatch(page); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    const auto found = names.find(match.captured());
    result += page.mid(end, match.capturedStart() - end) +
              (found == names.end() ? match.captured() : found->second);
    end = match.capturedEnd();
  }
  return result + page.mid(end);
}

class ThemeFollower : public QObject {
 public:
  explicit ThemeFollower(QTextBrowser* browser)
      : QObject(browser), browser_(browser), isDark_(isDark(QApplication::palette())) {
    browser->installEventFilter(this);
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    const bool dark = isDark(QApplication::palette());
    if (event->type() == QEvent::PaletteChange && dark != isDark_) {
      const int place = browser_->verticalScrollBar()->value();
      const QString page = inTheme(browser_->toHtml(), themeColors(isDark_), themeColors(dark));
      isDark_ = dark;
      browser_->setHtml(page);
      browser_->verticalScrollBar()->setValue(place);
    }
    return QObject::eventFilter(watched, event);
  }

 private:
  QTextBrowser* browser_;
  bool isDark_;
};

}  // namespace

void followTheme(QTextBrowser* browser) { new ThemeFollower(browser); }

}  // namespace dyn::ui
