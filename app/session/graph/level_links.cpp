#include "app/session/graph/level_links.h"

#include <algorithm>
#include <charconv>

#include "app/session/graph/kernel_members.h"
#include "app/session/views/code_views.h"
#include "compiler/driver/builtin_code.h"
#include "compiler/ir/printer.h"

namespace dyn {

namespace {

int numberAt(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

template <typename Each>
void eachLine(std::string_view text, const Each& each) {
  for (uint32_t at = 1; !text.empty(); ++at) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end), at);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The string in quotes behind the `;` of a line.
std::string quotedComment(std::string_view line) {
  size_t at = line.rfind("; \"");
  if (at == std::string_view::npos) return {};
  std::string text;
  for (at += 3; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    text += line[at];
  }
  return text;
}

// Which kernels are launched for the operations of a place, and which operations those are.
class Launches {
 public:
  static Result<Launches> of(LoadedModel& model) {
    Launches launches;
    DYN_TRY(dyn_module * program, model.program());
    const char* listing = dyn_module_disassembly(program);
    launches.members_ = kernelMembers(model.placed());
    const vm::Program& compiled = model.compiled()->lowered.program;
    launches.kernelsCount_ = static_cast<int>(compiled.kernels.size());
    launches.builtins_ = compiled.builtins;
    for (const ListedLine& line : listedLines(listing ? listing : ""))
      for (const int kernel : launches.kernelsOf(line))
        for (const std::string& place : launches.placesOf(line.place))
          if (launches.kernels_[place].insert(kernel).second) launches.addPlace(kernel, place);
    return launches;
  }
  // As LineOrigin numbers them.
  std::vector<int> kernelsOf(const ListedLine& line) const {
    if (line.kernel >= 0) return {line.kernel};
    if (line.builtin < 0 || static_cast<size_t>(line.builtin) >= builtins_.size()) return {};
    std::vector<int> kernels = {kernelsCount_ + line.builtin};
    if (runsOnMatrixKernels(builtins_[static_cast<size_t>(line.builtin)]))
      kernels.push_back(kernelsCount_ + static_cast<int>(builtins_.size()));
    return kernels;
  }
  std::vector<std::string> placesOf(const std::string& place) const {
    std::vector<std::string> places = {place};
    const auto members = members_.find(place);
    if (members != members_.end())
      for (const std::string& member : members->second)
        if (member != place) places.push_back(member);
    return places;
  }
  const std::vector<std::vector<std::string>>& placesByKernel() const { return placesByKernel_; }
  std::vector<int> kernelsOf(const std::string& place) const {
    const auto found = kernels_.find(place);
    return found == kernels_.end() ? std::vector<int>()
                                   : std::vector<int>(found->second.begin(), found->second.end());
  }

 private:
  void addPlace(int kernel, const std::string& place) {
    const auto index = static_cast<size_t>(kernel);
    if (placesByKernel_.size() <= index) placesByKernel_.resize(index + 1);
    placesByKernel_[index].push_back(place);
  }
  int kernelsCount_ = 0;
  std::vector<std::string> builtins_;
  std::map<std::string, std::vector<std::string>> members_;
  std::map<std::string, std::set<int>> kernels_;
  std::vector<std::vector<std::string>> placesByKernel_;
};

void addGraphOrigins(const TraceStep& step, const Launches& launches, IrText& text) {
  std::vector<PrintedLine> lines;
  print(step.after, PrintOptions(), &lines);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const PrintedLine& a, const PrintedLine& b) { return a.line < b.line; });
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].op->place.known()) continue;
    LineOrigin origin;
    origin.line = lines[i].line;
    origin.lastLine = i + 1 < lines.size() ? lines[i + 1].line - 1 : origin.line;
    const std::string place = lines[i].op->place.toString();
    origin.places = lines[i].op->regions.empty() ? std::vector<std::string>{place} : launches.placesOf(place);
    origin.kernels = launches.kernelsOf(place);
    text.origins.push_back(std::move(origin));
  }
}

void addBytecodeOrigins(const Launches& launches, IrText& text) {
  const std::vector<ListedLine> lines = listedLines(text.text);
  for (uint32_t i = 0; i < lines.size(); ++i) {
    if (lines[i].place.empty() && lines[i].kernel < 0 && lines[i].builtin < 0) continue;
    LineOrigin origin;
    origin.line = origin.lastLine = i + 1;
    origin.places = launches.placesOf(lines[i].place);
    origin.kernels = launches.kernelsOf(lines[i]);
    text.origins.push_back(std::move(origin));
  }
}

// A line of the source belongs to all that its operations became.
void addSourceOrigins(const Launches& launches, IrText& text) {
  for (LineOrigin& origin : text.origins) {
    std::set<int> kernels;
    for (const std::string& place : origin.places)
      for (const int kernel : launches.kernelsOf(place)) kernels.insert(kernel);
    origin.kernels.assign(kernels.begin(), kernels.end());
  }
}

// Texts of kernels, one after the other: the text becomes theirs.
void addKernel(IrText& text, int kernel, std::string_view title, const KernelListing& listing) {
  uint32_t at = static_cast<uint32_t>(std::count(text.text.begin(), text.text.end(), '\n')) + 1;
  const auto add = [&](uint32_t loopLine) {
    text.origins.push_back({at, at, {}, {kernel}, true, loopLine});
    ++at;
  };
  if (!title.empty()) {
    text.text += std::string(title) + "\n";
    add(0);
  }
  eachLine(listing.text, [&](std::string_view, uint32_t line) {
    add(line <= listing.loopLines.size() ? listing.loopLines[line - 1] : 0);
  });
  text.text += listing.text;
  if (!text.text.empty() && text.text.back() != '\n') text.text += '\n';
}

std::string commentOf(IrLevel level) {
  return level == IrLevel::assembly ? "#" : level == IrLevel::llvm ? ";" : "//";
}

Status addBuiltins(const CompiledModel& compiled, IrText& text) {
  const std::vector<std::string>& builtins = compiled.lowered.program.builtins;
  auto number = static_cast<int>(compiled.lowered.program.kernels.size());
  DYN_TRY(const std::vector<std::string> texts, builtinTexts(compiled, builtins, text.level));
  for (const std::string& one : texts) addKernel(text, number++, "", {one, {}});
  if (text.level != IrLevel::assembly || std::none_of(builtins.begin(), builtins.end(), [](const auto& name) {
        return runsOnMatrixKernels(name);
      }))
    return {};
  DYN_TRY(const std::string matrix, matrixKernelsText(compiled));
  addKernel(text, number, "", {matrix, {}});
  return {};
}

Status addKernelOrigins(const CompiledModel& compiled, IrText& text) {
  text.text.clear();
  for (size_t i = 0; i < compiled.lowered.kernels.size(); ++i) {
    if (text.level == IrLevel::loop) {
      KernelListing listing{loop::print(compiled.lowered.kernels[i]), {}};
      const auto lines = std::count(listing.text.begin(), listing.text.end(), '\n');
      for (uint32_t line = 1; line <= static_cast<uint32_t>(lines); ++line)
        listing.loopLines.push_back(line == 1 ? 0 : line);  // the first names the kernel
      addKernel(text, static_cast<int>(i), "", listing);
      continue;
    }
    const bool llvm = text.level == IrLevel::llvm;
    DYN_TRY(const KernelListing listing,
            kernelListing(compiled, i, llvm ? KernelText::llvm : KernelText::assembly));
    addKernel(text, static_cast<int>(i),
              (llvm ? "; " : "# ") + std::string("kernel ") + std::to_string(i) + ": " +
                  compiled.lowered.program.kernels[i].name,
              listing);
  }
  return addBuiltins(compiled, text);
}

template <typename T>
bool meet(const std::vector<T>& a, const std::vector<T>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

bool related(const LineOrigin& from, const LineOrigin& to) {
  if (!from.inKernel && !to.inKernel) return meet(from.places, to.places);
  if (!from.inKernel || !to.inKernel) return meet(from.kernels, to.kernels);
  if (from.kernels != to.kernels) return false;
  return from.loopLine == 0 || from.loopLine == to.loopLine;
}

}  // namespace

bool isOfKernels(IrLevel level) {
  return level == IrLevel::loop || level == IrLevel::llvm || level == IrLevel::assembly;
}

Result<std::vector<std::string>> builtinTexts(const CompiledModel& compiled,
                                              const std::vector<std::string>& names, IrLevel level) {
  std::vector<std::string> texts, ours;
  for (const std::string& name : names) {
    Result<std::string> card = builtinCard(name, commentOf(level));
    if (card.ok()) ours.push_back(name);
    // Of a library that the runtime has opened, such as oneDNN.
    texts.push_back(card.ok() ? *std::move(card) : commentOf(level) + " " + name + ": of another library\n");
  }
  if (level != IrLevel::assembly) return texts;
  const Result<std::vector<std::string>> codes = builtinAssembly(compiled, ours);
  for (size_t i = 0, at = 0; i < texts.size(); ++i) {
    if (at == ours.size() || names[i] != ours[at]) continue;
    texts[i] += codes.ok() ? (*codes)[at] : "# " + codes.error().message + "\n";
    ++at;
  }
  return texts;
}

Result<std::string> matrixKernelsText(const CompiledModel& compiled) {
  DYN_TRY(const std::string code, matrixKernelsAssembly(compiled));
  return "# matrix kernels of this machine: dyn_gemm_f32_rN makes N rows of a product at a time\n" + code;
}

std::vector<ListedLine> listedLines(std::string_view listing) {
  std::vector<ListedLine> lines;
  ListedLine now;
  int instruction = 0;
  eachLine(listing, [&](std::string_view line, uint32_t) {
    now.instruction = now.kernel = now.builtin = -1;
    if (line.rfind("function ", 0) == 0) {
      ++now.function;
      now.place.clear();
      instruction = 0;
    } else if (line.rfind("place ", 0) == 0) {
      now.place = quotedComment(line);
    } else if (now.function >= 0 && line.rfind("  ", 0) == 0) {
      now.instruction = instruction++;
      if (line.rfind("  launch k", 0) == 0) now.kernel = numberAt(line.substr(10));
      for (const std::string_view call : {"  builtin b", "  builtininto b"})
        if (line.rfind(call, 0) == 0) now.builtin = numberAt(line.substr(call.size()));
    }
    lines.push_back(now);
  });
  return lines;
}

Status addOrigins(LoadedModel& model, const TraceStep* step, IrText& text) {
  DYN_CHECK(model.ensureCompiled());
  if (!model.compiled())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package has no levels beside its bytecode");
  DYN_TRY(const Launches launches, Launches::of(model));
  text.kernelPlaces = launches.placesByKernel();
  if (isOfKernels(text.level)) return addKernelOrigins(*model.compiled(), text);
  if (text.level == IrLevel::source) addSourceOrigins(launches, text);
  if (text.level == IrLevel::bytecode) addBytecodeOrigins(launches, text);
  if (step) addGraphOrigins(*step, launches, text);
  return {};
}

const LineOrigin* originOf(const IrText& text, uint32_t line) {
  const auto after = std::upper_bound(text.origins.begin(), text.origins.end(), line,
                                      [](uint32_t at, const LineOrigin& origin) { return at < origin.line; });
  if (after == text.origins.begin() || std::prev(after)->lastLine < line) return nullptr;
  return &*std::prev(after);
}

std::vector<uint32_t> linesOf(const IrText& from, uint32_t line, const IrText& to) {
  std::vector<uint32_t> lines;
  const LineOrigin* origin = originOf(from, line);
  if (!origin) return lines;
  for (const LineOrigin& other : to.origins)
    if (related(*origin, other))
      for (uint32_t at = other.line; at <= other.lastLine; ++at) lines.push_back(at);
  return lines;
}

std::vector<uint32_t> linesOfPlace(const IrText& text, const std::string& place) {
  std::vector<char> launched(text.kernelPlaces.size());
  for (size_t kernel = 0; kernel < launched.size(); ++kernel) {
    const std::vector<std::string>& places = text.kernelPlaces[kernel];
    launched[kernel] = std::find(places.begin(), places.end(), place) != places.end();
  }
  std::vector<uint32_t> lines;
  for (const LineOrigin& origin : text.origins) {
    const auto isLaunched = [&](int kernel) {
      return static_cast<size_t>(kernel) < launched.size() && launched[static_cast<size_t>(kernel)];
    };
    const bool found =
        origin.inKernel ? std::any_of(origin.kernels.begin(), origin.kernels.end(), isLaunched)
                        : std::find(origin.places.begin(), origin.places.end(), place) != origin.places.end();
    for (uint32_t at = origin.line; found && at <= origin.lastLine; ++at) lines.push_back(at);
  }
  return lines;
}

}  // namespace dyn
