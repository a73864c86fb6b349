// Modes of the window: what a person is at, and which docks and lower panels show for it. A mode is a row of
// data; the graph stands in the middle of all of them and keeps its place.
#pragma once

#include <QString>
#include <QStringList>
#include <array>
#include <cstdint>
#include <optional>

class QMainWindow;

namespace dyn::ui {

enum class WindowMode : uint8_t {
  overview,  // the model in plain words beside its graph, which has most of the window
  passes,    // the graph after each pass, its text, its changes
  sizes,     // what a run of other sizes would take
  profile,   // a run: kernels, layers, timeline
  memory,
  code,   // levels of the program side by side
  debug,  // a run that is stepped through
};

constexpr std::array<WindowMode, 7> kWindowModes = {
    WindowMode::overview, WindowMode::passes, WindowMode::sizes, WindowMode::profile,
    WindowMode::memory,   WindowMode::code,   WindowMode::debug};

struct ModeSpec {
  const char* name;  // "Overview"
  const char* icon;
  const char* tip;
  // Docks by their object names, the first in front; docks in neither list are hidden. A narrow window has
  // the left ones above the right ones in one column.
  QStringList left, right;
  QStringList panels;   // lower ones, by title; the first is shown first. {}: the lower dock is hidden
  double panelsHeight;  // of the window's
};

const ModeSpec& specOf(WindowMode mode);
inline QString nameOf(WindowMode mode) { return specOf(mode).name; }
// By name, or by a layout that it took the place of: Explore, Compile.
std::optional<WindowMode> modeOf(const QString& name);
// The first that has a lower panel.
std::optional<WindowMode> modeWithPanel(const QString& title);

void applyMode(QMainWindow& window, WindowMode mode);
// A narrow window has one column, a wide one two: called when its width changed, this arranges the docks anew
// if they stand as the mode put them, and leaves those that a person moved.
void fitMode(QMainWindow& window, WindowMode mode, int widthBefore);

}  // namespace dyn::ui
