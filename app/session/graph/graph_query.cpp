#include "app/session/graph/graph_query.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"

namespace dyn {

namespace {

constexpr std::array<std::string_view, 9> kFacts = {"op",    "name", "type",  "dtype", "attr",
                                                    "place", "dim",  "shape", "note"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// `part` is lower-case. Without a copy: a search asks it of every text of a graph.
bool contains(std::string_view text, std::string_view part) {
  const auto lowered = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lowered(a) == b; }) != text.end() ||
         part.empty();
}

// "Tensor[(batch, seq), f32]" → "batch", "seq"; nothing of other types.
std::vector<std::string> dimsOf(const std::string& type) {
  const size_t begin = type.find("[(");
  if (begin == std::string::npos) return {};
  std::vector<std::string> dims(1);
  int depth = 0;
  for (size_t i = begin + 2; i < type.size(); ++i) {
    const char c = type[i];
    depth += c == '(' || c == '[';
    if ((c == ')' || c == ']') && depth-- == 0) break;
    if (c == ',' && depth == 0)
      dims.emplace_back();
    else if (c != ' ')
      dims.back() += c;
  }
  if (dims.size() == 1 && dims[0].empty()) dims.clear();
  return dims;
}

std::string queryDtypeOf(const std::string& type) {
  const size_t end = type.rfind(']'), begin = type.rfind(", ");
  return end == std::string::npos || begin == std::string::npos || begin > end
             ? ""
             : type.substr(begin + 2, end - begin - 2);
}

// "[batch,?,...]" over the dims of a type.
bool hasShape(const std::vector<std::string>& dims, const std::vector<std::string>& wanted, size_t d = 0,
              size_t w = 0) {
  if (w == wanted.size()) return d == dims.size();
  if (wanted[w] == "...")
    return hasShape(dims, wanted, d, w + 1) || (d < dims.size() && hasShape(dims, wanted, d + 1, w));
  if (d == dims.size()) return false;
  const bool same = wanted[w] == "?" || wanted[w] == "_" || lower(dims[d]) == wanted[w];
  return same && hasShape(dims, wanted, d + 1, w + 1);
}

// Is `symbol` one of the names in "past+seq"?
bool madeOf(const std::string& dim, const std::string& symbol) {
  const auto isName = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  for (size_t at = dim.find(symbol); at != std::string::npos; at = dim.find(symbol, at + 1)) {
    const size_t end = at + symbol.size();
    if ((at == 0 || !isName(dim[at - 1])) && (end == dim.size() || !isName(dim[end]))) return true;
  }
  return false;
}

template <typename Test>
bool anyPort(const GraphNode& node, Test test) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), test) ||
         std::any_of(node.inputs.begin(), node.inputs.end(), test);
}

std::string attributesOf(const GraphNode& node) {
  std::string text;
  for (const auto& [name, value] : node.attributes) text += name + "=" + value + "\n";
  return text;
}

std::string namesOf(const GraphNode& node) {
  std::string text = node.name + "\n" + node.sourceNode + "\n" + node.label;
  for (const GraphPort& port : node.outputs) text += "\n" + port.name;
  return text;
}

std::string operatorsOf(const GraphNode& node) { return node.op + "\n" + node.sourceOp; }

// "Tensor[(?0, 4), f32]" → "f32 [?0, 4]", as boxes have it, and the same without the blanks of the shape.
std::string shownType(const std::string& type) {
  const size_t open = type.rfind("Tensor[(", 0) == 0 ? 8 : std::string::npos, close = type.rfind("), ");
  if (open == std::string::npos || close == std::string::npos) return type;
  const std::string dims = type.substr(open, close - open);
  std::string tight = dims;
  tight.erase(std::remove(tight.begin(), tight.end(), ' '), tight.end());
  const std::string dtype = queryDtypeOf(type);
  return dtype + " [" + dims + "]\n" + dtype + " [" + tight + "]";
}

// What the groups around it are called.
std::string captionsOf(const GraphView& view, const GraphNode& node) {
  std::string text;
  for (int g = node.group; g >= 0; g = view.groups[static_cast<size_t>(g)].parent)
    if (const GraphGroup& group = view.groups[static_cast<size_t>(g)]; group.kind != GroupKind::region)
      text += group.label + "\n";
  return text;
}

// Does any text of allOf() contain the word? It has no line break, so that it is in one of them.
bool anyTextContains(const GraphView& view, const GraphNode& node, const std::string& word) {
  // What a shown type has besides the type itself is how it is put together.
  const bool isOfShownType = word.find_first_of(" [],") != std::string::npos;
  const auto in = [&](const std::string& text) { return contains(text, word); };
  const auto inType = [&](const std::string& type) { return isOfShownType && in(shownType(type)); };
  if (in(node.op) || in(node.sourceOp) || in(node.name) || in(node.sourceNode) || in(node.label)) return true;
  for (const GraphPort& port : node.outputs)
    if (in(port.name) || in(port.type) || inType(port.type)) return true;
  if (node.outputs.empty())
    for (const GraphPort& port : node.inputs)
      if (in(shownType(port.type))) return true;
  for (const auto& [name, value] : node.attributes)
    if (in(name) || in(value) || (word.find('=') != std::string::npos && in(name + "=" + value))) return true;
  for (int g = node.group; g >= 0; g = view.groups[static_cast<size_t>(g)].parent)
    if (const GraphGroup& group = view.groups[static_cast<size_t>(g)];
        group.kind != GroupKind::region && in(group.label))
      return true;
  return false;
}

std::string allOf(const GraphView& view, const GraphNode& node) {
  std::string text = operatorsOf(node) + "\n" + namesOf(node) + "\n" + attributesOf(node);
  for (const GraphPort& port : node.outputs) text += port.type + "\n" + shownType(port.type) + "\n";
  // What only takes values, as the model's outputs do, shows their type.
  if (node.outputs.empty())
    for (const GraphPort& port : node.inputs) text += shownType(port.type) + "\n";
  return text + captionsOf(view, node);
}

}  // namespace

Result<GraphQuery> GraphQuery::parse(const std::string& text) {
  GraphQuery query;
  for (size_t at = text.find_first_not_of(' '); at != std::string::npos;
       at = text.find_first_not_of(' ', at)) {
    Term term;
    if (text[at] == '-' && at + 1 < text.size() && text[at + 1] != ' ') {
      term.absent = true;
      ++at;
    }
    for (const std::string_view fact : kFacts)
      if (text.compare(at, fact.size(), fact) == 0 && at + fact.size() < text.size() &&
          text[at + fact.size()] == ':')
        term.fact = fact;
    if (!term.fact.empty()) at += term.fact.size() + 1;
    const char quote = at < text.size() ? text[at] : ' ';
    const bool quoted = quote == '"' || quote == '/';
    const size_t close = quoted ? text.find(quote, at + 1) : std::string::npos;
    // A name such as /layer.0/MatMul is no regular expression.
    const bool isPattern =
        quote == '/' && close != std::string::npos && (close + 1 == text.size() || text[close + 1] == ' ');
    if (isPattern || (quote == '"' && close != std::string::npos)) {
      term.text = text.substr(at + 1, close - at - 1);
      at = close + 1;
    } else {
      // Blanks inside brackets belong to a shape.
      int depth = 0;
      for (; at < text.size() && (text[at] != ' ' || depth > 0); ++at) {
        depth += text[at] == '[' || text[at] == '(';
        depth -= text[at] == ']' || text[at] == ')';
        if (text[at] != ' ' || term.fact != "shape") term.text += text[at];
      }
    }
    if (isPattern) {
      try {
        term.pattern.emplace(term.text, std::regex::ECMAScript | std::regex::icase);
      } catch (const std::regex_error& fault) {
        return makeError(DiagnosticId::usageError,
                         "/" + term.text + "/ is not a regular expression: " + fault.what());
      }
    }
    term.text = lower(term.text);
    if (!term.text.empty()) query.terms_.push_back(std::move(term));
  }
  return query;
}

bool GraphQuery::holds(const Term& term, const GraphView& view, const GraphNode& node) const {
  const auto in = [&](const std::string& text) {
    return term.pattern ? std::regex_search(text, *term.pattern) : contains(text, term.text);
  };
  const std::string* note = notes_ ? notes_->of(node) : nullptr;
  if (term.fact == "note") return note && in(*note);
  if (term.fact.empty() && note && in(*note)) return true;
  if (term.fact == "op") return in(operatorsOf(node));
  if (term.fact == "name") return in(namesOf(node));
  if (term.fact == "attr") return in(attributesOf(node));
  if (term.fact == "place") return in(node.place);
  if (term.fact == "type")
    return anyPort(node, [&](const GraphPort& port) { return in(port.type) || in(shownType(port.type)); });
  if (term.fact == "dtype")
    return anyPort(node, [&](const GraphPort& port) { return lower(queryDtypeOf(port.type)) == term.text; });
  if (term.fact == "dim")
    return anyPort(node, [&](const GraphPort& port) {
      for (const std::string& dim : dimsOf(port.type))
        if (madeOf(lower(dim), term.text)) return true;
      return false;
    });
  if (term.fact == "shape") {
    const std::vector<std::string> wanted =
        dimsOf("[(" + term.text.substr(term.text.find_first_not_of("[(") % (term.text.size() + 1)));
    return anyPort(node, [&](const GraphPort& port) {
      return port.type.find("[(") != std::string::npos && hasShape(dimsOf(port.type), wanted);
    });
  }
  return term.pattern ? in(allOf(view, node)) : anyTextContains(view, node, term.text);
}

bool GraphQuery::matches(const GraphView& view, const GraphNode& node) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return holds(term, view, node) != term.absent; });
}

bool GraphQuery::names(const GraphNode& constant) const {
  const std::string text = namesOf(constant);
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (term.absent || (!term.fact.empty() && term.fact != "name")) return false;
    return term.pattern ? std::regex_search(text, *term.pattern) : contains(text, term.text);
  });
}

std::vector<int> findNodes(const GraphView& view, const GraphQuery& query, bool constants) {
  if (query.isEmpty()) return {};
  std::vector<int> found;
  std::unordered_set<NodeId> hidden;  // constants that are found, but not shown
  for (const GraphNode& node : view.nodes)
    if (!constants && node.kind == NodeKind::constant && query.names(node) && query.matches(view, node))
      hidden.insert(node.id);
  for (size_t n = 0; n < view.nodes.size(); ++n) {
    const GraphNode& node = view.nodes[n];
    if (!constants && node.kind == NodeKind::constant) continue;
    const bool takesFound =
        !hidden.empty() && std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](const GraphPort& port) { return hidden.count(port.node) > 0; });
    if (takesFound || query.matches(view, node)) found.push_back(static_cast<int>(n));
  }
  return found;
}

GraphWalk::GraphWalk(Shared<GraphView> kept)
    : view_(std::move(kept)), producers_(view_->nodes.size()), consumers_(view_->nodes.size()) {
  const GraphView& view = *view_;
  std::unordered_map<NodeId, int> indices;
  for (size_t n = 0; n < view.nodes.size(); ++n) indices[view.nodes[n].id] = static_cast<int>(n);
  const auto add = [](std::vector<int>& list, int node) {
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
  };
  for (const GraphEdge& edge : view.edges) {
    const auto from = indices.find(edge.from), to = indices.find(edge.to);
    if (from == indices.end() || to == indices.end()) continue;
    add(consumers_[static_cast<size_t>(from->second)], to->second);
    add(producers_[static_cast<size_t>(to->second)], from->second);
  }
  for (std::vector<int>& list : consumers_) std::sort(list.begin(), list.end());
}

std::vector<int> GraphWalk::reach(int node, int hops, const Lists& next) const {
  std::vector<int> distance(view_->nodes.size(), -1);
  std::deque<int> waiting = {node};
  distance[static_cast<size_t>(node)] = 0;
  std::vector<int> found;
  while (!waiting.empty()) {
    const int at = waiting.front();
    waiting.pop_front();
    const int steps = distance[static_cast<size_t>(at)];
    if (at != node) found.push_back(at);
    if (hops > 0 && steps >= hops) continue;
    for (int other : next[static_cast<size_t>(at)]) {
      if (distance[static_cast<size_t>(other)] >= 0) continue;
      distance[static_cast<size_t>(other)] = steps + 1;
      waiting.push_back(other);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int> GraphWalk::shortest(int from, int to) const {
  std::vector<int> before(view_->nodes.size(), -1);
  std::deque<int> waiting = {from};
  before[static_cast<size_t>(from)] = from;
  while (!waiting.empty() && before[static_cast<size_t>(to)] < 0) {
    const int at = waiting.front();
    waiting.pop_front();
    for (int other : consumers(at)) {
      if (before[static_cast<size_t>(other)] >= 0) continue;
      before[static_cast<size_t>(other)] = at;
      waiting.push_back(other);
    }
  }
  if (before[static_cast<size_t>(to)] < 0) return {};
  std::vector<int> path = {to};
  while (path.back() != from) path.push_back(before[static_cast<size_t>(path.back())]);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<int> GraphWalk::path(int from, int to) const {
  std::vector<int> found = shortest(from, to);
  return found.empty() ? shortest(to, from) : found;
}

int GraphWalk::indexOf(NodeId id) const {
  for (size_t n = 0; n < view_->nodes.size(); ++n)
    if (view_->nodes[n].id == id) return static_cast<int>(n);
  return -1;
}

int GraphWalk::indexOf(const std::string& name) const {
  const std::string bare = !name.empty() && name[0] == '%' ? name.substr(1) : name;
  int bySource = -1;
  for (size_t n = 0; n < view_->nodes.size(); ++n) {
    const GraphNode& node = view_->nodes[n];
    if (node.name == bare && node.kind != NodeKind::output) return static_cast<int>(n);
    for (const GraphPort& port : node.outputs)
      if (port.name == bare) return static_cast<int>(n);
    if (bySource < 0 && !bare.empty() && node.sourceNode == bare) bySource = static_cast<int>(n);
  }
  return bySource;
}

}  // namespace dyn
