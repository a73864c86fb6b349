#include "app/engine/serving/request_trace.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

constexpr double kMostSeconds = 1e9;
constexpr int64_t kMostSize = 1 << 26;

std::vector<std::string> columnsOfLine(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream in(line);
  for (std::string column; std::getline(in, column, ',');) {
    const size_t from = column.find_first_not_of(" \t"), to = column.find_last_not_of(" \t");
    columns.push_back(from == std::string::npos ? "" : column.substr(from, to - from + 1));
  }
  return columns;
}

template <typename T>
std::optional<T> numberIn(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

class TraceReader {
 public:
  explicit TraceReader(std::string path) : path_(std::move(path)) {}

  Result<RequestTrace> read(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      ++number_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      if (line[line.find_first_not_of(" \t")] == '{')
        DYN_CHECK(addJson(line));
      else if (!hasHead_)
        DYN_CHECK(addHead(line));
      else
        DYN_CHECK(addColumns(line));
    }
    if (trace_.lines.empty()) return fault("it has no request");
    return std::move(trace_);
  }

 private:
  Error fault(const std::string& what) const {
    return makeError(DiagnosticId::usageError, path_ + ":" + std::to_string(number_) + ": " + what);
  }
  Status addHead(const std::string& line) {
    const std::vector<std::string> columns = columnsOfLine(line);
    if (columns[0] != "time") return fault("the first column is 'time', the others are dims");
    trace_.dims.assign(columns.begin() + 1, columns.end());
    hasHead_ = true;
    return {};
  }
  Status addColumns(const std::string& line) {
    const std::vector<std::string> columns = columnsOfLine(line);
    if (columns.size() != trace_.dims.size() + 1)
      return fault("it has " + std::to_string(columns.size()) + " columns instead of " +
                   std::to_string(trace_.dims.size() + 1));
    std::vector<int64_t> sizes;
    for (size_t i = 1; i < columns.size(); ++i) {
      const std::optional<int64_t> size = numberIn<int64_t>(columns[i]);
      if (!size) return fault("'" + columns[i] + "' is not a size of " + trace_.dims[i - 1]);
      sizes.push_back(*size);
    }
    const std::optional<double> seconds = numberIn<double>(columns[0]);
    return seconds ? add(*seconds, std::move(sizes)) : Status(fault("'" + columns[0] + "' is not a time"));
  }
  Status addJson(const std::string& line) {
    const nlohmann::ordered_json fields = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!fields.is_object() || !fields.contains("time") || !fields["time"].is_number())
      return fault("it is not an object with a number 'time'");
    std::vector<std::string> dims;
    for (const auto& [name, value] : fields.items()) {
      if (name == "time") continue;
      if (!value.is_number_integer()) return fault("'" + name + "' is not a size");
      dims.push_back(name);
    }
    if (!hasHead_) trace_.dims = dims;
    hasHead_ = true;
    if (dims.size() != trace_.dims.size()) return fault("it has other dims than the first line");
    std::vector<int64_t> sizes;
    for (const std::string& dim : trace_.dims) {
      if (!fields.contains(dim)) return fault("it has no '" + dim + "'");
      sizes.push_back(fields[dim].get<int64_t>());
    }
    return add(fields["time"].get<double>(), std::move(sizes));
  }
  Status add(double seconds, std::vector<int64_t> sizes) {
    if (!(seconds >= 0 && seconds <= kMostSeconds)) return fault("its time is not in 0 to 1e9 seconds");
    const auto ns = static_cast<int64_t>(std::llround(seconds * 1e9));
    if (!trace_.lines.empty() && ns < trace_.lines.back().arrivalNs)
      return fault("it arrives before the line above");
    for (const int64_t size : sizes)
      if (size < 0 || size > kMostSize) return fault("a size is not in 0 to " + std::to_string(kMostSize));
    trace_.lines.push_back({ns, std::move(sizes)});
    return {};
  }

  std::string path_;
  RequestTrace trace_;
  bool hasHead_ = false;
  int64_t number_ = 0;
};

}  // namespace

Result<RequestTrace> readRequestTrace(const std::string& path) {
  DYN_TRY(const MappedFile file, MappedFile::open(path));
  return TraceReader(path).read(std::string(file.bytes()));
}

}  // namespace dyn
