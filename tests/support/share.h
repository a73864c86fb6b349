// Of a test that would take long a share in each run: another one every day, or that of DYN_TEST_SEED; with
// DYN_TEST_ALL (./dev test --all) all of it. The same day runs the same, so that a failure can be repeated.
//
//   const Share share(16);
//   SCOPED_TRACE(share.text());                  // "DYN_TEST_SEED=20481"
//   for (size_t i = 0; i < rows.size(); ++i) if (share.has(i)) check(rows[i]);
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

namespace dyn::test {

class Share {
 public:
  explicit Share(uint64_t of) : of_(of) {
    const char* all = std::getenv("DYN_TEST_ALL");
    const char* seed = std::getenv("DYN_TEST_SEED");
    all_ = all && *all && *all != '0';
    constexpr uint64_t kSecondsOfDay = 86400;
    seed_ = seed && *seed ? std::strtoull(seed, nullptr, 10)
                          : static_cast<uint64_t>(std::time(nullptr)) / kSecondsOfDay;
  }
  // Neighbours are of different shares.
  bool has(uint64_t index) const { return all_ || (index + seed_) % of_ == 0; }
  bool all() const { return all_; }
  uint64_t seed() const { return seed_; }
  std::string text() const { return all_ ? "DYN_TEST_ALL=1" : "DYN_TEST_SEED=" + std::to_string(seed_); }

 private:
  uint64_t of_, seed_ = 0;
  bool all_ = false;
};

}  // namespace dyn::test
