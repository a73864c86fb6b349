// Where the docks of the window stand, for three kinds of work. Docks that no layout names are tabs of the
// right column.
#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <optional>

class QMainWindow;

namespace dyn::ui {

enum class WindowLayout : uint8_t {
  explore,  // the graph: at 1000 x 700 it has at least half of the window
  compile,  // passes, and their text in half of the height
  profile,  // runs: kernels, timeline and memory in half of the height
};

constexpr std::array<WindowLayout, 3> kWindowLayouts = {WindowLayout::explore, WindowLayout::compile,
                                                        WindowLayout::profile};

QString nameOf(WindowLayout layout);  // "Explore"
std::optional<WindowLayout> layoutOf(const QString& name);
void applyLayout(QMainWindow& window, WindowLayout layout);
// A narrow window has one column, a wide one two: called when its width changed, this arranges the docks anew
// if they stand as the layout put them, and leaves those that a person moved.
void fitLayout(QMainWindow& window, WindowLayout layout, int widthBefore);

}  // namespace dyn::ui
