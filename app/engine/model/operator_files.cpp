#include "app/engine/model/operator_files.h"

#include "app/engine/model/operator_check.h"
#include "app/engine/model/text_options.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/read_files.h"

namespace dyn {

Result<std::vector<std::shared_ptr<const text::OperatorFile>>> readOperatorFiles(const std::string& paths) {
  std::vector<std::shared_ptr<const text::OperatorFile>> files;
  for (size_t begin = 0; begin < paths.size();) {
    const size_t end = std::min(paths.find(';', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    noteRead(path);
    DYN_TRY(const MappedFile file, MappedFile::open(path));
    DYN_TRY(text::OperatorFile read, text::OperatorFile::parse(std::string(file.bytes()), textOptions(path)));
    files.push_back(std::make_shared<const text::OperatorFile>(std::move(read)));
  }
  return files;
}

Status checkOperatorFiles(const std::string& paths) {
  DYN_TRY([[maybe_unused]] const auto files, readOperatorFiles(paths));
  return {};
}

}  // namespace dyn
