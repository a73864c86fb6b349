// Names of files that are made of names of values, which may be any text.
//
//   FileNames names;
//   names.file("a/b", ".npy")   → "a_b.npy"
//   names.file("a:b", ".npy")   → "a_b_2.npy": no two are equal
//   names.file("日本", ".npy")  → "日本.npy"
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace dyn {

// The name with `_` for what is no letter or digit of any script, `_`, `-` or `.`; not hidden (a dot in
// front), not taken for an option (a dash in front), not empty, and at most 200 bytes long, so that an ending
// fits into the 255 that a file system takes.
std::string fileNameOf(std::string_view name);

// The files of one folder.
class FileNames {
 public:
  // fileNameOf(name) and the ending, with _2, _3 and so on between them where another file has that name.
  std::string file(std::string_view name, std::string_view ending);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace dyn
