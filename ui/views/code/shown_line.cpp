#include "ui/views/code/shown_line.h"

namespace dyn::ui {

QString shownText(std::string_view line) {
  constexpr int kTab = 8;
  QString text = QString::fromUtf8(line.data(), static_cast<qsizetype>(line.size()));
  for (qsizetype tab = text.indexOf('\t'); tab >= 0; tab = text.indexOf('\t', tab))
    text.replace(tab, 1, QString(kTab - tab % kTab, ' '));
  return text;
}

int columnOfByte(std::string_view line, size_t byte) {
  return static_cast<int>(shownText(line.substr(0, byte)).size());
}

}  // namespace dyn::ui
