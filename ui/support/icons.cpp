#include "ui/support/icons.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>
#include <functional>

namespace dyn::ui {

namespace {

using Ink = std::function<QColor(bool dark, QIcon::Mode mode, QIcon::State state)>;

// Draws a file with its lines in a colour that is asked for each time.
class ThemedIcon : public QIconEngine {
 public:
  ThemedIcon(QString name, Ink ink) : name_(std::move(name)), ink_(std::move(ink)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    const QColor color = ink_(isDark(QApplication::palette()), mode, state);
    QFile file(":/icons/" + name_ + ".svg");
    if (!file.open(QIODevice::ReadOnly)) return;
    QSvgRenderer picture(file.readAll().replace("currentColor", color.name().toLatin1()));
    const int side = std::min(rect.width(), rect.height());
    picture.render(painter, QRectF(rect.x() + (rect.width() - side) / 2.0,
                                   rect.y() + (rect.height() - side) / 2.0, side, side));
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    const QColor color = ink_(isDark(QApplication::palette()), mode, state);
    const QString key =
        QString("dyn %1 %2 %3x%4").arg(name_, color.name()).arg(size.width()).arg(size.height());
    QPixmap drawn;
    if (QPixmapCache::find(key, &drawn)) return drawn;
    drawn = QPixmap(size);
    drawn.fill(Qt::transparent);
    QPainter painter(&drawn);
    paint(&painter, QRect(QPoint(), size), mode, state);
    painter.end();
    QPixmapCache::insert(key, drawn);
    return drawn;
  }

  QIconEngine* clone() const override { return new ThemedIcon(name_, ink_); }

 private:
  QString name_;
  Ink ink_;
};

QColor faded(const QColor& color, const QColor& paper) {
  return QColor((color.red() + paper.red()) / 2, (color.green() + paper.green()) / 2,
                (color.blue() + paper.blue()) / 2);
}

}  // namespace

QIcon icon(const QString& name, IconInk ink) {
  return QIcon(new ThemedIcon(name, [ink](bool dark, QIcon::Mode mode, QIcon::State state) {
    const ThemeColors& colors = themeColors(dark);
    if (mode == QIcon::Disabled) return faded(colors.quiet, colors.window);
    if (mode == QIcon::Selected) return colors.chosenText;
    if (ink == IconInk::onAccent) return colors.onAccent;
    if (ink == IconInk::accent || state == QIcon::On) return colors.accent;
    return mode == QIcon::Active ? colors.text : faded(colors.text, colors.quiet);
  }));
}

QIcon icon(const QString& name, Category category) {
  return QIcon(new ThemedIcon(name, [category](bool dark, QIcon::Mode mode, QIcon::State) {
    return mode == QIcon::Selected ? themeColors(dark).chosenText : categoryColor(category, dark);
  }));
}

QStringList iconNames() {
  QStringList names;
  for (const QString& folder : QDir(":/icons").entryList(QDir::Dirs))
    if (folder != "arrows")  // of the style sheet, in fixed colours
      for (const QString& file : QDir(":/icons/" + folder).entryList(QDir::Files))
        names << folder + "/" + file.section('.', 0, 0);
  return names;
}

QString iconOfClass(const QString& opClass) {
  for (const char* own : {"view", "opaque", "constant", "input", "output"})
    if (opClass == QLatin1String(own)) return QString("kinds/") + own;
  if (opClass == "group") return "kinds/model";
  return iconOfCategory(categoryOfClass(opClass));
}

QString iconOfCategory(Category category) {
  switch (category) {
    case Category::contraction:
      return "kinds/contraction";
    case Category::elementwise:
      return "kinds/elementwise";
    case Category::reduction:
      return "kinds/reduction";
    case Category::movement:
      return "kinds/movement";
    case Category::control:
      return "kinds/control";
    case Category::check:
      return "kinds/check";
    case Category::boundary:
    case Category::other:
      break;
  }
  return "kinds/opaque";
}

QString iconOfPass(const QString& name, const QString& kind) {
  static constexpr std::pair<const char*, const char*> kPasses[] = {{"import", "kinds/input"},
                                                                    {"infer", "modes/sizes"},
                                                                    {"check", "kinds/check"},
                                                                    {"fuse", "actions/close_groups"},
                                                                    {"attention", "kinds/contraction"},
                                                                    {"einsum", "kinds/contraction"},
                                                                    {"prepack", "kinds/constant"},
                                                                    {"plan", "modes/memory"},
                                                                    {"bufferize", "modes/memory"},
                                                                    {"reuse", "modes/memory"},
                                                                    {"schedule", "actions/next_operation"},
                                                                    {"layout", "kinds/view"},
                                                                    {"place", "kinds/gpu"},
                                                                    {"batch_levels", "kinds/tree"},
                                                                    {"transposes", "kinds/movement"},
                                                                    {"pack", "kinds/movement"},
                                                                    {"pad", "kinds/view"},
                                                                    {"loop", "kinds/loop"},
                                                                    {"quant", "kinds/constant"},
                                                                    {"const", "kinds/constant"},
                                                                    {"fold", "kinds/constant"},
                                                                    {"dce", "actions/close"},
                                                                    {"cse", "actions/compare"},
                                                                    {"simplify", "kinds/elementwise"},
                                                                    {"inline", "actions/open_groups"}};
  for (const auto& [part, drawing] : kPasses)
    if (name.contains(QLatin1String(part))) return drawing;
  return kind == "lowering" ? "modes/code" : "modes/passes";
}

}  // namespace dyn::ui
