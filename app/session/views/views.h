// View: what a session answers. Windows, shell, batch and tests read the same structs. They are plain
// immutable values: nothing in them points into the compiler's data, so they may be kept and passed between
// threads.
//
// Shapes are lists of texts: "59", "seq", "2*seq + 1", "?3". Sizes and times carry their unit in the name.
//
// This header only names the structs. Each is declared with its subject: graph_views.h, code_views.h,
// pass_views.h, why_views.h, memory_views.h, kernel_views.h, run_views.h, predict_views.h, bench_views.h,
// stop_views.h, value_views.h, file_views.h, generate_views.h, problem_views.h, shell_views.h,
// change_views.h, cause_views.h, device_views.h; those of the engine in app/engine. json/ and text/ write
// them.
#pragma once

#include <memory>
#include <variant>

namespace dyn {

struct BenchResult;
struct BisectView;
struct BreakpointTable;
struct CacheView;
struct CertificateView;
struct CompileResult;
struct DeviceCountTable;
struct DiffView;
struct DimsTable;
struct EvalResult;
struct ExportResult;
struct ExtractResult;
struct GeneraliseResult;
struct GenerateResult;
struct GraphView;
struct InferResult;
struct IrText;
struct KernelTable;
struct LevelsView;
struct LatencyView;
struct LimitView;
struct LinkedLines;
struct ModelDifference;
struct ModelInfo;
struct NodeList;
struct PassList;
struct PlaceTree;
struct PlacementView;
struct PlanView;
struct PredictView;
struct ProblemList;
struct QuantiseResult;
struct ReportResult;
struct RunCauses;
struct RunList;
struct RunResult;
struct RunsView;
struct SaveResult;
struct ServeResult;
struct SettingTable;
struct StopView;
struct SweepView;
struct TensorView;
struct TextView;
struct TuneView;
struct TypeView;
struct ValueComparison;
struct VariableTable;
struct VerifyResult;
struct WarpView;
struct WhyView;

template <typename T>
using Shared = std::shared_ptr<const T>;

using View = std::variant<
    std::monostate, Shared<ModelInfo>, Shared<GraphView>, Shared<IrText>, Shared<PassList>,
    Shared<LinkedLines>, Shared<StopView>, Shared<BreakpointTable>, Shared<DiffView>, Shared<BisectView>,
    Shared<DimsTable>, Shared<WhyView>, Shared<PlanView>, Shared<LimitView>, Shared<LatencyView>,
    Shared<KernelTable>, Shared<RunResult>, Shared<PredictView>, Shared<BenchResult>, Shared<ServeResult>,
    Shared<CacheView>, Shared<CompileResult>, Shared<ExportResult>, Shared<SaveResult>, Shared<VerifyResult>,
    Shared<EvalResult>, Shared<TypeView>, Shared<VariableTable>, Shared<SettingTable>, Shared<ProblemList>,
    Shared<TuneView>, Shared<SweepView>, Shared<TensorView>, Shared<PlaceTree>, Shared<RunsView>,
    Shared<TextView>, Shared<RunList>, Shared<NodeList>, Shared<DeviceCountTable>, Shared<WarpView>,
    Shared<PlacementView>, Shared<LevelsView>, Shared<InferResult>, Shared<ReportResult>,
    Shared<GenerateResult>, Shared<GeneraliseResult>, Shared<ModelDifference>, Shared<ValueComparison>,
    Shared<ExtractResult>, Shared<QuantiseResult>, Shared<RunCauses>, Shared<CertificateView>>;

}  // namespace dyn
