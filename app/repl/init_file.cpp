#include "app/repl/init_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace dyn {

std::string initFile(std::string& why) {
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  const std::string base = xdg && *xdg == '/' ? xdg : home && *home ? std::string(home) + "/.config" : "";
  const std::string file = base + "/dyn/init.dyns";
  struct stat facts {};
  if (base.empty() || ::stat(file.c_str(), &facts) != 0) return "";
  if (facts.st_uid != ::geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    why = file + " is left out: others own it or may write to it";
    return "";
  }
  return file;
}

}  // namespace dyn
