#include "ui/shell/start_page.h"

#include <QCoreApplication>
#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QUrl>

namespace dyn::ui {

namespace {

struct Sample {
  const char* file;
  const char* what;
};

constexpr Sample kSamples[] = {
    {"models/bert/model.onnx", "BERT, exported by PyTorch: any batch, any length of the text"},
    {"models/gpt2/model.onnx", "GPT-2 with the keys and values of the past, which grow"},
    {"models/ssd/model.onnx", "a detector: the number of boxes is known after the run"},
    {"models/lstm_loop/model.onnx", "an LSTM as a loop over the steps"},
    {"08_tree_lstm/tree_lstm.dyn", "a Tree-LSTM: a recursion over a tree, as text"},
};

QString row(const QString& file, const QString& name, const QString& what, const QString& key = {}) {
  const QString cell = "<td style='padding-right:14px'>";
  return "<tr>" + cell + "<a href=\"" + QUrl::fromLocalFile(file).toString(QUrl::FullyEncoded) + "\">" +
         name.toHtmlEscaped() + "</a></td>" + cell + what.toHtmlEscaped() + "</td><td>" + key + "</td></tr>";
}

}  // namespace

QString samplesFolder() {
  const QString program = QCoreApplication::applicationDirPath();
  for (const QString& folder : {program + "/../share/dyn/samples", program + "/../../../samples"})
    if (QFileInfo::exists(folder + "/" + kSamples[0].file)) return QFileInfo(folder).canonicalFilePath();
  return {};
}

StartPage::StartPage(QWidget* over) : QTextBrowser(over) {
  setObjectName("startPage");
  setAccessibleName("Start page: models to open");
  setOpenLinks(false);
  setFrameStyle(QFrame::NoFrame);
  document()->setDocumentMargin(36);
  setAcceptDrops(false);  // the window takes them
  over->installEventFilter(this);
  resize(over->size());
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    if (url.scheme() == "open") return openWanted();
    fileChosen(url.toLocalFile());
  });
  compose();
}

void StartPage::showFiles(const QStringList& recent) {
  recent_ = recent;
  compose();
}

void StartPage::compose() {
  QString text =
      "<h2>dynstudio</h2><p><a href=\"open:\">Open a model…</a> (Ctrl+O), or drop a .onnx, .dyn or .dynpkg "
      "file here.</p>";
  if (!recent_.isEmpty()) {
    text += "<h4>Recent models</h4><table>";
    for (qsizetype i = 0; i < recent_.size(); ++i)
      text += row(recent_[i], QFileInfo(recent_[i]).fileName(), QFileInfo(recent_[i]).path(),
                  "Ctrl+" + QString::number(i + 1));
    text += "</table>";
  }
  if (const QString folder = samplesFolder(); !folder.isEmpty()) {
    text += "<h4>Sample models</h4><table>";
    for (const Sample& sample : kSamples) {
      const QFileInfo file(folder + "/" + sample.file);
      if (file.exists()) text += row(file.filePath(), file.dir().dirName(), sample.what);
    }
    text += "</table>";
  }
  text += "<p style='margin-top:18px'>Ctrl+Shift+P finds every command; ? lists the shortcuts.</p>";
  setHtml(text);
}

bool StartPage::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) resize(static_cast<QWidget*>(watched)->size());
  return QTextBrowser::eventFilter(watched, event);
}

}  // namespace dyn::ui
