// dynstudio: the window.
//
//   dynstudio [MODEL]
//   dynstudio --screenshot out.png [--dim n=4]... MODEL      // opens, runs when dims are given, writes a picture of the window
//   dynstudio --headless [--dim n=4]... [--export graph.svg|graph.png] [--state out.json] MODEL
#include <QApplication>
#include <QCommandLineParser>
#include <QEventLoop>
#include <QFile>
#include <QTextStream>
#include <QTimer>

#include "ui/shell/main_window.h"

namespace {

void waitIdle(dyn::ui::MainWindow& window) {
  if (window.idle()) return;
  QEventLoop loop;
  QObject::connect(&window, &dyn::ui::MainWindow::becameIdle, &loop, &QEventLoop::quit);
  loop.exec();
}

int fail(const QString& text, int code) {
  QTextStream(stderr) << text << "\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  bool headless = qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
  for (int i = 1; i < argc; ++i) {
    const QByteArray argument(argv[i]);
    headless |= argument == "--headless" || argument.startsWith("--screenshot");
  }
  if (headless && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QApplication::setApplicationName("dynstudio");
  QApplication::setStyle("Fusion");
  QCommandLineParser parser;
  parser.setApplicationDescription("Look into a model: its graph, its passes, its kernels and their times.");
  parser.addHelpOption();
  parser.addOptions({{"screenshot", "Write a picture of the window and leave.", "file"},
                     {"headless", "No window: for --export and --state."},
                     {"export", "Write the graph as .png or .svg and leave.", "file"},
                     {"state", "Write what is shown as JSON and leave.", "file"},
                     {"open-groups", "Open all groups first."},
                     {"dim", "Run with this size of a named dim.", "name=size"}});
  parser.addPositionalArgument("model", "A .onnx, .dyn or .dynpkg file.", "[MODEL]");
  parser.process(app);

  dyn::SessionOptions options;
  options.cacheDirectory = dyn::defaultCacheDirectory();
  dyn::ui::MainWindow window(options);
  for (const QString& dim : parser.values("dim")) {
    bool ok = false;
    const int value = dim.section('=', 1).toInt(&ok);
    if (!ok || value < 0) return fail("--dim wants NAME=SIZE, not " + dim, 2);
    window.setDim(dim.section('=', 0, 0), value);
  }
  const QStringList files = parser.positionalArguments();
  const bool batch = parser.isSet("screenshot") || parser.isSet("headless") || parser.isSet("export") || parser.isSet("state");
  if (batch && files.isEmpty()) return fail("a model is needed", 2);
  window.show();
  if (!files.isEmpty()) window.open(files.first());
  if (!batch) return QApplication::exec();

  waitIdle(window);
  if (!window.lastError().isEmpty()) return fail(window.lastError(), 1);
  if (parser.isSet("dim")) {
    window.run();
    waitIdle(window);
    if (!window.lastError().isEmpty()) return fail(window.lastError(), 1);
  }
  if (parser.isSet("open-groups")) window.canvas()->setAllOpen(true);
  if (parser.isSet("export") && !window.canvas()->exportTo(parser.value("export"))) return fail("can not write " + parser.value("export"), 1);
  if (parser.isSet("state")) {
    QFile file(parser.value("state"));
    if (!file.open(QIODevice::WriteOnly) || file.write(window.stateJson()) < 0) return fail("can not write " + file.fileName(), 1);
  }
  if (parser.isSet("screenshot")) {
    window.canvas()->fit();
    QCoreApplication::processEvents();
    if (!window.grab().save(parser.value("screenshot"))) return fail("can not write " + parser.value("screenshot"), 1);
  }
  return 0;
}
