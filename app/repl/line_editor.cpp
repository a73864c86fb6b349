#include "app/repl/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dyn {

namespace {

constexpr int kHistorySize = 5000;
constexpr size_t kMostCandidatesShown = 200;

// The terminal sends SIGINT to the process; what it writes here wakes the reader.
volatile sig_atomic_t interruptSeen = 0;
void noteInterrupt(int) { interruptSeen = 1; }

std::string makeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
  return path;
}

// One entry a line: newlines inside an entry are written as \n, backslashes doubled.
std::string escaped(const std::string& entry) {
  std::string text;
  for (char c : entry) text += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
  return text;
}

std::string unescaped(const std::string& line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      text += line[i] == 'n' ? '\n' : line[i];
    } else {
      text += line[i];
    }
  }
  return text;
}

}  // namespace

std::string historyPath() {
  const char* xdg = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::string base = xdg && *xdg == '/' ? xdg : home && *home ? std::string(home) + "/.local/state" : "";
  if (base.empty()) return "";
  return makeFolders(base + "/dyn") + "/history";
}

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string prompt, file, last;
  Completer completer;
  bool interrupted = false;
  struct sigaction previous {};

  static Impl* of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<Impl*>(data);
  }

  static char* promptOf(EditLine* editor) { return of(editor)->prompt.data(); }

  // Reads one character; Ctrl-C ends the line.
  static int readChar(EditLine* editor, wchar_t* character) {
    Impl* impl = of(editor);
    mbstate_t state{};
    for (;;) {
      if (interruptSeen) {
        impl->interrupted = true;
        return -1;
      }
      char byte = 0;
      const ssize_t count = ::read(0, &byte, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return 0;
      const size_t length = std::mbrtowc(character, &byte, 1, &state);
      if (length == static_cast<size_t>(-2)) continue;  // more bytes of the same character
      if (length == static_cast<size_t>(-1)) {
        *character = L'?';
        return 1;
      }
      return 1;
    }
  }

  static unsigned char complete(EditLine* editor, int) {
    Impl* impl = of(editor);
    const LineInfo* info = el_line(editor);
    const std::string line(info->buffer, info->lastchar);
    const size_t cursor = static_cast<size_t>(info->cursor - info->buffer);
    const Completion completion = impl->completer(line, cursor);
    if (completion.candidates.empty()) return CC_REFRESH_BEEP;
    std::string common = completion.candidates[0];
    for (const std::string& candidate : completion.candidates) {
      size_t same = 0;
      while (same < std::min(common.size(), candidate.size()) && common[same] == candidate[same]) ++same;
      common.resize(same);
    }
    const std::string typed = line.substr(completion.begin, cursor - completion.begin);
    std::string more = common.size() > typed.size() ? common.substr(typed.size()) : "";
    if (completion.candidates.size() == 1) {
      const char end = completion.candidates[0].back();
      if (end != '/' && end != '=') more += ' ';
    }
    if (!more.empty()) {
      el_insertstr(editor, more.c_str());
      return CC_REFRESH;
    }
    impl->showCandidates(completion.candidates);
    return CC_REDISPLAY;
  }

  void showCandidates(const std::vector<std::string>& candidates) {
    winsize size{};
    const size_t columns = ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    size_t width = 0;
    for (const std::string& c : candidates) width = std::max(width, c.size() + 2);
    const size_t perLine = std::max<size_t>(1, columns / width);
    std::string text = "\n";
    for (size_t i = 0; i < candidates.size() && i < kMostCandidatesShown; ++i) {
      text += candidates[i];
      const bool lineEnd = (i + 1) % perLine == 0 || i + 1 == candidates.size();
      text += lineEnd ? "\n" : std::string(width - candidates[i].size(), ' ');
    }
    if (candidates.size() > kMostCandidatesShown)
      text += "\n... " + std::to_string(candidates.size() - kMostCandidatesShown) + " more\n";
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
};

LineEditor::LineEditor(std::string historyFile, Completer completer) : impl_(std::make_unique<Impl>()) {
  std::setlocale(LC_CTYPE, "");
  impl_->file = std::move(historyFile);
  impl_->completer = std::move(completer);
  struct sigaction action {};
  action.sa_handler = noteInterrupt;  // no SA_RESTART: a read that waits ends
  ::sigaction(SIGINT, &action, &impl_->previous);
  impl_->editor = el_init("dynrepl", stdin, stdout, stderr);
  EditLine* editor = impl_->editor;
  el_set(editor, EL_CLIENTDATA, impl_.get());
  el_set(editor, EL_PROMPT, &Impl::promptOf);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 0);
  impl_->history = history_init();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, kHistorySize);
  el_set(editor, EL_HIST, history, impl_->history);
  el_set(editor, EL_ADDFN, "dyn-complete", "complete", &Impl::complete);
  el_set(editor, EL_BIND, "^I", "dyn-complete", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_set(editor, EL_BIND, "\033[A", "ed-search-prev-history", nullptr);
  el_set(editor, EL_BIND, "\033[B", "ed-search-next-history", nullptr);
  el_set(editor, EL_BIND, "\033[1~", "ed-move-to-beg", nullptr);
  el_set(editor, EL_BIND, "\033[4~", "ed-move-to-end", nullptr);
  el_set(editor, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
  el_source(editor, nullptr);  // ~/.editrc
  el_set(editor, EL_GETCFN, &Impl::readChar);
  if (FILE* file = impl_->file.empty() ? nullptr : std::fopen(impl_->file.c_str(), "re")) {
    char* text = nullptr;
    size_t capacity = 0;
    ssize_t length = 0;
    while ((length = ::getline(&text, &capacity, file)) > 0) {
      std::string line(text, static_cast<size_t>(length));
      if (!line.empty() && line.back() == '\n') line.pop_back();
      if (line.empty()) continue;
      impl_->last = unescaped(line);
      history(impl_->history, &event, H_ENTER, impl_->last.c_str());
    }
    std::free(text);
    std::fclose(file);
  }
}

LineEditor::~LineEditor() {
  history_end(impl_->history);
  el_end(impl_->editor);
  ::sigaction(SIGINT, &impl_->previous, nullptr);
}

LineEnd LineEditor::read(const std::string& prompt, std::string& line) {
  impl_->prompt = prompt;
  impl_->interrupted = false;
  interruptSeen = 0;
  int count = 0;
  const char* text = el_gets(impl_->editor, &count);
  if (impl_->interrupted) {
    interruptSeen = 0;
    std::fputs("^C\n", stdout);
    std::fflush(stdout);
    el_reset(impl_->editor);
    return LineEnd::interrupted;
  }
  if (!text || count <= 0) return LineEnd::endOfFile;
  line.assign(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return LineEnd::line;
}

void LineEditor::remember(const std::string& entry) {
  if (entry.empty() || entry == impl_->last) return;
  impl_->last = entry;
  HistEvent event;
  history(impl_->history, &event, H_ENTER, entry.c_str());
  if (impl_->file.empty()) return;
  // Appended with one write, so that shells that run side by side don't mix their lines.
  const int file = ::open(impl_->file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string line = escaped(entry) + "\n";
  if (::write(file, line.data(), line.size()) < 0) {
    // A history that can not be kept is no reason to stop.
  }
  ::close(file);
}

}  // namespace dyn
