// The fields of each kind of view as JSON, a function for each alternative of View (views.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dyn {

struct BenchResult;
struct BisectView;
struct BreakpointTable;
struct CacheView;
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

nlohmann::ordered_json viewJson(const ModelInfo& view);
nlohmann::ordered_json viewJson(const GraphView& view);
nlohmann::ordered_json viewJson(const IrText& view);
nlohmann::ordered_json viewJson(const PassList& view);
nlohmann::ordered_json viewJson(const LinkedLines& view);
nlohmann::ordered_json viewJson(const StopView& view);
nlohmann::ordered_json viewJson(const BreakpointTable& view);
nlohmann::ordered_json viewJson(const DiffView& view);
nlohmann::ordered_json viewJson(const BisectView& view);
nlohmann::ordered_json viewJson(const DimsTable& view);
nlohmann::ordered_json viewJson(const WhyView& view);
nlohmann::ordered_json viewJson(const PlanView& view);
nlohmann::ordered_json viewJson(const LimitView& view);
nlohmann::ordered_json viewJson(const KernelTable& view);
nlohmann::ordered_json viewJson(const RunResult& view);
nlohmann::ordered_json viewJson(const PredictView& view);
nlohmann::ordered_json viewJson(const BenchResult& view);
nlohmann::ordered_json viewJson(const ServeResult& view);
nlohmann::ordered_json viewJson(const CacheView& view);
nlohmann::ordered_json viewJson(const CompileResult& view);
nlohmann::ordered_json viewJson(const ExportResult& view);
nlohmann::ordered_json viewJson(const SaveResult& view);
nlohmann::ordered_json viewJson(const VerifyResult& view);
nlohmann::ordered_json viewJson(const EvalResult& view);
nlohmann::ordered_json viewJson(const TypeView& view);
nlohmann::ordered_json viewJson(const VariableTable& view);
nlohmann::ordered_json viewJson(const SettingTable& view);
nlohmann::ordered_json viewJson(const ProblemList& view);
nlohmann::ordered_json viewJson(const TuneView& view);
nlohmann::ordered_json viewJson(const SweepView& view);
nlohmann::ordered_json viewJson(const TensorView& view);
nlohmann::ordered_json viewJson(const PlaceTree& view);
nlohmann::ordered_json viewJson(const RunsView& view);
nlohmann::ordered_json viewJson(const TextView& view);
nlohmann::ordered_json viewJson(const RunCauses& view);
nlohmann::ordered_json viewJson(const RunList& view);
nlohmann::ordered_json viewJson(const NodeList& view);
nlohmann::ordered_json viewJson(const DeviceCountTable& view);
nlohmann::ordered_json viewJson(const WarpView& view);
nlohmann::ordered_json viewJson(const PlacementView& view);
nlohmann::ordered_json viewJson(const LevelsView& view);
nlohmann::ordered_json viewJson(const InferResult& view);
nlohmann::ordered_json viewJson(const ReportResult& view);
nlohmann::ordered_json viewJson(const GenerateResult& view);
nlohmann::ordered_json viewJson(const GeneraliseResult& view);
nlohmann::ordered_json viewJson(const ModelDifference& view);
nlohmann::ordered_json viewJson(const ValueComparison& view);
nlohmann::ordered_json viewJson(const ExtractResult& view);
nlohmann::ordered_json viewJson(const QuantiseResult& view);

}  // namespace dyn
