// Where a file is to be written: one dialog for all that is saved.
#pragma once

#include <QString>

class QWidget;

namespace dyn::ui {

// "": the person changed their mind. A name without an ending gets the first one of `filter`
// ("Graphs (*.svg *.pdf)"), and with it the question whether a file there may be overwritten. `open`, the
// model that is looked at, is never written over.
QString chooseSaveFile(QWidget* parent, const QString& title, const QString& proposal, const QString& filter,
                       const QString& open = {});

}  // namespace dyn::ui
