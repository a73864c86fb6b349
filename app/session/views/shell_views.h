// Views of the session itself: its settings, and text for people.
#pragma once

#include <string>
#include <vector>

namespace dyn {

struct SettingTable {
  struct Row {
    std::string name, value, help;
    std::string from;             // "default", "command line", "environment", "set"
    std::string section, option;  // "compilation"; of the batch tool, "--math", or ""
  };
  std::vector<Row> rows;
};

// Text for people: help, explanations, history.
struct TextView {
  std::string text;
  int hang =
      -1;  // blanks before what goes on of a line that is too long for the terminal; -1: it stays one line
};

}  // namespace dyn
