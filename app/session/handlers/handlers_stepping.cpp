// Handlers: a run that is stepped through.
#include <algorithm>
#include <charconv>

#include "app/session/graph/kernel_members.h"
#include "app/session/graph/level_links.h"
#include "app/session/graph/node_ids.h"
#include "app/session/handlers/stepping.h"
#include "app/session/handlers/stop_text.h"
#include "app/session/views/node_id.h"
#include "app/session/views/stop_views.h"
#include "app/session/views/view.h"
#include "app/session/views/view_text.h"
#include "compiler/driver/code_positions.h"
#include "compiler/ir/walk.h"

namespace dyn {

namespace {

// The listing of the program, and where its instructions are in the code.
struct Listing {
  std::vector<ListedLine> lines;                 // from 0
  std::vector<std::vector<uint32_t>> positions;  // by function, by instruction
  const vm::Program* program = nullptr;
};

Result<Listing> listingOf(SessionState& state) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: stepping through a package")
        .note("load the model it was made from");
  DYN_TRY(dyn_module * module, model->program());
  Listing listing;
  const char* text = dyn_module_disassembly(module);
  listing.lines = listedLines(text ? text : "");
  listing.program = &model->compiled()->lowered.program;
  for (const vm::Function& function : listing.program->functions)
    listing.positions.push_back(codePositions(function.code));
  return listing;
}

// 0: it is none of the listing.
uint32_t lineAt(const Listing& listing, int32_t function, uint32_t position) {
  for (size_t i = 0; i < listing.lines.size(); ++i) {
    const ListedLine& line = listing.lines[i];
    if (line.function != function || line.instruction < 0) continue;
    const auto& positions = listing.positions[static_cast<size_t>(function)];
    if (static_cast<size_t>(line.instruction) < positions.size() &&
        positions[static_cast<size_t>(line.instruction)] == position)
      return static_cast<uint32_t>(i) + 1;
  }
  return 0;
}

NodeId nodeAt(const LoadedModel& model, const std::string& place) {
  const Module& placed = model.placed();
  const NodeIds ids(placed);
  NodeId node = kNoNode;
  forEachOp(placed, [&](const Function&, const Op& op) {
    if (node == kNoNode && !place.empty() && op.place.toString() == place) node = ids.of(op);
  });
  return node;
}

BreakpointTable breakpointTable(const SessionState& state) {
  BreakpointTable table;
  for (const Breakpoint& point : state.breakpoints)
    table.rows.push_back({point.number, point.what, point.where, point.hits, point.lines});
  table.watched = state.watched;
  return table;
}

Result<View> stopView(SessionState& state, const SteppedRun::Stop& stop, StopView::Detail detail,
                      const SteppedRun::Stop* before = nullptr) {
  StopView view;
  view.detail = detail;
  view.ended = stop.ended;
  view.why = stop.why;
  view.function = stop.function;
  view.place = stop.place;
  view.instruction = stop.instruction;
  view.position = stop.position;
  view.depth = stop.depth;
  view.registers = stop.registers;
  view.result = stop.result;
  view.breakpoints = breakpointTable(state);
  if (!stop.ended) {
    DYN_TRY(const Listing listing, listingOf(state));
    view.line = lineAt(listing, stop.functionIndex, stop.position);
    view.node = nodeAt(*state.now.model, stop.place);
    view.source = sourceAround(*state.now.model, stop.place);
    nameRegisters(*state.now.model, before, stop, view.registers);
  }
  return makeView(std::move(view));
}

// Elements in one line; a large tensor with its edges alone.
std::string steppedElementsOf(const Value& value, const std::string& type) {
  TextOptions options;
  options.edgeItems = 2;
  std::string text = toText(value, type, options);
  for (size_t line = text.find('\n'); line != std::string::npos; line = text.find('\n', line)) {
    size_t next = line + 1;
    while (next < text.size() && text[next] == ' ') ++next;
    text.replace(line, next - line, next < text.size() ? " " : "");
  }
  constexpr size_t kMost = 120;
  if (text.size() > kMost) text = text.substr(0, kMost - 4) + " ...";
  return text;
}

std::optional<uint32_t> wholeNumberOf(std::string_view text) {
  uint32_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status atPosition(const Listing& listing, const std::string& function, uint32_t position, Breakpoint& point) {
  for (size_t i = 0; i < listing.positions.size(); ++i) {
    if (listing.program->functions[i].name != function) continue;
    const auto& positions = listing.positions[i];
    if (std::binary_search(positions.begin(), positions.end(), position)) {
      point.positions.insert({static_cast<int32_t>(i), position});
      point.ofBytecode = true;
      point.where = function + ":" + std::to_string(position) + ", a word of the bytecode";
      return {};
    }
    return makeError(DiagnosticId::usageError,
                     "no instruction begins at word " + std::to_string(position) + " of " + function)
        .note(":bytecode shows the words; a line of the source is FILE:LINE");
  }
  return makeError(DiagnosticId::textName, "there is no function '" + function + "'");
}

Status atLine(const Listing& listing, uint32_t line, Breakpoint& point) {
  // As in other debuggers: the first line from there on that does something.
  for (size_t i = line; i > 0 && i <= listing.lines.size(); ++i) {
    const ListedLine& found = listing.lines[i - 1];
    if (found.instruction < 0) continue;
    const auto function = static_cast<size_t>(found.function);
    const uint32_t position = listing.positions[function][static_cast<size_t>(found.instruction)];
    point.positions.insert({found.function, position});
    point.ofBytecode = true;
    point.where = listing.program->functions[function].name + ":" + std::to_string(position) + ", line " +
                  std::to_string(i);
    return {};
  }
  return makeError(DiagnosticId::usageError,
                   "the bytecode has no instruction from line " + std::to_string(line) + " on");
}

// The names of a place: the node of "model.onnx: byte 7: node /layer/MatMul (MatMul, opset 17)".
bool namesPlace(const std::string& place, const std::string& name) {
  if (place == name) return true;
  const size_t node = place.find(": node ");
  if (node == std::string::npos) return false;
  const std::string_view rest = std::string_view(place).substr(node + 7);
  return rest.substr(0, rest.find(" (")) == name;
}

// Where the operation begins: the first of its instructions, each time they are come to from others.
Status atOperation(SessionState& state, const Listing& listing, const std::string& name, Breakpoint& point) {
  std::set<std::string> places;
  const std::string bare = name.substr(name.rfind('%', 0) == 0 ? 1 : 0);
  const ValueId named = state.now.model->ir().findValue(bare);
  const auto addOp = [&](const Function&, const Op& op) {
    for (size_t i = 0; i < op.results.size(); ++i)
      if (op.place.known() && named != kNoValue && op.results[i].id == named)
        places.insert(op.place.toString());
  };
  forEachOp(state.now.model->imported(), addOp);
  forEachOp(state.now.model->placed(), addOp);
  std::map<std::string, std::vector<std::string>> members = kernelMembers(state.now.model->placed());
  std::pair<int, std::string> before{-1, ""};
  for (const ListedLine& line : listing.lines) {
    if (line.instruction < 0) continue;
    const std::pair<int, std::string> now{line.function, line.place};
    if (std::exchange(before, now) == now) continue;
    bool found = places.count(line.place) > 0 || namesPlace(line.place, bare);
    for (const std::string& member : members[line.place])
      found |= places.count(member) > 0 || namesPlace(member, bare);
    if (!found) continue;
    const auto function = static_cast<size_t>(line.function);
    point.positions.insert(
        {line.function, listing.positions[function][static_cast<size_t>(line.instruction)]});
    if (point.where.empty()) point.where = line.place;
  }
  if (!point.positions.empty()) return {};
  return makeError(DiagnosticId::textName, "no instruction belongs to an operation '" + name + "'")
      .note(
          "an operation is named by a value it makes or by its node; constants and views that cost nothing "
          "have no instructions");
}

// The line of a place "mlp.dyn:3:7" of that file, whose folder need not be named; nothing: of no other place.
std::optional<uint32_t> lineInFile(const std::string& place, const std::string& file) {
  const size_t begin = place.rfind('/', place.find(':')) + 1;  // npos + 1 is 0
  for (const size_t from : {size_t{0}, begin}) {
    if (place.compare(from, file.size() + 1, file + ":") != 0) continue;
    const std::string_view rest = std::string_view(place).substr(from + file.size() + 1);
    return wholeNumberOf(rest.substr(0, rest.find(':')));
  }
  return std::nullopt;
}

// The first line of the source from there on that has instructions, as in other debuggers.
Status atSource(SessionState& state, const Listing& listing, const std::string& file, uint32_t line,
                Breakpoint& point) {
  std::map<std::string, std::vector<std::string>> members = kernelMembers(state.now.model->placed());
  std::map<uint32_t, Breakpoint> byLine;
  bool isKnown = false;
  std::pair<int, std::string> before{-1, ""};
  for (const ListedLine& listed : listing.lines) {
    if (listed.instruction < 0) continue;
    const std::pair<int, std::string> now{listed.function, listed.place};
    if (std::exchange(before, now) == now) continue;
    std::vector<std::string> places = members[listed.place];
    places.push_back(listed.place);
    const auto function = static_cast<size_t>(listed.function);
    for (const std::string& place : places) {
      const std::optional<uint32_t> found = lineInFile(place, file);
      isKnown = isKnown || found;
      if (!found || *found < line) continue;
      Breakpoint& at = byLine[*found];
      at.positions.insert(
          {listed.function, listing.positions[function][static_cast<size_t>(listed.instruction)]});
      if (at.where.empty()) at.where = place;
    }
  }
  if (!isKnown)
    return makeError(DiagnosticId::textName, "there is no function '" + file + "', and no file of the model")
        .note("write FILE:LINE, FUNCTION:WORD of the bytecode, or the name of a value");
  if (byLine.empty())
    return makeError(DiagnosticId::usageError,
                     file + " has no instructions from line " + std::to_string(line) + " on");
  point.positions = byLine.begin()->second.positions;
  point.where = byLine.begin()->second.where;
  return {};
}

// Where a breakpoint is, by what it says.
Status findPositions(SessionState& state, const Listing& listing, Breakpoint& point) {
  const std::string& what = point.what;
  const size_t colon = what.rfind(':');
  const std::string current =
      state.debug && state.debug->isStopped() ? state.debug->lastStop().function : "main";
  if (const auto position = wholeNumberOf(what)) {
    DYN_CHECK(atPosition(listing, current, *position, point));
  } else if (what.rfind("line ", 0) == 0 && wholeNumberOf(std::string_view(what).substr(5))) {
    DYN_CHECK(atLine(listing, *wholeNumberOf(std::string_view(what).substr(5)), point));
  } else if (colon != std::string::npos && wholeNumberOf(std::string_view(what).substr(colon + 1))) {
    const std::string name = what.substr(0, colon);
    const uint32_t number = *wholeNumberOf(std::string_view(what).substr(colon + 1));
    const auto& functions = listing.program->functions;
    const bool isFunction =
        std::any_of(functions.begin(), functions.end(), [&](const auto& f) { return f.name == name; });
    DYN_CHECK(isFunction ? atPosition(listing, name, number, point)
                         : atSource(state, listing, name, number, point));
  } else {
    DYN_CHECK(atOperation(state, listing, what, point));
  }
  for (const auto& [function, position] : point.positions)
    if (const uint32_t line = lineAt(listing, function, position); line > 0) point.lines.push_back(line);
  std::sort(point.lines.begin(), point.lines.end());
  return {};
}

// Another program, of this model or of another one, has its instructions elsewhere.
void moveBreakpoints(SessionState& state, const Listing& listing) {
  const std::shared_ptr<LoadedModel> before = state.breakpointsOf.lock();
  if (std::exchange(state.breakpointsOf, state.now.model); before == state.now.model) return;
  std::erase_if(state.breakpoints, [&](Breakpoint& point) {
    Breakpoint moved;
    moved.number = point.number;
    moved.what = point.what;
    moved.hits = point.hits;
    const Status found = findPositions(state, listing, moved);
    if (!found.ok())
      state.log("breakpoint " + std::to_string(point.number) + " is gone: " + found.error().message);
    point = std::move(moved);
    return !found.ok();
  });
}

Result<SteppedRun*> stoppedRun(SessionState& state) {
  if (state.debug && state.debug->model() == state.now.model.get() && state.debug->isStopped())
    return state.debug.get();
  return makeError(DiagnosticId::usageError, "no run is stopped").note(":start begins one");
}

}  // namespace

Result<View> stepRun(SessionState& state, StepBy by, int64_t count) {
  DYN_TRY(SteppedRun * run, stoppedRun(state));
  if (count < 1) return makeError(DiagnosticId::usageError, "a number of steps is at least 1");
  const SteppedRun::Stop before = run->lastStop();
  Result<SteppedRun::Stop> stop = run->go({by, count, state.breakpoints, state.watched}, state.interruption);
  if (!stop.ok()) {
    state.debug = nullptr;
    return stop.takeError();
  }
  bool byInstruction = by == StepBy::instruction || by == StepBy::instructionOver || stop->place.empty();
  for (Breakpoint& point : state.breakpoints) {
    if (point.number != stop->breakpoint) continue;
    ++point.hits;
    byInstruction |= point.ofBytecode;
  }
  const auto detail = byInstruction ? StopView::Detail::instruction : StopView::Detail::operation;
  Result<View> view = stopView(state, *stop, detail, &before);
  if (stop->ended) state.debug = nullptr;
  return view;
}

Result<View> handle_start(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(const Listing listing, listingOf(state));
  moveBreakpoints(state, listing);
  DYN_TRY(CallInputs inputs, callInputs(state, *model, command));
  if (!inputs.overrides.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: stepping through a program made for the contents of inputs");
  state.debug = nullptr;
  DYN_TRY(state.debug,
          SteppedRun::start(state.now.model, std::move(inputs), state.now.options, steppedElementsOf));
  return stopView(state, state.debug->lastStop(), StopView::Detail::operation);
}

Result<View> handle_break_(SessionState& state, const Command& command, Outcome&) {
  const std::string what = command.text("rest");
  if (what.empty()) return makeView(breakpointTable(state));
  DYN_TRY(const Listing listing, listingOf(state));
  moveBreakpoints(state, listing);
  Breakpoint point;
  point.what = what;
  DYN_CHECK(findPositions(state, listing, point));
  point.number = ++state.lastBreakpoint;
  state.breakpoints.push_back(std::move(point));
  return makeView(breakpointTable(state));
}

Result<View> handle_delete_(SessionState& state, const Command& command, Outcome&) {
  if (!command.has("number")) {
    state.breakpoints.clear();
    state.watched.clear();
    return makeView(breakpointTable(state));
  }
  DYN_TRY(const int64_t number, command.integer("number", 0));
  const size_t before = state.breakpoints.size();
  std::erase_if(state.breakpoints, [&](const Breakpoint& point) { return point.number == number; });
  if (state.breakpoints.size() == before)
    return makeError(DiagnosticId::usageError, "there is no breakpoint " + std::to_string(number))
        .note(":break lists them");
  return makeView(breakpointTable(state));
}

Result<View> handle_watch(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  const std::string what = command.text("what");
  const bool isRegister =
      what.size() > 1 && what[0] == 'r' && wholeNumberOf(std::string_view(what).substr(1));
  const std::vector<std::string>& symbols = model->info().symbols;
  if (!isRegister && std::find(symbols.begin(), symbols.end(), what) == symbols.end())
    return makeError(DiagnosticId::textName,
                     "'" + what + "' is neither a register of sizes (r0, r1, ...) nor a dim of the inputs");
  if (std::find(state.watched.begin(), state.watched.end(), what) == state.watched.end())
    state.watched.push_back(what);
  return makeView(breakpointTable(state));
}

Result<View> handle_registers(SessionState& state, const Command&, Outcome&) {
  DYN_TRY(const SteppedRun* run, stoppedRun(state));
  return stopView(state, run->lastStop(), StopView::Detail::everything);
}

Result<View> handle_kill(SessionState& state, const Command&, Outcome&) {
  DYN_TRY(const SteppedRun* run, stoppedRun(state));
  (void)run;
  state.debug = nullptr;
  return textView("the run was ended\n");
}

namespace {

Result<View> stepCounted(SessionState& state, const Command& command, StepBy by) {
  DYN_TRY(const int64_t count, command.integer("count", 1));
  return stepRun(state, by, count);
}

}  // namespace

Result<View> handle_continue_(SessionState& state, const Command&, Outcome&) {
  return stepRun(state, StepBy::goOn, 1);
}
Result<View> handle_next(SessionState& state, const Command& command, Outcome&) {
  return stepCounted(state, command, StepBy::operationOver);
}
Result<View> handle_stepi(SessionState& state, const Command& command, Outcome&) {
  return stepCounted(state, command, StepBy::instruction);
}
Result<View> handle_nexti(SessionState& state, const Command& command, Outcome&) {
  return stepCounted(state, command, StepBy::instructionOver);
}
Result<View> handle_finish(SessionState& state, const Command&, Outcome&) {
  return stepRun(state, StepBy::finish, 1);
}

}  // namespace dyn
