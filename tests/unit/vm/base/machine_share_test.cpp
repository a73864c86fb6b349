#include "vm/base/machine_share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/temporary_folder.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

// A folder in place of / with the files that a process sees of its groups.
class Groups : public testing::Test {
 protected:
  void mountUnified(const std::string& top, const std::string& at) {
    mounts_ += "30 24 0:26 " + top + " " + at + " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  }
  void mountFirst(const std::string& controllers, const std::string& top, const std::string& at) {
    mounts_ += "31 24 0:27 " + top + " " + at + " rw shared:5 - cgroup cgroup rw," + controllers + "\n";
  }
  void file(const std::string& path, const std::string& text) { root_.write(path, text); }
  GroupLimits limits(const std::string& groups) {
    root_.write("proc/self/cgroup", groups);
    root_.write("proc/self/mountinfo", "24 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts_);
    return groupLimits(root_.path());
  }

 private:
  test::TemporaryFolder root_;
  std::string mounts_;
};

TEST_F(Groups, WithoutGroupsThereIsNoLimit) {
  const test::TemporaryFolder empty;
  const GroupLimits limits = groupLimits(empty.path());
  EXPECT_TRUE(std::isinf(limits.cores));
  EXPECT_EQ(limits.memoryBytes, UINT64_MAX);
}

TEST_F(Groups, AContainerOfVersionTwoSeesItsGroupAsTheMount) {
  mountUnified("/", "/sys/fs/cgroup");
  file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  file("sys/fs/cgroup/memory.max", "2147483648\n");
  const GroupLimits limits = this->limits("0::/\n");
  EXPECT_DOUBLE_EQ(limits.cores, 1.5);
  EXPECT_EQ(limits.memoryBytes, 2147483648u);
}

TEST_F(Groups, TheLeastOfAllGroupsAboveCounts) {
  mountUnified("/", "/sys/fs/cgroup");
  file("sys/fs/cgroup/cpu.max", "max 100000\n");
  file("sys/fs/cgroup/memory.max", "max\n");
  file("sys/fs/cgroup/pods/cpu.max", "200000 100000\n");
  file("sys/fs/cgroup/pods/memory.max", "1000000\n");
  file("sys/fs/cgroup/pods/one/cpu.max", "800000 100000\n");
  file("sys/fs/cgroup/pods/one/memory.max", "3000000\n");
  const GroupLimits limits = this->limits("0::/pods/one\n");
  EXPECT_DOUBLE_EQ(limits.cores, 2);
  EXPECT_EQ(limits.memoryBytes, 1000000u);
}

TEST_F(Groups, VersionOneHasAMountForEachController) {
  mountFirst("cpu,cpuacct", "/docker/ab", "/sys/fs/cgroup/cpu,cpuacct");
  mountFirst("memory", "/docker/ab", "/sys/fs/cgroup/memory");
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  const GroupLimits limits = this->limits("5:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n0::/\n");
  EXPECT_DOUBLE_EQ(limits.cores, 0.5);
  EXPECT_EQ(limits.memoryBytes, 536870912u);
}

TEST_F(Groups, LargeNumbersOfVersionOneAreNoLimit) {
  mountFirst("cpu", "/", "/groups of one/cpu");
  mountFirst("memory", "/", "/groups\\040of\\040one/memory");
  file("groups of one/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("groups of one/memory/a/memory.limit_in_bytes", "4096000\n");
  const GroupLimits limits = this->limits("5:memory:/a\n4:cpu:/a\n");
  EXPECT_TRUE(std::isinf(limits.cores));
  EXPECT_EQ(limits.memoryBytes, 4096000u) << "a space of the mount's path";
}

TEST_F(Groups, WhatIsNoNumberIsNoLimit) {
  mountUnified("/", "/sys/fs/cgroup");
  file("sys/fs/cgroup/cpu.max", "-5 0\n");
  file("sys/fs/cgroup/memory.max", "12x\n");
  const GroupLimits limits = this->limits("nonsense\n0::/../..\n");
  EXPECT_TRUE(std::isinf(limits.cores));
  EXPECT_EQ(limits.memoryBytes, UINT64_MAX);
}

TEST(MachineShare, ThisProcessMayUseSomething) {
  EXPECT_GE(usableCores(), 1);
  EXPECT_GE(usableMemoryBytes(), uint64_t{1} << 20);
  EXPECT_EQ(dyn_usable_cores(), usableCores());
  EXPECT_EQ(dyn_usable_memory(), usableMemoryBytes());
}

}  // namespace
}  // namespace dyn::vm
