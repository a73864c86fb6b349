// A folder that goes away with the object, with all that is in it; that of a process which was killed, when
// the next one makes a folder.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static const bool isSwept = sweep();
    (void)isSwept;
    const std::string place = (std::filesystem::temp_directory_path() / kPrefix).string();
    std::string name = place + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
    path_ = name;
    lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX) != 0) throw std::runtime_error("no lock of " + name);
  }
  ~TemporaryFolder() {
    remove(path_);
    ::close(lock_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file, in new folders where the name has any; gives its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path file = *this / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  // What lies directly in it.
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path());
    return found;
  }

 private:
  static constexpr const char* kPrefix = "dyn-locked-test-";

  static void remove(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(folder, ignored);
  }

  // Removes the folders that no process holds a lock of. A young one may be about to be locked.
  static bool sweep() {
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(5);
    std::error_code fault;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::temp_directory_path(), fault)) {
      if (!entry.path().filename().string().starts_with(kPrefix)) continue;
      if (std::filesystem::last_write_time(entry.path(), fault) > old || fault) continue;
      const int lock = ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (lock < 0) continue;
      if (::flock(lock, LOCK_EX | LOCK_NB) == 0) remove(entry.path());
      ::close(lock);
    }
    return true;
  }

  std::string path_;
  int lock_ = -1;  // of the folder; the process's end gives it back
};

}  // namespace dyn::test
