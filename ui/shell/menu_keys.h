// Keys of menus: letters that act on the graph alone, and mnemonics for all entries.
#pragma once

class QAction;
class QLineEdit;
class QMainWindow;
class QMenuBar;
class QWidget;

namespace dyn::ui {

// A key without Ctrl or Alt acts while the graph has the focus, and nowhere else: what is typed into a field,
// or pressed in a list, is never a command. The menu shows it all the same.
void actOnGraphAlone(QAction* action, QWidget* graph);

// Every entry gets a letter of its own when its menu opens, the first of a word where that is free.
void giveMnemonics(QMenuBar* bar);

// Keys that the window knows act in the field, too, though fields have uses of their own for some (Ctrl+E);
// Escape empties it and goes on to `next`.
void keepWindowKeys(QLineEdit* field, QWidget* window, QWidget* next);

// The keys go to the next part of the window, or to the one before: tool bars, docks that are seen, the
// graph, the panel below, from the left to the right and downwards. A part that had them gets them where it
// had them.
enum class Around : bool { next, previous };
void goRound(QMainWindow* window, Around way);

}  // namespace dyn::ui
