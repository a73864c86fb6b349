// Pager: shows a text that is longer than the terminal a page at a time, with the program that
// $DYN_PAGER or $PAGER names, or less where it is installed.
#pragma once

#include <cstdint>
#include <string>

namespace dyn {

class SignalWatch;

// "" when none is to be used: the variable is empty or "cat", or there is no less.
std::string pagerCommand();
enum class Paged : uint8_t {
  shown,
  ended,      // and meanwhile a signal came that ends the shell
  notStarted  // nothing was shown
};

// Returns when the reader has left it. Ctrl-C meanwhile is the pager's; Ctrl-Z stops both.
Paged showByPager(const std::string& command, const std::string& text, SignalWatch& signals);

}  // namespace dyn
