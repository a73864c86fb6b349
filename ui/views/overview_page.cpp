#include "ui/views/overview_page.h"

#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QLocale>
#include <QScrollBar>
#include <QUrl>
#include <algorithm>
#include <vector>

#include "app/engine/model/formula.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/run_statistics.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/why_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/formula_text.h"
#include "ui/support/theme.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr size_t kMostOperators = 8, kMostChecks = 6, kMostPasses = 4;

QString inWords(int64_t count, const char* one, const char* many = nullptr) {
  return QLocale(QLocale::English).toString(static_cast<qlonglong>(count)) + " " +
         (count == 1 ? QString(one)
          : many     ? QString(many)
                     : QString(one) + "s");
}

QString link(const QString& what, const QString& which, const QString& text) {
  return "<a href=\"" + what + ":" + QString::fromLatin1(QUrl::toPercentEncoding(which)) + "\">" + text +
         "</a>";
}

// Of one page; letters and colours are those of the theme.
class Page {
 public:
  explicit Page(const QPalette& palette) : colors_(themeColors(isDark(palette))) {
    const double body = fontOf(TextStep::body).pointSizeF();
    const auto points = [&](TextStep step) { return QString::number(pointsOf(step, body), 'f', 1) + "pt"; };
    title_ = "font-size:" + points(TextStep::title) + "; font-weight:600;";
    section_ =
        "font-size:" + points(TextStep::section) + "; font-weight:600; margin-top:16px; margin-bottom:3px;";
    caption_ = "color:" + colors_.quiet.name() + ";";
  }
  void title(const QString& text, const QString& below) {
    text_ += "<p style='" + title_ + " margin-bottom:0'>" + text + "</p><p style='" + caption_ +
             " margin-top:2px'>" + below + "</p>";
  }
  void section(const QString& text) { text_ += "<p style='" + section_ + "'>" + text + "</p>"; }
  void line(const QString& text, const QString& below = {}) {
    text_ += "<p style='margin-top:3px; margin-bottom:0'>" + text;
    if (!below.isEmpty()) text_ += "<br><span style='" + caption_ + "'>" + below + "</span>";
    text_ += "</p>";
  }
  QString text() const { return text_; }

 private:
  const ThemeColors& colors_;
  QString title_, section_, caption_, text_;
};

// "11.2 GFLOPs"
QString flopsInWords(int64_t flops) {
  const QString count = countInUnits(static_cast<double>(flops));
  return count + (count.contains(' ') ? "FLOPs" : " FLOPs");
}

// "batch = 1, seq = 16"
QString sizesInWords(const DimValues& sizes) {
  QStringList words;
  for (const auto& [name, value] : sizes) words << html(name) + " = " + QString::number(value);
  return words.join(", ");
}

// "any size", "1 to 512", "a multiple of 4"
QString rangeInWords(const DimRow& dim) {
  QString text = dim.low && dim.high && *dim.low == *dim.high ? QString("always %1").arg(*dim.low)
                 : dim.high                ? QString("%1 to %2").arg(dim.low.value_or(0)).arg(*dim.high)
                 : dim.low && *dim.low > 1 ? QString("%1 or more").arg(*dim.low)
                                           : QString("any size");
  if (dim.multiple > 1) text += QString(", a multiple of %1").arg(dim.multiple);
  return text;
}

void writeDims(Page& page, const DimsTable& dims) {
  page.section("What varies from run to run");
  if (dims.rows.empty()) return page.line("Nothing: all sizes are known before a run.");
  for (const DimRow& dim : dims.rows)
    page.line(link("why", QString::fromStdString(dim.symbol), "<b>" + html(dim.symbol) + "</b>") +
                  (dim.title.empty() ? "" : " (" + html(dim.title) + ")") + ": " + rangeInWords(dim) +
                  ", in the shape of " + inWords(dim.usesCount, "value"),
              html(dim.origin));
  page.line(link("mode", "Sizes", "What a run of other sizes takes"));
}

void writeParts(Page& page, const ModelInfo& model) {
  page.section("What it is made of");
  if (model.weightsCount > 0)
    page.line(
        link("mode", "Memory", countInUnits(static_cast<double>(model.parametersCount)) + " parameters") +
        " in " + inWords(model.weightsCount, "constant") + ": " + bytesText(model.weightsBytes) +
        " of weights");
  if (model.opsCount > 0)
    page.line(link("panel", "IR", inWords(model.opsCount, "operation")) + " of " +
              inWords(static_cast<int64_t>(model.ops.size()), "kind"));
  std::vector<std::pair<int64_t, std::string>> most;
  for (const auto& [op, count] : model.ops) most.emplace_back(-count, op);
  std::sort(most.begin(), most.end());
  QStringList named;
  for (const auto& [count, op] : most)
    if (op != "Constant" && static_cast<size_t>(named.size()) < kMostOperators)
      named << link("find", QString::fromStdString(op), html(op)) + QString::fromUtf8(" × %1").arg(-count);
  if (!named.isEmpty()) page.line(named.join(", "));
}

void writeChecks(Page& page, const DimsTable& dims) {
  page.section("Checked at run time");
  if (dims.checks.empty()) return page.line("Nothing: the compiler proved that all sizes fit.");
  page.line(dims.checks.size() == 1
                ? QString("One condition on sizes could not be proved, and is tested in each run:")
                : QString("%1 conditions on sizes could not be proved, and are tested in each run:")
                      .arg(dims.checks.size()));
  for (size_t i = 0; i < std::min(dims.checks.size(), kMostChecks); ++i) {
    const QString check = QString::fromStdString(dims.checks[i]);
    // A lookup by positions is tested where it is computed: it has no operation of its own.
    const QString name = check.startsWith("check") ? check.section(':', 0, 0) : QString();
    page.line((name.isEmpty() ? name : link("why", name, name.toHtmlEscaped())) +
              check.mid(name.size()).toHtmlEscaped());
  }
  if (dims.checks.size() > kMostChecks)
    page.line(QString("and %1 more").arg(dims.checks.size() - kMostChecks));
}

void writePasses(Page& page, const PassList& list) {
  if (list.rows.empty()) return;
  std::vector<const PassRow*> passes;
  int64_t timeNs = 0, changed = 0, all = 0;
  for (const PassRow& row : list.rows) {
    timeNs += row.timeNs;
    if (row.kind != "pass") continue;
    ++all;
    changed += row.changed;
    if (row.changed && row.opsBefore > row.opsAfter) passes.push_back(&row);
  }
  page.section("What the compiler did");
  page.line(link("mode", "Passes", inWords(all, "pass", "passes")) +
            QString(", of which %1 changed the graph, in ").arg(changed) + timeText(timeNs));
  std::sort(passes.begin(), passes.end(), [](const PassRow* a, const PassRow* b) {
    return a->opsBefore - a->opsAfter > b->opsBefore - b->opsAfter;
  });
  for (size_t i = 0; i < std::min(passes.size(), kMostPasses); ++i)
    page.line(link("pass", QString::fromStdString(passes[i]->name), html(passes[i]->name)) + ": " +
                  inWords(passes[i]->opsBefore - passes[i]->opsAfter, "operation") + " fewer",
              html(passes[i]->summary));
}

// Arithmetic and memory, as formulas and at the sizes of the Run panel: known before a run.
void writeCosts(Page& page, const ModelInfo& model, const PlanView* plan, const DimValues& sizes) {
  const QString at = sizes.empty() ? QString() : " at " + sizesInWords(sizes);
  if (!model.flops.empty() && model.flops != "0") {
    const std::optional<int64_t> flops = formulaValue(model.flops, sizes);
    page.line(
        link("mode", "Sizes", flops ? flopsInWords(*flops) : QString("Arithmetic")) +
            (flops ? at : QString()) + ", of products and convolutions",
        model.symbols.empty() ? QString() : formulaText(QString::fromStdString(model.flops)).toHtmlEscaped());
  }
  if (!plan) {
    page.line(link("plan", "", "Compute the peak") + " of its memory, as a formula and at these sizes");
    return;
  }
  const std::optional<int64_t> peak = plan->dims == sizes && plan->predictedPeakBytes
                                          ? plan->predictedPeakBytes
                                          : formulaValue(plan->peak, sizes);
  page.line(link("mode", "Memory", peak ? bytesText(*peak) : QString("Memory")) +
                (peak ? at + ", besides weights" : ": depends on values that a run computes"),
            "at most " + formulaText(QString::fromStdString(plan->peak)).toHtmlEscaped() + " bytes");
}

void writeRun(Page& page, const RunResult* run, bool canRun) {
  if (!run) {
    if (canRun) page.line("Not run yet: " + link("run", "", "run it") + " with random inputs.");
    return;
  }
  page.line(link("mode", "Profile", "Measured: " + timeText(medianNs(*run))) +
            (run->dims.empty() ? "" : " at " + sizesInWords(run->dims)) + ", " + bytesText(run->peakBytes) +
            " of memory at most");
}

void writeProblems(Page& page, const ModelInfo& model, const ProblemList& list) {
  if (model.problemsCount == 0) return;
  page.section("Problems");
  page.line(link("panel", "Problems", inWords(model.problemsCount, "problem")) +
            (model.problemsCount == 1 ? " keeps it from running." : " keep it from running."));
  for (const auto& [op, count] : list.unsupportedOps)
    page.line(link("find", QString::fromStdString(op), html(op)) +
              QString::fromUtf8(" × %1: this operator is not known").arg(count));
}

}  // namespace

OverviewPage::OverviewPage(QWidget* parent) : QTextBrowser(parent) {
  setObjectName("overview");
  setAccessibleName("Overview of the model");
  setOpenLinks(false);
  document()->setDocumentMargin(kSpace - kSpaceTiny);
  setPlaceholderText("No model is open.");
  connect(this, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& url) { Q_EMIT linkChosen(url.scheme(), url.path(QUrl::FullyDecoded)); });
}

void OverviewPage::setModel(Shared<ModelInfo> model) {
  dims_ = {};
  problems_ = {};
  passes_ = nullptr;
  run_ = nullptr;
  plan_ = nullptr;
  sizes_.clear();
  model_ = std::move(model);
  compose();
  verticalScrollBar()->setValue(0);
}

void OverviewPage::setInfo(Shared<ModelInfo> model) {
  model_ = std::move(model);
  compose();
}

void OverviewPage::setDims(const DimsTable& dims) {
  dims_ = dims;
  compose();
}

void OverviewPage::setPasses(Shared<PassList> passes) {
  passes_ = std::move(passes);
  compose();
}

void OverviewPage::setProblems(const ProblemList& problems) {
  problems_ = problems;
  compose();
}

void OverviewPage::setPlan(Shared<PlanView> plan) {
  plan_ = std::move(plan);
  compose();
}

void OverviewPage::setSizes(DimValues sizes) {
  if (sizes == sizes_) return;
  sizes_ = std::move(sizes);
  compose();
}

void OverviewPage::setRun(Shared<RunResult> run) {
  run_ = std::move(run);
  compose();
}

void OverviewPage::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) compose();
}

void OverviewPage::compose() {
  if (!model_) return clear();
  const QFileInfo file(QString::fromStdString(model_->path));
  // "bert/model.onnx": files of many models have the same name.
  const bool isPlain = file.completeBaseName() != "model";
  Page page(palette());
  QStringList facts;
  if (!model_->producer.empty()) facts << "made by " + html(model_->producer);
  if (model_->opset > 0) facts << "ONNX opset " + QString::number(model_->opset);
  if (model_->kind == ModelKind::text) facts << "a program in Dyn's text language";
  if (model_->kind == ModelKind::package) facts << "a package: the compiled program";
  page.title((isPlain ? file.completeBaseName() : file.dir().dirName()).toHtmlEscaped(),
             file.fileName().toHtmlEscaped() + (facts.isEmpty() ? "" : ", " + facts.join(", ")));
  const bool isKnown = model_->kind != ModelKind::package && model_->problemsCount == 0;
  writeProblems(page, *model_, problems_);
  if (isKnown) writeDims(page, dims_);
  writeParts(page, *model_);
  if (isKnown) writeChecks(page, dims_);
  page.section("What a run takes");
  if (isKnown) writeCosts(page, *model_, plan_.get(), sizes_);
  writeRun(page, run_.get(), model_->problemsCount == 0);
  if (passes_) writePasses(page, *passes_);
  const int at = verticalScrollBar()->value();
  setHtml(page.text());
  verticalScrollBar()->setValue(at);
}

}  // namespace dyn::ui
