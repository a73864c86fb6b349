#include "app/session/completion.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "app/engine/run/run_result.h"
#include "app/session/option_table.h"
#include "app/session/session_state.h"
#include "app/session/views/code_views.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/pass_table.h"
#include "compiler/target/device_kind.h"

namespace dyn {

namespace {

std::vector<std::string> filesFor(const std::string& word) {
  const size_t slash = word.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : word.substr(0, slash + 1);
  const std::string start = slash == std::string::npos ? word : word.substr(slash + 1);
  std::vector<std::string> files;
  DIR* handle = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!handle) return files;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || (name[0] == '.' && start.empty()) ||
        name.compare(0, start.size(), start) != 0)
      continue;
    struct stat info {};
    const bool directory = ::stat((folder + name).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    files.push_back(folder + name + (directory ? "/" : ""));
  }
  ::closedir(handle);
  return files;
}

std::vector<std::string> wordsFor(const CompletionWords& words, ArgumentKind kind, const std::string& word) {
  switch (kind) {
    case ArgumentKind::file:
    case ArgumentKind::output:
    case ArgumentKind::folder:
    case ArgumentKind::records:
      return filesFor(word);
    case ArgumentKind::pass:
      return words.passes;
    case ArgumentKind::level:
      return {levelNames().begin(), levelNames().end()};
    case ArgumentKind::value:
      return {words.values.begin(), words.values.end()};
    case ArgumentKind::valuedim: {
      std::vector<std::string> all = words.valueDims;
      all.insert(all.end(), words.symbols.begin(), words.symbols.end());
      return all;
    }
    case ArgumentKind::symbol:
      return words.symbols;
    case ArgumentKind::dim: {
      std::vector<std::string> all;
      for (const std::string& symbol : words.symbols) all.push_back(symbol + "=");
      return all;
    }
    case ArgumentKind::input: {
      const size_t at = word.find("=@");
      std::vector<std::string> all;
      if (at != std::string::npos) {
        for (const std::string& file : filesFor(word.substr(at + 2)))
          all.push_back(word.substr(0, at + 2) + file);
        return all;
      }
      for (const std::string& input : words.inputs) all.push_back(input + "=");
      return all;
    }
    case ArgumentKind::kernel:
      return words.kernels;
    case ArgumentKind::setting:
      return words.settings;
    case ArgumentKind::command: {
      std::vector<std::string> all;
      for (const CommandSpec& spec : commandTable()) all.emplace_back(spec.name);
      return all;
    }
    case ArgumentKind::code: {
      std::vector<std::string> all;
      for (const DiagnosticRow& row : diagnosticTable()) all.emplace_back(row.code);
      return all;
    }
    case ArgumentKind::op:
      return words.ops;
    case ArgumentKind::placement: {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) return words.ops;
      std::vector<std::string> all;
      for (const DeviceRow& row : deviceTable())
        if (!row.isSimulated()) all.push_back(word.substr(0, equals + 1) + std::string(row.name));
      return all;
    }
    case ArgumentKind::expression: {
      std::vector<std::string> all(words.values.begin(), words.values.end());
      all.insert(all.end(), words.outputs.begin(), words.outputs.end());
      all.insert(all.end(), words.ops.begin(), words.ops.end());
      for (const char* name : {"random", "zeros", "ones", "range", "load"}) all.emplace_back(name);
      return all;
    }
    case ArgumentKind::flag:
    case ArgumentKind::text:
    case ArgumentKind::integer:
    case ArgumentKind::number:
    case ArgumentKind::bytes:
      return {};
  }
  return {};
}

// All but the bound values.
CompletionWords wordsOf(LoadedModel* model) {
  CompletionWords words;
  for (const OptionRow* row : settingTable()) words.settings.emplace_back(row->setting);
  for (const OpDef* op : opTable()) words.ops.emplace_back(op->name);
  if (!model) return words;
  for (const TraceStep& step : model->trace().steps) words.passes.push_back(step.name);
  if (words.passes.size() <= 1)
    for (const PassDef& pass : passTable()) words.passes.emplace_back(pass.name);
  words.symbols = model->info().symbols;
  for (const Port& port : model->signature().inputs) words.inputs.push_back(port.info.name);
  for (const Port& port : model->signature().outputs) words.outputs.push_back(port.info.name);
  for (const std::vector<Port>* ports : {&model->signature().inputs, &model->signature().outputs})
    for (const Port& port : *ports)
      for (size_t axis = 0; axis < port.info.shape.size(); ++axis)
        words.valueDims.push_back(port.info.name + "." + std::to_string(axis));
  if (const CompiledModel* compiled = model->compiled())
    for (const vm::KernelRow& kernel : compiled->lowered.program.kernels)
      words.kernels.push_back(kernel.name);
  return words;
}

Completion completeLine(const CompletionWords& words, std::string_view line, size_t cursor) {
  Completion completion;
  const std::string text(line.substr(0, std::min(cursor, line.size())));
  const bool isCommand = !text.empty() && text[0] == ':';
  // In an expression a word is a name, in a command what stands between blanks.
  size_t begin = text.size();
  while (begin > 0) {
    const char c = text[begin - 1];
    const bool inside = isCommand && text.find(' ') != std::string::npos
                            ? c != ' '
                            : (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                               (c == ':' && begin == 1));
    if (!inside) break;
    --begin;
  }
  const std::string word = text.substr(begin);
  completion.begin = begin;
  std::vector<std::string> all;
  if (isCommand && begin == 0) {
    for (const CommandSpec& spec : commandTable()) all.push_back(":" + std::string(spec.name));
  } else if (isCommand) {
    const size_t nameEnd = text.find(' ');
    Result<CommandId> id = findCommand(std::string_view(text).substr(1, nameEnd - 1));
    if (!id.ok()) return completion;
    const CommandSpec& spec = commandSpec(*id);
    // Which argument the word is: walk over the words before it.
    const ArgumentSpec* expected = nullptr;
    std::vector<const ArgumentSpec*> positional;
    for (const ArgumentSpec& a : spec.arguments)
      if (!a.option) positional.push_back(&a);
    size_t next = 0, at = nameEnd;
    while (at < begin) {
      const size_t from = text.find_first_not_of(' ', at);
      if (from == std::string::npos || from >= begin) break;
      at = std::min(text.find(' ', from), text.size());
      const std::string before = text.substr(from, at - from);
      if (before.size() > 1 && before[0] == '-') {
        const ArgumentSpec* option = spec.find(before.substr(before[1] == '-' ? 2 : 1));
        expected = option && option->kind != ArgumentKind::flag ? option : nullptr;
        continue;
      }
      if (expected) {
        expected = nullptr;
      } else if (next < positional.size() && !positional[next]->repeated) {
        ++next;
      }
    }
    if (!word.empty() && word[0] == '-') {
      for (const ArgumentSpec& a : spec.arguments)
        if (a.option) all.push_back((a.name.size() == 1 ? "-" : "--") + a.name);
    } else if (expected) {
      all = wordsFor(words, expected->kind, word);
    } else if (!positional.empty() && positional[0]->rest) {
      all = wordsFor(words, positional[0]->kind, word);
    } else if (next < positional.size()) {
      all = wordsFor(words, positional[next]->kind, word);
    }
  } else {
    all = wordsFor(words, ArgumentKind::expression, word);
  }
  for (std::string& candidate : all)
    if (candidate.compare(0, word.size(), word) == 0) completion.candidates.push_back(std::move(candidate));
  std::sort(completion.candidates.begin(), completion.candidates.end());
  completion.candidates.erase(std::unique(completion.candidates.begin(), completion.candidates.end()),
                              completion.candidates.end());
  return completion;
}

}  // namespace

void CompletionIndex::refresh(SessionState& state) {
  const std::set<std::string> changed = state.values.takeChangedNames();
  const std::shared_ptr<LoadedModel>& model = state.now.model;
  const size_t stepsCount = model ? model->trace().steps.size() : 0;
  const bool compiled = model && model->compiled();
  const bool sameModel = !model_.owner_before(model) && !model.owner_before(model_);
  std::optional<CompletionWords> words;
  if (!fresh_ || !sameModel || stepsCount != stepsCount_ || compiled != compiled_) {
    words = wordsOf(model.get());
    model_ = model;
    stepsCount_ = stepsCount;
    compiled_ = compiled;
    fresh_ = true;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (words) {
    words->values = std::move(words_.values);
    words_ = *std::move(words);
  }
  for (const std::string& name : changed) {
    if (state.values.find(name))
      words_.values.insert(name);
    else
      words_.values.erase(name);
  }
}

Completion CompletionIndex::complete(std::string_view line, size_t cursor) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completeLine(words_, line, cursor);
}

}  // namespace dyn
