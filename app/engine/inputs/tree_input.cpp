#include "app/engine/inputs/tree_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <unordered_map>

#include "app/engine/inputs/tree_file.h"
#include "compiler/support/read_files.h"

namespace dyn {

namespace {

struct TreeWords {
  std::unordered_map<std::string, int64_t> lines;
  std::string path;
};

struct TreeRequest {
  TreeFile file;  // the chosen trees alone are its roots
  std::optional<TreeWords> words;
};

std::optional<int64_t> treeNumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<TreeWords> readWords(const std::string& path) {
  noteRead(path);
  std::ifstream stream(path);
  if (!stream) return makeError(DiagnosticId::fileError, "cannot read " + path, {.file = path});
  TreeWords words;
  words.path = path;
  std::string line;
  for (int64_t number = 0; std::getline(stream, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    words.lines.emplace(line, number);
  }
  return words;
}

// "@trees.txt,words=words.txt,from=3,count=10"; null where it does not begin with @.
Result<std::optional<TreeRequest>> requestOf(const std::string& spec) {
  if (spec.empty() || spec[0] != '@') return std::optional<TreeRequest>();
  std::vector<std::string> options;
  std::string rest = spec.substr(1);
  for (size_t comma; (comma = rest.rfind(',')) != std::string::npos;) {
    const std::string option = rest.substr(comma + 1);
    if (option.find('=') == std::string::npos) break;  // of the file's name
    options.push_back(option);
    rest.resize(comma);
  }
  TreeRequest request;
  int64_t from = 0, count = INT64_MAX;
  for (const std::string& option : options) {
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals), value = option.substr(equals + 1);
    const std::optional<int64_t> number = treeNumberOf(value);
    if (name == "words") {
      DYN_TRY(request.words, readWords(value));
    } else if ((name == "from" || name == "count") && number && *number >= 0) {
      (name == "from" ? from : count) = *number;
    } else {
      return makeError(DiagnosticId::usageError, "'" + option + "' is not an option of a file of trees")
          .note("words=FILE, from=N, count=N");
    }
  }
  DYN_TRY(request.file, readTrees(rest));
  std::vector<uint32_t>& roots = request.file.roots;
  if (from > static_cast<int64_t>(roots.size()))
    return makeError(DiagnosticId::usageError, "from=" + std::to_string(from) + ": the file has " +
                                                   std::to_string(roots.size()) + " trees");
  roots.erase(roots.begin(), roots.begin() + from);
  if (count < static_cast<int64_t>(roots.size())) roots.resize(static_cast<size_t>(count));
  return std::optional<TreeRequest>(std::move(request));
}

// The nodes of the chosen trees, children first, each of one tree.
std::vector<uint32_t> chosenNodes(const TreeFile& file) {
  std::vector<bool> chosen(file.nodes.size(), false);
  for (uint32_t root : file.roots) chosen[root] = true;
  std::vector<uint32_t> nodes;
  for (size_t i = file.nodes.size(); i-- > 0;) {
    if (!chosen[i]) continue;
    for (uint32_t child : file.nodes[i].children) chosen[child] = true;
    nodes.push_back(static_cast<uint32_t>(i));
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

Error atNode(const TreeFile& file, const TreeNode& node, const std::string& what) {
  const std::string tree = node.line == 0 ? "tree " + std::to_string(node.tree) + ": " : "";
  return makeError(DiagnosticId::inputMismatch, tree + what, file.placeOf(node));
}

// What a word stands for; null for a node without.
Result<std::optional<int64_t>> wordNumber(const TreeRequest& request, const TreeNode& node) {
  if (node.word.empty()) return std::optional<int64_t>();
  if (request.words) {
    for (const std::string& word : {node.word, std::string("<unk>")})
      if (const auto found = request.words->lines.find(word); found != request.words->lines.end())
        return std::optional<int64_t>(found->second);
    return atNode(request.file, node, "the word '" + node.word + "' is not in " + request.words->path);
  }
  if (const std::optional<int64_t> number = treeNumberOf(node.word)) return number;
  return atNode(request.file, node, "the word '" + node.word + "' is not a number")
      .note("give the numbers of words: ,words=FILE");
}

// --- values of a data type

class Builder {
 public:
  Builder(const TreeRequest& request, const DataType& data) : request_(request), data_(data) {}

  Result<std::vector<Value>> run() {
    const TreeFile& file = request_.file;
    const std::vector<uint32_t> nodes = chosenNodes(file);
    std::unordered_map<uint32_t, Value> made;
    int64_t leaf = 0, inner = 0;
    for (uint32_t i : nodes) inner += file.nodes[i].children.empty() ? 1 : 0;
    for (uint32_t i : nodes) {
      const TreeNode& node = file.nodes[i];
      const int64_t number = node.children.empty() ? leaf++ : inner++;
      DYN_TRY(const DataConstructor* constructor, constructorOf(node));
      size_t child = 0;
      std::vector<Value> fields;
      for (Type field : constructor->fields) {
        if (isChild(field)) {
          fields.push_back(made.at(node.children[child++]));
          continue;
        }
        DYN_TRY(HostTensor tensor, tensorOf(node, field, number));
        fields.push_back(Value(std::move(tensor)));
      }
      made.emplace(i, Value::data(constructor->name, std::move(fields)));
    }
    std::vector<Value> roots;
    for (uint32_t root : file.roots) roots.push_back(made.at(root));
    return roots;
  }

 private:
  bool isChild(Type field) const { return field.kind() == TypeKind::data && field.dataName() == data_.name; }
  size_t childrenOf(const DataConstructor& constructor) const {
    return static_cast<size_t>(std::count_if(constructor.fields.begin(), constructor.fields.end(),
                                             [&](Type field) { return isChild(field); }));
  }

  Result<const DataConstructor*> constructorOf(const TreeNode& node) const {
    const DataConstructor* found = nullptr;
    int fitting = 0;
    std::string counts;
    for (const DataConstructor& constructor : data_.constructors) {
      const size_t count = childrenOf(constructor);
      counts += (counts.empty() ? "" : ", ") + constructor.name + " " + std::to_string(count);
      if (count != node.children.size()) continue;
      if (constructor.name == node.label) return &constructor;
      ++fitting;
      found = &constructor;
    }
    const std::string has = "a node has " + std::to_string(node.children.size()) + " children";
    if (!found) return atNode(request_.file, node, has + "; a " + data_.name + " takes: " + counts);
    if (fitting > 1)
      return atNode(
          request_.file, node,
          has + ", and several constructors of " + data_.name + " take that: its label must name one");
    return found;
  }

  Result<HostTensor> tensorOf(const TreeNode& node, Type type, int64_t number) const {
    if (!type.isTensor())
      return atNode(request_.file, node, "a " + type.toString() + " cannot be read from a file of trees");
    std::vector<int64_t> shape;
    for (Dim d : type.dims()) {
      const std::optional<int64_t> size = d.constant();
      if (!size) return atNode(request_.file, node, "the size of " + type.toString() + " is not known");
      shape.push_back(*size);
    }
    DYN_TRY(HostTensor tensor, HostTensor::create(type.dtype(), shape));
    if (type.dtype() == Dtype::string)
      return atNode(request_.file, node, "a " + type.toString() + " cannot be read from a file of trees");
    if (!node.hasValues) {
      if (tensor.elementCount() != 1)
        return atNode(request_.file, node,
                      "a node has no elements of its " + type.toString() + ": {\"value\": [...]} gives them");
      DYN_TRY(std::optional<int64_t> word, wordNumber(request_, node));
      if (!word) word = treeNumberOf(node.label);
      const int64_t element = word.value_or(number);
      tensor.setInt(0, element);
      if (!isHeld(tensor, 0, element)) return outsideOfType(node, std::to_string(element), type);
      return tensor;
    }
    const std::vector<double>& values = node.values;
    if (static_cast<int64_t>(values.size()) != tensor.elementCount())
      return atNode(
          request_.file, node,
          "a node has " + std::to_string(values.size()) + " elements, its type is " + type.toString());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      tensor.setReal(at, values[i]);
      // From 2^53 on a number of the file may have been rounded to this one.
      const bool mayBeInteger = std::abs(values[i]) < 0x1p53 && std::trunc(values[i]) == values[i];
      if (isInteger(type.dtype()) && !(mayBeInteger && isHeld(tensor, at, static_cast<int64_t>(values[i]))))
        return outsideOfType(node, fmt::format("{}", values[i]), type);
    }
    return tensor;
  }
  // Has an element of integers kept this number?
  static bool isHeld(const HostTensor& tensor, int64_t at, int64_t number) {
    if (!isInteger(tensor.dtype())) return true;
    return tensor.intAt(at) == number && (isSigned(tensor.dtype()) || number >= 0);
  }
  Error outsideOfType(const TreeNode& node, const std::string& number, const Type& type) const {
    return atNode(request_.file, node,
                  "a node has the value " + number + ", which is no element of its " + type.toString());
  }

  const TreeRequest& request_;
  const DataType& data_;
};

std::string childCountsOf(const TreeFile& file) {
  const std::vector<uint32_t> nodes = chosenNodes(file);
  const auto leaves =
      std::count_if(nodes.begin(), nodes.end(), [&](uint32_t i) { return file.nodes[i].children.empty(); });
  return std::to_string(file.roots.size()) + (file.roots.size() == 1 ? " tree of " : " trees of ") +
         std::to_string(leaves) + " leaves and " +
         std::to_string(nodes.size() - static_cast<size_t>(leaves)) + " other nodes";
}

const Port* treePortOf(const Signature& signature, std::string_view name, int rank) {
  for (const Port& port : signature.inputs)
    if (port.info.name == name && port.info.kind == "tensor" && isInteger(port.dtype) &&
        static_cast<int>(port.info.shape.size()) == rank)
      return &port;
  return nullptr;
}

Result<HostTensor> integers(const Port& port, std::vector<int64_t> shape,
                            const std::vector<int64_t>& values) {
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, std::move(shape)));
  for (size_t i = 0; i < values.size(); ++i) tensor.setInt(static_cast<int64_t>(i), values[i]);
  return tensor;
}

// --- arrays of nodes

class Arrays {
 public:
  explicit Arrays(const TreeRequest& request)
      : request_(request),
        file_(request.file),
        nodes_(chosenNodes(request.file)),
        number_(file_.nodes.size()) {}

  Status addPairs(const Port& left, const Port& right) {
    int64_t leaf = 0;
    for (uint32_t i : nodes_)
      if (file_.nodes[i].children.empty()) number_[i] = leaf++;
    made_.dims.emplace_back("leaves", leaf);
    std::vector<int64_t> lefts, rights;
    for (uint32_t i : nodes_) {
      const TreeNode& node = file_.nodes[i];
      if (node.children.empty()) continue;
      if (node.children.size() != 2)
        return atNode(file_, node,
                      "a node has " + std::to_string(node.children.size()) +
                          " children; inputs left and right take two");
      lefts.push_back(number_[node.children[0]]);
      rights.push_back(number_[node.children[1]]);
      number_[i] = leaf++;
    }
    const auto count = static_cast<int64_t>(lefts.size());
    DYN_CHECK(add(left, {count}, lefts));
    return add(right, {count}, rights);
  }

  Status addTable(const Port& children, std::optional<int64_t> most) {
    const auto count = static_cast<int64_t>(nodes_.size());
    for (size_t k = 0; k < nodes_.size(); ++k) number_[nodes_[k]] = static_cast<int64_t>(k);
    int64_t width = most.value_or(1);
    for (uint32_t i : nodes_) {
      const auto own = static_cast<int64_t>(file_.nodes[i].children.size());
      if (most && own > *most)
        return atNode(
            file_, file_.nodes[i],
            "a node has " + std::to_string(own) + " children; input children takes " + std::to_string(*most));
      width = std::max(width, own);
    }
    std::vector<int64_t> table;
    for (uint32_t i : nodes_) {
      for (uint32_t child : file_.nodes[i].children) table.push_back(number_[child]);
      table.resize(table.size() + static_cast<size_t>(width) - file_.nodes[i].children.size(), count);
    }
    return add(children, {count, width}, table);
  }

  Status addWords(const Port& words, bool ofLeaves) {
    std::vector<int64_t> numbers;
    for (uint32_t i : nodes_) {
      const bool leaf = file_.nodes[i].children.empty();
      if (ofLeaves && !leaf) continue;
      DYN_TRY(std::optional<int64_t> word, wordNumber(request_, file_.nodes[i]));
      if (!word && leaf) return atNode(file_, file_.nodes[i], "a leaf has no word");
      numbers.push_back(word.value_or(0));
    }
    return add(words, {static_cast<int64_t>(numbers.size())}, numbers);
  }

  TreeArrays take() { return std::move(made_); }

 private:
  Status add(const Port& port, std::vector<int64_t> shape, const std::vector<int64_t>& values) {
    DYN_TRY(HostTensor tensor, integers(port, std::move(shape), values));
    made_.inputs.emplace_back(port.info.name, std::move(tensor));
    return {};
  }

  const TreeRequest& request_;
  const TreeFile& file_;
  const std::vector<uint32_t> nodes_;
  std::vector<int64_t> number_;
  TreeArrays made_;
};

}  // namespace

Result<std::optional<Value>> readTreeInput(const Port& port, const Module& module, const std::string& spec,
                                           std::string* note) {
  const bool isList = port.type && port.type.kind() == TypeKind::list;
  const Type type = isList ? port.type.element() : port.type;
  if (!type || type.kind() != TypeKind::data) return std::optional<Value>();
  const DataType* data = module.findData(type.dataName());
  DYN_TRY(std::optional<TreeRequest> request, requestOf(spec));
  if (!data || !request) return std::optional<Value>();
  if (!isList && request->file.roots.size() != 1)
    return makeError(DiagnosticId::inputMismatch, "input " + port.info.name + " is one tree, the file has " +
                                                      std::to_string(request->file.roots.size()))
        .note("choose one: ,from=N,count=1");
  DYN_TRY(std::vector<Value> roots, Builder(*request, *data).run());
  *note = childCountsOf(request->file);
  return std::optional<Value>(isList ? Value::list(std::move(roots)) : std::move(roots[0]));
}

Result<std::optional<TreeArrays>> readTreeArrays(const Signature& signature, const std::string& spec) {
  const Port *left = treePortOf(signature, "left", 1), *right = treePortOf(signature, "right", 1);
  const Port* children = treePortOf(signature, "children", 2);
  if (!children && !(left && right)) return std::optional<TreeArrays>();
  DYN_TRY(std::optional<TreeRequest> request, requestOf(spec));
  if (!request) return std::optional<TreeArrays>();
  Arrays arrays(*request);
  if (children)
    DYN_CHECK(arrays.addTable(*children, treeNumberOf(children->info.shape[1])));
  else
    DYN_CHECK(arrays.addPairs(*left, *right));
  if (const Port* words = treePortOf(signature, "words", 1)) DYN_CHECK(arrays.addWords(*words, !children));
  TreeArrays made = arrays.take();
  made.note = childCountsOf(request->file);
  return std::optional<TreeArrays>(std::move(made));
}

}  // namespace dyn
