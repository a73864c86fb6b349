// One folder of cached files, one kind of file in it: what the caches of objects and of packed weights share.
//
// A cache is never a reason to fail: a folder that cannot be made or written, or a full disk, mean "not
// cached". Files appear under their final name complete or not at all (temporary name, then rename), so
// processes may share a folder. A folder that belongs to another user or that everybody may write to is not
// used: what lies in it is believed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dyn {

// 32 bytes: BLAKE3.
std::string digestOf(std::string_view bytes);

// Safe to use from many threads.
class CacheFolder {
 public:
  // `suffix` ends the names of its files; those of other kinds are left alone. Beyond `maxBytes` of them all
  // together the least recently used are removed. "none" or "": off. The folder is made if it is absent, its
  // parent is not.
  CacheFolder(std::string directory, std::string_view suffix, int64_t maxBytes);

  bool on() const { return on_; }
  const std::string& directory() const { return directory_; }
  // Why it is off although a folder was given; "" when it is on, or off on request.
  const std::string& refusal() const { return refusal_; }
  std::string path(const std::string& key) const { return directory_ + "/" + key + suffix_; }

  // A file of that name, of another process or thread that made it at the same time. Files that are mapped
  // stay, so that all map the same one.
  enum class WhereThere { replace, keep };
  // The file `key` with these pieces, one after the other; false: it was not written.
  bool write(const std::string& key, const std::vector<std::string_view>& pieces,
             WhereThere whereThere = WhereThere::replace);
  // The file was found, used now. A read-only folder keeps its old order.
  void touch(const std::string& key) const;
  void remove(const std::string& key) const;
  int64_t evicted() const { return evicted_; }

 private:
  void open();
  void keepWithinSize(int64_t addedBytes);

  const std::string directory_, suffix_;
  const int64_t maxBytes_;
  bool on_ = false;
  std::string refusal_;
  std::atomic<int64_t> evicted_{0};
  std::mutex sizeLock_;
  int64_t knownBytes_ =
      -1;  // of all files; -1: not counted yet. Other processes' are seen at the next count.
};

}  // namespace dyn
