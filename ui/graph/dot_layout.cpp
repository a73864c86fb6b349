#include "ui/graph/dot_layout.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QStandardPaths>
#include <QStringList>
#include <algorithm>
#include <map>

namespace dyn::ui {

namespace {

constexpr double kPointsPerInch = 72;  // one unit of ours is a point
constexpr int kPiecesPerCurve = 6;

QByteArray question(const LayoutInput& input) {
  const auto inches = [](double points) { return QByteArray::number(points / kPointsPerInch, 'f', 5); };
  QByteArray text =
      "digraph {\n  graph [nodesep=" + inches(input.nodeGap) + ", ranksep=" + inches(input.rowGap) +
      ", nslimit=2, nslimit1=2, mclimit=0.5];\n"
      "  node [shape=box, fixedsize=true, label=\"\"];\n  edge [dir=none, tailport=s, headport=n];\n";
  for (size_t i = 0; i < input.nodes.size(); ++i)
    text += "  " + QByteArray::number(i) + " [width=" + inches(std::max(1.0, input.nodes[i].width)) +
            ", height=" + inches(std::max(1.0, input.nodes[i].height)) + "];\n";
  const auto row = [&](const char* rank, const std::vector<int>& ports) {
    if (ports.empty()) return;
    text += QByteArray("  { rank=") + rank + ";";
    for (int port : ports) text += " " + QByteArray::number(port) + ";";
    text += " }\n";
  };
  row("source", input.tops);
  row("sink", input.bottoms);
  for (const LayoutEdge& edge : input.edges)
    if (edge.from != edge.to && !edge.isTunnelled)
      text += "  " + QByteArray::number(edge.from) + " -> " + QByteArray::number(edge.to) + ";\n";
  return text + "}\n";
}

// What `dot -Tplain` says, a word at a time: inches from the lower left corner.
class Answer {
 public:
  Answer(const LayoutInput& input, const QByteArray& text) : input_(input), text_(text) {}

  LayoutAnswer read() {
    result_.nodes.resize(input_.nodes.size());
    result_.edges.resize(input_.edges.size());
    std::map<std::pair<int, int>, std::vector<LayoutPoint>> curves;
    size_t nodes = 0;
    for (const QByteArray& line : text_.split('\n')) {
      words_ = line.split(' ');
      next_ = 1;
      if (words_[0] == "graph") {
        next_ = 2;  // after the scale
        result_.width = length();
        result_.height = length();
      } else if (words_[0] == "node") {
        nodes += placeNode();
      } else if (words_[0] == "edge") {
        const int from = number(), to = number();
        curves[{from, to}] = polyline();
      }
    }
    if (bad_ || nodes != input_.nodes.size()) return {std::nullopt, "Graphviz printed something unreadable"};
    for (size_t e = 0; e < input_.edges.size(); ++e) {
      result_.edges[e].tunnelled = input_.edges[e].isTunnelled;
      if (input_.edges[e].isTunnelled) continue;
      auto curve = curves.find({input_.edges[e].from, input_.edges[e].to});
      if (curve == curves.end()) continue;
      result_.edges[e].points = curve->second;
      result_.edges[e].isWhole = true;
    }
    return {std::move(result_), {}};
  }

 private:
  double real() {
    bool ok = next_ < words_.size();
    const double value = ok ? words_[next_++].toDouble(&ok) : 0;
    bad_ |= !ok;
    return value;
  }
  double length() { return real() * kPointsPerInch; }
  int number() { return static_cast<int>(real()); }
  LayoutPoint point() {
    const double x = length();
    return {x, result_.height - length()};
  }

  bool placeNode() {
    const int node = number();
    const LayoutPoint centre = point();
    if (node < 0 || static_cast<size_t>(node) >= input_.nodes.size()) return false;
    const LayoutSize& size = input_.nodes[static_cast<size_t>(node)];
    result_.nodes[static_cast<size_t>(node)] = {centre.x - size.width / 2, centre.y - size.height / 2, 0};
    return true;
  }

  // Cubic curves that share their ends, as straight pieces.
  std::vector<LayoutPoint> polyline() {
    const int count = number();
    std::vector<LayoutPoint> control;
    for (int i = 0; i < count && !bad_; ++i) control.push_back(point());
    std::vector<LayoutPoint> points;
    for (size_t i = 0; i + 3 < control.size(); i += 3)
      for (int piece = i == 0 ? 0 : 1; piece <= kPiecesPerCurve; ++piece) {
        const double t = static_cast<double>(piece) / kPiecesPerCurve, u = 1 - t;
        const double w[] = {u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t};
        LayoutPoint p;
        for (size_t k = 0; k < 4; ++k) {
          p.x += w[k] * control[i + k].x;
          p.y += w[k] * control[i + k].y;
        }
        points.push_back(p);
      }
    return points;
  }

  const LayoutInput& input_;
  const QByteArray& text_;
  QList<QByteArray> words_;
  qsizetype next_ = 0;
  bool bad_ = false;
  LayoutResult result_;
};

DotPicture askDot(const QByteArray& text, const QString& format, const std::function<bool()>& cancelled,
                  int limitMilliseconds) {
  const QString program = dotProgram();
  if (program.isEmpty()) return {{}, "Graphviz is not installed: its program dot is not on the path"};
  QProcess dot;
  dot.start(program, {"-T" + format});
  dot.write(text);
  dot.closeWriteChannel();
  QElapsedTimer clock;
  clock.start();
  while (!dot.waitForFinished(10)) {
    if (dot.error() == QProcess::FailedToStart) return {{}, program + " could not be started"};
    const bool isLate = clock.elapsed() > limitMilliseconds;
    if (!isLate && !cancelled()) continue;
    dot.kill();
    dot.waitForFinished();
    return {{},
            isLate ? "Graphviz took more than " + QString::number(limitMilliseconds / 1000.0) + " s"
                   : QString("cancelled")};
  }
  if (dot.exitStatus() != QProcess::NormalExit || dot.exitCode() != 0)
    return {{}, "Graphviz failed: " + QString::fromUtf8(dot.readAllStandardError()).trimmed()};
  return {dot.readAllStandardOutput(), {}};
}

}  // namespace

QString dotProgram() { return QStandardPaths::findExecutable("dot"); }

LayoutAnswer dotLayout(const LayoutInput& input, const std::function<bool()>& cancelled,
                       int limitMilliseconds) {
  if (input.nodes.empty()) return {LayoutResult(), {}};
  if (input.nodes.size() > kMostBoxesForDot)
    return {std::nullopt, "Graphviz lays out up to " + std::to_string(kMostBoxesForDot) +
                              " boxes in one frame; one has " + std::to_string(input.nodes.size()) +
                              "; the built-in layout is used"};
  const DotPicture answer = askDot(question(input), "plain", cancelled, limitMilliseconds);
  if (!answer.fault.isEmpty()) return {std::nullopt, answer.fault.toStdString()};
  return Answer(input, answer.bytes).read();
}

DotPicture dotPicture(const QByteArray& text, const QString& format, int limitMilliseconds) {
  return askDot(
      text, format, [] { return false; }, limitMilliseconds);
}

}  // namespace dyn::ui
