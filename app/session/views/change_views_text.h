// Two models beside each other, parts and quantised forms, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/session/views/change_views.h"
#include "app/session/views/view_text.h"

namespace dyn {

// Some changes of each kind, unless options.full; JSON has all of them.
std::string differenceText(const ModelDifference& view, const TextOptions& options);
std::string comparisonText(const ValueComparison& view, const TextOptions& options);
std::string extractText(const ExtractResult& view);
std::string quantiseText(const QuantiseResult& view, const TextOptions& options);
std::string certificateText(const CertificateView& view, const TextOptions& options);

nlohmann::ordered_json differenceJson(const ModelDifference& view);
nlohmann::ordered_json comparisonJson(const ValueComparison& view);
nlohmann::ordered_json extractJson(const ExtractResult& view);
nlohmann::ordered_json quantiseJson(const QuantiseResult& view);
nlohmann::ordered_json certificateJson(const CertificateView& view);

}  // namespace dyn
