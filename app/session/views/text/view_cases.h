// Each kind of view as text, a function for each alternative of View (views.h). The texts end in a newline
// unless they are empty. toText makes control characters in them visible.
#pragma once

#include <string>

namespace dyn {

struct TextOptions;
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

std::string viewText(const ModelInfo& view, const TextOptions& options);
std::string viewText(const GraphView& view, const TextOptions& options);
std::string viewText(const IrText& view, const TextOptions& options);
std::string viewText(const PassList& view, const TextOptions& options);
std::string viewText(const LinkedLines& view, const TextOptions& options);
std::string viewText(const StopView& view, const TextOptions& options);
std::string viewText(const BreakpointTable& view, const TextOptions& options);
std::string viewText(const DiffView& view, const TextOptions& options);
std::string viewText(const BisectView& view, const TextOptions& options);
std::string viewText(const DimsTable& view, const TextOptions& options);
std::string viewText(const WhyView& view, const TextOptions& options);
std::string viewText(const PlanView& view, const TextOptions& options);
std::string viewText(const LatencyView& view, const TextOptions& options);
std::string viewText(const LimitView& view, const TextOptions& options);
std::string viewText(const KernelTable& view, const TextOptions& options);
std::string viewText(const RunResult& view, const TextOptions& options);
std::string viewText(const PredictView& view, const TextOptions& options);
std::string viewText(const BenchResult& view, const TextOptions& options);
std::string viewText(const ServeResult& view, const TextOptions& options);
std::string viewText(const CacheView& view, const TextOptions& options);
std::string viewText(const CompileResult& view, const TextOptions& options);
std::string viewText(const ExportResult& view, const TextOptions& options);
std::string viewText(const SaveResult& view, const TextOptions& options);
std::string viewText(const VerifyResult& view, const TextOptions& options);
std::string viewText(const EvalResult& view, const TextOptions& options);
std::string viewText(const TypeView& view, const TextOptions& options);
std::string viewText(const VariableTable& view, const TextOptions& options);
std::string viewText(const SettingTable& view, const TextOptions& options);
std::string viewText(const ProblemList& view, const TextOptions& options);
std::string viewText(const TuneView& view, const TextOptions& options);
std::string viewText(const SweepView& view, const TextOptions& options);
std::string viewText(const TensorView& view, const TextOptions& options);
std::string viewText(const PlaceTree& view, const TextOptions& options);
std::string viewText(const RunsView& view, const TextOptions& options);
std::string viewText(const TextView& view, const TextOptions& options);
std::string viewText(const RunCauses& view, const TextOptions& options);
std::string viewText(const RunList& view, const TextOptions& options);
std::string viewText(const NodeList& view, const TextOptions& options);
std::string viewText(const DeviceCountTable& view, const TextOptions& options);
std::string viewText(const WarpView& view, const TextOptions& options);
std::string viewText(const PlacementView& view, const TextOptions& options);
std::string viewText(const LevelsView& view, const TextOptions& options);
std::string viewText(const InferResult& view, const TextOptions& options);
std::string viewText(const ReportResult& view, const TextOptions& options);
std::string viewText(const GenerateResult& view, const TextOptions& options);
std::string viewText(const GeneraliseResult& view, const TextOptions& options);
std::string viewText(const ModelDifference& view, const TextOptions& options);
std::string viewText(const ValueComparison& view, const TextOptions& options);
std::string viewText(const ExtractResult& view, const TextOptions& options);
std::string viewText(const QuantiseResult& view, const TextOptions& options);
std::string viewText(const CertificateView& view, const TextOptions& options);

}  // namespace dyn
