#include "app/engine/inputs/tree_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>
#include <sstream>

#include "compiler/support/read_files.h"

namespace dyn {

namespace {

using nlohmann::json;

class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text) { file_.path = path; }

  Result<TreeFile> run() {
    const bool isJson = file_.path.size() >= 5 && file_.path.substr(file_.path.size() - 5) == ".json";
    const size_t first = text_.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return wrong(1, "there are no trees in the file");
    Status status = isJson ? ofJson() : text_[first] == '(' ? ofBrackets() : ofParents();
    if (!status.ok()) return status.takeError();
    return std::move(file_);
  }

 private:
  Error wrong(uint32_t line, const std::string& what) const {
    SourceLocation place;
    place.file = file_.path;
    place.line = line;
    return makeError(DiagnosticId::fileFormat, what, std::move(place));
  }
  uint32_t add(TreeNode node) {
    node.tree = static_cast<uint32_t>(file_.roots.size());
    file_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(file_.nodes.size() - 1);
  }

  // --- s-expressions

  struct Open {
    TreeNode node;
    bool hasLabel = false;
    std::vector<std::string> words;                // of its items
    std::vector<std::pair<bool, uint32_t>> items;  // a word's place in `words`, or a node
  };

  Status ofBrackets() {
    std::vector<Open> open;
    uint32_t line = 1;
    for (size_t at = 0; at < text_.size();) {
      const char c = text_[at];
      line += c == '\n' ? 1 : 0;
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at;
      } else if (c == '(') {
        open.emplace_back().node.line = line;
        ++at;
      } else if (c == ')') {
        if (open.empty()) return wrong(line, "')' closes nothing");
        DYN_TRY(uint32_t made, close(std::move(open.back())));
        open.pop_back();
        ++at;
        if (open.empty())
          file_.roots.push_back(made);
        else
          open.back().items.emplace_back(false, made);
      } else {
        const size_t end = std::min(text_.find_first_of(" \t\r\n()", at), text_.size());
        if (open.empty())
          return wrong(line, "'" + std::string(text_.substr(at, std::min<size_t>(end - at, 40))) +
                                 "' stands outside of all brackets");
        Open& here = open.back();
        if (!here.hasLabel && here.items.empty()) {
          here.node.label = text_.substr(at, end - at);
          here.hasLabel = true;
        } else {
          here.items.emplace_back(true, static_cast<uint32_t>(here.words.size()));
          here.words.emplace_back(text_.substr(at, end - at));
        }
        at = end;
      }
    }
    if (!open.empty()) return wrong(open.back().node.line, "'(' is not closed");
    return {};
  }

  Result<uint32_t> close(Open open) {
    TreeNode& node = open.node;
    if (open.items.empty()) {
      if (!open.hasLabel) return wrong(node.line, "there is nothing between '(' and ')'");
      std::swap(node.word, node.label);
    } else if (open.items.size() == 1 && open.items[0].first) {
      node.word = open.words[0];
    } else {
      for (const auto& [isWord, index] : open.items) {
        if (!isWord) {
          node.children.push_back(index);
          continue;
        }
        TreeNode leaf;
        leaf.word = open.words[index];
        leaf.line = node.line;
        node.children.push_back(add(std::move(leaf)));
      }
    }
    return add(std::move(node));
  }

  // --- parents

  Status ofParents() {
    uint32_t line = 0;
    std::string_view rest = text_;
    while (!rest.empty()) {
      ++line;
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view row = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      row = row.substr(0, row.find('#'));
      std::vector<int64_t> parents;
      while (true) {
        const size_t begin = row.find_first_not_of(" \t\r,");
        if (begin == std::string_view::npos) break;
        row.remove_prefix(begin);
        const size_t stop = std::min(row.find_first_of(" \t\r,"), row.size());
        int64_t parent = 0;
        const auto [last, fault] = std::from_chars(row.data(), row.data() + stop, parent);
        if (fault != std::errc() || last != row.data() + stop)
          return wrong(line, "'" + std::string(row.substr(0, std::min<size_t>(stop, 40))) +
                                 "' is not a number of a parent");
        parents.push_back(parent);
        row.remove_prefix(stop);
      }
      if (!parents.empty()) DYN_CHECK(addParents(parents, {}, line));
    }
    if (file_.roots.empty()) return wrong(line, "there are no trees in the file");
    return {};
  }

  // Nodes in any order; their numbers are their places.
  Status addParents(const std::vector<int64_t>& parents, const std::vector<std::string>& words,
                    uint32_t line) {
    const auto count = static_cast<int64_t>(parents.size());
    std::vector<uint32_t> waiting(parents.size(), 0);  // children that are not made yet
    for (int64_t i = 0; i < count; ++i) {
      const int64_t parent = parents[static_cast<size_t>(i)];
      if (parent < -1 || parent >= count)
        return wrong(line, "node " + std::to_string(i) + " has parent " + std::to_string(parent) +
                               ", and there are " + std::to_string(count) + " nodes");
      if (parent == i) return wrong(line, "node " + std::to_string(i) + " is its own parent");
      if (parent >= 0) ++waiting[static_cast<size_t>(parent)];
    }
    std::vector<TreeNode> nodes(parents.size());
    // The first that can be: an order of children before parents stays as it is.
    std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ready;
    for (int64_t i = 0; i < count; ++i)
      if (waiting[static_cast<size_t>(i)] == 0) ready.push(i);
    std::vector<uint32_t> number(parents.size());
    std::vector<uint32_t> roots;
    size_t made = 0, word = 0;
    std::vector<size_t> wordOf(parents.size(), SIZE_MAX);
    for (int64_t i = 0; i < count; ++i)
      if (waiting[static_cast<size_t>(i)] == 0) wordOf[static_cast<size_t>(i)] = word++;
    while (!ready.empty()) {
      const auto i = static_cast<size_t>(ready.top());
      ready.pop();
      ++made;
      TreeNode& node = nodes[i];
      node.line = line;
      if (wordOf[i] < words.size()) node.word = words[wordOf[i]];
      std::sort(node.children.begin(), node.children.end());
      for (uint32_t& child : node.children) child = number[child];
      number[i] = add(std::move(node));
      if (parents[i] < 0) {
        roots.push_back(number[i]);
        continue;
      }
      const auto parent = static_cast<size_t>(parents[i]);
      nodes[parent].children.push_back(static_cast<uint32_t>(i));
      if (--waiting[parent] == 0) ready.push(parents[i]);
    }
    if (made != parents.size()) {
      const auto on = std::find_if(waiting.begin(), waiting.end(), [](uint32_t w) { return w > 0; });
      return wrong(line,
                   "node " + std::to_string(on - waiting.begin()) + " is on or above a cycle of parents");
    }
    file_.roots.insert(file_.roots.end(), roots.begin(), roots.end());
    return {};
  }

  // --- JSON

  Error inTree(const std::string& what) const {
    return makeError(DiagnosticId::fileFormat, "tree " + std::to_string(file_.roots.size()) + ": " + what,
                     {.file = file_.path});
  }

  Status ofJson() {
    json root;
    try {
      root = json::parse(text_);
    } catch (const json::parse_error& fault) {
      const size_t byte = std::min(fault.byte, text_.size());
      const auto line =
          1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
      return wrong(static_cast<uint32_t>(line), "this is not JSON");
    }
    if (!root.is_array() || root.empty()) return wrong(1, "a JSON file of trees is a list of them");
    for (const json& tree : root) {
      if (tree.is_object() && tree.contains("parents")) {
        DYN_CHECK(ofJsonParents(tree));
        continue;
      }
      DYN_TRY(uint32_t made, ofJsonTree(tree));
      file_.roots.push_back(made);
    }
    return {};
  }

  Status ofJsonParents(const json& tree) {
    std::vector<int64_t> parents;
    std::vector<std::string> words;
    if (!tree["parents"].is_array()) return inTree("\"parents\" is not a list");
    for (const json& parent : tree["parents"]) {
      if (!parent.is_number_integer()) return inTree("a parent is not a number");
      parents.push_back(parent.get<int64_t>());
    }
    if (tree.contains("words"))
      for (const json& word : tree["words"]) {
        DYN_TRY(std::string text, textOf(word));
        words.push_back(std::move(text));
      }
    Status status = addParents(parents, words, 0);
    if (status.ok()) return {};
    return inTree(status.error().message);
  }

  static const json* childrenOf(const json& node) {
    if (node.is_array()) return &node;
    if (!node.is_object()) return nullptr;
    const auto found = node.find("children");
    return found == node.end() ? nullptr : &*found;
  }
  // Not of lists and objects: writing them recurses over their nesting, and that of a tree has no limit.
  Result<std::string> textOf(const json& value) const {
    if (value.is_structured()) return inTree("a word is " + std::string(value.type_name()));
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  Result<uint32_t> ofJsonTree(const json& root) {
    struct Visit {
      const json* node;
      size_t next = 0;
      std::vector<uint32_t> children;
    };
    std::vector<Visit> stack;
    stack.push_back({&root, 0, {}});
    while (true) {
      Visit& top = stack.back();
      const json* children = childrenOf(*top.node);
      if (children && !children->is_array()) return inTree("\"children\" is not a list");
      if (children && top.next < children->size()) {
        const json* child = &(*children)[top.next++];
        stack.push_back({child, 0, {}});
        continue;
      }
      DYN_TRY(TreeNode node, ofJsonNode(*top.node));
      if (children && children->empty()) return inTree("a node has an empty list of children");
      node.children = std::move(top.children);
      const uint32_t made = add(std::move(node));
      stack.pop_back();
      if (stack.empty()) return made;
      stack.back().children.push_back(made);
    }
  }

  Result<TreeNode> ofJsonNode(const json& value) const {
    TreeNode node;
    if (value.is_array()) return node;
    if (value.is_string() || value.is_number()) {
      DYN_TRY(node.word, textOf(value));
      return node;
    }
    if (!value.is_object()) return inTree("a node is " + std::string(value.type_name()));
    if (value.contains("label")) {
      DYN_TRY(node.label, textOf(value["label"]));
    }
    if (value.contains("word")) {
      DYN_TRY(node.word, textOf(value["word"]));
    }
    if (!value.contains("value")) return node;
    node.hasValues = true;
    const json& given = value["value"];
    const size_t count = given.is_array() ? given.size() : 1;
    for (size_t i = 0; i < count; ++i) {
      const json& number = given.is_array() ? given[i] : given;
      if (!number.is_number()) return inTree("\"value\" is not a list of numbers");
      node.values.push_back(number.get<double>());
    }
    return node;
  }

  std::string_view text_;
  TreeFile file_;
};

}  // namespace

SourceLocation TreeFile::placeOf(const TreeNode& node) const {
  SourceLocation place;
  place.file = path;
  place.line = node.line;
  return place;
}

Result<TreeFile> parseTrees(std::string_view text, const std::string& path) {
  return Reader(text, path).run();
}

Result<TreeFile> readTrees(const std::string& path) {
  noteRead(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return makeError(DiagnosticId::fileError, "cannot read " + path, {.file = path});
  std::ostringstream text;
  text << stream.rdbuf();
  return parseTrees(text.str(), path);
}

}  // namespace dyn
