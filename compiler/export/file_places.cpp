#include "compiler/export/file_places.h"

#include <algorithm>
#include <set>

#include "vm/isa/instruction_reader.h"

namespace dyn {

namespace {

bool isNumber(const std::string& text, size_t begin, size_t end) {
  return end > begin && text.find_first_not_of("0123456789", begin) >= end;
}

// Where the name of the file ends: in front of ": byte N", ": node NAME", ":LINE" or ":LINE:COLUMN".
size_t endOfFile(const std::string& place) {
  for (size_t colon = place.find(':'); colon != std::string::npos; colon = place.find(':', colon + 1)) {
    if (place.compare(colon, 7, ": byte ") == 0 || place.compare(colon, 7, ": node ") == 0) return colon;
    const size_t end = std::min(place.find(':', colon + 1), place.size());
    if (isNumber(place, colon + 1, end)) return colon;
  }
  return place.size();
}

}  // namespace

std::string placeWithoutFolder(const std::string& place) {
  for (const char* begin : {"node ", "byte ", "line "})
    if (place.compare(0, 5, begin) == 0) return place;
  const size_t end = endOfFile(place);
  const size_t slash = end == 0 ? std::string::npos : place.rfind('/', end - 1);
  return slash == std::string::npos ? place : place.substr(slash + 1);
}

namespace {

struct UsedStrings {
  std::set<size_t> messages, places, checks;
};

UsedStrings stringsOf(const vm::Program& program) {
  UsedStrings used;
  for (const vm::Function& function : program.functions) {
    for (const vm::PlaceRow& row : function.places) {
      used.places.insert(row.string);
      if (row.checks >= 0) used.checks.insert(static_cast<size_t>(row.checks));
    }
    vm::InstructionReader reader(function.code);
    while (!reader.atEnd() && reader.next()) {
      const vm::InstructionRow& instruction = vm::row(reader.opcode());
      for (uint32_t i = 0; i < instruction.operandCount; ++i)
        if (instruction.operands[i].kind == vm::OperandKind::string)
          used.messages.insert(static_cast<size_t>(reader.operand(i).words[0]));
    }
  }
  return used;
}

// A line for each check, which begins with its place.
std::string checksWithoutFolders(const std::string& lines) {
  std::string text;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const size_t tab = std::min(lines.find('\t', begin), end);
    text += (text.empty() ? "" : "\n") + placeWithoutFolder(lines.substr(begin, tab - begin)) +
            lines.substr(tab, end - tab);
    begin = end + 1;
  }
  return text;
}

}  // namespace

void leaveOutFolders(vm::Program& program) {
  const UsedStrings used = stringsOf(program);
  for (size_t i = 0; i < program.strings.size(); ++i) {
    std::string& text = program.strings[i];
    if (used.messages.count(i)) continue;
    if (used.checks.count(i))
      text = checksWithoutFolders(text);
    else if (used.places.count(i))
      text = placeWithoutFolder(text);
    else
      text.clear();  // the place of what became no instruction
  }
}

}  // namespace dyn
