// A model names the files its weights lie in: none outside its own folder is opened, whatever the name is.
// The kernel watches.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/robustness/onnx_builder.h"
#include "tests/robustness/shell.h"

namespace dyn::robustness {
namespace {

namespace fs = std::filesystem;

// Tells whether anybody opened or read a file.
class Watch {
 public:
  explicit Watch(const std::string& path)
      : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
        watch_(::inotify_add_watch(queue_, path.c_str(), IN_OPEN | IN_ACCESS)) {}
  ~Watch() { ::close(queue_); }
  bool works() const { return queue_ >= 0 && watch_ >= 0; }
  bool saw() {
    char events[4096];
    return ::read(queue_, events, sizeof events) > 0;
  }

 private:
  int queue_, watch_;
};

std::string modelWith(std::string_view location, const char* offset = nullptr, const char* length = nullptr) {
  Msg tensor = Msg().packed(1, {4}).num(2, kFloat).sub(8, "w").num(14, 1);
  tensor.sub(13, Msg().sub(1, "location").sub(2, location));
  if (offset) tensor.sub(13, Msg().sub(1, "offset").sub(2, offset));
  if (length) tensor.sub(13, Msg().sub(1, "length").sub(2, length));
  OnnxModel model;
  return model.input("x", kFloat, {"4"}).output("y").weight(tensor).node("Add", {"x", "w"}, {"y"}).bytes();
}

class OutsideFiles : public testing::Test {
 protected:
  void SetUp() override {
    shell.folder().write("secret.bin", "0123456789abcdef");
    shell.folder().write("inner/w.bin", "0123456789abcdef");
    root = shell.folder().path();
  }
  std::string load(std::string_view location, const char* offset = nullptr, const char* length = nullptr) {
    return said(*shell.load("inner/m.onnx", modelWith(location, offset, length)));
  }
  Shell shell;
  std::string root;
};

TEST_F(OutsideFiles, TheFolderOfTheModelIsOpen) {
  Watch watch(root + "/inner/w.bin");
  ASSERT_TRUE(watch.works());
  EXPECT_EQ(load("w.bin"), "");
  EXPECT_EQ(said(*shell.line(":run")), "");
  EXPECT_TRUE(watch.saw()) << "the watch tells what it should";
}

TEST_F(OutsideFiles, NoNameLeadsOut) {
  fs::create_symlink("../secret.bin", root + "/inner/link.bin");
  fs::create_symlink(root + "/secret.bin", root + "/inner/absolute_link.bin");
  fs::create_directory_symlink("..", root + "/inner/up");
  fs::create_hard_link(root + "/secret.bin", root + "/inner/hard.bin");
  ASSERT_EQ(::mkfifo((root + "/inner/pipe").c_str(), 0600), 0);
  Watch watch(root + "/secret.bin");
  ASSERT_TRUE(watch.works());
  const std::string names[] = {"../secret.bin",
                               "./../secret.bin",
                               "inner/../../secret.bin",
                               root + "/secret.bin",
                               "up/secret.bin",
                               "link.bin",
                               "absolute_link.bin",
                               "hard.bin",
                               "pipe",
                               "/dev/zero",
                               "/proc/self/environ",
                               "",
                               ".",
                               "..",
                               "up",
                               "w.bin/../../secret.bin",
                               "//" + root,
                               "w.bin/",
                               "W.BIN",
                               std::string("w.bin\0x", 7),
                               std::string(5000, 'a'),
                               "file:///etc/passwd",
                               "~/secret.bin",
                               "\xff\xfe"};
  for (const std::string& name : names) {
    const std::string text = load(name);
    EXPECT_EQ(text.substr(0, 5), "E0402") << name << ": " << text;
  }
  EXPECT_FALSE(watch.saw());
}

TEST_F(OutsideFiles, RangesStayInTheFile) {
  const struct {
    const char *offset, *length;
  } rows[] = {{"-1", nullptr},
              {"1", nullptr},
              {"16", nullptr},
              {"9223372036854775807", "16"},
              {"18446744073709551616", nullptr},
              {"0", "-1"},
              {"0", "17"},
              {"0", "15"},
              {"0", "1125899906842624"},
              {"0", "9223372036854775807"},
              {"1e3", nullptr},
              {"0x0", "16"},
              {" 0", "16"},
              {"", "16"},
              {"4", "16"}};
  for (const auto& row : rows) {
    const std::string text = load("w.bin", row.offset, row.length);
    EXPECT_EQ(text.substr(0, 5), "E0402")
        << row.offset << " " << (row.length ? row.length : "") << ": " << text;
  }
  EXPECT_EQ(load("w.bin", "0", "16"), "");
}

}  // namespace
}  // namespace dyn::robustness
