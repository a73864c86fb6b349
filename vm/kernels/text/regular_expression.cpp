#include "vm/kernels/text/regular_expression.h"

#include <algorithm>
#include <string>

namespace dyn::vm::kernels {
namespace {

constexpr uint32_t kLastCharacter = 0x10ffff;
constexpr int kDeepest = 200;            // groups in groups
constexpr uint32_t kMostRepeats = 1000;  // as RE2
constexpr size_t kLongestProgram = 100000;
constexpr uint32_t kNoLimit = UINT32_MAX;

bool isWord(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

// Takes the first character off `text`; a byte that is no UTF-8 stands for itself.
uint32_t takeCharacter(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  const uint32_t first = byte(0);
  const size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  uint32_t character = first;
  size_t used = 1;
  if (length > 1 && length <= text.size()) {
    character = first & (0x7fu >> length);
    while (used < length && (byte(used) & 0xc0) == 0x80) character = character << 6 | (byte(used++) & 0x3f);
    if (used < length) {
      character = first;
      used = 1;
    }
  }
  text.remove_prefix(used);
  return character;
}

enum class NodeKind : uint8_t {
  empty,
  set,
  textBegin,
  textEnd,
  wordEdge,
  noWordEdge,
  sequence,
  choice,
  repeat
};

struct Node {
  NodeKind kind = NodeKind::empty;
  uint32_t set = 0;
  uint32_t least = 0, most = 0;  // repeat
  std::vector<uint32_t> parts;
};

class Parser {
 public:
  Parser(std::string_view pattern, std::vector<CharacterSet>& sets) : rest_(pattern), sets_(sets) {}

  Status run(uint32_t& root) {
    root = choice(0);
    if (status_.ok() && !rest_.empty()) fail("there is a ) without a (");
    return std::move(status_);
  }
  std::vector<Node> nodes;

 private:
  uint32_t fail(const std::string& why, dyn_status code = DYN_BAD_INPUT) {
    if (status_.ok()) status_ = failure(code, "regular expression: " + why);
    rest_ = {};
    return 0;
  }
  uint32_t unknown(const std::string& what) { return fail(what + " is not supported", DYN_UNSUPPORTED); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  uint32_t make(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<uint32_t>(nodes.size() - 1);
  }
  uint32_t makeSet(CharacterSet set) {
    sets_.push_back(std::move(set));
    return make({NodeKind::set, static_cast<uint32_t>(sets_.size() - 1), 0, 0, {}});
  }
  uint32_t makeKind(NodeKind kind) { return make({kind, 0, 0, 0, {}}); }

  uint32_t choice(int depth) {
    if (depth > kDeepest) return unknown("nesting this deep");
    std::vector<uint32_t> ways = {sequence(depth)};
    while (take('|')) ways.push_back(sequence(depth));
    return ways.size() == 1 ? ways[0] : make({NodeKind::choice, 0, 0, 0, std::move(ways)});
  }

  uint32_t sequence(int depth) {
    std::vector<uint32_t> parts;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') parts.push_back(repeated(depth));
    return make({NodeKind::sequence, 0, 0, 0, std::move(parts)});
  }

  uint32_t repeated(int depth) {
    const uint32_t node = atom(depth);
    uint32_t least = 0, most = 0;
    if (!status_.ok() || !takeRepeat(least, most)) return node;
    take('?');  // a lazy one matches the same whole texts
    uint32_t again = 0;
    if (takeRepeat(again, again)) return fail("a repetition is repeated");
    return make({NodeKind::repeat, 0, least, most, {node}});
  }

  struct Repeat {
    char sign;
    uint32_t least, most;
  };
  bool takeRepeat(uint32_t& least, uint32_t& most) {
    for (const auto& [sign, from, to] :
         {Repeat{'*', 0, kNoLimit}, Repeat{'+', 1, kNoLimit}, Repeat{'?', 0, 1}}) {
      if (!take(sign)) continue;
      least = from;
      most = to;
      return true;
    }
    // A brace that is no repetition is a literal.
    std::string_view ahead = rest_;
    if (ahead.empty() || ahead.front() != '{') return false;
    ahead.remove_prefix(1);
    if (!takeNumber(ahead, least)) return false;
    most = least;
    if (!ahead.empty() && ahead.front() == ',') {
      ahead.remove_prefix(1);
      if (!takeNumber(ahead, most)) most = kNoLimit;
    }
    if (ahead.empty() || ahead.front() != '}') return false;
    rest_ = ahead.substr(1);
    if (least > kMostRepeats || (most != kNoLimit && (most > kMostRepeats || most < least)))
      fail("a repetition's numbers are out of range");
    return status_.ok();
  }

  static bool takeNumber(std::string_view& text, uint32_t& number) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return false;
    number = 0;
    for (char c : text.substr(0, digits))
      number = std::min(number * 10 + static_cast<uint32_t>(c - '0'), kMostRepeats + 1);
    text.remove_prefix(digits);
    return true;
  }

  uint32_t atom(int depth) {
    if (take('(')) {
      if (take('?') && !take(':')) return unknown("a group with flags or a name");
      const uint32_t node = choice(depth + 1);
      if (status_.ok() && !take(')')) return fail("a ( is not closed");
      return node;
    }
    if (take('[')) return bracket();
    if (take('^')) return makeKind(NodeKind::textBegin);
    if (take('$')) return makeKind(NodeKind::textEnd);
    CharacterSet set;
    if (take('.')) {
      set.add('\n', '\n');
      set.invert();
      return makeSet(std::move(set));
    }
    if (rest_.front() == '*' || rest_.front() == '+' || rest_.front() == '?')
      return fail("there is nothing to repeat");
    if (take('\\')) {
      if (take('b')) return makeKind(NodeKind::wordEdge);
      if (take('B')) return makeKind(NodeKind::noWordEdge);
      if (take('A')) return makeKind(NodeKind::textBegin);
      if (take('z')) return makeKind(NodeKind::textEnd);
      if (!escape(set)) return 0;
      return makeSet(std::move(set));
    }
    const uint32_t character = takeCharacter(rest_);
    set.add(character, character);
    return makeSet(std::move(set));
  }

  // What follows a backslash, added to the set.
  bool escape(CharacterSet& set) {
    if (rest_.empty()) return fail("it ends in a backslash"), false;
    const uint32_t c = takeCharacter(rest_);
    CharacterSet known;
    switch (c) {
      case 'd':
      case 'D':
        known.add('0', '9');
        break;
      case 's':
      case 'S':
        for (char space : {'\t', '\n', '\f', '\r', ' '})
          known.add(static_cast<uint32_t>(space), static_cast<uint32_t>(space));
        break;
      case 'w':
      case 'W':
        known.add('0', '9');
        known.add('A', 'Z');
        known.add('_', '_');
        known.add('a', 'z');
        break;
      case 'x':
        return hexadecimal(set);
      default: {
        constexpr std::string_view kNames = "afnrtv", kMeant = "\a\f\n\r\t\v";
        const size_t place = c < 0x80 ? kNames.find(static_cast<char>(c)) : std::string_view::npos;
        if (place == std::string_view::npos && c < 0x80 && isWord(c) && c != '_')
          return unknown(std::string("\\") + static_cast<char>(c)), false;
        const uint32_t meant = place == std::string_view::npos ? c : static_cast<uint32_t>(kMeant[place]);
        set.add(meant, meant);
        return true;
      }
    }
    if (c == 'D' || c == 'S' || c == 'W') known.invert();
    set.ranges.insert(set.ranges.end(), known.ranges.begin(), known.ranges.end());
    return true;
  }

  bool hexadecimal(CharacterSet& set) {
    const bool braced = take('{');
    uint32_t value = 0;
    size_t digits = 0;
    for (; !rest_.empty() && (braced ? rest_.front() != '}' : digits < 2); ++digits) {
      const char c = rest_.front();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0 || value > kLastCharacter) return fail("\\x wants hexadecimal digits"), false;
      value = value * 16 + static_cast<uint32_t>(digit);
      rest_.remove_prefix(1);
    }
    if (digits == 0 || value > kLastCharacter || (braced ? !take('}') : digits != 2))
      return fail("\\x wants hexadecimal digits"), false;
    set.add(value, value);
    return true;
  }

  uint32_t bracket() {
    CharacterSet set;
    const bool inverted = take('^');
    for (bool first = true; first || rest_.empty() || rest_.front() != ']'; first = false) {
      if (rest_.empty()) return fail("a [ is not closed");
      if (rest_.substr(0, 2) == "[:") {
        if (!namedClass(set)) return 0;
        continue;
      }
      const size_t before = set.ranges.size();
      if (!bracketItem(set)) return 0;
      const bool single =
          set.ranges.size() == before + 1 && set.ranges.back().first == set.ranges.back().second;
      if (!single || rest_.size() < 2 || rest_[0] != '-' || rest_[1] == ']') continue;
      rest_.remove_prefix(1);
      CharacterSet end;
      if (!bracketItem(end)) return 0;
      if (end.ranges.size() != 1 || end.ranges[0].first != end.ranges[0].second ||
          end.ranges[0].first < set.ranges.back().first)
        return fail("a range in [] is not a range");
      set.ranges.back().second = end.ranges[0].first;
    }
    take(']');
    if (inverted) set.invert();
    return makeSet(std::move(set));
  }

  bool bracketItem(CharacterSet& set) {
    if (take('\\')) return escape(set);
    const uint32_t character = takeCharacter(rest_);
    set.add(character, character);
    return true;
  }

  bool namedClass(CharacterSet& set) {
    struct Named {
      std::string_view name, ranges;  // pairs of first and last
    };
    constexpr Named kNamed[] = {
        {"alnum", "09AZaz"},   {"alpha", "AZaz"},   {"ascii", std::string_view("\0\x7f", 2)},
        {"blank", "\t\t  "},   {"digit", "09"},     {"lower", "az"},
        {"punct", "!/:@[`{~"}, {"space", "\t\r  "}, {"upper", "AZ"},
        {"word", "09AZ__az"},  {"xdigit", "09AFaf"}};
    const size_t end = rest_.find(":]");
    for (const Named& named : kNamed) {
      if (end == std::string_view::npos || rest_.substr(2, end - 2) != named.name) continue;
      for (size_t i = 0; i < named.ranges.size(); i += 2)
        set.add(static_cast<uint8_t>(named.ranges[i]), static_cast<uint8_t>(named.ranges[i + 1]));
      rest_.remove_prefix(end + 2);
      return true;
    }
    return unknown("this [: :]"), false;
  }

  std::string_view rest_;
  std::vector<CharacterSet>& sets_;
  Status status_ = okStatus();
};

class Emitter {
 public:
  using Step = RegularExpression::Step;
  Emitter(const std::vector<Node>& nodes, std::vector<RegularExpression::Instruction>& program)
      : nodes_(nodes), program_(program) {}

  // Instructions that end by going on behind themselves. False when the program becomes too long.
  bool emit(uint32_t index) {
    if (program_.size() > kLongestProgram) return false;
    const Node& node = nodes_[index];
    switch (node.kind) {
      case NodeKind::empty:
        return true;
      case NodeKind::set:
        program_.push_back({Step::set, node.set});
        return true;
      case NodeKind::textBegin:
        program_.push_back({Step::textBegin});
        return true;
      case NodeKind::textEnd:
        program_.push_back({Step::textEnd});
        return true;
      case NodeKind::wordEdge:
        program_.push_back({Step::wordEdge});
        return true;
      case NodeKind::noWordEdge:
        program_.push_back({Step::noWordEdge});
        return true;
      case NodeKind::sequence:
        return std::all_of(node.parts.begin(), node.parts.end(), [&](uint32_t part) { return emit(part); });
      case NodeKind::choice:
        return emitChoice(node);
      case NodeKind::repeat:
        return emitRepeat(node);
    }
    return true;
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(program_.size()); }

  bool emitChoice(const Node& node) {
    std::vector<uint32_t> ends;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const uint32_t split = here();
      const bool last = i + 1 == node.parts.size();
      if (!last) program_.push_back({Step::split, split + 1});
      if (!emit(node.parts[i])) return false;
      if (last) break;
      ends.push_back(here());
      program_.push_back({Step::jump});
      program_[split].second = here();
    }
    for (uint32_t end : ends) program_[end].first = here();
    return true;
  }

  bool emitRepeat(const Node& node) {
    for (uint32_t i = 0; i < node.least; ++i) {
      if (!emit(node.parts[0])) return false;
    }
    if (node.most == kNoLimit) {
      const uint32_t split = here();
      program_.push_back({Step::split, split + 1});
      if (!emit(node.parts[0])) return false;
      program_.push_back({Step::jump, split});
      program_[split].second = here();
      return true;
    }
    std::vector<uint32_t> splits;
    for (uint32_t i = node.least; i < node.most; ++i) {
      splits.push_back(here());
      program_.push_back({Step::split, here() + 1});
      if (!emit(node.parts[0])) return false;
    }
    for (uint32_t split : splits) program_[split].second = here();
    return true;
  }

  const std::vector<Node>& nodes_;
  std::vector<RegularExpression::Instruction>& program_;
};

}  // namespace

bool CharacterSet::contains(uint32_t character) const {
  return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return character >= range.first && character <= range.second;
  });
}

void CharacterSet::invert() {
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::pair<uint32_t, uint32_t>> others;
  uint32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first > next) others.emplace_back(next, first - 1);
    next = std::max(next, last + 1);
  }
  if (next <= kLastCharacter) others.emplace_back(next, kLastCharacter);
  ranges = std::move(others);
}

Status RegularExpression::parse(std::string_view pattern, RegularExpression& expression) {
  Parser parser(pattern, expression.sets_);
  uint32_t root = 0;
  if (Status status = parser.run(root); !status.ok()) return status;
  if (!Emitter(parser.nodes, expression.program_).emit(root))
    return failure(DYN_UNSUPPORTED, "regular expression: its repetitions make it too long");
  expression.program_.push_back({Step::accept});
  return okStatus();
}

// Follows all ways through a program side by side. A way is the instruction that it has reached and the place
// where it began; of ways that meet, the one that was reached first goes on.
class RegularExpression::Walk {
 public:
  struct Way {
    uint32_t at;
    size_t begin;
  };
  explicit Walk(const RegularExpression& expression)
      : program_(expression.program_), sets_(expression.sets_), seenAt_(program_.size(), 0) {}

  std::vector<Way> ways;

  // At `place` of the text, before its character there: what stands on either side.
  void standAt(std::string_view text, size_t place) {
    ++step_;
    begin_ = place == 0;
    end_ = place == text.size();
    const auto isWordAt = [&](size_t i) { return isWord(static_cast<uint8_t>(text[i])); };
    edge_ = (place > 0 && isWordAt(place - 1)) != (place < text.size() && isWordAt(place));
  }

  void reach(uint32_t start, size_t begin, std::vector<Way>& reached) {
    pending_.push_back(start);
    while (!pending_.empty()) {
      const uint32_t at = pending_.back();
      pending_.pop_back();
      if (seenAt_[at] == step_) continue;
      seenAt_[at] = step_;
      const Instruction& instruction = program_[at];
      switch (instruction.step) {
        case Step::set:
        case Step::accept:
          reached.push_back({at, begin});
          break;
        case Step::split:
          pending_.push_back(instruction.second);
          pending_.push_back(instruction.first);
          break;
        case Step::jump:
          pending_.push_back(instruction.first);
          break;
        case Step::textBegin:
          if (begin_) pending_.push_back(at + 1);
          break;
        case Step::textEnd:
          if (end_) pending_.push_back(at + 1);
          break;
        case Step::wordEdge:
          if (edge_) pending_.push_back(at + 1);
          break;
        case Step::noWordEdge:
          if (!edge_) pending_.push_back(at + 1);
          break;
      }
    }
  }

  // Behind that character, at the place where it was told to stand.
  void take(uint32_t character) {
    next_.clear();
    for (const Way& way : ways) {
      const Instruction& instruction = program_[way.at];
      if (instruction.step == Step::set && sets_[instruction.first].contains(character))
        reach(way.at + 1, way.begin, next_);
    }
    std::swap(ways, next_);
  }

  bool accepts(const Way& way) const { return program_[way.at].step == Step::accept; }

 private:
  const std::vector<Instruction>& program_;
  const std::vector<CharacterSet>& sets_;
  std::vector<size_t> seenAt_;
  std::vector<uint32_t> pending_;
  std::vector<Way> next_;
  size_t step_ = 0;
  bool begin_ = false, end_ = false, edge_ = false;
};

bool RegularExpression::matches(std::string_view text) const {
  Walk walk(*this);
  walk.standAt(text, 0);
  walk.reach(0, 0, walk.ways);
  std::string_view rest = text;
  while (!rest.empty() && !walk.ways.empty()) {
    const uint32_t character = takeCharacter(rest);
    walk.standAt(text, text.size() - rest.size());
    walk.take(character);
  }
  return rest.empty() && std::any_of(walk.ways.begin(), walk.ways.end(),
                                     [&](const Walk::Way& way) { return walk.accepts(way); });
}

// Ways stand in the order of their beginnings: those of an earlier place were reached before.
bool RegularExpression::find(std::string_view text, size_t from, size_t& begin, size_t& end) const {
  if (from > text.size()) return false;
  Walk walk(*this);
  bool found = false;
  std::string_view rest = text.substr(from);
  walk.standAt(text, from);
  for (;;) {
    const size_t place = text.size() - rest.size();
    if (!found) walk.reach(0, place, walk.ways);
    for (const Walk::Way& way : walk.ways) {
      if (!walk.accepts(way) || (found && way.begin > begin)) continue;
      found = true;
      begin = way.begin;
      end = place;
    }
    if (found)
      walk.ways.erase(std::remove_if(walk.ways.begin(), walk.ways.end(),
                                     [&](const Walk::Way& way) { return way.begin > begin; }),
                      walk.ways.end());
    if (rest.empty() || (found && walk.ways.empty())) return found;
    const uint32_t character = takeCharacter(rest);
    walk.standAt(text, text.size() - rest.size());
    walk.take(character);
  }
}

}  // namespace dyn::vm::kernels
