#include "vm/certificate/certificate.h"

#include <algorithm>

namespace dyn::certificate {

namespace {

class CertificateJudge : public Judge {
 public:
  explicit CertificateJudge(ByteReader in) : in_(in) {}

  // "" is success.
  std::string readHead(const ProgramText& program, std::span<const uint64_t> objects,
                       std::vector<KernelAccesses>& kernels) {
    if (in_.number() != objects.size()) return "the certificate is of a package with other machine code";
    for (const uint64_t digest : objects)
      if (in_.fixed(8) != digest) return "the certificate is of a package with other machine code";
    kernels.resize(program.kernels.size());
    if (in_.fixed(8) != program.kernelDigest) return "the certificate is of a program with other kernels";
    for (KernelAccesses& kernel : kernels)
      if (!readAccesses(in_, kernel)) return "the accesses of a kernel are damaged";
    for (uint64_t left = in_.count(in_.number()); left > 0 && !in_.failed(); --left) {
      Polynomial& p = peak_.emplace_back();
      for (uint64_t terms = in_.count(in_.number()); terms > 0; --terms) {
        const int64_t coefficient = in_.signedNumber();
        Monomial monomial(std::min<uint64_t>(in_.number(), kMaximumDegree));
        for (AtomId& atom : monomial)
          atom = static_cast<AtomId>(std::min<uint64_t>(in_.number(), UINT32_MAX));
        std::sort(monomial.begin(), monomial.end());
        if (coefficient != 0) p.terms[monomial] = coefficient;
      }
    }
    return in_.failed() ? "the certificate is cut off" : "";
  }
  bool isUsedUp() const { return in_.atEnd(); }

  int firstNonNegative(const Atoms& atoms, const Scope& scope, std::span<const Polynomial> claims) override {
    if (isWrong_) return -1;
    const uint64_t which = claims.size() > 1 ? in_.number() : 0;
    isWrong_ = in_.failed() || which >= std::max<size_t>(claims.size(), 1);
    const Verdict verdict =
        isWrong_ ? Verdict::wrong
                 : checkWitness(in_, atoms, scope, claims.empty() ? Polynomial(-1) : claims[which]);
    isWrong_ = verdict == Verdict::wrong;
    return verdict == Verdict::shown ? static_cast<int>(which) : -1;
  }
  const std::vector<Polynomial>& peak() override { return peak_; }
  void live(const Atoms& /*atoms*/, const Polynomial& /*sum*/) override {}
  bool isWrong() const override { return isWrong_; }

 private:
  ByteReader in_;
  std::vector<Polynomial> peak_;
  bool isWrong_ = false;
};

Report check(const ProgramText& program, std::string_view certificate, std::span<const uint64_t> objects) {
  Report report;
  report.certificateBytes = certificate.size();
  if (certificate.substr(0, 8) != kCertificateMagic) {
    report.why = "the certificate has a format that this checker doesn't know";
    return report;
  }
  CertificateJudge judge(ByteReader(certificate.substr(8)));
  std::vector<KernelAccesses> kernels;
  report.why = judge.readHead(program, objects, kernels);
  if (!report.why.empty()) return report;
  report.walk = walkProgram(program, kernels, judge);
  report.why = report.walk.refusal;
  if (report.why.empty() && !judge.isUsedUp())
    report.why = "the certificate has witnesses that nothing asks for";
  if (report.why.empty())
    report.status = report.walk.open.empty() ? CertificateStatus::certified : CertificateStatus::partly;
  return report;
}

}  // namespace

Report checkPackage(std::string_view bytes) {
  Report report;
  PackageText package;
  report.why = readPackage(bytes, package);
  if (!report.why.empty()) return report;
  const SectionText* certificate = nullptr;
  std::vector<uint64_t> objects;
  for (const SectionText& section : package.sections) {
    if (section.isObject) objects.push_back(digestOf(section.bytes));
    if (section.name == kCertificateSection) certificate = &section;
  }
  if (!certificate) {
    report.status = CertificateStatus::missing;
    report.why = "the package carries no certificate: compile --certify makes one";
    return report;
  }
  return check(package.program, certificate->bytes, objects);
}

Report checkProgram(std::string_view program, std::string_view certificate,
                    std::span<const uint64_t> objects) {
  Report report;
  ProgramText text;
  report.why = readProgram(program, text);
  return report.why.empty() ? check(text, certificate, objects) : report;
}

std::string whyNotSafe(const Report& report) {
  if (!report.why.empty()) return report.why;
  std::string what, first;
  for (const Obligation kind : {Obligation::apart, Obligation::access}) {
    size_t count = 0;
    for (const OpenObligation& open : report.walk.open) {
      if (open.kind != kind) continue;
      ++count;
      if (first.empty()) first = " (at " + open.place + ": " + open.what + ")";
    }
    const std::string name = kObligationNames[static_cast<size_t>(kind)];
    if (count > 0) what += (what.empty() ? "" : ", ") + std::to_string(count) + " of " + name;
  }
  return what.empty() ? what : "the certificate leaves obligations open: " + what + first;
}

}  // namespace dyn::certificate
