// Text of a page (HTML) whose colours go with the theme. They are written into the page when it is made, so a
// page that stands there while the theme changes would keep those of the other one.
//
//   followTheme(browser);  // once; its links, quiet and marked words change with the application's palette
#pragma once

class QTextBrowser;

namespace dyn::ui {

void followTheme(QTextBrowser* browser);

}  // namespace dyn::ui
