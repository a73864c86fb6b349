#include "app/session/handlers/measure/load_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/session/views/text/text_parts.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 84, kRight = 24, kTop = 56, kBottom = 56;

std::string inMarkup(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ')
      result += c;
  }
  return result;
}

class Plot {
 public:
  Plot(double mostPerSecond, double leastNs, double mostNs)
      : most_(mostPerSecond),
        low_(std::floor(std::log10(leastNs))),
        high_(std::max(low_ + 1, std::ceil(std::log10(mostNs)))) {}

  void axes() {
    const double base = kHeight - kBottom, end = kWidth - kRight;
    for (double power = low_; power <= high_; ++power) {
      const double y = yOf(std::pow(10.0, power));
      text_ +=
          fmt::format("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='#e2e8f0'/>\n", kLeft, y, end, y);
      label(kLeft - 8, y + 4, "end", durationText(static_cast<int64_t>(std::llround(std::pow(10.0, power)))));
    }
    for (int i = 0; i <= 4; ++i) {
      const double perSecond = most_ * i / 4;
      label(xOf(perSecond), base + 20, "middle", rateText(perSecond));
    }
    text_ += fmt::format("<path d='M{} {}V{}H{}' fill='none' stroke='#475569'/>\n", kLeft, kTop, base, end);
    label((kLeft + end) / 2, kHeight - 14, "middle", "requests per second");
  }

  // `part`: p50 or p99.
  void line(const LoadCurve& curve, int64_t LoadPoint::*part, const char* name, const char* dashes) {
    std::string path;
    for (const LoadPoint& point : curve.points) {
      const auto ns = static_cast<double>(point.*part);
      if (ns <= 0) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", xOf(point.perSecond), yOf(ns));
      text_ += fmt::format(
          "<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'><title>{}, {} {} at {} requests per "
          "second</title></circle>\n",
          xOf(point.perSecond), yOf(ns), curve.colour, inMarkup(curve.name), name, durationText(point.*part),
          rateText(point.perSecond));
    }
    if (!path.empty())
      text_ += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2' stroke-dasharray='{}'/>\n",
                           path, curve.colour, dashes);
    text_ += fmt::format(
        "<line x1='{}' y1='{}' x2='{}' y2='{}' stroke='{}' stroke-width='2' stroke-dasharray='{}'/>\n", keyX_,
        kTop - 14, keyX_ + 26, kTop - 14, curve.colour, dashes);
    const std::string shown = curve.name + ", " + name;
    label(keyX_ + 32, kTop - 10, "start", shown);
    keyX_ += 56 + 6.6 * static_cast<double>(shown.size());
  }

  std::string document(const std::string& title) const {
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
        "font-family='sans-serif' font-size='12' fill='#0f172a'>\n<title>{2}</title>\n"
        "<rect width='{0}' height='{1}' fill='white'/>\n<text x='{3}' y='24' "
        "font-size='15'>{2}</text>\n{4}</svg>\n",
        kWidth, kHeight, inMarkup(title), kLeft, text_);
  }

 private:
  double xOf(double perSecond) const { return kLeft + perSecond / most_ * (kWidth - kLeft - kRight); }
  double yOf(double ns) const {
    return kHeight - kBottom - (std::log10(ns) - low_) / (high_ - low_) * (kHeight - kTop - kBottom);
  }
  void label(double x, double y, const char* anchor, const std::string& text) {
    text_ +=
        fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n", x, y, anchor, inMarkup(text));
  }

  double most_, low_, high_, keyX_ = kLeft;
  std::string text_;
};

}  // namespace

std::string loadPlot(const std::vector<LoadCurve>& curves, const std::string& title) {
  double mostPerSecond = 0, leastNs = 1e12, mostNs = 1;
  for (const LoadCurve& curve : curves)
    for (const LoadPoint& point : curve.points) {
      mostPerSecond = std::max(mostPerSecond, point.perSecond);
      if (point.p50Ns <= 0) continue;
      leastNs = std::min(leastNs, static_cast<double>(point.p50Ns));
      mostNs = std::max(mostNs, static_cast<double>(point.p99Ns));
    }
  Plot plot(std::max(mostPerSecond, 1e-9), std::min(leastNs, mostNs), mostNs);
  plot.axes();
  for (const LoadCurve& curve : curves) {
    plot.line(curve, &LoadPoint::p50Ns, "p50", "none");
    plot.line(curve, &LoadPoint::p99Ns, "p99", "6 4");
  }
  return plot.document(title);
}

}  // namespace dyn
