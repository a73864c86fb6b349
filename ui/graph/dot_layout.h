// A layout by Graphviz: its program `dot` in a process of its own, which can be ended at any time and takes
// nothing with it when it crashes.
#pragma once

#include <QByteArray>
#include <QString>
#include <functional>

#include "ui/graph/layered_layout.h"

namespace dyn::ui {

constexpr size_t kMostBoxesForDot = 500;  // of one frame: above that `dot` takes minutes

// Path of the program; "": Graphviz is not installed.
QString dotProgram();

// The same question as to layeredLayout(), and the same kind of answer. Asks `cancelled` every few
// milliseconds. Faults: too many boxes, no program, it failed, it took longer than the limit, cancelled.
LayoutAnswer dotLayout(const LayoutInput& input, const std::function<bool()>& cancelled,
                       int limitMilliseconds = 20'000);

// A file of Graphviz's: `text` in its language as a picture of that format ("ps"). Waits for it.
struct DotPicture {
  QByteArray bytes;
  QString fault;  // "": well
};
DotPicture dotPicture(const QByteArray& text, const QString& format, int limitMilliseconds = 20'000);

}  // namespace dyn::ui
