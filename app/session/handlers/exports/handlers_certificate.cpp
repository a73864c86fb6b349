// Handler: :verify-package.
#include <chrono>

#include "app/session/session_state.h"
#include "app/session/views/change_views.h"
#include "compiler/support/mapped_file.h"
#include "vm/certificate/certificate.h"

namespace dyn {

namespace {

constexpr const char* kStatusNames[] = {"certified", "partly", "missing", "refused"};

}  // namespace

// What is not certified is an error that has the view to show, too.
Result<View> handle_verifyPackage(SessionState&, const Command& command, Outcome& outcome) {
  CertificateView view;
  view.file = command.text("file");
  DYN_TRY(const MappedFile file, MappedFile::open(view.file));
  const auto start = std::chrono::steady_clock::now();
  const certificate::Report report = certificate::checkPackage(file.bytes());
  view.checkNs = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  view.status = kStatusNames[static_cast<size_t>(report.status)];
  view.why = report.why;
  view.certificateBytes = static_cast<int64_t>(report.certificateBytes);
  for (size_t i = 0; i < certificate::kObligationCount; ++i)
    view.kinds.push_back({certificate::kObligationNames[i], static_cast<int64_t>(report.walk.shown[i]), 0});
  for (const certificate::OpenObligation& open : report.walk.open) {
    CertificateView::Kind& kind = view.kinds[static_cast<size_t>(open.kind)];
    ++kind.openCount;
    view.open.push_back({kind.name, open.place, open.what});
  }
  view.peak = report.walk.peak;
  view.launchesCount = static_cast<int64_t>(report.walk.launches);
  view.builtinCallsCount = static_cast<int64_t>(report.walk.builtinCalls);
  view.builtins.assign(report.walk.builtins.begin(), report.walk.builtins.end());
  if (report.status != certificate::CertificateStatus::certified) {
    const std::string what = report.status == certificate::CertificateStatus::partly
                                 ? "open obligations: " + std::to_string(report.walk.open.size())
                                 : view.why;
    outcome.error = makeError(DiagnosticId::badPackage, what).at({.file = view.file}).diagnostic();
  }
  return makeView(std::move(view));
}

}  // namespace dyn
