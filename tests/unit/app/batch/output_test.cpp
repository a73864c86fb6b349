#include "app/batch/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using Json = nlohmann::json;

// Standard output goes to a file while this lives.
class CaughtOutput {
 public:
  CaughtOutput() : path_(folder_ / "out"), kept_(::dup(1)) {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, 1);
    ::close(file);
  }
  ~CaughtOutput() {
    ::dup2(kept_, 1);
    ::close(kept_);
  }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  Json document() const { return Json::parse(text(), nullptr, false); }

 private:
  test::TemporaryFolder folder_;
  std::string path_;
  int kept_;
};

Diagnostic fault() { return makeError(DiagnosticId::cancelled, "interrupted").diagnostic(); }

TEST(BatchOutput, AListIsWrittenAsItGrows) {
  const CaughtOutput caught;
  BatchOutput output(true, "run", {});
  output.openList("cases", {{"model", "m.onnx"}});
  output.add({{"dims", {{"n", 2}}}}, "not shown");
  output.add({{"dims", {{"n", 3}}}}, "not shown");
  EXPECT_NE(caught.text().find("\"n\":3"), std::string::npos) << caught.text();
  EXPECT_EQ(output.result({{"failed_count", 0}}, ""), 0);
  const Json document = caught.document();
  ASSERT_TRUE(document.is_object()) << caught.text();
  EXPECT_EQ(document["command"], "run");
  EXPECT_EQ(document["model"], "m.onnx");
  EXPECT_EQ(document["cases"].size(), 2u);
  EXPECT_EQ(document["failed_count"], 0);
  EXPECT_EQ(caught.text().back(), '\n');
}

TEST(BatchOutput, AFaultEndsTheListAndIsOneDocument) {
  for (int items : {0, 1, 3}) {
    const CaughtOutput caught;
    BatchOutput output(true, "run", {});
    output.openList("cases", nlohmann::ordered_json::object());
    for (int i = 0; i < items; ++i) output.add({{"i", i}}, "");
    EXPECT_EQ(output.failure(fault()), exitCode(DiagnosticId::cancelled));
    output.add({{"i", -1}}, "");  // of a thread that has not heard yet
    const Json document = caught.document();
    ASSERT_TRUE(document.is_object()) << caught.text();
    EXPECT_EQ(document["cases"].size(), static_cast<size_t>(items));
    EXPECT_EQ(document["error"]["message"], "interrupted");
  }
}

TEST(BatchOutput, TextIsWrittenAsItComes) {
  const CaughtOutput caught;
  BatchOutput output(false, "run", {});
  output.openList("cases", nlohmann::ordered_json::object());
  output.add({{"i", 1}}, "case 0\n");
  EXPECT_EQ(caught.text(), "case 0\n");
  EXPECT_EQ(output.result(nlohmann::ordered_json::object(), "all\n"), 0);
  EXPECT_EQ(caught.text(), "case 0\nall\n");
}

// The watchdog ends the process although the command's thread is stuck in a pipe that nobody reads.
TEST(BatchOutput, AReaderWhoDoesNotReadHoldsNobodyUp) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int kept = ::dup(1);
  ::dup2(ends[1], 1);
  BatchOutput output(true, "run", {});
  output.openList("cases", nlohmann::ordered_json::object());
  std::thread command([&] { output.add({{"text", std::string(1 << 20, 'x')}}, ""); });
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);  // it has begun to write
  EXPECT_EQ(output.failure(fault()), exitCode(DiagnosticId::cancelled));
  ::close(ends[1]);
  std::thread reader([&] {
    std::string rest(1 << 16, '\0');
    while (::read(ends[0], rest.data(), rest.size()) > 0) {
    }
  });
  command.join();
  ::dup2(kept, 1);  // the last that could write into the pipe
  ::close(kept);
  reader.join();
  ::close(ends[0]);
}

}  // namespace
}  // namespace dyn
