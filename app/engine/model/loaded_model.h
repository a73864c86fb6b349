// LoadedModel: one model from its file to the runnable program, each stage made when it is first asked for.
//
//   imported module → passes (the trace) → lowered and compiled → module of the VM
// One thread. A change of passes or of declared dims means loading anew: the IR context keeps facts and names
// of what was done before.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/engine/model/engine_options.h"
#include "app/engine/model/scratch_program.h"
#include "app/engine/model/signature.h"
#include "app/engine/model/vm_value.h"
#include "compiler/driver/compile.h"
#include "compiler/support/read_files.h"

namespace dyn {

// What is given of an input before compilation, because ranks or axes of the program depend on it.
struct FixedInput {
  // Each includes those before it. ones: which axes have size 1 or 0; all others stay open, from 2 on.
  enum class Kind : uint8_t { rank, ones, shape, contents };
  std::string name;
  Kind kind = Kind::rank;
  std::vector<int64_t> shape;  // of Kind::ones kOpen where a size stays open
  HostTensor contents;         // of Kind::contents
  // `value`: a tensor, or a list or optional of which the first tensor counts. Null contents and no name: it
  // holds none.
  static FixedInput of(std::string name, Kind kind, const Value& value);
  bool operator==(const FixedInput& other) const;
  // "rank of x = 3", "sizes of x = [2.., 1]", "shape of x = [2, 3]", "axes = [1]"
  std::string toString() const;
  static constexpr int64_t kOpen = -1;
};

// The reason of the facts that LoadedModel::observe gives; of several about one dim the last counts.
inline constexpr std::string_view kObservedReason = "observed: sizes of earlier runs";

struct TunedOperation;

// Does the path end as those of models do? Whether the file is there, and is one, shows when it is loaded.
bool namesModel(const std::string& path);
// Is it read as a package: by the ending of its name, or by what the file begins with?
bool namesPackage(const std::string& path);

struct LoadRequest {
  std::string
      path;  // of a file, which may lie in memory (compiler/support/memory_file.h); "-": standard input
  // Declared before compilation: ranges, multiples, likely values; single values replace their symbols in the
  // program.
  std::vector<DimSpec> dims;
  bool requireStatic = false;  // a program with any size that is not a number is refused
  bool forPackage = false;     // records that choose a library are left out: a package runs without it
  bool withoutHeap = false;    // for the freestanding runtime (vm/freestanding)
  bool memoryOfSizes = false;  // nothing is left out by masks unless results are to be 0 there
  bool collectProblems = false;
  bool listValues = false;            // namedValues() is wanted
  std::optional<DimValues> smallFor;  // as little memory as possible is to live at once for these dims
  std::vector<FixedInput>
      fixedInputs;  // inputs whose contents are fixed are no inputs of the program any more
};

class LoadedModel {
 public:
  static Result<std::unique_ptr<LoadedModel>> load(const LoadRequest& request, const EngineOptions& options,
                                                   const std::atomic<bool>* cancelled);
  // Of a text module that lies in memory.
  static Result<std::unique_ptr<LoadedModel>> fromText(std::string text, std::string name,
                                                       const EngineOptions& options,
                                                       const std::atomic<bool>* cancelled);
  // A module made by the caller, over a context it shares: expressions of the prompt.
  static std::unique_ptr<LoadedModel> fromModule(std::shared_ptr<IrContext> ir, Module module,
                                                 std::vector<std::string> inputNames,
                                                 const EngineOptions& options,
                                                 const std::atomic<bool>* cancelled);

  const LoadRequest& request() const { return request_; }
  // All that were read to load it: the model's own, and those beside it.
  const ReadFiles& files() const { return files_; }
  // Does a tuning record, and no policy, choose this version for an operation?
  bool recordsChoose(const std::string& version) const;
  ModelKind kind() const { return info_.kind; }
  const ModelInfo& info() const { return info_; }
  const std::vector<Diagnostic>& problems() const { return problems_; }
  // Nodes of an ONNX model whose results are random numbers.
  const std::vector<SourceLocation>& randomNodes() const { return randomNodes_; }
  // Inputs of whose rank the file says nothing: with any, there is nothing to compile before the ranks are
  // fixed.
  const std::vector<size_t>& openInputs() const { return openInputs_; }
  bool hasModule() const { return info_.kind == ModelKind::onnx || info_.kind == ModelKind::text; }
  IrContext& ir() { return *ir_; }
  const Module& imported() const { return imported_; }
  // Copies for what adds to a program: expressions that use its functions, and after ensurePasses() questions
  // about its dims.
  ScratchProgram& library();
  ScratchProgram& questions();

  // What the file and the user say of dims, as entries of the metadata of an ONNX file with these inputs: key
  // and value. What is about other dims is left out; dims that are numbers by now are written as such.
  using NamedTypes = std::vector<std::pair<std::string, Type>>;
  std::map<std::string, std::string, std::less<>> dimMetadata(const NamedTypes& inputs) const;
  // The relations among them, for a module that was made of this one; "" for none.
  std::string dimRelations(const Module& made) const;
  // The dims of a run: sizes that were seen are likely ones.
  void observe(const DimValues& dims);
  // Error usageError or unsupportedFeature, naming operation, dim and cause of the first size left open; the
  // others are its notes.
  Status checkStatic();

  // Each of these does what is missing. They fail the same way when called again.
  Status ensurePasses();
  Status ensureCompiled();
  Result<dyn_module*> program();  // the VM's module; borrowed
  // Another one, the caller's own, which lives on without this model.
  Result<VmModule> newProgram();
  // One whose host program runs as that of an export: its memory is not quite the same. It wants no GPU.
  Result<VmModule> programOf(HostCode flow);
  // The inputs with their types; outputs too once the passes have run (before, what is known of them).
  const Signature& signature() const { return signature_; }

  CompileOptions compileOptions() const;

  // The steps so far: the import first; a failed pass is the last.
  const Trace& trace() const { return trace_; }
  // How the program of one instance became one of many; without a name where it did not.
  const TraceStep& many() const { return many_; }
  // By input, whether it has a value for each instance; empty where the program is of one.
  const std::vector<bool>& instanceInputs() const { return instanceInputs_; }
  // Null before ensureCompiled().
  const CompiledModel* compiled() const { return compiled_.get(); }
  std::shared_ptr<const CompiledModel> sharedCompiled() const { return compiled_; }
  // Of an ONNX model loaded with listValues: names of its graph and the values that they stand for.
  const std::vector<std::pair<std::string, ValueId>>& namedValues() const { return namedValues_; }
  // The module after type inference (the imported one before it).
  const Module& typed() const;
  const Module& placed() const { return trace_.steps.empty() ? imported_ : trace_.steps.back().after; }
  int64_t readyNs() const { return readyNs_; }  // time of all stages so far
  int64_t importNs() const { return importNs_; }

 private:
  LoadedModel(const EngineOptions& options, const std::atomic<bool>* cancelled)
      : options_(options), cancelled_(cancelled) {}
  Status readOnnx();
  Status readText(std::string text);
  Status readPackage();
  Status checkCertificate() const;
  Result<VmModule> openPackage() const;
  Error packageError(dyn_status status) const;
  std::string inputName(size_t index) const;
  void takeFileDims(const std::vector<std::string>& texts);
  void passOver(const std::string& text, const std::string& why);
  std::vector<DimSpec> statedDims() const;
  std::vector<std::string> statedInText() const;
  Status nameAxes();
  bool isNamed(const AxisName& axis) const;
  Status declareDims();
  Status declare(const DimSpec& spec, StatedDims& stated, std::map<SymbolId, int64_t>& fixed);
  Result<std::string> manyInputs() const;
  Status makeMany();
  Result<Dim> declaredDim(const std::string& name) const;
  void describeSignature(const Module& module);
  Status fixShapes();
  void finishImport(int64_t startNs);
  void takeVersions();
  void leaveOut(const TunedOperation& record, const std::string& reason);
  void describe();

  EngineOptions options_;
  const std::atomic<bool>* cancelled_;
  std::optional<Target> target_;  // none: this host
  LoadRequest request_;
  ReadFiles files_;
  std::shared_ptr<IrContext> ir_;  // first: all below points into it
  Module imported_;
  std::vector<std::string> inputNames_, outputNames_;
  std::vector<size_t> openInputs_;
  std::vector<Port> openPorts_;
  std::vector<Port> defaultPorts_;
  std::function<std::vector<Diagnostic>(const Module& typed)> outputFaults_;  // of ONNX files
  std::vector<Diagnostic> problems_;
  std::vector<SourceLocation> randomNodes_;
  ModelInfo info_;
  Signature signature_;
  std::vector<DimSpec> fileDims_;  // what the file itself says
  std::vector<Fact> textFacts_;    // what a text module says
  DimValues fixedDims_;
  std::map<std::string, std::map<int64_t, int64_t>> observed_;  // dim → size → runs
  std::set<std::string> axisNames_;                             // that --dim INPUT.AXIS=NAME gave
  std::vector<std::pair<std::string, ValueId>> namedValues_;
  std::map<std::string, std::string> versions_;  // by policy and from records
  Trace trace_;
  std::optional<Error> passesFault_, compileFault_;
  bool passesDone_ = false;
  std::shared_ptr<CompiledModel> compiled_;
  VmModule vm_;
  std::unique_ptr<ScratchProgram> library_, questions_;
  int64_t readyNs_ = 0, importNs_ = 0;
  TraceStep many_;
  std::vector<bool> instanceInputs_;
};

}  // namespace dyn
