#include "compiler/codegen/emit/noted_lines.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace dyn {

namespace {

struct NotedLine {
  std::string text;  // without what differs because of the notes
  uint32_t at = 0;   // which line of the text it is
  uint32_t loopLine = 0;
};

template <typename Each>
void eachLine(std::string_view text, const Each& each) {
  for (uint32_t at = 0; !text.empty(); ++at) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end), at);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

uint32_t numberAt(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Numbers of metadata and of attributes depend on what else the module has.
std::string withoutNumbers(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    if (line[i] == '!' || line[i] == '#')
      while (i + 1 < line.size() && line[i + 1] >= '0' && line[i + 1] <= '9') ++i;
  }
  return text;
}

// The lines of instructions and labels of the functions.
std::vector<NotedLine> llvmLines(std::string_view text) {
  std::map<uint32_t, uint32_t> locations;
  eachLine(text, [&](std::string_view line, uint32_t) {
    const size_t location = line.find(" = !DILocation(line: ");
    if (location != std::string_view::npos)
      locations[numberAt(line.substr(1))] = numberAt(line.substr(location + 21));
  });
  std::vector<NotedLine> lines;
  bool inside = false;
  eachLine(text, [&](std::string_view line, uint32_t at) {
    const bool begins = line.rfind("define ", 0) == 0;
    if (begins) inside = true;
    if (!inside || line.empty()) return;
    NotedLine noted{"", at, 0};
    const size_t note = line.find(begins ? " !dbg !" : ", !dbg !");
    if (note == std::string_view::npos) {
      noted.text = withoutNumbers(line);
    } else {
      const size_t number = line.find('!', note + 4) + 1;
      size_t end = number;
      while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
      const auto found = locations.find(numberAt(line.substr(number)));
      if (found != locations.end()) noted.loopLine = found->second;
      noted.text = withoutNumbers(std::string(line.substr(0, note)) + std::string(line.substr(end)));
    }
    lines.push_back(std::move(noted));
    if (line == "}") inside = false;
  });
  return lines;
}

// Instructions and the labels that jumps go to: all else is data, or for the assembler and the debugger.
std::vector<NotedLine> assemblyLines(std::string_view text) {
  std::vector<NotedLine> lines;
  uint32_t loopLine = 0;
  eachLine(text, [&](std::string_view line, uint32_t at) {
    if (line.rfind("\t.loc\t", 0) == 0) {
      const size_t number = line.find(' ');
      if (number != std::string_view::npos) loopLine = numberAt(line.substr(number + 1));
      return;
    }
    const bool isCode = line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '#';
    if (!isCode && line.rfind(".LBB", 0) != 0) return;
    lines.push_back({std::string(line.substr(0, line.find("# "))), at, isCode ? loopLine : 0});
  });
  return lines;
}

std::vector<uint32_t> matched(const std::vector<NotedLine>& plain, const std::vector<NotedLine>& noted,
                              std::string_view text) {
  if (plain.size() != noted.size()) return {};
  uint32_t count = 0;
  eachLine(text, [&](std::string_view, uint32_t) { ++count; });
  std::vector<uint32_t> lines(count, 0);
  for (size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].text != noted[i].text) return {};
    lines[plain[i].at] = noted[i].loopLine;
  }
  return lines;
}

}  // namespace

std::vector<uint32_t> linesOfLlvm(std::string_view text, std::string_view noted) {
  return matched(llvmLines(text), llvmLines(noted), text);
}

std::vector<uint32_t> linesOfAssembly(std::string_view text, std::string_view noted) {
  return matched(assemblyLines(text), assemblyLines(noted), text);
}

}  // namespace dyn
