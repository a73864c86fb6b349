#include "compiler/target/device_kind.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/target/target.h"

namespace dyn {
namespace {

TEST(DeviceKind, rowsAreInOrder) {
  EXPECT_TRUE(deviceTable().front().isHost());
  EXPECT_EQ(DeviceKind{}, deviceTable().front().kind) << "the default is the host";
  for (const DeviceRow& row : deviceTable()) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(findDevice(row.name), &row);
    EXPECT_EQ(&deviceRow(row.kind), &row);
    EXPECT_EQ(row.isHost(), &row == &deviceTable().front());
    EXPECT_EQ(row.isSimulated(), !row.driver.empty());
    EXPECT_EQ(row.isSimulated(), row.compiledAs != row.kind && deviceRow(row.compiledAs).isTarget());
  }
}

TEST(DeviceKind, eachTargetIsFoundByWhatIsItsOwn) {
  std::set<std::string_view> levels;
  for (const DeviceRow& row : deviceTable()) {
    SCOPED_TRACE(row.name);
    if (!row.isTarget()) {
      EXPECT_TRUE(row.level.empty() && row.library.empty());
      continue;
    }
    EXPECT_EQ(findDeviceOfLevel(row.level), &row);
    EXPECT_TRUE(levels.insert(row.level).second) << row.level;
    EXPECT_FALSE(row.language.empty() || row.help.empty());
    EXPECT_EQ(findDeviceOfLibrary(row.library), row.library.empty() ? nullptr : &row);
  }
  EXPECT_FALSE(levels.empty());
  EXPECT_EQ(findDevice("abacus"), nullptr);
  EXPECT_EQ(findDeviceOfLevel(""), nullptr) << "of the host and simulators there is none";
  EXPECT_EQ(findDeviceOfLibrary(""), nullptr);
}

TEST(DeviceKind, targetsReadBackTheSame) {
  for (const DeviceRow& row : deviceTable()) {
    SCOPED_TRACE(row.name);
    Target target;
    target.machine.triple = "aarch64-unknown-linux-gnu";
    target.machine.cpu = "cortex-a72";
    target.device = row.kind;
    const Result<Target> read = parseTarget(printTarget(target));
    EXPECT_EQ(read.ok(), !row.isSimulated()) << "a simulator runs code of another";
    if (!read.ok()) continue;
    EXPECT_EQ(read->device, row.kind);
  }
}

TEST(DeviceKind, sentencesNameAllRows) {
  const std::string all = allDeviceNames();
  for (const DeviceRow& row : deviceTable()) {
    EXPECT_NE(all.find(row.name), std::string::npos) << row.name;
    const std::string equal = "=" + std::string(row.name);
    EXPECT_EQ(namesOfSides("=", " ").find(equal) != std::string::npos, !row.isSimulated()) << row.name;
    EXPECT_EQ(namesOfDevices("=", " ").find(equal) != std::string::npos, row.isTarget()) << row.name;
    EXPECT_EQ(kWordsOfDevices.find(row.name) != std::string_view::npos, row.isTarget()) << row.name;
  }
  EXPECT_EQ(kWordsOfSides.find(' '), deviceTable().front().name.size()) << kWordsOfSides;
}

}  // namespace
}  // namespace dyn
