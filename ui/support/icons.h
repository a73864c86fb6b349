// Icons: one family, drawn for this window as SVG on a grid of 24 with one width of lines
// (ui/resources/icons), in the colours of the theme: they change with it.
#pragma once

#include <QIcon>
#include <QString>
#include <QStringList>

#include "ui/support/theme.h"

namespace dyn::ui {

enum class IconInk : uint8_t {
  text,      // of less weight than letters; the accent where it is checked
  onAccent,  // on the button that stands out
  accent,
};

// By its file below ui/resources/icons: "actions/run", "modes/profile", "kinds/gpu".
QIcon icon(const QString& name, IconInk ink = IconInk::text);
// In the colour of a category.
QIcon icon(const QString& name, Category category);
QStringList iconNames();

// What stands for an operator's class: "kinds/contraction".
QString iconOfClass(const QString& opClass);
QString iconOfCategory(Category category);
// For a step of the compilation by its name ("fuse") and kind: import, pass, lowering.
QString iconOfPass(const QString& name, const QString& kind);

}  // namespace dyn::ui
