#include "ui/graph/graph_dot.h"

#include <QStringList>
#include <map>

#include "app/session/views/graph_views.h"

namespace dyn::ui {

namespace {

QString quoted(QString text) {
  text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
  return '"' + text + '"';
}

}  // namespace

QByteArray graphDot(const GraphScene& scene, const GraphView& view) {
  // What stands in each open group; -1: top. Frames come before what is in them, so a list without recursion
  // is enough: each cluster is written when its turn comes and closed after its last member.
  std::map<int, std::vector<size_t>> members;
  std::map<int, size_t> frameOfGroup;
  for (size_t i = 0; i < scene.boxes.size(); ++i) {
    members[scene.boxes[i].container].push_back(i);
    if (scene.boxes[i].frame) frameOfGroup[scene.boxes[i].group] = i;
  }
  QString text =
      "digraph " + quoted(QString::fromStdString(view.stepName)) +
      " {\n  compound=true;\n  node [shape=box, style=rounded, fontname=\"DejaVu Sans\", fontsize=10];\n";
  std::vector<std::pair<int, size_t>> work = {{-1, 0}};  // a container and the next of its members
  while (!work.empty()) {
    auto& [container, next] = work.back();
    const std::vector<size_t>& list = members[container];
    const QString indent(static_cast<qsizetype>(2 * work.size()), ' ');
    if (next == list.size()) {
      work.pop_back();
      if (!work.empty()) text += indent.chopped(2) + "}\n";
      continue;
    }
    const size_t index = list[next++];
    const SceneBox& box = scene.boxes[index];
    if (box.frame) {
      text += indent + "subgraph cluster_" + QString::number(index) + " {\n" + indent +
              "  label=" + quoted(box.title) + ";\n";
      work.emplace_back(box.group, 0);
      continue;
    }
    text += indent + "n" + QString::number(index) +
            " [label=" + quoted(box.subtitle.isEmpty() ? box.title : box.title + "\n" + box.subtitle) +
            (box.node < 0 ? ", peripheries=2" : "") + "];\n";
  }
  const auto anchor = [&](int index) {  // an edge to a cluster needs a node in it
    size_t at = static_cast<size_t>(index);
    while (scene.boxes[at].frame && !members[scene.boxes[at].group].empty())
      at = members[scene.boxes[at].group].front();
    return at;
  };
  for (const SceneEdge& edge : scene.edges) {
    text += "  n" + QString::number(anchor(edge.from)) + " -> n" + QString::number(anchor(edge.to));
    QStringList attributes;
    if (edge.ownership) attributes << "style=dashed";
    if (scene.boxes[static_cast<size_t>(edge.to)].frame)
      attributes << "lhead=cluster_" + QString::number(edge.to);
    if (edge.count > 1) attributes << "penwidth=2";
    if (!attributes.isEmpty()) text += " [" + attributes.join(", ") + "]";
    text += ";\n";
  }
  return (text + "}\n").toUtf8();
}

}  // namespace dyn::ui
