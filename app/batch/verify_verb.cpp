// verify DIR...: each case in a process of its own, several at a time.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "app/batch/verbs.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/view_json.h"
#include "vm/include/dynvm.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMaxFolderDepth = 6;

struct Case {
  std::string directory;
  Json result;  // until it is written
};

struct Worker {
  pid_t process = 0;
  int pipe = -1;
  size_t index = 0;
  std::string text;
  Clock::time_point start;
  bool timedOut = false;
};

bool isFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::vector<std::string> subfolders(const std::string& directory) {
  std::vector<std::string> names;
  DIR* handle = ::opendir(directory.c_str());
  if (!handle) return names;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    struct stat info {};
    if (name[0] != '.' && ::stat((directory + "/" + name).c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      names.push_back(directory + "/" + name);
  }
  ::closedir(handle);
  std::sort(names.begin(), names.end());
  return names;
}

// Folders with a model.onnx, in the order of their names.
void findCases(const std::string& root, std::vector<Case>& cases) {
  std::vector<std::pair<std::string, int>> pending = {{root, 0}};
  while (!pending.empty()) {
    auto [directory, depth] = pending.back();
    pending.pop_back();
    if (isFile(directory + "/model.onnx")) {
      cases.push_back({directory, {}});
      continue;
    }
    if (depth == kMaxFolderDepth) continue;
    std::vector<std::string> inner = subfolders(directory);
    for (size_t i = inner.size(); i-- > 0;) pending.emplace_back(inner[i], depth + 1);
  }
}

std::string nameOf(std::string directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory.substr(directory.rfind('/') + 1);
}

// In the child: never returns.
[[noreturn]] void verifyCase(const BatchRequest& request, const std::string& directory, int pipe) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::signal(SIGINT, SIG_DFL);
  ::setpgid(0, 0);  // Ctrl-C is the parent's affair
  SessionOptions options = request.session;
  if (options.threadCount == 0) options.threadCount = 1;
  std::string text;
  {
    Session session(options);
    Command command = request.handedTo(CommandId::verify).add("directory", directory);
    std::shared_ptr<const Outcome> outcome = session.execute(command);
    Json result = toJson(outcome->view);
    if (!outcome->as<VerifyResult>())
      result = {{"name", nameOf(directory)},
                {"status", "failed"},
                {"reason", outcome->error ? outcome->error->message : ""},
                {"op", ""}};
    text = jsonText(result);
  }
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(pipe, text.data() + done, text.size() - done);
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  ::_exit(0);
}

class VerifyRun {
 public:
  VerifyRun(const BatchRequest& request, std::vector<Case>& cases, BatchOutput& output)
      : request_(request),
        cases_(cases),
        output_(output),
        caseTimeLimitSeconds_(request.real("case-time-limit", 60)) {}

  // By status, of the cases that were written.
  const std::map<std::string, int64_t>& counts() const { return counts_; }
  // Compared, in the cases that were written.
  int64_t dataSets() const { return dataSets_; }

  // Writes each case when those before it are written. The signal that ended it, 0, or -1 for the time limit.
  int run() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    const auto start = Clock::now();
    const double timeLimitSeconds = request_.real("time-limit", 0);
    const size_t jobs = static_cast<size_t>(request_.whole("jobs", dyn_usable_cores()));
    size_t next = 0;
    int ended = 0;
    while (ended == 0 && (next < cases_.size() || !workers_.empty())) {
      while (workers_.size() < jobs && next < cases_.size()) startWorker(next++);
      std::vector<pollfd> descriptors = {{signals, POLLIN, 0}};
      for (const Worker& worker : workers_) descriptors.push_back({worker.pipe, POLLIN, 0});
      ::poll(descriptors.data(), descriptors.size(), 50);
      signalfd_siginfo info{};
      if (::read(signals, &info, sizeof info) == sizeof info) ended = static_cast<int>(info.ssi_signo);
      if (timeLimitSeconds > 0 &&
          std::chrono::duration<double>(Clock::now() - start).count() >= timeLimitSeconds)
        ended = -1;
      for (size_t i = 0; i < workers_.size();) {
        if (serve(workers_[i])) {
          workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
      writeFinished();
      progress();
    }
    for (Worker& worker : workers_) {
      ::kill(worker.process, SIGKILL);
      ::waitpid(worker.process, nullptr, 0);
      ::close(worker.pipe);
    }
    ::close(signals);
    if (shown_) writeStderr("\r\033[K");
    return ended;
  }

 private:
  void startWorker(size_t index) {
    int ends[2];
    Worker worker;
    worker.index = index;
    worker.start = Clock::now();
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return fail(index, "failed", std::string("no pipe: ") + std::strerror(errno));
    worker.process = ::fork();
    if (worker.process == 0) {
      ::close(ends[0]);
      for (const Worker& other : workers_) ::close(other.pipe);
      verifyCase(request_, cases_[index].directory, ends[1]);
    }
    ::close(ends[1]);
    if (worker.process < 0) {
      ::close(ends[0]);
      return fail(index, "failed", std::string("no process: ") + std::strerror(errno));
    }
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    worker.pipe = ends[0];
    workers_.push_back(std::move(worker));
  }

  void fail(size_t index, const char* status, std::string reason) {
    cases_[index].result = {{"name", nameOf(cases_[index].directory)},
                            {"status", status},
                            {"reason", std::move(reason)},
                            {"op", ""}};
    ++done_;
  }

  // Reads what is there; true when the worker is over.
  bool serve(Worker& worker) {
    char buffer[4096];
    ssize_t count = 0;
    while ((count = ::read(worker.pipe, buffer, sizeof buffer)) > 0)
      worker.text.append(buffer, static_cast<size_t>(count));
    const bool closed = count == 0;
    if (!closed) {
      const double seconds = std::chrono::duration<double>(Clock::now() - worker.start).count();
      if (seconds < caseTimeLimitSeconds_) return false;
      worker.timedOut = true;
      ::kill(worker.process, SIGKILL);
    }
    int status = 0;
    ::waitpid(worker.process, &status, 0);
    ::close(worker.pipe);
    finish(worker, status);
    return true;
  }

  void finish(const Worker& worker, int status) {
    char text[100];
    if (worker.timedOut) {
      std::snprintf(text, sizeof text, "not done after %g seconds", caseTimeLimitSeconds_);
      return fail(worker.index, "timeout", text);
    }
    if (WIFSIGNALED(status)) {
      std::snprintf(text, sizeof text, "the process died of signal %d (%s)", WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
      return fail(worker.index, "crashed", text);
    }
    Json result = Json::parse(worker.text, nullptr, false);
    if (WEXITSTATUS(status) != 0 || !result.is_object() || !result.contains("status"))
      return fail(worker.index, "crashed",
                  "the process ended without a result, exit " + std::to_string(WEXITSTATUS(status)));
    cases_[worker.index].result = std::move(result);
    ++done_;
  }

  void writeFinished() {
    for (; written_ < cases_.size() && !cases_[written_].result.is_null(); ++written_) {
      const Json result = std::exchange(cases_[written_].result, Json());
      const std::string status = result.value("status", "failed");
      ++counts_[status];
      dataSets_ += result.value("data_sets_count", int64_t{0});
      const bool passed = status == "passed";
      output_.add(
          result,
          passed ? "" : result.value("name", "") + ": " + status + ": " + result.value("reason", "") + "\n");
    }
  }

  void progress() {
    if (request_.has("quiet") || !(::isatty(2) || request_.has("progress"))) return;
    const auto now = Clock::now();
    if (now - lastShown_ < std::chrono::milliseconds(500)) return;
    lastShown_ = now;
    const std::string text = std::to_string(done_) + " of " + std::to_string(cases_.size()) + " cases";
    writeStderr(::isatty(2) ? "\r\033[K" + text : text + "\n");
    shown_ = ::isatty(2);
  }

  const BatchRequest& request_;
  std::vector<Case>& cases_;
  BatchOutput& output_;
  const double caseTimeLimitSeconds_;
  std::vector<Worker> workers_;
  size_t done_ = 0, written_ = 0;
  std::map<std::string, int64_t> counts_;
  int64_t dataSets_ = 0;
  bool shown_ = false;
  Clock::time_point lastShown_ = Clock::now();
};

}  // namespace

int verb_verify(const BatchContext& context) {
  const BatchRequest& request = context.request;
  BatchOutput& output = context.output;
  std::vector<Case> cases;
  for (const std::string& directory : request.all("dir")) {
    const size_t before = cases.size();
    findCases(directory, cases);
    if (cases.size() == before)
      return output.failure(makeError(DiagnosticId::fileError,
                                      directory + " holds no folder with a model.onnx", {.file = directory})
                                .diagnostic());
  }
  output.openList("cases", Json::object());
  VerifyRun run(request, cases, output);
  const int ended = run.run();
  if (ended > 0) return output.failure(makeError(DiagnosticId::cancelled, "interrupted").diagnostic());
  if (ended < 0)
    return output.failure(makeError(DiagnosticId::timeLimit, "the time limit was reached").diagnostic());
  std::map<std::string, int64_t> counts = run.counts();
  Json fields = Json::object();
  std::string text;
  for (CaseStatus status : {CaseStatus::passed, CaseStatus::wrong, CaseStatus::crashed, CaseStatus::timeout,
                            CaseStatus::unsupported, CaseStatus::failed}) {
    fields[std::string(toString(status)) + "_count"] = counts[toString(status)];
    text += (status == CaseStatus::passed ? "" : ", ") + std::to_string(counts[toString(status)]) + " " +
            toString(status);
  }
  fields["total_count"] = cases.size();
  text += " of " + std::to_string(cases.size()) + ", data sets compared: " + std::to_string(run.dataSets()) +
          "\n";
  const int code = output.result(std::move(fields), text);
  if (counts["wrong"] > 0) return 3;
  if (counts["crashed"] + counts["failed"] + counts["timeout"] > 0) return 1;
  return code;
}

}  // namespace dyn
