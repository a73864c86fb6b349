// collect_kernels [--target NAME] [--least N] [--keep FILE] [--counts] MODEL...: the general kernels that at
// least N (2) of the networks have, as text, for compiler/codegen/built/general_kernels.txt: ./dev kernels.
//
// Files whose names are equal up to the first dot are one network (net.onnx, net.f16.onnx), as are those
// called model.onnx in one folder. --keep: with those that this file has already. --counts: "# 12 networks"
// behind each. A model that is refused, or that is not compiled before its inputs are known, is named on the
// standard error and left out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/engine/model/loaded_model.h"
#include "compiler/driver/compile.h"
#include "compiler/loop/builder/general_kernel.h"
#include "compiler/loop/builder/general_text.h"
#include "compiler/loop/kernel_key.h"
#include "compiler/loop/widened_byte.h"

namespace dyn {
namespace {

// Longer ones are fused from so many operations that no other network has them.
constexpr size_t kLongestText = 6000;

struct Found {
  std::string text;
  std::set<std::string> networks;
  bool isKept = false;  // however many have it
};

std::string networkOf(const std::filesystem::path& path) {
  const std::filesystem::path name =
      path.stem() == "model" && path.has_parent_path() ? path.parent_path().filename() : path.filename();
  return name.string().substr(0, name.string().find('.'));
}

// What follows the dot in "gemm_packed_add.3" and "transpose.unit" is of one program.
std::string nameOf(const loop::Kernel& kernel) { return kernel.name.substr(0, kernel.name.find('.')); }

bool hasByteTable(const loop::Kernel& kernel) {
  return std::ranges::any_of(kernel.buffers, [](const loop::Buffer* b) { return loop::isByteTable(*b); });
}

bool readsBack(const std::string& text, const std::string& key) {
  std::istringstream in(text);
  const Result<std::vector<loop::GeneralText>> read = loop::readGeneralTexts(in);
  return read.ok() && read->size() == 1 && read->front().key == key;
}

void collect(const std::string& path, const EngineOptions& options, std::map<std::string, Found>& found) {
  LoadRequest request;
  request.path = path;
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::load(request, options, nullptr);
  const Status status = model.ok() ? (*model)->ensureCompiled() : Status(model.takeError());
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), status.error().toString().c_str());
    return;
  }
  for (const loop::Kernel& kernel : (*model)->compiled()->lowered.kernels) {
    const std::optional<loop::GeneralKernel> general = loop::generalOf(kernel);
    const std::optional<std::string> key = general ? loop::lastingKey(general->kernel) : std::nullopt;
    // A table of bytes is code of the very machine, beyond the levels that the list is compiled for.
    if (!key || hasByteTable(general->kernel)) continue;
    Found& one = found[loop::generalKeyOf(*key, general->given.size())];
    if (one.text.empty()) {
      loop::Kernel named = general->kernel;
      named.name = nameOf(kernel);
      named.description.clear();
      one.text = loop::print(named);
    }
    one.networks.insert(networkOf(path));
  }
}

Status keep(const std::string& path, std::map<std::string, Found>& found) {
  std::ifstream in(path);
  DYN_TRY(const std::vector<loop::GeneralText> kernels, loop::readGeneralTexts(in));
  for (const loop::GeneralText& one : kernels) {
    Found& known = found[one.key];
    known.text = one.text;
    known.isKept = true;
  }
  return {};
}

int run(int count, char** words) {
  EngineOptions options;
  options.tuningFile = "none";
  size_t least = 2;
  bool counts = false;
  std::string kept;
  std::vector<std::string> models;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--target" && i + 1 < count)
      options.target = words[++i];
    else if (word == "--least" && i + 1 < count)
      least = std::strtoul(words[++i], nullptr, 10);
    else if (word == "--keep" && i + 1 < count)
      kept = words[++i];
    else if (word == "--counts")
      counts = true;
    else
      models.push_back(word);
  }
  std::map<std::string, Found> found;
  if (!kept.empty()) {
    const Status status = keep(kept, found);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", kept.c_str(), status.error().toString().c_str());
      return 1;
    }
  }
  for (const std::string& model : models) collect(model, options, found);
  std::vector<std::string> texts;
  size_t unread = 0;
  for (const auto& [key, one] : found) {
    if ((one.networks.size() < least && !one.isKept) || one.text.size() > kLongestText) continue;
    if (!readsBack(one.text, key)) {
      ++unread;
      continue;
    }
    const std::string count = "# " + std::to_string(one.networks.size()) + " networks\n";
    texts.push_back(one.text + (counts ? count : ""));
  }
  std::sort(texts.begin(), texts.end());
  for (const std::string& text : texts) std::fputs(text.c_str(), stdout);
  std::fprintf(stderr,
               "%zu general kernels, %zu of them in %zu networks or more, or kept; %zu do not read back\n",
               found.size(), texts.size(), least, unread);
  return 0;
}

}  // namespace
}  // namespace dyn

int main(int count, char** words) { return dyn::run(count, words); }
