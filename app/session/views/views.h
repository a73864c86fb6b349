// Views: what a session answers, as plain immutable values. Windows, shell, batch and tests read the same
// structs; nothing here points into the compiler's data, so they may be kept and passed between threads.
//
// Shapes are lists of texts: "59", "seq", "2*seq + 1", "?3". Sizes and times carry their unit in the name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/engine/run/level_loops.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/change_views.h"
#include "app/session/views/device_views.h"
#include "compiler/reference/value.h"
#include "compiler/support/diagnostic.h"
#include "compiler/tune/tune_report.h"

namespace dyn {

// --- graph ---

// The same operation has the same id at every step that keeps it.
using NodeId = uint64_t;
inline constexpr NodeId kNoNode = UINT64_MAX;

struct GraphPort {
  std::string name;  // the value: "%h" without the percent sign; "" where an operand is left out
  std::string type;
  NodeId node = kNoNode;  // inputs: where it is made
};

enum class NodeKind : uint8_t { operation, input, output, constant };
const char* toString(NodeKind kind);

struct GraphNode {
  NodeId id = kNoNode;
  NodeKind kind = NodeKind::operation;
  std::string op;          // "softmax"; "input", "output", "constant"
  std::string label;       // what to write in the box: operator, and what tells it apart ("fused · 3 ops")
  std::string name;        // of the first result, or of the input
  std::string opClass;     // "elementwise", "contraction", ... (op_def.h)
  std::string place;       // "model.onnx: node /layer.0/MatMul"
  std::string sourceNode;  // ONNX node name, when there is one
  std::string sourceOp;    // "NonMaxSuppression": its operator as the file names it; "" of text modules
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<GraphPort> inputs, outputs;
  int group = -1;              // index into GraphView::groups; -1: top level
  std::string text;            // the line of the text IR
  std::string device;          // where it runs, or of a copy where it goes: "cuda"; "": the host
  bool managesMemory = false;  // it makes or ends memory, and computes nothing
};

struct GraphEdge {
  NodeId from = kNoNode, to = kNoNode;
  int fromPort = 0, toPort = 0;
  std::string name, type;
};

enum class GroupKind : uint8_t {
  scope,     // by the path in the node's name
  region,    // a body of if, loop, fused ...
  function,  // that is called
  repeat,    // operations that come again and again: holds blocks, or groups of other kinds
  block,     // one of a repeat
  part       // a stretch of a long chain
};
const char* toString(GroupKind kind);

struct GraphGroup {
  std::string path;   // unique: "encoder/layer.0/attention", "@main/y.then"
  std::string label;  // last part
  GroupKind kind = GroupKind::scope;
  int parent = -1;
  NodeId owner = kNoNode;  // of a region: the operation it belongs to
};

struct GraphView {
  int step = 0;
  std::string stepName;
  std::vector<GraphNode> nodes;  // in execution order
  std::vector<GraphEdge> edges;
  std::vector<GraphGroup> groups;  // parents before children
};

// Operations of a graph: what a search found, what a value is made of, a way between two.
struct NodeList {
  int step = 0;
  std::string stepName;
  std::string title;  // "12 operations of 290 match softmax"
  struct Row {
    NodeId id = kNoNode;
    int64_t index = 0;  // in execution order
    std::string op, name, type, place;
  };
  std::vector<Row> rows;
  NodeId firstUse = kNoNode, lastUse = kNoNode;  // of the operation that was asked for
};

// --- text and steps ---

enum class IrLevel : uint8_t { graph, placed, loop, llvm, assembly, ptx, bytecode, target };
const char* toString(IrLevel level);

struct IrLine {
  uint32_t line = 0;  // 1-based
  NodeId node = kNoNode;
};

// Where lines come from, so that a line of one level finds those of the others (level_links.h).
struct LineOrigin {
  uint32_t line = 0, lastLine = 0;  // 1-based
  std::vector<std::string> places;  // of operations
  // Of the compiled program; behind them its hand-written kernels in the order of its table, and at the end
  // the matrix kernels that some of these run on.
  std::vector<int> kernels;
  bool inKernel = false;  // a line of the kernel itself, not of what launches it
  uint32_t loopLine = 0;  // in the text of its kernel's loop IR; 0: of no statement
};

struct IrText {
  IrLevel level = IrLevel::graph;
  int step = -1;      // of the trace, for graph levels
  std::string title;  // "after fuse"
  std::string text;
  std::vector<IrLine> lines;                           // where operations start; graph levels only
  std::vector<LineOrigin> origins;                     // by line; where they were asked for, and then also:
  std::vector<std::vector<std::string>> kernelPlaces;  // by kernel: the operations that it is launched for
  std::string file;                                    // where it was written, or ""
};

// A line of one level, and what belongs to it at the others.
struct LinkedLines {
  struct Line {
    uint32_t line = 0;
    std::string text;
  };
  struct Level {
    IrLevel level = IrLevel::graph;
    std::vector<Line> lines;
  };
  IrLevel level = IrLevel::graph;
  Line line;
  std::vector<Level> levels;
};

struct BreakpointTable {
  struct Row {
    int number = 0;
    std::string what;  // as it was given
    std::string where;
    int64_t hits = 0;
    std::vector<uint32_t> lines;  // of the bytecode's text, ascending
  };
  std::vector<Row> rows;
  std::vector<std::string> watched;
};

// Where a run stands that is stepped through.
struct StopView {
  using Register = StoppedRegister;
  bool ended = false;
  std::string why;  // "breakpoint 1", "step", "seq changed from 3 to 4", "the run has ended"
  std::string function, place, instruction;
  uint32_t position = 0, depth = 0;
  uint32_t line = 0;      // of the bytecode's text
  NodeId node = kNoNode;  // of the placed graph
  std::vector<Register> registers;
  BreakpointTable breakpoints;
  std::shared_ptr<const struct RunResult> result;  // of one that has ended
  // Of the source around the place; number 0: of a file that has no lines.
  struct SourceLine {
    uint32_t number = 0;
    std::string text;
    bool sameKernel = false;  // the kernel at the place computes this line, too
    bool here = false;
  };
  std::vector<SourceLine> source;
  // operation: what has changed, by names; instruction: the instruction, and all registers that changed;
  // everything: all registers.
  enum class Detail : uint8_t { operation, instruction, everything };
  Detail detail = Detail::operation;
};

struct PassRow {
  int index = 0;
  std::string name, kind;                                    // kind: import, pass, lowering
  std::string summary;                                       // of a pass
  bool required = false;                                     // it cannot be left out
  std::vector<std::pair<std::string, std::string>> options;  // name, what it does
  int64_t timeNs = 0;
  bool changed = false;
  bool failed = false;
  int64_t opsBefore = 0, opsAfter = 0;
  uint64_t solverSteps = 0, dearestSteps = 0;  // of all; of dearestOp, which asked for most
  std::string dearestOp;
  std::map<std::string, int64_t> counters;
  std::vector<std::string> remarks;
  std::vector<Diagnostic> diagnostics;
};

struct PassList {
  std::vector<PassRow> rows;
  int current = -1;      // where :step and :back stand
  std::string pipeline;  // as text: "infer,fold,fuse{max=8}"
  std::string edits;     // the setting that made it; "": the standard one
};

enum class DiffKind : uint8_t { added, removed, changed };
const char* toString(DiffKind kind);

struct DiffLine {
  DiffKind kind = DiffKind::changed;
  NodeId node = kNoNode;
  std::string before, after;      // one line of text IR each; "" if absent
  std::vector<std::string> what;  // of a change: "operands", "attributes", "types", "operator", "regions"
  std::string function;           // where it stands (of `after`, else of `before`)
};

struct DiffView {
  int fromStep = 0, toStep = 0;
  std::string fromName, toName;
  std::vector<DiffLine> lines;
  int64_t addedCount = 0, removedCount = 0, changedCount = 0, unchangedCount = 0;
};

struct BisectRow {
  int step = 0;
  std::string name;
  std::string by;       // "reference", "program", "program without shared memory"
  std::string verdict;  // "baseline", "unchanged", "same", "differs", "fails", "not run"
  std::string difference;
};

struct BisectView {
  std::vector<BisectRow> rows;
  std::optional<BisectRow> first;  // the first that is wrong
  bool inCompilation = false;      // lowering or code generation, not the pass
  int64_t opsCount = 0, reducedOpsCount = 0;
  std::string reduced;                                             // text of the reduced module; "" if absent
  std::string reducedFile;                                         // where it was written, or ""
  std::vector<std::pair<std::string, std::string>> reducedInputs;  // parameter, file
  std::string again;  // the command that shows the fault on the reduced module
};

// --- dims ---

struct DimRow {
  std::string symbol;
  std::string
      origin;  // why it exists: "dim 1 of input input_ids", "NonZero counts the non-zero elements at ..."
  std::vector<std::string> facts;
  std::optional<int64_t> low, high;
  int64_t multiple = 1;
  std::vector<int64_t> likely;
  int64_t usesCount = 0;
  std::vector<std::string> uses;  // "input_ids.1": the first few values that have it in their type
};

struct DimsTable {
  std::vector<DimRow> rows;
  std::vector<std::string> checks;  // "check0: k must equal m: ...": what :why check0 explains
};

// One step of a chain. Steps that only hand the dim on stand folded in one.
struct WhyStep {
  std::string text;
  int depth = 0;                    // below the step that it explains
  NodeId node = kNoNode;            // the operation that makes the value
  std::string ask;                  // what :why asks about this step alone: "h.1"
  std::vector<std::string> folded;  // the steps behind "through 38 operations that keep it"
};

struct WhyView {
  std::string question;  // "is y.1 = x.0?"
  std::string answer;    // "yes", "no", "unknown", or the dim itself
  std::vector<std::string> lines;
  std::vector<std::string> chain;   // of a value's dim, step by step back to its origins
  std::vector<WhyStep> tree;        // the same as a tree, before its children each step
  std::vector<std::string> facts;   // the proof of a yes or no: none of them can be left out
  std::vector<std::string> known;   // what else is known of the symbols
  std::vector<std::string> checks;  // run-time checks that rest on it
  DimValues counterexample;
  std::vector<std::string> shapes;  // of the inputs, for the counterexample: "x: [2, 3]"
  std::string
      guard;  // the cheapest test under which the two would be equal; "" when none is needed or none can
  std::string weakestGuard;  // the one that holds exactly when they are equal, where that is another
};

// --- memory ---

struct PlanBuffer {
  std::string name;  // of the value
  std::string function;
  NodeId node = kNoNode;
  std::string dtype;
  std::vector<std::string> shape;
  bool pooled = false;        // not in the arena: its size is known only when it is made
  std::string offset, bytes;  // expressions; offset "" when pooled
  std::optional<int64_t> offsetBytes, sizeBytes;
  int slot = -1;                   // buffers of one offset share a slot
  int begin = 0, end = 0;          // first and last operation, by position in the function
  std::vector<std::string> views;  // values that are seen in its memory without a copy
};

struct PlanArena {
  std::string function;
  std::string bytes;
  std::optional<int64_t> sizeBytes;
  int slotsCount = 0, stepsCount = 0;
};

struct PlanView {
  DimValues dims;  // what it was evaluated for
  std::vector<PlanArena> arenas;
  std::vector<PlanBuffer> buffers;
  std::string peak;                           // expression: inputs aside, arena and planned buffers
  std::optional<int64_t> predictedPeakBytes;  // nullopt where value-dependent or dims are not given
  int64_t constantsBytes = 0;
  std::string whyNoPeak;  // with dims, but without a predicted peak
  int peakStep = -1;      // of @main: the operation at which most lives, with dims
  int64_t peakStepBytes = 0;
  std::vector<size_t> peakBuffers;  // that live then, largest first: indices of `buffers`
  int64_t copiesCount = 0;          // made only because a reader takes no strides; `kernels` names them
  std::string copied;               // their bytes, an expression
  std::optional<int64_t> copiedBytes;
};

// The largest value of a dim, the others as given or usual, for which the peak stays within the limit.
struct LimitRow {
  std::string symbol;
  std::optional<int64_t> largest;  // nullopt: no size does
  std::optional<int64_t> peakBytes;
  DimValues others;
  std::string end;  // why not more: "seq = 513 would take 1048832 bytes"
};

struct LimitView {
  int64_t limitBytes = 0;
  DimValues dims;  // as given
  std::vector<LimitRow> rows;
};

// --- kernels and runs ---

// The least time over the one it took.
double boundFraction(const KernelRow& row);

struct TuneView : TuneReport {
  std::string file, cpu;
};

// The time of a run by where the model says it is spent: modules by the path of the names, operations, and
// what was launched for them. The gaps between launches are a row of their own.
struct PlaceRow {
  std::string label, place;  // place: of operations and launches
  std::string kind;          // "module", "operation", "launch", "gap"
  int parent = -1;           // parents before children
  int64_t launchesCount = 0, totalNs = 0, boundNs = 0;
  double bytes = 0, operations = 0;
};
struct PlaceTree {
  int64_t runNs = 0;
  std::vector<PlaceRow> rows;
};

// Two runs side by side, the greatest difference first.
struct RunDifference {
  std::string place;
  std::vector<std::string> members;          // as of NodeTime
  std::optional<int64_t> firstNs, secondNs;  // medians
  std::optional<double> ratio;               // second by first
  TimeChange change = TimeChange::unknown;
};
struct RunsView {
  std::string first, second;  // what they are: "run 1: batch=1, seq=16"
  int64_t firstNumber = 0, secondNumber = 0;
  TimeStatistics firstTime, secondTime;
  TimeChange change = TimeChange::unknown;  // of the whole runs
  int64_t firstPeakBytes = 0, secondPeakBytes = 0;
  std::vector<std::string> notes;  // in which else they differ: "threads: 1 and 4"
  std::vector<RunDifference> rows;
};

// The runs that are kept, oldest first.
struct RunList {
  std::vector<RunRecord> rows;
  int64_t forgottenCount = 0;
  std::string file;  // where they were written, or ""
};

// A test of sizes that the program makes while it runs.
struct CheckRow {
  std::string name;                    // "check0": :why explains it
  std::string text;                    // "k must equal m: matmul at node /out/MatMul"
  std::optional<int64_t> left, right;  // its two sides with these dims
  bool fails = false;
  NodeId node = kNoNode;  // the operation that demands it
};

// A dim that is outside of what the model says of it.
struct RangeFault {
  std::string symbol, text;  // "seq is at most 512: ..."
};

// What a run will take, before it is run.
struct PredictView {
  DimValues dims;
  std::vector<CheckRow> checks;  // those that fail first
  std::vector<RangeFault> outside;
  std::string refused;  // why there is no run with these dims; then no time and no peak
  int64_t timeNs = 0;
  int64_t peakBytes = 0;
  KernelTable kernels;  // boundNs is the expected time
};

// Time and peak along one dim, without running.
struct SweepPoint {
  int64_t value = 0;
  std::optional<int64_t> timeNs, peakBytes;
  int band = -1;        // of SweepView::bands
  std::string refused;  // why there is no run of this size
};
struct SweepBand {  // sizes next to each other that take the same versions
  int64_t from = 0, to = 0;
  std::string versions;
};
struct SweepView {
  std::string symbol;
  DimValues others;
  std::vector<SweepPoint> points;
  std::vector<SweepBand> bands;
  std::vector<MeasuredRun> measured;  // runs so far with the same other dims
};

// A tensor to be looked at: what it holds, in numbers that fit on a screen.
struct TensorView {
  std::string name, dtype;
  std::string from;  // "of the last run", "bound", "by the reference, after fuse"
  std::vector<int64_t> shape;
  int64_t elementsCount = 0, sizeBytes = 0;
  int64_t nanCount = 0, infinityCount = 0, zeroCount = 0;
  std::optional<double> least, largest, mean, deviation;  // of the finite elements
  std::vector<int64_t> histogram;                         // finite elements between least and largest
  // One slice of the last two axes: each cell the element of greatest magnitude of those it stands for.
  std::vector<int64_t> slice;  // where the axes before are held
  int64_t sliceRows = 0, sliceColumns = 0;
  int gridRows = 0, gridColumns = 0;
  std::vector<double> grid;  // row by row; NaN where one is not a number
  // The slice's batch as a picture, where the axes allow it: an axis of 1, 3 or 4 channels in front of rows
  // and columns or behind them, or rows and columns alone. Larger ones are thinned out.
  std::string pictureAxes;  // "NCHW", "CHW", "NHWC", "HWC", "HW"; "": it is none
  int pictureRows = 0, pictureColumns = 0, pictureChannels = 0;
  double pictureFrom = 0, pictureTo = 1;  // the values that are black and white
  std::vector<uint8_t> picture;           // channels of a pixel side by side
  std::string text;                       // the elements, long axes cut
  std::string file;                       // where it was written, or ""
};

struct BenchRow {
  DimValues dims;
  int64_t runsCount = 0;
  int64_t minNs = 0, p50Ns = 0, p90Ns = 0, p99Ns = 0, meanNs = 0;
  std::optional<double> gflops, gigabytesPerSecond;
  std::optional<int64_t> spreadNs;
  int64_t peakBytes = 0;
  std::optional<TimeStatistics> baseline;  // of the same sizes, where a baseline has them
  TimeChange change = TimeChange::unknown;
};
struct BenchResult {
  std::vector<BenchRow> rows;
  BenchRow overall;
  std::string file;                        // where the runs were written, or ""
  std::string baselineFile;                // "": they were compared with none
  std::vector<std::string> baselineNotes;  // in which else than time they differ from it
  int64_t loadNs = 0, compileNs = 0, kernelsCompiledCount = 0;
};

// Requests that came at times of their own, and how long each waited for its answer.
struct ServeResult {
  double perSecond = 0, seconds = 0;  // as asked for
  bool batching = false;
  std::string batch, sequence, lengths;  // joined along; of different lengths, as this input says; or ""
  std::string comparedText;              // "8 requests at once, as each alone", where they were compared
  int64_t requestsCount = 0, completedCount = 0, rejectedCount = 0, runsCount = 0, longestLineCount = 0;
  int64_t p50Ns = 0, p90Ns = 0, p99Ns = 0, meanNs = 0;  // from its arrival to its answer
  int64_t runP50Ns = 0;                                 // of a run, with putting together and taking apart
  double throughputPerSecond = 0, busyShare = 0;
  int64_t loadNs = 0, compileNs = 0, kernelsCompiledCount = 0;
};

// The cache of compiled objects and packed weights.
struct CacheView {
  std::string directory;  // "none": there is none
  std::string refusal;    // why nothing of it is used; "" where it is
  struct Row {
    std::string kind;  // "objects", "weights", "unfinished"
    int64_t filesCount = 0, bytes = 0;
  };
  std::vector<Row> rows;
  std::vector<std::string> damaged;  // found by verify, and removed
  enum class Done : uint8_t { listed, verified, cleared } done = Done::listed;
};

struct CompileResult {
  std::string file;  // "" when none was written
  int64_t fileBytes = 0;
  int64_t passesNs = 0, lowerNs = 0, compileNs = 0;
  int64_t kernelsCount = 0, kernelsCompiledCount = 0, constantsBytes = 0;
  std::string machine;
};

struct ExportResult {
  struct File {
    std::string path;
    int64_t bytes = 0;
  };
  std::vector<File> files;
  std::string kind, target;
  std::optional<int64_t> ramBoundBytes;        // none: the memory has no bound that is known
  int64_t weightsBytes = 0, runtimeBytes = 0;  // the rest: code and tables
  std::vector<std::string> entryPoints;
};

// The graph after a pass as an ONNX model.
struct SaveResult {
  std::vector<ExportResult::File> files;  // the model; then its weights, where they lie outside
  std::optional<int64_t> step;            // of the model's steps; none: simplified, apart from them
  std::string stepName;
  int64_t nodesCount = 0, weightsBytes = 0;
  std::map<std::string, int64_t> opsets;   // by domain
  std::map<std::string, int64_t> leftOut;  // operations that need nothing written, by operator
  struct PassedOver {
    std::string step, reason;
  };
  std::vector<PassedOver> passedOver;  // later steps, which ONNX cannot say
};

// An ONNX model with the types of its values written in.
struct InferResult {
  ExportResult::File file;
  int64_t valuesCount = 0;  // of the model's graph, but for weights
  int64_t typedCount = 0;   // of these: dtype and rank are known, and written
  int64_t numberDimsCount = 0, formulaDimsCount = 0, unknownDimsCount = 0;  // of the typed ones
  std::vector<std::string> untyped;                                         // names of the others
};

// What `generate` made of each prompt.
struct GeneratedText {
  std::string prompt;
  std::vector<int64_t> promptIds, ids;  // ids: the new ones
  std::string text;                     // of the new ones; without a tokenizer the ids
  std::string end;                      // "length", "stop token", "stop text", "interrupted"
  std::string stop;                     // the token or text that ended it
  int64_t firstTokenNs = 0;             // since the beginning
};
struct GenerateResult {
  std::vector<GeneratedText> sequences;
  std::string caches;  // "none", "states", "in place", "partly in place", "copied" in each step
  int64_t newTokensCount = 0, stepsCount = 0;
  int64_t rowsCount = 0;                  // sequences in all steps
  int64_t firstTokenNs = 0, totalNs = 0;  // until the first token of the first prompt; of all
};

// A model of fixed sizes that was opened, or why it was not.
struct GeneraliseResult {
  struct Change {
    std::string place, op, what, why;
    bool doubtful = false;
  };
  struct Trial {
    DimValues sizes;
    std::string failure;  // "": it runs
  };
  std::optional<ExportResult::File> file;  // none: it is not opened
  std::vector<Change> changes;
  std::vector<Change> refused;  // `why` alone
  DimValues sizes;              // of the example
  DimValues limits;             // most of a dim: tables of the model end there
  std::vector<Trial> trials;    // runs at other sizes
  bool sameBits = true;         // results at the example's sizes; false: equal but for rounding
};

// The page that `report` writes.
struct ReportResult {
  ExportResult::File file;
  int64_t passesCount = 0, kernelsCount = 0;
  DimValues dims;        // of the run
  std::string whyNoRun;  // "": there was one
};

enum class CaseStatus : uint8_t { passed, wrong, crashed, timeout, unsupported, failed };
const char* toString(CaseStatus status);
struct VerifyResult {
  std::string name, directory;
  CaseStatus status = CaseStatus::failed;
  std::string reason, op, code;  // code: the diagnostic's
  int64_t dataSetsCount = 0;
};

// --- the rest ---

struct EvalResult {
  std::vector<NamedValue> values;
  bool bound = false;  // it was an assignment
  bool quiet = false;  // it ended in `;`
};

struct TypeView {
  std::string expression, type;
};

struct VariableTable {
  struct Row {
    std::string name, type;
    int64_t sizeBytes = 0;
  };
  std::vector<Row> rows;
};

struct SettingTable {
  struct Row {
    std::string name, value, help;
    std::string from;             // "default", "command line", "environment", "set"
    std::string section, option;  // "compilation"; of the batch tool, "--math", or ""
  };
  std::vector<Row> rows;
};

// Where a model does not run for all sizes: an error with sizes that fail, or a warning where nothing is
// proved.
struct SizeFinding {
  Diagnostic diagnostic;
  std::string demand;  // "seq must be at most 512: ..."
  DimValues sizes;     // the smallest that fail; empty: none are known
};
struct SizeCheck {
  std::vector<std::string> assumed;  // "seq <= 512": what is asserted, and what is taken for granted
  std::vector<SizeFinding> findings;
  int64_t checksCount = 0, provedCount = 0, furtherCount = 0;  // further: not looked at, after many findings
};

// A line of the program that an ONNX file was exported from.
struct NodeSource {
  std::string file, code;
  int64_t line = 0;
};

enum class ProblemFormat : uint8_t { text, sarif, github };
struct ProblemList {
  std::vector<Diagnostic> problems, warnings;
  std::map<std::string, int64_t> unsupportedOps;  // operator → nodes
  std::optional<SizeCheck> sizes;                 // of `check --assert`
  std::string model;                              // the file
  std::map<std::string, NodeSource> sources;      // by the node of a diagnostic's place
  ProblemFormat format = ProblemFormat::text;
};

// Text for people: help, explanations, history.
struct TextView {
  std::string text;
  int hang =
      -1;  // blanks before what goes on of a line that is too long for the terminal; -1: it stays one line
};

template <typename T>
using Shared = std::shared_ptr<const T>;

using View =
    std::variant<std::monostate, Shared<ModelInfo>, Shared<GraphView>, Shared<IrText>, Shared<PassList>,
                 Shared<LinkedLines>, Shared<StopView>, Shared<BreakpointTable>, Shared<DiffView>,
                 Shared<BisectView>, Shared<DimsTable>, Shared<WhyView>, Shared<PlanView>, Shared<LimitView>,
                 Shared<KernelTable>, Shared<RunResult>, Shared<PredictView>, Shared<BenchResult>,
                 Shared<ServeResult>, Shared<CacheView>, Shared<CompileResult>, Shared<ExportResult>,
                 Shared<SaveResult>, Shared<VerifyResult>, Shared<EvalResult>, Shared<TypeView>,
                 Shared<VariableTable>, Shared<SettingTable>, Shared<ProblemList>, Shared<TuneView>,
                 Shared<SweepView>, Shared<TensorView>, Shared<PlaceTree>, Shared<RunsView>, Shared<TextView>,
                 Shared<RunList>, Shared<NodeList>, Shared<DeviceCountTable>, Shared<WarpView>,
                 Shared<PlacementView>, Shared<LevelsView>, Shared<InferResult>, Shared<ReportResult>,
                 Shared<GenerateResult>, Shared<GeneraliseResult>, Shared<ModelDifference>,
                 Shared<ValueComparison>, Shared<ExtractResult>, Shared<QuantiseResult>,
                 Shared<CertificateView>>;

}  // namespace dyn
