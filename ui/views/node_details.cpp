#include "ui/views/node_details.h"

#include <QFileInfo>

#include "app/engine/device/launch_counts.h"
#include "app/engine/model/model_info.h"
#include "app/session/views/graph_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/formula_text.h"
#include "ui/views/device_counts_text.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr size_t kMostAttributeText = 300;

QString portLine(const std::string& name, const std::string& type) {
  return htmlLine((name.empty() ? "_" : html(name)) + ": " + shortType(type).toHtmlEscaped());
}

// "f32 [batch, seq]" with a link on each dim that is no number: why is it so?
QString linkedPort(const std::string& name, const std::string& ofType, const SizeTitles& titles = {}) {
  const QString type = shortType(ofType);
  const qsizetype open = type.indexOf(" ["), close = type.lastIndexOf(']');
  if (name.empty() || open < 0 || close < open) return portLine(name, ofType);
  QString line = html(name) + ": " + type.left(open).toHtmlEscaped() + " [";
  const QStringList dims = dimsOf(type.mid(open + 2, close - open - 2));
  for (qsizetype axis = 0; axis < dims.size(); ++axis) {
    bool number = false;
    dims[axis].toLongLong(&number);
    const auto title = titles.find(dims[axis]);
    const QString text =
        (title == titles.end() ? dims[axis] : dims[axis] + " " + title->second).toHtmlEscaped();
    line += axis ? ", " : "";
    line += number ? text : "<a href='why:" + html(name) + "." + QString::number(axis) + "'>" + text + "</a>";
  }
  return htmlLine(line + "]");
}

// "/models/bert.onnx: byte 7: node /layer/MatMul" → "bert.onnx: byte 7: node /layer/MatMul"
QString withoutFolder(const std::string& place) {
  const QString text = QString::fromStdString(place);
  const qsizetype end = text.indexOf(':');
  return end < 0 ? text : text.mid(text.left(end).lastIndexOf('/') + 1);
}

QString kindInWords(ModelKind kind) {
  switch (kind) {
    case ModelKind::onnx:
      return "ONNX model";
    case ModelKind::text:
      return "text module";
    case ModelKind::package:
      return "package";
    case ModelKind::none:
      break;
  }
  return {};
}

}  // namespace

QString modelDetails(const ModelInfo& model, const SizeTitles& titles) {
  QString text =
      htmlTitle(QFileInfo(QString::fromStdString(model.path)).fileName().toHtmlEscaped()) + "<table>";
  text += htmlRow("kind", kindInWords(model.kind));
  if (!model.producer.empty()) text += htmlRow("producer", html(model.producer));
  if (model.kind != ModelKind::package) text += htmlRow("operations", QString::number(model.opsCount));
  if (model.weightsCount > 0)
    text += htmlRow("constants", QString::number(model.weightsCount) + ", " + bytesText(model.weightsBytes));
  if (model.opset > 0) text += htmlRow("opset", QString::number(model.opset));
  text += "</table>";
  const auto ports = [&](const char* title, const std::vector<ValueInfo>& values) {
    if (values.empty()) return;
    text += htmlSection(title);
    for (const ValueInfo& v : values) text += linkedPort(v.name, v.type, titles);
  };
  ports("Inputs", model.inputs);
  ports("Outputs", model.outputs);
  if (!model.ops.empty()) text += htmlSection("Operators") + "<table>";
  for (const auto& [op, count] : model.ops)
    text += "<tr><td style='padding-right:16px'>" + html(op) + "</td><td align='right'>" +
            QString::fromUtf8("× ") + QString::number(count) + "</td></tr>";
  return text + (model.ops.empty() ? "" : "</table>");
}

QString nodeDetails(const GraphNode& node, int64_t timeNs, const QStringList& together,
                    const DeviceCounts* counts, const QString& rows, const SizeTitles& titles) {
  QString text = htmlTitle(html(node.label.empty() ? node.op : node.label)) + "<table>";
  text += htmlRow("operator", html(node.op) + (node.opClass.empty() || node.opClass == node.op
                                                   ? ""
                                                   : " (" + html(node.opClass) + ")"));
  text += htmlRow("value", html(node.name));
  if (timeNs > 0) text += htmlRow("time", timeText(timeNs));
  text += rows;
  if (!together.isEmpty()) {
    constexpr int kMostNamed = 6;
    QString names = together.mid(0, kMostNamed).join(", ");
    if (together.size() > kMostNamed) names += QString(" and %1 more").arg(together.size() - kMostNamed);
    text += htmlRow("one kernel with", html(names.toStdString()));
  }
  if (counts)
    text += htmlRow("on the GPU", QString::number(counts->launchesCount) +
                                      (counts->launchesCount == 1 ? " launch: " : " launches: ") +
                                      countsText(*counts).toHtmlEscaped());
  if (!node.place.empty()) text += htmlRow("from", withoutFolder(node.place).toHtmlEscaped());
  for (const auto& [key, value] : node.attributes)
    text += htmlRow(html(key), html(value.substr(0, kMostAttributeText)));
  text += "</table>";
  if (!node.inputs.empty()) text += htmlSection("Inputs");
  for (const GraphPort& p : node.inputs) text += portLine(p.name, p.type);
  if (!node.outputs.empty()) text += htmlSection("Outputs");
  for (const GraphPort& p : node.outputs) text += linkedPort(p.name, p.type, titles);
  return text;
}

}  // namespace dyn::ui
