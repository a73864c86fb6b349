#include "compiler/export/certificate/certificate_writer.h"

#include <algorithm>

#include "compiler/export/certificate/kernel_accesses.h"
#include "compiler/export/certificate/witness_search.h"
#include "vm/certificate/certificate.h"

namespace dyn {

namespace {

using certificate::Atoms;
using certificate::KernelAccesses;
using certificate::Polynomial;
using certificate::Scope;

constexpr size_t kMaximumPeaks = 12;

class SearchingJudge : public certificate::Judge {
 public:
  // Without a peak it only notes what is held at once.
  explicit SearchingJudge(const std::optional<std::vector<Polynomial>>& peak)
      : isSearching_(peak.has_value()), peak_(peak.value_or(std::vector<Polynomial>())) {}

  int firstNonNegative(const Atoms& atoms, const Scope& scope, std::span<const Polynomial> claims) override {
    if (!isSearching_) return 0;
    for (size_t i = 0; i < claims.size(); ++i) {
      const size_t before = witnesses_.bytes.size();
      if (claims.size() > 1) witnesses_.number(i);
      if (search_.find(atoms, scope, claims[i], witnesses_)) return static_cast<int>(i);
      witnesses_.bytes.resize(before);
    }
    if (claims.size() > 1) witnesses_.number(0);
    witnesses_.number(3);
    return -1;
  }
  const std::vector<Polynomial>& peak() override { return peak_; }
  // Keeps the sums that no other covers. One that names what a later place makes covers nothing before it.
  void live(const Atoms& atoms, const Polynomial& sum) override {
    const Scope everywhere;
    const auto isWithin = [&](const Polynomial& a, const Polynomial& b) {
      const std::optional<Polynomial> room = scaledSum(b, a, -1);
      return room && atoms.isPlainlyNonNegative(*room, everywhere);
    };
    certificate::AtomId newest = 0;
    for (const auto& [monomial, coefficient] : sum.terms)
      if (!monomial.empty()) newest = std::max(newest, monomial.back());
    for (const Sum& each : sums_)
      if (isWithin(sum, each.bytes)) return;
    std::erase_if(sums_,
                  [&](const Sum& each) { return newest < each.atomCount && isWithin(each.bytes, sum); });
    sums_.push_back({sum, atoms.size()});
  }
  bool isWrong() const override { return false; }

  std::vector<Polynomial> sums() const {
    std::vector<Polynomial> result;
    for (const Sum& each : sums_) result.push_back(each.bytes);
    return result;
  }
  const std::string& witnesses() const { return witnesses_.bytes; }

 private:
  bool isSearching_;
  std::vector<Polynomial> peak_;
  struct Sum {
    Polynomial bytes;
    size_t atomCount = 0;  // when it was held
  };
  std::vector<Sum> sums_;
  ByteWriter witnesses_;
  WitnessSearch search_;
};

void write(ByteWriter& out, const Polynomial& p) {
  out.number(p.terms.size());
  for (const auto& [monomial, coefficient] : p.terms) {
    out.signedNumber(coefficient);
    out.number(monomial.size());
    for (const certificate::AtomId atom : monomial) out.number(atom);
  }
}

}  // namespace

Result<Certificate> makeCertificate(std::string_view program, std::span<const loop::Kernel> kernels,
                                    std::span<const uint64_t> objectDigests) {
  constexpr std::string_view kUnsupported = "unsupported: ";
  certificate::ProgramText text;
  if (const std::string problem = certificate::readProgram(program, text); !problem.empty())
    return makeError(DiagnosticId::internalError, "certificate: " + problem);
  ByteWriter out;
  out.bytes = certificate::kCertificateMagic;
  out.number(objectDigests.size());
  for (const uint64_t digest : objectDigests) out.fixed(digest);
  out.fixed(text.kernelDigest);
  if (kernels.size() != text.kernels.size())
    return makeError(DiagnosticId::internalError, "certificate: the loops of some kernels are missing");
  std::vector<KernelAccesses> accesses(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string bytes = writeAccesses(kernels[i]);
    certificate::ByteReader in(bytes);
    if (!readAccesses(in, accesses[i]))
      return makeError(DiagnosticId::internalError, "certificate: the accesses of " + kernels[i].name);
    out.bytes += bytes;
  }
  // The first walk finds what is held at once, the second has it as the stated peak.
  SearchingJudge first(std::nullopt);
  certificate::WalkResult walked = walkProgram(text, accesses, first);
  std::vector<Polynomial> peak = first.sums();
  if (peak.size() > kMaximumPeaks) peak.resize(kMaximumPeaks);
  SearchingJudge judge(peak);
  if (walked.refusal.empty()) walked = walkProgram(text, accesses, judge);
  if (walked.refusal.starts_with(kUnsupported))
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: a certificate of this program: " +
                                                           walked.refusal.substr(kUnsupported.size()));
  if (!walked.refusal.empty())
    return makeError(DiagnosticId::internalError, "certificate: " + walked.refusal);
  out.number(peak.size());
  for (const Polynomial& p : peak) write(out, p);
  out.bytes += judge.witnesses();
  const certificate::Report report = certificate::checkProgram(program, out.bytes, objectDigests);
  if (report.status == certificate::CertificateStatus::refused)
    return makeError(DiagnosticId::internalError, "certificate: the checker refuses it: " + report.why);
  return Certificate{std::move(out.bytes), static_cast<int64_t>(report.walk.open.size())};
}

}  // namespace dyn
