#include "compiler/codegen/object/weight_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace dyn {

namespace {

constexpr size_t kReadBytes = size_t{64} << 10;  // on the stack: no memory may be had
constexpr uint64_t kPrime = 0x9E3779B185EBCA87ull;

uint64_t mixed(uint64_t state, uint64_t word) {
  state = (state ^ word) * kPrime;
  return state ^ state >> 29;
}

}  // namespace

void WeightSum::add(std::string_view piece) {
  bytes_ += piece.size();
  uint64_t lanes[8], words[8];  // of their own: they stay in registers
  std::memcpy(lanes, lanes_, sizeof lanes);
  while (piece.size() >= kBlockBytes) {
    std::memcpy(words, piece.data(), kBlockBytes);
    for (size_t i = 0; i < 8; ++i) lanes[i] = mixed(lanes[i], words[i]);
    piece.remove_prefix(kBlockBytes);
  }
  if (!piece.empty()) {
    std::memset(words, 0, sizeof words);
    std::memcpy(words, piece.data(), piece.size());
    for (size_t i = 0; i < 8; ++i) lanes[i] = mixed(lanes[i], words[i]);
  }
  std::memcpy(lanes_, lanes, sizeof lanes);
}

uint64_t WeightSum::value() const {
  uint64_t sum = bytes_;
  for (uint64_t lane : lanes_) sum = mixed(sum, lane);
  return sum;
}

std::optional<uint64_t> sumOfFile(const FileHandle& file, uint64_t offset, const std::atomic<bool>* stop) {
  WeightSum sum;
  char buffer[kReadBytes];
  for (;;) {
    size_t filled = 0;
    while (filled < kReadBytes) {
      const ssize_t n =
          ::pread(file.get(), buffer + filled, kReadBytes - filled, static_cast<off_t>(offset + filled));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return std::nullopt;
      if (n == 0) break;
      filled += static_cast<size_t>(n);
    }
    sum.add({buffer, filled});
    if (filled < kReadBytes) return sum.value();
    offset += filled;
    if (stop && *stop) return std::nullopt;
  }
}

WeightCheck::~WeightCheck() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void WeightCheck::add(const std::string& path, uint64_t offset, uint64_t sum) {
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return;  // another process has removed it: there is nothing that a later run could read
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.push_back({path, std::move(file), offset, sum});
  if (working_) return;
  if (thread_.joinable()) thread_.join();
  working_ = true;
  try {
    thread_ = std::thread([this] { compareAll(); });
    return;
  } catch (const std::system_error&) {  // no thread is to be had
  } catch (const std::bad_alloc&) {     // nor memory for one
  }
  lock.unlock();
  compareAll();  // the run waits for the comparison
}

void WeightCheck::compareAll() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!waiting_.empty() && !stop_) {
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const std::optional<uint64_t> sum = sumOfFile(work.file, work.offset, &stop_);
    lock.lock();
    if (sum == work.sum || stop_) continue;
    ::unlink(work.path.c_str());
    if (damaged_.empty()) damaged_ = std::move(work.path);
  }
  working_ = false;
  done_.notify_all();
}

Status WeightCheck::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return !working_; });
  if (damaged_.empty()) return {};
  return makeError(DiagnosticId::fileFormat,
                   "the cached weights " + damaged_ + " are damaged: results computed with them are wrong",
                   {.file = damaged_})
      .note("the file has been removed from the cache; the next run makes it again from the model");
}

}  // namespace dyn
