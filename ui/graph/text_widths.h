// TextWidths: how wide a text is in one font, from a table made beforehand: a font may only be asked on the
// window's thread.
#pragma once

#include <QFontMetricsF>
#include <QString>
#include <array>
#include <memory>

namespace dyn::ui {

class TextWidths {
 public:
  explicit TextWidths(const QFont& font) {
    const QFontMetricsF metrics(font);
    auto table = std::make_shared<std::array<float, 256>>();
    for (size_t c = 0; c < table->size(); ++c)
      (*table)[c] = static_cast<float>(metrics.horizontalAdvance(QChar(static_cast<char16_t>(c))));
    other_ = metrics.maxWidth() > 0 ? std::min(metrics.maxWidth(), metrics.height()) : 10;
    table_ = std::move(table);
  }
  double operator()(const QString& text) const {
    double width = 0;
    for (QChar c : text) width += c.unicode() < table_->size() ? double((*table_)[c.unicode()]) : other_;
    return width;
  }

 private:
  std::shared_ptr<const std::array<float, 256>> table_;
  double other_ = 10;  // of characters beyond Latin-1
};

}  // namespace dyn::ui
