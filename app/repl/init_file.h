// The commands that a person wants at the start of each shell.
#pragma once

#include <string>

namespace dyn {

// $XDG_CONFIG_HOME/dyn/init.dyns, else ~/.config/dyn/init.dyns. "" when it is not there, or is not to be
// trusted: somebody else owns it or may write to it; `why` says so then.
std::string initFile(std::string& why);

}  // namespace dyn
