#include "vm/base/machine_share.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace dyn::vm {
namespace {

bool listHolds(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// /proc/self/mountinfo writes a space of a path as \040.
std::string unescaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size() &&
                       std::all_of(&text[i + 1], &text[i + 4], [](char c) { return c >= '0' && c <= '7'; });
    if (octal) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// The group of a controller: "/proc/self/cgroup" has lines "4:memory:/a/b", and "0::/a/b" for version 2.
struct Group {
  bool found = false, unified = false;  // unified: of version 2
  std::string path;
};

Group groupOf(const std::string& root, const std::string& controller) {
  Group unified;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (listHolds(controllers, controller)) return {true, false, line.substr(second + 1)};
    if (controllers.empty()) unified = {true, true, line.substr(second + 1)};
  }
  return unified;
}

// Folders of the group and of those above it, the group first.
std::vector<std::string> foldersOf(const std::string& root, const Group& group,
                                   const std::string& controller) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, top, mount, word, kind, source, options;
    words >> id >> parent >> device >> top >> mount;
    while (words >> word && word != "-") continue;
    words >> kind >> source >> options;
    if (kind != (group.unified ? "cgroup2" : "cgroup")) continue;
    if (!group.unified && !listHolds(options, controller)) continue;
    // The mount shows the groups from `top` on. A group elsewhere is that of another name space: a container
    // sees its own group as the mount itself.
    top = unescaped(top), mount = root + unescaped(mount);
    if (top == "/") top.clear();
    std::string below = group.path == "/" ? "" : group.path;
    const bool inside = below.compare(0, top.size(), top) == 0 &&
                        (below.size() == top.size() || below[top.size()] == '/') &&
                        below.compare(0, 3, "/..") != 0;
    below = inside ? below.substr(top.size()) : "";
    std::vector<std::string> folders;
    for (; !below.empty(); below.erase(below.rfind('/'))) folders.push_back(mount + below);
    folders.push_back(mount);
    return folders;
  }
  return {};
}

// The words of a file, numbers as such: {"max", "100000"}, {"-1"}.
std::vector<std::string> wordsOf(const std::string& path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string word; words.size() < 2 && file >> word;) words.push_back(word);
  return words;
}

// A positive number; 0: "max", "-1", or no number.
double positiveNumber(const std::string& word) {
  if (word.empty() || word.size() > 20 || word.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::strtod(word.c_str(), nullptr);
}

double groupCores(const std::string& folder, bool unified) {
  std::vector<std::string> words;
  if (unified) {
    words = wordsOf(folder + "/cpu.max");
  } else {
    for (const char* name : {"/cpu.cfs_quota_us", "/cpu.cfs_period_us"})
      for (const std::string& word : wordsOf(folder + name)) words.push_back(word);
  }
  if (words.size() != 2) return 0;
  const double quota = positiveNumber(words[0]), period = positiveNumber(words[1]);
  return period > 0 ? quota / period : 0;
}

double groupBytes(const std::string& folder, bool unified) {
  const std::vector<std::string> words =
      wordsOf(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"));
  return words.empty() ? 0 : positiveNumber(words[0]);
}

uint64_t pagesBytes(int name) {
  const long pages = sysconf(name), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : UINT64_MAX;
}
uint64_t physicalMemoryBytes() { return pagesBytes(_SC_PHYS_PAGES); }

int32_t physicalCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  std::set<std::pair<int, int>> cores;
  int32_t unknown = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::ifstream core(folder + "core_id"), package(folder + "physical_package_id");
    int coreId = 0, packageId = 0;
    if (core >> coreId && package >> packageId) {
      cores.insert({packageId, coreId});
    } else {
      ++unknown;
    }
  }
  return std::max<int32_t>(1, static_cast<int32_t>(cores.size()) + unknown);
}

}  // namespace

GroupLimits groupLimits(const std::string& root) {
  GroupLimits limits;
  const Group cpu = groupOf(root, "cpu"), memory = groupOf(root, "memory");
  if (cpu.found)
    for (const std::string& folder : foldersOf(root, cpu, "cpu"))
      if (const double cores = groupCores(folder, cpu.unified); cores > 0)
        limits.cores = std::min(limits.cores, cores);
  if (memory.found)
    for (const std::string& folder : foldersOf(root, memory, "memory"))
      if (const double bytes = groupBytes(folder, memory.unified); bytes > 0 && bytes < 0x1p62)
        limits.memoryBytes = std::min(limits.memoryBytes, static_cast<uint64_t>(bytes));
  return limits;
}

int32_t usableCores() {
  const double most = std::ceil(groupLimits().cores);
  const int32_t cores = physicalCores();
  return most < cores ? std::max<int32_t>(1, static_cast<int32_t>(most)) : cores;
}

std::string usableLimits() {
  std::string text;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  int processors = static_cast<int>(online);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) processors = CPU_COUNT(&mask);
  if (processors < online)
    text = "affinity: " + std::to_string(processors) + " of " + std::to_string(online) + " processors";
  const GroupLimits limits = groupLimits();
  char cores[32] = "", memory[32] = "";
  if (limits.cores < processors) std::snprintf(cores, sizeof cores, "%.3g cores", limits.cores);
  if (limits.memoryBytes < physicalMemoryBytes())
    std::snprintf(memory, sizeof memory, "%llu MiB",
                  static_cast<unsigned long long>(limits.memoryBytes >> 20));
  if (*cores == 0 && *memory == 0) return text;
  text += text.empty() ? "control group: " : "; control group: ";
  return text + cores + (*cores != 0 && *memory != 0 ? ", " : "") + memory;
}

uint64_t usableMemoryBytes() {
  static const uint64_t bytes = std::min(physicalMemoryBytes(), groupLimits().memoryBytes);
  return bytes;
}

uint64_t availableMemoryBytes() {
#ifdef _SC_AVPHYS_PAGES
  return std::min(pagesBytes(_SC_AVPHYS_PAGES), usableMemoryBytes());
#else
  return usableMemoryBytes();
#endif
}

}  // namespace dyn::vm
