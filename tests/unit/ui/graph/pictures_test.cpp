// Pictures of graphs beside recorded ones (tests/golden/pictures): models, heat, an unsupported one, two
// steps and two runs side by side, host and GPU, a stop in the machine; in two sizes, light and dark. They
// are kept at a third of their size and compared with some tolerance, so that letters drawn by another
// version of FreeType are no difference, but a box, a line or a colour in another place is. DYN_UPDATE=1
// records them anew; one that differs is left beside the build as pictures/NAME.png.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDir>
#include <QEventLoop>
#include <QFile>
#include <QFontInfo>
#include <QImage>
#include <QTemporaryDir>
#include <QTimer>

#include "app/session/session.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/stop_views.h"
#include "tests/support/paths.h"
#include "ui/graph/graph_canvas.h"
#include "ui/support/theme.h"
#include "ui/views/run/rows_canvas.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {
namespace {

constexpr int kReduction = 3;
constexpr int kSame = 48;                 // levels of a colour that are no difference
constexpr double kMostOtherPart = 0.015;  // of the pixels

QString goldenFolder() { return QString::fromStdString(test::sourceFolder()) + "/tests/golden/pictures/"; }

double otherPart(const QImage& a, const QImage& b) {
  if (a.size() != b.size()) return 1;
  int other = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
      other += std::abs(qRed(p) - qRed(q)) > kSame || std::abs(qGreen(p) - qGreen(q)) > kSame ||
               std::abs(qBlue(p) - qBlue(q)) > kSame;
    }
  return other / static_cast<double>(a.width() * a.height());
}

class Pictures : public testing::Test {
 protected:
  void SetUp() override {
    if (QFontInfo(QApplication::font()).family() != "DejaVu Sans")
      GTEST_SKIP() << "recorded with DejaVu Sans, here is "
                   << QFontInfo(QApplication::font()).family().toStdString();
  }
  void TearDown() override { applyTheme(Theme::system); }

  // Of a model; null: this build reads no ONNX files.
  Shared<GraphView> graph(const std::string& file, const char* step) {
    const auto opened = session_.execute(Command::of(CommandId::load).add("model", file).add("anyway", ""));
    if (opened->error && opened->error->message.find("reads no ONNX") != std::string::npos) return nullptr;
    Command command = Command::of(CommandId::graph);
    if (step) command.add("pass", step);
    const auto outcome = session_.execute(std::move(command));
    EXPECT_TRUE(outcome->ok()) << file << ": " << outcome->error->toString();
    return outcome->share<GraphView>();
  }
  Shared<GraphView> sample(const char* model, const char* step = "infer") {
    return graph(test::sourceFolder() + "/samples/models/" + model + "/model.onnx", step);
  }

  // `prepare`: what is shown beside the graph itself.
  void check(const QString& name, Shared<GraphView> view,
             const std::function<void(GraphCanvas&)>& prepare = {}) {
    if (!view) GTEST_SKIP() << "this build reads no ONNX files";
    for (const Theme theme : {Theme::light, Theme::dark})
      for (const QSize size : {QSize(1350, 840), QSize(750, 540)}) {
        applyTheme(theme);
        GraphCanvas canvas;
        canvas.setPalette(QApplication::palette());
        canvas.resize(size);
        canvas.setGraph(view, false);
        for (int i = 0; i < 6000 && !canvas.settled(); ++i) {
          QEventLoop loop;
          QTimer::singleShot(10, &loop, &QEventLoop::quit);
          loop.exec();
        }
        ASSERT_TRUE(canvas.settled());
        if (prepare) prepare(canvas);
        canvas.fit();
        compare(name + "_" + nameOf(theme) + "_" + QString::number(size.width()) + ".png",
                canvas.grab().toImage());
      }
  }

  void compare(const QString& name, const QImage& full) {
    const QImage picture =
        full.scaled(full.size() / kReduction, Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
            .convertToFormat(QImage::Format_RGB32);
    if (qEnvironmentVariableIsSet("DYN_UPDATE")) {
      QDir().mkpath(goldenFolder());
      ASSERT_TRUE(picture.save(goldenFolder() + name)) << name.toStdString();
      return;
    }
    const QImage golden = QImage(goldenFolder() + name).convertToFormat(QImage::Format_RGB32);
    ASSERT_FALSE(golden.isNull()) << name.toStdString() << " is not recorded";
    const double other = otherPart(picture, golden);
    if (other <= kMostOtherPart) return;
    QDir().mkpath("pictures");
    full.save("pictures/" + name);
    ADD_FAILURE() << name.toStdString() << ": " << 100 * other << " % of it looks otherwise; see "
                  << QDir::current().filePath("pictures/" + name).toStdString();
  }

  Session session_;
};

// Times that are the same everywhere: each operation's place in the list.
void heat(GraphCanvas& canvas) {
  std::vector<NodeTime> times;
  for (const GraphNode& node : canvas.graph()->nodes)
    if (node.kind == NodeKind::operation)
      times.push_back({node.place, {}, 1000 * static_cast<int64_t>(1 + times.size() * times.size() % 97)});
  canvas.setTimes(std::move(times));
}

TEST_F(Pictures, Bert) { check("bert", sample("bert")); }
TEST_F(Pictures, BertHeat) { check("bert_heat", sample("bert"), heat); }
TEST_F(Pictures, Ssd) { check("ssd", sample("ssd")); }
TEST_F(Pictures, TreeLstm) { check("treelstm", sample("treelstm")); }
TEST_F(Pictures, Gpt2) { check("gpt2", sample("gpt2")); }

TEST_F(Pictures, TwoSteps) {
  const Shared<GraphView> before = sample("bert", "infer"), after = sample("bert", "fuse");
  check("bert_changes", after, [&](GraphCanvas& canvas) { canvas.setCompared(before); });
}

TEST_F(Pictures, TwoRuns) {
  check("bert_two_runs", sample("bert"), [](GraphCanvas& canvas) {
    auto runs = std::make_shared<RunsView>();
    for (const GraphNode& node : canvas.graph()->nodes)
      if (node.kind == NodeKind::operation) {
        // A quarter to four times as long, the same everywhere.
        const auto step = static_cast<int64_t>(runs->rows.size() * 7 % 17);
        runs->rows.push_back(
            {node.place, {}, 1000, 250 + step * 220, 0.25 + 0.22 * static_cast<double>(step)});
      }
    canvas.setComparedRuns(runs);
  });
}

// What runs on the host and what on the GPU, and the copies between.
TEST_F(Pictures, Devices) {
  ASSERT_TRUE(session_.execute(Command::of(CommandId::set).add("name", "device").add("value", "cuda"))->ok());
  check("early_exit_devices", sample("early_exit", "devices"));
}
TEST_F(Pictures, DevicesHeat) {
  ASSERT_TRUE(session_.execute(Command::of(CommandId::set).add("name", "device").add("value", "cuda"))->ok());
  check("early_exit_devices_heat", sample("early_exit", "devices"), heat);
}

// The panel of a run that stands at a breakpoint.
TEST_F(Pictures, Stop) {
  StopView stop;
  stop.why = "breakpoint 1";
  stop.function = "main";
  stop.place = "bert.onnx: node /encoder/layer.0/attention/Softmax (Softmax, opset 17)";
  stop.instruction = "launch k4 [v7, v9] [r3, r5]";
  stop.position = 128;
  stop.line = 41;
  stop.registers = {{"r3", "16", "", "seq"},
                    {"r5", "1", "", "batch"},
                    {"v7", "[[0.25, 0.25, 0.5], ...]", "Tensor[(1, 12, 16, 16), f32]", ""},
                    {"v9", "[[1, 2, 3], ...]", "Tensor[(1, 16), i64]", ""}};
  stop.breakpoints.rows = {{1, "/encoder/layer.0/attention/Softmax", "main:128", 2, {41}}};
  stop.breakpoints.watched = {"seq"};
  Outcome outcome;
  outcome.command = Command::of(CommandId::continue_);
  outcome.view = std::make_shared<const StopView>(stop);
  for (const Theme theme : {Theme::light, Theme::dark})
    for (const QSize size : {QSize(900, 300), QSize(450, 360)}) {
      applyTheme(theme);
      StopPanel panel;
      panel.setPalette(QApplication::palette());
      panel.resize(size);
      panel.take(outcome);
      compare("stop_" + nameOf(theme) + "_" + QString::number(size.width()) + ".png", panel.grab().toImage());
    }
}

// Times and widths that are the same everywhere.
LevelLoop treeOf(std::vector<int64_t> nodes, std::optional<int64_t> leaves) {
  LevelLoop loop;
  loop.leaves = leaves;
  loop.nodes = std::move(nodes);
  for (size_t i = 0; i < loop.nodes.size(); ++i) {
    loop.timesNs.push_back(20'000 + 900 * loop.nodes[i] + static_cast<int64_t>(i * i * 7919 % 4000));
    loop.takenBytes.push_back(9216 * loop.nodes[i]);
  }
  return loop;
}

TEST_F(Pictures, Rows) {
  std::vector<int64_t> wide;
  for (int64_t left = 1'000'051; left > 0; left -= wide.back())
    wide.push_back(std::max<int64_t>(1, left * 2 / 5));
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 48; ++i) lengths.push_back(3 + i * i * 13 % 61);
  const LevelLoop batch = treeOf({319, 204, 147, 118, 100, 83, 73, 56, 49, 42, 27, 22, 20, 12, 4, 2}, 1342),
                  tree = treeOf({9, 5, 3, 2, 1, 1}, 22), chain = treeOf(std::vector<int64_t>(300'000, 1), {}),
                  forest = treeOf(wide, 1'000'052);
  const auto show = [&](const QString& name, const std::function<void(RowsCanvas&)>& fill) {
    for (const Theme theme : {Theme::light, Theme::dark})
      for (const QSize size : {QSize(1200, 300), QSize(600, 210)}) {
        applyTheme(theme);
        RowsCanvas canvas;
        canvas.setPalette(QApplication::palette());
        canvas.resize(size);
        fill(canvas);
        compare("rows_" + name + "_" + nameOf(theme) + "_" + QString::number(size.width()) + ".png",
                canvas.grab().toImage());
      }
  };
  show("batch", [&](RowsCanvas& canvas) { canvas.setLoop(batch); });
  show("tree", [&](RowsCanvas& canvas) { canvas.setLoop(tree); });
  show("chain", [&](RowsCanvas& canvas) { canvas.setLoop(chain); });
  show("forest", [&](RowsCanvas& canvas) { canvas.setLoop(forest); });
  show("sequences", [&](RowsCanvas& canvas) { canvas.setSequences({"x", "len", false, false, lengths}); });
}

TEST_F(Pictures, Unsupported) {
  QTemporaryDir directory;
  const QString name = directory.filePath("unknown.onnx");
  QFile known(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx")), file(name);
  ASSERT_TRUE(known.open(QIODevice::ReadOnly) && file.open(QIODevice::WriteOnly));
  file.write(known.readAll().replace("\x22\x07Softmax", "\x22\x07Softmex"));
  file.close();
  const Shared<GraphView> view = graph(name.toStdString(), nullptr);
  check("unsupported", view, [&](GraphCanvas& canvas) {
    canvas.setAllOpen(true);
    std::vector<std::string> places;
    for (const GraphNode& node : canvas.graph()->nodes)
      if (node.op == "Softmex") places.push_back(node.place);
    EXPECT_EQ(places.size(), 2u);
    canvas.setProblems(places);
  });
}

}  // namespace
}  // namespace dyn::ui
