#include "app/repl/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

#include "app/repl/signal_watch.h"
#include "app/session/history_file.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

constexpr int kHistorySize = 5000;
constexpr size_t kMostCandidatesShown = 200;
constexpr const char* kPasteBegin = "\033[200~";
constexpr const char* kPasteEnd = "\033[201~";
constexpr const char* kMarkPastes = "\033[?2004h";
constexpr const char* kLeavePastes = "\033[?2004l";

}  // namespace

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string prompt, last;
  HistoryFile file;
  Completer completer;
  SignalWatch& signals;
  LineEnd end = LineEnd::line;
  bool marksPastes = false;  // the terminal is asked to

  Impl(std::string historyFile, Completer complete, SignalWatch& watch)
      : file(std::move(historyFile), kHistorySize), completer(std::move(complete)), signals(watch) {}

  static Impl* of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<Impl*>(data);
  }

  static char* promptOf(EditLine* editor) { return of(editor)->prompt.data(); }

  // Takes the signals that wait; false when the line ends by one.
  bool goesOn() {
    while (const int signal = signals.take()) {
      if (signal == SIGINT || SignalWatch::ends(signal)) {
        end = signal == SIGINT ? LineEnd::interrupted : LineEnd::terminated;
        return false;
      }
      if (signal == SIGWINCH) {
        el_resize(editor);
        continue;
      }
      // Stopped by Ctrl-Z, or by someone else and set going again: whoever had the terminal in between
      // changed its mode.
      el_set(editor, EL_PREP_TERM, 0);
      setPasteMarks(kLeavePastes);
      if (signal == SIGTSTP) signals.suspend();
      el_set(editor, EL_PREP_TERM, 1);
      setPasteMarks(kMarkPastes);
      el_set(editor, EL_REFRESH);
    }
    return true;
  }

  // Reads one character, watching for signals meanwhile.
  static int readChar(EditLine* editor, wchar_t* character) {
    Impl* impl = of(editor);
    mbstate_t state{};
    for (;;) {
      pollfd wait[2] = {{0, POLLIN, 0}, {impl->signals.descriptor(), POLLIN, 0}};
      if (::poll(wait, 2, -1) < 0 && errno != EINTR) return 0;
      if (!impl->goesOn()) return -1;
      if (!wait[0].revents) continue;
      char byte = 0;
      const ssize_t count = ::read(0, &byte, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return 0;
      const size_t length = std::mbrtowc(character, &byte, 1, &state);
      if (length == static_cast<size_t>(-2)) continue;  // more bytes of the same character
      if (length == static_cast<size_t>(-1)) *character = L'?';
      return 1;
    }
  }

  // What the terminal pastes stands between two marks (bracketed paste): it goes into the line as it is, line
  // breaks and all, and Enter runs it.
  static unsigned char paste(EditLine* editor, int) {
    Impl* impl = of(editor);
    std::string text;
    for (size_t end = std::string::npos; (end = text.find(kPasteEnd)) == std::string::npos;) {
      pollfd wait[2] = {{0, POLLIN, 0}, {impl->signals.descriptor(), POLLIN, 0}};
      if (::poll(wait, 2, -1) < 0 && errno != EINTR) return CC_EOF;
      if (!impl->goesOn()) return CC_EOF;
      if (!wait[0].revents) continue;
      char byte = 0;
      const ssize_t count = ::read(0, &byte, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return CC_EOF;
      text += byte;
    }
    text.resize(text.size() - std::string_view(kPasteEnd).size());
    std::replace(text.begin(), text.end(), '\r', '\n');
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty()) return CC_NORM;
    return el_insertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  void setPasteMarks(const char* how) const {
    if (!marksPastes) return;
    std::fputs(how, stdout);
    std::fflush(stdout);
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
      text += visibleLine(candidates[i]);
      const bool lineEnd = (i + 1) % perLine == 0 || i + 1 == candidates.size();
      text += lineEnd ? "\n" : std::string(width - candidates[i].size(), ' ');
    }
    if (candidates.size() > kMostCandidatesShown)
      text += "\n... " + std::to_string(candidates.size() - kMostCandidatesShown) + " more\n";
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
};

LineEditor::LineEditor(std::string historyFile, Completer completer, SignalWatch& signals)
    : impl_(std::make_unique<Impl>(std::move(historyFile), std::move(completer), signals)) {
  std::setlocale(LC_CTYPE, "");
  impl_->editor = el_init("dynrepl", stdin, stdout, stderr);
  EditLine* editor = impl_->editor;
  el_set(editor, EL_CLIENTDATA, impl_.get());
  el_set(editor, EL_PROMPT, &Impl::promptOf);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 0);
  const char* terminal = std::getenv("TERM");
  impl_->marksPastes = terminal && std::string_view(terminal) != "dumb";
  impl_->history = history_init();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, kHistorySize);
  el_set(editor, EL_HIST, history, impl_->history);
  el_wset(editor, EL_ADDFN, L"dyn-complete", L"complete",
          &Impl::complete);  // el_set would copy the texts and lose the copies
  el_wset(editor, EL_ADDFN, L"dyn-paste", L"paste", &Impl::paste);
  el_set(editor, EL_BIND, "^I", "dyn-complete", nullptr);
  el_set(editor, EL_BIND, kPasteBegin, "dyn-paste", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_set(editor, EL_BIND, "\033[A", "ed-search-prev-history", nullptr);
  el_set(editor, EL_BIND, "\033[B", "ed-search-next-history", nullptr);
  el_set(editor, EL_BIND, "\033[1~", "ed-move-to-beg", nullptr);
  el_set(editor, EL_BIND, "\033[4~", "ed-move-to-end", nullptr);
  el_set(editor, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
  el_source(editor, nullptr);  // ~/.editrc
  el_set(editor, EL_GETCFN, &Impl::readChar);
  for (const std::string& entry : impl_->file.load()) {
    impl_->last = entry;
    history(impl_->history, &event, H_ENTER, entry.c_str());
  }
}

LineEditor::~LineEditor() {
  history_end(impl_->history);
  el_end(impl_->editor);
}

LineEnd LineEditor::read(const std::string& prompt, std::string& line) {
  impl_->prompt = prompt;
  impl_->end = LineEnd::line;
  int count = 0;
  // Before the prompt is seen: a key typed at once must not be the terminal's own to echo, or to take as the
  // end of input.
  el_set(impl_->editor, EL_PREP_TERM, 1);
  impl_->setPasteMarks(kMarkPastes);
  const char* text = el_gets(impl_->editor, &count);
  impl_->setPasteMarks(kLeavePastes);
  if (impl_->end != LineEnd::line) {
    const LineInfo* typed = el_line(impl_->editor);
    line.assign(typed->buffer, typed->lastchar);
    std::fputs(impl_->end == LineEnd::interrupted ? "^C\n" : "\n", stdout);
    std::fflush(stdout);
    el_reset(impl_->editor);
    return impl_->end;
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
  impl_->file.append(entry);
}

}  // namespace dyn
