#include "ui/graph/graph_scene.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "ui/graph/column_wrap.h"
#include "ui/graph/layered_layout.h"
#include "ui/support/formula_text.h"

namespace dyn::ui {

namespace {

constexpr double kBoxHeight = 38, kSmallHeight = 26, kPadding = 16, kHeader = 36;
constexpr double kLeastWidth = 108, kMostWidth = 260;
constexpr double kPortWidth = 8;
constexpr double kArrow = 16;  // before the title of what can be opened
// A value that so many boxes of a frame take comes in by one line, and by ports for the others.
constexpr int kMostLinesIntoFrame = 6;

class SceneBuilder {
 public:
  SceneBuilder(const GraphView& view, const SceneOptions& options) : view_(view), options_(options) {}

  GraphScene build() {
    openGroups();
    findRows();
    makeBoxes();
    makeEdges();
    findFans();
    // Children of a group come after it, so from behind every group is sized before its parent is laid out.
    for (int g = static_cast<int>(view_.groups.size()); g-- > 0;)
      if (frameOf_[static_cast<size_t>(g)] >= 0) layContainer(g);
    layContainer(-1);
    move();
    route();
    scene_.order = std::move(order_);
    return std::move(scene_);
  }

 private:
  // Where lines come into a frame or leave it: one for each box outside, or inside, that they come from.
  struct Port {
    int source = 0;
    bool top = false;
    bool operator<(const Port& other) const {
      return std::tie(source, top) < std::tie(other.source, other.top);
    }
  };
  struct Segment {  // of a line: one link of a container
    int container = -1;
    size_t link = 0;
  };
  struct Inner {
    std::vector<int> items;                  // boxes
    std::map<Port, int> ports;               // numbered in the order they came
    std::vector<std::pair<int, int>> links;  // boxes; ports are idOf(number)
    std::map<std::pair<int, int>, size_t> linkIndex;
    std::vector<bool> isDrawn;  // of links: some line takes its way
    LayoutResult layout;
  };

  const GraphGroup& group(int g) const { return view_.groups[static_cast<size_t>(g)]; }
  Inner& inner(int container) { return inner_[static_cast<size_t>(container + 1)]; }

  void openGroups() {
    const size_t count = view_.groups.size();
    // The outermost closed group at or above each group; -1: all are open.
    closedAt_.assign(count, -1);
    frameOf_.assign(count, -1);
    boxOfGroup_.assign(count, -1);
    inner_.resize(count + 1);
    for (size_t g = 0; g < count; ++g) {
      const int parent = view_.groups[g].parent;
      if (parent >= 0 && closedAt_[static_cast<size_t>(parent)] >= 0) {
        closedAt_[g] = closedAt_[static_cast<size_t>(parent)];
      } else if (!options_.open.count(view_.groups[g].path)) {
        closedAt_[g] = static_cast<int>(g);
      }
    }
    for (size_t n = 0; n < view_.nodes.size(); ++n) indexOf_[view_.nodes[n].id] = static_cast<int>(n);
    for (const GraphGroup& g : view_.groups)
      if (g.kind == GroupKind::region && g.owner != kNoNode) owners_.insert(g.owner);
  }

  int addBox(SceneBox box) {
    const int index = static_cast<int>(scene_.boxes.size());
    scene_.boxes.push_back(std::move(box));
    return index;
  }

  // Frames of the open groups around a container, outermost first.
  void makeFrames(int container) {
    std::vector<int> missing;
    for (int g = container; g >= 0 && frameOf_[static_cast<size_t>(g)] < 0; g = group(g).parent)
      missing.push_back(g);
    while (!missing.empty()) {
      const int g = missing.back();
      missing.pop_back();
      SceneBox box;
      box.group = g;
      box.container = group(g).parent;
      box.frame = box.expandable = true;
      box.title = QString::fromStdString(group(g).label);
      box.membersCount = 0;
      const int index = addBox(std::move(box));
      frameOf_[static_cast<size_t>(g)] = index;
      inner(group(g).parent).items.push_back(index);
    }
  }

  void size(SceneBox& box, bool small) const {
    double width =
        options_.titleWidth ? options_.titleWidth(box.title) : 7.5 * static_cast<double>(box.title.size());
    const double second = options_.subtitleWidth ? options_.subtitleWidth(box.subtitle)
                                                 : 6.0 * static_cast<double>(box.subtitle.size());
    width = std::max(box.expandable ? width + kArrow : width, second) + 26;
    box.rect = QRectF(0, 0, std::ceil(std::clamp(width, kLeastWidth, kMostWidth)),
                      small ? kSmallHeight : kBoxHeight);
  }

  void makeBoxes() {
    scene_.boxOfNode.assign(view_.nodes.size(), -1);
    for (size_t n = 0; n < view_.nodes.size(); ++n) {
      const GraphNode& node = view_.nodes[n];
      if (scene_.boxOfNode[n] >= 0) continue;  // in a row of inputs or outputs
      if (node.kind == NodeKind::constant && !options_.showConstants) continue;
      const int closed = node.group < 0 ? -1 : closedAt_[static_cast<size_t>(node.group)];
      if (closed >= 0) {
        scene_.boxOfNode[n] = boxOfClosed(closed);
        continue;
      }
      makeFrames(node.group);
      SceneBox box;
      box.node = static_cast<int>(n);
      box.container = node.group;
      box.title = QString::fromStdString(node.label.empty() ? node.op : node.label);
      const std::string type = !node.outputs.empty()  ? node.outputs[0].type
                               : !node.inputs.empty() ? node.inputs[0].type
                                                      : "";
      box.subtitle = shortType(type);
      // A check makes nothing: what it demands is what it has to say.
      if (box.subtitle.isEmpty() && node.kind == NodeKind::operation)
        for (const auto& [name, value] : node.attributes)
          if (value.size() > 2 && value.front() == '"' && value.find(' ') != std::string::npos)
            box.subtitle = QString::fromStdString(value.substr(1, value.size() - 2));
      box.opClass = QString::fromStdString(node.opClass);
      box.expandable = owners_.count(node.id) > 0;
      const std::vector<size_t>& row = rowOf(n);
      if (row.size() > 1) {
        box.title += QString::fromUtf8(" … ") + QString::fromStdString(view_.nodes[row.back()].label);
        box.subtitle = QString::fromUtf8("%1 × ").arg(row.size()) + box.subtitle;
      }
      size(box, box.subtitle.isEmpty());
      const int index = addBox(std::move(box));
      scene_.boxOfNode[n] = index;
      for (const size_t other : row) scene_.boxOfNode[other] = index;
      inner(node.group).items.push_back(index);
    }
    for (SceneBox& box : scene_.boxes) {
      if (box.node >= 0 || box.frame) continue;
      box.subtitle = QString::number(box.membersCount) + (box.membersCount == 1 ? " op" : " ops");
      size(box, false);
    }
  }

  // What an input or output is joined to as it is shown: a closed group and -1, or -1 and an operation.
  using Joint = std::pair<int, int>;

  // The inputs, or the outputs, of one type that all go into one box, or come from one: a decoder has dozens,
  // and in a row of dozens nothing can be read.
  void findRows() {
    constexpr size_t kFewest = 6;
    std::map<int, std::set<Joint>> joints;  // of inputs and outputs
    for (const GraphEdge& e : view_.edges) {
      const auto from = indexOf_.find(e.from), to = indexOf_.find(e.to);
      if (from == indexOf_.end() || to == indexOf_.end()) continue;
      for (const auto& [pill, other] : {std::pair(from->second, to->second), {to->second, from->second}}) {
        if (!isPill(pill)) continue;
        const int group = view_.nodes[static_cast<size_t>(other)].group,
                  closed = group < 0 ? -1 : closedAt_[static_cast<size_t>(group)];
        joints[pill].insert(closed >= 0 ? Joint{closed, -1} : Joint{-1, other});
      }
    }
    std::map<std::tuple<NodeKind, Joint, QString>, std::vector<size_t>> rows;
    for (const auto& [pill, joined] : joints) {
      if (joined.size() != 1) continue;
      const GraphNode& node = view_.nodes[static_cast<size_t>(pill)];
      const std::vector<GraphPort>& ports = node.outputs.empty() ? node.inputs : node.outputs;
      const QString type = ports.empty() ? QString() : shortType(ports[0].type);
      rows[{node.kind, *joined.begin(), type}].push_back(static_cast<size_t>(pill));
    }
    for (auto& [key, row] : rows)
      if (row.size() >= kFewest) rows_[row.front()] = std::move(row);
  }
  bool isPill(int node) const {
    const GraphNode& n = view_.nodes[static_cast<size_t>(node)];
    return (n.kind == NodeKind::input || n.kind == NodeKind::output) && n.group < 0;
  }
  // Of the first of a row all in it; else nothing.
  const std::vector<size_t>& rowOf(size_t node) const {
    static const std::vector<size_t> kNone;
    const auto row = rows_.find(node);
    return row == rows_.end() ? kNone : row->second;
  }

  // The box that stands for a closed group: of a body the operation it belongs to, else its own.
  int boxOfClosed(int g) {
    const GraphGroup& closed = group(g);
    if (closed.kind == GroupKind::region && closed.owner != kNoNode) {
      auto owner = indexOf_.find(closed.owner);
      if (owner != indexOf_.end()) return scene_.boxOfNode[static_cast<size_t>(owner->second)];
    }
    int& index = boxOfGroup_[static_cast<size_t>(g)];
    if (index < 0) {
      makeFrames(closed.parent);
      SceneBox box;
      box.group = g;
      box.container = closed.parent;
      box.expandable = true;
      box.title = QString::fromStdString(closed.label);
      box.opClass = "group";
      box.membersCount = 0;
      index = addBox(std::move(box));
      inner(closed.parent).items.push_back(index);
    }
    ++scene_.boxes[static_cast<size_t>(index)].membersCount;
    return index;
  }

  // The box that holds `box` one level up.
  int up(int box) const {
    const int container = scene_.boxes[static_cast<size_t>(box)].container;
    return container < 0 ? -1 : frameOf_[static_cast<size_t>(container)];
  }
  int depth(int box) const {
    int d = 0;
    for (int b = up(box); b >= 0; b = up(b)) ++d;
    return d;
  }

  static int idOf(int port) { return -1 - port; }
  int portOf(int container, Port port) {
    std::map<Port, int>& ports = inner(container).ports;
    return idOf(ports.emplace(port, static_cast<int>(ports.size())).first->second);
  }
  Segment segment(int container, int a, int b) {
    Inner& in = inner(container);
    auto [it, isNew] = in.linkIndex.emplace(std::make_pair(a, b), in.links.size());
    if (isNew) in.links.emplace_back(a, b);
    return {container, it->second};
  }
  int containerOf(int box) const { return scene_.boxes[static_cast<size_t>(box)].container; }

  // A line crosses the borders of frames at ports, so that in each frame it is laid out round the boxes.
  void link(SceneEdge edge) {
    int a = edge.from, b = edge.to, da = depth(a), db = depth(b);
    std::vector<Segment> out, in;
    const auto leave = [&] {
      const int c = containerOf(a);
      out.push_back(segment(c, a, portOf(c, {edge.from, false})));
      a = up(a);
      --da;
    };
    const auto enter = [&] {
      const int c = containerOf(b);
      in.push_back(segment(c, portOf(c, {edge.from, true}), b));
      b = up(b);
      --db;
    };
    while (da > db && up(a) != b) leave();
    while (db > da && up(b) != a) enter();
    while (a != b && containerOf(a) != containerOf(b) && da == db) {
      leave();
      enter();
    }
    if (a != b && containerOf(a) == containerOf(b)) {
      out.push_back(segment(containerOf(a), a, b));
      out.insert(out.end(), in.rbegin(), in.rend());
    } else {
      out.clear();  // from a box to a frame around it
    }
    routes_.push_back(std::move(out));
    scene_.edges.push_back(std::move(edge));
  }

  void makeEdges() {
    std::map<std::pair<int, int>, size_t> known;
    for (const GraphEdge& e : view_.edges) {
      auto from = indexOf_.find(e.from), to = indexOf_.find(e.to);
      if (from == indexOf_.end() || to == indexOf_.end()) continue;
      const int a = scene_.boxOfNode[static_cast<size_t>(from->second)],
                b = scene_.boxOfNode[static_cast<size_t>(to->second)];
      if (a < 0 || b < 0 || a == b) continue;
      auto [it, isNew] = known.emplace(std::make_pair(a, b), scene_.edges.size());
      if (!isNew) {
        ++scene_.edges[it->second].count;
        continue;
      }
      SceneEdge edge;
      edge.from = a;
      edge.to = b;
      edge.name = QString::fromStdString(e.name);
      link(std::move(edge));
    }
    for (size_t g = 0; g < view_.groups.size(); ++g) {
      const GraphGroup& body = view_.groups[g];
      if (frameOf_[g] < 0 || body.kind != GroupKind::region) continue;
      auto owner = indexOf_.find(body.owner);
      if (owner == indexOf_.end()) continue;
      const int box = scene_.boxOfNode[static_cast<size_t>(owner->second)];
      if (box < 0) continue;
      SceneEdge edge;
      edge.from = box;
      edge.to = frameOf_[g];
      edge.ownership = true;
      link(std::move(edge));
    }
  }

  // Lines of one value to many boxes of a frame that it does not stand in: the first is drawn, others are
  // ports. No box is placed by a line that is not drawn.
  void findFans() {
    std::map<std::pair<int, int>, std::vector<size_t>> into;
    for (size_t e = 0; e < scene_.edges.size(); ++e) {
      const SceneEdge& edge = scene_.edges[e];
      if (!edge.ownership && containerOf(edge.from) != containerOf(edge.to))
        into[{edge.from, containerOf(edge.to)}].push_back(e);
    }
    isOfFan_.assign(scene_.edges.size(), false);
    for (const auto& [end, edges] : into)
      for (size_t i = 1; i < edges.size() && static_cast<int>(edges.size()) > kMostLinesIntoFrame; ++i)
        isOfFan_[edges[i]] = true;
    for (Inner& in : inner_) in.isDrawn.assign(in.links.size(), false);
    for (size_t e = 0; e < routes_.size(); ++e)
      for (const Segment& part : routes_[e])
        if (!isOfFan_[e]) inner(part.container).isDrawn[part.link] = true;
  }

  void layContainer(int container) {
    Inner& in = inner(container);
    std::map<int, int> local;
    LayoutInput input;
    for (int item : in.items) {
      local[item] = static_cast<int>(input.nodes.size());
      const QRectF& r = scene_.boxes[static_cast<size_t>(item)].rect;
      input.nodes.push_back({r.width(), r.height()});
    }
    for (const auto& [port, number] : in.ports)
      local[idOf(number)] = static_cast<int>(in.items.size()) + number;
    input.nodes.resize(in.items.size() + in.ports.size(), {kPortWidth, 0});
    for (const auto& [port, number] : in.ports)
      (port.top ? input.tops : input.bottoms).push_back(local[idOf(number)]);
    for (size_t l = 0; l < in.links.size(); ++l)
      input.edges.push_back({local[in.links[l].first], local[in.links[l].second], !in.isDrawn[l]});
    if (options_.before) input.before = placesBefore(in.items, input.nodes.size());
    const bool own = !layOtherwise(input, in.layout);
    if (own) in.layout = layeredLayout(input);
    for (size_t i = 0; i < in.items.size(); ++i)
      remember(in.items[i], in.layout.nodes[i].x + input.nodes[i].width / 2);
    if (own) tightenFoot(in, input);
    if (own) wrapColumns(input, in.layout);
    if (container < 0) return;
    SceneBox& frame = scene_.boxes[static_cast<size_t>(frameOf_[static_cast<size_t>(container)])];
    frame.membersCount = static_cast<int>(in.items.size());
    const double title = options_.titleWidth ? options_.titleWidth(frame.title)
                                             : 7.5 * static_cast<double>(frame.title.size());
    shift_[container] = std::max(0.0, title + 30 - in.layout.width - 2 * kPadding) / 2;
    frame.rect = QRectF(0, 0, std::max(in.layout.width + 2 * kPadding, title + 30),
                        in.layout.height + kHeader + kPadding);
  }

  // Lines that leave a frame need no row of their own below its boxes.
  void tightenFoot(Inner& in, const LayoutInput& input) const {
    double foot = 0;
    for (size_t i = 0; i < in.items.size(); ++i)
      foot = std::max(foot, in.layout.nodes[i].y + input.nodes[i].height);
    const double below = in.layout.height - foot;
    constexpr double kBelow = 14;
    if (below <= kBelow) return;
    const auto tight = [&](double y) { return y <= foot ? y : foot + (y - foot) * kBelow / below; };
    for (PlacedNode& node : in.layout.nodes) node.y = tight(node.y);
    for (RoutedEdge& edge : in.layout.edges)
      for (LayoutPoint& p : edge.points) p.y = tight(p.y);
    in.layout.height = foot + kBelow;
  }

  std::vector<double> placesBefore(const std::vector<int>& items, size_t count) const {
    std::vector<double> places(count, std::numeric_limits<double>::quiet_NaN());
    for (size_t i = 0; i < items.size(); ++i) {
      const SceneBox& box = scene_.boxes[static_cast<size_t>(items[i])];
      if (box.node >= 0) {
        auto at = options_.before->nodes.find(view_.nodes[static_cast<size_t>(box.node)].id);
        if (at != options_.before->nodes.end()) places[i] = at->second;
      } else {
        auto at = options_.before->groups.find(group(box.group).path);
        if (at != options_.before->groups.end()) places[i] = at->second;
      }
    }
    return places;
  }

  void remember(int item, double across) {
    const SceneBox& box = scene_.boxes[static_cast<size_t>(item)];
    if (box.node >= 0)
      order_->nodes[view_.nodes[static_cast<size_t>(box.node)].id] = across;
    else
      order_->groups[group(box.group).path] = across;
  }

  // By the way that the options wish; false: absent, or it failed.
  bool layOtherwise(const LayoutInput& input, LayoutResult& layout) {
    if (!options_.layout) return false;
    LayoutAnswer other = options_.layout(input);
    if (other.layout) {
      layout = *std::move(other.layout);
      return true;
    }
    const QString remark = QString::fromStdString(other.fault);
    if (!scene_.remarks.contains(remark)) scene_.remarks << remark;
    return false;
  }

  QRectF frameOf(int container) const {
    return scene_.boxes[static_cast<size_t>(frameOf_[static_cast<size_t>(container)])].rect;
  }

  QPointF origin(int container) const {
    if (container < 0) return {0, 0};
    auto shift = shift_.find(container);
    const QRectF& r = scene_.boxes[static_cast<size_t>(frameOf_[static_cast<size_t>(container)])].rect;
    return r.topLeft() + QPointF(kPadding + (shift == shift_.end() ? 0 : shift->second), kHeader);
  }

  void move() {
    for (int c = -1; c < static_cast<int>(view_.groups.size()); ++c) {
      if (c >= 0 && frameOf_[static_cast<size_t>(c)] < 0) continue;
      const Inner& in = inner(c);
      const QPointF at = origin(c);
      for (size_t i = 0; i < in.items.size(); ++i)
        scene_.boxes[static_cast<size_t>(in.items[i])].rect.moveTopLeft(
            at + QPointF(in.layout.nodes[i].x, in.layout.nodes[i].y));
    }
    for (const SceneBox& box : scene_.boxes) scene_.bounds |= box.rect;
  }

  void route() {
    for (size_t e = 0; e < scene_.edges.size(); ++e) {
      SceneEdge& edge = scene_.edges[e];
      edge.tunnelled = isOfFan_[e];
      for (const Segment& part : routes_[e]) {
        const RoutedEdge& routed = inner(part.container).layout.edges[part.link];
        edge.tunnelled |= routed.tunnelled;
        edge.isWhole |= routed.isWhole;
        const QPointF at = origin(part.container);
        for (const LayoutPoint& p : routed.points) edge.points.push_back(at + QPointF(p.x, p.y));
        // From a port down to the border: the last column may be shorter than others.
        if (inner(part.container).links[part.link].second < 0 && !edge.points.empty())
          edge.points.push_back({edge.points.back().x(), frameOf(part.container).bottom() - kPadding / 2});
      }
      const QRectF from = scene_.boxes[static_cast<size_t>(edge.from)].rect,
                   to = scene_.boxes[static_cast<size_t>(edge.to)].rect;
      if (edge.points.size() < 2 || edge.tunnelled)
        edge.points = {QPointF(from.center().x(), from.bottom()), QPointF(to.center().x(), to.top())};
      QRectF around(edge.points.front(), QSizeF(1, 1));
      for (const QPointF& p : edge.points) around |= QRectF(p, QSizeF(1, 1));
      edge.around = around.adjusted(-4, -24, 4, 24);
      scene_.bounds |= around;
    }
    std::map<int, std::vector<size_t>> portsOf;  // by box
    for (size_t e = 0; e < scene_.edges.size(); ++e)
      if (scene_.edges[e].tunnelled) portsOf[scene_.edges[e].to].push_back(e);
    for (const auto& [box, edges] : portsOf)
      for (size_t i = 0; i < edges.size(); ++i) {
        scene_.edges[edges[i]].port = static_cast<int>(i);
        scene_.edges[edges[i]].ports = static_cast<int>(edges.size());
      }
  }

  const GraphView& view_;
  const SceneOptions& options_;
  GraphScene scene_;
  std::shared_ptr<SceneOrder> order_ = std::make_shared<SceneOrder>();
  std::vector<int> closedAt_, frameOf_, boxOfGroup_;
  std::vector<Inner> inner_;
  std::map<NodeId, int> indexOf_;
  std::set<NodeId> owners_;
  std::map<size_t, std::vector<size_t>> rows_;  // of inputs or outputs that are one box, by the first
  std::map<int, double> shift_;
  std::vector<std::vector<Segment>> routes_;  // of each scene edge
  std::vector<bool> isOfFan_;                 // of each scene edge: a port instead of a line
};

}  // namespace

GraphScene buildScene(const GraphView& view, const SceneOptions& options) {
  return SceneBuilder(view, options).build();
}

std::set<std::string> firstOpenGroups(const GraphView& view, int wantedBoxes, int mostBoxes) {
  // Boxes directly in each group; bodies of operations stay closed.
  std::vector<int> direct(view.groups.size() + 1, 0);
  for (const GraphNode& node : view.nodes)
    if (node.kind != NodeKind::constant) ++direct[static_cast<size_t>(node.group + 1)];
  for (const GraphGroup& g : view.groups)
    if (g.kind != GroupKind::region) ++direct[static_cast<size_t>(g.parent + 1)];
  std::set<std::string> open;
  int shown = direct[0];
  std::vector<size_t> visible;
  auto showChildren = [&](int parent) {
    for (size_t g = 0; g < view.groups.size(); ++g)
      if (view.groups[g].parent == parent && view.groups[g].kind != GroupKind::region) visible.push_back(g);
  };
  showChildren(-1);
  while (shown < wantedBoxes && !visible.empty()) {
    // The smallest first: it is read most easily.
    auto least = std::min_element(visible.begin(), visible.end(),
                                  [&](size_t a, size_t b) { return direct[a + 1] < direct[b + 1]; });
    const size_t g = *least;
    // With next to nothing to see a larger group is better than a closed box.
    if (shown + direct[g + 1] > (shown < 6 ? 3 * mostBoxes : mostBoxes)) break;
    visible.erase(least);
    open.insert(view.groups[g].path);
    shown += direct[g + 1] - 1;
    showChildren(static_cast<int>(g));
  }
  return open;
}

QString shortType(const std::string& type) {
  const QString text = QString::fromStdString(type);
  if (!text.startsWith("Tensor[(")) return text;
  const qsizetype close = text.lastIndexOf("), ");
  if (close < 0) return text;
  const QString dims = text.mid(8, close - 8), dtype = text.mid(close + 3, text.size() - close - 4);
  if (dims.isEmpty()) return dtype;
  QStringList shown;
  for (const QString& dim : dimsOf(dims)) shown << formulaText(dim, Numbers::exact);
  return dtype + " [" + shown.join(", ") + "]";
}

QString timeText(int64_t timeNs) {
  const double ns = static_cast<double>(timeNs);
  if (ns < 1e3) return QString::number(timeNs) + " ns";
  if (ns < 1e6) return QString::number(ns / 1e3, 'f', ns < 1e4 ? 1 : 0) + QString::fromUtf8(" µs");
  if (ns < 1e9) return QString::number(ns / 1e6, 'f', ns < 1e7 ? 2 : 1) + " ms";
  return QString::number(ns / 1e9, 'f', 2) + " s";
}

QString groupedText(int64_t number) {
  QString text = QString::number(number);
  for (qsizetype at = text.size() - 3; at > 0; at -= 3) text.insert(at, QChar(0x2009));
  return text;
}

QString bytesText(int64_t bytes) {
  const double b = static_cast<double>(bytes);
  if (b < 1024) return QString::number(bytes) + " B";
  if (b < 1024.0 * 1024) return QString::number(b / 1024, 'f', 1) + " KiB";
  if (b < 1024.0 * 1024 * 1024) return QString::number(b / 1024 / 1024, 'f', 1) + " MiB";
  return QString::number(b / 1024 / 1024 / 1024, 'f', 2) + " GiB";
}

}  // namespace dyn::ui
