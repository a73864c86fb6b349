// Names of one list, shortened the same way everywhere: what all of them begin with is dimmed, or left out
// where there is no room; then the middle is left out, and the last two parts stay. Tooltips and copied cells
// have the whole name.
//
//   "/bert/encoder/layer.0/output/dense/MatMul", of a list that begins with "/bert/encoder/"
//     → "…layer.0/output/dense/MatMul" → "…layer…dense/MatMul" → "…dense/MatMul"
#pragma once

#include <QFontMetrics>
#include <QString>
#include <QStringList>
#include <QStyledItemDelegate>

namespace dyn::ui {

// "model.onnx: byte 7: node /layer/MatMul (MatMul, opset 17)" → "/layer/MatMul"; other locations as they are.
QString nodeOfPlace(const QString& place);
inline QString nodeOfPlace(const std::string& place) { return nodeOfPlace(QString::fromStdString(place)); }

// How many letters all names begin with, in whole parts; 0 of a single name.
qsizetype sharedPrefix(const QStringList& names);

// The name in `width` pixels; its first `prefix` letters are left out first.
QString elidedName(const QString& name, qsizetype prefix, const QFontMetrics& metrics, int width);

// Paints the names of one column; the items keep the whole ones.
class NameDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void setNames(const QStringList& names) { prefix_ = sharedPrefix(names); }
  qsizetype prefix() const { return prefix_; }
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  qsizetype prefix_ = 0;
};

}  // namespace dyn::ui
