// Disks that are full and files that come in crumbs: what cannot be written is a typed error and leaves
// nothing half done, a cache that cannot be written is none, and how many bytes one read gives does not
// matter. A limit on file sizes stands for the full disk: the kernel refuses the write, whoever makes it.
#include <gtest/gtest.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"

namespace {
// Reads of files give at most so many bytes, and every second one is interrupted by a signal first; 0: as the
// kernel does.
std::atomic<size_t> crumbBytes{0};
std::atomic<int> readsCut{0};
}  // namespace

// In place of the C library's, for the whole program.
extern "C" ssize_t read(int descriptor, void* to, size_t count) {
  struct stat info;
  const size_t most = crumbBytes;
  if (most != 0 && ::fstat(descriptor, &info) == 0 && (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode))) {
    if (++readsCut % 2 == 0) {
      errno = EINTR;
      return -1;
    }
    count = std::min(count, most);
  }
  return ::syscall(SYS_read, descriptor, to, count);
}

namespace dyn::robustness {
namespace {

constexpr const char* kModel = R"(fn @main(%x: Tensor[(n, 24), f32], %w: Tensor[(24, m), f32]) {
  %h = matmul(%x, %w)
  %y = softmax(%h, axis = -1)
  %z = tanh(%h)
  return %y, %z
}
)";

// The size that a file may have at most, while the object lives. The worker's own: a limit once lowered is
// raised again.
class DiskIsFull {
 public:
  explicit DiskIsFull(rlim_t mostBytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{mostBytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~DiskIsFull() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool isFileError(const std::string& text) {
  return text.rfind(std::string(diagnosticRow(DiagnosticId::fileError).code), 0) == 0;
}

// Does `line` into `target` while the disk holds 0, 1, 64, ... bytes, until it is enough; "" or what went
// wrong.
std::string withGrowingDisk(Shell& shell, const std::string& line, const std::filesystem::path& target) {
  int refused = 0;
  for (rlim_t bytes = 0; bytes <= (rlim_t{1} << 26); bytes = bytes == 0 ? 1 : bytes * 8) {
    std::string text;
    {
      const DiskIsFull full(bytes);
      text = said(*shell.line(line));
    }
    if (text.empty()) {
      if (!std::filesystem::exists(target)) return "nothing was written";
      return refused == 0 ? "it was never refused: the limit shows nothing" : "";
    }
    if (!isFileError(text)) return "with " + std::to_string(bytes) + " bytes: " + text;
    ++refused;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(target.parent_path(), none))
      return "with " + std::to_string(bytes) + " bytes it left " + entry.path().string();
  }
  return "it never succeeded";
}

// Runs `body` in a worker, where a limit binds nobody else.
void inWorker(const std::function<std::string()>& body) {
  for (const CaseOutcome& outcome : runApart(
           1, [&](size_t) { return body(); }, 200)) {
    EXPECT_EQ(outcome.fault(), "");
    if (outcome.text.rfind("skip ", 0) == 0) GTEST_SKIP() << outcome.text;
    EXPECT_EQ(outcome.text, "");
  }
}

std::string loaded(Shell& shell) {
  std::string text = said(*shell.load("m.dyn", kModel));
  if (text.empty()) text = said(*shell.line(":run --dim n=3 --dim m=5"));
  return text.rfind("E0501", 0) == 0 || text.rfind("E0502", 0) == 0 ? "skip " + text : text;
}

TEST(FullDisk, PackagesAreWrittenWholeOrNotAtAll) {
  inWorker([] {
    Shell shell(0);
    if (std::string text = loaded(shell); !text.empty()) return text;
    const std::filesystem::path target = std::filesystem::path(shell.folder() / "out") / "m.dynpkg";
    std::filesystem::create_directories(target.parent_path());
    if (std::string text = withGrowingDisk(shell, ":compile -o " + target.string(), target); !text.empty())
      return text;
    return said(*shell.line(":load " + target.string()));
  });
}

TEST(FullDisk, ResultsAndTracesAreWrittenWholeOrNotAtAll) {
  inWorker([] {
    Shell shell(0);
    if (std::string text = loaded(shell); !text.empty()) return text;
    std::filesystem::create_directories(shell.folder() / "trace");
    const std::string trace = shell.folder() / "trace/t.json";
    const std::string run = ":run --dim n=40 --dim m=30 ";
    if (std::string text = withGrowingDisk(shell, run + "--profile " + trace, trace); !text.empty())
      return text;
    std::filesystem::create_directories(shell.folder() / "text");
    const std::string saved = shell.folder() / "text/m.dyn";
    if (std::string text = withGrowingDisk(shell, ":save model " + saved, saved); !text.empty()) return text;
    // One output fits and the other does not, or none: those that are there are whole.
    const std::string folder = shell.folder() / "results";
    for (rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{4000}}) {
      const DiskIsFull full(bytes);
      const std::string text = said(*shell.line(run + "--output-dir " + folder));
      if (!isFileError(text)) return "results with " + std::to_string(bytes) + " bytes: " + text;
      std::error_code none;
      for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        return "left " + entry.path().string();
    }
    return said(*shell.line(run + "--output-dir " + folder));
  });
}

TEST(FullDisk, AnObjectCacheThatCanNotBeWrittenIsNone) {
  inWorker([] {
    const test::TemporaryFolder folder;
    const std::string cache = folder / "cache", model = folder.write("m.dyn", kModel);
    const auto session = [&](rlim_t bytes) -> std::string {
      Session one(SessionOptions{.threadCount = 1, .cacheDirectory = cache});
      const DiskIsFull full(bytes);
      for (const std::string& line : {":load " + model, std::string(":run --dim n=3 --dim m=5")}) {
        std::shared_ptr<const Outcome> outcome = one.execute(*parseCommand(line));
        if (!outcome->ok()) return said(*outcome);
      }
      return "";
    };
    for (rlim_t bytes : {rlim_t{0}, rlim_t{1}, rlim_t{40}, rlim_t{1000}}) {
      std::string text = session(bytes);
      if (text.rfind("E0501", 0) == 0 || text.rfind("E0502", 0) == 0) return "skip " + text;
      if (!text.empty()) return "with " + std::to_string(bytes) + " bytes: " + text;
      for (const auto& entry : std::filesystem::directory_iterator(cache))
        return "left " + entry.path().string();
    }
    if (std::string text = session(RLIM_INFINITY); !text.empty()) return text;
    if (std::filesystem::is_empty(cache)) return std::string("nothing is cached on a disk with room");
    return session(0);  // from the cache
  });
}

TEST(Crumbs, WhatIsReadInPiecesIsReadWhole) {
  inWorker([] {
    const test::TemporaryFolder folder;
    const std::string cache = folder / "cache", model = folder.write("m.dyn", kModel),
                      package = folder / "m.dynpkg";
    const auto session = [&](std::vector<std::string> lines) -> std::string {
      Session one(SessionOptions{.threadCount = 1, .cacheDirectory = cache});
      for (const std::string& line : lines) {
        std::shared_ptr<const Outcome> outcome = one.execute(*parseCommand(line));
        if (!outcome->ok()) return line + ": " + said(*outcome);
      }
      return "";
    };
    const std::string run = ":run --dim n=3 --dim m=5 --output-dir ";
    const std::string first = session({":load " + model, run + (folder / "first"), ":compile -o " + package});
    if (first.find("E0501") != std::string::npos || first.find("E0502") != std::string::npos)
      return "skip " + first;
    if (!first.empty()) return first;
    crumbBytes = 7;
    std::string text =
        session({":load " + model, run + (folder / "second"), ":load " + package, run + (folder / "third")});
    crumbBytes = 0;
    if (!text.empty()) return text;
    if (readsCut < 10) return std::string("hardly anything was read: the cut shows nothing");
    for (const char* name : {"y.npy", "z.npy"}) {
      const std::string whole = contentOf(folder / "first/" + name);
      if (whole.empty()) return std::string(name) + " is empty";
      for (const char* other : {"second/", "third/"})
        if (contentOf(folder / other + name) != whole) return std::string(other) + name + " differs";
    }
    return std::string();
  });
}

}  // namespace
}  // namespace dyn::robustness
