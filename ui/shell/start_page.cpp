#include "ui/shell/start_page.h"

#include <QCoreApplication>
#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>

#include "ui/support/icons.h"

namespace dyn::ui {

namespace {

constexpr int kCardWidth = 270, kMostPageWidth = 1060, kCardIcon = 24, kPictureHeight = 104;

struct Sample {
  const char* file;
  const char* icon;
  const char* what;
};

constexpr Sample kSamples[] = {
    {"models/bert/model.onnx", "kinds/contraction",
     "BERT, exported by PyTorch: any batch, any length of the text"},
    {"models/gpt2/model.onnx", "kinds/loop", "GPT-2 with the keys and values of the past, which grow"},
    {"models/ssd/model.onnx", "kinds/view", "A detector: the number of boxes is known after the run"},
    {"models/lstm_loop/model.onnx", "kinds/loop", "An LSTM as a loop over the steps"},
    {"models/early_exit/model.onnx", "kinds/control", "Layers that a confident answer leaves out"},
    {"08_tree_lstm/tree_lstm.dyn", "kinds/tree", "A Tree-LSTM: a recursion over a tree, as text"},
};

// The folder tells models of one file name apart.
QString nameOfModel(const QString& file) {
  const QFileInfo info(file);
  return info.completeBaseName() == "model" ? info.dir().dirName() : info.completeBaseName();
}

// A field with a dashed frame; the frame is strong while a file is held over the window.
class DropField : public QWidget {
 public:
  explicit DropField(QWidget* parent) : QWidget(parent) {
    setObjectName("startDrop");
    setAccessibleName("Drop a model here");
    setMinimumHeight(74);
  }
  void setDropping(bool dropping) {
    dropping_ = dropping;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const ThemeColors& colors = themeColors(isDark(palette()));
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(dropping_ ? colors.accent : colors.outline, dropping_ ? 2 : 1.2, Qt::DashLine));
    painter.setBrush(dropping_ ? colors.hover : colors.alternate);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kRadius + 2, kRadius + 2);
    const QString text = dropping_ ? "Let go to open it" : "Drop an .onnx, .dyn or .dynpkg file here";
    painter.setFont(font());
    const int width = painter.fontMetrics().horizontalAdvance(text) + kCardIcon + kSpaceSmall;
    const int left = (this->width() - width) / 2;
    icon("actions/drop", dropping_ ? IconInk::accent : IconInk::text)
        .paint(&painter, left, (height() - kCardIcon) / 2, kCardIcon, kCardIcon);
    painter.setPen(colors.text);
    painter.drawText(rect().adjusted(left + kCardIcon + kSpaceSmall, 0, 0, 0),
                     Qt::AlignLeft | Qt::AlignVCenter, text);
  }

 private:
  bool dropping_ = false;
};

}  // namespace

// Cards in as many columns as there is room for.
class CardGrid : public QWidget {
 public:
  CardGrid(const QString& title, QWidget* parent) : QWidget(parent), title_(new QLabel(title)) {
    grid_ = new QGridLayout(this);
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setSpacing(kSpaceSmall + kSpaceTiny);
    title_->setObjectName("startSection");
  }
  void set(std::vector<StartCard*> cards) {
    for (StartCard* card : cards_) card->deleteLater();
    cards_ = std::move(cards);
    columns_ = 0;
    setVisible(!cards_.empty());
  }
  void arrange(int width) {
    title_->setFont(fontOf(TextStep::section));
    const int columns = std::clamp(width / kCardWidth, 1, 3);
    if (columns == columns_) return;
    columns_ = columns;
    grid_->addWidget(title_, 0, 0, 1, 3);
    for (int column = 0; column < 3; ++column) grid_->setColumnStretch(column, column < columns ? 1 : 0);
    for (size_t i = 0; i < cards_.size(); ++i)
      grid_->addWidget(cards_[i], 1 + static_cast<int>(i) / columns, static_cast<int>(i) % columns);
  }

 private:
  QLabel* title_;
  QGridLayout* grid_;
  std::vector<StartCard*> cards_;
  int columns_ = 0;
};

QString samplesFolder() {
  const QString program = QCoreApplication::applicationDirPath();
  for (const QString& folder : {program + "/../share/dyn/samples", program + "/../../../samples"})
    if (QFileInfo::exists(folder + "/" + kSamples[0].file)) return QFileInfo(folder).canonicalFilePath();
  return {};
}

// --- a card ---

StartCard::StartCard(const QString& icon, const QString& title, const QString& text, const QString& keys)
    : icon_(icon), text_(text), keys_(keys) {
  setText(title);
  setAccessibleName(title);
  setAccessibleDescription(text);
  setToolTip(text);
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StartCard::setPicture(const QPixmap& picture) {
  hasRoom_ = true;
  picture_ = picture;
  updateGeometry();
  update();
}

QSize StartCard::sizeHint() const {
  const QFontMetrics title(fontOf(TextStep::body)), text(fontOf(TextStep::caption));
  return {kCardWidth - kSpace, 2 * kSpaceSmall + kSpaceTiny + title.height() + 2 * text.height() +
                                   kSpaceTiny + (hasRoom_ ? kPictureHeight : 0)};
}

void StartCard::paintEvent(QPaintEvent*) {
  const ThemeColors& colors = themeColors(isDark(palette()));
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool isHot = underMouse() || hasFocus();
  painter.setPen(QPen(isHot ? colors.accent : colors.border, hasFocus() ? 2 : 1));
  painter.setBrush(isDown() ? colors.hover : underMouse() ? colors.alternate : colors.base);
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kRadius, kRadius);
  if (hasRoom_) paintPicture(painter);
  const int left = kSpace - kSpaceTiny, top = kSpaceSmall + kSpaceTiny + (hasRoom_ ? kPictureHeight : 0);
  ui::icon(icon_, IconInk::accent).paint(&painter, left, top, kCardIcon, kCardIcon);
  QRect room =
      rect().adjusted(left + kCardIcon + kSpaceSmall + kSpaceTiny, top - 2, -kSpaceSmall, -kSpaceTiny);
  QFont title = fontOf(TextStep::body), caption = fontOf(TextStep::caption);
  title.setWeight(QFont::DemiBold);
  painter.setFont(caption);
  painter.setPen(colors.quiet);
  painter.drawText(room, Qt::AlignRight | Qt::AlignTop, keys_);
  const int keysWidth = keys_.isEmpty() ? 0 : QFontMetrics(caption).horizontalAdvance(keys_) + kSpaceSmall;
  const QFontMetrics metrics(title), small(caption);
  painter.setFont(title);
  painter.setPen(colors.text);
  painter.drawText(room, Qt::AlignLeft | Qt::AlignTop,
                   metrics.elidedText(text(), Qt::ElideMiddle, room.width() - keysWidth));
  room.setTop(room.top() + metrics.height() + 1);
  painter.setFont(caption);
  painter.setPen(colors.quiet);
  // A path is one word; what tells it apart stands at its end.
  if (!text_.contains(' '))
    painter.drawText(room, Qt::AlignLeft | Qt::AlignTop,
                     small.elidedText(text_, Qt::ElideMiddle, room.width()));
  else
    painter.drawText(room, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, text_);
}

// With round corners above, and a line below.
void StartCard::paintPicture(QPainter& painter) const {
  const ThemeColors& colors = themeColors(isDark(palette()));
  const QRectF room(2, 2, width() - 4, kPictureHeight - 2);
  QPainterPath frame;
  frame.setFillRule(Qt::WindingFill);
  frame.addRoundedRect(room, kRadius - 1, kRadius - 1);
  frame.addRect(room.adjusted(0, kRadius, 0, 0));
  painter.save();
  painter.setClipPath(frame);
  painter.fillRect(room, colors.alternate);
  if (picture_.isNull()) {
    const int size = 2 * kCardIcon;
    ui::icon(icon_, IconInk::accent)
        .paint(&painter, static_cast<int>(room.center().x()) - size / 2,
               static_cast<int>(room.center().y()) - size / 2, size, size);
  } else {
    // As wide as the card; of what is higher the upper part is seen.
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    const double height = room.width() * picture_.height() / picture_.width();
    painter.drawPixmap(QRectF(room.topLeft(), QSizeF(room.width(), height)), picture_,
                       QRectF(picture_.rect()));
  }
  painter.restore();
  painter.setPen(colors.border);
  painter.drawLine(room.bottomLeft(), room.bottomRight());
}

void StartCard::enterEvent(QEnterEvent* event) {
  QAbstractButton::enterEvent(event);
  update();
}

void StartCard::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return click();
  QAbstractButton::keyPressEvent(event);
}

void StartCard::leaveEvent(QEvent* event) {
  QAbstractButton::leaveEvent(event);
  update();
}

// --- the page ---

StartPage::StartPage(QWidget* over) : QScrollArea(over), page_(new QWidget), column_(new QVBoxLayout(page_)) {
  setObjectName("startPage");
  setAccessibleName("Start page: models to open");
  setFrameStyle(QFrame::NoFrame);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAcceptDrops(false);  // the window takes them
  page_->setBackgroundRole(QPalette::Base);
  page_->setAutoFillBackground(true);
  column_->setSpacing(kSpaceLarge - kSpaceSmall);
  column_->addWidget(makeHead());
  recent_ = addGrid("Recent");
  CardGrid* only = addGrid("Only here: three questions, answered on a real model");
  CardGrid* samples = addGrid("Samples");
  column_->addStretch(1);
  setWidget(page_);
  std::vector<StartCard*> cards;
  const QString folder = samplesFolder();
  for (const Tour& tour : tours()) {
    if (folder.isEmpty()) break;
    cards.push_back(new StartCard(tour.icon, tour.title, tour.text));
    cards.back()->setObjectName("startTour");
    connect(cards.back(), &StartCard::clicked, this, [this, &tour] { Q_EMIT tourChosen(tour); });
  }
  only->set(std::exchange(cards, {}));
  for (const Sample& sample : kSamples) {
    const QString file = folder + "/" + sample.file;
    if (folder.isEmpty() || !QFileInfo::exists(file)) continue;
    cards.push_back(new StartCard(sample.icon, nameOfModel(file), sample.what));
    cards.back()->setObjectName("startSample");
    cards.back()->setProperty("model", file);
    connect(cards.back(), &StartCard::clicked, this, [this, file] { Q_EMIT fileChosen(file); });
  }
  samples->set(std::move(cards));
  recent_->set({});
  showPictures();
  over->installEventFilter(this);
  resize(over->size());
}

QWidget* StartPage::makeHead() {
  auto* head = new QWidget;
  auto* rows = new QVBoxLayout(head);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(kSpaceSmall);
  auto* title = new QLabel("dynstudio");
  title->setObjectName("startTitle");
  auto* what = new QLabel(
      "Look into a neural network whose sizes change from run to run: its graph, its compiler, its runs.");
  what->setWordWrap(true);
  what->setForegroundRole(QPalette::PlaceholderText);
  rows->addWidget(title);
  rows->addWidget(what);
  rows->addSpacing(kSpaceSmall);
  auto* row = new QHBoxLayout;
  row->setSpacing(kSpace);
  auto* open = new QPushButton(QString::fromUtf8("Open a model…"));
  open->setObjectName("startOpen");
  open->setIcon(icon("actions/open", IconInk::onAccent));
  open->setToolTip("Choose a file (Ctrl+O)");
  open->setMinimumHeight(38);
  connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
  row->addWidget(open);
  drop_ = new DropField(head);
  row->addWidget(drop_, 1);
  rows->addLayout(row);
  return head;
}

CardGrid* StartPage::addGrid(const QString& title) {
  grids_.push_back(new CardGrid(title, page_));
  column_->addWidget(grids_.back());
  return grids_.back();
}

void StartPage::showFiles(const QStringList& recent) {
  std::vector<StartCard*> cards;
  for (qsizetype i = 0; i < recent.size(); ++i) {
    const QString file = recent[i], ending = QFileInfo(file).suffix();
    cards.push_back(new StartCard(ending == "dyn" ? "modes/code" : "kinds/model", nameOfModel(file),
                                  QDir::toNativeSeparators(file), "Ctrl+" + QString::number(i + 1)));
    cards.back()->setObjectName("startRecent");
    cards.back()->setProperty("model", file);
    connect(cards.back(), &StartCard::clicked, this, [this, file] { Q_EMIT fileChosen(file); });
  }
  recent_->set(std::move(cards));
  showPictures();
  resizeEvent(nullptr);
}

void StartPage::setThumbnails(const Thumbnails& thumbnails) {
  thumbnails_ = thumbnails;
  showPictures();
}

void StartPage::showPictures() {
  for (StartCard* card : page_->findChildren<StartCard*>())
    if (const QString model = card->property("model").toString(); !model.isEmpty())
      card->setPicture(QPixmap::fromImage(thumbnails_.of(model, isDark(palette()))));
}

QStringList StartPage::modelsWithoutPicture() const {
  QStringList models;
  for (const StartCard* card : page_->findChildren<StartCard*>("startSample"))
    if (const QString model = card->property("model").toString(); thumbnails_.of(model, false).isNull())
      models << model;
  return models;
}

void StartPage::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) showPictures();
}

void StartPage::setDropping(bool dropping) { static_cast<DropField*>(drop_)->setDropping(dropping); }

void StartPage::resizeEvent(QResizeEvent* event) {
  if (event) QScrollArea::resizeEvent(event);
  const int side = std::max(kSpaceLarge, (viewport()->width() - kMostPageWidth) / 2);
  column_->setContentsMargins(side, kSpaceLarge, side, kSpaceLarge);
  if (auto* title = findChild<QLabel*>("startTitle")) title->setFont(fontOf(TextStep::title));
  for (CardGrid* grid : grids_) grid->arrange(viewport()->width() - 2 * side);
}

bool StartPage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) resize(parentWidget()->size());
  return QScrollArea::eventFilter(watched, event);
}

}  // namespace dyn::ui
