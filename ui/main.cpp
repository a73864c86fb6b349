// dynstudio: the window.
//
//   dynstudio [MODEL]
//   dynstudio --screenshot out.png [--dim n=4]... MODEL      // opens, runs when dims are given, writes a picture of the window
//   dynstudio --headless --export graph.svg|pdf|png|dot|ps MODEL    // the graph alone
//   dynstudio --headless --state out.json [--script FILE] [MODEL]
// A script has commands of the shell; their answers are shown where they belong. Exit codes are those of
// dynrepl.
#include <QApplication>
#include <QCommandLineParser>
#include <QEventLoop>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QTextStream>

#include "app/session/script_reader.h"
#include "app/session/supervisor.h"
#include "ui/shell/main_window.h"

namespace {

using dyn::ui::MainWindow;

constexpr int kUsage = 2;

void waitIdle(MainWindow& window) {
  if (window.idle()) return;
  QEventLoop loop;
  QObject::connect(&window, &MainWindow::becameIdle, &loop, &QEventLoop::quit);
  loop.exec();
}

int fail(const QString& text, int code) {
  QTextStream(stderr) << text << "\n";
  return code;
}

// Waits for all that was submitted; 0, or the exit code of what went wrong.
int settle(MainWindow& window, const QString& place = {}) {
  waitIdle(window);
  if (window.lastError().isEmpty()) return 0;
  return fail(place + window.lastError(), window.lastErrorCode());
}

// The commands of a script, one after the other; stops at the first error.
int runScript(MainWindow& window, const QString& name) {
  QFile file(name);
  const bool opened = name == "-" ? file.open(stdin, QIODevice::ReadOnly) : file.open(QIODevice::ReadOnly);
  if (!opened) return fail("cannot read " + name, 1);
  const std::string shown = name == "-" ? "<stdin>" : name.toStdString();
  const std::string text = file.readAll().toStdString();
  dyn::ScriptReader reader(text, shown);
  if (const dyn::Status readable = reader.check(); !readable.ok())
    return fail(QString::fromStdString(readable.error().toString()), dyn::exitCode(readable.error().id));
  while (const std::optional<dyn::ScriptLine> line = reader.next()) {
    window.submitLine(line->text);
    if (const int code = settle(window, QString::fromStdString(line->place.toString()) + ": ")) return code;
  }
  return 0;
}

// What is asked for before anything is written: the run, the step, the script.
int prepare(MainWindow& window, const QCommandLineParser& parser,
            const std::optional<dyn::ui::WindowMode>& mode) {
  if (const int code = settle(window)) return code;
  if (parser.isSet("dim")) {
    window.run();
    if (const int code = settle(window)) return code;
  }
  if (parser.isSet("step")) {
    for (const char* command : {":graph ", ":ir "}) {
      window.submitLine(command + parser.value("step").toStdString());
      if (const int code = settle(window)) return code;
    }
  }
  if (parser.isSet("script"))
    if (const int code = runScript(window, parser.value("script"))) return code;
  if (parser.isSet("why")) window.askWhy(parser.value("why"));
  if (parser.isSet("overlay") && !window.openOverlay(parser.value("overlay"))) return settle(window);
  if (parser.isSet("open-groups")) window.canvas()->setAllOpen(true);
  if (mode) window.setMode(*mode);
  if (parser.isSet("panel") && !window.showPanel(parser.value("panel")))
    return fail("there is no panel " + parser.value("panel"), kUsage);
  return settle(window);
}

int writeFiles(MainWindow& window, const QCommandLineParser& parser) {
  if (parser.isSet("export"))
    if (const QString fault = window.canvas()->exportTo(parser.value("export")); !fault.isEmpty())
      return fail(fault, 1);
  if (parser.isSet("screenshot")) {
    window.canvas()->fit();
    if (parser.isSet("find")) {
      window.canvas()->search(parser.value("find"));
      window.canvas()->nextMatch();
      waitIdle(window);
    }
    QCoreApplication::processEvents();
    if (!window.grab().save(parser.value("screenshot")))
      return fail("cannot write " + parser.value("screenshot"), 1);
  }
  return 0;
}

int writeState(MainWindow& window, const QString& name) {
  QSaveFile file(name);
  if (!file.open(QIODevice::WriteOnly) || file.write(window.stateJson()) < 0 || !file.commit())
    return fail("cannot write " + name, 1);
  return 0;
}

// Without a screen Qt's remarks about what the platform lacks are noise on standard error; what is wrong
// still comes through.
void passFaults(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type == QtCriticalMsg || type == QtFatalMsg) QTextStream(stderr) << text << "\n";
}

// Are files asked for, and no window? Then a crash is told by how the process ends.
bool isBatch(const QCommandLineParser& parser) {
  for (const char* option : {"screenshot", "headless", "export", "state", "script"})
    if (parser.isSet(option)) return true;
  return false;
}

// `record`: null for who is not watched over.
int runWindow(int argc, char** argv, dyn::CommandRecord* record, const dyn::Restart& restart) {
  bool headless = qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
  for (int i = 1; i < argc; ++i) {
    const QByteArray argument(argv[i]);
    headless |= argument == "--headless" || argument.startsWith("--screenshot");
  }
  if (headless && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  if (headless) qInstallMessageHandler(passFaults);
  QApplication app(argc, argv);
  QApplication::setApplicationName("dynstudio");
  QApplication::setApplicationVersion(DYN_VERSION);
  QApplication::setStyle("Fusion");
  QApplication::setWindowIcon(QIcon(":/dynstudio.svg"));
  QApplication::setDesktopFileName("dynstudio");
  QCommandLineParser parser;
  parser.setApplicationDescription("Show a model: its graph, passes, kernels and their times.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addOptions(
      {{"headless", "Open no window; for --export, --state and --script."},
       {"export", "Write the graph as .svg, .pdf, .png or .dot, or by Graphviz as .ps, and exit.", "file"},
       {"state", "Write the state of the views as JSON and exit.", "file"},
       {"script", "Run the commands of a file; - reads standard input.", "file"},
       {"screenshot", "Write a picture of the window and exit.", "file"},
       {"dim", "Run with this size of a named dim.", "name=size"},
       {"step", "Show the graph after this pass (name or number).", "pass"},
       {"why", "Explain a dim: VALUE.AXIS.", "dim"},
       {"overlay", "Colour the graph by the values of a JSON file: node name to number or text.", "file"},
       {"find", "Show the first operation that contains these words, in a picture.", "text"},
       {"panel",
        "Show this lower panel: IR, Changes, Code, Kernels, By layer, Flame, Timeline, Runs, Structure, "
        "Tensor, Why, Memory, Sizes, Problems, Console.",
        "name"},
       {"open-groups", "Open all groups first."},
       {"size", "Size of the window, such as 1280x800.", "size"},
       {"theme", "light, dark, or system (the theme of the desktop).", "theme"},
       {"mode", "Overview, Passes, Sizes, Profile, Memory, Code or Debug.", "name"},
       {"layout", "The former name of --mode.", "name"}});
  parser.addPositionalArgument("model", "A .onnx, .dyn or .dynpkg file.", "[MODEL]");
  parser.process(app);
  const bool batch = isBatch(parser);
  const QStringList files = parser.positionalArguments();
  if (files.size() > 1) return fail("one model at a time", kUsage);
  if (batch && files.isEmpty() && !parser.isSet("script"))
    return fail("a model or a script is needed", kUsage);
  const QString picture = parser.value("export");
  const QStringList kinds = {"svg", "pdf", "png", "dot", "ps"};
  if (!picture.isEmpty() && !kinds.contains(QFileInfo(picture).suffix()))
    return fail("--export writes .svg, .pdf, .png, .dot or .ps, not " + picture, kUsage);

  std::vector<std::string> read = {parser.value("script").toStdString()};
  for (const QString& file : files) read.push_back(file.toStdString());
  for (const char* written : {"export", "state", "screenshot"})
    if (const dyn::Status status = dyn::checkOutput(read, parser.value(written).toStdString()); !status.ok())
      return fail("--" + QString(written) + ": " + QString::fromStdString(status.error().message), kUsage);

  dyn::SessionOptions options;
  options.cacheDirectory = dyn::defaultCacheDirectory();
  MainWindow window(options, batch ? QString() : dyn::ui::standardSettingsFile());
  for (const QString& dim : parser.values("dim")) {
    bool ok = false;
    const int value = dim.section('=', 1).toInt(&ok);
    if (!ok || value < 0) return fail("--dim wants NAME=SIZE, not " + dim, kUsage);
    window.setDim(dim.section('=', 0, 0), value);
  }
  if (parser.isSet("size")) {
    const QStringList size = parser.value("size").split('x');
    if (size.size() != 2 || size[0].toInt() < 200 || size[1].toInt() < 200)
      return fail("--size wants WIDTHxHEIGHT of at least 200x200", kUsage);
    window.resize(size[0].toInt(), size[1].toInt());
  }
  if (parser.isSet("theme")) {
    const auto theme = dyn::ui::themeOf(parser.value("theme"));
    if (!theme) return fail("--theme is light, dark or system, not " + parser.value("theme"), kUsage);
    dyn::ui::applyTheme(*theme);
  }
  std::optional<dyn::ui::WindowMode> mode;
  for (const char* option : {"mode", "layout"}) {
    if (!parser.isSet(option)) continue;
    mode = dyn::ui::modeOf(parser.value(option));
    if (!mode)
      return fail(QString("--%1 is Overview, Passes, Sizes, Profile, Memory, Code or Debug, not %2")
                      .arg(option, parser.value(option)),
                  kUsage);
    window.setMode(*mode);
  }
  window.keepRecord(record);
  window.show();
  if (!restart.crash.empty())
    window.restart(restart);
  else if (!files.isEmpty())
    window.open(files.first());
  else if (!batch)
    window.reopenLast();
  if (!batch) return QApplication::exec();

  const int code = prepare(window, parser, mode);
  // A state is written after a failure too: it says what was shown and what went wrong.
  const int stateCode = parser.isSet("state") ? writeState(window, parser.value("state")) : 0;
  if (code != 0) return code;
  const int filesCode = writeFiles(window, parser);
  return filesCode != 0 ? filesCode : stateCode;
}

}  // namespace

// A window is watched over from the start, before there are threads; what leaves by itself needs no watch.
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const QByteArray argument(argv[i]);
    for (const char* alone :
         {"--headless", "--screenshot", "--export", "--state", "--script", "--help", "--version", "-h", "-v"})
      if (argument == alone || argument.startsWith(QByteArray(alone) + "="))
        return runWindow(argc, argv, nullptr, {});
  }
  return dyn::supervise("window", [&](dyn::CommandRecord& record, const dyn::Restart& restart) {
    return runWindow(argc, argv, &record, restart);
  });
}
