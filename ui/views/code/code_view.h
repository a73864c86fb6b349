// CodeView: a text of any length, read only. Only the lines that are seen are laid out and coloured.
//
// Line numbers, folds (a click on their sign), lines that are chosen or highlighted, a selection by mouse or
// keyboard that can be copied, find, wrapped or scrolled long lines. Lines are those of the text, from 0,
// whether they are folded or not.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <set>

#include "ui/views/code/code_text.h"

namespace dyn::ui {

// The background of a group; groups next to each other differ.
QColor groupColor(int group, bool dark);

class CodeView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit CodeView(QWidget* parent = nullptr);

  void setCode(std::shared_ptr<const CodeText> code);
  const CodeText& code() const { return *code_; }  // as it is shown
  void setPlainText(const QString& text);
  void clear() { setPlainText({}); }
  int lineCount() const { return static_cast<int>(code_->lineCount()); }
  QString lineText(int line) const;
  QString toPlainText() const { return QString::fromStdString(full_->text()); }

  bool saveTo(const QString& file) const;
  int currentLine() const { return cursor_.line; }
  enum class Reveal : uint8_t { centre, ifHidden };
  void showLine(int line, Reveal reveal = Reveal::centre);  // opens what hides it; no signal
  QRect lineRect(int line) const;                           // of the viewport; empty when it is not seen
  // Lines with the colour of what belongs together, and of the strongest: the chosen one.
  void setHighlights(std::vector<std::pair<int, QColor>> lines);
  const std::vector<std::pair<int, QColor>>& highlights() const { return highlights_; }

  // By line: what has the same number has the same background; -1 and lines without one have none. One
  // of many lines has a stripe before them instead: a whole page of one colour tells nothing.
  void setGroups(std::vector<int> groups);
  bool isStriped(int group) const { return longGroups_.count(group) > 0; }
  const std::vector<int>& groups() const { return groups_; }
  // Discs in front of the line numbers. Where they are taken, a click beside the numbers asks for one.
  void setTakesMarks(bool takes);
  void setMarks(std::set<int> lines);
  const std::set<int>& marks() const { return marks_; }
  void setStanding(int line);  // an arrow, and a background of its own: where a run stands; -1: nowhere
  int standing() const { return standing_; }

  void setWrapped(bool wrapped);
  bool isWrapped() const { return wrapped_; }
  // Names without the paths in front of them; lines that are copied have them.
  void setShortNames(bool isShort);
  bool hasShortNames() const { return shortNames_; }
  void setFolded(int line, bool folded);
  bool isFolded(int line) const { return closed_.count(line) > 0; }
  bool isHidden(int line) const;

  // Letters of both cases are the same. The next place after the cursor, or before it; round the end.
  enum class Direction : uint8_t { forward, backward };
  bool find(const QString& text, Direction direction = Direction::forward);
  void setSought(const QString& text);  // marked where it is seen
  int findCount(const QString& text) const;
  QString selectedText() const;

 Q_SIGNALS:
  void lineChosen(int line);   // by a click or a key
  void lineHovered(int line);  // -1: none
  void markClicked(int line);
  void findAsked();  // Ctrl+F

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Position {
    int line = 0, column = 0;
    bool operator==(const Position& other) const { return line == other.line && column == other.column; }
    bool operator<(const Position& other) const {
      return line != other.line ? line < other.line : column < other.column;
    }
  };
  struct Row {
    int line = 0, part = 0;
  };

  void layOut();
  void cutNames();
  void updateScrollBars();
  int columnsShown() const;
  int rowCount() const { return firstRow_.empty() ? 0 : firstRow_.back(); }
  Row rowAt(int row) const;
  int rowOf(int line) const { return firstRow_[static_cast<size_t>(line)]; }
  int marginWidth() const;
  Position positionAt(QPoint at) const;
  int foldAt(QPoint at) const;  // its line, or -1
  void moveTo(Position position, bool select);
  void moveLines(int by, bool select);
  void choose();
  void hover(int line);
  void copy() const;
  void paintRow(QPainter& painter, Row row, int y) const;
  void paintMargin(QPainter& painter, Row row, int y) const;
  void paintMarks(QPainter& painter, int line, int y) const;
  void paintBack(QPainter& painter, Row row, int y) const;
  void paintCells(QPainter& painter, Row row, int y, int from, int to, const QColor& color) const;
  void paintText(QPainter& painter, Row row, int y) const;

  std::shared_ptr<const CodeText> full_, code_;  // as it was given, as it is shown
  std::vector<int> firstRow_;                    // by line, and one more; lines that are hidden have no rows
  std::set<int> closed_;                         // lines whose folds are closed
  std::vector<std::pair<int, QColor>> highlights_;
  Position cursor_, anchor_;
  std::vector<int> groups_;
  std::set<int> longGroups_;
  std::set<int> marks_;
  int chosen_ = -1, hovered_ = -1, standing_ = -1;
  bool wrapped_ = false, selecting_ = false, takesMarks_ = false, shortNames_ = false;
  QString sought_;
  double cell_ = 7;
  int lineHeight_ = 15;
};

}  // namespace dyn::ui
